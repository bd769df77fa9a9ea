-- Columns that an item or the key of the join determines: the node counts without their relations, and looks the values up.
LOAD 'batmap';
CREATE SCHEMA lookups;
SET search_path = lookups, public;
-- PostgreSQL 19 can group below the join, which may be estimated to be cheaper.
SELECT count(set_config(name, 'off', false)) AS "set" FROM pg_settings WHERE name = 'enable_eager_aggregate' \gset
SET datestyle = ISO;
CREATE TABLE orders (ord int PRIMARY KEY, land text, day date NOT NULL, who int);
CREATE TABLE products (prod int PRIMARY KEY, name text, kind text, price numeric);
CREATE TABLE wide (prod bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE days (day date PRIMARY KEY, word text);
CREATE TABLE loose (prod int UNIQUE, name text);
CREATE TABLE late (prod int UNIQUE DEFERRABLE, name text);
CREATE TABLE partly (prod int, name text, good bool);
CREATE UNIQUE INDEX partly_good ON partly (prod) WHERE good;
CREATE TABLE lines (ord int, prod int, n int);
CREATE TABLE clean (ord int NOT NULL, prod int NOT NULL, UNIQUE (ord, prod));
CREATE TABLE hidden (prod int PRIMARY KEY, name text);
INSERT INTO orders SELECT k, CASE WHEN k % 10 > 0 THEN 'land ' || k % 5 END, date '2024-01-01' + k % 40, k % 60 FROM generate_series(1, 900) k;
-- an item without a product, names of several products and of one, a product without a name
INSERT INTO products SELECT k, CASE WHEN k % 13 > 0 THEN 'name ' || CASE WHEN k < 30 THEN k ELSE k % 7 END END, 'kind ' || k % 4, k * 0.5 FROM generate_series(-3, 50) k;
INSERT INTO wide VALUES (9223372036854775807, 'largest');  -- the number of NULL among items
INSERT INTO wide SELECT prod, 'name ' || prod FROM products;
INSERT INTO days SELECT date '2024-01-01' + k, 'word ' || k % 9 FROM generate_series(0, 35) k;
INSERT INTO loose SELECT prod, name FROM products;
INSERT INTO loose SELECT NULL, 'nothing ' || k FROM generate_series(1, 5) k;
INSERT INTO late SELECT prod, name FROM products;
INSERT INTO partly SELECT prod, name, prod > 5 FROM products;
INSERT INTO partly SELECT prod, name, false FROM products;
INSERT INTO lines SELECT CASE WHEN k % 37 > 0 THEN 1 + k * 7919 % 1000 END, CASE WHEN k % 41 > 0 THEN (k * k / 13 + k % 17) % 60 - 5 END, k % 3 FROM generate_series(1, 9000) k;
INSERT INTO clean SELECT DISTINCT ord, prod FROM lines WHERE ord IS NOT NULL AND prod IS NOT NULL;
INSERT INTO hidden SELECT prod, name FROM products;
ANALYZE orders, products, wide, days, loose, late, partly, lines, clean, hidden;
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (' || query || ') q' INTO answer;
    RETURN answer;
END $$;
-- What is looked up for a query, and whether its rows are those of the plain plan.
CREATE FUNCTION try(query text) RETURNS TABLE (node bool, one_input bool, looked_up text, same bool) LANGUAGE plpgsql AS $$
DECLARE plan json; plain text;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    node := plan::text LIKE '%BatmapJoinProject%';
    one_input := node AND plan::text LIKE '%"Key": %';
    looked_up := (SELECT string_agg(m[1] || ': ' || m[2], '; ') FROM regexp_matches(plan::text, '"([A-Za-z ]*Lookup|Key Filter)": "((?:[^"\\]|\\.)*)"', 'g') m);
    plain := digest(query);
    PERFORM set_config('batmap.enable_join_project', 'off', true);
    same := plain = digest(query);
    PERFORM set_config('batmap.enable_join_project', 'on', true);
    RETURN NEXT;
END $$;

EXPLAIN (COSTS OFF) SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2 HAVING count(*) >= 5;
EXPLAIN (COSTS OFF) SELECT o.land, p.name, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord)
    JOIN products p ON p.prod = a.prod WHERE a.prod <> b.prod GROUP BY 1, 2, 3;

