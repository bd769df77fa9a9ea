# Random queries that the plan node BatmapJoinProject answers, and similar ones that it does not, over random
# tables with NULLs, repeated rows and keys of many types. The rows must be the same with and without the node.
# Plain plans are made expensive, so that the node is chosen wherever it can be.
#
# BATMAP_RANDOM_QUERIES: number of queries (default 600, and 4000 with BATMAP_TEST_GRID=full, as in
# `make check-reference`). BATMAP_SEED: random seed (default fixed).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use contrib;

my $queries = $ENV{BATMAP_RANDOM_QUERIES} // (($ENV{BATMAP_TEST_GRID} // '') eq 'full' ? 4000 : 600);
my $seed = $ENV{BATMAP_SEED} // 20261121;
srand $seed;
diag "seed $seed, $queries queries";

my $node = PostgreSQL::Test::Cluster->new('node');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
session_preload_libraries = 'batmap'
max_parallel_workers_per_gather = 2
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
autovacuum = off
CONF
$node->start;

sub one_of { return $_[ int(rand(@_)) ] }
sub chance { return rand() < $_[0] }

# The columns of every table, with an expression that computes a value from a random number r in 0 .. 1.
my %columns = (
    k4 => [ 'int4', '(r * %d)::int4' ],
    k8 => [ 'int8', '(r * %d)::int8 * 3000000000' ],
    k2 => [ 'int2', '(r * %d)::int2' ],
    i4 => [ 'int4', '(r * %d)::int4 - 3' ],
    i8 => [ 'int8', '(r * %d)::int8 - 3' ],
    txt => [ 'text', q{'v' || (r * %d)::int4} ],
    c => [ 'text COLLATE "C"', q{chr(65 + (r * %d)::int4)} ],
    vc => [ 'varchar(20)', q{repeat('x', (r * %d)::int4 %% 20)} ],
    num => [ 'numeric', '(r * %d)::int4 / 4.0' ],
    flt => [ 'float8', q{CASE WHEN r < 0.05 THEN 'NaN'::float8 WHEN r < 0.1 THEN '-0' ELSE (r * %d)::int4 END} ],
    u => [ 'uuid', 'md5((r * %d)::int4::text)::uuid' ],
    d => [ 'date', q{date '2024-01-01' + (r * %d)::int4} ],
    ts => [ 'timestamptz', q{timestamptz '2024-01-01 00:00+00' + (r * %d)::int4 * interval '1 hour'} ],
    b => [ 'bool', '(r * %d)::int4 %% 2 = 0' ],
    arr => [ 'int4[]', 'ARRAY[(r * %d)::int4 %% 5, 1]' ],
);
my @names = sort keys %columns;

sub table {
    my ($name, $rows, $nulls, $how) = @_;
    my @definitions = map { "$_ $columns{$_}[0]" } @names;
    my @values = map {
        my $make = sprintf $columns{$_}[1], one_of(2, 7, 25, 60);
        $make =~ s/\br\b/random()/ if $make !~ /CASE/;
        $make = "(SELECT $make FROM (SELECT random() AS r WHERE n IS NOT NULL) q)" if $make =~ /CASE/;
        chance($nulls) ? "CASE WHEN random() < 0.85 THEN $make END" : $make
    } @names;
    my $partitions = $how eq 'partitioned'
      ? join "\n", map { "CREATE TABLE ${name}_$_ PARTITION OF $name FOR VALUES WITH (MODULUS 3, REMAINDER $_);" } 0 .. 2
      : '';
    my $by = $how eq 'partitioned' ? 'PARTITION BY HASH (k4)' : '';
    my $again = chance(0.5) ? "INSERT INTO $name SELECT * FROM $name WHERE random() < 0.3;" : '';
    return "CREATE TABLE $name (" . join(', ', @definitions) . ") $by;\n$partitions\n"
      . "INSERT INTO $name (" . join(', ', @names) . ") SELECT " . join(', ', @values) . " FROM generate_series(1, $rows) n;\n"
      . "$again\nANALYZE $name;\n";
}

my ($host, $port) = ($node->host, $node->port);
my $far = contrib::has('postgres_fdw') ? <<"SQL" : 'CREATE VIEW f AS TABLE n;';
CREATE EXTENSION postgres_fdw;
CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres',
    use_remote_estimate 'true', fdw_startup_cost '0', fdw_tuple_cost '0');
CREATE USER MAPPING FOR CURRENT_USER SERVER self;
CREATE SCHEMA far;
IMPORT FOREIGN SCHEMA public LIMIT TO (n) FROM SERVER self INTO far;
ALTER FOREIGN TABLE far.n RENAME TO f;
ALTER TABLE far.f SET SCHEMA public;
SQL
my @tables = (
    table('t', 300, 0, 'plain'), table('n', 250, 0.6, 'plain'), table('p', 300, 0.3, 'partitioned'),
    table('s', 40, 0.3, 'plain'), table('e', 0, 0, 'plain'));
