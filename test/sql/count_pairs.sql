-- Counts of listed pairs, and triangles: compared with plain SQL; lists with unknown items, equal items, repeated rows and NULL.
SET batmap.enable_join_project = off;
CREATE TABLE lines AS SELECT (i / 3)::int AS tid, (i * i % 17)::int AS item, 'item ' || i * i % 17 AS name FROM generate_series(1, 60) i;
INSERT INTO lines VALUES (NULL, 1, 'item 1'), (1, NULL, NULL), (3, 9, 'item 9');
CREATE TABLE wanted (place int, a int, b int);
INSERT INTO wanted VALUES (1, 4, 1), (2, 1, 4), (3, 1, 4), (4, 1, 1), (5, 99, 1), (6, 1, 99), (7, 98, 97), (8, NULL, 1), (9, 1, NULL), (10, 15, 2), (11, -5, -5);

SELECT * FROM batmap_count_pairs('SELECT tid, item FROM lines', 'SELECT a, b FROM wanted ORDER BY place');
SELECT operation, method, reason, rows_read, transactions, results FROM batmap_last_run();
SELECT item_a, item_b, total, score FROM batmap_count_pairs('lines', 'SELECT a, b FROM wanted ORDER BY place DESC', 'jaccard', 'tid', 'item');
SELECT item_a, item_b, score FROM batmap_count_pairs('SELECT tid, item FROM lines WHERE tid > $1', 'SELECT a, b FROM wanted WHERE place < $2 ORDER BY place', measure => 'conviction', params => ROW(4, 5));
-- only some columns
SELECT total, item_b FROM batmap_count_pairs('SELECT tid, item FROM lines', 'SELECT a, b FROM wanted ORDER BY place') LIMIT 2;
SELECT support FROM batmap_count_pairs('SELECT tid, item FROM lines', 'VALUES (1, 4)');
SELECT count_b FROM batmap_count_pairs('SELECT tid, item FROM lines', 'VALUES (1, 4)');
SELECT count(*) FROM batmap_count_pairs('SELECT tid, item FROM lines', 'SELECT a, b FROM wanted');
SELECT * FROM ROWS FROM (batmap_count_pairs('SELECT tid, item FROM lines', 'VALUES (1, 98), (4, 1)'), generate_series(1, 1)) f;

-- the same as the pairs that are all counted, and as a join
CREATE TABLE all_pairs AS SELECT a.item AS a, b.item AS b FROM generate_series(0, 16) a (item), generate_series(0, 17) b (item);
SELECT count(*) AS pairs, count(*) FILTER (WHERE c.* IS DISTINCT FROM p.*) AS different
FROM batmap_pairs('SELECT tid, item FROM lines', min_count => 1, measure => 'lift') p
    LEFT JOIN batmap_count_pairs('SELECT tid, item FROM lines', 'TABLE all_pairs', 'lift') c USING (item_a, item_b);
CREATE VIEW by_join AS SELECT w.a, w.b, count(DISTINCT x.tid) FILTER (WHERE y.tid IS NOT NULL) AS n
FROM all_pairs w LEFT JOIN lines x ON x.item = w.a LEFT JOIN lines y ON y.item = w.b AND y.tid = x.tid GROUP BY w.a, w.b;
SELECT count(*) AS pairs, count(*) FILTER (WHERE c.support_count IS DISTINCT FROM j.n) AS different
FROM batmap_count_pairs('SELECT tid, item FROM lines', 'TABLE all_pairs') c LEFT JOIN by_join j ON j.a = c.item_a AND j.b = c.item_b;
-- arrays as baskets
SELECT item_a, item_b, support_count FROM batmap_count_pairs('SELECT tid, array_agg(item) FROM lines GROUP BY tid', 'VALUES (1, 4), (4, 9)');

-- items of other types
SELECT item_a, item_b, support_count, count_a, count_b FROM batmap_count_pairs_of('SELECT tid, name FROM lines', 'SELECT ''item '' || a, ''item '' || b FROM wanted ORDER BY place');
SELECT item_a, item_b, support_count, pg_typeof(item_a) FROM batmap_count_pairs_as(NULL::uuid, 'SELECT tid, md5(name)::uuid FROM lines', 'SELECT md5(''item 1'')::uuid, md5(''item 4'')::uuid');
SELECT item_a, item_b, support_count, pg_typeof(item_a) FROM batmap_count_pairs_as(NULL::numeric, 'SELECT tid, item::numeric FROM lines', 'VALUES (1.0, 4.00), (4, 1)');
SELECT item_a, support_count FROM batmap_count_pairs_of('SELECT tid, name::varchar FROM lines', 'SELECT ''item 1''::varchar, ''item 4''::text');

-- relations
CREATE TABLE kept AS SELECT tid % 2 AS half, batmap_relation_agg(tid, item) AS r, batmap_relation_agg(tid, name) AS t, batmap_relation_agg(tid, item::text) AS d FROM lines WHERE tid IS NOT NULL GROUP BY 1;
SELECT half, c.item_a, c.item_b, c.support_count, c.count_a, c.total FROM kept, batmap_count_pairs(r, 'SELECT a, b FROM wanted WHERE place < 7 ORDER BY place') c ORDER BY half;
SELECT half, c.item_a, c.item_b, c.support_count, c.score FROM kept, batmap_count_pairs_of(t, 'VALUES (''item 4'', ''item 1''), (''none'', ''item 4'')', measure => 'jaccard') c ORDER BY half;
SELECT half, c.item_a, c.item_b, c.support_count, pg_typeof(c.item_b) FROM kept, batmap_count_pairs_as(NULL::int, d, 'SELECT a, b FROM wanted WHERE place < $1 ORDER BY place', params => ROW(4)) c ORDER BY half;
SELECT c.* FROM batmap_count_pairs(NULL::batmap_relation, 'VALUES (1, 2), (3, 3)') c;
SELECT c.* FROM batmap_count_pairs_of(NULL::batmap_relation, 'VALUES (''a'', ''b'')') c;
SELECT c.* FROM kept, batmap_count_pairs(t, 'VALUES (1, 2)') c;
SELECT c.* FROM kept, batmap_count_pairs_of(r, 'VALUES (''1'', ''2'')') c;

