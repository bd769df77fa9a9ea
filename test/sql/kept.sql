-- Tables whose pair counts are kept (batmap_keep): every answer equals a recount in the same snapshot.
SET client_min_messages = warning;
CREATE TABLE order_lines (line int GENERATED ALWAYS AS IDENTITY, order_id int, product_id int, quantity int DEFAULT 1);
INSERT INTO order_lines (order_id, product_id)
SELECT i / 4, (i * i + i / 7) % 23 FROM generate_series(1, 400) i;
INSERT INTO order_lines (order_id, product_id) VALUES (NULL, 1), (1, NULL), (NULL, NULL);
-- what is refused
SELECT batmap_keep('order_lines', 'order_id', 'product_id');
CREATE INDEX ON order_lines (order_id);
SELECT batmap_keep('order_lines', 'order', 'product_id');
SELECT batmap_keep('order_lines', 'order_id', 'product');
SELECT batmap_keep('order_lines', 'order_id', NULL);
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'quantity > ');
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'true), (false');
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'true); DROP TABLE order_lines; SELECT (true');
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'true) GROUP BY (1');
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'true) HAVING (true');
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'true) OFFSET (3');
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'product_id IN (SELECT 1)');
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'quantity > (SELECT 1)');
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'random() > 0.5');
SELECT batmap_keep('order_lines', 'order_id', 'product_id', 'ctid IS NOT NULL');
CREATE TABLE dated (order_id int PRIMARY KEY, day date, stamp timestamptz, number numeric, box box);
SELECT batmap_keep('dated', 'order_id', 'day');
SELECT batmap_keep('dated', 'box', 'order_id');
CREATE VIEW seen AS SELECT * FROM order_lines;
SELECT batmap_keep('seen', 'order_id', 'product_id');
CREATE MATERIALIZED VIEW stored AS SELECT * FROM order_lines;
SELECT batmap_keep('stored', 'order_id', 'product_id');
CREATE TEMP TABLE short AS SELECT * FROM order_lines;
SELECT batmap_keep('short', 'order_id', 'product_id');
CREATE UNLOGGED TABLE unlogged (order_id int PRIMARY KEY, product_id int);
SELECT batmap_keep('unlogged', 'order_id', 'product_id');
CREATE TABLE parted (order_id int, product_id int) PARTITION BY RANGE (order_id);
CREATE TABLE part PARTITION OF parted DEFAULT;
SELECT batmap_keep('parted', 'order_id', 'product_id');
SELECT batmap_keep('part', 'order_id', 'product_id');
CREATE TABLE child () INHERITS (order_lines);
SELECT batmap_keep('child', 'order_id', 'product_id');
SELECT batmap_keep('order_lines', 'order_id', 'product_id');
DROP TABLE child;
SELECT batmap_keep('pg_class', 'oid', 'relname');
SELECT batmap_unkeep('order_lines');
SELECT batmap_merge_kept('order_lines');
SELECT batmap_kept_counts('order_lines');
SELECT count(*) FROM batmap_partners('order_lines'::regclass);
SELECT batmap_kept_counts('seen');

-- kept
SELECT batmap_keep('order_lines', tid => 'order_id', item => 'product_id');
SELECT batmap_keep('order_lines', tid => 'order_id', item => 'product_id');
SELECT kept_table, tid, item, filter, kept_rows, kept_counts, kept_log, counts_bytes > 0 AS has_counts, log_bytes FROM batmap_kept;
CREATE FUNCTION recount() RETURNS batmap_pair_counts LANGUAGE sql STABLE AS 'SELECT batmap_pair_counts_agg(order_id, product_id) FROM order_lines';
CREATE FUNCTION is_fresh() RETURNS bool LANGUAGE sql STABLE AS $$
    SELECT batmap_kept_counts('order_lines')::text = coalesce(recount()::text, batmap_kept_counts('order_lines')::text)
       AND batmap_check_kept('order_lines')
       AND NOT EXISTS (SELECT * FROM batmap_partners('order_lines'::regclass, 1, items => '{3, 7, 99}', measure => 'lift')
                       EXCEPT SELECT * FROM batmap_partners(recount(), 1, items => '{3, 7, 99}', measure => 'lift'))
       AND NOT EXISTS (SELECT * FROM batmap_partners(recount(), 1, items => '{3, 7, 99}', measure => 'lift')
                       EXCEPT SELECT * FROM batmap_partners('order_lines'::regclass, 1, items => '{3, 7, 99}', measure => 'lift'))
