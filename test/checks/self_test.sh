#!/bin/bash
# Proves that each check of this folder can fail. It copies the tree, breaks one thing in the copy, and the check must turn
# red. The unbroken copy must be green, because otherwise red proves nothing: a check that is red already is left out.
set -euo pipefail

checks=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${BATMAP_ROOT:-$(cd "$checks/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# The parts of the tree that a check reads, or all but what the builds and version control keep, and the library, which
# is large and which no case changes.
copy() { # PART...
    local parts=("$@")
    [ $# -gt 0 ] || parts=(.)
    rm -rf "$work/tree"
    mkdir "$work/tree"
    tar cf - -C "$root" --exclude=./build --exclude=./.git --exclude=./batmap.so "${parts[@]}" | tar xf - -C "$work/tree"
    [ ! -e "$root/batmap.so" ] || ln -s "$root/batmap.so" "$work/tree/batmap.so"
    touch "$work/copied"
}

# Undoes what a case changed. The files of the copy are as old as those of the tree.
restore() {
    local file
    (cd "$work/tree" && find . -type f -newer "$work/copied") | while read -r file; do
        if [ -e "$root/$file" ]; then
            cp -p "$root/$file" "$work/tree/$file"
        else
            rm "$work/tree/$file"
        fi
    done
}

run_check() {
    BATMAP_ROOT=$work/tree "$checks/$1.sh" > "$work/output" 2>&1
}

green() { # CHECK [PART...]: also says whether the check can run here at all
    local check=$1 result=0
    shift
    copy "$@"
    run_check "$check" || result=$?
    case $result in
        0) return 0 ;;
        77) echo "self_test: $check cannot run here"; return 1 ;;
        *) echo "self_test: $check is red on the tree as it is"; return 1 ;;
    esac
}

red() { # CHECK WORD_IN_OUTPUT COMMAND...: breaks the copy with COMMAND, run inside it
    local check=$1 word=$2 result=0
    shift 2
    (cd "$work/tree" && "$@")
    run_check "$check" || result=$?
    if [ "$result" = 0 ] || [ "$result" = 77 ]; then
        echo "self_test: $check did not see: $*"
        status=1
    elif ! grep -qe "$word" "$work/output"; then
        echo "self_test: $check is red after '$*', but does not say '$word':"
        cat "$work/output"
        status=1
    fi
    restore
}

# shellcheck disable=SC2317  # called by red
append() { # FILE LINE
    echo "$2" >> "$1"
}

first_of() { # FOLDER PATTERN
    (cd "$root" && find "$1" -name "$2" | LC_ALL=C sort | head -n 1)
}

if green layers; then
    red layers "server header" append "$(first_of kernels/core '*.h')" '#include "postgres.h"'
    red layers "server header" append "$(first_of kernels/relation '*.cpp')" '#  include <utils/memutils.h>'
    red layers "includes the extension" append "$(first_of kernels/pairs '*.cpp')" '#include "extension/server/pg.h"'
    red layers "not below it" append "$(first_of kernels/core '*.h')" '#include "relation/chunk.h"'
    red layers "not below it" append "$(first_of kernels/relation '*.cpp')" '#include "pairs/choose.h"'
    red layers "not below it" append "$(first_of extension/input '*.cpp')" '#include "extension/streams/row_stream.h"'
    red layers "another topic" append "$(first_of kernels/itemsets/rules '*.cpp')" '#include "pairs/choose.h"'
    red layers "no floor" append kernels/lonely_header.h '#include "core/error.h"'
    red layers "not a path from kernels" append "$(first_of kernels/core '*.h')" '#include "error.h"'
    red layers "CUDA" append "$(first_of kernels/pairs '*.cpp')" '#include <cuda_runtime.h>'
    red layers "not for kernels/cuda" append "$(first_of kernels/cuda '*.h')" '#include "core/options.h"'
    red layers "CUDA" append "$(first_of kernels/pairs '*.h')" '__global__ void kernel();'
    red layers "through extension/server/pg.h" append "$(first_of extension 'module.cpp')" '#include "fmgr.h"'
fi

if green exports; then
    red exports "not exported" append sql/batmap.sql \
        "CREATE FUNCTION batmap_nothing() RETURNS int4 AS 'MODULE_PATHNAME' LANGUAGE C;"
    red exports "not named" eval "sed -i \"s/'batmap_pairs_query'/'batmap_pairs_relation'/\" sql/*.sql"
fi

