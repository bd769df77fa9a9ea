-- Sums of products in plain SQL: int8, numeric, several at once, beside counts of rows and of keys. The rows are those of the
-- plain plan, also their scales; where the engine cannot add numbers up, the plain plan answers.
LOAD 'batmap';
CREATE SCHEMA sums;
SET search_path = sums, public;
-- PostgreSQL 19 can group below the join, which may be estimated to be cheaper.
SELECT count(set_config(name, 'off', false)) AS "set" FROM pg_settings WHERE name = 'enable_eager_aggregate' \gset
CREATE TABLE lines (ord int, prod int, name text, qty int, small smallint, big bigint, price numeric(10, 2), rate numeric(6, 3), loose numeric, is_new bool, weight float8);
INSERT INTO lines SELECT k % 350, k * 7919 / 350 % 60, 'n' || k % 31, k % 10 - 2, k % 7, (k % 1000) * 1000000007::bigint,
        CASE WHEN k % 50 > 0 THEN (k * 37 % 5000) / 100.0 END, (k * 13 % 3000) / 1000.0, (k % 11)::numeric / (1 + k % 3), k % 3 = 0, k / 7.0
    FROM generate_series(1, 7000) k;
INSERT INTO lines SELECT * FROM lines WHERE ord < 20;
INSERT INTO lines VALUES (NULL, 1, 'n', 1, 1, 1, 1, 1, 1, true, 1), (1, NULL, NULL, 1, 1, 1, 1, 1, 1, NULL, 1);
CREATE TABLE lots (ord int, prod int, price numeric, big bigint, qty int);
INSERT INTO lots SELECT k % 50, k / 50, 1, 1, 1 FROM generate_series(0, 1999) k;
ANALYZE lines, lots;
SET max_parallel_workers_per_gather = 0;

-- Runs a query with and without the node. `plan` says which plan gave the rows of the first run.
CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (' || query || ') q' INTO answer;
    RETURN answer;
EXCEPTION WHEN numeric_value_out_of_range THEN RETURN sqlerrm;
END $$;
CREATE FUNCTION try(query text) RETURNS TABLE (sums bool, plain bool, same text) LANGUAGE plpgsql AS $$
DECLARE plan text; answers text[];
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    sums := plan ~ 'BatmapJoinProject' AND plan !~ 'Partial Mode';
    answers[1] := digest(query);
    IF answers[1] !~ 'range' THEN
        EXECUTE 'EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) ' || query INTO plan;
        plain := plan ~ 'Answered By';
    END IF;
    PERFORM set_config('batmap.enable_join_project', 'off', true);
    answers[2] := digest(query);
    PERFORM set_config('batmap.enable_join_project', 'on', true);
    same := CASE WHEN answers[1] = answers[2] THEN CASE WHEN answers[1] ~ 'range' THEN answers[1] ELSE 'yes' END ELSE 'no' END;
    RETURN NEXT;
