-- Episodes over dates and timestamps, episodes counted by streams, and events of one time as steps.
CREATE SCHEMA episode_forms;
SET search_path = episode_forms, public;
SET timezone = 'Europe/Berlin';
SET batmap.threads = 2;

-- ---- times: one log as timestamptz, timestamp and date. In the night of 31 March 2024, a day of the clock has 23 hours.
CREATE TABLE visits (at timestamp, page int4, person text);
INSERT INTO visits VALUES
    ('2024-03-30 12:00', 1, 'ann'), ('2024-03-31 12:00', 2, 'ann'), ('2024-04-02 09:00', 3, 'ann'),
    ('2024-03-30 12:00', 1, 'bob'), ('2024-04-01 12:00', 2, 'bob'), (NULL, 3, 'bob'), ('2024-04-05', 1, 'cid');
-- a day is 24 hours: as timestamptz the two events of ann are 23 hours apart
SELECT * FROM batmap_episode_count('SELECT at, page, person FROM visits', '{1, 2}', ARRAY[interval '23 h', '1 day']);
SELECT * FROM batmap_episode_count('SELECT at::timestamptz, page, person FROM visits', '{1, 2}', ARRAY[interval '23 h', '1 day']);
SELECT * FROM batmap_episode_count('SELECT at::date, page, person FROM visits', '{1, 2}', ARRAY[interval '23 h', '1 day']);
SELECT * FROM batmap_episodes('SELECT at, page, person FROM visits', ARRAY[interval '0', '2 days'], min_count => 2, min_length => 2);
SELECT * FROM batmap_episodes('SELECT at::date, page, person FROM visits', ARRAY[[0, 1], [1, 2]], min_count => 1, min_length => 2);
SELECT * FROM batmap_episodes('SELECT at::date, page, person FROM visits', ARRAY[0, NULL]::int2[], min_count => 2, min_length => 2);
SELECT * FROM batmap_episodes_of(NULL::date, 'SELECT at, at::date, person FROM visits', ARRAY[interval '0', NULL], min_count => 1, min_length => 3);
-- a rate of dates with integer gaps is by the day: 3 + 2 + 0 days
SELECT episode FROM batmap_episodes('SELECT at::date, page, person FROM visits', ARRAY[0, 2], min_rate => 0.4);
CREATE DOMAIN day AS date;
SELECT * FROM batmap_episode_count('SELECT at::day, page, person FROM visits', '{1, 2}', ARRAY[0, 1]);

-- a driver sends a short list as smallint[]
SELECT * FROM batmap_episode_occurrences('VALUES (1, 1), (3, 2), (9, 1)', '{1, 2}'::int2[], '{0, 5}'::int2[]);
SELECT * FROM batmap_episode_occurrences_of('VALUES (1, ''a''), (3, ''b''), (9, ''a'')', '{a, b}', '{0, 5}'::int2[]);
-- occurrences: the type of the times is named
SELECT * FROM batmap_episode_occurrences(NULL::timestamp, 'SELECT at, page, person FROM visits', '{1, 2}', ARRAY[interval '0', '2 days']);
SELECT * FROM batmap_episode_occurrences(NULL::timestamptz, 'SELECT at::timestamptz, page, person FROM visits', '{1, 2}', ARRAY[interval '0', '2 days']);
SELECT * FROM batmap_episode_occurrences(NULL::date, 'SELECT at::date, page, person FROM visits', '{1, 2}', ARRAY[interval '0', '2 days']);
SELECT * FROM batmap_episode_occurrences(NULL::date, 'SELECT at::date, page, person FROM visits', '{1, 2}', ARRAY[0, 2]);
SELECT starts_at, pg_typeof(ends_at) FROM batmap_episode_occurrences(NULL::int2, 'VALUES (1::int2, 1), (3::int2, 2)', '{1, 2}', ARRAY[0, 2]);
SELECT starts_at, pg_typeof(ends_at) FROM batmap_episode_occurrences(NULL::int4, 'VALUES (1, 1), (3, 2)', '{1, 2}', ARRAY[0, 2]);
SELECT starts_at, pg_typeof(ends_at) FROM batmap_episode_occurrences(NULL::int8, 'VALUES (1, 1), (3, 2)', '{1, 2}', ARRAY[0, 2]);
SELECT starts_at, pg_typeof(ends_at) FROM batmap_episode_occurrences(NULL::float4, 'VALUES (1.5::float4, 1), (3, 2)', '{1, 2}', ARRAY[0, 2.5]);
SELECT starts_at, pg_typeof(ends_at) FROM batmap_episode_occurrences(NULL::float8, 'VALUES (1.5::float8, 1), (3, 2)', '{1, 2}', ARRAY[0, 2.5]);
SELECT * FROM batmap_episode_occurrences_of(NULL::text, NULL::date, 'SELECT at::date, ''p'' || page, person FROM visits', '{p1, p2}', ARRAY[0, 1]);
SELECT * FROM batmap_episode_occurrences_of(NULL::int4, NULL::timestamp, 'TABLE visits', '{2, 3}', ARRAY[interval '0', '2 days']);

