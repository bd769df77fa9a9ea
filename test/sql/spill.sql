-- Rows past batmap.work_mem: they go to temporary files and are counted partition by partition, with the same answer.
CREATE TABLE many AS
    SELECT (x * 7919 % 4001)::int4 AS tid, ((x * x + x / 3) % 211)::int4 AS item FROM generate_series(1, 60000::int8) x;
SET batmap.work_mem = '64kB';
-- PostgreSQL 19 can group below the join, which may be estimated to be cheaper.
SELECT count(set_config(name, 'off', false)) AS "set" FROM pg_settings WHERE name = 'enable_eager_aggregate' \gset
SET max_parallel_workers_per_gather = 0;
CREATE TABLE spilled AS SELECT * FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
SELECT reason LIKE 'rows in % MB of files, counted in % parts%' AS in_files, results, truncated
  FROM batmap_last_run();
RESET batmap.work_mem;
CREATE TABLE in_memory AS SELECT * FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
SELECT reason LIKE 'estimates: %' AS in_memory, results, truncated FROM batmap_last_run();
SELECT count(*) FROM (TABLE spilled EXCEPT ALL TABLE in_memory) d;
SELECT count(*) FROM (TABLE in_memory EXCEPT ALL TABLE spilled) d;

-- every method and every form of the question
SET batmap.work_mem = '64kB';
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 20, method => 'merge');
SELECT method FROM batmap_last_run();
SELECT * FROM batmap_pairs('SELECT tid, item FROM many', top_k => 3);
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM many', per_item_top_k => 2);
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1, max_results => 5);
SELECT count(*), bool_and(5 IN (item_a, item_b)) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1, include => '{5}');
SELECT count(*) FROM batmap_pairs_of('SELECT tid, ''i'' || item FROM many', min_count => 20, exclude => '{i5}');
RESET batmap.work_mem;
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 20, method => 'merge');
SELECT * FROM batmap_pairs('SELECT tid, item FROM many', top_k => 3);
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM many', per_item_top_k => 2);
SELECT count(*), bool_and(5 IN (item_a, item_b)) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1, include => '{5}');
SELECT count(*) FROM batmap_pairs_of('SELECT tid, ''i'' || item FROM many', min_count => 20, exclude => '{i5}');

-- what parallel workers send follows into the files
SET batmap.work_mem = '1MB';
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CREATE TABLE in_parallel AS SELECT * FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
SELECT input, reason LIKE 'rows in %' AS in_files FROM batmap_last_run();
SELECT count(*) FROM (TABLE in_parallel EXCEPT ALL TABLE in_memory) d;
SELECT count(*) FROM (TABLE in_memory EXCEPT ALL TABLE in_parallel) d;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- the files go when the run ends: at its last row, before it, and with a cursor
SET batmap.work_mem = '64kB';
SELECT count(*) FROM (SELECT * FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1) LIMIT 3) p;
SELECT count(*) FROM pg_ls_tmpdir();
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
MOVE 100 FROM c;
SELECT count(*) > 0 AS files FROM pg_ls_tmpdir();
SAVEPOINT s;
SELECT 1 / 0;
ROLLBACK TO s;
MOVE 100 FROM c;
CLOSE c;
SELECT count(*) FROM pg_ls_tmpdir();
COMMIT;

-- errors of the files are the server's own, and leave nothing behind
SET temp_file_limit = '64kB';
\set VERBOSITY sqlstate
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
\set VERBOSITY default
RESET temp_file_limit;
SELECT count(*) FROM pg_ls_tmpdir();
DO $$
BEGIN
    SET LOCAL temp_file_limit = '64kB';
    PERFORM * FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
EXCEPTION WHEN configuration_limit_exceeded THEN
    RAISE NOTICE 'caught';
END $$;
SELECT count(*) FROM pg_ls_tmpdir();
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
SELECT count(*), sum(support_count) FROM in_memory;

-- joins: both inputs, one of them, and what they join to
CREATE TABLE few AS SELECT tid, item % 7 AS item FROM many WHERE item < 20;
CREATE TABLE joined AS SELECT * FROM batmap_join_project('SELECT item, tid FROM many', 'SELECT tid, item FROM many');
CREATE TABLE joined_few AS SELECT * FROM batmap_join_project_of(NULL::text, NULL::int4, 'SELECT ''i'' || item, tid FROM many',
    'SELECT tid, item FROM few', min_count => 2);
SET batmap.work_mem = '64kB';
CREATE TABLE joined_spilled AS SELECT * FROM batmap_join_project('SELECT item, tid FROM many', 'SELECT tid, item FROM many');
SELECT reason LIKE 'rows in % MB of files, %' AS in_files, rows_read, results FROM batmap_last_run();
CREATE TABLE joined_few_spilled AS SELECT * FROM batmap_join_project_of(NULL::text, NULL::int4, 'SELECT ''i'' || item, tid FROM many', 'SELECT tid, item FROM few', min_count => 2);
SELECT reason LIKE 'rows in % MB of files, %' AS in_files, rows_read, results FROM batmap_last_run();
SELECT count(*) FROM ((TABLE joined EXCEPT ALL TABLE joined_spilled) UNION ALL (TABLE joined_spilled EXCEPT ALL TABLE joined)) d;
SELECT count(*)
  FROM ((TABLE joined_few EXCEPT ALL TABLE joined_few_spilled) UNION ALL (TABLE joined_few_spilled EXCEPT ALL TABLE joined_few)) d;
-- as plain SQL, where rows that repeat multiply
ANALYZE many;
ANALYZE few;
CREATE TABLE multiplied_spilled AS SELECT m.item AS a, f.item AS c, count(*) FROM many m JOIN few f USING (tid) GROUP BY 1, 2;
SELECT operation, reason LIKE '%rows in % MB of files, %' AS in_files FROM batmap_last_run();
-- where memory is too small even so, the files go before the plain plan answers
SET batmap.memory_limit = '1900kB';
SELECT count(*) FROM (SELECT m.item, o.item FROM many m JOIN many o ON m.tid = o.tid + 1 GROUP BY 1, 2) d;
RESET batmap.memory_limit;
SET batmap.enable_join_project = off;
CREATE TABLE multiplied AS SELECT m.item AS a, f.item AS c, count(*) FROM many m JOIN few f USING (tid) GROUP BY 1, 2;
RESET batmap.enable_join_project;
RESET batmap.work_mem;
SELECT count(*) FROM ((TABLE multiplied EXCEPT ALL TABLE multiplied_spilled) UNION ALL (TABLE multiplied_spilled EXCEPT ALL TABLE multiplied)) d;
DROP TABLE few, joined, joined_few, joined_spilled, joined_few_spilled, multiplied, multiplied_spilled;
