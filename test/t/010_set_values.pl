# Sets in a table survive a restart, a crash, a dump, COPY in text and binary form, and logical replication: the
# sets and their bytes stay the same. Parallel plans aggregate and compare them like serial plans.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('set_values');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', "max_worker_processes = 16\nmax_parallel_workers = 8");
$node->start;

my $table = q{CREATE TABLE kept (id int4 PRIMARY KEY, s batmap, u batmap(1000000, 'prepared'), st batmap_state)};
$node->safe_psql('postgres', "CREATE EXTENSION batmap; $table");
$node->safe_psql('postgres', q{
    INSERT INTO kept VALUES (1, '{}', '{}', NULL), (2, NULL, NULL, NULL), (3, '{0}', '{999999}', _batmap_or_trans(NULL, '{1,2}'));
    INSERT INTO kept SELECT 4, batmap_agg(x * x), batmap_agg(x % 777777), NULL FROM generate_series(1::int8, 2000) x;
    INSERT INTO kept SELECT 5, batmap_range(7, 70000), batmap_range(0, 1000000), NULL;
    INSERT INTO kept SELECT 6, batmap_agg(x * 92233720368547), '{1,2,3}', _batmap_agg_trans(NULL, 5) FROM generate_series(1, 40000) x;  -- a wide universe, 3 MB
});

my $contents = q{
    SELECT id, md5(_batmap_send(s)), md5(_batmap_send(u)), md5(s::text), md5(u::text), batmap_cardinality(s), batmap_cardinality(u),
           (batmap_stats(s)).container, (batmap_stats(u)).container, (batmap_stats(u)).universe, md5(_batmap_state_send(st)), _batmap_state_final(st)
    FROM kept ORDER BY id};
my $before = $node->safe_psql('postgres', $contents);
my @rows = split /\n/, $before;
is(scalar @rows, 6, 'six rows are stored');
like($rows[3], qr/\|2000\|2000\|compact\|batmap\|1048576\|/, 'the fourth holds a compact set and a batmap');
like($rows[4], qr/\|69993\|1000000\|compact\|bitmap\|1048576\|/, 'the fifth a compact set and a bitmap');
like($rows[5], qr/\|40000\|3\|compact\|array\|1048576\|/, 'the sixth a wide one and an array');
is($node->safe_psql('postgres', "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'kept'::regclass AND attname = 'u'"),
    'batmap(1000000,prepared)', 'the type is shown as it was declared');

$node->restart;
is($node->safe_psql('postgres', $contents), $before, 'the same after a restart');
$node->safe_psql('postgres', 'UPDATE kept SET s = s | 5 WHERE id = 4; UPDATE kept SET s = s - 5 WHERE id = 4');
is($node->safe_psql('postgres', $contents), $before, 'adding and removing an element gives the same bytes');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $contents), $before, 'the same after a crash');

# Dump and restore, with indexes.
$node->safe_psql('postgres', 'CREATE INDEX kept_gin ON kept USING gin (u); CREATE INDEX kept_hash ON kept USING hash (s)');
my $folder = PostgreSQL::Test::Utils::tempdir();
for my $format (qw(plain custom))
{
    my $database = "restored_$format";
    my $file = "$folder/$format.dump";
    $node->command_ok([ 'pg_dump', '--format', $format, '--file', $file, $node->connstr('postgres') ], "$format dump");
    $node->safe_psql('postgres', "CREATE DATABASE $database");
    my @restore = $format eq 'plain'
      ? ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr($database))
      : ('pg_restore', '--exit-on-error', '--dbname', $node->connstr($database), $file);
    $node->command_ok(\@restore, "$format dump restored");
    is($node->safe_psql($database, $contents), $before, "the same after a $format dump and restore");
    is($node->safe_psql($database, 'SET enable_seqscan = off; SELECT id FROM kept WHERE u @> 3 ORDER BY id'), "4\n5\n6", 'and its index answers');
}

