-- Nondeterministic collations: equality is that of the collation, not of the bytes. Only a server with ICU has them.
SELECT NOT EXISTS (SELECT FROM pg_collation WHERE collname LIKE '%-x-icu') AS no_icu
\gset
\if :no_icu
\quit
\endif
LOAD 'batmap';
CREATE COLLATION case_blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE collated (tid int, item text);
INSERT INTO collated VALUES (1, 'Milk'), (1, 'bread'), (2, 'MILK'), (2, 'Bread');
SELECT lower(item_a), lower(item_b), support_count FROM batmap_pairs_of('SELECT tid, item COLLATE case_blind FROM collated', min_count => 1);
SELECT item_a, item_b, support_count FROM batmap_pairs_of('SELECT tid, item FROM collated', min_count => 1) ORDER BY 1, 2;
-- a relation tells items apart by their bytes
SELECT u.* FROM (SELECT batmap_relation_agg(tid, item COLLATE case_blind) AS r FROM collated) q, batmap_unnest_of(q.r) u;
-- the node leaves them to the plain plan
SELECT taken, expression, reason FROM batmap_explain_why('SELECT a.item COLLATE case_blind, b.tid, count(*) FROM collated a JOIN collated b USING (tid) GROUP BY 1, 2');
SELECT taken, expression, reason FROM batmap_explain_why('SELECT a.tid, b.tid, count(*) FROM collated a JOIN collated b ON a.item COLLATE case_blind = b.item COLLATE case_blind GROUP BY 1, 2');
SELECT lower(a.item COLLATE case_blind) AS a, lower(b.item COLLATE "C") AS b, count(*) FROM collated a JOIN collated b USING (tid)
    WHERE lower(a.item) < lower(b.item) GROUP BY a.item COLLATE case_blind, lower(b.item COLLATE "C");
-- listed pairs: with one collation, or with collations that are deterministic
SELECT item_a, item_b, support_count FROM batmap_count_pairs_of('SELECT tid, item COLLATE case_blind FROM collated', 'SELECT x COLLATE case_blind, ''BREAD'' COLLATE case_blind FROM (VALUES (''miLk'')) v (x)');
SELECT item_a, item_b, support_count FROM batmap_count_pairs_of('SELECT tid, item FROM collated', 'SELECT ''Milk'' COLLATE "C", ''bread'' COLLATE "POSIX"');
SELECT * FROM batmap_count_pairs_of('SELECT tid, item FROM collated', 'SELECT ''Milk'' COLLATE case_blind, ''BREAD'' COLLATE case_blind');
SELECT * FROM batmap_count_pairs_of('SELECT tid, item FROM collated', 'SELECT ''Milk'' COLLATE case_blind, ''BREAD'' COLLATE "C"');
SELECT c.item_a, c.item_b, c.support_count, c.count_a FROM (SELECT batmap_relation_agg(tid, item) AS r FROM collated) q,
    batmap_count_pairs_of(r, 'SELECT a COLLATE case_blind, ''bread'' COLLATE "C" FROM (VALUES (''Milk''), (''MILK''), (''milk'')) v (a)') c;
SELECT * FROM batmap_triangles('SELECT a COLLATE case_blind, b COLLATE case_blind FROM (VALUES (''x'', ''y''), (''Y'', ''z''), (''Z'', ''X'')) v (a, b)');
DROP TABLE collated;
DROP COLLATION case_blind;
