# The part `shapes` of run.sh, which sources this file: one question about retail in the ways in which people write it,
# through the plan node against the plain plan. The orders and products of retail have made-up columns. The graph is
# generated: a million edges, 50,000 vertices, of which the first ones have more edges.

part_shapes() {
    local shape goal query name
    load_retail_once || return 0
    run_sql "CREATE TABLE retail_orders AS SELECT tid, hashint4(tid) % 20000 AS customer, 'country ' || (hashint4(tid) & 15) AS country, date '2024-01-01' + ((hashint4(tid) >> 4) & 255) AS day
        FROM (SELECT DISTINCT tid FROM retail) t; ALTER TABLE retail_orders ADD PRIMARY KEY (tid)"
    run_sql "CREATE TABLE retail_products AS SELECT item, 'product ' || item AS name, 'category ' || item % 40 AS category
        FROM (SELECT DISTINCT item FROM retail) i; ALTER TABLE retail_products ADD PRIMARY KEY (item)"
    run_sql "CREATE TABLE retail_baskets AS SELECT tid, array_agg(item) AS items, array_agg('product ' || item) AS names FROM retail GROUP BY tid;
        ALTER TABLE retail_baskets ADD PRIMARY KEY (tid)"
    run_sql "CREATE TABLE retail_lines AS SELECT tid, item, 1 + (hashint4(tid * 7 + item) & 65535) % 10 AS qty,
        (1 + (hashint4(tid * 31 + item) & 65535) % 700 / 100.0)::numeric(10, 2) AS price FROM retail"
    run_sql "CREATE TABLE retail_wanted AS SELECT k AS id, hashint4(k) & 1023 AS x, (hashint4(k) >> 10) & 1023 AS y FROM generate_series(1, 10000) k"
    run_sql "CREATE TABLE graph AS SELECT DISTINCT src, dst FROM (SELECT (50000 * power((hashint4(k)::float8 + 2147483648) / 4294967296, 1.6))::int AS src,
        (50000 * power((hashint4(k + 500000000)::float8 + 2147483648) / 4294967296, 1.6))::int AS dst FROM generate_series(1, 1050000) k) e WHERE src <> dst"
    run_sql "CREATE TABLE graph_pairs AS SELECT k AS id, hashint4(k) & 16383 AS x, (hashint4(k) >> 14) & 16383 AS y FROM generate_series(1, 10000) k"
    run_sql "VACUUM (FREEZE, ANALYZE) retail_orders, retail_products, retail_baskets, retail_lines, retail_wanted, graph, graph_pairs"
    sql "SELECT count(*) FROM batmap_last_run();" # loads the library
    emit
    emit "## One question, written in many ways"
    emit
    emit "Retail, with tables of orders and products, and a graph of a million edges. Seconds with the plan node, and with batmap.enable_join_project off and work_mem" \
        "$((memory_mb / 6)) MB; medians."
    emit
    emit "| shape | plan node, s | plain plan, s | plain / node | goal for the node, s |"
    emit "|---|---|---|---|---|"
    while IFS='|' read -r shape goal query; do
        side shape_node pg "$generous" "SELECT count(*), sum(n) FROM ($query) q;"
        side shape_plain pg "$plain $generous" "SELECT count(*), sum(n) FROM ($query) q;"
        alternate shape_node shape_plain
        agree shape_node shape_plain
        name=$(holds "$(median shape_node) <= $goal * 1000" && echo met || echo '**missed**')
        emit "| $shape | $(seconds shape_node) | $(seconds shape_plain)" \
            "| $(calculate "$(median shape_plain) / $(median shape_node)" 1) | $goal: $name |"
    done <<'END'
