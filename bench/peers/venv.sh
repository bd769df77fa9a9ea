# For the peers that are Python packages, which source this file: a virtual environment under build/peers
# with one PyPI package.

# shellcheck shell=bash

peers=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$peers/../../build/peers

# Makes the environment if needed; status 1 and a message if it cannot.
make_venv() { # PACKAGE MODULE VERSION: the newest if VERSION is empty
    local package=$1 module=$2 version=$3 venv=$build/$1 log=$build/$1.log
    "$venv/bin/python" -c "import $module" 2> /dev/null && return
    rm -rf "$venv"
    mkdir -p "$build"
    if ! python3 -m venv "$venv" > "$log" 2>&1; then
        echo "$package: python3 cannot make a virtual environment (Debian: apt-get install python3-venv); see build/peers/$package.log" >&2
        return 1
    fi
    if ! "$venv/bin/pip" install --disable-pip-version-check --timeout 15 --retries 1 "$package${version:+==$version}" > "$log" 2>&1; then
        echo "$package: pip could not install it (no way to PyPI?); see build/peers/$package.log" >&2
        return 1
    fi
    "$venv/bin/python" -c "import $module" >> "$log" 2>&1 || {
        echo "$package: installed, but it does not start; see build/peers/$package.log" >&2
        return 1
    }
}
