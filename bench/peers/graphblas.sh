#!/bin/bash
# SuiteSparse:GraphBLAS of the distribution (Debian, Ubuntu), unpacked under build/ and not installed.
#
# usage: bench/peers/graphblas.sh setup     fetches it if needed and builds graphblas_session.cpp with it; status 1 and a
#                                           message if it cannot
#        bench/peers/graphblas.sh session   runs graphblas_session

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$here/../../build/peers/graphblas
log=$target.log

fetch() {
    [ -e "$target/GraphBLAS.h" ] && [ -e "$target/libgraphblas.so" ] && return
    rm -rf "$target"
    mkdir -p "$target/fetched"
    local library
    # The package of the library has its version in the name.
    library=$(apt-cache depends libgraphblas-dev 2> /dev/null | sed -n 's/.*Depends: \(libgraphblas[0-9]*\)$/\1/p')
    if [ -z "$library" ] || ! (cd "$target/fetched" && apt-get download libgraphblas-dev "$library") > "$log" 2>&1; then
        echo "graphblas: apt could not fetch libgraphblas-dev (not Debian, no lists, or no way there?); see build/peers/graphblas.log" >&2
        return 1
    fi
    local package
    for package in "$target"/fetched/*.deb; do dpkg-deb -x "$package" "$target/fetched" >> "$log" 2>&1; done
    find "$target/fetched/usr" \( -name GraphBLAS.h -o -name 'libgraphblas.so*' \) -exec cp -P -t "$target" {} +
    rm -rf "$target/fetched"
}

setup() {
    fetch || return
    local program=$target/session
    [ "$program" -nt "$here/graphblas_session.cpp" ] && [ "$program" -nt "$here/session.h" ] && return
    "${CXX:-g++}" -std=c++20 -O2 -I "$target" -o "$program" "$here/graphblas_session.cpp" -L "$target" -lgraphblas -Wl,-rpath,"$target" \
        >> "$log" 2>&1 || {
        echo "graphblas: the session does not build; see build/peers/graphblas.log" >&2
        return 1
    }
}

case ${1-} in
    setup) setup ;;
    session) exec "$target/session" ;;
    *) sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
