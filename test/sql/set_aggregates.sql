-- Aggregates over sets and over elements.
SELECT batmap_agg(x), batmap_agg(x::int8), batmap_agg(x, 16), batmap_universe(batmap_agg(x::int8, 16)), batmap_cardinality_agg(x), batmap_cardinality_agg(x::int8) FROM (VALUES (3), (1), (NULL), (3), (2)) v(x);
SELECT batmap_agg(x), batmap_agg(x, 32768), batmap_universe(batmap_agg(x, 32768)), batmap_cardinality_agg(x) FROM (VALUES (32767::int2), (1::int2), (NULL), (32767::int2)) v(x);
SELECT batmap_agg(x) FROM (VALUES (1::int2), (-1::int2)) v(x);
SELECT batmap_agg(x) IS NULL AS agg, batmap_agg(x, 5) IS NULL AS declared, batmap_cardinality_agg(x) FROM (VALUES (1)) v(x) WHERE x > 1;
SELECT batmap_agg(NULL::int4) IS NULL AS only_null, batmap_universe(batmap_agg(4294967296)), batmap_universe(batmap_agg(1::int8));
SELECT batmap_agg(x) FROM (VALUES (1), (-1)) v(x);
SELECT batmap_agg(x, 4) FROM (VALUES (1), (4)) v(x);
SELECT batmap_agg(x, x + 8) FROM (VALUES (1), (2), (10)) v(x);
SELECT batmap_agg(x, 0) FROM (VALUES (1)) v(x);
SELECT batmap_agg(x, NULL) FROM (VALUES (1)) v(x);
SELECT batmap_or_agg(s), batmap_and_agg(s), batmap_xor_agg(s), batmap_or_cardinality_agg(s) AS "or", batmap_and_cardinality_agg(s) AS "and", batmap_xor_cardinality_agg(s) AS "xor"
FROM (VALUES ('{1,2,3}'::batmap), ('{2,3,4}'), (NULL), ('{3,4,5}')) v(s);
SELECT batmap_or_agg(s), batmap_and_agg(s), batmap_xor_agg(s), batmap_or_cardinality_agg(s) AS "or", batmap_and_cardinality_agg(s) AS "and", batmap_xor_cardinality_agg(s) AS "xor"
FROM (VALUES ('{}'::batmap), ('{}')) v(s);
SELECT batmap_or_agg(s), batmap_and_agg(s), batmap_xor_agg(s), batmap_or_cardinality_agg(s) AS "or", batmap_and_cardinality_agg(s) AS "and", batmap_xor_cardinality_agg(s) AS "xor"
FROM (VALUES ('{1}'::batmap)) v(s) WHERE s @> 2;
SELECT batmap_universe(batmap_or_agg(s)), batmap_universe(batmap_and_agg(s)), batmap_universe(batmap_xor_agg(s)) FROM (VALUES ('{1}'::batmap(4)), ('{1}'::batmap(64))) v(s);
-- groups of every size against DISTINCT
CREATE TABLE rows AS SELECT (i * i) % 101 AS g, (i * 7919) % 4999 AS x FROM generate_series(1::int8, 60000) i;
CREATE TABLE sets AS SELECT g, batmap_agg(x) AS s FROM rows GROUP BY g;
SELECT count(*), sum(batmap_cardinality(s)) = (SELECT count(DISTINCT (g, x)) FROM rows) AS same FROM sets;
SELECT count(*) FROM rows JOIN sets USING (g) WHERE NOT s @> x;
SELECT count(*) FROM sets, batmap_unnest(s) u WHERE NOT EXISTS (SELECT FROM rows WHERE rows.g = sets.g AND rows.x = u);
SELECT batmap_or_agg(s) = (SELECT batmap_agg(x) FROM rows) AS "or", batmap_or_cardinality_agg(s) = (SELECT count(DISTINCT x) FROM rows) AS or_count FROM sets;
SELECT batmap_and_agg(s) = (SELECT coalesce(batmap_agg(x), '{}') FROM (SELECT x FROM rows GROUP BY x HAVING count(DISTINCT g) = (SELECT count(*) FROM sets)) v) AS "and" FROM sets;
SELECT batmap_and_agg(s)::int8[] = ARRAY(SELECT u FROM (SELECT s FROM sets ORDER BY g LIMIT 3) v, batmap_unnest(s) u GROUP BY u HAVING count(*) = 3 ORDER BY u) AS "and" FROM (SELECT s FROM sets ORDER BY g LIMIT 3) v;
SELECT batmap_xor_agg(s)::int8[] = ARRAY(SELECT u FROM sets, batmap_unnest(s) u GROUP BY u HAVING count(*) % 2 = 1 ORDER BY u) AS "xor",
    batmap_xor_cardinality_agg(s) = batmap_cardinality(batmap_xor_agg(s)) AS xor_count FROM sets;
