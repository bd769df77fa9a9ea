#!/bin/bash
# Who includes whom. A file includes its own room and rooms of lower floors. The engine knows nothing of the extension or
# the server. The extension sees the server through extension/server/pg.h alone. CUDA stays in kernels/cuda, which knows
# the ABI of the accelerator and the permutations of sets, and nothing else.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

status=0
report() {
    echo "layers: $*"
    status=1
}

# "file:line:target" of every #include of the given folder; quotes and angle brackets stay on the target.
includes() {
    grep -rnE '^[[:space:]]*#[[:space:]]*include' "$1" --include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh' |
        sed -E 's/^([^:]*:[0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]*[>"]).*/\1:\2/' || true
}

# The floor of each room. A file may include its own room and rooms of lower floors.
declare -A floor=(
    [kernels/core]=0
    [kernels/bits]=1
    [kernels/compact]=2
    [kernels/set]=3 [kernels/relation]=3 [kernels/measures]=3 [kernels/accel]=3
    [kernels/pairs/counters]=4 [kernels/itemsets/answers]=4 [kernels/itemsets/forms]=4 [kernels/episodes]=4
    [kernels/process]=4
    [kernels/process/client]=5 [kernels/process/host]=5
    [kernels/pairs]=5 [kernels/itemsets/search]=5 [kernels/itemsets/counts]=5
    [kernels/pairs/counts]=6 [kernels/itemsets]=6
    [kernels/itemsets/rules]=7
    [extension/server]=8
    [extension/input]=9 [extension/types]=9
    [extension/aggregates]=10 [extension/kept]=10 [extension/streams]=10
    [extension/functions/parts]=11 [extension/functions/values]=11
    [extension/functions]=12 [extension/plan/query]=12 [extension/plan/nearest]=12
    [extension/plan/join]=13
    [extension/plan/itemsets]=14 [extension/plan/listed]=14
    [extension/plan]=15
    [extension/plan/aggregate]=16
    [extension]=17
)

# Pairs, itemsets and episodes know nothing of each other: what two of them need lies below.
declare -A topic
for room in "${!floor[@]}"; do
    case $room in kernels/pairs* | kernels/itemsets* | kernels/episodes*) name=${room#kernels/} topic[$room]=${name%%/*} ;; esac
done

check_floor() { # LINE TARGET, "file:line:..." and the path that it includes
    local file=${1%%:*} room other=${2%/*}
    room=${file%/*}
    [ "$room" != "$other" ] || return 0
    if [ -z "${floor[$room]-}" ]; then
        report "$1: $room has no floor in layers.sh"
    elif [ -z "${floor[$other]-}" ]; then
        report "$1: not a path from kernels/ (\"core/error.h\") or from the root (\"extension/server/pg.h\")"
    elif [ "${floor[$other]}" -ge "${floor[$room]}" ]; then
        report "$1: $room includes a room that is not below it"
    elif [[ $room = kernels/* && ${topic[$other]-} && ${topic[$other]} != "${topic[$room]-}" ]]; then
        report "$1: $room includes another topic"
    fi
}

# Recognises server headers by name: postgres.h and similar ones, or a path into an include folder
# of the server.
server='[<"](postgres(_ext|_fe)?\.h|c\.h|fmgr\.h|funcapi\.h|miscadmin\.h|pgstat\.h|pg_config.*\.h|pgtime\.h|(access|catalog|commands|common|executor|jit|lib|libpq|mb|nodes|optimizer|parser|partitioning|pgstat|port|portability|postmaster|regex|replication|rewrite|storage|tcop|tsearch|utils|varatt)/[^>"]*|varatt\.h)[>"]$'

if [ -d kernels ]; then
    while IFS= read -r line; do
        file=${line%%:*}
        target=${line##*:}
        layer=${file#kernels/}
        layer=${layer%%/*}
        name=${target:1:-1}
        if [[ $target =~ $server ]]; then report "$line: the engine includes a server header"; fi
        case $name in
            extension/* | */extension/*) report "$line: the engine includes the extension" ;;
            *cuda*.h | */cuda/* | cuda/* | cub/* | thrust/*) [ "$layer" = cuda ] || report "$line: CUDA outside kernels/cuda" ;;
        esac
        if [ "$layer" = cuda ]; then
            case $target in
                \"cuda/* | \"accel/accelerator.h\" | \"accel/device_episodes.h\" | \"accel/device_itemsets.h\" | \"set/permutation.h\" | \<*) ;;
                *) report "$line: not for kernels/cuda, which is a library of its own" ;;
            esac
            continue
        fi
        # Angle brackets name the library's headers.
        case $target in \<*) continue ;; esac
        check_floor "$line" "kernels/$name"
    done < <(includes kernels)
    if grep -rnE '__(global|device)__|\bcuda[A-Z][A-Za-z]*\(' kernels --include='*.h' --include='*.cpp' | grep -v '^kernels/cuda/'; then
        report "CUDA outside kernels/cuda"
    fi
fi

# lib/simplehash.h is a template. It is included where it is instantiated, after the macros that configure it.
if [ -d extension ]; then
    while IFS= read -r line; do
        file=${line%%:*}
        target=${line##*:}
        if [[ $target =~ $server ]] && [ "$file" != extension/server/pg.h ] && [ "${target:1:-1}" != lib/simplehash.h ]; then
            report "$line: server headers come through extension/server/pg.h"
        fi
        case $target in
            \"extension/*) check_floor "$line" "${target:1:-1}" ;;
        esac
    done < <(includes extension)
fi

exit $status
