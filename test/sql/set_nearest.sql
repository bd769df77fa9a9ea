-- Sets that are like each other: % and its threshold, and the plan node that returns the nearest sets by a GIN index.
SELECT '{1,2,3}'::batmap % '{2,3,4}' AS half, '{1,2,3}'::batmap % '{3,4,5}' AS fifth, '{}'::batmap % '{}' AS empty, '{}'::batmap % '{1}' AS one_empty,
    NULL::batmap % '{1}' IS NULL AS unknown, '{1,2,3}'::batmap <%> '{2,3,4}' AS distance, '{}'::batmap <%> '{}' AS no_distance;
SET batmap.similarity_threshold = 0.5;
SELECT '{1,2,3}'::batmap % '{2,3,4}'::int2[] AS int2, '{2,3,4}'::int4[] % '{1,2,3}'::batmap AS int4, '{1,2,3}'::batmap % '{1,2,3,4,5,6,7}'::int8[] AS int8;
SET batmap.similarity_threshold = 0;
SELECT '{}'::batmap % '{1}' AS all_are_like;
\set VERBOSITY default
SET batmap.similarity_threshold = 1.5;
SET batmap.similarity_threshold = -0.1;
\set VERBOSITY terse
RESET batmap.similarity_threshold;

CREATE TABLE sets (id int PRIMARY KEY, part int, s batmap);
-- small sets of frequent and rare elements, some of them nearly equal; NULLs, empty sets, large sets that are toasted
INSERT INTO sets SELECT i, i % 3, CASE WHEN i % 50 = 0 THEN NULL WHEN i % 50 = 1 THEN '{}' ELSE
    (SELECT batmap_agg(((i / 5 * 7919 + x * x * 31) % 997 * (x + 1)) % CASE WHEN x % 3 = 0 THEN 20 ELSE 3000 END + CASE WHEN x = i % 5 THEN 5000 ELSE 0 END)
     FROM generate_series(1, 3 + i % 17) x WHERE i > 0) END FROM generate_series(1, 2000) i;
INSERT INTO sets SELECT 3000 + i, 0, batmap_range(i * 10, 6000 + i * 25) FROM generate_series(1, 8) i;
CREATE INDEX sets_gin ON sets USING gin (s);
VACUUM ANALYZE sets;
CREATE TABLE queries AS SELECT id AS n, s AS q FROM sets WHERE id % 191 IN (0, 1, 7) UNION ALL VALUES (9001, '{}'::batmap), (9002, NULL), (9003, '{1,2,3,4,5,6,7,8,9,10}'),
    (9004, '{123456}'), (9005, batmap_range(0, 6100)), (9006, batmap_range(5, 4100)), (9007, batmap_range(5, 4101));

-- % by the index is % without it
CREATE FUNCTION pg_temp.like_each() RETURNS TABLE (n int, found bigint, ids bigint) LANGUAGE plpgsql AS $$
DECLARE r record; BEGIN FOR r IN SELECT * FROM queries ORDER BY queries.n LOOP
    RETURN QUERY SELECT r.n, count(*), sum(id) FROM sets WHERE s % r.q; END LOOP; END $$;
CREATE TABLE expected (threshold float8, n int, found bigint, ids bigint);
CREATE TABLE found (LIKE expected);
DO $$ DECLARE t float8; BEGIN
    FOREACH t IN ARRAY ARRAY[0, 0.01, 0.3, 0.5, 0.8, 0.95, 1] LOOP
        PERFORM set_config('batmap.similarity_threshold', t::text, true);
        SET LOCAL enable_bitmapscan = off;
        INSERT INTO expected SELECT t, * FROM pg_temp.like_each();
        SET LOCAL enable_bitmapscan = on; SET LOCAL enable_seqscan = off;
        INSERT INTO found SELECT t, * FROM pg_temp.like_each();
        SET LOCAL enable_seqscan = on;
    END LOOP; END $$;
