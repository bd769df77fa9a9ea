# The view batmap_progress. Without preloading it raises an error. With preloading it shows the phases of a run
# to the roles that may see it, and the entry disappears when the run ends.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('progress');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION batmap; CREATE ROLE other LOGIN');
my ($status, $out, $err) = $node->psql('postgres', 'TABLE batmap_progress');
isnt($status, 0, 'an error without preloading');
like($err, qr/batmap must be loaded via shared_preload_libraries.*\nHINT:  Add batmap to shared_preload_libraries and restart/, 'which says what to do');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'batmap'\nmax_parallel_workers_per_gather = 0");
$node->restart;
is($node->safe_psql('postgres', 'TABLE batmap_progress'), '', 'no run, no row');

# A run that stays in a phase while a lock is held: its query takes the lock after most of its rows.
my $holder = $node->background_psql('postgres');
my $runner = $node->background_psql('postgres', on_error_stop => 0);
$node->safe_psql('postgres', q{
    CREATE FUNCTION wait_at(g int4) RETURNS int4 LANGUAGE plpgsql AS $$
    BEGIN
        IF g = 100000 THEN PERFORM pg_advisory_lock(1); END IF;
        RETURN g % 10;
    END $$});
$holder->query_safe('SELECT pg_advisory_lock(1)');
chomp(my $pid = $runner->query_safe('SELECT pg_backend_pid()'));
$runner->query_until(qr/started/, q{
    \echo started
    BEGIN;
    DECLARE c CURSOR FOR SELECT * FROM batmap_pairs('SELECT g / 10, wait_at(g) FROM generate_series(1, 200000) g', min_count => 1);
    FETCH 1 FROM c;
});
ok($node->poll_query_until('postgres', "SELECT rows_read >= 90000 FROM batmap_progress WHERE pid = $pid AND phase = 'reading rows'"),
    'rows are counted while they are read');
is($node->safe_psql('postgres', 'SELECT datname, usename, operation, phase, started <= now() FROM batmap_progress'),
    'postgres|' . $node->safe_psql('postgres', 'SELECT current_user') . '|batmap_pairs|reading rows|t', 'who does what');
is($node->safe_psql('postgres', 'SELECT pid, operation IS NULL, phase IS NULL, rows_read IS NULL FROM batmap_progress', extra_params => [ '-U', 'other' ]),
    "$pid|t|t|t", 'others see that there is a run, and no more');

$holder->query_safe('SELECT pg_advisory_unlock(1)');
ok($node->poll_query_until('postgres', "SELECT phase = 'counting' AND tasks_total > 0 AND tasks_done <= tasks_total FROM batmap_progress WHERE pid = $pid"),
    'the run goes on to counting');
is($node->safe_psql('postgres', 'SELECT rows_read, results > 0 FROM batmap_progress'), '200000|t', 'all rows, some answers');
$runner->query_safe('CLOSE c');
is($node->safe_psql('postgres', 'TABLE batmap_progress'), '', 'gone with the cursor');

# Itemsets: there are 2^40, so the search does not end by itself. Rules: itemsets are found first, and that
# phase has no tasks.
my $many = "'SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 40) i', min_count => 3";
$runner->query_safe("DECLARE c CURSOR FOR SELECT * FROM batmap_itemsets($many); FETCH 5000 FROM c");
is($node->safe_psql('postgres', 'SELECT operation, phase, rows_read, tasks_done <= tasks_total, results >= 5000 FROM batmap_progress'),
    'batmap_itemsets|counting|120|t|t', 'itemsets found so far');
$runner->query_safe('CLOSE c');
is($node->safe_psql('postgres', 'TABLE batmap_progress'), '', 'gone with the cursor');
$runner->query_safe('COMMIT');
for my $function (qw(batmap_rules batmap_itemset_spectrum batmap_episodes))
{
    my $endless = $function eq 'batmap_rules' ? $many
      : $function eq 'batmap_episodes' ? "'SELECT g, g % 40 FROM generate_series(1, 4000) g', ARRAY[0, NULL], min_count => 2"
      : "'SELECT t, i FROM generate_series(1, 60) t, generate_series(1, 60) i WHERE hashint4(t * 100 + i) & 3 > 0', min_count => 1";
    $runner->query_until(qr/started/, "\\echo started\nSELECT count(*) FROM $function($endless);\n");
    ok($node->poll_query_until('postgres', "SELECT phase = 'counting' FROM batmap_progress WHERE operation = '$function' AND pid = $pid"),
        "$function is seen to count");
    $node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
    ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM batmap_progress'), 'and is gone when it is cancelled');
}
$runner->query("SELECT count(*) FROM batmap_pairs('SELECT g, 1 / (100000 - g) FROM generate_series(1, 200000) g', min_count => 1)");
is($node->safe_psql('postgres', 'TABLE batmap_progress'), '', 'gone with an error');
$runner->quit;
$holder->quit;

done_testing();
