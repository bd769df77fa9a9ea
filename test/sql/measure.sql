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
SELECT batmap_measure('heft', 1, 1, 1, 1);
SELECT batmap_measure('lift', -1, 1, 1, 1);
SELECT batmap_measure('lift', 2, 1, 3, 4);
SELECT batmap_measure('lift', 1, 3, 5, 4);
SELECT batmap_measure('lift', 1, 3, 3, 4);
SELECT batmap_measure('lift', 9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807);
SELECT batmap_measure('hyper_lift', 4611686018427387904, 4611686018427387904, 4611686018427387904, 9223372036854775807)::numeric(9, 6),
       batmap_measure('hyper_confidence', 1, 4611686018427387904, 4611686018427387904, 9223372036854775807),
       batmap_measure('fishers_exact_test', 4611686018427387904, 4611686018427387904, 4611686018427387904, 4611686018427387904);

-- every measure in plain SQL, over all tables of two by two without a 0 of some totals; the tails are sums of binomials
CREATE FUNCTION binomial(n int, k int) RETURNS numeric LANGUAGE sql IMMUTABLE
AS 'SELECT CASE WHEN k BETWEEN 0 AND n THEN factorial(n) / (factorial(k) * factorial(n - k)) ELSE 0 END';
CREATE TABLE cells AS SELECT f11::float8, f10::float8, f01::float8, f00::float8,
    (f11 + f10)::float8 AS a, (f11 + f01)::float8 AS b, total::float8 AS n
FROM (VALUES (5), (12), (40)) t (total), generate_series(1, total / 2) f11, generate_series(1, total, 1 + total / 10) f10, generate_series(1, total, 1 + total / 9) f01,
    LATERAL (SELECT total - f11 - f10 - f01 AS f00) rest WHERE f00 > 0;
CREATE TABLE chances AS SELECT *,
    (SELECT sum(binomial(a::int, k) * binomial((n - a)::int, b::int - k)) / binomial(n::int, b::int)
     FROM generate_series(f11::int, least(a, b)::int) k)::float8 AS hyper_above,
    (SELECT min(q) FROM generate_series(0, least(a, b)::int) q
     WHERE (SELECT sum(binomial(a::int, k) * binomial((n - a)::int, b::int - k)) FROM generate_series(0, q) k)
         >= 0.99 * binomial(n::int, b::int))::float8 AS hyper_quantile
FROM cells;
SELECT name, count(*) AS rows, count(*) FILTER (WHERE NOT abs(batmap_measure(name, f11::int8, a::int8, b::int8, n::int8) - wanted)
    <= 1e-9 * greatest(1, abs(wanted))) AS different, count(*) FILTER (WHERE wanted IS NULL) AS missing
