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
    -- text items: values in a table, and materialized views over a table that no search path finds. The views are
    -- in an order in which names would restore them last first.
    CREATE TABLE kept_texts (id int4 PRIMARY KEY, r batmap_relation, c batmap_pair_counts);
    INSERT INTO kept_texts SELECT 1, batmap_relation_agg(g % 50, 'item ' || g % 17), batmap_pair_counts_agg(g % 50, 'item ' || g % 17) FROM generate_series(1, 2000) g;
    INSERT INTO kept_texts SELECT 2, batmap_relation_agg(g / 10, md5((g % 5000)::text)), batmap_pair_counts_agg(g / 10, md5((g % 5000)::text)::uuid) FROM generate_series(1, 50000) g;
    CREATE SCHEMA elsewhere;
    CREATE TABLE elsewhere.lines AS SELECT g / 4 AS receipt, 'ware ' || g % 4 AS ware FROM generate_series(0, 39) g;
    CREATE MATERIALIZED VIEW z_pairs AS
        SELECT p.* FROM (SELECT batmap_relation_agg(receipt, ware) AS r FROM elsewhere.lines) q, LATERAL batmap_pairs_of(q.r, min_count => 2) p;
    CREATE MATERIALIZED VIEW y_counts AS SELECT receipt % 2 AS half, batmap_pair_counts_agg(receipt, ware) AS c FROM elsewhere.lines GROUP BY 1;
    CREATE MATERIALIZED VIEW a_later AS
        SELECT z.item_a, z.support_count, (SELECT batmap_item_count(sum(c), z.item_a) FROM y_counts) AS item_count FROM z_pairs z WHERE z.item_b = 'ware 3';
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

my $texts = q{
    SELECT id, md5(_batmap_relation_send(r)), md5(_batmap_pair_counts_send(c)),
           (SELECT count(*) || ' ' || md5(string_agg(tid || item, ' ' ORDER BY tid, item COLLATE "C")) FROM batmap_unnest_of(r)),
           (SELECT count(*) || ' ' || sum(support_count) FROM batmap_pairs_of(r, min_count => 2)),
           (SELECT count(*) || ' ' || sum(support_count) FROM batmap_pairs_of(c, min_count => 2))
    FROM kept_texts ORDER BY id};
my $texts_before = $node->safe_psql('postgres', $texts);
like($texts_before, qr/^1\|.*\|850 .*\n2\|.*\|50000 /, 'two relations of text items are stored');
my $text_views = 'SELECT count(*) || \' \' || sum(support_count) FROM z_pairs UNION ALL (SELECT a::text FROM a_later a ORDER BY item_a)';
my $text_views_before = $node->safe_psql('postgres', $text_views);
is($text_views_before, qq{6 60\n("ware 0",10,10)\n("ware 1",10,10)\n("ware 2",10,10)}, 'materialized views over text items are filled');

my $numbers = 'item_a, item_b, support_count, count_a, count_b, total';
my $views = "SELECT 1, ($numbers)::text FROM by_text UNION ALL SELECT 2, ($numbers)::text FROM by_aggregate ORDER BY 1, 2";
my $views_before = $node->safe_psql('postgres', $views);
is($views_before, "1|(0,7,2,2,6,6)\n1|(1,7,2,2,6,6)\n1|(2,7,2,2,6,6)\n2|(0,7,2,2,6,6)\n2|(1,7,2,2,6,6)\n2|(2,7,2,2,6,6)",
    'two materialized views have three pairs');

$node->restart;
is($node->safe_psql('postgres', $contents), $before, 'the same after a restart');
is($node->safe_psql('postgres', $texts), $texts_before, 'and so are text items');

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
    is($node->safe_psql($database, $texts), $texts_before, 'and text items');
    is($node->safe_psql($database, $text_views), $text_views_before, 'and the materialized views over these');
    is( $node->safe_psql($database,
            "SELECT count(*) FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid"
              . " WHERE e.extname = 'batmap' AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass"),
        $node->safe_psql('postgres',
            "SELECT count(*) FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid"
              . " WHERE e.extname = 'batmap' AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass"),
        'all objects of the extension are there again');
}

