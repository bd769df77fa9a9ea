-- Each reason why a block keeps the plain plan, by batmap_explain_why and by EXPLAIN.
LOAD 'batmap';
CREATE SCHEMA why;
SET search_path = why, public;
CREATE TABLE w_rows AS SELECT k % 500 AS tid, (k * 7919 / 500) % 41 AS item, 'v' || k % 13 AS word, k AS id, k * 1.5 AS price, k % 3 AS part
    FROM generate_series(1, 20000) k;
CREATE TABLE w_small AS SELECT * FROM w_rows LIMIT 20;
CREATE TABLE w_parts (LIKE w_rows) PARTITION BY LIST (part);
CREATE TABLE w_parts_0 PARTITION OF w_parts FOR VALUES IN (0);
CREATE TABLE w_parts_1 PARTITION OF w_parts FOR VALUES IN (1, 2);
INSERT INTO w_parts SELECT * FROM w_rows;
CREATE TABLE w_lists AS SELECT tid, array_agg(DISTINCT item) AS items FROM w_rows GROUP BY tid;
ANALYZE w_rows, w_small, w_parts, w_lists;
CREATE OPERATOR =%= (FUNCTION = bpchareq, LEFTARG = bpchar, RIGHTARG = bpchar, HASHES);
SET max_parallel_workers_per_gather = 0;
CREATE TABLE w_queries (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO w_queries (query) VALUES
('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT count(*) FROM w_rows a JOIN w_rows b USING (tid)'),
('SELECT item, count(*) FROM w_rows GROUP BY 1'),
('SELECT a.item, i.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) JOIN w_rows c USING (tid) JOIN w_rows d USING (tid) JOIN w_rows e USING (tid)
    JOIN w_rows f USING (tid) JOIN w_rows g USING (tid) JOIN w_rows h USING (tid) JOIN w_rows i USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY GROUPING SETS ((1, 2), (1))'),
('SELECT a.item, b.item, generate_series(1, 2) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT DISTINCT ON (a.item) a.item, b.item FROM w_rows a JOIN w_rows b USING (tid)'),
('SELECT x, y, count(*) FROM w_lists, unnest(items) x, unnest(items || 1) y GROUP BY 1, 2'),
('SELECT a.item, b.label, count(*) FROM w_rows a JOIN w_rows c USING (tid) LEFT JOIN (SELECT tid, coalesce(word, ''-'') AS label FROM w_rows) b ON b.tid = c.item GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) WHERE current_setting(''search_path'') <> '''' GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) WHERE false GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM w_rows a LEFT JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item + b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1'),
('SELECT a.item, b.item, count(*) FROM w_rows a TABLESAMPLE system (50) JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM (SELECT DISTINCT tid, item FROM w_parts) a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) WHERE a.item > random() GROUP BY 1, 2'),
('SELECT a.part::bit(4), b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item + random()::int, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) WHERE a.item + b.item > 3 GROUP BY 1, 2'),
('SELECT 60 / x, y, count(*) FROM w_lists, unnest(items) x, unnest(items) y WHERE x <> 0 GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b ON a.word::bpchar OPERATOR(why.=%=) b.word::bpchar GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM w_small a JOIN w_rows b ON a.tid < b.tid GROUP BY 1, 2'),
('SELECT a.item, b.item, (SELECT max(item) FROM w_small s WHERE s.item > a.item), count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, stddev(a.price) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, sum(random()::int) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, sum(a.price + b.price) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, count(DISTINCT a.word) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*), count(DISTINCT tid), max(a.part) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2'),
('SELECT a.word, b.word, count(DISTINCT tid) FROM w_rows a JOIN w_rows b USING (tid) WHERE a.item < b.item GROUP BY 1, 2'),
('SELECT a.word, b.word, sum(a.price) FROM w_rows a JOIN w_rows b USING (tid) WHERE a.item < b.item GROUP BY 1, 2'),
('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2 HAVING random() < 0.5'),
('SELECT a.item, b.item, count(*) FROM w_small a JOIN w_small b USING (tid) GROUP BY 1, 2'),
('SELECT a.item, b.item, c.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) JOIN w_rows c USING (tid) WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('SELECT a.item, b.item, c.item, count(*) FROM w_small a JOIN w_small b USING (tid) JOIN w_small c USING (tid) WHERE a.item < b.item AND b.item <> c.item GROUP BY 1, 2, 3'),
('SELECT a.item, b.item, c.item, count(*) FROM w_small a JOIN w_small b USING (tid) JOIN w_small c USING (tid) WHERE a.item < b.item AND a.item < c.item GROUP BY 1, 2, 3'),
('SELECT a.item, b.item, c.item, avg(a.part) FROM w_small a JOIN w_small b USING (tid) JOIN w_small c USING (tid) WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('SELECT count(*) FROM w_rows a JOIN w_rows b USING (tid) JOIN w_small c ON c.tid = a.item AND c.item = b.item WHERE a.part < b.part'),
('SELECT a.part + c.id, count(*) FROM w_rows a JOIN w_rows b USING (tid) JOIN w_small c ON c.tid = a.item AND c.item = b.item GROUP BY 1'),
('SELECT c.id, count(DISTINCT a.tid) FROM w_rows a JOIN w_rows b USING (tid) JOIN w_small c ON c.tid = a.item AND c.item = b.item GROUP BY 1');
\pset format unaligned
\pset tuples_only on
SELECT number, taken, regexp_replace(expression, 'SubPlan \w+', 'SubPlan ?'), reason FROM w_queries, batmap_explain_why(query) ORDER BY number, block;
\pset format aligned
\pset tuples_only off
SET batmap.enable_join_project = off;
SELECT taken, reason, hint FROM batmap_explain_why('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2');
RESET batmap.enable_join_project;
-- a block for each candidate, subqueries first
SELECT block, relations, taken, reason FROM batmap_explain_why('WITH p AS MATERIALIZED (SELECT a.item AS x, b.item AS y FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2)
    SELECT p.x, q.y, count(*) FROM p JOIN p q ON p.y = q.x GROUP BY 1, 2');
SELECT * FROM batmap_explain_why('SELECT 1');
-- parameters stay open
SELECT taken, reason FROM batmap_explain_why('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) WHERE a.item < $1 AND b.tid > $2 GROUP BY 1, 2 HAVING count(*) >= $3');
SELECT * FROM batmap_explain_why('SELECT $1');
SELECT * FROM batmap_explain_why(NULL);
SELECT * FROM batmap_explain_why('SELECT 1; SELECT 2');
SELECT * FROM batmap_explain_why('DELETE FROM w_rows');
SELECT * FROM batmap_explain_why('SELECT * FROM w_nowhere');
-- as EXPLAIN: only about what one may read
CREATE ROLE batmap_test_asker;
GRANT USAGE ON SCHEMA why TO batmap_test_asker;
SET ROLE batmap_test_asker;
SELECT * FROM batmap_explain_why('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2');
RESET ROLE;
GRANT SELECT (tid, item) ON w_rows TO batmap_test_asker;
SET ROLE batmap_test_asker;
SELECT taken FROM batmap_explain_why('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2');
SELECT * FROM batmap_explain_why('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) WHERE a.id > 3 GROUP BY 1, 2');
RESET ROLE;
-- EXPLAIN says the same
SET batmap.explain_why = on;
EXPLAIN (COSTS OFF) SELECT a.item, b.item, stddev(a.id) FROM w_small a JOIN w_small b USING (tid) GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid) GROUP BY 1, 2;
-- an outer join that the conditions make an inner one: later versions then plan a copy of the query
SELECT block, relations, taken, reason FROM batmap_explain_why('SELECT a.item, b.item, count(*) FROM w_rows a JOIN w_rows b USING (tid)
    LEFT JOIN w_small c ON c.id = b.id WHERE c.part > 0 GROUP BY 1, 2');
CREATE FUNCTION explained(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE answer json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO answer;
    RETURN answer -> 1;
END $$;
SELECT explained('SELECT a.item, count(*) FROM w_small a GROUP BY 1');
RESET batmap.explain_why;
SET client_min_messages = warning;
DROP SCHEMA why CASCADE;
DROP ROLE batmap_test_asker;
