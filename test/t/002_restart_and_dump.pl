# Relations in a table survive a restart, a crash and a dump: the same sets, the same pairs, and the same bytes.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('restart_and_dump');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
    CREATE EXTENSION batmap;
    CREATE TABLE kept (id int4 PRIMARY KEY, r batmap_relation);
    INSERT INTO kept SELECT 1, batmap_relation_agg(7, 9);
    INSERT INTO kept SELECT 2, batmap_relation_agg(g % 50, g % 17) FROM generate_series(1, 2000) g;
    -- wide numbers of both signs
    INSERT INTO kept SELECT 3, batmap_relation_agg(-g::int8 * 92233720368547, 9223372036854775807 - g * g) FROM generate_series(1, 5000) g;
    -- large enough to be stored out of line in many pieces
    INSERT INTO kept SELECT 4, batmap_relation_agg(g / 10, (g::int8 * 7919) % 100003) FROM generate_series(1, 500000) g;
    INSERT INTO kept SELECT 5, batmap_relation_agg(NULL::int4, g) FROM generate_series(1, 3) g;
    INSERT INTO kept VALUES (6, NULL);
    -- as docs/recipes.md says: the schema in a query text, or an aggregate, which needs none
    CREATE MATERIALIZED VIEW by_text AS
        SELECT * FROM batmap_pairs('SELECT id, id % 3 FROM public.kept UNION ALL SELECT id, 7 FROM public.kept', min_count => 2);
    CREATE MATERIALIZED VIEW by_aggregate AS
        SELECT p.* FROM (SELECT batmap_relation_agg(id, v) AS r FROM kept, unnest(ARRAY[id % 3, 7]) v) q,
                        LATERAL batmap_pairs(q.r, min_count => 2) p;
});

# Each relation as the number and the hash of its pairs, the hash of its bytes, and its frequent pairs.
my $contents = q{
    SELECT id, r IS NULL,
           (SELECT count(*) || ' ' || md5(coalesce(string_agg(tid || ',' || item, ' ' ORDER BY tid, item), '')) FROM batmap_unnest(r)),
           md5(_batmap_relation_send(r)),
           (SELECT count(*) || ' ' || coalesce(sum(support_count), 0) FROM batmap_pairs(r, min_count => 2))
    FROM kept ORDER BY id};
my $before = $node->safe_psql('postgres', $contents);
my @rows = split /\n/, $before;
is(scalar @rows, 6, 'six relations are stored');
like($rows[0], qr/^1\|f\|1 /, 'the first holds one pair');
like($rows[3], qr/^4\|f\|500000 /, 'the fourth holds half a million');
cmp_ok($node->safe_psql('postgres', 'SELECT pg_column_size(r) FROM kept WHERE id = 4'), '>', 1_000_000, 'and is large');

my $numbers = 'item_a, item_b, support_count, count_a, count_b, total';
my $views = "SELECT 1, ($numbers)::text FROM by_text UNION ALL SELECT 2, ($numbers)::text FROM by_aggregate ORDER BY 1, 2";
my $views_before = $node->safe_psql('postgres', $views);
is($views_before, "1|(0,7,2,2,6,6)\n1|(1,7,2,2,6,6)\n1|(2,7,2,2,6,6)\n2|(0,7,2,2,6,6)\n2|(1,7,2,2,6,6)\n2|(2,7,2,2,6,6)",
    'two materialized views have three pairs');

$node->restart;
is($node->safe_psql('postgres', $contents), $before, 'the same after a restart');

$node->safe_psql('postgres', 'UPDATE kept SET r = r WHERE id = 2');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $contents), $before, 'the same after a crash');

my $folder = PostgreSQL::Test::Utils::tempdir();
for my $format (qw(plain custom))
{
    my $database = "restored_$format";
    my $file = "$folder/$format.dump";
    $node->command_ok([ 'pg_dump', '--format', $format, '--file', $file, $node->connstr('postgres') ], "$format dump");
    $node->safe_psql('postgres', "CREATE DATABASE $database");
    if ($format eq 'plain')
    {
        $node->command_ok(
            [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr($database) ], 'plain dump restored');
    }
    else
    {
        $node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr($database), $file ], 'custom dump restored');
    }
    is($node->safe_psql($database, $contents), $before, "the same after a $format dump and restore");
    is($node->safe_psql($database, $views), $views_before, "and so are the materialized views");
    is( $node->safe_psql($database,
            "SELECT count(*) FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid"
              . " WHERE e.extname = 'batmap' AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass"),
        $node->safe_psql('postgres',
            "SELECT count(*) FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid"
              . " WHERE e.extname = 'batmap' AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass"),
        'all objects of the extension are there again');
}

# DROP EXTENSION removes the objects, and is refused while a table needs the type.
my ($status, undef, $stderr) = $node->psql('restored_plain', 'DROP EXTENSION batmap');
isnt($status, 0, 'a column of its type holds the extension back');
like($stderr, qr/table kept depends on type batmap_relation|column r of table kept depends on type batmap_relation/, 'and the error names it');
$node->safe_psql('restored_plain', 'DROP TABLE kept CASCADE; DROP MATERIALIZED VIEW by_text; DROP EXTENSION batmap; CREATE EXTENSION batmap');
is( $node->safe_psql('restored_plain', "SELECT count(*) FROM batmap_pairs('SELECT * FROM (VALUES (1, 1), (1, 2)) v', min_count => 1)"),
    '1', 'dropped and created again, it works');

$node->stop;
done_testing();
