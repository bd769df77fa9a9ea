# Parallel plans: batmap_relation_agg with partial aggregation gives the relation of the serial plan, and batmap_pairs
# reads a table in parallel ("parallel scan") with the rows of a serial read ("stream").

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('parallel');
$node->init;
$node->append_conf('postgresql.conf', "max_worker_processes = 16\nmax_parallel_workers = 8");
$node->start;
$node->safe_psql('postgres', q{
    CREATE EXTENSION batmap;
    SELECT setseed(0.5);
    CREATE TABLE baskets (tid int4, item int4);
    INSERT INTO baskets SELECT t, (random() * random() * 500)::int4 FROM generate_series(1, 20000) t, generate_series(1, 20);
    INSERT INTO baskets SELECT NULL, g FROM generate_series(1, 100) g;
    INSERT INTO baskets SELECT g, NULL FROM generate_series(1, 100) g;
    CREATE TABLE wide AS SELECT tid::int8 * 4000000007 AS tid, item::int8 - 250 AS item FROM baskets;
    CREATE TABLE groups AS SELECT tid % 7 AS g, tid, item FROM baskets WHERE tid IS NOT NULL;
    ANALYZE;
});

my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;'
  . ' SET max_parallel_workers_per_gather = 4;';
my $serial = 'SET max_parallel_workers_per_gather = 0;';

# A relation as the number and the hash of its pairs.
sub relation_of
{
    my ($from) = @_;
    return "SELECT count(*), md5(string_agg(tid || ',' || item, ' ' ORDER BY tid, item))"
      . " FROM batmap_unnest((SELECT batmap_relation_agg(tid, item) FROM $from))";
}

for my $table (qw(baskets wide))
{
    my $plan = $node->safe_psql('postgres', "$parallel EXPLAIN (COSTS OFF) SELECT batmap_relation_agg(tid, item) FROM $table");
    like($plan, qr/Finalize Aggregate.*Gather.*Partial Aggregate.*Parallel Seq Scan/s, "$table: the plan aggregates in parallel");
    unlike($node->safe_psql('postgres', "$serial EXPLAIN (COSTS OFF) SELECT batmap_relation_agg(tid, item) FROM $table"),
        qr/Partial|Gather/, "$table: the serial plan does not");
    my $distinct = $node->safe_psql('postgres',
        "SELECT count(*), md5(string_agg(tid || ',' || item, ' ' ORDER BY tid, item))"
          . " FROM (SELECT DISTINCT tid, item FROM $table WHERE tid IS NOT NULL AND item IS NOT NULL) d");
    is($node->safe_psql('postgres', $serial . relation_of($table)), $distinct, "$table: the serial relation is the distinct rows");
    is($node->safe_psql('postgres', $parallel . relation_of($table)), $distinct, "$table: and so is the parallel one");
    is($node->safe_psql('postgres', $parallel . 'SET parallel_leader_participation = off;' . relation_of($table)),
        $distinct, "$table: and without the leader's help");

    my $pairs = "SELECT count(*), md5(string_agg(p::text, ' ' ORDER BY item_a, item_b))"
      . " FROM batmap_pairs('SELECT tid, item FROM $table', min_count => 30) p;";
    my $last = 'SELECT input, rows_read, transactions FROM batmap_last_run()';
    my ($serial_rows, $serial_run) = split /\n/, $node->safe_psql('postgres', "$serial $pairs $last");
    my ($parallel_rows, $parallel_run) = split /\n/, $node->safe_psql('postgres', "$parallel $pairs $last");
    like($serial_rows, qr/^[1-9]/, "$table: there are pairs");
    is($parallel_rows, $serial_rows, "$table: the same pairs from a parallel and a serial read");
    my ($serial_input, $serial_numbers) = split /\|/, $serial_run, 2;
    my ($parallel_input, $parallel_numbers) = split /\|/, $parallel_run, 2;
    is($serial_input, 'stream', "$table: the serial read is a stream");
    is($parallel_input, 'parallel scan', "$table: the parallel read is done by workers");
    is($parallel_numbers, $serial_numbers, "$table: both tell the same rows and transactions");
}

# With GROUP BY, then merging the relations of the groups.
my $grouped = q{
    SELECT md5(string_agg(g || ' ' || n || ' ' || h, ',' ORDER BY g))
    FROM (SELECT g, batmap_relation_agg(tid, item) AS r FROM groups GROUP BY g) s,
         LATERAL (SELECT count(*) AS n, md5(string_agg(tid || ',' || item, ' ' ORDER BY tid, item)) AS h FROM batmap_unnest(s.r)) u};
