-- EXPLAIN of a table function shows the query in its text, and under VERBOSE its plan, if the caller may see that.
CREATE TABLE e_lines AS SELECT i / 5 AS tid, i % 17 AS item, 'v' || i % 17 AS name FROM generate_series(1, 1000) i;
ANALYZE e_lines;
SET max_parallel_workers_per_gather = 0;
SET enable_memoize = off;
CREATE FUNCTION explained(statement text, options text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (COSTS off%s) ', options) || statement LOOP
        IF line !~ 'Output:|Function Call:|Time:|Kernel|Reason|Memory|Buffers' THEN RETURN NEXT line; END IF;
    END LOOP;
END
$$;
CREATE FUNCTION explained_json(statement text, options text DEFAULT '') RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE format('EXPLAIN (COSTS off, FORMAT json%s) ', options) || statement INTO plan;
    RETURN plan -> 0 -> 'Plan';
END
$$;
-- The lines about queries, and how deep they are.
CREATE FUNCTION explained_as(format text, statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    plan text;
BEGIN
    EXECUTE format('EXPLAIN (COSTS off, VERBOSE, FORMAT %s) ', format) || statement INTO plan;
    RETURN QUERY SELECT line FROM regexp_split_to_table(plan, '\n') line WHERE line ~ 'Query|Plan:|Plan>|Relation.Name';
END
$$;
\pset format unaligned
\pset tuples_only on
SELECT explained($$SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM e_lines', 2)$$);
SELECT explained($$SELECT count(*) FROM batmap_pairs('e_lines', 2, tid_column => 'tid', item_column => 'item')$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_pairs_of('SELECT tid, array_agg(name) FROM e_lines WHERE tid > $1 GROUP BY 1', 2, params => ROW('3'))$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_join_project('SELECT item, tid FROM e_lines', 'SELECT tid, item FROM e_lines WHERE item < 3')$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_episodes('SELECT tid, item FROM e_lines', ARRAY[0, 2], min_count => 30)$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_all_pairs('SELECT item, batmap_agg(tid) FROM e_lines GROUP BY 1', 30)$$, ', VERBOSE');
-- columns and thresholds, as far as they are known
SELECT explained($$SELECT count(*) FROM batmap_rules('e_lines'::regclass, 'tid', 'item', 2, min_confidence => 0.8, min_lift => 1)$$);
SELECT explained($$SELECT count(*) FROM batmap_rules('SELECT tid AS "Tid", item FROM e_lines', 'Tid', 'item', min_support => 0.01)$$);
SELECT explained($$SELECT count(*) FROM (VALUES (2), (3)) v (n), batmap_itemsets('SELECT tid, item FROM e_lines', n, min_length => 2)$$);
SELECT explained_json($$SELECT count(*) FROM batmap_itemsets('e_lines', 'tid', 'item', 2)$$) #> '{Plans,0}' ->> 'Threshold';
-- after a run, the plan follows what the run did
SELECT regexp_replace(explained, ' \(actual .*', '') FROM explained($$SELECT count(*) FROM batmap_recommend('{1}', 'SELECT tid, item FROM e_lines', min_count => 1)$$, ', VERBOSE, ANALYZE, BUFFERS off, TIMING off, SUMMARY off');
-- there is no text in a relation; a text that depends on rows or is NULL is not known
SELECT explained($$SELECT count(*) FROM (SELECT batmap_relation_agg(tid, item) AS r FROM e_lines) q, batmap_pairs(r, 2)$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM e_lines, batmap_pairs('SELECT tid, item FROM e_lines WHERE tid < ' || item, 2)$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_pairs(NULL::text, 2)$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM e_lines l, batmap_pairs('SELECT tid, item FROM e_lines WHERE tid < $1', 2, params => ROW(l.item))$$, ', VERBOSE');
-- the parameter of a prepared statement is
SET plan_cache_mode = force_generic_plan;
PREPARE pairs_in(text) AS SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM ' || $1, 2);
SELECT explained('EXECUTE pairs_in(''e_lines'')', ', VERBOSE');
SELECT explained('EXECUTE pairs_in(''no_such'')', ', VERBOSE');
RESET plan_cache_mode;
-- a wrong query has no plan, and leaves the transaction as it is
BEGIN;
CREATE TABLE e_new AS SELECT 1 AS tid, 2 AS item;
SELECT explained($$SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM no_such', 2)$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_pairs('not SQL', 2)$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_pairs('SELECT 1, 1 / 0', 2)$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_pairs('e_lines', 2, tid_column => 'nobody', item_column => 'item')$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM e_lines WHERE tid = $1', 2)$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_join_project('DELETE FROM e_new RETURNING *', 'e_new')$$, ', VERBOSE');
SELECT * FROM e_new;
COMMIT;
-- plans of queries within the query are not shown, so a view that reads itself ends, too
CREATE VIEW e_self AS SELECT item_a, item_b FROM batmap_pairs('e_new', 1);
CREATE OR REPLACE VIEW e_self AS SELECT item_a, item_b FROM batmap_pairs('e_self', 1);
SELECT explained('TABLE e_self', ', VERBOSE');
-- the other formats are well-formed
SELECT jsonb_path_query_array(explained_json($$SELECT count(*) FROM batmap_join_project('e_new', 'SELECT tid, item FROM "e_new" WHERE item > 0')$$, options),
    '$.Plans[*].keyvalue() ? (@.key like_regex "Query$").value')
FROM unnest(ARRAY['', ', VERBOSE']) options;
SELECT plan -> 'Left Query Plan' -> 'Plan' ->> 'Relation Name', plan -> 'Right Query Plan' -> 'Plan' ->> 'Filter'
FROM explained_json($$SELECT count(*) FROM batmap_join_project('e_new', 'SELECT tid, item FROM "e_new" WHERE item > 0')$$, ', VERBOSE') p, LATERAL (SELECT p -> 'Plans' -> 0 AS plan) q;
SELECT explained_json($$SELECT count(*) FROM batmap_join_project('no_such', 'e_new')$$, ', VERBOSE') -> 'Plans' -> 0 -> 'Right Query Plan' -> 'Plan' ->> 'Relation Name';
SELECT explained_json($$SELECT count(*) FROM batmap_pairs('e_new', 1)$$, ', VERBOSE, ANALYZE, BUFFERS off, TIMING off, SUMMARY off') -> 'Plans' -> 0 -> 'Query Plan' -> 'Plan' ->> 'Relation Name';
SELECT explained_as(format, $$SELECT count(*) FROM batmap_join_project('SELECT tid, item FROM e_new WHERE item > 0', 'e_new')$$) FROM unnest(ARRAY['yaml', 'xml']) format;
-- a function of one's own may have all parameters that take a query
SELECT probin AS library FROM pg_proc WHERE proname = 'batmap_join_project' AND prosrc = 'batmap_join_project_query' \gset
CREATE FUNCTION e_three(left_query text, right_query text, min_count int8 DEFAULT NULL, distinct_only bool DEFAULT false, top_k int8 DEFAULT NULL,
    per_item_top_k int4 DEFAULT NULL, max_results int8 DEFAULT NULL, method text DEFAULT NULL, device text DEFAULT NULL, params record DEFAULT NULL,
    query text DEFAULT 'e_new') RETURNS TABLE (a int8, c int8, support_count int8)
AS :'library', 'batmap_join_project_query' LANGUAGE C STABLE SUPPORT _batmap_join_project_support;
SELECT explained($$SELECT count(*) FROM e_three('TABLE e_new', 'SELECT tid, item FROM e_new')$$, ', VERBOSE');
DROP FUNCTION e_three;
-- rights are the caller's: no more is shown than EXPLAIN of the query would show
CREATE ROLE e_reader;
GRANT SELECT ON e_new TO e_reader;
CREATE VIEW e_filtered AS SELECT tid, item FROM e_lines WHERE tid > 12345;
SET ROLE e_reader;
SELECT explained($$SELECT count(*) FROM batmap_pairs('e_filtered', 2)$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_join_project('e_lines', 'e_new')$$, ', VERBOSE');
SELECT explained($$SELECT count(*) FROM batmap_pairs('e_new', 2)$$, ', VERBOSE');
RESET ROLE;
ALTER TABLE e_new ENABLE ROW LEVEL SECURITY;
CREATE POLICY e_even ON e_new USING (tid % 2 = 0);
SET ROLE e_reader;
SELECT explained($$SELECT count(*) FROM batmap_pairs('e_new', 2)$$, ', VERBOSE');
RESET ROLE;
DROP VIEW e_self, e_filtered;
DROP TABLE e_lines, e_new;
DROP FUNCTION explained, explained_json, explained_as;
DROP ROLE e_reader;