SELECT g % 3 AS third, batmap_or_cardinality_agg(s) = batmap_cardinality(batmap_or_agg(s)) AS same FROM sets GROUP BY 1 ORDER BY 1;
-- the same with sorted input, and many tiny groups
SELECT batmap_cardinality(batmap_agg(x ORDER BY x)), batmap_agg(x ORDER BY x) = batmap_agg(x ORDER BY x DESC) AS same FROM rows;
SELECT count(*), sum(batmap_cardinality(s)) FROM (SELECT batmap_agg(x) AS s FROM rows GROUP BY g, x) v;
SELECT batmap_cardinality(batmap_agg(i)), batmap_cardinality_agg(i) FROM generate_series(1, 300000) i;
-- final functions leave the state as it is: shared states and window frames
SELECT batmap_agg(x), batmap_cardinality_agg(x), batmap_agg(x) FROM (VALUES (5), (1), (5), (3)) v(x);
SELECT i, batmap_agg(x) OVER w, batmap_cardinality_agg(x) OVER w, batmap_xor_agg(ARRAY[x]::batmap) OVER w, batmap_and_agg(ARRAY[x, 1]::batmap) OVER w
FROM (VALUES (1, 5), (2, 1), (3, 5), (4, 3)) v(i, x) WINDOW w AS (ORDER BY i) ORDER BY i;
SELECT i, batmap_agg(x) OVER w, batmap_or_agg(s) OVER w AS "or", batmap_and_agg(s) OVER w AS "and", batmap_xor_cardinality_agg(s) OVER w AS "xor"
FROM (VALUES (1, 5, '{1,2}'::batmap), (2, NULL, '{2,3}'), (3, 5, NULL), (4, 3, '{2}')) v(i, x, s) WINDOW w AS (ORDER BY i ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) ORDER BY i;
-- sets that are not small: their states are objects. Arrays, runs and bitmaps in narrow and wide blocks; elements in an odd number of sets
CREATE TABLE large AS SELECT g, g % 4 AS part, batmap_agg(x) AS s FROM generate_series(0, 23) g, LATERAL (
    SELECT (i * (g + 1) * 37) % 200000 AS x FROM generate_series(1::int8, 40 * (g + 1)) i
    UNION ALL SELECT 200000 + i * (1 + g % 3) FROM generate_series(1, 60000 * (g % 2)) i
    UNION ALL SELECT 400000 + i FROM generate_series(g * 10, g * 500) i
    UNION ALL SELECT (1::int8 << 40) * (g % 5) + g % 7 UNION ALL SELECT 5) v GROUP BY g;
CREATE TABLE large_elements AS SELECT g, part, x FROM large, batmap_unnest(s) x;
SELECT batmap_or_agg(s)::int8[] = (SELECT array_agg(DISTINCT x ORDER BY x) FROM large_elements) AS "or", batmap_or_cardinality_agg(s) = (SELECT count(DISTINCT x) FROM large_elements) AS or_count,
    batmap_and_agg(s)::int8[] = (SELECT array_agg(x ORDER BY x) FROM (SELECT x FROM large_elements GROUP BY x HAVING count(*) = 24) v) AS "and", batmap_and_cardinality_agg(s) AS and_count,
    batmap_xor_agg(s)::int8[] = (SELECT array_agg(x ORDER BY x) FROM (SELECT x FROM large_elements GROUP BY x HAVING count(*) % 2 = 1) v) AS "xor", batmap_xor_cardinality_agg(s) = batmap_cardinality(batmap_xor_agg(s)) AS xor_count FROM large;
