-- Itemsets and rules of the GPU against those of the CPU, through SQL. Only what is the same on every GPU is printed.
\set QUIET on
\pset format unaligned
\pset tuples_only on

CREATE TABLE baskets AS
SELECT tid, item FROM generate_series(1, 4000) tid, generate_series(1, 40) item
WHERE abs(hashint8(tid::int8 * 1000 + item) % 10) < 3;
INSERT INTO baskets SELECT tid + 10000, item FROM baskets WHERE tid % 3 = 0;
INSERT INTO baskets SELECT tid, item FROM baskets WHERE tid % 7 = 0;

-- every statement on the GPU and on the CPU: rows that only one of the two has, and whether their order is the same
CREATE FUNCTION differences(call text) RETURNS TABLE (device text, method text, only_one bigint, same_order bool, has_rows bool) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'CREATE TEMP TABLE on_gpu ON COMMIT DROP AS SELECT row_number() OVER () AS n, t::text AS row FROM ' || replace(call, '@', 'device => ''require''') || ' t';
    SELECT split_part(r.device, ':', 1), r.method INTO device, method FROM batmap_last_run() r;
    EXECUTE 'CREATE TEMP TABLE on_cpu ON COMMIT DROP AS SELECT row_number() OVER () AS n, t::text AS row FROM ' || replace(call, '@', 'device => ''cpu''') || ' t';
    SELECT count(*) INTO only_one
    FROM ((SELECT row FROM on_gpu EXCEPT ALL SELECT row FROM on_cpu) UNION ALL (SELECT row FROM on_cpu EXCEPT ALL SELECT row FROM on_gpu)) d;
    SELECT bool_and(g.row = c.row) INTO same_order FROM on_gpu g JOIN on_cpu c USING (n);
    SELECT count(*) > 0 INTO has_rows FROM on_gpu;
    DROP TABLE on_gpu, on_cpu;
    RETURN NEXT;
END $$;

SELECT * FROM differences($$batmap_itemsets('TABLE baskets', min_count => 60, @)$$);
SELECT * FROM differences($$batmap_itemsets('TABLE baskets', min_count => 60, algorithm => 'pbi', @)$$);
SELECT * FROM differences($$batmap_itemsets('TABLE baskets', min_count => 60, algorithm => 'tbi', @)$$);
SELECT * FROM differences($$batmap_itemsets('TABLE baskets', min_count => 150, algorithm => 'dfs', @)$$);
SELECT * FROM differences($$batmap_itemsets('TABLE baskets', min_support => 0.02, min_length => 2, max_length => 3, include => '{1,2}', exclude => '{7}', @)$$);
SELECT * FROM differences($$batmap_itemsets('TABLE baskets', min_count => 60, target => 'closed', @)$$);
SELECT * FROM differences($$batmap_itemsets('TABLE baskets', min_count => 60, target => 'generators', algorithm => 'tbi', @)$$);
SELECT * FROM differences($$batmap_itemsets('TABLE baskets', top_k => 300, @)$$);
SELECT * FROM differences($$batmap_itemsets_of('SELECT tid, ''i'' || item FROM baskets', min_count => 60, @)$$);
SELECT * FROM differences($$batmap_rules('TABLE baskets', min_count => 60, min_confidence => 0.2, @)$$);
SELECT * FROM differences($$batmap_rules_of('SELECT tid, ''i'' || item FROM baskets', min_count => 60, min_lift => 1, @)$$);
SELECT * FROM differences($$(SELECT i.* FROM (SELECT batmap_relation_agg(tid, item) r FROM baskets) q, LATERAL batmap_itemsets(q.r, min_count => 60, @) i)$$);
SET batmap.device = require;
SELECT sum(itemsets) = (SELECT count(*) FROM batmap_itemsets('TABLE baskets', min_count => 60, device => 'cpu'))
FROM batmap_itemset_spectrum('TABLE baskets', min_count => 60);
RESET batmap.device;

-- what the levels did
SELECT count(*) FROM batmap_itemsets('TABLE baskets', min_count => 60, algorithm => 'pbi', device => 'cpu') \g /dev/null
CREATE TEMP TABLE cpu_levels AS SELECT length, candidates, frequent FROM batmap_last_run_levels();
SELECT count(*) FROM batmap_itemsets('TABLE baskets', min_count => 60, algorithm => 'pbi', device => 'require') \g /dev/null
SELECT count(*) FROM (SELECT length, candidates, frequent FROM batmap_last_run_levels() EXCEPT TABLE cpu_levels) d;

-- edges
SELECT count(*) FROM batmap_itemsets('SELECT 1, 1 WHERE false', min_count => 1, device => 'require');
SELECT itemset, support_count FROM batmap_itemsets('VALUES (1, 2), (1, 1), (1, 2), (2, 1), (NULL, 3)', min_count => 1, device => 'require');
SELECT count(*) FROM batmap_itemsets('TABLE baskets', min_count => 60, target => 'generators', device => 'require');
SELECT count(*) FROM batmap_itemsets('TABLE baskets', min_count => 60, max_results => 10, device => 'require');

-- memory of the device: an error, or the CPU
SET batmap.gpu_memory_limit = '8kB';
\set VERBOSITY sqlstate
SELECT count(*) FROM batmap_itemsets('TABLE baskets', min_count => 60, device => 'require');
\set VERBOSITY default
SELECT count(*) > 0 FROM batmap_itemsets('TABLE baskets', min_count => 60, device => 'cuda');
SELECT device FROM batmap_last_run();
RESET batmap.gpu_memory_limit;

-- a cancelled run leaves the device as it was
SET statement_timeout = '1s';
SELECT count(*) FROM batmap_itemsets('TABLE baskets', min_count => 2, algorithm => 'dfs', device => 'require');
RESET statement_timeout;
SELECT count(*) > 0 FROM batmap_itemsets('TABLE baskets', min_count => 60, device => 'require');
SELECT device LIKE 'cuda%' FROM batmap_last_run();
DROP TABLE baskets;
