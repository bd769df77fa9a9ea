# The part `sets` of run.sh, which sources this file: stored sets, over the transposed w1 and over
# sets of 100,000 elements.
#
# `bench/run neighbours` measures pg_roaringbitmap in the same server, from a source that the user names. Here its seconds are not
# from this run, but from version 1.2 over the same sets, on one core of a Xeon (Sapphire Rapids) with PostgreSQL 15.
roaring_loop_s=49 roaring_plain_loop_s=18 roaring_call_us=199

set_loop() { # no two sets of w1 are disjoint, so this counts the rows of batmap_all_pairs
    echo "SELECT count(*), sum(batmap_and_cardinality(a.tids, b.tids)) FROM sets a JOIN sets b ON a.id < b.id;"
}

# Prints one line: what, side, pg_roaringbitmap's seconds, least ratio.
set_line() {
    local ratio verdict
    ratio=$(calculate "$3 * 1000 / $(median "$2")" 1)
    if holds "$ratio >= $4"; then verdict="at least $4: met"; else verdict="at least $4: **missed**"; fi
    [ "$scale" = 1 ] || verdict="(not at this scale)"
    emit "| $1 | ${side_answer[$2]/|/; } | $(seconds "$2") ($(least "$2")) | $(runs "$2") | $3 | $ratio | $verdict |"
}

part_sets() {
    local built
    sql "CREATE TABLE sets (id int4, tids batmap($transactions));"
    sql "INSERT INTO sets SELECT item, batmap_agg(tid, $transactions) FROM w1 GROUP BY item;"
    built=$ms
    psql -X -q -v ON_ERROR_STOP=1 -c 'VACUUM (FREEZE, ANALYZE) sets'
    sql "SELECT (s).container, (s).cardinality, (s).bytes FROM (SELECT batmap_stats(tids) AS s FROM sets ORDER BY id LIMIT 1) t;"
    emit
    emit "## Stored sets: the tids of each item of w1"
    emit
    emit "\`batmap_agg\` makes the $items sets from $rows rows in $(calculate "$built / 1000" 2) s, written to a table; the first: ${answer//|/, } (container, elements, bytes)." \
        "pg_roaringbitmap's seconds are from another machine (bench/sql/sets.sh)."
    side set_pairs pg "" "SELECT count(*), sum(intersection) FROM batmap_all_pairs('SELECT id, tids FROM sets', min_count => 1);"
    side set_loop_default pg "" "$(set_loop)"
    side set_loop_serial pg "$(workers 0)" "$(set_loop)"
    alternate set_pairs set_loop_default set_loop_serial
    agree set_pairs set_loop_default set_loop_serial
    phase_sides+=(set_pairs)
    emit
    emit "| all pairs | rows; sum of intersections | s | runs | pg_roaringbitmap's loop, s | ratio | goal |"
    emit "|---|---|---|---|---|---|---|"
    set_line "batmap_all_pairs, against values stored plain" set_pairs $roaring_plain_loop_s 30
    set_line "batmap_all_pairs, against toasted values" set_pairs $roaring_loop_s 30
    set_line "nested loop" set_loop_default $roaring_loop_s 3
    set_line "nested loop, no workers" set_loop_serial $roaring_loop_s 3
    part_set_call
}

