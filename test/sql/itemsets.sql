-- batmap_itemsets, batmap_itemsets_of and batmap_itemset_spectrum.
-- Oracles are plain joins, answered by the plain plan.
SET batmap.enable_join_project = off;
CREATE TABLE baskets (tid int, item int);
INSERT INTO baskets VALUES (1, 30), (1, 10), (1, 20), (2, 10), (2, 20), (3, 10), (3, 20), (3, 40), (4, 40), (4, 30), (4, 30),
    (5, NULL), (NULL, 10);
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 2);
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', min_support => 0.5);
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, min_length => 2, max_length => 2)
ORDER BY 1;
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, target => 'closed') ORDER BY 1;
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, target => 'maximal') ORDER BY 1;
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, target => 'generators') ORDER BY 1;
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, include => '{40,50}') ORDER BY 1;
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 2, exclude => '{10}') ORDER BY 1;
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, max_support => 0.5, max_length => 1);
-- the best itemsets: larger support, then fewer items, then smaller items
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', top_k => 4);
SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', top_k => 2, min_length => 2, min_count => 2);
-- the same over a relation, once per group; NULL is a relation without rows
SELECT g.low, i.itemset, i.support_count, i.total
FROM (SELECT tid <= 2 AS low, batmap_relation_agg(tid, item) r FROM baskets GROUP BY 1) g,
    LATERAL batmap_itemsets(g.r, min_count => 2) i ORDER BY 1, 2;
SELECT count(*) FROM batmap_itemsets(NULL::batmap_relation, min_count => 1);
SELECT count(*) FROM batmap_itemsets('SELECT 1, 2 WHERE false', min_count => 1);
-- items of other types
SELECT * FROM batmap_itemsets_of($$SELECT tid, 'i' || item FROM baskets$$, min_count => 2);
SELECT itemset, pg_typeof(itemset) FROM batmap_itemsets_as(NULL::date, $$SELECT tid, date '2026-01-01' + item FROM baskets$$, top_k => 3);
SELECT itemset FROM batmap_itemsets_of($$SELECT tid, 'i' || item FROM baskets$$, min_count => 1, include => '{i40,x}',
    exclude => '{i30}') ORDER BY 1;
-- the number of itemsets of each length and support, without listing them
SELECT * FROM batmap_itemset_spectrum('SELECT tid, item FROM baskets', min_count => 1);
SELECT length, support_count, itemsets FROM batmap_itemset_spectrum('SELECT tid, item FROM baskets', min_count => 1, target => 'closed');
SELECT sum(itemsets) FROM batmap_itemset_spectrum('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 60) i', min_count => 3);
SELECT length, itemsets FROM batmap_itemset_spectrum((SELECT batmap_relation_agg(tid, item) FROM baskets), min_count => 2);
SELECT length, support_count, itemsets FROM batmap_itemset_spectrum_of($$SELECT tid, 'i' || item FROM baskets$$, min_count => 1, include => '{i40,x}',
    exclude => '{i30}');
SELECT operation, input, results FROM batmap_last_run();
-- an array for each group
SELECT tid <= 2 AS low, batmap_itemsets_agg(tid, item, 2, 3) FROM baskets WHERE tid IS NOT NULL GROUP BY 1 ORDER BY 1;
SELECT (i).* FROM (SELECT unnest(batmap_itemsets_agg(tid::int8, item, 2, 1)) AS i FROM baskets) s ORDER BY 1;
SELECT pg_typeof(batmap_itemsets_agg(tid, item::int8, 1000000000000, 2)), batmap_itemsets_agg(tid, item::int8, 1000000000000, 2) FROM baskets;
SELECT batmap_itemsets_agg(tid::int8, item::int8, 1, 1) FROM baskets WHERE false;
SELECT cardinality(batmap_itemsets_agg(tid, item, 1, NULL)) FROM baskets;
SELECT batmap_itemsets_agg(tid, item, 0, 1) FROM baskets;
SELECT batmap_itemsets_agg(tid, item, 1, 0) FROM baskets;
SELECT batmap_itemsets_agg(tid, item, 1, tid) FROM baskets WHERE tid > 0;
-- {3} has no included item, so it does not make another itemset non-maximal
SELECT a AS algorithm, (SELECT array_agg(itemset::text ORDER BY itemset) FROM batmap_itemsets('VALUES (1, 1), (2, 2), (2, 3)', min_count => 1,
    include => '{1,2}', target => 'maximal', algorithm => a)) AS itemsets FROM unnest('{auto,pbi,tbi,dfs}'::text[]) a;
-- compared with plain SQL
CREATE TABLE many AS SELECT t AS tid, i AS item FROM generate_series(1, 300) t, generate_series(1, 90) i
WHERE abs(hashint4(t * 1000 + i)::int8) % 100 < 25 OR i % 30 = 0;
SELECT count(*), sum(support_count), min(support_count), max(total) FROM batmap_itemsets('SELECT * FROM many', min_count => 20, max_length => 3);
WITH pairs AS (
    SELECT a.item AS a, b.item AS b, count(*) AS n FROM many a JOIN many b USING (tid) WHERE a.item < b.item GROUP BY 1, 2),
triples AS (
    SELECT a.item AS a, b.item AS b, c.item AS c, count(*) AS n
    FROM many a JOIN many b USING (tid) JOIN many c USING (tid) WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3),
