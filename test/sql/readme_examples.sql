-- The examples of README.md, over tables of their names.
CREATE TABLE orders (order_id int, country text);
CREATE TABLE order_lines (order_id int, product_id int, quantity int);
INSERT INTO orders SELECT i, CASE WHEN i % 3 = 0 THEN 'PL' ELSE 'DK' END FROM generate_series(1, 600) i;
INSERT INTO order_lines SELECT i, p, 1 FROM generate_series(1, 600) i, generate_series(1, 12) p WHERE i % p = 0;
SELECT * FROM batmap_pairs('SELECT order_id, product_id FROM order_lines', min_count => 100)
ORDER BY support DESC, item_a, item_b LIMIT 5;
-- the self-join that it replaces
SELECT a.product_id AS item_a, b.product_id AS item_b, count(*) AS support
FROM order_lines a JOIN order_lines b USING (order_id) WHERE a.product_id < b.product_id GROUP BY 1, 2
HAVING count(*) >= 100 ORDER BY 3 DESC, 1, 2 LIMIT 5;
-- confidence and lift
SELECT item_a, item_b, round((support::float8 / support_a)::numeric, 3) AS confidence,
       round((support::float8 * total / (support_a::float8 * support_b))::numeric, 3) AS lift
FROM batmap_pairs('SELECT order_id, product_id FROM order_lines', top_k => 3);
-- once per group
SELECT q.country, p.item_a, p.item_b, p.support
FROM (SELECT country, batmap_relation_agg(order_id, product_id) AS r
      FROM order_lines JOIN orders USING (order_id) GROUP BY country) q,
     LATERAL batmap_pairs(q.r, min_count => 50) p
ORDER BY 1, 4 DESC, 2, 3 LIMIT 5;
SELECT country, (SELECT sum(support) FROM unnest(batmap_pairs_agg(order_id, product_id, 50))) AS support
FROM order_lines JOIN orders USING (order_id) GROUP BY 1 ORDER BY 1;
-- itemsets and rules
SELECT * FROM batmap_itemsets('SELECT order_id, product_id FROM order_lines', min_support => 0.001, min_length => 2)
ORDER BY support DESC, length, itemset LIMIT 5;
SELECT lhs, rhs, support_count, confidence FROM batmap_rules('SELECT order_id, product_id FROM order_lines', min_support => 0.001,
    min_confidence => 0.5) ORDER BY confidence, support_count DESC, lhs, rhs LIMIT 5;
SELECT item, score, lhs FROM batmap_recommend('{10,4}', 'SELECT order_id, product_id FROM order_lines', min_count => 10);
-- episodes
CREATE TABLE clicks AS
    SELECT '2024-05-01'::timestamptz + i * interval '4 min' AS at, (ARRAY['home', 'search', 'cart'])[i % 3 + 1] AS page, i / 6 AS visitor
    FROM generate_series(0, 1199) i;
SELECT * FROM batmap_episodes_of(NULL::text, 'SELECT at, page, visitor FROM clicks', ARRAY[interval '0', '10 min'], min_count => 100)
ORDER BY support DESC, episode LIMIT 5;
-- names and values from outside
SELECT count(*) FROM batmap_pairs(format('SELECT %I, %I FROM %I WHERE quantity >= %L', 'order_id', 'product_id', 'order_lines', 1), min_count => 1);
DROP TABLE orders, order_lines;
