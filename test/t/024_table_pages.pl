# Pages of a table as the reader finds them. Damaged pages: an error, and never a read outside the page. A
# standby: the pages say all-visible, which is not trusted there, and the rows are the same.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('pages');
# From version 18 on, checksums are the default, and the server itself finds the damage.
my @unchecked = $node->pg_version < 18 ? () : ('--no-data-checksums');
$node->init(allows_streaming => 1, extra => \@unchecked);
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_parallel_workers_per_gather = 0");
$node->start;
$node->safe_psql('postgres', q{
    CREATE EXTENSION batmap;
    CREATE TABLE baskets AS SELECT g / 4 AS tid, g % 7 AS item, g % 100 AS qty FROM generate_series(1, 1000) g;
    VACUUM (FREEZE) baskets;
    CREATE TABLE copy AS TABLE baskets;
    CHECKPOINT;
});
my $pairs = "SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1)";
my $want = $node->safe_psql('postgres', $pairs);
is($want, $node->safe_psql('postgres', $pairs =~ s/baskets/copy/r), 'pages that are all-visible and pages that are not');
# Integers beside the two columns, which the node for plain SQL adds up. Nothing else can join.
my $only_node = "LOAD 'batmap'; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_nestloop = off";
my $sums = 'SELECT count(*), sum(n) FROM (SELECT sum(a.qty * b.qty) AS n FROM baskets a JOIN baskets b USING (tid) GROUP BY a.item, b.item) q';
my $want_sums = $node->safe_psql('postgres', "SET batmap.enable_join_project = off; $sums");
like($node->safe_psql('postgres', "$only_node; EXPLAIN (COSTS OFF) $sums"), qr/BatmapJoinProject.*Factors: a\.qty/s, 'the node adds up');
is($node->safe_psql('postgres', "$only_node; $sums"), $want_sums, 'sums from pages that are all-visible');
is($node->safe_psql('postgres', "$only_node; $sums" =~ s/baskets/copy/gr), $want_sums, 'and from those that are not');

# -- NULLs: in columns that are read, between them, and behind them, with bitmaps of one byte and of more ---------------------

for my $between (0, 3, 20, 70)
{
    my $more = join '', map { ", b$_ int" } 1 .. $between;
    my $values = join '', map { ", CASE WHEN g % (50 + $_) > 0 THEN $_ END" } 1 .. $between;
    $node->safe_psql('postgres', qq{
        DROP TABLE IF EXISTS gaps;
        CREATE TABLE gaps (tid int$more, item int, qty int, behind text, last int);
        INSERT INTO gaps SELECT CASE WHEN g % 31 > 0 THEN g / 4 END$values, CASE WHEN g % 29 > 0 THEN g % 7 END, CASE WHEN g % 23 > 0 THEN g % 100 END,
            CASE WHEN g % 2 = 0 THEN 'text' END, CASE WHEN g % 3 = 0 THEN g END FROM generate_series(1, 1000) g;
        ANALYZE gaps});
    is($node->safe_psql('postgres', "$only_node; $sums" =~ s/baskets/gaps/gr), $node->safe_psql('postgres', "SET batmap.enable_join_project = off; $sums" =~ s/baskets/gaps/gr),
        "NULLs, and $between columns between");
}

# -- Virtual generated columns: pages hold a NULL in their place -----------------------------------------------------

