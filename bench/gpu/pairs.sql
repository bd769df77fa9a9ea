-- batmap_pairs on the CPU's threads and on the GPU, end to end: rows in a table, answers counted. Best of
-- three runs, or of nine below a million rows. The sides alternate in one session, so after the first table
-- the GPU's context exists. From a million rows on, a table is read by one process for every 300,000 rows, at
-- most 16; the planner alone would take four for the largest.
\pset pager off
\pset null ''
SET max_parallel_workers_per_gather = 15;
SET max_parallel_workers = 16;
SET batmap.threads = 16;
SET client_min_messages = warning;
SELECT device, name, round(context_ms) AS context_ms, break_even_rows_cold, break_even_rows FROM batmap_devices();

-- Milliseconds of one run, and what batmap_last_run() reports about it.
CREATE TABLE bench_times (items int, density float8, row_count int8, min_count int8, side text, run int, ms float8, device text,
                          method text, reason text, read_ms float8, group_ms float8, count_ms float8, answers int8);
CREATE FUNCTION run_once(i int, d float8, r int8, k int8, side text, run int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE started timestamptz := clock_timestamp(); answers int8;
BEGIN
    EXECUTE format('SELECT count(*) FROM batmap_pairs(''SELECT tid, item FROM bench_rows'', min_count => %s, device => %L)', k, side)
        INTO answers;
    INSERT INTO bench_times SELECT i, d, r, k, side, run, 1000 * extract(epoch FROM clock_timestamp() - started), l.device, l.method, l.reason,
        l.read_ms, l.group_ms, l.count_ms, answers FROM batmap_last_run() l;
END $$;
CREATE FUNCTION run_all(i int, d float8, r int8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    expected float8 := r * d / i;  -- common transactions of two items
    k int8 := ceil(expected + 5 * sqrt(expected) + 1);
BEGIN
    DROP TABLE IF EXISTS bench_rows;
    EXECUTE format('CREATE UNLOGGED TABLE bench_rows AS SELECT (abs(hashint8extended(i, 1)) %% %s)::int4 AS tid, '
                   '(abs(hashint8extended(i, 2)) %% %s)::int4 AS item FROM generate_series(1::int8, %s) i',
                   greatest((r / (i * d))::int8, 1), i, r);
    IF r >= 1000000 THEN
        EXECUTE format('ALTER TABLE bench_rows SET (parallel_workers = %s)', least(15, r / 300000));
    END IF;
    ANALYZE bench_rows;
    FOR run IN 1..CASE WHEN r < 1000000 THEN 9 ELSE 3 END LOOP
        PERFORM run_once(i, d, r, k, 'cpu', run), run_once(i, d, r, k, 'require', run), run_once(i, d, r, k, 'auto', run);
    END LOOP;
END $$;

DO $$
DECLARE i int; d float8; r int8;
BEGIN
    FOREACH r IN ARRAY ARRAY[10000, 100000, 1000000, 5000000] LOOP
        FOR i, d IN VALUES (500, 0.05), (4000, 0.002), (4000, 0.05), (16000, 0.001), (16000, 0.01), (16000, 0.05), (64000, 0.0005),
                           (64000, 0.01) LOOP
            PERFORM run_all(i, d, r);
        END LOOP;
    END LOOP;
    PERFORM run_all(4000, 0.05, 10000000), run_all(64000, 0.05, 10000000);
END $$;

\echo the GPU with its context there against 16 threads; auto against the better of the two
SELECT items, density, row_count AS rows, min_count, max(answers) AS answers,
       round(min(ms) FILTER (WHERE side = 'cpu')::numeric, 1) AS cpu_ms,
       round(min(ms) FILTER (WHERE side = 'require')::numeric, 1) AS gpu_ms,
       round((min(ms) FILTER (WHERE side = 'cpu') / min(ms) FILTER (WHERE side = 'require'))::numeric, 2) AS gpu_faster,
       round(min(ms) FILTER (WHERE side = 'auto')::numeric, 1) AS auto_ms,
       round((min(ms) FILTER (WHERE side = 'auto')
              / least(min(ms) FILTER (WHERE side = 'cpu'), min(ms) FILTER (WHERE side = 'require')))::numeric, 2) AS auto_loses,
       max(split_part(device, ' ', 1)) FILTER (WHERE side = 'auto') AS auto_took,
       max(method) FILTER (WHERE side = 'cpu') AS cpu_method, max(method) FILTER (WHERE side = 'require') AS gpu_method,
       count(DISTINCT answers) = 1 AS equal
FROM bench_times GROUP BY 1, 2, 3, 4 ORDER BY 3, 1, 2;

\echo the choices that took more than 1.2 times the better device: medians, and what auto knew
SELECT items, density, row_count AS rows, round(cpu::numeric, 1) AS cpu_ms, round(gpu::numeric, 1) AS gpu_ms, round(auto::numeric, 1) AS auto_ms, reason
FROM (SELECT items, density, row_count, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE side = 'cpu') AS cpu,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE side = 'require') AS gpu,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE side = 'auto') AS auto, max(reason) FILTER (WHERE side = 'auto') AS reason
      FROM bench_times GROUP BY 1, 2, 3) t
WHERE auto > 1.2 * least(cpu, gpu) ORDER BY 3, 1, 2;

\echo where the time goes at 100,000 rows and at 10 million, medians
SELECT items, density, row_count AS rows, side, max(method) AS method, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY read_ms)::numeric, 1) AS read_ms,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY group_ms)::numeric, 1) AS group_ms,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY count_ms)::numeric, 1) AS count_ms,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1) AS ms
FROM bench_times WHERE row_count IN (100000, 10000000) GROUP BY 1, 2, 3, 4 ORDER BY 3, 1, 2, 4;

\echo the first run of a session, which makes the context: 4,000 items at 5 %, one reading process
CREATE TABLE cold_times (row_count int8, side text, ms float8);
CREATE FUNCTION cold(r int8, side text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE started timestamptz := clock_timestamp();
BEGIN
    PERFORM count(*) FROM batmap_pairs('SELECT tid, item FROM bench_rows LIMIT ' || r, min_count => r / 10000, device => side);
    INSERT INTO cold_times VALUES (r, side, 1000 * extract(epoch FROM clock_timestamp() - started));
END $$;
SELECT run_all(4000, 0.05, 10000000) \g /dev/null
\c
SET batmap.threads = 16;
SELECT cold(100000, 'require') \g /dev/null
\c
SET batmap.threads = 16;
SELECT cold(1000000, 'require') \g /dev/null
\c
SET batmap.threads = 16;
SELECT cold(10000000, 'require') \g /dev/null
\c
SET batmap.threads = 16;
SELECT cold(r, 'cpu') FROM unnest(ARRAY[100000, 1000000, 10000000]) r \g /dev/null
SELECT row_count AS rows, round(max(ms) FILTER (WHERE side = 'cpu')::numeric, 1) AS cpu_ms,
       round(max(ms) FILTER (WHERE side = 'require')::numeric, 1) AS gpu_cold_ms FROM cold_times GROUP BY 1 ORDER BY 1;
