-- The plan node that computes count(*), sum, avg, min and max over the rows of a run: where it stands, where it does not, and
-- that results, errors and privileges are those of the server's own Aggregate.
LOAD 'batmap';
CREATE TABLE aggregate_rows AS SELECT k / 8 AS tid, k % 37 * (k % 11) AS item FROM generate_series(1, 20000) k;
CREATE TABLE large_items AS SELECT tid, item + 9223372036854775000 AS item FROM aggregate_rows;
CREATE TABLE named_items AS SELECT tid, 'item ' || item AS item FROM aggregate_rows;
ANALYZE aggregate_rows, large_items, named_items;

-- where it stands
EXPLAIN (COSTS OFF) SELECT count(*) FROM batmap_pairs('TABLE aggregate_rows', 30);
EXPLAIN (COSTS OFF, VERBOSE) SELECT max(support_count) - min(support_count), avg(support_count) FROM batmap_join_project('TABLE aggregate_rows', 'TABLE aggregate_rows') HAVING count(*) > 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM batmap_itemsets('TABLE aggregate_rows', 30);
EXPLAIN (COSTS OFF) SELECT count(*), sum(n) FROM (SELECT a.item, b.item, count(*) AS n FROM aggregate_rows a JOIN aggregate_rows b USING (tid)
WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 20) pairs;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT DISTINCT a.item, b.tid FROM aggregate_rows a JOIN named_items b USING (tid)) pairs;
EXPLAIN (COSTS OFF) SELECT count(*), max(support_count) FROM batmap_pairs('TABLE aggregate_rows', 30) p
LEFT JOIN (SELECT DISTINCT tid FROM aggregate_rows) t ON t.tid = p.item_a;
EXPLAIN (COSTS OFF) WITH pairs AS (SELECT * FROM batmap_pairs('TABLE aggregate_rows', 30)) SELECT max(support_count) FROM pairs;
EXPLAIN (COSTS OFF) SELECT item_a, count(*) FROM batmap_pairs('TABLE aggregate_rows', 30) GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT support_count AS n, count(*) FROM batmap_pairs('TABLE aggregate_rows', 30) p GROUP BY n HAVING count(*) > 1 ORDER BY n DESC LIMIT 3;
EXPLAIN (COSTS OFF, VERBOSE) SELECT x, max(n), count(*) + 1 FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM named_items a JOIN named_items b USING (tid)
WHERE a.item <> b.item GROUP BY 1, 2) pairs GROUP BY x;

-- where it does not
EXPLAIN (COSTS OFF) SELECT count(*) FROM batmap_pairs('TABLE aggregate_rows', 30) WHERE item_a > 5;
EXPLAIN (COSTS OFF) SELECT count(*) FILTER (WHERE item_a > 5) FROM batmap_pairs('TABLE aggregate_rows', 30);
EXPLAIN (COSTS OFF) SELECT sum(item_a + item_b) FROM batmap_pairs('TABLE aggregate_rows', 30);
EXPLAIN (COSTS OFF) SELECT count(*), stddev(support_count) FROM batmap_pairs('TABLE aggregate_rows', 30);
EXPLAIN (COSTS OFF) SELECT item_a, item_b, count(*) FROM batmap_pairs('TABLE aggregate_rows', 30) GROUP BY 1, 2;
EXPLAIN (COSTS OFF) SELECT item_a / 2, count(*) FROM batmap_pairs('TABLE aggregate_rows', 30) GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT item_a, count(*) FROM batmap_pairs('TABLE aggregate_rows', 30) GROUP BY ROLLUP (1);
EXPLAIN (COSTS OFF) SELECT item_a, count(*) FROM batmap_pairs_as(NULL::text, 'TABLE named_items', 30) GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT DISTINCT item_a FROM batmap_pairs('TABLE aggregate_rows', 30);
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
EXPLAIN (COSTS OFF) SELECT item_a, count(*), sum(item_b), avg(item_b), min(item_b), max(item_b), sum(item_a), avg(item_a), min(item_a), max(item_a),
sum(support_count), avg(support_count), min(support_count), max(support_count) FROM batmap_pairs('TABLE aggregate_rows', 30) GROUP BY 1;
RESET work_mem;
RESET hash_mem_multiplier;
EXPLAIN (COSTS OFF) SELECT count(*) FROM batmap_pairs('TABLE aggregate_rows', 30) GROUP BY ();
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT * FROM batmap_pairs('TABLE aggregate_rows', 30) LIMIT 5) p;
EXPLAIN (COSTS OFF) SELECT count(*) FROM generate_series(1, 2), batmap_pairs('TABLE aggregate_rows', 30);
SET batmap.enable_aggregate = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM batmap_pairs('TABLE aggregate_rows', 30);
RESET batmap.enable_aggregate;
CREATE SCHEMA other;
CREATE AGGREGATE other.sum(int8) (SFUNC = int8pl, STYPE = int8, INITCOND = '1000000');
EXPLAIN (COSTS OFF) SELECT other.sum(support_count) FROM batmap_pairs('TABLE aggregate_rows', 30);