-- as many as the support counts: by streams, and of steps
CREATE TABLE carts AS SELECT t AS day, item, person
FROM (VALUES (1, '{a,abc,ac,d,cf,a,bc}'::text[]), (2, '{ad,c,bc,ae}'), (3, '{ef,ab,df,c,b,a,bc}'), (4, '{e,g,af,c,b,c}')) v (person, sets),
    unnest(sets) WITH ORDINALITY s (items, t), regexp_split_to_table(items, '') item;
SELECT e.*, c.counting, (SELECT support_count FROM batmap_episode_count_of('TABLE carts', e.episode, ARRAY[0, e.high], e.steps, c.counting)), o.*
FROM (VALUES ('{a,b,c}'::text[], '{1,2,2}'::int4[], 4), ('{a,c}', NULL, 2), ('{b,c}', '{1,1}', NULL), ('{b}', NULL, 1), ('{z,a}', NULL, NULL)) e (episode, steps, high),
    unnest('{non_overlapped,streams}'::text[]) WITH ORDINALITY c (counting),
    LATERAL (SELECT count(*) AS found, count(DISTINCT o.stream) AS streams, min(o.starts_at || ' to ' || o.ends_at || ' of ' || o.stream) AS first
             FROM batmap_episode_occurrences_of('TABLE carts', e.episode, ARRAY[0, e.high], e.steps, c.counting) o) o ORDER BY 1, c.ordinality;
SELECT reason, method FROM batmap_last_run();
SELECT * FROM batmap_episode_occurrences('SELECT day, ascii(item), person FROM carts', '{97, 98, 99}', ARRAY[0, NULL], '{1, 2, 2}', 'streams');
SELECT * FROM batmap_episode_occurrences(NULL::int8, 'SELECT day, ascii(item), person FROM carts', '{97, 98, 99}', ARRAY[0, NULL], steps => '{1, 2, 2}', counting => 'streams');
SELECT * FROM batmap_episode_occurrences('SELECT day, ascii(item), person FROM carts', '{97}', ARRAY[0, 1], counting => 'starts');
SELECT * FROM batmap_episode_occurrences('SELECT day, ascii(item) FROM carts', '{97}', ARRAY[0, 1], counting => 'streams');
SELECT * FROM batmap_episode_occurrences('SELECT day, ascii(item), person FROM carts', '{97, 98}', ARRAY[0, 1], '{1, 3}');
SELECT * FROM batmap_episode_occurrences('SELECT day, ascii(item), person FROM carts', '{97, 98}', ARRAY[0, 1], '{1}');
SELECT * FROM batmap_episode_occurrences('SELECT day, ascii(item), person FROM carts', '{97, 97}', ARRAY[0, 1], '{1, 1}');
DROP TABLE carts;

-- the aggregate; with dates, ends of the gap that are strings need a type
SELECT person, batmap_episode_count_agg(at, page, '{1, 2}', '0', '1 day') AS timestamps,
       batmap_episode_count_agg(at::date, page, '{1, 2}', interval '0', interval '1 day') AS dates,
       batmap_episode_count_agg(at::date, page::int8, '{1, 2}', 0, 1) AS days,
       batmap_episode_count_agg(at::timestamp, page::int8, '{1, 2}', '23 h', NULL) AS unbounded
FROM visits GROUP BY person ORDER BY person;
\set VERBOSITY terse
SELECT batmap_episode_count_agg(at::date, page, '{1, 2}', '0', '1 day') FROM visits;
\set VERBOSITY default

