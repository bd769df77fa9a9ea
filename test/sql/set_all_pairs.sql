-- All pairs of stored sets, against the nested loop that a user would write.
CREATE TABLE tagged (id int, items batmap);
INSERT INTO tagged VALUES
    (1, '{1,2,3,4}'), (2, '{3,4,5}'), (3, '{}'), (4, NULL), (NULL, '{1,2}'), (5, '{1,2,3,4}'), (-6, '{4,1000000000000}'), (7, '{9}');
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', min_count => 1) ORDER BY 1, 2;
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', min_count => 2) ORDER BY 1, 2;
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', min_jaccard => 0.4) ORDER BY 1, 2;
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', min_jaccard => 1);
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', top_k => 2);
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', top_k => 2, min_jaccard => 0.01);
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', per_item_top_k => 1) ORDER BY 1, 2;
SELECT operation, method, input, rows_read, items, items_kept, occurrences, results, truncated FROM batmap_last_run();
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', min_count => 1, max_results => 2) ORDER BY 1, 2;
SELECT results, truncated FROM batmap_last_run();
-- equal ids are rows of their own
SELECT * FROM batmap_all_pairs($$VALUES (7::int8, '{1,2}'::batmap), (7, '{2,3}'), (6, '{2}')$$, min_count => 1) ORDER BY 1, 2;
-- ids of other types: in the order of the type; ties go by it, too
CREATE TABLE named AS SELECT CASE id WHEN 1 THEN 'c' WHEN 2 THEN 'B' WHEN 3 THEN 'x' WHEN 4 THEN 'y' WHEN 5 THEN 'a' WHEN 7 THEN 'z' ELSE 'D' END COLLATE "C" AS name,
    id, items FROM tagged WHERE id IS NOT NULL UNION ALL SELECT NULL, 9, '{1,2}';
SELECT * FROM batmap_all_pairs_of('SELECT name, items FROM named', min_count => 1) ORDER BY 1, 2;
SELECT count(*), sum(intersection) FROM batmap_all_pairs_of('SELECT name, items FROM named', min_count => 1) a
    JOIN named n ON n.name = id_a JOIN named m ON m.name = id_b
    JOIN batmap_all_pairs('SELECT id, items FROM tagged', min_count => 1) b USING (intersection, jaccard)
    WHERE least(n.id, m.id) = b.id_a AND greatest(n.id, m.id) = b.id_b;
SELECT * FROM batmap_all_pairs_of('SELECT name, items FROM named', top_k => 2);
SELECT * FROM batmap_all_pairs_of('SELECT name, items FROM named', per_item_top_k => 1, params => ROW()) ORDER BY 1, 2;
SELECT operation, input, rows_read, items, items_kept, occurrences, results FROM batmap_last_run();
SELECT * FROM batmap_all_pairs_of('SELECT name, items FROM named WHERE name > $1', min_jaccard => 0.4, params => ROW('B'::text));
SELECT id_a, id_b, pg_typeof(id_a), pg_typeof(id_b) FROM batmap_all_pairs_as(NULL::uuid, 'SELECT md5(id::text)::uuid, items FROM tagged WHERE id > 0', top_k => 1);
SELECT id_a, id_b FROM batmap_all_pairs_as(id_type => NULL::numeric, query => 'SELECT id / 2::numeric, items FROM tagged', min_count => 4);
SELECT id_a, id_b FROM batmap_all_pairs_as(NULL::int4, 'SELECT id, items FROM tagged', top_k => 1);
SELECT id_a, id_b FROM batmap_all_pairs_as(NULL::text[], 'SELECT ARRAY[name], items FROM named', top_k => 1);
-- equal ids are rows of their own, whatever their type
SELECT * FROM batmap_all_pairs_of($$VALUES ('p', '{1,2}'::batmap), ('p', '{2,3}'), ('o', '{2}')$$, min_count => 1) ORDER BY 1, 2;
SELECT * FROM batmap_all_pairs_of('SELECT name, items FROM named WHERE false', min_count => 1);
SELECT * FROM batmap_all_pairs_of('SELECT id, items FROM tagged', min_count => 1);
SELECT * FROM batmap_all_pairs_as(NULL::point, 'SELECT point(id, 1), items FROM tagged', min_count => 1);
SELECT * FROM batmap_all_pairs_as(NULL, 'SELECT id, items FROM tagged', min_count => 1);
SELECT * FROM batmap_all_pairs_of('SELECT name, name FROM named', min_count => 1);
SELECT * FROM batmap_all_pairs('SELECT name, items FROM named', min_count => 1);
-- EXPLAIN calls sets and elements by their names
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text; BEGIN FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || query LOOP
    IF line !~ 'Kernel|Memory|Planning|Buffers' THEN RETURN NEXT regexp_replace(line, 'rows=(\d+)(\.00)?', 'rows=\1'); END IF; END LOOP; END $$;