$node->safe_psql('postgres', join "\n", "SELECT setseed(0.42);", @tables, <<'SQL', $far, <<'COMPARE');
CREATE TABLE uniq AS SELECT DISTINCT k4, i4, k4 + 1 AS k8, i4::text AS txt FROM t WHERE k4 IS NOT NULL AND i4 IS NOT NULL;
ALTER TABLE uniq ADD PRIMARY KEY (k4, i4);
CREATE VIEW v AS SELECT * FROM n WHERE i4 <> 2;
ANALYZE uniq;
SQL

-- Rows of a query without the node and with it, compared as bags; and whether the node stands in its plan.
CREATE FUNCTION compare(query text, OUT fired bool, OUT same bool, OUT failure text) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    PERFORM set_config('batmap.enable_join_project', 'on', true);
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    fired := plan::text LIKE '%BatmapJoinProject%';
    EXECUTE 'CREATE TEMP TABLE with_node ON COMMIT DROP AS ' || query;
    PERFORM set_config('batmap.enable_join_project', 'off', true);
    EXECUTE 'CREATE TEMP TABLE without_node ON COMMIT DROP AS ' || query;
    EXECUTE 'SELECT NOT EXISTS (TABLE with_node EXCEPT ALL TABLE without_node)
                AND NOT EXISTS (TABLE without_node EXCEPT ALL TABLE with_node)' INTO same;
    DROP TABLE with_node, without_node;
EXCEPTION WHEN OTHERS THEN
    failure := SQLERRM;
END $$;
COMPARE

# The possible keys and items of a side.
my @key_columns = qw(k4 k4 k4 k8 k2 txt num u d ts c vc flt);
my @item_columns = qw(i4 i4 i4 i8 txt c vc num flt u d ts b arr k4);

sub item {
    my ($alias, $table) = @_;
    return "$alias." . one_of(qw(i4 i4 txt k8)) if $table eq 'uniq';
    my $column = one_of(@item_columns);
    return "$alias.$column" if chance(0.8);
    return one_of("$alias.i4 % 5", "lower($alias.txt)", "coalesce($alias.i8, 9)", "$alias.num + 1", "$alias.i4 IS NULL",
        "($alias.i4, $alias.b)::text");
}

sub from {
    my ($table) = @_;
    return $table if $table eq 'uniq' || chance(0.85);
    return one_of("(SELECT * FROM $table WHERE k4 > 1)", "(SELECT DISTINCT * FROM $table)", "(SELECT * FROM $table OFFSET 0)");
}

sub query {
    my @all = qw(t t t n p s e f uniq v);
    my $left = one_of(@all);
    my $right = chance(0.5) ? $left : one_of(@all);
    my $uniq = $left eq 'uniq' || $right eq 'uniq';
    my $left_from = from($left);
    my $right_from = $left eq $right && chance(0.7) ? $left_from : from($right);
    my @keys = map { $uniq ? one_of(qw(k4 k4 k8 txt)) : one_of(@key_columns) } 1 .. (chance(0.8) ? 1 : 2);
    my @on = map { "a.$_ = b.$_" } @keys;
    push @on, 'a.k4 = b.k8' if chance(0.03);
    my @left_items = map { item('a', $left) } 1 .. (chance(0.85) ? 1 : 2);
    my @right_items = $left eq $right && chance(0.7) ? map { s/\ba\./b./r } @left_items
      : map { item('b', $right) } 1 .. (chance(0.85) ? 1 : 2);
    if (chance(0.45)) {
        my $same = $left_items[0] =~ s/\ba\./b./r eq $right_items[0];
        push @on, "$left_items[0] " . one_of(qw(< < > <> <= >=)) . " $right_items[0]" if $same;
    }
    my @where;
    push @where, 'a.i4 > 1', 'b.i4 > 1' if chance(0.1);
    push @where, 'a.i4 < 20' if chance(0.1);
    push @where, one_of("a.k4 <> 3", "b.txt LIKE 'v1%'", "a.k4 + b.k4 > 2", "a.i4 + 1 < b.i4", "a.k4 = 2", "random() < 2",
        "a.i4 = b.i4", "EXISTS (SELECT 1 FROM s WHERE s.k4 = a.k4)") if chance(0.15);
    my $join = chance(0.04) ? one_of('LEFT JOIN', 'FULL JOIN') : 'JOIN';
    @on = grep { /=/ && !/[<>]/ } @on if $join eq 'FULL JOIN';
    my $from = "FROM $left_from a $join $right_from b ON " . join(' AND ', @on);
    my @groups = (@left_items, @right_items);
    push @groups, one_of('a.k4', 'a.i4 + b.i4', '1 + 1') if chance(0.04);
    my $n = 0;
    my @outputs = map { "$_ AS g" . ++$n } @groups;
    my $key = $keys[0];
    my @counts = ('count(*)', 'count(*)', 'count(*)', "count(DISTINCT a.$key)", "count(b.$key)", "count($left_items[0])", 'count(1)');
    push @counts, 'sum(1)', 'count(*) FILTER (WHERE a.k4 > 1)', 'count(NULL)', 'count(a.k4 + b.k4)', 'count(DISTINCT a.i4)'
      if chance(0.1);
    my $count = one_of(@counts);
    my $where = @where ? 'WHERE ' . join(' AND ', @where) : '';
    my $groups = join ', ', @groups;
    my $kind = rand();
    if ($kind < 0.15) {
        return "SELECT DISTINCT " . join(', ', @outputs) . " $from $where";
    } elsif ($kind < 0.2) {
        return "SELECT " . join(', ', @outputs) . " $from $where GROUP BY $groups";
    }
    my @extra = chance(0.15) ? ("$count * 2 + 1 AS twice") : ();
    push @extra, 'count(*) AS again' if chance(0.1);
    push @extra, 'rank() OVER (ORDER BY count(*)) AS r' if chance(0.04);
    my $having = '';
    if (chance(0.5)) {
        my $bound = one_of(0, 1, 2, 2, 3, 5, 10, 40);
        $having = 'HAVING ' . one_of("$count >= $bound", "$count > $bound", "$bound <= $count", "$count = $bound",
            "$count >= $bound AND $groups[0] IS NOT NULL", "$count BETWEEN 2 AND $bound + 2", "$count >= NULL::int8",
            "$count >= (SELECT $bound)", "$count % 2 = 0");
    }
    my $select = 'SELECT ' . join(', ', @outputs, "$count AS cnt", @extra) . " $from $where GROUP BY $groups $having";
    $select .= ' ORDER BY cnt DESC, ' . join(', ', 1 .. @groups) . ' LIMIT ' . one_of(0, 1, 3, 10, 100)
      . (chance(0.3) ? ' OFFSET ' . one_of(1, 4) : '') if chance(0.2) && $groups !~ /uuid|\[\]/;
    return $select;
}

