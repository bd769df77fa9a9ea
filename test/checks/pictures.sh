#!/bin/bash
# The pictures of README.md and docs/ are what bench/docs_pictures.py draws from the results that are kept, and those that are shown
# are there.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

command -v python3 > /dev/null || { echo "pictures: python3 is not installed"; exit 77; }
drawn=$(mktemp -d)
trap 'rm -rf "$drawn"' EXIT

status=0
PYTHONDONTWRITEBYTECODE=1 python3 bench/docs_pictures.py "$drawn"
if ! difference=$(diff -rq docs/pictures "$drawn"); then
    echo "pictures: 'bench/run pictures' draws others:"
    echo "$difference"
    status=1
fi
while IFS= read -r picture; do
    [ -e "docs/pictures/$picture" ] || { echo "pictures: $picture is shown, but not there"; status=1; }
done < <(grep -ohE '\]\((docs/)?pictures/[^)]+\)' README.md docs/*.md | sed -E 's,.*pictures/(.*)\),\1,' | sort -u)
exit $status