# COPY to files outside the folder of the server, in all formats.
for my $format (qw(text csv binary))
{
    my $file = $node->basedir . "/kept.$format";
    $node->safe_psql('postgres', "COPY (SELECT * FROM kept ORDER BY id) TO '$file' (FORMAT $format)");
    $node->safe_psql('postgres', "CREATE TABLE copied (LIKE kept); COPY copied FROM '$file' (FORMAT $format)");
    (my $of_copy = $contents) =~ s/FROM kept/FROM copied/;
    is($node->safe_psql('postgres', $of_copy), $before, "the same after COPY in format $format");
    $node->safe_psql('postgres', 'DROP TABLE copied');
}
# Into a column with another declared universe: encoded again, or refused.
my $binary = $node->basedir . '/one.binary';
$node->safe_psql('postgres', "COPY (SELECT u FROM kept WHERE id = 4) TO '$binary' (FORMAT binary); CREATE TABLE wide (u batmap(4000000, 'prepared')); COPY wide FROM '$binary' (FORMAT binary)");
is($node->safe_psql('postgres', 'SELECT batmap_universe(w.u), w.u = k.u FROM wide w, kept k WHERE k.id = 4'), '4194304|t', 'COPY BINARY into a larger universe');
my ($status, undef, $stderr) = $node->psql('postgres', "CREATE TABLE narrow (u batmap(1000)); COPY narrow FROM '$binary' (FORMAT binary)");
isnt($status, 0, 'COPY BINARY into one that is too small is refused');
like($stderr, qr/element 2000 is out of range for type batmap\(1000\)/, 'and the error names the element');

# Logical replication, in text and in binary.
for my $binary (qw(off on))
{
    my $subscriber = PostgreSQL::Test::Cluster->new("subscriber_$binary");
    $subscriber->init;
    $subscriber->start;
    $subscriber->safe_psql('postgres', "CREATE EXTENSION batmap; $table");
    $node->safe_psql('postgres', "CREATE PUBLICATION sets_$binary FOR TABLE kept");
    my $from = $node->connstr . ' dbname=postgres';
    $subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION sets_$binary CONNECTION '$from' PUBLICATION sets_$binary WITH (binary = $binary)");
    $subscriber->wait_for_subscription_sync($node, "sets_$binary") if $subscriber->can('wait_for_subscription_sync');
    $subscriber->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's')") or die 'no synchronisation';
    is($subscriber->safe_psql('postgres', $contents), $before, "replicated, binary $binary: the first copy");
    $node->safe_psql('postgres', q{INSERT INTO kept SELECT id + 100, s, u, st FROM kept; UPDATE kept SET u = u | 12345 WHERE id > 100; DELETE FROM kept WHERE id = 101});
    my $now = $node->safe_psql('postgres', $contents);
    $node->wait_for_catchup("sets_$binary");
    is($subscriber->safe_psql('postgres', $contents), $now, "replicated, binary $binary: changes");
    $node->safe_psql('postgres', 'DELETE FROM kept WHERE id > 100');
    $node->wait_for_catchup("sets_$binary");
    $subscriber->safe_psql('postgres', "DROP SUBSCRIPTION sets_$binary");
    $node->safe_psql('postgres', "DROP PUBLICATION sets_$binary");
    $subscriber->stop;
}

# Parallel plans.
$node->safe_psql('postgres', q{
    CREATE TABLE rows AS SELECT (i * 7919) % 37 AS g, (i * 40503) % 50021 AS x, i % 3 AS y FROM generate_series(1::int8, 200000) i;
    CREATE TABLE sets AS SELECT g, x % 11 AS h, batmap_agg(x, 65536) AS s FROM rows GROUP BY 1, 2;
    ANALYZE;
});
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 4;';
my $serial = 'SET max_parallel_workers_per_gather = 0;';
my %queries = (
    'batmap_agg(int8)' => 'SELECT batmap_agg(x) FROM rows',
    'batmap_agg(int4)' => 'SELECT batmap_agg(x::int4) FROM rows',
    'batmap_agg with a universe' => 'SELECT _batmap_send(batmap_agg(x, 65536)) FROM rows',
    'batmap_cardinality_agg' => 'SELECT batmap_cardinality_agg(x) FROM rows',
    'batmap_or_agg' => 'SELECT batmap_or_agg(s) FROM sets',
    'batmap_and_agg' => 'SELECT batmap_and_agg(s | batmap_range(5, 50)) FROM sets',
    'batmap_xor_agg' => 'SELECT batmap_xor_agg(s) FROM sets',
    'cardinalities' => 'SELECT batmap_or_cardinality_agg(s), batmap_and_cardinality_agg(s), batmap_xor_cardinality_agg(s) FROM sets',
    'grouped' => 'SELECT y, batmap_agg(x) FROM rows GROUP BY y ORDER BY y',
    'nothing' => 'SELECT batmap_agg(x), batmap_cardinality_agg(x) FROM rows WHERE x < 0',
    'intersections' => 'SELECT sum(batmap_and_cardinality(a.s, b.s)) FROM sets a, sets b WHERE a.h = 3',
);
for my $name (sort keys %queries)
{
    my $query = $queries{$name};
    my $plan = $node->safe_psql('postgres', "$parallel EXPLAIN (COSTS OFF) $query");
    # For two of them the cheaper plan aggregates above the Gather.
    my $shape = $name =~ /^(nothing|intersections)$/ ? qr/Gather/ : qr/Partial (Group|Hash)?Aggregate/;
    like($plan, $shape, "$name: the plan is parallel");
    is($node->safe_psql('postgres', "$parallel $query"), $node->safe_psql('postgres', "$serial $query"), "$name: the answer is that of the serial plan");
}
is($node->safe_psql('postgres', "$serial SELECT batmap_cardinality(batmap_agg(x)) = count(DISTINCT x) FROM rows"), 't', 'and right');

