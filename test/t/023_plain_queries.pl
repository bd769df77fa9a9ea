# Random plain queries with and without the plan nodes BatmapJoinProject, BatmapItemsets and BatmapListedPairs: the rows must
# be the same. The queries join two sides, each a random join of tables, by a random key, with random filters, items,
# comparisons, aggregates and HAVING; or three or four copies of one side; or two sides and a list of pairs of their items, or
# three edges of a graph; or they call a function that returns a set twice over each row of a random join.
# PostgreSQL 19 can group below a join (eager aggregation). There one of the two plans is made with it and the other without, in turns.
#
# BATMAP_PLAIN_QUERIES: number of queries (default 2000, and 5000 with BATMAP_TEST_GRID=full, as in `make check-reference`).
# BATMAP_PLAIN_SEED: seed (default 1).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use List::Util qw(shuffle);
use Test::More;

my $queries = $ENV{BATMAP_PLAIN_QUERIES} // (($ENV{BATMAP_TEST_GRID} // '') eq 'full' ? 5000 : 2000);
my $seed = $ENV{BATMAP_PLAIN_SEED} // 1;
srand $seed;

my $node = PostgreSQL::Test::Cluster->new('plain');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'batmap'\njit = off\nfsync = off\n");
$node->start;
# Duplicates, NULLs, skew, an empty table, partitions, inheritance, row security, a unique index.
$node->safe_psql('postgres', q{
    CREATE EXTENSION batmap;
    CREATE ROLE reader;
    CREATE TABLE orders (ord int PRIMARY KEY, who int, day date NOT NULL, land text);
    CREATE TABLE products (prod int PRIMARY KEY, name text NOT NULL, kind text, price int);
    CREATE TABLE lines (ord int, prod int, n int);
    CREATE TABLE clean (ord int NOT NULL, prod bigint NOT NULL, n smallint NOT NULL, UNIQUE (ord, prod));
    CREATE TABLE parts (ord int, prod int, n int) PARTITION BY RANGE (ord);
    CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (100);
    CREATE TABLE parts_high PARTITION OF parts DEFAULT;
    CREATE TABLE parent (ord int, prod int, n int);
    CREATE TABLE child () INHERITS (parent);
    CREATE TABLE nothing (ord int, prod int, n int);
    CREATE TABLE hidden (ord int, prod int, n int);
    CREATE TABLE special (ord int NOT NULL);
    CREATE TABLE labels (prod bigint UNIQUE, label text, kind text);  -- NULLs, labels of several products, of one, of none
    INSERT INTO orders SELECT k, CASE WHEN k % 13 > 0 THEN k % 29 END, date '2024-01-01' + k % 60, CASE WHEN k % 7 > 0 THEN 'land ' || k % 4 END FROM generate_series(0, 199) k;
    INSERT INTO products SELECT k, 'name ' || k % 23, CASE WHEN k % 5 > 0 THEN 'kind ' || k % 6 END, CASE WHEN k % 9 > 0 THEN k % 10 END FROM generate_series(0, 29) k;
    INSERT INTO lines SELECT CASE WHEN k % 37 > 0 THEN k * 7919 % 80 * 2 END, CASE WHEN k % 41 > 0 THEN (k * k / 7 + k % 5) % 30 END, CASE WHEN k % 11 > 0 THEN k % 4 - 1 END
        FROM generate_series(1, 800) k;
    INSERT INTO clean SELECT DISTINCT ON (ord, prod) ord, prod, coalesce(n, 0) FROM lines WHERE ord IS NOT NULL AND prod IS NOT NULL;
    INSERT INTO parts SELECT * FROM lines WHERE ord IS NOT NULL;
    INSERT INTO parent SELECT * FROM lines WHERE n > 1;
    INSERT INTO child SELECT * FROM lines WHERE n <= 1;
    INSERT INTO hidden SELECT * FROM lines;
    INSERT INTO special SELECT k * 3 % 200 FROM generate_series(1, 150) k;
    CREATE TABLE posts (ord int PRIMARY KEY, prod int, n int, ids int[], tags text[], doc jsonb, words text);
    INSERT INTO posts (ord, prod, n, ids) SELECT k, k % 30, CASE WHEN k % 11 > 0 THEN k % 4 - 1 END,
            CASE WHEN k % 31 = 0 THEN NULL WHEN k % 29 = 0 THEN '{}' WHEN k % 23 = 0 THEN ARRAY[[k % 20, 3], [5, NULL]]
                ELSE ARRAY(SELECT CASE WHEN j * k % 17 > 0 THEN (j * j * 7 + k * j / 3) % 12 END FROM generate_series(1, k % 9) j) END
        FROM generate_series(0, 199) k;
    UPDATE posts SET tags = ids::text[], doc = coalesce(to_jsonb(ids), '[]'), words = array_to_string(ids, ' ');
    CREATE TABLE secret (LIKE posts);
    INSERT INTO secret SELECT * FROM posts;
    INSERT INTO secret SELECT * FROM posts WHERE ord % 7 = 0;
    ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
    CREATE POLICY shown ON secret FOR SELECT USING (ord % 3 > 0);
    CREATE VIEW walled WITH (security_barrier) AS SELECT * FROM posts WHERE n > 0;
    CREATE TABLE pieces (LIKE posts) PARTITION BY RANGE (ord);
    CREATE TABLE pieces_low PARTITION OF pieces FOR VALUES FROM (MINVALUE) TO (100);
    CREATE TABLE pieces_high PARTITION OF pieces DEFAULT;
    INSERT INTO pieces SELECT * FROM posts;
    INSERT INTO labels SELECT CASE WHEN k < 26 THEN k END, CASE WHEN k % 8 > 0 THEN 'label ' || least(k, 20) END, 'kind ' || k % 3 FROM generate_series(-2, 30) k;
    ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
    CREATE POLICY shown ON hidden FOR SELECT USING (prod % 3 > 0);
    CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM lines WHERE n > 0;
    CREATE TABLE sets (ord int, prod int, n int);
    INSERT INTO sets SELECT DISTINCT ON (ord, prod) * FROM lines;
    CREATE TABLE wanted (id int PRIMARY KEY, x int, y int, u bigint, s text, t text, label text);
    INSERT INTO wanted SELECT k, CASE WHEN k % 13 > 0 THEN k * 7 % 31 END, CASE WHEN k % 17 > 0 THEN k * k % 29 END, k * 11 % 30,
            (ARRAY['name ' || k % 23, 'kind ' || k % 6, 'land ' || k % 4, 'label ' || k % 21])[1 + k / 7 % 4],
            (ARRAY['name ' || k % 19, 'kind ' || k % 5, 'land ' || k % 3, 'label ' || k % 20])[1 + k / 3 % 4], CASE WHEN k % 5 > 0 THEN 'list ' || k % 9 END
        FROM generate_series(1, 600) k;
    CREATE VIEW few_wanted WITH (security_barrier) AS SELECT * FROM wanted WHERE id % 4 > 0;
    CREATE TABLE edges (src int, dst int);
    INSERT INTO edges SELECT CASE WHEN k % 50 > 0 THEN (k * 7919 % 4001) % (1 + k % 60) END, (k * 104729 % 4001) % (1 + k % 50) FROM generate_series(1, 400) k;
    CREATE VIEW landed AS SELECT l.*, o.land FROM lines l JOIN orders o USING (ord);
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
    ANALYZE;
    CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE answer text;
    BEGIN
        EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (' || query || ') q' INTO answer;
        RETURN answer;
    EXCEPTION WHEN numeric_value_out_of_range THEN RETURN SQLERRM;
    END $$;
    -- Small tables would keep the plain plan. It has one join more than the node, so joins are made dear.
    CREATE FUNCTION try(query text, eager bool, OUT taken bool, OUT with_node text, OUT without text, OUT why text, OUT itemsets bool, OUT looks_up bool, OUT lists bool, OUT groups_below bool) LANGUAGE plpgsql AS $$
    DECLARE plan json;
    BEGIN
        PERFORM set_config(name, 'off', true) FROM pg_settings WHERE name IN ('enable_hashjoin', 'enable_mergejoin', 'enable_nestloop');
        PERFORM set_config(name, eager::text, true) FROM pg_settings WHERE name = 'enable_eager_aggregate';
        SELECT bool_or(w.taken), min(coalesce(w.expression || ': ', '') || w.reason) FILTER (WHERE NOT w.taken) INTO taken, why FROM batmap_explain_why(query) w;
        EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
        itemsets := plan::text LIKE '%BatmapItemsets%';
        lists := plan::text LIKE '%BatmapListedPairs%';
        looks_up := plan::text ~ '(Lookup|Key Filter)": ';
        with_node := digest(query);
        PERFORM set_config('batmap.enable_join_project', 'off', true);
        PERFORM set_config(name, 'on', true) FROM pg_settings WHERE name IN ('enable_hashjoin', 'enable_mergejoin', 'enable_nestloop');
        PERFORM set_config(name, (NOT eager)::text, true) FROM pg_settings WHERE name = 'enable_eager_aggregate';
        IF NOT eager THEN EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan; END IF;
        groups_below := NOT eager AND plan::text LIKE '%"Partial Mode": "Partial"%';
        without := digest(query);
        PERFORM set_config('batmap.enable_join_project', 'on', true);
    END $$;
});

