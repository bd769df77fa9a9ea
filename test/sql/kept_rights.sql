-- Who may keep counts, ask for them, and what other roles can do to them.
SET client_min_messages = warning;
CREATE ROLE kept_owner;
CREATE ROLE kept_reader;
CREATE ROLE kept_writer;
CREATE ROLE kept_other;
CREATE SCHEMA kept_shop AUTHORIZATION kept_owner;
GRANT USAGE ON SCHEMA kept_shop TO PUBLIC;
SET ROLE kept_owner;
CREATE TABLE kept_shop.lines (receipt int, product int, secret int, PRIMARY KEY (receipt, product));
INSERT INTO kept_shop.lines SELECT i / 4, i % 9 + i / 4 * 10 % 7 * 10, i % 3 FROM generate_series(1, 100) i;
GRANT SELECT (receipt, product) ON kept_shop.lines TO kept_reader;
GRANT INSERT, DELETE ON kept_shop.lines TO kept_writer;
SET ROLE kept_other;
SELECT batmap_keep('kept_shop.lines', 'receipt', 'product');
-- A superuser may keep for the owner: the companions are the owner's.
RESET ROLE;
SELECT batmap_keep('kept_shop.lines', 'receipt', 'product', 'secret < 2');
SELECT relname, relowner::regrole FROM pg_class WHERE relname LIKE 'lines\_kept\_%' AND relkind IN ('r', 'v') ORDER BY 1;
-- Nothing that the owner has written runs as the superuser.
SET ROLE kept_owner;
CREATE TABLE kept_shop.trap (tid int, item int);
CREATE FUNCTION kept_shop.who(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    IF current_setting('is_superuser') = 'on' AND current_user <> 'kept_owner' THEN RAISE 'run as %', 'another role'; END IF;
    RETURN true; END $$;
CREATE INDEX ON kept_shop.trap (tid) WHERE kept_shop.who(1);
\c -
SET client_min_messages = warning;
SELECT batmap_keep('kept_shop.trap', 'tid', 'item');
DROP TABLE kept_shop.trap;
-- reading
SET ROLE kept_other;
SELECT batmap_kept_counts('kept_shop.lines');
SELECT batmap_merge_kept('kept_shop.lines');
SELECT batmap_check_kept('kept_shop.lines');
SELECT batmap_unkeep('kept_shop.lines');
SELECT count(*) FROM kept_shop.lines_kept_log;
SET ROLE kept_reader;
-- the filter reads a column that the reader may not read
SELECT batmap_kept_counts('kept_shop.lines') IS NOT NULL;
SET ROLE kept_owner;
GRANT SELECT (secret) ON kept_shop.lines TO kept_reader;
SET ROLE kept_reader;
SELECT batmap_pair_counts_total(batmap_kept_counts('kept_shop.lines'));
SELECT count(*) > 0 AS some FROM batmap_partners('kept_shop.lines'::regclass, items => '{1}');
SELECT count(*) FROM kept_shop.lines_kept_counts;
SELECT batmap_merge_kept('kept_shop.lines');
-- writing: the log is written for a role without rights on it
SET ROLE kept_writer;
INSERT INTO kept_shop.lines VALUES (1000, 1, 1), (1000, 2, 1), (1000, 3, 2);
SELECT current_user;
INSERT INTO kept_shop.lines_kept_log VALUES (1, 1, 1);
SELECT batmap_kept_counts('kept_shop.lines');
RESET ROLE;
SELECT batmap_check_kept('kept_shop.lines'), (SELECT count(*) FROM kept_shop.lines_kept_log) AS logged;
-- The trigger function is of no use elsewhere.
SET ROLE kept_other;
SELECT _batmap_keep_changes();
CREATE TEMP TABLE mine (receipt int, product int);
CREATE TRIGGER t AFTER INSERT ON mine REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION _batmap_keep_changes();
INSERT INTO mine VALUES (1, 1);
DROP TRIGGER t ON mine;
CREATE TRIGGER batmap_keep_insert AFTER INSERT ON mine REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION _batmap_keep_changes();
INSERT INTO mine VALUES (1, 1);
-- named as if it were kept, with the companions of another
CREATE TRIGGER batmap_keep_rows AFTER INSERT ON mine FOR EACH ROW
    WHEN ('kept_shop.lines_kept_rows'::regclass IS NOT NULL AND 'kept_shop.lines_kept_counts'::regclass IS NOT NULL AND 'kept_shop.lines_kept_log'::regclass IS NOT NULL)
    EXECUTE FUNCTION _batmap_keep_changes();
INSERT INTO mine VALUES (1, 1);
SELECT batmap_kept_counts('mine');
-- the list of kept tables still has the others
SELECT kept_table, tid, item FROM batmap_kept ORDER BY tid;
-- and the triggers can be dropped, without the relations of others
SELECT batmap_unkeep('mine');
DROP TABLE mine;
RESET ROLE;
SELECT batmap_check_kept('kept_shop.lines'), (SELECT count(*) FROM kept_shop.lines_kept_log) AS logged;
-- A filter with a function of the owner runs as the owner, whoever writes or asks.
SET ROLE kept_owner;
SELECT batmap_unkeep('kept_shop.lines');
CREATE FUNCTION kept_shop.is_open(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
$$BEGIN RAISE WARNING 'as %', current_user; RETURN $1 < 2; END$$;
DELETE FROM kept_shop.lines WHERE receipt < 1000;
SELECT batmap_keep('kept_shop.lines', 'receipt', 'product', 'kept_shop.is_open(secret)');
SET ROLE kept_writer;
INSERT INTO kept_shop.lines VALUES (1001, 1, 1);
SET ROLE kept_reader;
SELECT batmap_pair_counts_total(batmap_kept_counts('kept_shop.lines'));
-- row-level security
SET ROLE kept_owner;
ALTER TABLE kept_shop.lines ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON kept_shop.lines USING (receipt = 1000);
SELECT batmap_unkeep('kept_shop.lines');
SELECT batmap_keep('kept_shop.lines', 'receipt', 'product');
ALTER TABLE kept_shop.lines DISABLE ROW LEVEL SECURITY;
SELECT batmap_keep('kept_shop.lines', 'receipt', 'product');
ALTER TABLE kept_shop.lines ENABLE ROW LEVEL SECURITY;
SELECT batmap_pair_counts_total(batmap_kept_counts('kept_shop.lines')), batmap_check_kept('kept_shop.lines');
SET ROLE kept_reader;
SELECT batmap_pair_counts_total(batmap_kept_counts('kept_shop.lines'));
SELECT * FROM batmap_partners('kept_shop.lines'::regclass, items => '{1}');
SET ROLE kept_owner;
ALTER TABLE kept_shop.lines FORCE ROW LEVEL SECURITY;
SELECT batmap_merge_kept('kept_shop.lines');
ALTER TABLE kept_shop.lines NO FORCE ROW LEVEL SECURITY;
-- companions that a crash would empty
ALTER TABLE kept_shop.lines_kept_log SET UNLOGGED;
INSERT INTO kept_shop.lines VALUES (1004, 1, 1);
SELECT batmap_kept_counts('kept_shop.lines');
ALTER TABLE kept_shop.lines_kept_log SET LOGGED;
SELECT batmap_check_kept('kept_shop.lines');
-- companions that the owner sees only in part, or that have rows which are not theirs
ALTER TABLE kept_shop.lines_kept_log ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT batmap_kept_counts('kept_shop.lines');
ALTER TABLE kept_shop.lines_kept_log DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
CREATE TABLE kept_shop.child () INHERITS (kept_shop.lines_kept_log);
SELECT batmap_kept_counts('kept_shop.lines');
DROP TABLE kept_shop.child;
-- companions that may refuse rows
CREATE RULE nothing AS ON UPDATE TO kept_shop.lines_kept_counts DO INSTEAD NOTHING;
INSERT INTO kept_shop.lines VALUES (1003, 1, 1), (1003, 2, 1);
DROP RULE nothing ON kept_shop.lines_kept_counts;
INSERT INTO kept_shop.lines VALUES (1003, 1, 1), (1003, 2, 1);
CREATE FUNCTION kept_shop.refuses() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER refuses BEFORE DELETE ON kept_shop.lines_kept_log FOR EACH ROW EXECUTE FUNCTION kept_shop.refuses();
SELECT batmap_merge_kept('kept_shop.lines');
DROP FUNCTION kept_shop.refuses CASCADE;
SELECT batmap_merge_kept('kept_shop.lines') > 0 AS merged, batmap_check_kept('kept_shop.lines');
-- a role that may only make triggers names relations of the owner, which batmap_unkeep then leaves alone
CREATE TABLE kept_shop.bait (receipt int PRIMARY KEY, product int);
CREATE VIEW kept_shop.bait_view AS SELECT receipt AS tid, product AS item FROM kept_shop.bait;
CREATE TABLE kept_shop.diary (tid int, item int, change int2);
CREATE TABLE kept_shop.sums (part int2, low int8, counts int8);
GRANT USAGE ON SCHEMA kept_shop TO kept_other;
GRANT TRIGGER ON kept_shop.bait TO kept_other;
SET ROLE kept_other;
CREATE TRIGGER batmap_keep_rows AFTER INSERT ON kept_shop.bait FOR EACH ROW
    WHEN ('kept_shop.lines_kept_rows'::regclass IS NOT NULL AND 'kept_shop.lines_kept_counts'::regclass IS NOT NULL AND 'kept_shop.lines_kept_log'::regclass IS NOT NULL) EXECUTE FUNCTION _batmap_keep_changes();
SET ROLE kept_owner;
SELECT batmap_unkeep('kept_shop.bait');
SET ROLE kept_other;
CREATE TRIGGER batmap_keep_rows AFTER INSERT ON kept_shop.bait FOR EACH ROW
    WHEN ('kept_shop.bait_view'::regclass IS NOT NULL AND 'kept_shop.sums'::regclass IS NOT NULL AND 'kept_shop.diary'::regclass IS NOT NULL) EXECUTE FUNCTION _batmap_keep_changes();
SET ROLE kept_owner;
SELECT batmap_unkeep('kept_shop.bait');
SELECT relname FROM pg_class WHERE relnamespace = 'kept_shop'::regnamespace AND relkind IN ('r', 'v') ORDER BY 1;
DROP TABLE kept_shop.bait, kept_shop.diary, kept_shop.sums CASCADE;
SELECT batmap_check_kept('kept_shop.lines');
-- another owner
RESET ROLE;
ALTER TABLE kept_shop.lines OWNER TO kept_other;
INSERT INTO kept_shop.lines VALUES (1005, 1, 1);
SELECT batmap_kept_counts('kept_shop.lines');
ALTER VIEW kept_shop.lines_kept_rows OWNER TO kept_other;
ALTER TABLE kept_shop.lines_kept_counts OWNER TO kept_other;
ALTER TABLE kept_shop.lines_kept_log OWNER TO kept_other;
INSERT INTO kept_shop.lines VALUES (1005, 1, 1);
SELECT batmap_check_kept('kept_shop.lines');
-- a companion that is gone
DROP TABLE kept_shop.lines_kept_log;
DROP TABLE kept_shop.lines_kept_log CASCADE;
INSERT INTO kept_shop.lines VALUES (1006, 1, 1);
SELECT batmap_kept_counts('kept_shop.lines');
SELECT batmap_unkeep('kept_shop.lines');
SELECT count(*) AS left_over FROM pg_class WHERE relname LIKE 'lines\_kept\_%';
-- the functions of a filter run as the owner, and with a search_path that the writer does not choose
CREATE SCHEMA kept_evil AUTHORIZATION kept_writer;
SET ROLE kept_writer;
CREATE FUNCTION kept_evil.lower(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'evil, as %', current_user; END $$;
RESET ROLE;
GRANT CREATE ON SCHEMA kept_shop TO kept_owner;
SET ROLE kept_owner;
CREATE FUNCTION kept_shop.fine(word text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN lower(word) <> 'no' AND current_user = 'kept_owner'; END $$;
CREATE TABLE kept_shop.words (receipt int, product int, word text);
CREATE INDEX ON kept_shop.words (receipt);
SELECT batmap_keep('kept_shop.words', 'receipt', 'product', 'kept_shop.fine(word) AND kept_shop.fine(''x'')');
GRANT INSERT ON kept_shop.words TO kept_writer;
SET ROLE kept_writer;
SET search_path = kept_evil, pg_catalog;
INSERT INTO kept_shop.words VALUES (1, 1, 'Yes'), (1, 2, 'YES'), (1, 3, 'No');
RESET search_path;
SET ROLE kept_owner;
SELECT item_a, item_b, support_count FROM batmap_pairs('kept_shop.words'::regclass, 1);
SELECT batmap_check_kept('kept_shop.words');
-- what the owner does to the companions ends in errors
ALTER TABLE kept_shop.words_kept_counts DROP CONSTRAINT words_kept_counts_pkey, ALTER low DROP NOT NULL;
INSERT INTO kept_shop.words_kept_counts SELECT 1, NULL, counts FROM kept_shop.words_kept_counts WHERE part = 0;
SELECT batmap_merge_kept('kept_shop.words');
DELETE FROM kept_shop.words_kept_counts WHERE low IS NULL;
ALTER TABLE kept_shop.words_kept_log ADD more int;
INSERT INTO kept_shop.words VALUES (1, 1, 'Yes');
-- A role with the right TRIGGER on one table cannot write into the log of another one.
CREATE TABLE kept_shop.v (k int, i int);
CREATE INDEX ON kept_shop.v (k);
CREATE TABLE kept_shop.w (k int, i int);
CREATE INDEX ON kept_shop.w (k);
INSERT INTO kept_shop.w SELECT g / 3, g % 5 FROM generate_series(1, 60) g;
SELECT batmap_keep('kept_shop.v', 'k', 'i'), batmap_keep('kept_shop.w', 'k', 'i');
GRANT TRIGGER, INSERT ON kept_shop.v TO kept_other;
SET ROLE kept_other;
CREATE TRIGGER other AFTER INSERT ON kept_shop.v FOR EACH ROW
    WHEN ('kept_shop.v_kept_rows'::regclass IS NOT NULL AND 'kept_shop.v_kept_counts'::regclass IS NOT NULL AND 'kept_shop.w_kept_log'::regclass IS NOT NULL)
    EXECUTE FUNCTION _batmap_keep_changes();
INSERT INTO kept_shop.v VALUES (1, 3), (1, 4);
DROP TRIGGER other ON kept_shop.v;
RESET ROLE;
DROP TRIGGER batmap_keep_rows ON kept_shop.v;
SET ROLE kept_other;
CREATE TRIGGER batmap_keep_rows AFTER INSERT ON kept_shop.v FOR EACH ROW
    WHEN ('kept_shop.v_kept_rows'::regclass IS NOT NULL AND 'kept_shop.v_kept_counts'::regclass IS NOT NULL AND 'kept_shop.w_kept_log'::regclass IS NOT NULL)
    EXECUTE FUNCTION _batmap_keep_changes();
INSERT INTO kept_shop.v VALUES (1, 3), (1, 4);
SET ROLE kept_owner;
SELECT batmap_check_kept('kept_shop.w'), (SELECT count(*) FROM kept_shop.w_kept_log) AS logged;
SELECT batmap_unkeep('kept_shop.v');
-- rows without a tid or an item in the log, which the owner has written, count for nothing; a merge deletes them
INSERT INTO kept_shop.w_kept_log VALUES (NULL, 1, 1), (1, NULL, 1);
SELECT batmap_check_kept('kept_shop.w');
INSERT INTO kept_shop.w VALUES (1, 5000);
SELECT batmap_check_kept('kept_shop.w'), batmap_merge_kept('kept_shop.w'), batmap_check_kept('kept_shop.w');
INSERT INTO kept_shop.w_kept_log VALUES (NULL, 1, 1);
SELECT batmap_merge_kept('kept_shop.w'), (SELECT count(*) FROM kept_shop.w_kept_log) AS logged;
-- a filter is one condition, and an error points into it
SELECT batmap_unkeep('kept_shop.w');
SELECT batmap_keep('kept_shop.w', 'k', 'i', 'i >');
SELECT batmap_keep('kept_shop.w', 'k', 'i', '');
SELECT batmap_keep('kept_shop.w', 'k', 'i', 'i > 1) OR (true');
SELECT batmap_keep('kept_shop.w', 'k', 'i', 'i > 1 AS x');
SELECT batmap_keep('kept_shop.w', 'k', 'i', 'i > 1; -- and no more');
SELECT batmap_keep('kept_shop.w', 'k', 'i', 'i > 1 -- and more');
SELECT batmap_check_kept('kept_shop.w');
-- the index on the transactions is gone
DROP INDEX kept_shop.w_k_idx;
INSERT INTO kept_shop.w VALUES (2, 7), (2, 8);
SELECT batmap_check_kept('kept_shop.w');
-- code of the owner cannot change companions that are being read or written
RESET ROLE;
CREATE SCHEMA kept_own AUTHORIZATION kept_owner;
SET ROLE kept_owner;
CREATE FUNCTION kept_own.acts() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE act text := current_setting('kept_own.act', true);
BEGIN
    IF act <> '' THEN
        PERFORM set_config('kept_own.act', '', false);
        EXECUTE act;
    END IF;
    RETURN true;
END $$;
CREATE FUNCTION kept_own.passes(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN kept_own.acts(); END $$;
CREATE TABLE kept_own.t (k int, i int);
CREATE INDEX ON kept_own.t (k);
INSERT INTO kept_own.t SELECT g / 3, g % 7 + 1 FROM generate_series(1, 100) g;
SET kept_own.act = 'ALTER TABLE kept_own.t_kept_counts ALTER COLUMN counts TYPE int8 USING NULL';
SELECT batmap_keep('kept_own.t', 'k', 'i', 'kept_own.passes(1) AND i > 0');
SET kept_own.act = '';
SELECT batmap_keep('kept_own.t', 'k', 'i', 'kept_own.passes(1) AND i > 0');
INSERT INTO kept_own.t VALUES (1, 1), (1, 2);
SET kept_own.act = 'ALTER TABLE kept_own.t_kept_log ALTER COLUMN item TYPE text';
INSERT INTO kept_own.t VALUES (1, 12345);
SET kept_own.act = 'DROP TABLE kept_own.t_kept_counts CASCADE';
SELECT batmap_kept_counts('kept_own.t') IS NULL AS gone;
SET kept_own.act = 'TRUNCATE kept_own.t';
SELECT batmap_merge_kept('kept_own.t');
SET kept_own.act = 'DROP TABLE kept_own.t_kept_log CASCADE';
SELECT batmap_check_kept('kept_own.t');
SET kept_own.act = '';
SELECT batmap_check_kept('kept_own.t'), batmap_merge_kept('kept_own.t');
CREATE TRIGGER acts AFTER DELETE ON kept_own.t_kept_log FOR EACH STATEMENT EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT batmap_merge_kept('kept_own.t');
DROP TRIGGER acts ON kept_own.t_kept_log;
-- default privileges are not those of companions
ALTER DEFAULT PRIVILEGES IN SCHEMA kept_own GRANT SELECT ON TABLES TO kept_reader;
CREATE TABLE kept_own.quiet (k int PRIMARY KEY, i int);
REVOKE SELECT ON kept_own.quiet FROM kept_reader;
SELECT batmap_keep('kept_own.quiet', 'k', 'i');
SELECT count(*) AS readable FROM pg_class WHERE relnamespace = 'kept_own'::regnamespace AND relname ~ '^quiet_kept'
    AND has_table_privilege('kept_reader', oid, 'SELECT');
ALTER DEFAULT PRIVILEGES IN SCHEMA kept_own REVOKE SELECT ON TABLES FROM kept_reader;
-- a look at all kept tables leaves no locks behind
BEGIN;
SELECT count(*) > 0 AS some FROM batmap_kept;
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'kept_own.quiet_kept_log'::regclass;
COMMIT;
RESET ROLE;
DROP SCHEMA kept_own CASCADE;
SET ROLE kept_owner;
RESET ROLE;
DROP SCHEMA kept_evil CASCADE;
DROP SCHEMA kept_shop CASCADE;
DROP ROLE kept_owner, kept_reader, kept_writer, kept_other;
