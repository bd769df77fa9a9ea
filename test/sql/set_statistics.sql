-- ANALYZE and selectivity: estimates of rows within a factor of two of the truth.
CREATE FUNCTION estimate(query text, OUT estimated bigint, OUT actual bigint, OUT near bool) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    estimated := plan -> 0 -> 'Plan' -> 'Plan Rows';
    EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO actual;
    near := estimated + 10 BETWEEN (actual + 10) / 2.0 AND (actual + 10) * 2.0;
END $$;
-- tag x is in every (x + 1)-th set; 50 tags are frequent, 3000 rare; every 20th set is empty, every 50th NULL
CREATE TABLE tagged (id int, tags batmap);
INSERT INTO tagged SELECT i, CASE WHEN i % 50 = 0 THEN NULL WHEN i % 20 = 1 THEN '{}' ELSE
    (SELECT batmap_agg(x) FROM (SELECT x FROM generate_series(0, 49) x WHERE (i * 7919 + x * x * 31) % (x + 1) = 0 UNION ALL SELECT 1000 + (i * 40503 + k * 977) % 3000 FROM generate_series(1, 5) k) v) END
FROM generate_series(1, 4000) i;
SELECT 'no statistics', estimated > 0 FROM estimate('SELECT * FROM tagged WHERE tags @> 3');
ANALYZE tagged;
SELECT cardinality(most_common_elems::text::int8[]) AS common, cardinality(most_common_elem_freqs) AS numbers, (most_common_elems::text::int8[])[1:5] AS first, (most_common_elem_freqs)[1:5]::numeric(6,4)[] AS frequencies,
    elem_count_histogram[1] AS least, (elem_count_histogram)[cardinality(elem_count_histogram)]::numeric(6,2) AS mean, null_frac::numeric(6,4)
FROM pg_stats WHERE tablename = 'tagged' AND attname = 'tags';
SELECT avg(batmap_cardinality(tags))::numeric(6,2) FROM tagged;
SELECT c, near FROM (VALUES ('tags @> 0'), ('tags @> 3'), ('3 <@ tags'), ('tags @> 30'), ('tags @> 49'), ('tags @> 1500'), ('tags @> 999999'), ('tags @> -1'), ('tags @> NULL::int8'),
    ('tags && ''{2,3}'''), ('tags && ''{40,41,42}'''), ('''{2,3}'' && tags'), ('tags && ''{1001,1002,1003,1004,1005}'''), ('tags && ''{}'''), ('tags && batmap_range(1000, 4000)'),
    ('tags @> ''{2,3}'''), ('tags @> ''{1,2,4}'''), ('''{2,3}'' <@ tags'), ('tags @> ''{}'''), ('tags @> ''{4711,4712}'''), ('tags <@ ''{}'''), ('tags <@ batmap_range(0, 5000)'), ('tags <@ ''{1,2,3}'''), ('tags = ''{}''')) v(c),
    LATERAL estimate('SELECT * FROM tagged WHERE ' || c);
