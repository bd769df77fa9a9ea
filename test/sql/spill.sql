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

-- an estimate
SET batmap.work_mem = '64kB';
CREATE TABLE foreseen AS SELECT * FROM batmap_estimate('SELECT tid, item FROM many', min_count => 20);
RESET batmap.work_mem;
SELECT f.method, count(*) FILTER (WHERE f.chosen) OVER () AS chosen, f.milliseconds > 0 AS takes_time, f.bytes > 0 AS takes_memory,
    CASE WHEN f.chosen THEN f.reason ~ '; rows in \d+ MB of files, counted in \d+ parts$' ELSE f.reason ~ 'times the time of' END AS reason,
    (f.rows_read, f.transactions, f.items, f.items_kept, f.pair_instances) = (m.rows_read, m.transactions, m.items, m.items_kept, m.pair_instances) AS same_sizes,
    abs(f.expected_rows - m.expected_rows) <= 4 * f.standard_error AS near, f.standard_error > 0 AS estimated, m.standard_error = 0 AS counted
  FROM foreseen f JOIN batmap_estimate('SELECT tid, item FROM many', min_count => 20) m USING (method) ORDER BY method;
SELECT count(*) FROM pg_ls_tmpdir();
DROP TABLE foreseen;
-- of itemsets: from some parts, which are a sample; what was read is known
CREATE TABLE baskets AS SELECT (x * 7919 % 30011)::int4 AS tid, ((x * x + x / 7) % 23)::int4 AS item FROM generate_series(1, 200000::int8) x;
CREATE TABLE foreseen AS SELECT * FROM batmap_itemset_estimate('SELECT tid, item FROM baskets', min_count => 1000, timeout => '1 minute');
SET batmap.work_mem = '256kB';
SELECT m.exact AS counted, f.exact, (f.transactions, f.items, f.items_kept, f.rows_kept) = (m.transactions, m.items, m.items_kept, m.rows_kept) AS same_sizes,
    f.itemsets BETWEEN 0.9 * m.itemsets AND 1.2 * m.itemsets AS near, f.standard_error > 0 AS differ
  FROM foreseen m, batmap_itemset_estimate('SELECT tid, item FROM baskets', min_count => 1000, timeout => '1 minute') f;
SELECT reason ~ '^0 ways, threshold 1000; rows in \d+ MB of files, counted in 4 parts of \d+$' AS in_files, results FROM batmap_last_run();
SELECT exact, items_kept, itemsets FROM batmap_itemset_estimate_of('SELECT tid, ''i'' || item FROM baskets', min_count => 50000);
SELECT exact, items_kept, itemsets FROM batmap_itemset_estimate('SELECT tid, item FROM baskets WHERE tid < 0', min_count => 5);
SELECT count(*) FROM pg_ls_tmpdir();
RESET batmap.work_mem;
DROP TABLE baskets, foreseen;

-- recommendations
SET batmap.work_mem = '64kB';
CREATE TABLE advised AS SELECT row_number() OVER () AS at, r.* FROM batmap_recommend('{5,17,23,40}', 'SELECT tid, item FROM many', min_count => 4, top_k => 100, max_lhs => 3, measure => 'lift') r;
SELECT reason ~ 'rows in \d+ MB of files, counted in \d+ parts' AS in_files, results FROM batmap_last_run();
SELECT item, support_count FROM batmap_recommend_of('{i5,none}', 'SELECT tid, ''i'' || item FROM many', top_k => 2);
SELECT count(*) FROM batmap_recommend('{}', 'SELECT tid, item FROM many');
\set VERBOSITY sqlstate
SET temp_file_limit = '64kB';
SELECT count(*) FROM batmap_recommend('{5}', 'SELECT tid, item FROM many');
RESET temp_file_limit;
\set VERBOSITY default
RESET batmap.work_mem;
CREATE TABLE advised_in_memory AS SELECT row_number() OVER () AS at, r.* FROM batmap_recommend('{5,17,23,40}', 'SELECT tid, item FROM many', min_count => 4, top_k => 100, max_lhs => 3, measure => 'lift') r;
SELECT reason ~ '^\d+ transactions meet the basket' AS in_memory, results FROM batmap_last_run();
SELECT count(*) FROM ((TABLE advised EXCEPT ALL TABLE advised_in_memory) UNION ALL (TABLE advised_in_memory EXCEPT ALL TABLE advised)) d;
SELECT item, support_count FROM batmap_recommend_of('{i5,none}', 'SELECT tid, ''i'' || item FROM many', top_k => 2);
DROP TABLE advised, advised_in_memory;

