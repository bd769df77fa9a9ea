-- Frequent episodes, counts and occurrences: examples by hand, small streams against plain SQL, types of time, errors.
CREATE SCHEMA of_episodes;
SET search_path = of_episodes, public;
SET batmap.threads = 2;

CREATE TABLE log (at int8, event int4);
INSERT INTO log VALUES (5, 1), (10, 1), (18, 2), (20, 3), (30, 3), (45, 1), (52, 2), (65, 3), (70, 3), (NULL, 1), (7, NULL);

SELECT * FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 2);
-- every gap takes one of the two
SELECT * FROM batmap_episodes('SELECT at, event FROM log', ARRAY[[5, 10], [10, 15]], min_count => 2, min_length => 3);
-- a gap that is given twice is one
SELECT * FROM batmap_episodes('SELECT at, event FROM log', ARRAY[[5, 10], [10, 15], [5, 10]], min_count => 2, min_length => 3);
SELECT * FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], top_k => 3, min_length => 2);
SELECT * FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, NULL], min_count => 2, min_length => 2, include => '{1}');
SELECT * FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 2, exclude => '{3}');
-- 65 ticks from first to last event: 2 occurrences and more
SELECT * FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_rate => 0.03, min_length => 2);
SELECT * FROM batmap_episodes('SELECT at, event FROM log WHERE false', ARRAY[0, 20], min_count => 1);

SELECT * FROM batmap_episode_count('SELECT at, event FROM log', '{1, 2, 3}', ARRAY[[5, 10], [10, 15]]);
SELECT * FROM batmap_episode_count('SELECT at, event FROM log', '{{1, 2}, {2, 1}, {3, 3}, {1, 99}}', ARRAY[0, 30]);
SELECT * FROM batmap_episode_count('SELECT at, event FROM log', '{{1}, {3}, {4}}', ARRAY[0, 1]);
SELECT * FROM batmap_episode_occurrences('SELECT at, event FROM log', '{1, 2, 3}', ARRAY[[5, 10], [10, 15]]);
SELECT batmap_episode_count_agg(at, event, '{1, 2, 3}', 5, 15) FROM log;
SELECT batmap_episode_count_agg(at, event, '{1, 2, 3}', 5, NULL) FROM log;
SELECT batmap_episode_count_agg(at, event, '{1, 2}', 0, 10) FROM log WHERE false;
SELECT batmap_episode_count_agg(at, event, '{7, 8}', 0, 10) FROM log;

-- the record: the counting rule, and what became of each length
SELECT method, reason, input, threads, rows_read, transactions, items, items_kept,
       occurrences, results, truncated
FROM (SELECT count(*) FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 2)) run, batmap_last_run();
SELECT length, candidates, frequent, milliseconds >= 0 AS timed FROM batmap_last_run_levels();
SELECT method, reason, rows_read, items, items_kept, results
FROM (SELECT count(*) FROM batmap_episode_count('SELECT at, event FROM log', '{1, 2}', ARRAY[0, 20], algorithm => 'automaton')) run,
     batmap_last_run();
EXPLAIN (COSTS OFF) SELECT * FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 2) LIMIT 1;
\getenv here PG_ABS_SRCDIR
\set explained :here '/sql/explained.psql'
\i :explained
SELECT explained($$SELECT episode FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 2) LIMIT 1$$);
SELECT explained($$SELECT starts_at FROM batmap_episode_occurrences('SELECT at, event FROM log', '{1, 2}', ARRAY[0, 20])$$);
DROP FUNCTION explained;
SELECT episode FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 2) LIMIT 2;

SELECT count(*) FROM batmap_last_run_levels();

-- devices: the CPU answers unless it must not
SELECT * FROM batmap_episode_count('SELECT at, event FROM log', '{1, 2}', ARRAY[0, 20], device => 'cpu');
SELECT * FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 4, device => 'gpu');
SET batmap.accelerator = '/nowhere/batmap_cuda';
\set VERBOSITY sqlstate
SELECT count(*) FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 2, device => 'require');
SELECT * FROM batmap_episode_count('SELECT at, event FROM log', '{1, 2}', ARRAY[0, 20], device => 'require');
SELECT * FROM batmap_episode_count_of('SELECT at, event::text FROM log', '{1, 2}', ARRAY[0, 20], algorithm => 'automaton', device => 'require');
\set VERBOSITY default
SELECT count(*), (SELECT device FROM batmap_last_run()) IS NOT NULL AS has_run
FROM batmap_episodes_of('SELECT at, event::text FROM log', ARRAY[0, 20], min_count => 2, device => 'cuda');
SELECT device FROM batmap_last_run();
RESET batmap.accelerator;

