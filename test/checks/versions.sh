#!/bin/bash
# batmap.control has the version. META.json, the newest heading of CHANGELOG.md, the packages and the Python package must contain the
# same one, and the Python package the same licence. docs/versions.md has the numbers of SQL objects, formats and the ABI.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

status=0
version=$(sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" batmap.control)
if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
    echo "versions: batmap.control has no version like 1.2.3: '$version'"
    exit 1
fi
meta=$(sed -n 's/^ *"version": *"\([^"]*\)".*/\1/p' META.json | grep -v '^1\.0\.0$' | sort -u || true)
if [ "$meta" != "$version" ]; then
    echo "versions: batmap.control says $version, META.json says" "$meta"
    status=1
fi
# A heading like "## 0.1.0" or "## [0.1.0] - unreleased".
newest=$(sed -nE 's/^## \[?v?([0-9]+\.[0-9]+\.[0-9]+).*/\1/p' CHANGELOG.md | head -n 1) || true
if [ "$newest" != "$version" ]; then
    echo "versions: batmap.control says $version, the newest entry of CHANGELOG.md is '${newest:-none}'"
    status=1
fi
package=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' python/src/batmap/__init__.py)
if [ "$package" != "$version" ]; then
    echo "versions: batmap.control says $version, python/src/batmap/__init__.py says '${package:-none}'"
    status=1
fi
for changelog in debian/changelog packaging/batmap-cuda/debian/changelog; do
    debian=$(sed -nE '1s/^batmap(-cuda)? \(([^-)]*)-[^)]*\).*/\2/p' $changelog)
    if [ "$debian" != "$version" ]; then
        echo "versions: batmap.control says $version, $changelog says '${debian:-none}'"
        status=1
    fi
done
rpm=$(sed -n 's/^Version: *//p' packaging/rpm/batmap.spec)
if [ "$rpm" != "$version" ]; then
    echo "versions: batmap.control says $version, packaging/rpm/batmap.spec says '${rpm:-none}'"
    status=1
fi
# Rows of the first table: | what | number | written in | promise |
listed=$(sed -nE 's/^\| [^|]+ \| ([0-9]+\.[0-9]+\.[0-9]+) \|.*/\1/p' docs/versions.md | sort -u)
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
