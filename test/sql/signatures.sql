-- All functions have their parameters in one order: what they read, then `parameter_order`. The columns of a table belong to it.
CREATE TABLE parameter_order (position int GENERATED ALWAYS AS IDENTITY, name text PRIMARY KEY, type text[]);
INSERT INTO parameter_order (name, type) VALUES
('min_count', '{bigint,double precision}'), ('min_support', '{double precision}'), ('min_rate', '{double precision}'),
('min_jaccard', '{double precision}'), ('max_support', '{double precision}'), ('min_confidence', '{double precision}'),
('min_lift', '{double precision}'), ('min_length', '{integer}'), ('max_length', '{integer}'), ('max_lhs', '{integer}'),
('max_rhs', '{integer}'), ('distinct_only', '{boolean}'), ('target', '{text}'), ('lhs_include', '{bigint[],text[]}'),
('lhs_exclude', '{bigint[],text[]}'), ('rhs_include', '{bigint[],text[]}'), ('rhs_exclude', '{bigint[],text[]}'),
('items', '{bigint[],text[]}'), ('include', '{bigint[],text[]}'), ('exclude', '{bigint[],text[]}'), ('top_k', '{bigint}'), ('per_item_top_k', '{integer}'),
('measure', '{text}'), ('max_results', '{bigint}'), ('timeout', '{interval}'), ('counting', '{text}'), ('same_time', '{boolean}'), ('candidates', '{batmap_pair_counts,batmap_join_counts,batmap_itemset_counts,batmap_episode_counts}'), ('method', '{text}'),
('algorithm', '{text}'), ('device', '{text}'), ('tid_column', '{name}'), ('item_column', '{name}'),
('a_column', '{name}'), ('left_b_column', '{name}'), ('right_b_column', '{name}'), ('c_column', '{name}'), ('time_column', '{name}'), ('event_column', '{name}'), ('stream_column', '{name}'), ('params', '{record}'),
('servers', '{text[]}'), ('disjoint', '{boolean}');
-- What a function reads, or is asked about.
CREATE TABLE input (name text PRIMARY KEY);
INSERT INTO input VALUES ('query'), ('relation'), ('counts'), ('left_query'), ('right_query'), ('left_relation'), ('right_relation'),
('item_type'), ('id_type'), ('event_type'), ('left_type'), ('right_type'), ('basket'), ('gaps'), ('episode'), ('episodes'),
('steps'), ('time_type'), ('within'), ('pairs_query'), ('node_type'), ('kept_table'), ('to_set'), ('input_table'),
('tid'), ('item'), ('filter'), ('source'), ('left_source'), ('right_source'), ('item_a'), ('item_b'), ('time'), ('event'), ('gap_low'), ('gap_high');

CREATE VIEW parameters AS
SELECT p.oid::regprocedure::text AS function, a.name, a.number, format_type(p.proargtypes[a.number - 1], NULL) AS type, o.type AS types,
    CASE WHEN 'input_table' = ANY (p.proargnames) AND a.name IN ('tid_column', 'item_column') THEN 0 ELSE o.position END AS position
FROM pg_proc p CROSS JOIN LATERAL unnest(p.proargnames[:p.pronargs]) WITH ORDINALITY a (name, number)
    LEFT JOIN parameter_order o ON o.name = a.name
WHERE p.proname LIKE 'batmap\_%' AND p.proname <> 'batmap_generate_spikes' AND EXISTS (SELECT FROM unnest(p.proargnames[:p.pronargs]) n JOIN input i ON i.name = n);
CREATE FUNCTION misplaced() RETURNS TABLE (function text, name text, reason text) LANGUAGE sql AS $$
    SELECT p.function, p.name, 'is not known' FROM parameters p LEFT JOIN input i USING (name) WHERE p.position IS NULL AND i.name IS NULL
    UNION ALL
    SELECT p.function, p.name, 'has another type: ' || p.type FROM parameters p WHERE p.type <> ALL (p.types)
    UNION ALL
    SELECT p.function, p.name, 'comes after ' || q.name
    FROM parameters p JOIN parameters q ON q.function = p.function AND q.number < p.number AND coalesce(p.position, 0) < coalesce(q.position, 0)
    ORDER BY 1, 2, 3
$$;
SELECT count(DISTINCT function) > 20 AS all_functions, count(DISTINCT name) > 25 AS all_names FROM parameters;
SELECT * FROM misplaced();
-- Each table function over one query whose columns can be named takes a table instead, a regclass. With a NULL of the type it is named in the text.
SELECT q.proname FROM pg_proc q WHERE q.proretset AND q.proname LIKE 'batmap\_%' AND q.proname NOT LIKE '%\_as' AND 'tid_column' = ANY (q.proargnames) AND 'query' = ANY (q.proargnames) AND 'pairs_query' <> ALL (q.proargnames)
    AND NOT EXISTS (SELECT FROM pg_proc t WHERE t.proname = q.proname AND 'input_table' = ANY (t.proargnames));
-- The check finds what is wrong.
CREATE FUNCTION batmap_wrong(query text, min_support float8, min_count int8, k int8, top_k int4) RETURNS SETOF int LANGUAGE sql AS 'SELECT 1';
SELECT * FROM misplaced();
DROP FUNCTION batmap_wrong;