like($node->safe_psql('postgres', "$parallel EXPLAIN (COSTS OFF) $grouped"), qr/Partial (Hash|Group)Aggregate/, 'grouped: the plan is parallel');
is($node->safe_psql('postgres', $parallel . $grouped), $node->safe_psql('postgres', $serial . $grouped), 'grouped: the same relations');
is( $node->safe_psql('postgres', q{
        SELECT count(*), md5(string_agg(tid || ',' || item, ' ' ORDER BY tid, item))
        FROM batmap_unnest((SELECT batmap_relation_agg(r) FROM (SELECT batmap_relation_agg(tid, item) AS r FROM groups GROUP BY g) s))}),
    $node->safe_psql('postgres', $serial . relation_of('baskets')), 'relations of groups merge to the relation of all');

# Text items: the workers give texts numbers of their own.
my $texts = 'SELECT count(*), md5(string_agg(tid || \',\' || item, \' \' ORDER BY tid, item))'
  . ' FROM batmap_unnest_of((SELECT batmap_relation_agg(tid, \'text \' || item) FROM baskets))';
like($node->safe_psql('postgres', "$parallel EXPLAIN (COSTS OFF) SELECT batmap_relation_agg(tid, 'text ' || item) FROM baskets"),
    qr/Finalize Aggregate.*Gather.*Partial Aggregate/s, 'text items: the plan aggregates in parallel');
is($node->safe_psql('postgres', $parallel . $texts), $node->safe_psql('postgres', $serial . $texts), 'text items: the same relation');
my $text_counts = 'SELECT md5(_batmap_pair_counts_send(batmap_pair_counts_agg(tid, \'text \' || item))) FROM baskets';
is($node->safe_psql('postgres', $parallel . $text_counts), $node->safe_psql('postgres', $serial . $text_counts), 'text items: the same pair counts');

# The pairs aggregate in a parallel plan.
my $pairs_agg = 'SELECT md5(array_to_string(batmap_pairs_agg(tid, item, 30), \' \')) FROM baskets';
like($node->safe_psql('postgres', "$parallel EXPLAIN (COSTS OFF) $pairs_agg"), qr/Partial Aggregate/, 'batmap_pairs_agg: the plan is parallel');
is($node->safe_psql('postgres', $parallel . $pairs_agg), $node->safe_psql('postgres', $serial . $pairs_agg), 'batmap_pairs_agg: the same pairs');

# Runs in workers, once per group: what cuts them off reaches the client, but batmap_last_run() has only runs of the session itself.
$node->safe_psql('postgres', 'CREATE TABLE relations AS SELECT g, batmap_relation_agg(tid, item) AS r FROM groups GROUP BY g;'
      . ' ALTER TABLE relations SET (parallel_workers = 2); ANALYZE relations');
my $in_workers = "$parallel SET parallel_leader_participation = off;";
my $cut = 'SELECT count(*) FROM relations, LATERAL batmap_pairs(r, min_count => 30, max_results => 1) p';
my $record = 'SELECT truncated_runs FROM batmap_last_run()';
like($node->safe_psql('postgres', "$in_workers EXPLAIN (COSTS OFF) $cut"), qr/Gather.*BatmapScan/s, 'runs per group: workers do them');
my ($status, $stdout, $stderr) = $node->psql('postgres', "$serial $cut; $record");
is("$status $stdout", "0 7\n7", 'runs per group in the session: the record counts those that were cut off');
($status, $stdout, $stderr) = $node->psql('postgres', "$in_workers $cut; $record");
is("$status $stdout", '0 7', 'in workers: they leave no record');
is(scalar(() = $stderr =~ /WARNING:  answer cut off after max_results = 1 rows/g), 7, 'but each has its warning');
($status, $stdout, $stderr) = $node->psql('postgres', "$in_workers SET batmap.on_truncation = error; $cut");
isnt($status, 0, 'and batmap.on_truncation = error ends the statement');
like($stderr, qr/ERROR:  answer cut off after max_results = 1 rows/, 'with the message of the worker');

# A query that may not run in parallel is streamed, with the same rows.
my $volatile = "SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM baskets WHERE random() >= 0', min_count => 30)";
my $plain = "SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 30)";
is($node->safe_psql('postgres', "$parallel CREATE TEMP TABLE copy AS TABLE baskets; $plain"),
    $node->safe_psql('postgres', "$serial $plain"), 'a session with a temporary table reads the same');
is($node->safe_psql('postgres', $parallel . $volatile), $node->safe_psql('postgres', $serial . $plain), 'a query with random() reads the same');
is( $node->safe_psql('postgres',
        "$parallel CREATE TEMP TABLE copy AS TABLE baskets;"
          . " SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM copy', min_count => 30); SELECT input FROM batmap_last_run()"),
    $node->safe_psql('postgres', "$serial $plain") . "\nstream", 'a temporary table is streamed');