sub one { return $_[rand @_] }
sub maybe { my ($share, @values) = @_; return rand() < $share ? @values : () }

# A side: its FROM clause, its key for each kind of key, its items, numbers and conditions.
sub side
{
    my ($name, $table, $kinds) = @_;
    my @from = ("$table $name");
    my %side = (
        name => $name,
        keys => { ord => "$name.ord" },
        items => [ "$name.prod", "$name.prod % 7", "$name.n" ],
        numbers => [ "$name.n", "$name.prod::int", "$name.n * 2" ],
        where => [],
    );
    if ($kinds =~ /orders/)
    {
        push @from, "JOIN orders o$name ON o$name.ord = $name.ord";
        $side{keys}{who} = "o$name.who";
        push @{ $side{items} }, "o$name.land", "date_trunc('month', o$name.day)";
        push @{ $side{where} }, maybe(0.5, "o$name.day < '2024-02-01'");
    }
    if ($kinds =~ /products/)
    {
        push @from, ($kinds =~ /left/ ? 'LEFT ' : '') . "JOIN products p$name ON p$name.prod = $name.prod" . ($kinds =~ /left/ ? " AND p$name.price > 3" : '');
        push @{ $side{items} }, "p$name.name", "p$name.kind", "p$name.prod";
        push @{ $side{numbers} }, "p$name.price", "coalesce(p$name.price, -1)";
        push @{ $side{where} }, maybe(0.2, "p$name.kind <> 'kind 2'");
    }
    if ($kinds =~ /labels/)
    {
        push @from, "JOIN labels l$name ON l$name.prod = $name.prod";
        @{ $side{items} } = ("l$name.label", "l$name.kind", "left(l$name.label, 7)", "l$name.prod");
        push @{ $side{where} }, maybe(0.2, "l$name.kind <> 'kind 2'");
    }
    push @{ $side{where} }, "$name.ord IN (SELECT ord FROM special)" if $kinds =~ /semi/;
    push @{ $side{where} }, "NOT EXISTS (SELECT FROM special s WHERE s.ord = $name.ord)" if $kinds =~ /anti/;
    push @{ $side{where} }, maybe(0.2, "$name.n > 0");
    $side{from} = "(@from)";
    $side{from} = join ' ', @from if @from == 1;
    return \%side;
}

