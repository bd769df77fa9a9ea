# The limits of all runs together: batmap.max_threads and batmap.max_memory apply to all sessions of a server
# that preloads the library, and to all cursors of one session otherwise. Errors, cancels and ends of sessions
# release what was taken. A thread that the system refuses changes no answer.

BEGIN { $ENV{PG_TEST_TIMEOUT_DEFAULT} //= 600; }    # a dozen sessions wait for each other
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use crashed;
use Time::HiRes qw(sleep);

use constant MAX_THREADS => 5;
use constant SESSIONS => 32;

my $endless = "SELECT * FROM batmap_itemsets('SELECT t, i FROM generate_series(1, 60) t, generate_series(1, 60) i"
  . " WHERE hashint4(t * 100 + i) & 3 > 0', min_count => 1)";

sub contents
{
    my ($path) = @_;
    open(my $file, '<', $path) or return '';
    local $/ = undef;
    return <$file> // '';
}

# The threads of the processes of the server except the first of each, as "process/thread". A thread that is
# ending has no memory any more.
sub helpers
{
    my ($node) = @_;
    my ($postmaster) = contents($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
    my @found;
    for my $process (split ' ', contents("/proc/$postmaster/task/$postmaster/children"))
    {
        opendir(my $tasks, "/proc/$process/task") or next;
        for my $task (grep { /^\d+$/ && $_ != $process } readdir $tasks)
        {
            push @found, "$process/$task" if contents("/proc/$process/task/$task/status") =~ /^VmRSS/m;
        }
    }
    return @found;
}

# The number of these threads. Threads that were joined during the listing are gone at a second look.
sub count_helpers
{
    my ($node) = @_;
    my @found = helpers($node);
    return scalar @found if @found <= MAX_THREADS;
    sleep 0.005;
    my %again = map { $_ => 1 } helpers($node);
    return scalar grep { $again{$_} } @found;
}

# Without the pages of libraries, which come and go as the system likes.
sub private_kb
{
    my ($pid) = @_;
    return contents("/proc/$pid/status") =~ /^RssAnon:\s*(\d+)/m ? $1 : die "no process $pid";
}

my $node = PostgreSQL::Test::Cluster->new('budget');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'batmap'
max_connections = 60
restart_after_crash = on
max_parallel_workers_per_gather = 0
batmap.max_memory = '200MB'
batmap.max_threads = } . MAX_THREADS . "\n");
$node->start;
$node->safe_psql('postgres', q{
    CREATE EXTENSION batmap;
    CREATE ROLE other LOGIN;
    CREATE TABLE baskets AS SELECT t AS tid, hashint4(t * 64 + k) & 511 AS item FROM generate_series(1, 4000) t, generate_series(1, 20) k;
    ANALYZE baskets;
    GRANT SELECT ON baskets TO other});
my @as_other = (extra_params => [ '-U', 'other' ]);
my $used = 'SELECT threads, memory >> 20 FROM batmap_usage()';
is($node->safe_psql('postgres', 'SELECT * FROM batmap_usage()', @as_other), 't|0|5|0|209715200', 'the caps of the server, nothing in use');

# -- Threads of all sessions ------------------------------------------------------------------------------------------

my $pairs = "SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => 3)";
my $want = $node->safe_psql('postgres', "SET batmap.threads = 1; $pairs");
like($want, qr/^[1-9]\d*\|/, 'there are pairs');
my $script = PostgreSQL::Test::Utils::tempdir() . '/pairs.sql';
append_to_file($script, "SET batmap.threads = 1024;\n"
      . "SELECT 1 / (r = '$want')::int FROM (SELECT concat_ws('|', count, sum) AS r FROM ($pairs) AS p) AS q;\n");
my ($out, $err) = ('', '');
my $clients = IPC::Run::start(
    [ 'pgbench', '-n', '-c', SESSIONS, '-j', 2, '-t', 6, '-f', $script, '-h', $node->host, '-p', $node->port, '-U', 'other', 'postgres' ],
    '>', \$out, '2>', \$err);
my ($most, $samples) = (0, 0);
while ($clients->pumpable)
{
    $clients->pump_nb;
    my $now = count_helpers($node);
    $most = $now if $now > $most;
    ++$samples;
    sleep 0.002;
}
ok($clients->finish, SESSIONS . ' sessions with batmap.threads = 1024: every answer is right') or diag($err);
cmp_ok($most, '<=', MAX_THREADS, "at most $most helper threads at once, seen in $samples looks");
cmp_ok($most, '>', 0, 'and some');

