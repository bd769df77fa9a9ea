# What tests do that crash a server.
package crashed;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep);

our @EXPORT = qw(wait_for_server);

# Until a server that starts all its processes again takes connections. psql does not do here: one that is refused does not
# read its input, and the test would end with it.
sub wait_for_server
{
    my ($node) = @_;
    for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
    {
        return if system('pg_isready', '--quiet', '--host', $node->host, '--port', $node->port) == 0;
        sleep 0.1;
    }
    die 'the server does not come back';
}

1;