-- cut off
SELECT episode FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 2, max_results => 2);
SELECT truncated FROM batmap_last_run();
SET batmap.on_truncation = error;
SELECT episode FROM batmap_episodes('SELECT at, event FROM log', ARRAY[0, 20], min_count => 2, max_results => 2);
SELECT count(*) FROM batmap_episodes('SELECT time_us, neuron FROM batmap_generate_spikes(20)', ARRAY[0, 100000], min_count => 1,
                                     timeout => '200 ms');
RESET batmap.on_truncation;

-- types of time: the same events in seconds, as numbers and as timestamps
SELECT * FROM batmap_episodes('SELECT at::float8 / 1000, event FROM log', ARRAY[0.005, 0.015], min_count => 2, min_length => 2);
SELECT * FROM batmap_episode_count('SELECT at::float8 / 1000, event FROM log', '{1, 2, 3}', ARRAY[[0.005, 0.01], [0.01, 0.015]]::float8[]);
SELECT * FROM batmap_episode_occurrences('SELECT at::float8 / 1000, event FROM log', '{1, 2, 3}', ARRAY[0.005, 0.015]);
SELECT batmap_episode_count_agg(at::float8 / 1000, event, '{1, 2, 3}', 0.005, 0.015) FROM log;
SET timezone = 'UTC';
CREATE VIEW stamped AS SELECT '2024-05-01'::timestamptz + at * interval '1 second' AS at, event::int8 FROM log;
SELECT * FROM batmap_episodes('TABLE stamped', ARRAY[interval '5 s', interval '15 s'], min_count => 2, min_length => 2);
SELECT * FROM batmap_episode_occurrences('TABLE stamped', '{1, 2, 3}', ARRAY[interval '5 s', '15 s']);
SELECT batmap_episode_count_agg(at, event, '{1, 2, 3}', '5 s', '15 s') FROM stamped;
SELECT batmap_episode_count_agg(at, event, '{1, 3}', '10 s', '1 day') FROM stamped;
-- a rate is by the second for these
SELECT episode FROM batmap_episodes('TABLE stamped', ARRAY[interval '5 s', interval '15 s'], min_rate => 0.03, min_length => 3);

-- events of any type
CREATE VIEW named AS SELECT at, (ARRAY['open', 'read', 'close'])[event] AS event FROM log;
SELECT * FROM batmap_episodes_of('TABLE named', ARRAY[0, 20], min_count => 2, min_length => 2, include => '{read, write}');
SELECT * FROM batmap_episodes_of('TABLE named', ARRAY[0, 20], min_count => 2, exclude => '{close}');
SELECT * FROM batmap_episode_count_of('TABLE named', '{{open, read}, {read, open}, {read, write}}', ARRAY[0, 30]);
SELECT * FROM batmap_episode_occurrences_of('TABLE named', '{open, read, close}', ARRAY[5, 15]);

-- several streams are counted apart; a NULL stream is no stream
CREATE TABLE visits (person text, at timestamptz, page text);
INSERT INTO visits VALUES
    ('ann', '2024-05-01 10:00', 'cart'), ('ann', '2024-05-01 10:05', 'pay'),
    ('bob', '2024-05-01 10:01', 'cart'), ('bob', '2024-05-01 12:00', 'pay'),
    ('cid', '2024-05-01 10:02', 'pay'), (NULL, '2024-05-01 10:00', 'cart'), (NULL, '2024-05-01 10:01', 'pay');
SELECT * FROM batmap_episodes_of('SELECT at, page, person FROM visits', ARRAY[interval '0', NULL], min_count => 1,
                                 min_length => 2);
SELECT * FROM batmap_episode_count_of('SELECT at, page, person FROM visits', '{cart, pay}', ARRAY[interval '0', '1 hour']);
SELECT * FROM batmap_episode_occurrences_of('SELECT at, page, person FROM visits', '{cart, pay}', ARRAY[interval '0', NULL]);
SELECT transactions FROM batmap_last_run();
SELECT * FROM batmap_episode_occurrences('SELECT at, event, event % 2 = 1 FROM log', '{1, 3}', ARRAY[0, 20]);

