#!/bin/bash
# Borgelt's eclat, fpgrowth and apriori as C sources, from the source distribution of pyfim on PyPI; no Python is built.
#
# usage: bench/peers/borgelt.sh setup     fetches them to build/peers/borgelt if needed; status 1 and a message if it cannot
#
# PYFIM_VERSION selects a version other than the newest; it is read when the files are fetched.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$here/../../build/peers/borgelt

setup() {
    [ -e "$target/eclat/src/eclat.c" ] && return
    rm -rf "$target"
    mkdir -p "$target/fetched"
    local log=$target.log
    if ! python3 -m pip download --disable-pip-version-check --timeout 15 --retries 1 --no-binary pyfim --no-deps \
        --dest "$target/fetched" "pyfim${PYFIM_VERSION:+==$PYFIM_VERSION}" > "$log" 2>&1; then
        echo "borgelt: pip could not fetch pyfim (no pip, or no way to PyPI?); see build/peers/borgelt.log" >&2
        return 1
    fi
    tar --no-same-owner -xzf "$target"/fetched/pyfim-*.tar.gz -C "$target" --strip-components=1 >> "$log" 2>&1
    [ -e "$target/eclat/src/eclat.c" ] || {
        echo "borgelt: pyfim no longer brings the sources of eclat; see build/peers/borgelt.log" >&2
        return 1
    }
}

case ${1-} in
    setup) setup ;;
    *) sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
