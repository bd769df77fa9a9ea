# Behaviour at a limit. batmap.memory_limit: an error with a hint, the session goes on, and the memory is
# released. max_results with batmap.on_truncation: a warning or an error, never silence.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('limits');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
    CREATE EXTENSION batmap;
    SELECT setseed(0.5);
    CREATE TABLE baskets AS SELECT t AS tid, (random() * 1999)::int4 AS item FROM generate_series(1, 20000) t, generate_series(1, 50);
    ANALYZE baskets;
    CREATE TABLE relation AS SELECT batmap_relation_agg(tid, item) AS r FROM baskets;
});

# -- Memory -------------------------------------------------------------------------------------------------------

my $pairs = "SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 10";
my $want = $node->safe_psql('postgres', "$pairs)");
like($want, qr/^[1-9]\d*\|/, 'there are pairs');

# Three transactions of 24 items, which have 2^24 - 1 subsets, and other transactions, so that not all itemsets
# have the same support.
my $subsets = 'SELECT t, i FROM generate_series(1, 24 * 3) t, generate_series(1, 24) i WHERE t <= 3 OR i <> t / 3';

# Every function that starts the engine hits the limit with the same error.
my %ways = (
    'stream' => "SET max_parallel_workers_per_gather = 0; SET batmap.memory_limit = '1MB'; $pairs);",
    'parallel scan' =>
      "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET batmap.memory_limit = '1MB'; $pairs);",
    'relation' => "SET batmap.memory_limit = '1MB'; SELECT count(*) FROM relation, LATERAL batmap_pairs(r, min_count => 10);",
    'horizontal' => "SET batmap.memory_limit = '1MB'; $pairs, method => 'horizontal');",
    'bitmap' => "SET batmap.memory_limit = '1MB'; $pairs, method => 'bitmap');",
    'merge' => "SET batmap.memory_limit = '1MB'; $pairs, method => 'merge');",
    'itemsets' => "SET batmap.memory_limit = '1MB'; SELECT count(*) FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 10);",
    'rules' => "SET batmap.memory_limit = '1MB'; SELECT count(*) FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 10);",
    'recommendations' => "SET batmap.memory_limit = '1MB'; SELECT count(*) FROM batmap_recommend('{1}', 'SELECT tid, item FROM baskets');",
    'episodes' =>
      "SET batmap.memory_limit = '1MB'; SELECT count(*) FROM batmap_episodes('SELECT tid, item FROM baskets', ARRAY[0, 10], min_count => 100);",
    # A stream goes to files, but the events that a lower end reaches back to, and distinct items, are in memory.
    'given episodes' =>
      "SET batmap.memory_limit = '1MB'; SELECT * FROM batmap_episode_count('SELECT g, g % 2 FROM generate_series(1, 200000) g', '{0, 1}', ARRAY[150000, NULL]);",
    'pairs within a window' =>
      "SET batmap.memory_limit = '1MB'; SELECT count(*) FROM batmap_window_pairs('SELECT g, g * 1000003::int8 FROM generate_series(1, 200000) g', 10, min_count => 1, counting => 'occurrences');",
    'many episodes' =>
      "SET batmap.memory_limit = '8MB'; SELECT count(*) FROM batmap_episodes('SELECT g, g % 40 FROM generate_series(1, 4000) g', ARRAY[0, NULL], min_count => 2);",
    'many itemsets to make rules of' => "SET batmap.memory_limit = '64MB'; SELECT count(*) FROM batmap_rules('$subsets', min_count => 3);",
    'many closed itemsets' =>
      "SET batmap.memory_limit = '64MB'; SELECT count(*) FROM batmap_itemsets('$subsets', min_count => 3, target => 'generators');",
    'items of text' =>
      "SET batmap.memory_limit = '1MB'; SELECT count(*) FROM batmap_pairs_of('SELECT tid, item::text FROM baskets', min_count => 10);",
);
for my $way (sort keys %ways)
{
    my ($status, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n$ways{$way}");
    isnt($status, 0, "$way: more than the limit is refused");
    like($stderr, qr/ERROR:  53200: /, "$way: by the SQLSTATE of memory that is out");
    like($stderr, qr/HINT:  .*batmap\.memory_limit/s, "$way: with a hint that names the setting");
}

# One session exceeds the limit repeatedly, gets an answer in between, and its memory is checked at the end.
sub block    # runs and catches the refusal; raises after a run that should have been refused
{
    my ($arguments, $then) = @_;
    return "DO \$\$ BEGIN PERFORM * FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 10$arguments);"
      . " $then EXCEPTION WHEN out_of_memory THEN NULL; END \$\$;\n";
}
my $refused = block('', "RAISE 'not refused';");
my $measure = 'SELECT sum(total_bytes) AS contexts, '
  . "substring(pg_read_file('/proc/self/status', 0, 10000) FROM 'RssAnon:\\s*(\\d+)') AS private_kb FROM pg_backend_memory_contexts;\n";
my $session = "$pairs);\n" x 2 . "SET batmap.memory_limit = '1MB';\n$refused RESET batmap.memory_limit;\n$measure" x 2;
# Limits that stop a run at all stages, and some that permit it. The methods are given, because under a tight
# limit auto might choose a slow one.
for my $mb (1, 2, 4, 8, 16, 32)
{
    for my $method (qw(horizontal bitmap))
    {
        $session .= "SET batmap.memory_limit = '${mb}MB';\n" . block(", method => '$method'", '') x 3;
    }
}
$session .= "RESET batmap.memory_limit;\n";
$session .= "$pairs);\n$measure";
my @lines = split /\n/, $node->safe_psql('postgres', $session);
is($lines[0], $want, 'before the limit: the answer');
is($lines[-2], $want, 'after dozens of runs at the limit: the same answer');
my ($contexts_before, $kb_before) = split /\|/, $lines[3];
my ($contexts_after, $kb_after) = split /\|/, $lines[-1];
cmp_ok($contexts_after - $contexts_before, '<=', 1 << 20, "memory contexts: $contexts_before bytes before, $contexts_after after");
# The C library keeps some of what the rows of the last runs took: 13 to 17 MB were seen. Each of 36 runs that leaked a megabyte
# would be seen.
cmp_ok($kb_after - $kb_before, '<=', 24 * 1024, "private memory: $kb_before kB before, $kb_after kB after");

# A run whose limit is the peak that an earlier run reported must succeed.
my $peak = $node->safe_psql('postgres', "$pairs);\nSELECT peak_memory FROM batmap_last_run()");
$peak =~ s/.*\n//s;
cmp_ok($peak, '>', 1 << 20, "the run without a limit reports a peak of $peak bytes");
my $mb = int($peak / 1048576) + 1;
is($node->safe_psql('postgres', "SET batmap.memory_limit = '${mb}MB'; SET batmap.threads = 1; $pairs)"), $want,
    "within ${mb}MB, the peak rounded up, it runs");

# Itemsets are handed over as they are found, so their number needs no memory.
my @streamed = split /\n/, $node->safe_psql('postgres', qq{
    SET batmap.memory_limit = '64MB';
    SELECT count(*) FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 100);
    $measure
    SELECT count(*), sum(length) FROM batmap_itemsets('$subsets', min_count => 3);
    SELECT peak_memory FROM batmap_last_run();
    $measure});
