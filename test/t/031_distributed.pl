# Tables whose rows lie on four servers: the functions batmap_distributed_... must give, row by row, what one server with all
# rows gives. The parts are partitions on foreign servers (of two servers, and of four with a local one beside them) or servers
# that are named. Servers that stop, roles without rights, and names that need quotes are refused or quoted.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use contrib 'postgres_fdw', 'dblink';

# The rows of tid lie on server tid % 4; names need quotes.
my $rows = q{SELECT g % 2003 AS tid, (hashint4(g)::int8 & 63) * (hashint4(-g)::int8 & 63) / 64 AS item FROM generate_series(1, 16000) g};
my $events = q{SELECT (hashint4(g) & 127) AS at, (hashint4(-g)::int8 & 7) AS event, g % 997 AS stream FROM generate_series(1, 9000) g};
my $tags = q{SELECT g % 1999 AS b, hashint4(g)::int8 & 31 AS c FROM generate_series(1, 9000) g};
my @nodes = map { PostgreSQL::Test::Cluster->new("part_$_") } 0 .. 3;
for my $k (0 .. 3)
{
    $nodes[$k]->init;
    $nodes[$k]->append_conf('postgresql.conf', "shared_preload_libraries = 'batmap'\nmax_parallel_workers_per_gather = 0");
    $nodes[$k]->start;
    $nodes[$k]->safe_psql('postgres', qq{
        CREATE SCHEMA "its tools"; CREATE EXTENSION batmap SCHEMA "its tools"; CREATE SCHEMA "O'Hara";
        CREATE TABLE "O'Hara"."order ""lines""" AS SELECT item AS "it'em", tid AS "t""id" FROM ($rows) r WHERE tid % 4 = $k;
        CREATE TABLE "O'Hara".halves AS SELECT tid, item FROM ($rows) r WHERE tid / 1002 = $k;
        CREATE TABLE baskets AS SELECT tid, item FROM ($rows) r WHERE tid % 4 = $k;
        CREATE TABLE events AS SELECT at, event, stream FROM ($events) r WHERE stream / 499 = $k;
        CREATE TABLE "events by stream" AS SELECT stream AS visitor, event AS page, at AS "w""hen" FROM ($events) r WHERE stream % 4 = $k;
        CREATE TABLE tags AS SELECT b, c FROM ($tags) r WHERE b / 1002 = $k;
        CREATE TABLE "tags by b" AS SELECT c, b FROM ($tags) r WHERE b % 4 = $k});
}

