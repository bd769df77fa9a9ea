-- Plain SQL in which a third relation lists the pairs to be counted: given pairs, common neighbours, triangles. The node
-- BatmapListedPairs counts the listed pairs only.
LOAD 'batmap';
CREATE SCHEMA listed;
SET search_path = listed, public;
CREATE TABLE lines (ord int, prod int, n int);
INSERT INTO lines SELECT CASE WHEN k % 41 > 0 THEN k * 7919 % 500 END, CASE WHEN k % 43 > 0 THEN (k * k / 13 + k % 17) % 90 END, k % 7 FROM generate_series(1, 5000) k;
INSERT INTO lines SELECT * FROM lines WHERE n = 3;
CREATE TABLE clean AS SELECT DISTINCT ord, prod FROM lines WHERE ord IS NOT NULL AND prod IS NOT NULL;
ALTER TABLE clean ADD PRIMARY KEY (ord, prod);
CREATE TABLE orders AS SELECT k AS ord, date '2024-01-01' + k % 60 AS day FROM generate_series(0, 499) k;
ALTER TABLE orders ADD PRIMARY KEY (ord);
CREATE TABLE products AS SELECT k AS prod, 'name ' || k AS name, k % 7 AS kind FROM generate_series(0, 89) k;
ALTER TABLE products ADD PRIMARY KEY (prod);
CREATE TABLE wanted (id int PRIMARY KEY, x int, y int, label text, amount numeric);
INSERT INTO wanted SELECT k, CASE WHEN k % 31 > 0 THEN k * 37 % 95 END, CASE WHEN k % 29 > 0 THEN k * k % 97 END, CASE WHEN k % 5 > 0 THEN 'label ' || k % 9 END,
    CASE WHEN k % 2 = 0 THEN k % 6 ELSE (k % 6 || '.00')::numeric END FROM generate_series(1, 500) k;
CREATE TABLE wide_wanted AS SELECT id, x::bigint, y::bigint * CASE WHEN id % 3 = 0 THEN 10000000000 ELSE 1 END AS y FROM wanted;
CREATE TABLE words AS SELECT ord, 'w ' || prod AS word, prod::numeric AS number FROM lines;
UPDATE words SET number = (number || '.00')::numeric WHERE ord % 2 = 0;
CREATE TABLE word_pairs AS SELECT 'w ' || x AS x, ('w ' || y)::varchar(20) AS y, x::numeric AS u, y::numeric AS v, label FROM wanted;
CREATE TABLE edges (src int, dst int);
INSERT INTO edges SELECT CASE WHEN k % 50 > 0 THEN (k * 7919 % 4001) % (1 + k % 120) END, (k * 104729 % 4001) % (1 + k % 90) FROM generate_series(1, 1300) k;
CREATE TABLE nothing (LIKE edges);
CREATE TABLE parts (ord int, prod int) PARTITION BY HASH (prod);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT ord, prod FROM lines;
ANALYZE lines, clean, orders, products, wanted, wide_wanted, words, word_pairs, edges, nothing, parts;
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (' || query || ') q' INTO answer;
    RETURN answer;
END $$;
-- Runs a query with and without the nodes. Which one is taken, are there rows, and are they the same? If it is not taken: why?
CREATE FUNCTION try(query text) RETURNS TABLE (node text, has_rows bool, same bool, reason text) LANGUAGE plpgsql AS $$
DECLARE plan json; answer text;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    node := substring(plan::text FROM '"(Batmap[A-Za-z]+)"');
    answer := digest(query);
    has_rows := answer NOT LIKE '0 %';
    IF node IS NULL THEN SELECT coalesce(w.expression || ': ', '') || w.reason INTO reason FROM batmap_explain_why(query) w WHERE NOT taken LIMIT 1; END IF;
    PERFORM set_config('batmap.enable_join_project', 'off', true);
    same := answer = digest(query);
    PERFORM set_config('batmap.enable_join_project', 'on', true);
    RETURN NEXT;
END $$;

