#!/bin/bash
# CRoaring as one C file and its header, from the source distribution of pyroaring on PyPI; no Python is built.
#
# usage: bench/peers/roaring.sh setup     fetches it to build/peers/roaring if needed; status 1 and a message if it cannot
#        bench/peers/roaring.sh build     builds roaring_session.cpp with the fetched files if needed
#        bench/peers/roaring.sh session   runs roaring_session
#
# PYROARING_VERSION selects a version other than the newest; it is read when the files are fetched.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$here/../../build/peers/roaring

setup() {
    [ -e "$target/roaring.c" ] && [ -e "$target/roaring.h" ] && return
    rm -rf "$target"
    mkdir -p "$target/fetched"
    local log=$target.log
    # pip unpacks the package and asks it for its metadata; for this it fetches wheels of the build tools.
    if ! python3 -m pip download --disable-pip-version-check --timeout 15 --retries 1 --no-binary pyroaring --no-deps \
        --dest "$target/fetched" "pyroaring${PYROARING_VERSION:+==$PYROARING_VERSION}" > "$log" 2>&1; then
        echo "roaring: pip could not fetch it (no pip, or no way to PyPI?); see build/peers/roaring.log" >&2
        return 1
    fi
    tar --no-same-owner -xzf "$target"/fetched/pyroaring-*.tar.gz -C "$target" --strip-components=2 --wildcards \
        '*/pyroaring/roaring.c' '*/pyroaring/roaring.h' >> "$log" 2>&1 || {
        rm -f "$target"/roaring.[ch]
        echo "roaring: pyroaring no longer brings roaring.c and roaring.h; see build/peers/roaring.log" >&2
        return 1
    }
}

build() {
    local program=$target/session
    [ "$program" -nt "$here/roaring_session.cpp" ] && [ "$program" -nt "$here/session.h" ] && return
    "${CC:-gcc}" -O3 -c -o "$target/roaring.o" "$target/roaring.c"
    "${CXX:-g++}" -std=c++20 -O2 -pthread -I "$target" -o "$program" "$here/roaring_session.cpp" "$target/roaring.o"
}

case ${1-} in
    setup) setup ;;
    build) build ;;
    session) exec "$target/session" ;;
    *) sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
