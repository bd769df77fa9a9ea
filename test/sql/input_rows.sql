-- Rows of an input query that is a plain scan are read from the table itself; of any other query they come through the executor.
-- Both must see the same rows, whatever the table has been through.

-- Two items of each of four transactions share three of them.
CREATE FUNCTION pairs_of_query(query text) RETURNS TABLE (item_a int8, item_b int8, support_count int8)
LANGUAGE sql AS 'SELECT item_a, item_b, support_count FROM batmap_pairs(query, min_count => 1) ORDER BY 1, 2';
CREATE PROCEDURE compare(columns text, source text) LANGUAGE plpgsql AS $$
DECLARE
    direct text;
    executed text;
BEGIN
    SELECT string_agg(p::text, ' ') INTO direct FROM pairs_of_query(format('SELECT %s FROM %s', columns, source)) AS p;
    SELECT string_agg(p::text, ' ') INTO executed FROM pairs_of_query(format('SELECT %s FROM %s WHERE random() >= 0', columns, source)) AS p;
    IF direct IS DISTINCT FROM executed THEN
        RAISE EXCEPTION 'of %: % against %', source, direct, executed;
    END IF;
    RAISE NOTICE '%: %', source, direct;
END $$;

-- Widths and alignment, order of the columns, columns around them
CREATE TABLE narrow (item int2, tid int8);
INSERT INTO narrow VALUES (1, 10), (2, 10), (1, 20), (2, 20), (-3, 20), (2, 9223372036854775807), (-3, 9223372036854775807);
CALL compare('tid, item', 'narrow');
CREATE TABLE wide (flag bool, tid int4, price float8, item int8, note text);
INSERT INTO wide SELECT true, tid, 0.5, item, repeat('x', 100) FROM (VALUES (1, 7), (1, 8), (2, 7), (2, 8), (2, 9)) AS v (tid, item);
CALL compare('tid, item', 'wide');
CREATE TABLE behind_text (note text, tid int4, item int4);
INSERT INTO behind_text SELECT repeat('x', tid), tid, item FROM (VALUES (1, 7), (1, 8), (2, 7), (2, 8)) AS v (tid, item);
CALL compare('tid, item', 'behind_text');

-- The same column twice, a system column, an expression
CALL compare('item, item', 'wide');
CALL compare('tid, tableoid::int8', 'wide');
CALL compare('tid, item + 1', 'wide');

-- NULL: rows without a transaction or an item are left out; before, between and behind the two columns
CREATE TABLE with_null (a int4, tid int4, b int2, item int4, c int8);
INSERT INTO with_null VALUES (NULL, 1, NULL, 7, NULL), (1, 1, NULL, 8, NULL), (NULL, 2, 1, 7, 1), (NULL, 2, NULL, 8, 5), (1, NULL, 2, 7, 3),
    (1, 3, 2, NULL, 3), (1, 3, 2, 7, 3), (1, 3, 2, 8, 3);
CALL compare('tid, item', 'with_null');

-- Columns that were added, with and without a default, and dropped
CREATE TABLE altered (gone int8, tid int4);
INSERT INTO altered SELECT 1, t FROM generate_series(1, 3) AS t;
ALTER TABLE altered ADD COLUMN item int4 DEFAULT 7;
INSERT INTO altered VALUES (2, 1, 8), (2, 2, 8), (NULL, 2, 9);
CALL compare('tid, item', 'altered');
ALTER TABLE altered DROP COLUMN gone;
INSERT INTO altered VALUES (3, 7), (3, 9);
CALL compare('tid, item', 'altered');

-- What was changed before the query, in its transaction, is seen; what was deleted or rolled back is not
BEGIN;
DELETE FROM altered WHERE item = 9;
UPDATE altered SET item = 10 WHERE tid = 2 AND item = 8;
CALL compare('tid, item', 'altered');
ROLLBACK;
CALL compare('tid, item', 'altered');

-- Partitions, a temporary table, an empty one, an inherited one, a view, a materialized view
CREATE TABLE partitioned (tid int4, item int4) PARTITION BY RANGE (tid);
CREATE TABLE partitioned_1 PARTITION OF partitioned FOR VALUES FROM (0) TO (2);
CREATE TABLE partitioned_2 (item int4, tid int4);
ALTER TABLE partitioned ATTACH PARTITION partitioned_2 FOR VALUES FROM (2) TO (9);
INSERT INTO partitioned VALUES (1, 7), (1, 8), (2, 7), (2, 8), (2, 9);
CALL compare('tid, item', 'partitioned');
CALL compare('tid, item', 'partitioned_2');
CREATE TEMPORARY TABLE passing AS SELECT tid, item FROM wide;
CALL compare('tid, item', 'passing');
CREATE TABLE nothing (tid int4, item int4);
CALL compare('tid, item', 'nothing');
CREATE VIEW seen AS SELECT tid, item FROM wide;
CALL compare('tid, item', 'seen');
CREATE MATERIALIZED VIEW kept AS SELECT tid, item FROM wide;
CALL compare('tid, item', 'kept');