-- nothing to count
SELECT count(*) FROM batmap_count_pairs('SELECT tid, item FROM lines', 'SELECT 1, 2 WHERE false');
SELECT * FROM batmap_count_pairs('SELECT tid, item FROM lines WHERE false', 'VALUES (1, 2)');

-- wrong calls
SELECT * FROM batmap_count_pairs('SELECT tid, item FROM lines', NULL);
SELECT * FROM batmap_count_pairs(NULL::text, 'VALUES (1, 2)');
SELECT * FROM batmap_count_pairs('SELECT tid, name FROM lines', 'VALUES (1, 2)');
SELECT * FROM batmap_count_pairs('SELECT tid, item FROM lines', 'VALUES (1, ''a'')');
SELECT * FROM batmap_count_pairs('SELECT tid, item FROM lines', 'VALUES (1, 2, 3)');
SELECT * FROM batmap_count_pairs_of('SELECT tid, name FROM lines', 'VALUES (1, 2)');
SELECT * FROM batmap_count_pairs('SELECT tid, item FROM lines', 'VALUES (1, 2)', measure => 'liftt');
SELECT * FROM batmap_count_pairs('SELECT tid, item FROM lines', 'DELETE FROM wanted RETURNING a, b');
SELECT * FROM batmap_count_pairs('SELECT tid, item FROM lines', 'VALUES ($1, 2)');
SELECT * FROM batmap_count_pairs('lines', 'wanted', tid_column => 'tid', item_column => 'item');

-- ---- triangles
CREATE TABLE roads (a int, b int);
INSERT INTO roads VALUES (1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 3), (2, 1), (1, 2), (6, 6), (7, 8), (NULL, 1), (2, NULL), (2, 4);
SELECT * FROM batmap_triangles('roads');
SELECT * FROM batmap_edge_triangles('roads');
SELECT operation, method, input, rows_read, items, results FROM batmap_last_run();
SELECT * FROM batmap_edge_triangles_of('SELECT chr(96 + a), chr(96 + b) FROM roads WHERE a < $1', params => ROW(7));
SELECT node_a, node_b, triangles, pg_typeof(node_a) FROM batmap_edge_triangles_as(NULL::date, 'SELECT ''2024-01-01''::date + a, ''2024-01-01''::date + b FROM roads') WHERE triangles > 1;
SELECT * FROM batmap_triangles('SELECT md5(a::text)::uuid, md5(b::text)::uuid FROM roads');
SELECT * FROM batmap_triangles('SELECT a::text, b::varchar FROM roads WHERE a < $1', params => ROW(4));
SELECT * FROM batmap_triangles('SELECT a, b FROM roads WHERE false');
SELECT * FROM batmap_triangles('SELECT 1, 1');
SELECT count(*) FROM batmap_edge_triangles('SELECT 1, 1');
-- in parallel workers, and against a join
CREATE TABLE graph AS SELECT (i * i + i / 7) % 211 AS a, (i * 7 + i / 3) % 199 AS b FROM generate_series(1, 5000) i;
CREATE VIEW once AS SELECT DISTINCT least(a, b) AS a, greatest(a, b) AS b FROM graph WHERE a <> b;
CREATE TABLE by_join_of_edges AS SELECT e.a, e.b, count(y.b) AS n FROM once e
    LEFT JOIN (SELECT a, b FROM once UNION ALL SELECT b, a FROM once) x ON x.a = e.a
    LEFT JOIN (SELECT a, b FROM once UNION ALL SELECT b, a FROM once) y ON y.a = e.b AND y.b = x.b GROUP BY 1, 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT workers, t.triangles = sums.n AS equal, t.edges, t.nodes,
    (SELECT count(*) FROM batmap_edge_triangles('graph') e LEFT JOIN by_join_of_edges j ON j.a = e.node_a AND j.b = e.node_b WHERE e.triangles IS DISTINCT FROM j.n) AS different
FROM (SELECT sum(n) / 3 AS n FROM by_join_of_edges) sums, unnest('{0,2}'::text[]) workers,
    LATERAL (SELECT set_config('max_parallel_workers_per_gather', workers, false)) s, LATERAL batmap_triangles('graph' || left(s.set_config, 0)) t;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
-- wrong calls
SELECT * FROM batmap_triangles(NULL);
SELECT * FROM batmap_triangles('SELECT a, b::text FROM roads');
SELECT * FROM batmap_triangles('SELECT a FROM roads');
SELECT * FROM batmap_triangles('SELECT point(1, 2), point(3, 4)');
SELECT * FROM batmap_edge_triangles('SELECT a::text, b::text FROM roads');
SELECT * FROM batmap_edge_triangles_of('SELECT a, b FROM roads');
DROP TABLE roads, graph, by_join_of_edges CASCADE;
DROP TABLE lines, wanted, all_pairs, kept CASCADE;
