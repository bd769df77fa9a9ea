-- CREATE EXTENSION batmap changes no expression of the server's own types: every operator that has a name of ours, between values of
-- these types and values without a type, has the same type and answer before and after it, and is no error that it was not.
CREATE FUNCTION pg_temp.answer(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE format('SELECT concat_ws('' '', pg_typeof(%1$s), (%1$s)::text)', expression) INTO answer;
    RETURN answer;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;
CREATE TEMP TABLE side AS SELECT * FROM (VALUES ('7::int2'), ('7::int4'), ('7::int8'), ('7::numeric'), ('7::float8'), ('''7''::text'), ('date ''2026-01-07'''),
    ('interval ''7 days'''), ('''{"7": 1}''::jsonb'), ('point ''(7,7)'''), ('int4range(1, 7)'), ('int8range(1, 7)'), ('int8multirange(int8range(1, 7))'),
    ('''{1,7}''::int2[]'), ('''{1,7}''::int4[]'), ('''{1,7}''::int8[]'), ('''{1,7}''::text[]'), ('''{7,1,7}'''), ('''7'''), ('NULL')) AS v (value);
CREATE TEMP TABLE expression AS
SELECT format('%s %s %s', a.value, name, b.value) AS expression, NULL::text AS before
FROM side a, side b, (SELECT DISTINCT oprname AS name FROM pg_operator, pg_depend
    WHERE classid = 'pg_operator'::regclass AND objid = pg_operator.oid AND refclassid = 'pg_extension'::regclass AND deptype = 'e'
        AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'batmap')) AS own
WHERE name IN (SELECT oprname FROM pg_operator WHERE oid < 16384);
SET client_min_messages = warning;
BEGIN;
DROP EXTENSION batmap CASCADE;
UPDATE expression SET before = pg_temp.answer(expression);
DELETE FROM expression WHERE before IS NULL;
CREATE EXTENSION batmap;
SELECT expression, before, after FROM expression, pg_temp.answer(expression) AS after WHERE before IS DISTINCT FROM after ORDER BY 1;
SELECT count(*) > 500 AS enough FROM expression;
ROLLBACK;
-- and all is as before
SELECT '{1,2}'::batmap & '{2,3}' AS both;
