-- The cases of 007_hostile_aggregates.pl: values of each type in each form in which the server can store them, and a function
-- that puts a function of the extension in one place of an aggregate after the other.
\set ON_ERROR_STOP on
CREATE SCHEMA hostile;
GRANT USAGE ON SCHEMA hostile TO mallory;
ALTER DEFAULT PRIVILEGES IN SCHEMA hostile GRANT SELECT ON TABLES TO mallory;

-- A small and a large value of each type, as SQL. The large one must be longer than a page once it is compressed.
CREATE TABLE hostile.samples (type regtype PRIMARY KEY, small text, large text);
INSERT INTO hostile.samples VALUES
    ('batmap', $$'{1,5,9}'::batmap$$, $$(SELECT batmap_agg(x * 16) FROM generate_series(1, 50000) x)$$),
    ('_batmap_array', $$ARRAY[1, 5, 9]::_batmap_array$$, $$(SELECT array_agg(x * 16) FROM generate_series(1, 50000) x)::_batmap_array$$),
    ('batmap_state', $$'s1:AgH/AAAAAAADAAAAAQAAAAAAAAAFAAAAAAAAAAkAAAAAAAAA'::batmap_state$$,
     $$(SELECT pg_temp.raw_elements(x) FROM generate_series(1, 2000) x)$$),
    ('batmap_relation', $$(SELECT batmap_relation_agg(x, x % 2) FROM generate_series(1, 3) x)$$,
     $$(SELECT batmap_relation_agg(x / 9 * 1000003::int8, x * x % 99991) FROM generate_series(1::int8, 2000) x)$$),
    ('batmap_pair_counts', $$(SELECT batmap_pair_counts_agg(x, y) FROM generate_series(1, 3) x, generate_series(1, x) y)$$,
     $$(SELECT batmap_pair_counts_agg(x, (x * y) % 997) FROM generate_series(1, 400) x, generate_series(1, 20) y)$$),
    ('batmap_itemset_counts', $$batmap_itemset_candidates('SELECT x, y FROM generate_series(1, 3) x, generate_series(1, x) y', min_count => 1)$$,
     $$batmap_itemset_candidates('SELECT x, (x * y) % 97 FROM generate_series(1, 400) x, generate_series(1, 20) y', min_count => 4, max_length => 3)$$),
    ('batmap_episode_counts', $$batmap_episode_counts_from('SELECT y, x, y FROM generate_series(1, 3) x, generate_series(1, x) y', ARRAY[0, 5], 1, same_time => true)$$,
     $$batmap_episode_counts_from('SELECT x, (x * y) % 97, y FROM generate_series(1, 400) x, generate_series(1, 20) y', ARRAY[0, 9], 4, max_length => 2)$$),
    ('batmap_join_counts', $$batmap_join_counts_from('SELECT x, y FROM generate_series(1, 3) x, generate_series(1, x) y', 'SELECT y, x FROM generate_series(1, 3) x, generate_series(1, x) y')$$,
     $$batmap_join_counts_from('SELECT (x * y) % 97, x FROM generate_series(1, 400) x, generate_series(1, 20) y', 'SELECT x, (x * y) % 89 FROM generate_series(1, 400) x, generate_series(1, 20) y')$$),
    ('batmap_pair_counts_state', $$(SELECT pg_temp.raw_rows(x, x % 2) FROM generate_series(1, 3) x)::text::batmap_pair_counts_state$$,
     $$(SELECT pg_temp.raw_rows(x / 9 * 1000003, x * x % 99991) FROM generate_series(1, 2000) x)$$),
    ('batmap_join_state', $$(SELECT pg_temp.raw_joins(x, x % 2, NULL) FROM generate_series(1, 3) x)$$,
     $$(SELECT pg_temp.raw_joins(x, x % 1000, CASE WHEN x % 2 = 0 THEN x END) FROM generate_series(1, 2000) x)$$),
    ('batmap_episode_state', $$(SELECT pg_temp.raw_events(x, x % 3, '{1,2}', 0, 5) FROM generate_series(1, 5) x)$$,
     $$(SELECT pg_temp.raw_events(x, x % 3, '{1,2}', 0, 5) FROM generate_series(1, 500) x)$$);