CREATE TEMP VIEW large_parts AS SELECT part, batmap_or_agg(s) AS o, batmap_and_agg(s) AS a, batmap_xor_agg(s) AS x, batmap_or_cardinality_agg(s) AS oc, batmap_and_cardinality_agg(s) AS ac, batmap_xor_cardinality_agg(s) AS xc FROM large GROUP BY part;
CREATE TEMP TABLE expected_parts AS SELECT part, array_agg(x ORDER BY x) AS o, array_agg(x ORDER BY x) FILTER (WHERE n = 6) AS a, array_agg(x ORDER BY x) FILTER (WHERE n % 2 = 1) AS x
    FROM (SELECT part, x, count(*) AS n FROM large_elements GROUP BY part, x) v GROUP BY part;
SELECT count(*), bool_and(l.o::int8[] = e.o AND l.a::int8[] = e.a AND l.x::int8[] = e.x AND oc = cardinality(e.o) AND ac = cardinality(e.a) AND xc = cardinality(e.x)) AS same FROM large_parts l JOIN expected_parts e USING (part);
SET enable_hashagg = off;
SELECT count(*), bool_and(l.o::int8[] = e.o AND l.a::int8[] = e.a AND l.x::int8[] = e.x AND oc = cardinality(e.o) AND ac = cardinality(e.a) AND xc = cardinality(e.x)) AS same FROM large_parts l JOIN expected_parts e USING (part);
RESET enable_hashagg;
-- the prepared form joins, too
SELECT batmap_or_agg(CASE WHEN g % 2 = 0 THEN s ELSE batmap_prepare(s, 8::int8 << 40) END) = batmap_or_agg(s) AS same FROM large;
-- an intersection that has become empty
SELECT batmap_and_agg(s), batmap_and_cardinality_agg(s) FROM (SELECT g, s FROM large UNION ALL SELECT 99, batmap_agg(i) FROM generate_series(1000000, 1003000) i UNION ALL SELECT 100 + g, s FROM large ORDER BY 1) v;
-- partial states travel between workers
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off;
ALTER TABLE large SET (parallel_workers = 2);
EXPLAIN (COSTS OFF) SELECT batmap_or_agg(s) FROM large;
SELECT batmap_or_agg(s)::int8[] = (SELECT array_agg(DISTINCT x ORDER BY x) FROM large_elements) AS "or", batmap_and_cardinality_agg(s) AS and_count,
    batmap_xor_agg(s)::int8[] = (SELECT array_agg(x ORDER BY x) FROM (SELECT x FROM large_elements GROUP BY x HAVING count(*) % 2 = 1) v) AS "xor" FROM large;
SELECT count(*), bool_and(l.o::int8[] = e.o AND l.a::int8[] = e.a AND l.x::int8[] = e.x AND oc = cardinality(e.o) AND ac = cardinality(e.a) AND xc = cardinality(e.x)) AS same FROM large_parts l JOIN expected_parts e USING (part);
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather; RESET parallel_leader_participation;
-- window frames: a final function leaves the object as it is
SELECT bool_and(o = (SELECT batmap_or_agg(l.s) FROM large l WHERE l.g BETWEEN w.g - 2 AND w.g)) AS "or", bool_and(xc = (SELECT batmap_xor_cardinality_agg(l.s) FROM large l WHERE l.g <= w.g)) AS "xor",
    bool_and(a = (SELECT batmap_and_agg(l.s) FROM large l WHERE l.g <= w.g)) AS "and"