SELECT * FROM explained($$SELECT * FROM batmap_all_pairs_of('SELECT name, items FROM named', min_count => 3)$$);
DROP TABLE named;
-- nothing in, nothing out
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged WHERE false', min_count => 1);
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged WHERE id = 1', min_count => 1);
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', min_count => 9223372036854775807);

-- every container, two universes, both ways of counting, one thread and several, all kernels
CREATE TABLE many AS
    SELECT s AS id, batmap_agg((k * 2654435761 + s * 40503) % 1000003 % CASE s % 3 WHEN 0 THEN 3000 ELSE 100000 END,
                               CASE s % 2 WHEN 0 THEN 131072 ELSE 4294967296 END) AS items
    FROM generate_series(1, 90) s, generate_series(1, 5 * (s % 9) * (s % 9) * (s % 9)) k GROUP BY s;
UPDATE many SET items = batmap_prepare(items, CASE id % 2 WHEN 0 THEN 131072 ELSE 4294967296 END) WHERE id % 5 < 3;
SELECT (batmap_stats(items)).container, count(*) FROM many GROUP BY 1 ORDER BY 1;
CREATE VIEW nested_loop AS
    SELECT a.id::int8 AS id_a, b.id::int8 AS id_b, batmap_and_cardinality(a.items, b.items) AS intersection,
           batmap_jaccard(a.items, b.items) AS jaccard
    FROM many a JOIN many b ON a.id < b.id WHERE a.items && b.items;
CREATE VIEW all_pairs AS SELECT * FROM batmap_all_pairs('SELECT id, items FROM many', min_count => 1);
SELECT count(*) FROM nested_loop;
DO $$
DECLARE
    kernel text;
    threads int;
    wrong int;
BEGIN
    FOREACH kernel IN ARRAY ARRAY['auto', 'scalar'] LOOP
        FOREACH threads IN ARRAY ARRAY[1, 3] LOOP
            PERFORM set_config('batmap.cpu_kernel', kernel, true), set_config('batmap.threads', threads::text, true);
            SELECT count(*) INTO wrong FROM ((TABLE all_pairs EXCEPT ALL TABLE nested_loop)
                                             UNION ALL (TABLE nested_loop EXCEPT ALL TABLE all_pairs)) d;
            IF wrong > 0 THEN
                RAISE EXCEPTION '% rows differ with kernel % and % threads', wrong, kernel, threads;
            END IF;
        END LOOP;
    END LOOP;
END $$;
-- Jaccard indexes are ordered as in SQL
SELECT count(*) FROM ((SELECT * FROM batmap_all_pairs('SELECT id, items FROM many', min_jaccard => 0.05, top_k => 40))
                      EXCEPT (SELECT * FROM nested_loop WHERE jaccard >= 0.05 ORDER BY jaccard DESC, id_a, id_b LIMIT 40)) d;
SELECT count(*) FROM batmap_all_pairs('SELECT id, items FROM many', min_jaccard => 0.3)
UNION ALL SELECT count(*) FROM nested_loop WHERE jaccard >= 0.3;
-- dense in a small universe, declared large: taken apart
SET batmap.threads = 1;
SELECT count(*) > 0 FROM batmap_all_pairs($$
    SELECT s, batmap_agg((k * 2654435761 + s * 40503) % 1000003 % 20011) FROM generate_series(1, 500) s, generate_series(1, 700) k GROUP BY s$$,
    min_count => 20);
SELECT method FROM batmap_last_run();
RESET batmap.threads;