$$;
SELECT is_fresh();
SELECT batmap_merge_kept('order_lines');
CREATE VIEW log AS SELECT tid, item, sum(change) AS change FROM order_lines_kept_log GROUP BY 1, 2 ORDER BY 1, 2;
-- every way to change a table
INSERT INTO order_lines (order_id, product_id) VALUES (1000, 1), (1000, 2), (1000, 3), (1000, 3), (NULL, 1), (1001, NULL);
SELECT *, is_fresh() FROM log;
SELECT batmap_pair_count(batmap_kept_counts('order_lines'), 2, 3) - batmap_pair_count(recount(), 2, 3) AS none;
UPDATE order_lines SET quantity = 5 WHERE order_id = 1000;
SELECT count(*) AS unchanged, is_fresh() FROM log;
UPDATE order_lines SET product_id = product_id + 3 WHERE order_id = 1000;
SELECT *, is_fresh() FROM log;
UPDATE order_lines SET order_id = 5 WHERE order_id = 1000 AND product_id < 6;
SELECT is_fresh();
DELETE FROM order_lines WHERE line IN (SELECT min(line) FROM order_lines WHERE order_id = 1000);
SELECT is_fresh();
DELETE FROM order_lines WHERE order_id % 10 = 3;
SELECT is_fresh();
COPY order_lines (order_id, product_id) FROM stdin;
1002	1
1002	4
1002	9
\.
SELECT is_fresh();
WITH gone AS (DELETE FROM order_lines WHERE order_id = 1002 RETURNING product_id)
INSERT INTO order_lines (order_id, product_id) SELECT 1003, product_id FROM gone;
SELECT is_fresh();
MERGE INTO order_lines l USING (VALUES (1003, 1, 30), (1003, 4, NULL), (1004, 2, NULL)) v (order_id, product_id, renamed)
ON l.order_id = v.order_id AND l.product_id = v.product_id
WHEN MATCHED AND v.renamed IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET product_id = v.renamed
WHEN NOT MATCHED THEN INSERT (order_id, product_id) VALUES (v.order_id, v.product_id);
SELECT is_fresh();
ALTER TABLE order_lines ADD UNIQUE (line);
INSERT INTO order_lines (line, order_id, product_id) OVERRIDING SYSTEM VALUE
SELECT line, order_id, 31 FROM order_lines WHERE order_id IN (1003, 6) ON CONFLICT (line) DO UPDATE SET product_id = excluded.product_id;
INSERT INTO order_lines (line, order_id, product_id) OVERRIDING SYSTEM VALUE SELECT line, 7, 31 FROM order_lines LIMIT 5 ON CONFLICT DO NOTHING;
SELECT is_fresh();
BEGIN;
SAVEPOINT s;
DELETE FROM order_lines WHERE order_id < 50;
SELECT is_fresh();
ROLLBACK TO s;
SELECT is_fresh();
INSERT INTO order_lines (order_id, product_id) VALUES (6, 77);
SELECT is_fresh();
SELECT batmap_merge_kept('order_lines') > 0 AS merged, is_fresh();
INSERT INTO order_lines (order_id, product_id) VALUES (6, 78);
SELECT is_fresh();
ROLLBACK;
SELECT is_fresh();
-- rows that a foreign key deletes and changes
CREATE TABLE orders (id int PRIMARY KEY);
INSERT INTO orders SELECT DISTINCT order_id FROM order_lines WHERE order_id IS NOT NULL;
ALTER TABLE order_lines ADD FOREIGN KEY (order_id) REFERENCES orders ON DELETE CASCADE ON UPDATE CASCADE;
DELETE FROM orders WHERE id < 4;
UPDATE orders SET id = 3000 WHERE id = 6;
SELECT is_fresh();
ALTER TABLE order_lines DROP CONSTRAINT order_lines_order_id_fkey;
DROP TABLE orders;
-- a trigger of the user changes what is stored
CREATE FUNCTION negate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN new.product_id := -new.product_id; RETURN new; END';
CREATE TRIGGER negate BEFORE INSERT ON order_lines FOR EACH ROW EXECUTE FUNCTION negate();
INSERT INTO order_lines (order_id, product_id) VALUES (3001, 3), (3001, 7);
SELECT is_fresh();
DROP TRIGGER negate ON order_lines;
DROP FUNCTION negate;
-- rows of the log that cancel each other
INSERT INTO order_lines (order_id, product_id) VALUES (2000, 1), (2000, 2);
DELETE FROM order_lines WHERE order_id = 2000;
SELECT is_fresh();
SELECT batmap_merge_kept('order_lines') > 0 AS merged, is_fresh();
SELECT count(*) FROM order_lines_kept_log;
SELECT batmap_merge_kept('order_lines');
-- questions: the rest of their arguments
SELECT item_a, item_b, support_count, round(lift::numeric, 3) AS lift FROM batmap_pairs('order_lines'::regclass, top_k => 3);
SELECT p = q AS same FROM (SELECT array_agg(p ORDER BY p) FROM batmap_pairs('order_lines'::regclass, 2, include => '{3, 7}', exclude => '{4}') p) a (p),
    (SELECT array_agg(p ORDER BY p) FROM batmap_pairs(recount(), 2, include => '{3, 7}', exclude => '{4}') p) b (q);
