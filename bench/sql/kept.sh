# The part `kept` of run.sh, which sources this file: kept counts. Ten million rows (times BENCH_SCALE), ten in a transaction, 10,000
# items with Zipf popularity. Questions over merged counts, with 10,000 rows in the log, and by a recount; then inserts of 1, 10
# and 1,000 rows a statement, with the triggers and without; and the same inserts into a partitioned table. CPU is that of the
# server, in whole ticks of 10 ms, so questions are asked several times in one statement.

part_kept() {
    local rows kind partners pairs times asked=20 pairs_asked=5
    local partners_of="batmap_partners('kept_lines'::regclass, items => ARRAY[n % 7 + 1], top_k => 10, measure => 'lift')"
    make_generator
    say "kept: loading"
    run_sql 'CREATE TABLE kept_lines (tid int4, item int4)'
    build/generate --items 10000 --density 0.001 --rows "$(calculate "1e7 * $scale")" --zipf 1 | psql -X -q -v ON_ERROR_STOP=1 -c 'COPY kept_lines FROM STDIN (FORMAT binary)'
    run_sql 'CREATE INDEX ON kept_lines (tid, item)'
    run_sql 'VACUUM (FREEZE, ANALYZE) kept_lines'
    run_sql 'CREATE TABLE unkept_lines (tid int4, item int4)'
    run_sql 'CREATE INDEX ON unkept_lines (tid, item)'
    run_sql "SELECT batmap_keep('kept_lines', 'tid', 'item')" > /dev/null
    run_sql "CREATE FUNCTION insert_lines(target regclass, n int, times int) RETURNS int LANGUAGE plpgsql AS \$\$
        DECLARE first int := nextval('insert_tids') * 100000;
        BEGIN
            FOR i IN 1..times LOOP
                IF target = 'kept_lines'::regclass AND n = 1 THEN INSERT INTO kept_lines VALUES (first + i, i);
                ELSIF n = 1 THEN INSERT INTO unkept_lines VALUES (first + i, i);
                ELSIF target = 'kept_lines'::regclass THEN INSERT INTO kept_lines SELECT first + i, g FROM generate_series(1, n) g;
                ELSE INSERT INTO unkept_lines SELECT first + i, g FROM generate_series(1, n) g;
                END IF;
            END LOOP;
            RETURN times;
        END \$\$"
    run_sql 'CREATE SEQUENCE insert_tids START 1000'
    partners="SELECT count(*), sum(support_count) FROM generate_series(1, $asked) n, LATERAL $partners_of;"
    pairs="SELECT count(*), sum(support_count) FROM generate_series(1, $pairs_asked) n, LATERAL batmap_pairs('kept_lines'::regclass, top_k => 1000 + 0 * n);"
    side kept_partners_merged pg "" "$partners"
    side kept_pairs_merged pg "" "$pairs"
    alternate kept_partners_merged kept_pairs_merged
    # A thousand new transactions of ten rows.
    run_sql "INSERT INTO kept_lines SELECT 50000000 + g / 10, 1 + (g * g::int8) % 9973 FROM generate_series(0, 9999) g"
    side kept_partners_log pg "" "$partners"
    side kept_recommend_log pg "" "SELECT count(*), sum(r.support_count) FROM generate_series(1, $asked) n, LATERAL batmap_recommend(ARRAY[n % 7 + 1], 'kept_lines'::regclass, min_count => 1, top_k => 10) r;"
    side kept_rules_log pg "" "SELECT count(*), sum(r.support_count) FROM generate_series(1, $asked) n, LATERAL batmap_rules('kept_lines'::regclass, min_count => 1, min_confidence => 0.01, lhs_include => ARRAY[n % 7 + 1]) r;"
    side kept_pairs_log pg "" "$pairs"
    side kept_pairs_value pg "" "SELECT count(*), sum(support_count) FROM generate_series(1, $pairs_asked) n, LATERAL batmap_pairs(batmap_kept_counts('kept_lines'::regclass), top_k => 1000 + 0 * n);"
    side kept_recount pg "" "SELECT count(*), sum(support_count) FROM generate_series(1, $pairs_asked) n, LATERAL batmap_pairs('SELECT tid, item FROM kept_lines', top_k => 1000 + 0 * n);"
    alternate kept_partners_log kept_recommend_log kept_rules_log kept_pairs_log kept_pairs_value kept_recount
    agree kept_pairs_log kept_recount
    agree kept_pairs_value kept_recount
    emit
    emit "## Kept counts"
    emit
    sql "SELECT count(*), (SELECT sum(batmap_pair_counts_pairs(counts)) FROM kept_lines_kept_counts), (SELECT pg_table_size('kept_lines_kept_counts')) FROM kept_lines;"
    emit "Rows; pairs in all chunks; bytes of the counts: ${answer//|/; }. Ms of wall and CPU time, medians; ten partners of one item, with their lift."
    emit
    emit "| question | wall, ms | CPU, ms | against | ratio | goal |"
    emit "|---|---|---|---|---|---|"
    kept_line "ten partners, counts merged" kept_partners_merged "" $asked
    kept_line "ten partners, 10,000 rows in the log" kept_partners_log "" $asked \
        "at most 10 ms of CPU: $(verdict "$(median kept_partners_log cpu) / $asked <= 10")"
    kept_line "ten recommendations for one item, 10,000 rows in the log" kept_recommend_log "" $asked
    kept_line "the rules of one item on the left, 10,000 rows in the log" kept_rules_log "" $asked
    kept_line "1,000 best pairs, counts merged" kept_pairs_merged "" $pairs_asked
    kept_line "1,000 best pairs, 10,000 rows in the log" kept_pairs_log kept_pairs_merged $pairs_asked \
        "at most 1.3: $(verdict "$(median kept_pairs_log cpu) <= 1.3 * $(median kept_pairs_merged cpu)")"
    kept_line "the same, against a recount" kept_pairs_log kept_recount $pairs_asked \
        "at most 0.1: $(verdict "$(median kept_pairs_log cpu) <= 0.1 * $(median kept_recount cpu)")"
    kept_line "the same, against one over the value of batmap_kept_counts" kept_pairs_log kept_pairs_value $pairs_asked
    for rows in 1 10 1000; do
        times=$((rows == 1000 ? 100 : 20000 / rows))
        for kind in kept unkept; do
            side "${kind}_insert_$rows" pg "" "SELECT insert_lines('${kind}_lines', $rows, $times);"
        done
        alternate "kept_insert_$rows" "unkept_insert_$rows"
        kept_line "insert of $rows rows" "kept_insert_$rows" "unkept_insert_$rows" $times \
            "at most 2: $(verdict "$(median "kept_insert_$rows" cpu) <= 2 * $(median "unkept_insert_$rows" cpu)")"
    done
    for kind in kept unkept; do
        run_sql "CREATE TABLE parted_$kind (tid int4, item int4) PARTITION BY HASH (tid)"
        run_sql "CREATE INDEX ON parted_$kind (tid, item)"
        for rows in 0 1 2 3; do run_sql "CREATE TABLE parted_${kind}_$rows PARTITION OF parted_$kind FOR VALUES WITH (MODULUS 4, REMAINDER $rows)"; done
    done
    run_sql "SELECT batmap_keep('parted_kept', 'tid', 'item')" > /dev/null
    for kind in kept unkept; do
        side "parted_insert_$kind" pg "" "INSERT INTO parted_$kind SELECT g / 10, g FROM generate_series(1, 100000) g;"
    done
    alternate parted_insert_kept parted_insert_unkept
    kept_line "insert of 100,000 rows into four partitions" parted_insert_kept parted_insert_unkept 1
    sql "SELECT batmap_merge_kept('kept_lines') > 0;"
    sql "SELECT batmap_check_kept('kept_lines');"
    [ "$answer" = t ] || fail "the kept counts are wrong"
    beside_pg_ivm
}

