-- Type batmap_pair_counts: aggregates, sums, questions, and what they say in plans and partitions.
-- Oracles are plain joins, answered by the plain plan.
SET batmap.enable_join_project = off;
CREATE TABLE baskets AS
SELECT (i / 3)::int AS tid, (i * i % 17)::int AS item FROM generate_series(1, 60) i;
INSERT INTO baskets VALUES (1, NULL), (NULL, 1), (NULL, NULL);
CREATE TABLE kept AS SELECT batmap_pair_counts_agg(tid, item) AS c FROM baskets;
-- the figures of a value
SELECT batmap_pair_counts_total(c), batmap_pair_counts_items(c), batmap_pair_counts_pairs(c) FROM kept;
SELECT u.* FROM kept, batmap_pair_counts_unnest(c) u LIMIT 5;
SELECT count(*), count(DISTINCT (item_a, item_b)) = count(*) AS distinct, bool_and(item_a < item_b) AS ordered
FROM kept, batmap_pair_counts_unnest(c);
SELECT batmap_pair_count(c, 1, 4), batmap_pair_count(c, 4, 1), batmap_pair_count(c, 1, 1), batmap_item_count(c, 1),
    batmap_pair_count(c, 1, 3), batmap_item_count(c, 99), batmap_pair_count(c, NULL, 1) FROM kept;
-- against a self-join
SELECT count(*) AS wrong FROM (
    SELECT a.item AS item_a, b.item AS item_b, count(*) FROM (SELECT DISTINCT * FROM baskets) a JOIN (SELECT DISTINCT * FROM baskets) b USING (tid)
    WHERE a.item < b.item GROUP BY 1, 2
    EXCEPT SELECT u.* FROM kept, batmap_pair_counts_unnest(c) u) d;
SELECT count(*) AS wrong FROM (
    SELECT item, count(DISTINCT tid) FROM baskets WHERE tid IS NOT NULL GROUP BY 1
    EXCEPT SELECT item, batmap_item_count(c, item) FROM kept, generate_series(0, 20) item) d WHERE item IS NOT NULL;
-- text: lossless, and the same for the same counts
SELECT c::text::batmap_pair_counts::text = c::text FROM kept;
SELECT batmap_pair_counts_agg(1, x) FROM generate_series(1, 3) x;
SELECT * FROM batmap_pair_counts_unnest('c1:AQAAAAMAAAA/AAAAAAAAAAAAAAAAAAAAAQAAAAAAAAADAAAAAAAAAAkAAAAAAAAAAgAEAAACAAAAAAAAAAAA'::batmap_pair_counts);
-- all four pairs of integer types
SELECT count(DISTINCT c::text) FROM (
    SELECT batmap_pair_counts_agg(tid, item) c FROM baskets UNION ALL
    SELECT batmap_pair_counts_agg(tid::int8, item) FROM baskets UNION ALL
    SELECT batmap_pair_counts_agg(tid, item::int8) FROM baskets UNION ALL
    SELECT batmap_pair_counts_agg(tid::int8, item::int8) FROM baskets) v;
