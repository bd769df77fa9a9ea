-- Rows of an input query that is a plain scan are read from the table itself; of any other query they come through the executor.
-- Both must see the same rows, whatever the table has been through.

-- Two items of each of four transactions share three of them.
CREATE FUNCTION pairs_of_query(query text) RETURNS TABLE (item_a int8, item_b int8, support int8)
LANGUAGE sql AS 'SELECT item_a, item_b, support FROM batmap_pairs(query, min_count => 1) ORDER BY 1, 2';
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

-- Workers: the scan is shared
CREATE TABLE many AS SELECT g / 4 AS tid, g % 11 AS item FROM generate_series(0, 99999) AS g;
ANALYZE many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT count(*), sum(support) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
SELECT input, rows_read FROM batmap_last_run();
SET max_parallel_workers_per_gather = 0;
SELECT count(*), sum(support) FROM batmap_pairs('SELECT tid, item FROM many', min_count => 1);
SELECT input, rows_read FROM batmap_last_run();
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

DROP TABLE narrow, wide, behind_text, with_null, altered, partitioned, nothing, guarded, many CASCADE;
DROP ROLE batmap_test_reader;
DROP PROCEDURE compare;
DROP FUNCTION pairs_of_query;