-- the same results by both nodes
CREATE FUNCTION both_ways(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE with_node text; without_node text; plan text; stands bool := false;
BEGIN
    FOR plan IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        stands := stands OR plan LIKE '%BatmapAggregate%';
    END LOOP;
    BEGIN EXECUTE 'SELECT jsonb_agg(q ORDER BY q::text) FROM (' || query || ') q' INTO with_node;
    EXCEPTION WHEN OTHERS THEN with_node := sqlerrm; END;
    PERFORM set_config('batmap.enable_aggregate', 'off', true);
    BEGIN EXECUTE 'SELECT jsonb_agg(q ORDER BY q::text) FROM (' || query || ') q' INTO without_node;
    EXCEPTION WHEN OTHERS THEN without_node := sqlerrm; END;
    PERFORM set_config('batmap.enable_aggregate', 'on', true);
    RETURN CASE WHEN with_node IS DISTINCT FROM without_node THEN format('differs: %s and %s', with_node, without_node)
                WHEN NOT stands THEN 'without the node: ' || with_node ELSE with_node END;
END $$;
SELECT both_ways(format('SELECT count(*), sum(%1$s), avg(%1$s), min(%1$s), max(%1$s) FROM batmap_pairs(%2$L, %3$s)', c, q, k))
FROM (VALUES ('item_a'), ('item_b'), ('support_count')) a (c),
     (VALUES ('TABLE aggregate_rows'), ('SELECT tid, -item FROM aggregate_rows'), ('TABLE large_items')) b (q),
     (VALUES (1), (30), (1000000)) d (k);
SELECT both_ways(q) FROM (VALUES
    ($$SELECT count(*), count(*) AS again, 7 AS seven, 'text' AS text, count(*) * 2 + max(support_count) AS more FROM batmap_pairs('TABLE aggregate_rows', 20)$$),
    ($$SELECT count(DISTINCT item_a), count(*) FROM batmap_pairs('TABLE aggregate_rows', 30)$$),
    ($$SELECT count(*), count(*) AS again, sum(support_count) FROM batmap_pairs_as(NULL::text, 'TABLE named_items', 20)$$),
    ($$SELECT sum(support_count) FROM batmap_pairs('TABLE aggregate_rows', 20) HAVING count(*) > 5$$),
    ($$SELECT sum(support_count) FROM batmap_pairs('TABLE aggregate_rows', 20) HAVING count(*) < 5 AND max(item_a) > 0$$),
    ($$SELECT count(*) FROM batmap_pairs('TABLE aggregate_rows', 20) HAVING count(*) / (max(support_count) - max(support_count)) > 1$$),
    ($$SELECT count(*), sum(support_count), max(support_count) FROM batmap_pairs(NULL::text, 20)$$),
    ($$SELECT count(*), sum(support_count), max(support_count) FROM batmap_join_project('TABLE aggregate_rows', 'TABLE aggregate_rows')$$),
    ($$SELECT count(*), sum(support_count), min(support_count), max(a), min(c) FROM batmap_join_project('TABLE aggregate_rows', 'TABLE aggregate_rows', distinct_only => true)$$),
    ($$SELECT count(*), max(support_count) FROM batmap_itemsets('TABLE aggregate_rows', 100)$$),
    ($$SELECT count(*), sum(support_count) FROM batmap_pairs('TABLE aggregate_rows', 1, max_results => 17)$$),
    ($$SELECT count(*), max(item_a) FROM batmap_pairs_as(NULL::int4, 'TABLE aggregate_rows', 20)$$),
    ($$SELECT count(*), sum(n), min(x), max(y) FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM aggregate_rows a JOIN aggregate_rows b USING (tid)
       WHERE a.item < b.item GROUP BY 1, 2 HAVING count(*) >= 20) p$$),
    ($$SELECT count(*), sum(n), min(x), max(y) FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM large_items a JOIN large_items b USING (tid)
       WHERE a.item > b.item GROUP BY 1, 2 HAVING count(*) >= 20) p$$),
    ($$SELECT count(*), sum(n), min(x), max(y) FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM large_items a JOIN large_items b USING (tid)
       WHERE a.item >= b.item GROUP BY 1, 2) p$$),
    ($$SELECT count(*), sum(n), min(x), max(y) FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM large_items a JOIN large_items b USING (tid)
       GROUP BY 1, 2) p$$),
    ($$SELECT count(*), sum(n), max(n) FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM named_items a JOIN named_items b USING (tid)
       WHERE a.item < b.item GROUP BY 1, 2) p$$),
    ($$SELECT count(*), sum(n), max(n) FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM named_items a JOIN named_items b USING (tid)
       WHERE a.item < b.item GROUP BY 1, 2) p HAVING sum(n) > 100$$),
    ($$SELECT count(*) FROM (SELECT DISTINCT a.item, b.item FROM aggregate_rows a JOIN named_items b USING (tid)) p$$),
    ($$SELECT count(*), max(n) FROM (SELECT a.item, b.item, count(*) + 1 AS n FROM aggregate_rows a JOIN aggregate_rows b USING (tid)
       WHERE a.item < b.item GROUP BY 1, 2) p$$),
    ($$SELECT count(*), sum(n) FROM (SELECT a.item, b.item, 1 / (count(*) - 20) AS none, count(*) AS n FROM aggregate_rows a JOIN aggregate_rows b USING (tid)
       WHERE a.item < b.item GROUP BY 1, 2) p$$)) v (q);

