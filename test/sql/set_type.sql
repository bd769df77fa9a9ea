-- Type batmap: text and binary forms, declared universes, casts, arrays, ranges, Roaring bytes.
-- text
SELECT '{1,5,9}'::batmap, '{}'::batmap, '{9,5,1,5}'::batmap, ' { 3 , 1 , 2 } '::batmap, '{0}'::batmap;
SELECT '{4611686018427387903,0}'::batmap;
SELECT NULL::batmap IS NULL AS "null";
SELECT ''::batmap;
SELECT '1,2'::batmap;
SELECT '{1,3}'::batmap @> '3';
SELECT '4611686018427387904'::batmap;
SELECT '{1,2'::batmap;
SELECT '{1,,2}'::batmap;
SELECT '{1,2},'::batmap;
SELECT '{1 2}'::batmap;
SELECT '{a}'::batmap;
SELECT '{1.5}'::batmap;
SELECT '{1,NULL}'::batmap;
SELECT '{-1}'::batmap;
SELECT '{4611686018427387904}'::batmap;
SELECT '{99999999999999999999999999}'::batmap;
SELECT '{{1},{2}}'::batmap;
-- of compact sets, the universe is what the elements need
SELECT t, batmap_universe(t::batmap) FROM (VALUES ('{}'), ('{4294967295}'), ('{4294967296}')) v(t);
-- base64 of the binary form
SELECT ('b1:' || encode(_batmap_send('{1,2,300}'), 'base64'))::batmap, ('b1:' || encode(_batmap_send('{1,2}'::batmap(8)), 'base64'))::batmap(16);
SELECT 'b1:'::batmap;
SELECT 'b1:AAAA'::batmap;
SELECT 'b1:@@'::batmap;
-- typmod
CREATE TABLE sets (id int PRIMARY KEY, s batmap(1000), u batmap);
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'sets'::regclass AND attnum > 1;
SELECT n, format_type('batmap'::regtype, _batmap_typmod_in(ARRAY[n]::cstring[])) FROM unnest('{1,2,3,4096,4097,4294967296,4611686018427387903,4611686018427387904}'::text[]) n;
SELECT 'batmap'::regtype, NULL::batmap(0);
SELECT NULL::batmap(-1);
SELECT NULL::batmap(4611686018427387905);
SELECT NULL::batmap(1, 2);
SELECT NULL::batmap('x');
SELECT NULL::batmap(1, 'prepared', 3);
-- the prepared form
SELECT format_type('batmap'::regtype, _batmap_typmod_in(ARRAY[n, 'prepared']::cstring[])) FROM unnest('{1,1000,1024,1073741759,1073741760,4611686018427387904}'::text[]) n;
CREATE TABLE forms (id int, c batmap(1000), p batmap(1000, 'prepared'), u batmap);
INSERT INTO forms SELECT n, s, s, CASE n % 2 WHEN 0 THEN s ELSE batmap_prepare(s, 2000) END FROM (VALUES (1, '{}'::batmap), (2, '{7}'), (3, batmap_range(100, 900)), (4, '{1,2,999}')) v(n, s);
INSERT INTO forms (id, p) VALUES (5, '{1000}');
INSERT INTO forms (id, p) VALUES (5, batmap_prepare('{1000}', 2000));
INSERT INTO forms (id, p) VALUES (5, batmap_prepare('{1000}', 1024));
SELECT id, (batmap_stats(c)).container AS c, (batmap_stats(p)).container AS p, (batmap_stats(u)).container AS u, (batmap_stats(p)).universe, c = p AND p = u AND u = c AS equal,
    _batmap_hash(c) = _batmap_hash(p) AND _batmap_hash(p) = _batmap_hash(u) AS hash, _batmap_cmp(c, p) AS cmp, p & u AS "and", batmap_and_cardinality(p, c) AS count FROM forms ORDER BY id;
