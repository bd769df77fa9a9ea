-- Operators, counts and measures of sets.
-- by hand
SELECT a & b AS "and", a | b AS "or", a - b AS "andnot", a # b AS "xor", a && b AS overlaps, a @> b AS contains, a <@ b AS contained
FROM (VALUES ('{1,2,3}'::batmap, '{2,3,4}'::batmap), ('{1,2,3}', '{2}'), ('{}', '{1}'), ('{}', '{}'), ('{1}', '{4294967296}'), ('{1,2}', NULL)) v(a, b);
SELECT batmap_and_cardinality(a, b) AS "and", batmap_or_cardinality(a, b) AS "or", batmap_andnot_cardinality(a, b) AS "andnot", batmap_xor_cardinality(a, b) AS "xor",
    batmap_jaccard(a, b)::numeric(9,6) AS jaccard, batmap_dice(a, b)::numeric(9,6) AS dice, batmap_cosine(a, b)::numeric(9,6) AS cosine, batmap_overlap(a, b)::numeric(9,6) AS overlap, (a <%> b)::numeric(9,6) AS distance
FROM (VALUES ('{1,2,3}'::batmap, '{2,3,4}'::batmap), ('{1,2,3}', '{2}'), ('{}', '{1}'), ('{}', '{}'), ('{5}', '{5}'), ('{1,2}', NULL)) v(a, b);
-- equal sets of any size have similarity 1, and no pair has more
SELECT batmap_cosine('{1,2}', '{2,3}'), count(*) FILTER (WHERE batmap_cosine(s, s) <> 1) AS not_one, count(*) FILTER (WHERE batmap_cosine(s, s | 5000) NOT BETWEEN 0.7 AND 1) AS off
FROM (SELECT batmap_range(0, n) AS s FROM generate_series(1, 300) n) v;
SELECT s @> 5 AS has, 5 <@ s AS "in", s @> 6 AS has6, s @> -1 AS negative, s @> 9223372036854775807 AS huge, s @> NULL::int8 AS "null" FROM (VALUES ('{1,5}'::batmap)) v(s);
SELECT s | 7 AS add, s | 5 AS there, s - 5 AS remove, s - 6 AS not_there, s - (-1) AS negative, s - 9223372036854775807 AS huge FROM (VALUES ('{1,5}'::batmap)) v(s);
SELECT batmap_universe('{1}'::batmap(8) | 7), batmap_universe('{1}'::batmap(8) | 8), batmap_universe('{1}'::batmap(8) | 4294967296), batmap_universe('{1,4294967296}'::batmap - 4294967296);
SELECT '{1}'::batmap | (-1);
SELECT '{1}'::batmap | 4611686018427387904;
SELECT batmap_cardinality(s), batmap_is_empty(s), batmap_min(s), batmap_max(s), batmap_universe(s) FROM (VALUES ('{}'::batmap), ('{7}'), ('{1,4294967296}'), (NULL)) v(s);
SELECT * FROM batmap_stats('{}') UNION ALL SELECT * FROM batmap_stats('{1,2,3}'::batmap(4)) UNION ALL SELECT * FROM batmap_stats('{1,2,3}'::batmap(4, 'prepared'));
SELECT batmap_stats(NULL);
SELECT batmap_universe('{1}'::batmap(8) & '{1}'::batmap(64)), batmap_universe('{1}'::batmap(8) # '{1}'::batmap), batmap_universe('{1}'::batmap(8) - '{1}'::batmap(4));
-- more than two sets
SELECT batmap_and_cardinality('{1,2,3}', '{2,3}', '{3,4}'), batmap_and_cardinality('{1,2,3}'::batmap), batmap_and_cardinality('{1,2}', '{1}'), batmap_and_cardinality(VARIADIC ARRAY['{1,2}', '{1}', '{}']::batmap[]);
SELECT batmap_and_cardinality(VARIADIC '{}'::batmap[]) IS NULL AS none, batmap_and_cardinality(VARIADIC NULL::batmap[]) IS NULL AS "null", batmap_and_cardinality('{1}', '{1}', NULL) IS NULL AS one_null;
-- order and equality are of the elements
SELECT a, b, a = b AS eq, a <> b AS ne, a < b AS lt, a <= b AS le, a > b AS gt, a >= b AS ge, _batmap_cmp(a, b) AS cmp, _batmap_hash(a) = _batmap_hash(b) AS hash
FROM (VALUES ('{}'::batmap, '{}'::batmap), ('{}', '{0}'), ('{1,2}', '{1,3}'), ('{1,2}', '{1,2,3}'), ('{1,9}', '{1,2,3}'), ('{2}', '{1,3}'), ('{1,2}'::batmap(4), '{1,2}'::batmap(4611686018427387904))) v(a, b);
SELECT _batmap_hash_extended(s, 0) = _batmap_hash_extended(s::batmap(1024), 0) AS width, (_batmap_hash_extended(s, 0) & 4294967295) = (_batmap_hash(s)::int8 & 4294967295) AS low, _batmap_hash_extended(s, 0) <> _batmap_hash_extended(s, 1) AS seed
FROM (VALUES ('{1,2,3}'::batmap)) v(s);
-- what an idle session keeps is little, however large the results were
SELECT sum(batmap_cardinality(s | batmap_range(7, 9))) AS elements FROM (SELECT batmap_agg(x * 3) AS s FROM generate_series(1, 20) n, LATERAL generate_series(1, n * n * 900) x GROUP BY n) v;
SELECT memory <= 65536 AS little FROM batmap_usage();
-- all of it against arrays: every pair of containers and of widths, stored and not
CREATE TABLE many (id int PRIMARY KEY, a int8[], s batmap);
INSERT INTO many SELECT row_number() OVER (), a, batmap_prepare(batmap(a, w), w) FROM (
    SELECT w, coalesce(array_agg(DISTINCT x ORDER BY x) FILTER (WHERE x IS NOT NULL), '{}') AS a
    FROM (VALUES (0, 3, 1024), (1, 7, 1024), (10, 3, 1024), (200, 3, 65536), (700, 11, 65536), (700, 13, 65536), (3000, 3, 65536), (9000, 5, 131072), (30000, 3, 131072),
        (500, 104729, 4294967296), (4000, 3, 4294967296), (4000, 104729, 4294967296), (4000, 3, 4611686018427387904), (6000, 7, 4611686018427387904)) v(n, step, w)
    LEFT JOIN LATERAL (SELECT (i * step) % least(w, 100000000) AS x FROM generate_series(0::int8, n - 1) i) e ON true GROUP BY n, step, w ORDER BY n, step, w) q;
INSERT INTO many SELECT 14 + row_number() OVER (ORDER BY id), a, batmap(a, 4611686018427387904) FROM many WHERE id IN (1, 4, 7, 9, 13, 14);
SELECT id, container, cardinality, universe FROM many, batmap_stats(s) ORDER BY id;
CREATE FUNCTION pg_temp.shared(a int8[], b int8[]) RETURNS int8[] LANGUAGE sql AS $$ SELECT coalesce(array_agg(x ORDER BY x), '{}') FROM (SELECT unnest(a) x INTERSECT SELECT unnest(b)) v $$;
CREATE TABLE pairs AS SELECT x.id AS id_a, y.id AS id_b, x.s AS s, y.s AS t, x.a, y.a AS b, pg_temp.shared(x.a, y.a) AS c FROM many x, many y;
SELECT count(*), count(*) FILTER (WHERE batmap_and_cardinality(s, t) <> cardinality(c)) AS and_count, count(*) FILTER (WHERE (s & t)::int8[] <> c) AS "and",
    count(*) FILTER (WHERE batmap_or_cardinality(s, t) <> cardinality(a) + cardinality(b) - cardinality(c)) AS or_count,
    count(*) FILTER (WHERE batmap_cardinality(s | t) <> cardinality(a) + cardinality(b) - cardinality(c) OR NOT (s | t) @> s OR NOT (s | t) @> t) AS "or",
    count(*) FILTER (WHERE batmap_cardinality(s - t) <> cardinality(a) - cardinality(c) OR (s - t) && t OR NOT (s - t) <@ s) AS "andnot",
    count(*) FILTER (WHERE (s # t) <> ((s | t) - (s & t))) AS "xor",
    count(*) FILTER (WHERE (s && t) <> (cardinality(c) > 0)) AS overlaps,
    count(*) FILTER (WHERE (s @> t) <> (cardinality(c) = cardinality(b))) AS contains,
    count(*) FILTER (WHERE (s <@ t) <> (cardinality(c) = cardinality(a))) AS contained,
    count(*) FILTER (WHERE (s = t) <> (a = b) OR (s < t) <> (a < b) OR (s >= t) <> (a >= b)) AS ordered,
    count(*) FILTER (WHERE s = t AND _batmap_hash(s) <> _batmap_hash(t)) AS hashed,
    count(*) FILTER (WHERE batmap_and_cardinality(s, t, s, t) <> cardinality(c)) AS k_way
FROM pairs;
SELECT count(*) FROM many, unnest(a) x WHERE NOT s @> x;
SELECT count(*) FROM many, generate_series(0, 2000) x WHERE (s @> x) <> (x = ANY (a));
SELECT count(*) FROM many WHERE batmap_min(s) IS DISTINCT FROM a[1] OR batmap_max(s) IS DISTINCT FROM a[cardinality(a)] OR batmap_cardinality(s) <> cardinality(a);
-- every kernel counts the same
SET batmap.cpu_kernel = scalar;
SELECT count(*) FILTER (WHERE batmap_and_cardinality(s, t) <> cardinality(c)) AS wrong FROM pairs;
RESET batmap.cpu_kernel;
DROP TABLE many, pairs;