my @sessions = map { $node->background_psql('postgres', on_error_stop => 0, @as_other) } 1 .. SESSIONS;
my $rows = 0;
for my $session (@sessions)
{
    my $got = $session->query_safe("SET batmap.threads = 1024; BEGIN; DECLARE c CURSOR FOR $endless; FETCH 100 FROM c");
    $rows += () = $got =~ /^\{/mg;
}
is($rows, 100 * SESSIONS, SESSIONS . ' cursors at once: all give rows, with threads or without');
is(count_helpers($node), MAX_THREADS, 'their helper threads are as many as the cap');
is($node->safe_psql('postgres', 'SELECT threads FROM batmap_usage()'), MAX_THREADS, 'which batmap_usage() says');
is($node->safe_psql('postgres', 'SELECT sum(threads), count(*), sum(memory) > 0 FROM batmap_progress'), MAX_THREADS . '|32|t',
    'and batmap_progress of each');
$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN');
is($node->safe_psql('postgres', 'SELECT count(threads), count(memory), count(*) FROM batmap_progress', extra_params => [ '-U', 'stranger' ]),
    '0|0|32', 'but not to others');

# Released by the end of a run, by a cancel, by an error, and by closing a cursor.
my $holder = $node->safe_psql('postgres', 'SELECT pid FROM batmap_progress WHERE threads > 0 ORDER BY pid LIMIT 1');
my $held = $node->safe_psql('postgres', "SELECT threads FROM batmap_progress WHERE pid = $holder");
$node->safe_psql('postgres', "SELECT pg_terminate_backend($holder, 10000)");
is($node->safe_psql('postgres', 'SELECT threads FROM batmap_usage()'), MAX_THREADS - $held, "a session that is ended gives its $held threads back");
$_->quit for @sessions;
ok($node->poll_query_until('postgres', $used, '0|0'), 'and all others theirs');
my $session = $node->background_psql('postgres', on_error_stop => 0, @as_other);
chomp(my $pid = $session->query_safe('SELECT pg_backend_pid()'));
for my $end ("SELECT pg_cancel_backend($pid)", undef)
{
    my $query = defined $end ? "SELECT count(*) FROM ($endless) x" : "SELECT 1 / (support_count - support_count) FROM ($endless) x";
    $session->query_until(qr/started/, "\\echo started\nSET batmap.threads = 1024;\n$query;\n");
    if (defined $end)
    {
        ok($node->poll_query_until('postgres', "SELECT threads > 0 FROM batmap_progress WHERE pid = $pid"), 'a run has threads');
        $node->safe_psql('postgres', $end);
    }
    ok($node->poll_query_until('postgres', $used, '0|0'), (defined $end ? 'a cancel' : 'an error') . ' gives all back');
}

# -- Memory of all sessions -------------------------------------------------------------------------------------------

# A lower cap is full after fewer rows. The rows of a run stay in memory.
$node->adjust_conf('postgresql.conf', 'batmap.max_memory', "'64MB'");
$node->reload;
my $large = "DECLARE c CURSOR FOR SELECT * FROM batmap_pairs('SELECT g / 10, hashint4(g) & 4095 FROM generate_series(1, 1000000) g', min_count => 1)";
my $refused = 0;
my @holders = map { $node->background_psql('postgres', on_error_stop => 0, @as_other) } 1 .. 12;
my $peak = 0;
my $messages = '';
for my $one (@holders)
{
    $one->query_safe("SET batmap.memory_limit = -1; SET batmap.threads = 2; BEGIN");
    $one->query("$large; FETCH 1 FROM c");
    $messages .= $one->{stderr};
    my $now = $node->safe_psql('postgres', 'SELECT memory FROM batmap_usage()');
    $peak = $now if $now > $peak;
}
like($messages, qr/ERROR:  runs of all sessions need more than batmap\.max_memory, which is 64 MB/, 'one session too many is refused');
like($messages, qr/HINT:  .*superuser raise batmap\.max_memory/, 'with a hint');
cmp_ok($peak, '<=', 64 << 20, "the sum stayed below the cap: $peak bytes");
cmp_ok($peak, '>', 16 << 20, 'and was worth a cap');
$_->quit for @holders;
ok($node->poll_query_until('postgres', $used, '0|0'), 'all is given back');
is($node->safe_psql('postgres', $pairs), $want, 'and runs are answered again');
$session->query('ROLLBACK');
$session->quit;

# A backend is killed: the server restarts, and the sums start from zero.
my $victim = $node->background_psql('postgres', on_error_stop => 0);
chomp(my $victim_pid = $victim->query_safe('SELECT pg_backend_pid()'));
$victim->query_safe("BEGIN; DECLARE c CURSOR FOR $endless; FETCH 1 FROM c");
kill 'KILL', $victim_pid;
eval { $victim->quit };
wait_for_server($node);
ok($node->poll_query_until('postgres', $used, '0|0'), 'nothing is in use after a crash');

# -- One session ------------------------------------------------------------------------------------------------------

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->restart;
my $one = $node->background_psql('postgres', on_error_stop => 0, @as_other);
chomp($pid = $one->query_safe("SELECT pg_backend_pid() WHERE batmap_cardinality('{1}') = 1"));
$one->query_safe('SET batmap.threads = 1024; BEGIN');
$one->query_safe("DECLARE c$_ CURSOR FOR $endless; FETCH 10 FROM c$_") for 1 .. 12;
is(count_helpers($node), MAX_THREADS, 'twelve cursors of one session have as many helper threads as the cap');
is($one->query_safe('SELECT all_sessions, threads FROM batmap_usage()'), 'f|' . MAX_THREADS, 'which batmap_usage() says of the session');
$one->query_safe('ROLLBACK');
is($one->query_safe('SELECT threads, memory <= 65536 FROM batmap_usage()'), '0|t', 'and only what a session keeps for small sets when they are closed');
$one->quit;

# Memory is returned to the system, also with many threads.
my $super = $node->background_psql('postgres', on_error_stop => 0);
chomp($pid = $super->query_safe("LOAD 'batmap'; SELECT pg_backend_pid()"));
$super->query_safe('SET jit = off');    # its code stays in memory
$super->query_safe("SET batmap.max_threads = 1000; SET batmap.max_memory = '16GB'; SET batmap.threads = 64");
$super->query_safe($pairs);
my $before = private_kb($pid);
my $many = "SELECT * FROM batmap_itemsets('SELECT t, i FROM generate_series(1, 400) t, generate_series(1, 200) i"
  . " WHERE hashint4(t * 1000 + i) & 3 > 0', min_count => 2)";
$super->query_safe('BEGIN');
$super->query_safe("DECLARE c$_ CURSOR FOR $many; MOVE 1000 FROM c$_") for 1 .. 12;
my $within = private_kb($pid);
$super->query_safe('ROLLBACK');
my $after = private_kb($pid);
cmp_ok($within - $before, '>', 60 * 1024, "twelve cursors take memory: $before kB before, $within kB with them");
cmp_ok($after - $before, '<=', 20 * 1024, "and it is back after ROLLBACK: $after kB");
$super->quit;

# -- Threads that the system refuses ----------------------------------------------------------------------------------

my %questions = (
    pairs => $pairs,
    itemsets => "SELECT count(*), sum(support_count) FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 10)",
    closed => "SELECT count(*), sum(support_count) FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 10, target => 'closed')",
    rules => "SELECT count(*), sum(support) FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 10)",
    'join-project' => "SELECT count(*), sum(support_count) FROM batmap_join_project('SELECT item, tid FROM baskets', 'SELECT tid, item FROM baskets')",
    episodes => "SELECT count(*), sum(support_count) FROM batmap_episodes('SELECT tid, item FROM baskets', ARRAY[0, 10], min_count => 100)",
    'plain SQL' => 'SELECT count(*), sum(n) FROM (SELECT a.item, b.item, count(*) AS n FROM baskets a JOIN baskets b USING (tid) GROUP BY 1, 2) x',
);
SKIP: {
    skip 'no prlimit', 2 * keys %questions if system('command -v prlimit > /dev/null') != 0;
    for my $limit ('nproc', 'as')
    {
        for my $name (sort keys %questions)
        {
            my $limited = $node->background_psql('postgres', on_error_stop => 0);
            chomp($pid = $limited->query_safe("LOAD 'batmap'; SET batmap.max_threads = 300; SET batmap.threads = 256; SELECT pg_backend_pid()"));
            my $expected = $node->safe_psql('postgres', "SET batmap.threads = 1; $questions{$name}");
            my ($kb) = contents("/proc/$pid/status") =~ /^VmSize:\s*(\d+)/m;
            my $value = $limit eq 'nproc' ? 1 : ($kb + 256 * 1024) * 1024;
            system('prlimit', '--pid', $pid, "--$limit=$value:$value") == 0 or die 'prlimit';
            my $answer = $limited->query($questions{$name});
            # The stacks of the started threads may leave too little address space for the run.
            $answer = $expected if $limit eq 'as' && $limited->{stderr} =~ /ERROR:  out of memory/;
            is($answer, $expected, "$name: the same answer where $limit is limited") or diag($limited->{stderr});
            $limited->quit;
        }
    }
}

$node->stop;
done_testing();
