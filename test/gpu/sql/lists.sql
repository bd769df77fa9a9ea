-- Counts of listed pairs on the GPU against those of the CPU, through SQL. Only what is the same on every GPU is printed.
\set QUIET on
\pset format unaligned
\pset tuples_only on

CREATE TABLE lines AS SELECT tid, item FROM generate_series(1, 3000) tid, generate_series(1, 500) item WHERE hashint8(tid::int8 * 1000 + item) % 10 = 0;
INSERT INTO lines SELECT tid, item FROM lines WHERE tid % 7 = 0;
-- Compact sets: batmaps once they are prepared, but the smallest, which the CPU compares.
CREATE TABLE sets AS SELECT s AS id, batmap_agg((hashint8(s * 1000 + k) & 8388607)::int8) AS items
FROM generate_series(1, 400) s, generate_series(1, s * s / 40 + 1) k GROUP BY s;
CREATE TABLE close_sets AS SELECT s AS id, batmap_prepare(batmap_agg((hashint8(s * 1000 + k) & 65535)::int8), 16777216) AS items
FROM generate_series(1, 300) s, generate_series(1, 500 + 7 * s) k GROUP BY s;
CREATE TABLE pairs AS SELECT (hashint8(i) & 511) AS a, (hashint8(i + 1) & 511) AS b FROM generate_series(1::int8, 300000) i;

-- on the GPU and on the CPU: rows of which only one of the two has this answer at this place
CREATE FUNCTION differences(call text) RETURNS TABLE (device text, method text, only_one bigint, has_common bool) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('batmap.device', 'require', false);
    EXECUTE 'CREATE TEMP TABLE on_gpu ON COMMIT DROP AS SELECT * FROM ' || call || ' WITH ORDINALITY';
    SELECT split_part(r.device, ':', 1), r.method INTO device, method FROM batmap_last_run() r;
    PERFORM set_config('batmap.device', 'cpu', false);
    EXECUTE 'CREATE TEMP TABLE on_cpu ON COMMIT DROP AS SELECT * FROM ' || call || ' WITH ORDINALITY';
    SELECT count(*) INTO only_one FROM ((TABLE on_gpu EXCEPT ALL TABLE on_cpu) UNION ALL (TABLE on_cpu EXCEPT ALL TABLE on_gpu)) d;
    SELECT sum(support_count) > 0 INTO has_common FROM on_gpu;
    DROP TABLE on_gpu, on_cpu;
    RETURN NEXT;
END $$;

SELECT * FROM differences($$batmap_count_pairs('TABLE lines', 'TABLE pairs', 'lift')$$);
SELECT * FROM differences($$batmap_count_pairs_of('SELECT tid, ''i'' || item FROM lines', 'SELECT ''i'' || a, ''i'' || b FROM pairs LIMIT 1000')$$);
SELECT * FROM differences($$batmap_count_pairs('TABLE sets', 'TABLE pairs', 'jaccard')$$);
SELECT * FROM differences($$batmap_count_pairs('SELECT id, batmap_prepare(items) FROM sets', 'TABLE pairs')$$);
SELECT * FROM differences($$batmap_count_pairs('SELECT id, CASE WHEN id % 3 = 0 THEN batmap_prepare(items, 16777216) ELSE items END FROM sets', 'TABLE pairs')$$);
SELECT * FROM differences($$batmap_count_pairs('TABLE close_sets', 'TABLE pairs', 'jaccard')$$);
SELECT * FROM differences($$batmap_count_pairs_of('SELECT ''s'' || id, items FROM close_sets', 'SELECT ''s'' || a, ''s'' || b FROM pairs')$$);
-- the two ways agree
SELECT count(*) FROM batmap_count_pairs('TABLE close_sets', 'TABLE pairs') WITH ORDINALITY s
    JOIN batmap_count_pairs('SELECT e, id FROM close_sets, batmap_unnest(items) e', 'TABLE pairs') WITH ORDINALITY r USING (ordinality)
WHERE s.* IS DISTINCT FROM r.*;

-- edges
SET batmap.device = require;
SELECT count(*) FROM batmap_count_pairs('TABLE close_sets', 'SELECT 1, 2 WHERE false');
SELECT support_count FROM batmap_count_pairs('TABLE close_sets', 'VALUES (7, 7), (7, 999)');
SELECT device LIKE 'cuda%' FROM batmap_last_run();
\set VERBOSITY sqlstate
SELECT * FROM batmap_count_pairs('SELECT id, batmap(ARRAY[id, 4294967296 + id]) FROM sets WHERE id < 20', 'VALUES (1, 2)');
SET batmap.gpu_memory_limit = '1MB';
SELECT count(*) FROM batmap_count_pairs('TABLE close_sets', 'TABLE pairs');
\set VERBOSITY default
SET batmap.device = cuda;
SELECT count(*) FROM batmap_count_pairs('TABLE close_sets', 'TABLE pairs');
SELECT device FROM batmap_last_run();
RESET batmap.gpu_memory_limit;
RESET batmap.device;
DROP TABLE lines, sets, close_sets, pairs;