if green versions; then
    red versions META.json sed -i 's/"version": "[0-9.]*\(-dev\)*",/"version": "99.0.0",/' META.json
    red versions CHANGELOG sed -i 's/^## .*/## 99.0.0 (not released)/' CHANGELOG.md
    red versions "__init__.py says" sed -i 's/^__version__ = .*/__version__ = "99.0.0"/' python/src/batmap/__init__.py
    red versions "debian/changelog says" sed -i '1s/(.*)/(99.0.0-1)/' debian/changelog
    red versions "batmap.spec says" sed -i 's/^Version:.*/Version: 99.0.0/' packaging/rpm/batmap.spec
    red versions "docs/versions.md says" sed -i 's/^| library | [0-9.]*/| library | 99.0.0/' docs/versions.md
    red versions "kAcceleratorAbi" sed -i 's/\(kAcceleratorAbi` |\) [0-9]*/\1 99/' docs/versions.md
    red versions "kLonelyVersion" append kernels/core/cpu.h 'constexpr int kLonelyVersion = 7;'
    red versions "README.md does not" sed -i 's/PostgreSQL 15 to [0-9]*/PostgreSQL 15/' README.md
    red versions "not a copy" append python/LICENSE 'Another line.'
    red versions "no script updates from 98.0.0" cp sql/batmap.sql sql/batmap--98.0.0.sql
    red versions "has the same version" eval "sed -i \"s/^default_version.*/default_version = '98.0.0'/\" batmap.control; cp sql/batmap.sql sql/batmap--98.0.0.sql"
    red versions "date of release" eval "sed -i \"s/^default_version.*/default_version = '98.0.0-dev'/\" batmap.control; sed -i '0,/^## .*/s//## 98.0.0 (2026-12-01)/' CHANGELOG.md"
    red versions "no version" sed -i 's/^default_version.*//' batmap.control
fi

if green meta ./META.json ./sql/batmap.sql ./README.md; then
    red meta "required field maintainer" sed -i '/"maintainer"/d' META.json
    red meta "not one of the list" sed -i 's/"license": ".*"/"license": "mine"/' META.json
    red meta "which is not there" sed -i 's,sql/batmap.sql,sql/gone.sql,' META.json
    red meta "no semantic version" sed -i 's/"version": "0[^"]*"/"version": "0.1"/' META.json
    red meta "is not JSON" append META.json '}'
fi

if green hosts; then
    red hosts "README.md" append README.md "Get it from pypi"".org."
fi

if green orphans; then
    red orphans "has no test/expected" append test/sql/lonely_test.sql 'SELECT 1;'
    red orphans "belongs to no test" append test/expected/lonely_output.out ''
    red orphans "not in kernels/sources.list" append kernels/core/lonely_source.cpp ''
    red orphans "not in extension/sources.list" append extension/lonely_source.cpp ''
    red orphans "but not there" append kernels/sources.list kernels/core/gone.cpp
    red orphans "more than one file" cp extension/module.cpp kernels/core/module.cpp
    red orphans "no test of its stem" sed -i '/loader.cpp/d' test/unit/covered_by.list
    red orphans "is not there" append test/unit/covered_by.list 'kernels/core/gone.cpp test/unit/core/cpu_test.cpp'
    red orphans "has no corpus" append test/fuzz/lonely_fuzz.cpp ''
fi

if green security; then
    red security "batmap_nothing" append extension/module.cpp 'BATMAP_FUNCTION(batmap_nothing) { PG_RETURN_NULL(); }'
    red security "batmap_no_rows" append extension/module.cpp 'BATMAP_TABLE_FUNCTION(batmap_no_rows) { return nullptr; }'
    # shellcheck disable=SC2016  # meant for the file
    red security "batmap_out" sed -i 's/`batmap_out` //' SECURITY.md
    # shellcheck disable=SC2016
    red security "gone_client" append SECURITY.md '`client/gone_client.cpp`'
fi

if green comments; then
    red comments "FUNCTION batmap_last_run" sed -i 's/^COMMENT ON FUNCTION batmap_last_run/-- &/' sql/batmap.sql
    red comments "AGGREGATE batmap_relation_agg" sed -i '/^COMMENT ON AGGREGATE batmap_relation_agg(int8, int8)/d' sql/batmap.sql
    red comments "TYPE batmap_pair" sed -i '/^COMMENT ON TYPE batmap_pair /d' sql/batmap.sql
    red comments "OPERATOR" append sql/batmap.sql 'CREATE OPERATOR && (LEFTARG = batmap_relation, RIGHTARG = batmap_relation, FUNCTION = f);'
fi

