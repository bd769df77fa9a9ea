-- Pairs of items within a window: examples by hand, against plain SQL, types of time and of items, limits, errors.
CREATE SCHEMA window_pairs;
SET search_path = window_pairs, public;
SET batmap.threads = 2;

CREATE TABLE clicks (at int8, page int4, visitor int4);
INSERT INTO clicks VALUES (0, 1, 1), (10, 1, 1), (5, 2, 1), (6, 2, 1), (6, 2, 1), (16, 3, 1), (100, 1, 2), (103, 2, 2), (103, 3, 2),
    (200, 2, 3), (NULL, 3, 3), (200, NULL, 3), (200, 3, NULL);
-- visitor 1: 1 and 2 at (0, 5), (10, 5), (10, 6); visitor 2: 1 and 2, 1 and 3, 2 and 3
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1);
SELECT method, reason, input, rows_read, transactions, items, items_kept, results, truncated FROM batmap_last_run();
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1, counting => 'occurrences');
SELECT * FROM batmap_window_pairs('TABLE clicks', 0, min_count => 1, counting => 'occurrences');
SELECT * FROM batmap_window_pairs('TABLE clicks', 9223372036854775807, min_count => 1, counting => 'occurrences');
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_support => 0.5);
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, top_k => 1, counting => 'occurrences');
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1, include => '{3, 99}');
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1, include => '{}');
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1, exclude => '{1}');
-- one stream need not be named if occurrences are counted
SELECT * FROM batmap_window_pairs('SELECT at, page FROM clicks', 2, min_count => 1, counting => 'occurrences');
SELECT * FROM batmap_window_pairs('SELECT at, page, visitor FROM clicks WHERE false', 5, min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT at, page, visitor FROM clicks LIMIT 1', 5, min_count => 1);

-- cut off, and streamed
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1, max_results => 2);
SELECT truncated, results FROM batmap_last_run();
SELECT item_a FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1) LIMIT 1;
SELECT results FROM batmap_last_run();
EXPLAIN (COSTS OFF) SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1);
SELECT count(*) < 4498500 AS some FROM batmap_window_pairs('SELECT i, i % 3000 FROM generate_series(1, 200000) i', 200000, min_count => 1, counting => 'occurrences',
                                         timeout => '50 ms');
SELECT truncated FROM batmap_last_run();

