-- Second question: the tags of a package are its items. Which go together? (Debian has tags; other catalogues may not.)

SELECT count(*) > 0 AS tagged, greatest(3, count(DISTINCT package) / 600) AS often FROM tags \gset
\set title 'Which tags go together?'
\echo
\echo 2. :title
\echo
\if :tagged

SELECT format('SELECT * FROM batmap_pairs_of(''SELECT package, tag FROM tags'', min_count => %s)', :often) AS statement \gset
\echo ' ' :statement
\echo

SELECT clock_timestamp() AS started \gset
CREATE TEMP TABLE tag_pairs AS :statement;
SELECT extract(epoch FROM clock_timestamp() - :'started'::timestamptz) * 1000 AS ours_ms \gset
CALL pg_temp.keep_question(2, :'title', :'statement', :ours_ms);

-- Tags of one facet, and tags that say the same word (devel::lang:r, implemented-in::r), are no news.
CREATE TEMP TABLE tag_rules AS
SELECT *
FROM (SELECT DISTINCT ON (lhs) *
      FROM (SELECT support_count, count_a, count_b, total,
                   CASE WHEN count_a <= count_b THEN item_a ELSE item_b END AS lhs,
                   CASE WHEN count_a <= count_b THEN item_b ELSE item_a END AS rhs,
                   least(count_a, count_b) AS lhs_support,
                   greatest(count_a, count_b) AS rhs_support,
                   support_count::float8 * total / (count_a::float8 * count_b) AS lift
            FROM tag_pairs
            WHERE split_part(item_a, '::', 1) <> split_part(item_b, '::', 1)
              AND regexp_replace(item_a, '.*:', '') <> regexp_replace(item_b, '.*:', '')) p
      WHERE support_count >= 0.4 * lhs_support
      ORDER BY lhs, lift DESC, rhs) best
ORDER BY lift DESC, lhs LIMIT 10;

SELECT format('    of the %s packages tagged %s, %s are also %s: %s %%, of all packages %s %%',
              pg_temp.num(lhs_support), lhs, pg_temp.num(support_count), rhs,
              round(100.0 * support_count / lhs_support), round(100.0 * rhs_support / total, 1))
FROM tag_rules ORDER BY lift DESC, lhs;

\echo
SELECT format('  %s pairs in %s', pg_temp.num(count(*)), pg_temp.seconds(:ours_ms)) FROM tag_pairs;
SELECT pg_temp.how_it_ran();

SET batmap.enable_join_project = off;
SELECT clock_timestamp() AS started \gset
CREATE TEMP TABLE plain AS
    SELECT a.tag AS item_a, b.tag AS item_b, count(*) AS support_count
    FROM tags a JOIN tags b USING (package) WHERE a.tag < b.tag
    GROUP BY 1, 2 HAVING count(*) >= :often;
SELECT extract(epoch FROM clock_timestamp() - :'started'::timestamptz) * 1000 AS plain_ms \gset
INSERT INTO timing VALUES (2, 'plain SQL', :plain_ms, false);

SELECT format('  A self-join in plain SQL: %s, %s times as long; its %s pairs are %s',
              pg_temp.seconds(:plain_ms), round(:plain_ms / :ours_ms), pg_temp.num((SELECT count(*) FROM plain)),
              CASE WHEN EXISTS (TABLE plain EXCEPT SELECT item_a, item_b, support_count FROM tag_pairs)
                     OR EXISTS (SELECT item_a, item_b, support_count FROM tag_pairs EXCEPT TABLE plain)
                   THEN 'NOT the same' ELSE 'the same' END);
DROP TABLE plain;
RESET batmap.enable_join_project;

\else
\echo '  This catalogue has no tags.'
\endif