-- groups
CREATE TABLE null_items AS SELECT tid, nullif(item, 12) AS item, nullif(item, 12)::int8 AS wide, 'item ' || nullif(item, 12) AS name FROM aggregate_rows;
ANALYZE null_items;
CREATE FUNCTION groups(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text := both_ways(query); BEGIN
    RETURN CASE WHEN result ~ '^(without the node: )?\[' THEN jsonb_array_length(substring(result FROM '\[.*')::jsonb) || CASE WHEN result ~ '^without' THEN ', without the node' ELSE '' END
                ELSE left(result, 500) END;
END $$;
SELECT both_ways($$SELECT item_a, count(*), sum(support_count), avg(support_count), min(item_b), max(item_b) FROM batmap_pairs('TABLE aggregate_rows', 30) GROUP BY 1 HAVING count(*) > 12$$);
SELECT groups(format('SELECT %1$s, count(*), sum(item_a), avg(support_count), min(item_b), max(support_count) FROM batmap_pairs(%2$L, %3$s) GROUP BY 1', c, q, k))
FROM (VALUES ('item_a'), ('item_b'), ('support_count')) a (c),
     (VALUES ('TABLE aggregate_rows'), ('SELECT tid, -item FROM aggregate_rows'), ('TABLE large_items')) b (q),
     (VALUES (1), (30), (1000000)) d (k);
SELECT groups(format('SELECT %1$s, count(*), sum(n), max(n) - min(n) FROM (SELECT a.%2$s AS x, b.%2$s AS y, count(*) AS n FROM null_items a JOIN null_items b USING (tid) WHERE %3$s GROUP BY 1, 2) p GROUP BY 1', c, item, format(condition, item)))
FROM (VALUES ('x'), ('y'), ('n')) a (c), (VALUES ('item'), ('wide'), ('name')) b (item),
     (VALUES ('true'), ('a.%1$s <> b.%1$s'), ('a.%1$s <= b.%1$s'), ('a.%1$s > b.%1$s'), ('b.%1$s > ''item 3'' AND a.%1$s <> b.%1$s')) d (condition)
WHERE item = 'name' OR condition !~ 'item 3';
SELECT groups(q) FROM (VALUES
    ($$SELECT x, count(*) FROM (SELECT DISTINCT a.item AS x, b.name AS y FROM aggregate_rows a JOIN null_items b USING (tid)) p GROUP BY 1$$),
    ($$SELECT y, count(*) FROM (SELECT DISTINCT a.item AS x, b.name AS y FROM aggregate_rows a JOIN null_items b USING (tid)) p GROUP BY 1$$),
    ($$SELECT c, sum(support_count), count(*) FROM batmap_join_project('TABLE aggregate_rows', 'TABLE large_items') GROUP BY c$$),
    ($$SELECT x, count(*) FROM (SELECT a.item::numeric(12, 2) AS x, b.item AS y, count(*) AS n FROM aggregate_rows a JOIN aggregate_rows b USING (tid) GROUP BY 1, 2) p GROUP BY 1$$),
    ($$SELECT x % 5 AS five, count(*) FROM (SELECT a.item AS x, b.item AS y, count(*) AS n FROM aggregate_rows a JOIN aggregate_rows b USING (tid) GROUP BY 1, 2) p GROUP BY x$$),
    ($$SELECT more, count(*) FROM (SELECT a.item, b.item, count(*) + 1 AS more FROM aggregate_rows a JOIN aggregate_rows b USING (tid) WHERE a.item < b.item GROUP BY 1, 2) p GROUP BY 1$$),
    ($$SELECT support_count, count(*), min(a) FROM batmap_join_project('TABLE aggregate_rows', 'TABLE aggregate_rows', distinct_only => true) GROUP BY 1$$),
    ($$SELECT x, count(*) FROM (SELECT CASE WHEN true THEN a.item::numeric(10, 2) ELSE NULL END AS x, b.item, count(*) AS n FROM aggregate_rows a JOIN aggregate_rows b USING (tid) GROUP BY 1, 2) p GROUP BY x$$),
    ($$SELECT x, count(*) FROM (SELECT a.item || '-' || b.item AS x, count(*) AS n FROM aggregate_rows a JOIN aggregate_rows b USING (tid) WHERE a.item < b.item GROUP BY a.item, b.item) p GROUP BY x$$),
    ($$SELECT item_a, count(*) / (count(*) - 3) FROM batmap_pairs('TABLE aggregate_rows', 30) GROUP BY 1$$)) v (q);

-- a function that changes something runs for each row
CREATE SEQUENCE numbers;
SELECT count(*) FROM (SELECT nextval('numbers'), item_a FROM batmap_pairs('TABLE aggregate_rows', 20)) p;
SELECT currval('numbers');
SELECT count(*) FROM (SELECT nextval('numbers'), a.item, b.item FROM aggregate_rows a JOIN aggregate_rows b USING (tid)
WHERE a.item < b.item GROUP BY a.item, b.item) p;
SELECT currval('numbers');

-- parameters and rescans
SELECT k, (SELECT count(*) FROM batmap_pairs('TABLE aggregate_rows', k)) AS pairs,
       (SELECT sum(n) FROM (SELECT a.item, b.item, count(*) AS n FROM aggregate_rows a JOIN aggregate_rows b USING (tid)
        WHERE a.item < b.item AND a.tid < k * 10 GROUP BY 1, 2) p) AS plain,
       (SELECT sum(c * m) FROM (SELECT item_b, count(*) AS c, max(support_count) AS m FROM batmap_pairs('TABLE aggregate_rows', k) GROUP BY 1) q) AS grouped
FROM generate_series(10, 40, 10) k;
SET plan_cache_mode = force_generic_plan;
PREPARE pairs_of(text, int8) AS SELECT count(*), min(support_count), sum(item_a) FROM batmap_pairs($1, $2);
EXECUTE pairs_of('TABLE aggregate_rows', 15);
EXECUTE pairs_of('SELECT tid, item FROM aggregate_rows WHERE tid < 250', 15);
EXECUTE pairs_of(NULL, 15);
RESET plan_cache_mode;
BEGIN;
DECLARE total SCROLL CURSOR FOR SELECT count(*) FROM batmap_pairs('TABLE aggregate_rows', 20);
FETCH 2 FROM total;
FETCH BACKWARD 2 FROM total;
FETCH 1 FROM total;
COMMIT;
CREATE TABLE totals AS SELECT count(*), avg(support_count) FROM batmap_pairs('TABLE aggregate_rows', 20);
SELECT * FROM totals;

-- the plain plan answers where a run has too little memory
CREATE TABLE many_rows AS SELECT k / 4 AS tid, k % 3001 AS item FROM generate_series(1, 400000) k;
ANALYZE many_rows;
SET plan_cache_mode = force_generic_plan;
PREPARE all_of_many AS SELECT count(*), sum(n), max(n) FROM (SELECT a.item, b.item, count(*) AS n
FROM many_rows a JOIN many_rows b USING (tid) WHERE a.item < b.item GROUP BY 1, 2) p;
EXECUTE all_of_many;
PREPARE groups_of_many AS SELECT count(*), sum(c), max(m) FROM (SELECT x, count(*) AS c, max(n) AS m FROM (SELECT a.item AS x, b.item AS y, count(*) AS n
FROM many_rows a JOIN many_rows b USING (tid) WHERE a.item < b.item GROUP BY 1, 2) p GROUP BY 1 OFFSET 0) q;
EXECUTE groups_of_many;
SET batmap.memory_limit = '1MB';
EXECUTE all_of_many;
EXECUTE groups_of_many;
\getenv here PG_ABS_SRCDIR
\set explained :here '/sql/explained.psql'
\i :explained
SELECT line FROM explained('EXECUTE all_of_many') line WHERE line ~ 'Aggregate|Answered|JoinProject';
SELECT line FROM explained('EXECUTE groups_of_many') line WHERE line ~ 'Aggregate|Group Key|Answered|JoinProject';
RESET batmap.memory_limit;
DEALLOCATE all_of_many;
-- the groups are as many as the server would make, whatever a run may take
CREATE TABLE wide_rows AS SELECT k / 4 AS tid, (k * 7919) % 60000 AS item FROM generate_series(1, 240000) k;
ANALYZE wide_rows;
SET work_mem = '64MB';
PREPARE groups_of_wide AS SELECT count(*), sum(n), sum(m) FROM (SELECT x, sum(c) AS n, max(c) AS m FROM (SELECT a.item AS x, b.item AS y, count(*) AS c
FROM wide_rows a JOIN wide_rows b USING (tid) GROUP BY 1, 2) p GROUP BY 1) q;
EXECUTE groups_of_wide;
SET batmap.memory_limit = '4MB';
EXECUTE groups_of_wide;
SELECT line FROM explained('EXECUTE groups_of_wide') line WHERE line ~ 'BatmapAggregate|Answered|JoinProject';
RESET batmap.memory_limit;
RESET work_mem;
RESET plan_cache_mode;
DEALLOCATE groups_of_wide;

-- EXPLAIN ANALYZE tells how many rows the node has read, and the record of the run is the same
SELECT line FROM explained('SELECT count(*) FROM batmap_pairs(''TABLE aggregate_rows'', 20, method => ''horizontal'')') line;
SELECT count(*) FROM batmap_pairs('TABLE aggregate_rows', 20);
SELECT operation, results, truncated FROM batmap_last_run();

-- privileges of aggregates are looked at when it runs
CREATE ROLE aggregate_reader;
GRANT SELECT ON aggregate_rows TO aggregate_reader;
REVOKE EXECUTE ON FUNCTION pg_catalog.max(int8) FROM PUBLIC;
SET ROLE aggregate_reader;
SELECT count(*) FROM batmap_pairs('TABLE aggregate_rows', 20);
SELECT max(support_count) FROM batmap_pairs('TABLE aggregate_rows', 20);
RESET ROLE;
GRANT EXECUTE ON FUNCTION pg_catalog.max(int8) TO PUBLIC;
SET ROLE aggregate_reader;
SELECT max(support_count) FROM batmap_pairs('TABLE aggregate_rows', 20);
RESET ROLE;
DROP OWNED BY aggregate_reader;
DROP ROLE aggregate_reader;
DROP FUNCTION both_ways, explained;
DROP SCHEMA other CASCADE;
DROP SEQUENCE numbers;
DROP TABLE aggregate_rows, large_items, named_items, many_rows, totals;
