-- Itemsets, rules and recommendations at the edges: NULL arguments, odd inputs, extreme values, and the ways rows are asked for.
SELECT count(*) FROM batmap_itemsets('SELECT 1, 2', min_count => 1, target => NULL, algorithm => NULL, include => NULL);
SELECT count(*) FROM batmap_rules('SELECT 1, 2', min_count => 1, max_rhs => NULL, measure => NULL);
-- inputs that are none
SELECT * FROM batmap_itemsets('', min_count => 1);
SELECT * FROM batmap_itemsets('SELECT 1', min_count => 1);
SELECT * FROM batmap_itemsets('SELECT 1, 2; SELECT 1, 2', min_count => 1);
SELECT * FROM batmap_itemsets('DELETE FROM x', min_count => 1);
-- extreme items, one row, rows that come again and again
SELECT itemset, support_count FROM batmap_itemsets('VALUES (1, 9223372036854775807), (1, -9223372036854775808), (1, 0), (2, -9223372036854775808)', min_count => 1);
SELECT lhs, rhs, lift FROM batmap_rules('VALUES (1, 9223372036854775807), (1, -9223372036854775808), (2, -9223372036854775808)', min_count => 1);
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_count => 1);
SELECT * FROM batmap_itemsets('SELECT 1, 5 FROM generate_series(1, 100)', min_count => 1);
-- thresholds and bounds
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_count => 9223372036854775807);
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_support => 0);
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_support => 'NaN');
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_support => 1e-300);
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_count => 1, max_length => 2147483647, min_length => 1);
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_count => 1, include => '{}');
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_count => 1, exclude => '{}');
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_count => 1, include => '{{5,6},{7,8}}');
SELECT * FROM batmap_itemsets('SELECT 1, 5', min_count => 1, timeout => '1000000 years');
SELECT * FROM batmap_rules('SELECT 1, 5', min_count => 1, min_confidence => 'NaN');
SELECT * FROM batmap_rules('SELECT 1, 5', min_count => 1, min_lift => 'Infinity');
SELECT * FROM batmap_recommend('{1}', 'SELECT 1, 5', min_support => 1e-10, top_k => 9223372036854775807);
SELECT * FROM batmap_recommend('{{1,2},{3,4}}', 'VALUES (1, 1), (1, 4), (1, 5)');
SELECT * FROM batmap_recommend_of('{}', 'VALUES (1, text ''a'')');
SELECT * FROM batmap_recommend_as(NULL::point, '{"(1,1)"}', 'VALUES (1, point ''(1,1)'')');
SELECT * FROM batmap_itemset_spectrum_as(NULL, 'SELECT 1, 2', min_count => 1);
SELECT count(*) FROM batmap_recommend('{1}', 'VALUES (1, 1), (1, 2)') l, batmap_recommend('{1}', 'VALUES (1, 1), (1, 2)') r;
-- plans, cursors, window functions, rescans, prepared statements
\getenv here PG_ABS_SRCDIR
\set explained :here '/sql/explained.psql'
\i :explained
SELECT explained('SELECT count(*) FROM batmap_itemsets(''VALUES (1, 1), (1, 2)'', min_count => 1)');
EXPLAIN (VERBOSE, COSTS off) SELECT item FROM batmap_recommend('{1}', 'VALUES (1, 1), (1, 2)') WHERE lift > 0;
SELECT explained('SELECT lhs FROM batmap_rules(''VALUES (1, 1), (1, 2)'', min_count => 1) LIMIT 1');
DROP FUNCTION explained;
SET batmap.threads = 1;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT itemset FROM batmap_itemsets('VALUES (1, 1), (1, 2)', min_count => 1);
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;
SELECT itemset, lead(itemset) OVER () FROM batmap_itemsets('VALUES (1, 1), (1, 2)', min_count => 1);
SELECT array_agg(lhs || rhs) FROM batmap_rules('VALUES (1, 1), (1, 2), (1, 3)', min_count => 1, max_lhs => 1);
SELECT r.* FROM generate_series(1, 3) g, LATERAL batmap_recommend(ARRAY[g], 'VALUES (1, 1), (1, 2), (2, 3)', top_k => g) r;
SELECT (batmap_itemsets('VALUES (1, 1), (1, 2)', min_count => 1)).*;
PREPARE p(int8[]) AS SELECT item FROM batmap_recommend($1, 'VALUES (1, 1), (1, 2)');
EXECUTE p('{1}');
EXECUTE p('{2}');
RESET batmap.threads;
DEALLOCATE p;
-- of lengths that nobody asked for, no number is too large and no subset is written
SELECT * FROM batmap_itemset_spectrum('SELECT 1, g FROM generate_series(1, 70) g', min_count => 1, min_length => 69);
SELECT count(*) FROM batmap_itemsets('SELECT 1, g FROM generate_series(1, 40) g', min_count => 1, min_length => 40);
SELECT itemsets, exact FROM batmap_itemset_estimate('SELECT 1, g FROM generate_series(1, 70) g', min_count => 1, min_length => 70);
-- rules of counts that lack their parts
SELECT * FROM batmap_rules(batmap_itemset_candidates('VALUES (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (3, 3)', min_count => 1, include => '{3}'),
    min_count => 1, lhs_exclude => '{3}', rhs_exclude => '{3}');
