-- The rows that the planner expects of the nodes, against those that there are: they follow the statistics of the items and the
-- threshold. A line is shown where the two are more than four times apart.
LOAD 'batmap';
CREATE SCHEMA estimates;
SET search_path = estimates, public;
SET max_parallel_workers_per_gather = 0;
-- items as in shops: the k-th has about 1/k of the rows of the first; ANALYZE reads all rows
CREATE TABLE baskets AS SELECT DISTINCT k % 4000 AS tid, floor(exp(ln(300) * ((hashint4(k) & 65535) / 65536.0)))::int AS item
    FROM generate_series(1, 30000) k;
CREATE TABLE names AS SELECT item AS id, 'name ' || item % 40 AS name FROM generate_series(1, 300) item;
ALTER TABLE names ADD PRIMARY KEY (id);
CREATE TABLE posts AS SELECT tid AS id, array_agg(item) AS tags FROM baskets GROUP BY 1;
ANALYZE baskets, names, posts;

CREATE FUNCTION plan_of(query text, options text DEFAULT '') RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT JSON%s) %s', options, query) INTO plan;
    RETURN plan -> 0 -> 'Plan';
END $$;
-- the rows of a node, expected and found
CREATE FUNCTION rows_of(query text, OUT node text, OUT expected float8, OUT found float8) LANGUAGE sql AS $$
    SELECT plan ->> 'Custom Plan Provider', (plan ->> 'Plan Rows')::float8, (plan ->> 'Actual Rows')::float8
    FROM plan_of(query, ', ANALYZE, TIMING OFF') plan $$;
CREATE TABLE queries (node text, query text);
INSERT INTO queries VALUES
('BatmapScan', 'SELECT * FROM batmap_pairs(''SELECT tid, item FROM baskets'', min_count => %s)'),
('BatmapScan', 'SELECT * FROM batmap_pairs(''SELECT id, unnest(tags) FROM posts'', min_count => %s)'),
('BatmapScan', 'SELECT * FROM batmap_pairs(''SELECT id, x FROM posts, unnest(tags) x'', min_count => %s)'),
('BatmapScan', 'SELECT * FROM batmap_pairs(''SELECT tid, item FROM baskets WHERE tid < 2000'', min_count => %s)'),
('BatmapScan', 'SELECT * FROM batmap_pairs(''SELECT tid, item FROM baskets'', min_support => %s / 4000.0)'),
('BatmapScan', 'SELECT * FROM batmap_pairs_of(''SELECT tid, name FROM baskets JOIN names ON id = item'', min_count => %s)'),
('BatmapScan', 'SELECT * FROM batmap_join_project(''SELECT item, tid FROM baskets'', ''SELECT tid, item FROM baskets'', min_count => %s)'),
('BatmapScan', 'SELECT * FROM batmap_itemsets(''SELECT tid, item FROM baskets'', min_count => %s, max_length => 3)'),
('BatmapScan', 'SELECT * FROM batmap_itemsets(''SELECT tid, item FROM baskets'', min_count => %s, min_length => 3, max_length => 3)'),
('BatmapScan', 'SELECT * FROM batmap_rules(''SELECT tid, item FROM baskets'', min_count => %s, max_lhs => 2)'),
('BatmapJoinProject', 'SELECT a.item, b.item, count(*) FROM baskets a JOIN baskets b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= %s'),
('BatmapJoinProject', 'SELECT a.item, b.item, count(*) FROM baskets a JOIN baskets b USING (tid) GROUP BY 1, 2 HAVING %s < count(*)'),
('BatmapJoinProject', 'SELECT a.item, b.item, count(DISTINCT tid) FROM baskets a JOIN baskets b USING (tid) WHERE a.tid < 3000 GROUP BY 1, 2 HAVING count(DISTINCT tid) >= %s'),
('BatmapJoinProject', 'SELECT a.name, b.name, count(*) FROM baskets x JOIN baskets y USING (tid) JOIN names a ON a.id = x.item JOIN names b ON b.id = y.item
    WHERE x.item < y.item GROUP BY 1, 2 HAVING count(*) >= %s'),
('BatmapJoinProject', 'SELECT x, y, count(*) FROM posts, unnest(tags) x, unnest(tags) y WHERE x < y GROUP BY 1, 2 HAVING count(*) >= %s'),
('BatmapItemsets', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) >= %s');
SELECT count(*) AS estimates, min(expected) < 100 AND max(expected) > 10000 AS differ
FROM queries q, unnest('{1, 5, 20, 100}'::int[]) least, rows_of(format(query, least));
SELECT format(query, least), r.* FROM queries q, unnest('{1, 5, 20, 100}'::int[]) least, rows_of(format(query, least)) r
WHERE r.node IS DISTINCT FROM q.node OR abs(ln(greatest(expected, 10) / greatest(found, 10))) > ln(4);
-- DISTINCT; a limit on the counts
SELECT node, expected BETWEEN found / 2 AND found * 2 AS near
FROM rows_of('SELECT DISTINCT a.item, b.item FROM baskets a JOIN baskets b USING (tid)');
SELECT plan -> 'Plans' -> 0 -> 'Plans' -> 0 ->> 'Plan Rows' AS best
FROM plan_of('SELECT a.item, b.item, count(*) FROM baskets a JOIN baskets b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 7 OFFSET 5') plan;
-- all of one frequency: no value is among the most common ones
CREATE TABLE even AS SELECT k % 1000 AS tid, k / 20 AS item FROM generate_series(0, 19999) k;
ANALYZE even;
SELECT rows_of('SELECT * FROM batmap_pairs(''TABLE even'', min_count => 21)');
-- a table that was never analyzed
CREATE TABLE unknown (tid int, item int);
SELECT expected BETWEEN 1 AND 1e6 AS sane FROM rows_of('SELECT * FROM batmap_pairs(''TABLE unknown'', min_count => 2)');
\set VERBOSITY terse
DROP SCHEMA estimates CASCADE;
