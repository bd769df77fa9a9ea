# The parts `spill`, `itemset_files` and `event_files` of run.sh, which sources this file: thirty times the rows of w1, from files and in
# memory; itemsets; and episodes and window pairs of one stream.

# Asks a query with work memory of its own and with 16 GB of it, each time in a session of its own, and adds a row to the table for
# each. Both must answer the same.
from_files_and_in_memory() { # PART NAME SETTINGS QUERY; NAME and SETTINGS are those of the first run
    local part=$1 query=$4 name settings pid how first_answer=''
    for name in "$2" "in memory"; do
        settings="SET batmap.memory_limit = '16GB'; $3"
        [ "$name" = "$2" ] || settings+=" SET batmap.work_mem = '16GB';"
        open_psql "$part"
        ask "$part" "SELECT pg_backend_pid();"
        pid=$answer
        ask "$part" "$settings"
        ask "$part" "$query"
        say "$part, $name: $(calculate "$ms / 1000" 1) s"
        [ -z "$first_answer" ] || [ "$first_answer" = "$answer" ] || fail "$part: $first_answer, then $answer"
        first_answer=$answer
        how="| $name | ${answer/|/; } | $(calculate "$ms / 1000" 1) | $(awk '$1 == "VmHWM:" { printf "%d", $2 / 1e3 * 1.024 }' "/proc/$pid/status")"
        ask "$part" "SELECT round(peak_memory / 1e6), method || ': ' || reason FROM batmap_last_run();"
        emit "$how | ${answer/|/ | } |"
        close_session "$part"
    done
}

part_spill() {
    local copies=30 query
    query="SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid + $transactions * g, item FROM w1, generate_series(0, $((copies - 1))) g', min_count => 1);"
    emit
    emit "## Larger than memory"
    emit
    emit "$copies copies of w1 with tids of their own, $(calculate "$copies * $rows / 1e6") million rows, min_count 1, one run each in a session of its own." \
        "*Backend* is VmHWM, *reported* peak_memory of batmap_last_run()."
    emit
    emit "| | rows; sum of supports | s | backend, MB | reported, MB | how |"
    emit "|---|---|---|---|---|---|"
    from_files_and_in_memory spill "work_mem 64MB" "SET work_mem = '64MB';" "$query"
}

# The part `itemset_files`: itemsets of BENCH_ITEMSET_ROWS rows (100 million), ten a transaction, from files with 256 MB of work memory, and
# in memory. Items are products of two evenly drawn numbers, so that few are frequent and most are rare.
part_itemset_files() {
    local rows=${BENCH_ITEMSET_ROWS:-100000000} query
    query="SELECT count(*), sum(support_count) FROM batmap_itemsets('SELECT g / 10, (hashint8(g)::int8 + 2147483648) % 1009 * ((hashint8(g + 7)::int8 + 2147483648) % 1009) / 1009 FROM generate_series(1, $rows::int8) g', min_support => 0.001);"
    emit
    emit "## Itemsets of rows in files"
    emit
    emit "$(calculate "$rows / 1e6") million rows, min_support 0.001, one run each in a session of its own. *Backend* is VmHWM, *reported* peak_memory of batmap_last_run()."
    emit
    emit "| | itemsets; sum of supports | s | backend, MB | reported, MB | how |"
    emit "|---|---|---|---|---|---|"
    from_files_and_in_memory itemset_files "batmap.work_mem 256MB" "SET batmap.work_mem = '256MB';" "$query"
}

# The part `event_files`: BENCH_EVENTS events (10 million) of one stream, whose rows come in order of time; 200 kinds, the first ones frequent.
part_event_files() {
    local events=${BENCH_EVENTS:-10000000} count='SELECT count(*), sum(support_count) FROM'
    sql "CREATE TABLE events AS SELECT 10 * g + hashint8(g)::int8 % 15 AS time, ((hashint8(g + 7) % 14143) / 1000.0) ^ 2 AS kind FROM generate_series(1, $events::int8) g;"
    sql "ALTER TABLE events ALTER kind TYPE int4;"
    sql "VACUUM (FREEZE, ANALYZE) events;"
    emit
    emit "## Events of one stream in files"
    emit
    emit "$(calculate "$events / 1e6") million events of 200 kinds, gaps and windows of 40 ticks, one event in 10; one run each in a session of its own." \
        "*Backend* is VmHWM, *reported* peak_memory of batmap_last_run()."
    emit
    emit "| | answers; sum of supports | s | backend, MB | reported, MB | how |"
    emit "|---|---|---|---|---|---|"
    from_files_and_in_memory event_files "episodes, batmap.work_mem 32MB" "SET batmap.work_mem = '32MB';" \
        "$count batmap_episodes('SELECT time, kind FROM events', gaps => ARRAY[0, 40], min_count => $((events / 500)));"
    from_files_and_in_memory event_files "a gap without an upper end, batmap.work_mem 32MB" "SET batmap.work_mem = '32MB';" \
        "$count batmap_episodes('SELECT time, kind FROM events', gaps => ARRAY[0, NULL], min_count => $((events / 250)), max_length => 3);"
    from_files_and_in_memory event_files "window pairs, batmap.work_mem 32MB" "SET batmap.work_mem = '32MB';" \
        "$count batmap_window_pairs('SELECT time, kind FROM events', within => 40, counting => 'occurrences', min_count => $((events / 500)));"
    from_files_and_in_memory event_files "a window over a tenth of the stream, batmap.work_mem 32MB" "SET batmap.work_mem = '32MB';" \
        "$count batmap_window_pairs('SELECT time, kind FROM events', within => $events, counting => 'occurrences', min_count => 1);"
}
