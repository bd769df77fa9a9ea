-- A kept table that is partitioned: transactions lie in several partitions, which come and go.
SET client_min_messages = warning;
CREATE TABLE lines (line int, order_id int, product_id int) PARTITION BY RANGE (line);
CREATE INDEX ON lines (order_id);
CREATE TABLE lines_1 PARTITION OF lines FOR VALUES FROM (0) TO (100);
CREATE TABLE lines_2 (extra int, product_id int, order_id int, line int);  -- its columns have other numbers
ALTER TABLE lines_2 DROP COLUMN extra;
ALTER TABLE lines ATTACH PARTITION lines_2 FOR VALUES FROM (100) TO (200);
CREATE TABLE lines_3 PARTITION OF lines FOR VALUES FROM (200) TO (1000) PARTITION BY LIST (product_id);
CREATE TABLE lines_3_rest PARTITION OF lines_3 DEFAULT;
INSERT INTO lines SELECT i, i % 50, i * i % 23 FROM generate_series(1, 400) i;
-- what is refused
SELECT batmap_keep('lines_1', 'order_id', 'product_id');
CREATE UNLOGGED TABLE lines_unlogged PARTITION OF lines FOR VALUES FROM (5000) TO (6000);
SELECT batmap_keep('lines', 'order_id', 'product_id');
DROP TABLE lines_unlogged;
SELECT batmap_keep('lines', 'order_id', 'product_id', 'product_id <> 5');
SELECT kept_table, tid, item, filter, kept_counts FROM batmap_kept;
-- Every answer is that of a recount. `merged`: the counts are of the partitions that there are.
CREATE VIEW fresh AS SELECT batmap_kept_counts('lines')::text IS NOT DISTINCT FROM recount AS is_right, batmap_check_kept('lines') AS merged,
    (SELECT array_agg(p ORDER BY p) FROM batmap_partners('lines'::regclass, 1, items => '{3, 7, 99}', top_k => 1000) p) IS NOT DISTINCT FROM
    (SELECT array_agg(p ORDER BY p) FROM batmap_partners(recount::batmap_pair_counts, 1, items => '{3, 7, 99}', top_k => 1000) p) AS partners_are_right
