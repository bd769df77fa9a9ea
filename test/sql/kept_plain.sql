-- Plain SQL over a kept table: the plan node reads its kept counts where they answer the query in the snapshot of the statement.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET seq_page_cost = 1000;  -- so that reading a small table costs more than its counts and changes
SET random_page_cost = 1000;
CREATE TABLE lines (receipt int NOT NULL, product int NOT NULL, amount int DEFAULT 1, PRIMARY KEY (receipt, product));
INSERT INTO lines SELECT DISTINCT i / 7, (i::int8 * i + i / 5) % 61 FROM generate_series(1, 7000) i;
CREATE INDEX ON lines (receipt);
ANALYZE lines;
SELECT batmap_keep('lines', 'receipt', 'product');

-- How a query is answered: by which counts, and whether the rows are those that the plan without them gives.
CREATE FUNCTION asked(query text, OUT kept text, OUT same bool, OUT answers int8) LANGUAGE plpgsql VOLATILE AS $$
DECLARE line text; with_counts text; without text;
BEGIN
    SET LOCAL batmap.enable_kept_counts = on;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        kept := coalesce(kept, substring(line FROM 'Kept Counts: (.*)'));
    END LOOP;
    EXECUTE format('SELECT count(*), string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', query) INTO answers, with_counts;
    SET LOCAL batmap.enable_kept_counts = off;
    EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', query) INTO without;
    SET LOCAL batmap.enable_join_project = off;
    SET LOCAL batmap.enable_kept_counts = on;
    EXECUTE format('SELECT %L IS NOT DISTINCT FROM string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', without, query) INTO same;
    RESET batmap.enable_join_project;
    same := same AND without IS NOT DISTINCT FROM with_counts;