-- NULL, empty, one row
SELECT batmap_pair_counts_agg(tid, item) FROM baskets WHERE false;
SELECT batmap_pair_counts_agg(NULL::int, 1);
SELECT batmap_pair_counts_agg(NULL::batmap);
SELECT sum(NULL::batmap_pair_counts);
SELECT sum(c) FROM kept WHERE false;
SELECT c + NULL IS NULL AS null FROM kept;
SELECT * FROM batmap_pairs(NULL::batmap_pair_counts, min_count => 1);
SELECT * FROM batmap_pair_counts_unnest(NULL::batmap_pair_counts);
SELECT batmap_pair_counts_total(c), batmap_pair_counts_items(c), batmap_pair_counts_pairs(c)
FROM (SELECT batmap_pair_counts_agg(7, 9) AS c) q;
SELECT p.* FROM (SELECT batmap_pair_counts_agg(7, 9) AS c) q, batmap_pairs(c, min_count => 1) p;
-- the same rows as over the relation, for every kind of question
CREATE FUNCTION differences(arguments text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    EXECUTE format('WITH x AS (SELECT p.* FROM kept, batmap_pairs(c, %1$s) p), y AS (SELECT * FROM batmap_pairs(''TABLE baskets'', %1$s))
        SELECT count(*) FROM ((TABLE x EXCEPT ALL TABLE y) UNION ALL (TABLE y EXCEPT ALL TABLE x)) d', arguments) INTO n;
    RETURN n;
END $$;
SELECT arguments, differences(arguments) FROM (VALUES
    ('min_count => 1'), ('min_count => 7'), ('min_count => 100'), ('min_support => 0.3'), ('min_support => 1'), ('top_k => 5'),
    ('per_item_top_k => 1'), ('per_item_top_k => 2, top_k => 3'), ('min_count => 1, include => ''{1,4}'''),
    ('min_count => 1, exclude => ''{1,4}'''), ('min_count => 2, include => ''{1}'', exclude => ''{4}'''), ('top_k => 100, min_count => 3'),
    ('top_k => 4, measure => ''lift'''), ('per_item_top_k => 1, measure => ''jaccard'''), ('min_count => 1, max_results => 1000')) v (arguments);
SELECT p.* FROM kept, batmap_pairs(c, top_k => 3) p;
SELECT method, reason, input, rows_read, transactions, items, items_kept, results FROM batmap_last_run();
SELECT p.* FROM kept, batmap_pairs(c, min_count => 1, max_results => 2) p;
SELECT p.* FROM kept, batmap_pairs(c) p;
SELECT p.* FROM kept, batmap_pairs(c, min_count => 0) p;
SELECT p.* FROM kept, batmap_pairs(c, min_support => 1.5) p;
SELECT p.* FROM kept, batmap_pairs(c, min_count => 1, include => '{1,NULL}') p;
EXPLAIN (COSTS OFF) SELECT p.* FROM kept, batmap_pairs(c, top_k => 3) p;
-- addition: counts of disjoint sets of transactions
SELECT (SELECT sum(c)::text FROM (SELECT batmap_pair_counts_agg(tid, item) AS c FROM baskets GROUP BY tid % 7) g) = c::text AS same FROM kept;
SELECT (a.c + b.c)::text = kept.c::text AS same, _batmap_pair_counts_add(b.c, a.c)::text = kept.c::text AS same
FROM kept, (SELECT batmap_pair_counts_agg(tid, item) AS c FROM baskets WHERE tid < 9) a, (SELECT batmap_pair_counts_agg(tid, item) AS c FROM baskets WHERE tid >= 9) b;
SELECT batmap_pair_counts_total(c + c), batmap_pair_count(c + c, 1, 4), batmap_pair_counts_pairs(c + c) FROM kept;
SELECT tid % 2 AS half, batmap_pair_counts_total(sum(c)) FROM (SELECT tid, batmap_pair_counts_agg(tid, item) AS c FROM baskets WHERE tid > 0 GROUP BY tid) g
GROUP BY 1 ORDER BY 1;
SELECT tid, batmap_pair_counts_total(sum(c) OVER (ORDER BY tid)) FROM (SELECT tid, batmap_pair_counts_agg(tid, item) AS c FROM baskets WHERE tid < 4 GROUP BY tid) g;
-- calling the transition by hand does not change its argument, and what it gives is a value
CREATE TABLE by_hand AS SELECT _batmap_pair_counts_merge(_batmap_pair_counts_merge(c, c), c) AS c FROM kept;
SELECT h.c::text = (k.c + k.c + k.c)::text AS same, batmap_pair_counts_total(h.c), batmap_pair_count(h.c, 1, 4), batmap_pair_counts_total(k.c),
    _batmap_pair_counts_send(h.c) = _batmap_pair_counts_send(k.c + k.c + k.c) AS same FROM by_hand h, kept k;
SELECT _batmap_pair_counts_merge(NULL, NULL) IS NULL AS null, _batmap_pair_counts_merge(NULL, c)::text = c::text AS same, _batmap_pair_counts_merge(c, NULL)::text = c::text AS same FROM kept;
-- baskets as sets: one a row, equal ones apart, empty ones among the transactions
CREATE TABLE sets AS SELECT tid, batmap_agg(item) AS s FROM baskets WHERE tid IS NOT NULL AND item IS NOT NULL GROUP BY tid;
SELECT batmap_pair_counts_agg(s)::text = (SELECT c::text FROM kept) AS same FROM sets;
SELECT batmap_pair_counts_total(c), batmap_pair_count(c, 1, 2), batmap_pair_count(c, 2, 3), batmap_item_count(c, 2)
FROM (SELECT batmap_pair_counts_agg(s) AS c FROM (VALUES ('{1,2}'::batmap), ('{1,2}'), (NULL), ('{}'), ('{2,3}')) v (s)) q;
SELECT batmap_pair_counts_total(batmap_pair_counts_agg('{}'::batmap));
SELECT batmap_pair_counts_agg(s)::text = (SELECT batmap_pair_counts_agg(t, x)::text FROM generate_series(1, 3) t, generate_series(t, 900, t) x) AS same
FROM (SELECT batmap_agg(x) AS s FROM generate_series(1, 3) t, generate_series(t, 900, t) x GROUP BY t) q;
SELECT _batmap_pair_counts_basket_final(_batmap_pair_counts_basket_merge(a.r, b.r))::text = _batmap_pair_counts_basket_final(_batmap_pair_counts_basket_merge(b.r, a.r))::text AS same,
    batmap_pair_counts_total(_batmap_pair_counts_basket_final(_batmap_pair_counts_basket_merge(a.r, b.r)))
FROM (SELECT _batmap_pair_counts_basket_trans(_batmap_pair_counts_basket_trans(NULL, '{1,2}'), '{3}') AS r) a, (SELECT _batmap_pair_counts_basket_trans(NULL, '{2,3}') AS r) b;
-- counts beyond 2^31, 2^32 and 2^53, and their end
CREATE FUNCTION times_2_to_the(c batmap_pair_counts, n int) RETURNS batmap_pair_counts LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. n LOOP c := CASE WHEN i % 2 = 0 THEN c + c ELSE (SELECT sum(x) FROM unnest(ARRAY[c, c]) x) END; END LOOP;
    RETURN c;
END $$;
CREATE TABLE heavy AS SELECT n, times_2_to_the(batmap_pair_counts_agg(t, x), n) AS c FROM unnest('{30,31,32,33,53,61}'::int[]) n, (VALUES (1, 1), (1, 2), (1, 3), (2, 1), (2, 2)) v (t, x) GROUP BY n;
SELECT n, p.* FROM heavy, batmap_pairs(c, min_support => 0.6) p ORDER BY n;
SELECT n, p.* FROM heavy, batmap_pairs(c, min_count => (2 ^ (n + 1))::int8) p ORDER BY n;
SELECT n, count(*) FROM heavy, batmap_pairs(c, min_count => (2 ^ (n + 1))::int8 + 1) p GROUP BY n;
SELECT n, p.item_a, p.item_b, p.support_count FROM heavy, batmap_pairs(c, per_item_top_k => 1) p ORDER BY n, support_count DESC, item_a, item_b LIMIT 6;
SELECT n, batmap_pair_count(c, 1, 2), batmap_pair_count(c, 2, 3), batmap_item_count(c, 3) FROM heavy ORDER BY n;
SELECT bool_and(c::text::batmap_pair_counts::text = c::text) FROM heavy;
SELECT c + c FROM heavy WHERE n = 61;
-- many small values, added in batches
SELECT (SELECT sum(c)::text FROM (SELECT batmap_pair_counts_agg(i / 4, i * 7 % 300) AS c FROM generate_series(0, 19999) i GROUP BY i / 4) g)
    = (SELECT batmap_pair_counts_agg(i / 4, i * 7 % 300)::text FROM generate_series(0, 19999) i) AS same;
-- parallel plans
CREATE TABLE rows AS SELECT i % 5003 AS tid, (i::int8 * i % 211)::int AS item FROM generate_series(1, 40000) i;
CREATE TABLE row_sets AS SELECT batmap_agg(item) AS s FROM rows GROUP BY tid;
CREATE TABLE row_counts AS SELECT tid % 50 AS part, batmap_pair_counts_agg(tid, item) AS c FROM rows GROUP BY tid % 50;
ANALYZE rows, row_sets, row_counts;
CREATE TABLE serial AS SELECT batmap_pair_counts_agg(tid, item)::text AS c FROM rows;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT batmap_pair_counts_agg(tid, item) FROM rows;
SELECT batmap_pair_counts_agg(tid, item)::text = (SELECT c FROM serial) AS same FROM rows;
EXPLAIN (COSTS OFF) SELECT batmap_pair_counts_agg(s) FROM row_sets;
SELECT batmap_pair_counts_agg(s)::text = (SELECT c FROM serial) AS same FROM row_sets;
EXPLAIN (COSTS OFF) SELECT sum(c) FROM row_counts;
SELECT sum(c)::text = (SELECT c FROM serial) AS same FROM row_counts;
RESET parallel_leader_participation;
SELECT batmap_pair_counts_agg(tid, item)::text = (SELECT c FROM serial) AS same FROM rows;
SET max_parallel_workers_per_gather = 0;
-- partitions by tid
CREATE TABLE parted (tid int, item int) PARTITION BY HASH (tid);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted TABLE rows;
ANALYZE parted;
SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT batmap_pair_counts_agg(tid, item) FROM parted;
SELECT batmap_pair_counts_agg(tid, item)::text = (SELECT c FROM serial) AS same FROM parted;
SELECT sum(c)::text = (SELECT c FROM serial) AS same FROM (SELECT batmap_pair_counts_agg(tid, item) AS c FROM parted GROUP BY tableoid) g;
RESET enable_partitionwise_aggregate;
-- examples of docs/scaling-out.md
DROP TABLE baskets;
CREATE TABLE baskets (day date, country int, tid int, item int);
INSERT INTO baskets SELECT '2024-01-01'::date + t / 4, t % 2, t, x FROM generate_series(0, 11) t, generate_series(1, 6) x WHERE (t * 7 + x * x) % 5 < 3;
CREATE TABLE daily (day date PRIMARY KEY, counts batmap_pair_counts);
INSERT INTO daily SELECT day, batmap_pair_counts_agg(tid, item) FROM baskets GROUP BY day;
SELECT p.* FROM (SELECT sum(counts) AS c FROM daily WHERE day >= '2024-01-02') s,
    LATERAL batmap_pairs(s.c, min_count => 2) p ORDER BY support_count DESC, item_a, item_b;
SELECT * FROM batmap_pairs('SELECT tid, item FROM baskets WHERE day >= ''2024-01-02''', min_count => 2) ORDER BY support_count DESC, item_a, item_b;
SELECT day, batmap_pair_count(counts, 1, 2) AS together, batmap_item_count(counts, 1) AS item_1, batmap_pair_counts_total(counts) AS total
FROM daily ORDER BY day;
SELECT s.country, p.item_a, p.item_b, p.support_count
FROM (SELECT country, batmap_pair_counts_agg(tid, item) AS c FROM baskets GROUP BY country) s,
    LATERAL batmap_pairs(s.c, top_k => 1) p ORDER BY s.country;
SELECT p.* FROM (SELECT sum(c) AS c FROM (SELECT batmap_pair_counts_agg(tid, item) AS c FROM baskets GROUP BY tid) g) s,
    LATERAL batmap_pairs(s.c, min_count => 7) p;
-- not pair counts
SELECT 'x'::batmap_pair_counts;
SELECT 'c1:'::batmap_pair_counts;
SELECT 'c1:@@@@'::batmap_pair_counts;
SELECT 'c1:AQAAAAAAAAAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'::batmap_pair_counts IS NOT NULL AS empty_counts;
SELECT 'c1:AwAAAAAAAAAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'::batmap_pair_counts;
SELECT 'c1:AQAAAAAAAAAwAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'::batmap_pair_counts;
SELECT 'c1:AQAAAAMAAAA/AAAAAAAAAAAAAAAAAAAAAQAAAAAAAAADAAAAAAAAAAkAAAAAAAAAAgAEAAACAAAAAAAAAAEA'::batmap_pair_counts;
DROP FUNCTION differences, times_2_to_the;
DROP TABLE baskets, daily, kept, by_hand, sets, heavy, rows, row_sets, row_counts, serial, parted;

-- Differences: exact, and never negative.
SELECT (batmap_pair_counts_agg(tid, item) FILTER (WHERE tid % 3 = 0) + batmap_pair_counts_agg(tid, item) FILTER (WHERE tid % 3 > 0)
    - batmap_pair_counts_agg(tid, item) FILTER (WHERE tid % 3 = 0))::text = (batmap_pair_counts_agg(tid, item) FILTER (WHERE tid % 3 > 0))::text AS same,
    batmap_pair_counts_items(batmap_pair_counts_agg(tid, item) - batmap_pair_counts_agg(tid, item)) AS none
FROM (SELECT i / 4 AS tid, i * i % 13 AS item FROM generate_series(1, 200) i) q;
SELECT batmap_pair_counts_agg(1, i) - batmap_pair_counts_agg(2, i + 1) FROM generate_series(1, 2) i;
SELECT batmap_pair_counts_agg(1, i) - batmap_pair_counts_agg(i, i) FROM generate_series(1, 2) i;
SELECT batmap_pair_counts_agg(i, i % 2) - batmap_pair_counts_agg(1, i % 2) FROM generate_series(1, 2) i;
SELECT batmap_pair_counts_agg(1, i) - batmap_pair_counts_agg(1, i::text) FROM generate_series(1, 2) i;
SELECT batmap_pair_counts_agg(1, i) - NULL IS NULL AS unknown FROM generate_series(1, 2) i;
