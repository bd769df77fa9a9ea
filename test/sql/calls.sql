-- Calls as people type them: names as literals, NULLs without a type, parameters by name. All find one function.
CREATE TABLE order_lines (order_id int, product_id int, product text, note text);
INSERT INTO order_lines SELECT i / 3, i % 5, 'p' || i % 5, NULL FROM generate_series(1, 60) i;
CREATE INDEX ON order_lines (order_id);
CREATE FUNCTION number_of(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
    EXECUTE 'SELECT count(*) FROM ' || call INTO n;
    RETURN n;
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ': ' || sqlerrm;
END $$;
-- In each call, INPUT is what is read. All ways to write it give the same number of rows.
CREATE TABLE calls (call text);
INSERT INTO calls VALUES
('batmap_pairs(INPUT, 2)'), ('batmap_pairs(INPUT, min_support => 0.1)'), ('batmap_partners(INPUT)'), ('batmap_partners(INPUT, 2)'), ('batmap_estimate(INPUT, 2)'),
('batmap_itemsets(INPUT, min_count => 2)'), ('batmap_rules(INPUT, min_count => 2)'), ('batmap_rules(INPUT, min_support => 0.1)'), ('batmap_recommend(''{1}'', INPUT)'),
('batmap_itemset_spectrum(INPUT, min_count => 2)'), ('batmap_itemset_estimate(INPUT, min_count => 2)'),
('batmap_pairs_of(INPUT, min_count => 2)'), ('batmap_partners_of(INPUT)'), ('batmap_itemsets_of(INPUT, min_count => 2)'), ('batmap_rules_of(INPUT, min_count => 2)'),
('batmap_recommend_of(''{p1}'', INPUT, min_count => 1)'), ('batmap_itemset_spectrum_of(INPUT, min_count => 2)'), ('batmap_itemset_estimate_of(INPUT, min_count => 2)');
CREATE TABLE inputs (title text, input text);
INSERT INTO inputs VALUES
('query', '''SELECT order_id, ITEM FROM order_lines'''),
('query, NULLs without a type', '''SELECT order_id, ITEM FROM order_lines'', NULL, NULL'),
('query and columns', '''SELECT * FROM order_lines'', ''order_id'', ''ITEM'''),
('table and columns', '''order_lines'', ''order_id'', ''ITEM'''),
('table and typed columns', '''order_lines''::text, ''order_id''::text, ''ITEM''::text'),
('table as a value', '''order_lines''::regclass, ''order_id'', ''ITEM''');
SELECT call, array_agg(DISTINCT number_of(replace(replace(call, 'INPUT', input), 'ITEM', CASE WHEN call ~ '_of\(' THEN 'product' ELSE 'product_id' END))) AS answers, count(*)
FROM calls, inputs GROUP BY call ORDER BY call COLLATE "C";
-- by name, before and behind other parameters
SELECT number_of($$batmap_pairs('order_lines', 2, tid_column => 'order_id', item_column => 'product_id')$$), number_of($$batmap_pairs(query => 'order_lines', tid => 'order_id', item => 'product_id', min_count => 2)$$),
    number_of($$batmap_pairs(min_count => 2, tid_column => 'order_id', item_column => 'product_id', query => 'order_lines')$$),
    number_of($$batmap_pairs(input_table => 'order_lines', tid_column => 'order_id', item_column => 'product_id', min_count => 2)$$);
-- untyped NULLs where a threshold is meant
SELECT count(*) FROM batmap_pairs('SELECT order_id, product_id FROM order_lines', NULL, NULL, NULL, NULL, 3);
SELECT count(*) FROM batmap_partners('SELECT order_id, product_id FROM order_lines', NULL, NULL);
PREPARE partners AS SELECT count(*) FROM batmap_partners($1, $2, $3);
EXECUTE partners('SELECT order_id, product_id FROM order_lines', NULL, NULL);
EXECUTE partners('order_lines', 'order_id', 'product_id');
-- parameters of the text, with and without names of columns
SELECT count(*) FROM batmap_pairs('SELECT order_id, product_id FROM order_lines WHERE order_id < $1', 1, params => ROW(5));
SELECT count(*) FROM batmap_pairs('SELECT * FROM order_lines WHERE order_id < $1', 'order_id', 'product_id', 1, params => ROW(5));
SELECT count(*) FROM batmap_pairs_as(NULL::text, 'SELECT * FROM order_lines WHERE order_id < $1', 1, tid_column => 'order_id', item_column => 'product', params => ROW(5));
SELECT count(*) FROM batmap_estimate('SELECT * FROM order_lines WHERE order_id < $1', 'order_id', 'product_id', 1, params => ROW(5));
EXPLAIN (VERBOSE, COSTS OFF) SELECT item_a FROM batmap_pairs('SELECT * FROM order_lines WHERE order_id < $1', 'order_id', 'product_id', 1, params => ROW(5));
-- what is wrong
SELECT count(*) FROM batmap_pairs('order_lines', 'order_id', NULL, 1);
SELECT count(*) FROM batmap_pairs('order_lines', 'order_id', 'product', 1);
SELECT count(*) FROM batmap_pairs('order_lines', 'order', 'product', 1);
SELECT count(*) FROM batmap_pairs(NULL, 'order', 'product', 1);
-- NULL for the table, its columns or the basket
CREATE TABLE null_calls (input text, call text);
INSERT INTO null_calls SELECT input, format('batmap_%s(%s%s)', name, CASE WHEN name ~ 'recommend_of' THEN '''{p1}'', ' WHEN name ~ 'recommend' THEN '''{1}'', ' ELSE '' END, input)
FROM unnest('{pairs, partners, itemsets, rules, recommend, estimate, itemset_spectrum, itemset_estimate, pairs_of, partners_of, itemsets_of, rules_of, recommend_of}'::text[]) name,
    unnest('{"''order_lines''::regclass, NULL, NULL", "''order_lines''::regclass, ''order_id'', NULL", "NULL::regclass, NULL, NULL", "NULL::regclass, ''order_id'', ''product''"}'::text[]) input;
SELECT input, number_of(call) AS answer, count(*) FROM null_calls GROUP BY 1, 2 ORDER BY input COLLATE "C", 2;
SELECT number_of('batmap_recommend(NULL, ''order_lines''::regclass, ''order_id'', ''product_id'')'), number_of('batmap_recommend_of(NULL, ''order_lines''::regclass, NULL, NULL)');
-- a kept table
SELECT batmap_keep('order_lines', 'order_id', 'product_id');
SELECT count(*) FROM batmap_pairs('order_lines'::regclass);
SELECT count(*) FROM batmap_partners('order_lines'::regclass, min_count => NULL, min_support => NULL);
SELECT count(*) FROM batmap_partners('order_lines'::regclass, NULL, NULL);
SELECT input, number_of(call) AS answer, count(*) FROM null_calls WHERE call ~ 'batmap_(pairs|partners|rules|recommend)\(' GROUP BY 1, 2 ORDER BY input COLLATE "C", 2;
SELECT number_of('batmap_pairs(NULL::regclass)'), number_of('batmap_partners(NULL::regclass)'), number_of('batmap_rules(NULL::regclass, min_count => 1)'), number_of('batmap_recommend(''{1}'', NULL::regclass)'),
    number_of('batmap_recommend(NULL, ''order_lines''::regclass)'), batmap_kept_counts(NULL), batmap_kept_counts(NULL, '{1}'), batmap_kept_counts_of(NULL);
DROP TABLE order_lines, calls, null_calls, inputs CASCADE;
DROP FUNCTION number_of;