SELECT threshold, count(*), sum(found) FROM expected GROUP BY 1 ORDER BY 1;
SELECT * FROM expected EXCEPT SELECT * FROM found;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE s % '{1,2,3}';
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE s % ARRAY[1, 2, 3];
EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE ARRAY[1, 2, 3] % s;
RESET enable_seqscan;
-- its estimate: for a set of the table, some sets; for one that is like none, hardly any
CREATE FUNCTION pg_temp.estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan; RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows'; END $$;
SELECT pg_temp.estimate($$SELECT FROM sets WHERE s % '{123456}'$$) < 5 AS rare, pg_temp.estimate($$SELECT FROM sets WHERE s % '{}'$$) BETWEEN 20 AND 60 AS empty,
    pg_temp.estimate($$SELECT FROM sets WHERE s % NULL$$) < 5 AS unknown, pg_temp.estimate('SELECT FROM sets a, sets b WHERE a.s % b.s') < 400000 AS joined;

-- the nearest sets: what is asked for, and the order
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM sets ORDER BY s <%> '{1,2,3}' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM sets ORDER BY ARRAY[1, 2, 3] <%> s LIMIT 5;
\getenv here PG_ABS_SRCDIR
\set explained :here '/sql/explained.psql'
\i :explained
SELECT explained('SELECT id FROM sets WHERE part = 1 ORDER BY s <%> (SELECT q FROM queries WHERE n = 9003), id LIMIT 5', 'COSTS OFF');
SELECT explained('SELECT n, id FROM queries, LATERAL (SELECT id FROM sets ORDER BY s <%> q LIMIT 2) v', 'COSTS OFF');
-- not so: another order, a query of the same row, no index, switched off
SELECT explained('SELECT id FROM sets ORDER BY s <%> ''{1,2,3}'' DESC LIMIT 5', 'COSTS OFF');
SELECT explained('SELECT id FROM sets ORDER BY s <%> ''{1,2,3}'' NULLS FIRST LIMIT 5', 'COSTS OFF');
SELECT explained('SELECT id FROM sets ORDER BY s <%> (s | 1) LIMIT 5', 'COSTS OFF');
SELECT explained('SELECT id, xmin FROM sets ORDER BY s <%> ''{1,2,3}'' LIMIT 5', 'COSTS OFF');
SELECT count(*) FROM (SELECT x, t FROM (VALUES (1), (2)) v (x) LEFT JOIN (SELECT coalesce(xmin::text, 'none') AS t, s FROM sets) q ON true ORDER BY q.s <%> '{1,2,3}' LIMIT 5) r;
SET batmap.enable_nearest = off;
SELECT explained('SELECT id FROM sets ORDER BY s <%> ''{1,2,3}'' LIMIT 5', 'COSTS OFF');
RESET batmap.enable_nearest;
SELECT id, s, s <%> '{1,2,3,4,5,6,7,8,9,10}' AS distance FROM sets ORDER BY s <%> '{1,2,3,4,5,6,7,8,9,10}', id LIMIT 3;

-- every row once, in the order of the distances, with and without a condition
CREATE FUNCTION pg_temp.wrong(condition text, from_table text DEFAULT 'sets', k int DEFAULT NULL) RETURNS TABLE (query int, reason text) LANGUAGE plpgsql AS $$
DECLARE r record; by_index float8[]; by_sort float8[]; found int[]; ids int; used boolean; line text; BEGIN
    FOR r IN SELECT * FROM queries ORDER BY n LOOP
        used := false;
        FOR line IN EXECUTE format('EXPLAIN SELECT id FROM %s WHERE %s ORDER BY s <%%> %L::batmap', from_table, condition, r.q) LOOP used := used OR line ~ 'BatmapNearest'; END LOOP;
        IF NOT used AND r.q IS NOT NULL THEN RETURN QUERY SELECT r.n, 'not by the node'; END IF;
        EXECUTE format('SELECT array_agg(d), array_agg(id) FROM (SELECT id, s <%%> $1 AS d FROM %s WHERE %s ORDER BY s <%%> $1 LIMIT %s) v', from_table, condition, coalesce(k::text, 'ALL')) USING r.q INTO by_index, found;
        ids := (SELECT count(DISTINCT id) FROM unnest(found) id);
        SET LOCAL batmap.enable_nearest = off;
        EXECUTE format('SELECT array_agg(d) FROM (SELECT s <%%> $1 AS d FROM %s WHERE %s ORDER BY s <%%> $1 LIMIT %s) v', from_table, condition, coalesce(k::text, 'ALL')) USING r.q INTO by_sort;
        SET LOCAL batmap.enable_nearest = on;
        IF by_index IS DISTINCT FROM by_sort OR ids <> cardinality(by_sort) THEN RETURN QUERY SELECT r.n, format('%s rows, %s ids', cardinality(by_index), ids); END IF;
    END LOOP; END $$;