CREATE TABLE shapes (number int GENERATED ALWAYS AS IDENTITY, shape text, query text);
INSERT INTO shapes (shape, query) VALUES
('given pairs', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2'),
('by columns of the list', 'SELECT c.y, c.x + 1 AS x, count(a.ord), 7 AS seven FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod
    GROUP BY c.y, c.x HAVING count(*) > 5'),
('rows that do not repeat', 'SELECT a.prod, b.prod, count(*) FROM clean a JOIN clean b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2'),
('distinct keys', 'SELECT a.prod, c.y, count(DISTINCT a.ord) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2
    HAVING count(DISTINCT b.ord) BETWEEN 2 AND 20'),
('DISTINCT', 'SELECT DISTINCT a.prod, b.prod FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod'),
('DISTINCT of one item', 'SELECT DISTINCT b.prod FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod'),
('the best', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2
    ORDER BY 3 DESC, 1, 2 LIMIT 10'),
('by id', 'SELECT c.id, c.label, c.amount, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY c.id HAVING count(*) > 4'),
('by id and items', 'SELECT c.id, a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2, 3'),
('by label, which may be NULL', 'SELECT label, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1'),
('by one item', 'SELECT b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1'),
('by an expression of both', 'SELECT a.prod + b.prod AS s, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1'),
('all rows', 'SELECT count(*), count(c.id), 3 AS three FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod'),
('all rows, HAVING', 'SELECT count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod HAVING count(*) < 5'),
('no rows', 'SELECT count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod WHERE a.n + 0 > 90'),
('an empty list', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN nothing c ON c.src = a.prod AND c.dst = b.prod GROUP BY 1, 2'),
('triangles', 'SELECT count(*) FROM edges a JOIN edges b ON a.dst = b.src JOIN edges c ON c.src = a.src AND c.dst = b.dst'),
('triangles that close', 'SELECT count(*) FROM edges a, edges b, edges c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src AND a.src < b.src AND b.src < c.src'),
('triangles of each vertex', 'SELECT a.src, count(*) FROM edges a JOIN edges b ON a.dst = b.src JOIN edges c ON c.src = a.src AND c.dst = b.dst WHERE a.src < 60 GROUP BY 1'),
('triangles of each edge', 'SELECT c.src, c.dst, count(*) FROM edges a JOIN edges b ON a.dst = b.src JOIN edges c ON c.src = a.src AND c.dst = b.dst GROUP BY 1, 2'),
('common neighbours', 'SELECT c.id, c.x, c.y, count(*) FROM edges a JOIN edges b ON a.dst = b.dst JOIN wanted c ON c.x = a.src AND c.y = b.src GROUP BY 1'),
('compared items', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod WHERE a.prod < b.prod GROUP BY 1, 2'),
('a condition on both items', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod
    WHERE (a.prod + b.prod) % 3 <> c.id % 3 AND a.prod <> b.prod GROUP BY 1, 2'),
('filters', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod
    WHERE a.n > 2 AND b.n < 5 AND c.id % 3 > 0 AND c.label IS NOT NULL GROUP BY 1, 2'),
('a filter on the order', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN orders o USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod
    WHERE o.day < ''2024-02-10'' GROUP BY 1, 2'),
('names of both', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod
    JOIN products p ON p.prod = c.x JOIN products q ON q.prod = c.y GROUP BY 1, 2'),
('items of the products', 'SELECT p.kind, count(*) FROM lines a JOIN products p ON p.prod = a.prod JOIN lines b USING (ord) JOIN wanted c ON c.x = p.kind AND c.y = b.prod GROUP BY p.kind, c.y'),
('IN', 'SELECT c.x, c.y, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod
    WHERE a.prod IN (SELECT prod FROM products WHERE kind = 3) AND NOT EXISTS (SELECT FROM orders o WHERE o.ord = b.ord AND day < ''2024-01-20'') GROUP BY 1, 2'),
('a left join of the list', 'SELECT c.id, p.name, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod
    LEFT JOIN products p ON p.prod = c.id GROUP BY 1, 2'),
('a list of DISTINCT pairs', 'SELECT c.x, c.y, count(*) FROM lines a JOIN lines b USING (ord) JOIN (SELECT DISTINCT x, y FROM wanted) c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2'),
('a list of VALUES', 'SELECT c.x, c.y, count(*) FROM lines a JOIN lines b USING (ord) JOIN (VALUES (3, 4), (4, 3), (3, 3), (3, 4), (NULL, 4), (50, 77)) c (x, y) ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2'),
('a CTE', 'WITH l AS MATERIALIZED (SELECT ord, prod FROM lines WHERE n <> 2) SELECT a.prod, b.prod, count(*) FROM l a JOIN l b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2'),
('partitions', 'SELECT a.prod, b.prod, count(*) FROM parts a JOIN parts b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2'),
('other integers', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wide_wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2'),
('other integers, by columns of the list', 'SELECT c.x, c.y, c.id, count(*) FROM lines a JOIN lines b USING (ord) JOIN wide_wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2, 3'),
('words', 'SELECT a.word, b.word, count(*) FROM words a JOIN words b USING (ord) JOIN word_pairs c ON c.x = a.word AND c.y = b.word GROUP BY 1, 2'),
('words, by label', 'SELECT c.label, c.y, count(*) FROM words a JOIN words b USING (ord) JOIN word_pairs c ON c.x = a.word AND c.y = b.word GROUP BY 1, 2'),
('numbers of the list', 'SELECT c.u = 3 AS u, c.v = 4 AS v, count(*) FROM words a JOIN words b USING (ord) JOIN word_pairs c ON c.u = a.number AND c.v = b.number GROUP BY c.u, c.v'),
('several keys', 'SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord, n) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2'),
('on top of it', 'SELECT x, sum(n), rank() OVER (ORDER BY sum(n) DESC, x) FROM (SELECT a.prod AS x, b.prod AS y, count(*) AS n FROM lines a JOIN lines b USING (ord)
    JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2) q GROUP BY x'),
-- not by the node
('distinct keys of labels', 'SELECT c.label, count(DISTINCT a.ord) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1'),
('distinct keys of all', 'SELECT count(DISTINCT a.ord) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod'),
('a sum', 'SELECT c.id, sum(a.n) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1'),
('a count of what may be NULL', 'SELECT c.id, count(c.label) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1'),
('a value that the list has not', 'SELECT a.n, c.id, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2'),
('a condition that the list does not decide', 'SELECT c.id, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod WHERE a.n < b.n GROUP BY 1'),
('equal numbers that differ', 'SELECT a.number = 3 AS u, b.number = 4 AS v, c.label, count(*) FROM words a JOIN words b USING (ord) JOIN word_pairs c ON c.u = a.number AND c.v = b.number GROUP BY a.number, b.number, c.label'),
('one equality for all three', 'SELECT c.id, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod AND c.id = a.ord GROUP BY 1'),
('a path, not a triangle', 'SELECT c.dst, count(*) FROM edges a JOIN edges b ON a.dst = b.src JOIN edges c ON c.src = b.dst WHERE a.src = 9 AND b.dst > 60 GROUP BY 1');
SELECT number, shape, t.* FROM shapes, try(query) t ORDER BY number;

-- what the plans look like; common neighbours are read once
EXPLAIN (COSTS OFF) SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod
    WHERE a.prod < b.prod GROUP BY 1, 2 HAVING count(*) > 3;
EXPLAIN (COSTS OFF) SELECT c.label, count(*) FROM lines a JOIN clean b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT count(*) FROM edges a JOIN edges b ON a.dst = b.src JOIN edges c ON c.src = a.src AND c.dst = b.dst;
\getenv here PG_ABS_SRCDIR
\set explained :here '/sql/explained.psql'
\i :explained
SELECT line FROM explained('SELECT count(*) FROM edges a JOIN edges b ON a.dst = b.src JOIN edges c ON c.src = a.src AND c.dst = b.dst') line WHERE line !~ 'Memory|Workers';
SELECT operation, method, rows_read, items, items_kept, results FROM batmap_last_run();

-- prepared statements
SET plan_cache_mode = force_generic_plan;
PREPARE of_kind(int, int) AS SELECT count(*), sum(n) FROM (SELECT c.x, c.y, count(*) AS n FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod
    WHERE a.n >= $1 AND b.n >= $1 GROUP BY 1, 2 HAVING count(*) >= $2) q;
EXPLAIN (COSTS OFF) EXECUTE of_kind(1, 2);
EXECUTE of_kind(0, 1);
EXECUTE of_kind(3, 2);
EXECUTE of_kind(3, NULL);
EXECUTE of_kind(NULL, 1);
SET batmap.enable_join_project = off;
EXECUTE of_kind(3, 2);
RESET batmap.enable_join_project;
RESET plan_cache_mode;
-- rescans with a parameter; each scan of the second query ends early
SELECT v.least, q.* FROM (VALUES (0), (4), (NULL), (100)) v (least), LATERAL (SELECT count(*) FROM lines a JOIN lines b USING (ord)
    JOIN wanted c ON c.x = a.prod AND c.y = b.prod WHERE a.n >= v.least AND b.n >= v.least) q;
SELECT g, q.* FROM generate_series(0, 2) g, LATERAL (SELECT count(*) FROM (SELECT c.x, c.y, count(*) FROM lines a JOIN lines b USING (ord)
    JOIN wanted c ON c.x = a.prod AND c.y = b.prod WHERE a.n >= g AND b.n >= g GROUP BY 1, 2 LIMIT 3 + g) i) q;
-- a cursor that moves back
BEGIN;
DECLARE found SCROLL CURSOR FOR SELECT a.prod, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2;
FETCH 2 FROM found;
FETCH BACKWARD 1 FROM found;
COMMIT;
-- too little memory: the plain plan answers
CREATE TABLE many AS SELECT k / 10 AS ord, k * 31 % 997 AS prod FROM generate_series(0, 99999) k;
CREATE TABLE many_pairs AS SELECT k AS id, k * 7 % 997 AS x, k * 11 % 997 AS y FROM generate_series(1, 5000) k;
ANALYZE many, many_pairs;
SET plan_cache_mode = force_generic_plan;
PREPARE all_of_many AS SELECT count(*) FROM many a JOIN many b USING (ord) JOIN many_pairs c ON c.x = a.prod AND c.y = b.prod;
PREPARE each_of_many AS SELECT count(*), sum(id), sum(n) FROM (SELECT c.id, count(*) AS n FROM many a JOIN many b USING (ord) JOIN many_pairs c ON c.x = a.prod AND c.y = b.prod GROUP BY 1) q;
EXECUTE all_of_many;
EXECUTE each_of_many;
SET batmap.memory_limit = '1MB';
SELECT count(*) > 0 FROM explained('EXECUTE all_of_many') line WHERE line LIKE '%for want of memory%';
SELECT count(*) > 0 FROM explained('EXECUTE each_of_many') line WHERE line LIKE '%for want of memory%';
EXECUTE all_of_many;
EXECUTE each_of_many;
RESET batmap.memory_limit;
RESET plan_cache_mode;
-- more rows than can be counted: 2,100,000 to the power of 3
CREATE TABLE same AS SELECT 1 AS ord, 1 AS prod FROM generate_series(1, 2100000);
ANALYZE same;
SELECT count(*) FROM same a JOIN same b USING (ord) JOIN same c ON c.ord = a.prod AND c.prod = b.prod;
-- conditions of a security barrier stay in their scans
CREATE VIEW few_wanted WITH (security_barrier) AS SELECT * FROM wanted WHERE id % 10 = 1;
CREATE FUNCTION is_seen(id int, x int) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$ BEGIN IF id % 10 <> 1 THEN RAISE EXCEPTION 'row % is seen', id; END IF; RETURN x <> 5; END $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM lines a JOIN lines b USING (ord) JOIN few_wanted c ON c.x = a.prod AND c.y = b.prod WHERE is_seen(c.id, a.prod);
SELECT count(*) FROM lines a JOIN lines b USING (ord) JOIN few_wanted c ON c.x = a.prod AND c.y = b.prod WHERE is_seen(c.id, a.prod);
-- several columns for an item
SELECT * FROM try('SELECT a.prod, a.n, b.prod, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.id % 7 = a.n AND c.y = b.prod GROUP BY 1, 2, 3');
-- CASE, over the list, the inputs and both
SELECT * FROM try('SELECT CASE WHEN c.id % 2 = 1 THEN c.x END, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1');
SELECT * FROM try('SELECT c.id % 3, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod WHERE CASE WHEN a.n = 1 THEN b.n = 2 ELSE true END GROUP BY 1');
SELECT * FROM try('SELECT DISTINCT CASE a.prod WHEN 1 THEN ''x'' ELSE ''y'' END, c.y FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod');
SELECT * FROM try('SELECT CASE WHEN a.prod > 3 THEN c.y WHEN c.x > 2 THEN b.prod END, count(*) FROM lines a JOIN lines b USING (ord) JOIN wanted c ON c.x = a.prod AND c.y = b.prod GROUP BY 1');
SET client_min_messages = warning;
DROP SCHEMA listed CASCADE;
