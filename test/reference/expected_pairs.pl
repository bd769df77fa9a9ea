# Compares the frequent pairs of real data sets, by every counting method and every CPU kernel, with reference
# answers: the number of pairs, the sum of their supports, and the sha256 of their text.
#
# BATMAP_TEST_DATA names a folder with fimi/NAME.dat.zst (one transaction a line, item numbers) and
# fimi/expected_pairs.tsv (dataset, transactions, minsup_abs, pairs, sum_of_supports, sha256 of the lines
# "item1 item2 support" in ascending order). Without it the test is skipped.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $data = $ENV{BATMAP_TEST_DATA};
plan skip_all => 'BATMAP_TEST_DATA is not set: no data sets to compare with' unless $data;
plan skip_all => 'zstd is not there to unpack the data sets' if system('zstd --version > /dev/null 2>&1') != 0;

my $expected_file = "$data/fimi/expected_pairs.tsv";
my (@datasets, %expected, %transactions);
for my $line (split /\n/, slurp_file($expected_file))
{
    my ($dataset, $transactions, $min_count, $pairs, $sum, $sha256) = split /\t/, $line;
    next if $dataset eq 'dataset';
    push @datasets, $dataset unless $expected{$dataset};
    $transactions{$dataset} = $transactions;
    push @{ $expected{$dataset} }, [ $min_count, "$pairs|$sum|$sha256|$transactions" ];
}
cmp_ok(scalar @datasets, '>=', 1, "$expected_file names " . scalar(@datasets) . ' data sets');

my $node = PostgreSQL::Test::Cluster->new('expected_pairs');
$node->init;
$node->append_conf('postgresql.conf', "shared_buffers = '256MB'\nmax_wal_size = '4GB'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION batmap');

# The hints of two errors name the methods of the extension and the kernels that this processor supports.
sub available
{
    my ($sql) = @_;
    my (undef, undef, $stderr) = $node->psql('postgres', "LOAD 'batmap'; $sql");
    my ($names) = $stderr =~ /^HINT:  Available.*?: (.*)\.$/m;
    return grep { $_ ne 'auto' } split /, /, $names // '';
}
my @methods = available("SELECT * FROM batmap_pairs('SELECT 1, 2', min_count => 1, method => 'none of them')");
my @kernels = available("SET batmap.cpu_kernel = 'none of them'");
is_deeply([ grep { my $known = $_; grep { $_ eq $known } @methods } qw(horizontal bitmap merge) ],
    [qw(horizontal bitmap merge)], "methods: @methods");
is(scalar(grep { $_ eq 'scalar' } @kernels), 1, "kernels: @kernels");

# Pairs of method and kernel. A method that uses a kernel (batmap_last_run() names it) runs with each kernel.
my @ways = ([ 'auto', 'auto' ]);
for my $method (@methods)
{
    my $used = $node->safe_psql('postgres',
        "SELECT FROM batmap_pairs('SELECT * FROM (VALUES (1, 1), (1, 2)) v', min_count => 1, method => '$method');"
          . " SELECT coalesce(kernel, '') FROM batmap_last_run()");
    push @ways, map { [ $method, $_ ] } $used =~ /\S/ ? @kernels : ('auto');
}

# The number of words that AND and popcount would read. Without vector instructions a word takes about 1 ns.
my $too_slow_for_scalar = 1e10;

# psql prints a row of count, sum, sha256 and total as "count|sum|sha256|total".
my $answer = q{
    SELECT count(*), sum(support_count),
           encode(sha256(convert_to(string_agg(format(E'%s %s %s\n', item_a, item_b, support_count), ''
                                               ORDER BY item_a, item_b), 'UTF8')), 'hex'),
           max(total)
    FROM batmap_pairs(};

my $seconds_of = sub { sprintf '%.1f s', time - $_[0] };
for my $dataset (@datasets)
{
    my $started = time;
    $node->safe_psql('postgres', qq{
        DROP TABLE IF EXISTS baskets, relation;
        CREATE UNLOGGED TABLE lines (tid int4 GENERATED ALWAYS AS IDENTITY, line text);
        COPY lines (line) FROM PROGRAM 'zstd -dc -- "$data/fimi/$dataset.dat.zst"';
        CREATE UNLOGGED TABLE baskets AS
            SELECT tid, item::int4 FROM lines, string_to_table(trim(line), ' ') AS item;
        DROP TABLE lines;
        ANALYZE baskets;
        CREATE UNLOGGED TABLE relation AS SELECT batmap_relation_agg(tid, item) AS r FROM baskets;
    });
    is($node->safe_psql('postgres', 'SELECT count(DISTINCT tid) FROM baskets'),
        $transactions{$dataset}, "$dataset: loaded in " . $seconds_of->($started));

    for my $case (@{ $expected{$dataset} })
    {
        my ($min_count, $want) = @$case;
        my $items = $node->safe_psql('postgres',
            "SELECT count(*) FROM (SELECT FROM baskets GROUP BY item HAVING count(*) >= $min_count) q");
        for my $way (@ways)
        {
            my ($method, $kernel) = @$way;
            my $name = "$dataset, min_count $min_count, $method, kernel $kernel";
          SKIP:
            {
                skip "$name: too slow without vector instructions", 1
                  if $method eq 'bitmap' && $kernel eq 'scalar'
                  && $items**2 / 2 * $transactions{$dataset} / 64 > $too_slow_for_scalar;
                $started = time;
                my $got = $node->safe_psql('postgres',
                    "LOAD 'batmap'; SET batmap.cpu_kernel = '$kernel';"
                      . "$answer 'SELECT tid, item FROM baskets', min_count => $min_count, method => '$method');"
                      . 'SELECT method, kernel FROM batmap_last_run()');
                my ($numbers, $ran) = split /\n/, $got;
                # The method and kernel that ran must be those that were requested; auto may choose any.
                my $asked = ($method eq 'auto' ? '[a-z]+' : $method) . '\|' . ($kernel eq 'auto' ? '\w*' : $kernel);
                ok($numbers eq $want && $ran =~ /^$asked$/, "$name, " . $seconds_of->($started))
                  or diag("got $numbers by $ran, expected $want");
            }
        }
        $started = time;
        my $got = $node->safe_psql('postgres', "$answer (SELECT r FROM relation), min_count => $min_count)");
        is($got, $want, "$dataset, min_count $min_count, from a relation, " . $seconds_of->($started));
    }
}

$node->stop;
done_testing();
