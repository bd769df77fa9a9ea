-- How a query may be given: with parameters, with the names of its columns, with a basket a row.
CREATE TABLE orders (order_id int, customer text, items int[], tags text[], doc jsonb);
INSERT INTO orders VALUES (1, 'ann', '{1,2,3}', '{a,b}', '[1, 2]'), (2, 'ann', '{1,2}', '{b,c,c}', '[2, "1"]'), (3, 'bob', '{2,NULL,3}', '{}', '[]'),
    (4, 'cyd', NULL, NULL, NULL), (5, 'o''hara', '{{1,3},{2,2}}', '{a,c}', '[3]');
CREATE TABLE order_lines AS SELECT order_id AS "order", customer, unnest(items) AS "the item", now() AS at FROM orders;

-- values for $1, $2
PREPARE bought(text, int) AS
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT "order", "the item" FROM order_lines WHERE customer = $1 AND "the item" < $2', 1, params => ROW($1, $2)) ORDER BY 1, 2;
EXECUTE bought('ann', 3);
EXECUTE bought('o''hara', 9);
EXECUTE bought(NULL, 9);
DO $$
DECLARE who text := 'bob'; n int8;
BEGIN
    SELECT count(*) INTO n FROM batmap_pairs('SELECT "order", "the item" FROM order_lines WHERE customer = $1', 1, params => ROW(who));
    RAISE NOTICE '% pairs', n;
