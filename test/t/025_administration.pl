# What the administrator of a server meets: an installation by the owner of a database into a schema of his choice, an update, all
# functions without that schema in search_path, monitoring, limits and who may set them, a role without rights, replication and
# dump, and DROP EXTENSION. Refusals are checked with their hints.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('administration');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'batmap'\nmax_parallel_workers_per_gather = 0");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE ROLE guest LOGIN; CREATE ROLE monitor LOGIN IN ROLE pg_read_all_stats; CREATE DATABASE shop OWNER owner');

sub sql { my ($role, $text) = @_; return $node->safe_psql('shop', $text, extra_params => [ '-U', $role ]); }

sub refused    # of a role, with the message and, if it is given, the hint
{
    my ($role, $text, $message, $hint, $name) = @_;
    my ($status, undef, $stderr) = $node->psql('shop', $text, extra_params => [ '-U', $role ]);
    isnt($status, 0, $name);
    like($stderr, qr/ERROR:  $message/, "$name: the message");
    defined $hint ? like($stderr, qr/HINT:  $hint/, "$name: the hint") : unlike($stderr, qr/HINT/, "$name: no hint is needed");
}

# -- Installation by the owner of the database, who is no superuser ------------------------------------------------

refused('guest', 'CREATE EXTENSION batmap', 'permission denied to create extension "batmap"', 'Must have CREATE privilege on current database',
    'another role may not install it');
sql('owner', 'CREATE SCHEMA tools; CREATE EXTENSION batmap SCHEMA tools; CREATE SCHEMA sales');
is(sql('owner', q{SELECT extname, extnamespace::regnamespace, extowner::regrole FROM pg_extension WHERE extname = 'batmap'}), 'batmap|tools|owner',
    'the owner of the database may, into a schema');
is(sql('owner', q{SELECT count(*) FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass JOIN pg_extension e ON e.oid = d.refobjid
    WHERE e.extname = 'batmap' AND p.pronamespace <> 'tools'::regnamespace}), '0', 'all of its functions are there');
sql('owner', q{
    CREATE TABLE sales.lines AS SELECT i / 5 AS receipt, i % 17 AS product FROM generate_series(1, 1000) i;
    CREATE TABLE sales.baskets (receipt int PRIMARY KEY, products tools.batmap(100));
    INSERT INTO sales.baskets SELECT receipt, tools.batmap_agg(product) FROM sales.lines GROUP BY receipt;
    CREATE INDEX baskets_products ON sales.baskets USING gin (products);
    CREATE TABLE sales.unkept (receipt int PRIMARY KEY, product int);
    CREATE TABLE sales.kept_lines AS SELECT DISTINCT * FROM sales.lines;
    CREATE TABLE sales.kept_names AS SELECT receipt, product::text FROM sales.kept_lines;
    CREATE INDEX ON sales.kept_lines (receipt);
    CREATE INDEX ON sales.kept_names (receipt);
    SELECT tools.batmap_keep('sales.kept_lines', 'receipt', 'product'), tools.batmap_keep('sales.kept_names', 'receipt', 'product');
    ANALYZE sales.lines, sales.baskets});

# -- Update of an older version, by the owner -----------------------------------------------------------------------

my ($older, $newest) = split / /, $node->safe_psql('postgres', q{SELECT min(version) FILTER (WHERE version <> default_version) || ' ' || default_version
    FROM pg_available_extension_versions JOIN pg_available_extensions USING (name) WHERE name = 'batmap' GROUP BY default_version});
$node->safe_psql('postgres', 'CREATE DATABASE warehouse OWNER owner');
my @as_owner = (extra_params => [ '-U', 'owner' ]);
$node->safe_psql('warehouse', qq{CREATE SCHEMA tools; CREATE EXTENSION batmap SCHEMA tools VERSION '$older';
    CREATE TABLE parts (receipt int, products tools.batmap(100)); INSERT INTO parts VALUES (1, '{1,2}');
    CREATE VIEW often AS SELECT item_a, item_b FROM tools.batmap_pairs('VALUES (1, 1), (1, 2)', 1)}, @as_owner);
