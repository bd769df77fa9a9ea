# The rows of a table are distributed over two servers by tid. A third database reads both through postgres_fdw,
# lets each server count its own rows, and adds up the counts. The result must equal that of one server with all
# rows. This tests what docs/scaling-out.md says about foreign servers.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use contrib 'postgres_fdw';

my @nodes = map { PostgreSQL::Test::Cluster->new("shard_$_") } (1, 2);
$_->init, $_->start for @nodes;

# Both servers have all rows for the comparison; baskets has only those of the server itself.
for my $shard (0, 1)
{
    $nodes[$shard]->safe_psql('postgres', qq{
        CREATE EXTENSION batmap;
        CREATE TABLE all_baskets AS
            SELECT g % 3 AS country, g % 4001 % 2 AS shard, g % 4001 AS tid, (g::int8 * g % 311)::int4 AS item FROM generate_series(1, 60000) g;
        CREATE TABLE baskets AS SELECT * FROM all_baskets WHERE shard = $shard;
        CREATE TABLE sets AS SELECT tid, batmap_agg(item) AS items FROM baskets GROUP BY tid;
        CREATE VIEW basket_counts AS SELECT batmap_pair_counts_agg(tid, item) AS counts FROM baskets;
        CREATE VIEW set_counts AS SELECT batmap_pair_counts_agg(items) AS counts FROM sets;
        CREATE VIEW country_counts AS SELECT country, batmap_pair_counts_agg(tid, item) AS counts FROM baskets GROUP BY country;
        CREATE VIEW basket_relation AS SELECT batmap_relation_agg(tid, item) AS relation FROM baskets;
        ANALYZE});
}

$nodes[0]->safe_psql('postgres', 'CREATE DATABASE coordinator');
my $setup = q{
    CREATE EXTENSION batmap;
    CREATE EXTENSION postgres_fdw;
    CREATE TABLE basket_counts (counts batmap_pair_counts);
    CREATE TABLE set_counts (counts batmap_pair_counts);
    CREATE TABLE country_counts (country int4, counts batmap_pair_counts);
    CREATE TABLE basket_relation (relation batmap_relation);
    CREATE TABLE baskets (shard int4, country int4, tid int4, item int4) PARTITION BY LIST (shard);
};
for my $shard (0, 1)
{
    my ($host, $port) = ($nodes[$shard]->host, $nodes[$shard]->port);
    $setup .= qq{
        CREATE SERVER shard_$shard FOREIGN DATA WRAPPER postgres_fdw
            OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'batmap', use_remote_estimate 'true', async_capable 'true');
        CREATE USER MAPPING FOR CURRENT_USER SERVER shard_$shard;
        CREATE FOREIGN TABLE basket_counts_$shard () INHERITS (basket_counts) SERVER shard_$shard OPTIONS (table_name 'basket_counts');
        CREATE FOREIGN TABLE set_counts_$shard () INHERITS (set_counts) SERVER shard_$shard OPTIONS (table_name 'set_counts');
        CREATE FOREIGN TABLE country_counts_$shard () INHERITS (country_counts) SERVER shard_$shard OPTIONS (table_name 'country_counts');
        CREATE FOREIGN TABLE basket_relation_$shard () INHERITS (basket_relation) SERVER shard_$shard OPTIONS (table_name 'basket_relation');
        CREATE FOREIGN TABLE baskets_$shard PARTITION OF baskets FOR VALUES IN ($shard) SERVER shard_$shard OPTIONS (table_name 'baskets');
    };
}
$nodes[0]->safe_psql('coordinator', $setup);

sub one_server { return $nodes[1]->safe_psql('postgres', $_[0]); }
sub coordinator { return $nodes[0]->safe_psql('coordinator', $_[0]); }

# Values are sent as text, under any settings of the sessions.
my $whole = one_server('SELECT batmap_pair_counts_agg(tid, item) FROM all_baskets');
like($whole, qr/^c1:/, 'one server counts all');
for my $shard (0, 1)
{
    isnt($nodes[$shard]->safe_psql('postgres', 'SELECT counts FROM basket_counts'), $whole, "server $shard alone has other counts");
}
is(coordinator('SELECT sum(counts) FROM basket_counts'), $whole, 'the counts of both servers add up to those of one');
is(coordinator('SELECT sum(counts) FROM set_counts'), $whole, 'and so do those of sets');
like(coordinator('EXPLAIN (COSTS OFF) SELECT sum(counts) FROM basket_counts'), qr/Async Foreign Scan.*Async Foreign Scan/s, 'both servers count at once');

for my $question ('min_count => 20', 'min_support => 0.01', 'top_k => 25', 'per_item_top_k => 1', q{min_count => 5, include => '{1,2,3}'})
{
    my $rows = "SELECT count(*), md5(string_agg(p::text, ' ' ORDER BY item_a, item_b)) FROM";
    my $expected = one_server("$rows batmap_pairs('SELECT tid, item FROM all_baskets', $question) p");
    like($expected, qr/^[1-9]/, "$question: there are pairs");
    is(coordinator("$rows (SELECT sum(counts) AS c FROM basket_counts) s, LATERAL batmap_pairs(s.c, $question) p"),
        $expected, "$question: the pairs of the sum");
    is(coordinator("$rows batmap_pairs('SELECT tid, item FROM baskets', $question) p"), $expected, "$question: and those of rows that are fetched");
}

# One group at a time.
my $grouped = q{LATERAL batmap_pairs(s.c, top_k => 3) p ORDER BY country, support_count DESC, item_a, item_b};
is( coordinator("SELECT country, p.* FROM (SELECT country, sum(counts) AS c FROM country_counts GROUP BY country) s, $grouped"),
    one_server("SELECT country, p.* FROM (SELECT country, batmap_pair_counts_agg(tid, item) AS c FROM all_baskets GROUP BY country) s, $grouped"),
    'the pairs of each group');

# Without views: if the foreign server lists the extension, it runs the aggregate itself.
my $pushed = 'SELECT sum(c) FROM (SELECT shard, batmap_pair_counts_agg(tid, item) AS c FROM baskets GROUP BY shard) s';
my $partitionwise = 'SET enable_partitionwise_aggregate = on;';
my @remote = coordinator("$partitionwise EXPLAIN (VERBOSE, COSTS OFF) $pushed") =~ /Remote SQL: SELECT .*batmap_pair_counts_agg\(/g;
is(scalar @remote, 2, 'both servers get the aggregate');
is(coordinator("$partitionwise $pushed"), $whole, 'with the same counts');

# The rule: no transaction may be in two of the sums. A relation merges transactions that are in several.
$nodes[1]->safe_psql('postgres', "INSERT INTO baskets SELECT * FROM all_baskets WHERE tid = 2");
is(coordinator('SELECT batmap_pair_counts_total(sum(counts)) FROM basket_counts'), '4002', 'a transaction on two servers counts twice');
is(coordinator("SELECT count(*), max(total) FROM (SELECT batmap_relation_agg(relation) AS r FROM basket_relation) q, LATERAL batmap_pairs(q.r, min_count => 20) p"),
    one_server("SELECT count(*), max(total) FROM batmap_pairs('SELECT tid, item FROM all_baskets', min_count => 20)"),
    'in a merged relation once');

$_->stop for @nodes;
done_testing();
