# The plan node BatmapJoinProject with little memory, over a grid of batmap.work_mem and batmap.memory_limit.
# Queries are planned under the limits of the run and under ample limits. The rows must be those of the plain
# plan, and nothing may fail. A run has one temporary file. A timeout in the middle ends the run at once and
# removes its file.
#
# BATMAP_TEST_GRID=full (`make check-reference`) tries every work_mem with every memory_limit, and every timeout
# with every query. Otherwise each limit meets the least work_mem, each work_mem meets some limit, and queries over
# subqueries, which take longest, meet three corners.
# BATMAP_MEMORY_ROWS: number of rows of each table (default 50000, in full 150000). BATMAP_MEMORY_TIMES=1 prints the
# grid with times.
use strict;
use warnings;

use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $full = ($ENV{BATMAP_TEST_GRID} // '') eq 'full';
my $rows = $ENV{BATMAP_MEMORY_ROWS} // ($full ? 150000 : 50000);
my $tids = int($rows / 10);
my $node = PostgreSQL::Test::Cluster->new('memory');
$node->init;
# The plain plan has enough memory, so that its files are not counted.
$node->append_conf('postgresql.conf', "session_preload_libraries = 'batmap'\nwork_mem = '1GB'\njit = off\nlog_temp_files = 0\n");
# PostgreSQL 19 can group below the join, which is estimated to be cheaper than the node in places.
$node->append_conf('postgresql.conf', 'enable_eager_aggregate = off') if $node->pg_version->major >= 19;
$node->start;
$node->safe_psql('postgres', qq{
    CREATE EXTENSION batmap;
    SELECT setseed(0.5);
    CREATE TABLE baskets AS SELECT (random() * $tids)::int4 AS tid, (random() ^ 2 * 800)::int4 AS item FROM generate_series(1, $rows);
    CREATE TABLE uses AS SELECT (random() * 1500)::int4 AS tool, (random() * $tids)::int4 AS skill FROM generate_series(1, $rows);
    CREATE TABLE needs AS SELECT (random() * $tids)::int4 AS skill, 'job ' || (random() ^ 2 * 900)::int4 AS job FROM generate_series(1, $rows);
    CREATE TABLE sparse AS SELECT tid, (random() * $rows)::int4 AS item FROM baskets;
    VACUUM ANALYZE;
});

my %queries = (
    'self-join' => 'SELECT a.item AS x, b.item AS y, count(*) AS n FROM baskets a JOIN baskets b USING (tid) WHERE a.item < b.item GROUP BY 1, 2',
    'two tables' => 'SELECT tool AS x, job AS y, count(*) AS n FROM uses JOIN needs USING (skill) GROUP BY 1, 2',
    'subquery' => 'SELECT tool AS x, job AS y, count(*) AS n FROM uses JOIN (SELECT * FROM needs OFFSET 0) s USING (skill) GROUP BY 1, 2',
    'nested subqueries' => 'SELECT tool AS x, job AS y, count(*) AS n FROM uses JOIN (WITH w AS MATERIALIZED (SELECT DISTINCT skill, job FROM'
      . ' (SELECT * FROM needs WHERE skill >= (SELECT min(skill) FROM uses) OFFSET 0) n) SELECT * FROM w WHERE job > (SELECT min(job) FROM w)'
      . ' OFFSET 0) s USING (skill) GROUP BY 1, 2',
);

sub digest
{
    my ($rows) = @_;
    return "SELECT count(*), sum(n), sum(hashtextextended(x || ' ' || y || ' ' || n, 0)::numeric) FROM ($rows) q";
}

my $generic = "SET plan_cache_mode = force_generic_plan;\n";
my @work_mem = ('64kB', '1MB', '4MB', '64MB');
my @limits = ('4MB', '16MB', '64MB', '4GB');

sub is_kept
{
    my ($name, $limit, $work_mem) = @_;
    my $corner = "$work_mem $limit" =~ /^(64kB 4MB|64kB 4GB|64MB 4GB)$/;
    return $full || $corner || $name !~ /subquer/ && ($work_mem eq '64kB' || "$work_mem $limit" =~ /^(1MB 4MB|4MB 16MB)$/);
}


for my $name (sort keys %queries)
{
    my $query = digest($queries{$name});
    my ($plain, $plain_ms) = timed("SET batmap.enable_join_project = off;", $query);
    # A query that is planned with ample memory has the node in its plan. If it then runs with little memory,
    # the available memory must suffice.
    my $prepared = "PREPARE q AS $query; $generic EXECUTE q;";
    like($node->safe_psql('postgres', "EXPLAIN $query"), qr/BatmapJoinProject/, "$name: the node is taken");
    my @wrong;
    my %node_ms;
    for my $limit (@limits)
    {
        for my $work_mem (grep { is_kept($name, $limit, $_) } @work_mem)
        {
            my $settings = "SET batmap.work_mem = '$work_mem'; SET batmap.memory_limit = '$limit';";
            my ($found, $ms) = timed($settings, $query);
            push @wrong, "$settings: $found" if $found ne $plain;
            my $is_plain = $node->safe_psql('postgres', "$settings EXPLAIN $query") !~ /BatmapJoinProject/;
            my $line = sprintf '%-10s work_mem %-5s memory_limit %-5s plain %6.0f ms, node %6.0f ms%s', $name, $work_mem, $limit,
              $plain_ms, $ms, $is_plain ? ' (plain plan)' : '';
            ($found, $ms) = timed("$prepared $settings", 'EXECUTE q');
            push @wrong, "prepared, $settings: $found" if $found ne $plain;
            $line .= sprintf ', planned with ample memory %6.0f ms', $ms;
            diag $line if $ENV{BATMAP_MEMORY_TIMES};
        }
    }
    is(join("\n", @wrong), '', "$name: the plain plan's rows, and no error, in all cells");
}

# -- The decision -------------------------------------------------------------------------------------------------

my $self_join = $queries{'self-join'};
my $wide = 'SELECT a.item AS x, b.item AS y, count(*) AS n FROM sparse a JOIN sparse b USING (tid) WHERE a.item < b.item GROUP BY 1, 2';
like($node->safe_psql('postgres', "SET batmap.work_mem = '256MB'; EXPLAIN $self_join"), qr/BatmapJoinProject/,
    'with memory enough the planner takes the node');
my $counted = $node->safe_psql('postgres', "SET batmap.work_mem = '64kB'; SELECT sum(n) FROM ($wide) w; SELECT reason FROM batmap_last_run()");
like($counted, qr/; their counts in/, 'counters that are too large are no reason for many passes');
unlike($node->safe_psql('postgres', "SET batmap.memory_limit = '256kB'; EXPLAIN $queries{subquery}"), qr/BatmapJoinProject/,
    'where the node would not fit, the planner takes the plain plan');
# The plain plan reads a subquery by a plan of its own. The estimate of the rows is far too small here.
my $estimated = 'SELECT a.x AS x, b.x AS y, count(*) AS n FROM (SELECT tid % 50 AS k, item AS x FROM sparse WHERE tid % 7 < 6 OFFSET 0) a'
  . ' JOIN (SELECT tid % 50 AS k, (item / 100)::text AS x FROM sparse WHERE tid % 7 < 1 OFFSET 0) b USING (k) GROUP BY 1, 2';
like($node->safe_psql('postgres', "PREPARE q AS $estimated; $generic EXPLAIN EXECUTE q;"
          . "SET batmap.memory_limit = '1MB'; SET work_mem = '64MB'; EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) EXECUTE q"),
    qr/BatmapJoinProject.*Answered By: the plain plan.*Subquery Scan on/s, 'subqueries are read again by the plain plan');
my @members = map { "CREATE TABLE uses_$_ PARTITION OF uses_parts FOR VALUES IN ($_);" } 0 .. 2;
$node->safe_psql('postgres', "CREATE TABLE uses_parts (tool int4, skill int4, part int4) PARTITION BY LIST (part); @members"
      . ' INSERT INTO uses_parts SELECT tool, skill, tool % 3 FROM uses; ANALYZE uses_parts');
unlike($node->safe_psql('postgres', 'EXPLAIN SELECT tool, job, count(*) FROM (SELECT * FROM uses_parts OFFSET 0) u JOIN needs USING (skill)'
          . ' GROUP BY 1, 2'),
    qr/BatmapJoinProject/, 'a subquery over partitions cannot be planned twice and is left to the plain plan');
like($node->safe_psql('postgres', 'EXPLAIN SELECT tool, job, count(*) FROM uses_parts JOIN needs USING (skill) GROUP BY 1, 2'),
    qr/BatmapJoinProject/, 'partitions that are not in a subquery are read by the node');

# -- Files --------------------------------------------------------------------------------------------------------

# Fetches a row of a cursor, then counts the files.
my $files = 'SELECT count(*) FROM pg_ls_tmpdir()';
my %spilling = (
    'self-join' => $self_join,
    'two tables' => $queries{'two tables'},
    'pairs' => "SELECT * FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1)",
    'join-project' => "SELECT * FROM batmap_join_project('SELECT tool, skill FROM uses', 'SELECT skill, length(job) FROM needs')",
);
for my $name (sort keys %spilling)
{
    for my $work_mem ('0', '1MB')
    {
        my $output = $node->safe_psql('postgres', "BEGIN; DECLARE c CURSOR FOR $spilling{$name}; SET batmap.work_mem = '$work_mem';"
              . " MOVE 1 IN c; $files; CLOSE c; $files");
        like($output, qr/^1\n0$/, "$name, work_mem $work_mem: one file while it runs, none after");
    }
}

# -- Cancel -------------------------------------------------------------------------------------------------------

# The delay of a timeout, clean-up included. The least of several, because other programs take time, too.
my %slow = (
    'self-join' => "PREPARE q AS " . digest($self_join) . "; $generic EXECUTE q; SET batmap.work_mem = 0;",
    'two tables' => "PREPARE q AS " . digest($queries{'two tables'}) . "; $generic EXECUTE q; SET batmap.work_mem = 0;",
    'pairs' => "PREPARE q AS SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 1);"
      . ' SET batmap.work_mem = 0;',
    'join-project' => "PREPARE q AS SELECT count(*) FROM batmap_join_project('SELECT tool, skill FROM uses',"
      . " 'SELECT skill, hashtext(job) FROM needs'); SET batmap.work_mem = 0;",
);
for my $name (sort keys %slow)
{
    for my $timeout ($full ? (30, 60, 120, 240) : (30, 120))
    {
        my $late;
        for (1 .. 3)
        {
            my (undef, $out, $err) =
              $node->psql('postgres', "$slow{$name}\n\\timing on\nSET statement_timeout = $timeout;\nEXECUTE q;\n\\timing off\n"
                  . "RESET statement_timeout;\n$files;", on_error_stop => 0);
            my @ms = $out =~ /^Time: ([0-9.]+) ms/mg;
            last if $err !~ /statement timeout/;    # it was done
            is((split /\n/, $out)[-1], '0', "$name: no file is left") if !defined $late;
            $late = min($late // 1e9, $ms[1] - $timeout);
            last if $late < 100;
        }
        cmp_ok($late, '<', 100, "$name: a timeout of $timeout ms comes $late ms late") if defined $late;
    }
}

# With little left of batmap.max_memory, rows go to files, as with a small batmap.memory_limit.
my $explained = $node->safe_psql('postgres', q{
    CREATE TABLE pressed AS SELECT i / 8 AS tid, ((i::bigint * i * 31 + i % 17) % 5003)::int AS item FROM generate_series(1, 800000) i;
    ANALYZE pressed;
    SET batmap.max_memory = '16MB';
    EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT a.item, b.item, count(*) FROM pressed a JOIN pressed b USING (tid)
    WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 3});
like($explained, qr/BatmapJoinProject.*Temporary Files/s, 'a small max_memory leads to files');
unlike($explained, qr/Answered By/, 'and not to the plain plan');

# -- Kept counts that need too much memory are not used

$node->safe_psql('postgres', q{
    CREATE TABLE kept (tid int, item int, PRIMARY KEY (tid, item));
    INSERT INTO kept SELECT DISTINCT g / 20, hashint4(g) & 511 FROM generate_series(1, 100000) g;
    ANALYZE kept;
    SELECT batmap_keep('kept', 'tid', 'item');
});
my $kept = digest('SELECT a.item AS x, b.item AS y, count(*) AS n FROM kept a JOIN kept b USING (tid) WHERE a.item < b.item GROUP BY 1, 2');
like($node->safe_psql('postgres', "EXPLAIN $kept"), qr/Kept Counts: kept/, 'kept counts answer the query');
my $expected_of_kept = $node->safe_psql('postgres', "SET batmap.enable_join_project = off; $kept");
for my $changes (0, 20000)
{
    if ($changes > 0)
    {
        $node->safe_psql('postgres', "INSERT INTO kept SELECT 1000000 + g / 10, g % 10 FROM generate_series(1, $changes) g");
        $expected_of_kept = $node->safe_psql('postgres', "SET batmap.enable_join_project = off; $kept");
    }
    for my $setting ('memory_limit', 'max_memory')
    {
        is($node->safe_psql('postgres', "SET batmap.$setting = '$_'; $kept"), $expected_of_kept, "kept counts with $setting $_, $changes changes")
          for '0', '256kB', '1MB', '2MB', '4MB', '16MB';
    }
}

$node->stop;
done_testing();

# The rows of the last statement, or its error; and its duration.
sub timed
{
    my ($before, $statement) = @_;
    my (undef, $out, $err) = $node->psql('postgres', "$before\n\\echo start\n\\timing on\n$statement;", on_error_stop => 1);
    $out =~ s/.*start\n//s;
    my ($ms) = $out =~ /^Time: ([0-9.]+) ms/m;
    $out =~ s/^Time:.*\n?//mg;
    chomp $out;
    return ($err =~ /ERROR/ ? $err : $out, $ms // 0);
}
