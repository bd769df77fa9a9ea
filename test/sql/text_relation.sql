-- Relations of text items: the aggregates, the union, and the functions over them. Everything is compared with the _of forms over
-- the same rows as a query, whose items are put into the order of bytes.
CREATE TABLE lines AS
SELECT (i / 3)::int AS tid, ('item ' || i * i % 17) AS item, (i * i % 17)::int AS number FROM generate_series(1, 60) i;
INSERT INTO lines VALUES (1, NULL), (NULL, 'item 1'), (NULL, NULL);
CREATE TABLE kept AS SELECT batmap_relation_agg(tid, item) AS r FROM lines;

-- text: lossless
SELECT r::text::batmap_relation::text = r::text FROM kept;
SELECT batmap_relation_agg(1, 'a'::text);
SELECT * FROM batmap_unnest_of((SELECT batmap_relation_agg(v.tid, v.item) FROM (VALUES (2, 'b'), (1, 'b'), (1, 'a'), (1, 'b')) v (tid, item)));
SELECT count(*) AS wrong FROM ((SELECT tid, item FROM lines WHERE tid IS NOT NULL AND item IS NOT NULL
    EXCEPT SELECT u.tid, u.item FROM kept, batmap_unnest_of(r) u)) d;

-- the same answers as over the query
SELECT p.* FROM kept, batmap_pairs_of(r, min_count => 5) p;
SELECT input FROM batmap_last_run();
CREATE FUNCTION differ(over_relation text, over_query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
    query CONSTANT text := quote_literal('SELECT tid, item COLLATE "C" FROM lines');
BEGIN
    EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d',
        'SELECT p.* FROM kept, ' || over_relation || ' p', 'SELECT p.* FROM ' || replace(over_query, '$1', query) || ' p') INTO n;
    RETURN n;
END $$;
SELECT name, differ(format(call, 'r'), format(call, '$1')) AS different FROM (VALUES
    ('pairs', 'batmap_pairs_of(%s, min_count => 1)'), ('include', $$batmap_pairs_of(%s, min_count => 1, include => '{item 1,item 4,none}')$$),
    ('exclude', $$batmap_pairs_of(%s, min_count => 2, exclude => '{item 15,none}')$$),
    ('nothing', $$batmap_pairs_of(%s, min_count => 1, include => '{}')$$),
    ('score', $$batmap_pairs_of(%s, min_count => 3, measure => 'jaccard')$$),
    ('partners', $$batmap_partners_of(%s, items => '{item 9}', top_k => 100)$$),
    ('itemsets', 'batmap_itemsets_of(%s, min_count => 1)'), ('closed', $$batmap_itemsets_of(%s, min_count => 2, target => 'closed')$$),
    ('spectrum', 'batmap_itemset_spectrum_of(%s, min_count => 1)'), ('rules', 'batmap_rules_of(%s, min_count => 2)'),
    ('sides', $$batmap_rules_of(%s, min_count => 1, lhs_include => '{item 1}', rhs_exclude => '{item 4}')$$),
    ('recommend', $$batmap_recommend_of('{item 1}', %s, top_k => 100)$$)) v (name, call);
SELECT p.* FROM kept, batmap_join_project_of(r, r, min_count => 6) p;
SELECT count(*) AS different FROM (
    SELECT p.* FROM kept, batmap_join_project_of(r, r) p EXCEPT ALL
    SELECT * FROM batmap_join_project_of('SELECT item, tid FROM lines', 'SELECT tid, item FROM lines')) d;
-- values of a type: what its input function makes of the texts
SELECT p.item_a, p.item_b, p.support_count, pg_typeof(p.item_b) FROM (SELECT batmap_relation_agg(tid, number::text) AS r FROM lines) q,
    batmap_pairs_as(NULL::numeric, q.r, top_k => 1, include => '{4}') p;
SELECT p.itemset, pg_typeof(p.itemset) FROM (SELECT batmap_relation_agg(tid, number::text) AS r FROM lines) q,
    batmap_itemsets_as(NULL::int8, q.r, min_count => 5, min_length => 2, include => '{4}') p;
SELECT p.item, p.lhs, pg_typeof(p.lhs) FROM (SELECT batmap_relation_agg(tid, number::text) AS r FROM lines) q,
    batmap_recommend_as(NULL::int8, '{1}', q.r, top_k => 1) p;
