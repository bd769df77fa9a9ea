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

# -- Tuples that are alike on a page, and pages on which one of them is not: all are all-visible -------------------------------------

my $rows = 'SELECT g / 4, g % 7, g FROM generate_series(1, 1000) g';
for my $shape (
    [ 'one tuple has a NULL that is read', "INSERT INTO shaped $rows; UPDATE shaped SET item = NULL WHERE qty = 500" ],
    [ 'one tuple has a NULL behind', "INSERT INTO shaped $rows; UPDATE shaped SET qty = NULL WHERE qty = 500" ],
    [ 'all tuples have the same NULLs behind', "INSERT INTO shaped $rows; UPDATE shaped SET qty = NULL" ],
    [ 'all tuples have NULLs behind, one has another', "INSERT INTO shaped $rows; UPDATE shaped SET qty = NULL; ALTER TABLE shaped ADD more int; UPDATE shaped SET more = 1 WHERE tid = 9 AND item = 3" ],
    [ 'tuples of one length have NULLs in different columns', "INSERT INTO shaped SELECT g / 4, CASE WHEN g % 50 > 0 THEN g % 7 END, CASE WHEN g % 50 = 0 THEN g END FROM generate_series(1, 1000) g" ],
    [ 'a tuple with a NULL that is as long as the others', "ALTER TABLE shaped ADD note text; INSERT INTO shaped SELECT g / 4, CASE WHEN g % 50 > 0 THEN g % 7 END, g, repeat('x', CASE WHEN g % 50 > 0 THEN 7 ELSE 11 END) FROM generate_series(1, 1000) g" ],
    [ 'all tuples have NULLs in a bitmap of two bytes', 'ALTER TABLE shaped ' . join(', ', map { "ADD b$_ int" } 1 .. 9) . "; INSERT INTO shaped $rows" ],
    [ 'NULLs before the two columns', "ALTER TABLE shaped DROP item, ADD item int; INSERT INTO shaped (tid, qty, item) SELECT g / 4, CASE WHEN g <> 500 THEN g END, g % 7 FROM generate_series(1, 1000) g" ],
    [ 'all tuples have a NULL before the item', "ALTER TABLE shaped DROP item, ADD item int; INSERT INTO shaped (tid, item) SELECT g / 4, g % 7 FROM generate_series(1, 1000) g" ],
    [ 'a column that was dropped', "INSERT INTO shaped $rows; ALTER TABLE shaped DROP qty; INSERT INTO shaped SELECT tid + 9, item + 3 FROM shaped" ],
    [ 'an item that some tuples lack', "INSERT INTO shaped $rows; ALTER TABLE shaped DROP item; ALTER TABLE shaped ADD item int DEFAULT 8; INSERT INTO shaped SELECT g / 4, g, g % 7 FROM generate_series(1, 1000) g" ],
    [ 'an item that the first tuple of a page has alone', "INSERT INTO shaped VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3); ALTER TABLE shaped DROP item; ALTER TABLE shaped ADD item int DEFAULT 8; UPDATE shaped SET item = 9 WHERE tid = 1; DELETE FROM shaped WHERE tid = 2; VACUUM shaped; INSERT INTO shaped SELECT 3, 1, 4 UNION ALL SELECT 3, 1, 5" ],
    [ 'a text behind, of many lengths', "ALTER TABLE shaped ADD note text; INSERT INTO shaped SELECT g / 4, g % 7, g, repeat('x', g % 40) FROM generate_series(1, 1000) g" ],
    [ 'a text behind, of one length, and one in another place', "ALTER TABLE shaped ADD note text; ALTER TABLE shaped ALTER note SET STORAGE EXTERNAL; INSERT INTO shaped SELECT g / 4, g % 7, g, CASE WHEN g % 100 = 0 THEN repeat('x', 3000) ELSE repeat('y', 17) END FROM generate_series(1, 1000) g" ],
    [ 'HOT chains', "INSERT INTO shaped $rows; VACUUM shaped; UPDATE shaped SET item = item + 1 WHERE qty % 50 = 0; UPDATE shaped SET item = item + 1 WHERE qty % 100 = 0" ],
    [ 'free line pointers in the middle', "INSERT INTO shaped $rows; CREATE INDEX ON shaped (qty); DELETE FROM shaped WHERE qty IN (1, 500, 1000)" ],
    [ 'the first line pointers are unused', "INSERT INTO shaped $rows; DELETE FROM shaped WHERE qty < 20" ],
    [ 'a page without a tuple', "INSERT INTO shaped $rows; DELETE FROM shaped WHERE qty < 400" ])
{
    my ($what, $fill) = @$shape;
    $node->safe_psql('postgres', $_)
        for 'DROP TABLE IF EXISTS shaped', 'CREATE TABLE shaped (tid int NOT NULL, item int, qty int) WITH (fillfactor = 60)', split(/; /, $fill), 'VACUUM shaped';
    my $query = "SELECT string_agg(p::text, ' ' ORDER BY item_a, item_b) FROM batmap_pairs('SELECT tid, item FROM shaped', min_count => 1) p";
    my $slots = $node->safe_psql('postgres', $query =~ s/FROM shaped/FROM shaped WHERE random() >= 0/r);
    is($node->safe_psql('postgres', $query), $slots, "all-visible: $what");
    is($node->safe_psql('postgres', "SELECT relallvisible = relpages AND relpages > 0 FROM pg_class WHERE relname = 'shaped'"), 't', "$what: all-visible");
    $node->safe_psql('postgres', 'UPDATE shaped SET tid = tid WHERE tid % 5 = 0');
    is($node->safe_psql('postgres', $query), $slots, "and after an update: $what");
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
my $length = unpack('V', bytes_at($pointer, 4)) >> 17;
sub line_pointer { my ($offset, $length) = @_; return pack('V', $offset | 1 << 15 | $length << 17); }

my $damaged = qr/ERROR:  XX001: tuple \(0,3\) of "baskets" is damaged/;
for my $damage (
    [ 'a tuple that ends behind the page', $pointer, line_pointer(8184, 32), $damaged ],
    [ 'a tuple that starts behind the page', $pointer, line_pointer(32767, 0), $damaged ],
    [ 'a tuple shorter than its header', $pointer, line_pointer($tuple, 8), $damaged ],
    [ 'a tuple without its columns', $pointer, line_pointer($tuple, 28), $damaged ],
    [ 'a tuple without a factor', $pointer, line_pointer($tuple, 32), $damaged, "$only_node; $sums" ],
    [ 'a header longer than its tuple', $tuple + 22, pack('C', 248), $damaged ],
    [ 'a first tuple that starts behind the page', $pointer - 8, line_pointer(32767, 0), qr/ERROR:  XX001: tuple \(0,1\) of "baskets" is damaged/ ],
    [ 'a first tuple without its columns', $pointer - 8, line_pointer($tuple, 28), qr/ERROR:  XX001: tuple \(0,1\) of "baskets" is damaged/ ],
    [ 'a tuple of the right length behind the page', $pointer, line_pointer(32760, $length), $damaged ],
    [ 'a tuple of the right length that ends behind the page', $pointer, line_pointer(8184, $length), $damaged ],
    [ 'more line pointers than tuples fit', 5 * 8192 + 12, pack('v', 24 + 4 * 292), qr/ERROR:  XX001: tuple \(5,292\) of "baskets" is damaged/ ],
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
