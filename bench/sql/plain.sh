# The part `plain` of run.sh, which sources this file: plain SQL through the plan node, against the plain
# plan and batmap_pairs.

node_head() { # OTHER RATIO
    emit
    emit "| | rows; sum of supports | plan node, s | runs | $1, s | runs | $2 | goal |"
    emit "|---|---|---|---|---|---|---|---|"
}

part_plain() { # w1 is there
    local threshold name workers
    sql "SELECT min(support_count) + 1 FROM batmap_pairs('SELECT tid, item FROM w1', top_k => 10000);"
    threshold=$answer
    for workers in 0 2; do
        side "node_few_$workers" pg "$(workers $workers)" "$(self_join w1 "$threshold")"
        side "pairs_few_$workers" pg "$(workers $workers)" "$(batmap_query w1 "$threshold")"
        side "node_all_$workers" pg "$(workers $workers)" "$(self_join w1)"
        side "pairs_all_$workers" pg "$(workers $workers)" "$(batmap_query w1 1)"
        alternate "node_few_$workers" "pairs_few_$workers" "node_all_$workers" "pairs_all_$workers"
        agree "node_few_$workers" "pairs_few_$workers"
        agree "node_all_$workers" "pairs_all_$workers"
    done
    emit
    emit "## Plain SQL through the plan node"
    emit
    emit "The self-join as a user writes it, on w1, against \`batmap_pairs\` over the same table; min_count $threshold is HAVING count(*) >= $threshold." \
        "*Workers* is max_parallel_workers_per_gather."
    node_head batmap_pairs "node / batmap_pairs"
    for workers in 0 2; do
        comparison "min_count $threshold, $workers workers" "node_few_$workers" "pairs_few_$workers" ours 1.2
        comparison "min_count 1, $workers workers" "node_all_$workers" "pairs_all_$workers" ours 1.2
    done

    local table=w1_tenth
    if [ "${BENCH_FULL_JOIN-}" = 1 ]; then table=w1; else share_of_w1 w1_tenth 0.1; fi
    side node_join pg "" "$(self_join $table)"
    side plain_default pg "$plain" "$(self_join $table)"
    side plain_generous pg "$plain $generous" "$(self_join $table)"
    alternate node_join plain_default plain_generous
    agree node_join plain_default plain_generous
    emit
    emit "The same query over $table with the node and with batmap.enable_join_project off; of the plain plan's two settings of" \
        "work_mem (default, $((memory_mb / 6)) MB) the better counts."
    [ $table = w1 ] || emit "The goal is for the whole of w1 (BENCH_FULL_JOIN=1)."
    node_head "plain plan" "plain / node"
    name=$(best_of plain_default plain_generous)
    comparison "$table" node_join "$name" other "$([ $table = w1 ] && echo 100 || echo 0)"
    if load_retail_once; then
        side node_retail pg "" "$(self_join retail)"
        side plain_retail_default pg "$plain" "$(self_join retail)"
        side plain_retail_generous pg "$plain $generous" "$(self_join retail)"
        alternate node_retail plain_retail_default plain_retail_generous
        agree node_retail plain_retail_default plain_retail_generous
        comparison retail node_retail "$(best_of plain_retail_default plain_retail_generous)" other 5
    fi
}
