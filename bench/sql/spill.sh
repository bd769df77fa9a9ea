# The parts `spill` and `itemset_files` of run.sh, which sources this file: thirty times the rows of w1, from files and in memory; and itemsets.

part_spill() {
    local copies=30 query settings pid name how
    query="SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid + $transactions * g, item FROM w1, generate_series(0, $((copies - 1))) g', min_count => 1);"
    emit
    emit "## Larger than memory"
    emit
    emit "$copies copies of w1 with tids of their own, $(calculate "$copies * $rows / 1e6") million rows, min_count 1, one run each in a session of its own." \
        "*Backend* is VmHWM, *reported* peak_memory of batmap_last_run()."
    emit
    emit "| | rows; sum of supports | s | backend, MB | reported, MB | how |"
    emit "|---|---|---|---|---|---|"
    local first_answer=''
    for name in "work_mem 64MB" "in memory"; do
        settings="SET work_mem = '64MB'; SET batmap.memory_limit = '16GB';"
        [ "$name" = "work_mem 64MB" ] || settings+=" SET batmap.work_mem = '16GB';"
        open_psql spill
        ask spill "SELECT pg_backend_pid();"
        pid=$answer
        ask spill "$settings"
        ask spill "$query"
        say "spill, $name: $(calculate "$ms / 1000" 1) s"
        [ -z "$first_answer" ] || [ "$first_answer" = "$answer" ] || fail "spill: $first_answer, then $answer"
        first_answer=$answer
        how="| $name | ${answer/|/; } | $(calculate "$ms / 1000" 1) | $(awk '$1 == "VmHWM:" { printf "%d", $2 / 1e3 * 1.024 }' "/proc/$pid/status")"
        ask spill "SELECT round(peak_memory / 1e6), method || ': ' || reason FROM batmap_last_run();"
        emit "$how | ${answer/|/ | } |"
        close_session spill
    done
}

# The part `itemset_files`: itemsets of BENCH_ITEMSET_ROWS rows (100 million), ten a transaction, from files with 256 MB of work memory, and
# in memory. Items are products of two evenly drawn numbers, so that few are frequent and most are rare.
part_itemset_files() {
    local rows=${BENCH_ITEMSET_ROWS:-100000000} query name settings pid how first_answer=''
    query="SELECT count(*), sum(support_count) FROM batmap_itemsets('SELECT g / 10, (hashint8(g)::int8 + 2147483648) % 1009 * ((hashint8(g + 7)::int8 + 2147483648) % 1009) / 1009 FROM generate_series(1, $rows::int8) g', min_support => 0.001);"
    emit
    emit "## Itemsets of rows in files"
    emit
    emit "$(calculate "$rows / 1e6") million rows, min_support 0.001, one run each in a session of its own. *Backend* is VmHWM, *reported* peak_memory of batmap_last_run()."
    emit
    emit "| | itemsets; sum of supports | s | backend, MB | reported, MB | how |"
    emit "|---|---|---|---|---|---|"
    for name in "batmap.work_mem 256MB" "in memory"; do
        settings="SET batmap.memory_limit = '16GB'; SET batmap.work_mem = '256MB';"
        [ "$name" = "batmap.work_mem 256MB" ] || settings+=" SET batmap.work_mem = '16GB';"
        open_psql itemset_files
        ask itemset_files "SELECT pg_backend_pid();"
        pid=$answer
        ask itemset_files "$settings"
        ask itemset_files "$query"
        say "itemset_files, $name: $(calculate "$ms / 1000" 1) s"
        [ -z "$first_answer" ] || [ "$first_answer" = "$answer" ] || fail "itemset_files: $first_answer, then $answer"
        first_answer=$answer
        how="| $name | ${answer/|/; } | $(calculate "$ms / 1000" 1) | $(awk '$1 == "VmHWM:" { printf "%d", $2 / 1e3 * 1.024 }' "/proc/$pid/status")"
        ask itemset_files "SELECT round(peak_memory / 1e6), method || ': ' || reason FROM batmap_last_run();"
        emit "$how | ${answer/|/ | } |"
        close_session itemset_files
    done
}
