-- Measures of how strongly two items go together, and the best pairs by one.
CREATE TABLE measure_counts(n_both int8, n_lhs int8, n_rhs int8, n_total int8);
INSERT INTO measure_counts VALUES (10, 20, 40, 1000), (20, 20, 40, 1000), (0, 3, 5, 10), (1, 1, 1, 1), (5, 5, 10, 10), (0, 0, 0, 0), (3, 4, 5, 9);
SELECT c.*, m.* FROM measure_counts c, LATERAL (
    SELECT batmap_measure('support', n_both, n_lhs, n_rhs, n_total) AS support,
           batmap_measure('jaccard', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS jaccard,
           batmap_measure('dice', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS dice,
           batmap_measure('cosine', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS cosine,
           batmap_measure('lift', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS lift,
           batmap_measure('leverage', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS leverage,
           batmap_measure('phi', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS phi) m;
SELECT c.*, m.* FROM measure_counts c, LATERAL (
    SELECT batmap_measure('kulczynski', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS kulczynski,
           batmap_measure('all_confidence', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS all_confidence,
           batmap_measure('max_confidence', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS max_confidence,
           batmap_measure('odds_ratio', n_both, n_lhs, n_rhs, n_total) AS odds_ratio,
           batmap_measure('confidence', n_both, n_lhs, n_rhs, n_total)::numeric(9, 6) AS confidence,
           batmap_measure('conviction', n_both, n_lhs, n_rhs, n_total) AS conviction) m;
SELECT batmap_measure('lift', NULL, 1, 1, 1);
SELECT batmap_measure('Lift', 1, 1, 1, 1);
SELECT batmap_measure('lift', -1, 1, 1, 1);
SELECT batmap_measure('lift', 2, 1, 3, 4);
SELECT batmap_measure('lift', 1, 3, 5, 4);
SELECT batmap_measure('lift', 1, 3, 3, 4);
SELECT batmap_measure('lift', 9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807);

-- top_k and per_item_top_k by each measure, against sorting all pairs
CREATE TABLE measure_baskets AS SELECT x % 300 AS tid, (x * x + x / 7) % 53 % (1 + x % 40) AS item FROM generate_series(1, 3000) x;
CREATE TABLE measure_pairs AS SELECT * FROM batmap_pairs('SELECT tid, item FROM measure_baskets', min_count => 1);
SELECT name, count(*) AS rows, bool_and(best IS NOT DISTINCT FROM sorted) AS equal
  FROM unnest('{support,jaccard,dice,cosine,lift,leverage,phi,kulczynski,all_confidence,max_confidence,odds_ratio}'::text[]) AS name,
       LATERAL (SELECT best, sorted
                  FROM (SELECT row_number() OVER () AS n, p::text AS best
                          FROM batmap_pairs('SELECT tid, item FROM measure_baskets', top_k => 40, measure => name) p) b
                  FULL JOIN (SELECT row_number() OVER (ORDER BY batmap_measure(name, support, support_a, support_b, total) DESC NULLS LAST,
                                                                item_a, item_b) AS n, p::text AS sorted
                               FROM measure_pairs p) s USING (n)
                 WHERE n <= 40) t
 GROUP BY name ORDER BY name;
WITH ranked AS (
    SELECT p.*, row_number() OVER (PARTITION BY item ORDER BY batmap_measure('lift', support, support_a, support_b, total) DESC, other) AS n
      FROM (SELECT item_a AS item, item_b AS other, * FROM measure_pairs UNION ALL SELECT item_b, item_a, * FROM measure_pairs) p),
expected AS (SELECT DISTINCT item_a, item_b, support, support_a, support_b, total FROM ranked WHERE n <= 2),
found AS (SELECT * FROM batmap_pairs('SELECT tid, item FROM measure_baskets', per_item_top_k => 2, measure => 'lift'))
SELECT (SELECT count(*) FROM found) > 50 AS many, (SELECT count(*) FROM (TABLE expected EXCEPT TABLE found) d) AS missing,
       (SELECT count(*) FROM (TABLE found EXCEPT TABLE expected) d) AS extra;
SELECT * FROM batmap_pairs_of(NULL::text, $$SELECT * FROM (VALUES (1, 'a'), (1, 'b'), (2, 'a'), (2, 'b'), (3, 'a'), (4, 'c'), (4, 'd')) v$$,
    top_k => 1, measure => 'lift');
SELECT * FROM batmap_pairs('SELECT tid, item FROM measure_baskets', top_k => 1, measure => 'confidence');
SELECT * FROM batmap_pairs('SELECT tid, item FROM measure_baskets', min_count => 1, measure => 'lift');
