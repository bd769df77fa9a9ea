-- Answers of the GPU against those of the CPU, through SQL. Only what is the same on every GPU is printed.
\set QUIET on
\pset format unaligned
\pset tuples_only on

SELECT count(*) > 0, bool_and(name <> 'none'), bool_and(and_bits_per_ns > 0), bool_and(break_even_rows > 0) FROM batmap_devices();

CREATE TABLE dense AS
SELECT tid, item FROM generate_series(1, 3000) tid, generate_series(1, 700) item
WHERE hashint8(tid::int8 * 1000 + item) % 10 = 0;
INSERT INTO dense SELECT tid, item FROM dense WHERE tid % 7 = 0;
CREATE TABLE sparse AS
SELECT (hashint8(i) & 65535) AS tid, (hashint8(i + 1) & 4095)::int8 * 100000007 AS item FROM generate_series(1::int8, 300000) i;

-- every statement on the GPU and on the CPU: rows that only one of the two has
CREATE FUNCTION differences(call text) RETURNS TABLE (device text, method text, only_one bigint, has_rows bool) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'CREATE TEMP TABLE on_gpu ON COMMIT DROP AS SELECT * FROM ' || replace(call, '@', 'device => ''require''');
    SELECT split_part(r.device, ':', 1), r.method INTO device, method FROM batmap_last_run() r;
    EXECUTE 'CREATE TEMP TABLE on_cpu ON COMMIT DROP AS SELECT * FROM ' || replace(call, '@', 'device => ''cpu''');
    SELECT count(*) INTO only_one FROM ((TABLE on_gpu EXCEPT ALL TABLE on_cpu) UNION ALL (TABLE on_cpu EXCEPT ALL TABLE on_gpu)) d;
    SELECT count(*) > 0 INTO has_rows FROM on_gpu;
    DROP TABLE on_gpu, on_cpu;
    RETURN NEXT;
END $$;

SELECT * FROM differences($$batmap_pairs('TABLE dense', min_count => 1, @)$$);
SELECT * FROM differences($$batmap_pairs('TABLE dense', min_count => 45, method => 'bitmap', @)$$);
SELECT * FROM differences($$batmap_pairs('TABLE dense', min_count => 45, method => 'horizontal', @)$$);
SELECT * FROM differences($$batmap_pairs('TABLE dense', top_k => 100, @)$$);
SELECT * FROM differences($$batmap_pairs('TABLE dense', per_item_top_k => 3, @)$$);
SELECT * FROM differences($$batmap_pairs('TABLE dense', min_support => 0.01, include => '{1,2,3}', exclude => '{5,77}', @)$$);
SELECT * FROM differences($$batmap_pairs('TABLE sparse', min_count => 1, method => 'horizontal', @)$$);
SELECT * FROM differences($$batmap_pairs('TABLE sparse', min_count => 2, method => 'bitmap', @)$$);
SELECT * FROM differences($$batmap_pairs_of('SELECT tid, ''i'' || item FROM dense', min_count => 40, @)$$);
SELECT * FROM differences($$batmap_join_project('SELECT item, tid FROM dense', 'SELECT tid, item FROM sparse', min_count => 1, @)$$);
SELECT * FROM differences($$batmap_join_project('SELECT item, tid FROM dense WHERE item < 300', 'SELECT tid, item FROM dense', min_count => 30, @)$$);
SELECT * FROM differences($$(SELECT p.* FROM (SELECT batmap_relation_agg(tid, item) r FROM dense) q, LATERAL batmap_pairs(q.r, min_count => 40, @) p) s$$);

-- all pairs of sets: batmaps as they are, others taken apart; the order is the same, too
CREATE TABLE batmaps AS SELECT s AS id, batmap_agg((hashint8(s * 1000 + k) & 65535)::int8, 16777216) AS items
FROM generate_series(1, 400) s, generate_series(1, 500 + s) k GROUP BY s;
CREATE TABLE mixed AS SELECT s % 350 AS id, batmap_prepare(batmap_agg((hashint8(s * 1000 + k) & 8191)::int8), CASE WHEN s % 5 = 0 THEN 65536 ELSE 16777216 END) AS items
FROM generate_series(1, 400) s, generate_series(1, s * s / 50 + 1) k GROUP BY s;
SELECT (batmap_stats(items)).container, count(*) FROM batmaps GROUP BY 1;
SELECT count(DISTINCT (batmap_stats(items)).container) FROM mixed;
SELECT * FROM differences($$(SELECT row_number() OVER () n, * FROM batmap_all_pairs('TABLE batmaps', min_count => 1, @)) s$$);
SELECT * FROM differences($$(SELECT row_number() OVER () n, * FROM batmap_all_pairs('TABLE batmaps', min_jaccard => 0.008, @)) s$$);
SELECT * FROM differences($$(SELECT row_number() OVER () n, * FROM batmap_all_pairs('TABLE batmaps', min_jaccard => 0.001, top_k => 100, @)) s$$);
SELECT * FROM differences($$(SELECT row_number() OVER () n, * FROM batmap_all_pairs('TABLE batmaps', per_item_top_k => 2, @)) s$$);
SELECT * FROM differences($$(SELECT row_number() OVER () n, * FROM batmap_all_pairs('TABLE mixed', min_count => 1, @)) s$$);
SELECT * FROM differences($$(SELECT row_number() OVER () n, * FROM batmap_all_pairs('TABLE mixed', min_jaccard => 0.1, @)) s$$);
SELECT * FROM differences($$(SELECT row_number() OVER () n, * FROM batmap_all_pairs('TABLE mixed', top_k => 100, @)) s$$);
SELECT count(*) FROM batmap_all_pairs('SELECT * FROM batmaps WHERE id = 1', min_count => 1, device => 'require');
SELECT count(*) FROM batmap_all_pairs('TABLE batmaps', min_count => 1, max_results => 10, device => 'require');

