-- Third question, the first one turned round: a needed package is a transaction, those that need it are its items. Two packages
-- that occur together often are made of the same parts. Now a transaction can be huge (half of all packages need libc6).

\set shared 10

\set title 'Which packages are made of the same parts?'
SELECT format('SELECT * FROM batmap_pairs_of(''SELECT needed, package FROM needs'', min_count => %s)', :shared) AS statement \gset

\echo
\echo 3. :title
\echo
\echo ' ' :statement
\echo

SELECT clock_timestamp() AS started \gset
CREATE TEMP TABLE alike AS :statement;
SELECT extract(epoch FROM clock_timestamp() - :'started'::timestamptz) * 1000 AS ours_ms \gset
CALL pg_temp.keep_question(3, :'title', :'statement', :ours_ms);

CREATE TEMP TABLE relatives AS
    SELECT item_a AS program, item_b AS relative, support_count, count_a AS program_needs, count_b AS relative_needs,
           count_a + count_b - support_count AS either, support_count::float8 / (count_a + count_b - support_count) AS jaccard
    FROM alike JOIN source a ON a.package = item_a JOIN source b ON b.package = item_b
    WHERE a.source <> b.source;

-- Known programs, where the catalogue has them. A name inside the other's is a variant of the same program.
CREATE TEMP TABLE known AS
    SELECT DISTINCT ON (program) *
    FROM (TABLE relatives
          UNION ALL
          SELECT relative, program, support_count, relative_needs, program_needs, either, jaccard FROM relatives) both_ways
    WHERE program IN ('blender', 'chromium', 'emacs-gtk', 'firefox-esr', 'gimp', 'git', 'gnumeric', 'inkscape', 'libreoffice-core',
                      'mariadb-server', 'nautilus', 'qemu-system-x86', 'wireshark')
      AND position(split_part(program, '-', 1) IN relative) = 0
    ORDER BY program, jaccard DESC, relative;
SELECT count(*) >= 3 AS has_known FROM known \gset

\if :has_known
\echo '  The closest relatives of some programs, by the share of parts in common:'
CREATE TEMP TABLE closest AS TABLE known ORDER BY jaccard DESC, program LIMIT 8;
SELECT format('    %s: %s shares %s of the %s packages that one of them needs', program, relative, support_count, either)
FROM closest ORDER BY jaccard DESC, program;
\else
\echo '  The closest relatives, by the share of parts in common:'
CREATE TEMP TABLE closest AS TABLE relatives ORDER BY jaccard DESC, program, relative LIMIT 8;
SELECT format('    %s and %s share %s of the %s packages that one of them needs', program, relative, support_count, either)
FROM closest ORDER BY jaccard DESC, program, relative;
\endif

\echo
SELECT format('  %s pairs in %s', pg_temp.num(count(*)), pg_temp.seconds(:ours_ms)) FROM alike;
SELECT pg_temp.how_it_ran();

-- Plain SQL with the help that an expert would give it: packages that need too few others are dropped before the join.
\set ON_ERROR_STOP off
SET statement_timeout = '10s';
SET batmap.enable_join_project = off;
SELECT clock_timestamp() AS started \gset
CREATE TEMP TABLE plain AS
    WITH candidate AS MATERIALIZED
        (SELECT needed, package FROM needs JOIN (SELECT package FROM needs GROUP BY 1 HAVING count(*) >= :shared) often USING (package))
    SELECT a.package AS item_a, b.package AS item_b, count(*) AS support_count
    FROM candidate a JOIN candidate b USING (needed) WHERE a.package < b.package
    GROUP BY 1, 2 HAVING count(*) >= :shared;
\set stopped :ERROR
SELECT extract(epoch FROM clock_timestamp() - :'started'::timestamptz) * 1000 AS plain_ms \gset
INSERT INTO timing VALUES (3, 'plain SQL', :plain_ms, :'stopped');
SET statement_timeout = 0;
\set ON_ERROR_STOP on

\if :stopped
SELECT format('  A self-join in plain SQL, rare packages dropped first: stopped after %s without an answer; that is %s times as long',
              pg_temp.seconds(:plain_ms), round(:plain_ms / :ours_ms));
\else
SELECT format('  A self-join in plain SQL, rare packages dropped first: %s, %s times as long; its %s pairs are %s',
              pg_temp.seconds(:plain_ms), round(:plain_ms / :ours_ms), pg_temp.num((SELECT count(*) FROM plain)),
              CASE WHEN EXISTS (TABLE plain EXCEPT SELECT item_a, item_b, support_count FROM alike)
                     OR EXISTS (SELECT item_a, item_b, support_count FROM alike EXCEPT TABLE plain)
                   THEN 'NOT the same' ELSE 'the same' END);
\endif
