-- batmap_partners: the best partners of each item, by a measure that may depend on the direction.
CREATE TABLE partner_rows AS SELECT x % 300 AS tid, (x * x + x / 7) % 53 % (1 + x % 40) AS item FROM generate_series(1, 3000) x;
CREATE TABLE few (tid int, item int);
INSERT INTO few VALUES (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1), (3, 3), (4, 1), (4, 2), (4, 4), (5, 5);
SELECT * FROM batmap_partners('TABLE few');
-- customers who bought this also bought: one item, some items
SELECT * FROM batmap_partners('TABLE few', items => '{1}', top_k => 2);
SELECT item, partner, rank FROM batmap_partners('TABLE few', items => '{3,4,5,9}', measure => 'lift');
SELECT item, partner FROM batmap_partners('TABLE few', min_count => 2);
SELECT item, partner FROM batmap_partners('TABLE few', min_support => 0.5, exclude => '{2}');
-- equal scores have equal ranks, also where top_k cuts them off
SELECT item, partner, rank, score FROM batmap_partners('TABLE few', items => '{4}', top_k => 1);
SELECT item, partner, rank, support_count, score FROM batmap_partners('TABLE few', items => '{4,2}', measure => 'support');
SELECT * FROM batmap_partners('TABLE few', items => '{1}', measure => 'zhangs_metric');
-- a measure without a value is NULL and comes last
SELECT * FROM batmap_partners('VALUES (1, 1), (1, 2), (1, 3), (2, 1), (2, 2)', items => '{1}', measure => 'phi');
-- text, other types, relations, counts
SELECT * FROM batmap_partners_of($$SELECT tid, 'i' || item FROM few$$, items => '{i1}', top_k => 2);
SELECT * FROM batmap_partners_as(NULL::date, $$SELECT tid, date '2026-01-01' + item FROM few$$, items => '{2026-01-02}', top_k => 2);
CREATE VIEW found AS SELECT * FROM batmap_partners('TABLE partner_rows', top_k => 5, measure => 'confidence');
SELECT count(*) AS rows, count(*) FILTER (WHERE f IS DISTINCT FROM p OR f IS DISTINCT FROM q) AS different
FROM (SELECT batmap_relation_agg(tid, item) AS r, batmap_pair_counts_agg(tid, item) AS c FROM partner_rows) a
    CROSS JOIN found f LEFT JOIN LATERAL batmap_partners(r, top_k => 5) p ON (p.item, p.partner) = (f.item, f.partner)
    LEFT JOIN LATERAL batmap_partners(c, top_k => 5) q ON (q.item, q.partner) = (f.item, f.partner);
SELECT count(*), sum(rank) FROM (SELECT batmap_pair_counts_agg(tid, item) AS c FROM few) a, batmap_partners(c, items => '{1,4}', top_k => 2);
-- against windows over all pairs, by measures of both kinds, on each method
CREATE TABLE directed AS SELECT item_a AS item, item_b AS partner, support_count, count_a AS n, count_b AS m, total
FROM batmap_pairs('TABLE partner_rows', min_count => 1);
INSERT INTO directed SELECT partner, item, support_count, m, n, total FROM directed;
SELECT name, method, count(*) > 60 AS many, count(*) FILTER (WHERE e.rank IS DISTINCT FROM f.rank OR e.support_count IS DISTINCT FROM f.support_count
        OR e.score IS DISTINCT FROM f.score OR e.place IS DISTINCT FROM f.place) AS wrong
FROM unnest('{confidence,lift,conviction,support,added_value,jaccard,rhs_support}'::text[]) name, unnest('{auto,bitmap,horizontal,merge}'::text[]) method,
    LATERAL (SELECT * FROM (SELECT item, partner, support_count, score, rank() OVER (PARTITION BY item ORDER BY score DESC NULLS LAST) AS rank,
                 row_number() OVER (PARTITION BY item ORDER BY score DESC NULLS LAST, partner) AS place
             FROM directed, LATERAL (SELECT batmap_measure(name, support_count, n, m, total) AS score) s WHERE item % 2 = 0) r WHERE place <= 4) e
    FULL JOIN LATERAL (SELECT item, partner, rank, support_count, score, row_number() OVER (PARTITION BY item ORDER BY n) AS place
             FROM batmap_partners('TABLE partner_rows', top_k => 4, measure => name, method => method, items => (SELECT array_agg(i) FROM generate_series(0, 60, 2) i))
                 WITH ORDINALITY p (item, partner, rank, support_count, score, n)) f USING (item, partner)
GROUP BY name, method ORDER BY name, method;
-- one column at a time
SELECT sum(rank) FROM batmap_partners('TABLE few');
SELECT sum(score)::numeric(9, 4) FROM batmap_partners('TABLE few');
SELECT sum(support_count), count(*) FROM batmap_partners('TABLE few');
EXPLAIN (COSTS OFF) SELECT partner FROM batmap_partners('TABLE few', items => '{1}');
-- cut off, nothing, refused
SELECT item, partner FROM batmap_partners('TABLE few', max_results => 2);
SELECT * FROM batmap_partners('TABLE few', items => '{}');
SELECT * FROM batmap_partners('SELECT 1, 2 WHERE false');
SELECT * FROM batmap_partners(NULL::batmap_relation);
SELECT * FROM batmap_partners('TABLE few', top_k => 0);
SELECT * FROM batmap_partners('TABLE few', items => '{1,NULL}');
SELECT * FROM batmap_partners('TABLE few', measure => 'fishers_exact_test');
SELECT * FROM batmap_partners('TABLE few', measure => 'heft');
DROP VIEW found;
DROP TABLE partner_rows, few, directed;
