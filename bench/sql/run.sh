#!/bin/bash
# The extension against plain SQL and against DuckDB, in one run on one private server: `make bench`, or
# test/sandbox bench/sql/run.sh. Prints Markdown: the machine, the comparisons with their goals, where the
# time goes, and memory. bench/README.md describes the method, the variables, and what the figures do not say.
#
# Variables: BENCH_SCALE (fraction of the transactions, default 1), BENCH_PARTS (default "scan join duckdb
# sets plain planning retail itemsets memory"; also small_sets, shapes, corpus, spill, itemset_files, event_files, work_memory, growth, surface, front, kept), BENCH_RUNS (runs
# of each side, default 5), BENCH_SECONDS (a side that has taken this long is not run again, default 40 x scale),
# BENCH_ORDER (of the rows: tid or random), BENCH_FULL_JOIN=1 (self-join over all of w1, not a tenth),
# BENCH_GROWTH (the numbers of rows of the part growth), BENCH_ITEMSET_ROWS (of the part itemset_files), BENCH_EVENTS (of event_files), BENCH_SAVE=1 (also writes bench/results/DATE-CPU.md, with
# BENCH_SUFFIX at the end of its name), BATMAP_TEST_DATA (folder with fimi/NAME.dat.zst;
# missing data sets are skipped).

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

scale=${BENCH_SCALE:-1}
parts=${BENCH_PARTS:-scan join duckdb sets plain planning retail itemsets memory}
max_runs=${BENCH_RUNS:-5}
order=${BENCH_ORDER:-tid}

# shellcheck source=bench/sides.sh
. bench/sides.sh
max_seconds=${BENCH_SECONDS:-$(calculate "40 * $scale")}

wanted() { case " $parts " in *" $1 "*) ;; *) false ;; esac; }

# ---- the report

comparison_head() { # WHAT OTHER RATIO
    emit
    emit "| $1 | rows; sum of supports | batmap_pairs, s | runs | $2, s | runs | $3 | goal |"
    emit "|---|---|---|---|---|---|---|---|"
}

