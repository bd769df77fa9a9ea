# Uses every function of the extension in every role of an aggregate that an ordinary role defines, with states
# of any kind.
#
# The functions come from the catalog, so a new one is included without being named; a new type needs two sample
# values below. The procedure of hostile_aggregates.sql defines and runs the cases, in one session per function.
# A case fails if the server crashes, if it runs into the timeout, if an internal error is raised, or if equal
# values that are stored differently give different answers.
use strict;
use warnings;
use FindBin;
use Time::HiRes qw(time);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

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

my %count;
my $cases = 0;
for my $function (@functions) {
	my ($oid, $name) = split / /, $function, 2;
	my ($status, $out, $err) = $node->psql('postgres', "SELECT place, outcome, count(*), min(state) FROM hostile.try($oid) GROUP BY 1, 2",
		extra_params => [ '-U', 'mallory', '-A', '-t', '-F', '|' ]);
	my @bad;
	for my $row (split /\n/, $out) {
		my ($place, $outcome, $number, $state) = split /\|/, $row;
		$cases += $number;
		$count{$place} += $number;
		push @bad, "$place over $state: $outcome" if $outcome =~ /^bad/;
	}
	next if $status == 0 && !@bad;
	# The log contains the last case: the session that tried it is gone.
	my ($last) = $err =~ /.*NOTICE:  (.*?)\n/s;
	fail("$name: " . join('; ', @bad, $status == 0 ? () : "the session ended with status $status, last tried: " . ($last // 'nothing')));
	$node->poll_query_until('postgres', 'SELECT true');
}
note "$_: $count{$_} cases" for sort keys %count;
cmp_ok($cases, '>=', 1500, "$cases cases");
my $log = slurp_file($node->logfile);
unlike($log, qr/terminated by signal|TRAP:|PANIC/, 'no backend crashed');

$node->stop;
done_testing();
