-- Type batmap_relation and the aggregates that build it.
CREATE TABLE baskets AS
SELECT (i / 3)::int AS tid, (i * i % 17)::int AS item FROM generate_series(1, 60) i;
INSERT INTO baskets VALUES (1, NULL), (NULL, 1), (NULL, NULL);
-- text: lossless
CREATE TABLE kept AS SELECT batmap_relation_agg(tid, item) AS r FROM baskets;
SELECT r::text::batmap_relation::text = r::text FROM kept;
SELECT batmap_relation_agg(1, 2);
SELECT * FROM batmap_unnest('r1:AQAAAAAAAAAoAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAA'::batmap_relation);
SELECT count(*), count(DISTINCT (u.tid, u.item)) = count(*) AS distinct FROM kept, batmap_unnest(r) u;
SELECT count(*) AS wrong FROM ((SELECT tid, item FROM baskets WHERE tid IS NOT NULL AND item IS NOT NULL
    EXCEPT SELECT u.tid, u.item FROM kept, batmap_unnest(r) u)) d;
-- all four pairs of integer types
SELECT count(DISTINCT r::text) FROM (
    SELECT batmap_relation_agg(tid, item) r FROM baskets UNION ALL
    SELECT batmap_relation_agg(tid::int8, item) FROM baskets UNION ALL
    SELECT batmap_relation_agg(tid, item::int8) FROM baskets UNION ALL
    SELECT batmap_relation_agg(tid::int8, item::int8) FROM baskets) v;
-- NULL and empty
SELECT batmap_relation_agg(tid, item) FROM baskets WHERE false;
SELECT batmap_relation_agg(NULL::int, 1);
SELECT _batmap_relation_merge(NULL, NULL) IS NULL;
SELECT * FROM batmap_pairs(NULL::batmap_relation, min_count => 1);
SELECT * FROM batmap_unnest(NULL::batmap_relation);
-- merging is union
SELECT count(*) FROM batmap_unnest(_batmap_relation_merge((SELECT r FROM kept), (SELECT r FROM kept)));
SELECT count(*) FROM (SELECT batmap_relation_agg(r) AS r FROM (
    SELECT batmap_relation_agg(tid, item) AS r FROM baskets GROUP BY tid % 5) g) m, batmap_unnest(m.r);
SELECT tid % 2, count(*) FROM (SELECT tid % 2 AS tid, batmap_relation_agg(tid, item) OVER (PARTITION BY tid % 2) AS r FROM baskets) w GROUP BY 1 ORDER BY 1;
-- calling the transition by hand does not change its argument
SELECT count(*) FROM batmap_unnest(_batmap_relation_trans((SELECT r FROM kept), 1000, 1000));
SELECT count(*) FROM kept, batmap_unnest(r);
-- the pairs of a relation, and of each group
SELECT p.* FROM kept, batmap_pairs(r, top_k => 3) p;
SELECT g.half, p.item_a, p.item_b, p.support_count
FROM (SELECT tid % 2 AS half, batmap_relation_agg(tid, item) AS r FROM baskets WHERE tid IS NOT NULL GROUP BY 1) g,
    LATERAL batmap_pairs(g.r, top_k => 2) p ORDER BY 1, 4 DESC, 2, 3;
SELECT input FROM batmap_last_run();
SELECT batmap_pairs_agg(tid, item, 7) FROM baskets;
SELECT batmap_pairs_agg(tid, item, 1000) FROM baskets;
SELECT batmap_pairs_agg(tid, item, 1) FROM baskets WHERE false;
SELECT tid % 3 AS third, (SELECT count(*) FROM unnest(batmap_pairs_agg(tid, item, 2))) AS pairs FROM baskets WHERE tid IS NOT NULL GROUP BY 1 ORDER BY 1;
SELECT pg_typeof(batmap_pairs_agg(tid, item::int8, 2)) FROM baskets;
SELECT batmap_pairs_agg(tid, item, 0) FROM baskets;
SELECT batmap_pairs_agg(tid, item, NULL) FROM baskets;
SELECT batmap_pairs_agg(tid, item, tid) FROM baskets WHERE tid > 0;
-- many rows and many groups: across chunks, and with states of every size
SELECT count(*) FROM (SELECT batmap_relation_agg(i % 1000, i) AS r FROM generate_series(1, 20000) i) g, batmap_unnest(r);
SELECT sum(n) FROM (SELECT (SELECT count(*) FROM batmap_unnest(batmap_relation_agg(i, i % 7))) AS n FROM generate_series(1, 20000) i GROUP BY i % 3000) g;
SELECT count(*) FROM (SELECT batmap_relation_agg(i::int8 * 1000000007, -i::int8 * 998244353) AS r FROM generate_series(1, 10000) i) g, batmap_unnest(r);
-- not a relation
SELECT 'x'::batmap_relation;
SELECT 'r1:'::batmap_relation;
SELECT 'r1:@@@@'::batmap_relation;
SELECT 'r1:AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='::batmap_relation IS NOT NULL AS empty_relation;
SELECT 'r1:AwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='::batmap_relation;
SELECT 'r1:AQAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAA='::batmap_relation;
DROP TABLE baskets, kept;