END
$$;
-- a literal without a type takes that of its place; a value may be used more than once, in subqueries and CTEs, too
SELECT count(*) FROM batmap_pairs('SELECT "order", "the item" FROM order_lines WHERE "the item" < $1 AND "order" <> ALL ($2)', 1, params => ROW('3', '{1,5}'));
SELECT count(*) FROM batmap_pairs('WITH w AS (SELECT * FROM order_lines WHERE customer > $1) SELECT "order", "the item" FROM w
    WHERE EXISTS (SELECT FROM order_lines o WHERE o."the item" = w."the item" AND o.customer > $1) LIMIT $2', 1, params => ROW('b', 100));
SELECT itemset FROM batmap_itemsets('SELECT "order", "the item" FROM order_lines WHERE customer = $1', min_count => 2, params => ROW('ann'::text)) ORDER BY 1;
SELECT lhs, rhs FROM batmap_rules('SELECT "order", "the item" FROM order_lines WHERE customer = $1', min_count => 2, params => ROW('ann'::text)) ORDER BY 1;
SELECT item FROM batmap_recommend('{1}', 'SELECT "order", "the item" FROM order_lines WHERE customer = $1', params => ROW('ann'::text)) ORDER BY 1;
SELECT item, partner FROM batmap_partners('SELECT "order", "the item" FROM order_lines WHERE customer = $1', params => ROW('ann'::text), items => '{1}');
SELECT a, c FROM batmap_join_project('SELECT "the item", "order" FROM order_lines WHERE customer = $1', 'SELECT "order", "the item" FROM order_lines WHERE customer = $2',
    params => ROW('ann'::text, 'ann'::text)) ORDER BY 1, 2;
SELECT episode FROM batmap_episodes('SELECT "order", "the item" FROM order_lines WHERE customer > $1', ARRAY[0, 2], min_count => 1, params => ROW('b'::text), min_length => 2) ORDER BY 1;
SELECT episode, support_count FROM batmap_episode_count('SELECT "order", "the item" FROM order_lines WHERE customer > $1', '{2,1}', ARRAY[0, 2], params => ROW('b'::text));
SELECT starts_at FROM batmap_episode_occurrences('SELECT "order", "the item" FROM order_lines WHERE customer > $1', '{2,1}', ARRAY[0, 2], params => ROW('b'::text));
SELECT id_a, id_b FROM batmap_all_pairs('SELECT order_id, items::batmap FROM orders WHERE customer = $1', 1, params => ROW('ann'::text));
SELECT transactions FROM batmap_estimate('SELECT "order", "the item" FROM order_lines WHERE customer = $1', 1, params => ROW('ann'::text)) LIMIT 1;
SELECT transactions FROM batmap_itemset_estimate('SELECT "order", "the item" FROM order_lines WHERE customer = $1', 1, params => ROW('ann'::text));
-- the planner knows the value
CREATE FUNCTION rows_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan; RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows'; END $$;
CREATE TABLE wide AS SELECT x % 1000 AS tid, x % 97 * (x % 7) AS item FROM generate_series(1, 20000) x;
ANALYZE wide;
SELECT rows_of($$SELECT * FROM batmap_pairs('SELECT tid, item FROM wide WHERE tid < 10', 2)$$)
     = rows_of($$SELECT * FROM batmap_pairs('SELECT tid, item FROM wide WHERE tid < $1', 2, params => ROW(10))$$) AS equal;
-- refused
SELECT * FROM batmap_pairs('SELECT "order", "the item" FROM order_lines WHERE customer = $1', 1);
SELECT * FROM batmap_pairs('SELECT "order", "the item" FROM order_lines WHERE customer = $2', 1, params => ROW('ann'::text));
\set VERBOSITY terse
SELECT * FROM batmap_pairs('SELECT "order", "the item" FROM order_lines WHERE customer = $1', 1, params => ROW(5));
\set VERBOSITY default
SELECT * FROM batmap_pairs('SELECT "order", "the item" FROM order_lines WHERE "order" = $1', 1, params => ROW('five'));
SELECT * FROM batmap_pairs('SELECT "order", "the item" FROM order_lines; DROP TABLE order_lines', 1, params => ROW(1));
SELECT count(*) FROM batmap_pairs('SELECT "order", "the item" FROM order_lines', 1, params => ROW());
SELECT count(*) FROM batmap_pairs('SELECT "order", "the item" FROM order_lines', 1, params => NULL);

-- a table, and the names of its columns
SELECT item_a, item_b FROM batmap_pairs('TABLE order_lines', 2, tid_column => 'order', item_column => 'the item') ORDER BY 1, 2;
SELECT item_a, item_b FROM batmap_pairs_of('SELECT * FROM order_lines WHERE customer < $1 ORDER BY at', 2, tid_column => 'the item', item_column => 'customer', params => ROW('p'::text)) ORDER BY 1, 2;
EXPLAIN (COSTS OFF) SELECT item_a FROM batmap_pairs('TABLE wide', 400, tid_column => 'tid', item_column => 'item');
SELECT * FROM batmap_pairs('TABLE order_lines', 2);
SELECT * FROM batmap_pairs('TABLE order_lines', 2, tid_column => 'order');
SELECT * FROM batmap_pairs('TABLE order_lines', 2, tid_column => 'order', item_column => 'item');
SELECT * FROM batmap_pairs('SELECT *, "order" FROM order_lines', 2, tid_column => 'order', item_column => 'the item');
SELECT * FROM batmap_pairs('TABLE order_lines', 2, tid_column => 'order', item_column => 'at');

-- the name of a table, as a person and as regclass write it, is a query
SELECT item_a, item_b FROM batmap_pairs('order_lines', 2, tid_column => 'order', item_column => 'the item') ORDER BY 1, 2;
SELECT item_a, item_b FROM batmap_pairs(' public . "order_lines"
', 2, tid_column => 'order', item_column => 'the item') ORDER BY 1, 2;
PREPARE pairs_in(regclass, name, name) AS SELECT item_a, item_b FROM batmap_pairs($1::text, 2, tid_column => $2, item_column => $3) ORDER BY 1, 2;
EXECUTE pairs_in('order_lines', 'order', 'the item');
EXECUTE pairs_in('order_lines', 'order; DROP TABLE order_lines', 'the item');
CREATE SCHEMA "a.b ";
CREATE TABLE "a.b "."x ""SELECT" AS SELECT tid, item FROM wide;
CREATE TABLE cluster AS SELECT tid, item FROM wide WHERE tid < 10;
CREATE TABLE "user" AS SELECT tid, item FROM cluster;
CREATE TABLE größe$1 AS SELECT tid, item FROM cluster;
SELECT relation, count(*) FROM unnest(ARRAY['"a.b "."x ""SELECT"', 'cluster', '"user"', 'größe$1']::regclass[]) relation, batmap_pairs(relation::text, 2)
GROUP BY 1 ORDER BY relation::text COLLATE "C";
SELECT rows_of($$SELECT * FROM batmap_pairs('TABLE wide', 2)$$) = rows_of($$SELECT * FROM batmap_pairs('wide', 2)$$) AS equal;
CREATE VIEW order_lines_2 AS SELECT "order", "the item" FROM order_lines;
SELECT a, c, support_count FROM batmap_join_project('public.order_lines_2', 'order_lines_2') ORDER BY 3 DESC, 1, 2 LIMIT 1;
SELECT count(*) FROM batmap_episodes('order_lines_2', ARRAY[0, 2], min_count => 1);
CREATE VIEW basket_sets AS SELECT order_id, items::batmap FROM orders WHERE order_id < 3;
SELECT id_a, id_b FROM batmap_all_pairs('basket_sets', 1);
SELECT transactions FROM batmap_estimate('cluster', 2) LIMIT 1;
SELECT * FROM batmap_pairs('order_lines', 2);
SELECT * FROM batmap_pairs('no_such', 2);
SELECT * FROM batmap_pairs('no_such.order_lines', 2);
WITH few AS (SELECT * FROM order_lines_2) SELECT * FROM batmap_pairs('SELECT * FROM few', 2);
SELECT * FROM batmap_pairs('select', 2);
SELECT * FROM batmap_pairs('user', 2);
SELECT * FROM batmap_pairs('begin', 2);
SELECT * FROM batmap_pairs('wide x', 2);
SELECT * FROM batmap_pairs('wide; DROP TABLE wide', 2);
SELECT * FROM batmap_pairs('wide.', 2);
SELECT * FROM batmap_pairs('"wide', 2);
SELECT * FROM batmap_pairs('"wide""', 2);
SELECT * FROM batmap_pairs('""', 2);
SELECT * FROM batmap_pairs('  ', 2);

-- a table as a regclass, with the names of its columns
SELECT item_a, item_b FROM batmap_pairs('order_lines'::regclass, 'order', 'the item', 2) ORDER BY 1, 2;
SELECT item_a, item_b FROM batmap_pairs('order_lines'::regclass, tid_column => 'order', item_column => 'the item', min_count => 2, top_k => 1);
SELECT item_a, item_b, support_count FROM batmap_pairs_of('order_lines'::regclass, 'the item', 'customer', 2) ORDER BY 1, 2;
SELECT item, partner FROM batmap_partners('order_lines'::regclass, 'order', 'the item', items => '{1}', top_k => 1);
SELECT item, partner FROM batmap_partners_of('order_lines'::regclass, 'the item', 'customer', items => '{bob}', top_k => 1);
SELECT itemset FROM batmap_itemsets('order_lines'::regclass, 'order', 'the item', 3, min_length => 2);
SELECT itemset FROM batmap_itemsets_of('order_lines'::regclass, 'the item', 'customer', 3, min_length => 2);
SELECT lhs, rhs FROM batmap_rules('order_lines'::regclass, 'order', 'the item', 2, min_confidence => 1) ORDER BY 1, 2;
SELECT lhs, rhs FROM batmap_rules_of('order_lines'::regclass, 'the item', 'customer', 2, min_confidence => 1) ORDER BY 1, 2;
SELECT item, lhs FROM batmap_recommend('{1}', 'order_lines'::regclass, 'order', 'the item', exclude => '{2}');
SELECT item, lhs FROM batmap_recommend_of('{bob}', 'order_lines'::regclass, 'the item', 'customer', top_k => 1);
SELECT length, itemsets FROM batmap_itemset_spectrum('order_lines'::regclass, 'order', 'the item', 3);
SELECT length, itemsets FROM batmap_itemset_spectrum_of('order_lines'::regclass, 'the item', 'customer', 3);
SELECT itemsets FROM batmap_itemset_estimate('order_lines'::regclass, 'order', 'the item', 1);
SELECT itemsets FROM batmap_itemset_estimate_of('order_lines'::regclass, 'the item', 'customer', 1);
SELECT transactions FROM batmap_estimate('order_lines'::regclass, 'order', 'the item', 1) LIMIT 1;
SELECT count(*) FROM batmap_pairs('"a.b "."x ""SELECT"'::regclass, 'tid', 'item', 400);
-- the planner knows it, and a literal without a type is a query
SELECT rows_of($$SELECT * FROM batmap_pairs('TABLE wide', 2)$$) = rows_of($$SELECT * FROM batmap_pairs('wide'::regclass, 'tid', 'item', 2)$$) AS equal;
SELECT rows_of($$SELECT * FROM batmap_pairs('wide'::regclass, 'tid', 'item', 2, top_k => 7)$$);
EXPLAIN (VERBOSE, COSTS OFF) SELECT item_a FROM batmap_pairs('wide'::regclass, 'tid', 'item', 400);
EXPLAIN (COSTS OFF) SELECT item_a FROM batmap_pairs('wide', min_count => 400, tid_column => 'tid', item_column => 'item');
PREPARE pairs_of_table(regclass, name, name) AS SELECT count(*) FROM batmap_pairs($1, $2, $3, 2);
EXECUTE pairs_of_table('order_lines', 'order', 'the item');
EXECUTE pairs_of_table(NULL, 'order', 'the item');
EXECUTE pairs_of_table('order_lines', 'order', NULL);
EXECUTE pairs_of_table('order_lines', 'order', 'item');
EXECUTE pairs_of_table('order_lines', 'order', 'at');
EXECUTE pairs_of_table(0, 'order', 'item');
SELECT count(*) FROM batmap_pairs('order_lines'::regclass, 'order', 'the item');
-- a number behind the names is min_count, for each function, whether the table or query has a type or not, and whatever type the number
-- has; it must have one where the fourth place of another form is no number
CREATE FUNCTION answer_of(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    EXECUTE format('SELECT md5(string_agg(r::text, '' '' ORDER BY r::text)) FROM %s r', call) INTO r;
    RETURN r;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE named_calls (call text, items text);
INSERT INTO named_calls SELECT 'batmap_' || name || '(INPUT, COUNT)', 'the item' FROM unnest('{pairs,partners,itemsets,rules,estimate,itemset_spectrum,itemset_estimate}'::text[]) name;
INSERT INTO named_calls SELECT 'batmap_' || name || '_of(INPUT, COUNT)', 'customer' FROM unnest('{pairs,partners,itemsets,rules,itemset_spectrum,itemset_estimate}'::text[]) name;
INSERT INTO named_calls VALUES ('batmap_recommend(''{1}'', INPUT, COUNT)', 'the item'), ('batmap_recommend_of(''{bob}'', INPUT, COUNT)', 'customer'),
('batmap_recommend(''{1}''::int8[], INPUT, COUNT)', 'the item');
CREATE VIEW bare_calls AS
    SELECT call, input, count, answer_of(replace(replace(call, 'INPUT', format('%s, %L, %L', input, tid, items)), 'COUNT', count)) AS answer,
        answer_of(replace(replace(call, 'INPUT', format('''SELECT %I, %I FROM order_lines''', tid, items)), 'COUNT', 'min_count => 2')) AS expected
    FROM named_calls CROSS JOIN LATERAL (SELECT CASE items WHEN 'customer' THEN 'the item' ELSE 'order' END) t (tid),
        unnest(ARRAY['''order_lines''', '''TABLE order_lines''::text', '''order_lines''::regclass']) input,
        unnest(ARRAY['2', '2::int2', '2::int8', '''2''', '2.0::float8', 'min_count => 2', 'min_count => ''2''', 'min_count => 2::int2', 'min_count => (SELECT 2::int8)', '2, 0.0 * NULL::float8']) count
    WHERE NOT (call ~ 'pairs|partners|estimate\(' AND call !~ 'itemset' AND count ~ '^''|float8$');
SELECT count(*), count(DISTINCT expected), count(*) FILTER (WHERE answer = expected AND answer !~ ' ') AS same FROM bare_calls;
SELECT * FROM bare_calls WHERE answer IS DISTINCT FROM expected OR answer ~ ' ' ORDER BY 1, 2, 3 LIMIT 10;
-- as a driver sends it, without types and with
PREPARE bare_untyped AS SELECT count(*) FROM batmap_itemsets($1, $2, $3, $4);
EXECUTE bare_untyped('order_lines', 'order', 'the item', 2);
PREPARE bare_typed(text, text, text, int2) AS SELECT count(*) FROM batmap_rules($1, $2, $3, $4);
EXECUTE bare_typed('order_lines', 'order', 'the item', 2);
-- the planner knows the number, and more arguments may follow
SELECT rows_of($$SELECT * FROM batmap_itemsets('TABLE wide', 2)$$) = rows_of($$SELECT * FROM batmap_itemsets('wide', 'tid', 'item', 2)$$) AS equal;
SELECT itemset, support_count FROM batmap_itemsets('order_lines', 'order', 'the item', 2, NULL, 0.75, 2) ORDER BY 1;
SELECT lhs, rhs, confidence FROM batmap_rules('order_lines', 'order', 'the item', 2, NULL, 1.0) ORDER BY 1, 2;
SELECT count(*) FROM batmap_itemsets('SELECT * FROM order_lines WHERE "order" < $1', 'order', 'the item', 1, params => ROW(3));
-- it is a whole number
SELECT * FROM batmap_itemsets('order_lines', 'order', 'the item', 2.5);
SELECT * FROM batmap_itemsets('order_lines', 'order', 'the item', 'NaN');
SELECT * FROM batmap_recommend('{1}', 'order_lines', 'order', 'the item', 1e30);
SELECT * FROM batmap_rules('order_lines'::regclass, 'order', 'the item', 0);
DROP VIEW bare_calls;
DROP TABLE named_calls;
DROP FUNCTION answer_of;
-- a regclass may be the type of items
SELECT length, itemsets FROM batmap_itemset_spectrum_as('pg_class'::regclass, 'SELECT 1, ''pg_proc''::regclass', 1);
-- it is tracked: a view moves with its table, which cannot be dropped before
CREATE VIEW frequent AS SELECT item_a, item_b FROM batmap_pairs('order_lines'::regclass, 'order', 'the item', 2);
ALTER TABLE order_lines RENAME TO order_rows;
SELECT count(*) FROM frequent;
DROP TABLE order_rows;
ALTER TABLE order_rows RENAME TO order_lines;
DROP VIEW frequent;
-- rights are those of the caller
CREATE ROLE batmap_stranger;
SET ROLE batmap_stranger;
SELECT count(*) FROM batmap_pairs('order_lines'::regclass, 'order', 'the item', 2);
RESET ROLE;
DROP ROLE batmap_stranger;

-- a value of one of two queries may have no type in the other
SELECT item_a, item_b, support_count FROM batmap_count_pairs_of('SELECT "order", customer FROM order_lines', 'SELECT $1::text, $2', params => ROW('ann', 'bob'));

-- columns that look swapped
CREATE TABLE sold AS SELECT i % 100 AS product, i / 7 AS receipt FROM generate_series(0, 14000) i;
SELECT count(*) FROM batmap_pairs('SELECT product, receipt FROM sold', 8);
SELECT count(*) FROM batmap_partners('sold', 8);
SELECT count(*) FROM batmap_itemsets('sold', 8);
SELECT count(*) FROM batmap_rules_of('SELECT product, receipt::text FROM sold', 8);
SELECT count(*) FROM batmap_recommend('{1}', 'sold', 8);
SELECT count(*) FROM batmap_pairs('SELECT receipt, product FROM sold', 150);
SELECT count(*) FROM batmap_pairs('sold', 8, tid_column => 'product', item_column => 'receipt');
SELECT count(*) FROM batmap_pairs('SELECT product, array_agg(receipt) FROM sold GROUP BY 1', 8);
SET enable_sort = off;
SELECT count(*) FROM (SELECT a.receipt, b.receipt FROM sold a JOIN sold b USING (product) WHERE a.receipt < b.receipt GROUP BY 1, 2 HAVING count(*) >= 8) q;
RESET enable_sort;
SET client_min_messages = warning;
SELECT count(*) FROM batmap_pairs('sold', 8);
RESET client_min_messages;
DROP TABLE sold;

-- a basket a row: an array, a jsonb array
SELECT * FROM batmap_pairs('SELECT order_id, items FROM orders', 1) EXCEPT SELECT * FROM batmap_pairs('SELECT order_id, unnest(items) FROM orders', 1);
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT order_id, items FROM orders', 1) ORDER BY 1, 2;
SELECT item_a, item_b, support_count FROM batmap_pairs_of('SELECT order_id, tags FROM orders', 1) ORDER BY 1, 2;
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT order_id, doc FROM orders', 1) ORDER BY 1, 2;
SELECT item_a, item_b, support_count FROM batmap_pairs_of('SELECT order_id, doc::json FROM orders', 1) ORDER BY 1, 2;
CREATE DOMAIN item_set AS batmap;
CREATE VIEW order_sets AS SELECT order_id, (SELECT batmap_agg(item) FROM unnest(items) item) AS items FROM orders;
SELECT item_a, item_b, support_count FROM batmap_pairs('TABLE order_sets', 1) ORDER BY 1, 2;
SELECT itemset, support_count FROM batmap_itemsets('SELECT order_id, items::item_set FROM order_sets', min_count => 2) ORDER BY 1;
SELECT item_a, item_b, support_count FROM batmap_pairs_as(NULL::batmap, 'SELECT order_id % 2, items FROM order_sets', 1) ORDER BY 1, 2 LIMIT 1;
SELECT * FROM batmap_pairs_of('TABLE order_sets', 1);
SELECT item_a, item_b FROM batmap_pairs('TABLE orders', 2, tid_column => 'order_id', item_column => 'items') ORDER BY 1, 2;
SELECT itemset, support_count FROM batmap_itemsets_of('SELECT order_id, tags FROM orders WHERE customer <> $1', min_count => 2, params => ROW('bob')) ORDER BY 1;
CREATE DOMAIN tag_list AS text[];
SELECT item_a, item_b FROM batmap_pairs_of('SELECT order_id, tags::tag_list FROM orders', 1) ORDER BY 1, 2;
SELECT * FROM batmap_pairs('SELECT order_id, tags FROM orders', 1);
SELECT * FROM batmap_pairs_of('SELECT order_id, items FROM orders', 1);
SELECT * FROM batmap_pairs('SELECT 1, jsonb ''{"a": 1}''', 1);
SELECT * FROM batmap_pairs('SELECT 1, jsonb ''["x"]''', 1);
-- A message after the rows have been read has no context of theirs.
SELECT count(*) FROM batmap_pairs('SELECT 1, jsonb ''[1, 2, 3]''', 1, max_results => 1);
SELECT * FROM batmap_pairs('SELECT items, order_id FROM orders', 1) LIMIT 0;
-- Parameters from a row whose type has lost a column.
CREATE TABLE wanted (gone int, customer text, order_id int);
ALTER TABLE wanted DROP gone;
INSERT INTO wanted VALUES ('bob', 1);
SELECT item_a, item_b FROM wanted w, batmap_pairs('SELECT order_id, items FROM orders WHERE customer <> $1 AND order_id >= $2', 1, params => w) ORDER BY 1, 2;
DROP TABLE wanted;
SELECT * FROM batmap_join_project('SELECT order_id, items FROM orders', 'SELECT 1, 2');
-- A name without a schema.
SET search_path = '';
SELECT * FROM public.batmap_pairs('SELECT order_id, 1 FROM orders', 1);
SELECT * FROM public.batmap_pairs('SELECT order_id, 1 FROM public.order', 1);
SELECT * FROM public.batmap_pairs('SELECT order_id, ''größe'' FROM public.größen', 1);
RESET search_path;
DROP VIEW order_lines_2, basket_sets, order_sets;
DROP TABLE orders, order_lines, wide, "a.b "."x ""SELECT", cluster, "user", größe$1;
DROP SCHEMA "a.b ";
DROP FUNCTION rows_of;
DROP DOMAIN tag_list;
