-- What batmap_pairs would take and give: chosen is what runs, and a small answer is counted.
CREATE TABLE estimate_rows AS
    SELECT tid, item FROM generate_series(1, 2000) tid, generate_series(1, 120) item
     WHERE (hashint8extended(tid * 1000 + item, 7) & 1023) < 40 + item * 3;
SELECT method, device, count(*) FILTER (WHERE chosen) OVER () AS chosen, milliseconds > 0 AS ms, bytes > 0 AS bytes,
       rows_read, transactions, items, items_kept, pair_instances
  FROM batmap_estimate('SELECT tid, item FROM estimate_rows', min_count => 20);
SELECT e.method = r.method AS same_method, e.transactions = p.total AS same_total
  FROM batmap_estimate('SELECT tid, item FROM estimate_rows', min_count => 20) e,
       LATERAL (SELECT max(total) AS total FROM batmap_pairs('SELECT tid, item FROM estimate_rows', min_count => 20)) p,
       LATERAL (SELECT method FROM batmap_last_run() WHERE p.total > 0) r
 WHERE e.chosen;
SELECT k, e.expected_rows = p.n AS same, e.standard_error, p.n
  FROM unnest('{1,20,60,150,300}'::int8[]) k,
       LATERAL (SELECT expected_rows, standard_error FROM batmap_estimate('SELECT tid, item FROM estimate_rows', min_count => k) WHERE chosen) e,
       LATERAL (SELECT count(*) AS n FROM batmap_pairs('SELECT tid, item FROM estimate_rows', min_count => k)) p;
SELECT chosen, reason LIKE '% times the time of %' OR reason = 'the fastest that fits' AS reason
  FROM batmap_estimate('SELECT tid, item FROM estimate_rows', min_support => 0.01) ORDER BY chosen DESC;
SET batmap.memory_limit = '2MB';
SELECT count(*) FILTER (WHERE reason = 'does not fit batmap.memory_limit') > 0 AS some_do_not_fit
  FROM batmap_estimate('SELECT tid, item FROM estimate_rows', min_count => 20);
RESET batmap.memory_limit;
-- 3,000 transactions of 150 items that no other one has: too many pairs to be counted, so the number is that of a sample.
SELECT abs(expected_rows / (3000 * 150 * 149 / 2.0) - 1) < 0.15 AS near, standard_error / expected_rows BETWEEN 0.04 AND 0.05 AS error, pair_instances
  FROM batmap_estimate('SELECT t, t * 150 + i FROM generate_series(1, 3000) t, generate_series(1, 150) i', min_count => 1) WHERE chosen;
SELECT count(*) FROM batmap_estimate('SELECT 1, 2 WHERE false', min_count => 1);
SELECT count(*) FROM batmap_estimate('SELECT tid, item FROM estimate_rows', min_count => 1000000);
SELECT * FROM batmap_estimate(NULL, min_count => 1);
SELECT * FROM batmap_estimate('SELECT 1, 2');
SELECT * FROM batmap_estimate('SELECT 1', min_count => 1);

-- Itemsets: exact where counting is quick, else an estimate with its standard error.
CREATE TABLE dense AS SELECT t AS tid, i AS item FROM generate_series(1, 300) t, generate_series(1, 40) i
WHERE abs(hashint4(t * 1000 + i)::int8) % 100 < 40;
SELECT e.itemsets = s.itemsets AS same, standard_error, exact, transactions, items, items_kept, rows_kept = (SELECT count(*) FROM dense) AS all_rows
FROM batmap_itemset_estimate('SELECT * FROM dense', min_count => 20, timeout => '1 hour') e,
    (SELECT sum(itemsets) AS itemsets FROM batmap_itemset_spectrum('SELECT * FROM dense', min_count => 20)) s;
SELECT itemsets, exact FROM batmap_itemset_estimate('SELECT * FROM dense', min_support => 0.1, max_length => 2, include => '{1,2}', exclude => '{3}', timeout => '1 hour');
SELECT count(*) FROM batmap_itemsets('SELECT * FROM dense', min_support => 0.1, max_length => 2, include => '{1,2}', exclude => '{3}');
SELECT itemsets, exact FROM batmap_itemset_estimate('SELECT 1, 2 WHERE false', min_count => 1);
SELECT operation, method, results FROM batmap_last_run();
-- 2^80 subsets, nearly all of them frequent and none of them for free
SELECT itemsets > 1e15 AS very_many, standard_error > 0 AS about, exact
FROM batmap_itemset_estimate('SELECT t, i FROM generate_series(1, 160) t, generate_series(1, 80) i WHERE t % 80 <> i', min_count => 2, timeout => '100 ms');
SELECT operation, method, reason ~ '^\d+ ways, threshold 2$' AS says_how_many FROM batmap_last_run();
SET statement_timeout = '200ms';
SELECT * FROM batmap_itemset_estimate('SELECT t, i FROM generate_series(1, 160) t, generate_series(1, 80) i WHERE t % 80 <> i', min_count => 2, timeout => '1 hour');
RESET statement_timeout;
SELECT * FROM batmap_itemset_estimate('SELECT * FROM dense');
SELECT * FROM batmap_itemset_estimate('SELECT * FROM dense', min_count => 1, timeout => '0 s');
SELECT * FROM batmap_itemset_estimate(NULL, min_count => 1);
-- Items of any type: an estimate shows none of them.
CREATE TABLE named AS SELECT tid, 'item ' || item AS name, item FROM dense;
SELECT n.expected_rows = i.expected_rows AS same, n.items, n.rows_read = i.rows_read AS same_rows
FROM batmap_estimate('SELECT tid, name FROM named', min_count => 20) n JOIN batmap_estimate('SELECT tid, item FROM named', min_count => 20) i USING (chosen) WHERE chosen;
SELECT items, rows_read FROM batmap_estimate('TABLE named', min_count => 20, tid_column => 'tid', item_column => 'name') WHERE chosen;
SELECT items FROM batmap_estimate('SELECT tid, array_agg(name) FROM named GROUP BY tid', min_count => 20) WHERE chosen;
SELECT items FROM batmap_estimate('SELECT tid, jsonb_agg(name) FROM named GROUP BY tid', min_count => 20) WHERE chosen;
SELECT items FROM batmap_estimate('SELECT tid, md5(name)::uuid FROM named', min_count => 20) WHERE chosen;
SELECT * FROM batmap_estimate('SELECT tid, name::xml FROM named', min_count => 20);
SELECT * FROM batmap_estimate('TABLE named', min_count => 20, tid_column => 'tid', item_column => 'nothing');
SELECT itemsets = (SELECT count(*) FROM batmap_itemsets_of('SELECT tid, name FROM named', min_count => 60, include => '{item 1,item 2}')) AS same
FROM batmap_itemset_estimate_of('SELECT tid, name FROM named', min_count => 60, include => '{item 1,item 2}', timeout => '1 hour');
SELECT itemsets, items FROM batmap_itemset_estimate_as(NULL::uuid, 'SELECT tid, md5(name)::uuid FROM named', min_count => 100, timeout => '1 hour');
SELECT itemsets FROM batmap_itemset_estimate('SELECT tid, name FROM named', min_count => 100);
DROP TABLE dense, named;
