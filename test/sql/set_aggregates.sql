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
