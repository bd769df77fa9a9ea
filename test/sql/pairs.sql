-- Table function batmap_pairs over a query: semantics on a table small enough to check by eye, then against plain SQL.
-- Oracles are plain joins, answered by the plain plan.
SET batmap.enable_join_project = off;
CREATE TABLE baskets (tid int, item int);
INSERT INTO baskets VALUES
    (1, 10), (1, 20), (1, 30),
    (2, 10), (2, 20),
    (3, 10), (3, 20), (3, 30), (3, 40),
    (4, 40),
    (5, 10), (5, 10), (5, 20),          -- a duplicate counts once
    (6, NULL), (NULL, 10);              -- no row: tid 6 is not a transaction
SELECT * FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1) ORDER BY item_a, item_b;
SELECT * FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 2) ORDER BY item_a, item_b;
-- a fraction is rounded up exactly: 0.4 of 5 transactions is 2, 0.41 is 3
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_support => 0.4);
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_support => 0.41);
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_support => 1);
-- and one that is the quotient of a count stands for it, though the decimal 0.18181818181818182 is above 2 of 11
SELECT support_count FROM batmap_pairs('SELECT t, i FROM generate_series(1, 11) t, generate_series(1, 2) i WHERE t <= 2 OR i = 1',
                                 min_support => 2 / 11::float8);
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 9223372036854775807);
-- the best pairs: by support, then by item_a, then by item_b
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item FROM baskets', top_k => 3);
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item FROM baskets', top_k => 100, min_count => 2);
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item FROM baskets', per_item_top_k => 1)
ORDER BY item_a, item_b;
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item FROM baskets', per_item_top_k => 1, top_k => 2);
-- filters
SELECT item_a, item_b FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1, include => '{40}')
ORDER BY 1, 2;
SELECT item_a, item_b FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1, include => '{40,30,77}', exclude => '{10}')
ORDER BY 1, 2;
SELECT item_a, item_b FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1, include => '{}');
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1, exclude => '{}');
-- cut off: never silently
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1, max_results => 4);
SELECT results, truncated FROM batmap_last_run();
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1, max_results => 6);
SELECT results, truncated FROM batmap_last_run();
-- known without the warning, too, and of every run of the statement: of three groups only the first has more than one pair
SET client_min_messages = error;
CREATE TABLE groups AS SELECT g, batmap_relation_agg(t, i) AS r FROM (VALUES (1, 1, 1), (1, 1, 2), (1, 1, 3), (2, 1, 1), (2, 1, 2), (3, 1, 1)) v (g, t, i) GROUP BY g;
SELECT g, item_a, item_b FROM groups, batmap_pairs(r, min_count => 1, max_results => 1) ORDER BY g;
SELECT results, truncated, truncated_runs FROM batmap_last_run();
DO $$ BEGIN
    PERFORM item_a FROM groups, batmap_pairs(r, min_count => 1, max_results => 2);
    PERFORM itemset FROM groups, batmap_itemsets(r, min_count => 1, max_results => 1);
END $$;
SELECT results, truncated, truncated_runs FROM batmap_last_run();
SELECT count(*) FROM groups, batmap_pairs(r, min_count => 1, max_results => 3);
SELECT results, truncated, truncated_runs FROM batmap_last_run();
-- the reader stopped before the end: the answer is the reader's
SELECT item_a FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1, max_results => 4) LIMIT 2;
SELECT truncated, truncated_runs FROM batmap_last_run();
RESET client_min_messages;
DROP TABLE groups;
SET batmap.on_truncation = 'error';
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1, max_results => 4);
RESET batmap.on_truncation;
-- nothing in, nothing out
SELECT * FROM batmap_pairs('SELECT tid, item FROM baskets WHERE false', min_count => 1);
SELECT * FROM batmap_pairs('SELECT 1, 2', min_count => 1);
SELECT * FROM batmap_pairs('SELECT NULL::int, NULL::int', min_count => 1);
SELECT operation, method, rows_read, transactions, items, items_kept, results, truncated FROM batmap_last_run();
-- any SELECT is an input
SELECT * FROM batmap_pairs('VALUES (1, 5), (1, 6)', min_count => 1);
SELECT * FROM batmap_pairs('TABLE baskets', top_k => 1);
SELECT * FROM batmap_pairs('WITH b AS (SELECT tid, item FROM baskets) SELECT b.item, b.tid FROM b ORDER BY 1', top_k => 1);

-- key types and extremes
SELECT item_a, item_b, support_count FROM batmap_pairs($$VALUES
    (9223372036854775807, -9223372036854775808), (9223372036854775807, 9223372036854775807), (9223372036854775807, 0),
    (-9223372036854775808, -9223372036854775808), (-9223372036854775808, 9223372036854775807)$$, min_count => 1)
