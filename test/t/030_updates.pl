# ALTER EXTENSION batmap UPDATE, from each older version of sql/: the catalog is that of a fresh installation afterwards, and
# tables, indexes, kept counts, views, privileges and statistics answer as before. Before the update, the objects of the older
# version call the library of this one. upgrade/ has the data, the questions, and the lines of the catalog.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('updates');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'batmap'\nmax_parallel_workers_per_gather = 0\nfsync = off\nautovacuum = off");
$node->start;

my %script = map { $_ => slurp_file("$FindBin::Bin/../upgrade/$_.sql") } qw(make look statistics catalog);

sub difference    # of two texts, as lines that only one of them has; at most ten
{
    my ($old, $new) = @_;
    my %side;
    ++$side{$_} for split /\n/, $old;
    --$side{$_} for split /\n/, $new;
    my @lines = map { ($side{$_} > 0 ? 'lacks: ' : 'has: ') . $_ } grep { $side{$_} } sort keys %side;
    return join "\n", splice @lines, 0, 10;
}

sub same
{
    my ($old, $new, $name) = @_;
    my $lines = difference($old, $new);
    ok($lines eq '' && $old ne '', $name) or diag($lines);
}

$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE SCHEMA tools; CREATE EXTENSION batmap SCHEMA tools');
my $current = $node->safe_psql('fresh', "SELECT extversion FROM pg_extension WHERE extname = 'batmap'");
my $fresh = $node->safe_psql('fresh', $script{catalog});
my @lines = split /\n/, $fresh;
cmp_ok(scalar @lines, '>', 2000, 'the catalog of a fresh installation: ' . @lines . ' lines');

# -- The comparison sees each kind of change that an update script may forget