sub query
{
    my @tables = qw(lines lines lines clean clean parts parent nothing hidden barrier landed);
    my @kinds = ('', '', 'orders', 'products', 'labels', 'labels', 'orders products', 'products left', 'semi', 'anti', 'orders semi');
    my $table = one(@tables);
    my $kinds = one(@kinds);
    my $a = side('a', $table, $kinds);
    my $b = rand() < 0.6 ? side('b', $table, $kinds) : side('b', one(@tables), one(@kinds));
    @{ $b->{where} } = map { s/\b([op]?)a\b/$1b/gr } @{ $a->{where} } if $a->{from} =~ s/\ba\b/b/gr eq $b->{from} && rand() < 0.7;
    my $key = $a->{keys}{who} && $b->{keys}{who} && rand() < 0.3 ? 'who' : 'ord';
    my $shared = rand() < 0.2;
    my @where = ("$a->{keys}{$key} = $b->{keys}{$key}", @{ $a->{where} }, @{ $b->{where} });
    my @from = ($a->{from}, $b->{from});
    if ($shared)
    {
        push @from, 'orders o';
        push @where, 'o.ord = a.ord', maybe(0.7, "o.day < '2024-02-01'");
    }
    my $item = int rand @{ $a->{items} };
    my @a = ($a->{items}[$item]);
    my @b = ($b->{items}[ $item < @{ $b->{items} } && rand() < 0.7 ? $item : rand @{ $b->{items} } ]);
    push @a, maybe(0.2, one(@{ $a->{items} }));
    push @b, maybe(0.1, one(@{ $b->{items} }));
    push @a, maybe(0.5, 'o.land') if $shared;
    my $relation = one('<', '<', '<=', '<>', '>', '>=');
    push @where, one("a.prod $relation b.prod", "($a[0])::text $relation ($b[0])::text", "a.n $relation b.n") if rand() < 0.6;
    my ($i, $j) = (one(@{ $a->{numbers} }), one(@{ $b->{numbers} }));
    my @aggregates = map { one('count(*)', 'count(*)', 'count(DISTINCT a.ord)', "count($i)", "sum($i)", "sum($i * $j)", "avg($j)", "min($i)", "max($j)",
            "bool_or($i > $j)", "count(*) FILTER (WHERE $i > 1)", "sum($j) FILTER (WHERE $i > $j)", "sum(($i)::float8)",
            "sum(($i)::bigint)", "avg(($i)::bigint * ($j)::int)", "sum(($i)::numeric(9, 2) * $j)", "avg(($j)::numeric(9, 3))", "count(DISTINCT b.ord)",
            "sum(($i)::numeric(9, 1)) FILTER (WHERE $j > 1)", "sum($j * ($i)::smallint) FILTER (WHERE $i > 1 AND $j < 9)") } 1 .. one(1, 1, 1, 2, 3);
    @aggregates = ('count(*)') if rand() < 0.4;
    my @columns = (@a, @b);
    my $select = join ', ', map { "$columns[$_] AS c$_" } 0 .. $#columns;
    my $from = join(', ', @from) . ' WHERE ' . join ' AND ', @where;
    return "SELECT DISTINCT $select FROM $from" if rand() < 0.1;
    my $number = 0;
    $select .= ', ' . join ', ', map { "$_ AS n" . $number++ } @aggregates;
    my $having = rand() < 0.3 ? ' HAVING count(*) >= ' . int(rand 6) : '';
    return "SELECT $select FROM $from GROUP BY " . join(', ', @columns) . $having;
}