-- Several tables: UNION ALL of tables of other widths, of the same table twice, with conditions, inherited ones, empty ones
CREATE TABLE other_width (tid int8, item int8);
INSERT INTO other_width VALUES (2, 7), (2, 8), (3, 7), (3, 9);
CALL compare('tid, item', '(SELECT tid, item FROM partitioned UNION ALL SELECT item, tid FROM altered) u');
CALL compare('tid, item', '(SELECT tid, item FROM partitioned UNION ALL SELECT tid, item FROM other_width) u');
CALL compare('tid, item', '(SELECT tid, item FROM passing UNION ALL SELECT tid + 100, item FROM passing UNION ALL SELECT tid, item FROM passing) u');
CALL compare('tid, item', '(SELECT tid, item FROM partitioned_1 WHERE item > 7 UNION ALL SELECT tid, item FROM partitioned) u');
CALL compare('tid, item', '(SELECT tid, item FROM partitioned WHERE tid = 2 UNION ALL SELECT tid, item FROM partitioned WHERE tid = 8) u');
CREATE TABLE child (more text) INHERITS (nothing);
INSERT INTO child VALUES (1, 7, 'x'), (1, 8, 'y'), (NULL, 8, 'z');
CALL compare('tid, item', 'nothing');
-- The same in workers
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers_per_gather = 2;
CALL compare('tid, item', 'partitioned');
CALL compare('tid, item', 'nothing');
CALL compare('tid, item', '(SELECT tid, item FROM partitioned UNION ALL SELECT item, tid FROM altered) u');
ROLLBACK;
-- In plain SQL, beside the plain plan
LOAD 'batmap';
CREATE TABLE counted (tid int4, item int4, qty int4) PARTITION BY HASH (tid);
CREATE TABLE counted_0 PARTITION OF counted FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE counted_1 PARTITION OF counted FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE counted_2 (qty int4, item int4, gone text, tid int4);
ALTER TABLE counted_2 DROP COLUMN gone;
ALTER TABLE counted ATTACH PARTITION counted_2 FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO counted SELECT g / 4, g % 7, CASE WHEN g % 5 > 0 THEN g % 11 END FROM generate_series(1, 2000) AS g;
ANALYZE counted;
CREATE FUNCTION sums_of_counted(node text, min_count int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('batmap.enable_join_project', node, true);
    RETURN (SELECT row(count(*), sum(q.n), sum(q.s)) FROM (SELECT count(*) AS n, sum(a.qty * b.qty) AS s
        FROM counted a JOIN counted b USING (tid) GROUP BY a.item, b.item HAVING count(*) >= min_count) q);
END $$;
SELECT sums_of_counted('on', n), sums_of_counted('on', n) = sums_of_counted('off', n) AS same FROM unnest('{1,100}'::int[]) n;
EXPLAIN (COSTS OFF) SELECT a.item, b.item, sum(a.qty * b.qty) FROM counted a JOIN counted b USING (tid) GROUP BY a.item, b.item;
-- A subquery that is run anew for each row outside, with partitions that the row decides on
SELECT k, (SELECT count(*) FROM (SELECT a.item, b.item, count(*) FROM counted a JOIN counted b USING (tid) WHERE a.qty = k GROUP BY a.item, b.item) q) AS pairs
    FROM generate_series(1, 3) AS k;

-- Rows that somebody may not see
CREATE TABLE guarded (tid int4, item int4);
INSERT INTO guarded VALUES (1, 7), (1, 8), (2, 7), (2, 8), (2, 9);
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON guarded USING (item < 9);
CREATE ROLE batmap_test_reader;
GRANT SELECT ON guarded TO batmap_test_reader;
SET ROLE batmap_test_reader;
SELECT * FROM pairs_of_query('SELECT tid, item FROM guarded');
SELECT * FROM pairs_of_query('SELECT tid, item FROM wide');
RESET ROLE;

-- A scan that is given up before its end leaves nothing behind
SELECT 1 AS one FROM batmap_pairs('SELECT tid, item FROM partitioned_2', min_count => 1) LIMIT 1;

-- All widths, on pages that are not all-visible and on pages that are: those are read without a look at each tuple's visibility.
-- A temporary table is all-visible after VACUUM whatever other sessions do.
CREATE TEMPORARY TABLE widths (s2 int2, t4 int4, u8 int8, flag bool, x2 int2, y4 int4, z8 int8);
INSERT INTO widths SELECT g / 3, -g / 3, g / 3 - 9000000000, true, g % 3 - 1, g % 2 * 2147483647, (g % 3 - 1) * 9223372036854775807 FROM generate_series(1, 700) AS g;
CREATE FUNCTION all_widths() RETURNS TABLE (columns text, pairs int8, supports int8, agree bool) LANGUAGE sql BEGIN ATOMIC
    SELECT tid || ', ' || item, (d).pairs, (d).supports, d = e
    FROM unnest('{s2,t4,u8}'::text[]) AS tid, unnest('{x2,y4,z8}'::text[]) AS item,
        LATERAL (SELECT count(*) AS pairs, sum(support_count + item_a % 1000 + item_b % 1000) AS supports FROM pairs_of_query(format('SELECT %s, %s FROM widths', tid, item))) AS d,
        LATERAL (SELECT count(*) AS pairs, sum(support_count + item_a % 1000 + item_b % 1000) AS supports FROM pairs_of_query(format('SELECT %s, %s FROM widths WHERE random() >= 0', tid, item))) AS e;
END;
SELECT * FROM all_widths();
SELECT relallvisible FROM pg_class WHERE oid = 'widths'::regclass;
VACUUM widths;
SELECT relallvisible = relpages AS all_visible FROM pg_class WHERE oid = 'widths'::regclass;
SELECT * FROM all_widths();

-- The same tables as above
VACUUM narrow, wide, behind_text, with_null, altered, partitioned, passing, nothing, kept;
CALL compare('tid, item', 'narrow');
CALL compare('tid, item', 'wide');
CALL compare('tid, item', 'behind_text');
CALL compare('tid, item', 'with_null');
CALL compare('tid, item', 'altered');
BEGIN;
DELETE FROM altered WHERE item = 9;
INSERT INTO altered VALUES (3, 10);
SAVEPOINT before;
UPDATE altered SET item = 11 WHERE item = 10;
CALL compare('tid, item', 'altered');
ROLLBACK TO before;
CALL compare('tid, item', 'altered');
ROLLBACK;
CALL compare('tid, item', 'altered');
CALL compare('tid, item', 'partitioned');
CALL compare('tid, item', 'passing');
CALL compare('tid, item', 'nothing');
CALL compare('tid, item', 'kept');
SET ROLE batmap_test_reader;
SELECT * FROM pairs_of_query('SELECT tid, item FROM guarded');
RESET ROLE;

-- Line pointers that stand for no tuple, or for another line pointer; dead ones; pages without a tuple; an unlogged table
CREATE UNLOGGED TABLE worn (id int4 PRIMARY KEY, item int4 NOT NULL, tid int4 NOT NULL) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO worn SELECT g, g % 5, g / 5 FROM generate_series(1, 2000) AS g;
UPDATE worn SET item = item + 5 WHERE id % 7 = 0;
DELETE FROM worn WHERE id % 3 = 0 OR id BETWEEN 900 AND 1300;
CREATE FUNCTION of_worn() RETURNS TABLE (reader text, pairs int8, supports int8) LANGUAGE sql BEGIN ATOMIC
    SELECT 'direct', count(*), sum(support_count * (1 + item_a + 3 * item_b)) FROM pairs_of_query('SELECT tid, item FROM worn')
    UNION ALL
    SELECT 'executor', count(*), sum(support_count * (1 + item_a + 3 * item_b)) FROM pairs_of_query('SELECT tid, item FROM worn WHERE random() >= 0')
    UNION ALL
    SELECT 'plain SQL', count(*), sum(support_count * (1 + item_a + 3 * item_b)) FROM
        (SELECT a.item AS item_a, b.item AS item_b, count(*) AS support_count FROM worn AS a JOIN worn AS b USING (tid) WHERE a.item < b.item GROUP BY 1, 2) AS p
    ORDER BY 1;
END;
SELECT * FROM of_worn();
VACUUM (INDEX_CLEANUP off) worn;
SELECT * FROM of_worn();
VACUUM worn;
SELECT * FROM of_worn();
SET batmap.enable_join_project = off;
SELECT * FROM of_worn();
RESET batmap.enable_join_project;
UPDATE worn SET item = item - 5 WHERE item > 4;
ALTER TABLE worn ALTER tid DROP NOT NULL;
INSERT INTO worn SELECT g, g % 5, CASE WHEN g % 11 > 0 THEN g / 5 END FROM generate_series(3000, 3999) AS g;
SELECT * FROM of_worn();

-- A transaction that must be serializable looks at each tuple
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM of_worn();
COMMIT;

-- The rows are read again
SET enable_material = off;
SELECT g, p.* FROM generate_series(1, 3) AS g
    LEFT JOIN LATERAL (SELECT count(*) AS pairs, sum(support_count) AS supports FROM
        (SELECT a.item AS item_a, b.item AS item_b, count(*) AS support_count FROM worn AS a JOIN worn AS b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) > 365 + 5 * g) AS q) AS p ON true;
