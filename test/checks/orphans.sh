#!/bin/bash
# No file is unused: every test has an expected output and the reverse, every source is in a list, every entry
# of a list exists, and no two sources have the same name.
set -euo pipefail
cd "${BATMAP_ROOT:-$(dirname "${BASH_SOURCE[0]}")/../..}"

status=0
report() {
    echo "orphans: $*"
    status=1
}

names_of() { # FOLDER EXTENSION
    [ -d "$1" ] || return 0
    find "$1" -maxdepth 1 -name "*.$2" -printf '%f\n' | sed "s/\.$2\$//" | LC_ALL=C sort
}

tests=$(
    names_of test/sql sql
    names_of test/specs spec
)
double=$(echo "$tests" | sort | uniq -d)
[ -z "$double" ] || report "in test/sql and test/specs, which share test/expected:" "$double"

for name in $tests; do
    [ -e "test/expected/$name.out" ] || report "test $name has no test/expected/$name.out"
done
# pg_regress takes NAME_0.out to NAME_9.out as alternatives.
for name in $(names_of test/expected out); do
    grep -qx -e "$name" -e "${name%_[0-9]}" <<< "$tests" || report "test/expected/$name.out belongs to no test"
done

for folder in kernels extension; do
    if [ ! -e "$folder/sources.list" ]; then
        report "$folder/sources.list is not there"
        continue
    fi
    listed=$(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$folder/sources.list" | LC_ALL=C sort)
    present=$(find "$folder" -name '*.cpp' -not -path 'kernels/cuda/*' -not -path kernels/process/host/batmap_gpu.cpp | LC_ALL=C sort)
    double=$(echo "$listed" | uniq -d)
    [ -z "$double" ] || report "twice in $folder/sources.list:" "$double"
    extra=$(LC_ALL=C comm -13 <(echo "$listed") <(echo "$present"))
    [ -z "$extra" ] || report "not in $folder/sources.list:" "$extra"
    gone=$(LC_ALL=C comm -23 <(echo "$listed" | uniq) <(echo "$present"))
    [ -z "$gone" ] || report "in $folder/sources.list, but not there:" "$gone"
done

double=$(find kernels extension -name '*.cpp' -printf '%f\n' | sort | uniq -d)
[ -z "$double" ] || report "more than one file is called" "$double"

# Each engine source has a unit test of its stem, or a row in covered_by.list that names the test.
covered=$(sed '/^#/d' test/unit/covered_by.list)
while IFS= read -r source; do
    stem=$(basename "$source" .cpp)
    row=$(grep -F "$source " <<< "$covered" || true)
    if compgen -G "test/unit/*/${stem}_test.cpp" > /dev/null; then
        [ -z "$row" ] || report "$source has a test of its stem and a row in test/unit/covered_by.list"
    elif [ -z "$row" ]; then
        report "$source has no test of its stem and no row in test/unit/covered_by.list"
    fi
done < <(sed 's/#.*//; /^$/d' kernels/sources.list)
while read -r source test; do
    if [ ! -e "$source" ] || [ ! -e "$test" ]; then report "test/unit/covered_by.list: $source or $test is not there"; fi
done <<< "$covered"

for target in test/fuzz/*_fuzz.cpp; do
    [ -e "$target" ] || continue
    name=$(basename "$target" .cpp)
    [ -n "$(find "test/fuzz/corpus/$name" -type f -print -quit 2> /dev/null)" ] || report "$target has no corpus in test/fuzz/corpus/$name"
done

exit $status