-- plain SQL: all occurrences by joins, then the one that ends first, and the first that starts after it, and so on
CREATE TABLE spikes (at int8, event int4);
INSERT INTO spikes SELECT time_us / 4000, neuron % 4 FROM batmap_generate_spikes(0.2, 7, neurons => 36);
CREATE FUNCTION plain_count(a int, b int, c int, low int8, high int8) RETURNS int8 LANGUAGE sql AS $$
    WITH RECURSIVE occurrence AS (
        SELECT DISTINCT x.at AS starts_at, z.at AS ends_at
        FROM spikes x JOIN spikes y ON y.at - x.at > low AND y.at - x.at <= high
                      JOIN spikes z ON z.at - y.at > low AND z.at - y.at <= high
        WHERE x.event = a AND y.event = b AND z.event = c),
    chosen AS (
        SELECT min(ends_at) AS ends_at FROM occurrence
        UNION ALL
        SELECT (SELECT min(o.ends_at) FROM occurrence o WHERE o.starts_at > chosen.ends_at) FROM chosen WHERE chosen.ends_at IS NOT NULL)
    SELECT count(ends_at) FROM chosen
$$;
SELECT count(*), count(DISTINCT at) FROM spikes;
WITH gap (low, high) AS (VALUES (0, 1), (0, 3), (1, 4), (3, 20)),
     triple AS (SELECT a, b, c FROM generate_series(0, 2) a, generate_series(0, 2) b, generate_series(0, 2) c),
     counted AS MATERIALIZED (SELECT low, high, a, b, c, plain_count(a, b, c, low, high) AS support_count FROM gap, triple)
SELECT low, high, count(*) AS episodes, sum(support_count) AS supports,
       count(*) FILTER (WHERE counted.support_count <>
           (SELECT n.support_count FROM batmap_episode_count('TABLE spikes', ARRAY[a, b, c], ARRAY[low, high]) n)) AS differ,
       count(*) FILTER (WHERE counted.support_count <>
           (SELECT batmap_episode_count_agg(at, event, ARRAY[a, b, c], low, high) FROM spikes)) AS aggregate_differs
FROM counted GROUP BY low, high ORDER BY low, high;

-- every algorithm and number of threads gives the same rows
CREATE FUNCTION answer(algorithm text, threads int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    PERFORM set_config('batmap.threads', threads::text, true);
    SELECT md5(string_agg(e::text, ' ')) INTO result
    FROM batmap_episodes('SELECT time_us, neuron, neuron % 2 FROM batmap_generate_spikes(2) WHERE neuron < 20',
                         ARRAY[[5000, 10000], [0, 3000]], min_count => 20,
                         max_length => 4, algorithm => algorithm) e;
    RETURN result;
END $$;
SELECT count(DISTINCT answer(algorithm, threads)) AS answers, count(*) AS runs
FROM unnest('{auto, tracking, count_scan_write, atomic, automaton, mapconcat}'::text[]) algorithm, unnest('{1, 3}'::int[]) threads;

-- in parallel workers, and once for each group
CREATE TABLE many AS SELECT time_us, neuron, time_us / 1000000 AS second FROM batmap_generate_spikes(10);
ANALYZE many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT batmap_episode_count_agg(time_us, neuron, '{0, 1, 2}', 5000, 10000) FROM many;
SELECT (SELECT batmap_episode_count_agg(time_us, neuron, '{0, 1, 2}', 5000, 10000) FROM many) =
       (SELECT support_count FROM batmap_episode_count('SELECT time_us, neuron FROM many', '{0, 1, 2}', ARRAY[5000, 10000])) AS same;
SELECT (SELECT sum(n) FROM (SELECT batmap_episode_count_agg(time_us, neuron, '{0, 1, 2}', 5000, 10000) AS n FROM many GROUP BY second) s) =
       (SELECT support_count FROM batmap_episode_count('SELECT time_us, neuron, second FROM many', '{0, 1, 2}', ARRAY[5000, 10000])) AS same;
RESET max_parallel_workers_per_gather;

-- the generator
SELECT count(*), min(time_us), max(time_us), min(neuron), max(neuron) FROM batmap_generate_spikes(1);
SELECT count(*) FROM batmap_generate_spikes(1, 2);
SELECT count(*) FROM batmap_generate_spikes(0);
SELECT count(*) FROM batmap_generate_spikes(NULL);
SELECT * FROM batmap_generate_spikes(3600) LIMIT 3;
SELECT episode, support_count FROM batmap_episodes('SELECT time_us, neuron FROM batmap_generate_spikes(60, rate => 4)', ARRAY[5000, 10000],
                                             min_count => 55, min_length => 9);

-- errors
SELECT * FROM batmap_episodes(NULL, ARRAY[0, 20], min_count => 2);
SELECT * FROM batmap_episodes('TABLE log', NULL::int8[], min_count => 2);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[0, 20]);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[0, 20], min_count => 1, min_rate => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[0, 20, 40], min_count => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[NULL, 20], min_count => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[20, 0], min_count => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[interval '20 min', '10 min'], min_count => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[0.5, 0.25], min_count => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[interval '-1 s', NULL], min_count => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[-1, 5], min_count => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY['a', 'b'], min_count => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[0.5, 1.5], min_count => 1);
SELECT * FROM batmap_episodes('TABLE stamped', ARRAY[0, 20], min_count => 1);
SELECT * FROM batmap_episodes('TABLE stamped', ARRAY[interval '0', '1 month'], min_count => 1);
SELECT * FROM batmap_episodes('TABLE named', ARRAY[0, 20], min_count => 1);
SELECT * FROM batmap_episodes('SELECT at FROM log', ARRAY[0, 20], min_count => 1);
SELECT * FROM batmap_episodes('TABLE log', ARRAY[0, 20], min_count => 1, counting => 'minimal');
SELECT * FROM batmap_episodes('TABLE log', ARRAY[0, 20], min_count => 1, algorithm => 'magic');
SELECT * FROM batmap_episodes('TABLE log', ARRAY[0, 20], min_count => 1, include => '{1, NULL}');
SELECT * FROM batmap_episodes_as(NULL::int4, 'TABLE named', ARRAY[0, 20], min_count => 1);
SELECT * FROM batmap_episodes('SELECT ''infinity''::timestamptz, 1', ARRAY[interval '0', '1 s'], min_count => 1);
SELECT * FROM batmap_episodes('SELECT ''NaN''::float8, 1', ARRAY[0.5, 1.5], min_count => 1);
SELECT * FROM batmap_episodes('SELECT 1e15::float8, 1', ARRAY[0.5, 1.5], min_count => 1);
SELECT * FROM batmap_episodes('VALUES (-9223372036854775808, 1), (9223372036854775807, 1)', ARRAY[0, 20], min_count => 1);
SELECT * FROM batmap_episode_count('TABLE log', '{}', ARRAY[0, 20]);
SELECT * FROM batmap_episode_count('TABLE log', '{1, NULL}', ARRAY[0, 20]);
SELECT * FROM batmap_episode_count('TABLE log', '{1, 2, 3}', ARRAY[[0, 20], [0, 20], [0, 20]]);
SELECT * FROM batmap_episode_occurrences('TABLE log', '{{1, 2}}', ARRAY[0, 20]);
\set SHOW_CONTEXT never
SELECT batmap_episode_count_agg(at, event, ARRAY[1, event], 0, 10) FROM log WHERE event IS NOT NULL;
SELECT batmap_episode_count_agg(at, event, '{1, 2}', 10, 0) FROM log;
SELECT batmap_episode_count_agg(at, event, NULL, 0, 10) FROM log;
\set SHOW_CONTEXT errors
SELECT _batmap_episode_count_final('\x00');
SELECT _batmap_episode_count_final('e1:YmVwMQ==');
-- a state as a value: it travels as text, and does not take part in what it does not belong to
CREATE AGGREGATE pg_temp.episode_state(int8, int4, int8[], int8, int8)
    (SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state);