-- infinite and far times
SELECT * FROM batmap_episodes('SELECT ''infinity''::date, 1', ARRAY[0, 1], min_count => 1);
SELECT * FROM batmap_episodes('SELECT ''-infinity''::date, 1', ARRAY[interval '0', '1 s'], min_count => 1);
SELECT * FROM batmap_episodes('SELECT ''-infinity''::timestamp, 1', ARRAY[interval '0', '1 s'], min_count => 1);
SELECT batmap_episode_count_agg('infinity'::date, 1, '{1}', 0, 1);
SELECT support_count FROM batmap_episode_count('VALUES (''4713-01-01 BC''::date, 1), (''5874897-12-31'', 2)', '{1, 2}', ARRAY[0, NULL]);
SELECT * FROM batmap_episodes('SELECT ''5874897-12-31''::date, 1', ARRAY[interval '0', '1 s'], min_count => 1);
-- times that do not go with the gaps, or with the answer
SELECT * FROM batmap_episodes('SELECT at, page FROM visits', ARRAY[0, 1], min_count => 1);
SELECT * FROM batmap_episodes('SELECT at::date, page FROM visits', ARRAY[0.5, 1], min_count => 1);
SELECT * FROM batmap_episodes('SELECT at::time, page FROM visits', ARRAY[interval '0', '1 s'], min_count => 1);
SELECT * FROM batmap_episode_occurrences('SELECT at, page FROM visits', '{1, 2}', ARRAY[interval '0', '1 s']);
SELECT * FROM batmap_episode_occurrences('SELECT at::date, page FROM visits', '{1, 2}', ARRAY[0, 1]);
SELECT * FROM batmap_episode_occurrences(NULL::date, 'SELECT at, page FROM visits', '{1, 2}', ARRAY[interval '0', '1 s']);
SELECT * FROM batmap_episode_occurrences(NULL::text, 'SELECT at, page FROM visits', '{1, 2}', ARRAY[interval '0', '1 s']);
SELECT * FROM batmap_episode_occurrences(NULL::date, 'SELECT at::date, page FROM visits', '{1, 2}', ARRAY[0.5, 1]);
SELECT * FROM batmap_episode_occurrences(NULL::day, 'SELECT at::date, page FROM visits', '{1, 2}', ARRAY[0, 1]);

-- ---- streams are counted
SELECT episode, support_count FROM batmap_episodes_of('SELECT at, page::text, person FROM visits', ARRAY[interval '0', NULL], min_count => 1,
                                                      counting => 'streams', min_length => 2);
SELECT reason FROM batmap_last_run();
SELECT * FROM batmap_episode_count('SELECT t, t % 2, 1 FROM generate_series(1, 100) t', '{{1, 0}, {0, 0}, {3, 4}}', ARRAY[0, 2], counting => 'streams');
SELECT * FROM batmap_episode_count('SELECT t, t % 2, 1 FROM generate_series(1, 100) t', '{{1}, {0}}', ARRAY[0, 2], counting => 'streams', algorithm => 'mapconcat');
SELECT reason FROM batmap_last_run();
SELECT * FROM batmap_episodes('SELECT 1, 1, 1 WHERE false', ARRAY[0, 2], min_count => 1, counting => 'streams');
SELECT * FROM batmap_episodes('VALUES (7, 7, 7)', ARRAY[0, 2], top_k => 3, counting => 'streams');
SELECT * FROM batmap_episodes('SELECT 1, 1', ARRAY[0, 2], min_count => 1, counting => 'streams');
SELECT * FROM batmap_episode_count_of('SELECT 1, ''a''::text', '{a}', ARRAY[0, 2], counting => 'streams');
SELECT * FROM batmap_episodes('SELECT 1, 1, 1', ARRAY[0, 2], min_rate => 1, counting => 'streams');
SELECT * FROM batmap_episodes('SELECT 1, 1, 1', ARRAY[0, 2], min_count => 1, counting => 'windows');

-- ---- events of one time form steps: the sequences of PrefixSpan's paper, a(abc)(ac)d(cf) and so on
CREATE TABLE purchases AS
SELECT t, item, customer
FROM (VALUES (1, '{a,abc,ac,d,cf}'::text[]), (2, '{ad,c,bc,ae}'), (3, '{ef,ab,df,c,b}'), (4, '{e,g,af,c,b,c}')) v(customer, sets),
     unnest(sets) WITH ORDINALITY s(items, t), regexp_split_to_table(items, '') item;