-- pairs of a list
SET batmap.work_mem = '64kB';
CREATE TABLE listed AS SELECT row_number() OVER () AS at, p.* FROM batmap_count_pairs('SELECT tid, item FROM many', 'SELECT a, (a * 31 + b) % 230 FROM generate_series(0, 220) a, generate_series(1, 9) b ORDER BY a, b', measure => 'jaccard') p;
SELECT reason ~ '^rows in \d+ MB of files, counted in \d+ parts' AS in_files, results FROM batmap_last_run();
SELECT count(*), sum(support_count) FROM batmap_count_pairs('SELECT tid, item FROM many', 'VALUES (5, 17), (5, 17), (17, 5), (5, 5), (5, 999), (NULL, 5)');
SELECT item_a, item_b, support_count, count_a, count_b, total FROM batmap_count_pairs_of('SELECT tid, ''i'' || item FROM many', 'VALUES (''i5'', ''i37''), (''i5'', ''none''), (''i5'', ''i5'')');
SELECT count(*) FROM batmap_count_pairs('SELECT tid, item FROM many', 'SELECT 1, 2 WHERE false');
SELECT count(*) FROM pg_ls_tmpdir();
\set VERBOSITY sqlstate
SET temp_file_limit = '64kB';
SELECT count(*) FROM batmap_count_pairs('SELECT tid, item FROM many', 'VALUES (5, 17)');
RESET temp_file_limit;
\set VERBOSITY default
RESET batmap.work_mem;
CREATE TABLE listed_in_memory AS SELECT row_number() OVER () AS at, p.* FROM batmap_count_pairs('SELECT tid, item FROM many', 'SELECT a, (a * 31 + b) % 230 FROM generate_series(0, 220) a, generate_series(1, 9) b ORDER BY a, b', measure => 'jaccard') p;
SELECT reason ~ '^only listed pairs' AS in_memory, results FROM batmap_last_run();
SELECT count(*) FROM ((TABLE listed EXCEPT ALL TABLE listed_in_memory) UNION ALL (TABLE listed_in_memory EXCEPT ALL TABLE listed)) d;
SELECT count(*), sum(support_count) FROM batmap_count_pairs('SELECT tid, item FROM many', 'VALUES (5, 17), (5, 17), (17, 5), (5, 5), (5, 999), (NULL, 5)');
SELECT item_a, item_b, support_count, count_a, count_b, total FROM batmap_count_pairs_of('SELECT tid, ''i'' || item FROM many', 'VALUES (''i5'', ''i37''), (''i5'', ''none''), (''i5'', ''i5'')');
DROP TABLE listed, listed_in_memory;
-- in several parts, whose counts are added
CREATE TABLE more AS
    SELECT (x * 7919 % 40009)::int4 AS tid, ((x * x + x / 3) % 211)::int4 AS item FROM generate_series(1, 500000::int8) x;
