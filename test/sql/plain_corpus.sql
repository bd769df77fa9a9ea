-- Queries as people write them (test/plain_corpus): which of them the engine answers, why not the others, and that the rows are
-- those of the plain plan. `make bench` measures the same queries over larger tables.
LOAD 'batmap';
CREATE SCHEMA plain_corpus;
SET search_path = plain_corpus, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set schema_file :abs_srcdir '/plain_corpus/schema.sql'
\set queries_file :abs_srcdir '/plain_corpus/queries.sql'
\set scale 400
\set ECHO none
\i :schema_file
\i :queries_file
\set ECHO all
CREATE FUNCTION run_corpus(query text, OUT engine bool, OUT same bool, OUT reason text) LANGUAGE plpgsql AS $$
DECLARE
    digest CONSTANT text := 'SELECT count(*) || '' rows, '' || sum(hashtextextended(q::text, 0)::numeric) FROM (QUERY) q';
    plan json;
    with_node text;
    without_node text;
BEGIN
    -- Tables are small here. Expensive plain plans stand for large tables.
    PERFORM set_config('enable_' || node, 'off', true) FROM unnest('{hashjoin,mergejoin,nestloop}'::text[]) node;
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    engine := plan::text LIKE '%Batmap%';
    SELECT string_agg(DISTINCT w.reason, '; ') INTO reason FROM batmap_explain_why(query) w WHERE NOT engine;
    PERFORM set_config('batmap.enable_join_project', 'on', true);
    EXECUTE replace(digest, 'QUERY', query) INTO with_node;
    PERFORM set_config('batmap.enable_join_project', 'off', true);
    PERFORM set_config('enable_' || node, 'on', true) FROM unnest('{hashjoin,mergejoin,nestloop}'::text[]) node;
    EXECUTE replace(digest, 'QUERY', query) INTO without_node;
    same := with_node = without_node;
    PERFORM set_config('batmap.enable_join_project', 'on', true);
END $$;
SET max_parallel_workers_per_gather = 0;
SET extra_float_digits = 0;
CREATE TABLE answers AS SELECT number, name, r.* FROM corpus, run_corpus(query) r;
SELECT count(*) AS queries, count(*) FILTER (WHERE engine) AS by_the_engine, count(*) FILTER (WHERE NOT same) AS different FROM answers;
\pset format unaligned
SELECT name, engine, reason FROM answers ORDER BY number;
\pset format aligned
SELECT name FROM answers WHERE NOT same;
