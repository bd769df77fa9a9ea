#!/bin/bash
# Who includes whom. The engine knows nothing of the extension or the server; in it the arrows run core <- relation <- support;
# the extension sees the server through extension/server/pg.h alone; CUDA stays in kernels/cuda, which knows the ABI of the accelerator and the
# permutations of sets, and nothing else.
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

# Server headers by shape: postgres.h and its kin, or a path into one of the server's include folders.
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
        room=${name%%/*}
        if [ "$room" != "$layer" ]; then
            case $layer-$room in
                set-relation | relation-set | itemsets-episodes | episodes-itemsets) report "$line: two rooms of one floor" ;;
            esac
        fi
        # Rank of a layer: a file may include its own rank and lower ones.
        case $target in
            \"core/*) rank=0 ;;
            \"set/* | \"relation/*) rank=1 ;;
            \"accel/*) rank=2 ;;
            \"bits/* | \"measures/* | \"pairs/*) rank=3 ;;
            \"itemsets/* | \"episodes/*) rank=4 ;;
            \"*) report "$line: not a path from kernels/ (\"core/error.h\")"; continue ;;
            *) continue ;;
        esac
        case $layer in
            core) own=0 ;;
            set | relation) own=1 ;;
            accel) own=2 ;;
            support) own=3 ;;
            bits | measures | pairs) own=3 ;;
            *) own=4 ;;
        esac
        [ "$rank" -le "$own" ] || report "$line: kernels/$layer includes a layer above it"
    done < <(includes kernels)
    if grep -rnE '__(global|device)__|\bcuda[A-Z][A-Za-z]*\(' kernels --include='*.h' --include='*.cpp' | grep -v '^kernels/cuda/'; then
        report "CUDA outside kernels/cuda"
    fi
fi

# lib/simplehash.h is a template that is included where it is instantiated, behind the macros that shape it.
if [ -d extension ]; then
    while IFS= read -r line; do
        file=${line%%:*}
        target=${line##*:}
        if [[ $target =~ $server ]] && [ "$file" != extension/server/pg.h ] && [ "${target:1:-1}" != lib/simplehash.h ]; then
            report "$line: server headers come through extension/server/pg.h"
        fi
    done < <(includes extension)
fi

exit $status