RESET enable_material;

-- The statistics count the rows that were read
SELECT pg_stat_force_next_flush();
SELECT seq_tup_read AS read_before FROM pg_stat_user_tables WHERE relname = 'worn' \gset
SELECT count(*) FROM pairs_of_query('SELECT tid, item FROM worn');
SELECT pg_stat_force_next_flush();
SELECT seq_tup_read - :read_before = (SELECT count(*) FROM worn) AS counted FROM pg_stat_user_tables WHERE relname = 'worn';

-- Workers: the scan is shared
CREATE TABLE many AS SELECT g / 4 AS tid, g % 11 AS item FROM generate_series(0, 99999) AS g;
ANALYZE many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
SELECT input, rows_read FROM batmap_last_run();
VACUUM many;
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
SELECT input, rows_read FROM batmap_last_run();
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
SELECT input, rows_read FROM batmap_last_run();
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- Arrays are read without the node that makes a row of each element: all widths, NULL elements, NULL, empty and nested arrays, arrays of one
-- element and of more than a chunk holds, from storage that is compressed, and from an expression
CREATE TABLE lists (t2 int2, t4 int4, t8 int8, i2 int2[], i4 int4[], i8 int8[], short int4[]);
INSERT INTO lists SELECT g, -g, g * 9000000000, a::int2[], a::int4[], (SELECT array_agg(x * 4000000000 ORDER BY n) FROM unnest(a) WITH ORDINALITY u (x, n)), a[1:2]
    FROM (SELECT g, (SELECT array_agg(x % 7 ORDER BY x) FROM generate_series(g, g + g % 5) AS x) AS a FROM generate_series(1, 40) AS g) AS v;
