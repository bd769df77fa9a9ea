-- batmap_rules and batmap_rules_of.
-- Oracles are plain joins, answered by the plain plan.
SET batmap.enable_join_project = off;
CREATE TABLE baskets (tid int, item int);
INSERT INTO baskets VALUES (1, 10), (1, 20), (1, 30), (2, 10), (2, 20), (3, 10), (3, 20), (3, 40), (4, 40), (4, 30), (4, 30),
    (5, NULL), (NULL, 10);
\x on
SELECT * FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 2);
\x off
SELECT lhs, rhs, support_count, lhs_count, rhs_count, round(confidence::numeric, 3) AS confidence, round(lift::numeric, 3) AS lift
FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, min_confidence => 0.3, max_rhs => 2) ORDER BY 1, 2;
-- the measures are those of batmap_measure
SELECT count(*) AS rules, count(*) FILTER (WHERE r.confidence = batmap_measure('confidence', support_count, lhs_count, rhs_count, total)
    AND r.lift = batmap_measure('lift', support_count, lhs_count, rhs_count, total)
    AND r.leverage = batmap_measure('leverage', support_count, lhs_count, rhs_count, total)
    AND r.conviction = batmap_measure('conviction', support_count, lhs_count, rhs_count, total)) AS same
FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, max_rhs => 2) r;
SELECT lhs, rhs FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, max_lhs => 1, rhs_include => '{30,40}') ORDER BY 1, 2;
SELECT lhs, rhs FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, lhs_exclude => '{10}', rhs_exclude => '{20}') ORDER BY 1, 2;
SELECT lhs, rhs FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, lhs_include => '{40}', exclude => '{20}') ORDER BY 1, 2;
SELECT lhs, rhs, lift FROM batmap_rules('SELECT tid, item FROM baskets', min_support => 0.5, min_lift => 1.2) ORDER BY 1, 2;
SELECT lhs, rhs FROM batmap_rules((SELECT batmap_relation_agg(tid, item) FROM baskets), min_count => 3) ORDER BY 1, 2;
SELECT count(*) FROM batmap_rules(NULL::batmap_relation, min_count => 1);
SELECT lhs, rhs, pg_typeof(lhs) FROM batmap_rules_of($$SELECT tid, 'i' || item FROM baskets$$, min_count => 1,
    lhs_include => '{i40,x}', rhs_exclude => '{i30}') ORDER BY 1, 2;
-- compared with plain SQL
CREATE TABLE many AS SELECT t AS tid, i AS item FROM generate_series(1, 200) t, generate_series(1, 40) i
WHERE abs(hashint4(t * 1000 + i)::int8) % 100 < 30;
SELECT count(*), sum(support_count), sum(lhs_count), sum(rhs_count)
FROM batmap_rules('SELECT * FROM many', min_count => 15, max_lhs => 1, min_confidence => 0.3);
WITH items AS (SELECT item, count(*) AS n FROM many GROUP BY 1),
pairs AS (SELECT a.item AS a, b.item AS b, count(*) AS n FROM many a JOIN many b USING (tid) WHERE a.item <> b.item GROUP BY 1, 2)
SELECT count(*), sum(p.n), sum(l.n), sum(r.n) FROM pairs p JOIN items l ON l.item = a JOIN items r ON r.item = b
WHERE p.n >= 15 AND 10 * p.n >= 3 * l.n;
SELECT operation, method, input, transactions, results = 0 AS none, truncated FROM batmap_last_run();
-- the best by a measure: more support, fewer items, then smaller ones
SELECT lhs, rhs, support_count, lift FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, max_rhs => 2, top_k => 5, measure => 'lift');
CREATE TABLE many_rules AS SELECT * FROM batmap_rules('SELECT * FROM many', min_count => 8, max_lhs => 2, max_rhs => 2);
SELECT m.name, count(*) AS rows, count(*) FILTER (WHERE f.rule IS DISTINCT FROM w.rule) AS different
FROM unnest('{confidence,lift,phi,conviction,jaccard,support,chiSquared}'::text[]) m (name),
    LATERAL (SELECT row_number() OVER () AS place, (lhs, rhs, support_count, confidence, score)::text AS rule
        FROM batmap_rules('SELECT * FROM many', min_count => 8, max_lhs => 2, max_rhs => 2, top_k => 200, measure => m.name) r) f
    FULL JOIN LATERAL (SELECT row_number() OVER (ORDER BY batmap_measure(m.name, support_count, lhs_count, rhs_count, total) DESC, support_count DESC,
            cardinality(lhs) + cardinality(rhs), lhs, rhs) AS place,
        (lhs, rhs, support_count, confidence, batmap_measure(m.name, support_count, lhs_count, rhs_count, total))::text AS rule FROM many_rules r ORDER BY place LIMIT 200) w USING (place)
