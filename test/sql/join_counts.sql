-- Join counts of parts, made from query text and added up: all pairs, and those at a threshold in two rounds, equal to one join.
CREATE SCHEMA join_counts;
SET search_path = join_counts, public;
CREATE TABLE r AS SELECT (hashint4(g)::int8 & 63) AS a, g % 997 AS b FROM generate_series(1, 12000) g;
CREATE TABLE s AS SELECT g % 991 AS b, (hashint4(-g)::int8 & 31) * 1000000 AS c FROM generate_series(1, 9000) g;
INSERT INTO r SELECT * FROM r LIMIT 100;
INSERT INTO s VALUES (1, NULL), (NULL, 1);
CREATE TABLE parts AS SELECT p AS part, format('SELECT a, b FROM r WHERE b %% 4 = %s', p) AS l, format('SELECT b, c FROM s WHERE b %% 4 = %s', p) AS r FROM generate_series(0, 3) p;
CREATE FUNCTION differ(x text, y text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE rows int8;
BEGIN
    EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d', x, y) INTO rows;
    RETURN rows;
END $$;

CREATE TABLE whole AS SELECT batmap_join_counts_from('r', 's') AS c;
SELECT batmap_join_counts_total(c), batmap_join_counts_pairs(c) FROM whole;
SELECT count(*) FROM (SELECT b FROM r WHERE a IS NOT NULL INTERSECT SELECT b FROM s WHERE c IS NOT NULL) shared;
SELECT differ($$SELECT a, c, count(DISTINCT b) FROM r JOIN s USING (b) WHERE c IS NOT NULL GROUP BY 1, 2$$, $$SELECT j.* FROM whole, batmap_join_project(c) j$$);
SELECT differ($$SELECT * FROM batmap_join_project('r', 's', min_count => 48)$$, $$SELECT j.* FROM whole, batmap_join_project(c, min_count => 48) j$$);
SELECT count(*) > 100 AS some FROM whole, batmap_join_project(c, min_count => 48);
SELECT differ($$SELECT * FROM batmap_join_project('r', 's', top_k => 20)$$, $$SELECT j.* FROM whole, batmap_join_project(c, top_k => 20) j$$);
SELECT differ($$SELECT * FROM batmap_join_project('r', 's', per_item_top_k => 2)$$, $$SELECT j.* FROM whole, batmap_join_project(c, per_item_top_k => 2) j$$);
SELECT j.* FROM whole, batmap_join_project(c, top_k => 3) j;
SELECT method, reason, input, transactions FROM batmap_last_run();
-- parts add up, by sum and by `+`
SELECT sum(batmap_join_counts_from(l, r))::text = (SELECT c::text FROM whole) AS same FROM parts;
SELECT (c + c)::text = (SELECT sum(w.c)::text FROM whole w, generate_series(1, 2)) AS same, batmap_join_counts_total(c + c) FROM whole;
-- a part may leave out what is rare in it: with a threshold of 15 in each of four parts no pair of 57 is lost
CREATE TABLE candidates AS SELECT sum(batmap_join_counts_from(l, r, min_count => 15)) AS c FROM parts;
CREATE TABLE exact AS SELECT sum(batmap_join_counts_from(l, r, candidates => c)) AS c FROM parts, candidates;
SELECT batmap_join_counts_pairs(e.c) = batmap_join_counts_pairs(c.c) AS all_counted, batmap_join_counts_pairs(e.c) < batmap_join_counts_pairs(w.c) AS fewer,
    batmap_join_counts_total(e.c) FROM exact e, candidates c, whole w;
SELECT differ($$SELECT j.* FROM whole, batmap_join_project(c, min_count => 57) j$$, $$SELECT j.* FROM exact, batmap_join_project(c, min_count => 57) j$$);
-- in files
SET batmap.work_mem = '64kB';
SELECT batmap_join_counts_from('r', 's')::text = c::text AS same FROM whole;
SELECT batmap_join_counts_from('r', 's', candidates => e.c)::text = e.c::text AS same FROM exact e;
SELECT count(*) FROM pg_ls_tmpdir();
RESET batmap.work_mem;
-- parameters
SELECT batmap_join_counts_total(batmap_join_counts_from('SELECT a, b FROM r WHERE b < $1', 'SELECT b, c FROM s WHERE b < $1', params => ROW(10)));
-- text and binary form
SELECT c::text::batmap_join_counts::text = c::text AS lossless FROM whole;
SELECT octet_length(_batmap_join_counts_send(c)) < 3 * batmap_join_counts_pairs(c) AS short FROM whole;
SELECT batmap_join_counts_from('VALUES (7, 1), (9, 1)', 'VALUES (1, 7), (2, 7)');
SELECT j.* FROM batmap_join_project('j1:AwAAAAMAAAA7AAAAAAAAAAAAAAAAAAAAAQAAAAAAAAACAAAAAAAAAAcAAAAAAAAAAg4CAQIOAAEAAAA='::batmap_join_counts) j;
SELECT ''::batmap_join_counts;
SELECT 'j1:'::batmap_join_counts;
SELECT 'j1:AwAAAAMAAAA7AAAAAAAAAAAAAAAAAAAAAQAAAAAAAAACAAAAAAAAAAcAAAAAAAAAAw4CAQIOAAEAAAA='::batmap_join_counts;
-- pair counts are none
SELECT replace(batmap_pair_counts_agg(1, x)::text, 'c1:', 'j1:')::batmap_join_counts FROM generate_series(1, 2) x;
SELECT replace(c::text, 'j1:', 'c1:')::batmap_pair_counts FROM whole;
-- nothing, NULL, and what is refused
SELECT batmap_join_counts_pairs(batmap_join_counts_from('SELECT 1, 2 WHERE false', 's'));
SELECT sum(c) FROM whole WHERE false;
SELECT count(*) FROM batmap_join_project(NULL::batmap_join_counts);
SELECT batmap_join_counts_from(NULL, 's');
SELECT batmap_join_counts_from('r', 's', min_count => 0);
SELECT batmap_join_counts_from('r', 's', min_count => 2, candidates => c) FROM candidates;
SELECT batmap_join_counts_from('SELECT a::text, b FROM r', 's');
SELECT count(*) FROM whole, batmap_join_project(c, min_count => 0);
-- over one server, the distributed forms are the same
SELECT batmap_distributed_join_counts('r', 's')::text = c::text AS same FROM whole;
SELECT differ($$SELECT * FROM batmap_join_project('r', 's', min_count => 48)$$, $$SELECT * FROM batmap_distributed_join_project('r', 's', min_count => 48)$$);
SELECT differ($$SELECT * FROM batmap_join_project('r', 'SELECT b, a FROM r', min_count => 40)$$,
    $$SELECT * FROM batmap_distributed_join_project('r', 'r', min_count => 40, right_b_column => 'b', c_column => 'a')$$);
SELECT batmap_distributed_join_counts('r', NULL);
SELECT batmap_distributed_join_counts('r', 's', min_count => 0);
SELECT batmap_distributed_join_counts('r', 's', c_column => 'd');
SET client_min_messages = warning;
DROP SCHEMA join_counts CASCADE;
