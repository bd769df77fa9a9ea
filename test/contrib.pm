# `use contrib 'postgres_fdw';` skips a test where the server comes without that extension; contrib::has asks.
package contrib;

use strict;
use warnings;

use Test::More;

sub has {
    my ($extension) = @_;
    chomp(my $sharedir = `pg_config --sharedir`);
    return -e "$sharedir/extension/$extension.control";
}

sub import {
    my ($class, @extensions) = @_;
    for my $extension (@extensions)
    {
        plan skip_all => "the server comes without $extension" unless has($extension);
    }
}

1;
