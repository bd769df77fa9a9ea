-- Sets outside their row: how often they are fetched, counted in buffers that a statement looks at.
CREATE FUNCTION blocks(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) ' || query INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE sets (id int PRIMARY KEY, s batmap(100000));
INSERT INTO sets SELECT i, (SELECT batmap_agg((x * (2 * i + 1) * 37) % 99991) FROM generate_series(1, 2500) x) FROM generate_series(1, 60) i;
VACUUM ANALYZE sets;
SELECT min(pg_column_size(s)) > 3000 AS toasted, count(*) FROM sets;
-- one fetch of each: the blocks of all values, in toast pages and their index
SELECT blocks('SELECT sum(length(s::bytea)) FROM sets') AS once \gset
-- a nested loop fetches each value about once, not 3,600 times two values
SELECT blocks('SELECT sum(batmap_and_cardinality(a.s, b.s)) FROM sets a, sets b') < 4 * :once AS kept;
SELECT blocks('SELECT count(*) FROM sets a JOIN sets b ON a.s && b.s AND a.id < b.id') < 4 * :once AS kept;
SELECT blocks('SELECT count(*) FROM sets a, sets b WHERE a.s = b.s') < 4 * :once AS kept;
SELECT blocks('SELECT id FROM sets ORDER BY s') < 4 * :once AS kept;
SELECT blocks('SELECT sum(a.s <%> b.s) FROM sets a, sets b') < 4 * :once AS kept;
-- where memory is short the outer value stays, and the answer is the same
SELECT sum(batmap_and_cardinality(a.s, b.s)) AS wide FROM sets a, sets b \gset
SET batmap.work_mem = '512kB';
SELECT sum(batmap_and_cardinality(a.s, b.s)) = :wide AS same FROM sets a, sets b;
SELECT blocks('SELECT sum(batmap_and_cardinality(a.s, b.s)) FROM sets a, sets b') BETWEEN 4 * :once AND 70 * :once AS outer_kept;
SELECT blocks('SELECT sum(batmap_and_cardinality(b.s, a.s)) FROM sets a, sets b') BETWEEN 4 * :once AND 70 * :once AS outer_kept;
SET batmap.work_mem = '2MB';
SELECT blocks('SELECT sum(batmap_and_cardinality(a.s, b.s)) FROM sets a, sets b') < 45 * :once AS a_part_is_found;
SELECT sum(batmap_and_cardinality(a.s, b.s)) = :wide AS same FROM sets a, sets b;
SELECT blocks('SELECT sum(batmap_and_cardinality(a.s, a.s)) FROM sets a') < 2 * :once AS same_value_twice;
-- what several calls keep shares one budget, a quarter of the 2 MB; each has its latest values besides
SELECT bytes BETWEEN 500000 AND 1000000 AS shared, a = :wide AND b = a AND c = a AND d = a AS same
FROM (SELECT sum(batmap_and_cardinality(a.s, b.s)) AS a, sum(batmap_and_cardinality(b.s, a.s)) AS b,
             sum(batmap_and_cardinality(a.s, b.s) + 0) AS c, sum(batmap_and_cardinality(b.s, a.s) + 0) AS d,
             (SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name = 'batmap arguments') AS bytes
      FROM sets a, sets b) q;
SELECT count(*) AS contexts FROM pg_backend_memory_contexts WHERE name = 'batmap arguments';
-- so does the table in which the meetings of sets inside their rows are counted: it takes half of that, once
CREATE TABLE in_rows AS SELECT g, batmap_agg(g * 7 + x * 65536) AS s FROM generate_series(1, 40) g, generate_series(1, 100) x GROUP BY g;
SELECT max(pg_column_size(s)) < 2000 AS inside FROM in_rows;
SELECT bytes < 700000 AS shared, a = b AND b = c AND c = d AS same
FROM (SELECT sum(batmap_and_cardinality(a.s, b.s)) AS a, sum(batmap_and_cardinality(b.s, a.s)) AS b,
             sum(batmap_and_cardinality(a.s, b.s) + 0) AS c, sum(batmap_and_cardinality(b.s, a.s) + 0) AS d,
             (SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name = 'batmap arguments') AS bytes
      FROM in_rows a, in_rows b, generate_series(1, 3)) q;