SELECT count(*), sum(support_count) FROM batmap_episodes_of('TABLE purchases', ARRAY[0, NULL], min_count => 2, counting => 'streams', same_time => true);
SELECT length, candidates, frequent FROM batmap_last_run_levels();
SELECT * FROM batmap_episodes_of('TABLE purchases', ARRAY[0, NULL], min_count => 2, counting => 'streams', same_time => true, include => '{a}', min_length => 4);
SELECT * FROM batmap_episodes_of('TABLE purchases', ARRAY[0, NULL], top_k => 5, min_length => 2, same_time => true);
-- steps given back are counted alike, by each algorithm and rule
SELECT algorithm, counting, count(*) AS episodes, sum(e.support_count) AS supports, count(*) FILTER (WHERE c.support_count <> e.support_count) AS differ
FROM unnest('{auto, tracking, count_scan_write, atomic, automaton, mapconcat}'::text[]) algorithm, unnest('{streams, non_overlapped}'::text[]) counting,
     batmap_episodes_of('TABLE purchases', ARRAY[[0, 2], [2, NULL]], min_count => 2, counting => counting, same_time => true, algorithm => algorithm) e,
     batmap_episode_count_of('TABLE purchases', e.episode, (SELECT array_agg(ARRAY[low, high]) FROM unnest(gap_low, gap_high) g (low, high)),
                             e.steps, counting) c
WHERE cardinality(e.gap_low) > 0
GROUP BY algorithm, counting ORDER BY algorithm, counting;
-- plain SQL: sets x -> sets y, in how many streams
WITH item AS (SELECT DISTINCT item FROM purchases),
     plain AS (
         SELECT a.item AS a, b.item AS b, c.item AS c,
                (SELECT count(DISTINCT x.customer) FROM purchases x JOIN purchases y USING (customer, t) JOIN purchases z USING (customer)
                 WHERE x.item = a.item AND y.item = b.item AND z.item = c.item AND z.t - x.t > 0 AND z.t - x.t <= 3) AS support_count
         FROM item a JOIN item b ON a.item < b.item, item c)
SELECT count(*) AS triples, sum(support_count) AS supports, count(*) FILTER (WHERE support_count <>
           (SELECT n.support_count FROM batmap_episode_count_of('TABLE purchases', ARRAY[a, b, c], ARRAY[0, 3], '{1, 1, 2}', 'streams') n)) AS differ,
       count(*) FILTER (WHERE support_count > 0 AND support_count IS DISTINCT FROM
           (SELECT e.support_count FROM batmap_episodes_of('TABLE purchases', ARRAY[0, 3], min_count => 1, max_length => 3, counting => 'streams', same_time => true) e
            WHERE e.episode = ARRAY[a, b, c] AND e.steps = '{1, 1, 2}')) AS discovered_differ
FROM plain;
-- one gap for all steps, or one for each
SELECT * FROM batmap_episode_count_of('TABLE purchases', '{{a, b, d, c}, {b, a, d, c}}', ARRAY[[0, 1], [0, 2]], '{1, 1, 2, 3}', 'streams');
SELECT * FROM batmap_episode_count_of('TABLE purchases', '{a, b}', ARRAY[0, 1], '{1, 1}');
SELECT * FROM batmap_episode_count_of('TABLE purchases', '{a, a, b}', ARRAY[0, 1], '{1, 1, 2}');
SELECT * FROM batmap_episode_count_of('TABLE purchases', '{a, b, c}', ARRAY[0, 1], '{1, 2}');
SELECT * FROM batmap_episode_count_of('TABLE purchases', '{a, b, c}', ARRAY[0, 1], '{1, 3, 3}');
SELECT * FROM batmap_episode_count_of('TABLE purchases', '{a, b, c}', ARRAY[0, 1], '{2, 2, 2}');
SELECT * FROM batmap_episode_count_of('TABLE purchases', '{a, b, c}', ARRAY[0, 1], '{1, NULL, 2}');
SELECT * FROM batmap_episode_count_of('TABLE purchases', '{a, b, c}', ARRAY[0, 1], '{{1, 1, 2}}');
SELECT * FROM batmap_episode_count_of('TABLE purchases', '{a, b, c}', ARRAY[[0, 1], [0, 1]], '{1, 1, 2}');
-- a GPU would not count these
SET batmap.accelerator = '/nowhere/batmap_cuda';
SELECT count(*) FROM batmap_episodes_of('TABLE purchases', ARRAY[0, NULL], min_count => 2, counting => 'streams', device => 'cuda');
SELECT device FROM batmap_last_run();
RESET batmap.accelerator;

SET client_min_messages = warning;
DROP SCHEMA episode_forms CASCADE;
