-- Counts of listed pairs of stored sets: the same as over the rows (element, id); ids without a set, equal ids, repeated rows,
-- NULL; both forms of a set.
CREATE TABLE sets AS
SELECT s AS id, 'set ' || s AS name, batmap_agg((s * e * e % (40 * s + 1))::int8) AS items FROM generate_series(1, 30) s, generate_series(1, 20 * s) e GROUP BY s;
INSERT INTO sets VALUES (31, 'set 31', '{}'), (32, 'set 32', NULL), (NULL, NULL, '{1}');
CREATE VIEW elements AS SELECT e AS element, id, name FROM sets, batmap_unnest(items) e WHERE id IS NOT NULL;
CREATE TABLE wanted (place int, a int, b int);
INSERT INTO wanted VALUES (1, 3, 7), (2, 7, 3), (3, 7, 3), (4, 5, 5), (5, 99, 1), (6, 31, 1), (7, 32, 1), (8, NULL, 1), (9, 30, 29), (10, -5, -5);

SELECT * FROM batmap_count_pairs('SELECT id, items FROM sets', 'SELECT a, b FROM wanted ORDER BY place');
SELECT operation, method, reason, device, rows_read, transactions, items, items_kept, results FROM batmap_last_run();
SELECT item_a, item_b, total, score FROM batmap_count_pairs('SELECT id, items FROM sets WHERE id > $1', 'SELECT a, b FROM wanted WHERE place < $2 ORDER BY place DESC', 'jaccard', params => ROW(2, 5));
-- only some columns
SELECT total, item_b FROM batmap_count_pairs('SELECT id, items FROM sets', 'SELECT a, b FROM wanted ORDER BY place') LIMIT 2;
SELECT lift > 0 FROM batmap_count_pairs('SELECT id, items FROM sets', 'VALUES (3, 7)');
SELECT count_b FROM batmap_count_pairs('SELECT id, items FROM sets', 'VALUES (3, 7)');
SELECT count(*) FROM batmap_count_pairs('SELECT id, items FROM sets', 'SELECT a, b FROM wanted LIMIT 0');
SELECT count(*) FROM batmap_count_pairs('SELECT id, items FROM sets', 'SELECT a, b FROM wanted');

-- the same as over rows, with every measure and in both forms
CREATE TABLE pairs AS SELECT a, b FROM generate_series(0, 33) a, generate_series(0, 33) b;
CREATE FUNCTION differences(query text, measure text) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM batmap_count_pairs(query, 'TABLE pairs', measure) WITH ORDINALITY s
        FULL JOIN batmap_count_pairs('SELECT element, id FROM elements', 'TABLE pairs', measure) WITH ORDINALITY r USING (ordinality)
     WHERE s.* IS DISTINCT FROM r.* $$;
SELECT m, differences('SELECT id, items FROM sets', m), differences('SELECT id, batmap_prepare(items) FROM sets', m),
       differences('SELECT id, CASE WHEN id % 2 = 0 THEN items ELSE batmap_prepare(items) END FROM sets', m)
FROM unnest('{jaccard,lift,conviction,chi_squared}'::text[]) m;
-- a domain over batmap, and a view
CREATE DOMAIN tag_set AS batmap;
SELECT item_a, support_count FROM batmap_count_pairs('SELECT id, items::tag_set FROM sets', 'VALUES (3, 7)');

-- ids of other types
SELECT item_a, item_b, support_count, count_a, count_b FROM batmap_count_pairs_of('SELECT name, items FROM sets', 'SELECT ''set '' || a, ''set '' || b FROM wanted ORDER BY place');
SELECT item_a, item_b, support_count, total, pg_typeof(item_a) FROM batmap_count_pairs_as(NULL::uuid, 'SELECT md5(name)::uuid, items FROM sets', 'SELECT md5(''set 3'')::uuid, md5(''set 7'')::uuid');
SELECT item_a, item_b, support_count, pg_typeof(item_a) FROM batmap_count_pairs_as(NULL::numeric, 'SELECT id::numeric, items FROM sets', 'VALUES (3.0, 7.00), (7, 3)');

-- nothing to count
SELECT * FROM batmap_count_pairs('SELECT id, items FROM sets WHERE false', 'VALUES (1, 2)');
SELECT * FROM batmap_count_pairs('SELECT 5, ''{}''::batmap', 'VALUES (5, 5)');

-- memory, and where no GPU is
SET batmap.memory_limit = '1MB';
SELECT count(*) FROM batmap_count_pairs('SELECT g, items FROM sets, generate_series(1, 20000) g WHERE id = 30', 'VALUES (1, 2)');
RESET batmap.memory_limit;
SET batmap.device = require;
\set VERBOSITY sqlstate
SELECT count(*) FROM batmap_count_pairs('SELECT id, items FROM sets', 'VALUES (3, 7)');
\set VERBOSITY default
RESET batmap.device;

-- wrong calls
SELECT * FROM batmap_count_pairs('SELECT id % 2, items FROM sets', 'VALUES (1, 2)');
SELECT * FROM batmap_count_pairs_of('SELECT ''the ''''same'''''', items FROM sets', 'VALUES (''a'', ''b'')');
SELECT * FROM batmap_count_pairs('SELECT name, items FROM sets', 'VALUES (1, 2)');
SELECT * FROM batmap_count_pairs_of('SELECT id, items FROM sets', 'VALUES (''a'', ''b'')');
SELECT * FROM batmap_count_pairs('SELECT items, id FROM sets', 'VALUES (1, 2)');
SELECT * FROM batmap_count_pairs('SELECT id, items, 1 FROM sets', 'VALUES (1, 2)');
SELECT * FROM batmap_count_pairs('SELECT id, items FROM sets', 'VALUES (1, 2)', tid_column => 'id', item_column => 'items');
SELECT * FROM batmap_count_pairs('SELECT id, items FROM sets', NULL);
SELECT * FROM batmap_count_pairs('SELECT id, items FROM sets', 'VALUES (1, ''a'')');

-- what the planner expects: an answer for each row of the list
CREATE FUNCTION expected_rows(call text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) SELECT * FROM ' || call INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
ANALYZE pairs;
SELECT expected_rows($$batmap_count_pairs('SELECT id, items FROM sets', 'TABLE pairs')$$) AS sets,
       expected_rows($$batmap_count_pairs('SELECT element, id FROM elements', 'TABLE pairs')$$) AS rows,
       expected_rows($$batmap_count_pairs('elements', 'TABLE pairs', tid_column => 'element', item_column => 'id')$$) AS named,
       expected_rows($$batmap_count_pairs_of('SELECT element, name FROM elements', 'SELECT a::text, b::text FROM pairs')$$) AS texts,
       expected_rows($$batmap_count_pairs(NULL::batmap_relation, 'TABLE pairs')$$) AS relation,
       expected_rows($$batmap_count_pairs_as(NULL::int, NULL::batmap_relation, 'TABLE pairs')$$) AS relation_of,
       expected_rows($$batmap_edge_triangles('TABLE pairs')$$) AS edges,
       expected_rows($$batmap_triangles('TABLE pairs')$$) AS triangles,
       expected_rows($$batmap_similar('{1,2}', 'SELECT a, items FROM pairs, sets')$$) < 1000 AS like_few,
       expected_rows($$batmap_count_pairs('SELECT id, items FROM sets', 'no list')$$) AS unknown;
DROP FUNCTION differences(text, text), expected_rows(text);
DROP VIEW elements;
DROP TABLE sets, wanted, pairs;
DROP DOMAIN tag_set;
