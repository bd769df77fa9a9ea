-- Plain SQL as people write it: each shape is answered by the node or says why not, and the rows are those of the plain plan.
LOAD 'batmap';
CREATE SCHEMA shop;
SET search_path = shop, public;
-- PostgreSQL 19 can group below the join, which may be estimated to be cheaper.
SELECT count(set_config(name, 'off', false)) AS "set" FROM pg_settings WHERE name = 'enable_eager_aggregate' \gset
CREATE TABLE customers (customer_id int PRIMARY KEY, city text NOT NULL);
CREATE TABLE orders (order_id int PRIMARY KEY, customer_id int NOT NULL, day date NOT NULL, country text);
CREATE TABLE products (product_id int PRIMARY KEY, name text NOT NULL, category text, price numeric);
CREATE TABLE lines (order_id int NOT NULL, product_id int NOT NULL, quantity int);
CREATE TABLE returned (order_id int NOT NULL);
INSERT INTO customers SELECT k, 'city ' || k % 7 FROM generate_series(1, 300) k;
INSERT INTO orders SELECT k, 1 + k * 31 % 300, date '2024-01-01' + k % 366, CASE WHEN k % 10 > 0 THEN 'country ' || k % 5 END
    FROM generate_series(1, 3000) k;
INSERT INTO products SELECT k, 'product ' || k % 55, CASE WHEN k % 11 > 0 THEN 'category ' || k % 8 END, k * 1.5 FROM generate_series(1, 60) k;
INSERT INTO lines SELECT 1 + k * 7919 % 3000, 1 + (k * k / 13 + k % 17) % 60, 1 + k % 3 FROM generate_series(1, 24000) k;
INSERT INTO returned SELECT 1 + k * 17 % 3000 FROM generate_series(1, 400) k;
ANALYZE customers, orders, products, lines, returned;
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (' || query || ') q' INTO answer;
    RETURN answer;
END $$;
-- Runs a query with and without the node.
CREATE FUNCTION try(query text) RETURNS TABLE (node bool, copies bool, same bool) LANGUAGE plpgsql AS $$
DECLARE plan json; plain text;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    node := plan::text ~ 'BatmapJoinProject|BatmapItemsets';
    copies := node AND plan::text LIKE '%"Key": %';
    plain := digest(query);
    PERFORM set_config('batmap.enable_join_project', 'off', true);
    same := plain = digest(query);
    PERFORM set_config('batmap.enable_join_project', 'on', true);
    RETURN NEXT;
END $$;