# The same with sides that have the columns of the query alone, each row once.
sub narrowed {
    my ($query) = @_;
    for my $alias (qw(a b)) {
        my %columns = map { $_ => 1 } $query =~ /\b$alias\.(\w+)/g;
        my $columns = join ', ', sort keys %columns;
        $query =~ s/\b(FROM|JOIN) (\w+) $alias\b/$1 (SELECT DISTINCT $columns FROM $2) $alias/;
    }
    return $query;
}

my $script = <<'SQL';
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET extra_float_digits = 1;
SET jit = off;
SQL
my @all = map { chance(0.15) ? narrowed(query()) : query() } 1 .. $queries;
my $number = 0;
for my $query (@all) {
    my $quoted = $query =~ s/'/''/gr;
    $script .= "SET batmap.memory_limit = '4GB';\n" if $number % 50 == 0;
    $script .= "SET batmap.memory_limit = '256kB';\n" if $number % 50 == 49;    # then the plain plan answers
    $script .= "SET max_parallel_workers_per_gather = " . ($number % 3 == 0 ? 2 : 0) . ";\n";
    $script .= "SELECT $number, fired, same, failure FROM compare('$quoted');\n";
    ++$number;
}
my $output = $node->safe_psql('postgres', $script);

my ($fired, $failed, $different, $answered, $out_of_memory) = (0, 0, 0, 0, 0);
my %failures;
for my $line (split /\n/, $output) {
    my ($which, $did_fire, $same, $failure) = split /\|/, $line, 4;
    next unless defined $failure;
    ++$answered;
    ++$fired if $did_fire eq 't';
    if ($failure =~ /memory/ && $all[$which] =~ /(FROM|JOIN) (\(SELECT|[vf] )/) {
        ++$out_of_memory;    # a subquery, or counts from far away: there is no plain plan to fall back to
    } elsif ($failure ne '') {
        ++$failed;
        ++$failures{$failure};
        diag "$failure: $all[$which]" if $failures{$failure} == 1 && $failure !~ /could not|FULL JOIN|operator does not exist|cannot/;
    } elsif ($same ne 't') {
        diag "different: $all[$which]" if ++$different <= 10;
    }
}
diag "$answered queries, $fired answered by the node, $failed with an error, $out_of_memory out of memory";
is($answered, $queries, 'every query was tried');
is($different, 0, "all $queries queries give the same rows with the node and without it");
cmp_ok($fired, '>', $queries / 4, "the node answered $fired of them");
# If plain SQL raises an error, too, the random query itself is wrong.
my @strange = grep { !/^(could not identify|operator does not exist|FULL JOIN is only|column .* does not exist|function)/ } keys %failures;
is(join('; ', @strange), '', "$failed queries with an error that plain SQL has, too");

$node->stop;
done_testing();
