-- batmap_count_pairs over stored sets on the CPU's threads and on the GPU, end to end: ten million listed pairs. The sets are
-- stored in the compact form, or in the prepared one. Medians of three runs. The sides alternate in one session, and the GPU's context exists. The list is read by one process, which both
-- sides wait for; the counting is shown apart: on the GPU with the sets prepared and sent, and the pairs sent and read back.
\pset pager off
SET max_parallel_workers = 16;
SET batmap.threads = 16;
SET batmap.memory_limit = '16GB';
SET client_min_messages = warning;
SELECT device, name FROM batmap_devices();

CREATE TABLE list_times (sets int, elements int, form text, side text, ms float8, device text, read_ms float8, group_ms float8, count_ms float8, reason text, total int8);
CREATE FUNCTION run_list(n int, size int, form text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE started timestamptz; side text; found int8;
BEGIN
    DROP TABLE IF EXISTS list_sets, listed;
    EXECUTE format('CREATE UNLOGGED TABLE list_sets AS SELECT s AS id, batmap_agg(abs(hashint8extended(s * 100000::int8 + k, 3)) %% 10000000)::%s AS items '
                   'FROM generate_series(1, %s) s, generate_series(1, %s) k GROUP BY s', form, n, size);
    EXECUTE format('CREATE UNLOGGED TABLE listed AS SELECT (abs(hashint8extended(i, 1)) %% %s)::int4 + 1 AS a, (abs(hashint8extended(i, 2)) %% %s)::int4 + 1 AS b '
                   'FROM generate_series(1::int8, 10000000) i', n, n);
    FOR run IN 1..3 LOOP
        FOREACH side IN ARRAY ARRAY['cpu', 'require', 'auto'] LOOP
            PERFORM set_config('batmap.device', side, true);
            started := clock_timestamp();
            SELECT sum(support_count) INTO found FROM batmap_count_pairs('SELECT id, items FROM list_sets', 'SELECT a, b FROM listed');
            INSERT INTO list_times SELECT n, size, form, side, 1000 * extract(epoch FROM clock_timestamp() - started), l.device, l.read_ms, l.group_ms,
                l.count_ms, l.reason, found FROM batmap_last_run() l;
        END LOOP;
    END LOOP;
END $$;
-- Of 30,000 sets the list names 2 % of all pairs.
SELECT run_list(n, size, form) FROM (VALUES (4000, 1000), (2000, 10000), (30000, 1000)) i (n, size), (VALUES ('batmap(10000000)'), ('batmap(10000000, ''prepared'')')) f (form) \g /dev/null

SELECT sets, elements, form, side, split_part(max(device), ' ', 1) AS device,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1) AS ms,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY read_ms)::numeric, 1) AS read_ms,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY group_ms)::numeric, 1) AS group_ms,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY count_ms)::numeric, 1) AS count_ms, count(DISTINCT total) = 1 AS equal
FROM list_times GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 3, 4;
\echo counting on 16 threads against the GPU
SELECT sets, elements, form, round((percentile_cont(0.5) WITHIN GROUP (ORDER BY count_ms) FILTER (WHERE side = 'cpu')
                              / percentile_cont(0.5) WITHIN GROUP (ORDER BY count_ms) FILTER (WHERE side = 'require'))::numeric, 1) AS gpu_faster,
       count(DISTINCT total) = 1 AS equal
FROM list_times GROUP BY 1, 2, 3 ORDER BY 1 DESC, 3;
\echo what auto knew
SELECT DISTINCT sets, elements, form, reason FROM list_times WHERE side = 'auto' ORDER BY 1 DESC, 3;
DROP TABLE list_times, list_sets, listed;
DROP FUNCTION run_list;
