# Other extensions in the server that work on queries and plans must not change the rows. test/neighbour does
# what such extensions do; auto_explain and pg_stat_statements, which come with the server, are loaded, too.
#
# BATMAP_NEIGHBOUR names the module, which test/run builds.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use crashed;
use contrib 'pg_stat_statements';

my $module = $ENV{BATMAP_NEIGHBOUR};
plan skip_all => 'BATMAP_NEIGHBOUR is not set: make neighbour' unless defined $module;

my $node = PostgreSQL::Test::Cluster->new('neighbours');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'pg_stat_statements'
max_worker_processes = 16
max_parallel_workers = 8
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
max_parallel_workers_per_gather = 0
restart_after_crash = on
statement_timeout = '60s'
autovacuum = off
jit = off
batmap.threads = 2
CONF
$node->start;
$node->safe_psql('postgres', q{
    CREATE EXTENSION batmap;
    CREATE EXTENSION pg_stat_statements;
    CREATE TABLE baskets AS SELECT g % 701 AS tid, least(hashint8extended(g, 7) & 255, hashint8extended(g, 8) & 255)::int4 AS item
        FROM generate_series(1, 12000) g;
    INSERT INTO baskets VALUES (NULL, 1), (1, NULL);
    CREATE TABLE names AS SELECT DISTINCT item, 'item ' || item AS name FROM baskets WHERE item IS NOT NULL;
    CREATE TABLE named AS SELECT tid, name FROM baskets JOIN names USING (item);
    CREATE TABLE lists AS SELECT tid, array_agg(item) AS items, array_agg('item ' || item) AS names FROM baskets GROUP BY tid;
    CREATE TABLE parts (tid int8, item int8) PARTITION BY HASH (tid);
    CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    INSERT INTO parts TABLE baskets;
    CREATE TABLE events AS SELECT g::int8 * 3 AS at, g * 7 % 11 AS event FROM generate_series(1, 800) g;
    CREATE TABLE sets AS SELECT tid, batmap_agg(item) AS items FROM baskets WHERE tid < 60 GROUP BY tid;
    CREATE FUNCTION pairs_of(threshold int8) RETURNS SETOF int8 LANGUAGE plpgsql AS $$
    BEGIN
        RETURN QUERY SELECT support_count FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => threshold) ORDER BY 1;
    END $$;
    VACUUM ANALYZE;
});

my $pairs = q{batmap_pairs('SELECT tid, item FROM baskets', min_count => 12)};
my $self_join = 'SELECT a.item AS x, b.item AS y, count(*) FROM baskets a JOIN baskets b USING (tid) WHERE a.item < b.item'
  . ' GROUP BY 1, 2 HAVING count(*) >= 12';
my $triples = 'SELECT a.item AS x, b.item AS y, c.item AS z, %s FROM baskets a JOIN baskets b USING (tid) JOIN baskets c USING (tid)'
  . ' WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING %1$s >= 5 ORDER BY 1, 2, 3';