# Workers pack the rows of queries that the planner can divide among them; of other queries they do at most a
# part. The rows are the same.
my %shared = (
    'a filter' => 'SELECT tid, item FROM baskets WHERE item % 3 > 0',
    'expressions' => 'SELECT tid / 2, item::int2 FROM baskets',
    'dates' => q{SELECT date '2000-01-01' + tid, item FROM baskets},
    'a join' => 'SELECT b.tid, g.item FROM baskets b JOIN groups g USING (tid) WHERE b.item < 20',
    'UNION ALL' => 'SELECT tid, item FROM baskets UNION ALL SELECT tid + 100000, item FROM groups',
    'a subquery' => 'SELECT tid, item FROM baskets WHERE tid > (SELECT min(tid) + 50 FROM groups)',
    'generate_series' => 'SELECT tid, generate_series(1, item % 4) FROM baskets',
);
my %not_shared = (
    'ORDER BY' => 'SELECT tid, item FROM baskets ORDER BY item',
    'LIMIT' => 'SELECT tid, item FROM baskets LIMIT 1000000',
    'DISTINCT' => 'SELECT DISTINCT tid, item FROM baskets WHERE tid < 2000',
    'UNION' => 'SELECT tid, item FROM baskets WHERE tid < 2000 UNION SELECT tid + 100000, item FROM groups WHERE tid < 2000',
    'GROUP BY' => 'SELECT tid, max(item) FROM baskets WHERE tid < 2000 GROUP BY tid, item / 2',
    'FOR UPDATE' => 'SELECT tid, item FROM baskets FOR UPDATE',
);
for my $what (sort(keys %shared, keys %not_shared))
{
    my $text = $shared{$what} // $not_shared{$what};
    my $sum = "SELECT count(*), sum(support_count), sum(item_a * 1000 + item_b) FROM batmap_pairs(\$\$$text\$\$, min_count => 20);"
      . ' SELECT rows_read FROM batmap_last_run()';
    my $want = $node->safe_psql('postgres', "$serial $sum");
    like($want, qr/^[1-9]/, "$what: there are pairs");
    my $got = $node->safe_psql('postgres', "$parallel $sum; SELECT input FROM batmap_last_run()");
    my $input = exists $shared{$what} ? 'parallel scan' : 'stream';
    is($got, "$want\n$input", "$what: $input, the same rows");
}

# The first query of a join has the tid in its second column.
my $join = "SELECT count(*), sum(support_count) FROM batmap_join_project('SELECT item, tid FROM baskets', 'SELECT tid, item + 1 FROM groups', min_count => 5)";
is( $node->safe_psql('postgres', "$parallel $join; SELECT input FROM batmap_last_run()"),
    $node->safe_psql('postgres', "$serial $join") . "\nparallel scan", 'batmap_join_project: the same rows');

# A function that runs while the input query is planned, and that reads packed rows itself.
$node->safe_psql('postgres', q{
    CREATE FUNCTION pairs_of_baskets(threshold int) RETURNS int8 IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
        $$ BEGIN RETURN (SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => threshold)); END $$;
    CREATE FUNCTION no_number() RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN 1 / 0; END $$});
my $nested = q{SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM baskets WHERE item < pairs_of_baskets(30)', min_count => 30)};
is($node->safe_psql('postgres', "$parallel $nested; SELECT input FROM batmap_last_run()"),
    $node->safe_psql('postgres', "$serial $plain") . "\nparallel scan", 'a read inside of the planning of another');
($status, $stdout, $stderr) = $node->psql('postgres',
    "$parallel SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets WHERE item < no_number()', min_count => 30);"
      . " SELECT sum(tid), sum(item) FROM baskets; $plain", on_error_stop => 0);
like($stderr, qr/division by zero/, 'planning that fails');
is($stdout, $node->safe_psql('postgres', "SELECT sum(tid), sum(item) FROM baskets; $serial $plain"), 'leaves nothing behind');

# Rows of this transaction that are not committed yet are read in parallel too.
is( $node->safe_psql('postgres',
        "$parallel BEGIN; DELETE FROM baskets WHERE tid > 10000;"
          . " SELECT total FROM batmap_pairs('SELECT tid, item FROM baskets', top_k => 1); SELECT input FROM batmap_last_run(); ROLLBACK;"),
    "10000\nparallel scan", 'a parallel read sees what its transaction has done');

# If no worker is available, the leader runs the plan alone.
is($node->safe_psql('postgres', "$parallel SET max_parallel_workers = 0; $plain"), $node->safe_psql('postgres', "$serial $plain"),
    'the same rows where no worker can be started');

$node->stop;
done_testing();