# A query that expands each row twice.
sub expansion
{
    my @from = (one(qw(posts posts posts secret walled pieces)) . ' a');
    my @row = ('a.n', 'a.ord % 5', 'a.prod');
    my @where;
    my ($call, $column) = @{
        one(['unnest(a.ids)', 'a.prod'], ['unnest(a.ids)', 'a.n'], ['unnest(a.tags)', 'a.tags[1]'], ['jsonb_array_elements_text(a.doc)', 'a.words'],
            ['jsonb_array_elements(a.doc)', "a.doc -> 0"], [q{regexp_split_to_table(a.words, ' ')}, 'a.tags[1]'], [q{string_to_table(a.words, '1', '')}, 'a.tags[2]'],
            ['generate_subscripts(a.ids, 1)', 'a.n'], ['generate_series(a.n, a.prod % 7)', 'a.prod']) };
    my $is_number = $call =~ /ids|series/;
    if (rand() < 0.3)
    {
        push @from, one('JOIN', 'LEFT JOIN') . ' orders o ON o.ord = a.ord' . one('', " AND o.day < '2024-02-01'");
        push @row, 'o.land', "date_trunc('month', o.day)";
    }
    push @where, 'EXISTS (SELECT FROM special s WHERE s.ord = a.ord)' if rand() < 0.1;
    push @where, 'NOT EXISTS (SELECT FROM special s WHERE s.ord = a.prod)' if rand() < 0.1;
    push @where, 'a.n > 0' if rand() < 0.2;
    my @calls = rand() < 0.07 ? qw(x y z) : qw(x y);
    push @from, one("CROSS JOIN LATERAL $call AS $_($_)", "CROSS JOIN $call $_($_)") for @calls;
    push @where, 'x.x ' . one('<', '<', '<', '>', '<=', '<>', '=') . ' y.y' if rand() < 0.8;
    my $relation = one('<>', '<', '>=', '=');
    my $constant = $is_number ? int rand 12 : $call =~ /elements\(/ ? q{'5'::jsonb} : q{'5'};
    push @where, "x.x $relation $constant" if rand() < 0.15;
    push @where, "y.y $relation $constant" if rand() < 0.15;
    push @where, map { "$_.$_ $relation $constant" } @calls if rand() < 0.1;
    push @where, map { "$_.$_ $relation $column" } maybe(0.5, 'x'), 'y' if rand() < 0.1;
    push @where, 'x.x + y.y > 5' if $is_number && rand() < 0.1;
    my @columns = map { "$_.$_" } @calls;
    @columns = map { "$_ % 5" } @columns if $is_number && rand() < 0.1;
    @columns = map { "($_)::text" } @columns if rand() < 0.05;
    push @columns, maybe(0.3, one(@row));
    shift @columns if @columns > 1 && rand() < 0.1;
    my @aggregates = map { one('count(*)', 'count(*)', 'count(DISTINCT a.ord)', 'count(x.x)', 'sum(a.n)', 'min(y.y::text)', 'max(a.prod)', 'bool_or(x.x < y.y)',
            'count(*) FILTER (WHERE a.n > 1)', 'avg(a.prod)') } 1 .. one(1, 1, 1, 2);
    my $select = join ', ', map { "$columns[$_] AS c$_" } 0 .. $#columns;
    my $from = join ' ', @from, @where ? ('WHERE ' . join ' AND ', @where) : ();
    return "SELECT DISTINCT $select FROM $from" if rand() < 0.1;
    my $number = 0;
    $select .= ', ' . join ', ', map { "$_ AS n" . $number++ } @aggregates;
    my $having = rand() < 0.3 ? ' HAVING count(*) >= ' . int(rand 6) : '';
    return "SELECT $select FROM $from GROUP BY " . join(', ', @columns) . $having;
}

# Copies of the same rows over one key, grouped by an item of each; mostly the items are in an order.
sub sets
{
    my $copies = one(3, 3, 3, 4);
    my @names = ('a' .. 'd')[ 0 .. $copies - 1 ];
    my @sides = do {
        my ($table, $kinds) = (one(qw(sets sets clean clean lines barrier hidden)), one('', '', '', 'products', 'products left', 'semi'));
        map { side($_, $table, $kinds) } @names;
    };
    for my $side (@sides[ 1 .. $#sides ])
    {
        @{ $side->{where} } = map { s/\b([op]?)a\b/$1$side->{name}/gr } @{ $sides[0]{where} } if rand() < 0.9;
    }
    my $item = one(0, 0, 0, int rand @{ $sides[0]{items} });
    my @items = map { $_->{items}[$item] } @sides;
    my @shuffled = shuffle @items;
    my @where = map { @{ $_->{where} } } @sides;
    push @where, map { "$names[0].ord = $_.ord" } @names[ 1 .. $#names ];
    push @where, map { rand() < 0.5 ? "$shuffled[$_ - 1] < $shuffled[$_]" : "$shuffled[$_] > $shuffled[$_ - 1]" } 1 .. $#shuffled;
    pop @where if rand() < 0.05;
    my @from = map { $_->{from} } @sides;
    if (rand() < 0.2)
    {
        push @from, 'orders o';
        push @where, 'o.ord = ' . one(@names) . '.ord', maybe(0.7, "o.day < '2024-02-01'");
    }
    my @columns = map { "$items[$_] AS c$_" } 0 .. $#items;
    return 'SELECT DISTINCT ' . join(', ', @columns) . ' FROM ' . join(', ', @from) . ' WHERE ' . join(' AND ', @where) if rand() < 0.1;
    push @columns, maybe(0.9, one('count(*)', 'count(*)', 'count(DISTINCT ' . one(@names) . '.ord)', "count($items[0])", "count($names[1].n)") . ' AS n');
    @columns = shuffle @columns if rand() < 0.3;
    my $having = rand() < 0.5 ? ' HAVING count(' . one('*', '*', 'DISTINCT a.ord') . ') ' . one('>=', '>', '<') . ' ' . int rand 4 : '';
    return 'SELECT ' . join(', ', @columns) . ' FROM ' . join(', ', @from) . ' WHERE ' . join(' AND ', @where) . ' GROUP BY ' . join(', ', @items) . $having;
}

# Two sides and a list of pairs of their items.
sub listed
{
    my @tables = qw(lines lines lines clean parts parent hidden barrier sets);
    my @kinds = ('', '', '', 'orders', 'products', 'labels', 'products left', 'semi', 'anti');
    my ($table, $kinds) = (one(@tables), one(@kinds));
    my $a = side('a', $table, $kinds);
    my $b = rand() < 0.6 ? side('b', $table, $kinds) : side('b', one(@tables), one(@kinds));
    my ($list, @of_list) = @{
        one(['wanted c'], ['wanted c'], ['few_wanted c'], [ '(SELECT DISTINCT x, y, u, s, t, label, 0 AS id FROM wanted) c' ],
            [ 'wanted c JOIN products pc ON pc.prod = c.y', 'pc.name', 'pc.kind' ], [ 'wanted c LEFT JOIN labels lc ON lc.prod = c.u', 'lc.label' ]) };
    my @items;
    for my $side ($a, $b)
    {
        my @known = grep { !/date_trunc|left/ } @{ $side->{items} };
        push @items, one(@known, $known[0]);
    }
    my @texts = map { /name|kind|label|land/ ? 1 : 0 } @items;
    my @columns = ($texts[0] ? 'c.s' : one('c.x', 'c.x', 'c.u'), $texts[1] ? 'c.t' : one('c.y', 'c.y', 'c.u'));
    my $key = $a->{keys}{who} && $b->{keys}{who} && rand() < 0.3 ? 'who' : 'ord';
    my @where = ("$a->{keys}{$key} = $b->{keys}{$key}", "$columns[0] = $items[0]", "$items[1] = $columns[1]", @{ $a->{where} }, @{ $b->{where} });
    my @from = ($a->{from}, $b->{from}, $list =~ /JOIN/ ? "($list)" : $list);
    my $relation = one('<', '<=', '<>', '>');
    push @where, "$items[0] $relation $items[1]" if $texts[0] == $texts[1] && rand() < 0.3;
    push @where, one('c.id % 3 < 2', 'c.x <> c.y', "c.label <> 'list 3'", 'a.n <= c.y', 'c.id % 7 = a.n', 'a.n <> b.n') if rand() < 0.3;
    if (rand() < 0.1)
    {
        push @from, 'orders o';
        push @where, 'o.ord = a.ord', maybe(0.7, "o.day < '2024-02-01'");
    }
    return counted(join(', ', @from) . ' WHERE ' . join(' AND ', @where),
        one([@items], [@items], [@items], [ $items[0], $columns[1] ], ['c.id'], ['c.label'], ['c.label', $items[1]], [$items[0]], [], [], [@of_list], ["$items[0] || '!'", 'c.id % 3']),
        ('count(*)') x 8, 'count(c.id)', "count($a->{keys}{$key})", "count(DISTINCT $b->{keys}{$key})", 'sum(a.n)', 'count(c.label)');
}

# Three edges that form a triangle, in one of its directions.
sub triangles
{
    my @where = (one('a.dst = b.src', 'a.dst = b.dst'), one('c.src = a.src', 'a.src = c.dst'));
    push @where, ($where[0] =~ /src/ ? 'b.dst' : 'b.src') . ' = ' . ($where[1] =~ /c.src/ ? 'c.dst' : 'c.src');
    for my $vertices ('a.src b.src', 'b.src c.src', 'a.src b.dst', 'c.src c.dst')
    {
        push @where, join one(' < ', ' < ', ' <= ', ' <> '), split ' ', $vertices if rand() < 0.2;
    }
    push @where, maybe(0.1, 'a.src < 20');
    return counted('edges a, edges b, edges c WHERE ' . join(' AND ', @where), one([], [], [], ['a.src'], [ 'c.src', 'c.dst' ], [ 'a.src', 'b.dst' ], ['b.src']),
        ('count(*)') x 4, 'count(a.src)', 'count(DISTINCT b.src)');
}

# A query that counts, by groups, or all rows.
sub counted
{
    my ($from, $columns, @aggregates) = @_;
    my $select = join ', ', map { "$columns->[$_] AS c$_" } 0 .. $#$columns;
    return "SELECT DISTINCT $select FROM $from" if @$columns && rand() < 0.1;
    my $query = 'SELECT ' . join(', ', $select || (), one(@aggregates) . ' AS n', maybe(0.1, one(@aggregates) . ' AS m')) . " FROM $from";
    $query .= ' GROUP BY ' . join ', ', @$columns if @$columns;
    $query .= ' HAVING count(*) ' . one('>', '>=', '<>') . ' ' . int rand 4 if rand() < 0.3;
    return $query;
}

# Columns that an item or the key determines, counted: the node may read their relations apart.
sub named_query
{
    my @tables = qw(lines lines clean parts hidden barrier);
    my %names = (
        products => [ 'name', 'kind', 'prod', 'price', 'left(%s.name, 6)' ],
        labels => [ 'label', 'kind', 'prod', 'upper(%s.label)' ],
        '' => ['prod'],
    );
    my $table = one(@tables);
    my $names = one('products', 'labels', '');
    my $other = $names;
    my $left = $names;
    my (@from, @where, @columns);
    for my $side (qw(a b))
    {
        if ($side eq 'b' && rand() < 0.3) { $table = one(@tables); $names = $other = one('products', 'labels', '') }
        push @from, "$table $side" . ($side eq 'b' ? ' USING (ord)' : '');
        my $from = $names eq '' ? $side : "n$side";
        push @from, "$names $from ON $from.prod = $side.prod" if $names ne '';
        push @columns, map { /%s/ ? sprintf $_, $from : "$from.$_" } one(@{ $names{$names} }), maybe(0.3, one(@{ $names{$names} }));
        push @columns, maybe(0.1, "$side.prod"), maybe(0.05, "$side.n") if $table ne 'clean';
        push @where, maybe(0.2, "$from.kind <> 'kind 1'") if $names ne '';
        push @where, maybe(0.1, "$side.prod > 3");
    }
    if (rand() < 0.5)
    {
        push @from, 'orders o USING (ord)';
        push @columns, one('o.land', 'o.who', "date_trunc('week', o.day)");
        push @where, maybe(0.3, "o.day < '2024-02-01'");
    }
    my @compared = rand() < 0.3 && $left eq $other ? ($columns[0] =~ s/\b(n?)b\b/$1a/gr, $columns[0] =~ s/\b(n?)a\b/$1b/gr) : qw(a.prod b.prod);
    push @where, join one(' < ', ' < ', ' <= ', ' <> ', ' > ', ' >= '), @compared if rand() < 0.8;
    my $number = 0;
    my $select = join ', ', map { "$_ AS c" . $number++ } @columns;
    my $from = join(' JOIN ', @from) . (@where ? ' WHERE ' . join(' AND ', @where) : '');
    return "SELECT DISTINCT $select FROM $from" if rand() < 0.1;
    my $query = "SELECT $select, count(*) AS n FROM $from GROUP BY " . join ', ', @columns;
    $query .= ' HAVING count(*) ' . one('>=', '>') . ' ' . int rand 8 if rand() < 0.4;
    return $query if rand() < 0.8;
    return "SELECT * FROM ($query ORDER BY n DESC, " . join(', ', map { "c$_" } 0 .. $#columns) . ' LIMIT ' . int(rand 30) . ') best';
}

my @all = map { rand() < 0.2 ? expansion() : rand() < 0.12 ? sets() : rand() < 0.15 ? listed() : rand() < 0.06 ? triangles() : rand() < 0.32 ? named_query() : query() } 1 .. $queries;
my $script = "SET ROLE reader;\n";
$script .= sprintf "SELECT '%d|' || t.taken || '|' || (t.with_node = t.without) || '|' || t.itemsets || '|' || t.looks_up || '|' || t.lists || '|' || t.groups_below || '|' || coalesce(t.why, '') FROM try(\$q\$%s\$q\$, %s) t;\n", $_, $all[$_], $_ % 2 ? 'true' : 'false' for 0 .. $#all;
my ($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
is($err, '', 'no query fails');
my ($taken, $itemsets, $looked_up, $listed, $grouped_below, @wrong, %why, %answered) = (0, 0, 0, 0, 0);
for my $line (split /\n/, $out)
{
    my ($number, $is_taken, $is_same, $by_itemsets, $looks_up, $lists, $groups_below, $reason) = split /\|/, $line, 8;
    next if !defined $is_same;
    $answered{$number} = 1;
    $taken++ if $is_taken eq 'true';
    $itemsets++ if $by_itemsets eq 'true';
    $listed++ if $lists eq 'true';
    $grouped_below++ if $groups_below eq 'true';
    $looked_up++ if $looks_up eq 'true';
    $why{ $reason =~ s/.*: //r }++ if $is_taken ne 'true';
    push @wrong, $all[$number] if $is_same ne 'true';
}
note "seed $seed";
note "$looked_up queries read relations apart";
cmp_ok($looked_up, '>=', $queries / 10, 'the node reads relations apart');
note "$why{$_} queries: $_" for sort { $why{$b} <=> $why{$a} } keys %why;
is(join("\n", map { $all[$_] } grep { !$answered{$_} } 0 .. $#all), '', 'all queries were answered');
is(join("\n", @wrong), '', 'the rows are those of the plain plan');
my $share = int(100 * $taken / $queries);
cmp_ok($listed, '>=', $queries / 25, "$listed queries by counts of listed pairs");
cmp_ok($itemsets, '>', 0, "$itemsets queries by a search for itemsets");
my $can_group_below = $node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'enable_eager_aggregate'");
cmp_ok($grouped_below, '>=', $can_group_below * $queries / 50, "$grouped_below plain plans group below a join");
cmp_ok($share, '>=', 70, "the node took $share % of $queries queries");
$node->stop;
done_testing();
