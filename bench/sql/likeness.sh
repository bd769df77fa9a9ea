#!/bin/bash
# Search for the nearest sets by a GIN index against a sequential scan, and the index against one of the server over int4[]:
# `bench/run likeness`, or test/sandbox bench/sql/likeness.sh. Prints Markdown.
#
# Variables: BENCH_SETS (default 1,600,000), BENCH_QUERIES (compared with the scan; default 1,000).
#
# The sets have 10 to 100 tags of 50,000, drawn with frequencies like 1 / rank. Ten sets at a time come from one prototype, of
# which each keeps four fifths. Queries are sets of the table ("near": there are nine like it), or random ("far": none is). The
# times are those of the server, of one session; a scan may use parallel workers as the server is set up.

set -euo pipefail

sets=${BENCH_SETS:-1600000}
queries=${BENCH_QUERIES:-1000}
run() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

run << SQL
SET client_min_messages = warning;
CREATE FUNCTION draw(x int8, seed int8) RETURNS int8 LANGUAGE sql IMMUTABLE
RETURN floor(exp((hashint8extended(x, seed) & 1073741823) / 1073741824.0 * ln(50000.0)))::int8;
CREATE TABLE arrays (id int, tags int4[]);
INSERT INTO arrays SELECT i, (SELECT array_agg(DISTINCT CASE WHEN hashint8extended(i * 128 + x, 1) & 1023 < 819
        THEN draw(i % ($sets / 10) * 128 + x, 2) ELSE draw(i * 128 + x, 3) END)
    FROM generate_series(1, 10 + (i % ($sets / 10) * 7919) % 91) x WHERE i > 0) FROM generate_series(1, $sets) i;
CREATE TABLE sets (id int PRIMARY KEY, tags batmap);
INSERT INTO sets SELECT id, tags::batmap FROM arrays;
VACUUM ANALYZE arrays, sets;
CREATE TABLE builds (what text, ms float8);
DO \$\$
DECLARE start timestamptz; t text; round int;
BEGIN
    SET LOCAL maintenance_work_mem = '1GB';
    FOR round IN 1..3 LOOP
        FOREACH t IN ARRAY ARRAY['arrays', 'sets'] LOOP
            EXECUTE format('DROP INDEX IF EXISTS %I', t || '_tags');
            start := clock_timestamp();
            EXECUTE format('CREATE INDEX %I ON %I USING gin (tags) WITH (fastupdate = off)', t || '_tags', t);
            INSERT INTO builds VALUES ('build, ' || t, extract(epoch FROM clock_timestamp() - start) * 1000);
        END LOOP;
        FOREACH t IN ARRAY ARRAY['arrays', 'sets'] LOOP
            start := clock_timestamp();
            EXECUTE format('INSERT INTO %I SELECT $sets + %s * 100000 + id, tags FROM %I WHERE id <= 5000', t, round, t);
            INSERT INTO builds VALUES ('insert 5,000, ' || t, extract(epoch FROM clock_timestamp() - start) * 1000);
        END LOOP;
    END LOOP;
END \$\$;
VACUUM ANALYZE sets;
CREATE TABLE searches (kind text, k int, ms float8, scan_ms float8, differs boolean);
DO \$\$
DECLARE query batmap; start timestamptz; found float8[]; expected float8[]; ms float8; scan_ms float8; kind text; n int; wanted int;
BEGIN
    FOR n IN 1..$queries LOOP
        kind := CASE WHEN n % 20 = 0 THEN 'far' ELSE 'near' END;
        wanted := CASE WHEN n % 3 = 0 THEN 1 ELSE 10 END;
        IF kind = 'near' THEN
            SELECT tags INTO query FROM sets WHERE id = 1 + (hashint8extended(n, 5) & 9223372036854775807) % $sets;
        ELSE
            SELECT batmap_agg(draw(n * 128 + x, 77)) INTO query FROM generate_series(1, 10 + n % 91) x;
        END IF;
        SET LOCAL enable_seqscan = off;
        start := clock_timestamp();
        SELECT array_agg(d) INTO found FROM (SELECT tags <%> query AS d FROM sets ORDER BY tags <%> query LIMIT wanted) v;
        ms := extract(epoch FROM clock_timestamp() - start) * 1000;
        SET LOCAL enable_seqscan = on; SET LOCAL batmap.enable_nearest = off;
        start := clock_timestamp();
        SELECT array_agg(d) INTO expected FROM (SELECT tags <%> query AS d FROM sets ORDER BY tags <%> query LIMIT wanted) v;
        scan_ms := extract(epoch FROM clock_timestamp() - start) * 1000;
        SET LOCAL batmap.enable_nearest = on;
        INSERT INTO searches VALUES (kind, wanted, ms, scan_ms, found IS DISTINCT FROM expected);
    END LOOP;
END \$\$;
SQL

echo "## The nearest sets"
echo
echo "$sets sets, $queries queries; milliseconds: median, 90 %, most. Goal: at most 50 for 10 rows. Different answers: $(run -c 'SELECT count(*) FROM searches WHERE differs')."
echo
echo "| queries | rows | index | | | scan | |"
echo "|---|---|---|---|---|---|---|"
run -c "SELECT format('| %s (%s) | %s | %s | %s | %s | %s | %s |', kind, count(*), k,
        round((percentile_cont(0.5) WITHIN GROUP (ORDER BY ms))::numeric, 1), round((percentile_cont(0.9) WITHIN GROUP (ORDER BY ms))::numeric, 1), round(max(ms)::numeric, 1),
        round((percentile_cont(0.5) WITHIN GROUP (ORDER BY scan_ms))::numeric, 1), round((percentile_cont(0.9) WITHIN GROUP (ORDER BY scan_ms))::numeric, 1))
    FROM searches GROUP BY kind, k ORDER BY kind DESC, k"
echo
echo "## The index, beside GIN over int4[]"
echo
echo "| what | ms, least of three | MB of the index |"
echo "|---|---|---|"
run -c "SELECT format('| %s | %s | %s |', what, round(min(ms)::numeric), pg_relation_size(CASE WHEN what ~ 'arrays' THEN 'arrays_tags' ELSE 'sets_tags' END) / 1048576) FROM builds GROUP BY what ORDER BY what"