-- types of time: seconds, timestamps, dates
SELECT * FROM batmap_window_pairs('SELECT at::float8 / 10, page, visitor FROM clicks', 0.5, min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT at::float4 / 10, page, visitor FROM clicks', 0.5::float4, min_count => 2);
SELECT * FROM batmap_window_pairs('SELECT timestamp ''2024-05-01'' + at * interval ''1 s'', page, visitor FROM clicks', interval '5 s', min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT timestamptz ''2024-05-01'' + at * interval ''1 s'', page, visitor FROM clicks', interval '5 s', min_count => 2);
SELECT * FROM batmap_window_pairs('SELECT date ''2024-05-01'' + at::int4, page, visitor FROM clicks', interval '5 days', min_count => 2);
SELECT * FROM batmap_window_pairs('SELECT date ''2024-05-01'' + at::int4, page, visitor FROM clicks', 5::int2, min_count => 2);
SELECT * FROM batmap_window_pairs('SELECT at::numeric, page, visitor FROM clicks', 'infinity'::float8, min_count => 2);
SELECT * FROM batmap_window_pairs('SELECT at::float8, page, visitor FROM clicks', 'infinity'::float8, min_count => 2);
-- an infinite interval is no bound, as 'infinity' of a number is; before version 17 it is written as the longest of days
SELECT current_setting('server_version_num')::int >= 170000 AS has_infinity \gset
SELECT CASE WHEN :'has_infinity' THEN 'infinity' ELSE '106751991 days 04:00:54.775807' END AS longest,
       CASE WHEN :'has_infinity' THEN '-infinity' ELSE '-106751991 days -04:00:54.775808' END AS least \gset
SELECT * FROM batmap_window_pairs('SELECT timestamp ''2024-05-01'' + at * interval ''1 s'', page, visitor FROM clicks', interval :'longest', min_count => 2);
\set VERBOSITY sqlstate
SELECT * FROM batmap_window_pairs('SELECT timestamp ''2024-05-01'' + at * interval ''1 s'', page, visitor FROM clicks', interval :'least', min_count => 2);
\set VERBOSITY default
SELECT support_count FROM batmap_episode_count('SELECT date ''2024-05-01'' + at::int4, page, visitor FROM clicks', '{1, 2}', ARRAY[interval '0', :'longest']);
SELECT support_count FROM batmap_episode_count('SELECT date ''2024-05-01'' + at::int4, page, visitor FROM clicks', '{1, 2}', ARRAY[interval '0', NULL]);

-- items of any type
CREATE VIEW named AS SELECT at, (ARRAY['tea', 'jam', 'bread'])[page] AS item, visitor::text || '!' AS visitor FROM clicks;
SELECT * FROM batmap_window_pairs_of('TABLE named', 5, min_count => 1);
SELECT * FROM batmap_window_pairs_of('TABLE named', 5, min_count => 1, include => '{bread, milk}', counting => 'occurrences');
SELECT * FROM batmap_window_pairs_as(NULL::date, 'SELECT at, date ''2024-05-01'' + page, visitor FROM clicks', 5, min_count => 2, exclude => '{2024-05-09}');
SELECT * FROM batmap_window_pairs_as(NULL::int4, 'TABLE clicks', 5, top_k => 2);
SELECT * FROM batmap_window_pairs_as(item_type => NULL::text, query => 'TABLE named', within => 5, top_k => 1);

-- plain SQL gives the same
CREATE TABLE events AS
SELECT (i * 7919 + i * i % 101) % 5000 AS at, (i * i) % 13 + i % 5 AS item, i % 37 AS stream FROM generate_series(1, 4000) i;
CREATE FUNCTION plain_pairs(width int8, rule text) RETURNS TABLE (item_a int8, item_b int8, support_count int8) LANGUAGE sql AS $$
    SELECT x.item, y.item, CASE rule WHEN 'streams' THEN count(DISTINCT stream) ELSE count(*) END
    FROM (SELECT DISTINCT * FROM events) x JOIN (SELECT DISTINCT * FROM events) y USING (stream)
    WHERE x.item < y.item AND abs(x.at - y.at) <= width
    GROUP BY 1, 2
$$;
CREATE FUNCTION differ(width int8, rule text, threads int, OUT pairs int8, OUT supports int8, OUT differ int8) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('batmap.threads', threads::text, true);
    WITH found AS MATERIALIZED (SELECT * FROM batmap_window_pairs('TABLE events', width, min_count => 1, counting => rule)),
         plain AS MATERIALIZED (SELECT * FROM plain_pairs(width, rule))
    SELECT (SELECT count(*) FROM plain), (SELECT sum(support_count) FROM plain),
           (SELECT count(*) FROM ((TABLE found EXCEPT ALL TABLE plain) UNION ALL (TABLE plain EXCEPT ALL TABLE found)) d)
    INTO pairs, supports, differ;
END $$;
SELECT rule, width, d.* FROM unnest('{streams, occurrences}'::text[]) rule, unnest('{0, 3, 200, 6000}'::int[]) width, differ(width, rule, 1 + width % 2) d;
-- with a window as long as the streams, these are the pairs of batmap_pairs
SELECT count(*) FROM ((SELECT * FROM batmap_window_pairs('TABLE events', 6000, min_count => 20)
                       EXCEPT SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT stream, item FROM events', min_count => 20))) d;

-- errors
SELECT * FROM batmap_window_pairs(NULL, 5, min_count => 1);
SELECT * FROM batmap_window_pairs('TABLE clicks', NULL::int8, min_count => 1);
SELECT * FROM batmap_window_pairs('TABLE clicks', -1, min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT at::float8, page, visitor FROM clicks', -0.5, min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT now(), page, visitor FROM clicks', interval '-1 s', min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT now(), page, visitor FROM clicks', interval '1 month', min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT at::float8, page, visitor FROM clicks', 'NaN'::float8, min_count => 1);
SELECT * FROM batmap_window_pairs('TABLE clicks', 'a'::text, min_count => 1);
SELECT * FROM batmap_window_pairs('TABLE clicks', '5', min_count => 1);
SELECT * FROM batmap_window_pairs('TABLE clicks', interval '5 s', min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT now(), page, visitor FROM clicks', 5, min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT at, page FROM clicks', 5, min_count => 1);
SELECT * FROM batmap_window_pairs('SELECT at FROM clicks', 5, min_count => 1);
SELECT * FROM batmap_window_pairs('TABLE named', 5, min_count => 1);
SELECT * FROM batmap_window_pairs('TABLE clicks', 5);
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 0);
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1, min_support => 0.1);
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_support => 0.1, counting => 'occurrences');
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1, counting => 'pairs');
SELECT * FROM batmap_window_pairs('TABLE clicks', 5, min_count => 1, include => '{NULL}');
SELECT * FROM batmap_window_pairs('VALUES (-9223372036854775808, 1, 1), (9223372036854775807, 2, 1)', 5, min_count => 1);