frequent AS (
    SELECT count(*) AS n FROM many GROUP BY item UNION ALL SELECT n FROM pairs UNION ALL SELECT n FROM triples)
SELECT count(*), sum(n), min(n) FROM frequent WHERE n >= 20;
SELECT count(*), sum(i.support_count) FROM (SELECT batmap_itemsets_agg(tid, item, 20, 3) AS found FROM many) a, unnest(a.found) i;
-- the same rows in the same order with any number of threads
SET batmap.threads = 1;
CREATE TABLE one AS SELECT row_number() OVER () AS place, * FROM batmap_itemsets('SELECT * FROM many', min_count => 20, max_length => 4);
SET batmap.threads = 4;
SELECT count(*) > 1000 AS enough, count(*) FILTER (WHERE o.itemset IS DISTINCT FROM m.itemset OR o.support_count <> m.support_count) AS different
FROM one o FULL JOIN (SELECT row_number() OVER () AS place, * FROM batmap_itemsets('SELECT * FROM many ORDER BY random()', min_count => 20, max_length => 4)) m
    USING (place);
RESET batmap.threads;
SELECT a.algorithm, count(*) = (SELECT count(*) FROM one) AS as_many,
    count(*) FILTER (WHERE o.itemset IS DISTINCT FROM m.itemset OR o.support_count <> m.support_count) AS different
FROM unnest('{pbi,tbi,dfs}'::text[]) a (algorithm),
    LATERAL (SELECT row_number() OVER () AS place, * FROM batmap_itemsets('SELECT * FROM many', min_count => 20, max_length => 4,
        algorithm => a.algorithm)) m LEFT JOIN one o USING (place) GROUP BY 1 ORDER BY 1;
SELECT method FROM batmap_last_run();
-- each level: how many itemsets were counted, and how many of them are frequent
CREATE TABLE sizes AS SELECT length, sum(itemsets) AS itemsets
FROM batmap_itemset_spectrum('SELECT * FROM many WHERE item % 30 > 0', min_count => 15) GROUP BY 1;
SELECT count(*) FROM batmap_itemsets('SELECT * FROM many WHERE item % 30 > 0', min_count => 15, algorithm => 'tbi');
SELECT l.length, candidates, frequent, coalesce(itemsets, 0) = frequent AS as_many, milliseconds >= 0 AS timed
FROM batmap_last_run_levels() l LEFT JOIN sizes USING (length) ORDER BY 1;
DROP TABLE sizes;
SELECT count(*) FROM batmap_itemsets('SELECT * FROM many', min_count => 20, max_length => 4);
SELECT l.length, candidates, frequent, frequent = (SELECT count(*) FROM one o WHERE o.length = l.length) AS as_many, milliseconds FROM batmap_last_run_levels() l;
SELECT count(*) > 0 AS rows FROM batmap_itemset_spectrum('SELECT * FROM many', min_count => 20, max_length => 4);
SELECT sum(frequent) = (SELECT count(*) FROM one) AS as_many FROM batmap_last_run_levels();
SELECT count(*) FROM batmap_pairs('SELECT * FROM many', min_count => 300);
SELECT * FROM batmap_last_run_levels();
SET batmap.cpu_kernel = 'scalar';
SELECT count(*) = (SELECT count(*) FROM one) AS same, sum(support_count) = (SELECT sum(support_count) FROM one) AS same_support
FROM batmap_itemsets('SELECT * FROM many', min_count => 20, max_length => 4);
SELECT operation, method, kernel, input, rows_read, transactions, items, truncated FROM batmap_last_run();
RESET batmap.cpu_kernel;
-- cut off
SELECT itemset FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, max_results => 2);
SELECT results, truncated FROM batmap_last_run();
SELECT count(*) FROM batmap_itemsets('SELECT 1, i FROM generate_series(1, 2) i', min_count => 1, max_results => 3);
SELECT count(*) > 0 AS some FROM batmap_itemsets('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 60) i', min_count => 3,
    timeout => '200 ms');
SELECT truncated FROM batmap_last_run();
SET batmap.on_truncation = error;
SELECT itemset FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, max_results => 2);
SELECT count(*) FROM batmap_itemsets('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 60) i', min_count => 3,
    timeout => '200 ms');
RESET batmap.on_truncation;
-- rows are returned as they are found: there are 2^60
SELECT length, support_count FROM batmap_itemsets('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 60) i', min_count => 3) LIMIT 3;
SET statement_timeout = '100ms';
SELECT count(*) FROM batmap_itemsets('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 60) i', min_count => 3);
RESET statement_timeout;
-- refused
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets');
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, min_support => 0.5);
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 0);
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, max_support => 2);
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, min_length => 3, max_length => 2);
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, target => 'open');
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, algorithm => 'apriori');
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, timeout => '-1 s');
SELECT * FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 1, include => '{1,NULL}');
SELECT * FROM batmap_itemsets(NULL::text, min_count => 1);
SELECT * FROM batmap_itemsets_as(NULL, 'SELECT 1, 2', min_count => 1);
SELECT * FROM batmap_itemset_spectrum('SELECT 1', min_count => 1);
SELECT sum(itemsets) FROM batmap_itemset_spectrum('SELECT 1, i FROM generate_series(1, 70) i', min_count => 1);
DROP TABLE baskets, many, one;