-- plain SQL by the plan node
SET batmap.device = require;
CREATE TABLE node_gpu AS SELECT a.item AS x, b.item AS y, count(*) FROM (SELECT DISTINCT * FROM dense) a
    JOIN (SELECT DISTINCT * FROM dense) b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 40;
SELECT operation, device LIKE 'cuda%' FROM batmap_last_run();
SET batmap.device = cpu;
CREATE TABLE node_cpu AS SELECT a.item AS x, b.item AS y, count(*) FROM (SELECT DISTINCT * FROM dense) a
    JOIN (SELECT DISTINCT * FROM dense) b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 40;
SELECT count(*) FROM ((TABLE node_gpu EXCEPT TABLE node_cpu) UNION ALL (TABLE node_cpu EXCEPT TABLE node_gpu)) d;
RESET batmap.device;

-- edges
SELECT count(*) FROM batmap_pairs('SELECT 1, 1 WHERE false', min_count => 1, device => 'require');
SELECT count(*) FROM batmap_pairs('SELECT 1, 1', min_count => 1, device => 'require');
SELECT * FROM batmap_pairs('VALUES (1, 2), (1, 1), (1, 2), (NULL, 3)', min_count => 1, device => 'require');
SELECT count(*) FROM batmap_pairs('TABLE dense', min_count => 1, max_results => 10, device => 'require');
SELECT count(*) FROM batmap_pairs('TABLE dense', min_count => 1, method => 'merge', device => 'require');
SELECT count(*) > 0 FROM batmap_pairs('TABLE dense', min_count => 1, method => 'merge', device => 'cuda');

-- memory of the device: an error, or the CPU
SET batmap.gpu_memory_limit = '1MB';
\set VERBOSITY sqlstate
SELECT count(*) FROM batmap_pairs('TABLE dense', min_count => 45, device => 'require');
\set VERBOSITY default
SELECT count(*) > 0, (SELECT device FROM batmap_last_run()) IS NOT NULL FROM batmap_pairs('TABLE dense', min_count => 45, device => 'cuda');
SELECT device FROM batmap_last_run();
SELECT count(*) > 0 FROM batmap_all_pairs('TABLE batmaps', min_count => 1, device => 'cuda');
SELECT device FROM batmap_last_run();
RESET batmap.gpu_memory_limit;

-- a cancelled run leaves the device as it was
CREATE TABLE large AS SELECT i / 300 AS tid, (hashint8(i) & 16383) AS item FROM generate_series(1::int8, 6000000) i;
SET statement_timeout = '700ms';
SELECT sum(support_count) FROM batmap_pairs('TABLE large', min_count => 1, device => 'require');
RESET statement_timeout;
SELECT count(*) > 0 FROM batmap_pairs('TABLE dense', min_count => 45, device => 'require');

-- 1,000 runs in one session leave nothing: the process does not grow
CREATE FUNCTION resident_kb() RETURNS int8 LANGUAGE sql AS
$$SELECT substring(pg_read_file('/proc/self/status') FROM 'VmRSS:\s+(\d+)')::int8$$;
DO $$ BEGIN FOR i IN 1..50 LOOP PERFORM count(*) FROM batmap_pairs('SELECT * FROM dense WHERE tid < 300', min_count => 5, device => 'require'); END LOOP; END $$;
SELECT resident_kb() AS before \gset
DO $$ BEGIN FOR i IN 1..1000 LOOP PERFORM count(*) FROM batmap_pairs('SELECT * FROM dense WHERE tid < 300', min_count => 5, device => 'require'); END LOOP; END $$;
SELECT resident_kb() - :before < 20000;
SELECT device LIKE 'cuda%' FROM batmap_last_run();
DROP TABLE dense, sparse, batmaps, mixed, large, node_gpu, node_cpu;