END $$;
CREATE TABLE queries (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO queries (query) VALUES
('SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2'),
('SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product > b.product GROUP BY 1, 2 HAVING count(*) > 12'),
('SELECT b.product, a.product AS other, count(DISTINCT a.receipt) AS n FROM lines a, lines b WHERE a.product < b.product AND b.receipt = a.receipt GROUP BY a.product, b.product HAVING count(DISTINCT a.receipt) BETWEEN 5 AND 9'),
('SELECT DISTINCT a.product, b.product AS other FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product'),
('SELECT a.product, b.product AS other, count(*), count(a.receipt), max(a.product), sum(1) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2 HAVING count(*) >= 10'),
('SELECT * FROM (SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 9 OFFSET 2) best'),
('SELECT n, count(*) FROM (SELECT a.product, b.product AS other, count(*) AS n FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2) q GROUP BY n'),
-- what they do not answer
('SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product <> b.product GROUP BY 1, 2'),
('SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product AND a.amount > 0 GROUP BY 1, 2'),
('SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product AND a.amount > 0 AND b.amount > 0 GROUP BY 1, 2'),
('SELECT a.product, b.product AS other, sum(a.amount) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2'),
('SELECT a.amount, b.amount AS other, count(DISTINCT a.receipt) FROM lines a JOIN lines b USING (receipt) WHERE a.amount < b.amount GROUP BY 1, 2'),
('SELECT a.receipt, b.receipt AS other, count(*) FROM lines a JOIN lines b USING (product) WHERE a.receipt < b.receipt AND a.product = 7 AND b.product = 7 GROUP BY 1, 2 LIMIT 3');
SELECT number, a.* FROM queries, asked(query) a ORDER BY number;
SELECT query AS first FROM queries WHERE number = 1 \gset
EXPLAIN (COSTS OFF) :first;
SET batmap.enable_kept_counts = off;
EXPLAIN (COSTS OFF) :first;
RESET batmap.enable_kept_counts;
SELECT * FROM asked('SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product AND a.receipt = 5 AND b.receipt = 5 GROUP BY 1, 2');
-- changes, in the middle of a transaction, too
INSERT INTO lines SELECT 9000 + i, i % 5 FROM generate_series(1, 40) i;
UPDATE lines SET product = product + 100 WHERE receipt % 90 = 1;
SELECT number, a.* FROM queries, asked(query) a WHERE number < 8 ORDER BY number;
BEGIN;
DELETE FROM lines WHERE receipt % 70 = 2;
SAVEPOINT s;
INSERT INTO lines SELECT 9000 + i, 50 + i % 7 FROM generate_series(1, 40) i;
SELECT number, a.* FROM queries, asked(query) a WHERE number < 4 ORDER BY number;
ROLLBACK TO s;
SELECT number, a.* FROM queries, asked(query) a WHERE number < 4 ORDER BY number;
SELECT batmap_merge_kept('lines') > 0 AS merged;
SELECT number, a.* FROM queries, asked(query) a WHERE number < 4 ORDER BY number;
ROLLBACK;
-- a statement sees the rows from before it
WITH gone AS (DELETE FROM lines WHERE receipt % 150 = 0 RETURNING *) SELECT count(*) > 0 AS deleted, (SELECT kept FROM asked((SELECT query FROM queries WHERE number = 1))), (SELECT same FROM asked((SELECT query FROM queries WHERE number = 1))) FROM gone;
CREATE TABLE answer (product int, other int, n int8);
BEGIN;
WITH gone AS (DELETE FROM lines WHERE receipt % 150 = 1 RETURNING *)
INSERT INTO answer SELECT a.product, b.product, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product AND EXISTS (SELECT FROM gone) GROUP BY 1, 2;
ROLLBACK;
WITH before AS MATERIALIZED (SELECT a.product, b.product AS other, count(*) AS n FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2),
    gone AS (DELETE FROM lines WHERE receipt % 160 = 1 RETURNING *), plain AS MATERIALIZED (SELECT a.product, b.product AS other, count(*) AS n FROM lines a CROSS JOIN LATERAL (SELECT * FROM lines b WHERE b.receipt = a.receipt AND b.product > a.product OFFSET 0) b GROUP BY 1, 2)
SELECT count(*) > 0 AS deleted, (SELECT count(*) FROM (TABLE before EXCEPT TABLE plain) d) AS differ, (SELECT count(*) FROM before) > 0 AS some FROM gone;
-- within a statement, rows are changed before the log is: the rows are counted then
CREATE TABLE seen (place text, kept text, same bool);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO seen SELECT concat_ws(' ', tg_name, tg_when, tg_op, tg_level), a.kept, a.same FROM asked((SELECT query FROM queries WHERE number = 1)) a;
    RETURN new;
END $$;
CREATE TRIGGER a_before BEFORE INSERT ON lines FOR EACH ROW EXECUTE FUNCTION look();
CREATE TRIGGER a_after AFTER INSERT OR DELETE ON lines FOR EACH ROW EXECUTE FUNCTION look();
CREATE TRIGGER a_first AFTER INSERT OR DELETE ON lines FOR EACH STATEMENT EXECUTE FUNCTION look();
CREATE TRIGGER z_last AFTER INSERT OR DELETE ON lines FOR EACH STATEMENT EXECUTE FUNCTION look();
INSERT INTO lines VALUES (9101, 1), (9101, 2);
DELETE FROM lines WHERE receipt = 9101;
SELECT place, kept, same, count(*) FROM seen GROUP BY 1, 2, 3 ORDER BY 1, 2;
TRUNCATE seen;
DROP TRIGGER a_before ON lines;
DROP TRIGGER a_after ON lines;
DROP TRIGGER a_first ON lines;
DROP TRIGGER z_last ON lines;
CREATE FUNCTION asked_in_passing(n int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO seen SELECT 'volatile', a.kept, a.same FROM asked((SELECT query FROM queries WHERE number = 1)) a;
    RETURN n;
END $$;
INSERT INTO lines SELECT 9200, asked_in_passing(i) FROM generate_series(1, 3) i;
UPDATE lines SET product = asked_in_passing(product + 1000) WHERE receipt = 9200;
SELECT place, kept, same, count(*) FROM seen GROUP BY 1, 2, 3 ORDER BY 1, 2;
-- a cursor keeps the snapshot in which a trigger has opened it
CREATE FUNCTION open_cursor() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE pairs refcursor := 'pairs';
BEGIN
    OPEN pairs FOR SELECT a.product, b.product, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product AND a.product > 5000 GROUP BY 1, 2;
    CLOSE pairs;
    OPEN pairs FOR SELECT count(*) FILTER (WHERE q.product > 5000) FROM (SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2) q;
    RETURN NULL;
END $$;
CREATE TRIGGER a_cursor AFTER INSERT ON lines FOR EACH STATEMENT EXECUTE FUNCTION open_cursor();
BEGIN;
INSERT INTO lines VALUES (9300, 5001), (9300, 5002);
FETCH pairs;
ROLLBACK;
DROP TRIGGER a_cursor ON lines;
-- other snapshots: a cursor in the middle of a transaction does not see what comes after
BEGIN;
INSERT INTO lines VALUES (9300, 6001), (9300, 6002);
DECLARE early CURSOR FOR SELECT count(*) FILTER (WHERE q.product > 6000) FROM (SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2) q;
INSERT INTO lines VALUES (9300, 6003);
FETCH early;
-- a merge takes an open cursor over a table that the transaction has changed for a statement that changes it
SELECT batmap_merge_kept('lines') > 0 AS merged;
ROLLBACK;
INSERT INTO lines VALUES (9301, 6001), (9301, 6002);
BEGIN;
DECLARE early CURSOR FOR SELECT count(*) FILTER (WHERE q.product > 6000) FROM (SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2) q;
SELECT batmap_merge_kept('lines') > 0 AS merged;
FETCH early;
ROLLBACK;
DELETE FROM lines WHERE receipt = 9301;
-- the same in a function that has the snapshot of the cursor
CREATE FUNCTION number_of_pairs() RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN
    RETURN (SELECT count(*) FILTER (WHERE q.product > 6000) FROM (SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2) q); END $$;
CREATE FUNCTION opens_a_cursor() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE opened refcursor := 'opened'; BEGIN OPEN opened FOR SELECT number_of_pairs(); RETURN NULL; END $$;
CREATE TRIGGER a_first AFTER INSERT ON lines FOR EACH STATEMENT EXECUTE FUNCTION opens_a_cursor();
BEGIN;
INSERT INTO lines VALUES (9302, 6001), (9302, 6002), (9302, 6003);
FETCH ALL opened;
ROLLBACK;
DROP TRIGGER a_first ON lines;
DROP FUNCTION opens_a_cursor, number_of_pairs;
-- rescanned, in a subquery that runs once for each row
SELECT k, (SELECT count(*) FROM (SELECT a.product, b.product, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2 HAVING count(*) >= k) q) AS pairs FROM generate_series(5, 25, 10) k;
-- a trigger that does not fire: the rows are counted
ALTER TABLE lines DISABLE TRIGGER batmap_keep_insert;
SELECT a.* FROM queries, asked(query) a WHERE number = 1;
ALTER TABLE lines ENABLE TRIGGER batmap_keep_insert;
-- counts that do not match the rows: too
INSERT INTO lines_kept_log VALUES (1, 700, 1), (1, 700, 1);
SELECT a.* FROM queries, asked(query) a WHERE number = 1;
DELETE FROM lines_kept_log WHERE item = 700;
SELECT a.* FROM queries, asked(query) a WHERE number = 1;
-- counts that need too much memory
SET batmap.memory_limit = '64kB';
SELECT a.* FROM queries, asked(query) a WHERE number = 1;
RESET batmap.memory_limit;
-- a prepared statement notices when counts are no longer kept
PREPARE pairs AS SELECT count(*) > 0 AS some FROM (SELECT a.product, b.product, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2) q;
EXECUTE pairs;
SELECT batmap_unkeep('lines');
EXECUTE pairs;
SELECT batmap_keep('lines', 'receipt', 'product', 'amount > 0 AND amount < 9');
-- the filter must be the condition of both sides
SELECT number, a.* FROM queries, asked(query) a WHERE number IN (1, 9, 10) ORDER BY number;
SELECT a.* FROM asked('SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE b.amount < 9 AND a.product < b.product AND a.amount > 0 AND b.amount > 0 AND a.amount < 9 GROUP BY 1, 2') a;
UPDATE lines SET amount = receipt % 11;
CREATE VIEW wanted_lines AS SELECT * FROM lines WHERE amount > 0 AND amount < 9;
SELECT a.* FROM asked('SELECT a.product, b.product AS other, count(*) FROM wanted_lines a JOIN wanted_lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2') a;
-- rows that occur twice: count(*) counts them twice, kept counts do not
CREATE TABLE twice (receipt int, product int);
CREATE INDEX ON twice (receipt);
INSERT INTO twice SELECT i / 7, (i::int8 * i + i / 5) % 61 FROM generate_series(1, 7000) i;
ANALYZE twice;
SELECT batmap_keep('twice', 'receipt', 'product');
SELECT a.* FROM queries, asked(replace(query, 'lines', 'twice')) a WHERE number < 5 ORDER BY number;
-- rights: those of the query, not of the companions
CREATE ROLE kept_plain_reader;
GRANT SELECT (receipt, product) ON lines TO kept_plain_reader;
GRANT SELECT ON twice, queries, wanted_lines TO kept_plain_reader;
SET ROLE kept_plain_reader;
SELECT a.* FROM queries, asked(replace(query, 'lines', 'twice')) a WHERE number = 4;
SELECT a.* FROM asked('SELECT a.product, b.product AS other, count(*) FROM wanted_lines a JOIN wanted_lines b USING (receipt) WHERE a.product < b.product GROUP BY 1, 2') a;
SELECT a.product, b.product AS other, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.amount > 0 AND a.amount < 9 AND b.amount > 0 AND b.amount < 9 AND a.product < b.product GROUP BY 1, 2;
SELECT count(*) FROM twice_kept_counts;
RESET ROLE;
ALTER TABLE twice ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON twice USING (receipt < 50);
SELECT a.* FROM queries, asked(replace(query, 'lines', 'twice')) a WHERE number = 4;
SET ROLE kept_plain_reader;
SELECT a.* FROM queries, asked(replace(query, 'lines', 'twice')) a WHERE number = 4;
RESET ROLE;
DROP TABLE lines, twice, queries, seen, answer CASCADE;
DROP ROLE kept_plain_reader;
