-- Pair counts with text items: compared with the same counts of integers, and with relations of text items.
CREATE TABLE lines AS
SELECT (i / 3)::int AS tid, ('item ' || i * i % 17) AS item, (i * i % 17)::int AS number FROM generate_series(1, 60) i;
INSERT INTO lines VALUES (1, NULL), (NULL, 'item 1'), (NULL, NULL);
CREATE TABLE kept AS SELECT batmap_pair_counts_agg(tid, item) AS c, batmap_pair_counts_agg(tid, number) AS n, batmap_relation_agg(tid, item) AS r FROM lines;

-- the figures of a value
SELECT batmap_pair_counts_total(c), batmap_pair_counts_items(c), batmap_pair_counts_pairs(c) FROM kept;
SELECT u.* FROM kept, batmap_pair_counts_unnest_of(c) u LIMIT 3;
SELECT batmap_pair_count(c, 'item 1', 'item 4'), batmap_pair_count(c, 'item 4', 'item 1'), batmap_pair_count(c, 'item 1', 'item 1'), batmap_item_count(c, 'item 1'),
    batmap_pair_count(c, 'item 1', 'item 3'), batmap_item_count(c, 'none'), batmap_item_count(c, ''), batmap_item_count(c, 'zzz'), batmap_pair_count(c, NULL, 'item 1') FROM kept;
SELECT count(*) AS different FROM (
    SELECT least(a, b), greatest(a, b), u.support_count FROM kept, batmap_pair_counts_unnest(n) u, LATERAL (VALUES (('item ' || u.item_a) COLLATE "C", ('item ' || u.item_b) COLLATE "C")) v (a, b)
    EXCEPT SELECT u.* FROM kept, batmap_pair_counts_unnest_of(c) u) d;
-- text: lossless, and the same for the same counts
SELECT c::text::batmap_pair_counts::text = c::text FROM kept;
SELECT batmap_pair_counts_agg(1, x) FROM unnest('{a,b,c}'::text[]) x;
SELECT count(DISTINCT c::text) FROM (
    SELECT batmap_pair_counts_agg(tid, item) c FROM lines UNION ALL
    SELECT batmap_pair_counts_agg(tid::int8, item) FROM lines UNION ALL
    SELECT batmap_pair_counts_agg(tid::int8, item) FROM (SELECT * FROM lines ORDER BY item DESC) v UNION ALL
    SELECT sum(c) FROM (SELECT batmap_pair_counts_agg(tid, item) AS c FROM lines GROUP BY tid) v) v;
