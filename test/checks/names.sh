#!/bin/bash
# Comments and Markdown name only files that exist. A name is a path, or a bare name, with an extension that files of the
# tree have. It exists if the path of some file is the name or ends with it. A `*` in it stands for
# any letters but a slash. Code between ``` in Markdown is not read.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

folders=(bench debian demo docs extension kernels packaging python sql test)

# Names that need not exist, as extended regular expressions of the whole name.
exceptions=(
    'postgres\.h' 'libpq-fe\.h' 'jit\.c'                  # PostgreSQL
    '(access|catalog|commands|common|executor|jit|lib|nodes|optimizer|parser|port|storage|tcop|utils)/.*\.h'
    'build/.*'                                              # outputs
    '.*(DATE|ISA|NAME|NEW|NNN|OLD|SUITE|VERSION).*'                 # placeholders
    '(some|file)\.sql'                                      # examples
    'env\.py'                                               # Alembic
    '[a-z]\.c'                                              # a column of SQL
    '\*.*\.\*'                                              # emphasis of Markdown
)

pattern=$(
    IFS='|'
    echo "^(${exceptions[*]})\$"
)

files() { find "${folders[@]}" ./*.md ./Makefile ./CMakeLists.txt -name build -prune -o -type f -print 2> /dev/null | sed 's|^\./||'; }

work=$(mktemp)
trap 'rm -f "$work"' EXIT
files > "$work"

found=$(
    # shellcheck disable=SC2016  # a program of awk
    grep -vE '^(test/(golden|expected|fuzz/corpus)/|.*\.(hex|png|svg|out)$)' "$work" | xargs awk -v exceptions="$pattern" -v list="$work" '
    BEGIN {
        while ((getline path < list) > 0) {
            n = split(path, part, "/")
            name = ""
            for (i = n; i >= 1; --i) {
                name = name == "" ? part[i] : part[i] "/" name
                there[name] = 1
                stem = name
                if (sub(/\.[a-z]+$/, "", stem)) any_extension[stem] = 1
            }
            suffixes = suffixes "\n" part[n] "\n"
            paths = paths "\n" path "\n"
        }
    }
    # The comment of a line, or all of a line of Markdown; code between ``` is not read.
    function comment(line) {
        if (FILENAME ~ /\.md$/) return line
        if (FILENAME ~ /\.(h|cpp|cu|cuh|c)$/) return match(line, /\/\/ ?[^"]*$|\/\/.*/) ? substr(line, RSTART) : ""
        if (FILENAME ~ /\.(sql|psql)$/) return match(line, /-- .*/) ? substr(line, RSTART) : ""
        return match(line, /^#[^!].*|[ \t]# .*/) ? substr(line, RSTART) : ""
    }
    function exists(name,    base, tail) {
        if (name in there) return 1
        if (name ~ exceptions) return 1
        if (name ~ /^\*/) {
            tail = substr(name, 2)
            return index(suffixes, tail "\n") > 0
        }
        base = name
        if (sub(/\.\*$/, "", base)) return base in any_extension
        if (name ~ /\*/) {  # elsewhere
            while (sub(/^\.\.?\//, "", base)) { }
            gsub(/\./, "[.]", base)
            gsub(/\*/, "[^/]*", base)
            return paths ~ ("[\n/]" base "\n")
        }
        # A path relative to the folder of the file.
        while (sub(/^\.\.?\//, "", name)) if (name in there) return 1
        return 0
    }
    FNR == 1 { fenced = 0 }
    FILENAME ~ /\.md$/ && /^ *```/ { fenced = !fenced; next }
    fenced { next }
    {
        text = comment($0)
        gsub(/https?:\/\/[^ )>]*/, "", text)
        words = split(text, word, /[^A-Za-z0-9_.\/*-]+/)
        for (i = 1; i <= words; ++i) {
            name = word[i]
            sub(/[.\/-]+$/, "", name)
            if (name ~ /[A-Za-z0-9_*]\.(h|cpp|cuh?|c|sh|md|sql|psql|pl|py|awk|list|spec|supp|\*)$/ && !exists(name)) print FILENAME ":" FNR ": " name
        }
    }'
)

[ -z "$found" ] && exit 0
echo "names: these comments or pages name files that do not exist:"
echo "$found"
exit 1
