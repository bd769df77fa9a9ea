# The GPU process, with a module that plays a GPU (test/fake_gpu): it starts on first use and with a preloaded library,
# answers as the CPU does, also several sessions at once, and goes on or ends rightly when a run is cancelled or times out,
# when the process is killed in the middle of a job, a device fails or is full, a session ends, the server crashes or stops.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use crashed;
use Time::HiRes qw(time usleep);

plan skip_all => 'BATMAP_FAKE_MODULE names no module' unless $ENV{BATMAP_FAKE_MODULE};

my $order = PostgreSQL::Test::Utils::tempdir() . '/order';
$ENV{BATMAP_FAKE_GPU} = $order;
sub order { PostgreSQL::Test::Utils::append_to_file($order, '') unless -e $order; open(my $file, '>', $order) or die; print $file $_[0]; close $file; }
order('');

my $node = PostgreSQL::Test::Cluster->new('gpu_process');
$node->init;
$node->append_conf('postgresql.conf', qq{
batmap.accelerator = '$ENV{BATMAP_FAKE_MODULE}'
restart_after_crash = on
max_parallel_workers_per_gather = 0
});
$node->start;

# Waits at most 20 s. Returns whether `test` was true.
sub wait_until
{
    my ($test) = @_;
    for (1 .. 2000) { return 1 if $test->(); usleep(10_000); }
    return 0;
}
sub is_gone { my ($pid) = @_; return wait_until(sub { !-d "/proc/$pid" }); }
sub process { return $node->safe_psql('postgres', 'SELECT process_pid FROM batmap_devices()'); }

$node->safe_psql('postgres', q{
    CREATE EXTENSION batmap;
    CREATE TABLE lines AS SELECT g / 6 AS tid, g * 7 % 40 AS item FROM generate_series(1, 1500) g;
    CREATE TABLE events AS SELECT g AS time, g * 7 % 11 AS event FROM generate_series(1, 600) g;
    CREATE TABLE sets AS SELECT g AS id, batmap_agg(e * g % 30011) AS s FROM generate_series(1, 6) g, generate_series(1, 600) e GROUP BY g;
    -- All that a GPU counts.
    CREATE FUNCTION answers(device text) RETURNS text LANGUAGE sql VOLATILE AS $$
        SELECT md5(string_agg(line, ';')) FROM (
            (SELECT item_a::text || ' ' || item_b || ' ' || support_count AS line FROM batmap_pairs('SELECT tid, item FROM lines', min_count => 2, device => device))
            UNION ALL
            (SELECT itemset::text || ' ' || support_count FROM batmap_itemsets('SELECT tid, item FROM lines', min_count => 3, max_length => 4, algorithm => 'pbi', device => device))
            UNION ALL
            (SELECT episode::text || ' ' || support_count FROM batmap_episodes('SELECT time, event FROM events', ARRAY[0, 9], min_count => 20, max_length => 3, device => device))
            UNION ALL
            (SELECT id_a::text || ' ' || id_b || ' ' || intersection FROM batmap_all_pairs('SELECT id, s FROM sets', min_count => 1, device => device))) t $$;
});

# ---- started on first use

is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_ls_dir('pg_stat_tmp') f WHERE f LIKE 'batmap%'}), 0, 'nothing until a GPU is asked for');
my $expected = $node->safe_psql('postgres', q{SELECT answers('cpu')});
is($node->safe_psql('postgres', q{SELECT answers('require')}), $expected, 'the GPU process answers as the CPU does');
my $pid = process();
like($pid, qr/^\d+$/, 'it has a number');
is($node->safe_psql('postgres', 'SELECT name, process_sessions, used_bytes, reason FROM batmap_devices()'), 'fake|1|0|', 'and is shown');
isnt($node->safe_psql('postgres', 'SELECT pg_backend_pid()'), $pid, 'it is no backend');
is(process(), $pid, 'there is one for all');

# Lists of pairs, over rows and over sets.
sub lists
{
    my ($device) = @_;
    return qq{SET batmap.device = $device;
        SELECT md5(string_agg(c::text, ';')) FROM batmap_count_pairs('SELECT tid, item FROM lines',
            'SELECT a, b FROM generate_series(0, 41) a, generate_series(0, 41) b') c;
        SELECT md5(string_agg(c::text, ';')) FROM batmap_count_pairs('SELECT id, batmap_prepare(s, 16777216) FROM sets',
            'SELECT a, b FROM generate_series(0, 7) a, generate_series(0, 7) b') c;};
}
my $expected_lists = $node->safe_psql('postgres', lists('cpu'));
is($node->safe_psql('postgres', lists('require')), $expected_lists, 'lists of pairs, too');
is($node->safe_psql('postgres', lists('require') . q{SELECT split_part(device, ' ', 1) FROM batmap_last_run()}), "$expected_lists\ncuda:0", 'by the GPU');

