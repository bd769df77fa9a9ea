# The part `planning` of run.sh, which sources this file: what the planner hooks cost. Each query is planned in
# sessions that have loaded the library and in sessions that have not, in turns.

# Microseconds: a query in which nothing groups a join costs next to nothing, eight relations at most 1 ms. The queries
# that the node answers, and those that call a table function, have no goal.
goal_of() { case $1 in eight*) echo 1000 ;; *answered* | call*) echo none ;; *) echo 20 ;; esac; }

# The least time of many: a query is planned in less time than the system gives a process at once. Without JIT: EXPLAIN
# starts the plan, and for an expensive one the server then writes code, which takes five times as long as the planning.
planning_us() { # LOADED QUERY
    local load=(-c "SET jit = off")
    if [ "$1" = off ]; then load+=(-c "SET batmap.enable_join_project = on"); else load+=(-c "LOAD 'batmap'"); fi
    psql -X -q -A -t -v ON_ERROR_STOP=1 "${load[@]}" -c "SELECT planning_us(\$\$$2\$\$)"
}

part_planning() { # w1 is there
    local name query setting off on goal verdict
    run_sql "CREATE TABLE few AS SELECT * FROM w1 LIMIT 1000" # so that the planner itself takes little time
    run_sql "ANALYZE few"
    run_sql "CREATE FUNCTION planning_us(query text) RETURNS float8 LANGUAGE plpgsql AS \$\$
        DECLARE least float8 := 'Infinity'; start timestamptz; spent interval := '0'; times int := 0;
        BEGIN
            WHILE spent < '300 ms' OR times < 60 LOOP
                start := clock_timestamp();
                EXECUTE 'EXPLAIN ' || query;
                times := times + 1;
                spent := spent + (clock_timestamp() - start);
                least := least(least, extract(epoch FROM clock_timestamp() - start) * 1e6);
            END LOOP;
            RETURN least;
        END \$\$"
    emit
    emit "## Planning"
    emit
    emit "EXPLAIN, microseconds, without JIT, in sessions without and with the library: the least of all in $max_runs times 0.3 s or 60 plans, in turns."
    emit
    emit "| query | without | with | difference | goal |"
    emit "|---|---|---|---|---|"
    while IFS='|' read -r name query; do
        rm -f "$work/planned_off.ms" "$work/planned_on.ms"
        for ((round = 0; round < max_runs; round++)); do
            for setting in off on; do planning_us $setting "$query" >> "$work/planned_$setting.ms"; done
        done
        off=$(least_us planned_off) on=$(least_us planned_on) goal=$(goal_of "$name")
        verdict=none
        if [ "$goal" != none ]; then verdict="below $goal: $(holds "$on - $off < $goal" && echo met || echo '**missed**')"; fi
        emit "| $name | $off | $on | $(calculate "$on - $off" 1) | $verdict |"
    done <<'END'
one row|SELECT * FROM few WHERE tid = 5
one table, grouped|SELECT item, count(*) FROM few GROUP BY 1
two tables, not grouped|SELECT a.item, b.item FROM few a JOIN few b USING (tid) WHERE a.item < b.item
two tables, grouped by one|SELECT a.item, count(*) FROM few a JOIN few b USING (tid) GROUP BY 1
two tables, another aggregate|SELECT a.item, b.item, stddev(a.tid) FROM few a JOIN few b USING (tid) WHERE a.item < b.item GROUP BY 1, 2
two tables, answered|SELECT a.item, b.item, count(*) FROM few a JOIN few b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 9
four tables, not grouped|SELECT a.item, b.item FROM few a JOIN few b USING (tid) JOIN few c USING (tid) JOIN few d USING (tid)
eight tables, another aggregate|SELECT a.item, b.item, stddev(a.tid) FROM few a JOIN few b USING (tid) JOIN few c USING (tid) JOIN few d USING (tid) JOIN few e USING (tid) JOIN few f USING (tid) JOIN few g USING (tid) JOIN few h USING (tid) GROUP BY 1, 2
eight tables, two sides|SELECT a.item, b.item, count(*) FROM few a JOIN few b USING (tid) JOIN few c USING (tid) JOIN few d USING (tid) JOIN few e USING (tid) JOIN few f USING (tid) JOIN few g USING (tid) JOIN few h USING (tid) GROUP BY 1, 2
eight tables, eight items|SELECT count(*) FROM few a JOIN few b USING (tid) JOIN few c USING (tid) JOIN few d USING (tid) JOIN few e USING (tid) JOIN few f USING (tid) JOIN few g USING (tid) JOIN few h USING (tid) GROUP BY a.item, b.item, c.item, d.item, e.item, f.item, g.item, h.item
END
}

least_us() { sort -n "$work/$1.ms" | awk 'NR == 1 { printf "%.1f", $1 }'; }
