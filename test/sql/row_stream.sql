-- The plan node that reads a table function as a stream: where it stands, where it does not, and that rows, limits,
-- parameters and privileges are those of a function scan.
CREATE TABLE stream_rows AS
    SELECT k % 500 AS tid, (k * 7919 / 500) % 41 AS item FROM generate_series(1, 20000) k;
ANALYZE stream_rows;

-- from the first use in a session
\c -
EXPLAIN (COSTS OFF) SELECT * FROM batmap_pairs('TABLE stream_rows', 30) WHERE support_count > 40;
EXPLAIN (COSTS OFF, VERBOSE) SELECT item_b FROM batmap_pairs('TABLE stream_rows', 30) p WHERE support_count > 40;
\c -
EXPLAIN (COSTS OFF) SELECT * FROM batmap_generate_spikes(1);
-- estimates follow top_k and max_results
CREATE FUNCTION estimated_rows(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8;
END $$;
SELECT estimated_rows('SELECT * FROM batmap_pairs(''TABLE stream_rows'', top_k => 7)') AS top_k,
       estimated_rows('SELECT * FROM batmap_pairs(''TABLE stream_rows'', 1, max_results => 9)') AS max_results,
       estimated_rows('SELECT * FROM batmap_pairs(''TABLE stream_rows'', top_k => 7, max_results => 5)') AS both,
       estimated_rows('SELECT * FROM batmap_pairs_as(NULL::int4, ''TABLE stream_rows'', top_k => 3)') AS of_type,
       estimated_rows('SELECT * FROM batmap_join_project(''SELECT item, tid FROM stream_rows'', ''TABLE stream_rows'', top_k => 6)') AS joined;

-- not with a whole row, ordinality or several functions, nor for a function with settings of its own
EXPLAIN (COSTS OFF) SELECT p FROM batmap_pairs('TABLE stream_rows', 30) p;
EXPLAIN (COSTS OFF) SELECT support_count FROM batmap_pairs('TABLE stream_rows', 30) p WHERE p IS NOT NULL;
SELECT count(*), count(s.p) FROM (VALUES (1), (2)) v (x) LEFT JOIN (SELECT coalesce(p::text, 'none') AS p FROM batmap_pairs('TABLE stream_rows', 30) p) s ON v.x = 1;
EXPLAIN (COSTS OFF) SELECT * FROM batmap_pairs('TABLE stream_rows', 30) WITH ORDINALITY;
EXPLAIN (COSTS OFF) SELECT * FROM ROWS FROM (batmap_pairs('TABLE stream_rows', 30), generate_series(1, 2)) r;
BEGIN;
ALTER FUNCTION batmap_pairs(text, int8, float8, int8[], int8[], int8, int4, text, int8, text, text, name, name, record) SET work_mem = '8MB';
EXPLAIN (COSTS OFF) SELECT * FROM batmap_pairs('TABLE stream_rows', 30);
ROLLBACK;

-- the rows of both plans
CREATE VIEW streamed AS SELECT * FROM batmap_pairs('TABLE stream_rows', 1);
CREATE VIEW stored AS SELECT (p).* FROM (SELECT p FROM batmap_pairs('TABLE stream_rows', 1) p OFFSET 0) q;
EXPLAIN (COSTS OFF) SELECT * FROM stored;
SELECT count(*) FROM streamed;
SELECT count(*) FROM (TABLE streamed EXCEPT ALL TABLE stored) d;
SELECT count(*) FROM (TABLE stored EXCEPT ALL TABLE streamed) d;
SELECT count(*) FROM (SELECT * FROM batmap_pairs_as(NULL::int4, 'TABLE stream_rows', 1)
                      EXCEPT ALL TABLE stored) d;

-- LIMIT stops the run, and the record says what was handed over
SELECT count(*) FROM (SELECT 1 FROM batmap_pairs('TABLE stream_rows', 1) LIMIT 3) l;
SELECT operation, transactions, results, truncated FROM batmap_last_run();
SELECT 1 FROM batmap_pairs('TABLE stream_rows', 1) LIMIT 0;
SELECT 1 FROM batmap_pairs('SELECT * FROM stream_rows WHERE false', 1) LIMIT 1;
SELECT count(*) FROM batmap_pairs('TABLE stream_rows', 1, max_results => 3);
SELECT results, truncated FROM batmap_last_run();

-- also where the run seems to cost so much that the rows cost nothing beside it
EXPLAIN (COSTS OFF) SELECT length FROM batmap_itemsets('SELECT g % 90, g / 90 FROM generate_series(1, 9000) g', 2, min_length => 30) LIMIT 3;
SELECT length FROM batmap_itemsets('SELECT g % 90, g / 90 FROM generate_series(1, 9000) g', 2, min_length => 30) LIMIT 3;
SELECT count(*) FROM generate_series(1, 3) k JOIN batmap_pairs('TABLE stream_rows', top_k => 2) p ON p.support_count > k;

-- parameters and rescans
SELECT k, (SELECT count(*) FROM batmap_pairs('TABLE stream_rows', k)) FROM generate_series(0, 40, 10) k WHERE k > 0;
SELECT k, p.support_count FROM generate_series(1, 3) k, LATERAL batmap_pairs('TABLE stream_rows', top_k => k) p ORDER BY 1, 2;
SELECT g, p.item_a, p.item_b, p.support_count
FROM (SELECT tid % 3 AS g, batmap_relation_agg(tid, item) FILTER (WHERE tid % 3 > 0) AS r
      FROM stream_rows GROUP BY 1) q, LATERAL batmap_pairs(r, top_k => 2) p ORDER BY 1, 2, 3;
SET plan_cache_mode = force_generic_plan;
PREPARE best(text, int8) AS SELECT count(*), min(support_count) FROM batmap_pairs($1, top_k => $2);
EXECUTE best('TABLE stream_rows', 5);
EXECUTE best('SELECT tid, item FROM stream_rows WHERE tid < 250', 6);
EXECUTE best(NULL, 6);
RESET plan_cache_mode;
SELECT count(*) FROM streamed a JOIN streamed b USING (item_a, item_b);
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
SELECT count(*) FROM (VALUES (0), (1), (2)) v (k) LEFT JOIN batmap_pairs('TABLE stream_rows', top_k => 2) p ON p.item_a <> k;
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material;

-- cursors
BEGIN;
DECLARE best_pairs SCROLL CURSOR WITH HOLD FOR SELECT item_a, item_b FROM batmap_pairs('TABLE stream_rows', top_k => 4);
FETCH 2 FROM best_pairs;
FETCH BACKWARD 1 FROM best_pairs;
COMMIT;
FETCH 5 FROM best_pairs;
CLOSE best_pairs;
BEGIN;
DECLARE abandoned CURSOR FOR SELECT item_a, item_b FROM batmap_pairs('TABLE stream_rows', 1);
MOVE 2 FROM abandoned;
SAVEPOINT before;
SELECT 1 / 0;
ROLLBACK TO before;
MOVE 2 FROM abandoned;
COMMIT;

-- as the target of other statements, and locked rows beside it
CREATE TABLE kept AS SELECT * FROM batmap_pairs('TABLE stream_rows', top_k => 3);
INSERT INTO kept SELECT * FROM batmap_pairs('TABLE stream_rows', top_k => 2);
UPDATE kept SET support_count = 0 FROM batmap_pairs('TABLE stream_rows', top_k => 1) p
WHERE (kept.item_a, kept.item_b) = (p.item_a, p.item_b);
SELECT support_count = 0 AS changed, count(*) FROM kept GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM (SELECT 1 FROM kept, batmap_pairs('TABLE stream_rows', top_k => 1) p FOR UPDATE OF kept) l;

-- privileges are looked at when it runs
CREATE ROLE stream_reader;
GRANT SELECT ON stream_rows TO stream_reader;
REVOKE EXECUTE ON FUNCTION batmap_pairs(text, int8, float8, int8[], int8[], int8, int4, text, int8, text, text, name, name, record) FROM PUBLIC;
SET ROLE stream_reader;
SELECT count(*) FROM batmap_pairs('TABLE stream_rows', top_k => 1);
RESET ROLE;
GRANT EXECUTE ON FUNCTION batmap_pairs(text, int8, float8, int8[], int8[], int8, int4, text, int8, text, text, name, name, record) TO PUBLIC;
SET ROLE stream_reader;
SELECT count(*) FROM batmap_pairs('TABLE stream_rows', top_k => 1);
SELECT count(*) FROM batmap_pairs('SELECT item_a, item_b FROM kept', top_k => 1);
RESET ROLE;

-- EXPLAIN ANALYZE tells how the run went
\getenv here PG_ABS_SRCDIR
\set explained :here '/sql/explained.psql'
\i :explained
\set options '''ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, VERBOSE'''
SELECT regexp_replace(line, 'Reason: .*', 'Reason: ?') AS plan FROM explained('SELECT item_a FROM batmap_pairs(''TABLE stream_rows'', top_k => 5, method => ''horizontal'')', :options) line;
SELECT regexp_replace(line, 'Reason: .*', 'Reason: ?') AS plan FROM explained('SELECT item_a FROM batmap_pairs(''TABLE stream_rows'', 1, method => ''bitmap'') LIMIT 2', :options) line;
SELECT regexp_replace(line, 'Reason: .*', 'Reason: ?') AS plan FROM explained('SELECT support_count FROM batmap_pairs(NULL::batmap_relation, 1)', :options) line;

DROP VIEW streamed, stored;
DROP TABLE stream_rows, kept;
DROP FUNCTION estimated_rows(text), explained;
DROP ROLE stream_reader;