SET batmap.work_mem = '64kB';
CREATE TABLE listed AS SELECT * FROM batmap_count_pairs('SELECT tid, item FROM more', 'SELECT a, 210 - a FROM generate_series(0, 210) a', measure => 'jaccard');
SELECT reason ~ 'counted in ([2-9]|\d\d+) parts' AS in_parts, results FROM batmap_last_run();
RESET batmap.work_mem;
CREATE TABLE listed_in_memory AS SELECT * FROM batmap_count_pairs('SELECT tid, item FROM more', 'SELECT a, 210 - a FROM generate_series(0, 210) a', measure => 'jaccard');
SELECT count(*) FROM ((TABLE listed EXCEPT ALL TABLE listed_in_memory) UNION ALL (TABLE listed_in_memory EXCEPT ALL TABLE listed)) d;
DROP TABLE more, listed, listed_in_memory;

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
CREATE TABLE joined_few AS SELECT * FROM batmap_join_project_as(NULL::text, NULL::int4, 'SELECT ''i'' || item, tid FROM many',
    'SELECT tid, item FROM few', min_count => 2);
SET batmap.work_mem = '64kB';
CREATE TABLE joined_spilled AS SELECT * FROM batmap_join_project('SELECT item, tid FROM many', 'SELECT tid, item FROM many');
SELECT reason LIKE 'rows in % MB of files, %' AS in_files, rows_read, results FROM batmap_last_run();
CREATE TABLE joined_few_spilled AS SELECT * FROM batmap_join_project_as(NULL::text, NULL::int4, 'SELECT ''i'' || item, tid FROM many', 'SELECT tid, item FROM few', min_count => 2);
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

-- events, whose parts are streams, or pieces of a stream
CREATE TABLE happened AS
    SELECT (x * 7919 % 100003)::int4 AS at, ((x * x + x / 3) % 23)::int4 AS event, (x % 1777)::int4 AS stream
    FROM generate_series(1, 100000::int8) x;
