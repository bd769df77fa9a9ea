-- The ordinary role of check-hostile and its databases: smith for sqlsmith, mutate for damaged bytes, inject for faults.
CREATE ROLE hostile LOGIN;
GRANT SET ON PARAMETER debug_discard_caches TO hostile;
ALTER ROLE hostile SET batmap.memory_limit = '256MB';
CREATE DATABASE smith;
CREATE DATABASE mutate;
CREATE DATABASE inject;

\c inject
CREATE EXTENSION batmap;

\c mutate
CREATE EXTENSION batmap;
CREATE SCHEMA hostile AUTHORIZATION hostile;

\c smith
CREATE EXTENSION batmap;
CREATE SCHEMA hostile AUTHORIZATION hostile;
ALTER ROLE hostile IN DATABASE smith SET statement_timeout = '1s';
ALTER ROLE hostile IN DATABASE smith SET search_path = hostile, public;
SET ROLE hostile;
SET search_path = hostile, public;
CREATE TABLE rows AS SELECT g % 50 AS tid, (g * g / 3) % 23 AS item, g::int8 AS big, g * 0.5 AS weight, 'x' || g % 9 AS word, '2000-01-01'::timestamptz + g * interval '1 s' AS at FROM generate_series(1, 600) g;
CREATE TABLE sets AS SELECT g::int8 AS id, batmap_agg(g * x, 100000) AS s FROM generate_series(1, 40) g, generate_series(1, 30) x GROUP BY g;
CREATE INDEX ON sets USING gin (s);
CREATE INDEX ON sets (s);
CREATE TABLE relations AS SELECT item AS id, batmap_relation_agg(tid, item) AS r, batmap_pair_counts_agg(tid, item) AS c FROM rows GROUP BY item;
CREATE TABLE events AS SELECT g * 3 AS "time", (g * g / 5) % 7 AS event, g % 2 AS stream, '{1,2}'::int8[] AS episode FROM generate_series(1, 300) g;
CREATE TABLE queries (query) AS VALUES ('SELECT tid, item FROM rows'), ('SELECT id, s FROM sets'), ('SELECT "time", event FROM events'), ('SELECT item, tid FROM rows');
CREATE VIEW pairs AS SELECT * FROM batmap_pairs('SELECT tid, item FROM rows', min_count => 2);
CREATE VIEW itemsets AS SELECT * FROM batmap_itemsets('SELECT tid, item FROM rows', min_count => 4);
CREATE VIEW joined AS SELECT x.item a, y.item b, count(*) n FROM rows x JOIN rows y USING (tid) GROUP BY x.item, y.item;
ANALYZE rows, sets, relations, events, queries;