CREATE AGGREGATE pg_temp.raw_elements(int4) (SFUNC = _batmap_agg_trans, STYPE = batmap_state);
CREATE AGGREGATE pg_temp.raw_rows(int4, int4) (SFUNC = _batmap_pair_counts_by_tid_trans, STYPE = batmap_pair_counts_state);
CREATE AGGREGATE pg_temp.raw_joins(int4, int4, int4) (SFUNC = _batmap_join_trans, STYPE = batmap_join_state);
CREATE AGGREGATE pg_temp.raw_events(int8, int4, int8[], int8, int8)
    (SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state);

CREATE VIEW hostile.members AS
    SELECT classid, objid FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
      AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'batmap');
CREATE VIEW hostile.types_without_samples AS
    SELECT t.oid::regtype::text AS type FROM pg_type t JOIN hostile.members m ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
    WHERE t.typtype = 'b' AND t.typelem = 0 AND t.oid NOT IN (SELECT type FROM hostile.samples);
CREATE VIEW hostile.functions AS
    SELECT p.oid::regprocedure AS function FROM pg_proc p JOIN hostile.members m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
    WHERE p.prokind = 'f' ORDER BY 1;

-- A value in each form: how it is asked for. Forms of one `family` hold equal values. Of damaged bytes also the text that
-- the input function has to refuse.
CREATE TABLE hostile.forms (type regtype, form text, family text, expression text, broken_text text);

-- Bytes that no input function lets through get in as a superuser's storage would hold them after damage.
CREATE PROCEDURE hostile.make_forms(sampled regtype, small text, large text) LANGUAGE plpgsql AS $$
DECLARE
    name text := sampled::text;
    bytes bytea;
    prefix text;
    broken record;
BEGIN
    -- It returns a copy of its argument.
    EXECUTE format('CREATE FUNCTION pg_temp.as_%s(bytea) RETURNS %1$s STRICT LANGUAGE internal AS ''byteasend''', sampled);
    EXECUTE format('CREATE TABLE hostile.%I AS SELECT (%s)::text::%s AS value', name || '_short', small, sampled);
    FOR broken IN SELECT * FROM (VALUES ('external', 'EXTERNAL'), ('compressed', 'MAIN')) v(form, storage) LOOP
        EXECUTE format('CREATE TABLE hostile.%I (value %s)', name || '_' || broken.form, sampled);
        EXECUTE format('ALTER TABLE hostile.%I ALTER value SET STORAGE %s', name || '_' || broken.form, broken.storage);
        EXECUTE format('INSERT INTO hostile.%I SELECT (%s)::text::%s', name || '_' || broken.form, large, sampled);
        INSERT INTO hostile.forms VALUES (sampled, broken.form, 'large', format('(SELECT value FROM hostile.%I)', name || '_' || broken.form));
    END LOOP;
    INSERT INTO hostile.forms VALUES (sampled, 'null', 'null', format('NULL::%s', sampled)),
        (sampled, 'short', 'small', format('(SELECT value FROM hostile.%I)', name || '_short'));
    EXECUTE format('SELECT value::text::bytea FROM (SELECT quote_literal(value::text) AS value FROM hostile.%I) v', name || '_short') INTO bytes;
    INSERT INTO hostile.forms VALUES (sampled, 'plain', 'small', format('%s::%s', convert_from(bytes, 'UTF8'), sampled));
    EXECUTE format('SELECT quote_literal(value::text)::bytea FROM hostile.%I', name || '_external') INTO bytes;
    INSERT INTO hostile.forms VALUES (sampled, 'large', 'large', format('%s::%s', convert_from(bytes, 'UTF8'), sampled));
    EXECUTE format('SELECT CASE WHEN left(value::text, 1) = ''{'' THEN ''b1:'' ELSE left(value::text, 3) END FROM hostile.%I', name || '_short') INTO prefix;
    EXECUTE format('SELECT %s(value) FROM hostile.%I', (SELECT typsend FROM pg_type WHERE oid = sampled), name || '_short') INTO bytes;
    FOR broken IN SELECT * FROM (VALUES
            ('empty', ''::bytea), ('one byte', '\x01'), ('header cut', substr(bytes, 1, 5)), ('truncated', substr(bytes, 1, length(bytes) - 7)),
            ('longer', bytes || bytes), ('zeros', decode(repeat('00', 100), 'hex')), ('ones', decode(repeat('ff', 100), 'hex')),
            ('version', set_byte(bytes, 0, 99)), ('large numbers', substr(bytes, 1, 4) || decode(repeat('ffffffffffffff7f', 20), 'hex')),
            ('random', decode(md5('1') || md5('2') || md5('3') || md5('4'), 'hex')),
            ('episode', '\x62657031010000000000000000000000050000000000000000c2eb0b000000000200000000000000'),
            ('text', 'r1:AQAAAA==')) v(form, value) LOOP
        EXECUTE format('CREATE TABLE hostile.%I AS SELECT pg_temp.as_%s(%L) AS value', name || '_' || broken.form, sampled, broken.value);
        INSERT INTO hostile.forms VALUES (sampled, broken.form, broken.form, format('(SELECT value FROM hostile.%I)', name || '_' || broken.form),
            prefix || encode(broken.value, 'base64'));
    END LOOP;
