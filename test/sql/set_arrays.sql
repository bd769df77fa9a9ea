-- Arrays of integers beside sets, as drivers send them, and sets as JSON.
CREATE TABLE array_sets (id int PRIMARY KEY, s batmap(100000), plain int[]);
INSERT INTO array_sets VALUES (1, ARRAY[1, 2, 3]::int2[], '{1,2,3}'), (2, ARRAY[2, 70000], '{2,70000}'), (3, ARRAY[3, 4]::int8[], '{4,3}'), (4, '{}', '{}');
PREPARE put(int, int2[]) AS INSERT INTO array_sets VALUES ($1, $2, $2);
EXECUTE put(5, '{5,5,7}');
-- all operators, on either side, with all three types
SELECT s && a AS overlaps, a && s AS "and turned", s @> a AS contains, a <@ s AS "and turned", s <@ a AS within, a @> s AS "and turned",
    s | a AS "or", a | s = s | a AS turned, s & a AS "and", a & s AS turned, s - a AS less, a - s AS turned, s # a AS "xor", a # s AS turned,
    (s <%> a)::numeric(4, 3) AS distance, (a <%> s)::numeric(4, 3) AS turned
FROM array_sets, LATERAL (SELECT ARRAY[1, 9, 1]::int2[] AS a) v WHERE id = 1;
SELECT s = a AS eq, s <> a AS ne, s < a AS lt, s <= a AS le, s > a AS gt, s >= a AS ge, a = s AS "turned: eq", a <> s AS ne, a < s AS lt, a <= s AS le, a > s AS gt, a >= s AS ge
FROM array_sets, LATERAL (SELECT ARRAY[1, 9, 1]::int2[] AS a) v WHERE id = 1;
SELECT s && a AS overlaps, a && s AS "and turned", s @> a AS contains, a <@ s AS "and turned", s <@ a AS within, a @> s AS "and turned",
    s | a AS "or", a | s = s | a AS turned, s & a AS "and", a & s AS turned, s - a AS less, a - s AS turned, s # a AS "xor", a # s AS turned,
    (s <%> a)::numeric(4, 3) AS distance, (a <%> s)::numeric(4, 3) AS turned
FROM array_sets, LATERAL (SELECT ARRAY[1, 9, 1]::int4[] AS a) v WHERE id = 1;
SELECT s = a AS eq, s <> a AS ne, s < a AS lt, s <= a AS le, s > a AS gt, s >= a AS ge, a = s AS "turned: eq", a <> s AS ne, a < s AS lt, a <= s AS le, a > s AS gt, a >= s AS ge
FROM array_sets, LATERAL (SELECT ARRAY[1, 9, 1]::int4[] AS a) v WHERE id = 1;
SELECT s && a AS overlaps, a && s AS "and turned", s @> a AS contains, a <@ s AS "and turned", s <@ a AS within, a @> s AS "and turned",
    s | a AS "or", a | s = s | a AS turned, s & a AS "and", a & s AS turned, s - a AS less, a - s AS turned, s # a AS "xor", a # s AS turned,
    (s <%> a)::numeric(4, 3) AS distance, (a <%> s)::numeric(4, 3) AS turned