SELECT p = q AS same FROM (SELECT array_agg(p ORDER BY p) FROM batmap_pairs('order_lines'::regclass, per_item_top_k => 2, measure => 'cosine') p) a (p),
    (SELECT array_agg(p ORDER BY p) FROM batmap_pairs(recount(), per_item_top_k => 2, measure => 'cosine') p) b (q);
SELECT * FROM batmap_partners('order_lines'::regclass, items => '{3}', top_k => 3);
SELECT batmap_pair_counts_items(batmap_kept_counts('order_lines', '{}')), batmap_pair_counts_pairs(batmap_kept_counts('order_lines', '{99, NULL}')),
    batmap_item_count(batmap_kept_counts('order_lines', '{3}'), 3) = batmap_item_count(recount(), 3) AS same;
SELECT batmap_kept_counts(NULL), batmap_kept_counts_of('order_lines');
SELECT batmap_kept_counts_of('order_lines', '{a}');
-- an integer is a regclass, too: the forms with an item type go first
SELECT count(*) FROM batmap_pairs_as(NULL::int4, 'SELECT order_id, product_id FROM order_lines', 2);
-- empty, and full again
DELETE FROM order_lines;
SELECT batmap_check_kept('order_lines'), batmap_pair_counts_total(batmap_kept_counts('order_lines'));
SELECT batmap_merge_kept('order_lines') > 0 AS merged, batmap_check_kept('order_lines'), count(*) FROM order_lines_kept_counts;
INSERT INTO order_lines (order_id, product_id) SELECT i / 5, i * i % 31 - 10 FROM generate_series(1, 200) i;
SELECT is_fresh();
SELECT batmap_merge_kept('order_lines'), is_fresh(), (SELECT count(*) FROM order_lines_kept_counts);
INSERT INTO order_lines (order_id, product_id) VALUES (1, 500), (1, -500);
SELECT is_fresh();
TRUNCATE order_lines;
SELECT batmap_check_kept('order_lines'), batmap_pair_counts_total(batmap_kept_counts('order_lines')), (SELECT count(*) FROM order_lines_kept_log);
INSERT INTO order_lines (order_id, product_id) SELECT i / 5, i * i % 31 FROM generate_series(1, 200) i;
SELECT is_fresh();
BEGIN;
TRUNCATE order_lines;
INSERT INTO order_lines (order_id, product_id) VALUES (1, 2), (1, 3);
SELECT is_fresh();
ROLLBACK;
SELECT is_fresh();
SELECT batmap_merge_kept('order_lines'), is_fresh();
-- other names and columns
DROP VIEW seen, log;
DROP MATERIALIZED VIEW stored;
ALTER TABLE order_lines RENAME TO lines;
ALTER TABLE lines RENAME product_id TO product;
ALTER TABLE lines RENAME order_id TO receipt;
ALTER TABLE order_lines_kept_log RENAME TO changes;
ALTER TABLE lines ADD COLUMN first_seen date DEFAULT '2026-01-01';
CREATE SCHEMA shop;
ALTER TABLE lines SET SCHEMA shop;
INSERT INTO shop.lines (receipt, product) VALUES (1, 700), (1, 701);
SELECT batmap_check_kept('shop.lines'), batmap_pair_count(batmap_kept_counts('shop.lines'), 700, 701);
SELECT kept_table, tid, item, kept_rows, kept_counts, kept_log FROM batmap_kept;
ALTER TABLE shop.lines DROP COLUMN product;
\set VERBOSITY terse
ALTER TABLE shop.lines ALTER COLUMN receipt TYPE int8;
\set VERBOSITY default
-- as a partition or a child it would change without its triggers, and its children change with it
CREATE TABLE whole (first_seen date, receipt int, product int, line int, quantity int) PARTITION BY RANGE (receipt);
BEGIN;
ALTER TABLE shop.lines ALTER line DROP IDENTITY;  -- from version 17 on a partition has none of its own
ALTER TABLE whole ATTACH PARTITION shop.lines FOR VALUES FROM (0) TO (100);
ROLLBACK;
CREATE TABLE base (product int);
ALTER TABLE shop.lines INHERIT base;
CREATE TABLE late () INHERITS (shop.lines);
INSERT INTO late (receipt, product, line) VALUES (1, 710, 100000);
SELECT batmap_kept_counts('shop.lines') IS NULL;
INSERT INTO shop.lines (receipt, product) VALUES (1, 711);
UPDATE shop.lines SET product = 712 WHERE product = 711;
DELETE FROM shop.lines WHERE product = 710;
ALTER TABLE late NO INHERIT shop.lines;
DELETE FROM shop.lines WHERE product = 711;
SELECT batmap_check_kept('shop.lines');
DROP TABLE late, base, whole;
-- triggers that do not fire, and changes behind their back
ALTER TABLE shop.lines DISABLE TRIGGER batmap_keep_insert;
SELECT batmap_kept_counts('shop.lines') IS NULL;
INSERT INTO shop.lines (receipt, product) VALUES (1, 702);
ALTER TABLE shop.lines ENABLE TRIGGER batmap_keep_insert;
SELECT batmap_check_kept('shop.lines');
DELETE FROM shop.lines WHERE product = 702;
SELECT batmap_check_kept('shop.lines');
SELECT batmap_pair_counts_total(batmap_kept_counts('shop.lines'));
SELECT batmap_merge_kept('shop.lines');
SELECT batmap_unkeep('shop.lines');
SELECT batmap_unkeep('shop.lines');
SELECT count(*) AS companions FROM pg_class WHERE relname ~ 'kept_(rows|counts|log)|changes' AND relnamespace = 'public'::regnamespace;
SELECT batmap_keep('shop.lines', 'receipt', 'product');
SELECT batmap_check_kept('shop.lines');
-- pairs that do not match the supports, in rows that have changed since and in others
SELECT kept_counts AS shop_counts FROM batmap_kept WHERE kept_table = 'shop.lines'::regclass \gset
UPDATE :shop_counts SET counts = counts + counts + counts + counts WHERE part = 1;
SELECT count(*) FROM batmap_pairs('shop.lines'::regclass, 1);
SELECT count(*) FROM batmap_partners('shop.lines'::regclass, 1);
SELECT count(*) FROM batmap_pairs('shop.lines'::regclass, 1000);
BEGIN;
DELETE FROM shop.lines WHERE receipt = (SELECT receipt FROM shop.lines GROUP BY 1 ORDER BY count(DISTINCT product) DESC, 1 LIMIT 1);
SELECT count(*) FROM batmap_pairs('shop.lines'::regclass, 1);
ROLLBACK;
DROP TABLE shop.lines;
SELECT count(*) FROM batmap_kept;
SELECT count(*) AS companions FROM pg_class WHERE relname ~ 'kept_(rows|counts|log)' AND relnamespace = 'shop'::regnamespace;
DROP SCHEMA shop;