SKIP: {
    skip 'virtual generated columns come with version 18', 6 if $node->pg_version < 18;
    $node->safe_psql('postgres', q{
        CREATE TABLE computed (half int GENERATED ALWAYS AS (qty / 2) VIRTUAL, tid int, item int, qty int, kind int GENERATED ALWAYS AS (item % 3) VIRTUAL);
        INSERT INTO computed (tid, item, qty) TABLE baskets;
        VACUUM ANALYZE computed;
        CREATE TABLE older (tid int, item int);
        INSERT INTO older SELECT tid, item FROM baskets WHERE tid < 100;
        ALTER TABLE older ADD name text GENERATED ALWAYS AS ('no ' || item) VIRTUAL;
        ALTER TABLE older ADD qty int DEFAULT 7;
        INSERT INTO older (tid, item, qty) SELECT tid, item, nullif(qty, 50) FROM baskets WHERE tid >= 100;
    });
    is($node->safe_psql('postgres', $pairs =~ s/baskets/older/r), $want, 'before a virtual column that came later');
    is($node->safe_psql('postgres', "$only_node; $sums" =~ s/baskets/older/gr),
        $node->safe_psql('postgres', "SET batmap.enable_join_project = off; $sums" =~ s/baskets/older/gr), 'sums behind a virtual text that came later');
    is($node->safe_psql('postgres', $pairs =~ s/baskets/computed/r), $want, 'columns behind a virtual one');
    is($node->safe_psql('postgres', "$only_node; $sums" =~ s/baskets/computed/gr), $want_sums, 'sums behind a virtual column');
    is($node->safe_psql('postgres', $pairs =~ s/item FROM baskets/kind FROM computed/r),
        $node->safe_psql('postgres', $pairs =~ s/item FROM/item % 3 FROM/r), 'an item that is a virtual column');
    is($node->safe_psql('postgres', "$only_node; $sums" =~ s/baskets/computed/gr =~ s/qty/half/gr),
        $node->safe_psql('postgres', "SET batmap.enable_join_project = off; $sums" =~ s/([ab])\.qty/($1.qty \/ 2)/gr), 'sums of a virtual column');
}

# -- A standby ----------------------------------------------------------------------------------------------------

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
is($standby->safe_psql('postgres', $pairs), $want, 'a standby sees the same rows');
is($standby->safe_psql('postgres', "$only_node; $sums"), $want_sums, 'a standby adds up the same');
$standby->stop;

# -- Damaged pages ------------------------------------------------------------------------------------------------

my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('baskets')");

sub bytes_at
{
    my ($offset, $length) = @_;
    open my $handle, '<:raw', $file or die "$file: $!";
    seek $handle, $offset, 0;
    my $bytes;
    read $handle, $bytes, $length;
    close $handle;
    return $bytes;
}

sub put_bytes
{
    my ($offset, $bytes) = @_;
    open my $handle, '+<:raw', $file or die "$file: $!";
    seek $handle, $offset, 0;
    print $handle $bytes;
    close $handle;
}

# The third line pointer of the first page: offset, flags, length.
my $pointer = 24 + 2 * 4;
my $tuple = unpack('V', bytes_at($pointer, 4)) & 0x7fff;
sub line_pointer { my ($offset, $length) = @_; return pack('V', $offset | 1 << 15 | $length << 17); }

my $damaged = qr/ERROR:  XX001: tuple \(0,3\) of "baskets" is damaged/;
for my $damage (
    [ 'a tuple that ends behind the page', $pointer, line_pointer(8184, 32), $damaged ],
    [ 'a tuple that starts behind the page', $pointer, line_pointer(32767, 0), $damaged ],
    [ 'a tuple shorter than its header', $pointer, line_pointer($tuple, 8), $damaged ],
    [ 'a tuple without its columns', $pointer, line_pointer($tuple, 28), $damaged ],
    [ 'a tuple without a factor', $pointer, line_pointer($tuple, 32), $damaged, "$only_node; $sums" ],
    [ 'a header longer than its tuple', $tuple + 22, pack('C', 248), $damaged ],
    [ 'a page header that makes no sense', 14, pack('v', 9), qr/ERROR:  XX001: invalid page in block 0/ ])
{
    my ($what, $offset, $bytes, $error, $query) = @$damage;
    $node->stop;
    my $before = bytes_at($offset, length $bytes);
    put_bytes($offset, $bytes);
    $node->start;
    my ($status, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n" . ($query // $pairs));
    like($stderr, $error, $what);
    is($node->safe_psql('postgres', 'SELECT 1'), '1', "$what: the server is there");
    $node->stop;
    put_bytes($offset, $before);
    $node->start;
}
is($node->safe_psql('postgres', $pairs), $want, 'the page without its damage');

done_testing();