# One line. `other_ms` replaces the median of the other side if it is an estimate. The ratio is other /
# ours, or ours / other.
comparison() { # WHAT OURS OTHER ours|other BOUND [OTHER_MS]
    local ours theirs ratio verdict bracket=''
    [ $# -gt 5 ] || bracket=" ($(least "$3"))"
    ours=$(median "$2") theirs=${6:-$(median "$3")}
    if [ "$4" = ours ]; then
        ratio=$(calculate "$ours / $theirs" 2)
        if holds "$ratio <= $5"; then verdict="at most $5: met"; else verdict="at most $5: **missed**"; fi
    else
        ratio=$(calculate "$theirs / $ours" 1)
        if holds "$ratio >= $5"; then verdict="at least $5: met"; else verdict="at least $5: **missed**"; fi
    fi
    [ "$scale" = 1 ] || verdict="(not at this scale)"
    emit "| $1 | ${side_answer[$2]/|/; } | $(seconds "$2") ($(least "$2")) | $(runs "$2")" \
        "| $(calculate "$theirs / 1000" 3)$bracket | $(runs "$3") | $ratio | $verdict |"
}

# ---- instances

load_w1() {
    make_generator
    say "loading w1, scale $scale, rows in $order order"
    run_sql 'CREATE TABLE w1 (tid int4, item int4)'
    build/generate w1 --scale "$scale" --order "$order" | psql -X -q -v ON_ERROR_STOP=1 -c 'COPY w1 FROM STDIN (FORMAT binary)'
    if wanted duckdb; then build/generate w1 --scale "$scale" --order "$order" --format text > "$work/w1.tsv" 2> /dev/null; fi
    run_sql 'VACUUM (FREEZE, ANALYZE) w1'
}

# A fraction of the transactions, for sides that take too long on all. The planner gets the statistics of the
# whole table, and so makes the plan of the whole table: for a tenth alone it would not count groups in every
# worker, and be slower.
share_of_w1() { # TABLE SHARE
    psql -X -q -v ON_ERROR_STOP=1 <<END
CREATE TABLE $1 AS SELECT * FROM w1 WHERE tid < $2 * $transactions;
ALTER TABLE $1 SET (parallel_workers = 2), ALTER tid SET (n_distinct = $transactions);
VACUUM (FREEZE, ANALYZE) $1;
UPDATE pg_class SET reltuples = reltuples / $2 WHERE oid = '$1'::regclass;
END
}

load_fimi() { # FILE TABLE
    has_fimi "$2" "$1" || return
    say "loading $1"
    run_sql "CREATE TABLE $2 (tid int4, item int4)"
    fimi_rows "$1" | psql -X -q -v ON_ERROR_STOP=1 -c "COPY $2 FROM STDIN"
    run_sql "VACUUM (FREEZE, ANALYZE) $2"
}

# Large enough that neither the join's table nor the groups spill.
generous="SET work_mem = '$((memory_mb / 6))MB';"

retail_loaded=''
load_retail_once() {
    [ -n "$retail_loaded" ] || { load_fimi retail retail && retail_loaded=yes || retail_loaded=no; }
    [ "$retail_loaded" = yes ]
}

partitioned_copy() { # TABLE PARTITIONS: of w1, by hash of tid
    local part
    run_sql "CREATE TABLE $1 (tid int4, item int4) PARTITION BY HASH (tid)"
    for part in $(seq 0 $(($2 - 1))); do run_sql "CREATE TABLE $1_$part PARTITION OF $1 FOR VALUES WITH (MODULUS $2, REMAINDER $part)"; done
    run_sql "INSERT INTO $1 TABLE w1"
    run_sql "VACUUM (FREEZE, ANALYZE) $1"
}

# ---- the parts

part_scan() {
    local threshold pairs workers
    sql "SELECT min(support_count) + 1 FROM batmap_pairs('SELECT tid, item FROM w1', top_k => 10000);"
    threshold=$answer
    sql "SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM w1', min_count => $threshold);"
    pairs=$answer
    for workers in 0 2; do
        side "few_pairs_$workers" pg "$(workers $workers)" "$(batmap_query w1 "$threshold")"
        side "sums_$workers" pg "$(workers $workers)" "SELECT sum(tid), sum(item) FROM w1;"
        alternate "few_pairs_$workers" "sums_$workers"
        phase_sides+=("few_pairs_$workers")
    done
    emit
    emit "## A threshold that leaves few rows, against reading the table"
    emit
    emit "w1, min_count $threshold: $pairs pairs. \`batmap_pairs\` against \`SELECT sum(tid), sum(item) FROM w1\`."
    comparison_head max_parallel_workers_per_gather sums "batmap / sums"
    for workers in 0 2; do comparison "$workers" "few_pairs_$workers" "sums_$workers" ours 0.6; done
    cp "$work/few_pairs_0.read" "$work/few_read.ms"
    side_answer[few_read]=${side_answer[few_pairs_0]}
    comparison "0, reading alone" few_read sums_0 ours 0.25
    partitioned_copy w1_parts 16
    side few_parts pg "$(workers 0)" "$(batmap_query w1_parts "$threshold")"
    side sums_parts pg "$(workers 0)" "SELECT sum(tid), sum(item) FROM w1_parts;"
    alternate few_parts sums_parts
    cp "$work/few_parts.read" "$work/read_parts.ms"
    side_answer[read_parts]=${side_answer[few_parts]}
    comparison "0, reading alone, 16 partitions by hash of tid" read_parts sums_parts ours 0.3
    side few_pairs_one pg "$(workers 0) SET batmap.threads = 1;" "$(batmap_query w1 "$threshold")"
    side few_pairs_two pg "$(workers 1) SET batmap.threads = 2;" "$(batmap_query w1 "$threshold")"
    alternate few_pairs_one few_pairs_two
    phase_sides+=(few_pairs_one few_pairs_two)
    emit
    emit "The same with two processes to read and two threads to count, against one of each."
    comparison_head "" one "one / two"
    comparison "two against one" few_pairs_two few_pairs_one other 1.6
}

# All pairs of w1 by the extension, for the parts that compare with this.
measure_all_pairs() {
    local others=("$@")
    side all_pairs_1 pg "$(workers 0) SET batmap.threads = 1;" "$(batmap_query w1 1)"
    side all_pairs_2 pg "$(workers 1) SET batmap.threads = 2;" "$(batmap_query w1 1)"
    side all_pairs_default pg "" "$(batmap_query w1 1)"
    phase_sides+=(all_pairs_1 all_pairs_2 all_pairs_default)
    alternate all_pairs_1 all_pairs_2 all_pairs_default "${others[@]}"
}

part_join() { # the extension's sides have been measured
    local best table=w1_tenth estimate fixed
    if [ "${BENCH_FULL_JOIN-}" = 1 ]; then table=w1; else share_of_w1 w1_tenth 0.1; fi
    side join_default pg "$plain" "$(self_join $table)"
    side join_generous pg "$plain $generous" "$(self_join $table)"
    side check_join pg "" "$(batmap_query $table 1)"
    alternate join_default join_generous check_join
    agree check_join join_default join_generous
    best=$(best_of join_default join_generous)
    estimate=$(median "$best")
    emit
    emit "## All pairs, against the self-join in PostgreSQL"
    emit
    emit "w1, min_count 1; both sides with the default max_parallel_workers_per_gather. The self-join over $table takes" \
        "$(seconds join_default) s with the default work_mem and $(seconds join_generous) s with $((memory_mb / 6)) MB; the better" \
        "counts. batmap_pairs gives the same answer there (${side_answer[check_join]/|/; }) in $(seconds check_join) s."
    if [ $table = w1_tenth ]; then
        share_of_w1 w1_twentieth 0.05
        side join_twentieth pg "${side_settings[$best]}" "$(self_join w1_twentieth)"
        side check_twentieth pg "" "$(batmap_query w1_twentieth 1)"
        alternate join_twentieth check_twentieth
        agree join_twentieth check_twentieth
        # Pair instances grow with the transactions, the cost of making the groups does not: the line through
        # the two points splits them.
        fixed=$(calculate "2 * $(median join_twentieth) - $estimate")
        holds "$fixed >= 0" || fixed=0
        emit "Its time over all of w1 is extrapolated: both shares are planned with the statistics of the whole table, and a" \
            "twentieth takes $(seconds join_twentieth) s, so that $(calculate "$fixed / 1000") s go into making the groups, once, and the" \
            "rest of the tenth counts ten times."
        if holds "$fixed > 0.5 * $estimate"; then
            emit "**Making the groups takes most of a tenth, so the two shares do not tell: no figure. BENCH_FULL_JOIN=1 runs it over all of w1.**"
            return 0
        fi
        estimate=$(calculate "$fixed + 10 * ($estimate - $fixed)")
    fi
    comparison_head max_parallel_workers_per_gather "self-join" "self-join / batmap"
    comparison default all_pairs_default "$best" other 100 "$estimate"
}

part_duckdb() { # opened and loaded
    local threads setting best=()
    ask duckdb "SELECT version();"
    duckdb_version=$answer
    # A hash table addressed by the packed key is faster here, but by default DuckDB uses one only for small keys.
    for threads in 1 2; do
        for setting in 12 26; do
            side "duckdb_tenth_${threads}_$setting" duckdb "SET threads = $threads; SET perfect_ht_threshold = $setting;" "$(self_join w1_tenth)"
            run_side "duckdb_tenth_${threads}_$setting"
        done
        best+=("$(best_of "duckdb_tenth_${threads}_12" "duckdb_tenth_${threads}_26")")
    done
    for threads in 1 2; do
        side "duckdb_$threads" duckdb "${side_settings[${best[threads - 1]}]}" "$(self_join w1)"
    done
    measure_all_pairs duckdb_1 duckdb_2
    agree all_pairs_1 all_pairs_2 all_pairs_default duckdb_1 duckdb_2
    emit
    emit "## All pairs, against DuckDB"
    emit
    emit "w1, min_count 1; DuckDB $duckdb_version, the self-join over a table in memory. Settings, the better of two on a tenth" \
        "of the transactions: perfect_ht_threshold 12 (the default) $(seconds duckdb_tenth_1_12) s and $(seconds duckdb_tenth_2_12) s" \
        "with 1 and 2 threads, 26 $(seconds duckdb_tenth_1_26) s and $(seconds duckdb_tenth_2_26) s."
    comparison_head threads DuckDB "DuckDB / batmap"
    for threads in 1 2; do comparison $threads "all_pairs_$threads" "duckdb_$threads" other 10; done
}

part_retail() {
    local best
    side retail_pairs pg "" "$(batmap_query retail 1)"
    side retail_default pg "$plain" "$(self_join retail)"
    side retail_generous pg "$plain $generous" "$(self_join retail)"
    alternate retail_pairs retail_default retail_generous
    agree retail_pairs retail_default retail_generous
    best=$(best_of retail_default retail_generous)
    phase_sides+=(retail_pairs)
    emit
    emit "## Real data, all pairs"
    emit
    emit "retail, min_count 1. The self-join takes $(seconds retail_default) s with the default work_mem and" \
        "$(seconds retail_generous) s with $((memory_mb / 6)) MB; the better counts."
    comparison_head max_parallel_workers_per_gather "self-join" "self-join / batmap"
    comparison default retail_pairs "$best" other 8
}

# Private memory of all processes of the server, in kB.
server_private_kb() {
    local pid key value rest sum=0
    local -a pids
    read -r -a pids < "/proc/$postmaster/task/$postmaster/children"
    for pid in "${pids[@]}"; do
        while read -r key value rest; do
            if [ "$key" = RssAnon: ]; then sum=$((sum + value)); break; fi
        done 2> /dev/null < "/proc/$pid/status" || true
    done
    echo $sum
}

memory_row() { # WHAT SETTINGS QUERY: in a session of its own
    local pid idle peak now highest shared sampler reported=''
    open_psql memory
    ask memory "SELECT pg_backend_pid();"
    pid=$answer
    ask memory "$2"
    idle=$(server_private_kb)
    rm -f "$work/stop"
    (
        peak=$idle
        until [ -e "$work/stop" ]; do
            now=$(server_private_kb)
            if [ "$now" -gt "$peak" ]; then peak=$now; fi
            sleep 0.01
        done
        echo "$peak" > "$work/peak"
    ) &
    sampler=$!
    ask memory "$3"
    touch "$work/stop"
    wait "$sampler"
    peak=$(cat "$work/peak")
    highest=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$pid/status")
    shared=$(awk '$1 == "RssShmem:" { print $2 }' "/proc/$pid/status")
    case $3 in
        *batmap_pairs*)
            ask memory "SELECT peak_memory FROM batmap_last_run();"
            reported=$(calculate "$answer / 1e6")
            ;;
    esac
    close_session memory
    emit "| $1 | $(calculate "$highest / 1e3 * 1.024") | $(calculate "$shared / 1e3 * 1.024") | $(calculate "($peak - $idle) / 1e3 * 1.024") | $reported |"
}

