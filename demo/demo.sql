-- The demo, as psql runs it: loads the rows of catalogue.awk, asks four questions, and leaves in the folder that `data` names what
-- page.py draws.

\pset pager off
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;
SET work_mem = '256MB';

-- Number with thousands separators.
CREATE FUNCTION pg_temp.num(n numeric) RETURNS text LANGUAGE sql AS $$ SELECT to_char(n, 'FM999,999,999,990') $$;

-- "0.131 s" below ten seconds, "12 s" above.
CREATE FUNCTION pg_temp.seconds(ms numeric) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN ms < 1000 THEN round(ms / 1000, 3) WHEN ms < 10000 THEN round(ms / 1000, 1) ELSE round(ms / 1000) END || ' s' $$;

-- How the last run went, in words.
CREATE FUNCTION pg_temp.how_it_ran() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('  %s rows at %s million rows/s: read %s ms, group %s ms, count %s ms, answer %s ms; %s%s, %s threads, %s MB',
                  pg_temp.num(rows_read),
                  round((rows_read / nullif(read_ms + group_ms + count_ms + answer_ms, 0) / 1000)::numeric, 1),
                  round(read_ms::numeric, 1), round(group_ms::numeric, 1), round(count_ms::numeric, 1), round(answer_ms::numeric, 1),
                  method, coalesce(' (' || nullif(kernel, '') || ')', ''), threads, round(peak_memory / 1e6, 1))
    FROM batmap_last_run()
$$;

-- What the page says of each question besides its picture: the statement, how it ran, and the time of each way to ask it.
CREATE TEMP TABLE question (number int, title text, statement text, results bigint, rows_read bigint, method text, kernel text, threads int, peak_memory bigint);
CREATE TEMP TABLE timing (question int, way text, ms numeric, stopped boolean);

-- Called right after the question's statement has run.
CREATE PROCEDURE pg_temp.keep_question(number int, title text, statement text, ms numeric) LANGUAGE sql AS $$
    INSERT INTO question SELECT number, title, statement, results, rows_read, method, kernel, threads, peak_memory FROM batmap_last_run();
    INSERT INTO timing VALUES (number, 'batmap', ms, false)
$$;

CREATE TEMP TABLE catalogue (kind text, package text, value text);
\copy catalogue FROM PROGRAM 'cat "$DEMO_ROWS"'

CREATE TABLE source AS SELECT DISTINCT ON (package) package, value AS source FROM catalogue WHERE kind = 'source' ORDER BY package, source;
CREATE TABLE needs AS SELECT DISTINCT package, value AS needed FROM catalogue WHERE kind = 'needs';
CREATE TABLE tags AS SELECT DISTINCT package, value AS tag FROM catalogue WHERE kind = 'tag' AND value NOT LIKE '%::TODO';
DROP TABLE catalogue;
ANALYZE;

SELECT format(E'\n%s packages (%s); %s rows say which package needs which, %s rows which package has which tag.',
              pg_temp.num((SELECT count(*) FROM source)), :'from',
              pg_temp.num((SELECT count(*) FROM needs)), pg_temp.num((SELECT count(*) FROM tags)));

\ir needed_together.sql
\ir tags.sql
\ir alike.sql
\ir episodes.sql
\ir page_data.sql

\echo
\echo 'Play on: `test/sandbox psql` is an empty database with the extension; docs/reference.md has every object.'
\echo