# ---- several sessions at once, which the first uses start together

my $script = PostgreSQL::Test::Utils::tempdir() . '/answers.sql';
PostgreSQL::Test::Utils::append_to_file($script, "SELECT 1 / (answers('require') = '$expected')::int4;\n");
$node->restart;
ok(is_gone($pid), 'the process ends with the server');
$node->command_ok([ 'pgbench', '-n', '-c', '8', '-j', '2', '-t', '2', '-f', $script, 'postgres' ], 'eight sessions begin at once');
$pid = process();
is($node->safe_psql('postgres', 'SELECT process_sessions FROM batmap_devices()'), 1, 'they are gone from the process');

# ---- cancel, statement_timeout, the end of a session

my $count = q{SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM lines', min_count => 2, device => 'DEVICE')};
sub count_on { my ($device) = @_; return $count =~ s/DEVICE/$device/r; }
order('stall');
my $start = time;
my (undef, undef, $err) = $node->psql('postgres', 'SET statement_timeout = 300; ' . count_on('require'));
like($err, qr/canceling statement due to statement timeout/, 'statement_timeout reaches a job');
cmp_ok(time - $start, '<', 5, 'soon');
my $session = $node->background_psql('postgres', on_error_stop => 0);
chomp(my $backend = $session->query_safe('SELECT pg_backend_pid()'));
for my $function (qw(pg_cancel_backend pg_terminate_backend))
{
    $session->query_until(qr/started/, "\\echo started\n" . count_on('cuda') . ";\n");
    ok(wait_until(sub { $node->safe_psql('postgres', 'SELECT used_bytes > 0 FROM batmap_devices()') eq 't' }), 'a job is in the process');
    ok(wait_until(sub { $node->safe_psql('postgres', 'SELECT process_running, process_waiting FROM batmap_devices()') eq '1|0' }), 'and runs');
    is($node->safe_psql('postgres', "SELECT $function($backend)"), 't', $function);
    ok(wait_until(sub { $node->safe_psql('postgres', 'SELECT used_bytes FROM batmap_devices()') eq '0' }), 'ends the job');
}
is($node->safe_psql('postgres', 'SELECT process_sessions FROM batmap_devices()'), 1, 'the session has left the process');
order('');
is($node->safe_psql('postgres', q{SELECT answers('require')}), $expected, 'others are not disturbed');
is(process(), $pid, 'by the same process');

# ---- too little memory: an error of the one job

order('memory');
(undef, my $out, $err) = $node->psql('postgres', count_on('cuda'));
is($err, '', 'without memory on the device the CPU counts, without a word');
my $pairs = $out;
(undef, undef, $err) = $node->psql('postgres', count_on('require'));
like($err, qr/the GPU could not count\nDETAIL:  the fake device is full/, 'and require says why');
order('');
is($node->safe_psql('postgres', count_on('require')), $pairs, 'the same pairs');
order('memory');
is($node->safe_psql('postgres', lists('cuda')), $expected_lists, 'and the same counts of lists');
order('');

# ---- killed in the middle of a job

$session = $node->background_psql('postgres', on_error_stop => 0);
chomp($backend = $session->query_safe('SELECT pg_backend_pid()'));
is($session->query_safe(count_on('require')) =~ s/\s//gr, $pairs, 'a session that has used the GPU');
order('stall');
my $server_start = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
$session->query_until(qr/started/, "\\echo started\n" . count_on('cuda') . ";\n");
ok(wait_until(sub { $node->safe_psql('postgres', 'SELECT used_bytes > 0 FROM batmap_devices()') eq 't' }), 'its job is in the process');
kill 'KILL', $pid;
order('');
is($session->query('SELECT pg_backend_pid()') =~ s/.*\n(?=\d+\s*$)//sr =~ s/\s//gr, $backend, 'the session lives');
$session->{stderr} = '';  # with the warning
like($node->safe_psql('postgres', 'SELECT coalesce(reason, process_pid::text) FROM batmap_devices()'),
    qr/^the GPU process has ended: it was ended by signal 9; it starts again in \d s$|^\d+$/, 'what others see');
ok(wait_until(sub { process() =~ /^\d+$/ }), 'the process is started again');
is($session->query_safe(count_on('require')) =~ s/\s//gr, $pairs, 'and the session uses it');
$session->quit;
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $server_start, 'the server has seen nothing of it');
my $log = slurp_file($node->logfile);
like($log, qr/LOG:  the GPU process of batmap has ended: it was ended by signal 9/, 'only its log');
is(() = $log =~ /WARNING:  the GPU failed, and the CPU goes on: the GPU process has ended/g, 1, 'one warning to one session');
unlike($log, qr/terminating any other active server processes/, 'no other process was ended');

# ---- a device fails: the process ends by itself, the CPU answers, and the wait before the next start has doubled

order('fail');
(undef, $out, $err) = $node->psql('postgres', count_on('cuda'));
is($out, $pairs, 'the CPU answers');
like($err, qr/^psql:<stdin>:1: WARNING:  the GPU failed, and the CPU goes on: the fake device is broken\n.*HINT:  batmap_devices\(\) says whether/, 'with one warning');
order('');
(undef, undef, $err) = $node->psql('postgres', count_on('require'));
like($err, qr/the GPU could not count\nDETAIL:  the GPU process has ended: a GPU failed; it starts again in [12] s/, 'until it starts again');
like(slurp_file($node->logfile), qr/a GPU failed\n.*DETAIL:  Sessions count on the CPU. It starts again in 2 s/, 'after a longer wait');

# ---- off

is($node->safe_psql('postgres', q{SET batmap.gpu_process = off; SELECT answers('require'); SELECT process_pid IS NULL, name FROM batmap_devices()}),
    "$expected\nt|fake", 'off: the session drives the GPU itself, even now');
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');
(undef, undef, $err) = $node->psql('postgres', "LOAD 'batmap'; SET ROLE ordinary; SET batmap.gpu_process = off");
like($err, qr/permission denied to set parameter "batmap.gpu_process"/, 'which an ordinary role cannot choose');
ok(wait_until(sub { process() =~ /^\d+$/ }), 'the process is there again');
$pid = process();
$node->safe_psql('postgres', "LOAD 'batmap'; ALTER SYSTEM SET batmap.gpu_process = off");
$node->reload;
ok(is_gone($pid), 'off for the server: it ends');
$node->safe_psql('postgres', "LOAD 'batmap'; ALTER SYSTEM RESET batmap.gpu_process");
$node->reload;
is($node->safe_psql('postgres', q{SELECT answers('require')}), $expected, 'on again');

# ---- preloaded: started with the server, and warm

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'batmap'");
$node->restart;
# One and a half milliseconds on the CPU.
my $short = q{SELECT count(*) FROM batmap_pairs('SELECT t, hashint8(t * 60 + i) & 511 FROM generate_series(1::int8, 3200) t, generate_series(1, 60) i', min_count => 300);
    SELECT split_part(device, ' ', 1) FROM batmap_last_run()};
ok(wait_until(sub { -S $node->data_dir . '/pg_stat_tmp/batmap_gpu.socket' }), 'the process starts with the server');
my $tries = 0;
ok(wait_until(sub { ++$tries > 50 || $node->safe_psql('postgres', $short) =~ /cuda:0/ }) && $tries <= 50, 'auto takes a warm GPU for a run that is too short to start one');
$pid = process();
is($node->safe_psql('postgres', 'SELECT pid, usename, operation, phase, memory FROM batmap_progress'), "$pid||GPU process|0 running, 0 waiting|0", 'batmap_progress shows the process');
is($node->safe_psql('postgres', 'SELECT pid, operation, phase, memory FROM batmap_progress', extra_params => [ '-U', 'ordinary' ]), "$pid|||", 'and its figures to those who may see all');

# ---- a crash of the server, and a stop that does not wait

my $victim = $node->background_psql('postgres', on_error_stop => 0);
chomp($backend = $victim->query_safe('SELECT pg_backend_pid()'));
kill 'KILL', $backend;
ok(is_gone($pid), 'it ends where the server starts all its processes again');
eval { $victim->quit };
wait_for_server($node);
ok($node->poll_query_until('postgres', 'SELECT process_pid IS NOT NULL FROM batmap_devices()'), 'and is started again');
is($node->safe_psql('postgres', q{SELECT answers('require')}), $expected, 'and answers');
$pid = process();
$node->stop('immediate');
ok(is_gone($pid), 'it ends with an immediate stop');
$node->start;
$pid = process();
$node->kill9;
ok(is_gone($pid), 'and with a postmaster that is gone');

done_testing();
