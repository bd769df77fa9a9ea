#!/bin/bash
# What the parts of a table exchange in two rounds, and what that makes of 100 servers and 10^12 rows: `bench/run distributed`, or
# test/sandbox bench/sql/distributed.sh. Prints Markdown. A part is a schema of this server, which has the rows of one `tid % parts`.
# The bytes are those that the call itself tells in its debug messages, the statements included. The candidates of joins are those at
# equal shares of the threshold. The times are of two parts on one thread each and of one server on two, which alternate.
#
# Variables: BATMAP_TEST_DATA (folder with fimi/retail.dat.zst; without it a table is generated), BENCH_SUPPORT (default 0.001),
# BENCH_ROUNDS (default 15). The server must come with dblink and postgres_fdw.

set -euo pipefail

support=${BENCH_SUPPORT:-0.001}
run() { psql -X -q -A -t -F ' | ' -v ON_ERROR_STOP=1 "$@"; }

run -c 'SET client_min_messages = warning; CREATE TABLE baskets (tid int4, item int4)'
if [ -r "${BATMAP_TEST_DATA-}/fimi/retail.dat.zst" ]; then
    source=retail
    zstd -dcq "$BATMAP_TEST_DATA/fimi/retail.dat.zst" | awk '{ for (k = 1; k <= NF; ++k) print NR "\t" $k }' | run -c 'COPY baskets FROM STDIN'
else
    source="generated rows"
    run -c "INSERT INTO baskets SELECT g / 10, floor(exp((hashint4(g) & 65535) / 65536.0 * ln(16000.0))) FROM generate_series(1, 900000) g"
fi
run << SQL
ANALYZE baskets;
CREATE TABLE rounds (parts int, what text, answers int8, candidates int8, found int8, sent int8, counted int8);
CREATE TABLE sizes AS SELECT count(*) AS rows, count(DISTINCT tid) AS transactions, count(DISTINCT item) AS items,
    length(batmap_relation_agg(tid, item)::text) AS relation, length(batmap_pair_counts_agg(tid, item)::text) AS counts,
    batmap_pair_counts_pairs(batmap_pair_counts_agg(tid, item)) AS pairs FROM baskets;
SQL

# Each part is a schema of this database, and a foreign server whose sessions find its table there and count on one thread.
run << SQL
SET client_min_messages = warning;
CREATE EXTENSION postgres_fdw;
CREATE EXTENSION dblink;
DO \$\$ DECLARE parts int; part int; name text; BEGIN
    FOREACH parts IN ARRAY ARRAY[1, 2, 4, 8] LOOP FOR part IN 0 .. parts - 1 LOOP
        name := format('part_%s_%s', parts, part);
        EXECUTE format('CREATE SCHEMA %I', name);
        EXECUTE format('CREATE TABLE %I.lines AS SELECT tid, item FROM baskets WHERE tid %% %s = %s', name, parts, part);
        EXECUTE format('CREATE SERVER %I FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L, options %L)', name, '$PGHOST', '$PGPORT', '$PGDATABASE',
            format('-c search_path=%s,public -c batmap.threads=1', name));
        EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER %I', name);
    END LOOP; END LOOP;
