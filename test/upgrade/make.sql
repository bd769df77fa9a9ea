-- What a user may have in his database when the extension, or the server, is upgraded: values of every type, indexes, kept counts,
-- views and functions over the objects of the extension, privileges, statistics. The extension is there already. look.sql asks
-- for the answers. For t/030_updates.pl, pg_upgrade and packages.

CREATE TABLE sets (id int PRIMARY KEY, s batmap(2000000000));
INSERT INTO sets SELECT k, ARRAY(SELECT DISTINCT (k::int8 * j * 7919) % (CASE k % 3 WHEN 0 THEN 50 WHEN 1 THEN 1000 ELSE 1000000000 END)
    FROM generate_series(0, k % 400) j)::batmap FROM generate_series(1, 600) k;
INSERT INTO sets VALUES (1000, batmap_range(0, 100000)), (1001, '{}'), (1002, NULL);
CREATE INDEX sets_gin ON sets USING gin (s);
CREATE INDEX sets_btree ON sets (s) WHERE id < 200;
CREATE INDEX sets_hash ON sets USING hash (s);
CREATE INDEX sets_size ON sets (batmap_cardinality(s));
ALTER TABLE sets ADD CHECK (NOT s @> 1999999999::int8);
CREATE TABLE prepared (id int PRIMARY KEY, s batmap(1000000, 'prepared'), size int8 GENERATED ALWAYS AS (batmap_cardinality(s)) STORED,
    several batmap[], usual batmap DEFAULT '{1,2,3}');
INSERT INTO prepared (id, s, several) SELECT id, s, ARRAY[s, '{7}'] FROM sets WHERE s <@ batmap_range(0, 1000000) AND id % 5 = 0;
CREATE TABLE parted (s batmap) PARTITION BY HASH (s);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT s FROM sets WHERE s IS NOT NULL;
CREATE DOMAIN few AS batmap CHECK (batmap_cardinality(VALUE) < 5);
CREATE TYPE basket AS (receipt int, wares few);
CREATE TABLE baskets AS SELECT ROW(k, ARRAY[k % 7, k % 3]::batmap)::basket AS b FROM generate_series(1, 50) k;

CREATE TABLE relations (id int PRIMARY KEY, r batmap_relation, c batmap_pair_counts);
INSERT INTO relations SELECT 1, batmap_relation_agg(g % 50, g * g / 7 % 17), batmap_pair_counts_agg(g % 50, g * g / 7 % 17) FROM generate_series(1, 500) g;
INSERT INTO relations SELECT 2, batmap_relation_agg(g % 50, 'item ' || g * g / 7 % 17), batmap_pair_counts_agg(g % 50, 'item ' || g * g / 7 % 17)
    FROM generate_series(1, 500) g;
INSERT INTO relations SELECT 3, batmap_relation_agg(g / 10, (g::int8 * 7919) % 100003), NULL FROM generate_series(1, 100000) g;
CREATE TABLE answers AS
    SELECT batmap_pairs_agg(g % 50, g % 17, 2) AS pairs, batmap_pairs_agg(g % 50, 'item ' || g % 17, 2) AS text_pairs,
        batmap_itemsets_agg(g % 20, g % 7, 2, 2) AS itemsets, batmap_itemsets_agg(g % 20, 'item ' || g % 7, 2, 2) AS text_itemsets
    FROM generate_series(1, 500) g;

CREATE TABLE lines AS SELECT g % 500 AS receipt, (g * 7919 / 500) % 41 AS ware FROM generate_series(1, 20000) g;
CREATE MATERIALIZED VIEW pairs AS
    SELECT p.* FROM (SELECT batmap_relation_agg(receipt, ware) AS r FROM lines) q, LATERAL batmap_pairs(q.r, min_count => 2) p;
CREATE VIEW together AS SELECT a.ware, b.ware AS other, count(*) AS n FROM lines a JOIN lines b USING (receipt) GROUP BY 1, 2;
CREATE VIEW close_to AS SELECT a.id, b.id AS other, a.s <%> b.s AS distance FROM prepared a JOIN prepared b ON a.id < b.id AND a.s && b.s;
CREATE FUNCTION often(bound int8) RETURNS SETOF int8 STABLE
BEGIN ATOMIC
    SELECT p.item_a FROM batmap_pairs('SELECT receipt, ware FROM public.lines', min_count => bound, max_results => 100000) p;
END;

-- Kept counts of integers and of texts, with changes that are merged and others that wait in the log.
CREATE TABLE kept AS SELECT DISTINCT receipt, ware FROM lines;
CREATE TABLE kept_names AS SELECT receipt, 'ware ' || ware AS ware FROM kept WHERE ware <> 3;
CREATE INDEX ON kept (receipt);
CREATE INDEX ON kept_names (receipt);
SELECT batmap_keep('kept', 'receipt', 'ware', 'ware <> 7'), batmap_keep('kept_names', 'receipt', 'ware');
DELETE FROM kept WHERE ware = 5;
DELETE FROM kept_names WHERE ware = 'ware 5';
SELECT batmap_merge_kept('kept') > 0, batmap_merge_kept('kept_names') > 0;
INSERT INTO kept SELECT 1000 + g / 3, g % 17 FROM generate_series(1, 60) g;
INSERT INTO kept_names SELECT 1000 + g / 3, 'ware ' || g % 17 FROM generate_series(1, 60) g;

CREATE ROLE upgrade_guest;
REVOKE EXECUTE ON FUNCTION batmap_devices(), batmap_last_run() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION batmap_devices() TO upgrade_guest;
REVOKE SELECT ON batmap_progress FROM PUBLIC;
GRANT USAGE ON TYPE batmap TO upgrade_guest;
GRANT SELECT ON sets TO upgrade_guest;
ANALYZE;