DROP TABLE in_rows;
RESET batmap.work_mem;
-- a compact set that meets itself: it is fetched by its third call
CREATE TABLE twice AS SELECT batmap_agg(x * 37) AS s FROM generate_series(1, 20000) x;
SELECT pg_column_size(s) > 3000 AS toasted, batmap_and_cardinality(s, s), s && s AS overlaps, s @> s AS contains, n FROM twice, generate_series(1, 5) n;
-- where memory is too small to prepare sets, they are counted as they are
UPDATE twice SET s = (SELECT batmap_agg(x) FROM generate_series(1, 1000000) x WHERE x % 65 > 0);
SET batmap.memory_limit = '4MB';
SELECT count(*), min(batmap_and_cardinality(a.s, b.s)), max(batmap_and_cardinality(b.s, a.s)) FROM generate_series(1, 1000), twice a, twice b;
RESET batmap.memory_limit;
DROP TABLE twice;
-- headers and membership do not fetch the value
CREATE TABLE one (s batmap(100000000, 'prepared'), c batmap, compressed batmap(100000000, 'prepared'));
ALTER TABLE one ALTER compressed SET STORAGE extended;
INSERT INTO one SELECT s, s, NULL FROM (SELECT batmap_agg(x * 937, 100000000) AS s FROM generate_series(1, 100000) x) v;
SELECT container, cardinality, bytes > 500000 AS large FROM one, batmap_stats(s);
SELECT blocks('SELECT s::bytea FROM one') AS whole \gset
SELECT :whole > 50 AS large, blocks('SELECT length(s::bytea) FROM one') > 50 AS fetches;
SELECT blocks('SELECT batmap_cardinality(s), batmap_is_empty(s), batmap_universe(s) FROM one') < 20 AS header;
SELECT blocks('SELECT batmap_stats(s) FROM one') < 20 AS header;
SELECT blocks('SELECT s::batmap(100000000, ''prepared'') FROM one') < 20 AS header;
SELECT blocks('SELECT batmap_cardinality(c), batmap_is_empty(c), batmap_universe(c), c::batmap(134217728) FROM one') < 20 AS header;
SELECT blocks('SELECT c::batmap(100000000) FROM one') < 20 AS header_and_last_block;
SELECT blocks('SELECT s @> 937 FROM one') < 30 AS blocks;
SELECT blocks('SELECT length(c::bytea) FROM one') > 25 AS fetches, blocks('SELECT c @> 937 FROM one') < 20 AS blocks;
SELECT blocks('SELECT 938 <@ s FROM one') < 30 AS blocks;
SELECT blocks('SELECT count(*) FROM one, generate_series(1, 100000) x WHERE s @> x') < 30 * :whole AS soon_kept;
-- by slices and by the whole value the answer is the same
SELECT count(*) FROM generate_series(1, 2000) x WHERE (SELECT s @> x FROM one) <> (x % 937 = 0) OR (SELECT c @> x FROM one) <> (x % 937 = 0);
SELECT count(*) FROM generate_series(99990, 100010) x WHERE NOT (SELECT s @> x * 937 FROM one) = (x <= 100000);
SELECT count(*) FILTER (WHERE s @> x), count(*) FILTER (WHERE c @> x) FROM one, generate_series(1, 100000) x;
UPDATE one SET s = batmap_range(100, 9000000), compressed = batmap_range(100, 9000000);
SELECT container, s @> 100 AS "100", s @> 99 AS "99", s @> 8999999 AS last, s @> 9000000 AS beyond, s @> 200000000 AS outside FROM one, batmap_stats(s);
SELECT blocks('SELECT s @> 5000000 FROM one') < 30 AS blocks;
SELECT pg_column_size(compressed) < pg_column_size(s) / 2 AS smaller, s = compressed AS same, compressed @> 99 AS "99", compressed @> 100 AS "100", batmap_cardinality(compressed), batmap_and_cardinality(s, compressed) FROM one;
UPDATE one SET s = (SELECT batmap_agg(x * 393541, 100000000) FROM generate_series(1, 250) x);
SELECT container, s @> 393541 AS first, s @> 393542 AS not_there FROM one, batmap_stats(s);
-- and by slices of a stash: elements that share few places in all three tables, more than fit there
CREATE FUNCTION place(x int8, a int8, b int8, c int8) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
    x := x * a & 16777215; x := x # (x >> 12);
    x := x * b & 16777215; x := x # (x >> 12);
    x := x * c & 16777215; RETURN x # (x >> 12);
END $$;
CREATE TABLE crowded AS SELECT batmap_prepare(batmap_agg(x), 16777216) AS s FROM generate_series(0::int8, 70000) x
WHERE place(x, x'4a7c15'::int8, x'd4eb4f'::int8, x'6cdd1d'::int8) % 2048 < 512 AND place(x, x'558ccd'::int8, x'3111eb'::int8, x'82ef95'::int8) % 2048 < 512
    AND place(x, x'59fd93'::int8, x'e4e5b9'::int8, x'f025b5'::int8) % 2048 < 512;
