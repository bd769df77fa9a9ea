# docs/measures.md says of each measure what batmap_measure computes: its formula, its least and largest value, and its value for
# sides that are independent. The formulas run as SQL, on counts that make no denominator 0.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{BATMAP_ROOT} // abs_path(dirname(__FILE__) . '/../..');
my %in_words = map { $_ => 1 } qw(hyper_confidence hyper_lift);

my %measures;
for my $line (split /\n/, slurp_file("$root/docs/measures.md"))
{
    my ($name, $formula, $least, $most, $independent) = $line =~ /^\| `([a-z_]+)` \| (.+?) \| (\S.*?) \| (\S.*?) \|(.*)\|$/ or next;
    s/^\s+|[\s`]+$|`//g for $least, $most, $independent;
    $formula = $formula =~ /^`([^`]+)`/ ? $1 : undef;
    ok(defined $formula != exists $in_words{$name}, "$name has a formula, or words");
    ok(!exists $measures{$name}, "$name is in one table only");
    unlike($formula // '', qr/\b\Q$name\E\b/, "$name is not defined by itself");
    $measures{$name} = { formula => $formula, least => $least, most => $most, independent => $independent };
}

my $node = PostgreSQL::Test::Cluster->new('measures');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION batmap');

my ($status, $out, $hint) = $node->psql('postgres', "SELECT batmap_measure('nothing', 1, 1, 1, 1)");
my ($known) = $hint =~ /Available values: (.*)\./;
is(join(', ', sort keys %measures), join(', ', sort split /, /, $known), 'the page has the measures that there are');

# The value of each measure as a column of its name, beside the letters of the page.
my $values = join ', ', map { qq{batmap_measure('$_', x, a, b, n) AS "$_"} } sort keys %measures;
$node->safe_psql('postgres', qq{
    CREATE FUNCTION h(p float8) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT -p * ln(p) - (1 - p) * ln(1 - p)';
    CREATE TABLE cases AS
    SELECT x::float8, a::float8, b::float8, n::float8, (a - x)::float8 AS f, (b - x)::float8 AS g, (n - a - b + x)::float8 AS d,
           (a * b + (n - a) * (n - b))::float8 / n AS e, x * n = a * b AS independent, $values
    FROM unnest(ARRAY[12, 25, 400]) AS n, generate_series(2, n - 1, n / 12) AS a, generate_series(2, n - 1, n / 12) AS b,
         generate_series(greatest(1, a + b - n + 1), least(a, b) - 1) AS x
    WHERE a < n AND b < n;
});
my $independent = $node->safe_psql('postgres', 'SELECT count(*) FROM cases WHERE independent');
cmp_ok($independent, '>=', 10, "$independent cases with independent sides");

for my $name (sort keys %measures)
{
    my $measure = $measures{$name};
    my $near = sub { qq{abs("$name" - ($_[0])) <= 1e-9 * greatest(1, abs("$name"))} };
    my $none = sub {
        my ($where, $what) = @_;
        my $found = $node->safe_psql('postgres', qq{SELECT x, a, b, n, "$name" FROM cases WHERE NOT coalesce($where, false) LIMIT 1});
        is($found, '', "$name: $what");
    };
    my $bound = sub { $_[0] =~ /Infinity/ ? "'$_[0]'::float8" : "($_[0])" };
    $none->($near->($measure->{formula}), 'its formula') if defined $measure->{formula};
    $none->(qq{"$name" >= } . $bound->($measure->{least}) . ' - 1e-9', 'its least value');
    $none->(qq{"$name" <= } . $bound->($measure->{most}) . ' + 1e-9 * n', 'its largest value');
    $none->('NOT independent OR ' . $near->($measure->{independent}), 'its value for independent sides') if $measure->{independent} ne '';
}

# What the page says about counts that make a denominator or a logarithm 0, and of the distribution: of 4 transactions 2 have the
# left-hand side, and of any 2 of the 4 none, 1 or 2 have the right-hand side with probabilities 1/6, 4/6, 1/6.
for my $case ([ 'phi', 5, 5, 10, 10, '' ], [ 'conviction', 5, 5, 10, 20, 'Infinity' ], [ 'std_lift', 1, 1, 5, 20, '1.000000' ],
    [ 'llr', 2, 2, 2, 4, sprintf('%.6f', 8 * log 2) ], [ 'hyper_confidence', 1, 2, 2, 4, '0.166667' ], [ 'hyper_lift', 1, 2, 2, 4, '0.500000' ])
{
    my ($name, $x, $a, $b, $n, $value) = @$case;
    is($node->safe_psql('postgres', "SELECT round(batmap_measure('$name', $x, $a, $b, $n)::numeric, 6)"), $value, "$name of $x, $a, $b, $n");
}

$node->stop;
done_testing();