CREATE TABLE shapes (number int GENERATED ALWAYS AS IDENTITY, shape text, query text);
INSERT INTO shapes (shape, query)
SELECT 'compared: ' || c, 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE ' || c || ' GROUP BY 1, 2'
FROM unnest('{true,a.prod < b.prod,a.prod <= b.prod,a.prod > b.prod,b.prod > a.prod,a.prod >= b.prod,a.prod <> b.prod,p.prod < q.prod,p.prod < b.prod,p.name < q.name,q.name < p.name,p.name <= q.name,p.name <> q.name,upper(p.name) < upper(q.name),p.name COLLATE \"C\" < q.name,a.n < b.n,a.prod < b.prod AND a.n < b.n}'::text[]) c;
INSERT INTO shapes (shape, query) VALUES
('threshold', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2 HAVING count(*) >= 80'),
('threshold of names of one product', 'SELECT p.name, q.name, count(*) FROM clean a JOIN clean b USING (ord) JOIN wide p ON p.prod = a.prod
    JOIN wide q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2 HAVING count(*) > 12'),
('HAVING of another form', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod GROUP BY 1, 2 HAVING count(*) % 3 = 0 AND p.name < q.name'),
('best', 'SELECT * FROM (SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 7 OFFSET 2) best'),
('best of one product', 'SELECT * FROM (SELECT p.name, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wide p ON p.prod = a.prod
    WHERE a.prod < b.prod GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 7) best'),
('ids and names', 'SELECT a.prod, p.name, b.prod, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2, 3, 4'),
('a determined column', 'SELECT p.prod, p.name, q.kind, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod GROUP BY p.prod, q.kind'),
('expressions', 'SELECT left(p.name, 6), upper(q.kind), count(*) + 1 FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('names of one side', 'SELECT p.name, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod GROUP BY 1, 2'),
('wide names of one side', 'SELECT p.name, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wide p ON p.prod = a.prod GROUP BY 1, 2'),
('names and words', 'SELECT p.name, b.n, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod GROUP BY 1, 2'),
('another column of one side', 'SELECT p.name, a.n, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod GROUP BY 1, 2, 3'),
('a filter of one side', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE p.kind <> ''kind 2'' GROUP BY 1, 2'),
('filters of both', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE p.price > 3 AND q.price > 3 AND a.prod < b.prod GROUP BY 1, 2'),
('a product', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE p.prod = 7 GROUP BY 1, 2'),
('no product', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN (SELECT * FROM products WHERE price > 1000) p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod GROUP BY 1, 2'),
('two tables', 'SELECT p.name, q.name, count(*) FROM lines a JOIN clean b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('two lookups', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN wide q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('wide keys', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN wide p ON p.prod = a.prod
    JOIN wide q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('a nullable key', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN loose p ON p.prod = a.prod
    JOIN loose q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('a deferrable key', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN late p ON p.prod = a.prod
    JOIN late q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('a partial key', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN partly p ON p.prod = a.prod
    JOIN partly q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('a partial key that holds', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN partly p ON p.prod = a.prod AND p.good
    JOIN partly q ON q.prod = b.prod AND q.good WHERE a.prod < b.prod GROUP BY 1, 2'),
('an outer join', 'SELECT p.name, q.name, count(*) FROM lines a LEFT JOIN products p ON p.prod = a.prod JOIN lines b USING (ord)
    LEFT JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('a second equality', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod AND p.price = a.n
    JOIN products q ON q.prod = b.prod GROUP BY 1, 2'),
('a second condition', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod AND p.price > a.n
    JOIN products q ON q.prod = b.prod GROUP BY 1, 2'),
('an expression as key', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod + a.n
    JOIN products q ON q.prod = b.prod + b.n GROUP BY 1, 2'),
('DISTINCT', 'SELECT DISTINCT p.name, q.kind FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod JOIN products q ON q.prod = b.prod'),
('DISTINCT, compared', 'SELECT p.name, q.name FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod JOIN products q ON q.prod = b.prod
    WHERE a.prod < b.prod GROUP BY 1, 2'),
('distinct orders', 'SELECT p.name, q.name, count(DISTINCT a.ord) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod GROUP BY 1, 2'),
('sums', 'SELECT p.name, q.name, sum(a.n) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('a semi-join', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod AND a.ord IN (SELECT ord FROM orders WHERE day < ''2024-01-20'') GROUP BY 1, 2'),
('days', 'SELECT d.word, e.word, count(*) FROM orders a JOIN orders b USING (who) JOIN days d ON d.day = a.day JOIN days e ON e.day = b.day WHERE a.day < b.day GROUP BY 1, 2'),
('orders of some days', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) WHERE o.day < ''2024-01-20'' GROUP BY 1, 2'),
('orders of some days, compared', 'SELECT a.prod, b.prod, count(*) FROM clean a JOIN clean b USING (ord) JOIN orders o USING (ord)
    WHERE a.prod < b.prod AND o.day < ''2024-01-20'' GROUP BY 1, 2 HAVING count(*) > 2'),
('orders of no day', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) WHERE o.day + 0 < ''2020-01-20'' GROUP BY 1, 2'),
('orders that are there', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) WHERE a.prod <> b.prod GROUP BY 1, 2'),
('orders of some days, best', 'SELECT * FROM (SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord)
    WHERE a.prod < b.prod AND o.day < ''2024-01-20'' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 7) best'),
('orders of some days, words', 'SELECT a.prod || '' x'', b.n::text, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) WHERE o.day < ''2024-01-20'' GROUP BY 1, 2'),
('orders of some days, distinct orders', 'SELECT a.prod, b.prod, count(DISTINCT a.ord) FROM lines a JOIN clean b USING (ord) JOIN orders o USING (ord) WHERE o.day < ''2024-01-20'' GROUP BY 1, 2'),
('orders of some days, names', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE o.day < ''2024-01-20'' AND a.prod < b.prod GROUP BY 1, 2'),
('orders of some days, DISTINCT', 'SELECT DISTINCT a.prod, b.prod FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) WHERE o.day < ''2024-01-20'''),
('orders of some days, a sum', 'SELECT a.prod, b.prod, sum(a.n) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) WHERE o.day < ''2024-01-20'' GROUP BY 1, 2'),
('orders of some customers', 'SELECT o.who, b.prod, count(*) FROM orders o JOIN lines b USING (ord) JOIN clean a USING (ord) WHERE o.day < ''2024-01-20'' GROUP BY 1, 2'),
('land', 'SELECT o.land, a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2, 3'),
('land, distinct orders', 'SELECT o.land, a.prod, b.prod, count(DISTINCT ord) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) WHERE a.prod < b.prod GROUP BY 1, 2, 3'),
('land, all pairs', 'SELECT o.land, a.prod, b.prod, count(*) FROM clean a JOIN clean b USING (ord) JOIN orders o USING (ord) GROUP BY 1, 2, 3 HAVING count(*) > 3'),
('land, nullable items', 'SELECT o.land, a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) GROUP BY 1, 2, 3'),
('land and month', 'SELECT o.land, date_trunc(''week'', o.day), a.prod, b.prod, count(*) FROM clean a JOIN clean b USING (ord) JOIN orders o USING (ord)
    WHERE a.prod <> b.prod GROUP BY 1, 2, 3, 4'),
('land of some orders', 'SELECT o.land, a.prod, b.prod, count(*) FROM clean a JOIN clean b USING (ord) JOIN orders o USING (ord)
    WHERE a.prod > b.prod AND o.day < ''2024-01-10'' GROUP BY 1, 2, 3'),
('land and names', 'SELECT o.land, p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2, 3'),
('land and names, best', 'SELECT * FROM (SELECT o.land, p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord)
    JOIN products p ON p.prod = a.prod JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT 9) best'),
('land of another key', 'SELECT o.land, a.prod, b.prod, count(*) FROM lines a JOIN lines b ON b.n = a.n JOIN orders o ON o.ord = a.ord WHERE a.prod < 5 AND b.prod < 5 GROUP BY 1, 2, 3'),
('land compared', 'SELECT o.land, a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) WHERE o.who < b.prod GROUP BY 1, 2, 3');
SELECT number, shape, t.* FROM shapes, try(query) t ORDER BY number;

-- prepared statements, cursors, rescans with parameters, memory
PREPARE named(int, text) AS SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod AND p.kind <> $2
    JOIN products q ON q.prod = b.prod AND q.kind <> $2 WHERE a.prod < b.prod GROUP BY 1, 2 HAVING count(*) >= $1 ORDER BY 1, 2, 3 LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXECUTE named(80, 'kind 1');
EXECUTE named(100, 'kind 2');
EXECUTE named(NULL, 'kind 2');
RESET plan_cache_mode;
BEGIN;
DECLARE c CURSOR FOR SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2 HAVING count(*) >= 150;
MOVE 3 FROM c;
CLOSE c;
COMMIT;
SELECT kind, digest FROM (VALUES ('kind 1'), ('kind 2'), ('none')) k (kind), LATERAL (
    SELECT count(*) || ' ' || sum(n) AS digest FROM (SELECT p.name, q.name, count(*) AS n FROM lines a JOIN lines b USING (ord)
    JOIN products p ON p.prod = a.prod AND p.kind = k.kind JOIN products q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2) pairs) d;
-- the plan is made while memory is large
PREPARE small AS SELECT count(*), sum(n), sum(hashtext(land || name)) FROM (SELECT o.land, p.name, b.prod, count(*) AS n FROM lines a JOIN lines b USING (ord)
    JOIN orders o USING (ord) JOIN products p ON p.prod = a.prod WHERE a.prod < b.prod GROUP BY 1, 2, 3) groups;
EXECUTE small;
CREATE FUNCTION answered_by(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN coalesce(substring(plan::text FROM '"Answered By": "([^"]*)"'), 'the node');
END $$;
SELECT answered_by('EXECUTE small');
SET batmap.memory_limit = '1500kB';
EXECUTE small;
SELECT answered_by('EXECUTE small');
RESET batmap.memory_limit;

-- rights and row security hold for lookups
CREATE ROLE lookups_reader;
GRANT USAGE ON SCHEMA lookups TO lookups_reader;
GRANT SELECT ON lines, hidden TO lookups_reader;
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY shown ON hidden FOR SELECT USING (prod % 2 = 0);
SET ROLE lookups_reader;
SELECT t.* FROM try('SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN hidden p ON p.prod = a.prod
    JOIN hidden q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2') t;
SELECT count(*), sum(length(name)) FROM (SELECT p.name, q.name AS other, count(*) FROM lines a JOIN lines b USING (ord) JOIN hidden p ON p.prod = a.prod
    JOIN hidden q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2) pairs;
SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN products p ON p.prod = a.prod
    JOIN hidden q ON q.prod = b.prod WHERE a.prod < b.prod GROUP BY 1, 2;
RESET ROLE;

-- A stage may read a column only to compute a grouped expression once more: that column is no group. The answers are those of the
-- plain plan.
CREATE TABLE words (doc int, w text, y int);
INSERT INTO words SELECT k / 8, CASE WHEN k * 31 % 7 < 3 THEN 'A' ELSE 'a' END, k % 3 FROM generate_series(0, 7999) k;
CREATE TABLE amounts (k int, n numeric, fixed numeric(8, 2));
INSERT INTO amounts SELECT k, CASE WHEN k % 2 = 0 THEN 1.00 ELSE 1.0 END, 1 FROM generate_series(1, 100) k;
CREATE TABLE parts (tid int, item int) PARTITION BY HASH (tid);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT k / 4, k % 5 FROM generate_series(1, 20000) k;
ANALYZE words, amounts, parts;
SET cpu_operator_cost = 0.00001;
SET cpu_tuple_cost = 1;
CREATE FUNCTION both_ways(query text) RETURNS TABLE (as_plain bool, groups int8) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMPORARY TABLE by_node AS %s', query);
    SET LOCAL batmap.enable_join_project = off;
    EXECUTE format('CREATE TEMPORARY TABLE by_server AS %s', query);
    SET LOCAL batmap.enable_join_project = on;
    RETURN QUERY SELECT NOT EXISTS (SELECT by_node::text FROM by_node EXCEPT ALL SELECT by_server::text FROM by_server)
        AND NOT EXISTS (SELECT by_server::text FROM by_server EXCEPT ALL SELECT by_node::text FROM by_node), (SELECT count(*) FROM by_node);
    DROP TABLE by_node, by_server;
END $$;
SELECT q.number, t.* FROM (VALUES
    (1, 'SELECT lower(a.w) AS x, b.y, initcap(lower(a.w)) AS shown, count(*), sum(count(*)) OVER () AS all_rows FROM words a JOIN words b USING (doc) GROUP BY 1, 2'),
    (2, 'SELECT lower(a.w) AS x, lower(a.w) AS again, b.y, count(*), sum(count(*)) OVER () AS all_rows FROM words a JOIN words b USING (doc) GROUP BY 1, 3 HAVING count(*) > 10'),
    (3, 'SELECT lower(a.w) AS x, b.y, lower(a.w) || left(random()::text, 0) AS changes, count(*) AS n FROM words a JOIN words b USING (doc) GROUP BY lower(a.w), b.y ORDER BY n DESC, 1, 2 LIMIT 10'),
    (4, 'SELECT a.n, b.fixed, count(*) FROM amounts a JOIN amounts b USING (k) GROUP BY 1, 2 HAVING scale(a.n) = 2 OR count(*) > 100'),
    (5, 'SELECT a.fixed, b.k, count(*) FROM amounts a JOIN amounts b USING (k) GROUP BY 1, 2'),
    (6, 'SELECT p.name, b.item, count(*) FROM parts a JOIN parts b USING (tid), products p WHERE p.prod = 1 AND a.item = 1 GROUP BY 1, 2'),
    (7, 'SELECT p.name, b.item, count(*) FROM parts a JOIN parts b USING (tid) JOIN products p ON p.prod = a.item WHERE a.item = 3 GROUP BY 1, 2'))
    q (number, query), both_ways(q.query) t ORDER BY 1;
RESET cpu_operator_cost;
RESET cpu_tuple_cost;

SET client_min_messages = warning;
DROP SCHEMA lookups CASCADE;
DROP ROLE lookups_reader;