part_memory() {
    local threshold workers
    sql "SELECT min(support_count) + 1 FROM batmap_pairs('SELECT tid, item FROM w1', top_k => 10000);"
    threshold=$answer
    emit
    emit "## Memory, MB (goal: the backend below 400)"
    emit
    emit "Each row in a new session. *Backend* is VmHWM; it counts the pages of the shared buffers that the process touched (*shared*)." \
        "*Private, all processes* is the highest sum of RssAnon over the server's processes, parallel workers included, above idle," \
        "sampled every 10 ms or so. *Reported* is peak_memory of batmap_last_run()."
    emit
    emit "| w1 | backend | of it shared | private, all processes | reported |"
    emit "|---|---|---|---|---|"
    for workers in 0 2; do
        memory_row "sum(tid), sum(item), $workers workers" "$(workers $workers)" "SELECT sum(tid), sum(item) FROM w1;"
        memory_row "min_count $threshold, $workers workers" "$(workers $workers)" "$(batmap_query w1 "$threshold")"
        memory_row "min_count 1, $workers workers" "$(workers $workers)" "$(batmap_query w1 1)"
    done
}

# shellcheck source=bench/sql/sets.sh
. bench/sql/sets.sh
# shellcheck source=bench/sql/plain.sh disable=SC1091
. bench/sql/plain.sh
# shellcheck source=bench/sql/planning.sh disable=SC1091
. bench/sql/planning.sh
# shellcheck source=bench/sql/shapes.sh disable=SC1091
. bench/sql/shapes.sh
# shellcheck source=bench/sql/corpus.sh disable=SC1091
. bench/sql/corpus.sh
# shellcheck source=bench/sql/itemsets.sh disable=SC1091
. bench/sql/itemsets.sh
# shellcheck source=bench/sql/spill.sh
. bench/sql/spill.sh
# shellcheck source=bench/sql/work_memory.sh
. bench/sql/work_memory.sh
# shellcheck source=bench/sql/kept.sh
. bench/sql/kept.sh
# shellcheck source=bench/sql/growth.sh
. bench/sql/growth.sh
# shellcheck source=bench/sql/surface.sh
. bench/sql/surface.sh
# shellcheck source=bench/sql/front.sh
. bench/sql/front.sh

