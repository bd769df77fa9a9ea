-- The type batmap_episode_counts: counts of streams in parts are added up, in two rounds, and give what the whole gives.
CREATE SCHEMA episode_counts;
SET search_path = episode_counts, public;
CREATE TABLE events AS SELECT (hashint4(g) & 127) AS at, (hashint4(-g)::int8 & 7) AS event, g % 97 AS stream FROM generate_series(1, 3000) g;
CREATE TABLE parts AS SELECT format('SELECT at, event, stream FROM events WHERE stream %% 3 = %s', p) AS query FROM generate_series(0, 2) p;
-- what one query has and the other has not
CREATE FUNCTION differ(a text, b text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE n int8;
BEGIN
    EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d', '(' || a || ')', '(' || b || ')') INTO n;
    RETURN n;
END $$;

-- two rounds over three parts: what reaches 10 in no part does not reach 28 in the whole
CREATE TABLE found AS SELECT * FROM batmap_episodes('SELECT * FROM events', ARRAY[[0, 10], [10, 30]], min_count => 28);
SELECT count(*) > 200 AS some, max(array_length(episode, 1)) AS longest FROM found;
CREATE TABLE candidates AS SELECT sum(batmap_episode_counts_from(query, ARRAY[[0, 10], [10, 30]], min_count => 10)) AS c FROM parts;
CREATE TABLE counts AS SELECT sum(batmap_episode_counts_from(query, ARRAY[[0, 10], [10, 30]], candidates => c)) AS c FROM parts, candidates;
SELECT batmap_episode_counts_total(n.c) AS total, batmap_episode_counts_streams(n.c) AS streams, batmap_episode_counts_episodes(n.c) = batmap_episode_counts_episodes(c.c) AS all_counted,
    batmap_episode_counts_episodes(n.c) >= (SELECT count(*) FROM found) AS enough FROM counts n, candidates c;
SELECT differ('TABLE found', 'SELECT e.* FROM counts, batmap_episodes(c, ARRAY[[0, 10], [10, 30]], min_count => 28) e');
SELECT differ($$SELECT * FROM batmap_episodes('TABLE events', ARRAY[[0, 10], [10, 30]], min_count => 28, $$ || more || ')', $$SELECT e.* FROM counts, batmap_episodes(c, ARRAY[[0, 10], [10, 30]], min_count => 28, $$ || more || ') e'), more
FROM (VALUES ('min_length => 2'), ('max_length => 2'), ($$include => '{1,2}'$$), ($$exclude => '{3,99}', include => '{1,99}'$$), ('top_k => 20')) v (more);
SELECT e.* FROM counts, batmap_episodes(c, ARRAY[[0, 10], [10, 30]], top_k => 3, min_length => 2) e;
SELECT method, reason, input FROM batmap_last_run();
SELECT count(*) FROM counts, batmap_episodes(c, ARRAY[[0, 10], [10, 30]], min_count => 28, max_results => 5) e;
-- one part is the whole; a gap that repeats another; with `+`; without a value
SELECT batmap_episode_counts_from('TABLE events', ARRAY[[0, 10], [10, 30]], candidates => c)::text = c::text AS same FROM (SELECT batmap_episode_counts_from('TABLE events', ARRAY[[0, 10], [10, 30], [0, 10]], 28)) v (c);
SELECT (c + c)::text = (SELECT sum(x.c)::text FROM counts x, generate_series(1, 2)) AS same, batmap_episode_counts_total(c + c) FROM counts;
SELECT sum(c) FROM counts WHERE false;
SELECT count(*) FROM batmap_episodes(NULL::batmap_episode_counts, ARRAY[0, 10], min_count => 1);
SELECT batmap_episode_counts_total(batmap_episode_counts_from('SELECT at, event FROM events WHERE false', ARRAY[0, 10], 1)) AS no_rows;

-- other rules and times: intervals, a rate, streams, the same time, a parameter
CREATE TABLE clicks AS SELECT '2024-05-01 12:00Z'::timestamptz + at * interval '1 min' AS at, event, stream FROM events;
CREATE TABLE clicks_of AS SELECT format('SELECT at, event, stream FROM clicks WHERE stream %% 2 = %s', p) AS query FROM generate_series(0, 1) p;
CREATE FUNCTION parts_differ(gaps text, rule text, low text, choice text) RETURNS int8 LANGUAGE sql AS $$
    SELECT differ(format('SELECT * FROM batmap_episodes(''TABLE clicks'', %s, %s, %s)', gaps, rule, choice),
        format('SELECT e.* FROM (SELECT sum(batmap_episode_counts_from(query, %1$s, %2$s, %3$s)) AS c FROM clicks_of) v, batmap_episodes(c, %1$s, %4$s) e', gaps, rule, low, choice)) $$;
SELECT parts_differ($$ARRAY[interval '0', '10 min']$$, 'max_length => 2', 'min_count => 1', 'min_count => 40'),
    parts_differ($$ARRAY[interval '0', '10 min']$$, 'max_length => 2', 'min_count => 1', 'min_rate => 0.0001'),
    parts_differ($$ARRAY[interval '1 s', NULL]$$, $$max_length => 2, counting => 'streams'$$, 'min_count => 1', 'min_count => 60'),
    parts_differ($$ARRAY[interval '0', '20 min']$$, 'max_length => 3, same_time => true', 'min_count => 1', 'min_count => 12');
SELECT e.* FROM batmap_episodes(batmap_episode_counts_from('SELECT at, event, stream FROM clicks WHERE stream <> $1', ARRAY[interval '0', '10 min'], 40, params => ROW(3)), ARRAY[interval '0', '10 min'], top_k => 2, min_length => 2) e;

-- text and binary form
SELECT c::text::batmap_episode_counts::text = c::text AS lossless FROM counts;
SELECT octet_length(_batmap_episode_counts_send(c)) < 4 * batmap_episode_counts_episodes(c) AS short FROM counts;
SELECT batmap_episode_counts_from('VALUES (1, 7), (2, 9)', ARRAY[0, 5], 1);
SELECT ''::batmap_episode_counts;
SELECT 'e1:'::batmap_episode_counts;
SELECT (left(t, -4) || 'AAAA')::batmap_episode_counts FROM (SELECT batmap_episode_counts_from('VALUES (1, 7), (2, 9)', ARRAY[0, 5], 1)::text) v (t);

-- refused
SELECT batmap_episode_counts_from('TABLE events', ARRAY[0, 10]);
SELECT batmap_episode_counts_from(NULL, ARRAY[0, 10], 1);
SELECT batmap_episode_counts_from('TABLE events', NULL::int[], 1);
SELECT batmap_episode_counts_from('TABLE events', ARRAY[10, 0], 1);
SELECT batmap_episode_counts_from('SELECT at, event::text FROM events', ARRAY[0, 10], 1);
SELECT batmap_episode_counts_from('SELECT at, event FROM events', ARRAY[0, 10], 1, counting => 'streams');
SELECT batmap_episode_counts_from('TABLE events', ARRAY[[0, 10], [10, 30]], 1, candidates => c) FROM counts;
SELECT batmap_episode_counts_from('TABLE events', ARRAY[0, 10], candidates => c) FROM counts;
SELECT batmap_episode_counts_from('TABLE clicks', ARRAY[interval '0', '10 s'], candidates => batmap_episode_counts_from('TABLE events', ARRAY[0, 10000000], 1000));
SELECT c + batmap_episode_counts_from('TABLE events', ARRAY[0, 10], 28) FROM counts;
SELECT sum(batmap_episode_counts_from('TABLE events', ARRAY[0, 10], 1000, counting => r)) FROM (VALUES ('streams'), ('non_overlapped')) v (r);
SELECT count(*) FROM counts, batmap_episodes(c, ARRAY[0, 10], min_count => 28);
SELECT count(*) FROM counts, batmap_episodes(c, ARRAY[[0, 10], [10, 30]]);
SELECT count(*) FROM counts, batmap_episodes(c, NULL::int[], min_count => 28);
SELECT count(*) FROM batmap_episodes(batmap_episode_counts_from('TABLE events', ARRAY[0, 10], 60, counting => 'streams'), ARRAY[0, 10], min_rate => 1);
SELECT _batmap_episode_counts_of_part('TABLE events', unit, ticks, 60, NULL, NULL, NULL, NULL, NULL, NULL, NULL) FROM (VALUES (3, '{0,10}'::int8[])) v (unit, ticks);
SELECT _batmap_episode_counts_of_part('TABLE events', 0, '{0,10,20}', 60, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT _batmap_episode_counts_of_part('TABLE events', 0, '{0,NULL}', 60, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT _batmap_episode_counts_of_part('TABLE events', 0, '{}', 60, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT _batmap_episode_counts_of_part('TABLE events', 0, '{10,0}', 60, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT _batmap_episode_counts_of_part('TABLE events', NULL, '{0,10}', 60, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT _batmap_episode_counts_of_part('SELECT at, event FROM events', 0, '{0,10}', 60, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
-- streams that together last longer than is counted; too many gaps
\set long 'SELECT t, 1, s FROM generate_series(1, 20) s, (VALUES (0::int8), (1::int8 << 60)) v (t)'
SELECT batmap_episode_counts_total(c), batmap_episode_counts_streams(c), c::text = sum::text AS same FROM (SELECT batmap_episode_counts_from(:'long', ARRAY[0, 10], 1) AS c) q, LATERAL (SELECT (c::text)::batmap_episode_counts AS sum) s;
SELECT count(*) FROM batmap_episodes(:'long', ARRAY[0, 10], min_rate => 0.5);
SELECT count(*) FROM batmap_episodes(batmap_episode_counts_from(:'long', ARRAY[0, 10], 1), ARRAY[0, 10], min_rate => 0.5);
SELECT batmap_episode_counts_from('TABLE events', (SELECT array_agg(ARRAY[i, i + 1]) FROM generate_series(0, 65535) i), 1);
SET client_min_messages = warning;
DROP SCHEMA episode_counts CASCADE;
