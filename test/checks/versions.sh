#!/bin/bash
# batmap.control has the version: 1.2.3, or 1.2.3-dev while it is in development. META.json, the newest heading of CHANGELOG.md, the
# packages and the Python package must contain the same one, and the Python package the same licence. docs/versions.md has the
# numbers of SQL objects, formats and the ABI. Older versions have frozen SQL objects, and a script leads from the newest of them to
# this version.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

status=0
version=$(sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" batmap.control)
if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-dev)?$ ]]; then
    echo "versions: batmap.control has no version like 1.2.3 or 1.2.3-dev: '$version'"
    exit 1
fi
meta=$(sed -n 's/^ *"version": *"\([^"]*\)".*/\1/p' META.json | sort -u || true)
if [ "$meta" != "$version" ]; then
    echo "versions: batmap.control says $version, META.json says" "$meta"
    status=1
fi
# A heading like "## 1.2.3 (not released)" or "## 1.2.3 (2026-12-01)".
newest=$(sed -nE 's/^## ([0-9]+\.[0-9]+\.[0-9]+ \(.*\))$/\1/p' CHANGELOG.md | head -n 1) || true
if [ "${newest%% *}" != "${version%-dev}" ]; then
    echo "versions: batmap.control says $version, the newest entry of CHANGELOG.md is '${newest:-none}'"
    status=1
elif [[ $version = *-dev && $newest != *'(not released)' ]]; then
    echo "versions: batmap.control says $version, but CHANGELOG.md has a date of release: $newest"
    status=1
fi
# Packagers write a version in development with a tilde, and Python in a way of its own.
packaged=${version/-dev/\~dev}
of_python=${version/-dev/.dev0}
package=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' python/src/batmap/__init__.py)
if [ "$package" != "$of_python" ]; then
    echo "versions: batmap.control says $version, python/src/batmap/__init__.py says '${package:-none}'"
    status=1
fi
for changelog in debian/changelog packaging/batmap-cuda/debian/changelog; do
    debian=$(sed -nE '1s/^batmap(-cuda)? \(([^-)]*)-[^)]*\).*/\2/p' $changelog)
    if [ "$debian" != "$packaged" ]; then
        echo "versions: batmap.control says $version, $changelog says '${debian:-none}'"
        status=1
    fi
done
rpm=$(sed -n 's/^Version: *//p' packaging/rpm/batmap.spec)
if [ "$rpm" != "$packaged" ]; then
    echo "versions: batmap.control says $version, packaging/rpm/batmap.spec says '${rpm:-none}'"
    status=1
fi
# Rows of the first table: | what | number | written in | promise |
listed=$(sed -nE 's/^\| [^|]+ \| ([0-9]+\.[0-9]+\.[0-9]+(-dev)?) \|.*/\1/p' docs/versions.md | sort -u)
if [ "$listed" != "$version" ]; then
    echo "versions: batmap.control says $version, docs/versions.md says" "${listed:-none}"
    status=1
fi
# Rows of the others: | what | `constant` | number | `file` |
in_code=$(grep -rEo 'constexpr [a-z0-9_]+ k[A-Za-z]*(Version|Abi) = [0-9]+;' kernels extension | sed -E 's/^([^:]*):.* (k[A-Za-z]*) = ([0-9]+);/\1 \2 \3/' | LC_ALL=C sort)
# shellcheck disable=SC2016  # backquotes of Markdown
in_page=$(sed -nE 's/^\| [^|]+ \| `(k[A-Za-z]+)` \| ([0-9]+) \| `([^`]+)` \|$/\3 \1 \2/p' docs/versions.md | LC_ALL=C sort)
difference=$(LC_ALL=C comm -3 <(echo "$in_code") <(echo "$in_page"))
if [ -n "$difference" ]; then
    echo "versions: numbers only in the code (left), or only in docs/versions.md (right):"
    echo "$difference"
    status=1
fi
# The newest version before this one, by the frozen SQL objects.
frozen=$(find sql -name 'batmap--*.sql' ! -name 'batmap--*--*.sql' -printf '%f\n' | sed 's/^batmap--\(.*\)\.sql$/\1/' | sort -V | tail -n 1)
if [ "$frozen" = "$version" ]; then
    echo "versions: sql/batmap--$frozen.sql is frozen, but batmap.control has the same version: make freeze begins the next"
    status=1
elif [ -n "$frozen" ] && [ ! -e "sql/batmap--$frozen--$version.sql" ]; then
    echo "versions: no script updates from $frozen: sql/batmap--$frozen--$version.sql is not there"
    status=1
fi
servers=$(sed -n 's/.*"batmap knows PostgreSQL \([0-9]* to [0-9]*\)".*/\1/p' extension/server/pg_versions.h)
for page in README.md docs/versions.md; do
    if ! grep -q "PostgreSQL $servers\b" "$page"; then
        echo "versions: extension/server/pg_versions.h says PostgreSQL $servers, $page does not"
        status=1
    fi
done
if ! cmp -s LICENSE python/LICENSE; then
    echo "versions: python/LICENSE is not a copy of LICENSE"
    status=1
fi
exit $status