END $$;
CREATE TABLE shapes (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO shapes (query) VALUES
('SELECT a.prod, b.prod, sum(a.big) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(b.price) FROM lines a JOIN lines b USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2'),
('SELECT a.prod, b.prod, avg(a.price) FROM lines a JOIN lines b USING (ord) WHERE a.prod > b.prod GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.qty * b.price) FROM lines a JOIN lines b USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(b.rate * a.price), avg(b.rate * a.price) FROM lines a JOIN lines b USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.qty * b.qty), avg(a.small * b.small), sum(a.big * b.small), avg(a.big) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.qty * a.price * b.rate) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, count(*), count(a.price), count(DISTINCT ord), sum(a.price) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, count(DISTINCT a.ord), count(*) FROM lines a JOIN lines b USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2 HAVING count(*) > 9'),
('SELECT a.prod, b.prod, sum(a.price) FILTER (WHERE b.is_new), count(*) FILTER (WHERE a.is_new AND b.qty > 2), avg(a.qty) FILTER (WHERE a.qty > 6)
    FROM lines a JOIN lines b USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(CASE WHEN a.qty <> 0 THEN a.price * 2 - 1 END) FILTER (WHERE a.price * 3 > 6 AND a.qty > 0 AND b.prod IS NOT NULL) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.price) / count(*) AS mean FROM lines a JOIN lines b USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2
    HAVING sum(a.price) > 100 AND count(*) >= 10 ORDER BY 3 DESC, 1, 2 LIMIT 20'),
('SELECT a.name, b.name, sum(a.price * b.price) FROM lines a JOIN lines b USING (ord) WHERE a.name < b.name GROUP BY 1, 2'),
('SELECT a.name, a.prod, b.is_new, sum(b.big) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2, 3'),
('SELECT a.prod, b.prod, sum(a.price) FROM lines a JOIN lines b USING (ord) WHERE a.prod <> b.prod GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.qty * b.price), sum(b.big) FROM lines a JOIN lots b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.price) FROM (SELECT * FROM lines WHERE qty > 3) a JOIN lines b ON a.ord = b.ord AND a.is_new = b.is_new GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.qty * b.price) FROM lines a JOIN lines b USING (ord) WHERE NOT EXISTS (SELECT FROM lots s WHERE s.ord = a.ord AND s.prod = 3)
    AND NOT EXISTS (SELECT FROM lots s WHERE s.ord = b.ord AND s.prod = 3) GROUP BY 1, 2'),
-- the plain plan: numbers of several scales, no number, a sum of floats, min beside sums
('SELECT a.prod, b.prod, sum(a.loose) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.price + b.price) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.weight) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.price), min(b.price) FROM lines a JOIN lines b USING (ord) GROUP BY 1, 2');
\pset format unaligned
\pset tuples_only on
SELECT number, t.* FROM shapes, try(query) t ORDER BY number;

-- What may fail is computed by the plain plan, which leaves alone rows that join with nothing and those that FILTER excludes.
CREATE TABLE failing AS SELECT k / 10 AS ord, k % 37 AS prod, (k % 37)::int8 AS n, '12' AS t FROM generate_series(0, 19999) k;
INSERT INTO failing VALUES (-1, 5, 0, 'n/a'), (-2, 5, 100, '12'), (-3, 2000000000, 1, '12');
ANALYZE failing;
INSERT INTO shapes (query) VALUES
('SELECT a.prod, b.prod, sum(1000 / a.n) FILTER (WHERE b.n > 0) FROM failing a JOIN failing b USING (ord) WHERE a.n = b.n GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(1000 / a.n) FROM (SELECT * FROM failing WHERE n > 0 OR ord < 0) a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.t::int8) FROM failing a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.n) FILTER (WHERE a.t::numeric > 3) FROM failing a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.n + 9223372036854775770) FROM failing a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, sum(a.prod * a.prod) FROM failing a JOIN lines b USING (ord) GROUP BY 1, 2'),
('SELECT a.prod, b.prod, count(*), count(a.n / (a.prod + 1)), sum(a.n) FROM failing a JOIN lines b USING (ord) GROUP BY 1, 2');
SELECT number, t.* FROM shapes, try(query) t WHERE query ~ 'failing' ORDER BY number;
EXPLAIN (COSTS OFF) SELECT a.prod, b.prod, sum(a.n) FILTER (WHERE b.n > 0 AND a.t < 'x') FROM failing a JOIN failing b USING (ord) GROUP BY 1, 2;
SET client_min_messages = warning;
SELECT * FROM batmap_explain_why('SELECT a.prod, b.prod, sum(1000 / a.n) FROM failing a JOIN failing b USING (ord) GROUP BY 1, 2');
RESET client_min_messages;

-- Numbers that come later decide at run time.
CREATE TABLE numbers (number int GENERATED ALWAYS AS IDENTITY, price numeric, big bigint, qty int);
INSERT INTO numbers (price, big, qty) VALUES (1, 1, 1), ('NaN', 1, 1), ('Infinity', 1, 1), (1.0, 1, 1), (1e30, 1, 1), (-123456789012345678, 1, 1), (9223372036854775807, 1, 1),
    (1, 9223372036854775807, 1), (1, -9223372036854775807 - 1, 1), (1, 4000000000, 1), (1, 1, 46341), (1, 1, -46340), (NULL, NULL, NULL);
CREATE FUNCTION try_number(n int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lots SELECT 7, 60, price, big, qty FROM numbers WHERE number = n;
    RETURN QUERY SELECT t::text FROM unnest(ARRAY['a.price * b.price', 'a.price', 'a.big', 'a.big * b.big', 'a.qty * b.qty', 'a.big::numeric * b.big', 'a.qty * a.qty']) e,
        try('SELECT a.prod, b.prod, sum(' || e || '), avg(' || e || ') FROM lots a JOIN lots b USING (ord) GROUP BY 1, 2') t;
    DELETE FROM lots WHERE prod = 60;
END $$;
SELECT number, price, big, qty, string_agg(t, ' ') FROM numbers, try_number(number) t GROUP BY 1, 2, 3, 4 ORDER BY 1;
-- Leading zeros: 30 digits after the point are added up, more are left to the plain plan, however small the value is.
CREATE TABLE zeros (ord int, prod int, long numeric, most numeric(30, 30), above numeric(40, 31));
INSERT INTO zeros SELECT k % 50, k / 50, ('0.' || repeat('0', 70) || '5')::numeric, (k - 999) * 1e-30, 0 FROM generate_series(0, 1999) k;
INSERT INTO zeros SELECT ord, prod, long, most, above FROM zeros WHERE prod = 7;
ANALYZE zeros;
SELECT e, t.* FROM unnest(ARRAY['a.most', 'a.most * b.most', 'a.long', 'a.above', 'a.above * b.above', 'a.long * b.long']) e,
    try('SELECT a.prod, b.prod, sum(' || e || '), avg(' || e || ') FROM zeros a JOIN zeros b USING (ord) GROUP BY 1, 2') t;
-- Zero has all digits of its scale, too.
SELECT * FROM (SELECT a.prod, b.prod AS other, sum(a.most * b.most), avg(a.most * b.most) FROM zeros a JOIN zeros b USING (ord) WHERE ord = 49 GROUP BY 1, 2) q
WHERE prod IN (19, 20) AND other = 0 ORDER BY 1;
-- The errors of the server, from the node.
INSERT INTO lots SELECT k, 61, 1, 9223372036854775807, 1 FROM generate_series(1, 3) k;
SELECT * FROM try('SELECT a.prod, b.prod, sum(a.big) FROM lots a JOIN lots b USING (ord) GROUP BY 1, 2');
DELETE FROM lots WHERE prod = 61;

-- Integers of fixed width are read from the pages: with NULLs, dropped columns, columns that old rows lack, dead rows.
CREATE TABLE pages (small smallint, gone int, ord int, prod int, qty int, big bigint NOT NULL, bigs bigint);
INSERT INTO pages SELECT k % 700, k, NULLIF(k % 350, 5), NULLIF(k * 7919 / 350 % 60, 7), NULLIF(k % 997, 3) - 2, k * 1000000007::bigint, NULLIF(k % 800, 1) FROM generate_series(1, 7000) k;
ALTER TABLE pages DROP gone, ADD later int DEFAULT 5;
INSERT INTO pages SELECT * FROM pages WHERE ord < 20;
UPDATE pages SET qty = NULL WHERE ord = 30;
DELETE FROM pages WHERE ord = 31;
ANALYZE pages;
CREATE TABLE page_shapes (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO page_shapes (query) SELECT 'SELECT a.prod, b.prod, ' || e || ', count(*) FROM pages a JOIN pages b USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2 HAVING count(*) > ' || k
    FROM unnest(ARRAY['sum(a.qty * b.qty)', 'sum(a.qty * b.small), sum(b.later)', 'sum(a.big)', 'sum(a.bigs)', 'sum(a.qty), sum(b.qty), avg(a.small), sum(a.later * b.qty)', 'sum(a.qty), sum(b.small * b.qty)']) e, unnest(ARRAY[0, 8]) k;
INSERT INTO page_shapes (query) SELECT 'SELECT a.prod, b.prod, sum(a.price), sum(b.qty), sum(b.later) FROM lines a JOIN pages b USING (ord) GROUP BY 1, 2';
SELECT number, t.* FROM page_shapes, try(query) t ORDER BY number;
INSERT INTO pages (ord, prod, big) VALUES (1, 1, -9223372036854775807 - 1);
SELECT number, t.* FROM page_shapes, try(query) t WHERE query ~ 'sum.a.big.' ORDER BY number;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT number, t.* FROM page_shapes, try(query) t WHERE query ~ 'sum.a.qty . b.qty' ORDER BY number;
COMMIT;

-- Parameters, cursors, rescans, savepoints.
PREPARE asked(int, numeric) AS SELECT a.prod, b.prod, sum(a.price * $2), count(*) FROM lines a JOIN lines b USING (ord)
    WHERE a.prod < b.prod AND a.prod < $1 GROUP BY 1, 2 HAVING count(*) >= $1 ORDER BY 1, 2 LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXECUTE asked(4, 1.5);
EXECUTE asked(5, 0.25);
RESET plan_cache_mode;
SELECT x, (SELECT sum(s) FROM (SELECT sum(a.price * b.qty) AS s FROM lines a JOIN lines b USING (ord) WHERE a.qty < x AND b.qty < x GROUP BY a.prod, b.prod) q)
    FROM generate_series(0, 4) x;
BEGIN;
DECLARE c CURSOR FOR SELECT a.prod, b.prod, sum(a.price) FROM lines a JOIN lines b USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2;
FETCH 0 c;
MOVE 3 c;
CLOSE c;
COMMIT;
\pset tuples_only off
\pset format aligned
EXPLAIN (COSTS OFF) SELECT a.prod, b.prod, sum(a.qty * b.price), count(*) FROM lines a JOIN lines b USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2 HAVING count(*) >= 10 AND sum(b.price) > 5;
EXPLAIN (COSTS OFF) SELECT a.prod, b.prod, sum(a.qty * b.price) FILTER (WHERE a.is_new) FROM lines a JOIN lots b USING (ord) GROUP BY 1, 2;
-- Too little memory: the plain plan.
SET batmap.memory_limit = '1MB';
SET batmap.work_mem = '64kB';
SELECT count(*), sum(s) FROM (SELECT sum(a.qty * b.price) AS s FROM lines a JOIN lines b USING (ord) GROUP BY a.prod, b.prod) q;
RESET batmap.memory_limit;
RESET batmap.work_mem;
SELECT count(*), sum(s) FROM (SELECT sum(a.qty * b.price) AS s FROM lines a JOIN lines b USING (ord) GROUP BY a.prod, b.prod) q;
SET client_min_messages = warning;
DROP SCHEMA sums CASCADE;
