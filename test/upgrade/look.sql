-- What must be the same before and after an upgrade, of what make.sql made. Each index answers with scans of the table off.

SELECT id, batmap_cardinality(s), md5(s::text), md5(s::bytea::text) FROM sets ORDER BY id;
SELECT id, md5(s::text), md5(s::bytea::text), size, md5(several::text), usual FROM prepared ORDER BY id;
SELECT tableoid::regclass, count(*), md5(string_agg(s::text, ' ' ORDER BY s)) FROM parted GROUP BY 1 ORDER BY 1;
SELECT count(*), md5(string_agg(b::text, ' ' ORDER BY (b).receipt)) FROM baskets;
SELECT id, md5(r::text), md5(c::text) FROM relations ORDER BY id;
SELECT md5(pairs::text), md5(text_pairs::text), md5(itemsets::text), md5(text_itemsets::text) FROM answers;
SELECT count(*), sum(support_count), min(item_a), max(item_b) FROM pairs;
SELECT count(*), sum(n), max(n) FROM together;
SELECT count(*), sum(distance)::numeric(10, 3) FROM close_to;
SELECT count(*), sum(n) FROM often(5) n;
SELECT * FROM batmap_pairs((SELECT r FROM relations WHERE id = 1), min_count => 2) ORDER BY item_a, item_b LIMIT 20;
SELECT * FROM batmap_pairs_of((SELECT r FROM relations WHERE id = 2), min_count => 2) ORDER BY item_a, item_b LIMIT 20;
SELECT batmap_pair_counts_total(sum(c)), batmap_pair_counts_pairs(sum(c)) FROM relations WHERE id = 1;
SELECT * FROM batmap_partners((SELECT r FROM relations WHERE id = 1), 2, top_k => 2) ORDER BY item, rank;

SELECT kept_table, tid, item, filter FROM batmap_kept ORDER BY kept_table::text;
SELECT batmap_check_kept('kept'), batmap_check_kept('kept_names');
SELECT md5(batmap_kept_counts('kept')::text), md5(batmap_kept_counts_of('kept_names')::text);
SELECT count(*), sum(support_count) FROM batmap_pairs('kept'::regclass, min_count => 3);

-- Of others than the owner.
SELECT p.oid::regprocedure, a.grantee::regrole, a.privilege_type FROM pg_proc p, aclexplode(p.proacl) a
 WHERE p.proname IN ('batmap_devices', 'batmap_last_run', 'batmap_keep') AND a.grantee <> p.proowner ORDER BY 1, 2, 3;
SELECT c.relname, a.grantee::regrole, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a
 WHERE c.relname IN ('batmap_progress', 'batmap_kept', 'sets') AND a.grantee <> c.relowner ORDER BY 1, 2, 3;
SELECT a.grantee::regrole, a.privilege_type FROM pg_type t, aclexplode(t.typacl) a WHERE t.typname = 'batmap' ORDER BY 1;
SELECT has_function_privilege('upgrade_guest', 'batmap_last_run()', 'EXECUTE'), has_table_privilege('upgrade_guest', 'batmap_progress', 'SELECT');

SET enable_seqscan = off;
CREATE TEMP TABLE plans (line text);
DO $$
DECLARE condition text; line text;
BEGIN
    FOREACH condition IN ARRAY ARRAY['s @> ''{0,8}''', 's > ''{0,3}'' AND id < 200', 's = ''{0,5}''', 'batmap_cardinality(s) = 17'] LOOP
        FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT id FROM sets WHERE ' || condition LOOP
            INSERT INTO plans VALUES (line);
        END LOOP;
    END LOOP;
END $$;
SELECT count(*) AS scans_of_the_table FROM plans WHERE line LIKE '%Seq Scan%';
SELECT count(*), sum(id) FROM sets WHERE s @> '{0,8}';
SELECT count(*), sum(id) FROM sets WHERE s = (SELECT s FROM sets WHERE id = 17);
SELECT count(*), md5(string_agg(id::text, ',' ORDER BY s, id)) FROM sets WHERE s > '{0,3}' AND id < 200;
SELECT count(*), sum(id) FROM sets WHERE batmap_cardinality(s) = 17;
REFRESH MATERIALIZED VIEW pairs;
SELECT count(*), sum(support_count) FROM pairs;

-- What changes the tables is taken back, so the next look sees the same.
BEGIN;
INSERT INTO kept VALUES (5000, 1), (5000, 2);
INSERT INTO parted VALUES ('{1,2,3}'), ('{4,5}');
INSERT INTO prepared (id, s) VALUES (-1, '{1,5}');
SELECT batmap_check_kept('kept'), batmap_merge_kept('kept') > 0, batmap_check_kept('kept');
SELECT size, usual FROM prepared WHERE id = -1;
SELECT tableoid::regclass, s FROM parted WHERE s IN ('{1,2,3}', '{4,5}') ORDER BY s;
ROLLBACK;
