-- The planner plans the query in the text of a table function, for its cost. That must not change what the function does:
-- errors come when it is called, nobody learns of rows that he may not read, and nothing is left behind.
LOAD 'batmap';
CREATE SCHEMA scans;
SET search_path = scans, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE small AS SELECT k % 300 AS tid, k * 7 % 31 AS item FROM generate_series(1, 3000) k;
CREATE TABLE large AS SELECT k % 9000 AS tid, k * 7 % 311 AS item FROM generate_series(1, 60000) k;
ANALYZE small, large;
CREATE FUNCTION scan_of(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan';
END $$;
-- the cost before the first row is that of reading the query and of counting
CREATE FUNCTION cost_of(query text) RETURNS float8 LANGUAGE sql AS $$ SELECT (scan_of(query) ->> 'Startup Cost')::float8 $$;
CREATE FUNCTION rows_of(query text) RETURNS float8 LANGUAGE sql AS $$ SELECT (scan_of(query) ->> 'Plan Rows')::float8 $$;
-- does the planner take the constants of the catalog?
CREATE FUNCTION is_unknown(query text) RETURNS bool LANGUAGE sql AS $$
    SELECT (scan_of(query) ->> 'Startup Cost')::float8 = 2500 AND (scan_of(query) ->> 'Plan Rows')::float8 = 100000 $$;
CREATE TABLE calls (call text);
INSERT INTO calls VALUES
('batmap_pairs(''TABLE %s'', 5)'), ('batmap_pairs_as(NULL::int4, ''TABLE %s'', 5)'), ('batmap_itemsets(''TABLE %s'', min_count => 5)'),
('batmap_itemsets_as(NULL::int4, ''TABLE %s'', min_count => 5)'), ('batmap_rules(''TABLE %s'', min_count => 5)'),
('batmap_rules_as(NULL::int4, ''TABLE %s'', min_count => 5)'), ('batmap_itemset_spectrum(''TABLE %s'', min_count => 5)'),
('batmap_itemset_spectrum_as(NULL::int4, ''TABLE %s'', min_count => 5)'), ('batmap_itemset_estimate(''TABLE %s'', min_count => 5)'),
('batmap_recommend(''{1}'', ''TABLE %s'')'), ('batmap_recommend_as(NULL::int4, ''{1}'', ''TABLE %s'')'), ('batmap_estimate(''TABLE %s'')'),
('batmap_join_project(''SELECT item, tid FROM %1$s'', ''TABLE %1$s'')'),
('batmap_join_project_as(NULL::int4, NULL::int4, ''SELECT item, tid FROM %1$s'', ''TABLE %1$s'')'),
('batmap_episodes(''TABLE %s'', ARRAY[0, 3], 5)'), ('batmap_episodes_as(NULL::int4, ''TABLE %s'', ARRAY[0, 3], 5)'),
('batmap_episode_count(''TABLE %s'', ''{1,2}'', ARRAY[0, 3])'), ('batmap_episode_occurrences(''TABLE %s'', ''{1,2}'', ARRAY[0, 3])'),
('batmap_all_pairs(''SELECT item, batmap_agg(tid) FROM %s GROUP BY 1'', 5)');
SELECT call FROM calls WHERE NOT cost_of('SELECT * FROM ' || format(call, 'large')) > 5 * cost_of('SELECT * FROM ' || format(call, 'small'))
    OR is_unknown('SELECT * FROM ' || format(call, 'small'));
-- a limit on the answers ends the search, and so limits the cost: nothing is compiled for a query that ends at once
CREATE TABLE dense AS SELECT tid, item FROM generate_series(1, 100) tid, generate_series(1, 40) item WHERE (tid + item) % 20 > 0;
ANALYZE dense;
SELECT setting::float8 < cost_of(format('SELECT * FROM batmap_itemsets(''TABLE dense'', min_count => 2, max_results => %L)', most)) AS is_compiled
FROM pg_settings, unnest('{NULL,1000,0}'::text[]) most WHERE name = 'jit_above_cost';
-- the order of a join follows: few pairs are looked up by an index
CREATE TABLE names AS SELECT item::int8, 'name ' || item AS name FROM generate_series(1, 50000) item;
ALTER TABLE names ADD PRIMARY KEY (item);
ANALYZE names;
EXPLAIN (COSTS OFF) SELECT name, support_count FROM batmap_pairs('TABLE large', min_count => 200) p JOIN names n ON n.item = p.item_a;
-- in the select list; a text that the planner can compute
SELECT rows_of('SELECT batmap_pairs(''TABLE small'', 200)') < 100 AS in_list,
       rows_of('SELECT * FROM batmap_pairs(''TABLE sm'' || ''all'', 200)') < 100 AS computed,
       rows_of('SELECT * FROM batmap_pairs(format(''TABLE %I'', ''small''), 200)') < 100 AS stable;
SET plan_cache_mode = force_generic_plan;
PREPARE unknown_text(text) AS SELECT count(*) FROM batmap_pairs($1, 5);
EXPLAIN (COSTS OFF) EXECUTE unknown_text('TABLE nothing');
EXECUTE unknown_text('TABLE small');
RESET plan_cache_mode;

-- errors come when the function is called
SELECT count(*) AS wrong, bool_and(is_unknown(format('SELECT * FROM batmap_pairs(%L)', query))) AS planned FROM unnest(ARRAY['SELEC', 'TABLE nothing',
    'SELECT tid, item FROM small WHERE tid / 0 = 1 / 0', 'DELETE FROM small', 'SELECT 1, 2; SELECT 3, 4', 'TABLE large; DROP TABLE large',
    'WITH gone AS (DELETE FROM small RETURNING *) TABLE gone', 'SELECT ''x''::int, 1', '', NULL]) query;
EXPLAIN (COSTS OFF) SELECT * FROM batmap_pairs('TABLE nothing');
SELECT * FROM batmap_pairs('TABLE nothing', 5);
SELECT count(*) FROM (SELECT * FROM batmap_pairs('TABLE nothing') LIMIT 0) none;
BEGIN;
SAVEPOINT before;
SELECT is_unknown('SELECT * FROM batmap_pairs(''TABLE nothing'')');
SELECT count(*) > 0 AS goes_on FROM batmap_pairs('TABLE small', 5);
ROLLBACK TO before;
COMMIT;
-- a failed attempt leaves no lock behind
BEGIN;
SELECT is_unknown('SELECT * FROM batmap_pairs(''SELECT tid, item FROM large WHERE nothing'')');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'large'::regclass;
COMMIT;
-- volatile functions are not called; a stable one may be
CREATE SEQUENCE calls_made;
SELECT cost_of('SELECT * FROM batmap_pairs(''SELECT nextval(''''calls_made''''), item FROM small'')') > 0 AS planned, is_called FROM calls_made;
-- a text in a text
SELECT rows_of($$SELECT * FROM batmap_pairs('SELECT item_a, item_b FROM batmap_pairs(''TABLE small'', 5)', 5)$$) BETWEEN 1 AND 1e6 AS nested;

-- estimates of what the user may not read stay unknown
CREATE ROLE regress_scans;
GRANT USAGE ON SCHEMA scans TO regress_scans;
GRANT SELECT ON small, calls TO regress_scans;
CREATE VIEW of_large AS TABLE large;
GRANT SELECT ON of_large TO regress_scans;
SET ROLE regress_scans;
SELECT is_unknown('SELECT * FROM batmap_pairs(''TABLE small'')') AS small, is_unknown('SELECT * FROM batmap_pairs(''TABLE large'')') AS large,
       is_unknown('SELECT * FROM batmap_pairs(''TABLE of_large'')') AS view,
       is_unknown('SELECT * FROM batmap_pairs(''SELECT tid, item FROM small WHERE tid IN (SELECT tid FROM large)'')') AS subquery;
SELECT * FROM batmap_pairs('TABLE large', 5);
RESET ROLE;
-- the planner's own reasons are not those of the text
SELECT block, relations FROM batmap_explain_why('SELECT a.item, b.item, s.support_count FROM small a JOIN small b USING (tid)
    JOIN batmap_pairs(''SELECT x.item, y.item FROM small x JOIN small y USING (tid) GROUP BY 1, 2'') s ON s.item_a = a.item GROUP BY 1, 2, 3');
-- a cancelled statement ends
CREATE FUNCTION slow() RETURNS int STABLE LANGUAGE sql AS 'SELECT 1 FROM pg_sleep(10)';
SET statement_timeout = '100ms';
EXPLAIN SELECT * FROM batmap_pairs('SELECT tid, item FROM small WHERE tid < slow()');
RESET statement_timeout;
DROP OWNED BY regress_scans;
DROP ROLE regress_scans;
\set VERBOSITY terse
DROP SCHEMA scans CASCADE;