# A statement keeps no value for the next one, so each fetches its two sets anew. The backend has mapped the
# table's pages before. The time of a statement that fetches neither set is printed beside.
part_set_call() {
    local sets=64 k kind
    sql "CREATE TABLE big (id int4 PRIMARY KEY, s batmap(10000000));"
    sql "INSERT INTO big SELECT g / 100000, batmap_agg((hashint8extended(g, 1) & 9223372036854775807) % 10000000, 10000000) FROM generate_series(0, $sets * 100000 - 1) g GROUP BY 1;"
    psql -X -q -v ON_ERROR_STOP=1 -c 'VACUUM (FREEZE, ANALYZE) big'
    open_psql call
    rm -f "$work"/call_*
    ask call "SELECT sum(get_byte(s::bytea, 0)) FROM big;"
    for ((k = 0; k < sets; k += 2)); do
        for kind in "nothing a.id + b.id" "fetch get_byte(a.s::bytea, 0) + get_byte(b.s::bytea, 0)" "call batmap_and_cardinality(a.s, b.s)"; do
            ask call "SELECT ${kind#* } FROM big a, big b WHERE a.id = $k AND b.id = $((k + 1));"
            echo "$ms" >> "$work/call_${kind%% *}.ms"
        done
    done
    ask call "SET batmap.work_mem = '1GB'; SELECT sum(batmap_and_cardinality(a.s, b.s)) FROM big a, big b, generate_series(1, 3);"
    ask call "SELECT count(*), sum(batmap_and_cardinality(a.s, b.s)) FROM big a, big b, generate_series(1, 3);"
    local again=$ms
    ask call "SELECT count(*), sum(a.id + b.id) FROM big a, big b, generate_series(1, 3);"
    again=$(calculate "($again - $ms) * 1000 / (3 * $sets * $sets)" 1)
    ask call "SELECT avg(pg_column_size(s))::int, avg(batmap_cardinality(s))::int FROM big;"
    close_session call
    emit
    emit "One call on two stored sets of about ${answer#*|} of 10,000,000 elements (${answer%|*} bytes each), medians of $((sets / 2)) pairs, each fetched" \
        "by a statement of its own; pg_roaringbitmap's call takes $roaring_call_us us, of which half is fetching the values."
    emit
    emit "| | us |"
    emit "|---|---|"
    emit "| the statement, taking neither value | $(calculate "$(median call_nothing) * 1000") |"
    emit "| both values fetched and copied as bytea | $(calculate "$(median call_fetch) * 1000") |"
    emit "| batmap_and_cardinality | $(calculate "$(median call_call) * 1000") |"
    emit "| of it the call: less the statement | $(calculate "($(median call_call) - $(median call_nothing)) * 1000") |"
    emit "| a further call in the same statement, values kept | $again |"
}

# CPU time of a loop over the small sets of a table, less that of the loop alone, in the session `small`.
small_loop() { # TABLE
    local before without sum
    ask small "SELECT cpu_ms();"
    before=$answer
    ask small "SELECT count(*), sum(a.id + b.id) FROM $1 a JOIN $1 b ON a.id < b.id;"
    ask small "SELECT cpu_ms();"
    without=$(calculate "$answer - $before")
    before=$answer
    ask small "SELECT sum(batmap_and_cardinality(a.tids, b.tids)) FROM $1 a JOIN $1 b ON a.id < b.id;"
    sum=$answer
    ask small "SELECT cpu_ms();"
    emit "| $1 | $sum | $(calculate "$answer - $before") | $without |"
}

# Sets so small that they stay inside their rows: compact, and the same sets prepared at rest.
part_small_sets() {
    local sets=4000 shape name elements universe
    emit
    emit "## Small sets inside their rows: a nested loop over $sets"
    emit
    emit "CPU time of the backend, ms, and of the same join without a call; two runs, in turn."
    emit
    emit "| table | sum of intersections | the loop | without a call |"
    emit "|---|---|---|---|"
    open_psql small
    ask small "SET max_parallel_workers_per_gather = 0; SET jit = off; SET work_mem = '64MB';"
    ask small "CREATE FUNCTION cpu_ms() RETURNS int LANGUAGE sql AS \$\$SELECT (string_to_array(pg_read_file('/proc/self/stat'), ' '))[14]::int * 10\$\$;"
    for shape in "clustered 645 12500" "scattered 100 100000000" "tiny 20 1000"; do
        read -r name elements universe <<< "$shape"
        ask small "CREATE TABLE $name AS SELECT g AS id, (SELECT batmap_agg((hashint8extended(x, g) & 1073741823) % $universe) FROM generate_series(1, $elements) x) AS tids FROM generate_series(1, $sets) g;"
        ask small "CREATE TABLE ${name}_prepared AS SELECT id, batmap_prepare(tids, $universe) AS tids FROM $name;"
        ask small "VACUUM (ANALYZE) $name, ${name}_prepared;"
        for _ in 1 2; do
            small_loop "$name"
            small_loop "${name}_prepared"
        done
    done
    close_session small
}