-- A filter, text items, and tids of any type.
CREATE TABLE visits (visitor text COLLATE "C", page varchar(20), seconds int, bot bool DEFAULT false, id uuid DEFAULT gen_random_uuid());
CREATE INDEX ON visits (visitor, page);
INSERT INTO visits SELECT 'v' || i / 3, 'page ' || i * i % 11, i % 5, i % 7 = 0 FROM generate_series(1, 120) i;
SELECT batmap_keep('visits', 'visitor', 'page', 'seconds > 1 AND NOT bot -- no robots');
SELECT kept_table, tid, item, filter FROM batmap_kept;
CREATE FUNCTION recount_visits() RETURNS batmap_pair_counts LANGUAGE sql STABLE AS
'SELECT batmap_pair_counts_agg(substr(visitor, 2)::int, page::text) FROM visits WHERE seconds > 1 AND NOT bot';
CREATE FUNCTION visits_are_fresh() RETURNS bool LANGUAGE sql STABLE AS $$
    SELECT batmap_kept_counts_of('visits')::text = recount_visits()::text AND batmap_check_kept('visits')
       AND NOT EXISTS (SELECT * FROM batmap_partners_of(batmap_kept_counts_of('visits', ARRAY['page 3', 'näher', 'nowhere']), items => ARRAY['page 3', 'näher', 'nowhere'])
                       EXCEPT SELECT * FROM batmap_partners_of(recount_visits(), items => ARRAY['page 3', 'näher', 'nowhere']))
       AND NOT EXISTS (SELECT * FROM batmap_partners_of(recount_visits(), items => ARRAY['page 3', 'näher', 'nowhere'])
                       EXCEPT SELECT * FROM batmap_partners_of(batmap_kept_counts_of('visits', ARRAY['page 3', 'näher', 'nowhere']), items => ARRAY['page 3', 'näher', 'nowhere']))
