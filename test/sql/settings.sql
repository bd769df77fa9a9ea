-- Settings: defaults, range, and what they change in a run.
LOAD 'batmap';
SELECT name, setting, unit, context, vartype FROM pg_settings WHERE name LIKE 'batmap.%' ORDER BY 1;
CREATE TABLE t AS SELECT i / 10 AS tid, i * 31 % 200 AS item FROM generate_series(1, 5000) i;
SET batmap.threads = 3;
SELECT count(*) > 0 AS rows FROM batmap_pairs('SELECT tid, item FROM t', min_count => 1);
SELECT threads FROM batmap_last_run();
RESET batmap.threads;
SET max_parallel_workers_per_gather = 0;
SELECT count(*) > 0 AS rows FROM batmap_pairs('SELECT tid, item FROM t', min_count => 1);
SELECT threads FROM batmap_last_run();
RESET max_parallel_workers_per_gather;
SET batmap.cpu_kernel = scalar;
SELECT count(*) > 0 AS rows FROM batmap_pairs('SELECT tid, item FROM t', min_count => 1, method => 'bitmap');
SELECT method, kernel FROM batmap_last_run();
SELECT count(*) > 0 AS rows FROM batmap_pairs('SELECT tid, item FROM t', min_count => 1, method => 'positional');
SELECT method, kernel FROM batmap_last_run();
SELECT count(*) > 0 AS rows FROM batmap_pairs('SELECT tid, item FROM t', min_count => 1, method => 'merge');
SELECT method, kernel FROM batmap_last_run();
RESET batmap.cpu_kernel;
SET batmap.memory_limit = -1;
SELECT count(*) > 0 AS rows FROM batmap_pairs('SELECT tid, item FROM t', min_count => 1);
SELECT peak_memory > 100000 AS measured, read_ms >= 0 AND group_ms > 0 AND count_ms > 0 AND answer_ms > 0 AS timed,
       rows_read, transactions, items, items_kept, occurrences, pair_instances, truncated, input, device, operation
FROM batmap_last_run();
RESET batmap.memory_limit;
DROP TABLE t;
