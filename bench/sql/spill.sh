# The part `spill` of run.sh, which sources this file: thirty times the rows of w1, from files and in memory.

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
