-- Operator classes: DISTINCT, GROUP BY, ORDER BY, joins, btree, hash and GIN indexes.
CREATE TABLE sets (id int PRIMARY KEY, s batmap);
-- equal sets of different universe and container, NULLs, empty sets, sets that are toasted
INSERT INTO sets SELECT i, CASE WHEN i % 10 = 0 THEN NULL WHEN i % 10 = 1 THEN '{}' ELSE batmap(ARRAY[i % 7, i % 5 + 10, 100], CASE WHEN i % 2 = 0 THEN 128 ELSE 4294967296 END) END FROM generate_series(1, 200) i;
INSERT INTO sets SELECT 1000 + i, (SELECT batmap_agg((x * (i % 5 + 3)) % 60000) FROM generate_series(1, 1500) x) FROM generate_series(1, 20) i;
ANALYZE sets;
SELECT count(*) FROM (SELECT DISTINCT s FROM sets) v;
SET enable_hashagg = off;
SELECT count(*) FROM (SELECT DISTINCT s FROM sets) v;
RESET enable_hashagg;
SELECT count(*) FROM (SELECT s::int8[] FROM sets GROUP BY 1) v;
SELECT s, count(*) FROM sets WHERE id < 20 GROUP BY s ORDER BY s LIMIT 5;
SELECT array_agg(id ORDER BY s, id) = array_agg(id ORDER BY s::int8[], id) AS same_order FROM sets;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM sets x JOIN sets y USING (s);
SELECT count(*) FROM sets x JOIN sets y USING (s);
RESET enable_hashjoin;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM sets x JOIN sets y USING (s);
SELECT count(*) FROM sets x JOIN sets y USING (s);
RESET enable_nestloop;
RESET enable_mergejoin;
SELECT count(*) FROM sets x JOIN sets y ON x.s::int8[] = y.s::int8[];
SELECT id FROM sets WHERE s IN (SELECT s FROM sets WHERE id = 3) ORDER BY id LIMIT 3;
SELECT ARRAY['{1}', '{2}']::batmap[] = ARRAY['{1}', '{2}']::batmap[] AS arrays, ROW('{1}'::batmap) < ROW('{2}'::batmap) AS rows;
SELECT count(*) FROM (SELECT s FROM sets EXCEPT SELECT s FROM sets WHERE id > 5) v;
-- btree and hash indexes, of values that fit
CREATE TABLE small AS SELECT * FROM sets WHERE id < 1000;
CREATE INDEX small_btree ON small (s);
CREATE INDEX small_hash ON small USING hash (s);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexscan = off;
\getenv here PG_ABS_SRCDIR
\set explained :here '/sql/explained.psql'
\i :explained
SELECT explained($$SELECT s FROM small WHERE s >= '{3}' AND s < '{4}' ORDER BY s$$, 'COSTS OFF');
SELECT count(*), min(s::text), max(s::text) FROM small WHERE s >= '{3}' AND s < '{4}';
RESET enable_indexscan;
SELECT id FROM small WHERE s = '{3,13,100}' ORDER BY id;
DROP INDEX small_btree;
EXPLAIN (COSTS OFF) SELECT id FROM small WHERE s = '{3,13,100}';
SELECT count(*) FROM small WHERE s = '{3,13,100}';
RESET enable_bitmapscan;
RESET enable_seqscan;
CREATE UNIQUE INDEX ON small (s);
-- GIN: every operator, with and without the index
CREATE TABLE queries (q batmap);
INSERT INTO queries VALUES ('{}'), ('{100}'), ('{3,13,100}'), ('{3,100,59999}'), ('{7777777}'), ('{0,1,2,3,4,5,6,10,11,12,13,14,100}'), (NULL);
INSERT INTO queries SELECT s FROM sets WHERE id IN (1001, 1003);
CREATE FUNCTION pg_temp.answers() RETURNS TABLE (op text, n bigint, ids bigint) LANGUAGE sql AS $$
    SELECT '&&', count(*), sum(id) FROM queries, sets WHERE s && q UNION ALL
    SELECT '@>', count(*), sum(id) FROM queries, sets WHERE s @> q UNION ALL
    SELECT '<@', count(*), sum(id) FROM queries, sets WHERE s <@ q UNION ALL
    SELECT '=', count(*), sum(id) FROM queries, sets WHERE s = q UNION ALL
    SELECT '@> int8', count(*), sum(id) FROM (VALUES (-1::int8), (0), (3), (100), (59999), (9223372036854775807), (NULL)) v(x), sets WHERE s @> x UNION ALL
    SELECT '<@ int8', count(*), sum(id) FROM (VALUES (-1::int8), (0), (3), (100), (59999), (9223372036854775807), (NULL)) v(x), sets WHERE x <@ s $$;
CREATE TABLE answers AS SELECT * FROM pg_temp.answers();
SELECT * FROM answers ORDER BY op COLLATE "C";
CREATE INDEX sets_gin ON sets USING gin (s);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE s && '{3,4}';
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE s @> '{3,4}';
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE s <@ '{3,4}';
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE s = '{3,4}';
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE s @> 3;
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE 3 <@ s;
SELECT explained('SELECT count(*) FROM queries, sets WHERE s @> q', 'COSTS OFF');
SELECT a.* FROM pg_temp.answers() a EXCEPT SELECT * FROM answers;
SELECT count(*) FROM sets WHERE s @> 3 AND s @> 13;
INSERT INTO sets VALUES (2000, '{3,4,424242}');
UPDATE sets SET s = s | 424242 WHERE id = 3;
SELECT id FROM sets WHERE s @> 424242 ORDER BY id;
RESET enable_seqscan;
SELECT opcname, amname, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE opcname LIKE 'batmap%' ORDER BY 1;
DROP TABLE sets, small, queries, answers;
-- queries with more elements than the index searches
CREATE TABLE large_sets AS SELECT i AS id, (SELECT batmap_agg(x) FROM generate_series(i, 6000 + i) x) AS s FROM generate_series(1, 5) i;
INSERT INTO large_sets VALUES (6, '{}'), (7, NULL), (8, '{5000}'), (9, '{70000}');
CREATE INDEX ON large_sets USING gin (s);
CREATE TABLE large_queries AS SELECT s AS q FROM large_sets WHERE id IN (1, 3) UNION ALL SELECT batmap_range(0, 7000) UNION ALL SELECT batmap_range(3, 5003)
    UNION ALL SELECT batmap_range(5, 4101);
CREATE FUNCTION pg_temp.large_answers() RETURNS TABLE (op text, n bigint, ids bigint) LANGUAGE sql AS $$
    SELECT '&&', count(*), sum(id) FROM large_queries, large_sets WHERE s && q UNION ALL
    SELECT '@>', count(*), sum(id) FROM large_queries, large_sets WHERE s @> q UNION ALL
    SELECT '<@', count(*), sum(id) FROM large_queries, large_sets WHERE s <@ q UNION ALL
    SELECT '=', count(*), sum(id) FROM large_queries, large_sets WHERE s = q $$;
SET enable_seqscan = off;
SELECT explained('SELECT count(*) FROM large_queries, large_sets WHERE s @> q', 'COSTS OFF');
DROP FUNCTION explained;
SELECT * FROM pg_temp.large_answers() ORDER BY op COLLATE "C";
RESET enable_seqscan;
SET enable_bitmapscan = off;
SELECT * FROM pg_temp.large_answers() ORDER BY op COLLATE "C";
RESET enable_bitmapscan;