-- Columns in another order: a time that nobody shares in the place of the stream. Duplicates are no second event; one row tells nothing.
SELECT * FROM batmap_window_pairs('SELECT 1, g, g * 100 FROM generate_series(1, 9) g', 100, 1);
SELECT * FROM batmap_episodes('SELECT 1, g, g * 100 FROM generate_series(1, 9) g', ARRAY[0, 100], min_count => 1, max_length => 2) WHERE array_length(episode, 1) > 1;
SELECT * FROM batmap_window_pairs('SELECT 1, g, g / 2 FROM generate_series(2, 9) g', 0, 1) LIMIT 1;
SELECT * FROM batmap_window_pairs('SELECT 1, 1, 1', 0, 1);
-- Times and events that look swapped, in memory and in files.
CREATE TABLE spikes AS SELECT i AS at, i % 200 AS unit, i % 7 AS trial FROM generate_series(1, 40000) i;
SELECT count(*) FROM batmap_window_pairs('SELECT unit, at FROM spikes', 0, min_count => 2, counting => 'occurrences');
SELECT count(*) FROM batmap_window_pairs('SELECT unit, at, trial FROM spikes', 0, min_count => 2);
SELECT count(*) FROM batmap_episodes('SELECT unit, at FROM spikes', ARRAY[0, 5], min_count => 2);
SELECT count(*) FROM batmap_episodes_of('SELECT unit, at::text, trial FROM spikes', ARRAY[0, 5], min_count => 2);
SET batmap.work_mem = '64kB';
SELECT count(*) FROM batmap_window_pairs('SELECT unit, at, trial FROM spikes', 0, min_count => 2);
SELECT reason ~ 'MB of files' AS in_files FROM batmap_last_run();
SELECT count(*) FROM batmap_episodes('SELECT unit, at FROM spikes', ARRAY[0, 5], min_count => 2);
SELECT count(*) FROM batmap_episodes('SELECT at, unit FROM spikes', ARRAY[0, 5], min_count => 400);
RESET batmap.work_mem;
-- They do not: in the right order, few rows, too many times, events that happen more often, one that is common.
SELECT count(*) FROM batmap_episodes('SELECT at, unit FROM spikes', ARRAY[0, 5], min_count => 400);
SELECT count(*) FROM batmap_episodes('SELECT unit, at FROM spikes WHERE at < 10000', ARRAY[0, 5], min_count => 2);
SELECT count(*) FROM batmap_episodes('SELECT at % 500, at FROM spikes', ARRAY[0, 5], min_count => 2);
SELECT count(*) FROM batmap_episodes('SELECT unit, at / 2 FROM spikes WHERE at BETWEEN 2 AND 39999', ARRAY[0, 5], min_count => 3);
SELECT count(*) FROM batmap_episodes('SELECT unit, greatest(at, 20) FROM spikes', ARRAY[0, 5], min_count => 21);

SET client_min_messages = warning;
DROP SCHEMA window_pairs CASCADE;