-- rows of batmap_unnest: of a column, a constant, an expression of constants, no statistics
SELECT near FROM estimate('SELECT FROM tagged, batmap_unnest(tags)');
SELECT c, estimated, actual FROM (VALUES ('''{1,2,3}''::batmap'), ('batmap_range(10, 5010)'), ('''{}''::batmap'), ('NULL::batmap'), ('(SELECT tags FROM tagged WHERE id = 1)')) v(c), LATERAL estimate('SELECT * FROM batmap_unnest(' || c || ')');
-- joins
CREATE TABLE wanted AS SELECT id, tags FROM tagged WHERE id % 40 = 3;
CREATE TABLE numbers AS SELECT x::int8 FROM generate_series(0, 49) x;
ANALYZE wanted, numbers;
SELECT c, near FROM (VALUES ('SELECT FROM tagged t, numbers n WHERE t.tags @> n.x'), ('SELECT FROM tagged t, numbers n WHERE n.x <@ t.tags'), ('SELECT FROM tagged t, wanted w WHERE t.tags && w.tags'), ('SELECT FROM tagged t, wanted w WHERE t.tags <@ w.tags')) v(c), LATERAL estimate(c);
-- the elements of a set depend on each other here; the statistics do not show that
SELECT estimated < 4000 * 98 / 20 AS few, actual < 4000 * 98 / 20 AS few FROM estimate('SELECT FROM tagged t, wanted w WHERE t.tags @> w.tags');
SELECT near FROM estimate('SELECT FROM numbers WHERE x <@ ''{1,2,3,70}''::batmap');
-- large sets: 200 sets of 5 % of 40,000 each, more elements than ANALYZE counts one by one
CREATE TABLE large (id int, s batmap(40001));
INSERT INTO large SELECT i, (SELECT batmap_agg(x) FROM generate_series(1, 40000) x WHERE hashint8(x::int8 * 1000 + i) % 20 = 0) FROM generate_series(1, 200) i;
ANALYZE large;
SELECT c, near FROM (VALUES ('s @> 17'), ('s @> 39999'), ('s && ''{1,2,3,4,5}''')) v(c), LATERAL estimate('SELECT * FROM large WHERE ' || c);
SELECT c, near FROM (VALUES ('SELECT FROM large t, large w WHERE t.s && w.s')) v(c), LATERAL estimate(c);
-- nothing to count
CREATE TABLE nothing (s batmap);
INSERT INTO nothing VALUES (NULL), (NULL);
ANALYZE nothing;
TRUNCATE nothing;
INSERT INTO nothing VALUES ('{}'), ('{}');
ANALYZE nothing;
SELECT estimated FROM estimate('SELECT * FROM nothing WHERE s @> 3');
-- only empty sets, and some NULL; everything contains the empty set, also where nothing is known
CREATE TABLE empties AS SELECT CASE WHEN i % 4 > 0 THEN '{}'::batmap END AS s FROM generate_series(1, 1000) i;
SELECT a.estimated = b.estimated AS all_rows FROM estimate('SELECT * FROM empties WHERE s @> ''{}''') a, estimate('SELECT * FROM empties') b;
ANALYZE empties;
SELECT c, estimated, actual FROM (VALUES ('s <@ ''{}'''), ('s <@ ''{1,2}'''), ('s @> ''{}'''), ('''{}'' <@ s'), ('s && ''{1,2}'''), ('s @> 3')) v(c), LATERAL estimate('SELECT * FROM empties WHERE ' || c);
SELECT near FROM estimate('SELECT FROM empties e, wanted w WHERE e.s <@ w.tags');
-- any operator may name the estimators
CREATE FUNCTION same(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 = $2; END';
CREATE FUNCTION same(text, text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 = $2; END';
CREATE OPERATOR <===> (FUNCTION = same, LEFTARG = int, RIGHTARG = int, RESTRICT = _batmap_sel, JOIN = _batmap_joinsel);
CREATE OPERATOR <===> (FUNCTION = same, LEFTARG = text, RIGHTARG = text, RESTRICT = _batmap_sel, JOIN = _batmap_joinsel);
CREATE TABLE others AS SELECT i, i::text AS t FROM generate_series(1, 1000) i;
ANALYZE others;
SELECT c, estimated, actual FROM (VALUES ('i <===> 7'), ('7 <===> i'), ('t <===> ''7'''), ('i <===> NULL')) v(c), LATERAL estimate('SELECT * FROM others WHERE ' || c);
SELECT c, estimated, actual FROM (VALUES ('a.i <===> b.i'), ('a.t <===> b.t')) v(c), LATERAL estimate('SELECT FROM others a, others b WHERE b.i < 10 AND ' || c);
DROP TABLE others;
DROP FUNCTION same(int, int), same(text, text) CASCADE;
DROP TABLE empties;
DROP TABLE tagged, wanted, numbers, large, nothing;
DROP FUNCTION estimate;
