#!/bin/bash
# The part of `bench/run episodes` in SQL: discovery on a recording, once for each gap, with what
# batmap_last_run() reports about every length. Runs inside test/sandbox. usage: episodes.sh RECORDING.tsv.zst

set -euo pipefail

recording=$1
rounds=${BENCH_RUNS:-5}

psql -X -q -v ON_ERROR_STOP=1 -c "CREATE TABLE recording (time_us int8, unit int4)"
zstd -dc "$recording" | psql -X -q -v ON_ERROR_STOP=1 -c "COPY recording FROM STDIN"
psql -X -q -v ON_ERROR_STOP=1 -c "VACUUM (FREEZE, ANALYZE) recording"

echo
echo "## In SQL: the same recording, batmap_episodes up to length 5, gap (0, 20 ms], min_count 200, $rounds runs"
echo
echo "| threads | read ms | group ms | count ms | rows | peak MB | lengths |"
echo "|---|---|---|---|---|---|---|"
for threads in 1 2; do
    for _ in $(seq "$rounds"); do
        psql -X -q -At -F ' | ' -v ON_ERROR_STOP=1 <<SQL
SET batmap.threads = $threads;
CREATE TEMP TABLE answer AS
    SELECT * FROM batmap_episodes('SELECT time_us, unit FROM recording', ARRAY[0, 20000], min_count => 200, max_length => 5);
SELECT '| ' || threads, round(read_ms), round(group_ms), round(count_ms), results, round(peak_memory / 1e6),
    (SELECT string_agg(format('%s: %s of %s in %s ms', length, frequent, candidates, round(milliseconds::numeric, 1)), '; ') FROM batmap_last_run_levels()) || ' |'
FROM batmap_last_run();
SQL
    done
done