my %forgotten = (
    'COMMENT ON FUNCTION tools.batmap_cardinality(tools.batmap) IS NULL' => 'a comment',
    'COMMENT ON CAST (tools.batmap AS json) IS \'other\'' => 'the text of a comment',
    'ALTER FUNCTION tools.batmap_cardinality(tools.batmap) COST 77' => 'a cost',
    'ALTER FUNCTION tools.batmap_cardinality(tools.batmap) PARALLEL UNSAFE' => 'parallel safety',
    'ALTER FUNCTION tools.batmap_unnest(tools.batmap) ROWS 7' => 'a number of rows',
    'ALTER FUNCTION tools.batmap_usage() SET work_mem = 64' => 'a setting of a function',
    'UPDATE pg_proc SET prosrc = \'batmap_min\' WHERE proname = \'batmap_max\'' => 'a symbol',
    'UPDATE pg_proc SET proargnames[2] = \'most\' WHERE oid = \'tools.batmap_pairs(text,int8,float8,int8[],int8[],int8,int4,text,int8,text,text,name,name,record)\'::regprocedure' => 'the name of a parameter',
    'UPDATE pg_aggregate SET aggcombinefn = 0 WHERE aggfnoid = \'tools.batmap_or_agg(tools.batmap)\'::regprocedure' => 'the combine function of an aggregate',
    'ALTER EXTENSION batmap DROP CAST (tools.batmap AS json)' => 'a cast',
    'ALTER OPERATOR tools.&& (tools.batmap, tools.batmap) SET (RESTRICT = NONE)' => 'the estimate of an operator',
    'ALTER TYPE tools.batmap SET (STORAGE = extended)' => 'the storage of a type',
    'ALTER TYPE tools.batmap_pair ADD ATTRIBUTE more int8' => 'a column of a composite type',
    'ALTER OPERATOR FAMILY tools.batmap_gin_ops USING gin DROP OPERATOR 6 (tools.batmap, tools.batmap)' => 'an operator of an operator class',
    'REVOKE SELECT ON tools.batmap_kept FROM PUBLIC' => 'a privilege',
    q{UPDATE pg_class SET reloptions = '{security_barrier=true}' WHERE oid = 'tools.batmap_kept'::regclass} => 'an option of a view',
    'CREATE FUNCTION tools.more() RETURNS int4 LANGUAGE sql AS \'SELECT 1\'; ALTER EXTENSION batmap ADD FUNCTION tools.more()' => 'a function',
);
my @changes = sort keys %forgotten;
my (undef, $seen, $errors) = $node->psql('fresh', join('', map { "BEGIN; $_; $script{catalog}; ROLLBACK; SELECT '====';\n" } @changes), on_error_stop => 0);
is($errors, '', 'changes of the catalog');
my @seen = split /^====\n?/m, $seen;
isnt(difference($fresh, $seen[$_] // $fresh), '', "a difference in $forgotten{$changes[$_]} is found") for 0 .. $#changes;

# -- From each older version

my @versions = split /\n/, $node->safe_psql('postgres', "SELECT version FROM pg_available_extension_versions WHERE name = 'batmap' AND version <> '$current' ORDER BY version");
cmp_ok(scalar @versions, '>', 0, "versions that can be updated to $current: @versions");
for my $version (@versions)
{
    (my $name = $version) =~ tr/a-z0-9/_/c;
    my ($bare, $used) = ("bare_$name", "used_$name");
    $node->safe_psql('postgres', "CREATE DATABASE $_") for $bare, $used;

    # Alone, so that all lines of the catalog are comparable.
    $node->safe_psql($bare, "CREATE SCHEMA tools; CREATE EXTENSION batmap SCHEMA tools VERSION '$version'");
    my $calls = q{SELECT prosrc, string_agg(pg_get_function_arguments(oid) || ' -> ' || pg_get_function_result(oid), E'\t' ORDER BY 1)
        FROM pg_proc WHERE probin = '$libdir/batmap' GROUP BY 1 ORDER BY 1};
    my %old_calls = map { split /\|/, $_, 2 } split /\n/, $node->safe_psql($bare, "SET search_path = tools; $calls");
    my %new_calls = map { split /\|/, $_, 2 } split /\n/, $node->safe_psql('fresh', "SET search_path = tools; $calls");
    my @changed;
    for my $symbol (sort keys %old_calls)
    {
        my %known = map { $_ => 1 } split /\t/, $new_calls{$symbol} // $old_calls{$symbol};
        push @changed, $symbol if grep { !$known{$_} } split /\t/, $old_calls{$symbol};
    }
    is("@changed", '', "$version: a function with other parameters or another result has another symbol");
    $node->safe_psql($bare, 'ALTER EXTENSION batmap UPDATE');
    same($fresh, $node->safe_psql($bare, $script{catalog}), "$version: after the update, the catalog is that of a fresh installation");

    # With data. One session stays open, with its plans.
    $node->safe_psql($used, "CREATE EXTENSION batmap VERSION '$version'; $script{make}");
    my $before = $node->safe_psql($used, $script{look});
    my $statistics = $node->safe_psql($used, $script{statistics});
    like($before, qr/^kept\|receipt\|ware\|\(ware <> 7\)$/m, "$version: its objects call this library");
    my $session = $node->background_psql($used);
    $session->query_safe('PREPARE counts AS SELECT sum(batmap_and_cardinality(a.s, b.s)) FROM prepared a, prepared b; PREPARE kept AS SELECT sum(support_count) FROM batmap_pairs($1::regclass, 2)');
    my $open = $session->query_safe(q{EXECUTE counts; EXECUTE kept('kept')});
    $node->safe_psql($used, 'ALTER EXTENSION batmap UPDATE');
    is($node->safe_psql($used, "SELECT extversion FROM pg_extension WHERE extname = 'batmap'"), $current, "$version: updated");
    same($before, $node->safe_psql($used, $script{look}), "$version: the data answers as before");
    same($statistics, $node->safe_psql($used, $script{statistics}), "$version: and has its statistics");
    is($session->query_safe(q{EXECUTE counts; EXECUTE kept('kept')}), $open, "$version: so do plans of a session that was open");
    $session->quit;

    # What is written after the update, and a dump of all of it.
    $node->safe_psql($used, q{INSERT INTO kept VALUES (7000, 1), (7000, 2); SELECT batmap_merge_kept('kept')});
    is($node->safe_psql($used, q{SELECT batmap_check_kept('kept')}), 't', "$version: changes after the update are kept");
    my $after = $node->safe_psql($used, $script{look});
    my $dump = PostgreSQL::Test::Utils::tempdir() . "/$used.dump";
    $node->command_ok([ 'pg_dump', '--format', 'custom', '--file', $dump, $node->connstr($used) ], "$version: the updated database is dumped");
    $node->safe_psql('postgres', "CREATE DATABASE restored_$name");
    $node->command_ok([ 'pg_restore', '--exit-on-error', '--dbname', $node->connstr("restored_$name"), $dump ], "$version: and restored");
    $node->safe_psql("restored_$name", 'ANALYZE');
    same($after, $node->safe_psql("restored_$name", $script{look}), "$version: with the same answers");
    $node->safe_psql('postgres', "DROP DATABASE $_") for $used, "restored_$name", $bare;
    $node->safe_psql('postgres', 'DROP ROLE upgrade_guest');
}

my ($status, undef, $stderr) = $node->psql('fresh', "ALTER EXTENSION batmap UPDATE TO '$versions[0]'");
like($stderr, qr/ERROR:  extension "batmap" has no update path from version "\Q$current\E" to version "\Q$versions[0]\E"/, 'there is no way back');

$node->stop;
done_testing();
