-- Settings: defaults, range, and what they change in a run.
LOAD 'batmap';
SELECT name, setting, unit, context, vartype FROM pg_settings WHERE name LIKE 'batmap.%' ORDER BY 1;
CREATE TABLE t AS SELECT i / 10 AS tid, i * 31 % 200 AS item FROM generate_series(1, 5000) i;
SET batmap.max_threads = 8;
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
-- devices: what every machine answers, with the module missing; a session tries it once
\c
LOAD 'batmap';
SET batmap.accelerator = '/nowhere/batmap_cuda';
SELECT device, name, reason FROM batmap_devices();
SELECT count(*) FROM batmap_pairs('VALUES (1, 1), (1, 2)', min_count => 1);
SELECT device FROM batmap_last_run();
SELECT count(*) FROM batmap_pairs('VALUES (1, 1), (1, 2)', min_count => 1, device => 'cuda');
SELECT count(*) FROM batmap_pairs('VALUES (1, 1), (1, 2)', min_count => 1, device => 'gpu');
\set VERBOSITY sqlstate
SELECT count(*) FROM batmap_pairs('VALUES (1, 1), (1, 2)', min_count => 1, device => 'require');
SELECT count(*) FROM batmap_join_project('VALUES (1, 1)', 'VALUES (1, 2)', device => 'require');
SELECT count(*) FROM batmap_all_pairs($$VALUES (1, '{1}'::batmap), (2, '{1}')$$, min_count => 1, device => 'require');
SELECT count(*) FROM batmap_all_pairs($$VALUES (1, '{1}'::batmap), (2, '{1}')$$, min_count => 1, device => 'cuda');
SET batmap.device = require;
SELECT count(*) FROM batmap_pairs('VALUES (1, 1), (1, 2)', min_count => 1);
\set VERBOSITY default
SELECT count(*) FROM batmap_pairs('VALUES (1, 1), (1, 2)', min_count => 1);
SELECT count(*) FROM batmap_pairs('VALUES (1, 1), (1, 2)', min_count => 1, device => 'cpu');
RESET batmap.device;
SET batmap.gpu_devices = '0,1';
SET batmap.gpu_devices = '0,';
SET batmap.gpu_devices = 'a';
RESET batmap.gpu_devices;
SET batmap.gpu_memory_limit = '1GB';
RESET batmap.gpu_memory_limit;
CREATE ROLE batmap_plain_user;
SET ROLE batmap_plain_user;
SET batmap.accelerator = '/nowhere/else';
SET batmap.max_threads = 1000;
SET batmap.max_memory = '1TB';
RESET batmap.max_threads;
SET batmap.threads = 1024;
SET batmap.memory_limit = -1;
RESET ROLE;
-- threads are cut to the cap; memory ends at it, whatever the limit of a run
SET batmap.max_threads = 4;
SELECT count(*) FROM batmap_pairs('VALUES (1, 1), (1, 2)', min_count => 1);
SELECT threads FROM batmap_last_run();
SET batmap.max_threads = 0;
SELECT count(*), sum(support_count) FROM batmap_itemsets('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 15) i', min_count => 3);
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 15) i', min_count => 3);
SELECT threads FROM batmap_last_run();
SET batmap.max_memory = '1MB';
\set VERBOSITY sqlstate
SELECT count(*) FROM batmap_pairs('SELECT g, g % 1000 FROM generate_series(1, 500000) g', min_count => 1, method => 'bitmap');
\set VERBOSITY default
-- a session keeps up to 64 kB for small sets
SELECT all_sessions, threads, max_threads, memory <= 65536 AS has_given_back, max_memory FROM batmap_usage();
RESET batmap.max_memory;
RESET batmap.max_threads;
SELECT max_threads > 0 AS threads, max_memory > 100000000 AS memory FROM batmap_usage();
SET batmap.max_threads = -2;
RESET batmap.threads;
RESET batmap.memory_limit;
DROP ROLE batmap_plain_user;