SET enable_sort = off;
SELECT * FROM pg_temp.wrong('true');
SELECT * FROM pg_temp.wrong('part = 1', k => 7);
-- too little memory for a search, or for the bitmap of a list
SET batmap.work_mem = '64kB';
SELECT * FROM pg_temp.wrong('id % 2 = 0');
RESET batmap.work_mem;
-- while rows wait to be put into the index, and with rows that were changed and deleted
UPDATE sets SET s = s | 4242 WHERE id % 100 = 7;
DELETE FROM sets WHERE id % 100 = 9;
INSERT INTO sets SELECT 4000 + i, i % 3, ARRAY[i, i + 1, i + 2, 4242]::batmap FROM generate_series(1, 300) i;
SELECT * FROM pg_temp.wrong('true', k => 400);
SET work_mem = '64kB';
SELECT * FROM pg_temp.wrong('true', k => 20);
RESET work_mem;
VACUUM ANALYZE sets;
SELECT * FROM pg_temp.wrong('id > 100');
-- a partial index, if the query wants its rows only; an index over an expression; one of several columns; partitions
DROP INDEX sets_gin;
CREATE INDEX sets_part ON sets USING gin (s) WHERE part = 1;
SELECT * FROM pg_temp.wrong('part = 1', k => 30);
SELECT count(*) FROM pg_temp.wrong('part = 2', k => 1) WHERE reason = 'not by the node';
DROP INDEX sets_part;
CREATE VIEW shifted AS SELECT id, s | 77 AS s FROM sets;
CREATE INDEX sets_shifted ON sets USING gin ((s | 77::int8));
SELECT * FROM pg_temp.wrong('true', 'shifted', 30);
DROP INDEX sets_shifted;
CREATE TABLE parted (id int, part int, x int[], s batmap) PARTITION BY LIST (part);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted_1 (s batmap, x int[], part int, id int);
ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES IN (1, 2);
INSERT INTO parted SELECT id, part, ARRAY[id], s FROM sets;
CREATE INDEX ON parted USING gin (x, s);
ANALYZE parted;
EXPLAIN (COSTS OFF) SELECT id FROM parted ORDER BY s <%> '{1,2,3}' LIMIT 5;
SELECT * FROM pg_temp.wrong('true', 'parted', 50);
-- many sets of which none is like the query: they are compared in several steps, the rows of a page together
CREATE TABLE many (id int, s batmap);
INSERT INTO many SELECT i, (SELECT batmap_agg((hashint4(i * 32 + x)::int8 & 65535) % 70) FROM generate_series(1, 3 + i % 20) x WHERE i > 0) FROM generate_series(1, 14000) i;
CREATE INDEX ON many USING gin (s) WITH (fastupdate = off);
DELETE FROM many WHERE id % 10 = 3;
UPDATE many SET s = s | 71 WHERE id % 10 = 4;
UPDATE many SET id = -id WHERE id % 10 = 5;
INSERT INTO many SELECT id + 20000, NULL FROM many WHERE id % 1000 = 1;
ANALYZE many;
SELECT k, wrong.* FROM (VALUES (1), (10), (100), (3000)) v (k), pg_temp.wrong('true', 'many', k) ORDER BY 1, 2;
SELECT * FROM pg_temp.wrong('id % 100 = 7', 'many', 20);
BEGIN;
DECLARE near CURSOR FOR SELECT s <%> '{1,2,3,4,5,6,7,8,9,10,11,12}' AS d FROM many ORDER BY s <%> '{1,2,3,4,5,6,7,8,9,10,11,12}';
MOVE 1000 FROM near;
FETCH 1 FROM near;
ROLLBACK;
SELECT d FROM (SELECT s <%> '{1,2,3,4,5,6,7,8,9,10,11,12}' AS d FROM many) v ORDER BY d OFFSET 1000 LIMIT 1;
DROP TABLE many;
-- rescans with other queries
CREATE INDEX sets_gin ON sets USING gin (s);
SELECT count(*) FROM queries, LATERAL (SELECT id, s <%> q AS d FROM sets ORDER BY s <%> q LIMIT 3) v
WHERE d IS DISTINCT FROM (SELECT min(s <%> q) FROM sets) AND d < (SELECT min(s <%> q) FROM sets);
SELECT n, count(*), round(min(d)::numeric, 3) AS nearest FROM queries, LATERAL (SELECT id, s <%> q AS d FROM sets ORDER BY s <%> q LIMIT 3) v WHERE n > 9000 GROUP BY 1 ORDER BY 1;
-- whole rows, places of rows, locks, cursors, prepared statements
SELECT (v.sets).id, tableoid, is_there FROM (SELECT sets, tableoid::regclass, ctid IS NOT NULL AS is_there FROM sets ORDER BY s <%> '{1,2,3,4242}' LIMIT 1) v;
SELECT id FROM sets ORDER BY s <%> '{1,2,3,4242}' LIMIT 1 FOR UPDATE;
BEGIN;
DECLARE near CURSOR FOR SELECT id, s FROM sets ORDER BY s <%> '{1,2,3,4242}';
FETCH 1 FROM near;
DELETE FROM sets WHERE id = 4001;
FETCH 2 FROM near;
ROLLBACK;
PREPARE near (batmap, int) AS SELECT id FROM sets ORDER BY s <%> $1 LIMIT $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE near ('{1,2,3,4242}', 1);
EXECUTE near ('{5,6,7,4242}', 1);
SELECT count(*) FROM sets;
-- EXPLAIN ANALYZE says what was read
CREATE FUNCTION pg_temp.analyzed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text; BEGIN FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) ' || query LOOP
    RETURN NEXT regexp_replace(line, 'rows=(\d+)(\.00)?', 'rows=\1'); END LOOP; END $$;