SELECT container, cardinality, stash > 100 AS stashed, bytes > 20000 AS sliced FROM crowded, batmap_stats(s);
CREATE FUNCTION has(x int8) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    answer bool;
BEGIN
    EXECUTE 'SELECT s @> $1 FROM crowded' INTO answer USING x;  -- a new expression, which has kept nothing
    RETURN answer;
END $$;
SELECT count(*) FILTER (WHERE has(x)) AS has, count(*) FILTER (WHERE has(x) <> (x = ANY (elements))) AS wrong
FROM (SELECT s::int8[] AS elements FROM crowded) c, unnest(elements[:300] || elements[900:]) e, LATERAL (VALUES (e), (e + 1)) v(x);
DROP TABLE crowded;
DROP FUNCTION place, has;
-- a loop in PL/pgSQL sees each row's own value
DO $$
DECLARE
    r record;
    wrong int := 0;
BEGIN
    FOR r IN SELECT id, s FROM sets ORDER BY id LOOP
        IF NOT r.s @> (37 * (2 * r.id + 1))::int8 OR batmap_and_cardinality(r.s, r.s) <> batmap_cardinality(r.s) THEN
            wrong := wrong + 1;
        END IF;
        UPDATE sets SET s = s - (37 * (2 * r.id + 1))::int8 WHERE id = r.id;
        IF (SELECT s @> (37 * (2 * r.id + 1))::int8 FROM sets WHERE id = r.id) THEN
            wrong := wrong + 1;
        END IF;
    END LOOP;
    RAISE NOTICE '% wrong', wrong;
END $$;
-- a compact set of many blocks of each kind has a long header: by slices and as a whole
UPDATE one SET c = (SELECT batmap_agg(x) FROM (SELECT x * 65536 + x % 7 AS x FROM generate_series(0, 9999) x UNION ALL SELECT 650000000 + 3 * x FROM generate_series(0, 399999) x UNION ALL SELECT x FROM generate_series(400000000, 400300000) x) v);
SELECT blocks('SELECT c @> 400200000 FROM one') < blocks('SELECT length(c::bytea) FROM one') AS fewer;
SELECT x, (SELECT c @> x FROM one) AS slices, (SELECT x = ANY (c::int8[]) FROM one) AS whole
FROM unnest('{0,65537,131074,3,400000000,400300000,400300001,650000000,650000001,651199997,651199998,655294467}'::int8[]) x;
-- the smallest and the largest element cost a block each, whatever its kind
SELECT batmap_min(c), batmap_max(c) FROM one;
UPDATE one SET c = batmap_range(7, 300000) | (SELECT batmap_agg(2 * x) FROM generate_series(500000, 2000000) x);
SELECT blocks('SELECT batmap_min(c), batmap_max(c) FROM one') < blocks('SELECT length(c::bytea) FROM one') AS fewer, batmap_min(c), batmap_max(c) FROM one;
UPDATE one SET c = (SELECT batmap_agg(2 * x + 9) FROM generate_series(0, 200000) x) | batmap_range(500000, 700000);
SELECT batmap_min(c), batmap_max(c) FROM one;
-- small sets stay inside their rows; in a loop they are prepared, and those that differ little are told apart
CREATE TABLE small AS SELECT g AS id, (SELECT batmap_agg(x * 100000 + (g * x) % 977 + CASE WHEN x = 40 THEN g % 3 ELSE 0 END) FROM generate_series(1, 70) x) AS s FROM generate_series(1, 30) g;
INSERT INTO small SELECT id + 30, s - (s & batmap_range(4000000, 4099999)) | ARRAY[4000000 + id % 2]::int8[]::batmap FROM small WHERE id IN (1, 2);
INSERT INTO small SELECT 33 + g, batmap_range(0, 100000) - (SELECT batmap_agg(g + x * 3) FROM generate_series(1, 300) x) FROM generate_series(0, 3) g;
SELECT max(pg_column_size(s)) < 2000 AS inline FROM small;
SELECT count(*), count(*) FILTER (WHERE batmap_and_cardinality(a.s, b.s) <> batmap_cardinality(a.s & b.s)) AS wrong,
    count(*) FILTER (WHERE (a.s && b.s) <> (batmap_cardinality(a.s & b.s) > 0)) AS wrong_overlaps
FROM generate_series(1, 40) round, small a, small b;
DROP TABLE small;
DROP TABLE sets, one;
DROP FUNCTION blocks;
