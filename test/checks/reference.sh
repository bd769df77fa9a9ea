#!/bin/bash
# docs/reference.md and the SQL surface are in step, both ways: the declaration of every function and aggregate, every type, view,
# operator, cast, operator class and setting that a user may call is there, and what is there exists.
#
# A function is internal if only other objects of the database use it: the input and output functions of a type, the functions of an
# aggregate, an operator, a cast or an operator class, and planner support. Its name begins with an underscore, and it has no
# declaration in the reference. A type of such a name, which only stands between other types and our operators, has no section, and
# its casts are not listed.
# The contents name all chapters. A section whose declaration has ten lines or more shows an example before it.
# `--fix` writes the declarations of the functions that the reference has anew.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

exec perl - "$@" <<'END'
use strict;
use warnings;

my $status = 0;
sub report { print "reference: @_\n"; $status = 1 }
sub text_of { my ($path) = @_; open my $file, '<', $path or do { report("$path is not there"); return '' }; local $/; return scalar <$file> }

# One blank between words, none inside of brackets.
sub plain { my ($text) = @_; $text =~ s/\s+/ /g; $text =~ s/\( /(/g; $text =~ s/ \)/)/g; $text =~ s/^ | $//g; return $text }

my $sql = text_of('sql/batmap.sql');
$sql =~ s/--.*//mg;
$sql =~ s/^\\.*//mg;
my (%declared, %part, %type, %view, %operator, %cast, %class);
for my $statement (map { plain($_) } split /;/, $sql) {
    if ($statement =~ /^CREATE FUNCTION (.*?) (?:AS 'MODULE_PATHNAME'|LANGUAGE sql\b)/) { $declared{plain($1)} = 1 + keys %declared }
    if ($statement =~ /^CREATE FUNCTION .*? LANGUAGE sql\b(.*)/) {
        my $body = $1;
        $part{$1} = 1 while $body =~ /\b(_batmap\w+)/g;
    }
    if ($statement =~ /^CREATE AGGREGATE (\w+\(.*?\)) \(SFUNC/) { $declared{$1} = 1 + keys %declared }
    if ($statement =~ /^CREATE TYPE ([^_]\w*)/) { $type{$1} = 1 }
    if ($statement =~ /^CREATE VIEW (\w+)/) {
        $view{$1} = 1;
        $part{$1} = 1 while $statement =~ /\b(_batmap\w+)/g;
    }
    if ($statement =~ /^CREATE CAST \(([^_]\S*) AS ([^_]\S*)\)/) { $cast{"$1\::$2"} = 1 }
    if ($statement =~ /^CREATE OPERATOR CLASS (\w+)/) { $class{$1} = 1 }
    if ($statement =~ /^CREATE OPERATOR (\S+) \(.*LEFTARG = ([\w\[\]]+), RIGHTARG = ([\w\[\]]+)/) { $operator{"$2 $1 $3"} = 1 }
    next if $statement =~ /^COMMENT/;
    $part{$1} = 1 while $statement =~ /\b(?:[A-Z_]+ = |FUNCTION \d+ |WITH FUNCTION |SUPPORT )(_?batmap\w*)/g;
}

# A declaration in lines of at most 97 columns.
sub wrapped {
    my ($text) = @_;
    my ($line, @lines);
    for my $words (split /(?<=,) | (?=RETURNS )/, $text) {
        if (!defined $line) { $line = $words }
        elsif (length("$line $words") > 97) { push @lines, $line; $line = "    $words" }
        else { $line .= " $words" }
    }
    return join '', map { "$_\n" } @lines, $line;
}

report('sql/batmap.sql declares nothing') unless %declared;
my %function = map { /^(\w+)/ ? ($1 => 1) : () } keys %declared;
my %setting = map { $_ => 1 } text_of('extension/server/settings.cpp') =~ /DefineCustom\w+Variable\("(batmap\.\w+)"/g;

my $reference = text_of('docs/reference.md');
if (@ARGV && $ARGV[0] eq '--fix') {
    my %of_name;
    for my $signature (sort { $declared{$a} <=> $declared{$b} } keys %declared) { push @{ $of_name{$1} }, $signature if $signature =~ /^(\w+)/ }
    $reference =~ s{^```signature\n(.*?)^```$}{
        my %seen;
        my @names = grep { !$seen{$_}++ } $1 =~ /^(\w+)/mg;
        "```signature\n" . join('', map { wrapped($_) } map { @{ $of_name{$_} // [] } } @names) . '```'
    }emsg;
    open my $file, '>', 'docs/reference.md' or die "docs/reference.md: $!\n";
    print {$file} $reference;
    close $file;
}
# What the library itself calls, on the servers that have parts of a table.
for my $file (glob 'extension/functions/parts/*.cpp') {
    open my $source, '<', $file or die "$file: $!\n";
    my $text = join '', <$source>;
    $part{$1} = 1 while $text =~ /"(_batmap\w+)"/g;
}
my %shown;
for my $block ($reference =~ /^```signature\n(.*?)^```$/msg) {
    # A declaration begins at the left edge, its further lines are indented.
    for my $signature (map { plain($_) } split /^(?=\w)/m, $block) {
        report("shown twice: $signature") if $shown{$signature}++;
        report("not as sql/batmap.sql declares it: $signature") unless $declared{$signature};
    }
}
# The contents name each chapter, in order.
my @chapters = map { ($_, lc($_) =~ tr/ /-/r) } $reference =~ /^## (.*)$/mg;
my ($contents) = $reference =~ /^Contents: (.*?)\n\n/ms;
report('the contents are not those of the page') unless join('|', @chapters) eq join('|', ($contents // '') =~ /\[([^\]]*)\]\(#([^)]*)\)/g);
# A reader sees what a function does before all of its forms.
for my $section (split /^(?=##+ )/m, $reference) {
    my ($title, $before, $block) = $section =~ /^##+ ([^\n]*)\n(.*?)^```signature\n(.*?)^```$/ms or next;
    report("section '$title': an example comes first where the declaration is long")
        if ($block =~ tr/\n//) >= 10 && $before !~ /^```sql/m && $section =~ /^```sql/m;
}
for my $signature (sort keys %declared) {
    my ($name) = $signature =~ /^(\w+)/;
    my $internal = $name =~ /^_/;
    report("no declaration of: $signature") unless $shown{$signature} || $internal;
    report("internal, but declared there: $signature") if $shown{$signature} && $internal;
    report("nothing uses this internal function: $signature") if $internal && !$part{$name};
    report("part of an object, but without an underscore: $signature") if $part{$name} && !$internal && $name ne 'batmap';
}

# Prose: what stands between backquotes, outside of blocks. A cell of a table writes | as \|.
my $prose = $reference =~ s/^```.*?^```$//msgr;
my %quoted = map { s/\\\|/|/gr => 1 } $prose =~ /`([^`\n]+)`/g;
my %heading = map { $_ => 1 } $prose =~ /^#+ (.*)$/mg;
for my $name (sort keys %type) { report("no section 'Type $name'") unless $heading{"Type $name"} }
for my $name (sort keys %view) { report("no section of the view $name") unless $heading{$name} }
for my $name (sort keys %class) { report("operator class $name is not there") unless $quoted{$name} }
# One sentence says that an array can be on either side of each operator of two sets, as the internal type _batmap_array.
for my $name (sort keys %operator) {
    report("operator $name is not there") unless $quoted{ $name =~ s/_batmap_array/batmap/r };
    next unless $name =~ /^batmap (\S+) batmap$/;
    for my $other ("batmap $1 _batmap_array", "_batmap_array $1 batmap") { report("there is no operator $other") unless $operator{$other} }
}
for my $name (sort keys %cast) { report("cast $name is not there") unless $quoted{$name} }
for my $name (sort keys %setting) { report("setting $name has no row") unless $prose =~ /^\| `\Q$name\E` \|/m }

for my $name (sort keys %heading) {
    report("section '$name': there is no such type") if $name =~ /^Type (.*)/ && !$type{$1};
    report("section '$name': there is no such function") if $name =~ /^batmap\w*$/ && !$function{$name} && !$view{$name};
}
for my $words (sort keys %quoted) {
    report("there is no operator $words") if $words =~ /^batmap\w* [^\w\s=.]+=? \w+$|^int8 <\@ batmap$/ && !$operator{$words};
    report("there is no cast $words") if $words =~ /^(?:batmap|\w+\[\]|bytea)::[\w\[\]]+$/ && $words =~ /batmap/ && !$cast{$words};
}
for my $document ([ 'docs/reference.md', $reference ], [ 'README.md', text_of('README.md') ]) {
    my ($path, $text) = @$document;
    my %named = map { $_ => 1 } $text =~ /`(_?batmap_[a-z0-9_]+)[`(]/g;
    for my $name (sort keys %named) { report("$path: there is no $name") unless $function{$name} || $type{$name} || $view{$name} || $class{$name} }
    my %used = map { $_ => 1 } $text =~ /\b(batmap\.[a-z_]+)\b/g;
    for my $name (sort keys %used) { report("$path: there is no setting $name") unless $setting{$name} || $name eq 'batmap.sql' }
}
# What else a user reads or runs names only what exists: pages, the demo, the benchmark, the Python package, and the strings of the
# library. The helper process, two triggers and a variable of theirs, a function of C++ and one of a script have such names, too.
my %exists = map { $_ => 1 } keys %function, keys %type, keys %view, keys %class;
my $other = qr/^batmap_(?:gpu|keep_(?:alone|changes|rows)|pairs_query|query)$/;
my @pages = (glob('*.md docs/*.md docs/decisions/*.md demo/*.md bench/*.md python/*.md test/*.md extension/*.md kernels/*.md'), 'META.json');
my @programs = grep { !m{(?:^|/)(?:build|__pycache__|node_modules)/} } split /\n/, qx{find demo bench python -type f \\( -name '*.py' -o -name '*.sql' -o -name '*.sh' -o -name '*.js' -o -name '*.html' \\)};
my @sources = split /\n/, qx{find extension kernels -type f \\( -name '*.cpp' -o -name '*.h' -o -name '*.cu' \\)};
report('no pages, programs or sources') unless @pages && @programs && @sources;
for my $path (@pages, @programs, @sources) {
    next unless -f $path;
    my $text = text_of($path);
    next if $path eq 'SECURITY.md';  # the entry points of the library
    # A string of C++ is prose if it has a blank; comments are not read.
    if ($path =~ /\.(?:cpp|h|cu)$/) {
        $text =~ s/^\s*\/\/.*$//mg;
        $text = join "\n", grep { / / } $text =~ /"((?:[^"\\\n]|\\.)*)"/g;
    }
    my $names = $path =~ /\.md$|\.json$/ ? qr/`(batmap_[a-z0-9_]+)[`(]|\b(batmap_[a-z0-9_]+)\(/ : $path =~ /\.(?:cpp|h|cu)$/ ? qr/\b(batmap_[a-z0-9_]+)\b()/ : qr/\b(batmap_[a-z0-9_]+)\(()/;
    my %named;
    while ($text =~ /$names/g) { $named{ $1 || $2 } = 1 }
    for my $name (sort keys %named) { report("$path: there is no $name") unless $exists{$name} || $name =~ $other }
}
exit $status;
END
