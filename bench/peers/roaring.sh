#!/bin/bash
# CRoaring, as one C file and its header, out of the source distribution of pyroaring on PyPI; nothing of Python is built.
#
# usage: bench/peers/roaring.sh setup     fetches it to build/peers/roaring if need be; status 1 and a message when it cannot
#
# PYROARING_VERSION names a version other than the newest; it counts when the files are fetched.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$here/../../build/peers/roaring

setup() {
    [ -e "$target/roaring.c" ] && [ -e "$target/roaring.h" ] && return
    rm -rf "$target"
    mkdir -p "$target/fetched"
    local log=$target.log
    # pip unpacks and asks the package for its metadata, for which it fetches wheels of its build tools.
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

case ${1-} in
    setup) setup ;;
    *) sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