# The universes of a group are compared across workers, too.
for my $way ($serial, $parallel)
{
    my ($rc, undef, $err) = $node->psql('postgres', "$way SELECT batmap_agg(x, 65536 << (x % 2)::int) FROM rows");
    like($err, qr/universe must be the same for all rows of a group/, 'different universes are refused');
}

# A statement stops on request while it builds, intersects or sorts sets.
for my $query (
    'SELECT batmap_cardinality(batmap_prepare(batmap_range(0, 10000000)))',
    'SELECT batmap_agg((i * 7919) % 99999989) FROM generate_series(1::int8, 100000000) i',
    'SELECT sum(batmap_and_cardinality(a.s, b.s)) FROM sets a, sets b, sets c, sets d')
{
    my ($rc, undef, $err) = $node->psql('postgres', "SET statement_timeout = 300; $query");
    like($err, qr/canceling statement due to statement timeout/, "stopped: $query");
}

# A single call over large sets stops, too: well before its end, on any machine.
$node->safe_psql('postgres', q{
    CREATE TABLE large (name text, s batmap);
    ALTER TABLE large ALTER s SET STORAGE EXTERNAL;
    INSERT INTO large SELECT 'w32', batmap_prepare(batmap_range(0, 2000000));
    INSERT INTO large SELECT 'w62', batmap_prepare(s, 4611686018427387904) FROM large;
});
my %calls = (
    'counting sets of different width' => q{SELECT batmap_and_cardinality(a.s, b.s) FROM large a, large b WHERE a.name = 'w62' AND b.name = 'w32'},
    'equality of sets of different width' => q{SELECT a.s = b.s FROM large a, large b WHERE a.name = 'w62' AND b.name = 'w32'},
    'reading bytes' => q{SELECT s::bytea::batmap FROM large WHERE name = 'w62'},
    'counting four sets' => q{SELECT batmap_and_cardinality(s, s, s, s) FROM large WHERE name = 'w32'},
    'hashing' => q{SELECT _batmap_hash(s) FROM large WHERE name = 'w62'},
);
# Other tests slow a call down now and then: what a whole call takes is measured anew for each try, and the timeout is a smaller
# part of it each time.
for my $name (sort keys %calls)
{
    my ($whole, $stopped, $err);
    for my $part (0.5, 0.4, 0.3, 0.2, 0.1)
    {
        my $start = time;
        $node->safe_psql('postgres', "SELECT 1 WHERE ($calls{$name}) IS NULL");
        $whole = time - $start;
        my $timeout = int(1000 * $part * $whole);
        $start = time;
        (undef, undef, $err) = $node->psql('postgres', "SET statement_timeout = $timeout; SELECT 1 WHERE ($calls{$name}) IS NULL");
        $stopped = time - $start;
        last if $err && $stopped < 0.8 * $whole;
    }
    like($err, qr/canceling statement due to statement timeout/, "stopped: $name");
    cmp_ok($stopped, '<', 0.8 * $whole, "stopped at once: $name");
    note sprintf('%s: %.3f s, stopped after %.3f s', $name, $whole, $stopped);
}

$node->stop;
done_testing();
