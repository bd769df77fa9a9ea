-- First question: a package is a transaction, the packages it needs are its items. Which are needed together?

SELECT greatest(3, count(DISTINCT package) / 2500) AS often FROM needs \gset

\set title 'Which packages are needed together?'
SELECT format('SELECT * FROM batmap_pairs_of(''SELECT package, needed FROM needs'', min_count => %s)', :often) AS statement \gset

\echo
\echo 1. :title
\echo
\echo ' ' :statement
\echo

SELECT clock_timestamp() AS started \gset
CREATE TEMP TABLE together AS :statement;
SELECT extract(epoch FROM clock_timestamp() - :'started'::timestamptz) * 1000 AS ours_ms \gset
CALL pg_temp.keep_question(1, :'title', :'statement', :ours_ms);

\echo '  Most often:'
SELECT format('    %s packages need both %s and %s', pg_temp.num(support_count), item_a, item_b)
FROM together ORDER BY support_count DESC, item_a, item_b LIMIT 5;

-- Pairs of one source package are no news, nor pairs of one family of names (python3-..., libqt5...), nor names that are
-- not packages (virtual ones). lhs is the rarer of the two.
CREATE FUNCTION pg_temp.family(name text) RETURNS text LANGUAGE sql AS $$ SELECT substring(name FROM '^[a-z]*') $$;

CREATE TEMP VIEW news AS
    SELECT support_count,
           CASE WHEN count_a <= count_b THEN item_a ELSE item_b END AS lhs,
           CASE WHEN count_a <= count_b THEN item_b ELSE item_a END AS rhs,
           least(count_a, count_b) AS lhs_support,
           greatest(count_a, count_b) AS rhs_support,
           support_count::float8 / greatest(count_a, count_b) AS lesser_confidence,
           support_count::float8 / (count_a + count_b - support_count) AS jaccard,
           support_count::float8 * total / (count_a::float8 * count_b) AS lift
    FROM together JOIN source a ON a.package = item_a JOIN source b ON b.package = item_b
    WHERE a.source <> b.source AND pg_temp.family(item_a) <> pg_temp.family(item_b);

\echo
\echo '  Hard to tell apart (who needs one needs the other; by the lesser of the two confidences):'
SELECT format('    of the %s packages that need %s, %s also need %s', pg_temp.num(lhs_support), lhs, pg_temp.num(support_count), rhs)
FROM (SELECT DISTINCT ON (rhs) * FROM news WHERE support_count >= 4 * :often ORDER BY rhs, lesser_confidence DESC, lhs) best
ORDER BY lesser_confidence DESC, lhs LIMIT 6;

\echo
\echo '  Far more often than chance (by lift; the best partner of each):'
SELECT format('    of the %s packages that need %s, %s also need %s: %s times the usual share', pg_temp.num(lhs_support), lhs,
              pg_temp.num(support_count), rhs, pg_temp.num(round(lift::numeric)))
FROM (SELECT DISTINCT ON (rhs) *
      FROM (SELECT DISTINCT ON (lhs) * FROM news WHERE support_count >= 0.5 * lhs_support ORDER BY lhs, lift DESC, rhs) best_right
      ORDER BY rhs, lift DESC, lhs) best
ORDER BY lift DESC, lhs LIMIT 6;

\echo
SELECT format('  %s pairs in %s', pg_temp.num(count(*)), pg_temp.seconds(:ours_ms)) FROM together;
SELECT pg_temp.how_it_ran();

-- The same in plain SQL, by the server's own plan, then as the planner gives it to the engine.
SET batmap.enable_join_project = off;
SELECT clock_timestamp() AS started \gset
CREATE TEMP TABLE plain AS
    SELECT a.needed AS item_a, b.needed AS item_b, count(*) AS support_count
    FROM needs a JOIN needs b USING (package) WHERE a.needed < b.needed
    GROUP BY 1, 2 HAVING count(*) >= :often;
SELECT extract(epoch FROM clock_timestamp() - :'started'::timestamptz) * 1000 AS plain_ms \gset
INSERT INTO timing VALUES (1, 'plain SQL', :plain_ms, false);

SELECT format('  A self-join in plain SQL: %s, %s times as long; its %s pairs are %s',
              pg_temp.seconds(:plain_ms), round(:plain_ms / :ours_ms), pg_temp.num((SELECT count(*) FROM plain)),
              CASE WHEN EXISTS (TABLE plain EXCEPT SELECT item_a, item_b, support_count FROM together)
                     OR EXISTS (SELECT item_a, item_b, support_count FROM together EXCEPT TABLE plain)
                   THEN 'NOT the same' ELSE 'the same' END);

RESET batmap.enable_join_project;
SELECT clock_timestamp() AS started \gset
CREATE TEMP TABLE by_node AS
    SELECT a.needed AS item_a, b.needed AS item_b, count(*) AS support_count
    FROM needs a JOIN needs b USING (package) WHERE a.needed < b.needed
    GROUP BY 1, 2 HAVING count(*) >= :often;
SELECT extract(epoch FROM clock_timestamp() - :'started'::timestamptz) * 1000 AS node_ms \gset
INSERT INTO timing VALUES (1, 'plain SQL where the planner may choose batmap', :node_ms, false);
SELECT format('  The same SQL where the planner may give it to the engine (docs/plain-sql.md): %s; its pairs are %s',
              pg_temp.seconds(:node_ms),
              CASE WHEN EXISTS (TABLE plain EXCEPT TABLE by_node) OR EXISTS (TABLE by_node EXCEPT TABLE plain)
                   THEN 'NOT the same' ELSE 'the same' END);
DROP TABLE plain, by_node;