COPY (SELECT p FROM forms WHERE id = 4) TO STDOUT;
ALTER TABLE forms ALTER c TYPE batmap(1000, 'prepared'), ALTER p TYPE batmap(1000), ALTER u TYPE batmap(4000, prepared);
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'forms'::regclass AND attnum > 1;
SELECT id, (batmap_stats(c)).container AS c, (batmap_stats(p)).container AS p, (batmap_stats(u)).container AS u, c = p AND p = u AS equal FROM forms ORDER BY id;
DROP TABLE forms;
SELECT batmap_prepare('{1}', 0);
SELECT batmap_prepare('{1,5}', 5);
SELECT batmap_universe(batmap_prepare('{1,5}', 9)), batmap_universe(batmap_prepare('{1}')), batmap_universe(batmap_prepare('{4294967296}')), batmap_prepare(NULL), batmap_prepare('{1}', NULL);
SELECT _batmap_to_typmod('{1}', 64, false);
SELECT _batmap_in('{}', 0, 63);
SELECT '{0}'::batmap(1), '{1}'::batmap(2), batmap_universe('{}'::batmap(1));
SELECT '{1}'::batmap(1);
INSERT INTO sets VALUES (1, '{1,2,999}', '{1,2,1023}');
INSERT INTO sets VALUES (2, '{1000}');
INSERT INTO sets VALUES (2, ARRAY[3, 5, 3], ARRAY[3, 5, 3]::int8[]), (3, '{}', '{}'), (4, NULL, NULL);
INSERT INTO sets VALUES (5, ARRAY[1000]);
INSERT INTO sets SELECT 5, u FROM sets WHERE id = 1;
INSERT INTO sets SELECT 5, u - 1023 FROM sets WHERE id = 1;
UPDATE sets SET s = s | 4000 WHERE id = 1;
UPDATE sets SET s = s | 400 WHERE id = 1;
SELECT id, s, u, batmap_universe(s) AS s_universe, batmap_universe(u) AS u_universe, s = u AS equal FROM sets ORDER BY id;
SELECT '{1,5000}'::batmap::batmap(5001);
SELECT '{1,5000}'::batmap::batmap(5000);
-- N itself is the bound, and no power of two beyond it: wherever a value becomes one of the type, whatever form it has
CREATE TABLE bounds (n int8);
INSERT INTO bounds VALUES (1), (2), (3), (10), (50), (63), (65), (100), (127), (1000), (65535), (65536), (65537), (100000), (1073741759);
CREATE FUNCTION outcome(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
    EXECUTE 'SELECT ' || expression INTO r;
    RETURN r;
EXCEPTION WHEN numeric_value_out_of_range THEN
    RETURN SQLERRM;
END $$;
CREATE VIEW ways AS SELECT n, x, way, CASE WHEN x < n THEN format('{%s}', x) ELSE format('element %s is out of range for type batmap(%s)', x, n) END AS expected,
    outcome(replace(replace(way, 'N', n::text), 'X', x::text)) AS outcome
FROM bounds, LATERAL (VALUES (n - 1), (n)) v (x), unnest(ARRAY['''{X}''::batmap(N)', '''{X}''::batmap::batmap(N)', 'batmap_prepare(''{X}'')::batmap(N)', 'batmap_prepare(''{X}'', 2 * X + 1)::batmap(N)',
    '''{X}''::batmap(N, ''prepared'')', '''{X}''::batmap::batmap(N, ''prepared'')', 'batmap_prepare(''{X}'', 1 << 30)::batmap(N, ''prepared'')',
    'ARRAY[X]::batmap(N)', 'ARRAY[X]::batmap(N, ''prepared'')', 'batmap(ARRAY[X], N)', 'batmap_prepare(''{X}'', N)',
    '(''{X}''::batmap::bytea)::batmap(N)', '(SELECT batmap_agg(X::int8, N))', '(SELECT batmap_agg(X::int4, N))', '''{X}''::batmap(2147483648)::batmap(N)']) way;
SELECT count(*), count(*) FILTER (WHERE outcome = expected) AS as_expected FROM ways;
SELECT * FROM ways WHERE outcome IS DISTINCT FROM expected LIMIT 5;
-- to a smaller, an equal and a larger bound
CREATE TABLE of_hundred (s batmap(100), p batmap(100, 'prepared'), big batmap(100000));
INSERT INTO of_hundred VALUES ('{49,99}', '{49,99}', batmap_range(0, 100000) - batmap_range(5, 9000));
SELECT s::batmap(50) FROM of_hundred;
SELECT p::batmap(99, 'prepared') FROM of_hundred;
SELECT s::batmap(100), s::batmap(128), p::batmap(100, 'prepared'), p::batmap(101, 'prepared'), p::batmap(100) FROM of_hundred;
SELECT batmap_cardinality(big::batmap(100000)), batmap_cardinality(big::batmap(100001)) FROM of_hundred;
SELECT batmap_cardinality(big::batmap(99999)) FROM of_hundred;
UPDATE of_hundred SET s = s | 100;
UPDATE of_hundred SET s = s | p, p = p - 49;
ALTER TABLE of_hundred ALTER s TYPE batmap(99);
ALTER TABLE of_hundred ALTER s TYPE batmap(120);
UPDATE of_hundred SET s = s | 119 RETURNING s;
ALTER TABLE of_hundred ALTER p TYPE batmap(50, 'prepared');
-- what is made of columns has no bound of its own
SELECT s | 4000, pg_typeof(s | 4000) FROM of_hundred;
DROP TABLE of_hundred;
DROP VIEW ways;
DROP TABLE bounds;
DROP FUNCTION outcome;
SELECT batmap_universe('{1,5}'::batmap::batmap(100)), batmap_universe('{1,5}'::batmap(8)::batmap(4611686018427387904));
ALTER TABLE sets ALTER u TYPE batmap(256);
ALTER TABLE sets ALTER u TYPE batmap(1024), ALTER s TYPE batmap;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'sets'::regclass AND attnum > 1;
SELECT id, batmap_universe(s) AS s_universe, batmap_universe(u) AS u_universe FROM sets ORDER BY id;
CREATE DOMAIN small_set AS batmap(16) CHECK (batmap_cardinality(VALUE) < 4);
SELECT '{1,2,3}'::small_set, batmap_universe('{1}'::small_set);
SELECT '{1,2,3,4}'::small_set;
SELECT '{16}'::small_set;
DROP DOMAIN small_set;
-- binary form and bytea
SELECT _batmap_send('{}'), _batmap_send('{1,256}'), _batmap_send('{1}'::batmap(4)), _batmap_send('{4294967296}');
SELECT '{1,2}'::batmap::bytea = _batmap_send('{1,2}'), '{7,8}'::batmap::bytea::batmap, ('{7,8}'::batmap(16)::bytea)::batmap(8192);
SELECT ('{7,8}'::batmap::bytea)::batmap(8);
SELECT ''::bytea::batmap;
SELECT '\x1120'::bytea::batmap;
SELECT set_byte(batmap_prepare('{1,256}')::bytea, 0, 49)::batmap;
SELECT set_byte(batmap_prepare('{1,256}')::bytea, 0, 19)::batmap;
SELECT set_byte(batmap_prepare('{1,256}')::bytea, 1, 63)::batmap;
SELECT set_byte(batmap_prepare('{1,256}')::bytea, 2, 3)::batmap;
SELECT set_byte(batmap_prepare('{1,256}')::bytea, 8, 2)::batmap;
SELECT set_byte(batmap_prepare('{1,256}')::bytea, 13, 0)::batmap;
SELECT set_byte('{1,256}'::batmap::bytea, 0, 33)::batmap;
SELECT set_byte('{1,256}'::batmap::bytea, 3, 2)::batmap;
SELECT set_byte('{1,256}'::batmap::bytea, 6, 32)::batmap;
SELECT set_byte('{1,256}'::batmap::bytea, 8, 1)::batmap;
SELECT ('{1,256}'::batmap::bytea || '\x00')::batmap;
-- one changed bit of a large value is always found
CREATE FUNCTION pg_temp.is_set(bytes bytea) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    PERFORM bytes::batmap;
    RETURN true;
EXCEPTION WHEN invalid_binary_representation THEN
    RETURN false;
END $$;
SELECT count(*) AS refused FROM (
    SELECT set_bit(b, (g * 7919) % (length(b) * 8), 1 - get_bit(b, (g * 7919) % (length(b) * 8))) AS changed
    FROM (SELECT batmap_prepare(batmap_agg((i * i) % 100003))::bytea AS b FROM generate_series(1::int8, 400) i) v, generate_series(1, 300) g) w
WHERE NOT pg_temp.is_set(changed);
-- and one of a compact value gives other elements, or is found
SELECT count(*) AS accepted, count(*) FILTER (WHERE changed::batmap::int8[]::batmap::bytea = changed) AS the_form_of_their_elements FROM (
    SELECT set_bit(b, (g * 7919) % (length(b) * 8), 1 - get_bit(b, (g * 7919) % (length(b) * 8))) AS changed
    FROM (SELECT batmap_agg((i * i) % 100003)::bytea AS b FROM generate_series(1::int8, 400) i) v, generate_series(1, 300) g) w
WHERE pg_temp.is_set(changed);
-- arrays
SELECT ARRAY[3,1,2]::batmap, ARRAY[3,1,3]::int8[]::batmap, '{}'::int[]::batmap, ARRAY[[1,2],[3,4]]::batmap, '[5:6]={7,8}'::int[]::batmap;
SELECT ARRAY[1,NULL]::batmap;
SELECT ARRAY[-1]::batmap;
SELECT ARRAY[9223372036854775807]::batmap;
SELECT ARRAY[4611686018427387903]::batmap;
SELECT ARRAY[5]::batmap(4);
SELECT batmap(ARRAY[1,2,3], 4), batmap_universe(batmap(ARRAY[1,2,3], 4)), batmap_universe(batmap('{}', 1000));
SELECT batmap(ARRAY[1,2,4], 4);
SELECT batmap(ARRAY[1], 0);
SELECT batmap(ARRAY[1], NULL) IS NULL AS "null", batmap(NULL, 5) IS NULL AS "null";
SELECT '{3,1}'::batmap::int4[], '{3,1}'::batmap::int8[], '{}'::batmap::int4[], '{2147483647}'::batmap::int4[];
SELECT '{2147483648}'::batmap::int4[];
SELECT '{2147483648}'::batmap::int8[];
CREATE TABLE arrays (a int4[], b int8[]);
INSERT INTO arrays VALUES ('{1,2}'::batmap, '{3,4}'::batmap);
SELECT * FROM arrays;
DROP TABLE arrays;
-- int8[] in ascending order is read in place, any other order is sorted
SELECT '{}'::int8[]::batmap, '{1,2,3}'::int8[]::batmap, '{3,2,2}'::int8[]::batmap, '{1,1}'::int8[]::batmap,
       '{0,4611686018427387903}'::int8[]::batmap, '{{1,2},{3,4}}'::int8[]::batmap, '{1,2}'::int8[]::batmap(5, prepared);
SELECT '{1,4611686018427387904}'::int8[]::batmap;
SELECT '{-1,4}'::int8[]::batmap;
SELECT '{4,-1}'::int8[]::batmap;
SELECT '{4,5}'::int8[]::batmap(5);
SELECT * FROM batmap_unnest('{3,1,2}'::batmap);
SELECT count(*) FROM batmap_unnest('{}'::batmap);
SELECT batmap_unnest(s) FROM sets WHERE id < 3;
SELECT count(*) FROM batmap_unnest(NULL::batmap);
SELECT x FROM batmap_unnest(batmap_range(0, 1000000)) x LIMIT 2;
-- ranges are half open
SELECT batmap_range(3, 6), batmap_range(3, 4), batmap_range(3, 3), batmap_range(5, 3), batmap_range(-5, -6);
SELECT batmap_cardinality(batmap_range(0, 100000)), batmap_universe(batmap_range(4294967290, 4294967297)), batmap_range(4611686018427387902, 4611686018427387904);
SELECT batmap_range(-1, 2);
SELECT batmap_range(4611686018427387902, 4611686018427387905);
SELECT batmap_range(0, 4611686018427387904);
-- every container, and what it is stored as
SELECT n, w, s.container, s.universe, s.cardinality, s.bytes, s.slots, b::int8[] = a AS same, b::text::batmap = b AS text_same, b::bytea::batmap = b AS bytea_same,
    b::bytea = batmap_prepare(batmap(batmap(a, 4611686018427387904)::int8[], w), w)::bytea AS deterministic, batmap(b::int8[], w)::bytea = (b | b)::bytea AS one_compact, (batmap_stats(b | b)).bytes AS compact
FROM (VALUES (0, 1), (1, 1), (1, 4611686018427387904), (64, 64), (255, 65536), (255, 4611686018427387904), (256, 65536), (256, 8589934592), (1000, 1024), (1000, 32768), (5000, 4611686018427387904), (30000, 100000)) v(n, w),
    LATERAL (SELECT coalesce(array_agg(DISTINCT x ORDER BY x), '{}') AS a FROM (SELECT (i * 40503) % w AS x FROM generate_series(0::int8, n - 1) i) e) l,
    LATERAL batmap_prepare(batmap(a, w), w) b, LATERAL batmap_stats(b) s;
-- Roaring
SELECT batmap_from_roaring('\x3a300000010000000000020010000000010002000300'), batmap_to_roaring('{1,2,3}'), batmap_from_roaring(batmap_to_roaring('{}'));
SELECT s = batmap_from_roaring(batmap_to_roaring(s)), s = batmap_from_roaring64(batmap_to_roaring64(s)), length(batmap_to_roaring(s))
FROM (SELECT batmap_agg(i * i) AS s FROM generate_series(1, 40000) i) v;
SELECT s = batmap_from_roaring(batmap_to_roaring(s)), length(batmap_to_roaring(s)) FROM batmap_range(70000, 200000) s;
SELECT batmap_from_roaring64(batmap_to_roaring64('{1,4294967296,4611686018427387903}'));
SELECT batmap_to_roaring('{4294967296}');
SELECT batmap_from_roaring('');
SELECT batmap_from_roaring('\x3a30000001000000000002001000000001000200');
SELECT batmap_from_roaring('\x3a300000010000000000020010000000030002000100');
SELECT batmap_from_roaring('\xffffffffffffffff');
SELECT batmap_from_roaring64('\xffffffffffffffff');
-- a limit on memory is kept, and the session goes on
\set VERBOSITY terse
SET batmap.memory_limit = '1MB';
SELECT batmap_range(0, 1000000);
SELECT '{1,2}'::batmap;
RESET batmap.memory_limit;
\set VERBOSITY default
-- arrays of sets keep the declared universe
CREATE TABLE in_arrays (a batmap(100)[]);
INSERT INTO in_arrays VALUES ('{"{1,2}",NULL,"{}"}'), (ARRAY['{3}'::batmap, '{4}']);
INSERT INTO in_arrays VALUES ('{"{128}"}');
SELECT a, batmap_universe(a[1]), a @> ARRAY['{4}'::batmap] AS has FROM in_arrays;
DROP TABLE in_arrays;
-- what a column of the type is
SELECT typstorage, typalign, typlen, typcategory FROM pg_type WHERE typname = 'batmap';
DROP TABLE sets;