SELECT pg_temp.analyzed($$SELECT id FROM sets ORDER BY s <%> '{1,2,3,4242}' LIMIT 1$$);
SELECT pg_temp.analyzed($$SELECT id FROM sets ORDER BY s <%> '{123456}' LIMIT 1$$);
SELECT line FROM pg_temp.analyzed($$SELECT id FROM sets ORDER BY s <%> batmap_range(0, 5000) LIMIT 1$$) line WHERE line ~ 'Answered';
-- randomly chosen lists that are cut short are not exact
SET gin_fuzzy_search_limit = 10;
SELECT explained('SELECT id FROM sets ORDER BY s <%> ''{1,2,3}'' LIMIT 5', 'COSTS OFF');
SELECT line FROM pg_temp.analyzed('EXECUTE near (''{1,2,3}'', 1)') line WHERE line ~ 'Answered';
RESET gin_fuzzy_search_limit;
-- as a function, over any rows, with ids of any type
SELECT * FROM batmap_similar('{1,2,3,4}', $$VALUES (1, '{1,2}'::batmap), (2, '{1,2,3,4,5}'), (3, '{7}'), (4, '{}'), (5, NULL), (NULL, '{1}'), (6, '{3,4}'), (7, '{1,2,3,4}')$$);
SELECT * FROM batmap_similar('{}', $$VALUES (1, '{1,2}'::batmap), (2, '{}'), (2, '{}')$$);
SELECT * FROM batmap_similar(NULL, $$VALUES (1, '{1,2}'::batmap)$$);
SELECT * FROM batmap_similar_of('{1,2,3,4}', $$VALUES ('b', '{1,2}'::batmap), ('a', '{2,3}'), ('c', '{3,4}'), ('d', '{1,2,3}')$$, top_k => 2);
SELECT * FROM batmap_similar_as(NULL::date, ARRAY[1, 2]::batmap, $$VALUES ('2024-05-01'::date, '{1,2}'::batmap), ('2024-04-01', '{1,2}')$$, min_jaccard => 0.9);
SELECT count(*) FROM batmap_similar((SELECT q FROM queries WHERE n = 9003), 'SELECT id, s FROM sets', min_jaccard => 0.05, top_k => NULL) v
FULL JOIN (SELECT id, batmap_jaccard(s, q) AS jaccard FROM sets, queries WHERE n = 9003 AND batmap_jaccard(s, q) >= 0.05) w USING (id, jaccard) WHERE v.intersection IS NULL OR w.id IS NULL;
SELECT array_agg(jaccard) = (SELECT array_agg(j) FROM (SELECT batmap_jaccard(s, q) AS j FROM sets, queries WHERE n = 9003 AND s && q ORDER BY j DESC LIMIT 40) w) AS nearest
FROM batmap_similar((SELECT q FROM queries WHERE n = 9003), 'SELECT id, s FROM sets WHERE id > $1', top_k => 40, params => ROW(0));
SELECT * FROM batmap_similar('{1}', 'SELECT 1', top_k => 1);
SELECT * FROM batmap_similar('{1}', 'sets', top_k => 0);
SELECT * FROM batmap_similar('{1}', 'sets', min_jaccard => 2);
SELECT * FROM batmap_similar('{1}', NULL);
SELECT * FROM batmap_similar('{1}', 'SELECT id, id FROM sets');
-- VACUUM leaves empty pages behind in the lists
CREATE TEMPORARY TABLE emptied (id int, s batmap);
INSERT INTO emptied SELECT g, ARRAY[7, g] FROM generate_series(100, 20100) g;
CREATE INDEX ON emptied USING gin (s);
DELETE FROM emptied WHERE id < 20000;
VACUUM emptied;
ANALYZE emptied;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM emptied ORDER BY s <%> '{7,20050}' LIMIT 1;
SELECT id, s <%> '{7,20050}' AS distance FROM emptied ORDER BY s <%> '{7,20050}' LIMIT 1;
SELECT count(*) FROM (SELECT id FROM emptied ORDER BY s <%> '{7,8}' LIMIT 200) v;
RESET enable_seqscan;
DROP TABLE emptied;
-- an expression is not computed of rows that a partial index leaves out, or that row-level security hides: it may fail
CREATE TABLE guarded (id int, ok bool, owner name, tags int[]);
INSERT INTO guarded SELECT g, g % 10 <> 0, current_user, CASE WHEN g % 10 = 0 THEN ARRAY[NULL, g] ELSE ARRAY[g % 100, g % 77 + 2000] END
    FROM generate_series(1, 5000) g;