END $$;
DO $$
DECLARE sample record;
BEGIN
    FOR sample IN SELECT * FROM hostile.samples LOOP
        CALL hostile.make_forms(sample.type, sample.small, sample.large);
    END LOOP;
END $$;
-- Relations and pair counts with text items: finished, stored out of line, states with their hash tables, and damaged texts.
CREATE AGGREGATE pg_temp.raw_texts(int4, text) (SFUNC = _batmap_relation_trans, STYPE = batmap_relation);
CREATE TABLE hostile.texts AS SELECT
    (SELECT batmap_relation_agg(x, chr(96 + x)) FROM generate_series(1, 3) x) AS small,
    (SELECT batmap_relation_agg(x, md5((x % 700)::text)) FROM generate_series(1, 2000) x) AS large,
    (SELECT pg_temp.raw_texts(x, md5((x % 40)::text)) FROM generate_series(1, 100) x) AS state,
    (SELECT batmap_pair_counts_agg(x, chr(96 + y)) FROM generate_series(1, 3) x, generate_series(1, x) y) AS small_counts,
    (SELECT batmap_pair_counts_agg(x, md5(((x * y) % 397)::text)) FROM generate_series(1, 200) x, generate_series(1, 20) y) AS large_counts;
CREATE TABLE hostile.broken_texts AS SELECT
    pg_temp.as_batmap_relation(substr(_batmap_relation_send(small), 1, 32) || '\xffffffffffff' || substr(_batmap_relation_send(small), 39)) AS relation,
    pg_temp.as_batmap_pair_counts(substr(_batmap_pair_counts_send(small_counts), 1, 48) || '\xff7f' || substr(_batmap_pair_counts_send(small_counts), 51)) AS counts
FROM hostile.texts;
INSERT INTO hostile.forms
SELECT 'batmap_relation'::regtype, 'texts, ' || form, 'texts, ' || form, format('(SELECT %I FROM hostile.texts)', form) FROM unnest('{small,large,state}'::text[]) form UNION ALL
SELECT 'batmap_pair_counts'::regtype, 'texts, ' || form, 'texts, ' || form, format('(SELECT %I FROM hostile.texts)', form) FROM unnest('{small_counts,large_counts}'::text[]) form;
INSERT INTO hostile.forms
SELECT 'batmap_relation'::regtype, 'texts, damaged', 'texts, damaged', '(SELECT relation FROM hostile.broken_texts)', 'r1:' || encode(_batmap_relation_send(relation), 'base64') FROM hostile.broken_texts UNION ALL
SELECT 'batmap_pair_counts'::regtype, 'texts, damaged', 'texts, damaged', '(SELECT counts FROM hostile.broken_texts)', 'c1:' || encode(_batmap_pair_counts_send(counts), 'base64') FROM hostile.broken_texts;
-- Types of the server that the functions take.
INSERT INTO hostile.forms SELECT type::regtype, form, type || form, format('%L::%s', value, type::regtype)
FROM (VALUES ('int2', 'zero', '0'), ('int2', 'largest', '32767'), ('int4', 'zero', '0'), ('int4', 'minus', '-1'), ('int4', 'largest', '2147483647'),
    ('int8', 'zero', '0'), ('int8', 'one', '1'), ('int8', 'minus', '-1'), ('int8', 'largest', '9223372036854775807'), ('int8', 'smallest', '-9223372036854775808'),
    ('float8', 'zero', '0'), ('float8', 'denormal', '4e-320'), ('float8', 'nan', 'NaN'), ('float8', 'infinite', 'Infinity'),
    ('bool', 'true', 't'), ('text', 'empty', ''), ('text', 'lift', 'lift'), ('text', 'long', repeat('x', 5000)),
    ('name', 'empty', ''), ('name', 'item', 'item'), ('text[]', 'empty', '{}'), ('text[]', 'some', '{a,NULL,b}'),
    ('uuid', 'zero', '00000000-0000-0000-0000-000000000000'), ('uuid', 'random', md5('1')),
    ('int4[]', 'empty', '{}'), ('int4[]', 'some', '{3,1,2}'), ('int4[]', 'nulls', '{1,NULL}'), ('int4[]', 'two dimensions', '{{1,2},{3,4}}'),
    ('int8[]', 'empty', '{}'), ('int8[]', 'some', '{3,1,2}'), ('int8[]', 'nulls', '{1,NULL}'), ('int8[]', 'largest', '{9223372036854775807}'),
    ('bytea', 'empty', ''), ('bytea', 'one', '\x01'), ('bytea', 'random', '\x' || md5('1') || md5('2') || md5('3')),
    ('bytea', 'episode', '\x62657031010000000000000000000000050000000000000000c2eb0b000000000200000000000000'),
    ('timestamptz', 'infinity', 'infinity'), ('timestamptz', 'epoch', '1970-01-01 UTC'),
    ('timestamp', 'infinity', '-infinity'), ('timestamp', 'epoch', '1970-01-01'), ('date', 'infinity', 'infinity'), ('date', 'last', '5874897-12-31'),
    ('interval', 'zero', '0'), ('interval', 'long', '100000 years'),
    ('batmap[]', 'empty', '{}'), ('batmap[]', 'some', '{"{1,2}",NULL}'), ('batmap[]', 'two', '{"{1,2}","{2,3}"}')) v(type, form, value);