FROM (SELECT g, batmap_or_agg(s) OVER (ORDER BY g ROWS 2 PRECEDING) AS o, batmap_xor_cardinality_agg(s) OVER (ORDER BY g) AS xc, batmap_and_agg(s) OVER (ORDER BY g) AS a FROM large) w;
-- aggregates of a user over the same functions: a state without a final function is a flat value, as text and in a table, and states merge
CREATE AGGREGATE union_state(batmap) (SFUNC = _batmap_or_trans, STYPE = batmap_state);
CREATE AGGREGATE merged_states(batmap_state) (SFUNC = _batmap_state_merge, STYPE = batmap_state, FINALFUNC = _batmap_state_final);
CREATE TABLE union_states AS SELECT part, union_state(s) AS st FROM large GROUP BY part;
SELECT merged_states(st) = (SELECT batmap_or_agg(s) FROM large) AS merged, bool_and(_batmap_state_final(st::text::batmap_state) = _batmap_state_final(st)) AS text FROM union_states;
SELECT merged_states(st) = (SELECT batmap_or_agg(s) FROM large) AS merged FROM (SELECT union_state(s) AS st FROM large GROUP BY part) v;
SELECT count(*), sum(_batmap_state_cardinality(st)) = (SELECT sum(oc) FROM large_parts) AS same FROM (SELECT part, union_state(s) OVER (PARTITION BY part ORDER BY g ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS st, row_number() OVER (PARTITION BY part) AS n FROM large) v WHERE n = 1;
SELECT merged_states(st) FROM (SELECT union_state(s) AS st FROM large UNION ALL SELECT _batmap_and_trans(NULL, s) FROM large WHERE g = 23) v;
CREATE FUNCTION set_or(batmap_state, batmap) RETURNS batmap_state LANGUAGE sql AS 'SELECT _batmap_or_trans($1, $2)';
CREATE AGGREGATE foreign_union(batmap) (SFUNC = set_or, STYPE = batmap_state, FINALFUNC = _batmap_state_final);
CREATE FUNCTION set_pair(batmap_state) RETURNS batmap[] LANGUAGE sql AS $$SELECT ARRAY[_batmap_state_final(_batmap_or_trans($1, '{77777777}')), _batmap_state_final($1)]$$;
CREATE AGGREGATE foreign_final(batmap) (SFUNC = _batmap_or_trans, STYPE = batmap_state, FINALFUNC = set_pair);
SELECT foreign_union(s) = batmap_or_agg(s) AS foreign_union, (foreign_final(s))[2] = batmap_or_agg(s) AS untouched, batmap_cardinality((foreign_final(s))[1] - batmap_or_agg(s)) AS added FROM large;
SET batmap.memory_limit = '1MB';
\set VERBOSITY sqlstate
SELECT batmap_or_agg(batmap_agg) FROM (SELECT batmap_agg(i * 30000) FROM generate_series(1::int8, 200000) i GROUP BY i % 20) v;
\set VERBOSITY default
RESET batmap.memory_limit;
-- all objects of the groups share one memory context; an object that was asked for its flat form does not keep it
CREATE FUNCTION state_contexts(OUT contexts int8, OUT bytes int8) VOLATILE LANGUAGE plpgsql AS $$
BEGIN
    SELECT count(*), sum(used_bytes) INTO contexts, bytes FROM pg_backend_memory_contexts WHERE name LIKE 'batmap state%';
END $$;
CREATE TABLE of_groups AS SELECT n % 200 AS g, batmap_agg(n + x * 70) AS s FROM generate_series(1, 600) n, generate_series(1, 300) x GROUP BY n;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT g, batmap_or_agg(s) FROM of_groups GROUP BY g;
SELECT count(*) AS groups, max((c).contexts) AS contexts, max((c).bytes) - min((c).bytes) < 20000 AS flat_forms_are_freed, sum(length(flat)) > 200000 AS flat
FROM (SELECT g, union_state(s)::text AS flat, state_contexts() AS c FROM of_groups GROUP BY g OFFSET 0) v;
SELECT count(*) AS contexts FROM pg_backend_memory_contexts WHERE name LIKE 'batmap state%';
RESET enable_sort;
DROP TABLE of_groups;
DROP FUNCTION state_contexts;
DROP AGGREGATE union_state(batmap), merged_states(batmap_state), foreign_union(batmap), foreign_final(batmap);
DROP FUNCTION set_or, set_pair;
DROP VIEW large_parts;
DROP TABLE large, large_elements, union_states, expected_parts;
-- states: lossless, and checked when they come from outside
SELECT _batmap_state_final(st::text::batmap_state), _batmap_state_cardinality(st) FROM (SELECT _batmap_agg_trans(_batmap_agg_trans(NULL, 7), 3) AS st) v;
SELECT _batmap_state_final(_batmap_state_merge(a, b)), _batmap_state_final(_batmap_state_merge(a, NULL)), _batmap_state_final(_batmap_state_merge(NULL, b)), _batmap_state_merge(NULL, NULL) IS NULL AS "null"
FROM (SELECT _batmap_or_trans(NULL, '{1,2}') AS a, _batmap_or_trans(NULL, '{2,3}'::batmap(4)) AS b) v;
SELECT _batmap_state_final(_batmap_state_merge(_batmap_and_trans(NULL, '{1,2}'), _batmap_and_trans(NULL, '{2,3}'))), _batmap_state_final(_batmap_state_merge(_batmap_xor_trans(NULL, '{1,2}'), _batmap_xor_trans(NULL, '{2,3}')));
SELECT _batmap_state_merge(_batmap_or_trans(NULL, '{1,2}'), _batmap_and_trans(NULL, '{2,3}'));
-- a merged group has one universe, as in one worker; sets may have different ones
SELECT _batmap_agg_merge(_batmap_agg_trans(NULL, 1, 8), _batmap_agg_trans(NULL, 2, 16));
SELECT _batmap_agg_merge(_batmap_agg_trans(NULL, 1, 8), _batmap_agg_trans(NULL, 2, NULL));
SELECT s, batmap_universe(s) FROM (SELECT _batmap_state_final(_batmap_agg_merge(_batmap_agg_trans(NULL, 1, 8), _batmap_agg_trans(NULL, 2, 7))) AS s) v;
-- stored states stay readable: the bytes of each kind
SELECT _batmap_state_send(_batmap_agg_trans(_batmap_agg_trans(NULL, 7), 3)), _batmap_state_send(_batmap_and_trans(NULL, '{1,300}'::batmap(1024))), _batmap_state_send(_batmap_xor_trans(NULL, '{}'));
SELECT _batmap_state_final('s1:AgH/AAAAAAACAAAABwAAAAAAAAADAAAAAAAAAA=='), _batmap_state_final('s1:AgL/AAsAAAAAAAAAJQAAAQABAAEALAEAAAAAAA=='), _batmap_state_final('s1:AgP/AAEAAAAAAAAAJAAAAAAAAAA=');
CREATE TABLE states AS SELECT _batmap_agg_trans(NULL, 7) AS st;
SELECT _batmap_state_final(_batmap_agg_trans(st, 8)), _batmap_state_final(st), pg_column_size(st) FROM states;
SELECT _batmap_state_and_cardinality(NULL) IS NULL AS "null", _batmap_state_cardinality(NULL), _batmap_state_final(NULL) IS NULL AS "null";
SELECT 'x'::batmap_state;
SELECT 's1:'::batmap_state;
SELECT 's1:@@@@'::batmap_state;
SELECT ('s1:' || encode('\x0201ff000000000000000000', 'base64'))::batmap_state IS NOT NULL AS empty_state;
SELECT ('s1:' || encode('\x0101ff000000000000000000', 'base64'))::batmap_state;
SELECT ('s1:' || encode('\x0201ff000000000001000000', 'base64'))::batmap_state;
DROP TABLE rows, sets, states;