SELECT p.* FROM (SELECT batmap_relation_agg(tid, number::text) AS r FROM lines) q, batmap_partners_as(NULL::int8, q.r, items => '{1}', top_k => 1) p;
SELECT p.lhs, p.rhs, pg_typeof(p.rhs) FROM (SELECT batmap_relation_agg(tid, number::text) AS r FROM lines) q,
    batmap_rules_as(NULL::int8, q.r, min_count => 5, lhs_include => '{1}') p;
SELECT count(*) FROM (SELECT batmap_relation_agg(tid, number::text) AS r FROM lines) q, batmap_itemset_spectrum_as(NULL::int8, q.r, min_count => 5) p;
SELECT p.*, pg_typeof(p.a), pg_typeof(p.c) FROM kept, (SELECT batmap_relation_agg(tid, number::text) AS n FROM lines) q,
    batmap_join_project_as(NULL::text, NULL::int8, r, n, min_count => 7) p;
SELECT * FROM kept, batmap_pairs_as(NULL::int8, r, min_count => 5);
SELECT * FROM kept, batmap_pairs_as(NULL::int8, r, min_count => 5, include => '{x}');
-- uuid
CREATE TABLE keyed AS SELECT tid, md5(number::text)::uuid AS id FROM lines;
SELECT u.* FROM (SELECT batmap_relation_agg(tid, id) AS r FROM keyed) q, batmap_unnest_of(q.r) u LIMIT 1;
SELECT count(*) AS different FROM (
    SELECT p.* FROM (SELECT batmap_relation_agg(tid::int8, id) AS r FROM keyed) q, batmap_pairs_as(NULL::uuid, q.r, min_count => 1) p EXCEPT ALL
    SELECT * FROM batmap_pairs_as(NULL::uuid, 'SELECT tid, id FROM keyed', min_count => 1)) d;
SELECT p.item_a, p.item_b, p.support_count FROM (SELECT batmap_relation_agg(tid, id) AS r FROM keyed) q,
    batmap_pairs_as(NULL::uuid, q.r, min_count => 5, include => '{C4CA4238A0B923820DCC509A6F75849B}') p;

-- texts that the type writes in another way: items are found by value
CREATE TABLE odd AS SELECT v.type, v.texts, v.list FROM (VALUES
    ('int4', '{007,+8, 9}'::text[], '{7,8}'), ('uuid', '{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,a0eebc99-9c0b4ef8-bb6d6bb9-bd380a12}', '{a0eebc999c0b4ef8bb6d6bb9bd380a11}'),
    ('numeric', '{1.50,2}', '{1.5,2.000}'), ('date', '{"5 January 2024",2024-01-06}', '{2024-01-05}'), ('json', '{" {} ","[1]"}', '{[1]}')) v (type, texts, list);