is($streamed[2], '16777215|201326592', '2^24 - 1 itemsets stream');
cmp_ok($streamed[3], '<', 16 << 20, "with a peak of $streamed[3] bytes");
($contexts_before, $kb_before) = split /\|/, $streamed[1];
($contexts_after, $kb_after) = split /\|/, $streamed[4];
cmp_ok($kb_after - $kb_before, '<=', 24 * 1024, "private memory: $kb_before kB before, $kb_after kB after");

# -- Truncated results --------------------------------------------------------------------------------------------

my $all = $node->safe_psql('postgres', "SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 20)");
cmp_ok($all, '>', 100, "$all pairs without a limit");
my $limited = "SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 20, max_results => %s);"
  . ' SELECT results, truncated FROM batmap_last_run();';

my ($status, $stdout, $stderr) = $node->psql('postgres', sprintf($limited, 100));
is($stdout, "100\n100|t", 'the first 100 rows, and said in batmap_last_run()');
like($stderr, qr/WARNING:.*\b100\b/, 'with a warning that names the limit');

($status, $stdout, $stderr) = $node->psql('postgres', sprintf($limited, $all));
is($stdout, "$all\n$all|f", 'a limit that is just met truncates nothing');
is($stderr, '', 'and warns of nothing');

($status, $stdout, $stderr) = $node->psql('postgres', sprintf($limited, $all - 1));
is($stdout, ($all - 1) . "\n" . ($all - 1) . '|t', 'one row less is truncated');
like($stderr, qr/WARNING:/, 'and warned of');

