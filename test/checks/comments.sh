#!/bin/bash
# Every object that sql/batmap.sql creates has a COMMENT, which \dx+, \df+ and \dT+ show. Input and output
# functions of types, which users do not call, need none.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

# One statement per line, one space between words.
statements() {
    sed 's/--.*//; /^\\/d' sql/batmap.sql | tr '\n' ' ' | sed 's/;/;\n/g' | sed -E 's/[[:space:]]+/ /g; s/^ //'
}

created=$(statements | sed -nE \
    -e 's/^CREATE (OR REPLACE )?(FUNCTION|AGGREGATE|PROCEDURE) ([a-z_0-9]+).*/\2 \3/p' \
    -e 's/^CREATE (TYPE|VIEW|TABLE|DOMAIN) ([a-z_0-9]+).*/\1 \2/p' \
    -e 's/^CREATE (OPERATOR CLASS|OPERATOR FAMILY|OPERATOR) ([^ (]+).*/\1 \2/p' \
    -e 's/^CREATE CAST \(([^)]*)\).*/CAST \1/p')
commented=$(statements | sed -nE \
    -e 's/^COMMENT ON (FUNCTION|AGGREGATE|PROCEDURE|TYPE|VIEW|TABLE|DOMAIN) ([a-z_0-9]+).*/\1 \2/p' \
    -e 's/^COMMENT ON (OPERATOR CLASS|OPERATOR FAMILY|OPERATOR) ([^ (]+).*/\1 \2/p' \
    -e 's/^COMMENT ON CAST \(([^)]*)\).*/CAST \1/p')
io=$(statements | grep '^CREATE TYPE' |
    grep -oE '\b(INPUT|OUTPUT|RECEIVE|SEND|TYPMOD_IN|TYPMOD_OUT) *= *[a-z_0-9]+' | sed 's/.*= */FUNCTION /' || true)

status=0
# Overloads are counted: three functions with one name need three comments. A shell type and its definition
# count as one type.
while read -r created_count object; do
    case $object in TYPE\ *) created_count=1 ;; esac
    if grep -qxF "$object" <<< "$io"; then continue; fi
    commented_count=$(grep -cxF "$object" <<< "$commented" || true)
    if [ "$commented_count" -lt "$created_count" ]; then
        echo "comments: $object: created $created_count times, commented $commented_count times"
        status=1
    fi
done < <(sort <<< "$created" | uniq -c)

[ -n "$created" ] || { echo "comments: sql/batmap.sql creates nothing"; status=1; }
exit $status