$nodes[0]->safe_psql('postgres', 'CREATE DATABASE coordinator; CREATE ROLE guest LOGIN');
my $setup = qq{
    CREATE EXTENSION batmap; CREATE EXTENSION postgres_fdw;
    CREATE TABLE one_events AS $events; CREATE TABLE two_events (at int4, event int8, stream int4) PARTITION BY RANGE (stream);
    CREATE TABLE here_events (stream int4, at int4, event int8) PARTITION BY HASH (stream);
    CREATE TABLE one AS $rows; CREATE TABLE one_tags AS $tags; CREATE VIEW likes AS SELECT item, tid FROM one;
    CREATE TABLE two_tags (b int4, c int8) PARTITION BY RANGE (b);
    CREATE TABLE other_tags (b int4, c int8) PARTITION BY RANGE (b);
    CREATE TABLE here_tags (b int4, c int8) PARTITION BY HASH (b);
    CREATE TABLE two (tid int4, item int8) PARTITION BY RANGE (tid);
    CREATE TABLE four (tid int4, item int8) PARTITION BY HASH (tid);
    CREATE TABLE lines (note text, gone text, "t""id" int4, "it'em" int8, part int4) PARTITION BY LIST (part);
    ALTER TABLE lines DROP COLUMN gone;
    CREATE TABLE here (tid int4, item int8) PARTITION BY HASH (tid);
};
for my $k (0 .. 3)
{
    my ($host, $port) = ($nodes[$k]->host, $nodes[$k]->port);
    $setup .= qq{
        CREATE SERVER "server '$k'" FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'batmap');
        CREATE USER MAPPING FOR CURRENT_USER SERVER "server '$k'";
        CREATE TABLE here_$k PARTITION OF here FOR VALUES WITH (MODULUS 4, REMAINDER $k);
        CREATE TABLE here_events_$k PARTITION OF here_events FOR VALUES WITH (MODULUS 4, REMAINDER $k);
        CREATE TABLE here_tags_$k PARTITION OF here_tags FOR VALUES WITH (MODULUS 4, REMAINDER $k);
    };
    # Of the table of lines, the last partition lies here.
    $setup .= $k < 3
      ? qq{CREATE FOREIGN TABLE "lines of $k" ("it'em" int8, "t""id" int4, note text, part int4) SERVER "server '$k'" OPTIONS (schema_name 'O''Hara', table_name 'order "lines"');
           ALTER TABLE lines ATTACH PARTITION "lines of $k" FOR VALUES IN ($k);}
      : q{CREATE TABLE "lines of 3" PARTITION OF lines FOR VALUES IN (3); INSERT INTO lines SELECT NULL, tid, item, 3 FROM one WHERE tid % 4 = 3;};
}
$setup .= qq{
    CREATE FOREIGN TABLE halves_0 PARTITION OF two FOR VALUES FROM (0) TO (1002) SERVER "server '0'" OPTIONS (schema_name 'O''Hara', table_name 'halves');
    CREATE FOREIGN TABLE halves_1 PARTITION OF two FOR VALUES FROM (1002) TO (9999) SERVER "server '1'" OPTIONS (schema_name 'O''Hara', table_name 'halves');
    CREATE FOREIGN TABLE events_0 PARTITION OF two_events FOR VALUES FROM (0) TO (499) SERVER "server '0'" OPTIONS (table_name 'events');
    CREATE FOREIGN TABLE events_1 PARTITION OF two_events FOR VALUES FROM (499) TO (9999) SERVER "server '1'" OPTIONS (table_name 'events');
    CREATE FOREIGN TABLE tags_0 PARTITION OF two_tags FOR VALUES FROM (0) TO (1002) SERVER "server '0'" OPTIONS (table_name 'tags');
    CREATE FOREIGN TABLE tags_1 PARTITION OF two_tags FOR VALUES FROM (1002) TO (9999) SERVER "server '1'" OPTIONS (table_name 'tags');
    CREATE FOREIGN TABLE others_0 PARTITION OF other_tags FOR VALUES FROM (0) TO (1001) SERVER "server '0'" OPTIONS (table_name 'tags');
    CREATE FOREIGN TABLE others_1 PARTITION OF other_tags FOR VALUES FROM (1001) TO (9999) SERVER "server '1'" OPTIONS (table_name 'tags');
    INSERT INTO here TABLE one; INSERT INTO here_tags TABLE one_tags; INSERT INTO here_events SELECT stream, at, event FROM one_events; ANALYZE one, here;
};
$nodes[0]->safe_psql('coordinator', $setup);

sub coordinator { return $nodes[0]->safe_psql('coordinator', $_[0]); }