# shellcheck disable=SC2016  # backquotes of Markdown
if green reference; then
    red reference "no declaration of: batmap_measure" sed -i '/^batmap_measure(/d' docs/reference.md
    red reference "no declaration of: batmap_nothing" append sql/batmap.sql \
        "CREATE FUNCTION batmap_nothing(x int4) RETURNS int4 AS 'MODULE_PATHNAME' LANGUAGE C;"
    red reference "part of an object, but without an underscore: batmap_out" sed -i 's/_batmap_out/batmap_out/' sql/batmap.sql
    red reference "nothing uses this internal function: _batmap_nothing" append sql/batmap.sql \
        "CREATE FUNCTION _batmap_nothing(int) RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C;"
    red reference "not as sql/batmap.sql declares it: batmap_all_pairs" sed -i 's/min_jaccard float8/min_similarity float8/' sql/batmap.sql
    red reference "not as sql/batmap.sql declares it: batmap_last_run" sed -i 's/OUT kernel text,/OUT cpu_kernel text,/' sql/batmap.sql
    red reference "shown twice" sed -i 's/^batmap_range(.*/&\n&/' docs/reference.md
    red reference "the contents are not those of the page" sed -i 's/^## Kept counts$/## Counts that are kept/' docs/reference.md
    red reference "section 'batmap_pairs': an example comes first" sed -i '/^### batmap_pairs$/,/^```signature/s/^```sql/```text/' docs/reference.md
    red reference "no section 'Type batmap_pair'" sed -i 's/^### Type batmap_pair$/### batmap_pairs/' docs/reference.md
    red reference "no section of the view batmap_seen" append sql/batmap.sql 'CREATE VIEW batmap_seen AS SELECT 1;'
    red reference "operator batmap && batmap is not there" sed -i 's/`batmap && batmap`//' docs/reference.md
    red reference "there is no operator batmap ~ batmap" append docs/reference.md '`batmap ~ batmap`'
    red reference "operator class batmap_gin_ops" sed -i 's/`batmap_gin_ops`//' docs/reference.md
    red reference "cast bytea::batmap" sed -i 's/`bytea::batmap`//' docs/reference.md
    red reference "setting batmap.threads has no row" sed -i '/^| `batmap.threads`/d' docs/reference.md
    red reference "there is no setting batmap.gone" append docs/reference.md 'batmap.gone'
    red reference "README.md: there is no batmap_gone" append README.md '`batmap_gone(1)`'
    red reference "CHANGELOG.md: there is no batmap_gone" append CHANGELOG.md '`batmap_gone`'
    red reference "docs/recipes.md: there is no batmap_gone" append docs/recipes.md 'SELECT batmap_gone(1)'
    red reference "bench/sides.sh: there is no batmap_gone" append bench/sides.sh 'SELECT batmap_gone(1)'
    red reference "python/src/batmap/_session.py: there is no batmap_gone" append python/src/batmap/_session.py 'batmap_gone(1)'
    red reference "srf_count_pairs.cpp: there is no batmap_gone" sed -i 's/an id with batmap_or_agg/an id with batmap_gone/' extension/functions/srf_count_pairs.cpp
    red reference "there is no such function" append docs/reference.md '### batmap_gone'
fi

if green pictures; then
    red pictures "self_join.svg" sed -i 's/405.247 (405.247)/74.157 (174.157)/' bench/results/2026-11-28-xeon-avx512-sql-plain.md
    red pictures "density.svg" sed -i 's/one thread, Xeon/two threads, Xeon/' bench/docs_pictures.py
    red pictures "gone.svg" append README.md '![](docs/pictures/gone.svg)'
fi

if green names; then
    red names "extension/gone_file.h" append extension/module.cpp '// See extension/gone_file.h.'
    red names "gone_script.sh" append test/sandbox '# As in gone_script.sh.'
    red names "docs/gone_page.md" append README.md 'Read [more](docs/gone_page.md).'
    red names "gone_file\.\*" append sql/batmap.sql '-- Made by gone_file.*'
    # shellcheck disable=SC2016  # meant for the file
    red names "test/\*/gone_\*.cpp" append test/README.md 'Tests are in `test/*/gone_*.cpp`.'
    # shellcheck disable=SC2016  # meant for the file
    red names "\*_gone.cpp" append test/README.md 'Tests are in `*_gone.cpp`.'
fi

# Laying out a few files takes as long as the check needs to start.
if green format ./.clang-format ./kernels/core ./test/sandbox ./test/wrap_markdown ./README.md; then
    red format "as clang-format lays it out" append "$(first_of kernels/core '*.cpp')" 'int   badly( int laid,int out ) {return laid+out ;}'
    # shellcheck disable=SC2016  # meant for the file
    red format "SC2086" append test/sandbox 'echo $unquoted'
    red format "README.md:.* longer than 100" sed -i '3s/$/ and more and more and more and more and more and more and more and more/' README.md
fi

exit $status
