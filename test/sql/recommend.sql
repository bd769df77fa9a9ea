-- batmap_recommend and batmap_recommend_of.
CREATE TABLE baskets (tid int, item int);
INSERT INTO baskets VALUES (1, 10), (1, 20), (1, 30), (2, 10), (2, 20), (3, 10), (3, 20), (3, 40), (4, 40), (4, 30), (4, 30),
    (5, NULL), (NULL, 10);
SELECT * FROM batmap_recommend('{10,20}', 'SELECT tid, item FROM baskets');
SELECT item, score, lhs FROM batmap_recommend('{10}', 'SELECT tid, item FROM baskets', measure => 'lift', min_count => 2);
SELECT item, score, lhs FROM batmap_recommend('{30,40}', 'SELECT tid, item FROM baskets', top_k => 1);
SELECT item, lhs FROM batmap_recommend('{10,40}', 'SELECT tid, item FROM baskets', max_lhs => 1, include => '{30,50}');
SELECT item, lhs FROM batmap_recommend('{10,40}', 'SELECT tid, item FROM baskets', max_lhs => NULL, exclude => '{20,50}');
SELECT item, confidence, lift FROM batmap_recommend('{10}', 'SELECT tid, item FROM baskets', min_confidence => 0.5, min_lift => 1.1);
SELECT item, lhs FROM batmap_recommend('{10}', 'SELECT tid, item FROM baskets', min_support => 0.75, top_k => NULL);
-- items of the basket that repeat or are not known; an empty basket
SELECT item, lhs FROM batmap_recommend('{77,10,10,77}', 'SELECT tid, item FROM baskets', top_k => 2);
SELECT count(*) FROM batmap_recommend('{77}', 'SELECT tid, item FROM baskets');
SELECT count(*) FROM batmap_recommend('{}', 'SELECT tid, item FROM baskets');
SELECT count(*) FROM batmap_recommend(NULL::int8[], 'SELECT tid, item FROM baskets');
SELECT count(*) FROM batmap_recommend('{10}', 'SELECT 1, 2 WHERE false');
SELECT count(*) FROM batmap_recommend('{10}', 'SELECT 1, 10');
SELECT item, lhs FROM batmap_recommend('{-9223372036854775808}', 'VALUES (1, -9223372036854775808), (1, 9223372036854775807)');
-- over a relation, of the baskets of a table
SELECT r.item, r.score FROM batmap_recommend('{10}', (SELECT batmap_relation_agg(tid, item) FROM baskets)) r;
SELECT count(*) FROM batmap_recommend('{10}', NULL::batmap_relation);
SELECT b.who, r.item, r.lhs, r.support_count
FROM (VALUES ('a', '{10,30}'::int8[]), ('b', '{}'), ('c', '{40}'), ('d', NULL)) b (who, items),
    (SELECT batmap_relation_agg(tid, item) AS rows FROM baskets) t, LATERAL batmap_recommend(b.items, t.rows, top_k => 2) r ORDER BY 1, score DESC, 2;