$$;
SELECT visits_are_fresh();
INSERT INTO visits VALUES ('v1', 'näher', 5, false), ('v1', '', 5, false), ('v2', 'näher', 0, false), ('v3', 'näher', 9, true), ('v4', 'näher', 9, NULL), (NULL, 'näher', 9, false);
SELECT tid, item, change FROM visits_kept_log ORDER BY 1, 2;
SELECT visits_are_fresh();
UPDATE visits SET seconds = 9 WHERE visitor = 'v2';
UPDATE visits SET bot = NOT bot WHERE page = 'page 3';
SELECT visits_are_fresh(), batmap_merge_kept('visits') > 0 AS merged, visits_are_fresh();
SELECT item, partner, rank, support_count FROM batmap_partners_of(batmap_kept_counts_of('visits', '{näher}'), items => '{näher}', top_k => 2);
SELECT item_a, item_b, support_count FROM batmap_pairs_of(batmap_kept_counts_of('visits'), include => '{näher}', top_k => 2);
SELECT batmap_kept_counts('visits', '{1}');
SELECT * FROM batmap_pairs('visits'::regclass, 1);
SELECT * FROM batmap_partners('visits'::regclass);
SELECT * FROM batmap_partners('visits'::regclass, items => '{1}');
DELETE FROM visits WHERE visitor < 'v2';
SELECT visits_are_fresh(), batmap_merge_kept('visits') > 0 AS merged, visits_are_fresh();
ALTER TABLE visits DROP COLUMN seconds;
DROP TABLE visits;
-- texts that are stored out of line
CREATE TABLE long_texts (tid int PRIMARY KEY, item text);
ALTER TABLE long_texts ALTER item SET STORAGE EXTERNAL;
SELECT batmap_keep('long_texts', 'tid', 'item');
INSERT INTO long_texts SELECT i, repeat(md5((i % 3)::text), 100) FROM generate_series(1, 9) i;
UPDATE long_texts SET tid = tid + 100 WHERE tid > 5;
DELETE FROM long_texts WHERE tid = 2;
SELECT batmap_check_kept('long_texts'), batmap_merge_kept('long_texts'), batmap_check_kept('long_texts'),
    batmap_item_count(batmap_kept_counts_of('long_texts'), repeat(md5('1'), 100));
-- an index on the log would not be maintained
CREATE INDEX extra ON long_texts_kept_log (tid);
INSERT INTO long_texts VALUES (1000, 'x');
DROP INDEX extra;
INSERT INTO long_texts VALUES (1000, 'x');
SELECT batmap_check_kept('long_texts');
DROP TABLE long_texts;
CREATE TABLE tags (document uuid, tag uuid, UNIQUE (document, tag));
INSERT INTO tags SELECT md5((i / 3)::text)::uuid, md5('t' || i % 7)::uuid FROM generate_series(1, 60) i;
SELECT batmap_keep('tags', 'document', 'tag');
DELETE FROM tags WHERE tag = md5('t3')::uuid;
INSERT INTO tags SELECT md5('1')::uuid, md5('new')::uuid;
SELECT batmap_check_kept('tags'), batmap_merge_kept('tags'), batmap_check_kept('tags'),
    (SELECT count(*) > 0 FROM batmap_partners_as(NULL::uuid, batmap_kept_counts_of('tags'), items => ARRAY[md5('new')])) AS partners;
DROP TABLE tags;

-- Chunks: more pairs than one may have.
CREATE TABLE wide (tid int, item int);
CREATE INDEX ON wide (tid);
INSERT INTO wide SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 600) i WHERE i % t = 0;
SELECT batmap_keep('wide', 'tid', 'item');
SELECT part, low, batmap_pair_counts_pairs(counts) < 140000 AS bounded FROM wide_kept_counts WHERE part < 2 ORDER BY part, low;
SELECT batmap_check_kept('wide');
INSERT INTO wide SELECT 4, i FROM generate_series(301, 900) i;
SELECT batmap_check_kept('wide'), batmap_merge_kept('wide'), batmap_check_kept('wide');
SELECT count(*) FILTER (WHERE part = 1) > 2 AS chunks, max(batmap_pair_counts_pairs(counts)) < 140000 AS bounded FROM wide_kept_counts;
SELECT batmap_kept_counts('wide', ARRAY[1, 400, 850])::text =
    batmap_kept_counts('wide', ARRAY[850, 400, 1, 1])::text AS same,
    (SELECT array_agg(p ORDER BY p) FROM batmap_partners('wide'::regclass, items => '{1, 400, 850}', top_k => 1000) p)
  = (SELECT array_agg(p ORDER BY p) FROM batmap_partners((SELECT batmap_pair_counts_agg(tid, item) FROM wide), items => '{1, 400, 850}', top_k => 1000) p) AS right;
-- An answer that is not read to its end: threads have read chunks ahead.
CREATE FUNCTION ends_early(query text, times int) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE n int8 := 0;
BEGIN
    FOR k IN 1..times LOOP
        EXECUTE 'SELECT ' || n || ' + count(*) FROM (' || query || ' LIMIT 1) q' INTO n;
    END LOOP;
    RETURN n;