ORDER BY 1, 2;
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid::int2, item::int2 FROM baskets', top_k => 1);
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT date ''2026-01-01'' + tid, item FROM baskets', top_k => 1);
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT ''t'' || tid, item::int8 FROM baskets', top_k => 1);
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid::numeric / 3, item FROM baskets', top_k => 1);
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT ROW(tid, ''x''), item FROM baskets', top_k => 1);
CREATE DOMAIN product AS int;
SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item::product FROM baskets', top_k => 1);

-- every method, every kernel and any number of threads gives the same rows in the same order as plain SQL has
CREATE TABLE events AS
SELECT (i * 7919 % 997)::int AS tid, (i * i % 8191 % 211 + i % 3 * 100)::int AS item FROM generate_series(1, 20000) i;
CREATE TABLE plain AS
SELECT a.item AS item_a, b.item AS item_b, count(*) AS support_count
FROM (SELECT DISTINCT * FROM events) a JOIN (SELECT DISTINCT * FROM events) b USING (tid)
WHERE a.item < b.item GROUP BY 1, 2;
CREATE TABLE answers (method text, threads int, kernel text, n bigint, item_a int8, item_b int8, support_count int8);
DO $$
DECLARE
    m text;
    t int;
    k text;
BEGIN
    FOREACH m IN ARRAY '{auto,horizontal,positional,bitmap,merge}'::text[] LOOP
        FOREACH t IN ARRAY '{1,2,5}'::int[] LOOP
            FOREACH k IN ARRAY '{auto,scalar}'::text[] LOOP
                EXECUTE format('SET LOCAL batmap.threads = %s', t);
                EXECUTE format('SET LOCAL batmap.cpu_kernel = %s', k);
                INSERT INTO answers
                SELECT m, t, k, p.n, p.item_a, p.item_b, p.support_count
                FROM batmap_pairs('SELECT tid, item FROM events', min_count => 3, method => m)
                    WITH ORDINALITY AS p (item_a, item_b, support_count, count_a, count_b, total, support, confidence, confidence_ba, lift, score, n);
            END LOOP;
        END LOOP;
    END LOOP;
END
$$;
SELECT method, count(DISTINCT (threads, kernel)), count(DISTINCT digest) AS answers, min(rows) > 5000 AS many
FROM (SELECT method, threads, kernel, count(*) AS rows,
             md5(string_agg(format('%s %s %s', item_a, item_b, support_count), ',' ORDER BY n)) AS digest
      FROM answers GROUP BY 1, 2, 3) d GROUP BY 1 ORDER BY 1;
SELECT count(DISTINCT digest) AS different
FROM (SELECT md5(string_agg(format('%s %s %s', item_a, item_b, support_count), ',' ORDER BY n)) AS digest
      FROM answers GROUP BY method, threads, kernel) d;
SELECT count(*) AS missing FROM (SELECT * FROM plain WHERE support_count >= 3 EXCEPT SELECT item_a, item_b, support_count FROM answers) d;
SELECT count(*) AS wrong FROM (SELECT item_a, item_b, support_count FROM answers EXCEPT SELECT * FROM plain) d;

-- supports and total
WITH s AS (SELECT item, count(DISTINCT tid) AS n FROM events GROUP BY 1)
SELECT count(*) FILTER (WHERE p.count_a <> a.n OR p.count_b <> b.n OR p.total <> (SELECT count(DISTINCT tid) FROM events)) AS wrong
FROM batmap_pairs('SELECT tid, item FROM events', min_count => 1) p JOIN s a ON a.item = item_a JOIN s b ON b.item = item_b;
-- what follows from the counts: batmap_measure says the same. A measure that is named is the score, any one if nothing is ranked
SELECT count(*) > 5000 AS many, count(*) FILTER (WHERE p.support IS DISTINCT FROM batmap_measure('support', p.support_count, p.count_a, p.count_b, p.total)
        OR p.confidence IS DISTINCT FROM batmap_measure('confidence', p.support_count, p.count_a, p.count_b, p.total)
        OR p.confidence_ba IS DISTINCT FROM batmap_measure('confidence', p.support_count, p.count_b, p.count_a, p.total)
        OR p.lift IS DISTINCT FROM batmap_measure('lift', p.support_count, p.count_a, p.count_b, p.total) OR p.score IS NOT NULL) AS wrong