-- items of other types: the basket says which
SELECT *, pg_typeof(item), pg_typeof(lhs) FROM batmap_recommend_of('{i10,i77}', $$SELECT tid, 'i' || item FROM baskets$$, top_k => 2, exclude => '{i40}');
SELECT item, lhs FROM batmap_recommend_as(NULL::date, '{2026-01-11}', $$SELECT tid, date '2026-01-01' + item FROM baskets$$);
SELECT count(*) FROM batmap_recommend_of(NULL, $$SELECT tid, 'i' || item FROM baskets$$);
-- the best rules of batmap_rules, by each measure
CREATE TABLE many AS SELECT t AS tid, i AS item FROM generate_series(1, 300) t, generate_series(1, 40) i
WHERE abs(hashint4(t * 1000 + i)::int8) % 100 < 10 + i;
CREATE TABLE rules AS SELECT lhs, rhs, support_count, lhs_count, rhs_count, total, confidence, lift FROM batmap_rules('SELECT * FROM many', min_count => 12, max_lhs => 3);
SELECT m.name, count(*) AS rows, count(*) FILTER (WHERE found IS DISTINCT FROM wanted) AS different
FROM unnest('{support,confidence,lift,leverage,conviction,jaccard,cosine,phi,odds_ratio}'::text[]) m (name),
    unnest(ARRAY['{1,2,3,39}', '{40,38,20,20,99}', '{5}']::text[]) b (basket),
    LATERAL (SELECT row_number() OVER () AS place, (item, lhs, support_count, lhs_count, rhs_count, total, confidence, lift)::text AS found
        FROM batmap_recommend(b.basket::int8[], 'SELECT * FROM many', top_k => 25, min_count => 12, max_lhs => 3, measure => m.name)) f
    FULL JOIN LATERAL (SELECT row_number() OVER (ORDER BY score DESC, support_count DESC, item) AS place,
            (item, lhs, support_count, lhs_count, rhs_count, total, confidence, lift)::text AS wanted
        FROM (SELECT DISTINCT ON (rhs) rhs[1] AS item, batmap_measure(m.name, support_count, lhs_count, rhs_count, total) AS score, *
            FROM rules WHERE lhs <@ b.basket::int8[] AND NOT rhs <@ b.basket::int8[]
            ORDER BY rhs, score DESC, support_count DESC, cardinality(lhs), lhs) best
        ORDER BY place LIMIT 25) w USING (place)
GROUP BY 1 ORDER BY 1;
SELECT operation, method, input, rows_read > 3000 AS enough, transactions, items, results, truncated FROM batmap_last_run();
EXPLAIN (COSTS off) SELECT item FROM batmap_recommend('{1}', 'SELECT * FROM many', top_k => 5);
SELECT item, lhs FROM batmap_recommend('{1,2}', 'SELECT * FROM many') LIMIT 1;
-- the basket itself is among the transactions, with the largest size
INSERT INTO many SELECT 999, generate_series(1, 40);
SELECT item, lhs, support_count FROM batmap_recommend((SELECT array_agg(i) FROM generate_series(1, 39) i), 'SELECT * FROM many', max_lhs => 1);
SET statement_timeout = '200ms';
SELECT item FROM batmap_recommend((SELECT array_agg(i) FROM generate_series(1, 39) i), 'SELECT * FROM many', max_lhs => NULL);
RESET statement_timeout;
-- refused
SELECT * FROM batmap_recommend('{1}', NULL::text);
SELECT * FROM batmap_recommend('{1,NULL}', 'SELECT 1, 2');
SELECT * FROM batmap_recommend('{1}', 'SELECT 1, 2', top_k => 0);
SELECT * FROM batmap_recommend('{1}', 'SELECT 1, 2', max_lhs => 0);
SELECT * FROM batmap_recommend('{1}', 'SELECT 1, 2', min_count => 1, min_support => 0.5);
SELECT * FROM batmap_recommend('{1}', 'SELECT 1, 2', min_confidence => 2);
SELECT * FROM batmap_recommend('{1}', 'SELECT 1, 2', measure => 'taste');
SELECT * FROM batmap_recommend('{1}', $$SELECT 1, 'x'$$);
SELECT * FROM batmap_recommend_of('{x}', 'SELECT 1, 2');
-- a basket of any size is walked through, and one of which nothing is left ends at once
CREATE TABLE deep AS SELECT 1 AS tid, g AS item FROM generate_series(1, 100000) g;
SET statement_timeout = '1s';
SELECT count(*) FROM batmap_recommend((SELECT array_agg(item::int8) FROM deep WHERE item < 100000), 'TABLE deep', max_lhs => NULL);
RESET statement_timeout;
SELECT count(*) FROM batmap_recommend((SELECT array_agg(item::int8) FROM deep WHERE item <= 40), 'SELECT tid, item FROM deep WHERE item <= 40', max_lhs => NULL);
DROP TABLE deep;
DROP TABLE baskets, many, rules;