-- where the elements become rows there are distinct elements and pair instances
SET batmap.threads = 1;
SELECT line FROM explained($$SELECT count(*) FROM batmap_all_pairs('SELECT s, batmap_agg((k * 2654435761 + s / 2 * 40503) % 1000003)
    FROM generate_series(1, 3000) s, generate_series(1, 10) k GROUP BY s', min_count => 7, method => 'relation')$$) line WHERE line ~ 'Sets|Element|Instances|Pairs';
RESET batmap.threads;

-- every method gives the same rows in the same order
CREATE VIEW tag_sets AS SELECT i AS id, batmap_agg((i / 3 * 7919 + x * x * CASE WHEN x = i % 9 THEN i ELSE 31 END) % CASE WHEN x % 3 = 0 THEN 20 ELSE 3000 END) AS items
    FROM generate_series(1, 2500) i, generate_series(1, 12) x WHERE x <= 4 + i % 9 GROUP BY i;
CREATE FUNCTION by_method(method text, arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text; BEGIN
    EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(p::text, '','')), ''-'') FROM batmap_all_pairs(''tag_sets'', %s, method => %L) p', arguments, method) INTO answer;
    RETURN answer;
END $$;
SELECT a, split_part(by_method('tiles', a), ' ', 1) AS rows,
    (SELECT count(DISTINCT by_method(m, a)) FROM unnest(ARRAY['auto', 'tiles', 'positional', 'relation', 'prefix']) m) AS answers
FROM unnest(ARRAY['min_jaccard => 0.8', 'min_jaccard => 0.4, min_count => 4', 'min_count => 9', 'min_jaccard => 0.3, top_k => 20', 'min_jaccard => 0.6, per_item_top_k => 1', 'top_k => 30', 'min_jaccard => 1']) a;
SELECT line FROM explained($$SELECT count(*) FROM batmap_all_pairs('tag_sets', min_jaccard => 0.8, method => 'prefix')$$) line WHERE line ~ 'Method|Sets|Element|Instances|Pairs';
DROP FUNCTION by_method;
DROP VIEW tag_sets;
SELECT * FROM batmap_all_pairs('VALUES (1, ''{1}''::batmap)', min_jaccard => 0.5, method => 'best');

-- execution: the plan node, its estimates, LIMIT
EXPLAIN (COSTS OFF) SELECT * FROM batmap_all_pairs('SELECT id, items FROM many', min_count => 1) LIMIT 1;
SELECT count(*) FROM (SELECT 1 FROM batmap_all_pairs('SELECT id, items FROM many', min_count => 1) LIMIT 5) l;
SELECT results FROM batmap_last_run();
SELECT count(*) FROM (SELECT p FROM batmap_all_pairs('SELECT id, items FROM many', top_k => 5) p) l;

-- errors leave the session working
\set VERBOSITY default
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged');
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', min_jaccard => 0);
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', min_jaccard => 'NaN');
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', min_count => 0);
SELECT * FROM batmap_all_pairs('SELECT id, items FROM tagged', top_k => 0);
SELECT * FROM batmap_all_pairs(NULL, 1);
SELECT * FROM batmap_all_pairs('SELECT id FROM tagged', 1);
SELECT * FROM batmap_all_pairs('SELECT id, id FROM tagged', 1);
SELECT * FROM batmap_all_pairs('SELECT items, items FROM tagged', 1);
SELECT * FROM batmap_all_pairs('SELECT id, ARRAY[id] FROM tagged', 1);
SELECT * FROM batmap_all_pairs('DELETE FROM tagged', 1);
SELECT * FROM batmap_all_pairs('SELECT id, no_such FROM tagged', 1);
SET batmap.memory_limit = '100kB';
SELECT count(*) FROM batmap_all_pairs('SELECT id, items FROM many', 1);
RESET batmap.memory_limit;
SELECT count(*) FROM batmap_all_pairs('SELECT id, items FROM tagged', 1);

DROP VIEW all_pairs, nested_loop;
DROP TABLE tagged, many;
DROP FUNCTION explained;
-- elements as large as they may be, by each method: those that take no row each
CREATE TABLE large_elements (id int, s batmap);
INSERT INTO large_elements VALUES (1, '{0,1,4294967295}'), (2, '{0,4294967296}'), (3, '{2305843009213693952}'), (4, '{1,4611686018427387903}'),
    (5, '{4294967295,4294967296,2305843009213693952,4611686018427387903}'), (6, '{2305843009213693953}');
SELECT m, array_agg((id_a, id_b, intersection) ORDER BY id_a, id_b)
FROM unnest('{auto,tiles,positional,relation,prefix}'::text[]) m, batmap_all_pairs('TABLE large_elements', min_count => 1, method => m)
GROUP BY m ORDER BY m;
SELECT count(*) FROM batmap_all_pairs($$VALUES (1, '{1,4611686018427387903}'::batmap), (2, '{1,7}')$$, min_count => 1, method => 'positional');
SELECT count(*) FROM batmap_all_pairs($$VALUES (1, '{1,4294967294}'::batmap), (2, '{1,7}')$$, min_count => 1, method => 'positional');
SELECT method, split_part(reason, ';', 1) FROM batmap_last_run();
DROP TABLE large_elements;