INSERT INTO lists VALUES (41, 41, 41, '{1,NULL,2}', '{NULL,1,2}', '{1,2,NULL}', NULL), (42, NULL, 42, '{}', '{}', '{NULL,NULL}', '{NULL}'),
    (NULL, 43, NULL, '{1,2}', NULL, '{1,2}', '{{1,2},{3,NULL}}');
INSERT INTO lists SELECT 44, 44, 44, a::int2[], a, a::int8[], a FROM (SELECT array_agg(x / 1000) AS a FROM generate_series(1, 9001) AS x) AS v;
CREATE FUNCTION of_lists(tid text, items text, source text DEFAULT 'lists') RETURNS TABLE (pairs int8, supports int8, agree bool) LANGUAGE sql BEGIN ATOMIC
    SELECT a.pairs, a.supports, a = e FROM
        (SELECT count(*) AS pairs, sum(support_count * (1 + item_a % 1000 + 3 * (item_b % 1000))) AS supports FROM pairs_of_query(format('SELECT %s, unnest(%s) FROM %s', tid, items, source))) AS a,
        (SELECT count(*) AS pairs, sum(support_count * (1 + item_a % 1000 + 3 * (item_b % 1000))) AS supports FROM pairs_of_query(format('SELECT %s, x + 0 FROM %s, unnest(%s) AS x', tid, source, items))) AS e;
END;
SELECT tid, items, o.* FROM unnest('{t2,t4,t8}'::text[]) AS tid, unnest('{i2,i4,i8,short}'::text[]) AS items, of_lists(tid, items) AS o;
SELECT o.* FROM of_lists('t4', 'i4 || 5') AS o;
SELECT o.* FROM of_lists('t4 + 1', 'i4') AS o;
SELECT o.* FROM of_lists('t4', 'i4', '(SELECT * FROM lists WHERE t2 > 3) AS l') AS o;
SELECT o.* FROM of_lists('t4', 'i4', '(SELECT * FROM lists ORDER BY t8 LIMIT 20) AS l') AS o;
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT t8, i8 FROM lists', 1);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT t8, i8 FROM lists', 1);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- rows of the ProjectSet that starts again
SELECT g, p.pairs FROM generate_series(1, 3) AS g, LATERAL (SELECT count(*) AS pairs FROM batmap_pairs('SELECT t4, i4 FROM lists WHERE t2 < $1', 1, params => ROW(g * 10))) AS p;

DROP FUNCTION all_widths, of_worn, of_lists;
DROP TABLE narrow, wide, behind_text, with_null, altered, partitioned, nothing, guarded, many, widths, worn, lists CASCADE;
DROP ROLE batmap_test_reader;
DROP PROCEDURE compare;
DROP FUNCTION pairs_of_query;
