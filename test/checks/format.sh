#!/bin/bash
# Checks that C++ is laid out as by clang-format 14 (other versions differ in places), that shell scripts
# pass shellcheck, and that Markdown is wrapped at 100 columns. `--fix` lays out C++ and Markdown again.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

mapfile -t sources < <(find kernels extension test bench -name build -prune -o \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print 2> /dev/null | sort)
mapfile -t scripts < <(find .ci bench debian demo packaging test -type f -not -path 'test/t/*' -exec grep -lIE -m 1 '^#!/(usr/)?bin/(env )?(ba)?sh' {} + 2> /dev/null | sort)

# What bench printed stays as it is.
mapfile -t documents < <(find . \( -path ./build -o -path ./.git -o -path ./bench/results \) -prune -o -name '*.md' -printf '%P\n' | LC_ALL=C sort)

formatter=
for candidate in clang-format-14 clang-format; do
    if [ "$("$candidate" --version 2> /dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')" = 14 ]; then
        formatter=$candidate
        break
    fi
done

if [ "${1-}" = --fix ]; then
    test/wrap_markdown --fix "${documents[@]}"
    [ -n "$formatter" ] || { echo "format: clang-format 14 is not installed"; exit 1; }
    "$formatter" -i "${sources[@]}"
    exit
fi

status=0
skipped=0
if [ -z "$formatter" ]; then
    echo "format: clang-format 14 is not installed; layout is not checked"
    skipped=1
elif [ ${#sources[@]} -gt 0 ]; then
    # One process for all files: starting it takes longer than reading a file.
    if ! found=$("$formatter" --dry-run -Werror "${sources[@]}" 2>&1); then
        echo "format: not as clang-format lays it out; \`make format\` does:"
        sed -n 's/:[0-9]*:[0-9]*: error: .*//p' <<< "$found" | sort -u
        status=1
    fi
fi
if ! long=$(test/wrap_markdown "${documents[@]}"); then
    echo "format: not wrapped; \`make format\` does:"
    echo "$long"
    status=1
fi
if ! command -v shellcheck > /dev/null; then
    echo "format: shellcheck is not installed; scripts are not checked"
    skipped=1
elif [ ${#scripts[@]} -gt 0 ]; then
    shellcheck -x "${scripts[@]}" || status=1
fi

[ $status = 0 ] || exit 1
[ $skipped = 0 ] || exit 77