CREATE TABLE asked (name text, query text);
INSERT INTO asked VALUES
    ('episodes', $$batmap_episodes('SELECT at, event, stream FROM happened', ARRAY[[0,500],[500,3000]], min_count => 1200)$$),
    ('rate', $$batmap_episodes('SELECT at, event, stream FROM happened', ARRAY[0,3000], min_rate => 0.0000145)$$),
    ('steps', $$batmap_episodes('SELECT at / 1000, event, stream FROM happened', ARRAY[0,9], min_count => 250, max_length => 3, counting => 'streams', same_time => true)$$),
    ('best', $$batmap_episodes('SELECT at, event, stream FROM happened', ARRAY[0,9000], top_k => 60, max_length => 3)$$),
    ('method', $$batmap_episodes('SELECT at, event, stream FROM happened', ARRAY[0,3000], min_count => 1200, algorithm => 'automaton')$$),
    ('text', $$batmap_episodes_of('SELECT at, ''e'' || event, ''s'' || stream FROM happened', ARRAY[0,3000], min_count => 1200, include => '{e3}', exclude => '{e4}')$$),
    ('one stream is large', $$batmap_episodes('SELECT at, event, greatest(stream, 1000) FROM happened', ARRAY[0,50], min_count => 900, max_length => 2)$$),
    ('given', $$batmap_episode_count('SELECT at, event, stream FROM happened', ARRAY[[0,2],[2,3],[5,99]], ARRAY[0,30000])$$),
    ('occurrences', $$batmap_episode_occurrences('SELECT at, event, stream * 1000000007::int8 FROM happened', ARRAY[0,2], ARRAY[0,30000])$$),
    ('counts', $$(SELECT md5(batmap_episode_counts_from('SELECT at, event, stream FROM happened', ARRAY[0,3000], min_count => 1200)::text))$$),
    ('candidates', $$(SELECT md5(batmap_episode_counts_from('SELECT at, event, stream FROM happened', ARRAY[0,3000], candidates =>
        batmap_episode_counts_from('SELECT at, event, stream FROM happened WHERE stream < 300', ARRAY[0,3000], min_count => 150))::text))$$),
    ('window', $$batmap_window_pairs('SELECT at, event, stream FROM happened', 2000, min_count => 600)$$),
    ('best of a window', $$batmap_window_pairs('SELECT at, event, stream FROM happened', 2000, top_k => 50, counting => 'occurrences')$$),
    ('pieces', $$batmap_episodes('SELECT at, event FROM happened', ARRAY[[0,20],[20,200]], min_count => 2500, max_length => 3)$$),
    ('pieces, steps', $$batmap_episodes('SELECT at / 4, event FROM happened', ARRAY[0,9], min_count => 500, max_length => 3, same_time => true)$$),
    ('pieces, texts of two streams', $$batmap_episodes_of('SELECT at, ''e'' || event, ''s'' || stream % 2 FROM happened', ARRAY[0,30], top_k => 50, max_length => 3)$$),
    ('pieces, given', $$batmap_episode_count('SELECT at, event FROM happened', ARRAY[[0,2,4],[2,3,1],[5,99,1]], ARRAY[0,300], algorithm => 'mapconcat')$$),
    ('pieces, occurrences', $$batmap_episode_occurrences('SELECT at, event FROM happened', ARRAY[0,2,1], ARRAY[0,300])$$),
    ('pieces, counts', $$(SELECT md5(batmap_episode_counts_from('SELECT at, event, stream % 2 FROM happened', ARRAY[0,300], candidates =>
        batmap_episode_counts_from('SELECT at, event, stream FROM happened WHERE stream < 300', ARRAY[0,300], min_count => 15))::text))$$),
    ('pieces, window', $$batmap_window_pairs('SELECT at, event FROM happened', 40, min_count => 9000, counting => 'occurrences')$$),
    ('pieces, window by streams', $$batmap_window_pairs('SELECT at, event, stream % 2 FROM happened', 3, min_count => 2)$$),
    ('pieces, no upper end', $$batmap_episodes('SELECT at, event FROM happened', ARRAY[[0,NULL],[50,NULL],[0,20]], min_count => 3800, max_length => 3)$$),
    ('pieces, given, no upper end', $$batmap_episode_count('SELECT at, event, stream % 2 FROM happened', ARRAY[[0,2,4],[2,3,1],[5,99,1]], ARRAY[[0,NULL],[70,NULL]])$$),
    ('pieces, occurrences, no upper end', $$batmap_episode_occurrences('SELECT at, event FROM happened', ARRAY[0,2,1], ARRAY[[0,NULL],[0,10]])$$),
    ('pieces, counts, no upper end', $$(SELECT md5(batmap_episode_counts_from('SELECT at, event FROM happened', ARRAY[9,NULL], candidates =>
        batmap_episode_counts_from('SELECT at, event, stream FROM happened WHERE stream < 300', ARRAY[9,NULL], min_count => 1000))::text))$$),
    ('pieces, a window over all', $$batmap_window_pairs('SELECT at, event FROM happened', 50000, min_count => 1, include => '{1, 2}', exclude => ARRAY(SELECT generate_series(5, 40)::int8), counting => 'occurrences')$$);