my (undef, undef, $refusal) = $node->psql('warehouse', 'ALTER EXTENSION batmap UPDATE', extra_params => [ '-U', 'guest' ]);
like($refusal, qr/ERROR:  must be owner of extension batmap/, 'another role may not update it');
$node->safe_psql('warehouse', 'ALTER EXTENSION batmap UPDATE', @as_owner);
is($node->safe_psql('warehouse', q{SELECT extversion, extnamespace::regnamespace FROM pg_extension WHERE extname = 'batmap'}, @as_owner), "$newest|tools",
    "the owner may, from $older, and the schema stays");
is($node->safe_psql('warehouse', 'SELECT products FROM parts', @as_owner), '{1,2}', 'with the values of its tables');
is($node->safe_psql('warehouse', 'TABLE often', @as_owner), '1|2', 'and the views over its functions');

# -- Every function, qualified, where its schema is in no search_path ----------------------------------------------

my $lines = q{'SELECT receipt, product FROM sales.lines'};
my $names = q{'SELECT receipt, product::text FROM sales.lines'};
my $events = q{'SELECT receipt, product FROM sales.lines'};
my %calls = (
    batmap => q{SELECT tools.batmap('{1,2}', 100)::text = '{1,2}'},
    batmap_prepare => q{SELECT tools.batmap_universe(tools.batmap_prepare(products, 100)) = 128 FROM sales.baskets WHERE receipt = 1},
    batmap_agg => q{SELECT tools.batmap_agg(product) IS NOT NULL FROM sales.lines},
    batmap_unnest => q{SELECT count(*) > 0 FROM sales.baskets, tools.batmap_unnest(products)},
    batmap_all_pairs => q{SELECT count(*) > 0 FROM tools.batmap_all_pairs('sales.baskets', 3)},
    batmap_all_pairs_of => q{SELECT count(*) > 0 FROM tools.batmap_all_pairs_of('SELECT receipt::text, products FROM sales.baskets', 3)},
    batmap_similar => q{SELECT count(*) > 0 FROM tools.batmap_similar('{1,2,3}', 'sales.baskets')},
    batmap_similar_of => q{SELECT count(*) > 0 FROM tools.batmap_similar_of('{1,2,3}', 'SELECT receipt::text, products FROM sales.baskets')},
    batmap_devices => q{SELECT count(*) > 0 FROM tools.batmap_devices()},
    batmap_episodes => qq{SELECT count(*) > 0 FROM tools.batmap_episodes($events, ARRAY[0, 2], min_count => 1, max_length => 2)},
    batmap_episodes_of => qq{SELECT count(*) > 0 FROM tools.batmap_episodes_of($names, ARRAY[0, 2], min_count => 1, max_length => 2)},
    batmap_episode_count => qq{SELECT count(*) = 1 FROM tools.batmap_episode_count($events, '{1,2}', ARRAY[0, 2])},
    batmap_episode_count_of => qq{SELECT count(*) = 1 FROM tools.batmap_episode_count_of($names, '{1,2}', ARRAY[0, 2])},
    batmap_episode_occurrences => qq{SELECT count(*) > 0 FROM tools.batmap_episode_occurrences($events, '{1,2}', ARRAY[0, 2])},
    batmap_episode_occurrences_of => qq{SELECT count(*) > 0 FROM tools.batmap_episode_occurrences_of($names, '{1,2}', ARRAY[0, 2])},
    batmap_episode_count_agg => q{SELECT tools.batmap_episode_count_agg(receipt::int8, product, '{1,2}', 0, 2) > 0 FROM sales.lines},
    batmap_count_pairs => qq{SELECT count(*) = 1 FROM tools.batmap_count_pairs($lines, 'VALUES (1, 2)')},
    batmap_count_pairs_of => qq{SELECT count(*) = 1 FROM tools.batmap_count_pairs_of($names, 'VALUES (''1'', ''2'')')},
    batmap_triangles => qq{SELECT edges > 0 FROM tools.batmap_triangles($lines)},
    batmap_edge_triangles => qq{SELECT count(*) > 0 FROM tools.batmap_edge_triangles($lines)},
    batmap_edge_triangles_of => q{SELECT count(*) > 0 FROM tools.batmap_edge_triangles_of('SELECT receipt::text, product::text FROM sales.lines')},
    batmap_estimate => qq{SELECT count(*) > 0 FROM tools.batmap_estimate($lines, 2)},
    batmap_itemset_estimate => qq{SELECT count(*) > 0 FROM tools.batmap_itemset_estimate($lines, 2)},
    batmap_itemset_estimate_of => qq{SELECT count(*) > 0 FROM tools.batmap_itemset_estimate_of($names, 2)},
    batmap_explain_why => q{SELECT count(*) > 0 FROM tools.batmap_explain_why('SELECT a.product, b.product, count(*) FROM sales.lines a JOIN sales.lines b USING (receipt) GROUP BY 1, 2')},
    batmap_from_roaring => q{SELECT tools.batmap_from_roaring(tools.batmap_to_roaring(products)) OPERATOR(tools.=) products FROM sales.baskets WHERE receipt = 1},
    batmap_from_roaring64 => q{SELECT tools.batmap_from_roaring64(tools.batmap_to_roaring64(products)) OPERATOR(tools.=) products FROM sales.baskets WHERE receipt = 1},
    batmap_generate_spikes => q{SELECT count(*) > 0 FROM tools.batmap_generate_spikes(1)},
    batmap_itemsets => qq{SELECT count(*) > 0 FROM tools.batmap_itemsets($lines, 2)},
    batmap_itemsets_of => qq{SELECT count(*) > 0 FROM tools.batmap_itemsets_of($names, 2)},
    batmap_itemsets_agg => q{SELECT tools.batmap_itemsets_agg(receipt, product, 2, 2) IS NOT NULL AND tools.batmap_itemsets_agg(receipt, product::text, 2, 2) IS NOT NULL FROM sales.lines},
    batmap_itemset_spectrum => qq{SELECT count(*) > 0 FROM tools.batmap_itemset_spectrum($lines, 2)},
    batmap_itemset_spectrum_of => qq{SELECT count(*) > 0 FROM tools.batmap_itemset_spectrum_of($names, 2)},
    batmap_join_project => qq{SELECT count(*) > 0 FROM tools.batmap_join_project('SELECT product, receipt FROM sales.lines', $lines)},
    batmap_join_project_of => qq{SELECT count(*) > 0 FROM tools.batmap_join_project_of('SELECT product::text, receipt FROM sales.lines', $names)},
    batmap_join_project_agg => q{SELECT tools.batmap_join_project_agg(product, receipt, product) IS NOT NULL FROM sales.lines},
    batmap_last_run => q{SELECT count(*) < 2 FROM tools.batmap_last_run()},
    batmap_last_run_levels => q{SELECT count(*) >= 0 FROM tools.batmap_last_run_levels()},
    batmap_measure => q{SELECT tools.batmap_measure('lift', 1, 2, 3, 6) = 1},
    batmap_pairs => qq{SELECT count(*) > 0 FROM tools.batmap_pairs('sales.lines', 2)},
    batmap_pairs_of => qq{SELECT count(*) > 0 FROM tools.batmap_pairs_of($names, 2)},
    batmap_pairs_agg => q{SELECT tools.batmap_pairs_agg(receipt, product, 2) IS NOT NULL AND tools.batmap_pairs_agg(receipt, product::text, 2) IS NOT NULL FROM sales.lines},
    batmap_partners => qq{SELECT count(*) > 0 FROM tools.batmap_partners($lines, 2)},
    batmap_partners_of => qq{SELECT count(*) > 0 FROM tools.batmap_partners_of($names, 2)},
    batmap_progress => q{SELECT count(*) >= 0 FROM tools.batmap_progress},
    batmap_range => q{SELECT tools.batmap_range(1, 3)::text = '{1,2}'},
    batmap_recommend => qq{SELECT count(*) > 0 FROM tools.batmap_recommend('{1}', $lines)},
    batmap_recommend_of => qq{SELECT count(*) > 0 FROM tools.batmap_recommend_of('{1}', $names)},
    batmap_relation_agg => q{SELECT count(*) > 0 FROM (SELECT tools.batmap_relation_agg(receipt, product) AS r FROM sales.lines) q, tools.batmap_unnest(r)},
    batmap_rules => qq{SELECT count(*) > 0 FROM tools.batmap_rules($lines, 2)},
    batmap_rules_of => qq{SELECT count(*) > 0 FROM tools.batmap_rules_of($names, 2)},
    batmap_stats => q{SELECT (tools.batmap_stats(products)).cardinality > 0 FROM sales.baskets WHERE receipt = 1},
    batmap_unnest_of => q{SELECT count(*) > 0 FROM (SELECT tools.batmap_relation_agg(receipt, product::text) AS r FROM sales.lines) q, tools.batmap_unnest_of(r)},
    batmap_usage => q{SELECT all_sessions FROM tools.batmap_usage()},
    sum => q{SELECT tools.batmap_pair_counts_total(tools.sum(c)) = 402 FROM (SELECT tools.batmap_pair_counts_agg(receipt, product) AS c FROM sales.lines) q, generate_series(1, 2)},
    batmap_pair_counts_by_tid_agg => q{SELECT tools.batmap_pair_counts_total(tools.batmap_pair_counts_by_tid_agg(receipt, product)) > 0 FROM sales.lines},
    batmap_pair_counts_from => qq{SELECT tools.batmap_pair_counts_total(tools.batmap_pair_counts_from($lines)) > 0},
    batmap_join_counts_from => qq{SELECT tools.batmap_join_counts_total(tools.batmap_join_counts_from('SELECT product, receipt FROM sales.lines', $lines)) > 0},
    batmap_itemset_candidates => qq{SELECT tools.batmap_itemset_counts_total(tools.batmap_itemset_candidates($lines, 2)) > 0},
    batmap_itemset_count => qq{SELECT tools.batmap_itemset_counts_total(tools.batmap_itemset_count($lines, tools.batmap_itemset_candidates($lines, 2))) > 0},
    batmap_episode_counts_from => qq{SELECT tools.batmap_episode_counts_total(tools.batmap_episode_counts_from($events, ARRAY[0, 2], 1, max_length => 2)) > 0},
    batmap_pair_counts_unnest => q{SELECT count(*) > 0 FROM (SELECT tools.batmap_pair_counts_agg(receipt, product) AS c FROM sales.lines) q, tools.batmap_pair_counts_unnest(c)},
    batmap_pair_counts_unnest_of => q{SELECT count(*) > 0 FROM (SELECT tools.batmap_pair_counts_agg(receipt, product::text) AS c FROM sales.lines) q, tools.batmap_pair_counts_unnest_of(c)},
    batmap_distributed_pairs => q{SELECT count(*) > 0 FROM tools.batmap_distributed_pairs('sales.lines', 2)},
    batmap_distributed_pair_counts => q{SELECT tools.batmap_pair_counts_total(tools.batmap_distributed_pair_counts('sales.lines', 2)) > 0},
    batmap_distributed_itemsets => q{SELECT count(*) > 0 FROM tools.batmap_distributed_itemsets('sales.lines', 2)},
    batmap_distributed_itemset_counts => q{SELECT tools.batmap_itemset_counts_total(tools.batmap_distributed_itemset_counts('sales.lines', 2)) > 0},
    batmap_distributed_episodes => q{SELECT count(*) > 0 FROM tools.batmap_distributed_episodes('sales.lines', ARRAY[0, 2], 1, max_length => 2, time_column => 'product', event_column => 'product', stream_column => 'receipt')},
    batmap_distributed_episode_counts => q{SELECT tools.batmap_episode_counts_total(tools.batmap_distributed_episode_counts('sales.lines', ARRAY[0, 2], 1, max_length => 2, time_column => 'product', event_column => 'product', stream_column => 'receipt')) > 0},
    batmap_distributed_rules => q{SELECT count(*) > 0 FROM tools.batmap_distributed_rules('sales.lines', 2)},
    batmap_distributed_join_project => q{SELECT count(*) > 0 FROM tools.batmap_distributed_join_project('sales.lines', 'sales.lines', a_column => 'product', left_b_column => 'receipt')},
    batmap_distributed_join_counts => q{SELECT tools.batmap_join_counts_total(tools.batmap_distributed_join_counts('sales.lines', 'sales.lines', a_column => 'product', left_b_column => 'receipt')) > 0},
    batmap_kept_counts => q{SELECT tools.batmap_pair_counts_total(tools.batmap_kept_counts('sales.kept_lines')) > 0},
    batmap_kept_counts_of => q{SELECT tools.batmap_pair_counts_total(tools.batmap_kept_counts_of('sales.kept_names')) > 0},
    batmap_merge_kept => q{SELECT tools.batmap_merge_kept('sales.kept_lines') >= 0},
    batmap_check_kept => q{SELECT tools.batmap_check_kept('sales.kept_lines')},
    batmap_keep => q{SELECT tools.batmap_keep('sales.unkept', 'receipt', 'product') IS NOT NULL},
    batmap_unkeep => q{SELECT tools.batmap_unkeep('sales.unkept') IS NOT NULL},
    batmap_window_pairs => q{SELECT count(*) > 0 FROM tools.batmap_window_pairs('SELECT product, product, receipt FROM sales.lines', 2, 1)},
    batmap_window_pairs_of => q{SELECT count(*) > 0 FROM tools.batmap_window_pairs_of('SELECT product, product::text, receipt FROM sales.lines', 2, 1)},
    batmap_pair_count => q{SELECT tools.batmap_pair_count(c, 1, 2) > 0 FROM (SELECT tools.batmap_pair_counts_agg(receipt, product) AS c FROM sales.lines) q},
    batmap_item_count => q{SELECT tools.batmap_item_count(c, 1) > 0 FROM (SELECT tools.batmap_pair_counts_agg(receipt, product) AS c FROM sales.lines) q},
);
# The forms with a NULL of the type answer with names of their own.
for (grep { /_of$/ } keys %calls)
{
    next if /unnest|kept_counts/;
    my $nulls = /join_project/ ? 'NULL::text, NULL::text, ' : 'NULL::text, ';
    $calls{ s/_of$/_as/r } = $calls{$_} =~ s/(tools\.\w+)_of\(/$1_as($nulls/r;
}
$calls{batmap_episode_occurrences_at} = $calls{batmap_episode_occurrences} =~ s/occurrences\(/occurrences_at(NULL::int4, /r;
# Of one set, of two sets, and over sets.
$calls{$_} = "SELECT tools.$_(products) IS NOT NULL FROM sales.baskets WHERE receipt = 1"
  for qw(batmap_cardinality batmap_is_empty batmap_max batmap_min batmap_to_roaring batmap_to_roaring64 batmap_universe);
$calls{$_} = "SELECT tools.$_(products, '{1,2}') IS NOT NULL FROM sales.baskets WHERE receipt = 1"
  for qw(batmap_and_cardinality batmap_andnot_cardinality batmap_cosine batmap_dice batmap_jaccard batmap_or_cardinality batmap_overlap batmap_xor_cardinality);
$calls{$_} = "SELECT tools.$_(products) IS NOT NULL FROM sales.baskets"
  for qw(batmap_and_agg batmap_and_cardinality_agg batmap_or_agg batmap_or_cardinality_agg batmap_xor_agg batmap_xor_cardinality_agg);
$calls{batmap_cardinality_agg} = 'SELECT tools.batmap_cardinality_agg(product) = 17 FROM sales.lines';
$calls{"batmap_pair_counts_$_"} = "SELECT tools.batmap_pair_counts_$_(tools.batmap_pair_counts_agg(receipt, product)) > 0 FROM sales.lines" for qw(items pairs total);
$calls{batmap_pair_counts_agg} = $calls{batmap_pair_counts_total};
$calls{"batmap_itemset_counts_$_"} = "SELECT tools.batmap_itemset_counts_$_(tools.batmap_itemset_candidates($lines, 2)) > 0" for qw(items itemsets total);
$calls{"batmap_episode_counts_$_"} = "SELECT tools.batmap_episode_counts_$_(tools.batmap_episode_counts_from($events, ARRAY[0, 2], 1, max_length => 2)) > 0" for qw(total streams episodes);
$calls{"batmap_join_counts_$_"} = "SELECT tools.batmap_join_counts_$_(tools.batmap_join_counts_from('SELECT product, receipt FROM sales.lines', $lines)) > 0" for qw(pairs total);

my @public = split /\n/, sql('owner', q{SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'tools'::regnamespace AND proname NOT LIKE '\_%' ORDER BY 1});
cmp_ok(scalar @public, '>', 60, 'the names of ' . @public . ' functions');
my @unknown = grep { !exists $calls{$_} } @public;
is("@unknown", '', 'each has a call here');
my %seen = map { $_ => 1 } @public;
is(join(' ', grep { !$seen{$_} } sort keys %calls), '', 'and each call is of one');
for my $path ("''", 'sales')
{
    my $script = "SET search_path = $path;\n" . join('', map { "SELECT '$_', (" . $calls{$_} . ");\n" } sort keys %calls);
    my (undef, $answers, $errors) = $node->psql('shop', $script, extra_params => [ '-U', 'owner' ], on_error_stop => 0);
    is($errors, '', "with search_path = $path there are no errors");
    my @right = grep { /\|t$/ } split /\n/, $answers;
    is(scalar @right, scalar @public, 'and all of them answer') or diag($answers);
}
is(sql('owner', q{SET search_path = ''; SELECT count(*) FROM sales.baskets WHERE products OPERATOR(tools.@>) '{1,2}' AND products OPERATOR(tools.&&) ARRAY[3]}),
    sql('owner', q{SELECT count(*) FROM (SELECT receipt FROM sales.lines WHERE product IN (1, 2, 3) GROUP BY 1 HAVING count(DISTINCT product) = 3) q}),
    'and so do operators');
like(sql('owner', q{SET search_path = ''; SET enable_seqscan = off; EXPLAIN (COSTS off) SELECT * FROM sales.baskets WHERE products OPERATOR(tools.@>) 3}),
    qr/Bitmap Index Scan on baskets_products/, 'the index is used');
like(sql('owner', q{SET search_path = ''; EXPLAIN (COSTS off) SELECT a.product, b.product, count(*) FROM sales.lines a JOIN sales.lines b USING (receipt) GROUP BY 1, 2}),
    qr/BatmapJoinProject/, 'plain SQL goes through the engine from the first statement of a session');
my (undef, undef, $lost) = $node->psql('shop', q{SET search_path = sales; SELECT * FROM batmap_pairs('lines', 2)}, extra_params => [ '-U', 'owner' ]);
like($lost, qr/ERROR:  function batmap_pairs\(unknown, integer\) does not exist/, 'without the schema in the name it is not found');
is(sql('owner', q{SET search_path = sales, tools; SELECT count(*) > 0 FROM batmap_pairs('lines', 2)}), 't', 'with it in search_path it is');

# -- A role without rights ------------------------------------------------------------------------------------------

refused('guest', "SELECT * FROM tools.batmap_pairs($lines, 2)", 'permission denied for schema tools', undef, 'without USAGE of its schema');
sql('owner', 'GRANT USAGE ON SCHEMA tools, sales TO guest');
refused('guest', "SELECT * FROM tools.batmap_pairs($lines, 2)", 'permission denied for table lines', undef, 'without SELECT on the table');
refused('guest', 'SELECT * FROM tools.batmap_all_pairs(\'sales.baskets\', 2)', 'permission denied for table baskets', undef, 'given by its name, too');
unlike(sql('guest', "EXPLAIN (VERBOSE, COSTS off) SELECT * FROM tools.batmap_pairs($lines, 2)"), qr/Seq Scan/, 'its plan is not shown');
sql('owner', 'GRANT SELECT (receipt) ON sales.lines TO guest');
refused('guest', "SELECT * FROM tools.batmap_pairs($lines, 2)", 'permission denied for table lines', undef, 'without SELECT on one of the columns');
is(sql('guest', q{SELECT count(*) FROM tools.batmap_pairs('SELECT receipt, receipt % 3 FROM sales.lines', 1)}), '0', 'the other column alone is permitted');
my $revoke = 'REVOKE EXECUTE ON FUNCTION tools.batmap_measure(text, int8, int8, int8, int8) FROM PUBLIC';
my (undef, undef, $warning) = $node->psql('shop', $revoke, extra_params => [ '-U', 'owner' ]);
like($warning, qr/WARNING:  no privileges could be revoked/, 'the functions belong to the superuser, so only he may revoke them');
$node->safe_psql('shop', $revoke);
refused('guest', q{SELECT tools.batmap_measure('lift', 1, 2, 3, 6)}, 'permission denied for function batmap_measure', undef, 'a function that was revoked');

# -- Monitoring -----------------------------------------------------------------------------------------------------

sql('owner', 'GRANT USAGE ON SCHEMA tools TO monitor');
my $runner = $node->background_psql('shop', extra_params => [ '-U', 'owner' ]);
chomp(my $pid = $runner->query_safe('SELECT pg_backend_pid()'));
$runner->query_safe(q{BEGIN; SET LOCAL batmap.threads = 1;
    DECLARE c CURSOR FOR SELECT * FROM tools.batmap_itemsets('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 40) i', min_count => 3); FETCH 1 FROM c});
my $seen = 'SELECT pid, datname, usename, operation, memory > 0 FROM tools.batmap_progress';
is(sql('monitor', $seen), "$pid|shop|owner|batmap_itemsets|t", 'a member of pg_read_all_stats sees who runs what');
is(sql('guest', $seen), "$pid|shop|owner||", 'another role sees that somebody runs something');
is(sql('guest', 'SELECT all_sessions, memory < max_memory, threads <= max_threads FROM tools.batmap_usage()'), 't|t|t', 'everybody sees the sums');
is(sql('guest', 'SELECT count(*) FROM tools.batmap_last_run()'), '0', 'and only the last run of his own session');
is(sql('monitor', "SELECT operation, transactions, results, truncated, truncated_runs FROM tools.batmap_pairs('VALUES (1, 1), (1, 2), (1, 3)', 1, max_results => 2), tools.batmap_last_run() LIMIT 0;"
          . "SELECT count(*) FROM tools.batmap_pairs('VALUES (1, 1), (1, 2), (1, 3)', 1, max_results => 2); SELECT operation, transactions, results, truncated, truncated_runs FROM tools.batmap_last_run()"),
    "2\nbatmap_pairs|1|2|t|1", 'which says that its answer was cut off');
$runner->query_safe('ROLLBACK');
$runner->quit;
is(sql('monitor', 'SELECT count(*) FROM tools.batmap_progress'), '0', 'after the run there is nothing to see');

# -- Limits, and who may set them -----------------------------------------------------------------------------------

for my $setting ('batmap.max_threads = 1', "batmap.max_memory = '1MB'", "batmap.accelerator = '/tmp/x'", 'batmap.gpu_process = off')
{
    my ($name) = $setting =~ /(batmap\.\w+)/;
    refused('owner', "SET $setting", "permission denied to set parameter \"$name\"", undef, "$name is for superusers");
    is($node->safe_psql('shop', "SET $setting; SELECT 1"), '1', 'who may set it');
}
$node->safe_psql('shop', q{ALTER ROLE guest SET batmap.max_memory = '2MB'; GRANT SET ON PARAMETER batmap.max_threads TO owner});
is(sql('owner', 'SET batmap.max_threads = 0; SELECT max_threads FROM tools.batmap_usage()'), '0', 'or a role that was granted it');
is(sql('guest', 'SHOW batmap.max_memory'), '2MB', 'a role may have a cap of its own');
my $large = q{SELECT count(*) FROM tools.batmap_pairs('SELECT g, g % 1000 FROM generate_series(1, 300000) g', 1, method => 'bitmap')};
refused('guest', $large, '.*batmap\.max_memory', '.+', 'which ends its runs');
refused('owner', "SET batmap.memory_limit = '1MB'; $large", 'run needs more than its memory limit of 1024 kB', 'Raise batmap\.memory_limit, or ask for less',
    'the limit of a run is for everyone to set');
is(sql('owner', $large), '0', 'without them it runs');
refused('owner', q{SET statement_timeout = '200ms'; SELECT count(*) FROM tools.batmap_itemsets('SELECT t, i FROM generate_series(1, 3) t, generate_series(1, 40) i', min_count => 3)},
    'canceling statement due to statement timeout', undef, 'statement_timeout ends a run');
refused('owner', "SET batmap.on_truncation = error; SELECT * FROM tools.batmap_pairs($lines, 2, max_results => 1)", 'answer cut off after max_results = 1 rows',
    'Raise max_results or the threshold', 'an answer that is cut off can be an error');

# -- Replication and dump -------------------------------------------------------------------------------------------

# To another database of the same server: so the slot is made first.
$node->safe_psql('postgres', 'CREATE DATABASE copy OWNER owner');
$node->safe_psql('copy', 'CREATE SCHEMA tools; CREATE EXTENSION batmap SCHEMA tools; CREATE SCHEMA sales; CREATE TABLE sales.baskets (receipt int PRIMARY KEY, products tools.batmap(100))');
$node->safe_psql('shop', q{CREATE PUBLICATION baskets FOR TABLE sales.baskets; SELECT pg_create_logical_replication_slot('baskets', 'pgoutput')});
my $from = $node->connstr . ' dbname=shop';
$node->safe_psql('copy', "CREATE SUBSCRIPTION baskets CONNECTION '$from' PUBLICATION baskets WITH (create_slot = false, slot_name = 'baskets')");
$node->poll_query_until('copy', q{SELECT count(*) = 1 FROM pg_subscription_rel WHERE srsubstate = 'r'}) or die 'no synchronisation';
sql('owner', q{UPDATE sales.baskets SET products = products OPERATOR(tools.|) 99 WHERE receipt < 10});
$node->wait_for_catchup('baskets');
my $contents = q{SELECT count(*), sum(tools.batmap_cardinality(products)), md5(string_agg(products::text, ' ' ORDER BY receipt)) FROM sales.baskets};
my $before = sql('owner', $contents);
is($node->safe_psql('copy', $contents), $before, 'sets are replicated');
$node->safe_psql('copy', 'ALTER SUBSCRIPTION baskets DISABLE; ALTER SUBSCRIPTION baskets SET (slot_name = NONE); DROP SUBSCRIPTION baskets');
$node->safe_psql('shop', q{DROP PUBLICATION baskets; SELECT pg_drop_replication_slot('baskets')});

my $dump = PostgreSQL::Test::Utils::tempdir() . '/shop.dump';
$node->command_ok([ 'pg_dump', '-U', 'owner', '--format', 'custom', '--file', $dump, $node->connstr('shop') ], 'the owner dumps the database');
$node->safe_psql('postgres', 'CREATE DATABASE restored OWNER owner');
$node->command_ok([ 'pg_restore', '-U', 'owner', '--exit-on-error', '--no-owner', '--dbname', $node->connstr('restored'), $dump ], 'and restores it, extension and all');
is($node->safe_psql('restored', $contents), $before, 'with the same sets');

# -- DROP EXTENSION -------------------------------------------------------------------------------------------------

sql('owner', "CREATE VIEW sales.often AS SELECT item_a, item_b FROM tools.batmap_pairs($lines, 2)");
refused('guest', 'DROP EXTENSION batmap', 'must be owner of extension batmap', undef, 'another role may not drop it');
refused('owner', 'DROP EXTENSION batmap', 'cannot drop extension batmap because other objects depend on it', 'Use DROP \.\.\. CASCADE',
    'a column and a view hold it');
my (undef, undef, $stderr) = $node->psql('shop', 'DROP EXTENSION batmap');
like($stderr, qr/column products of table sales\.baskets depends on type tools\.batmap/, 'the column is named');
like($stderr, qr/view sales\.often depends on function tools\.batmap_pairs/, 'and so is the view');
refused('owner', 'DROP SCHEMA tools', 'cannot drop schema tools because other objects depend on it', 'Use DROP \.\.\. CASCADE', 'nor can its schema be dropped');
sql('owner', 'SET client_min_messages = error; DROP EXTENSION batmap CASCADE; DROP SCHEMA tools');
is(sql('owner', q{SELECT string_agg(attname, ' ') FROM pg_attribute WHERE attrelid = 'sales.baskets'::regclass AND attnum > 0 AND NOT attisdropped}),
    'receipt', 'CASCADE drops the column and leaves the other');
is(sql('owner', q{SELECT count(*) FROM pg_class WHERE relname = 'often'}), '0', 'and drops the view');
sql('owner', 'CREATE EXTENSION batmap');
is(sql('owner', "SELECT count(*) > 0 FROM batmap_pairs($lines, 2)"), 't', 'installed again, it works');

$node->stop;
done_testing();