SELECT pg_temp.episode_state(t, t % 3, '{1, 2}', 0, 5)::text AS state FROM generate_series(1, 5) t \gset
SELECT :'state', _batmap_episode_count_final(:'state');
SELECT _batmap_episode_count_final(_batmap_episode_count_merge(:'state', :'state'));
SELECT _batmap_episode_count_merge(:'state', _batmap_episode_count_trans(NULL, 1, 1, '{1, 3}', 0::int8, 5::int8));
SELECT substr(_batmap_episode_state_send(:'state'), 1, 8);
-- the state of a group that has grown, in parallel and as a window: the same counts
SELECT bool_and(counted = expected) FROM (
    SELECT batmap_episode_count_agg(t, t % 2, '{0, 1}', 0, 5) OVER (ORDER BY t) AS counted, (t + 1) / 2 AS expected
    FROM generate_series(0, 999) t) w;
SELECT * FROM batmap_generate_spikes(-1);
SELECT * FROM batmap_generate_spikes(1, neurons => 10);
SELECT * FROM batmap_generate_spikes(1, strength => 1);
SET batmap.memory_limit = '1MB';
SELECT count(*) FROM batmap_episodes('SELECT time_us, neuron FROM batmap_generate_spikes(60)', ARRAY[0, 1000], min_count => 100);
SELECT count(*) FROM batmap_episodes('SELECT time_us, neuron FROM batmap_generate_spikes(60)', ARRAY[0, 60000000], min_count => 100);
RESET batmap.memory_limit;
SET statement_timeout = '300ms';
SELECT count(*) FROM batmap_episodes('SELECT time_us, neuron FROM batmap_generate_spikes(20)', ARRAY[0, 100000], min_count => 1);
RESET statement_timeout;
SET client_min_messages = warning;
DROP SCHEMA of_episodes CASCADE;