sub refused    # MESSAGE, HINT and the options detail and context are patterns
{
    my ($text, $name, $message, $hint, %options) = @_;
    my ($status, undef, $stderr) = $nodes[0]->psql('coordinator', $text, extra_params => [ '-U', $options{role} // $ENV{USER} // getpwuid($<) ]);
    isnt($status, 0, "$name: refused");
    like($stderr, qr/ERROR:  $message/, "$name: the message");
    like($stderr, qr/HINT:  $hint/, "$name: the hint") if defined $hint;
    like($stderr, qr/DETAIL:  $options{detail}/, "$name: the detail") if defined $options{detail};
    like($stderr, qr/$options{context}/, "$name: the context") if defined $options{context};
}

refused(q{SELECT * FROM batmap_distributed_pairs('two', min_count => 20)}, 'without dblink', 'extension "dblink" is needed', 'CREATE EXTENSION dblink');
coordinator('CREATE SCHEMA "its dblink"; CREATE EXTENSION dblink SCHEMA "its dblink"');

# -- Equal to one server -------------------------------------------------------------------------------------------

my $servers = q{servers => ARRAY['server ''0''', 'server ''1''', 'server ''2''', 'server ''3'''], disjoint => true};
my %tables = (
    'two servers'          => q{'two'},
    'three servers and here' => q{'lines', tid_column => 't"id', item_column => 'it''em', disjoint => true},
    'four servers by name' => qq{'SELECT item AS what, tid FROM baskets', tid_column => 'tid', item_column => 'what', $servers},
    'partitions here'      => q{'here'},
    'one table'            => q{'one'},
);

# Only the best rows have an order.
sub answer { my ($call, $arguments) = @_; my $rows = coordinator("SELECT * FROM batmap_$call, $arguments)"); return $arguments =~ /\btop_k/ ? $rows : join "\n", sort split /\n/, $rows; }

sub equal    # FUNCTION ARGUMENTS [TABLE...]
{
    my ($function, $arguments, @names) = @_;
    my $expected = answer("$function('one'", $arguments);
    like($expected, qr/\d/, "$function($arguments) has rows");
    for my $name (@names ? @names : sort keys %tables)
    {
        ok(answer("distributed_$function($tables{$name}", $arguments) eq $expected, "$function($arguments), $name");
    }
}

equal('pairs', $_) for 'min_count => 20', 'min_support => 0.01';
equal('pairs', $_, 'two servers')
  for 'top_k => 25', 'min_count => 5, per_item_top_k => 1', q{min_count => 5, include => '{1,2,3}'}, q{min_count => 5, exclude => '{1,2,3}', measure => 'lift', top_k => 9};

equal('itemsets', $_) for 'min_count => 12', 'min_support => 0.005, max_length => 3';
equal('itemsets', "min_count => 12, $_", 'two servers')
  for q{target => 'closed'}, q{target => 'maximal'}, q{target => 'generators'}, q{target => 'closed', max_length => 2}, q{target => 'maximal', max_length => 2},
  q{target => 'generators', max_length => 2}, q{include => '{1,2,3}'}, q{target => 'closed', include => '{1,2,3}'}, q{target => 'generators', include => '{1,2,3}'},
  q{exclude => '{1,2,3}', top_k => 9}, q{max_support => 0.01, min_length => 2};
equal('rules', 'min_count => 12, min_confidence => 0.1');
equal('rules', "min_count => 12, $_", 'two servers') for 'max_lhs => 1', 'max_rhs => 2, top_k => 20', q{rhs_include => '{1,2,3}', exclude => '{5}'};

# Joins of two tables: partitions with the same bounds on two servers, queries on four servers, partitions here, and a table with
# itself.
my %joined = (
    'two servers'          => q{'two', 'two_tags', a_column => 'item', left_b_column => 'tid'},
    'four servers by name' => qq{'SELECT item, tid FROM baskets', '"tags by b"', right_b_column => 'b', c_column => 'c', $servers},
    'partitions here'      => q{'here', 'here_tags', a_column => 'item', left_b_column => 'tid'},
);
for my $arguments ('min_count => 6', 'top_k => 20', 'min_count => 2, per_item_top_k => 3', 'min_count => 1')
{
    my $expected = answer(q{join_project('likes', 'one_tags'}, $arguments);
    like($expected, qr/\d/, "join_project($arguments) has rows");
    ok(answer("distributed_join_project($joined{$_}", $arguments) eq $expected, "join_project($arguments), $_") for sort keys %joined;
}
ok(answer(q{distributed_join_project('two', 'two', a_column => 'item', left_b_column => 'tid'}, 'min_count => 9') eq answer(q{join_project('likes', 'one'}, 'min_count => 9'),
    'a table joined with itself');

# Functions of the same names in the schema of the extension, here and on the servers, that raise an error: with types that would fit
# an untyped text or a small number better, and with fewer parameters than the function of the extension. None may be called. One
# with all of its parameters and one more is not told from it by the server, which refuses the call.
{
    my @parts = ([ $nodes[0], 'coordinator', 'public' ], map { [ $nodes[$_], 'postgres', '"its tools"' ] } 0, 1);
    for my $part (@parts)
    {
        my ($node, $database, $schema) = @$part;
        my ($pairs, $itemsets, $joins) = map { "$schema.batmap_${_}_counts" } qw(pair itemset join);
        my %lookalikes = (
            batmap_pair_counts_from => [ $pairs, 'query text, min_count int4', 'query text, min_support float8', 'query text, candidates batmap_pair_counts',
                'query text, min_support float8, include int8[]', 'query varchar, min_count int8', 'query name, min_count int8, tid_column text' ],
            batmap_itemset_candidates => [ $itemsets, 'query text, min_count int4', 'query text, min_support float8', 'query text, min_count int4, max_length int4' ],
            batmap_itemset_count => [ $itemsets, 'query text, candidates batmap_itemset_counts', 'query varchar, candidates batmap_itemset_counts', 'query text, candidates batmap_itemset_counts, VARIADIC more name[]' ],
            batmap_join_counts_from => [ $joins, 'left_query text, right_query text, min_count int4', 'left_query text, right_query text, candidates batmap_join_counts' ],
            _batmap_episode_counts_of_part => [ "$schema.batmap_episode_counts", 'query text, unit int4, ticks anyarray, min_count int8, min_rate float8, max_length int4, include int8[], exclude int8[], counting text, same_time boolean, candidates batmap_episode_counts',
                'query varchar, unit int4, ticks int8[], min_count int8, min_rate float8, max_length int4, include int8[], exclude int8[], counting varchar, same_time boolean, candidates batmap_episode_counts' ],
            batmap_pair_counts_total => [ 'int8', 'counts anyelement' ],
            sum => [ $itemsets, 'VARIADIC counts batmap_itemset_counts[]' ]);
        my $functions = join '', map {
            my ($name, $type, @parameters) = ($_, @{ $lookalikes{$_} });
            map { "CREATE FUNCTION $schema.$name($_) RETURNS $type LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'a lookalike of $name was called'; END \$\$;" } @parameters;
        } sort keys %lookalikes;
        $node->safe_psql($database, "SET search_path = $schema, pg_catalog; $functions");
    }
    for my $function ('pairs', 'itemsets')
    {
        equal($function, $_, 'two servers', 'partitions here') for 'min_count => 12', 'min_support => 0.01', q{min_count => 12, include => '{1,2,3}', exclude => '{5}'};
    }
    equal('itemsets', 'min_count => 12, max_length => 2', 'two servers', 'four servers by name');
    my $expected = answer(q{join_project('likes', 'one_tags'}, 'min_count => 6');
    ok(answer("distributed_join_project($joined{$_}", 'min_count => 6') eq $expected, "join_project, with lookalikes, $_") for sort keys %joined;
    $expected = answer(q{episodes('SELECT at, event, stream FROM one_events', ARRAY[0, 20]}, 'min_count => 60');
    ok(answer(q{distributed_episodes('two_events', ARRAY[0, 20]}, 'min_count => 60') eq $expected, 'episodes, with lookalikes');
    $nodes[1]->safe_psql('postgres', q{SET search_path = "its tools"; CREATE FUNCTION batmap_itemset_count(query text, candidates batmap_itemset_counts,
        tid_column name, item_column name, params record, more int4 DEFAULT 0) RETURNS batmap_itemset_counts LANGUAGE plpgsql AS
        'BEGIN RAISE ''a lookalike of batmap_itemset_count was called''; END'});
    refused(q{SELECT * FROM batmap_distributed_itemsets('two', min_count => 12)}, 'a lookalike with one more parameter', 'function .* is not unique', undef,
        context => q{recount, part "server '1'"});
    for my $part (@parts)
    {
        my ($node, $database, $schema) = @$part;
        is( $node->safe_psql($database, qq{
                SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%a lookalike of%';
                SET client_min_messages = warning;
                DO \$\$ DECLARE f regprocedure; BEGIN
                    FOR f IN SELECT oid FROM pg_proc WHERE prosrc LIKE '%a lookalike of%' LOOP EXECUTE 'DROP FUNCTION ' || f; END LOOP;
                END \$\$;}), $node == $nodes[1] ? 19 : 18, 'they were there');
    }
}

# Episodes, whose streams lie in one part.
my $episodes_by_name = qq{'"events by stream"', GAPS, time_column => 'w"hen', event_column => 'page', stream_column => 'visitor', $servers};
my %tables_of_events = (
    'two servers'          => q{'two_events', GAPS},
    'four servers by name' => $episodes_by_name,
    'partitions here'      => q{'here_events', GAPS, time_column => 'at', event_column => 'event', stream_column => 'stream'},
    'one table'            => q{'one_events', GAPS},
);
for my $case (
    [ 'ARRAY[0, 20]', 'min_count => 60' ], [ 'ARRAY[[0, 10], [20, 40]]', 'min_count => 90, max_length => 3' ], [ 'ARRAY[2, 12]', 'min_rate => 0.002, max_length => 3' ],
    [ 'ARRAY[0, NULL]', q{min_count => 300, counting => 'streams'} ], [ 'ARRAY[0, 20]', 'min_count => 12, max_length => 3, same_time => true' ],
    [ 'ARRAY[[0, 10], [0, 10]]', q{min_count => 20, include => '{1,2}', exclude => '{3}', min_length => 2} ], [ 'ARRAY[0, 20]', 'min_count => 30, top_k => 9, min_length => 2' ],
    [ 'ARRAY[0, 20]', 'min_count => 2, max_length => 2' ])
{
    my ($gaps, $arguments) = @$case;
    my $expected = answer(qq{episodes('SELECT at, event, stream FROM one_events', $gaps}, $arguments);
    like($expected, qr/\d/, "episodes($gaps, $arguments) has rows");
    ok(answer('distributed_episodes(' . $tables_of_events{$_} =~ s/GAPS/$gaps/r, $arguments) eq $expected, "episodes($gaps, $arguments), $_") for sort keys %tables_of_events;
}

# -- What is refused -----------------------------------------------------------------------------------------------

refused(q{SELECT * FROM batmap_distributed_pairs('lines', min_count => 20, tid_column => 't"id', item_column => 'it''em')},
    'parts that are not of tid', 'table "lines" is not distributed by its tid_column', 'Distribute the rows by that column first');
refused(q{SELECT * FROM batmap_distributed_pairs('baskets', min_count => 20, servers => ARRAY['server ''0''', 'server ''1'''])},
    'servers that may share transactions', 'a transaction may lie on several of the 2 servers', 'Say disjoint => true');
refused(q{SELECT * FROM batmap_distributed_pairs('baskets', min_count => 20, servers => '{host=localhost dbname=postgres}')},
    'no connection string', 'server "host=localhost dbname=postgres" does not exist');
refused(q{SELECT * FROM batmap_distributed_pairs('baskets', min_count => 20, servers => ARRAY['server ''0''', 'server ''0'''], disjoint => true)},
    'a server twice', q{server "server '0'" is named twice}, 'Each server is asked once');
refused(q{SELECT * FROM batmap_distributed_pairs('SELECT tid, item FROM one', min_count => 20)}, 'a query', '.* is not the name of a table', '.*Only with servers a query will do');
refused(q{SELECT * FROM batmap_distributed_pairs('lines', min_count => 20, disjoint => true)}, 'columns without a name', 'table "lines" has 4 columns, not 2', 'Name the column');
refused(q{SELECT * FROM batmap_distributed_pairs('two', min_count => 20, tid_column => 'tid"; DROP TABLE one; --')}, 'a column that is none', 'column "tid"; DROP TABLE one; --" of table "two" does not exist');
refused(q{SELECT * FROM batmap_distributed_pairs('two')}, 'no threshold', 'a threshold is missing', 'Give min_count or min_support');
refused(q{SELECT * FROM batmap_distributed_pairs(NULL, 1)}, 'no table', 'source must not be NULL', 'Give the name of a table');
refused(q{SELECT * FROM batmap_distributed_pairs('two', 20)}, 'a role without rights', 'permission denied for table two', undef, role => 'guest');
coordinator('GRANT SELECT ON two TO guest; GRANT USAGE ON SCHEMA "its dblink" TO guest');
refused(q{SELECT * FROM batmap_distributed_pairs('two', 20)}, 'a role without user mapping', '(permission denied for foreign server|user mapping not found)', undef, role => 'guest');
coordinator('ALTER TABLE "lines of 3" ENABLE ROW LEVEL SECURITY; GRANT SELECT ON lines, "lines of 3" TO guest');
refused(q{SELECT * FROM batmap_distributed_pairs('lines', min_count => 20, tid_column => 't"id', item_column => 'it''em', disjoint => true)}, 'policies of a partition',
    'row-level security of table "lines of 3" applies to you', 'Give a query', role => 'guest');
coordinator('ALTER TABLE "lines of 3" DISABLE ROW LEVEL SECURITY; REVOKE ALL ON lines, "lines of 3" FROM guest');
$nodes[1]->append_conf('postgresql.conf', 'pre_auth_delay = 2');
$nodes[1]->reload;
my ($status, $left, $cancelled) = $nodes[0]->psql('coordinator', q{
    SET statement_timeout = '1s';
    SELECT * FROM batmap_distributed_pairs('two', 20);
    SET statement_timeout = 0;
    SELECT coalesce(cardinality("its dblink".dblink_get_connections()), 0)}, on_error_stop => 0);
like($cancelled, qr/canceling statement due to statement timeout/, 'a cancel while a server is connected');
is($left, '0', 'and no connection is left');
$nodes[1]->append_conf('postgresql.conf', 'pre_auth_delay = 0');
$nodes[1]->reload;

refused(q{SELECT * FROM batmap_distributed_episodes('two_events', ARRAY[0, 20], 60, time_column => 'at', event_column => 'stream', stream_column => 'event')},
    'events by another column', 'table "two_events" is not distributed by its stream_column', 'Distribute the rows by that column first', detail => 'A stream whose rows lie in two of the 2 parts');
refused(q{SELECT * FROM batmap_distributed_episodes('events', ARRAY[0, 20], 60, servers => ARRAY['server ''0''', 'server ''1'''])}, 'servers that may share streams', 'a stream may lie on several of the 2 servers');
refused(q{SELECT * FROM batmap_distributed_episodes('SELECT at, event FROM events', ARRAY[0, 20], 60, servers => ARRAY['server ''0'''])}, 'events without streams', 'input query must have a third column');
refused(q{SELECT * FROM batmap_distributed_episodes('two', ARRAY[0, 20], 60)}, 'a table without streams', 'table "two" has 2 columns, not 3', 'Name the column that is read with time_column');
refused(q{SELECT * FROM batmap_distributed_episodes('two_events', ARRAY[0, 20], top_k => 3)}, 'episodes without a threshold', 'a threshold is missing', 'Give min_count or min_rate: top_k alone');

refused(q{SELECT * FROM batmap_distributed_join_project('two', 'other_tags', 6, a_column => 'item', left_b_column => 'tid')},
    'tables with other bounds', 'tables "two" and "other_tags" are not distributed alike', 'Distribute both by b');
refused(q{SELECT * FROM batmap_distributed_join_project('two', 'one_tags', 6, a_column => 'item', left_b_column => 'tid')},
    'a table of this server', 'tables "two" and "one_tags" do not lie on the same servers', 'Each part must have rows of both tables');
refused(q{SELECT * FROM batmap_distributed_join_project('two', 'two_tags', 6, a_column => 'tid', left_b_column => 'item')},
    'a table by another column', 'table "two" is not distributed by its left_b_column');
refused(q{SELECT * FROM batmap_distributed_join_project('two', 'two_tags', 6, a_column => 'item', left_b_column => 'tid', right_b_column => 'c', c_column => 'b')},
    'the other table by another column', 'table "two_tags" is not distributed by its right_b_column');
refused(q{SELECT * FROM batmap_distributed_join_project('likes', 'tags', 6, servers => ARRAY['server ''0''', 'server ''1'''])},
    'joined servers that may share b', 'a transaction may lie on several of the 2 servers', 'Say disjoint => true');
refused(q{SELECT * FROM batmap_distributed_join_project('likes', 'tags', 6, a_column => 'item', servers => ARRAY['server ''0'''], disjoint => true)},
    'one column without the other', 'left_b_column is missing', 'Name both columns');

# -- Servers that stop ---------------------------------------------------------------------------------------------

$nodes[1]->stop('fast');
refused(q{SELECT * FROM batmap_distributed_pairs('two', 20)}, 'a server is down', 'could not establish connection', undef, context => q{connecting, part "server '1'"});
$nodes[1]->start;
is(coordinator(q{SELECT count(*) FROM batmap_distributed_pairs('two', 20)}), coordinator(q{SELECT count(*) FROM batmap_pairs('one', 20)}), 'then the right answer');

# In each round, a server whose process ends. Its view counts the rounds in a setting of the session.
for my $round (1, 2)
{
    $nodes[1]->safe_psql('postgres', qq{
        CREATE FUNCTION end_in_$round() RETURNS int LANGUAGE plpgsql AS \$\$ BEGIN
            PERFORM set_config('test.round', (coalesce(current_setting('test.round', true), '0')::int + 1)::text, false);
            IF current_setting('test.round')::int = $round THEN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60); END IF;
            RETURN 1;
        END \$\$;
        CREATE VIEW ends_in_$round AS SELECT tid, item FROM baskets, (SELECT end_in_$round() OFFSET 0) s});
    $nodes[0]->safe_psql('postgres', "CREATE VIEW ends_in_$round AS SELECT tid, item FROM baskets");
    refused(qq{SELECT * FROM batmap_distributed_itemsets('ends_in_$round', min_count => 12, servers => ARRAY['server ''0''', 'server ''1'''], disjoint => true)},
        "a process ends in round $round", 'terminating connection due to administrator command', undef, context => ($round == 1 ? 'candidates' : 'recount') . q{, part "server '1'"});
}
equal('itemsets', 'min_count => 12, max_length => 2', 'two servers');

# The same for the two rounds of a join. Then a part that raises an error of its own, and one whose rows change between the rounds.
my $by_name = q{servers => ARRAY['server ''0''', 'server ''1'''], disjoint => true};
for my $round (1, 2)
{
    refused(qq{SELECT * FROM batmap_distributed_join_project('SELECT item, tid FROM ends_in_$round', 'baskets', 9, $by_name)},
        "a process ends in round $round of a join", 'terminating connection due to administrator command', undef,
        context => ($round == 1 ? 'candidates' : 'recount') . q{, part "server '1'"});
}
is(coordinator(qq{SELECT count(*) > 10 FROM batmap_distributed_join_project('SELECT item, tid FROM baskets', 'baskets', 9, $by_name)}), 't', 'then the join answers');
refused(qq{SELECT * FROM batmap_distributed_pairs('SELECT tid, item / (tid - 5) FROM baskets', 20, $by_name)}, 'an error of a part', 'division by zero', undef,
    context => q{candidates, part "server '1'"});
$nodes[1]->safe_psql('postgres', q{
    CREATE FUNCTION round_number() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        PERFORM set_config('test.round', (coalesce(current_setting('test.round', true), '0')::int + 1)::text, false);
        RETURN current_setting('test.round')::int;
    END $$;
    CREATE VIEW changing AS SELECT tid, item FROM baskets, (SELECT round_number() AS n OFFSET 0) s WHERE n = 1 OR tid <> 5;
    CREATE VIEW thinned AS SELECT tid, item FROM baskets, (SELECT round_number() AS n OFFSET 0) s WHERE n = 1 OR tid % 5 > 0 UNION ALL SELECT tid, -1 FROM baskets});
$nodes[0]->safe_psql('postgres', 'CREATE VIEW changing AS SELECT tid, item FROM baskets; CREATE VIEW thinned AS SELECT tid, item FROM baskets UNION ALL SELECT tid, -1 FROM baskets');
for my $function ('pairs', 'itemsets')
{
    refused(qq{\\set VERBOSITY verbose\nSELECT * FROM batmap_distributed_$function('changing', 12, $by_name)}, "$function of rows that change between the rounds",
        '40001: rows of table "changing" changed between the two rounds', 'Ask again', detail => 'There were \d+ transactions in a part, then \d+');
}
refused(qq{\\set VERBOSITY verbose\nSELECT * FROM batmap_distributed_pairs('thinned', 12, $by_name)}, 'pairs of as many transactions with fewer items',
    '40001: rows of table "thinned" changed between the two rounds', 'Ask again', detail => 'A part has as many transactions as before, with other items or times');

# A cancel ends the statements of the parts, and closes the connections, also after it is caught.
is( coordinator(q{
        SET statement_timeout = '500ms';
        DO $$ BEGIN
            PERFORM batmap_distributed_pair_counts('SELECT 1, 2 FROM pg_sleep(77)', 1, servers => ARRAY['server ''0''', 'server ''1'''], disjoint => true);
        EXCEPTION WHEN query_canceled THEN PERFORM 1; END $$;
        SELECT coalesce("its dblink".dblink_get_connections()::text, 'no connections')}), 'no connections', 'a timeout closes the connections');
ok($nodes[$_]->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(77)%' AND pid <> pg_backend_pid()}), "and ends the statement on server $_")
  for 0, 1;

# While a part works, others see which parts have answered; a cancel from another session reaches it, and the next call answers.
$nodes[1]->safe_psql('postgres', 'CREATE VIEW slow AS SELECT tid, item FROM baskets, (SELECT 1 FROM pg_sleep(78) OFFSET 0) s');
$nodes[0]->safe_psql('postgres', 'CREATE VIEW slow AS SELECT tid, item FROM baskets');
my $session = $nodes[0]->background_psql('coordinator', on_error_stop => 0);
$session->query_until(qr/begun/, "\\echo begun\nSELECT count(*) FROM batmap_distributed_itemsets('slow', 12, $by_name);\n");
ok($nodes[0]->poll_query_until('coordinator', q{SELECT tasks_done = 1 AND tasks_total = 2 FROM batmap_progress WHERE operation = 'batmap_distributed_itemset_counts'}),
    'the progress: one part of two has answered');
is(coordinator(q{SELECT pg_cancel_backend(pid) FROM batmap_progress WHERE operation = 'batmap_distributed_itemset_counts'}), 't', 'another session cancels it');
ok($nodes[1]->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE query LIKE '%FROM slow%' AND state = 'active' AND pid <> pg_backend_pid()}),
    'the statement of the part ends');
ok($nodes[0]->poll_query_until('coordinator', q{SELECT count(*) = 0 FROM batmap_progress}), 'nothing is in progress any more');
$session->quit;
equal('pairs', 'min_count => 20', 'two servers');

# In the second round a part counts what it did not report itself. One that has reported all is not asked.
sub debug_of { my (undef, undef, $messages) = $nodes[0]->psql('coordinator', "SET client_min_messages = debug1; $_[0]"); return $messages; }
sub bytes_of { my ($messages, $round) = @_; my %bytes = $messages =~ /_counts, $round: part \d+ of \d+, "server '(\d)'", (\d+) bytes/g; return %bytes; }
for my $kind ([ 'itemsets', 'itemset, support_count, total' ], [ 'pairs', 'item_a, item_b, support_count, count_a, count_b, total' ])
{
    my ($name, $columns) = @$kind;
    my $call = "SELECT $columns FROM batmap_distributed_$name";
    my $messages = debug_of("$call('two', min_count => 12)");
    my %found = bytes_of($messages, 'candidates');
    my %counted = bytes_of($messages, 'recount');
    ok($found{$_} > 1000 && $counted{$_} > 0 && $counted{$_} < $found{$_}, "$name: server $_ counts less than it has found: $counted{$_} of $found{$_} bytes") for 0, 1;

    for my $case ([ 'SELECT tid, item FROM baskets WHERE tid % 4 = 0', '1' ], [ 'SELECT tid, item % 2 AS item FROM baskets WHERE tid % 4 < 2', '' ])
    {
        my ($source, $asked) = @$case;
        $messages = debug_of("$call('$source', min_count => 12, $by_name)");
        %counted = bytes_of($messages, 'recount');
        is(join(' ', sort keys %counted), $asked, "$name: servers that count again of $source: '$asked'");
        my $expected = $source =~ s/baskets/one/r;
        is(coordinator("$call('$source', min_count => 12, $by_name) ORDER BY 1, 2"),
            coordinator("SELECT $columns FROM batmap_$name('$expected', min_count => 12) ORDER BY 1, 2"), "$name: and the answer is right");
    }
}

# What a part has done is shown.
my ($status, undef, $stderr) = $nodes[0]->psql('coordinator', q{SET client_min_messages = debug1; SELECT count(*) FROM batmap_distributed_pairs('two', min_count => 20)});
like($stderr, qr/recount: part 2 of 2, "server '\d'", \d+ bytes.*: \d+ bytes sent, \d+ received/s, 'each part and the bytes in debug messages');

$_->stop for @nodes;
done_testing();
