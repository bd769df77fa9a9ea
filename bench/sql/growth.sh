# The part `growth` of run.sh, which sources this file: the time of one question against the number of rows, from 100,000 up,
# with batmap.work_mem 64 MB, by default and 1 GB. A million items with Zipf popularity, ten a transaction. The threshold
# grows with the rows, so that memory ends by the rows and their counts, not by the answer.

part_growth() {
    local rows memory time step line index previous=() steps=(1e5 3e5 1e6 3e6 1e7)
    make_generator
    [ "${BENCH_GROWTH-}" = "" ] || read -r -a steps <<< "$BENCH_GROWTH"
    echo "work_mem,rows,seconds" > "$work/growth.csv"
    emit
    emit "## Time against rows"
    emit
    emit "A million items with Zipf popularity, ten in a transaction, min_count a millionth of the rows and at least 5. One run each, in a session" \
        "of its own. *Step* is the time for a row, against that of the rows before."
    emit
    emit "| rows | batmap.work_mem | rows; sum of supports | s | ns a row | step | reported, MB | method |"
    emit "|---|---|---|---|---|---|---|---|"
    for rows in "${steps[@]}"; do
        say "growth: loading $rows rows"
        run_sql 'DROP TABLE IF EXISTS growth; CREATE UNLOGGED TABLE growth (tid int4, item int4)'
        build/generate --items 1000000 --density 0.00001 --rows "$(calculate "$rows * $scale")" --zipf 1 | psql -X -q -v ON_ERROR_STOP=1 -c 'COPY growth FROM STDIN (FORMAT binary)'
        run_sql 'VACUUM (FREEZE, ANALYZE) growth'
        index=0
        for memory in 64MB -1 1GB; do
            open_psql growth
            ask growth "SET batmap.work_mem = '$memory';"
            ask growth "SELECT count(*), sum(support_count) FROM batmap_pairs('TABLE growth', min_count => greatest(5, ($rows * $scale / 1e6)::int8));"
            say "growth: $rows rows, work_mem $memory: $(calculate "$ms / 1000" 1) s"
            time=$(calculate "$ms * 1e6 / ($rows * $scale)" 1)
            step=''
            [ -z "${previous[index]-}" ] || step=$(calculate "$time / ${previous[index]}" 2)
            line="| $rows | $memory | ${answer/|/; } | $(calculate "$ms / 1000" 3) | $time | $step |"
            echo "$memory,$(calculate "$rows * $scale"),$(calculate "$ms / 1000" 4)" >> "$work/growth.csv"
            ask growth "SELECT round(peak_memory / 1e6), method FROM batmap_last_run();"
            emit "$line ${answer/|/ | } |"
            previous[index]=$time
            index=$((index + 1))
            close_session growth
        done
    done
    python3 bench/growth_plot.py "$work/growth.csv" "Pairs of a million items, seconds by rows, $(date -u +%Y-%m-%d)" > build/growth.svg
    [ "${BENCH_SAVE-}" != 1 ] || cp build/growth.svg "$(result_name "${BENCH_SUFFIX-}").svg"
}