# ---- the run

started=$SECONDS
open_psql pg
emit "# Frequent pairs in PostgreSQL, $(date -u +%Y-%m-%d)"
emit
emit_machine "make bench"

duckdb_ready=no
if wanted duckdb; then
    say "making sure of DuckDB"
    if bench/peers/duckdb.sh setup; then duckdb_ready=yes; else say "DuckDB is skipped"; fi
fi

if wanted scan || wanted join || wanted duckdb || wanted sets || wanted plain || wanted planning || wanted spill || wanted surface || wanted memory; then
    load_w1
    sql "SELECT count(*), count(DISTINCT tid), count(DISTINCT item) FROM w1;"
    IFS='|' read -r rows transactions items <<< "$answer"
    emit "w1: $rows rows, $transactions transactions, $items items, rows in $order order. Medians, and the least in brackets; the sides take turns."
    sql "SELECT 1 FROM batmap_last_run();"
fi

if wanted scan; then part_scan; fi
if [ $duckdb_ready = yes ]; then
    open_session duckdb bench/peers/duckdb.sh session
    ask duckdb "CREATE TABLE w1 AS SELECT * FROM read_csv('$work/w1.tsv', delim = '\\t', header = false, columns = {'tid': 'INTEGER', 'item': 'INTEGER'});"
    ask duckdb "CREATE TABLE w1_tenth AS SELECT * FROM w1 WHERE tid < 0.1 * (SELECT max(tid) + 1 FROM w1);"
    part_duckdb
    close_session duckdb
elif wanted join || wanted duckdb; then
    measure_all_pairs
fi
if wanted join; then part_join; fi
if wanted sets; then part_sets; fi
if wanted small_sets; then part_small_sets; fi
if wanted plain; then part_plain; fi
if wanted planning; then part_planning; fi
if wanted shapes; then part_shapes; fi
if wanted corpus; then part_corpus; fi
if wanted retail && load_retail_once; then part_retail; fi
if wanted itemsets; then part_itemsets; fi
phase_table
if wanted spill; then part_spill; fi
if wanted itemset_files; then part_itemset_files; fi
if wanted event_files; then part_event_files; fi
if wanted work_memory; then part_work_memory; fi
if wanted growth; then part_growth; fi
if wanted kept; then part_kept; fi
if wanted surface; then part_surface; fi
if wanted front && load_retail_once; then part_front; fi
if wanted memory; then part_memory; fi

emit
emit "Load at the end $(load); $((SECONDS - started)) s in all."

save_report "${BENCH_SUFFIX-}"
