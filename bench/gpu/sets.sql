-- batmap_all_pairs on the CPU's threads and on the GPU, end to end: sets in a table, answers counted. Best of
-- five runs. The sides alternate in one session, and the GPU's context exists.
\pset pager off
SET max_parallel_workers = 16;
SET batmap.threads = 16;
SELECT device, name FROM batmap_devices();

CREATE TABLE set_times (sets int, elements int, universe int8, side text, run int, ms float8, device text, method text, reason text, read_ms float8,
                        group_ms float8, count_ms float8, answers int8);
CREATE FUNCTION run_sets(n int, size int, universe int8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE started timestamptz; found int8; side text; k int8 := ceil(size::float8 * size / universe * 3 + 5);
BEGIN
    DROP TABLE IF EXISTS bench_sets;
    EXECUTE format('CREATE UNLOGGED TABLE bench_sets AS SELECT s AS id, batmap_agg(abs(hashint8extended(s * 100000::int8 + k, 3) %% %s), %s) AS items '
                   'FROM generate_series(1, %s) s, generate_series(1, %s) k GROUP BY s', universe, universe, n, size);
    ANALYZE bench_sets;
    FOR run IN 1..5 LOOP
        FOREACH side IN ARRAY ARRAY['cpu', 'require', 'auto'] LOOP
            started := clock_timestamp();
            EXECUTE format('SELECT count(*) FROM batmap_all_pairs(''SELECT id, items FROM bench_sets'', min_count => %s, device => %L)', k, side)
                INTO found;
            INSERT INTO set_times SELECT n, size, universe, side, run, 1000 * extract(epoch FROM clock_timestamp() - started), l.device, l.method, l.reason,
                l.read_ms, l.group_ms, l.count_ms, found FROM batmap_last_run() l;
        END LOOP;
    END LOOP;
END $$;
SELECT run_sets(n, size, universe) FROM (VALUES (1000, 1000, 10000000), (4000, 2500, 1000000), (4000, 500, 100000000), (10000, 500, 10000000)) i (n, size, universe)
\g /dev/null

\echo all pairs of stored sets, 16 threads against the GPU
SELECT sets, elements, universe, max(answers) AS answers, round(min(ms) FILTER (WHERE side = 'cpu')::numeric, 1) AS cpu_ms,
       round(min(ms) FILTER (WHERE side = 'require')::numeric, 1) AS gpu_ms,
       round((min(ms) FILTER (WHERE side = 'cpu') / min(ms) FILTER (WHERE side = 'require'))::numeric, 2) AS gpu_faster,
       round(min(ms) FILTER (WHERE side = 'auto')::numeric, 1) AS auto_ms,
       round((min(ms) FILTER (WHERE side = 'auto')
              / least(min(ms) FILTER (WHERE side = 'cpu'), min(ms) FILTER (WHERE side = 'require')))::numeric, 2) AS auto_loses,
       max(split_part(device, ' ', 1)) FILTER (WHERE side = 'auto') AS auto_took,
       max(method) FILTER (WHERE side = 'cpu') AS cpu_method, max(method) FILTER (WHERE side = 'require') AS gpu_method,
       round(min(read_ms)::numeric, 1) AS read_ms, round(min(group_ms) FILTER (WHERE side = 'cpu')::numeric, 1) AS cpu_group_ms,
       round(min(count_ms) FILTER (WHERE side = 'cpu')::numeric, 1) AS cpu_count_ms,
       round(min(group_ms) FILTER (WHERE side = 'require')::numeric, 1) AS gpu_group_ms,
       round(min(count_ms) FILTER (WHERE side = 'require')::numeric, 1) AS gpu_count_ms, count(DISTINCT answers) = 1 AS equal
FROM set_times GROUP BY 1, 2, 3 ORDER BY 1, 2;
\echo what auto knew
SELECT DISTINCT sets, elements, universe, reason FROM set_times WHERE side = 'auto' ORDER BY 1, 2;
