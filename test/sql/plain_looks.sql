-- Groups of types in which values that are equal may look different, such as 1.0 and 1.00: the node answers if all equal values that
-- it reads look the same; else the plain plan does. The answers are those of the plain plan to the letter.

CREATE SCHEMA looks;
SET search_path = looks, public;
LOAD 'batmap';
SET max_parallel_workers_per_gather = 0;

-- The values of `mixed` are those of `same`, but some look different.
CREATE TABLE same (id int, doc int, number numeric, weight float8, span interval, tags jsonb, list numeric[], word text);
INSERT INTO same SELECT k, k / 8, round(k % 7 / 2.0, 1), k % 5 / 4.0, k % 6 * interval '1 day', jsonb_build_object('a', k % 4, 'b', k % 3),
        ARRAY[k % 5, k % 2]::numeric[], 'word ' || k % 9
    FROM generate_series(0, 7999) k;
CREATE TABLE mixed AS SELECT * FROM same;
UPDATE mixed SET number = number * 1.0, weight = -weight, span = extract(day FROM span) * interval '24 hours',
        tags = jsonb_build_object('a', (tags->>'a')::numeric * 1.0, 'b', tags->'b'), list = ARRAY[list[1] * 1.0, list[2]]
    WHERE id % 100 = 0 AND weight = 0;
CREATE TABLE names AS SELECT k AS id, 'name ' || k % 5 AS name, k % 3 * 1.5 AS price FROM generate_series(0, 8) k;
ALTER TABLE names ADD PRIMARY KEY (id);
CREATE TABLE prices AS SELECT id, name, CASE id WHEN 3 THEN 0.00 ELSE price END AS price FROM names;
ALTER TABLE prices ADD PRIMARY KEY (id);
ANALYZE same, mixed, names, prices;

-- Who answers a query over a table, and whether the rows are those of the plain plan.
CREATE FUNCTION answered(query text) RETURNS TABLE (who text, as_plain bool) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, FORMAT JSON) ' || query INTO plan;
    who := CASE WHEN plan::text !~ 'Batmap' THEN 'another plan' ELSE coalesce(substring(plan::text FROM '"Answered By": "([^"]*)"'), 'the node') END;
    EXECUTE format('CREATE TEMPORARY TABLE by_node AS %s', query);
    SET LOCAL batmap.enable_join_project = off;
    EXECUTE format('CREATE TEMPORARY TABLE by_server AS %s', query);
    SET LOCAL batmap.enable_join_project = on;
    as_plain := NOT EXISTS (SELECT by_node::text FROM by_node EXCEPT ALL SELECT by_server::text FROM by_server)
        AND NOT EXISTS (SELECT by_server::text FROM by_server EXCEPT ALL SELECT by_node::text FROM by_node);
    DROP TABLE by_node, by_server;
    RETURN NEXT;
END $$;

CREATE TABLE queries (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO queries (query) VALUES
('SELECT a.number, b.word, count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2'),
('SELECT a.number, b.number AS other, count(*) FROM TABLE a JOIN TABLE b USING (doc) WHERE a.number < b.number GROUP BY 1, 2'),
('SELECT a.weight, b.word, count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2'),
('SELECT a.span, b.word, count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2'),
('SELECT a.tags, b.word, count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2'),
('SELECT a.list, b.word, count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2'),
('SELECT a.word, a.number, b.word AS other, b.span, count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2, 3, 4'),
('SELECT DISTINCT a.number, b.word FROM TABLE a JOIN TABLE b USING (doc)'),
('SELECT a.number, b.word, sum(a.id), count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2'),
('SELECT a.number, b.number AS x, c.number AS y, count(*) FROM (SELECT DISTINCT doc, number FROM TABLE) a JOIN (SELECT DISTINCT doc, number FROM TABLE) b USING (doc)
    JOIN (SELECT DISTINCT doc, number FROM TABLE) c USING (doc) WHERE a.number < b.number AND b.number < c.number GROUP BY 1, 2, 3'),
-- what an aggregate computes of the values
('SELECT a.word, b.word AS other, max(scale(a.number)), count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2'),
('SELECT a.word, b.word AS other, min(a.number), max(b.span), count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2'),
-- elements of arrays: one side shows what the other only compares
('SELECT x, y, count(*) FROM TABLE, unnest(list) x, unnest(list) y WHERE x <= y GROUP BY 1, 2'),
('SELECT y, count(*) FROM TABLE, unnest(list) x, unnest(list) y WHERE x < y GROUP BY 1'),
-- what the answer does not show
('SELECT a.word, b.word AS other, count(a.number) AS numbers, count(*) FROM TABLE a JOIN TABLE b USING (doc) GROUP BY 1, 2'),
('SELECT a.word, b.word AS other, count(*) FROM TABLE a JOIN TABLE b USING (doc) WHERE a.number < b.number GROUP BY 1, 2'),
('SELECT a.word, b.word AS other, count(*) FROM TABLE a JOIN TABLE b USING (number) WHERE a.id < 400 AND b.id < 400 GROUP BY 1, 2');
SELECT q.number, s.who AS of_same, s.as_plain, m.who AS of_mixed, m.as_plain
    FROM queries q, answered(replace(query, 'TABLE', 'same')) s, answered(replace(query, 'TABLE', 'mixed')) m ORDER BY 1;

-- values that are looked up: 0.0 and 0.00 are one price, but those of two names
CREATE TABLE lines AS SELECT id, doc, id % 9 AS item FROM same;
ANALYZE lines;
SELECT shown, f AS "table", t.* FROM unnest('{names, prices}'::text[]) f, unnest('{p.price, "p.name, p.price"}'::text[]) shown,
    answered(format('SELECT %s, q.name AS other, count(*) FROM lines a JOIN lines b USING (doc) JOIN %I p ON p.id = a.item JOIN %I q ON q.id = b.item
        GROUP BY %1$s, q.name', shown, f, f)) t ORDER BY 1, 2;

-- A plan is used again.
PREPARE pairs AS SELECT a.number, b.word, count(*) FROM mixed a JOIN mixed b USING (doc) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXECUTE pairs;
SELECT who FROM answered('SELECT a.number, b.word, count(*) FROM mixed a JOIN mixed b USING (doc) GROUP BY 1, 2');
UPDATE mixed SET number = trim_scale(number);
EXECUTE pairs;
SELECT who FROM answered('SELECT a.number, b.word, count(*) FROM mixed a JOIN mixed b USING (doc) GROUP BY 1, 2');

SET client_min_messages = warning;
DROP SCHEMA looks CASCADE;
