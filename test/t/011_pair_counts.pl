# Pair counts in a table survive a restart, a crash, a dump and COPY in text and binary form: the counts and
# their bytes stay the same. Large values answer, add up and stop within their limits.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('pair_counts');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
    CREATE EXTENSION batmap;
    CREATE TABLE kept (id int4 PRIMARY KEY, c batmap_pair_counts);
    INSERT INTO kept SELECT 1, batmap_pair_counts_agg(7, 9);
    INSERT INTO kept SELECT 2, batmap_pair_counts_agg(g % 50, g % 17) FROM generate_series(1, 2000) g;
    -- wide numbers of both signs
    INSERT INTO kept SELECT 3, batmap_pair_counts_agg(g % 300, 9223372036854775807 - g * g * 922337203685::int8) FROM generate_series(1, 3000) g;
    -- two million pairs, stored out of line
    INSERT INTO kept SELECT 4, batmap_pair_counts_agg(g % 20, (g::int8 * 7919) % 2003) FROM generate_series(1, 100000) g;
    INSERT INTO kept VALUES (5, NULL);
    INSERT INTO kept SELECT 6, batmap_pair_counts_agg('{}'::batmap);
});

my $contents = q{
    SELECT id, c IS NULL, md5(_batmap_pair_counts_send(c)), batmap_pair_counts_total(c), batmap_pair_counts_items(c), batmap_pair_counts_pairs(c),
           (SELECT count(*) || ' ' || coalesce(sum(support_count), 0) FROM batmap_pair_counts_unnest(c)),
           (SELECT count(*) || ' ' || coalesce(sum(support_count), 0) FROM batmap_pairs(c, min_count => 2))
    FROM kept ORDER BY id};
my $before = $node->safe_psql('postgres', $contents);
my @rows = split /\n/, $before;
is(scalar @rows, 6, 'six values are stored');
like($rows[0], qr/^1\|f\|\w+\|1\|1\|0\|/, 'the first holds one item');
like($rows[3], qr/^4\|f\|\w+\|20\|2003\|2005003\|/, 'the fourth all pairs of 2,003 items');
like($rows[5], qr/^6\|f\|\w+\|1\|0\|0\|/, 'the sixth one transaction without items');
cmp_ok($node->safe_psql('postgres', 'SELECT pg_column_size(c) FROM kept WHERE id = 4'), '<', 3 * 2_005_003, 'a pair takes less than three bytes');

$node->restart;
is($node->safe_psql('postgres', $contents), $before, 'the same after a restart');
$node->safe_psql('postgres', 'UPDATE kept SET c = c WHERE id = 4');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $contents), $before, 'the same after a crash');

my $folder = PostgreSQL::Test::Utils::tempdir();
for my $format (qw(text binary))
{
    $node->safe_psql('postgres', qq{
        COPY kept TO '$folder/kept.$format' (FORMAT $format);
        TRUNCATE kept;
        COPY kept FROM '$folder/kept.$format' (FORMAT $format)});
    is($node->safe_psql('postgres', $contents), $before, "the same after COPY in $format");
}

my $dump = "$folder/kept.dump";
$node->command_ok([ 'pg_dump', '--format', 'custom', '--file', $dump, $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr('restored'), $dump ], 'restored');
is($node->safe_psql('restored', $contents), $before, 'the same after a dump and restore');

# Bytes from outside are validated in full.
for my $damage ("set_byte(b, octet_length(b) - 1, get_byte(b, octet_length(b) - 1) # 128)", 'substr(b, 1, octet_length(b) - 1)', "b || '\\x00'")
{
    $node->safe_psql('postgres', qq{
        CREATE TEMP TABLE damaged AS SELECT $damage AS b FROM (SELECT _batmap_pair_counts_send(c) AS b FROM kept WHERE id = 2) s;
        COPY (SELECT b FROM damaged) TO '$folder/damaged' (FORMAT binary)});
    my ($status, undef, $stderr) =
      $node->psql('postgres', "\\set VERBOSITY verbose\nCREATE TEMP TABLE taken (c batmap_pair_counts); COPY taken FROM '$folder/damaged' (FORMAT binary)");
    isnt($status, 0, "refused: $damage");
    like($stderr, qr/ERROR:  22P03: invalid pair counts: /, 'as invalid binary data');
}

# Limits of the memory and the time of a run.
for my $question ('batmap_pair_counts_total(c + c)', '(SELECT count(*) FROM batmap_pairs(c, top_k => 1000000))')
{
    my ($status, undef, $stderr) =
      $node->psql('postgres', "\\set VERBOSITY verbose\nLOAD 'batmap'; SET batmap.memory_limit = '1MB'; SELECT $question FROM kept WHERE id = 4");
    isnt($status, 0, "$question: more than the limit is refused");
    like($stderr, qr/ERROR:  53200: .*HINT:  .*batmap\.memory_limit/s, 'with a hint that names the setting');
}
my $endless = 'SELECT batmap_pair_counts_pairs(sum(c)) FROM kept, generate_series(1, 1000000) WHERE id = 4';
my $start = time;
my ($status, undef, $stderr) = $node->psql('postgres', "SET statement_timeout = '1s'; $endless");
isnt($status, 0, 'a long sum is cancelled');
like($stderr, qr/canceling statement due to statement timeout/, 'by the timeout');
cmp_ok(time - $start, '<', 10, 'in time');
is($node->safe_psql('postgres', $contents), $before, 'and all is as it was');

$node->stop;
done_testing();
