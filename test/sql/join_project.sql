-- batmap_join_project: semantics on tables small enough to check by eye, then against plain SQL.
-- Oracles are plain joins, answered by the plain plan.
SET batmap.enable_join_project = off;
CREATE TABLE r (a int, b int);  -- who knows which language
CREATE TABLE s (b int, c int);  -- which language is used where
INSERT INTO r VALUES (1, 10), (1, 11), (2, 10), (2, 12), (3, 13), (4, 10), (4, 10),  -- a duplicate counts once
    (5, NULL), (NULL, 10);
INSERT INTO s VALUES (10, 1), (11, 1), (10, 2), (12, 3), (14, 4), (NULL, 1), (10, NULL), (10, 2);
SELECT * FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s') ORDER BY a, c;
SELECT operation, input, rows_read, transactions, items, items_kept, pair_instances, results FROM batmap_last_run();
SELECT * FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s', min_count => 2);
SELECT * FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s', top_k => 2);
SELECT * FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s', per_item_top_k => 1) ORDER BY a, c;
-- existence only: no supports
SELECT * FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s', distinct_only => true) ORDER BY a, c;
SELECT * FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s', distinct_only => true, min_count => 2);
SELECT row(p.*) FROM ROWS FROM (batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s', 2, true)) WITH ORDINALITY p;
SELECT * FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s', distinct_only => NULL, min_count => 2);
-- cut off: never silently
SELECT count(*) FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s', max_results => 3);
SELECT results, truncated FROM batmap_last_run();
-- nothing in, nothing out
SELECT * FROM batmap_join_project('SELECT a, b FROM r WHERE false', 'SELECT b, c FROM s');
SELECT * FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b, c FROM s WHERE false');
SELECT * FROM batmap_join_project('SELECT a, b FROM r', 'SELECT b + 100, c FROM s');
SELECT method, reason, transactions, results FROM batmap_last_run();
-- b of any type, a and c of any integer type
SELECT * FROM batmap_join_project('SELECT a::int2, b::int8 FROM r', 'SELECT b::int2, c::int8 FROM s', min_count => 2);
SELECT * FROM batmap_join_project('SELECT a, ''b'' || b FROM r', 'SELECT ''b'' || b, c FROM s', min_count => 2);
SELECT * FROM batmap_join_project('SELECT a, b::numeric FROM r', 'SELECT b::numeric, c FROM s', min_count => 2);
SELECT * FROM batmap_join_project('SELECT a, date ''2026-01-01'' + b FROM r', 'SELECT date ''2026-01-01'' + b, c FROM s', min_count => 2);
SELECT * FROM batmap_join_project('VALUES (9223372036854775807, 1), (-9223372036854775808, 1)',
                                  'VALUES (1, 9223372036854775807), (1, -9223372036854775808)') ORDER BY a, c;

-- every method and any number of threads gives the rows that plain SQL gives, in one order
CREATE TABLE lefts AS SELECT (i * i % 401)::int AS a, (i * 7919 % 997)::int AS b FROM generate_series(1, 9000) i;
CREATE TABLE rights AS SELECT (i * 31 % 1499)::int AS b, (i * i % 1201 % 173)::int AS c FROM generate_series(1, 7000) i;
CREATE TABLE plain AS
SELECT l.a, r.c, count(DISTINCT b) AS support_count FROM lefts l JOIN rights r USING (b) GROUP BY 1, 2;
CREATE TABLE answers (method text, threads int, distinct_only bool, n bigint, a int8, c int8, support_count int8);
DO $$
DECLARE
    m text;
    t int;
    d bool;
BEGIN
    FOREACH m IN ARRAY '{auto,horizontal,positional,bitmap,batmap,merge}'::text[] LOOP
        FOREACH t IN ARRAY '{1,3}'::int[] LOOP
            FOREACH d IN ARRAY '{f,t}'::bool[] LOOP
                EXECUTE format('SET LOCAL batmap.threads = %s', t);
                INSERT INTO answers SELECT m, t, d, p.n, p.a, p.c, p.support_count
                FROM batmap_join_project('SELECT a, b FROM lefts', 'TABLE rights', min_count => 2, distinct_only => d, method => m)
                    WITH ORDINALITY AS p (a, c, support_count, n);
            END LOOP;
        END LOOP;
    END LOOP;
END
$$;
SELECT distinct_only, count(*) AS answers, count(DISTINCT digest) AS different, min(rows) > 5000 AS many
FROM (SELECT distinct_only, count(*) AS rows, md5(string_agg(format('%s %s %s', a, c, support_count), ',' ORDER BY n)) AS digest
      FROM answers GROUP BY method, threads, distinct_only) d GROUP BY 1 ORDER BY 1;
SELECT count(DISTINCT digest) AS different FROM (
    SELECT md5(string_agg(format('%s %s', a, c), ',' ORDER BY n)) AS digest FROM answers GROUP BY method, threads, distinct_only) d;
SELECT count(*) AS missing FROM (SELECT * FROM plain WHERE support_count >= 2 EXCEPT SELECT a, c, support_count FROM answers) d;
SELECT count(*) AS wrong FROM (SELECT a, c, support_count FROM answers WHERE NOT distinct_only EXCEPT SELECT * FROM plain) d;
SELECT count(*) AS wrong FROM (SELECT a, c FROM answers WHERE distinct_only EXCEPT SELECT a, c FROM plain WHERE support_count >= 2) d;
SELECT count(*) AS wrong FROM (
    (SELECT * FROM batmap_join_project('TABLE lefts', 'TABLE rights', top_k => 300)
     EXCEPT SELECT * FROM (SELECT * FROM plain ORDER BY support_count DESC, a, c LIMIT 300) p)
    UNION ALL
    (SELECT * FROM (SELECT * FROM plain ORDER BY support_count DESC, a, c LIMIT 300) p
     EXCEPT SELECT * FROM batmap_join_project('TABLE lefts', 'TABLE rights', top_k => 300))) d;
SELECT count(*) AS wrong FROM (
    (SELECT a, c FROM batmap_join_project('TABLE lefts', 'TABLE rights', distinct_only => true)
     EXCEPT SELECT DISTINCT l.a, r.c FROM lefts l JOIN rights r ON l.b = r.b)
    UNION ALL
    (SELECT DISTINCT l.a, r.c FROM lefts l JOIN rights r ON l.b = r.b
     EXCEPT SELECT a, c FROM batmap_join_project('TABLE lefts', 'TABLE rights', distinct_only => true))) d;

-- the same from workers, which aggregate their rows
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE lefts SET (parallel_workers = 2);
SELECT count(*) AS wrong FROM (SELECT * FROM batmap_join_project('TABLE lefts', 'TABLE rights') EXCEPT SELECT * FROM plain) d;
SELECT input, results = (SELECT count(*) FROM plain) AS complete FROM batmap_last_run();
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- streamed: the plan node, LIMIT, cursors, lateral
EXPLAIN (COSTS OFF) SELECT * FROM batmap_join_project('TABLE lefts', 'TABLE rights') WHERE a > 3 LIMIT 2;
SELECT count(*) FROM (SELECT * FROM batmap_join_project('TABLE lefts', 'TABLE rights') LIMIT 5) d;
BEGIN;
DECLARE j CURSOR FOR SELECT a, c, support_count FROM batmap_join_project('TABLE r', 'TABLE s', top_k => 3);
FETCH 1 FROM j;
FETCH 1 FROM j;
CLOSE j;
COMMIT;
SELECT l.k, p.* FROM (VALUES (1), (2)) l (k),
    LATERAL batmap_join_project('TABLE r', 'TABLE s', min_count => l.k, distinct_only => l.k = 2) p ORDER BY 1, 2, 3;
EXPLAIN (COSTS OFF) SELECT * FROM batmap_join_project('TABLE r', 'TABLE s', top_k => 7);

-- relations in place of queries
SELECT p.* FROM (SELECT batmap_relation_agg(b, a) AS l FROM r) l, (SELECT batmap_relation_agg(b, c) AS r FROM s) r,
    LATERAL batmap_join_project(l.l, r.r) p ORDER BY a, c;
SELECT input FROM batmap_last_run();
SELECT * FROM batmap_join_project(NULL::batmap_relation, NULL);
SELECT half, p.* FROM (SELECT a % 2 AS half, batmap_relation_agg(b, a) AS l FROM r WHERE a IS NOT NULL GROUP BY 1) g,
    LATERAL batmap_join_project(g.l, (SELECT batmap_relation_agg(b, c) FROM s), min_count => 1) p ORDER BY 1, 2, 3;

-- a and c of other types, each of its own
SELECT a, c, support_count, pg_typeof(a), pg_typeof(c) FROM batmap_join_project_as(NULL::text, NULL::numeric, 'SELECT ''a'' || a, b FROM r', 'SELECT b, c / 2.0 FROM s') ORDER BY a, c;
SELECT * FROM batmap_join_project_as(NULL::uuid, NULL::date, 'SELECT md5(a::text)::uuid, b FROM r', 'SELECT b, date ''2026-01-01'' + c FROM s', min_count => 2);
SELECT * FROM batmap_join_project_of('SELECT ''x'' || a, ''b'' || b FROM r', 'SELECT ''b'' || b, ''x'' || c FROM s', top_k => 2);
SELECT * FROM batmap_join_project_as(NULL::text, NULL::int, 'SELECT ''x'' || a, b FROM r', 'SELECT b, c FROM s', distinct_only => true) ORDER BY a, c;
SELECT count(*) AS wrong FROM (SELECT a::int, c::int, support_count FROM batmap_join_project_of('SELECT a::text, b::text FROM lefts', 'SELECT b::text, c::text FROM rights') EXCEPT SELECT * FROM plain) d;
SELECT results = (SELECT count(*) FROM plain) AS complete FROM batmap_last_run();

-- the aggregate: rows that carry (a, b, NULL) or (NULL, b, c)
CREATE TABLE either AS SELECT a, b, NULL::int AS c FROM r UNION ALL SELECT NULL, b, c FROM s;
SELECT batmap_join_project_agg(a, b, c) FROM either;
SELECT batmap_join_project_agg(a::int8, b, c) FROM either;
SELECT batmap_join_project_agg(1, 2, 3);  -- a row with all three is one of each
SELECT batmap_join_project_agg(a, b, NULL) FROM r;
SELECT batmap_join_project_agg(a, b, c) FROM either WHERE false;
SELECT batmap_join_project_agg(NULL::int, 1, NULL);
SELECT a % 2 AS odd, batmap_join_project_agg(a, b, c)
FROM (SELECT a, b, NULL::int AS c FROM r WHERE a > 0 UNION ALL SELECT half, b, c FROM s, generate_series(0, 1) half) x GROUP BY 1 ORDER BY 1;
-- states: lossless text, and merging
SELECT _batmap_join_trans(NULL, 1, 2, 3);
SELECT _batmap_join_project_final(_batmap_join_merge(_batmap_join_trans(NULL, 1, 10, NULL),
    _batmap_join_merge(_batmap_join_merge(NULL, _batmap_join_trans(NULL, NULL, 10, 7)), NULL)::text::batmap_join_state));
SELECT _batmap_join_merge(NULL, NULL) IS NULL AS nothing, _batmap_join_project_final(NULL) IS NULL AS none;
SELECT 'r1:'::batmap_join_state;
SELECT 'j1:'::batmap_join_state;
SELECT 'j1:CAAAAAAAAAA='::batmap_join_state;
-- many rows: across chunks, against plain SQL, in one process and in several
CREATE TABLE both_sides AS SELECT a, b, NULL::int AS c FROM lefts UNION ALL SELECT NULL, b, c FROM rights;
CREATE VIEW aggregated AS SELECT p.* FROM (SELECT batmap_join_project_agg(a, b, c) AS pairs FROM both_sides) x, unnest(x.pairs) p;
SELECT count(*) = (SELECT count(*) FROM plain) AS complete FROM aggregated;
SELECT count(*) AS wrong FROM (SELECT * FROM aggregated EXCEPT SELECT * FROM plain) d;
SELECT count(*) AS wrong FROM (SELECT (p).* FROM (SELECT unnest(batmap_join_project_agg(a::int8 * 1000000007, b, c - 5000000000)) AS p FROM both_sides) x
    EXCEPT SELECT a::int8 * 1000000007, c - 5000000000, support_count FROM plain) d;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE both_sides SET (parallel_workers = 2);
EXPLAIN (COSTS OFF) SELECT batmap_join_project_agg(a, b, c) FROM both_sides;
SELECT count(*) = (SELECT count(*) FROM plain) AS complete FROM aggregated;
SELECT count(*) AS wrong FROM (SELECT * FROM aggregated EXCEPT SELECT * FROM plain) d;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP VIEW aggregated;
DROP TABLE either, both_sides;

-- refused
\set VERBOSITY verbose
\set SHOW_CONTEXT never
CREATE FUNCTION refused(arguments text, name text DEFAULT 'batmap_join_project')
RETURNS TABLE (sqlstate_ text, message text, hint text) LANGUAGE plpgsql AS $$
DECLARE
    s text;
    m text;
    h text;
BEGIN
    EXECUTE 'SELECT * FROM ' || name || '(' || arguments || ')';
    RETURN QUERY SELECT '00000', 'no error', '';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS s = RETURNED_SQLSTATE, m = MESSAGE_TEXT, h = PG_EXCEPTION_HINT;
    RETURN QUERY SELECT s, m, h;
END
$$;
\pset format unaligned
\pset tuples_only on
SELECT * FROM refused($$'TABLE r', NULL::text$$);
SELECT * FROM refused($$NULL::text, 'TABLE s'$$);
SELECT * FROM refused($$'TABLE r', 'TABLE s', min_count => 0$$);
SELECT * FROM refused($$'TABLE r', 'TABLE s', top_k => 0$$);
SELECT * FROM refused($$'TABLE r', 'TABLE s', per_item_top_k => 0$$);
SELECT * FROM refused($$'TABLE r', 'TABLE s', max_results => -1$$);
SELECT * FROM refused($$'TABLE r', 'TABLE s', method => 'hash'$$);
SELECT * FROM refused($$'TABLE r', 'TABLE s', distinct_only => true, top_k => 1$$);
SELECT * FROM refused($$'SELECT a FROM r', 'TABLE s'$$);
SELECT * FROM refused($$'TABLE r', 'SELECT b, c, b FROM s'$$);
SELECT * FROM refused($$'SELECT a::text, b FROM r', 'TABLE s'$$);
SELECT * FROM refused($$'TABLE r', 'SELECT b, c::text FROM s'$$);
SELECT * FROM refused($$'TABLE r', 'SELECT b::text, c FROM s'$$);
SELECT * FROM refused($$'SELECT a, now() FROM r', 'SELECT current_date, c FROM s'$$);
SELECT * FROM refused($$'SELECT a, b::text COLLATE "C" FROM r', 'SELECT b::text COLLATE "POSIX", c FROM s'$$);
SELECT * FROM refused($$'SELECT a, point(1, 2) FROM r', 'SELECT point(1, 2), c FROM s'$$);
SELECT * FROM refused($$'DELETE FROM r', 'TABLE s'$$);
SELECT * FROM refused($$'TABLE r', 'TABLE nowhere'$$);
SELECT * FROM refused($$'TABLE r', 'SELECT 1 / (b - b), c FROM s'$$);
SELECT sqlstate_, message FROM refused($$NULL, NULL, 'TABLE r', 'TABLE s'$$, 'batmap_join_project_as');
SELECT * FROM refused($$NULL::text, NULL::int, 'TABLE r', 'TABLE s'$$, 'batmap_join_project_as');
SELECT * FROM refused($$NULL::int, NULL::text, 'TABLE r', 'TABLE s'$$, 'batmap_join_project_as');
SELECT * FROM refused($$NULL::json, NULL::int, 'SELECT ''{}''::json, b FROM r', 'TABLE s'$$, 'batmap_join_project_as');
SET batmap.memory_limit = '1MB';
SELECT sqlstate_, hint FROM refused($$'SELECT i, i FROM generate_series(1, 300000) i', 'SELECT i, i FROM generate_series(1, 300000) i'$$);
RESET batmap.memory_limit;
\pset format aligned
\pset tuples_only off
-- shared values of binary-coercible types
SELECT * FROM batmap_join_project('SELECT 1, ''x''::text', 'SELECT ''x''::varchar(3), 2');
SELECT * FROM batmap_join_project('SELECT 1, ''x''::varchar(3)', 'SELECT ''x''::text, 2');
DROP FUNCTION refused;
DROP TABLE r, s, lefts, rights, plain, answers;
