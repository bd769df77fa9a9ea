-- Plain SQL that joins three or more copies of the same rows: the node BatmapItemsets counts the itemsets of that length.
LOAD 'batmap';
CREATE SCHEMA sets;
SET search_path = sets, public;
-- PostgreSQL 19 can group below the join, which may be estimated to be cheaper.
SELECT count(set_config(name, 'off', false)) AS "set" FROM pg_settings WHERE name = 'enable_eager_aggregate' \gset
CREATE TABLE baskets (tid int NOT NULL, item int, word text, day int);
INSERT INTO baskets SELECT DISTINCT ON (1, 2) k * 7919 % 350 + 1, CASE WHEN k % 43 > 0 THEN (k * k / 13 + k % 17) % 60 END, NULL, k % 7
    FROM generate_series(1, 5000) k;
UPDATE baskets SET word = 'w ' || 59 - item;
CREATE TABLE keyed (tid int NOT NULL, item bigint NOT NULL, UNIQUE (tid, item));
INSERT INTO keyed SELECT tid, item * 1000000000000 FROM baskets WHERE item IS NOT NULL;
CREATE TABLE few AS SELECT * FROM keyed WHERE tid < 80;
ALTER TABLE few ADD UNIQUE (tid, item);
CREATE TABLE lines AS SELECT tid, item, k AS line FROM baskets, generate_series(1, 1 + (tid % 9 = 0)::int) k;
CREATE TABLE orders (tid int PRIMARY KEY, day int NOT NULL, customer int NOT NULL);
INSERT INTO orders SELECT k, k % 30, k % 50 FROM generate_series(1, 350) k;
CREATE TABLE customers AS SELECT k AS customer, 'city ' || k % 5 AS city FROM generate_series(0, 49) k;
ALTER TABLE customers ADD PRIMARY KEY (customer);
CREATE TABLE products AS SELECT k AS item, 'name ' || k AS name, k % 4 AS kind FROM generate_series(0, 59) k;
ALTER TABLE products ADD PRIMARY KEY (item);
CREATE TABLE special AS SELECT k * 3 % 350 AS tid FROM generate_series(1, 233) k;
CREATE VIEW early AS SELECT b.tid, b.item FROM baskets b JOIN orders o USING (tid) WHERE o.day < 20;
CREATE TABLE parts (tid int, item int) PARTITION BY HASH (tid);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT tid, item FROM baskets;
CREATE TABLE many AS SELECT tid, p.kind FROM baskets JOIN products p USING (item);
CREATE TABLE numbers AS SELECT DISTINCT ON (tid, item % 5) tid, CASE WHEN tid % 2 = 0 THEN (item % 5)::numeric ELSE (item % 5 || '.00')::numeric END AS n
    FROM baskets WHERE item IS NOT NULL;
CREATE TABLE small AS SELECT * FROM baskets ORDER BY tid LIMIT 30;
ANALYZE baskets, keyed, few, lines, orders, customers, products, special, parts, many, numbers, small;
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (' || query || ') q' INTO answer;
    RETURN answer;
END $$;
-- Runs a query with and without the node. Is it taken, are there rows, and are they the same? If it is not taken: why?
CREATE FUNCTION try(query text) RETURNS TABLE (node bool, has_rows bool, same bool, reason text) LANGUAGE plpgsql AS $$
DECLARE plan json; answer text;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    node := plan::text LIKE '%BatmapItemsets%';
    answer := digest(query);
    has_rows := answer NOT LIKE '0 %';
    IF NOT node THEN SELECT coalesce(w.expression || ': ', '') || w.reason INTO reason FROM batmap_explain_why(query) w WHERE NOT taken LIMIT 1; END IF;
    PERFORM set_config('batmap.enable_join_project', 'off', true);
    same := answer = digest(query);
    PERFORM set_config('batmap.enable_join_project', 'on', true);
    RETURN NEXT;
END $$;