# Texts in values are bytes of the encoding of their database: elsewhere they are refused, or become others.
$node->safe_psql('postgres', 'CREATE DATABASE latin TEMPLATE template0 ENCODING LATIN1 LOCALE "C"');
$node->safe_psql('latin', 'CREATE EXTENSION batmap');
my $item_of = q{SELECT string_agg(encode(convert_to(item, 'UTF8'), 'hex'), ' ') FROM batmap_unnest_of('%s')};
for my $aggregate (qw(relation pair_counts))
{
    my $value = $node->safe_psql('latin', "SELECT batmap_${aggregate}_agg(1, U&'caf\\00E9')");
    my ($encoding_status, undef, $encoding_error) = $node->psql('postgres', "SELECT '$value'::batmap_$aggregate");
    isnt($encoding_status, 0, "$aggregate: a text of LATIN1 is no value where the encoding is UTF8");
    like($encoding_error, qr/ERROR:  invalid byte sequence for encoding "UTF8": 0xe9/, 'and the error says why');
}
my $e_acute = q{SELECT batmap_relation_agg(1, U&'\00E9')};
is($node->safe_psql('postgres', sprintf($item_of, $node->safe_psql('postgres', $e_acute))), 'c3a9', 'a text of UTF8 is itself where it came from');
is($node->safe_psql('latin', sprintf($item_of, $node->safe_psql('postgres', $e_acute))), 'c383c2a9', 'and becomes another where the encoding is LATIN1');

# The server knows what a view over an aggregate reads.
my ($drop_status, undef, $drop_error) = $node->psql('restored_custom', 'DROP TABLE elsewhere.lines');
isnt($drop_status, 0, 'a table beneath a materialized view cannot be dropped');
like($drop_error, qr/materialized view z_pairs depends on table elsewhere.lines/, 'and the error names the view');
$node->safe_psql('restored_custom', q{
    ALTER TABLE elsewhere.lines RENAME COLUMN ware TO article;
    ALTER TABLE elsewhere.lines SET SCHEMA public;
    ALTER TABLE lines RENAME TO sold;
    INSERT INTO sold SELECT receipt, 'ware 9' FROM sold WHERE article = 'ware 3' AND receipt < 5;
    SET search_path = '';
    REFRESH MATERIALIZED VIEW public.z_pairs;
    REFRESH MATERIALIZED VIEW public.y_counts;
    REFRESH MATERIALIZED VIEW public.a_later});
is($node->safe_psql('restored_custom', 'SELECT item_a, support_count FROM z_pairs WHERE item_b = \'ware 9\' ORDER BY 1'),
    "ware 0|5\nware 1|5\nware 2|5\nware 3|5", 'a renamed column, table and schema are followed');
is($node->safe_psql('restored_custom', $text_views), "10 80\n" . ($text_views_before =~ s/^.*\n//r), 'in each view');

# DROP EXTENSION removes the objects, and is refused while a table needs the type.
my ($status, undef, $stderr) = $node->psql('restored_plain', 'DROP EXTENSION batmap');
isnt($status, 0, 'a column of its type holds the extension back');
like($stderr, qr/table kept depends on type batmap_relation|column r of table kept depends on type batmap_relation/, 'and the error names it');
$node->safe_psql('restored_plain', 'DROP TABLE kept, kept_texts CASCADE; DROP MATERIALIZED VIEW by_text, z_pairs, y_counts, a_later; DROP EXTENSION batmap; CREATE EXTENSION batmap');
is( $node->safe_psql('restored_plain', "SELECT count(*) FROM batmap_pairs('SELECT * FROM (VALUES (1, 1), (1, 2)) v', min_count => 1)"),
    '1', 'dropped and created again, it works');

$node->stop;
done_testing();
