#!/bin/bash
# The module exports exactly what the server looks up: Pg_magic_func, _PG_init, the main function of the worker, and for every C
# function of sql/ its symbol and the matching pg_finfo_ symbol: the objects of older versions call this library, too.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "${BATMAP_ROOT:-$root}"

# What was built last: for `make check`, or to be installed.
module=
for built in "$root/batmap.so" "$root/build/assertions/batmap.so"; do
    [ ! -e "$built" ] || [ "$module" -nt "$built" ] || module=$built
done
[ -n "$module" ] || { echo "exports: batmap.so is not built"; exit 1; }

# CREATE FUNCTION name(...) ... AS 'MODULE_PATHNAME'[, 'symbol'];  without a symbol the function's name is it.
wanted_functions() {
    cat sql/*.sql | sed 's/--.*//; /^\\/d' | tr '\n' ' ' | sed 's/;/;\n/g' |
        sed -nE "s/.*CREATE (OR REPLACE )?FUNCTION +([a-z_0-9]+) *\(.*AS +'MODULE_PATHNAME'( *, *'([a-z_0-9]+)')?.*/\2 \4/p" |
        awk '{ print $NF }' | sort -u
}

wanted=$( (
    echo Pg_magic_func
    echo _PG_init
    echo batmap_gpu_worker # found by the postmaster
    echo batmap_merge_launcher # these two, too
    echo batmap_merge_worker
    wanted_functions | sed 'p; s/^/pg_finfo_/'
) | LC_ALL=C sort -u)
exported=$(nm -D --defined-only "$module" | awk '{ print $3 }' | LC_ALL=C sort -u)

status=0
missing=$(LC_ALL=C comm -23 <(echo "$wanted") <(echo "$exported"))
extra=$(LC_ALL=C comm -13 <(echo "$wanted") <(echo "$exported"))
if [ -n "$missing" ]; then
    echo "exports: named in sql/*.sql, not exported by $module:"
    echo "$missing"
    status=1
fi
if [ -n "$extra" ]; then
    echo "exports: exported by $module, not named in sql/*.sql:"
    echo "$extra"
    status=1
fi
exit $status