FROM array_sets, LATERAL (SELECT ARRAY[1, 9, 1]::int8[] AS a) v WHERE id = 1;
SELECT s = a AS eq, s <> a AS ne, s < a AS lt, s <= a AS le, s > a AS gt, s >= a AS ge, a = s AS "turned: eq", a <> s AS ne, a < s AS lt, a <= s AS le, a > s AS gt, a >= s AS ge
FROM array_sets, LATERAL (SELECT ARRAY[1, 9, 1]::int8[] AS a) v WHERE id = 1;
SELECT id FROM array_sets WHERE s && ARRAY[2, 5]::int2[] ORDER BY 1;
SELECT id FROM array_sets WHERE ARRAY[2, 3]::int8[] <@ s ORDER BY 1;
SELECT id FROM array_sets WHERE s = ARRAY[3, 4, 4] ORDER BY 1;
SELECT id FROM array_sets WHERE s = plain ORDER BY 1;
SELECT batmap_and_cardinality(s, ARRAY[1, 2]::int2[]::batmap), batmap_cardinality(plain::batmap) FROM array_sets ORDER BY id;
SELECT batmap(ARRAY[3, 1, 3]), batmap('{3,1}'), batmap(ARRAY[5]::int8[]), batmap(ARRAY[]::int2[]), batmap(NULL::int4[]), batmap(plain) = s AS same FROM array_sets WHERE id = 1;
SELECT batmap(ARRAY[1, NULL]);
-- an index answers
CREATE INDEX ON array_sets USING gin (s);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM array_sets WHERE s @> ARRAY[2, 3]::int2[];
SELECT id FROM array_sets WHERE s @> ARRAY[2, 3]::int2[] ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT id FROM array_sets WHERE ARRAY[2, 5]::int8[] && s;
EXPLAIN (COSTS OFF) SELECT id FROM array_sets WHERE s = ARRAY[3, 4, 4];
RESET enable_seqscan;
-- NULL
SELECT s && NULL::int[] IS NULL AS nothing, NULL::int2[] | s IS NULL AS nothing FROM array_sets WHERE id = 1;
-- operators of arrays alone stay as they are
SELECT ARRAY[1, 2] && ARRAY[2], ARRAY[1, 1] = ARRAY[1], ARRAY[1, 2] @> ARRAY[1, 1], ARRAY[2] < ARRAY[10], ARRAY[1, 2] || 3, ARRAY[1, 1] || ARRAY[1], 2 = ANY (ARRAY[1, 2]);
SELECT max(plain), min(plain), array_length(max(plain), 1) FROM array_sets;
-- beside a constant without a type, too: whatever the type of the elements, on either side, as with an array of that type
CREATE FUNCTION array_value_of(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE 'SELECT pg_typeof(v) || '' '' || v::text FROM (SELECT ' || expression || ' AS v) e' INTO result;
    RETURN result;
END $$;
CREATE DOMAIN tag_list AS int8[];
SELECT type, count(*) AS expressions, count(array_value_of(loose)) AS with_value, count(*) FILTER (WHERE array_value_of(loose) IS DISTINCT FROM array_value_of(exact)) AS differ
FROM (VALUES ('int2[]'), ('int4[]'), ('int8[]'), ('tag_list')) t(type), unnest('{=,<>,<,<=,>,>=,&&,@>,<@,IS DISTINCT FROM,IS NOT DISTINCT FROM}'::text[]) op,
    unnest(ARRAY['{1,2}', '{2,1,1}', '{-1,NULL}', '{}']) a, unnest(ARRAY['{1,2}', '{2,1}', '{-1}', '{NULL}', '{}']) b,
    LATERAL (VALUES (format('%L::%s %s %L', a, type, op, b), format('%L::%s %s %L::%s', a, type, op, b, type)),
        (format('%L %s %L::%s', a, op, b, type), format('%L::%s %s %L::%s', a, type, op, b, type))) v(loose, exact)
GROUP BY type ORDER BY type;
SELECT '{2,1}'::int8[] IN ('{1,2}', '{9}') AS "in", nullif('{2,1}'::int8[], '{1,2}') AS kept, CASE '{2,1}'::int8[] WHEN '{1,2}' THEN 'set' ELSE 'array' END AS as_a;
CREATE TABLE array_tagged (tags int8[] CHECK (tags <> '{}'));
INSERT INTO array_tagged SELECT ARRAY[g % 100, -1, NULL] FROM generate_series(1, 5000) g;
CREATE INDEX ON array_tagged USING gin (tags);
ANALYZE array_tagged;
PREPARE by_tags AS SELECT count(*) FROM array_tagged WHERE tags @> $1;
EXPLAIN (COSTS OFF) EXECUTE by_tags('{5}');
EXECUTE by_tags('{5,-1}');
SELECT pg_typeof(coalesce(plain, '{}')), pg_typeof(CASE WHEN id = 1 THEN s ELSE plain::batmap END) FROM array_sets WHERE id = 1;
-- refused
INSERT INTO array_sets VALUES (6, ARRAY[-1]::int2[]);
INSERT INTO array_sets VALUES (6, ARRAY[1, NULL]::int2[]);
\set VERBOSITY terse
SELECT id FROM array_sets WHERE s && ARRAY['x'];
\set VERBOSITY default
-- JSON
SELECT to_jsonb(s), to_json(s), s::json, s::jsonb -> 0 AS first, jsonb_build_object('tags', s), pg_typeof(s::jsonb) FROM array_sets ORDER BY id;
SELECT row_to_json(a), to_jsonb(a) -> 's' -> 1 FROM array_sets a WHERE id = 2;
SELECT jsonb_agg(s ORDER BY id), to_jsonb(ARRAY['{4611686018427387903}'::batmap]) FROM array_sets WHERE id < 3;
-- as the server makes it from an array, for each number of elements: the value, its size, each element by its position
SELECT count(*), bool_and(s::jsonb = j AND pg_column_size(s::jsonb) = pg_column_size(j)) AS same,
    bool_and((SELECT bool_and(s::jsonb -> i = j -> i) FROM generate_series(0, n) i)) IS NOT FALSE AS same_elements
FROM generate_series(0, 100) n, LATERAL (SELECT coalesce(array_agg((1 << i % 20) * 10 ^ (i / 20) + i), '{}')::int8[] AS a FROM generate_series(1, n) i) drawn,
    LATERAL (SELECT a::batmap AS s, to_jsonb((a::batmap)::int8[]) AS j) made;
SELECT batmap_range(0, 30000000)::jsonb IS NULL;
SELECT batmap_range(0, 10000000000)::text IS NULL;
SELECT batmap_range(0, 10000000000)::json IS NULL;
-- a JSON array comes back as a set: as text, in records, and by casts
SELECT '[1,2]'::batmap, '[]'::batmap, ' [ 5 , 3,3 ] '::batmap, '[7]'::batmap(8);
SELECT bool_and((s::json)::batmap = s AND (s::jsonb)::batmap = s AND (s::json::text)::batmap = s AND (s::jsonb::text)::batmap = s) AS same, count(*) FROM array_sets WHERE s IS NOT NULL;
SELECT bool_and(r.s IS NOT DISTINCT FROM a.s) AS same, count(*) FROM array_sets a, LATERAL json_populate_record(NULL::array_sets, row_to_json(a)) r;
SELECT bool_and(r.s IS NOT DISTINCT FROM a.s) AS same, count(*) FROM array_sets a, LATERAL jsonb_populate_record(NULL::array_sets, to_jsonb(a)) r;
SELECT * FROM jsonb_to_record('{"tags": [3,1,3], "none": null}') AS r (tags batmap, none batmap(10));
SELECT * FROM json_to_recordset('[{"tags": [1]}, {"tags": "{2}"}, {"tags": []}]') AS r (tags batmap(3));
SELECT * FROM json_to_record('{"tags": [3]}') AS r (tags batmap(3));
SELECT '[1,2,300]'::json::batmap, ' [9, 8] '::jsonb::batmap(10), '[1]'::json::batmap(2, 'prepared'), NULL::jsonb::batmap, '[]'::jsonb::batmap, ('{"a": [4]}'::jsonb -> 'a')::batmap;
SELECT count(*), bool_and((j::jsonb)::batmap = s AND (j::json)::batmap = s) AS same FROM (SELECT s, to_jsonb(s) AS j FROM (SELECT batmap_agg(i * i) AS s FROM generate_series(1::int8, 30000) i GROUP BY i % 7) v) w;
-- refused: as text, and by the casts
CREATE FUNCTION refusal(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
    EXECUTE 'SELECT ' || expression;
    RETURN 'taken';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RETURN SQLSTATE || ' ' || SQLERRM || '; ' || hint;
END $$;
SELECT t, refusal(format('%L::batmap', t)) FROM unnest(ARRAY['[', ']', '[1', '[1}', '{1]', '[1,]', '[1 2]', '[1] 2', '[null]', '[1,null]', '["1"]', '[1.5]', '[[1]]', '[-1]', '[4611686018427387904]']) t;
SELECT t, refusal(format('%L::json::batmap', t)) AS json, refusal(format('%L::jsonb::batmap', t)) AS jsonb
FROM unnest(ARRAY['{}', '{"a": 1}', '"{1}"', '"[1]"', 'null', 'true', 'false', '7', '-7', '[null]', '["1"]', '[1.5]', '[[1]]', '[{}]', '[-1]', '[4611686018427387904]']) t;
SELECT '[100]'::jsonb::batmap(100);
SELECT '[100]'::json::batmap(100);
SELECT batmap_cardinality('[1]'::json);
DROP FUNCTION refusal;
-- the type is shown as it was declared, and N is its bound; from 1073741760 on, it is the next power of two, and shown so
CREATE TABLE declared_sets (a batmap(1), b batmap(2), c batmap(50), d batmap(100000), e batmap(1073741759), f batmap(1073741760), g batmap(4611686018427387904), h batmap(65));
SELECT attname, format_type(atttypid, atttypmod), atttypmod FROM pg_attribute WHERE attrelid = 'declared_sets'::regclass AND attnum > 0 ORDER BY attnum;
INSERT INTO declared_sets (c, d, f) VALUES ('{49}', '{99999}', '{1073741823}');
INSERT INTO declared_sets (c) VALUES ('{50}');
INSERT INTO declared_sets (d) VALUES (ARRAY[100000]);
INSERT INTO declared_sets (f) VALUES ('{1073741824}');
SELECT batmap_universe(c), batmap_universe(d), c::batmap(64), d::batmap(131072) FROM declared_sets;
SELECT '{1}'::batmap(0);
SELECT '{1}'::batmap(4611686018427387905);
SELECT _batmap_to_typmod('{1}', 63, false);
DROP TABLE array_sets, declared_sets;