END $$;
CREATE TABLE hub AS SELECT 1 AS tid, i AS item FROM generate_series(1, 2400) i;
CREATE INDEX ON hub (tid);
SELECT batmap_keep('hub', 'tid', 'item');
SET batmap.threads = 4;
SELECT ends_early($$SELECT * FROM batmap_pairs('hub'::regclass, 1)$$, 40), ends_early($$SELECT * FROM batmap_partners('hub'::regclass, 1)$$, 5);
SELECT ends_early($$SELECT p.* FROM generate_series(1, 3), LATERAL batmap_pairs('hub'::regclass, 1, max_results => 1) p$$, 5);
RESET batmap.threads;
SELECT memory BETWEEN 0 AND 1048576 AS given_back FROM batmap_usage();
DROP TABLE hub;
DROP FUNCTION ends_early;
DELETE FROM wide WHERE item < 200;
SELECT batmap_check_kept('wide'), batmap_merge_kept('wide'), batmap_check_kept('wide');
DROP TABLE wide;

-- Within a statement that changes the table, whose log is not written yet, the rows are counted, and a merge is refused.
CREATE TABLE live (tid int, item int);
CREATE INDEX ON live (tid);
INSERT INTO live VALUES (1, 1), (1, 2), (2, 1), (2, 2);
SELECT batmap_keep('live', 'tid', 'item');
CREATE FUNCTION is_recount() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    kept text;
    counted text;
BEGIN
    SELECT string_agg(p::text, ' ' ORDER BY p::text) INTO kept FROM batmap_pairs('live'::regclass, 1) p;
    SELECT string_agg(p::text, ' ' ORDER BY p::text) INTO counted FROM batmap_pairs('SELECT tid, item FROM live', 1) p;
    RETURN CASE WHEN kept IS NOT DISTINCT FROM counted THEN 'right: ' ELSE 'wrong: ' END || coalesce(length(counted) > 0, false);
END $$;
CREATE FUNCTION try_merge() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN batmap_merge_kept('live');
EXCEPTION WHEN object_in_use THEN
    RETURN SQLERRM;
END $$;
BEGIN;
DELETE FROM live WHERE item = 2 RETURNING tid, is_recount();
ROLLBACK;
INSERT INTO live VALUES (5, 1), (5, 2), (5, 3) RETURNING item, is_recount();
UPDATE live SET item = 7 WHERE tid = 5 AND item < 2 RETURNING item, is_recount();
INSERT INTO live VALUES (8, 1) RETURNING try_merge();
INSERT INTO live VALUES (8, 2) RETURNING is_recount();
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE WARNING '% %: %', TG_NAME, TG_OP, is_recount();
    RETURN NULL;
END $$;
CREATE TRIGGER a_first AFTER INSERT OR UPDATE OR DELETE ON live FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER z_last AFTER INSERT OR UPDATE OR DELETE ON live FOR EACH STATEMENT EXECUTE FUNCTION tell();
INSERT INTO live VALUES (9, 1), (9, 2);
UPDATE live SET item = 3 WHERE tid = 9 AND item = 1;
DELETE FROM live WHERE tid = 1;
SELECT try_merge(), batmap_check_kept('live'), is_recount();
DROP TRIGGER a_first ON live;
DROP TRIGGER z_last ON live;
-- A cursor that a trigger opens sees the change, but not the log of it: also when the statement is complete.
CREATE FUNCTION open_cursors() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    pairs refcursor := 'pairs';
    checked refcursor := 'checked';
BEGIN
    OPEN pairs FOR SELECT item_a, item_b, support_count FROM batmap_pairs('live'::regclass, 1) WHERE item_b > 50;
    OPEN checked FOR SELECT batmap_check_kept('live');
    RETURN NULL;
END $$;
CREATE TRIGGER a_first AFTER INSERT ON live FOR EACH STATEMENT EXECUTE FUNCTION open_cursors();
BEGIN;
INSERT INTO live VALUES (8, 51), (8, 52);
FETCH ALL FROM pairs;
FETCH ALL FROM checked;
ROLLBACK;
-- One that is older than the change sees neither.
BEGIN;
DECLARE pairs CURSOR FOR SELECT item_a, item_b, support_count FROM batmap_pairs('live'::regclass, 1) WHERE item_b < 4;
DELETE FROM live WHERE item < 3;
SELECT is_recount();
FETCH ALL FROM pairs;
ROLLBACK;
CREATE OR REPLACE FUNCTION open_cursors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM batmap_check_kept('live');
    RETURN NULL;
