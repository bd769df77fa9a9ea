# The examples of README.md and docs/*.md print what the documents show. docs_examples beside this folder does the work.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $examples = "$FindBin::Bin/../docs_examples";
my $node = PostgreSQL::Test::Cluster->new('docs');
$node->init;
$node->start;
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
delete local @ENV{qw(PGDATABASE PGUSER PGOPTIONS)};

chdir "$FindBin::Bin/../.." or die $!;
for my $document ('README.md', sort glob 'docs/*.md')
{
    my $report = qx($examples $document 2>&1);
    is($?, 0, $document) or diag($report);
}

# What the runner must see: output that is another, an error in a block without output, a session that ends, and a kind of block that it
# does not know.
my $folder = PostgreSQL::Test::Utils::tempdir();
my %wrong = (
    other => [ "```sql\nSELECT 1;\n```\n```\n ?column?\n----------\n        2\n(1 row)\n```\n", qr/^-        2\n\+        1$/m ],
    error => [ "```sql\nSELECT 1 / 0;\n```\n\nText.\n", qr/ERROR:  division by zero/ ],
    ended => [ "```sql\n\\q\n```\n```sql\nSELECT 1;\n```\n", qr/the session ended/ ],
    unknown => [ "```sql norun\nSELECT 1;\n```\n", qr/'sql norun' is not a kind of SQL block/ ]);
for my $name (sort keys %wrong)
{
    my ($text, $expected) = @{ $wrong{$name} };
    append_to_file("$folder/$name.md", $text);
    my $report = qx($examples $folder/$name.md 2>&1);
    isnt($?, 0, "$name: found");
    like($report, $expected, "$name: and shown");
}

$node->stop;
done_testing();
