-- The plan node that answers joins grouped by items of both sides: where it stands, where it does not, and that what the
-- server promises of any plan holds: privileges, row security, parameters, cursors, rescans.
LOAD 'batmap';
CREATE TABLE jp_rows AS SELECT k % 500 AS tid, (k * 7919 / 500) % 41 AS item, 'v' || k % 13 AS word FROM generate_series(1, 20000) k;
CREATE TABLE jp_other AS SELECT k % 300 AS tid, k % 23 AS item, k AS id FROM generate_series(1, 3000) k;
CREATE TABLE jp_small AS SELECT * FROM jp_rows LIMIT 20;
ANALYZE jp_rows, jp_other, jp_small;
SET max_parallel_workers_per_gather = 0;

-- the classical questions
EXPLAIN (COSTS OFF) SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item < b.item
GROUP BY 1, 2 HAVING count(*) >= 30;
EXPLAIN (COSTS OFF) SELECT a.item, b.item, count(*) FROM jp_rows a, jp_rows b WHERE a.tid = b.tid AND a.item > b.item
GROUP BY 1, 2 HAVING 30 < count(*) ORDER BY count(*) DESC LIMIT 5;
EXPLAIN (COSTS OFF) SELECT DISTINCT r.word, s.item FROM jp_rows r JOIN jp_other s ON r.tid = s.tid;
EXPLAIN (COSTS OFF) SELECT a.item, b.item FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item <> b.item GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT a.item % 5, b.word, b.item, round(count(*) / 2.0, 1) FROM jp_rows a
JOIN jp_rows b ON a.tid = b.tid AND a.word = b.word WHERE a.item > 3 GROUP BY 1, 2, 3;
EXPLAIN (COSTS OFF) WITH w AS MATERIALIZED (SELECT * FROM jp_rows WHERE item < 30)
SELECT a.item, b.item, count(*) FROM w a JOIN w b USING (tid) GROUP BY 1, 2;
EXPLAIN (COSTS OFF, VERBOSE) SELECT a.item, b.item, count(*) AS n, count(*) + 1 FROM jp_rows a JOIN jp_rows b USING (tid)
WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) > 3 AND count(*) % 2 = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF, VERBOSE) SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item < b.item
GROUP BY 1, 2;
SELECT count(*), sum(c) FROM (SELECT count(*) AS c FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item < b.item GROUP BY a.item, b.item) q;
SELECT operation, input, rows_read FROM batmap_last_run();
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT count(*), sum(c) FROM (SELECT count(*) AS c FROM jp_rows a JOIN jp_other b USING (tid) GROUP BY a.item, b.item) q;
SELECT operation, input, rows_read FROM batmap_last_run();
SELECT count(set_config(name, 'off', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
-- after too little memory, a scan that stopped half-way starts again
CREATE FUNCTION totals_again() RETURNS SETOF numeric STABLE LANGUAGE sql AS $$
    SELECT q.total FROM generate_series(1, 3) k, LATERAL (SELECT sum(c) AS total FROM (SELECT count(*) AS c
        FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item < b.item GROUP BY a.item, b.item HAVING count(*) >= k) p) q
$$;
SET batmap.memory_limit = '150kB';
SELECT totals_again(), set_config('batmap.memory_limit', '100MB', false);
RESET batmap.memory_limit;
DROP FUNCTION totals_again;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;

-- queries that keep the plain plan: another question, or too small; and some that do not
CREATE FUNCTION uses_node(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan::text LIKE '%BatmapJoinProject%';
END $$;
CREATE SEQUENCE jp_numbers;
CREATE FUNCTION jp_equal(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN $1 % 10 = $2 % 10; END';
CREATE FUNCTION jp_hash(int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 % 10';
CREATE OPERATOR =%= (LEFTARG = int, RIGHTARG = int, FUNCTION = jp_equal, HASHES, COMMUTATOR = =%=);
CREATE OPERATOR CLASS jp_tenth FOR TYPE int USING hash AS OPERATOR 1 =%=, FUNCTION 1 jp_hash(int);
SELECT what, uses_node(query) FROM (VALUES
    ('as it is', 'SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2'),
    ('a few rows', 'SELECT a.item, b.item, count(*) FROM jp_small a JOIN jp_small b USING (tid) GROUP BY 1, 2'),
    ('outer join', 'SELECT a.item, b.item, count(*) FROM jp_rows a LEFT JOIN jp_rows b USING (tid) GROUP BY 1, 2'),
    ('one side only', 'SELECT a.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1'),
    ('an item of both sides', 'SELECT a.item + b.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2'),
    ('another aggregate', 'SELECT a.item, b.item, sum(a.tid) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2'),
    ('a filter', 'SELECT a.item, b.item, count(*) FILTER (WHERE a.tid > 3) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2'),
    ('distinct values', 'SELECT a.item, b.item, count(DISTINCT a.word) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2'),
    ('two countings', 'SELECT a.item, b.item, count(*), count(DISTINCT tid) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2'),
    ('grouping sets', 'SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY GROUPING SETS ((1, 2), (1))'),
    ('volatile item', 'SELECT a.item + random()::int, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2'),
    ('volatile qual', 'SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item > random() GROUP BY 1, 2'),
    ('no equality', 'SELECT a.item, b.item, count(*) FROM jp_small a JOIN jp_rows b ON a.tid < b.tid GROUP BY 1, 2'),
    ('a constant key', 'SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) WHERE tid = 3 GROUP BY 1, 2'),
    ('another comparison', 'SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item < b.item + 1 GROUP BY 1, 2'),
    ('row comparison', 'SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) WHERE (a.item, a.word) < (b.item, b.word) GROUP BY 1, 2'),
    ('three tables', 'SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) JOIN jp_other c USING (tid) GROUP BY 1, 2'),
    ('a sample', 'SELECT a.item, b.item, count(*) FROM jp_rows a TABLESAMPLE system (50) JOIN jp_rows b USING (tid) GROUP BY 1, 2'),
    ('DISTINCT ON', 'SELECT DISTINCT ON (a.item) a.item, b.item FROM jp_rows a JOIN jp_rows b USING (tid)'),
    ('volatile HAVING', 'SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2 HAVING random() < 0.5'),
    ('volatile rows', 'SELECT a.item, b, count(*) FROM jp_rows a JOIN (SELECT nextval(''jp_numbers'') AS b) q ON tid = b GROUP BY 1, 2'),
    ('another equality', 'SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b ON a.tid =%= b.tid GROUP BY 1, 2'),
    ('locks', 'SELECT 1 FROM (SELECT a.item FROM jp_rows a JOIN jp_rows b USING (tid) FOR UPDATE) q')) q(what, query);
SET batmap.enable_join_project = off;
SELECT uses_node('SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2');
RESET batmap.enable_join_project;

-- repeated rows multiply; NULL items form groups, NULL keys never join
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
CREATE TABLE jp_bag (tid int, item int);
INSERT INTO jp_bag VALUES (1, 1), (1, 1), (1, 2), (1, NULL), (2, 1), (2, 2), (2, 2), (NULL, 1), (NULL, 2), (NULL, NULL), (3, 7);
SELECT a.item, b.item, count(*), count(a.item), count(b.item), count(tid) FROM jp_bag a JOIN jp_bag b USING (tid)
GROUP BY 1, 2 ORDER BY 1, 2;
SELECT a.item, b.item, count(DISTINCT tid) FROM jp_bag a JOIN jp_bag b USING (tid) WHERE a.item <= b.item GROUP BY 1, 2 ORDER BY 1, 2;
SELECT DISTINCT a.item, b.item FROM jp_bag a JOIN jp_bag b USING (tid) WHERE a.item <> b.item ORDER BY 1, 2;
-- sides of which each row comes once are read without their DISTINCT: the engine counts a repeated row once
EXPLAIN (COSTS OFF) SELECT a.item, b.item, count(*) FROM (SELECT DISTINCT tid, item FROM jp_bag) a JOIN (SELECT DISTINCT item, tid FROM jp_bag) b USING (tid)
GROUP BY 1, 2;
SELECT a.item, b.item, count(*) FROM (SELECT DISTINCT tid, item FROM jp_bag) a JOIN (SELECT DISTINCT item, tid FROM jp_bag) b USING (tid)
GROUP BY 1, 2 ORDER BY 1, 2;
EXPLAIN (COSTS OFF) SELECT a.item, b.item, count(*) FROM (SELECT DISTINCT tid, item FROM jp_bag WHERE item > 1) a JOIN (SELECT DISTINCT tid, item, tid % 2 AS x FROM jp_bag) b
USING (tid) GROUP BY 1, 2;
SELECT a.item, b.item, count(*) FROM (SELECT DISTINCT tid, item FROM jp_bag WHERE item > 1) a JOIN (SELECT DISTINCT tid, item, tid % 2 AS x FROM jp_bag) b
USING (tid) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT a.item, b.item, count(DISTINCT tid) FROM (SELECT DISTINCT tid, item FROM jp_bag ORDER BY 2, 1 LIMIT 4) a JOIN (SELECT DISTINCT tid, item, tid % 2 AS x FROM jp_bag) b
USING (tid) GROUP BY 1, 2 ORDER BY 1, 2;
-- a worker does not run an uncorrelated subquery of a side
CREATE TABLE jp_shared AS SELECT g / 5 AS tid, g % 7 AS item FROM generate_series(1, 20000) g;
ANALYZE jp_shared;
CREATE FUNCTION jp_restricted(int) RETURNS int STABLE PARALLEL RESTRICTED LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET cpu_tuple_cost = 1;
SELECT count(*), sum(n) FROM (SELECT a.item, b.item, count(*) AS n FROM (SELECT DISTINCT tid, item FROM jp_shared WHERE item > (SELECT jp_restricted(min(item)) FROM jp_bag)) a
    JOIN (SELECT DISTINCT tid, item FROM jp_shared) b USING (tid) GROUP BY 1, 2) q;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET cpu_tuple_cost;
DROP TABLE jp_shared;
DROP FUNCTION jp_restricted;
SELECT a.item, b.item, count(*) FROM jp_bag a JOIN jp_bag b USING (tid) GROUP BY 1, 2 HAVING count(*) >= NULL;
SELECT a.item, b.item, count(*) FROM jp_bag a JOIN jp_bag b USING (tid) GROUP BY 1, 2 HAVING count(*) > 9223372036854775807;
SELECT a.item, b.item, count(*) FROM jp_bag a JOIN jp_bag b USING (tid) GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY 3 DESC, 1, 2 LIMIT 2;
SELECT a.item, b.item, count(*) FROM jp_bag a JOIN jp_bag b USING (tid) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 0;
SELECT a.item, b.item, count(*) FROM jp_bag a JOIN jp_bag b USING (tid) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT -1;
-- a unique index proves that no row repeats
CREATE TABLE jp_set AS SELECT DISTINCT tid, item FROM jp_rows;
ALTER TABLE jp_set ADD PRIMARY KEY (item, tid);
ANALYZE jp_set;
SELECT count(*), sum(c) FROM (SELECT count(*) AS c FROM jp_set a JOIN jp_set b USING (tid) WHERE a.item < b.item GROUP BY a.item, b.item) q;
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM jp_rows', 1);

-- but an index treats NULLs as different, and they form one group
CREATE TABLE jp_nulls (tid int, item int, UNIQUE (tid, item));
INSERT INTO jp_nulls VALUES (1, NULL), (1, NULL), (1, 5), (2, NULL), (2, 7);
SELECT a.item, b.item, count(*) FROM jp_nulls a JOIN jp_nulls b USING (tid) GROUP BY 1, 2 ORDER BY 1, 2;
-- and a child may drop NOT NULL, from version 18 on if it is not inherited
CREATE TABLE jp_parent (tid int NOT NULL, item bigint NOT NULL);
CREATE TABLE jp_child () INHERITS (jp_parent);
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 180000 THEN
        EXECUTE 'ALTER TABLE jp_parent ALTER CONSTRAINT jp_parent_item_not_null NO INHERIT'; -- no syntax before
    END IF;
    ALTER TABLE jp_child ALTER item DROP NOT NULL;
END $$;
INSERT INTO jp_parent VALUES (1, 1), (2, 2);
INSERT INTO jp_child VALUES (1, NULL), (2, NULL), (1, 9223372036854775807);
SELECT a.item, b.item, count(*), count(a.item) FROM jp_parent a JOIN jp_parent b USING (tid) GROUP BY 1, 2 ORDER BY 1, 2;
-- and a constraint that is not validated proves nothing
CREATE TABLE jp_holes AS SELECT k % 500 AS tid, 0 AS part, (k * 7919 / 500) % 41 AS item, ((k * 7919 / 500) % 41)::int8 AS big FROM generate_series(1, 20000) k;
INSERT INTO jp_holes SELECT k, 0, NULL, NULL FROM generate_series(1, 50) k;
ANALYZE jp_holes;
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 180000 THEN
        EXECUTE 'ALTER TABLE jp_holes ADD CONSTRAINT a NOT NULL item NOT VALID, ADD CONSTRAINT b NOT NULL big NOT VALID'; -- no syntax before
    END IF;
END $$;
SELECT count(*), sum(n) FROM (SELECT a.item, b.item, count(a.item) AS n FROM jp_holes a JOIN jp_holes b USING (tid) GROUP BY 1, 2) q;
SELECT count(*), sum(n) FROM (SELECT a.big, b.big, count(a.big) AS n FROM jp_holes a JOIN jp_holes b USING (tid) GROUP BY 1, 2) q;
SELECT count(*), count(x), sum(n) FROM (SELECT a.big AS x, b.big, count(*) AS n FROM jp_holes a JOIN jp_holes b USING (tid, part) GROUP BY 1, 2) q;
SET batmap.enable_join_project = off;
SET enable_hashjoin = on; -- nested loops take half a minute
SELECT count(*), sum(n) FROM (SELECT a.item, b.item, count(a.item) AS n FROM jp_holes a JOIN jp_holes b USING (tid) GROUP BY 1, 2) q;
SELECT count(*), count(x), sum(n) FROM (SELECT a.big AS x, b.big, count(*) AS n FROM jp_holes a JOIN jp_holes b USING (tid, part) GROUP BY 1, 2) q;
SET enable_hashjoin = off;
RESET batmap.enable_join_project;
DROP TABLE jp_holes;
-- different conditions on the two sides
SELECT uses_node($q$SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid)
                    WHERE a.item > 1 AND a.item > 1 AND b.item > 1 AND b.item < 10 GROUP BY 1, 2$q$), count(*), sum(c)
FROM (SELECT a.item, b.item, count(*) AS c FROM jp_rows a JOIN jp_rows b USING (tid)
      WHERE a.item > 1 AND a.item > 1 AND b.item > 1 AND b.item < 10 GROUP BY 1, 2) q;
-- the bound of the count is not evaluated if there is no group
SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b ON a.tid = b.tid + 1000 GROUP BY 1, 2 HAVING count(*) >= 10 / (SELECT 0);

-- the record of the run, and LIMIT without an order stops it
SELECT operation, input, rows_read, transactions, items FROM batmap_last_run();
SELECT count(*) FROM (SELECT a.item FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item < b.item GROUP BY a.item, b.item LIMIT 3) q;
SELECT operation, results FROM batmap_last_run();
-- where memory is too small, the plain plan answers
RESET enable_hashjoin;
CREATE FUNCTION answered_by(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        IF line ~ 'Answered|Temporary Files' THEN RETURN NEXT regexp_replace(line, ' \(actual.*|\d+ kB', ''); END IF;
    END LOOP;
END $$;
PREPARE planned_before AS SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item < b.item GROUP BY 1, 2;
SET plan_cache_mode = force_generic_plan;
SELECT answered_by('EXECUTE planned_before');
SET batmap.memory_limit = '64kB';
SELECT count(*), sum(c) FROM (SELECT count(*) AS c FROM jp_rows a JOIN jp_rows b USING (tid) WHERE a.item < b.item GROUP BY a.item, b.item) q;
SELECT answered_by('EXECUTE planned_before');
RESET plan_cache_mode;
RESET batmap.memory_limit;
-- wherever memory runs out
CREATE FUNCTION totals_under(limit_kb int, OUT pairs int8, OUT total numeric) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('batmap.memory_limit', limit_kb || 'kB', true);
    SELECT count(*), sum(c) INTO pairs, total FROM (SELECT count(*) AS c FROM jp_rows a JOIN jp_rows b USING (tid)
        WHERE a.word <> b.word GROUP BY a.word, b.word) q;
END $$;
SELECT count(*), t.* FROM generate_series(100, 2000, 100) kb, totals_under(kb) t GROUP BY pairs, total;
CREATE TABLE jp_big AS SELECT 1 AS tid, repeat(md5(g::text), 60000) AS item FROM generate_series(1, 3) g;
ANALYZE jp_big;
SET batmap.memory_limit = '3MB';
SELECT length(x), length(y), n FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM jp_big a JOIN jp_big b USING (tid)
    WHERE a.item < b.item GROUP BY 1, 2 OFFSET 0) q;
RESET batmap.memory_limit;
-- from temporary files
CREATE TABLE jp_many AS SELECT k % 1500 AS tid, (k * 7919 / 1500) % 41 AS item FROM generate_series(1, 60000) k;
ANALYZE jp_many;
SET batmap.work_mem = '64kB';
SELECT count(*), sum(c) FROM (SELECT count(*) AS c FROM jp_many a JOIN jp_many b USING (tid) WHERE a.item < b.item GROUP BY a.item, b.item) q;
SELECT answered_by('SELECT a.item, b.item, count(*) FROM jp_many a JOIN jp_many b USING (tid) WHERE a.item < b.item GROUP BY 1, 2');
RESET batmap.work_mem;
SELECT answered_by('SELECT a.item, b.item, count(*) FROM jp_many a JOIN jp_many b USING (tid) WHERE a.item < b.item GROUP BY 1, 2');
SET enable_hashjoin = off;

-- parameters, cursors, rescans
SET plan_cache_mode = force_generic_plan;
PREPARE often(int8, int) AS SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid)
    WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= $1 ORDER BY 3 DESC, 1, 2 LIMIT $2;
EXPLAIN (COSTS OFF) EXECUTE often(100, 2);
EXECUTE often(100, 2);
EXECUTE often(300, 1);
EXECUTE often(NULL, 1);
EXECUTE often(1, NULL) \g (format=unaligned tuples_only=on) | wc -l
RESET plan_cache_mode;
BEGIN;
DECLARE pairs SCROLL CURSOR FOR SELECT a.item, b.item, count(*) FROM jp_bag a JOIN jp_bag b USING (tid) GROUP BY 1, 2 ORDER BY 1, 2;
FETCH 2 FROM pairs;
FETCH BACKWARD 1 FROM pairs;
FETCH ABSOLUTE 4 FROM pairs;
COMMIT;
SELECT k, q.* FROM generate_series(1, 3) k, LATERAL (SELECT a.item, b.item, count(*) FROM jp_bag a JOIN jp_bag b USING (tid)
    WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= k) q ORDER BY 1, 2, 3;
SELECT k, (SELECT count(*) FROM (SELECT DISTINCT a.item, b.item FROM jp_bag a JOIN jp_bag b USING (tid) WHERE a.item > k AND b.item > k) q)
FROM generate_series(0, 2) k;
INSERT INTO jp_bag SELECT a.item + 100, b.item FROM jp_bag a JOIN jp_bag b USING (tid) GROUP BY 1, 2 RETURNING *;

-- privileges of columns and rows
CREATE ROLE regress_jp_reader;
GRANT SELECT (tid) ON jp_rows TO regress_jp_reader;
GRANT SELECT ON jp_bag TO regress_jp_reader;
ALTER TABLE jp_bag ENABLE ROW LEVEL SECURITY;
CREATE POLICY jp_own ON jp_bag TO regress_jp_reader USING (item IS DISTINCT FROM 1);
CREATE FUNCTION leak(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
CREATE VIEW jp_guarded WITH (security_barrier) AS SELECT * FROM jp_bag WHERE tid = 2;
GRANT SELECT ON jp_guarded TO regress_jp_reader;
SET ROLE regress_jp_reader;
SELECT a.item, b.item, count(*) FROM jp_rows a JOIN jp_rows b USING (tid) GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT a.item, b.item, count(*) FROM jp_bag a JOIN jp_bag b USING (tid) WHERE a.item < b.item GROUP BY 1, 2;
SELECT a.item, b.item, count(*) FROM jp_bag a JOIN jp_bag b USING (tid) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT a.item, b.item, count(*) FROM jp_guarded a JOIN jp_guarded b USING (tid) WHERE leak(a.item) GROUP BY 1, 2 ORDER BY 1, 2;
RESET ROLE;
-- nor how often a row repeats
CREATE TABLE jp_repeated AS SELECT g % 300 AS tid, g % 101 AS item FROM generate_series(1, 60000) g;
INSERT INTO jp_repeated SELECT 5, 3 FROM generate_series(1, 42);
ANALYZE jp_repeated;
CREATE VIEW jp_once WITH (security_barrier) AS SELECT DISTINCT tid, item FROM jp_repeated;
CREATE VIEW jp_once_open AS SELECT DISTINCT tid, item FROM jp_repeated;
CREATE SEQUENCE jp_calls;
CREATE FUNCTION leak(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS
    $$ BEGIN IF $1 = 5 AND $2 = 3 THEN PERFORM nextval('jp_calls'); END IF; RETURN true; END $$;
SELECT count(*) FROM (SELECT a.item, b.item, count(*) FROM jp_once a JOIN jp_once b USING (tid) WHERE leak(a.tid, a.item) AND leak(b.tid, b.item) GROUP BY 1, 2) q;
SELECT last_value FROM jp_calls;
SELECT count(*) FROM (SELECT a.item, b.item, count(*) FROM jp_once_open a JOIN jp_once_open b USING (tid) WHERE leak(a.tid, a.item) AND leak(b.tid, b.item) GROUP BY 1, 2) q;
DROP VIEW jp_once, jp_once_open;
DROP TABLE jp_repeated;

-- a partitioned table, a function
CREATE TABLE jp_parts (tid int, item int) PARTITION BY RANGE (item);
CREATE TABLE jp_parts_1 PARTITION OF jp_parts FOR VALUES FROM (0) TO (20);
CREATE TABLE jp_parts_2 PARTITION OF jp_parts DEFAULT;
INSERT INTO jp_parts SELECT tid, item FROM jp_rows;
ANALYZE jp_parts;
EXPLAIN (COSTS OFF) SELECT a.item, b.item, count(*) FROM jp_parts a JOIN jp_parts b USING (tid) WHERE a.item < b.item GROUP BY 1, 2;
SELECT count(*), sum(c) FROM (SELECT count(*) AS c FROM jp_parts a JOIN jp_parts b USING (tid) WHERE a.item < b.item GROUP BY a.item, b.item) q;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT count(*), sum(c) FROM (SELECT count(*) AS c FROM jp_parts a JOIN jp_parts b USING (tid) WHERE a.item < b.item GROUP BY a.item, b.item) q;
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;
SELECT a.item, b, count(*) FROM jp_bag a JOIN generate_series(1, 3) b ON a.tid = b GROUP BY 1, 2 ORDER BY 1, 2;

-- The working table of a recursion has one position for all its readers, so the node and its plain plan could not both read it.
CREATE TABLE jp_edges AS SELECT k % 50 AS src, k * 7 % 53 AS dst FROM generate_series(1, 300) k;
ANALYZE jp_edges;
SET batmap.memory_limit = '150kB';
WITH RECURSIVE r (x, y) AS (
    SELECT src, dst FROM jp_edges WHERE src < 3
    UNION SELECT DISTINCT r.x, e.dst FROM r JOIN jp_edges e ON e.src = r.y) SELECT count(*) FROM r;
WITH RECURSIVE r (x, y) AS (
    SELECT src, dst FROM jp_edges WHERE src < 3
    UNION SELECT s.x, e.dst FROM (SELECT * FROM r OFFSET 0) s JOIN jp_edges e ON e.src = s.y GROUP BY 1, 2) SELECT count(*) FROM r;
RESET batmap.memory_limit;
SELECT * FROM batmap_explain_why($$WITH RECURSIVE r (x, y) AS (SELECT src, dst FROM jp_edges UNION SELECT DISTINCT r.x, e.dst FROM r JOIN jp_edges e ON e.src = r.y) TABLE r$$);
SELECT * FROM batmap_explain_why($$SELECT s.x, e.dst FROM (
    WITH RECURSIVE r (x, y) AS (SELECT src, dst FROM jp_edges WHERE src < 3 UNION SELECT r.x, f.dst FROM r, jp_edges f WHERE f.src = r.y)
    SELECT * FROM r OFFSET 0) s JOIN jp_edges e ON e.src = s.y GROUP BY 1, 2$$);

-- A threshold from a subquery that has an effect is computed where the server computes it: nowhere, without groups.
CREATE TEMPORARY SEQUENCE jp_thresholds;
CREATE TEMPORARY TABLE jp_none (tid int, item int);
SELECT a.item, b.item, count(*) FROM jp_none a JOIN jp_none b USING (tid) GROUP BY 1, 2 HAVING count(*) > (SELECT nextval('jp_thresholds'));
SELECT a.item, b.item, count(*) FROM jp_none a JOIN jp_none b USING (tid) GROUP BY 1, 2 HAVING count(*) > (SELECT max(tid) FROM jp_rows WHERE tid < (SELECT nextval('jp_thresholds')));
WITH c AS (SELECT nextval('jp_thresholds') AS v) SELECT a.item, b.item, count(*) FROM jp_none a JOIN jp_none b USING (tid) GROUP BY 1, 2 HAVING count(*) > (SELECT v FROM c);
SELECT is_called FROM jp_thresholds;
DROP TABLE jp_edges;

RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;
DROP TABLE jp_rows, jp_other, jp_small, jp_bag, jp_set, jp_parts, jp_nulls, jp_parent, jp_child, jp_big CASCADE;
DROP OPERATOR CLASS jp_tenth USING hash;
DROP OPERATOR FAMILY IF EXISTS jp_tenth USING hash;
DROP ROLE regress_jp_reader;
