#!/bin/bash
# Frequent sequences, counted by streams: batmap_episodes beside PrefixSpan: `bench/run sequences`, or test/sandbox
# bench/peers/sequences.sh. The extension works end to end, from rows in a table to rows out; the peer has its sequences in
# memory. All answers are compared, sequence by sequence. Prints Markdown. bench/README.md says what the figures do not say.
#
# Variables: BENCH_SCALE (fraction of the streams, default 1), BENCH_RUNS (runs of each side, default 3), BENCH_SECONDS (a
# side that has taken this long is not run again, default 60), BATMAP_TEST_DATA (folder with events/ and fimi/).

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

scale=${BENCH_SCALE:-1}
max_runs=${BENCH_RUNS:-3}
max_seconds=${BENCH_SECONDS:-60}

# shellcheck source=bench/sides.sh
. bench/sides.sh
# shellcheck disable=SC2034  # read by run_side
phases=()

bench/peers/prefixspan.sh setup || { say "without the package prefixspan there is nothing to compare with"; exit 77; }
command -v zstd > /dev/null || { say "zstd is not installed"; exit 77; }

# Rows (stream, time, item), in order. A stream of the retina is one second, of retail ten baskets in a row (a thousand such
# streams: the peer is slow), of groceries one basket or, for sets, five in a row. Where single events are counted, the time is
# the place in the stream.
recording=${BATMAP_TEST_DATA-}/events/retina-demas2003-p15-ms5.tsv.zst
has_recording() { [ -r "$recording" ] || { say "retina is skipped: BATMAP_TEST_DATA does not name a folder with its events"; return 1; }; }
retina_rows() { zstd -dcq "$recording" | awk -v OFS='\t' -v scale="$scale" '$1 < 3.6e9 * scale { print int($1 / 1e6), NR, $2 }'; }
fimi_sequence() { # FILE BASKETS_OF_A_STREAM MAX_STREAMS TIME: NR (the basket) or n (the place)
    zstd -dcq "$BATMAP_TEST_DATA/fimi/$1.dat.zst" |
        awk -v OFS='\t' -v scale="$scale" "NR <= $2 * $3 * scale { for (i = 1; i <= NF; i++) { ++n; print int((NR - 1) / $2), $4, \$i } }"
}

open_psql pg
open_session prefixspan bench/peers/prefixspan.sh session
ask prefixspan version
emit "# Frequent sequences by streams beside prefixspan $answer, $(date -u +%Y-%m-%d), $(nproc) cores, scale $scale"
emit
emit "| data | streams | rows | min_count | events up to | sequences | batmap_episodes, 1 thread, CPU ms | peer, CPU ms | ratio | peer |"
emit "|---|---|---|---|---|---|---|---|---|---|"

compare() { # DATA KIND MIN_COUNT MAX_LENGTH: the rows are on standard input
    local table=$1_$2 kind=$2 same_time=false min_count max_length=$4 call counted digest peer="the package"
    min_count=$(calculate "$3 * $scale > 2 ? $3 * $scale : 2")
    [ "$kind" = events ] || same_time=true peer="plain PrefixSpan over sets"
    cat > "$work/rows"
    run_sql "CREATE TABLE $table (stream int4, at int8, item int4)"
    psql -X -q -v ON_ERROR_STOP=1 -c "COPY $table FROM STDIN" < "$work/rows"
    run_sql "VACUUM (FREEZE, ANALYZE) $table"
    ask prefixspan "load $work/rows"
    call="batmap_episodes('SELECT at, item, stream FROM $table', ARRAY[0, NULL], min_count => $min_count, max_length => $max_length, counting => 'streams', same_time => $same_time)"
    side batmap pg "SET batmap.threads = 1;" "SELECT count(*), coalesce(sum(support_count), 0) FROM $call;"
    side peer prefixspan '' "$kind $min_count $max_length"
    alternate batmap peer
    agree batmap peer
    ask prefixspan digest
    digest=$answer
    ask pg "SELECT md5(string_agg(line, E'\n' ORDER BY line COLLATE \"C\")) FROM (
        SELECT support_count || ':' || (SELECT string_agg(CASE WHEN k = 1 THEN '' WHEN steps[k] = steps[k - 1] THEN ',' ELSE ' ' END || episode[k], '' ORDER BY k)
                                        FROM generate_subscripts(episode, 1) k) AS line FROM $call) lines;"
    [ "$answer" = "$digest" ] || fail "$table: the same number of sequences, but others"
    ask pg "SELECT count(DISTINCT stream), count(*) FROM $table;"
    counted=$answer
    emit "| $1, $kind | ${counted%|*} | ${counted#*|} | $min_count | $max_length | ${side_answer[batmap]%|*} | $(median batmap cpu) | $(median peer cpu) | $(calculate "$(median peer cpu) / $(median batmap cpu)" 1) | $peer |"
}

if has_recording; then retina_rows | compare retina events 150 4; fi
if has_fimi retail retail; then fimi_sequence retail 10 1000 n | compare retail events 150 4; fi
if has_fimi groceries groceries; then
    fimi_sequence groceries 1 10000 n | compare groceries events 15 8
    fimi_sequence groceries 5 2000 NR | compare groceries sets 60 4
fi
