#!/bin/bash
# One call over the nodes of a Citus cluster beside one server, over retail: `bench/run citus [WORKERS]`, or
# test/citus_cluster WORKERS bench/sql/citus.sh. Prints Markdown: medians of wall times, which alternate, and the bytes that the call
# tells in its debug messages. Each worker counts on its share of the processors, one server on all of them.
#
# Variables: BATMAP_TEST_DATA (folder with fimi/retail.dat.zst), BENCH_SUPPORT (default 0.001), BENCH_ROUNDS (default 9).

set -euo pipefail

support=${BENCH_SUPPORT:-0.001}
rounds=${BENCH_ROUNDS:-9}
run() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }
[ -r "${BATMAP_TEST_DATA:-}/fimi/retail.dat.zst" ] || { echo "citus.sh: BATMAP_TEST_DATA has no fimi/retail.dat.zst" >&2; exit 77; }

workers=$(run -c "SELECT count(*) FROM citus_get_active_worker_nodes()")
threads=$(($(nproc) / workers))
[ "$threads" -gt 0 ] || threads=1
for port in $(run -c "SELECT node_port FROM citus_get_active_worker_nodes()"); do
    PGPORT=$port run -c "ALTER SYSTEM SET batmap.threads = $threads" -c "SELECT pg_reload_conf()" > /dev/null
done
run -c "CREATE TABLE one (tid int4, item int4); CREATE TABLE spread (tid int4, item int4); SELECT create_distributed_table('spread', 'tid')" > /dev/null
zstd -dcq "$BATMAP_TEST_DATA/fimi/retail.dat.zst" | awk '{ for (k = 1; k <= NF; ++k) print NR "\t" $k }' | run -c 'COPY one FROM STDIN'
run -c "INSERT INTO spread TABLE one" -c "VACUUM ANALYZE one, spread" -c "CREATE TABLE times (what text, way text, rows int8, ms float8)"

# What is asked, and the ways: one server, one call over the nodes, and the aggregate whose states go to the coordinator.
itemsets="min_support => $support"
ways() { # the rows (what, way, query)
    cat << END
('itemsets', 'one server', \$q\$SELECT count(*) FROM batmap_itemsets('SELECT tid, item FROM one', $itemsets)\$q\$),
('itemsets', 'one call', \$q\$SELECT count(*) FROM batmap_distributed_itemsets('spread', $itemsets)\$q\$),
('closed itemsets', 'one server', \$q\$SELECT count(*) FROM batmap_itemsets('SELECT tid, item FROM one', $itemsets, target => 'closed')\$q\$),
('closed itemsets', 'one call', \$q\$SELECT count(*) FROM batmap_distributed_itemsets('spread', $itemsets, target => 'closed')\$q\$),
('pairs', 'one server', \$q\$SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM one', min_support => $support)\$q\$),
('pairs', 'one call', \$q\$SELECT count(*) FROM batmap_distributed_pairs('spread', min_support => $support)\$q\$),
('pairs', 'batmap_relation_agg', \$q\$SELECT count(*) FROM (SELECT batmap_relation_agg(tid, item) AS r FROM spread) s, LATERAL batmap_pairs(s.r, min_support => $support)\$q\$)
END
}
run << SQL
SET batmap.threads = $(nproc);
DO \$\$ DECLARE asked record; start timestamptz; answers int8; BEGIN
    FOR round IN 0 .. $rounds LOOP
        FOR asked IN SELECT * FROM (VALUES $(ways)) w (what, way, query) LOOP
            start := clock_timestamp();
            EXECUTE asked.query INTO answers;
            IF round > 0 THEN
                INSERT INTO times VALUES (asked.what, asked.way, answers, 1000 * extract(epoch FROM clock_timestamp() - start));
            END IF;
        END LOOP;
    END LOOP;
END \$\$;
SQL

echo "# One call over $workers workers, retail at a support of $support"
echo
run -c "SELECT format('Citus %s; a worker counts on $threads threads, one server on $(nproc).', extversion) FROM pg_extension WHERE extname = 'citus'"
echo
echo "| | way | answers | ms | of one server |"
echo "|---|---|---|---|---|"
run << SQL
SELECT format('| %s | %s | %s | %s | %s |', what, way, rows, round(ms::numeric, 1),
    round((ms / max(ms) FILTER (WHERE way = 'one server') OVER (PARTITION BY what))::numeric, 2))
FROM (SELECT what, way, min(rows) AS rows, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms FROM times GROUP BY what, way
      HAVING min(rows) = max(rows)) m ORDER BY what, way DESC;
SQL
echo
echo "| | found by the parts | sent to them | their counts | bytes in all | the answer as text |"
echo "|---|---|---|---|---|---|"
bytes() { # WHAT FUNCTION ANSWER
    run -c "SET client_min_messages = debug1" -c "SELECT count(*) FROM batmap_distributed_$2('spread', min_support => $support)" 2>&1 | awk -v what="$1" -v answer="$(run -c "$3")" '
        / candidates: part/ { found += $(NF - 1) }
        / recount: part/    { counted += $(NF - 1) }
        / bytes sent, /     { sent = $(NF - 4) }
        END { printf "| %s | %d | %d | %d | %d | %d |\n", what, found, sent, counted, found + sent + counted, answer }'
}
bytes itemsets itemsets "SELECT sum(length(i::text)) FROM batmap_itemsets('SELECT tid, item FROM one', min_support => $support) i"
bytes pairs pairs "SELECT sum(length(p::text)) FROM (SELECT item_a, item_b, support_count FROM batmap_pairs('SELECT tid, item FROM one', min_support => $support)) p"