INSERT INTO hostile.forms VALUES ('internal', 'null', 'null', 'NULL'), ('cstring', 'null', 'null', 'NULL'),
    ('anyarray', 'null', 'null', 'NULL::int4[]'), ('anyarray', 'some', 'some', '''{1,NULL}''::int4[]');
INSERT INTO hostile.forms SELECT DISTINCT type, 'null', 'null', format('NULL::%s', type) FROM hostile.forms f
WHERE NOT EXISTS (SELECT FROM hostile.forms g WHERE g.type = f.type AND g.form = 'null');

CREATE TABLE hostile.rows AS SELECT x FROM generate_series(1, 3) x;
ANALYZE hostile.rows;

-- Which values the other arguments of a function get: one call of each round of forms of their types.
CREATE FUNCTION hostile.arguments(types oid[], round int, separator text) RETURNS text STABLE LANGUAGE sql AS $$
    SELECT coalesce(string_agg((SELECT expression FROM hostile.forms f WHERE f.type = t.type::regtype
                                ORDER BY md5(form || round) LIMIT 1), separator ORDER BY at), '')
    FROM unnest(types) WITH ORDINALITY t(type, at)
$$;

-- Runs a statement. The outcome: its answer, or the code of its error; `bad ...` for what no statement may do.
CREATE FUNCTION hostile.outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE statement INTO answer;
    RETURN 'answer ' || md5(coalesce(answer, 'NULL'));
EXCEPTION
    WHEN query_canceled THEN RETURN 'bad ' || SQLERRM;
    WHEN OTHERS THEN
        -- Internal errors, and errors of this test.
        RETURN CASE WHEN SQLSTATE IN ('XX000', '42P01', '42703', '42601', '42883') THEN 'bad ' || SQLSTATE || ' ' || SQLERRM
                    ELSE 'error ' || SQLSTATE END;
END $$;

-- The forms that a function meets in a place: all, or `width` neighbours in an order in which forms of equal values are
-- neighbours.
CREATE FUNCTION hostile.forms_for(sampled regtype, at_place text, width int) RETURNS SETOF hostile.forms STABLE LANGUAGE sql AS $$
    SELECT type, form, family, expression, broken_text
    FROM (SELECT f.*, row_number() OVER (ORDER BY family, form) AS position, count(*) OVER () AS number
          FROM hostile.forms f WHERE f.type = sampled) f
    WHERE width IS NULL OR (position + abs(hashtext(at_place)::int8)) % number < width
    ORDER BY form
$$;

-- The cases of one function. Functions of aggregates are made by the caller, in pg_temp.
CREATE FUNCTION hostile.try(tried oid, width int) RETURNS TABLE (place text, state text, outcome text) LANGUAGE plpgsql AS $$
DECLARE
    f record;
    form record;
    stype text;
    rest oid[];
    rest_types text;
    kept text;
    statement text;
    strictness text;
    previous jsonb;
BEGIN
    SELECT p.*, p.oid::regproc::text AS name INTO f FROM pg_proc p WHERE p.oid = tried;
    IF f.pronargs = 0 THEN RETURN; END IF;
    stype := f.proargtypes[0]::regtype::text;
    rest := f.proargtypes::oid[];
    rest := rest[1:];
    strictness := CASE WHEN f.proisstrict THEN 'STRICT' ELSE '' END;
    SELECT coalesce(string_agg(format_type(t, NULL), ', ' ORDER BY at), '') INTO rest_types FROM unnest(rest) WITH ORDINALITY r(t, at);
    EXECUTE 'SET LOCAL client_min_messages = notice';

    FOR place IN SELECT unnest('{sfunc,finalfunc,msfunc,minvfunc,mfinalfunc,combinefunc,serialfunc,deserialfunc}'::text[]) LOOP
        previous := '{}';
        FOR form IN SELECT * FROM hostile.forms_for(f.proargtypes[0]::regtype, place || f.name, width) LOOP
            state := form.form;
            CONTINUE WHEN place = 'sfunc' AND form.expression LIKE '(%' AND form.broken_text IS NULL;
            RAISE NOTICE '% as % over %', f.name, place, state;
            BEGIN
                -- What returns a stored value, as a function of the user's may.
                kept := format('CREATE OR REPLACE FUNCTION pg_temp.keep(%s) RETURNS %s %s PARALLEL SAFE LANGUAGE sql AS %L',
                               concat_ws(', ', stype, nullif(rest_types, '')), stype, strictness, 'SELECT ' || form.expression);
                IF place IN ('finalfunc', 'mfinalfunc', 'msfunc', 'minvfunc') THEN EXECUTE kept; END IF;
                EXECUTE CASE place
                    WHEN 'sfunc' THEN format('CREATE AGGREGATE pg_temp.attack(%s) (SFUNC = %s, STYPE = %s %s)', coalesce(nullif(rest_types, ''), '*'), f.name, stype,
                        CASE WHEN form.broken_text IS NOT NULL THEN ', INITCOND = ' || quote_literal(form.broken_text)
                             WHEN form.expression LIKE '''%' THEN ', INITCOND = ' || replace(form.expression, '::' || stype, '') ELSE '' END)
                    WHEN 'finalfunc' THEN format('CREATE AGGREGATE pg_temp.attack(%s) (SFUNC = pg_temp.keep, STYPE = %s, FINALFUNC = %s%s%s)', coalesce(nullif(rest_types, ''), '*'), stype,
                        f.name, CASE WHEN rest_types <> '' THEN ', FINALFUNC_EXTRA' ELSE '' END, CASE WHEN f.proisstrict THEN ', INITCOND = ' || hostile.initial(stype) ELSE '' END)
                    WHEN 'mfinalfunc' THEN format('CREATE AGGREGATE pg_temp.attack(%s) (SFUNC = pg_temp.keep, STYPE = %s, MSFUNC = pg_temp.keep, MINVFUNC = pg_temp.keep, MSTYPE = %2$s, MFINALFUNC = %s%s%s)',
                        coalesce(nullif(rest_types, ''), '*'), stype, f.name, CASE WHEN rest_types <> '' THEN ', MFINALFUNC_EXTRA' ELSE '' END,
                        CASE WHEN f.proisstrict THEN ', INITCOND = ' || hostile.initial(stype) || ', MINITCOND = ' || hostile.initial(stype) ELSE '' END)
                    WHEN 'msfunc' THEN format('CREATE AGGREGATE pg_temp.attack(%s) (SFUNC = pg_temp.keep, STYPE = %s, INITCOND = %s, MSFUNC = %s, MINVFUNC = pg_temp.keep, MSTYPE = %2$s, MINITCOND = %3$s)',
                        coalesce(nullif(rest_types, ''), '*'), stype, hostile.initial(stype), f.name)
                    WHEN 'minvfunc' THEN format('CREATE AGGREGATE pg_temp.attack(%s) (SFUNC = pg_temp.keep, STYPE = %s, INITCOND = %s, MSFUNC = pg_temp.keep, MINVFUNC = %s, MSTYPE = %2$s, MINITCOND = %3$s)',
                        coalesce(nullif(rest_types, ''), '*'), stype, hostile.initial(stype), f.name)
                    WHEN 'combinefunc' THEN format('CREATE FUNCTION pg_temp.stored(%1$s, int4) RETURNS %1$s PARALLEL SAFE LANGUAGE sql AS %2$L; CREATE AGGREGATE pg_temp.attack(int4) (SFUNC = pg_temp.stored, STYPE = %1$s, COMBINEFUNC = %3$s, PARALLEL = SAFE)',
                        stype, 'SELECT ' || form.expression, f.name)
                    WHEN 'serialfunc' THEN format('CREATE AGGREGATE pg_temp.attack(%s) (SFUNC = pg_temp.keep, STYPE = %s, SERIALFUNC = %s, DESERIALFUNC = %3$s)', coalesce(nullif(rest_types, ''), '*'), stype, f.name)
                    WHEN 'deserialfunc' THEN format('CREATE AGGREGATE pg_temp.attack(internal) (SFUNC = pg_temp.keep, STYPE = internal, SERIALFUNC = %s, DESERIALFUNC = %1$s)', f.name)
                END;
            EXCEPTION WHEN OTHERS THEN
                outcome := CASE WHEN SQLSTATE LIKE 'XX%' AND SQLSTATE <> 'XX001' THEN 'bad ' || SQLERRM ELSE 'refused' END;
                RETURN NEXT;
                -- A function that does not fit a place does not fit it for any state.
                EXIT WHEN form.broken_text IS NULL AND form.form <> 'null';
                CONTINUE;
            END;
            IF place = 'sfunc' AND form.broken_text IS NOT NULL THEN outcome := 'bad: damaged text is accepted'; RETURN NEXT; END IF;
            FOR round IN 1 .. CASE WHEN place IN ('sfunc', 'msfunc', 'minvfunc') THEN 2 ELSE 1 END LOOP
                statement := CASE
                    WHEN place = 'combinefunc' THEN 'SELECT pg_temp.attack(x)::text FROM hostile.rows'
                    WHEN place IN ('msfunc', 'minvfunc', 'mfinalfunc') THEN
                        format('SELECT string_agg(v::text, '','') FROM (SELECT pg_temp.attack(%s) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) v FROM hostile.rows) r',
                               coalesce(nullif(hostile.arguments(rest, round, ', '), ''), '*'))
                    ELSE format('SELECT pg_temp.attack(%s)::text FROM hostile.rows', coalesce(nullif(hostile.arguments(rest, round, ', '), ''), '*')) END;
                IF place = 'combinefunc' THEN
                    EXECUTE 'SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0';
                END IF;
                outcome := hostile.outcome(statement);
                -- Twice the same: nothing that the plan or a table holds has been changed.
                IF outcome NOT LIKE 'bad%' AND hostile.outcome(statement) <> outcome THEN outcome := 'bad second answer'; END IF;
                -- Equal values, however they are stored, give equal answers.
                IF outcome NOT LIKE 'bad%' THEN
                    IF previous ->> (form.family || round) <> outcome THEN outcome := format('bad %s and %s over equal values', previous ->> (form.family || round), outcome);
                    ELSE previous := previous || jsonb_build_object(form.family || round, outcome); END IF;
                END IF;
                RETURN NEXT;
            END LOOP;
            EXECUTE 'DROP AGGREGATE ' || (SELECT replace(p.oid::regprocedure::text, '()', '(*)') FROM pg_proc p WHERE p.proname = 'attack' AND p.pronamespace = pg_my_temp_schema());
            IF place = 'combinefunc' THEN EXECUTE format('DROP FUNCTION pg_temp.stored(%s, int4)', stype); END IF;
        END LOOP;
        EXECUTE format('DROP FUNCTION IF EXISTS pg_temp.keep(%s)', concat_ws(', ', stype, nullif(rest_types, '')));
    END LOOP;
END $$;

-- A valid text of a type, for where a state must not be NULL.
CREATE FUNCTION hostile.initial(type text) RETURNS text STABLE LANGUAGE sql AS $$
    SELECT coalesce((SELECT regexp_replace(expression, '::[^'']*$', '') FROM hostile.forms f
                     WHERE f.type = $1::regtype AND f.expression LIKE '''%' ORDER BY form DESC LIMIT 1), '''0''')
$$;
