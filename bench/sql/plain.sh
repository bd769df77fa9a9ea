# The part `plain` of run.sh, which sources this file: plain SQL through the plan node, against the plain
# plan and batmap_pairs.

node_head() { # OTHER RATIO
    emit
    emit "| | rows; sum of supports | plan node, s | runs | $1, s | runs | $2 | goal |"
    emit "|---|---|---|---|---|---|---|---|"
}

part_plain() { # w1 is there
    local threshold name workers
    sql "SELECT min(support) + 1 FROM batmap_pairs('SELECT tid, item FROM w1', top_k => 10000);"
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
    planning_time
}

# Microseconds: a query without a grouped join costs next to nothing, eight relations at most 1 ms.
goal_of() { case $1 in eight*) echo 1000 ;; *) echo 20 ;; esac; }

# The cost of the planner hook for a query that it does not change: the same statements planned with
# and without it, in turns.
planning_time() {
    local query name without with
    sql "CREATE FUNCTION pg_temp.planned(query text, times int) RETURNS float8 LANGUAGE plpgsql AS \$\$
        DECLARE start timestamptz := clock_timestamp();
        BEGIN
            FOR k IN 1 .. times LOOP EXECUTE 'EXPLAIN ' || query; END LOOP;
            RETURN extract(epoch FROM clock_timestamp() - start) * 1e6 / times;
        END \$\$;"
    emit
    emit "Planning of queries that the node does not answer, microseconds each (EXPLAIN in a loop of 1,000; medians of $max_runs, in turns):"
    emit
    emit "| query | without the node | with it | difference | goal |"
    emit "|---|---|---|---|---|"
    while IFS='|' read -r name query; do
        rm -f "$work/planned_off.ms" "$work/planned_on.ms"
        for ((round = 0; round < max_runs; round++)); do
            for setting in off on; do
                sql "SET batmap.enable_join_project = $setting;"
                sql "SELECT pg_temp.planned('$query', 1000);"
                echo "$answer" >> "$work/planned_$setting.ms"
            done
        done
        without=$(median planned_off) with=$(median planned_on)
        emit "| $name | $(calculate "$without" 1) | $(calculate "$with" 1) | $(calculate "$with - $without" 1)" \
            "| below $(goal_of "$name"): $(holds "$with - $without < $(goal_of "$name")" && echo met || echo '**missed**') |"
    done <<'END'
one row|SELECT * FROM w1 WHERE tid = 5
two tables, another aggregate|SELECT a.item, b.item, stddev(a.tid) FROM w1 a JOIN w1 b USING (tid) WHERE a.item < b.item GROUP BY 1, 2
eight tables, another aggregate|SELECT a.item, b.item, stddev(a.tid) FROM w1 a JOIN w1 b USING (tid) JOIN w1 c USING (tid) JOIN w1 d USING (tid) JOIN w1 e USING (tid) JOIN w1 f USING (tid) JOIN w1 g USING (tid) JOIN w1 h USING (tid) GROUP BY 1, 2
two tables, grouped by one|SELECT a.item, count(*) FROM w1 a JOIN w1 b USING (tid) GROUP BY 1
four tables, another aggregate|SELECT a.item, b.item, stddev(a.tid) FROM w1 a JOIN w1 b USING (tid) JOIN w1 c USING (tid) JOIN w1 d USING (tid) GROUP BY 1, 2
END
    sql "RESET batmap.enable_join_project;"
}
