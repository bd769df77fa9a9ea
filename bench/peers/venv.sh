# For the peers that are Python packages, whose scripts source this file and call python_peer: a virtual environment
# build/peers/PEER with packages of PyPI, where the session of the peer runs. PEER is the name of the script.

# shellcheck shell=bash

peers=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$peers/../../build/peers
peer=$(basename "$0" .sh)
venv=$build/$peer

# Makes the environment if needed; status 1 and a message if it cannot.
make_venv() { # MODULE VERSION PACKAGE...: VERSION is that of the first package; the newest if it is empty
    local module=$1 version=$2 package=$3 log=$venv.log
    shift 3
    "$venv/bin/python" -c "import $module" 2> /dev/null && return
    rm -rf "$venv"
    mkdir -p "$build"
    if ! python3 -m venv "$venv" > "$log" 2>&1; then
        echo "$peer: python3 cannot make a virtual environment (Debian: apt-get install python3-venv); see build/peers/$peer.log" >&2
        return 1
    fi
    if ! "$venv/bin/pip" install --disable-pip-version-check --timeout 15 --retries 1 "$package${version:+==$version}" "$@" > "$log" 2>&1; then
        echo "$peer: pip could not install $package (no way to PyPI?); see build/peers/$peer.log" >&2
        return 1
    fi
    "$venv/bin/python" -c "import $module" >> "$log" 2>&1 || {
        echo "$peer: installed, but it does not start; see build/peers/$peer.log" >&2
        return 1
    }
}

python_peer() { # COMMAND MODULE VERSION PACKAGE...: COMMAND is setup or session
    case $1 in
        setup) make_venv "${@:2}" ;;
        # Without files of bytecode beside the sources.
        session) exec "$venv/bin/python" -B "$peers/${peer}_session.py" ;;
        *) sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
}
