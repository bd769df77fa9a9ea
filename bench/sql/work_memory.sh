# The part `work_memory` of run.sh, which sources this file: questions whose rows or counts do not fit into the default
# batmap.work_mem, with 1 GB, with the default and with 64 MB. The sparse join has 100 million paths between a million a
# and a million c; the dense one has all 100 million pairs.

part_work_memory() {
    local name query first_answer memory line
    make_generator
    say "loading rows with Zipf popularity, and two joins"
    run_sql 'CREATE TABLE zipf (tid int4, item int4)'
    build/generate --items 100000 --density 0.0001 --rows "$(calculate "2e7 * $scale")" --zipf 1 | psql -X -q -v ON_ERROR_STOP=1 -c 'COPY zipf FROM STDIN (FORMAT binary)'
    random_join sparse "$(calculate "1e7 * $scale")" "$(calculate "1e6 * $scale")" "$(calculate "1e6 * $scale")"
    random_join dense "$(calculate "8e6 * $scale")" 10000 "$(calculate "2000 * $scale")"
    run_sql 'VACUUM (FREEZE, ANALYZE) zipf, sparse_left, sparse_right, dense_left, dense_right'
    emit
    emit "## Rows past the work memory"
    emit
    emit "One run each, in a session of its own. *Reported* is peak_memory of batmap_last_run()."
    emit
    emit "| | batmap.work_mem | rows; sum of supports | s | reported, MB | how |"
    emit "|---|---|---|---|---|---|"
    while IFS='|' read -r name query; do
        first_answer=''
        for memory in 1GB -1 64MB; do
            open_psql memory
            ask memory "SET batmap.work_mem = '$memory';"
            ask memory "$query"
            say "$name, work_mem $memory: $(calculate "$ms / 1000" 1) s"
            [ -z "$first_answer" ] || [ "$first_answer" = "$answer" ] || fail "$name: $first_answer, then $answer"
            first_answer=$answer
            line="| $name | $memory | ${answer/|/; } | $(calculate "$ms / 1000" 1)"
            ask memory "SELECT round(peak_memory / 1e6), method || ': ' || reason FROM batmap_last_run();"
            emit "$line | ${answer/|/ | } |"
            close_session memory
        done
    done <<'END'
pairs of Zipf items, min_count 20|SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM zipf', min_count => 20);
sparse join|SELECT count(*), sum(support_count) FROM batmap_join_project('SELECT a, b FROM sparse_left', 'SELECT b, c FROM sparse_right');
dense join|SELECT count(*), sum(support_count) FROM batmap_join_project('SELECT a, b FROM dense_left', 'SELECT b, c FROM dense_right');
END
}

# Tables NAME_left (a, b) and NAME_right (b, c).
random_join() { # NAME ROWS ENDS MIDDLES
    run_sql "CREATE TABLE $1_left AS SELECT ((hashint8extended(k, 1) & 2147483647) % $3)::int4 AS a, ((hashint8extended(k, 2) & 2147483647) % $4)::int4 AS b
        FROM generate_series(1::int8, $2) k"
    run_sql "CREATE TABLE $1_right AS SELECT ((hashint8extended(k, 3) & 2147483647) % $4)::int4 AS b, ((hashint8extended(k, 4) & 2147483647) % $3)::int4 AS c
        FROM generate_series(1::int8, $2) k"
}