FROM chances, LATERAL (VALUES
    ('support', f11 / n),
    ('count', f11),
    ('confidence', f11 / a),
    ('coverage', a / n),
    ('rhs_support', b / n),
    ('lift', (f11 / n) / ((a / n) * (b / n))),
    ('leverage', f11 / n - (a / n) * (b / n)),
    ('conviction', (1 - b / n) / (1 - f11 / a)),
    ('jaccard', f11 / (f11 + f10 + f01)),
    ('dice', 2 * f11 / (a + b)),
    ('cosine', f11 / sqrt(a * b)),
    ('phi', (f11 * f00 - f10 * f01) / sqrt(a * b * (n - a) * (n - b))),
    ('kulczynski', (f11 / a + f11 / b) / 2),
    ('all_confidence', least(f11 / a, f11 / b)),
    ('max_confidence', greatest(f11 / a, f11 / b)),
    ('cross_support_ratio', least(a, b) / greatest(a, b)),
    ('odds_ratio', (f11 / f10) / (f01 / f00)),
    ('added_value', f11 / a - b / n),
    ('casual_confidence', 1 - f10 / n / a - f10 / n / b),
    ('casual_support', a / n + b / n - 2 * f10 / n),
    ('centered_confidence', (n - b) / n - f10 / a),
    ('certainty', (f11 / a - b / n) / (1 - b / n)),
    ('chi_squared', (f11 - a * b / n) ^ 2 / (a * b / n) + (f10 - a * (n - b) / n) ^ 2 / (a * (n - b) / n)
         + (f01 - (n - a) * b / n) ^ 2 / ((n - a) * b / n) + (f00 - (n - a) * (n - b) / n) ^ 2 / ((n - a) * (n - b) / n)),
    ('collective_strength', ((f11 + f00) / n) / (a * b / n ^ 2 + (n - a) * (n - b) / n ^ 2) * (1 - a * b / n ^ 2 - (n - a) * (n - b) / n ^ 2) / (1 - (f11 + f00) / n)),
    ('confirmed_confidence', f11 / a - f10 / a),
    ('counterexample', 1 - f10 / f11),
    ('doc', f11 / a - f01 / (n - a)),
    ('fishers_exact_test', hyper_above),
    ('gini', a / n * ((f11 / a) ^ 2 + (f10 / a) ^ 2) - (b / n) ^ 2
         + (n - a) / n * ((f01 / (n - a)) ^ 2 + (f00 / (n - a)) ^ 2) - ((n - b) / n) ^ 2),
    ('hyper_confidence', 1 - hyper_above),
    ('hyper_lift', f11 / hyper_quantile),
    ('imbalance', abs(a - b) / (a + b - f11)),
    ('implication_index', (f10 - a * (n - b) / n) / sqrt(a * (n - b) / n)),
    ('importance', log(((f11 + 1) / (a + 2)) / ((f01 + 1) / (n - a + 2)))),
    ('j_measure', f11 / n * ln((f11 / a) / (b / n)) + f10 / n * ln((f10 / a) / ((n - b) / n))),
    ('kappa', ((f11 + f00) / n - (a * b + (n - a) * (n - b)) / n ^ 2) / (1 - (a * b + (n - a) * (n - b)) / n ^ 2)),
    ('lambda', (greatest(f11, f10) + greatest(f01, f00) - greatest(b, n - b)) / (n - greatest(b, n - b))),
    ('laplace', (f11 + 1) / (a + 2)),
    ('least_contradiction', (f11 - f10) / b),
    ('lerman', (f11 - a * b / n) / sqrt(a * b / n)),
    ('mutual_information', (f11 / n * ln(n * f11 / (a * b)) + f10 / n * ln(n * f10 / (a * (n - b))) + f01 / n * ln(n * f01 / ((n - a) * b))
         + f00 / n * ln(n * f00 / ((n - a) * (n - b))))
         / least(-a / n * ln(a / n) - (n - a) / n * ln((n - a) / n), -b / n * ln(b / n) - (n - b) / n * ln((n - b) / n))),
    ('ralambondrainy', f10 / n),
    ('relative_risk', (f11 / a) / (f01 / (n - a))),
    ('rld', CASE WHEN f11 * f00 > f10 * f01 THEN (f11 * f00 - f10 * f01) / ((f11 * f00 - f10 * f01) + n * least(f10, f01))
         ELSE (f11 * f00 - f10 * f01) / ((f11 * f00 - f10 * f01) - n * least(f11, f00)) END),
    ('rule_power_factor', f11 / n * f11 / a),
    ('sebag', f11 / f10),
    ('std_lift', (n * f11 / (a * b) - greatest(a + b - n, 1) * n / (a * b)) / (n / greatest(a, b) - greatest(a + b - n, 1) * n / (a * b))),
    ('varying_liaison', n * f11 / (a * b) - 1),
    ('yule_q', (f11 * f00 - f10 * f01) / (f11 * f00 + f10 * f01)),
    ('llr', 2 * (f11 * ln(f11 * n / (a * b)) + CASE WHEN f10 > 0 THEN f10 * ln(f10 * n / (a * (n - b))) ELSE 0 END
        + CASE WHEN f01 > 0 THEN f01 * ln(f01 * n / ((n - a) * b)) ELSE 0 END + f00 * ln(f00 * n / ((n - a) * (n - b))))),
    ('max_lift', n / greatest(a, b)),
    ('zhangs_metric', (f11 / n - (a / n) * (b / n)) / greatest(f11 / n * (1 - a / n), a / n * (b / n - f11 / n))),
    ('yule_y', (sqrt(f11 * f00) - sqrt(f10 * f01)) / (sqrt(f11 * f00) + sqrt(f10 * f01)))) m (name, wanted)
GROUP BY name ORDER BY name;
-- where a cell is 0: Infinity for a number over nothing, NULL for 0 / 0, and 0 log 0 is 0
SELECT name, round(batmap_measure(name, 3, 3, 5, 9)::numeric, 5) AS "always", round(batmap_measure(name, 0, 3, 5, 9)::numeric, 5) AS never,
    round(batmap_measure(name, 5, 5, 9, 9)::numeric, 5) AS any_lhs, round(batmap_measure(name, 5, 9, 5, 9)::numeric, 5) AS any_rhs,
    round(batmap_measure(name, 4, 4, 4, 9)::numeric, 5) AS equal, round(batmap_measure(name, 9, 9, 9, 9)::numeric, 5) AS "all",
    round(batmap_measure(name, 0, 0, 5, 9)::numeric, 5) AS no_lhs