CREATE TABLE shapes (number int GENERATED ALWAYS AS IDENTITY, shape text, query text);
INSERT INTO shapes (shape, query) VALUES
('pairs of ids', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id) WHERE a.product_id < b.product_id GROUP BY 1, 2'),
('names of both', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (order_id) JOIN products p ON p.product_id = a.product_id
    JOIN products q ON q.product_id = b.product_id WHERE a.product_id < b.product_id GROUP BY p.name, q.name'),
('names compared', 'SELECT p.name, q.name, count(*) FROM lines a JOIN lines b USING (order_id) JOIN products p ON p.product_id = a.product_id
    JOIN products q ON q.product_id = b.product_id WHERE p.name < q.name GROUP BY p.name, q.name'),
('ids and names', 'SELECT p.product_id, p.name, q.product_id, q.name, count(*) FROM lines a JOIN lines b USING (order_id)
    JOIN products p ON p.product_id = a.product_id JOIN products q ON q.product_id = b.product_id
    WHERE a.product_id < b.product_id GROUP BY p.product_id, q.product_id HAVING count(*) > 3'),
('names from commas', 'SELECT p.name AS x, q.name AS y, count(a.order_id) AS n FROM lines a, lines b, products p, products q WHERE a.order_id = b.order_id
    AND a.product_id = p.product_id AND b.product_id = q.product_id AND a.product_id <> b.product_id GROUP BY 1, 2 HAVING count(*) >= 10 ORDER BY n DESC, x, y LIMIT 20'),
('a filter on the order', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id) JOIN orders o USING (order_id)
    WHERE a.product_id < b.product_id AND o.day < ''2024-06-01'' GROUP BY 1, 2'),
('the filter with IN', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id)
    WHERE a.product_id < b.product_id AND a.order_id IN (SELECT order_id FROM orders WHERE day < ''2024-06-01'') GROUP BY 1, 2'),
('the filter with EXISTS', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id)
    WHERE a.product_id < b.product_id AND EXISTS (SELECT FROM orders o WHERE o.order_id = a.order_id AND day < ''2024-06-01'') GROUP BY 1, 2'),
('repeated rows with IN', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id)
    WHERE a.product_id < b.product_id AND a.order_id IN (SELECT order_id FROM returned) GROUP BY 1, 2'),
('the filter with NOT EXISTS', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id)
    WHERE a.product_id < b.product_id AND NOT EXISTS (SELECT FROM returned r WHERE r.order_id = a.order_id) GROUP BY 1, 2'),
('by country', 'SELECT o.country, a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id) JOIN orders o USING (order_id)
    WHERE a.product_id < b.product_id GROUP BY 1, 2, 3'),
('by month', 'SELECT date_trunc(''month'', o.day), a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id) JOIN orders o USING (order_id)
    WHERE a.product_id < b.product_id GROUP BY 1, 2, 3'),
('categories by order', 'SELECT p.category, q.category, count(DISTINCT a.order_id) FROM lines a JOIN lines b ON a.order_id = b.order_id
    JOIN products p ON p.product_id = a.product_id JOIN products q ON q.product_id = b.product_id WHERE p.category < q.category GROUP BY 1, 2'),
('customers who', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN orders oa ON oa.order_id = a.order_id
    JOIN orders ob ON ob.customer_id = oa.customer_id JOIN lines b ON b.order_id = ob.order_id WHERE a.product_id < b.product_id GROUP BY 1, 2'),
('customers who, distinct', 'SELECT a.product_id, b.product_id, count(DISTINCT oa.customer_id) FROM lines a JOIN orders oa ON oa.order_id = a.order_id
    JOIN orders ob ON ob.customer_id = oa.customer_id JOIN lines b ON b.order_id = ob.order_id WHERE a.product_id < b.product_id GROUP BY 1, 2'),
('each side filtered', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id)
    WHERE a.product_id IN (SELECT product_id FROM products WHERE category = ''category 3'')
    AND b.product_id IN (SELECT product_id FROM products WHERE category = ''category 5'') GROUP BY 1, 2'),
('a left join within a side', 'SELECT p.category, b.product_id, count(*) FROM lines a LEFT JOIN products p ON p.product_id = a.product_id AND p.price > 20
    JOIN lines b ON b.order_id = a.order_id GROUP BY 1, 2'),
('count of a nullable column', 'SELECT p.category, b.product_id, count(p.category) FROM lines a LEFT JOIN products p ON p.product_id = a.product_id
    JOIN lines b ON b.order_id = a.order_id GROUP BY 1, 2'),
('cities', 'SELECT DISTINCT c.city, b.product_id FROM lines b JOIN orders o USING (order_id) JOIN customers c USING (customer_id)'),
('cities and categories', 'SELECT DISTINCT c.city, p.category FROM customers c JOIN orders o USING (customer_id) JOIN lines l USING (order_id)
    JOIN products p USING (product_id)'),
('a view', 'SELECT a.product_id, b.product_id, count(*) FROM (SELECT l.* FROM lines l JOIN orders o USING (order_id) WHERE o.country = ''country 2'') a
    JOIN (SELECT l.* FROM lines l JOIN orders o USING (order_id) WHERE o.country = ''country 2'') b USING (order_id) WHERE a.product_id < b.product_id GROUP BY 1, 2'),
('distinct lines', 'WITH d AS (SELECT DISTINCT order_id, product_id FROM lines) SELECT a.product_id, b.product_id, count(*) FROM d a JOIN d b USING (order_id)
    WHERE a.product_id < b.product_id GROUP BY 1, 2'),
('distinct lines, twice', 'SELECT a.product_id, b.product_id, count(*) FROM (SELECT DISTINCT order_id, product_id FROM lines) a
    JOIN (SELECT DISTINCT order_id, product_id FROM lines) b USING (order_id) WHERE a.product_id < b.product_id GROUP BY 1, 2'),
('one product', 'SELECT b.product_id, count(*) FROM lines a JOIN lines b USING (order_id) WHERE a.product_id = 7 AND b.product_id <> 7 GROUP BY 1'),
('a shifted comparison', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id) WHERE a.product_id < b.product_id + 1 GROUP BY 1, 2'),
('groups of expressions', 'SELECT left(p.name, 9), b.product_id % 10, count(*) + 1 FROM lines a JOIN products p USING (product_id) JOIN lines b USING (order_id) GROUP BY 1, 2'),
('an aggregate of one side', 'SELECT a.product_id, b.product_id, sum(a.quantity) FROM lines a JOIN lines b USING (order_id) WHERE a.product_id < b.product_id GROUP BY 1, 2'),
('a filter of the aggregate', 'SELECT a.product_id, b.product_id, count(*) FILTER (WHERE a.quantity > 1) FROM lines a JOIN lines b USING (order_id) GROUP BY 1, 2'),
('sums', 'SELECT a.product_id, b.product_id, sum(a.quantity * b.quantity), sum(b.quantity), avg(a.quantity), count(*) FROM lines a JOIN lines b USING (order_id)
    WHERE a.product_id < b.product_id GROUP BY 1, 2'),
('sums by name', 'SELECT p.name, q.name, sum(a.quantity), min(p.price), max(o.day), bool_or(b.quantity > 1), avg(p.price::float4::int4), count(q.category)
    FROM lines a JOIN lines b USING (order_id) JOIN orders o USING (order_id) JOIN products p ON p.product_id = a.product_id
    JOIN products q ON q.product_id = b.product_id WHERE a.product_id < b.product_id GROUP BY 1, 2 HAVING sum(b.quantity) > 5'),
('filters', 'SELECT a.product_id, b.product_id, count(*) FILTER (WHERE a.quantity > 1), count(*) FILTER (WHERE b.quantity < a.quantity),
    avg(a.quantity) FILTER (WHERE b.quantity > 5) FROM lines a JOIN lines b USING (order_id) GROUP BY 1, 2'),
('extremes only', 'SELECT a.product_id, b.product_id, min(a.quantity), max(b.quantity) FROM lines a JOIN lines b USING (order_id) GROUP BY 1, 2'),
('a sum of numeric', 'SELECT a.product_id, b.product_id, sum(p.price) FROM lines a JOIN lines b USING (order_id) JOIN products p ON p.product_id = b.product_id GROUP BY 1, 2'),
('a filter of equal values that differ', 'SELECT a.product_id, b.product_id, count(*) FILTER (WHERE p.price * 2 > 10) FROM lines a JOIN lines b USING (order_id)
    JOIN products p ON p.product_id = b.product_id GROUP BY 1, 2'),
('ON is not WHERE', 'SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id)
    WHERE NOT EXISTS (SELECT FROM returned r WHERE r.order_id = a.order_id AND a.quantity > 1)
    AND NOT EXISTS (SELECT FROM returned r WHERE r.order_id = b.order_id) AND b.quantity > 1 GROUP BY 1, 2'),
('comparisons come before aggregates', 'SELECT a.product_id, b.product_id, sum(6 / (b.quantity - a.quantity)) FROM lines a JOIN lines b USING (order_id)
    WHERE a.quantity < b.quantity GROUP BY 1, 2'),
('conditions come before arguments', 'SELECT a.product_id, b.product_id, sum(6 / (b.quantity - 1)) FILTER (WHERE b.quantity > 1),
    sum(CASE WHEN a.quantity < b.quantity THEN 6 / (b.quantity - 1) END) FROM lines a JOIN lines b USING (order_id) GROUP BY 1, 2'),
('no items compared', 'SELECT p.name, q.name, count(DISTINCT a.order_id) FROM lines a JOIN lines b USING (order_id) JOIN products p ON p.product_id = a.product_id
    JOIN products q ON q.product_id = b.product_id WHERE a.product_id < b.product_id GROUP BY 1, 2'),
('three copies', 'SELECT a.product_id, b.product_id, c.product_id, count(*) FROM lines a JOIN lines b USING (order_id) JOIN lines c USING (order_id)
    WHERE a.product_id < b.product_id AND b.product_id < c.product_id GROUP BY 1, 2, 3');
SELECT number, shape, t.* FROM shapes, try(query) t ORDER BY number;
-- why not
SELECT shape, expression, reason, hint FROM shapes, batmap_explain_why(query) WHERE NOT taken AND reason NOT LIKE '%cheaper%' ORDER BY number;
-- a subquery that locks rows keeps its plan; so does one in it
SELECT relations, expression, reason FROM batmap_explain_why('SELECT a.product_id, b.product_id, count(*)
    FROM lines a JOIN (SELECT * FROM lines FOR UPDATE) b USING (order_id) GROUP BY 1, 2');
CREATE VIEW locked AS SELECT * FROM (SELECT * FROM lines LIMIT 100 FOR KEY SHARE) l OFFSET 0;
SELECT a.product_id < 3, count(*) FROM (SELECT a.product_id, b.product_id AS other, count(*) FROM lines a JOIN locked b USING (order_id) GROUP BY 1, 2) a
    GROUP BY 1 ORDER BY 1;
-- a role that may not count
CREATE ROLE cannot_count;
GRANT USAGE ON SCHEMA shop TO cannot_count;
GRANT SELECT ON lines TO cannot_count;
BEGIN;
REVOKE EXECUTE ON FUNCTION count() FROM public;
SET LOCAL ROLE cannot_count;
SELECT a.product_id, b.product_id, count(*) FROM lines a JOIN lines b USING (order_id) GROUP BY 1, 2;
ROLLBACK;
-- EXPLAIN ANALYZE tells of its query, not of those that functions run
CREATE FUNCTION nested() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT count(*) FROM (SELECT a.product_id + b.quantity FROM lines a JOIN lines b USING (order_id) GROUP BY 1) s);
END $$;
SET batmap.explain_why = on;
\getenv here PG_ABS_SRCDIR
\set explained :here '/sql/explained.psql'
\i :explained
SELECT explained('SELECT nested() > 0');
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT a.product_id + b.quantity FROM lines a JOIN lines b USING (order_id) GROUP BY 1) s;
RESET batmap.explain_why;
SET client_min_messages = warning;
DROP OWNED BY cannot_count;
DROP ROLE cannot_count;
DROP SCHEMA shop CASCADE;