CREATE INDEX guarded_tags ON guarded USING gin ((tags::batmap)) WHERE ok;
ANALYZE guarded;
SET enable_seqscan = off;
SELECT count(*) FROM (SELECT id FROM guarded WHERE ok ORDER BY tags::batmap <%> '{5000,7}' LIMIT 4500) v;
DROP INDEX guarded_tags;
DELETE FROM guarded WHERE NOT ok;
CREATE FUNCTION tells(int[]) RETURNS batmap LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'tags %', $1; RETURN $1::public.batmap; END $$;
SET client_min_messages = warning;
CREATE INDEX ON guarded USING gin (tells(tags));
RESET client_min_messages;
CREATE ROLE nearest_reader;
GRANT SELECT ON guarded TO nearest_reader;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON guarded USING (id = 77);
SET ROLE nearest_reader;
SELECT id FROM guarded ORDER BY tells(tags) <%> '{5000,7}' LIMIT 2;
RESET ROLE;
-- without memory for the search, all rows are compared
SET batmap.memory_limit = '30kB';
SELECT id, s <%> (SELECT s FROM sets WHERE id = 17) AS distance FROM sets ORDER BY s <%> (SELECT s FROM sets WHERE id = 17), id LIMIT 1;
RESET batmap.memory_limit;
RESET enable_seqscan;
DROP TABLE guarded;
DROP FUNCTION tells;
DROP ROLE nearest_reader;
DROP TABLE sets, queries, expected, found, parted CASCADE;
DROP FUNCTION explained;
