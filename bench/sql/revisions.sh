#!/bin/bash
# This tree against another revision of it, in two private servers; `bench/run revisions REVISION` calls it. The sides are
# the same statements over the same rows on one thread, in turns. What counts is the CPU time of the server: its
# processes have a clock of 10 ms, so statements that are quick are repeated.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

scale=${BENCH_SCALE:-1}
max_runs=${BENCH_RUNS:-7}
# shellcheck source=bench/sides.sh
. bench/sides.sh
# shellcheck disable=SC2034  # read by sides.sh
max_seconds=${BENCH_SECONDS:-120} phases=()
other_revision=$1

on_other() { PGHOST=$BENCH_OTHER_HOST "$@"; }

load_both() { # TABLE COPY_OPTIONS COMMAND...
    local table=$1 options=$2 server
    shift 2
    say "loading $table"
    for server in env on_other; do
        "$server" psql -X -q -v ON_ERROR_STOP=1 -c "CREATE TABLE $table (tid int4, item int4)"
        "$@" | "$server" psql -X -q -v ON_ERROR_STOP=1 -c "COPY $table FROM STDIN $options"
        "$server" psql -X -q -v ON_ERROR_STOP=1 -c "VACUUM (FREEZE, ANALYZE) $table"
    done
}

open_psql pg
on_other open_psql other
# shellcheck disable=SC2034,SC2154  # read by sides.sh
postmaster_of[other]=$(head -n 1 "$BENCH_OTHER_DATA/postmaster.pid")

make_generator
load_both w1 "(FORMAT binary)" build/generate w1 --scale "$scale"
for name in retail chess; do ! has_fimi "$name" "$name" || load_both "$name" "" fimi_rows "$name"; done
for session in pg other; do
    ask "$session" "CREATE FUNCTION pg_temp.plan(query text, times int) RETURNS void LANGUAGE plpgsql AS \$\$
        BEGIN FOR k IN 1 .. times LOOP EXECUTE 'EXPLAIN ' || query; END LOOP; END \$\$; SELECT count(*) FROM batmap_last_run();"
done

emit "# Two revisions"
emit
emit_machine "bench/run revisions $other_revision"
emit
emit "CPU time of the server, ms, on one thread: medians of $max_runs runs in turns."
emit
emit "| statement | times | this revision | $other_revision | this / other | |"
emit "|---|---|---|---|---|---|"

repeated() { local k; for ((k = 0; k < $1; k++)); do printf '%s ' "$2"; done; }

compare() { # NAME TABLE TIMES STATEMENT
    [[ $1 =~ ${BENCH_ONLY:-.} ]] || return 0
    [ "$(psql -X -A -t -c "SELECT to_regclass('$2') IS NULL")" = f ] || return 0
    local query settings="SET batmap.threads = 1; SET max_parallel_workers_per_gather = 0;" ratio
    query=$(repeated "$3" "$4")
    side "$1_here" pg "$settings" "$query"
    side "$1_there" other "$settings" "$query"
    alternate "$1_here" "$1_there"
    agree "$1_here" "$1_there"
    ratio=$(calculate "$(median "$1_here" cpu) / $(median "$1_there" cpu)" 3)
    emit "| ${1//_/ } | $3 | $(calculate "$(median "$1_here" cpu)") | $(calculate "$(median "$1_there" cpu)") | $ratio" \
        "| $(holds "$ratio <= 1.03" && echo met || echo '**slower by more than 3 %**') |"
}

itemsets() { echo "SELECT count(*), sum(n) FROM batmap_itemsets('SELECT tid, item FROM $1', min_count => $2) AS i (itemset, length, n);"; }
planned() { echo "DO \$\$ BEGIN PERFORM pg_temp.plan('$1', $2); END \$\$;"; }

compare all_pairs_of_w1 w1 1 "$(batmap_query w1 1)"
compare no_pairs_of_w1 w1 3 "$(batmap_query w1 10000000)"
compare all_pairs_of_retail retail 10 "$(batmap_query retail 1)"
compare itemsets_of_retail retail 5 "$(itemsets retail 9)"
compare itemsets_of_chess chess 10 "$(itemsets chess 1500)"
compare node_on_w1 w1 1 "$(self_join w1)"
compare node_on_retail retail 10 "$(self_join retail)"
compare plans_of_one_table w1 1 "$(planned 'SELECT count(*) FROM w1 WHERE tid = 7' 20000)"
compare plans_of_a_self_join w1 1 "$(planned "$(self_join w1 | tr -d ';')" 5000)"
save_report -revisions
