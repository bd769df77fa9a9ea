-- Counts of parts, made from query text and added up: pairs and itemsets in two rounds, equal to the whole. Then itemsets and
-- rules over rows in files.
CREATE SCHEMA counts_of_parts;
SET search_path = counts_of_parts, public;
CREATE TABLE many AS SELECT (g / 9)::int AS tid, ((hashint4(g)::int8 + 2147483648) % 61 * ((hashint4(g + 1)::int8 + 2147483648) % 61) / 61)::int AS item
FROM generate_series(1, 60000) g;
INSERT INTO many SELECT * FROM many LIMIT 500;
INSERT INTO many VALUES (NULL, 1), (1, NULL);
CREATE TABLE parts AS SELECT p AS part, format('SELECT tid, item FROM many WHERE tid %% 4 = %s', p) AS query FROM generate_series(0, 3) p;
CREATE FUNCTION differ(x text, y text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE rows int8;
BEGIN
    EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL %2$s) UNION ALL (%2$s EXCEPT ALL %1$s)) d', x, y) INTO rows;
    RETURN rows;
END $$;

-- pairs: all of them are those of the aggregate
SELECT batmap_pair_counts_from('many')::text = (SELECT batmap_pair_counts_agg(tid, item) FROM many)::text AS same;
SELECT sum(batmap_pair_counts_from(query))::text = batmap_pair_counts_from('many')::text AS same FROM parts;
-- a part may leave out what is rare in it: round one names candidates, round two counts them
CREATE TABLE candidates AS SELECT sum(batmap_pair_counts_from(query, min_support => 0.02)) AS c FROM parts;
CREATE TABLE exact AS SELECT sum(batmap_pair_counts_from(query, candidates => c)) AS c FROM parts, candidates;
SELECT batmap_pair_counts_pairs(e.c) = batmap_pair_counts_pairs(c.c) AS all_counted, batmap_pair_counts_pairs(e.c) * 2 < batmap_pair_counts_pairs(batmap_pair_counts_from('many')) AS fewer,
    batmap_pair_counts_total(e.c) FROM exact e, candidates c;
SELECT differ($$SELECT * FROM batmap_pairs('many', min_support => 0.02)$$, $$SELECT p.* FROM exact, batmap_pairs(c, min_support => 0.02) p$$);
SELECT count(*) > 100 AS some FROM batmap_pairs('many', min_support => 0.02);
-- include: all items keep their supports, so the parts add up
SELECT differ($$SELECT * FROM batmap_pairs('many', min_support => 0.001, include => '{3,7,99}', exclude => '{7}')$$,
    $$SELECT p.* FROM (SELECT sum(batmap_pair_counts_from(query, include => '{3,7,99}', exclude => '{7}')) AS c FROM parts) s, batmap_pairs(c, min_support => 0.001) p$$);
-- parameters, and a table's columns by name
SELECT batmap_pair_counts_total(batmap_pair_counts_from('SELECT tid, item FROM many WHERE tid < $1', params => ROW(10)));
CREATE TABLE wider AS SELECT item AS product, 'x' AS note, tid AS receipt FROM many;
SELECT batmap_pair_counts_from('wider', tid_column => 'receipt', item_column => 'product')::text = batmap_pair_counts_from('many')::text AS same;
-- nothing, NULL, and what is refused
SELECT batmap_pair_counts_from('SELECT 1, 2 WHERE false');
SELECT batmap_pair_counts_from(NULL);
SELECT batmap_pair_counts_from('many', min_count => 0);
SELECT batmap_pair_counts_from('many', min_count => 2, min_support => 0.1);
SELECT batmap_pair_counts_from('many', min_count => 2, candidates => c) FROM candidates;
SELECT batmap_pair_counts_from('many', candidates => (SELECT batmap_pair_counts_agg(tid, item::text) FROM many));
SELECT batmap_pair_counts_from('SELECT tid, item::text FROM many');
SELECT batmap_pair_counts_from('SELECT 1');
-- the name of a type, called with a literal, is a cast
SELECT batmap_pair_counts('many');