CREATE FUNCTION found(type text, texts text[], list text, input text, filter text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE format('SELECT string_agg(p.item_a || '' '' || p.item_b || '' '' || p.support_count, '', '' ORDER BY p.item_a::text, p.item_b::text) FROM (SELECT %s(1, t) AS r FROM unnest($1) t) q,
        batmap_pairs_as(NULL::%s, q.r, min_count => 1, %s => $2) p', input, type, filter) INTO answer USING texts, list::text[];
    RETURN answer;
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT type, found(type, texts, list, 'batmap_relation_agg', 'include') AS included, found(type, texts, list, 'batmap_pair_counts_agg', 'include') AS of_counts,
    found(type, texts, list, 'batmap_relation_agg', 'exclude') AS excluded FROM odd;
-- two texts of one value
SELECT p.* FROM (SELECT batmap_relation_agg(1, t) AS r FROM unnest('{7,007}'::text[]) t) q, batmap_pairs_as(NULL::int4, q.r, min_count => 1) p;
SELECT found(type, texts, list, input, 'include') FROM (VALUES ('numeric', '{1.5,1.50}'::text[], '{1.5}'), ('uuid', '{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}', '{}')) v (type, texts, list),
    unnest('{batmap_relation_agg,batmap_pair_counts_agg}'::text[]) input;
-- a type without hashing goes by its text form
SELECT found('point', '{"(1, 2)","(3,4)"}', '{"( 1,2 )"}', 'batmap_relation_agg', 'include'), found('point', '{"(1,2)","(1, 2)"}', '{}', 'batmap_relation_agg', 'include');
DROP TABLE odd;
DROP FUNCTION found;

-- integers where texts are wanted, and the reverse
SELECT * FROM kept, batmap_pairs(r, min_count => 1);
SELECT * FROM kept, batmap_partners(r);
SELECT * FROM kept, batmap_itemsets(r, min_count => 1);
SELECT * FROM kept, batmap_itemset_spectrum(r, min_count => 1);
SELECT * FROM kept, batmap_rules(r, min_count => 1);
SELECT * FROM kept, batmap_recommend('{1}', r);
SELECT * FROM kept, batmap_join_project(r, r);
SELECT * FROM kept, batmap_unnest(r);
SELECT * FROM (SELECT batmap_relation_agg(tid, number) AS r FROM lines) q, batmap_pairs_of(q.r, min_count => 1);
SELECT * FROM (SELECT batmap_relation_agg(tid, number) AS r FROM lines) q, batmap_recommend_as(NULL::uuid, '{}', q.r);
SELECT * FROM (SELECT batmap_relation_agg(tid, number) AS r FROM lines) q, kept, batmap_join_project_of(kept.r, q.r);
SELECT * FROM (SELECT batmap_relation_agg(tid, number) AS r FROM lines) q, batmap_unnest_of(q.r);
SELECT kept.r | q.r FROM kept, (SELECT batmap_relation_agg(tid, number) AS r FROM lines) q;
SELECT q.r | kept.r FROM kept, (SELECT batmap_relation_agg(tid, number) AS r FROM lines) q;
SELECT batmap_relation_agg(r) FROM (SELECT r FROM kept UNION ALL SELECT batmap_relation_agg(tid, number) FROM lines) q;
SELECT _batmap_relation_trans(r, 1, 1) FROM kept;
SELECT _batmap_relation_trans(batmap_relation_agg(tid, number), 1, 'a'::text) FROM lines;
SELECT _batmap_pairs_final(r) FROM kept;
-- an empty relation has no kind
SELECT (kept.r | e)::text = kept.r::text AND (e | kept.r)::text = kept.r::text AND (NULL | kept.r)::text = kept.r::text
FROM kept, (SELECT 'r1:AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='::batmap_relation) v (e);
SELECT count(p.*) AS pairs, count(u.*) AS rows FROM (SELECT 'r1:AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='::batmap_relation) v (e)
    LEFT JOIN batmap_pairs_of(e, min_count => 1) p ON true LEFT JOIN batmap_unnest_of(e) u ON true;
SELECT count(*) FROM batmap_pairs_of(NULL::batmap_relation, min_count => 1);
SELECT batmap_relation_agg(tid, item) FROM lines WHERE false;
SELECT batmap_relation_agg(tid, item) FROM lines WHERE tid IS NULL OR item IS NULL;

-- a literal is still the text of a query
SELECT item_a FROM batmap_pairs_of('SELECT tid, item FROM lines', min_count => 5, include => '{item 1}');
SELECT item_a FROM batmap_pairs_of('SELECT tid, item FROM lines', 5, NULL, '{item 1}');
SELECT item_a FROM batmap_pairs_as(NULL::numeric, 'SELECT tid, number::numeric FROM lines', 5, NULL, '{1}');
SELECT item FROM batmap_partners_of('SELECT tid, item FROM lines', items => '{item 1}', top_k => 1);
SELECT itemset FROM batmap_itemsets_of('SELECT tid, item FROM lines', 7) ORDER BY 1 LIMIT 1;
SELECT count(*) FROM batmap_itemset_spectrum_of('SELECT tid, item FROM lines', 7);
SELECT lhs FROM batmap_rules_of('SELECT tid, item FROM lines', 5, lhs_include => '{item 1}');
SELECT item FROM batmap_recommend_of('{item 1}', 'SELECT tid, item FROM lines', top_k => 1);
SELECT item FROM batmap_recommend_as(NULL::numeric, '{1}', 'SELECT tid, number::numeric FROM lines', top_k => 1);
SELECT count(*) FROM batmap_join_project_of('SELECT item, tid FROM lines', 'SELECT tid, item FROM lines', 7);

-- merging: relations with other texts, in any order, and equal dictionaries where the texts are equal
SELECT count(*) FROM kept, batmap_unnest_of(r | r);
SELECT count(*) FROM batmap_unnest_of((SELECT r FROM kept) | (SELECT batmap_relation_agg(v.tid, v.item) FROM (VALUES (0, 'zz'), (1, ''), (-5, 'item 1')) v (tid, item)));
SELECT count(*) AS different FROM (
    SELECT u.* FROM (SELECT batmap_relation_agg(r) AS r FROM (SELECT batmap_relation_agg(tid, item) AS r FROM lines GROUP BY tid % 5) g) m, batmap_unnest_of(m.r) u
    EXCEPT SELECT u.* FROM kept, batmap_unnest_of(r) u) d;
SELECT substr(_batmap_relation_send(a), 1, 37) = substr(_batmap_relation_send(b), 1, 37) AS same_dictionary,
    pg_column_size(a) - 4 = length(_batmap_relation_send(a)) AS without_room
FROM (SELECT batmap_relation_agg(1, v || 'x') | batmap_relation_agg(2, v) FROM (VALUES ('b'::text)) v (v)) x (a),
    (SELECT batmap_relation_agg(t, v) FROM (VALUES (1, 'b'::text), (2, 'bx')) v (t, v)) y (b);
SELECT tid % 2, count(*) FROM (SELECT tid % 2 AS tid, batmap_relation_agg(tid, item) OVER (PARTITION BY tid % 2) AS r FROM lines) w GROUP BY 1 ORDER BY 1;
-- a moving frame; the state of a window is not changed by its own final function
SELECT g, (SELECT string_agg(u.tid || u.item, ' ') FROM batmap_unnest_of(r) u) FROM (
    SELECT g, batmap_relation_agg(g, chr(96 + g)) OVER (ORDER BY g) AS r FROM generate_series(1, 4) g) w;
-- calling the transition by hand does not change its argument
SELECT count(*) FROM batmap_unnest_of(_batmap_relation_trans((SELECT r FROM kept), 1000, 'new'::text));
SELECT count(*) FROM kept, batmap_unnest_of(r);

-- groups, by LATERAL
SELECT g.half, p.item_a, p.item_b, p.support_count
FROM (SELECT tid % 2 AS half, batmap_relation_agg(tid, item) AS r FROM lines WHERE tid IS NOT NULL GROUP BY 1) g,
    LATERAL batmap_pairs_of(g.r, top_k => 2) p ORDER BY 1, 4 DESC, 2, 3;

-- pairs and itemsets of a group as arrays
SELECT batmap_pairs_agg(tid, item, 5) AS pairs, pg_typeof(batmap_pairs_agg(tid::int8, item, 5)), batmap_itemsets_agg(tid, item, 6, 2) AS itemsets,
    pg_typeof(batmap_itemsets_agg(tid::int8, item, 6, 2)) FROM lines;
SELECT count(*) AS different FROM (
    SELECT g.half, p.item_a, p.item_b, p.support_count FROM (SELECT tid % 2 AS half, batmap_pairs_agg(tid, item, 2) AS pairs FROM lines GROUP BY 1) g, unnest(g.pairs) p
    EXCEPT ALL
    SELECT g.half, p.item_a, p.item_b, p.support_count FROM (SELECT tid % 2 AS half, batmap_relation_agg(tid, item) AS r FROM lines GROUP BY 1) g, batmap_pairs_of(g.r, min_count => 2) p) d;
SELECT count(*), count(DISTINCT itemset), count(*) FILTER (WHERE (i.itemset, i.support_count) IN (SELECT s.itemset, s.support_count FROM kept, batmap_itemsets_of(r, min_count => 1) s)) AS same
FROM (SELECT batmap_itemsets_agg(tid, item, 1, NULL) AS found FROM lines) q, unnest(q.found) i;
SELECT (SELECT count(*) FROM kept, batmap_itemsets_of(r, min_count => 1)) AS itemsets;
SELECT count(*) AS different FROM (
    SELECT p.item_a::uuid, p.item_b::uuid, p.support_count FROM (SELECT batmap_pairs_agg(tid, id, 1) AS pairs FROM keyed) q, unnest(q.pairs) p
    EXCEPT ALL
    SELECT p.item_a, p.item_b, p.support_count FROM batmap_pairs_as(NULL::uuid, 'SELECT tid, id FROM keyed', min_count => 1) p) d;
SELECT i.* FROM (SELECT batmap_itemsets_agg(tid::int8, id, 6, 1) AS found FROM keyed) q, unnest(q.found) i;
SELECT batmap_pairs_agg(tid::int8, id, 100), batmap_itemsets_agg(tid, id, 100, 2) FROM keyed;
SELECT batmap_pairs_agg(tid, item, 1), batmap_itemsets_agg(tid, item, 1, NULL) FROM lines WHERE tid IS NULL OR item IS NULL;
SELECT batmap_pairs_agg(tid, item, 0) FROM lines;
SELECT batmap_pairs_agg(tid, item, NULL) FROM lines;
SELECT batmap_pairs_agg(tid, item, tid + 1) FROM lines;
SELECT batmap_itemsets_agg(tid, item, 1, 0) FROM lines;
SELECT batmap_itemsets_agg(tid, item, 1, tid + 1) FROM lines;
-- texts that do not fit into one array
SELECT batmap_pairs_agg(1, repeat('x', 2000) || i, 1) FROM generate_series(1, 1000) i;
SELECT batmap_itemsets_agg(1, repeat('x', 2000) || i, 1, 2) FROM generate_series(1, 1000) i;
-- in parallel workers
CREATE TABLE many_lines AS SELECT i % 97 AS tid, 'item ' || i * i % 101 AS item, md5((i * i % 101)::text)::uuid AS id FROM generate_series(1, 5000) i;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT batmap_pairs_agg(tid, item, 5) FROM many_lines;
CREATE TABLE in_workers AS SELECT batmap_pairs_agg(tid, item, 5) AS pairs, batmap_itemsets_agg(tid, id, 9, 3) AS itemsets FROM many_lines;
SET max_parallel_workers_per_gather = 0;
SELECT w.pairs = s.pairs AS same_pairs, w.itemsets = s.itemsets AS same_itemsets, cardinality(s.pairs), cardinality(s.itemsets) FROM in_workers w,
    (SELECT batmap_pairs_agg(tid, item, 5) AS pairs, batmap_itemsets_agg(tid, id, 9, 3) AS itemsets FROM many_lines) s;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
DROP TABLE many_lines, in_workers;
-- final functions called by hand
SELECT _batmap_pairs_text_final(batmap_relation_agg(1, 2));
SELECT _batmap_itemsets_text_final(batmap_relation_agg(1, 2));
SELECT _batmap_pairs_text_final(NULL), _batmap_itemsets_text_final(NULL);
SELECT _batmap_pairs_text_final(r) FROM kept;
SELECT _batmap_pairs_trans(r, 1, 'a'::text, 1) FROM kept;
SELECT _batmap_pairs_trans(batmap_relation_agg(1, 2), 1, 'a'::text, 0) FROM kept;

-- edges: the empty text, texts of every length around the steps of the format, texts that differ late, other characters
SELECT u.tid, length(u.item), md5(u.item) FROM (SELECT batmap_relation_agg(l, repeat('x', l)) AS r FROM unnest('{0,1,7,8,9,127,128,16383,16384,300000}'::int[]) l) q,
    batmap_unnest_of(q.r) u;
SELECT u.item FROM (SELECT batmap_relation_agg(1, v) AS r FROM unnest(ARRAY['aaaaaaaaaaaaaaab', 'aaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaa', 'ä', 'z', 'A', '', ' ', '日本', 'a']) v) q,
    batmap_unnest_of(q.r) u;
SELECT count(*) FROM (SELECT batmap_relation_agg(1, v::varchar) AS r FROM unnest('{a,b,a }'::text[]) v) q, batmap_unnest_of(q.r);
-- extreme tids
SELECT u.* FROM (SELECT batmap_relation_agg(t, t::text) AS r FROM unnest('{-9223372036854775808,0,9223372036854775807}'::int8[]) t) q, batmap_unnest_of(q.r) u;
-- many rows, many texts, many groups: across chunks, and with states of every size
SELECT count(*), count(DISTINCT u.item) FROM (SELECT batmap_relation_agg(i % 1000, 'text ' || i % 7001) AS r FROM generate_series(1, 30000) i) q, batmap_unnest_of(q.r) u;
SELECT sum(n) FROM (SELECT (SELECT count(*) FROM batmap_unnest_of(batmap_relation_agg(i, (i % 7)::text))) AS n FROM generate_series(1, 20000) i GROUP BY i % 3000) g;
SELECT count(*) AS wrong FROM (
    SELECT u.tid, u.item FROM (SELECT batmap_relation_agg(r) AS r FROM (
        SELECT batmap_relation_agg(i, md5((i % 5000)::text)) AS r FROM generate_series(1, 20000) i GROUP BY i % 7) g) q, batmap_unnest_of(q.r) u
    EXCEPT SELECT i, md5((i % 5000)::text) FROM generate_series(1, 20000) i) d;

-- no run leaves memory charged to the session, whoever gave the texts their numbers
SELECT memory AS before FROM batmap_usage()
\gset
SELECT count(*) FROM batmap_pairs_of('SELECT tid, item FROM lines', min_count => 1);
SELECT count(*) FROM kept, batmap_pairs_of(r, min_count => 1);
SELECT memory = :before AS given_back FROM batmap_usage();

-- texts count against the memory limit of a run, as they do over a query
CREATE TABLE many_texts AS SELECT batmap_relation_agg(i % 10, md5(i::text)) AS r, batmap_pair_counts_agg(i, md5(i::text)) AS c FROM generate_series(1, 80000) i;
SET batmap.memory_limit = '1MB';
CREATE FUNCTION failure(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE query;
    RETURN 'none';
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || regexp_replace(SQLERRM, '\d+', 'N', 'g');
END $$;
SELECT query, failure(query) FROM (VALUES
    ('SELECT u.* FROM many_texts, batmap_unnest_of(r) u'), ('SELECT u.* FROM many_texts, batmap_pair_counts_unnest_of(c) u'),
    ('SELECT p.* FROM many_texts, batmap_pairs_of(r, min_count => 100) p'), ('SELECT p.* FROM many_texts, batmap_pairs_of(c, min_count => 100) p'),
    ('SELECT p.* FROM many_texts, batmap_pairs_as(NULL::uuid, c, min_count => 100) p'), ('SELECT p.* FROM many_texts, batmap_join_project_of(r, r, min_count => 100) p'),
    ('SELECT r | (SELECT batmap_relation_agg(1, ''a''::text)) FROM many_texts'), ('SELECT (SELECT batmap_relation_agg(1, ''a''::text)) | r FROM many_texts'),
    ('SELECT _batmap_pair_counts_final(r) FROM many_texts')) v (query);
RESET batmap.memory_limit;
SELECT memory = :before AS given_back FROM batmap_usage();
DROP TABLE many_texts;
DROP FUNCTION failure;

-- not a relation: each of these differs from a good one in one place
CREATE FUNCTION refusal(hex text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT string_agg(u.tid || '=' || u.item, ' ') FROM batmap_unnest_of(('r1:' || translate(encode(decode(replace(hex, ' ', ''), 'hex'), 'base64'), E'\n', ''))::batmap_relation) u);
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE sample AS SELECT
    '02000000 00000000' || '{texts}' || '00000000 {bytes}00000000000000 {bytes}00000000000000' AS header,
    '01000000 00000000 3000000000000000 0200000000000000 0000000000000000' ||  -- flat relation: two rows in one chunk
    '0700000000000000 0000000000000000 0000000000000000 0100000000000000 02000000 00000000' AS chunk;
SELECT what, refusal(replace(replace(header, '{texts}', texts || '000000'), '{bytes}', bytes) || items || chunk || numbers) FROM sample, (VALUES
    ('good', '02', '04', '0161 0162', '0001000000000000 '), ('descending', '02', '04', '0162 0161', '0001000000000000'),
    ('equal', '02', '04', '0161 0161', '0001000000000000'), ('cut off', '02', '04', '0161 0262', '0001000000000000'),
    ('fewer', '03', '04', '0161 0162', '0001000000000000'), ('more', '01', '04', '0161 0162', '0001000000000000'),
    ('none', '00', '00', '', '0001000000000000'), ('long length', '02', '05', '0161 8100 62', '0001000000000000'),
    ('empty text', '02', '03', '00 0162', '0001000000000000'), ('no such number', '01', '02', '0161', '0001000000000000'),
    ('unused', '03', '06', '0161 0162 0163', '0001000000000000'), ('zero byte', '02', '04', '0100 0162', '0001000000000000'),
    ('encoding', '02', '04', '0161 01ff', '0001000000000000'), ('half a character', '02', '04', '0161 01c3', '0001000000000000')) v (what, texts, bytes, items, numbers);
SELECT refusal('02'), refusal(repeat('02', 64)), refusal(replace(replace(header, '{texts}', '02000001'), '{bytes}', '04') || '01610162' || chunk || '0001000000000000') FROM sample;
SELECT refusal(overlay(replace(replace(header, '{texts}', '02000000'), '{bytes}', '04') || '01610162' || chunk || '0001000000000000' PLACING '08' FROM 10)) FROM sample;
DROP TABLE lines, kept, keyed, sample;
DROP FUNCTION differ, refusal;
