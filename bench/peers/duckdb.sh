#!/bin/bash
# DuckDB, from PyPI, in a virtual environment under build/.
#
# usage: bench/peers/duckdb.sh setup     makes the environment if need be; status 1 and a message when it cannot
#        bench/peers/duckdb.sh session   runs duckdb_session.py in it
#
# DUCKDB_VERSION names a version other than the newest; it counts when the environment is made.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$here/../../build/peers/duckdb

setup() {
    "$venv/bin/python" -c 'import duckdb' 2> /dev/null && return
    rm -rf "$venv"
    mkdir -p "${venv%/*}"
    local log=$venv.log
    if ! python3 -m venv "$venv" > "$log" 2>&1; then
        echo "duckdb: python3 cannot make a virtual environment (Debian: apt-get install python3-venv); see build/peers/duckdb.log" >&2
        return 1
    fi
    if ! "$venv/bin/pip" install --disable-pip-version-check --timeout 15 --retries 1 \
        "duckdb${DUCKDB_VERSION:+==$DUCKDB_VERSION}" > "$log" 2>&1; then
        echo "duckdb: pip could not install it (no way to PyPI?); see build/peers/duckdb.log" >&2
        return 1
    fi
    "$venv/bin/python" -c 'import duckdb' >> "$log" 2>&1 || {
        echo "duckdb: installed, but it does not start; see build/peers/duckdb.log" >&2
        return 1
    }
}

case ${1-} in
    setup) setup ;;
    session) exec "$venv/bin/python" "$here/duckdb_session.py" ;;
    *) sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
