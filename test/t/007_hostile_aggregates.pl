# Uses every function of the extension in every role of an aggregate that an ordinary role defines, with states
# of any kind.
#
# The functions come from the catalog, so a new one is included without being named; a new type needs two sample
# values in hostile_aggregates.sql. A function there defines and runs the cases. A case fails if the server crashes,
# if it runs into the timeout, if an internal error is raised, or if equal values that are stored differently give
# different answers.
#
# A function meets all forms of a value in each role with BATMAP_TEST_GRID=full (`make check-reference`). Otherwise
# it meets KEPT forms that lie side by side, others for each function and role, so that all of them occur.
use strict;
use warnings;
use FindBin;
use Time::HiRes qw(time);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant KEPT => 4;

my $kept = ($ENV{BATMAP_TEST_GRID} // '') eq 'full' ? 'NULL' : KEPT;
my $node = PostgreSQL::Test::Cluster->new('hostile_aggregates');
$node->init;
$node->append_conf('postgresql.conf', <<'END');
fsync = off
restart_after_crash = on
statement_timeout = '20s'
max_parallel_workers_per_gather = 2
END
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION batmap; CREATE ROLE mallory LOGIN; GRANT CREATE ON DATABASE postgres TO mallory');
my ($status, $out, $err) = $node->psql('postgres', slurp_file("$FindBin::Bin/hostile_aggregates.sql"));
is($status, 0, 'values of all types are there') or diag $err;

is($node->safe_psql('postgres', 'SELECT string_agg(type, \', \') FROM hostile.types_without_samples'), '', 'no type is without samples');

my @functions = split /\n/, $node->safe_psql('postgres', 'SELECT function::oid || \' \' || function::regprocedure FROM hostile.functions');
cmp_ok(scalar @functions, '>', 100, 'functions come from the catalog');

# One session tries all functions. It tells which function it has come to, so that a crash has a name.
my $script = join '', map { my ($oid) = split / /; "\\echo function $oid\nSELECT place, outcome, count(*), min(state) FROM hostile.try($oid, $kept) GROUP BY 1, 2;\n" } @functions;
($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0, extra_params => [ '-U', 'mallory', '-A', '-t', '-F', '|' ]);
my %name = map { split / /, $_, 2 } @functions;
my %count;
my %bad;
my $cases = 0;
my $tried = 0;
my $function = '';
for my $row (split /\n/, $out)
{
	if ($row =~ /^function (\d+)$/)
	{
		$function = $name{$1};
		++$tried;
		next;
	}
	my ($place, $outcome, $number, $state) = split /\|/, $row;
	$cases += $number;
	$count{$place} += $number;
	push @{ $bad{$function} }, "$place over $state: $outcome" if $outcome =~ /^bad/;
}
fail("$_: " . join '; ', @{ $bad{$_} }) for sort keys %bad;
my ($last) = $err =~ /.*NOTICE:  (.*?)\n/s;
is($status, 0, 'the session has tried all functions') or diag 'last tried: ' . ($last // 'nothing');
is($tried, scalar @functions, 'each function was tried');
unlike($err, qr/ERROR:/, 'no error ends a try');
note "$_: $count{$_} cases" for sort keys %count;
cmp_ok($cases, '>=', 1500, "$cases cases");
my $log = slurp_file($node->logfile);
unlike($log, qr/terminated by signal|TRAP:|PANIC/, 'no backend crashed');

$node->stop;
done_testing();