END $$;
INSERT INTO live VALUES (8, 51);
DROP TRIGGER a_first ON live;
-- The companions cannot be found while the trigger that names them has another name. No change is lost meanwhile.
ALTER TRIGGER batmap_keep_rows ON live RENAME TO renamed;
INSERT INTO live VALUES (8, 51), (8, 52);
SELECT batmap_kept_counts('live');
ALTER TRIGGER renamed ON live RENAME TO batmap_keep_rows;
SELECT batmap_check_kept('live');
DROP TABLE live;
DROP FUNCTION open_cursors;
CREATE TABLE live (tid int, item int) PARTITION BY HASH (tid);
CREATE INDEX ON live (tid);
CREATE TABLE live_0 PARTITION OF live FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE live_1 PARTITION OF live FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO live SELECT t, i FROM generate_series(1, 9) t, generate_series(1, 3) i;
SELECT batmap_keep('live', 'tid', 'item');
INSERT INTO live VALUES (11, 1), (11, 2), (12, 1) RETURNING item, is_recount();
DELETE FROM live_0 WHERE item = 2 RETURNING item, is_recount();
DELETE FROM live_1 WHERE tid = 3 AND item = 3 RETURNING try_merge();
SELECT batmap_merge_kept('live'), batmap_check_kept('live'), is_recount();
DROP TABLE live;
DROP FUNCTION is_recount, try_merge, tell;

-- An empty table, and one whose transactions have one item each.
CREATE TABLE few (tid int8 PRIMARY KEY, item int2);
-- The snapshot of a statement that keeps is older than the counts.
SELECT batmap_keep('few', 'tid', 'item'), batmap_check_kept('few');
SELECT batmap_keep('few', 'tid', 'item');
SELECT batmap_check_kept('few'), batmap_merge_kept('few');
INSERT INTO few VALUES (1, 1), (2, 1), (3, 2), (9223372036854775807, 3), (-9223372036854775808, -32768);
SELECT batmap_check_kept('few'), batmap_merge_kept('few'), batmap_check_kept('few'), batmap_pair_counts_total(batmap_kept_counts('few', '{1}'));
DROP TABLE few;
DROP TABLE dated, unlogged, parted;
DROP FUNCTION is_fresh, recount, visits_are_fresh, recount_visits;

-- a table that is rewritten: the counts are of another file
CREATE TABLE rewritten (tid int, item int, quantity int, PRIMARY KEY (tid, item));
INSERT INTO rewritten SELECT g, (g + i) % 10, 1 FROM generate_series(1, 100) g, generate_series(0, 2) i;
SELECT batmap_keep('rewritten', 'tid', 'item');
CREATE VIEW state AS
SELECT batmap_kept_counts('rewritten')::text IS NOT DISTINCT FROM (SELECT batmap_pair_counts_agg(tid, item)::text FROM rewritten) AS is_right,
    batmap_check_kept('rewritten') AS are_right, (SELECT count(*) FROM rewritten_kept_log) AS log;
DELETE FROM rewritten WHERE tid = 1 AND item = 3;
VACUUM FULL rewritten;
TABLE state;
SELECT batmap_merge_kept('rewritten');
TABLE state;
BEGIN ISOLATION LEVEL REPEATABLE READ;
ALTER TABLE rewritten ALTER quantity TYPE int8;
SELECT batmap_kept_counts('rewritten')::text IS NOT DISTINCT FROM (SELECT batmap_pair_counts_agg(tid, item)::text FROM rewritten) AS is_right;
SAVEPOINT before;
SELECT batmap_check_kept('rewritten');
ROLLBACK TO before;
SELECT batmap_merge_kept('rewritten');
ROLLBACK TO before;
COMMIT;
ALTER TABLE rewritten SET UNLOGGED;
SELECT batmap_kept_counts('rewritten');
ALTER TABLE rewritten SET LOGGED;
TABLE state;
SELECT batmap_merge_kept('rewritten');
-- a trigger of TRUNCATE that writes rows before the counts are emptied, or after it
CREATE FUNCTION seed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO rewritten VALUES (1, 1), (1, 2); RETURN NULL; END';
CREATE TRIGGER a_seed AFTER TRUNCATE ON rewritten EXECUTE FUNCTION seed();
TRUNCATE rewritten;
TABLE state;
ALTER TRIGGER a_seed ON rewritten RENAME TO z_seed;
BEGIN;
TRUNCATE rewritten;
TABLE state;
TRUNCATE rewritten;
COMMIT;
TABLE state;
SELECT item_a, item_b, support_count FROM batmap_pairs('rewritten'::regclass, min_count => 1);
-- triggers without companions, as pg_dump -t leaves them
DROP VIEW state;
DROP TABLE rewritten_kept_counts CASCADE;
SELECT batmap_keep('rewritten', 'tid', 'item');
SELECT batmap_unkeep('rewritten');
DROP VIEW rewritten_kept_rows;
DROP TABLE rewritten_kept_log;
SELECT batmap_keep('rewritten', 'tid', 'item');
DROP TABLE rewritten_kept_counts CASCADE;
DROP VIEW rewritten_kept_rows;
DROP TABLE rewritten_kept_log;
SELECT batmap_unkeep('rewritten');
DROP TABLE rewritten;
DROP FUNCTION seed();

