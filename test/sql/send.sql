-- The binary form of each type, alone and in arrays and rows. The server frees what a send function returns for an element
-- of an array, so it must not be the element itself.
CREATE AGGREGATE set_state(int4) (SFUNC = _batmap_agg_trans, STYPE = batmap_state);
CREATE AGGREGATE join_state(int4, int4, int4) (SFUNC = _batmap_join_trans, STYPE = batmap_join_state);
CREATE AGGREGATE episode_state(int8, int4, int8[], int8, int8) (SFUNC = _batmap_episode_count_trans, STYPE = batmap_episode_state);
CREATE AGGREGATE counts_state(int4, int4) (SFUNC = _batmap_pair_counts_by_tid_trans, STYPE = batmap_pair_counts_state);
CREATE TABLE sent AS
SELECT '{1,5,9}'::batmap AS a_set, ARRAY[1, 5, 9]::_batmap_array AS array_as_set, batmap_relation_agg(i, i % 3) AS relation, batmap_pair_counts_agg(i % 4, i % 3) AS pair_counts,
    batmap_itemset_candidates('VALUES (1, 7), (1, 9), (2, 7)', min_count => 1) AS itemset_counts, batmap_join_counts_from('VALUES (7, 1), (9, 1)', 'VALUES (1, 7)') AS join_counts, batmap_episode_counts_from('VALUES (1, 7), (2, 9)', ARRAY[0, 5], min_count => 1) AS episode_counts, counts_state(i % 4, i % 3) AS counts_state, set_state(i) AS set_state, join_state(i, i % 2, NULL) AS join_state, episode_state(i, i % 3, '{1,2}', 0, 5) AS episode_state
FROM generate_series(1, 20) i;
-- Every type of the extension that has a binary form is in the table.
SELECT t.typname FROM pg_type t JOIN pg_depend d ON d.objid = t.oid AND d.classid = 'pg_type'::regclass AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'batmap'
WHERE t.typtype = 'b' AND t.typelem = 0 AND t.oid NOT IN (SELECT atttypid FROM pg_attribute WHERE attrelid = 'sent'::regclass) ORDER BY 1;
CREATE FUNCTION sent_twice(type regtype) RETURNS TABLE (array_bytes int, same bool, row_bytes int) LANGUAGE plpgsql AS $$
DECLARE
    item name := (SELECT attname FROM pg_attribute WHERE attrelid = 'sent'::regclass AND atttypid = type);
    send regproc := (SELECT typsend FROM pg_type WHERE oid = type);
BEGIN
    RETURN QUERY EXECUTE format('SELECT length(array_send(ARRAY[%1$I, %1$I, NULL])),
            length(array_send(ARRAY[%1$I, %1$I, NULL])) = 20 + 3 * 4 + 2 * length(%2$s(%1$I)), length(record_send(ROW(%1$I, %1$I))) FROM sent', item, send);
END $$;
SELECT t.typname, s.array_bytes > 40 AS bytes, s.same, s.row_bytes > 40 AS row_bytes
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid, LATERAL sent_twice(t.oid) s WHERE a.attrelid = 'sent'::regclass AND a.attnum > 0 ORDER BY 1;
-- also of a stored array, and of a value out of line
CREATE TABLE sent_sets AS SELECT array_agg(s) AS sets FROM (SELECT batmap_agg(i * k) AS s FROM generate_series(1, 5000) i, generate_series(1, 3) k GROUP BY k) q;
SELECT length(array_send(sets)) > 1000 AS bytes, (SELECT sum(batmap_cardinality(s)) FROM unnest(sets) s) AS elements FROM sent_sets;
DROP TABLE sent, sent_sets;