-- the same rows as over the relation, for every kind of question
SELECT p.* FROM kept, batmap_pairs_of(c, min_count => 5) p;
SELECT method, reason, input FROM batmap_last_run();
CREATE FUNCTION differ(call text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
BEGIN
    EXECUTE format('WITH x AS (SELECT p.* FROM kept, %s p), y AS (SELECT p.* FROM kept, %s p)
        SELECT count(*) FROM ((TABLE x EXCEPT ALL TABLE y) UNION ALL (TABLE y EXCEPT ALL TABLE x)) d', format(call, 'c'), format(call, 'r')) INTO n;
    RETURN n;
END $$;
SELECT call, differ(call) AS different FROM (VALUES
    ('batmap_pairs_of(%s, min_count => 1)'), ('batmap_pairs_of(%s, min_count => 100)'), ('batmap_pairs_of(%s, top_k => 5)'),
    ('batmap_pairs_of(%s, per_item_top_k => 2, top_k => 3)'), ($$batmap_pairs_of(%s, min_count => 1, include => '{item 1,item 4,none}')$$),
    ($$batmap_pairs_of(%s, min_count => 1, exclude => '{item 1}')$$), ($$batmap_pairs_of(%s, min_count => 2, measure => 'lift')$$),
    ('batmap_partners_of(%s)'), ($$batmap_partners_of(%s, items => '{item 9}', exclude => '{item 1}', top_k => 100)$$)) v (call);
-- values of a type
SELECT p.item_a, p.item_b, p.support_count, pg_typeof(p.item_a) FROM (SELECT batmap_pair_counts_agg(tid, number::text) AS c FROM lines) q,
    batmap_pairs_as(NULL::int8, q.c, min_count => 5, include => '{4}') p;
SELECT p.*, pg_typeof(p.partner) FROM (SELECT batmap_pair_counts_agg(tid, md5(number::text)::uuid) AS c FROM lines) q,
    batmap_partners_as(NULL::uuid, q.c, items => '{C4CA4238A0B923820DCC509A6F75849B}', top_k => 1) p;
SELECT p.item_a FROM kept, batmap_pairs_as(NULL::int8, c, min_count => 5) p;

-- sums over parts with different texts are exact
CREATE TABLE daily AS SELECT tid % 4 AS day, batmap_pair_counts_agg(tid, item || CASE WHEN tid % 4 = 1 THEN '' ELSE (tid % 2)::text END) AS c FROM lines WHERE tid IS NOT NULL GROUP BY 1;
SELECT count(*), count(DISTINCT batmap_pair_counts_items(c)) > 1 AS other_items FROM daily;
CREATE TABLE whole AS SELECT batmap_pair_counts_agg(tid, item || CASE WHEN tid % 4 = 1 THEN '' ELSE (tid % 2)::text END) AS c FROM lines;
SELECT (SELECT sum(c) FROM daily)::text = c::text AS sum, (SELECT sum(c ORDER BY day DESC) FROM daily)::text = c::text AS other_order,
    ((SELECT c FROM daily WHERE day = 0) + (SELECT c FROM daily WHERE day = 1) + (SELECT c FROM daily WHERE day = 2) + (SELECT c FROM daily WHERE day = 3))::text = c::text AS plus FROM whole;
SELECT day, batmap_pair_count(s, 'item 10', 'item 40'), batmap_pair_counts_total(s) FROM (
    SELECT day, sum(c) OVER (ORDER BY day ROWS 1 PRECEDING) AS s FROM daily) w ORDER BY day;
-- many parts: the state is summed again and again
SELECT count(*) AS wrong FROM (
    SELECT u.* FROM (SELECT sum(c) AS s FROM (SELECT batmap_pair_counts_agg(i / 5, 'x' || i % 37 || repeat('y', i % 50)) AS c FROM generate_series(0, 29999) i GROUP BY i / 50) v) q, batmap_pair_counts_unnest_of(q.s) u
    EXCEPT SELECT u.* FROM (SELECT batmap_pair_counts_agg(i / 5, 'x' || i % 37 || repeat('y', i % 50)) AS s FROM generate_series(0, 29999) i) q, batmap_pair_counts_unnest_of(q.s) u) d;
-- a group too large to be sorted pair by pair
SELECT batmap_pair_counts_pairs(c), batmap_pair_count(c, 'text 3', 'text 40'), batmap_item_count(c, 'text 7') FROM (
    SELECT batmap_pair_counts_agg(t, 'text ' || t * i % 60) AS c FROM generate_series(1, 300) t, generate_series(1, 40) i) q;

-- items of the other kind
SELECT p.* FROM kept, batmap_pairs(c, min_count => 1) p;
SELECT p.* FROM kept, batmap_partners(c) p;
SELECT r.* FROM kept, batmap_rules(c, 100) r;
SELECT r.* FROM kept, batmap_recommend('{1}', c) r;
SELECT r.* FROM kept, batmap_rules_of(n, 100) r;
SELECT p.* FROM kept, batmap_pairs_of(n, min_count => 1) p;
SELECT p.* FROM kept, batmap_partners_as(NULL::uuid, n) p;
SELECT batmap_pair_count(c, 1, 2) FROM kept;
SELECT batmap_item_count(c, 1) FROM kept;
-- an untyped literal or parameter is a text, which is read as an integer over counts of integers
SELECT batmap_pair_count(n, '1', ' 4') = batmap_pair_count(n, 1, 4) AS pair, batmap_item_count(n, '1') = batmap_item_count(n, 1) AS item, batmap_pair_count(n, '1', '3') FROM kept;
PREPARE counted AS SELECT batmap_pair_count(n, $1, $2) AS integers, batmap_pair_count(c, 'item ' || $1, 'item ' || $2) AS texts FROM kept;
EXECUTE counted(1, 4);
DEALLOCATE counted;
SELECT batmap_pair_count(n, 'a', 'b') FROM kept;
SELECT batmap_pair_count(n, '1', '9223372036854775808') FROM kept;
SELECT batmap_item_count(n, 'a') FROM kept;
SELECT u.* FROM kept, batmap_pair_counts_unnest(c) u;
SELECT u.* FROM kept, batmap_pair_counts_unnest_of(n) u;
SELECT c + n FROM kept;
SELECT sum(v) FROM kept, LATERAL (VALUES (n), (c)) w (v);
SELECT _batmap_pair_counts_basket_final(r) FROM kept;
-- pair counts without items have no kind: empty baskets only add transactions
SELECT batmap_pair_counts_total(c + e), batmap_pair_counts_total(e + c), batmap_pair_counts_items(e + c), batmap_item_count(e + c, 'item 1'),
    (SELECT count(*) FROM batmap_pairs_of(e, min_count => 1)) AS pairs, batmap_item_count(e, 'item 1')
FROM kept, (SELECT batmap_pair_counts_agg('{}'::batmap) AS e) v;
SELECT batmap_pair_counts_agg(tid, item) FROM lines WHERE item IS NULL;
SELECT * FROM batmap_pairs_of(NULL::batmap_pair_counts, min_count => 1);

-- not pair counts: each of these differs from a good value in one place
CREATE FUNCTION refusal(hex text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT string_agg(u.item_a || '+' || u.item_b || '=' || u.count, ' ')
            FROM batmap_pair_counts_unnest_of(('c1:' || translate(encode(decode(replace(hex, ' ', ''), 'hex'), 'base64'), E'\n', ''))::batmap_pair_counts) u);
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT what, refusal('02000000' || lpad(items, 2, '0') || '000000' || to_hex(48 + length(replace(bytes, ' ', '')) / 2 + 2) || '00000000000000 0000000000000000 0500000000000000 0100000000000000 '
    || lpad(to_hex(length(replace(bytes, ' ', '')) / 2), 2, '0') || '00000000000000' || bytes || '0001') FROM (VALUES
    ('good', '2', '0161 03 02 0162 02 00'), ('empty text', '2', '00 03 02 0162 02 00'), ('descending', '2', '0162 03 02 0161 02 00'), ('equal', '2', '0161 03 02 0161 02 00'),
    ('cut off', '2', '0161 03 02 7f62 02 00'), ('long length', '2', '0161 03 02 818000 62 02 00'), ('other number', '3', '0161 03 02 0162 02 00'), ('none', '0', ''),
    ('zero byte', '2', '0100 03 02 0162 02 00'), ('encoding', '2', '0161 03 02 01ff 02 00')) v (what, items, bytes);
DROP TABLE lines, kept, daily, whole;
DROP FUNCTION differ, refusal;
