-- Bad input: a clear error with SQLSTATE and hint, and a session that goes on.
\set VERBOSITY verbose
\set SHOW_CONTEXT never
CREATE FUNCTION try(statement text) RETURNS TABLE (sqlstate_ text, message text, hint text) LANGUAGE plpgsql AS $$
DECLARE
    s text;
    m text;
    h text;
BEGIN
    EXECUTE statement;
    RETURN QUERY SELECT '00000', 'no error', '';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS s = RETURNED_SQLSTATE, m = MESSAGE_TEXT, h = PG_EXCEPTION_HINT;
    RETURN QUERY SELECT s, m, h;
END
$$;
CREATE TABLE t (tid int, item int);
CREATE FUNCTION pairs(arguments text) RETURNS SETOF record LANGUAGE sql AS
    $$ SELECT * FROM try('SELECT * FROM batmap_pairs(' || arguments || ')') $$;
\pset format unaligned
\pset tuples_only on
SELECT * FROM pairs($$'SELECT 1, 2'$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_count => 1, min_support => 0.5$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_count => 0$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_count => -1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_support => 0$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_support => 1.01$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_support => 1.00000001$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_support => 'NaN'$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', top_k => 0$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', per_item_top_k => -3$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_count => 1, max_results => 0$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_count => 1, method => 'magic'$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2', min_count => 1, include => '{1,NULL}'$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$NULL::text, min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2, 3', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, ''x''::text', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2.5', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM try($$SELECT * FROM batmap_join_project('SELECT ''{2,3}''::int[], 1', 'SELECT 1, 2')$$);
SELECT * FROM try($$SELECT * FROM batmap_join_project('SELECT ''[2,3]''::jsonb, 1', 'SELECT 1, 2')$$);
SELECT * FROM pairs($$'SELECT 1, 2', top_k => 1, measure => 'confidence'$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT point(1, 2), 2', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2; SELECT 3, 4', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2) x; DROP TABLE t; SELECT (1, 2', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'INSERT INTO t VALUES (1, 2) RETURNING *', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'WITH i AS (INSERT INTO t VALUES (1, 2) RETURNING *) SELECT * FROM i', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1, 2 INTO u', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'EXPLAIN SELECT 1, 2', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'COPY t TO STDOUT', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT * FROM nowhere', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT $1, 2', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT 1 / 0, 2', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT * FROM pairs($$'SELECT i, 1 / (i - 5000) FROM generate_series(1, 9000) i', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT sqlstate_, message, hint ~ 'Available values on this machine: auto, .*scalar' FROM try($$SET batmap.cpu_kernel = 'mmx'$$);
SELECT sqlstate_, message FROM try($$SET batmap.threads = -1$$);
SELECT sqlstate_, message FROM try($$SET batmap.on_truncation = 'never'$$);
SELECT sqlstate_, message FROM try($$SET batmap.unknown = 1$$);
SELECT count(*) FROM t;
-- out of its memory: an error, and the session goes on
SET batmap.memory_limit = '1MB';
SELECT sqlstate_, hint FROM pairs($$'SELECT i, i % 100000 FROM generate_series(1, 1000000) i', min_count => 1$$) r (sqlstate_ text, message text, hint text);
SELECT sqlstate_, hint FROM try($$SELECT * FROM batmap_pairs_of('SELECT i, ''item '' || i FROM generate_series(1, 100000) i', min_count => 1)$$);
RESET batmap.memory_limit;
SELECT count(*) FROM batmap_pairs('SELECT i / 2, i % 4 FROM generate_series(1, 1000) i', min_count => 1);
-- permissions are the caller's
CREATE ROLE batmap_reader;
SET ROLE batmap_reader;
SELECT * FROM pairs($$'SELECT tid, item FROM t', min_count => 1$$) r (sqlstate_ text, message text, hint text);
RESET ROLE;
GRANT SELECT ON t TO batmap_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON t USING (tid % 2 = 0);
INSERT INTO t VALUES (1, 1), (1, 2), (2, 1), (2, 3);
SET ROLE batmap_reader;
SELECT item_a, item_b FROM batmap_pairs('SELECT tid, item FROM t', min_count => 1);
RESET ROLE;
SELECT item_a, item_b FROM batmap_pairs('SELECT tid, item FROM t', min_count => 1) ORDER BY 1, 2;
SELECT count(*) FROM batmap_pairs_of('SELECT tid, item FROM t', 1, tid_column => 'item', item_column => 'item');
DROP FUNCTION pairs, try;
DROP TABLE t;
DROP ROLE batmap_reader;