-- One word for one thing: a column with one of these names has this type, wherever it is.
CREATE TABLE column_type (name text PRIMARY KEY, type text);
INSERT INTO column_type VALUES ('support_count', 'bigint'), ('count_a', 'bigint'), ('count_b', 'bigint'), ('lhs_count', 'bigint'),
('rhs_count', 'bigint'), ('total', 'bigint'), ('support', 'double precision'), ('confidence', 'double precision'),
('confidence_ba', 'double precision'), ('lift', 'double precision'), ('score', 'double precision'), ('rank', 'bigint');
CREATE VIEW result_columns AS
SELECT p.oid::regprocedure::text AS of, a.name, format_type(p.proallargtypes[a.number], NULL) AS type
FROM pg_proc p CROSS JOIN LATERAL unnest(p.proargnames) WITH ORDINALITY a (name, number)
WHERE p.proname LIKE 'batmap\_%' AND p.proargmodes[a.number] IN ('t', 'o')
UNION ALL
SELECT a.attrelid::regclass::text, a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a
WHERE a.attrelid IN ('batmap_pair'::regclass, 'batmap_itemset'::regclass) AND a.attnum > 0;
CREATE FUNCTION misnamed() RETURNS TABLE (of text, name text, type text) LANGUAGE sql AS $$
    SELECT r.of, r.name, r.type FROM result_columns r LEFT JOIN column_type c USING (name)
    WHERE r.type <> c.type OR c.name IS NULL AND r.name ~ 'support|count|frequency|confidence|lift' AND r.name !~ '_ms$' ORDER BY 1, 2
$$;
SELECT count(*) > 150 AS all_columns, count(DISTINCT name) FILTER (WHERE name IN (SELECT name FROM column_type)) AS names FROM result_columns;
SELECT * FROM misnamed();
CREATE FUNCTION batmap_wrong(query text) RETURNS TABLE (item int8, support int8, relative_support float8, count_a int4) LANGUAGE sql AS 'SELECT 1, 1, 1, 1';
SELECT * FROM misnamed();
DROP FUNCTION batmap_wrong;

-- A number of transactions where a fraction belongs is an error of the parser, or told.
\set VERBOSITY terse
SELECT count(*) FROM batmap_itemsets('VALUES (1, 1), (2, 1), (2, 2)', 0.5);
\set VERBOSITY default
SELECT item_a FROM batmap_pairs('VALUES (1, 1), (1, 2), (2, 2)', min_support => 1);
SELECT itemset FROM batmap_itemsets('VALUES (1, 1), (1, 2), (2, 2)', min_support => 1);
SELECT lhs FROM batmap_rules('VALUES (1, 1), (1, 2), (2, 2)', min_support => 1.0);
SELECT item FROM batmap_recommend('{1}', 'VALUES (1, 1), (1, 2), (2, 2)', min_support => 1);
SELECT count(*) > 0 AS some FROM batmap_estimate('VALUES (1, 1), (1, 2), (2, 2)', min_support => 1);

-- Drivers send parameters without a type. A call whose arguments all have none finds one function, or `typed` says why it cannot.
CREATE TABLE typed (pattern text, arguments int[], reason text);
INSERT INTO typed VALUES
('batmap_(agg|cardinality_agg|unnest|episode_count_agg|itemsets_agg|join_project_agg|pair_counts_agg|pair_counts_by_tid_agg|pairs_agg|relation_agg)', NULL,
    'the columns of a table have types, which choose between integers, text and sets'),
('batmap_episode_occurrences(_of|_as)?', NULL, 'the type of the gaps is that of the times'),
('batmap_(pairs|partners)(_of)?|batmap_estimate', '{4}', 'the second of four arguments may be min_count, or the column of the tid');
CREATE FUNCTION ambiguous() RETURNS TABLE (function text, arguments int) LANGUAGE plpgsql AS $$
BEGIN
    FOR function, arguments IN
        SELECT DISTINCT p.proname, least + more FROM pg_proc p CROSS JOIN LATERAL (SELECT p.pronargs - p.pronargdefaults) l (least) CROSS JOIN generate_series(0, 1) more
        WHERE p.proname LIKE 'batmap%' AND p.prokind IN ('f', 'a') AND least + more BETWEEN 1 AND p.pronargs
        ORDER BY 1, 2
    LOOP
        BEGIN
            EXECUTE format('PREPARE untyped AS SELECT %I(%s)', function, (SELECT string_agg('$' || i, ', ') FROM generate_series(1, arguments) i));
            DEALLOCATE untyped;
        EXCEPTION WHEN ambiguous_function THEN RETURN NEXT; WHEN OTHERS THEN NULL;
        END;
    END LOOP;
END
$$;
SELECT a.function, a.arguments FROM ambiguous() a
WHERE NOT EXISTS (SELECT FROM typed t WHERE a.function ~ ('^(' || t.pattern || ')$') AND (t.arguments IS NULL OR a.arguments = ANY (t.arguments)));
SELECT t.pattern AS not_needed FROM typed t WHERE NOT EXISTS (SELECT FROM ambiguous() a WHERE a.function ~ ('^(' || t.pattern || ')$'));
-- The check finds what is wrong.
CREATE FUNCTION batmap_wrong(query text, min_count int8) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION batmap_wrong(item_type anyelement, query text) RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT * FROM ambiguous() WHERE function = 'batmap_wrong';
DROP FUNCTION batmap_wrong(text, int8), batmap_wrong(anyelement, text);