FROM batmap_pairs('SELECT tid, item FROM events', min_count => 1) p;
SELECT count(*) FILTER (WHERE p.score IS DISTINCT FROM batmap_measure('zhangs_metric', p.support_count, p.count_a, p.count_b, p.total)) AS wrong,
       count(p.score) AS scores, count(*) - count(p.score) AS without
FROM batmap_pairs('SELECT tid, item FROM events UNION ALL SELECT tid, 1000 + x FROM (SELECT DISTINCT tid FROM events) e, generate_series(0, 1) x',
    min_count => 3, measure => 'zhangs_metric') p;
CREATE TABLE stored_pairs AS SELECT * FROM batmap_pairs('SELECT tid, item FROM events', top_k => 50, measure => 'phi');
SELECT count(*) AS rows, count(*) FILTER (WHERE p IS DISTINCT FROM q) AS wrong
FROM stored_pairs p FULL JOIN (SELECT batmap_pair_counts_agg(tid, item) AS c FROM events) e ON true
    LEFT JOIN LATERAL batmap_pairs(c, top_k => 50, measure => 'phi') q ON (q.item_a, q.item_b) = (p.item_a, p.item_b);
-- one column at a time, some of which need no counts of single items
SELECT sum(item_a) > 0 AS a FROM batmap_pairs('SELECT tid, item FROM events', min_count => 3);
SELECT sum(support * total)::numeric(9, 1) = (SELECT sum(support_count) FROM batmap_pairs('SELECT tid, item FROM events', min_count => 3)) AS same
FROM batmap_pairs('SELECT tid, item FROM events', min_count => 3);
SELECT sum(lift)::numeric(14, 6) = (SELECT sum(support_count::float8 * total / count_a / count_b) FROM batmap_pairs('SELECT tid, item FROM events', min_count => 3))::numeric(14, 6) AS same
FROM batmap_pairs('SELECT tid, item FROM events', min_count => 3);
SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM events', min_count => 3) WHERE score IS NULL;
-- not through the plan node
SELECT (p).lift, (p).score FROM (SELECT batmap_pairs('SELECT tid, item FROM baskets', top_k => 2, measure => 'jaccard') AS p) s;
SELECT p.n, p.confidence, p.score FROM batmap_pairs('VALUES (1, 1), (1, 2), (2, 1), (2, 2)', min_count => 1, measure => 'phi')
    WITH ORDINALITY AS p (item_a, item_b, support_count, count_a, count_b, total, support, confidence, confidence_ba, lift, score, n);
-- top-k forms against windows over the plain answer
SELECT count(*) AS wrong FROM (
    (SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item FROM events', top_k => 500)
     EXCEPT SELECT * FROM (SELECT * FROM plain ORDER BY support_count DESC, item_a, item_b LIMIT 500) p)
    UNION ALL
    (SELECT * FROM (SELECT * FROM plain ORDER BY support_count DESC, item_a, item_b LIMIT 500) p
     EXCEPT SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item FROM events', top_k => 500))) d;
CREATE TABLE best AS
WITH sides AS (SELECT item_a AS item, item_b AS partner, * FROM plain UNION ALL SELECT item_b, item_a, * FROM plain),
     ranked AS (SELECT *, row_number() OVER (PARTITION BY item ORDER BY support_count DESC, partner) AS r FROM sides)
SELECT DISTINCT item_a, item_b, support_count FROM ranked WHERE r <= 3;
SELECT count(*) AS missing FROM (SELECT * FROM best EXCEPT
    SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item FROM events', per_item_top_k => 3)) d;
SELECT count(*) AS wrong FROM (SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item FROM events', per_item_top_k => 3)
    EXCEPT SELECT * FROM best) d;

-- inside other statements: lateral, in the select list, in a function, prepared, through a cursor
SELECT l.k, p.item_a, p.item_b FROM (VALUES (1), (2)) l (k),
    LATERAL batmap_pairs('SELECT tid, item FROM baskets', top_k => l.k) p ORDER BY 1, 2, 3;
SELECT (batmap_pairs('SELECT tid, item FROM baskets', top_k => 1)).item_b;
PREPARE best_of (text, int8) AS SELECT item_a, item_b FROM batmap_pairs($1, top_k => $2);
EXECUTE best_of ('SELECT tid, item FROM baskets', 1);
EXECUTE best_of ('SELECT tid, item + 1 FROM baskets', 1);
BEGIN;
DECLARE c CURSOR FOR SELECT item_a, item_b FROM batmap_pairs('SELECT tid, item FROM baskets', top_k => 3);
FETCH 2 FROM c;
CLOSE c;
COMMIT;
DROP TABLE baskets, events, plain, answers, best;
DROP DOMAIN product;