-- the aggregate whose states are rows within a server, and counts between servers
SELECT batmap_pair_counts_by_tid_agg(tid, item)::text = batmap_pair_counts_agg(tid, item)::text AS same FROM many;
SELECT batmap_pair_counts_by_tid_agg(tid, item::int8)::text = batmap_pair_counts_agg(tid, item)::text AS same FROM many;
SELECT batmap_pair_counts_by_tid_agg(tid::int8, item)::text = batmap_pair_counts_agg(tid, item)::text AS same FROM many;
SELECT batmap_pair_counts_by_tid_agg(tid::int8, item::int8)::text = batmap_pair_counts_agg(tid, item)::text AS same FROM many;
SELECT batmap_pair_counts_by_tid_agg(1, 2) FROM many WHERE false;
CREATE AGGREGATE partial(int4, int4) (SFUNC = _batmap_pair_counts_by_tid_trans, STYPE = batmap_pair_counts_state);
CREATE AGGREGATE combined(batmap_pair_counts_state) (SFUNC = _batmap_pair_counts_by_tid_merge, STYPE = batmap_pair_counts_state, FINALFUNC = _batmap_pair_counts_by_tid_final);
-- within a server a transaction may be split
CREATE TABLE split AS SELECT item % 3 AS part, partial(tid, item) AS state FROM many GROUP BY 1;
SELECT combined(state)::text = (SELECT batmap_pair_counts_agg(tid, item) FROM many)::text AS same FROM split;
-- between servers not, and what is sent is the text of pair counts
CREATE TABLE apart AS SELECT tid % 3 AS part, partial(tid, item) AS state FROM many GROUP BY 1;
SELECT combined(state::text::batmap_pair_counts_state)::text = (SELECT batmap_pair_counts_agg(tid, item) FROM many)::text AS same FROM apart;
SELECT combined(CASE part WHEN 1 THEN state ELSE state::text::batmap_pair_counts_state END ORDER BY part)::text = (SELECT batmap_pair_counts_agg(tid, item) FROM many)::text AS same FROM apart;
SELECT bool_and(state::text = (SELECT batmap_pair_counts_agg(tid, item) FROM many WHERE tid % 3 IS NOT DISTINCT FROM part)::text) AS same FROM apart WHERE part IS NOT NULL;
SELECT bool_and(_batmap_pair_counts_state_send(state) = _batmap_pair_counts_send(state::text::batmap_pair_counts)) AS same FROM apart;
SELECT combined(s) FROM (VALUES (NULL::batmap_pair_counts_state), (NULL)) v (s);
-- refused
SELECT _batmap_pair_counts_by_tid_trans(state::text::batmap_pair_counts_state, 1, 2) FROM apart WHERE part = 1;
SELECT combined(s) FROM (SELECT batmap_pair_counts_agg(1, x::text)::text::batmap_pair_counts_state FROM generate_series(1, 2) x UNION ALL SELECT partial(1, x) FROM generate_series(1, 2) x) v (s);
SELECT ''::batmap_pair_counts_state;
SELECT 'c1:'::batmap_pair_counts_state;
-- in a parallel plan
CREATE TABLE spread AS SELECT tid, item FROM many ORDER BY hashint4(tid * 64 + item);
ALTER TABLE spread SET (parallel_workers = 2);
ANALYZE spread;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS off) SELECT batmap_pair_counts_by_tid_agg(tid, item) FROM spread;
SELECT batmap_pair_counts_by_tid_agg(tid, item)::text = batmap_pair_counts_from('many')::text AS same FROM spread;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- itemsets
CREATE TABLE found AS SELECT * FROM batmap_itemsets('many', min_support => 0.01);
SELECT count(*) > 500 AS some, max(length) FROM found;
CREATE TABLE itemset_candidates AS SELECT sum(batmap_itemset_candidates(query, min_support => 0.01)) AS c FROM parts;
CREATE TABLE itemset_counts AS SELECT sum(batmap_itemset_count(query, c)) AS c FROM parts, itemset_candidates;
SELECT batmap_itemset_counts_total(n.c), batmap_itemset_counts_items(n.c), batmap_itemset_counts_itemsets(n.c) = batmap_itemset_counts_itemsets(c.c) AS all_counted,
    batmap_itemset_counts_itemsets(n.c) >= (SELECT count(*) FROM found) AS enough FROM itemset_counts n, itemset_candidates c;
