# The nearest sets by the index are those of a sequential scan: random tables, queries, conditions and limits, while other sessions
# insert, delete and vacuum; and a search is cancelled.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{BATMAP_TEST_SEED} // 24;
my $queries = ($ENV{BATMAP_TEST_GRID} // '') eq 'full' ? 1000 : 120;
note "seed $seed, $queries queries";

my $node = PostgreSQL::Test::Cluster->new('nearest');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
# Tags like those of people: some are in a third of the sets, most in few; every third set is nearly its neighbour.
$node->safe_psql('postgres', qq{
    CREATE EXTENSION batmap;
    SELECT setseed(@{[ $seed % 1000 / 1000 ]});
    CREATE TABLE sets (id int PRIMARY KEY, kind int, s batmap);
    INSERT INTO sets SELECT i, i % 4, batmap_agg(CASE WHEN i % 3 > 0 AND random() < 0.8 THEN (hashint4(i / 3 * 64 + x)::int8 & 65535) % 3000
        ELSE exp(random() * ln(3000.0))::int8 END) FROM generate_series(1, 15000) i, generate_series(1, 30) x WHERE x <= 3 + (hashint4(i / 3) & 15) GROUP BY i;
    INSERT INTO sets SELECT 20000 + i, i % 4, CASE WHEN i % 2 = 0 THEN '{}'::batmap END FROM generate_series(1, 20) i;
    CREATE INDEX sets_s ON sets USING gin (s);
    ANALYZE sets;
    -- Compares the distances of both plans. The rows may differ where distances are equal, so each row is looked up.
    CREATE FUNCTION differs(query batmap, condition text, k int) RETURNS text LANGUAGE plpgsql AS \$f\$
    DECLARE by_index float8[]; by_scan float8[]; found int[]; ids int; uses boolean := false; line text;
        statement text := format('FROM (SELECT id, s <%%> \$1 AS d FROM sets WHERE %s ORDER BY s <%%> \$1 LIMIT %s) v', condition, k);
    BEGIN
        SET LOCAL enable_seqscan = off;
        FOR line IN EXECUTE format('EXPLAIN SELECT id FROM sets WHERE %s ORDER BY s <%%> %L::batmap LIMIT %s', condition, query, k) LOOP
            uses := uses OR line ~ 'BatmapNearest';
        END LOOP;
        EXECUTE 'SELECT array_agg(d), array_agg(id) ' || statement USING query INTO by_index, found;
        ids := (SELECT count(DISTINCT id) FROM unnest(found) id);
        SET LOCAL enable_seqscan = on; SET LOCAL batmap.enable_nearest = off;
        EXECUTE 'SELECT array_agg(d) ' || statement USING query INTO by_scan;
        SET LOCAL batmap.enable_nearest = on;
        IF NOT uses THEN RETURN 'not by the node'; END IF;
        IF by_index IS DISTINCT FROM by_scan OR ids IS DISTINCT FROM cardinality(by_scan) THEN
            RETURN format('query %s, %s, %s rows: %s, not %s', query, condition, k, by_index, by_scan);
        END IF;
        RETURN NULL;
    END \$f\$});

sub agree    # so many random queries, of which most are not NULL
{
    my ($count, $from, $name) = @_;
    my ($compared, $wrong, $first) = split /\|/, $node->safe_psql('postgres', qq{
        SELECT FROM setseed(@{[ ($seed + $from) % 1000 / 1000 ]});
        BEGIN ISOLATION LEVEL REPEATABLE READ;
        SELECT count(*), count(d), min(d) FROM (SELECT differs(q, c, k) AS d FROM (
            SELECT CASE WHEN i % 5 = 0 THEN (SELECT batmap_agg(exp(random() * ln(3000.0))::int8) FROM generate_series(1, 1 + i % 40) x WHERE i > 0)
                ELSE (SELECT s FROM sets WHERE id = 1 + (hashint4(i) & 8191)) END AS q,
                (ARRAY['true', 'kind = 1', 'id % 100 = 7'])[1 + i % 3] AS c, (ARRAY[1, 10, 50, 300])[1 + i / 3 % 4] AS k
            FROM generate_series($from, @{[ $from + $count - 1 ]}) i) q WHERE q IS NOT NULL OFFSET 0) v;
        COMMIT});
    cmp_ok($compared, '>', $count / 2, "$compared queries");
    is("$wrong $first", '0 ', $name);
}

agree($queries / 2, 1, 'as the scan finds them');

# Other sessions: rows come and go while queries run, some of them wait to be put into the index, some pages are vacuumed.
my $changes = q{
    DELETE FROM sets WHERE id % 17 = 3;
    UPDATE sets SET s = s | (id % 40)::int8 WHERE id % 11 = 5;
    UPDATE sets SET kind = kind + 1 WHERE id % 13 = 1;
    INSERT INTO sets SELECT 30000 + i, i % 4, batmap_agg((hashint4(i / 5 * 32 + x)::int8 & 65535) % 3000) FROM generate_series(1, 900) i, generate_series(1, 9) x GROUP BY i;
};
my $in_background = IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-c', $changes, '-c', 'VACUUM sets' ]);
agree($queries / 4, 2000, 'while rows change');
$in_background->finish;
agree($queries / 4, 4000, 'after they changed');
$node->safe_psql('postgres', 'VACUUM ANALYZE sets; REINDEX INDEX sets_s');
agree(8, 6000, 'after VACUUM and REINDEX');

# A search that compares all rows stops when it is to.
my ($status, undef, $stderr) = $node->psql('postgres', q{
    SET statement_timeout = '30ms';
    SELECT count(*) FROM sets a, LATERAL (SELECT id FROM sets b ORDER BY b.s <%> a.s LIMIT 2000) v});
isnt($status, 0, 'a long search is cancelled');
like($stderr, qr/canceling statement due to statement timeout/, 'with the message of the server');
is($node->safe_psql('postgres', q{SELECT count(*) FROM (SELECT id FROM sets ORDER BY s <%> '{1,2,3}' LIMIT 5) v}), '5', 'and the session is fine');

# A role without rights to the table, and one that sees some of its rows
$node->safe_psql('postgres', q{
    CREATE ROLE guest; CREATE ROLE reader; GRANT SELECT ON sets TO reader;
    ALTER TABLE sets ENABLE ROW LEVEL SECURITY; CREATE POLICY mine ON sets TO reader USING (kind = 2)});
($status, undef, $stderr) = $node->psql('postgres', q{SET ROLE guest; SELECT id FROM sets ORDER BY s <%> '{1,2,3}' LIMIT 5});
like($stderr, qr/permission denied for table sets/, 'no rights, no rows');
is($node->safe_psql('postgres', q{SET ROLE reader; SET enable_seqscan = off; SELECT min(kind), max(kind), count(*) FROM (SELECT kind FROM sets ORDER BY s <%> '{1,2,3}' LIMIT 200) v}),
    '2|2|200', 'row-level security hides rows');

$node->stop;
done_testing();