# Beside pg_ivm, where it is installed: a view of pairs and their counts, which its triggers maintain, over a tenth of the rows.
# Three tables get the same stream of new transactions: one with kept counts, one with the view, one with neither.
beside_pg_ivm() {
    local rows times kind
    sql "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_ivm';"
    if [ "$answer" = 0 ]; then
        emit
        emit "pg_ivm is not installed here, so there is no comparison with it."
        return
    fi
    say "kept: beside pg_ivm"
    run_sql 'CREATE EXTENSION pg_ivm'
    run_sql 'CREATE SEQUENCE stream_tids START 1000'
    for kind in none ours ivm; do
        run_sql "CREATE TABLE stream_$kind AS SELECT DISTINCT tid, item FROM kept_lines WHERE tid < 100000 * $scale"
        run_sql "CREATE INDEX ON stream_$kind (tid, item)"
        run_sql "VACUUM (FREEZE, ANALYZE) stream_$kind"
    done
    sql "SELECT batmap_keep('stream_ours', 'tid', 'item');"
    local keep_ms=$ms
    sql "SELECT pgivm.create_immv('stream_pairs', 'SELECT a.item AS item_a, b.item AS item_b, count(*) AS n FROM stream_ivm a JOIN stream_ivm b ON a.tid = b.tid WHERE a.item < b.item GROUP BY a.item, b.item') > 0;"
    local view_ms=$ms
    run_sql 'CREATE INDEX ON stream_pairs (item_b)'  # for the partners of an item
    run_sql 'VACUUM (FREEZE, ANALYZE) stream_pairs'
    # shellcheck disable=SC2016  # dollars of SQL
    run_sql 'CREATE FUNCTION insert_stream(kind text, n int, times int) RETURNS int LANGUAGE plpgsql AS $$
        DECLARE first int := nextval('"'stream_tids'"') * 100000;
        BEGIN
            FOR i IN 1..times LOOP
                EXECUTE format('"'INSERT INTO stream_%s SELECT \$1, 1 + (\$2 + g * 97) %% 9973 FROM generate_series(1, \$3) g'"', kind) USING first + i, i * 31, n;
            END LOOP;
            RETURN times;
        END $$'
    side ours_partners pg "" "SELECT sum(p.support_count) FROM generate_series(1, 20) n, LATERAL batmap_partners('stream_ours'::regclass, items => ARRAY[n], top_k => 10, measure => 'count') p;"
    side ivm_partners pg "" "SELECT sum(p.n) FROM generate_series(1, 20) i, LATERAL (SELECT n FROM stream_pairs WHERE item_a = i OR item_b = i ORDER BY n DESC LIMIT 10) p;"
    side ours_best pg "" "SELECT sum(support_count) FROM batmap_pairs('stream_ours'::regclass, top_k => 1000);"
    side ivm_best pg "" "SELECT sum(n) FROM (SELECT n FROM stream_pairs ORDER BY n DESC LIMIT 1000) p;"
    alternate ours_partners ivm_partners ours_best ivm_best
    agree ours_partners ivm_partners
    agree ours_best ivm_best
    sql "SELECT count(*), (SELECT count(*) FROM stream_pairs), pg_total_relation_size('stream_ours_kept_counts'), pg_total_relation_size('stream_pairs') FROM stream_ours;"
    emit
    emit "### Beside pg_ivm"
    emit
    emit "Rows; pairs; bytes of kept counts, and of the view: ${answer//|/; }. To make them took $(calculate "$keep_ms / 1000" 2) s and $(calculate "$view_ms / 1000" 2) s."
    emit
    emit "| what | kept counts, ms | pg_ivm, ms | ratio | neither, ms |"
    emit "|---|---|---|---|---|"
    ivm_line "ten partners, counts merged" ours_partners ivm_partners 20
    ivm_line "1,000 best pairs, counts merged" ours_best ivm_best 1
    for rows in 1 10 100; do
        times=$((2000 / (rows + 10)))
        for kind in none ours ivm; do side "stream_${kind}_$rows" pg "" "SELECT insert_stream('$kind', $rows, $times);"; done
        alternate "stream_none_$rows" "stream_ours_$rows" "stream_ivm_$rows"
        ivm_line "insert of $rows rows" "stream_ours_$rows" "stream_ivm_$rows" $times "stream_none_$rows"
    done
    sql "SELECT count(*) FROM stream_ours_kept_log;"
    local log=$answer
    for kind in partners best; do
        side "ours_${kind}_log" pg "" "${side_query[ours_$kind]}"
        side "ivm_${kind}_log" pg "" "${side_query[ivm_$kind]}"
    done
    alternate ours_partners_log ivm_partners_log ours_best_log ivm_best_log
    ivm_line "ten partners, $log rows in the log" ours_partners_log ivm_partners_log 20
    ivm_line "1,000 best pairs, $log rows in the log" ours_best_log ivm_best_log 1
}

# Wall time, because most of what is compared takes less than a tick of CPU time.
ivm_line() { # WHAT SIDE OTHER TIMES [NEITHER]
    emit "| $1 | $(calculate "$(median "$2") / $4" 3) | $(calculate "$(median "$3") / $4" 3) | $(calculate "$(median "$2") / $(median "$3")" 3)" \
        "| $([ $# -lt 5 ] || calculate "$(median "$5") / $4" 3) |"
}

# Whether a goal is met, at full size. @ CONDITION
verdict() {
    if [ "$scale" != 1 ]; then echo "(not at this scale)"; elif holds "$1"; then echo met; else echo '**missed**'; fi
}

kept_line() { # WHAT SIDE OTHER TIMES [GOAL]
    local ratio=''
    [ -z "$3" ] || ratio=$(calculate "$(median "$2" cpu) / ($(median "$3" cpu) + 0.001)" 2)
    emit "| $1 | $(calculate "$(median "$2") / $4" 3) | $(calculate "$(median "$2" cpu) / $4" 3) | $([ -z "$3" ] || calculate "$(median "$3" cpu) / $4" 3)" \
        "| $ratio | ${5-} |"
}
