#!/bin/bash
# batmap.control has the version. META.json, the newest heading of CHANGELOG.md and the Python package must contain the same one,
# and the package the same licence.
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
if ! cmp -s LICENSE python/LICENSE; then
    echo "versions: python/LICENSE is not a copy of LICENSE"
    status=1
fi
exit $status