SELECT differ('TABLE found', $$SELECT i.* FROM itemset_counts, batmap_itemsets(c, min_support => 0.01) i$$);
SELECT differ($$SELECT * FROM batmap_itemsets('many', min_support => 0.01, target => '$$ || target || $$', include => '{1,2,3}', max_length => 3, max_support => 0.2)$$,
    $$SELECT i.* FROM itemset_counts, batmap_itemsets(c, min_support => 0.01, target => '$$ || target || $$', include => '{1,2,3}', max_length => 3, max_support => 0.2) i$$)
FROM (VALUES ('all'), ('closed'), ('maximal'), ('generators')) v (target);
SELECT differ($$SELECT * FROM batmap_itemsets('many', top_k => 30, min_length => 2)$$, $$SELECT i.* FROM itemset_counts, batmap_itemsets(c, top_k => 30, min_length => 2) i$$);
SELECT differ($$SELECT * FROM batmap_rules('many', min_support => 0.01, min_confidence => 0.1)$$, $$SELECT r.* FROM itemset_counts, batmap_rules(c, min_support => 0.01, min_confidence => 0.1) r$$);
SELECT i.itemset, i.support_count FROM itemset_counts, batmap_itemsets(c, top_k => 3, min_length => 2) i;
SELECT method, reason, input FROM batmap_last_run();
-- one part is the whole; with `+`; without a value
SELECT batmap_itemset_count('many', c)::text = c::text AS same FROM (SELECT batmap_itemset_candidates('many', min_support => 0.01)) v (c);
SELECT (c + c)::text = (SELECT sum(x.c)::text FROM itemset_counts x, generate_series(1, 2)) AS same, batmap_itemset_counts_total(c + c) FROM itemset_counts;
SELECT sum(c) FROM itemset_counts WHERE false;
SELECT count(*) FROM batmap_itemsets(NULL::batmap_itemset_counts, min_count => 1);
SELECT count(*) FROM batmap_rules(NULL::batmap_itemset_counts, min_count => 1);
-- text and binary form
SELECT c::text::batmap_itemset_counts::text = c::text AS lossless FROM itemset_counts;
SELECT octet_length(_batmap_itemset_counts_send(c)) < 5 * batmap_itemset_counts_itemsets(c) AS short FROM itemset_counts;
SELECT batmap_itemset_candidates('VALUES (1, 7), (1, 9), (2, 7)', min_count => 1);
SELECT 'i1:AQAAAAIAAAA5AAAAAAAAAAAAAAAAAAAAAgAAAAAAAAADAAAAAAAAAAIAAAAAAAAADgEBBQECAAEC'::batmap_itemset_counts IS NOT NULL AS sound;
SELECT ''::batmap_itemset_counts;
SELECT 'i1:'::batmap_itemset_counts;
SELECT 'i1:AQAAAAIAAAA5AAAAAAAAAAAAAAAAAAAAAgAAAAAAAAADAAAAAAAAAAIAAAAAAAAADgEBBQECAAEa'::batmap_itemset_counts;
-- refused
SELECT batmap_itemset_candidates('many');
SELECT batmap_itemset_candidates(NULL, min_count => 1);
SELECT batmap_itemset_candidates('SELECT tid, item::text FROM many', min_count => 1);
SELECT batmap_itemset_candidates('many', min_count => 5, max_length => 0);
SELECT batmap_itemset_count('many', NULL);
SELECT batmap_itemset_count(NULL, c) FROM itemset_counts;
SELECT count(*) FROM itemset_counts, batmap_itemsets(c);
-- rules need all subsets of an itemset
SELECT count(*) FROM (SELECT batmap_itemset_candidates('many', min_count => 200, include => '{1}')) v (c), batmap_rules(c, min_count => 1);

