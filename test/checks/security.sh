#!/bin/bash
# SECURITY.md lists every C function that extension/ exports, no other, and names only tests that exist.
# shellcheck disable=SC2016  # backquotes of Markdown
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

declared=$(grep -ohE "^BATMAP_(TABLE_)?FUNCTION\([a-z_0-9]+[,)]" -r extension | sed 's/.*(//; s/[,)]//' | LC_ALL=C sort -u)
listed=$(sed -n '/^## Exported functions/,$p' SECURITY.md | grep -oE '`batmap_[a-z_0-9]+`' | tr -d '`' | LC_ALL=C sort -u)
status=0
difference=$(LC_ALL=C comm -3 <(echo "$declared") <(echo "$listed"))
if [ -n "$difference" ]; then
    echo "security: only in the code (left), or only in SECURITY.md (right):"
    echo "$difference"
    status=1
fi
for test in $(sed -n '/^## Exported functions/,$p' SECURITY.md | grep -oE '`[a-z]+/[a-z_0-9]+\.[a-z]+`' | tr -d '`' | sort -u); do
    [ -e "test/$test" ] || { echo "security: SECURITY.md names test/$test, which is not there"; status=1; }
done
exit $status