-- All answers as one text, in their order.
CREATE FUNCTION answers(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found text;
BEGIN
    EXECUTE 'SELECT count(*) || '' rows ''  || md5(string_agg(a::text, chr(10) ORDER BY ordinality)) FROM (SELECT r::text AS a, row_number() OVER () AS ordinality FROM ' || query || ' r) s' INTO found;
    RETURN found;
END $$;
-- Asks everything again, and compares with what memory gave.
CREATE PROCEDURE compare_with_memory(most_bytes float8) LANGUAGE plpgsql AS $$
DECLARE
    one record;
    run record;
    was text;
BEGIN
    FOR one IN SELECT * FROM asked JOIN of_memory USING (name) ORDER BY name LOOP
        was := answers(one.query);
        SELECT * INTO run FROM batmap_last_run();
        RAISE NOTICE '%: as in memory %, in files %, within memory %', one.name, was = one.answers,
            run.reason ~ '(^|; )rows in \d+ MB of files, counted in \d+ parts', run.peak_memory < most_bytes;
    END LOOP;
END $$;
CREATE TABLE of_memory AS SELECT name, answers(query) FROM asked;
SELECT name, split_part(answers, ' ', 1) AS rows FROM of_memory ORDER BY name;
SET batmap.work_mem = '1MB';
CALL compare_with_memory(1.6 * 1024 * 1024);
SELECT count(*) FROM pg_ls_tmpdir();
-- stopped early, by a limit, by a full disk, and by a cancel
SELECT count(*) FROM (SELECT * FROM batmap_episodes('SELECT at, event, stream FROM happened', ARRAY[0,3000], min_count => 1200) LIMIT 3) e;
SELECT count(*) FROM pg_ls_tmpdir();
\set VERBOSITY sqlstate
SET temp_file_limit = '64kB';
SELECT count(*) FROM batmap_episodes('SELECT at, event, stream FROM happened', ARRAY[0,3000], min_count => 1200);
SELECT count(*) FROM batmap_window_pairs('SELECT at, event, stream FROM happened', 2000, min_count => 600);
RESET temp_file_limit;
SET statement_timeout = '200ms';
SELECT count(*) FROM batmap_episodes('SELECT at, event, stream FROM happened', ARRAY[0,100000], min_count => 1);
RESET statement_timeout;
SET batmap.memory_limit = '2MB';
-- of one stream, the lower end of a gap decides on the memory, and the upper end does not
SELECT count(*) FROM batmap_episodes('SELECT at, event FROM happened', ARRAY[0,50], min_count => 1200, max_length => 2);
SELECT count(*) FROM batmap_episodes('SELECT at, event FROM happened', ARRAY[0,NULL], min_count => 1200, max_length => 2);
SELECT count(*) FROM batmap_episodes('SELECT at, event FROM happened', ARRAY[40000,NULL], min_count => 1200, max_length => 2);
RESET batmap.memory_limit;
\set VERBOSITY default
SELECT count(*) FROM pg_ls_tmpdir();
RESET batmap.work_mem;
DROP TABLE happened, asked, of_memory;

-- triangles
CREATE TABLE graph AS SELECT (x * x % 1009 * 31 % 1511)::int4 AS a, (x * 7919 % 1499)::int4 AS b FROM generate_series(1, 150000::int8) x;
CREATE TABLE of_edges_in_memory AS SELECT row_number() OVER () AS at, t.* FROM batmap_edge_triangles('graph') t;
SELECT reason AS in_memory, results FROM batmap_last_run();
CREATE TABLE of_texts_in_memory AS SELECT row_number() OVER () AS at, t.* FROM batmap_edge_triangles_of('SELECT ''n'' || a, ''n'' || b FROM graph') t;
SELECT * FROM batmap_triangles('graph');
SELECT * FROM batmap_triangles('SELECT (a * 1000000007::int8), (b * 1000000007::int8) FROM graph');
SET batmap.work_mem = '1MB';
CREATE TABLE of_edges AS SELECT row_number() OVER () AS at, t.* FROM batmap_edge_triangles('graph') t;
SELECT reason ~ '^rows in \d+ MB of files, counted in ([2-9]|\d\d+) parts' AS in_files, results, peak_memory < 2.2 * 1024 * 1024 AS within_memory FROM batmap_last_run();
CREATE TABLE of_texts AS SELECT row_number() OVER () AS at, t.* FROM batmap_edge_triangles_of('SELECT ''n'' || a, ''n'' || b FROM graph') t;
SELECT reason ~ '^rows in \d+ MB of files, counted in ([2-9]|\d\d+) parts' AS in_files, results FROM batmap_last_run();
SELECT count(*) FROM ((TABLE of_edges EXCEPT ALL TABLE of_edges_in_memory) UNION ALL (TABLE of_edges_in_memory EXCEPT ALL TABLE of_edges)) d;
SELECT count(*) FROM ((TABLE of_texts EXCEPT ALL TABLE of_texts_in_memory) UNION ALL (TABLE of_texts_in_memory EXCEPT ALL TABLE of_texts)) d;
SELECT *, triangles = (SELECT sum(e.triangles) / 3 FROM of_edges e) AS third FROM batmap_triangles('graph');
SELECT reason ~ '^rows in \d+ MB of files, counted in \d+ parts' AS in_files FROM batmap_last_run();
SELECT * FROM batmap_triangles('SELECT (a * 1000000007::int8), (b * 1000000007::int8) FROM graph');
SELECT count(*) FROM pg_ls_tmpdir();
SELECT count(*) FROM (SELECT * FROM batmap_edge_triangles('graph') LIMIT 3) e;
\set VERBOSITY sqlstate
SET temp_file_limit = '64kB';
SELECT * FROM batmap_triangles('graph');
SELECT count(*) FROM batmap_edge_triangles('graph');
RESET temp_file_limit;
\set VERBOSITY default
SELECT count(*) FROM pg_ls_tmpdir();
RESET batmap.work_mem;
DROP TABLE graph, of_edges, of_edges_in_memory, of_texts, of_texts_in_memory;

-- sets beyond half of the memory limit become rows of an element and a set
CREATE TABLE holders AS
    SELECT (number * 7919 % 1009)::int8 - 500 AS id, batmap_agg((x * x * number + x * 31) % (9000 + 140 * number)) AS items
    FROM generate_series(1, 500) number, generate_series(1, 4000::int8) x GROUP BY number;
INSERT INTO holders VALUES (10000, '{}'), (10001, NULL), (NULL, '{1}');
CREATE TABLE listed AS SELECT x * 31 % 1100 - 500 AS a, x * 17 % 1100 - 500 AS b FROM generate_series(1, 3000) x;
INSERT INTO listed VALUES (10000, 10000), (1, 1), (10001, 2);
CREATE TABLE asked (name text, query text);
INSERT INTO asked VALUES
    ('all pairs', $$batmap_all_pairs('TABLE holders', min_count => 300)$$),
    ('by Jaccard index', $$batmap_all_pairs('TABLE holders', min_jaccard => 0.05, min_count => 70)$$),
    ('best', $$batmap_all_pairs('TABLE holders', top_k => 50, min_jaccard => 0.01)$$),
    ('best of each', $$batmap_all_pairs('TABLE holders', per_item_top_k => 2, method => 'relation')$$),
    ('ids that are texts', $$batmap_all_pairs_of('SELECT ''s'' || id, items FROM holders', min_count => 300)$$),
    ('ids that repeat', $$batmap_all_pairs('SELECT id / 3, items FROM holders', min_count => 300)$$),
    ('listed', $$batmap_count_pairs('TABLE holders', 'TABLE listed', measure => 'jaccard')$$),
    ('listed texts', $$batmap_count_pairs_of('SELECT ''s'' || id, items FROM holders', 'SELECT ''s'' || a, ''s'' || b FROM listed')$$);
CREATE TABLE of_memory AS SELECT name, answers(query) FROM asked;
SELECT name, split_part(answers, ' ', 1) AS rows FROM of_memory ORDER BY name;
SET batmap.memory_limit = '8MB';
CALL compare_with_memory(8 * 1024 * 1024);
\set VERBOSITY sqlstate
SELECT count(*) FROM batmap_all_pairs('TABLE holders', min_count => 300, method => 'tiles');
SELECT count(*) FROM batmap_count_pairs('SELECT id / 2, items FROM holders', 'TABLE listed');
SET temp_file_limit = '64kB';
SELECT count(*) FROM batmap_all_pairs('TABLE holders', min_count => 300);
RESET temp_file_limit;
\set VERBOSITY default
SELECT count(*) FROM pg_ls_tmpdir();
RESET batmap.memory_limit;
DROP TABLE holders, listed, asked, of_memory;
DROP PROCEDURE compare_with_memory;
DROP FUNCTION answers;