FROM unnest('{support,count,confidence,coverage,rhs_support,lift,leverage,conviction,jaccard,dice,cosine,phi,kulczynski,all_confidence,max_confidence,cross_support_ratio,odds_ratio,added_value,casual_confidence,casual_support,centered_confidence,certainty,chi_squared,collective_strength,confirmed_confidence,counterexample,doc,fishers_exact_test,gini,hyper_confidence,hyper_lift,imbalance,implication_index,importance,j_measure,kappa,lambda,laplace,least_contradiction,lerman,mutual_information,ralambondrainy,relative_risk,rld,rule_power_factor,sebag,std_lift,varying_liaison,yule_q,yule_y,llr,max_lift,zhangs_metric}'::text[]) name;
-- arules' own spelling
SELECT batmap_measure('oddsRatio', 3, 4, 5, 9) = batmap_measure('odds_ratio', 3, 4, 5, 9) AS same, batmap_measure('maxconfidence', 3, 4, 5, 9);
DROP TABLE cells, chances;
DROP FUNCTION binomial;

-- top_k and per_item_top_k by each measure, against sorting all pairs
CREATE TABLE measure_baskets AS SELECT x % 300 AS tid, (x * x + x / 7) % 53 % (1 + x % 40) AS item FROM generate_series(1, 3000) x;
CREATE TABLE measure_pairs AS SELECT * FROM batmap_pairs('SELECT tid, item FROM measure_baskets', min_count => 1);
SELECT name, count(*) AS rows, bool_and(best IS NOT DISTINCT FROM sorted) AS equal
  FROM unnest('{support,jaccard,dice,cosine,lift,leverage,phi,kulczynski,all_confidence,max_confidence,odds_ratio,llr,max_lift}'::text[]) AS name,
       LATERAL (SELECT best, sorted
                  FROM (SELECT row_number() OVER () AS n, ROW(item_a, item_b, support_count, count_a, count_b, total, score)::text AS best
                          FROM batmap_pairs('SELECT tid, item FROM measure_baskets', top_k => 40, measure => name) p) b
                  FULL JOIN (SELECT row_number() OVER (ORDER BY batmap_measure(name, support_count, count_a, count_b, total) DESC NULLS LAST,
                                                                item_a, item_b) AS n, ROW(item_a, item_b, support_count, count_a, count_b, total,
                                    batmap_measure(name, support_count, count_a, count_b, total))::text AS sorted
                               FROM measure_pairs p) s USING (n)
                 WHERE n <= 40) t
 GROUP BY name ORDER BY name;
WITH ranked AS (
    SELECT p.*, row_number() OVER (PARTITION BY item ORDER BY batmap_measure('lift', support_count, count_a, count_b, total) DESC, other) AS n
      FROM (SELECT item_a AS item, item_b AS other, * FROM measure_pairs UNION ALL SELECT item_b, item_a, * FROM measure_pairs) p),
expected AS (SELECT DISTINCT item_a, item_b, support_count, count_a, count_b, total FROM ranked WHERE n <= 2),
found AS (SELECT item_a, item_b, support_count, count_a, count_b, total FROM batmap_pairs('SELECT tid, item FROM measure_baskets', per_item_top_k => 2, measure => 'lift'))
SELECT (SELECT count(*) FROM found) > 50 AS many, (SELECT count(*) FROM (TABLE expected EXCEPT TABLE found) d) AS missing,
       (SELECT count(*) FROM (TABLE found EXCEPT TABLE expected) d) AS extra;
SELECT * FROM batmap_pairs_of($$SELECT * FROM (VALUES (1, 'a'), (1, 'b'), (2, 'a'), (2, 'b'), (3, 'a'), (4, 'c'), (4, 'd')) v$$,
    top_k => 1, measure => 'lift');
SELECT * FROM batmap_pairs('SELECT tid, item FROM measure_baskets', top_k => 1, measure => 'confidence');
SELECT count(*) > 50 AS many, count(*) FILTER (WHERE score IS DISTINCT FROM lift) AS wrong FROM batmap_pairs('SELECT tid, item FROM measure_baskets', min_count => 1, measure => 'lift');