-- rows in files: the same answers
SET batmap.work_mem = '64kB';
INSERT INTO many SELECT tid + 10000, item FROM many, generate_series(1, 6);
CREATE TABLE in_files AS SELECT * FROM batmap_itemsets('many', min_support => 0.01);
SELECT reason ~ '^rows in \d+ MB of files, searched in [2-9]\d* parts, \d+ candidates, threshold \d+$' AS in_files, method FROM batmap_last_run();
SELECT count(*) FROM pg_ls_tmpdir();
CREATE TABLE rules_in_files AS SELECT * FROM batmap_rules('many', min_support => 0.01, min_confidence => 0.1);
SELECT reason LIKE 'rows in %' AS in_files FROM batmap_last_run();
CREATE TABLE targets_in_files AS SELECT v.target AS t, i.* FROM (VALUES ('all'), ('closed'), ('maximal'), ('generators')) v (target),
    batmap_itemsets('many', min_support => 0.02, target => v.target, include => '{1,2,3}', exclude => '{5}', min_length => 2) i;
CREATE TABLE best_in_files AS SELECT * FROM batmap_itemsets('many', top_k => 30, min_length => 2);
CREATE TABLE texts_in_files AS SELECT * FROM batmap_itemsets_of('SELECT tid, ''i'' || item FROM many', min_support => 0.02);
CREATE TABLE spectrum_in_files AS SELECT * FROM batmap_itemset_spectrum('many', min_support => 0.02);
CREATE TABLE values_in_files AS SELECT batmap_itemset_candidates('many', min_support => 0.01) AS candidates, batmap_itemset_count('many', c) AS counts, batmap_pair_counts_from('many') AS pairs FROM itemset_candidates;
RESET batmap.work_mem;
SELECT differ('TABLE in_files', $$SELECT * FROM batmap_itemsets('many', min_support => 0.01)$$);
SELECT differ('TABLE rules_in_files', $$SELECT * FROM batmap_rules('many', min_support => 0.01, min_confidence => 0.1)$$);
SELECT differ('TABLE targets_in_files', $$SELECT v.target, i.* FROM (VALUES ('all'), ('closed'), ('maximal'), ('generators')) v (target),
    batmap_itemsets('many', min_support => 0.02, target => v.target, include => '{1,2,3}', exclude => '{5}', min_length => 2) i$$);
SELECT differ('TABLE best_in_files', $$SELECT * FROM batmap_itemsets('many', top_k => 30, min_length => 2)$$);
SELECT differ('TABLE texts_in_files', $$SELECT * FROM batmap_itemsets_of('SELECT tid, ''i'' || item FROM many', min_support => 0.02)$$);
SELECT differ('TABLE spectrum_in_files', $$SELECT * FROM batmap_itemset_spectrum('many', min_support => 0.02)$$);
SELECT v.candidates::text = batmap_itemset_candidates('many', min_support => 0.01)::text AS candidates, v.counts::text = batmap_itemset_count('many', c)::text AS counts,
    v.pairs::text = batmap_pair_counts_from('many')::text AS pairs FROM values_in_files v, itemset_candidates;
-- the files go after an error, too
SET max_parallel_workers_per_gather = 0;
SET batmap.work_mem = '64kB';
SELECT count(*) FROM batmap_itemsets('SELECT tid, item / (tid - 16600) FROM many', min_support => 0.01);
SELECT count(*) FROM pg_ls_tmpdir();
RESET batmap.work_mem;
RESET max_parallel_workers_per_gather;
SET client_min_messages = warning;
DROP SCHEMA counts_of_parts CASCADE;