FROM (SELECT batmap_pair_counts_agg(order_id, product_id)::text AS recount FROM lines WHERE product_id <> 5) q;
TABLE fresh;
-- changes of the table and of its partitions
INSERT INTO lines VALUES (1, 1000, 1), (101, 1000, 2), (201, 1000, 5), (202, 1000, 3);
INSERT INTO lines_2 (line, order_id, product_id) VALUES (110, 1000, 7);
SELECT tid, item, change, count(*) FROM lines_kept_log GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
TABLE fresh;
UPDATE lines SET line = 150 WHERE line = 1;  -- moves a row
UPDATE lines SET product_id = 5 WHERE order_id = 7 AND line < 100;
DELETE FROM lines_3 WHERE order_id = 3;
DELETE FROM lines_2 WHERE order_id = 4;
COPY lines FROM stdin;
10	1001	3
120	1001	7
\.
TABLE fresh;
SELECT batmap_merge_kept('lines') > 0 AS merged;
SELECT count(*) FROM lines_kept_log;
TABLE fresh;
-- a partition that is truncated: questions count, until the next merge does
TRUNCATE lines_2;
TABLE fresh;
SELECT batmap_merge_kept('lines');
TABLE fresh;
-- one that is rewritten, which looks the same
VACUUM FULL lines_2;
TABLE fresh;
SELECT batmap_merge_kept('lines');
TABLE fresh;
-- one that is made and emptied in one transaction, with a merge between: it keeps its file
BEGIN;
CREATE TABLE lines_6 PARTITION OF lines FOR VALUES FROM (9000) TO (9100);
INSERT INTO lines VALUES (9000, 1, 80), (9001, 1, 81);
SELECT batmap_merge_kept('lines');
TABLE fresh;
TRUNCATE lines_6;
TABLE fresh;
COMMIT;
TABLE fresh;
SELECT batmap_merge_kept('lines');
TABLE fresh;
DROP TABLE lines_6;
SELECT batmap_merge_kept('lines');
-- one of another role, with a trigger of its own that has a name of ours
CREATE ROLE kept_other;
CREATE FUNCTION truncated() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'truncated'; RETURN NULL; END $$;
CREATE TRIGGER batmap_keep_truncate AFTER TRUNCATE ON lines_2 EXECUTE FUNCTION truncated();
ALTER TABLE lines_2 OWNER TO kept_other;
INSERT INTO lines VALUES (120, 2, 3), (121, 3, 3);
SET ROLE kept_other;
UPDATE lines_2 SET product_id = 9 WHERE line = 120;
TRUNCATE lines_2;
RESET ROLE;
TABLE fresh;
SELECT batmap_merge_kept('lines');
INSERT INTO lines VALUES (122, 2, 3), (123, 3, 3);
TABLE fresh;
TRUNCATE lines_2;
DROP TRIGGER batmap_keep_truncate ON lines_2;
SELECT batmap_merge_kept('lines');
ALTER TABLE lines_2 OWNER TO current_user;
-- a new partition
CREATE TABLE lines_4 PARTITION OF lines FOR VALUES FROM (1000) TO (2000);
TABLE fresh;
INSERT INTO lines SELECT 1000 + i, i % 7, i % 11 FROM generate_series(1, 100) i;
TABLE fresh;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT batmap_merge_kept('lines');
ROLLBACK;
SELECT batmap_merge_kept('lines');
TABLE fresh;
INSERT INTO lines_4 VALUES (1001, 1, 77);
TABLE fresh;
-- one that was detached, changed, and attached again
ALTER TABLE lines DETACH PARTITION lines_4;
TABLE fresh;
DELETE FROM lines_4 WHERE order_id = 3;
ALTER TABLE lines ATTACH PARTITION lines_4 FOR VALUES FROM (1000) TO (2000);
TABLE fresh;
SELECT batmap_merge_kept('lines');
TABLE fresh;
-- one that came and went between two merges: the log has its rows
CREATE TABLE lines_5 PARTITION OF lines FOR VALUES FROM (2000) TO (3000);
INSERT INTO lines VALUES (2000, 1, 5), (2000, 1, 66);
DROP TABLE lines_5;
TABLE fresh;
SELECT batmap_merge_kept('lines');
TABLE fresh;
-- triggers that do not fire
ALTER TABLE lines_4 DISABLE TRIGGER batmap_keep_rows;
TABLE fresh;
SELECT batmap_merge_kept('lines');
ALTER TABLE lines_4 ENABLE ALWAYS TRIGGER batmap_keep_rows;
TABLE fresh;
ALTER TABLE lines DISABLE TRIGGER batmap_keep_rows;
SELECT batmap_kept_counts('lines');
ALTER TABLE lines ENABLE ALWAYS TRIGGER batmap_keep_rows;
-- as the apply process of logical replication
SET session_replication_role = replica;
INSERT INTO lines VALUES (1010, 5000, 1), (1011, 5000, 2);
RESET session_replication_role;
TABLE fresh;
-- as a partition of another table: its changes are logged, but it is not asked
CREATE TABLE whole (line int, order_id int, product_id int) PARTITION BY LIST (line);
ALTER TABLE whole ATTACH PARTITION lines DEFAULT;
INSERT INTO whole VALUES (1, 6000, 6), (102, 6000, 7);
SELECT batmap_kept_counts('lines');
SELECT batmap_unkeep('lines_1');
ALTER TABLE whole DETACH PARTITION lines;
TABLE fresh;
DROP TABLE whole;
TRUNCATE lines;
SELECT batmap_merge_kept('lines');
SELECT batmap_check_kept('lines'), batmap_pair_counts_total(batmap_kept_counts('lines'));
SELECT batmap_unkeep('lines');
SELECT count(*) AS triggers FROM pg_trigger WHERE tgname LIKE 'batmap%';
-- a partition of another role is refused, unless its owner allows triggers, and so is one that has a trigger of the same name
CREATE ROLE kept_owner;
ALTER TABLE lines OWNER TO kept_owner;
ALTER TABLE lines_1 OWNER TO kept_other;
GRANT CREATE ON SCHEMA public TO kept_owner;
SET ROLE kept_owner;
SELECT batmap_keep('lines', 'order_id', 'product_id');
RESET ROLE;
GRANT TRIGGER ON lines_1, lines_2, lines_3, lines_3_rest, lines_4 TO kept_owner;
CREATE TRIGGER batmap_keep_rows AFTER INSERT ON lines_2 FOR EACH ROW EXECUTE FUNCTION truncated();
SET ROLE kept_owner;
SELECT batmap_keep('lines', 'order_id', 'product_id');
RESET ROLE;
DROP TRIGGER batmap_keep_rows ON lines_2;
SET ROLE kept_owner;
SELECT batmap_keep('lines', 'order_id', 'product_id');
RESET ROLE;
INSERT INTO lines VALUES (1, 1, 1), (2, 1, 2), (101, 1, 3);
TRUNCATE lines_1;
INSERT INTO lines VALUES (2, 1, 2);
SELECT batmap_merge_kept('lines');
SELECT batmap_check_kept('lines'), batmap_pair_counts_pairs(batmap_kept_counts('lines'));
ALTER TABLE lines OWNER TO current_user;
ALTER TABLE lines_kept_counts OWNER TO current_user;
ALTER TABLE lines_kept_log OWNER TO current_user;
ALTER VIEW lines_kept_rows OWNER TO current_user;
ALTER TABLE lines_1 OWNER TO current_user;
REVOKE CREATE ON SCHEMA public FROM kept_owner;
REVOKE TRIGGER ON lines_1, lines_2, lines_3, lines_3_rest, lines_4 FROM kept_owner;
DROP ROLE kept_owner, kept_other;
-- text items, tids that are no integers
CREATE TABLE visits (visitor text COLLATE "C", page text) PARTITION BY HASH (page);
CREATE INDEX ON visits (visitor);
CREATE TABLE visits_0 PARTITION OF visits FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE visits_1 PARTITION OF visits FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO visits SELECT 'v' || i / 3, 'page ' || i * i % 11 FROM generate_series(1, 120) i;
SELECT batmap_keep('visits', 'visitor', 'page');
INSERT INTO visits VALUES ('v1', 'new'), ('v1', 'newer');
SELECT batmap_check_kept('visits'), batmap_pair_count(batmap_kept_counts_of('visits'), 'new', 'newer');
TRUNCATE visits_0;
SELECT batmap_merge_kept('visits') > 0 AS merged;
SELECT batmap_check_kept('visits');
DROP TABLE visits, lines CASCADE;
SELECT count(*) AS companions FROM pg_class WHERE relname ~ 'kept_(rows|counts|log)';