GROUP BY 1 ORDER BY 1;
DROP TABLE many_rules;
-- the score is the measure, with and without top_k, as a plan node and as a function scan; without a measure it is NULL
CREATE FUNCTION score_differs(arguments text, scan text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    of text;
    name text;
    rules int8;
    same int8;
BEGIN
    FOREACH of IN ARRAY ARRAY['', '_of'] LOOP
        FOREACH name IN ARRAY '{confidence,lift,conviction,phi,imbalance,fishers_exact_test,oddsRatio}'::text[] LOOP
            CONTINUE WHEN arguments ~ 'top_k' AND name IN ('imbalance', 'fishers_exact_test');
            EXECUTE format('SELECT count(*), count(*) FILTER (WHERE score IS NOT DISTINCT FROM batmap_measure(%1$L, support_count, lhs_count, rhs_count, total)) '
                'FROM batmap_rules%2$s(''SELECT tid, item%3$s FROM baskets'', measure => %1$L, %4$s) %5$s', name, of,
                CASE of WHEN '' THEN '' ELSE '::text' END, arguments, scan) INTO rules, same;
            IF same <> rules OR rules = 0 THEN RETURN NEXT format('%s%s %s: %s of %s', name, of, arguments, same, rules); END IF;
        END LOOP;
    END LOOP;
END $$;
CREATE TABLE score_arguments (arguments text);
INSERT INTO score_arguments VALUES ('min_count => 1'), ('min_count => 1, max_rhs => 2'), ('min_count => 1, top_k => 3');
SELECT score_differs(arguments, scan) FROM score_arguments, unnest(ARRAY['', 'WITH ORDINALITY']) scan;
DROP TABLE score_arguments;
DROP FUNCTION score_differs;
SELECT lhs, rhs, confidence, score FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 3);
SELECT lhs, rhs, score FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 3, top_k => 1);
SELECT lhs, rhs, score FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 3, measure => 'lift');
SELECT score, lift FROM batmap_rules_as(NULL::int, (SELECT batmap_relation_agg(tid, item::text) FROM baskets), min_count => 3, measure => 'lift');
-- 0 / 0
SELECT lhs, rhs, score, score IS NULL AS is_null FROM batmap_rules('VALUES (1, 1), (1, 2)', min_count => 1, measure => 'phi');
SELECT count(*), count(score) FROM batmap_rules('VALUES (1, 1), (1, 2)', min_count => 1, measure => 'phi');
SELECT count(*) FROM batmap_rules('VALUES (1, 1), (1, 2)', min_count => 1, measure => 'phi') WHERE score IS NULL;
SELECT lhs, rhs, score FROM batmap_rules((SELECT batmap_pair_counts_agg(t, i) FROM (VALUES (1, 1), (1, 2)) v (t, i)), 1, measure => 'phi');
SELECT lhs, rhs, score FROM batmap_rules('VALUES (1, 1), (1, 2)', min_count => 1, measure => 'phi', top_k => 5);
-- cut off
SELECT lhs, rhs FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 2, max_results => 1);
SELECT results, truncated FROM batmap_last_run();
SELECT lhs, rhs FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 2) LIMIT 1;
SELECT count(*) FROM batmap_rules('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 60) i', min_count => 3, timeout => '200 ms');
SELECT results, truncated FROM batmap_last_run();
SELECT count(*) > 100 AS some FROM batmap_rules('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 16) i', min_count => 3,
    max_rhs => 16, timeout => '200 ms');
SELECT results > 100 AS some, truncated FROM batmap_last_run();
SET batmap.on_truncation = error;
SELECT lhs, rhs FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 2, max_results => 1);
SELECT count(*) FROM batmap_rules('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 60) i', min_count => 3, timeout => '200 ms');
SELECT lhs, rhs FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 2, max_results => 2) LIMIT 1;
RESET batmap.on_truncation;
SET statement_timeout = '200ms';
SELECT count(*) FROM batmap_rules('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 60) i', min_count => 3);
SELECT count(*) FROM batmap_rules('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 18) i', min_count => 3, max_rhs => 18);
RESET statement_timeout;
-- a NULL is no bound, on either side
SELECT max(cardinality(lhs)) AS longest_lhs, max(cardinality(rhs)) AS longest_rhs, count(*)
FROM batmap_rules('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 5) i', min_count => 3, max_lhs => NULL, max_rhs => NULL);
-- refused
SELECT * FROM batmap_rules('SELECT tid, item FROM baskets');
SELECT * FROM batmap_rules_of('SELECT tid, item::text FROM baskets', 100, 0.5);
SELECT * FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, min_confidence => 2);
SELECT * FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, max_lhs => 0);
SELECT * FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, rhs_include => '{NULL}');
SELECT * FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, top_k => 0);
SELECT * FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, measure => 'imbalance', top_k => 1);
SELECT * FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 1, timeout => '0 s');
SELECT * FROM batmap_rules(NULL::text, min_count => 1);
DROP TABLE baskets, many;
