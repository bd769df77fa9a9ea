-- Rules of two items and recommendations over kept tables and pair counts: the same as over the query, for each measure and argument.
SET client_min_messages = warning;
CREATE TABLE order_lines (order_id int, product_id int, PRIMARY KEY (order_id, product_id));
CREATE TABLE named_lines (order_id int, product text);
CREATE INDEX ON named_lines (order_id);
SELECT batmap_keep('order_lines', 'order_id', 'product_id'), batmap_keep('named_lines', 'order_id', 'product');
SELECT * FROM batmap_rules('order_lines'::regclass, 1);
SELECT * FROM batmap_recommend('{1}', 'order_lines'::regclass);
INSERT INTO order_lines SELECT DISTINCT i / 4, (i * i + i / 7) % 23 FROM generate_series(1, 2000) i;
INSERT INTO named_lines
SELECT order_id, CASE product_id % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'B' ELSE 'ä' END || product_id FROM order_lines;
SELECT batmap_merge_kept('order_lines') > 0 AS merged;
DELETE FROM order_lines WHERE order_id % 20 = 7;
DELETE FROM named_lines WHERE order_id % 20 = 7;

-- Compares two ways to call a function. Without top_k the order of rules is not promised.
CREATE FUNCTION differ(function text, input text, other text, arguments text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE same bool;
BEGIN
    EXECUTE format(
        'SELECT (SELECT array_agg(r) FROM (SELECT * FROM %1$s(%2$s, %4$s) %5$s) r) IS NOT DISTINCT FROM '
        '(SELECT array_agg(r) FROM (SELECT * FROM %1$s(%3$s, %6$s) %5$s) r)', function, input, other, arguments || ', max_lhs => 1',
        CASE WHEN arguments ~ 'top_k' OR function ~ 'recommend' THEN '' ELSE 'ORDER BY 1, 2' END, arguments) INTO same;
    IF same IS NOT TRUE THEN RETURN NEXT concat_ws(' ', function, other, arguments); END IF;
END $$;
CREATE TABLE measures AS SELECT unnest('{confidence,lift,cosine,conviction,leverage,odds_ratio}'::text[]) AS measure;
CREATE TABLE rule_arguments (arguments text);
INSERT INTO rule_arguments VALUES ('min_count => 3'), ('min_support => 0.01'), ('min_count => 5, min_confidence => 0.2'),
('min_count => 2, min_lift => 1.1, lhs_include => ''{1,2,3}'''), ('min_count => 1, lhs_include => ''{}'''),
('min_count => 2, rhs_include => ''{1,2,3}'', rhs_exclude => ''{2}'', exclude => ''{4}'''),
('min_count => 2, lhs_exclude => ''{2}'', lhs_include => ''{5,2}'', rhs_include => ''{6,7}'''), ('min_count => 1000');
CREATE TABLE best (top_k text);
INSERT INTO best VALUES (''), (', top_k => 1'), (', top_k => 7'), (', top_k => 100000');
SELECT differ('batmap_rules', '''SELECT * FROM order_lines''', '''order_lines''::regclass', format('measure => %L, ', measure) || arguments || top_k)
FROM measures, rule_arguments, best;
SELECT differ('batmap_rules_of', '''SELECT * FROM named_lines''', 'batmap_kept_counts_of(''named_lines'')', format('measure => %L, min_count => 2', measure) || items || top_k)
FROM measures, best, unnest(ARRAY['', ', lhs_include => ''{B1,ä2}'', rhs_exclude => ''{a3}''']) items;
CREATE TABLE basket_arguments (arguments text);
INSERT INTO basket_arguments VALUES ('top_k => 5'), ('min_count => 3'), ('min_support => 0.01'), ('min_confidence => 0.2'),
('min_lift => 1.1, include => ''{1,2,3}'''), ('exclude => ''{2,7}'''), ('top_k => NULL');
SELECT differ('batmap_recommend', format('%L, ''SELECT * FROM order_lines''', basket), format('%L, ''order_lines''::regclass', basket), format('measure => %L, ', measure) || arguments)
FROM measures, basket_arguments, unnest(ARRAY['{}', '{7}', '{7,3,3,99}', '{1,2,3,4,5,6,7,8,9,10}']) basket;
SELECT differ('batmap_recommend_of', format('%L, ''SELECT * FROM named_lines''', basket), format('%1$L, batmap_kept_counts_of(''named_lines'', %1$L)', basket), format('measure => %L', measure))
FROM measures, unnest(ARRAY['{}', '{B1}', '{a3,ä2,nowhere}']) basket;
-- the comparison finds a difference
SELECT differ('batmap_rules', '''SELECT * FROM order_lines WHERE order_id > 0''', '''order_lines''::regclass', 'min_count => 1');
-- counts are all that they need
SELECT lhs, rhs, support_count, lhs_count, rhs_count, total FROM batmap_rules((SELECT batmap_pair_counts_agg(t, i) FROM (VALUES (1, 1), (1, 2), (2, 1)) v (t, i)), 1);
SELECT * FROM batmap_rules(NULL::batmap_pair_counts, 1);
SELECT item, lhs FROM batmap_recommend('{2}', (SELECT batmap_pair_counts_agg(t, i) FROM (VALUES (1, 1), (1, 2), (2, 1)) v (t, i)));
SELECT * FROM batmap_recommend(NULL, 'order_lines'::regclass);
SELECT * FROM batmap_rules(NULL::regclass, 1);
SELECT lhs, rhs FROM batmap_rules('order_lines'::regclass, 1, top_k => 2, measure => NULL);
SELECT lhs, rhs, score FROM batmap_rules('order_lines'::regclass, 1, top_k => 2);
SELECT differ('batmap_rules', '''SELECT * FROM order_lines''', '''order_lines''::regclass', 'min_count => 2, measure => ''imbalance''');
SELECT differ('batmap_rules', '''SELECT * FROM order_lines''', '''order_lines''::regclass', 'min_count => 2, top_k => 9');
-- what is refused, with the words of the functions over queries
SELECT * FROM batmap_rules('order_lines'::regclass);
SELECT * FROM batmap_rules('order_lines'::regclass, 2, 0.5);
SELECT * FROM batmap_rules('order_lines'::regclass, 2, min_confidence => 2);
SELECT * FROM batmap_rules('order_lines'::regclass, 2, top_k => 0);
SELECT * FROM batmap_rules('order_lines'::regclass, 2, top_k => 1, measure => 'imbalance');
SELECT * FROM batmap_rules('order_lines'::regclass, 2, rhs_exclude => '{1,NULL}');
SELECT * FROM batmap_recommend('{1,NULL}', 'order_lines'::regclass);
SELECT * FROM batmap_recommend('{1}', 'order_lines'::regclass, min_count => 0);
SELECT * FROM batmap_recommend('{1}', 'order_lines'::regclass, top_k => 0);
SELECT * FROM batmap_rules('named_lines'::regclass, 2);
SELECT * FROM batmap_rules('measures'::regclass, 2);
\set VERBOSITY sqlstate
SELECT * FROM batmap_recommend('{1}', 'order_lines'::regclass, measure => 'x');
DROP TABLE order_lines, named_lines;
DROP TABLE measures, rule_arguments, best, basket_arguments;
DROP FUNCTION differ;