my @queries = (
    # itemsets; rows repeat, so that the plain plan counts them
    sprintf($triples, 'count(*)'),
    sprintf($triples, 'count(DISTINCT a.tid)'),
    # table functions over query text
    "SELECT * FROM $pairs ORDER BY 1, 2",
    "SELECT count(*) FROM $pairs",
    "SELECT item_b, item_a FROM $pairs WHERE support_count > 13 ORDER BY 1, 2 LIMIT 5",
    q{SELECT * FROM batmap_pairs('SELECT tid, item FROM parts', top_k => 20) ORDER BY 1, 2},
    q{SELECT * FROM batmap_pairs('SELECT tid, item FROM baskets ORDER BY item DESC', top_k => 20) ORDER BY 1, 2},
    q{SELECT * FROM batmap_pairs('SELECT tid, item FROM baskets UNION SELECT tid, 5 FROM parts', top_k => 20) ORDER BY 1, 2},
    q{SELECT * FROM batmap_pairs('SELECT b.tid, n.item FROM baskets b JOIN names n USING (item)', top_k => 20) ORDER BY 1, 2},
    q{SELECT * FROM batmap_pairs('SELECT tid, item FROM baskets WHERE tid > (SELECT min(tid) + 5 FROM parts)', top_k => 9) ORDER BY 1, 2},
    q{SELECT * FROM batmap_pairs('SELECT tid, tid FROM baskets', min_count => 1)},
    q{SELECT * FROM batmap_pairs('SELECT tid, 7 FROM baskets', min_count => 1)},
    q{SELECT * FROM batmap_pairs('SELECT item_a, item_b FROM batmap_pairs(''SELECT tid, item FROM baskets'', min_count => 9)', min_count => 9)
      ORDER BY 1, 2},
    q{SELECT * FROM batmap_pairs_of('SELECT tid, name FROM named', min_count => 12) ORDER BY 1, 2},
    q{SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM baskets', min_count => 10) ORDER BY 1},
    q{SELECT lhs, rhs, confidence FROM batmap_rules('SELECT tid, item FROM baskets', min_count => 12) ORDER BY 1, 2},
    q{SELECT item, score FROM batmap_recommend('{1, 2, 9}', 'SELECT tid, item FROM baskets', min_count => 2) ORDER BY 1},
    q{SELECT method, rows_read, items_kept, pair_instances FROM batmap_estimate('SELECT tid, item FROM baskets', min_count => 12) ORDER BY 1},
    q{SELECT * FROM batmap_join_project('SELECT item, tid FROM baskets', 'SELECT tid, item FROM parts', min_count => 20) ORDER BY 1, 2},
    q{SELECT * FROM batmap_episodes('SELECT at, event FROM events', ARRAY[0, 12], min_count => 20, max_length => 2) ORDER BY 1},
    q{SELECT * FROM batmap_all_pairs('SELECT tid, items FROM sets', min_count => 6) ORDER BY 1, 2},
    # and over stored relations, beside tables, in other places than FROM
    'SELECT * FROM batmap_pairs((SELECT batmap_relation_agg(tid, item) FROM baskets), min_count => 12) ORDER BY 1, 2',
    "SELECT a.name, b.name, p.support_count FROM $pairs p JOIN names a ON a.item = p.item_a JOIN names b ON b.item = p.item_b ORDER BY 1, 2",
    "SELECT n.name, count(*) FROM names n LEFT JOIN $pairs p ON p.item_a = n.item GROUP BY 1 ORDER BY 1",
    q{SELECT k, count(*) FROM generate_series(11, 14) k, LATERAL batmap_pairs('SELECT tid, item FROM baskets', min_count => k) GROUP BY 1 ORDER BY 1},
    q{SELECT (batmap_pairs('SELECT tid, item FROM baskets', min_count => 13)).support_count ORDER BY 1},
    "WITH p AS MATERIALIZED (SELECT * FROM $pairs) SELECT count(*), sum(support_count) FROM p WHERE item_a IN (SELECT item_b FROM p)",
    "SELECT * FROM $pairs p WHERE EXISTS (SELECT 1 FROM parts WHERE item = p.item_a AND tid = 17) ORDER BY 1, 2",
    'SELECT * FROM pairs_of(13)',
    "CREATE TEMP TABLE made AS SELECT * FROM $pairs; SELECT count(*), sum(support_count) FROM made",
    # plain SQL
    "$self_join ORDER BY 1, 2",
    "$self_join ORDER BY 3 DESC, 1, 2 LIMIT 7",
    'SELECT DISTINCT a.item, b.item FROM baskets a JOIN parts b USING (tid) WHERE a.tid < 9 ORDER BY 1, 2',
    'SELECT a.item, b.item, count(DISTINCT a.tid) FROM baskets a JOIN parts b ON a.tid = b.tid GROUP BY 1, 2 HAVING count(DISTINCT a.tid) > 12 ORDER BY 1, 2',
    'SELECT a.name, b.name, count(*) FROM named a JOIN named b USING (tid) GROUP BY 1, 2 HAVING count(*) > 14 ORDER BY 1, 2',
    'SELECT x, y, count(*) FROM lists, unnest(items) x, unnest(items) y WHERE x < y GROUP BY 1, 2 HAVING count(*) >= 12 ORDER BY 1, 2',
    'SELECT tid % 2, x, y, count(*) FROM lists, unnest(names) x, unnest(names) y WHERE y <> tid::text GROUP BY 1, 2, 3 HAVING count(*) > 7 ORDER BY 1, 2, 3',
    "SELECT n.name, s.* FROM names n JOIN ($self_join) s ON n.item = s.x ORDER BY s.x, s.y",
    'SELECT v, count(*) FROM (VALUES (1, 2), (1, 3), (2, 2)) a(t, v) JOIN baskets b ON b.tid = a.t GROUP BY v, b.item ORDER BY 1, 2 LIMIT 9',
    # statements that are kept
    "PREPARE p(int8) AS SELECT * FROM batmap_pairs('SELECT tid, item FROM baskets', min_count => \$1) ORDER BY 1, 2;"
      . ' EXECUTE p(13); EXECUTE p(14); EXECUTE p(13)',
    'PREPARE j(int8) AS SELECT a.item, b.item, count(*) FROM baskets a JOIN baskets b USING (tid) WHERE a.item < b.item GROUP BY 1, 2'
      . ' HAVING count(*) >= $1 ORDER BY 1, 2; EXECUTE j(12); SET plan_cache_mode = force_generic_plan; EXECUTE j(13); EXECUTE j(12)',
    "BEGIN; DECLARE c CURSOR FOR SELECT * FROM $pairs ORDER BY 1, 2; FETCH 3 FROM c; FETCH 2 FROM c; CLOSE c; COMMIT",
    "BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT * FROM ($self_join) s ORDER BY 1, 2; FETCH 3 FROM c; FETCH 2 FROM c; CLOSE c; COMMIT",
);

# The answers to all queries, serial and parallel, as one string each, and the messages.
sub answers
{
    my ($libraries, $settings) = @_;
    my $script = "$settings\n";
    for my $workers (0, 2)
    {
        $script .= "SET max_parallel_workers_per_gather = $workers;\n";
        $script .= "\\echo == $workers workers: $_\n$queries[$_];\n" for 0 .. $#queries;
        $script .= "DEALLOCATE ALL; RESET plan_cache_mode; DROP TABLE made;\n";
    }
    local $ENV{PGOPTIONS} = "-c session_preload_libraries=$libraries";
    my ($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
    return ([ split /^(?=== )/m, $out ], $err);
}

my ($expected, $complaints) = answers('batmap', '');
is($complaints, '', 'alone: no error');
is(scalar @$expected, 2 * @queries, 'alone: all queries are answered');
is(scalar(grep { tr/\n// < 2 && !/\n./ } @$expected), 4, 'alone: all but two have rows, serial and parallel');

# The nodes that must answer the queries, and the plan of a read by workers.
sub plans
{
    my ($libraries, $settings) = @_;
    local $ENV{PGOPTIONS} = "-c session_preload_libraries=$libraries -c max_parallel_workers_per_gather=2";
    return $node->safe_psql('postgres', "$settings EXPLAIN (COSTS OFF) SELECT * FROM $pairs; EXPLAIN (COSTS OFF) $self_join;"
          . " SELECT count(*) > 0 FROM $pairs; SELECT 'input: ' || input FROM batmap_last_run()");
}
like(plans('batmap', ''), qr/BatmapScan.*BatmapJoinProject.*BatmapPackRows.*input: parallel scan/s, 'alone: the nodes are there');

sub same_as_alone
{
    my ($name, $libraries, $settings) = @_;
    my ($found, $said) = answers($libraries, $settings);
    wait_for_server($node);    # one that crashed comes back for the next neighbour
    is($said, '', "$name: no error");
    my @other = grep { ($found->[$_] // 'nothing') ne $expected->[$_] } 0 .. $#$expected;
    is(scalar @other, 0, "$name: the same answers") or diag "first: $queries[$other[0] % @queries]\n$expected->[$other[0]]"
      . "but found: " . ($found->[$other[0]] // 'nothing');
}

my %setting = map { my $name = $_; $name => "SET neighbour.$name = on;" }
  qw(plans_twice keeps_plans copies_plans walks_plans numbers_tables replaces_plans);
same_as_alone($_, "batmap,$module", $setting{$_}) for sort keys %setting;
same_as_alone('all that Citus does', "$module,batmap", "@setting{qw(walks_plans numbers_tables replaces_plans)}");
same_as_alone('all that gives the server\'s plans', "$module,batmap",
    "@setting{qw(plans_twice copies_plans walks_plans numbers_tables)}");
same_as_alone('all, and the extension loaded when it is called', $module, join ' ', values %setting);
same_as_alone('debug_print_plan', 'batmap', 'SET debug_print_plan = on; SET debug_print_rewritten = on;');
same_as_alone('auto_explain', 'batmap,auto_explain', 'SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;'
      . ' SET auto_explain.log_verbose = on; SET auto_explain.log_nested_statements = on;');
same_as_alone('auto_explain of plans that were read back', "batmap,auto_explain,$module",
    'SET auto_explain.log_min_duration = 0; SET auto_explain.log_verbose = on; SET auto_explain.log_nested_statements = on;'
      . ' SET auto_explain.log_format = json;' . $setting{copies_plans});

# If a plan comes back as the server made it, rows are packed as usual. Otherwise rows come one by one.
like(plans("batmap,$module", $setting{$_}), qr/BatmapScan.*BatmapJoinProject.*input: parallel scan/s, "$_: the nodes are there")
  for qw(copies_plans walks_plans numbers_tables);
like(plans("batmap,$module", $setting{$_}), qr/input: stream/, "$_: rows one by one") for qw(plans_twice replaces_plans);

# A plan whose columns differ from those of the query.
for my $query ("SELECT count(*) FROM $pairs", q{SELECT * FROM batmap_episodes('SELECT at, event FROM events', ARRAY[0, 12], top_k => 9)},
    q{SELECT * FROM batmap_all_pairs('SELECT tid, items FROM sets', min_count => 6)})
{
    local $ENV{PGOPTIONS} = "-c session_preload_libraries=$module";
    my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET neighbour.drops_columns = on; $query");
    like($err, qr/ERROR:  42804: plan of the input query gives other columns than the query\n/, 'a plan with other columns');
}

# A table function of another library whose C name is that of one of ours. Libraries see the symbols of those that were
# loaded before. Planning reads neither function as the other, and loads no library.
$node->safe_psql('postgres', "CREATE FUNCTION neighbours_pairs() RETURNS SETOF int8 AS '$module', 'batmap_pairs_query' LANGUAGE C");
for my $libraries ("batmap,$module", "$module,batmap", $module)
{
    local $ENV{PGOPTIONS} = "-c session_preload_libraries=$libraries";
    is($node->safe_psql('postgres', 'SELECT * FROM neighbours_pairs()'), '-1', "$libraries: its own rows");
    unlike($node->safe_psql('postgres', 'EXPLAIN SELECT * FROM neighbours_pairs()'), qr/BatmapScan/, "$libraries: not our node");
    like($node->safe_psql('postgres', "EXPLAIN SELECT * FROM $pairs"), qr/BatmapScan/, "$libraries: our node for our function");
}
{
    local $ENV{PGOPTIONS} = '-c session_preload_libraries=batmap';
    my $is_loaded = q{SELECT current_setting('neighbour.plans_twice', true) IS NOT NULL};
    # EXPLAIN would load the library of a function that the plan contains.
    like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) SELECT * FROM neighbours_pairs() WHERE false; $is_loaded"),
        qr/^Result\n.*\nf$/s, 'planning does not load its library');

    # The NOTICE about a library that a statement loaded.
    my (undef, undef, $notices) = $node->psql('postgres', q{SELECT * FROM batmap_explain_why('SELECT 1')});
    is($notices, '', 'the session preloads: no NOTICE');
}
my (undef, undef, $notices) = $node->psql('postgres', q{SELECT * FROM batmap_explain_why('SELECT 1')});
like($notices, qr/NOTICE:  batmap is not preloaded/, 'a statement loads: a NOTICE');

$node->stop;
done_testing();