END \$\$;
VACUUM ANALYZE;
SQL
servers() { run -c "SELECT array_agg(format('part_%s_%s', $1, p)) FROM generate_series(0, $1 - 1) p"; }
least=$(run -c "SELECT ceil(count(DISTINCT tid) * $support)::int8 FROM baskets")
# What is asked: of one server, of the servers SERVERS, and what the part PART finds in the first round, where SHARE is its share of a
# threshold that is a number.
declare -A one spread first
one[pairs]="SELECT count(*) FROM batmap_pairs('baskets', min_support => $support)"
spread[pairs]="SELECT count(*) FROM batmap_distributed_pairs('lines', min_support => $support, servers => 'SERVERS', disjoint => true)"
first[pairs]="batmap_pair_counts_from('SELECT tid, item FROM PART.lines', min_support => $support)"
one[itemsets]="SELECT count(*) FROM batmap_itemsets('SELECT tid, item FROM baskets', min_support => $support)"
spread[itemsets]="SELECT count(*) FROM batmap_distributed_itemsets('lines', min_support => $support, servers => 'SERVERS', disjoint => true)"
first[itemsets]="batmap_itemset_candidates('SELECT tid, item FROM PART.lines', min_support => $support)"
one[join]="SELECT count(*) FROM batmap_join_project('SELECT item, tid FROM baskets', 'baskets', min_count => $least)"
spread[join]="SELECT count(*) FROM batmap_distributed_join_project('SELECT item, tid FROM lines', 'lines', min_count => $least, servers => 'SERVERS', disjoint => true)"
first[join]="batmap_join_counts_from('SELECT item, tid FROM PART.lines', 'SELECT tid, item FROM PART.lines', min_count => SHARE)"
spread() { echo "${spread[$1]/SERVERS/$(servers "$2")}"; } # WHAT PARTS
two_rounds() { # WHAT SIZE PARTS, where SIZE is a function: the number of candidates in a value
    local what=$1 size=$2 parts=$3 answers found query part union=()
    answers=$(run -c "${one[$what]}")
    found=$(run -c "SET client_min_messages = debug1" -c "$(spread "$what" "$parts")" 2>&1)
    [ "$(tail -n 1 <<< "$found")" = "$answers" ] || { echo "$found" >&2; exit 1; }
    for ((part = 0; part < parts; ++part)); do
        query=${first[$what]//PART/part_${parts}_$part}
        union+=("${union:+UNION ALL }SELECT ${query/SHARE/$(((least - 1) / parts + 1))} AS v")
    done
    awk -v parts="$parts" -v what="$what" -v answers="$answers" -v candidates="$(run -c "SELECT $size(sum(v)) FROM (${union[*]}) f")" '
        / candidates: part/ { found += $(NF - 1) }
        / recount: part/    { counted += $(NF - 1) }
        / bytes sent, /     { sent = $(NF - 4) }
        END { printf "INSERT INTO rounds VALUES (%d, %c%s%c, %d, %d, %d, %d, %d);\n", parts, 39, what, 39, answers, candidates, found, sent, counted }' <<< "$found" | run
}
for parts in 1 2 4 8; do
    two_rounds pairs batmap_pair_counts_pairs $parts
    two_rounds itemsets batmap_itemset_counts_itemsets $parts
    two_rounds join batmap_join_counts_pairs $parts
done
run << SQL
CREATE TABLE times (who text, ms float8);
DO \$\$ DECLARE start timestamptz; BEGIN
    SET batmap.threads = 2;
    FOR round IN 0 .. ${BENCH_ROUNDS:-15} LOOP
        start := clock_timestamp();
        EXECUTE \$q\$${one[itemsets]}\$q\$;
        IF round > 0 THEN INSERT INTO times VALUES ('one', 1000 * extract(epoch FROM clock_timestamp() - start)); END IF;
        start := clock_timestamp();
        EXECUTE \$q\$$(spread itemsets 2)\$q\$;
        IF round > 0 THEN INSERT INTO times VALUES ('two', 1000 * extract(epoch FROM clock_timestamp() - start)); END IF;
    END LOOP;
END \$\$;
SQL

echo "# What parts exchange, $source at a support of $support"
echo
run -c "SELECT format('%s rows of %s transactions with %s items: as a relation %s bytes (%s a row), as counts of all %s pairs %s bytes (%s a pair).',
    rows, transactions, items, relation, round(relation::numeric / rows, 1), pairs, counts, round(counts::numeric / pairs, 1)) FROM sizes"
echo
echo "| | parts | answers | candidates | bytes found by the parts | bytes sent to them | bytes of their counts |"
echo "|---|---|---|---|---|---|---|"
run -c "SELECT format('| %s | %s | %s | %s | %s | %s | %s |', what, parts, answers, candidates, found, sent, counted) FROM rounds ORDER BY what DESC, parts"
echo
run -c "SELECT format('Itemsets on one server with two threads: %s ms; on two with one thread each: %s ms, which is %s times as much.', round(one::numeric, 1), round(two::numeric, 1), round((two / one)::numeric, 2))
    FROM (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE who = 'one') AS one, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE who = 'two') AS two FROM times) t"
echo
echo "## 100 servers and 10^12 rows"
echo
run << SQL
SELECT format('With %s rows a transaction, a server has 10^10 rows of %s transactions. As relations all rows are %s TB; a value has at most 1 GB, which is %s rows.',
    round(rows::numeric / transactions, 1), trim(to_char(1e10 * transactions / rows, '9.9EEEE')), round(1e12 * relation / rows / 1e12, 1),
    trim(to_char(1073741823.0 * rows / relation, '9.9EEEE'))) FROM sizes;
SELECT format('If each pair of the %s items occurs on each server, their counts are %s GB a server at %s bytes a pair, and %s GB from all.', items,
    round(items::numeric * (items - 1) / 2 * counts / pairs / 1e9, 2), round(counts::numeric / pairs, 1), round(100 * items::numeric * (items - 1) / 2 * counts / pairs / 1e9)) FROM sizes;
SELECT format('In two rounds a candidate of %s takes %s bytes from a part, %s to it, and %s back: %s candidates on each of 100 servers are %s MB in all.', what,
    round(found::numeric / candidates / parts, 1), round(sent::numeric / candidates / parts, 1), round(counted::numeric / candidates / parts, 1), 10000,
    round(100 * 10000 * (found + sent + counted)::numeric / candidates / parts / 1e6, 1)) FROM rounds WHERE parts = 2 ORDER BY what DESC;
SET batmap.work_mem = '64kB';
SET max_parallel_workers_per_gather = 0;
SELECT count(*) > 0 FROM batmap_itemsets('baskets', min_support => 0.1) \\g /dev/null
SELECT format('A run that put these rows into files said: %s.', reason) FROM batmap_last_run();
SQL