CREATE TABLE shapes (number int GENERATED ALWAYS AS IDENTITY, shape text, query text);
INSERT INTO shapes (shape, query) VALUES
('triples', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) >= 3'),
('no threshold', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('other order, threshold turned and excluded', 'SELECT count(*) AS n, c.item AS z, a.item AS x, b.item AS y FROM baskets a JOIN baskets b USING (tid)
    JOIN baskets c USING (tid) WHERE c.item > b.item AND c.item < a.item AND b.item < a.item GROUP BY y, z, x HAVING 2 < count(*)'),
('four, all compared', 'SELECT a.item, b.item, c.item, d.item, count(a.tid) FROM keyed a, keyed b, keyed c, keyed d WHERE a.tid = b.tid AND b.tid = c.tid
    AND c.tid = d.tid AND a.item < b.item AND a.item < c.item AND b.item < c.item AND c.item < d.item GROUP BY 1, 2, 3, 4 HAVING count(*) > 1'),
('five', 'SELECT a.item, b.item, c.item, d.item, e.item, count(*) FROM few a JOIN few b USING (tid) JOIN few c USING (tid) JOIN few d USING (tid)
    JOIN few e USING (tid) WHERE a.item < b.item AND b.item < c.item AND c.item < d.item AND d.item < e.item GROUP BY 1, 2, 3, 4, 5'),
('words', 'SELECT a.word, b.word, c.word, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.word < b.word AND b.word < c.word GROUP BY 1, 2, 3 HAVING count(*) >= 2'),
('names', 'SELECT p.name, q.name, r.name, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid) JOIN products p ON p.item = a.item
    JOIN products q ON q.item = b.item JOIN products r ON r.item = c.item WHERE p.name < q.name AND q.name < r.name GROUP BY 1, 2, 3'),
('kinds, which repeat', 'SELECT p.kind, q.kind, r.kind, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid) JOIN products p ON p.item = a.item
    JOIN products q ON q.item = b.item JOIN products r ON r.item = c.item WHERE p.kind < q.kind AND q.kind < r.kind GROUP BY 1, 2, 3'),
('kinds, keys counted once', 'SELECT p.kind, q.kind, r.kind, count(DISTINCT a.tid) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    JOIN products p ON p.item = a.item JOIN products q ON q.item = b.item JOIN products r ON r.item = c.item WHERE p.kind < q.kind AND q.kind < r.kind GROUP BY 1, 2, 3'),
('rows repeat', 'SELECT a.item, b.item, c.item, count(*) FROM lines a JOIN lines b USING (tid) JOIN lines c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) >= 3'),
('rows repeat, keys counted once', 'SELECT a.item, b.item, c.item, count(DISTINCT c.tid) FROM lines a JOIN lines b USING (tid) JOIN lines c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(DISTINCT b.tid) >= 3'),
('rows and keys', 'SELECT a.item, b.item, c.item, count(*), count(DISTINCT a.tid), count(b.item) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) < 3'),
('no counts', 'SELECT a.item + 1 AS x, b.item, c.item FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY a.item, b.item, c.item'),
('a filter on the order', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid) JOIN orders o USING (tid)
    WHERE a.item < b.item AND b.item < c.item AND o.day < 12 GROUP BY 1, 2, 3'),
('a filter on the customer', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid) JOIN orders o ON o.tid = b.tid
    JOIN customers u USING (customer) WHERE a.item < b.item AND b.item < c.item AND u.city <> ''city 1'' GROUP BY 1, 2, 3'),
('the filter with IN', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item AND c.tid IN (SELECT tid FROM special) GROUP BY 1, 2, 3'),
('filters of each copy', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item AND a.day > 2 AND b.day > 2 AND c.day > 2 GROUP BY 1, 2, 3'),
('two keys', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid, day) JOIN baskets c USING (tid, day)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('sorted, limited', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT 7'),
('a CTE', 'WITH l AS MATERIALIZED (SELECT tid, item FROM baskets WHERE day < 5) SELECT a.item, b.item, c.item, count(*) FROM l a JOIN l b USING (tid)
    JOIN l c USING (tid) WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('a CTE whose rows repeat', 'WITH l AS MATERIALIZED (SELECT tid, item FROM lines WHERE line < 5) SELECT a.item, b.item, c.item, count(*) FROM l a JOIN l b USING (tid)
    JOIN l c USING (tid) WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('a view', 'SELECT a.item, b.item, c.item, count(*) FROM early a JOIN early b USING (tid) JOIN early c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('partitions', 'SELECT a.item, b.item, c.item, count(*) FROM parts a JOIN parts b USING (tid) JOIN parts c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('words of products, many repeated', 'SELECT a.kind, b.kind, c.kind, count(*) FROM many a JOIN many b USING (tid) JOIN many c USING (tid)
    WHERE a.kind < b.kind AND b.kind < c.kind GROUP BY 1, 2, 3'),
('numbers equal but not the same', 'SELECT a.n = 1 AS x, b.n = 2 AS y, c.n = 3 AS z, count(*) FROM numbers a JOIN numbers b USING (tid) JOIN numbers c USING (tid)
    WHERE a.n < b.n AND b.n < c.n GROUP BY a.n, b.n, c.n'),
('DISTINCT', 'SELECT DISTINCT b.item, a.item AS x, c.item AS y FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item'),
('DISTINCT where rows repeat', 'SELECT DISTINCT b.item, a.item AS x, c.item AS y FROM lines a JOIN lines b USING (tid) JOIN lines c USING (tid)
    WHERE a.item < b.item AND b.item < c.item'),
('a subquery on the key, rows repeat', 'SELECT a.item, b.item, c.item, count(*) FROM lines a JOIN lines b USING (tid) JOIN lines c USING (tid)
    WHERE a.item < b.item AND b.item < c.item AND b.tid IN (SELECT max(tid) FROM special GROUP BY tid) GROUP BY 1, 2, 3'),
('a threshold from a subquery', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) > (SELECT min(day) + 2 FROM orders)'),
-- not itemsets
('a filter of one copy', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item AND a.day > 2 GROUP BY 1, 2, 3'),
('other filters', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item AND a.day > 2 AND b.day > 2 AND c.day > 3 GROUP BY 1, 2, 3'),
('another key', 'SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c ON c.day = b.day AND c.tid = 3
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('a path', 'SELECT a.item, b.item, c.item, count(*) FROM small a JOIN small b USING (tid) JOIN small c ON c.day = b.day
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('an order that is not total', 'SELECT a.item, b.item, c.item, count(*) FROM small a JOIN small b USING (tid) JOIN small c USING (tid)
    WHERE a.item < b.item AND a.item < c.item GROUP BY 1, 2, 3'),
('a circle', 'SELECT a.item, b.item, c.item, count(*) FROM small a JOIN small b USING (tid) JOIN small c USING (tid)
    WHERE a.item < b.item AND b.item < c.item AND c.item < a.item GROUP BY 1, 2, 3'),
('unequal', 'SELECT a.item, b.item, c.item, count(*) FROM small a JOIN small b USING (tid) JOIN small c USING (tid)
    WHERE a.item <> b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('not below', 'SELECT a.item, b.item, c.item, count(*) FROM small a JOIN small b USING (tid) JOIN small c USING (tid)
    WHERE a.item <= b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('another collation', 'SELECT a.word, b.word, c.word, count(*) FROM small a JOIN small b USING (tid) JOIN small c USING (tid)
    WHERE a.word < b.word COLLATE "C" AND b.word < c.word GROUP BY 1, 2, 3'),
('another column compared', 'SELECT a.word, b.word, c.word, count(*) FROM small a JOIN small b USING (tid) JOIN small c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('a sum', 'SELECT a.item, b.item, c.item, sum(a.day) FROM small a JOIN small b USING (tid) JOIN small c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('a filtered count', 'SELECT a.item, b.item, c.item, count(*) FILTER (WHERE a.day > 1) FROM small a JOIN small b USING (tid) JOIN small c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3'),
('a count of a column that may be NULL', 'SELECT a.item, b.item, c.item, count(a.day) FROM small a JOIN small b USING (tid) JOIN small c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3');
SELECT number, shape, t.* FROM shapes, try(query) t ORDER BY number;

-- EXPLAIN; rows that repeat are found at run time, unless a unique index or the count rules them out
\getenv here PG_ABS_SRCDIR
\set explained :here '/sql/explained.psql'
\i :explained
CREATE FUNCTION explain_run(query text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT line FROM explained(query) line WHERE line !~ 'Kernel|Memory|Batches|Buckets|Workers' $$;
EXPLAIN (COSTS OFF) SELECT a.item, b.item, c.item, count(*) FROM keyed a JOIN keyed b USING (tid) JOIN keyed c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) >= 3 ORDER BY 4 DESC LIMIT 3;
SELECT explain_run('SELECT a.item, b.item, c.item, count(*) FROM keyed a JOIN keyed b USING (tid) JOIN keyed c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) >= 3');
SELECT count(*) > 0 FROM explain_run('SELECT a.item, b.item, c.item, count(*) FROM lines a JOIN lines b USING (tid) JOIN lines c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) >= 3') line WHERE line LIKE '%because rows repeat%';

-- prepared statements, NULL and other bounds
SET plan_cache_mode = force_generic_plan;
PREPARE sets_of(bigint) AS SELECT a.item, b.item, c.item, count(*) FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) >= $1 ORDER BY 4 DESC, 1, 2, 3 LIMIT 3;
EXPLAIN (COSTS OFF) EXECUTE sets_of(3);
EXECUTE sets_of(3);
EXECUTE sets_of(-3);
EXECUTE sets_of(NULL);
EXECUTE sets_of(9223372036854775807);
RESET plan_cache_mode;
-- rescans with a parameter
SELECT v.least, s.* FROM (VALUES (3), (4), (NULL), (100)) v (least), LATERAL (SELECT count(*) FROM (SELECT a.item, b.item, c.item FROM baskets a
    JOIN baskets b USING (tid) JOIN baskets c USING (tid) WHERE a.item < b.item AND b.item < c.item AND a.day >= v.least AND b.day >= v.least AND c.day >= v.least
    GROUP BY 1, 2, 3 HAVING count(*) >= 1) q) s;
-- each scan ends early
SELECT g, q.* FROM generate_series(0, 2) g, LATERAL (SELECT count(*) FROM (SELECT a.item, b.item AS b, c.item AS c FROM baskets a JOIN baskets b USING (tid)
    JOIN baskets c USING (tid) WHERE a.item < b.item AND b.item < c.item AND a.day >= g AND b.day >= g AND c.day >= g GROUP BY 1, 2, 3 LIMIT 5 + g) i) q;
-- too little memory: the plain plan answers
CREATE TABLE wide AS SELECT k / 4 AS tid, k % 4 * 100 + k % 97 AS item FROM generate_series(0, 99999) k;
ANALYZE wide;
SET plan_cache_mode = force_generic_plan;
PREPARE wide_sets AS SELECT count(*), sum(n) FROM (SELECT a.item, b.item, c.item, count(*) n FROM wide a JOIN wide b USING (tid) JOIN wide c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3) q;
EXECUTE wide_sets;
SET batmap.memory_limit = '1MB';
SELECT count(*) > 0 FROM explain_run('EXECUTE wide_sets') line WHERE line LIKE '%for want of memory%';
EXECUTE wide_sets;
RESET batmap.memory_limit;
RESET plan_cache_mode;
-- the plain plan answers because rows repeat, and a subquery of both plans has run already
CREATE TABLE repeated AS SELECT i * 7 % 130 AS ord, i * i % 29 AS prod FROM generate_series(1, 900) i;
CREATE TABLE rare AS SELECT i AS ord FROM generate_series(0, 120, 2) i;
ANALYZE repeated, rare;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
CREATE VIEW of_special AS SELECT a.prod AS x, b.prod AS y, c.prod AS z, count(*) AS n FROM repeated a JOIN repeated b USING (ord) JOIN repeated c USING (ord)
    WHERE a.prod < b.prod AND b.prod < c.prod AND a.ord IN (SELECT ord FROM rare WHERE ord > (SELECT min(ord) + 3 FROM rare) OFFSET 0) GROUP BY 1, 2, 3;
SELECT line FROM explain_run('SELECT * FROM of_special') line WHERE line LIKE '%Answered By%';
SELECT count(*), sum(n) FROM of_special;
SET batmap.enable_join_project = off;
SELECT count(*), sum(n) FROM of_special;
RESET batmap.enable_join_project;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;
-- a cursor that is closed early, and one that moves back
BEGIN;
DECLARE found SCROLL CURSOR FOR SELECT a.item, b.item, c.item, count(*) FROM keyed a JOIN keyed b USING (tid) JOIN keyed c USING (tid)
    WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) >= 3 ORDER BY 1, 2, 3;
FETCH 2 FROM found;
FETCH BACKWARD 1 FROM found;
COMMIT;
SELECT operation, rows_read, transactions, results > 0 AS some FROM batmap_last_run();
SET client_min_messages = warning;
DROP SCHEMA sets CASCADE;
