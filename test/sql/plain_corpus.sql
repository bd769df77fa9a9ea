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
CREATE FUNCTION run_corpus(query text, eager bool, OUT engine bool, OUT same bool, OUT reason text) LANGUAGE plpgsql AS $$
DECLARE
    digest CONSTANT text := 'SELECT count(*) || '' rows, '' || sum(hashtextextended(q::text, 0)::numeric) FROM (QUERY) q';
    plan json;
    with_node text;
    without_node text;
BEGIN
    PERFORM set_config(name, eager::text, true) FROM pg_settings WHERE name = 'enable_eager_aggregate';
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
-- PostgreSQL 19 can group below a join (eager aggregation). There all plans are made with it and without.
CREATE TABLE answers AS SELECT number, name, eager, r.*
    FROM (SELECT true UNION ALL SELECT false FROM pg_settings WHERE name = 'enable_eager_aggregate') settings (eager), corpus, run_corpus(query, eager) r;
SELECT count(*) AS queries, count(*) FILTER (WHERE engine) AS by_the_engine, count(*) FILTER (WHERE NOT same) AS different FROM answers WHERE eager;
\pset format unaligned
SELECT name, engine, reason FROM answers WHERE eager ORDER BY number;
\pset format aligned
SELECT name, eager FROM answers WHERE NOT same;
SELECT name FROM answers GROUP BY name HAVING count(DISTINCT engine) > 1 OR count(DISTINCT reason) > 1;
