-- ORDER BY the count, most first, with LIMIT, over a table function: the run keeps only the best rows. The rows are those of
-- a sort of all rows, which a subquery with OFFSET 0 forces.
LOAD 'batmap';
CREATE TABLE sorted_rows AS SELECT k / 8 AS tid, k % 37 * (k % 11) AS item FROM generate_series(1, 4000) k;
CREATE TABLE sorted_names AS SELECT tid, 'item ' || item AS item FROM sorted_rows;
ANALYZE sorted_rows, sorted_names;

EXPLAIN (COSTS OFF) SELECT * FROM batmap_pairs('TABLE sorted_rows', 2) ORDER BY support_count DESC LIMIT 5;
EXPLAIN (COSTS OFF) SELECT item_a FROM batmap_pairs('TABLE sorted_rows', 2) AS p (item_a, item_b, n) ORDER BY n DESC, 1 OFFSET 3 FETCH FIRST 5 ROWS ONLY;

-- not for another order, other rows than those that are sorted, or a limit that may change
CREATE FUNCTION wants_best(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Best: ' THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END $$;
SELECT wants_best(format(q, $$batmap_pairs('TABLE sorted_rows', 2) p$$)) AS best, q FROM (VALUES
    ('SELECT * FROM %s ORDER BY support_count DESC LIMIT 5'),
    ('SELECT * FROM %s ORDER BY support_count DESC NULLS LAST, item_a, item_b LIMIT 5'),
    ('SELECT item_a FROM (SELECT item_a FROM %s ORDER BY support_count DESC LIMIT 5) q WHERE item_a > 3'),
    ('SELECT * FROM %s ORDER BY support_count DESC FETCH FIRST 5 ROWS WITH TIES'),
    ('SELECT * FROM %s ORDER BY support_count LIMIT 5'),
    ('SELECT * FROM %s ORDER BY item_a, support_count DESC LIMIT 5'),
    ('SELECT * FROM %s ORDER BY lift DESC LIMIT 5'),
    ('SELECT * FROM %s ORDER BY support_count + 1 DESC LIMIT 5'),
    ('SELECT * FROM %s ORDER BY support_count DESC'),
    ('SELECT * FROM %s ORDER BY support_count DESC OFFSET 5'),
    ('SELECT * FROM %s ORDER BY support_count DESC LIMIT ALL OFFSET 5'),
    ('SELECT item_a, random() FROM %s ORDER BY support_count DESC LIMIT 5'),
    ('SELECT item_a FROM %s ORDER BY support_count DESC, random() LIMIT 5'),
    ('SELECT * FROM %s ORDER BY support_count DESC LIMIT extract(hour FROM now())'),
    ('SELECT * FROM %s ORDER BY support_count DESC LIMIT 5 * random()'),
    ('SELECT * FROM %s ORDER BY support_count DESC LIMIT (SELECT count(*) FROM sorted_names)'),
    ('SELECT * FROM %s WHERE item_a > 3 ORDER BY support_count DESC LIMIT 5'),
    ('SELECT * FROM %s, generate_series(1, 2) ORDER BY support_count DESC LIMIT 5'),
    ('SELECT DISTINCT support_count FROM %s ORDER BY support_count DESC LIMIT 5'),
    ('SELECT item_a, max(support_count) FROM %s GROUP BY 1 ORDER BY 2 DESC LIMIT 5'),
    ('SELECT support_count, row_number() OVER () FROM %s ORDER BY support_count DESC LIMIT 5'),
    ('SELECT support_count, generate_series(1, 0) FROM %s ORDER BY support_count DESC LIMIT 5'),
    ('SELECT support_count FROM %s UNION ALL SELECT 1 ORDER BY 1 DESC LIMIT 5')) v (q);

-- the same rows
CREATE FUNCTION differs(columns text, call text, ordered text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE best text; sorted text; query text := 'SELECT array_agg(q) FROM (SELECT %s FROM %s ORDER BY %s) q';
BEGIN
    EXECUTE format(query, columns, call, ordered) INTO best;
    EXECUTE format(query, columns, format('(SELECT * FROM %s OFFSET 0) p', call), ordered) INTO sorted;
    RETURN CASE WHEN best IS DISTINCT FROM sorted THEN format('%s of %s by %s: %s and %s', columns, call, ordered, best, sorted) END;
END $$;
SELECT count(*) AS cases, count(d) AS differ, min(d) AS first FROM (SELECT differs(c, f, o) AS d FROM (VALUES
    -- without more columns the rows among equal counts are anyone's choice
    ('support_count', 'support_count DESC'),
    ('*', 'support_count DESC, 1, 2'), ('*', 'support_count DESC, 2 DESC, 1')) v (c, ordered),
    (VALUES ('LIMIT 1'), ('LIMIT 7 OFFSET 30'), ('LIMIT 500'), ('LIMIT 100001'), ('LIMIT 0'), ('LIMIT NULL OFFSET 3'),
            ('LIMIT 3 OFFSET NULL'), ('LIMIT 3 OFFSET 1000000'), ('FETCH FIRST 12 ROWS WITH TIES')) l (bound),
    (VALUES ('batmap_pairs(''TABLE sorted_rows'', 2)'),
            ('batmap_pairs(''TABLE sorted_rows'', min_support => 0.004)'),
            ('batmap_pairs(''TABLE sorted_rows'', 1000000)'),
            ('batmap_pairs(''SELECT * FROM sorted_rows WHERE false'', 2)'),
            ('batmap_pairs(''TABLE sorted_rows'', 2, measure => ''lift'')'),
            ('batmap_pairs(''TABLE sorted_rows'', 2, top_k => 20)'),
            ('batmap_pairs(''TABLE sorted_rows'', per_item_top_k => 2)'),
            ('batmap_pairs(''TABLE sorted_rows'', 2, include => ARRAY[7, 20])'),
            ('batmap_pairs(''TABLE sorted_rows'', 2, method => ''merge'')'),
            ('batmap_pairs_of(''TABLE sorted_names'', 2)'),
            ('batmap_pairs((SELECT batmap_relation_agg(tid, item) FROM sorted_rows), 2)'),
            ('batmap_pairs((SELECT batmap_pair_counts_agg(tid, item) FROM sorted_rows), 2)'),
            ('batmap_join_project(''TABLE sorted_rows'', ''SELECT item, tid % 100 FROM sorted_rows'')'),
            ('batmap_join_project(''TABLE sorted_rows'', ''SELECT item, tid % 100 FROM sorted_rows'', distinct_only => true)'),
            ('batmap_join_project_of(''SELECT item, tid FROM sorted_names'', ''TABLE sorted_names'')')) f (f),
    LATERAL (SELECT ordered || ' ' || bound AS o) o
WHERE bound NOT LIKE '%TIES' OR c <> '*' OFFSET 0) d;

-- pairs of sets, by what they rank: the Jaccard index if there is a least one, else the intersection
CREATE TABLE sorted_sets AS SELECT item AS id, batmap_agg(tid) AS s FROM sorted_rows GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM batmap_all_pairs('TABLE sorted_sets', min_jaccard => 0.05) ORDER BY jaccard DESC LIMIT 5;
SELECT count(*) AS cases, count(d) AS differ, min(d) AS first FROM (SELECT differs(c, f, c || ' DESC' || m || ' ' || bound) AS d FROM
    (VALUES ('jaccard'), ('intersection')) v (c), (VALUES (''), (', id_a, id_b'), (' NULLS LAST')) o (m),
    (VALUES ('LIMIT 1'), ('LIMIT 7 OFFSET 30'), ('LIMIT 500'), ('FETCH FIRST 12 ROWS WITH TIES')) l (bound),
    (VALUES ('batmap_all_pairs(''TABLE sorted_sets'', 2)'),
            ('batmap_all_pairs(''TABLE sorted_sets'', min_jaccard => 0.05)'),
            ('batmap_all_pairs(''TABLE sorted_sets'', 2, 0.1)'),
            ('batmap_all_pairs(''TABLE sorted_sets'', min_jaccard => 0.05, method => ''prefix'')'),
            ('batmap_all_pairs_of(''SELECT id::text, s FROM sorted_sets'', 2)')) f (f) OFFSET 0) d;
DROP TABLE sorted_sets;

-- parameters and rescans; max_results cuts the answer off before it is sorted
PREPARE best(int8, int8) AS SELECT array_agg(support_count) FROM (SELECT support_count FROM batmap_pairs('TABLE sorted_rows', 2) ORDER BY 1 DESC LIMIT $1 OFFSET $2) p;
SET plan_cache_mode = force_generic_plan;
EXECUTE best(4, 0);
EXECUTE best(3, 2);
EXECUTE best(0, 0);
EXECUTE best(2, NULL);
EXECUTE best(-1, 0);
RESET plan_cache_mode;
SELECT k, (SELECT sum(support_count) FROM (SELECT support_count FROM batmap_pairs('TABLE sorted_rows', 2) ORDER BY 1 DESC LIMIT k) p) FROM generate_series(1, 4) k;
SET client_min_messages = error;
SELECT count(*), min(support_count) < max(support_count) AS many FROM (SELECT * FROM batmap_pairs('TABLE sorted_rows', 2, max_results => 40) ORDER BY support_count DESC LIMIT 10) p;
RESET client_min_messages;

-- best rows that would take much of the memory are not kept, and pairs that tie do not wait if there is little
CREATE TABLE tied AS SELECT (k / 20)::int8 AS tid, abs(hashint8(k) % 1000)::int8 AS item FROM generate_series(1, 20000) k;
ANALYZE tied;
SET batmap.memory_limit = '8MB';
SELECT count(*) AS cases, count(d) AS differ, min(d) AS first FROM (SELECT differs('*', 'batmap_pairs(''TABLE tied'', 1)', o) AS d FROM
    (VALUES ('support_count DESC, 1, 2 LIMIT 10'), ('support_count DESC, 1, 2 LIMIT 5000'), ('support_count DESC, 1, 2 LIMIT 90000')) v (o) OFFSET 0) d;
RESET batmap.memory_limit;
SET batmap.work_mem = '1MB';
SELECT count(*) AS cases, count(d) AS differ, min(d) AS first FROM (SELECT differs('*', 'batmap_pairs(''TABLE tied'', 1)', o) AS d FROM
    (VALUES ('support_count DESC, 1, 2 LIMIT 10'), ('support_count DESC, 1, 2 LIMIT 90000')) v (o) OFFSET 0) d;
RESET batmap.work_mem;
DROP TABLE tied;

-- a kept table
CREATE TABLE kept_rows AS SELECT tid::int8, item::int8 FROM sorted_rows GROUP BY 1, 2;
CREATE INDEX ON kept_rows (tid);
SELECT batmap_keep('kept_rows', 'tid', 'item');
INSERT INTO kept_rows SELECT 100000, g FROM generate_series(1, 40) g;
SELECT count(*) AS cases, count(d) AS differ, min(d) AS first FROM (SELECT differs('*', 'batmap_pairs(''kept_rows''::regclass, 2)', o) AS d FROM
    (VALUES ('support_count DESC, 1, 2 LIMIT 10'), ('support_count DESC, 1, 2 LIMIT 700')) v (o) OFFSET 0) d;
SELECT batmap_unkeep('kept_rows');
DROP TABLE kept_rows;

-- the record says how many rows the run has kept
SELECT count(*) FROM (SELECT 1 FROM batmap_pairs('TABLE sorted_rows', 2) ORDER BY support_count DESC LIMIT 10) p;
SELECT results FROM batmap_last_run();
-- without a threshold there is an error, whatever the order
SELECT item_a FROM batmap_pairs('TABLE sorted_rows') ORDER BY support_count DESC LIMIT 5;

DROP FUNCTION differs, wants_best;
DROP TABLE sorted_rows, sorted_names;