($status, $stdout, $stderr) =
  $node->psql('postgres', "\\set VERBOSITY verbose\nSET batmap.on_truncation = 'error'; " . sprintf($limited, 100));
isnt($status, 0, 'batmap.on_truncation = error: no rows');
like($stderr, qr/ERROR:  [0-9A-Z]{5}: .*\b100\b/, 'but an error that names the limit');

is($node->safe_psql('postgres', "SET batmap.on_truncation = 'error'; " . sprintf($limited, $all)),
    "$all\n$all|f", 'batmap.on_truncation = error: a limit that is met is no error');

# A timeout returns all episodes up to some length, with a warning.
my $endless = "batmap_episodes('SELECT g, g % 40 FROM generate_series(1, 4000) g', ARRAY[0, NULL], min_count => 2, timeout => '100 ms')";
($status, $stdout, $stderr) = $node->psql('postgres', "SELECT count(*) >= 40 FROM $endless; SELECT truncated, device FROM batmap_last_run();"
      . ' SELECT length, candidates, frequent FROM batmap_last_run_levels() WHERE length = 1');
is($stdout, "t\nt|cpu\n1|40|40", 'episodes until the timeout');
like($stderr, qr/WARNING:.*timeout = 100 ms/, 'with a warning that names it');
($status, $stdout, $stderr) = $node->psql('postgres', "SET batmap.on_truncation = 'error'; SELECT count(*) FROM $endless");
like($stderr, qr/ERROR:.*timeout = 100 ms/, 'or an error');

# Equal input gives equal rows: the rows that are kept do not depend on method or threads.
my $kept = "SELECT md5(string_agg(p::text, ' ' ORDER BY item_a, item_b)) FROM batmap_pairs('SELECT tid, item FROM baskets',"
  . " min_count => 20, max_results => 100, method => '%s') p";
my %answers;
for my $method (qw(horizontal bitmap merge))
{
    for my $threads (1, 4)
    {
        (undef, $stdout, undef) = $node->psql('postgres', "SET batmap.threads = $threads; " . sprintf($kept, $method));
        push @{ $answers{$stdout} }, "$method, $threads threads";
    }
}
is(scalar(keys %answers), 1, 'the same rows are kept by every method and number of threads')
  or diag(explain(\%answers));

($status, undef, $stderr) = $node->psql('postgres', "LOAD 'batmap'; SET batmap.on_truncation = 'silence'");
isnt($status, 0, 'batmap.on_truncation takes no other word');
like($stderr, qr/invalid value for parameter "batmap.on_truncation"/, 'and says so');

SKIP: {
    skip 'no transaction_timeout before version 17', 2 if $node->pg_version < 17;
    my $start = time;
    # No row is returned before the search ends, so only the search checks the clock.
    (undef, undef, $stderr) = $node->psql('postgres', q{SET transaction_timeout = '1s'; SET statement_timeout = '30s';
        SELECT count(*) FROM batmap_itemset_spectrum('SELECT t, i FROM generate_series(1, 100) t, generate_series(1, 100) i
            WHERE hashint8(t * 100 + i) % 2 = 0', min_count => 2)});
    like($stderr, qr/terminating connection due to transaction timeout/, 'a timeout that is no cancel ends a search, too');
    cmp_ok(time - $start, '<', 10, 'in time');
}

$node->stop;
done_testing();