-- Items too long for an index begin no chunk.
CREATE TABLE long_items (tid int, item text);
CREATE INDEX ON long_items (tid);
SELECT batmap_keep('long_items', 'tid', 'item');
INSERT INTO long_items SELECT 1, (SELECT string_agg(md5(i::text || j::text), '') FROM generate_series(1, 90) j) FROM generate_series(1, 560) i;
INSERT INTO long_items SELECT 1, 'short ' || i FROM generate_series(1, 40) i;
SELECT batmap_merge_kept('long_items');
SELECT count(*), min(length(low)), max(length(low)) FROM long_items_kept_counts WHERE part = 1;
SELECT batmap_check_kept('long_items');
DROP TABLE long_items;

-- The _of forms take a kept table with text items.
CREATE TABLE named (tid int, item text);
CREATE INDEX ON named (tid);
INSERT INTO named SELECT t, n FROM generate_series(1, 60) t, unnest(ARRAY['bread', 'butter', 'jam', 'tea']) WITH ORDINALITY u (n, o) WHERE t % (o + 1) = 0;
SELECT batmap_keep('named', 'tid', 'item');
INSERT INTO named VALUES (1, 'tea'), (1, 'bread');
CREATE FUNCTION pg_temp.differ(kept text, counted text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint; m bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM (%s) q', counted) INTO n;
    EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) q', kept, counted) INTO m;
    RETURN CASE WHEN n > 0 THEN m ELSE -1 END;
END $$;
SELECT pg_temp.differ('SELECT * FROM batmap_pairs_of(''named''::regclass, min_count => 5, exclude => ''{tea}'')',
                      'SELECT * FROM batmap_pairs_of(''TABLE named'', min_count => 5, exclude => ''{tea}'')');
SELECT pg_temp.differ('SELECT * FROM batmap_pairs_of(''named''::regclass, include => ''{jam}'', top_k => 2, measure => ''lift'')',
                      'SELECT * FROM batmap_pairs_of(''TABLE named'', include => ''{jam}'', top_k => 2, measure => ''lift'')');
SELECT pg_temp.differ('SELECT * FROM batmap_partners_of(''named''::regclass, items => ''{tea,jam}'', top_k => 2)',
                      'SELECT * FROM batmap_partners_of(''TABLE named'', items => ''{tea,jam}'', top_k => 2)');
SELECT pg_temp.differ('SELECT * FROM batmap_rules_of(''named''::regclass, min_count => 5, min_confidence => 0.3)',
                      'SELECT * FROM batmap_rules_of(''TABLE named'', min_count => 5, min_confidence => 0.3, max_lhs => 1, max_rhs => 1)');
SELECT pg_temp.differ('SELECT * FROM batmap_recommend_of(''{tea}'', ''named''::regclass)',
                      'SELECT * FROM batmap_recommend_of(''{tea}'', ''TABLE named'', max_lhs => 1)');
SELECT * FROM batmap_recommend_of('{tea,nothing}', 'named'::regclass, top_k => 1);
SELECT count(*) FROM batmap_recommend_of(NULL, 'named'::regclass);
SELECT * FROM batmap_pairs('named'::regclass, 1);
CREATE TABLE numbered (tid int, item int);
CREATE INDEX ON numbered (tid);
SELECT batmap_keep('numbered', 'tid', 'item');
SELECT * FROM batmap_partners_of('numbered'::regclass);
SELECT * FROM batmap_rules_of('pg_class'::regclass, min_count => 1);
DROP TABLE named, numbered;

-- A log that does not fit into memory, or can be read there and not counted: the rows of the table are counted again.
CREATE TABLE long (tid int, item int);
CREATE INDEX ON long (tid);
SELECT batmap_keep('long', 'tid', 'item');
SET batmap.memory_limit = '2MB';
SET batmap.work_mem = '1MB';
INSERT INTO long SELECT k / 5, k * 7 % 90 FROM generate_series(1, 60000) k;
SELECT count(*), sum(support_count) FROM batmap_pairs('long'::regclass, 1);
SELECT batmap_merge_kept('long');
INSERT INTO long SELECT k / 5, k * 7 % 90 FROM generate_series(60001, 160000) k;
SELECT count(*), sum(support_count) FROM batmap_pairs('long'::regclass, 1);
SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM long', 1);
SELECT batmap_merge_kept('long');
SELECT count(*) FROM long_kept_log;
SELECT batmap_check_kept('long');
RESET batmap.memory_limit;
RESET batmap.work_mem;
DROP TABLE long;