ids|0.3|SELECT a.item, b.item, count(*) AS n FROM retail a JOIN retail b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 50
names of both products|0.27|SELECT p.name, q.name, count(*) AS n FROM retail a JOIN retail b USING (tid) JOIN retail_products p ON p.item = a.item JOIN retail_products q ON q.item = b.item WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 50
a filter on the day of the order|0.3|SELECT a.item, b.item, count(*) AS n FROM retail a JOIN retail b USING (tid) JOIN retail_orders o USING (tid) WHERE a.item < b.item AND o.day < '2024-04-01' GROUP BY 1, 2 HAVING count(*) >= 20
the filter with IN|0.3|SELECT a.item, b.item, count(*) AS n FROM retail a JOIN retail b USING (tid) WHERE a.item < b.item AND a.tid IN (SELECT tid FROM retail_orders WHERE day < '2024-04-01') GROUP BY 1, 2 HAVING count(*) >= 20
triples, of a twentieth of the orders|0.2|SELECT a.item, b.item, c.item, count(*) AS n FROM retail a JOIN retail b USING (tid) JOIN retail c USING (tid) WHERE a.item < b.item AND b.item < c.item AND a.tid <= 4400 AND b.tid <= 4400 AND c.tid <= 4400 GROUP BY 1, 2, 3 HAVING count(*) >= 25
by country of the order|0.5|SELECT o.country, a.item, b.item, count(*) AS n FROM retail a JOIN retail b USING (tid) JOIN retail_orders o USING (tid) WHERE a.item < b.item GROUP BY 1, 2, 3 HAVING count(*) >= 20
categories, orders counted once|0.4|SELECT p.category, q.category, count(DISTINCT a.tid) AS n FROM retail a JOIN retail b USING (tid) JOIN retail_products p ON p.item = a.item JOIN retail_products q ON q.item = b.item WHERE p.category < q.category GROUP BY 1, 2
sum of a product of integers|0.27|SELECT a.item, b.item, sum(a.qty * b.qty) AS n FROM retail_lines a JOIN retail_lines b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 50
sum of prices|0.5|SELECT a.item, b.item, sum(a.price) AS n FROM retail_lines a JOIN retail_lines b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 50
sum of quantity times price|0.5|SELECT a.item, b.item, sum(a.qty * b.price) AS n FROM retail_lines a JOIN retail_lines b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 50
customers who bought both|1|SELECT a.item, b.item, count(DISTINCT o.customer) AS n FROM retail a JOIN retail_orders o USING (tid) JOIN retail_orders p ON p.customer = o.customer JOIN retail b ON b.tid = p.tid WHERE a.item < b.item GROUP BY 1, 2 HAVING count(DISTINCT o.customer) >= 50
purchases by one customer|1|SELECT a.item, b.item, count(*) AS n FROM retail a JOIN retail_orders o USING (tid) JOIN retail_orders p ON p.customer = o.customer JOIN retail b ON b.tid = p.tid WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 50
unnest twice|0.2|SELECT x, y, count(*) AS n FROM retail_baskets, unnest(items) x, unnest(items) y WHERE x < y GROUP BY 1, 2 HAVING count(*) >= 50
unnest twice, all pairs|0.5|SELECT x, y, count(*) AS n FROM retail_baskets, unnest(items) x, unnest(items) y WHERE x < y GROUP BY 1, 2
unnest twice, text|0.5|SELECT x, y, count(*) AS n FROM retail_baskets, unnest(names) x, unnest(names) y WHERE x < y GROUP BY 1, 2 HAVING count(*) >= 50
given pairs|0.4|SELECT a.item, b.item, count(*) AS n FROM retail a JOIN retail b USING (tid) JOIN retail_wanted c ON c.x = a.item AND c.y = b.item GROUP BY 1, 2
triangles|1.5|SELECT count(*) AS n FROM graph a JOIN graph b ON a.dst = b.src JOIN graph c ON c.src = a.src AND c.dst = b.dst
triangles of each vertex|2|SELECT a.src, count(*) AS n FROM graph a JOIN graph b ON a.dst = b.src JOIN graph c ON c.src = a.src AND c.dst = b.dst GROUP BY 1
common neighbours of given pairs|0.5|SELECT c.id, count(*) AS n FROM graph a JOIN graph b ON a.dst = b.dst JOIN graph_pairs c ON c.x = a.src AND c.y = b.src GROUP BY 1
END
}
