-- A function that returns a set, called twice over one row: each shape is answered by the node or says why not, and the rows
-- are those of the plain plan.
LOAD 'batmap';
CREATE SCHEMA blog;
SET search_path = blog, public;
CREATE DOMAIN tag_list AS text[];
CREATE DOMAIN small AS int CHECK (VALUE < 100);
CREATE TABLE users (user_id int PRIMARY KEY, city text NOT NULL);
CREATE TABLE posts (id int PRIMARY KEY, user_id int, lang text, day date, main text, ids int[], tags text[], more tag_list, bigs bigint[], smalls small[],
    doc jsonb, words text, price numeric, n int);
INSERT INTO users SELECT k, 'city ' || k % 4 FROM generate_series(1, 40) k;
-- Duplicates within an array, NULL elements, NULL arrays, empty arrays, two dimensions.
INSERT INTO posts (id, user_id, lang, day, ids, price, n)
    SELECT k, 1 + k * 7 % 45, CASE WHEN k % 10 > 0 THEN 'lang ' || k % 3 END, date '2024-01-01' + k % 100,
        CASE WHEN k % 31 = 0 THEN NULL WHEN k % 29 = 0 THEN '{}' WHEN k % 23 = 0 THEN ARRAY[[k % 20, 3], [5, NULL]]
            ELSE ARRAY(SELECT CASE WHEN j * k % 19 > 0 THEN (j * j * 7 + k * j / 3) % 30 END FROM generate_series(1, 1 + k % 12) j) END,
        k % 7 / 2.0, k % 6
    FROM generate_series(1, 2000) k;
UPDATE posts SET tags = ids::text[], more = ids::text[], bigs = ids, smalls = ids, doc = coalesce(to_jsonb(ids), '[]'), words = array_to_string(ids, ' '), main = ids[1];
ANALYZE users, posts;
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION digest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)::numeric), 0) FROM (' || query || ') q' INTO answer;
    RETURN answer;
EXCEPTION WHEN division_by_zero THEN RETURN SQLERRM;
END $$;
-- Runs a query with and without the node.
CREATE FUNCTION try(query text) RETURNS TABLE (node bool, rows bigint, same bool) LANGUAGE plpgsql AS $$
DECLARE plan json; plain text; answer text;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    node := plan::text LIKE '%BatmapExpandRows%';
    answer := digest(query);
    PERFORM set_config('batmap.enable_join_project', 'off', true);
    plain := digest(query);
    same := plain = answer;
    rows := substring(plain FROM '^\d+')::bigint;
    PERFORM set_config('batmap.enable_join_project', 'on', true);
    RETURN NEXT;
END $$;

CREATE TABLE shapes (number int GENERATED ALWAYS AS IDENTITY, shape text, query text);
INSERT INTO shapes (shape, query) VALUES
('two commas', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2'),
('text', 'SELECT x, y, count(*) FROM posts, unnest(tags) x, unnest(tags) y WHERE x < y GROUP BY 1, 2'),
('CROSS JOIN LATERAL', 'SELECT x.tag, y.tag AS other, count(*) FROM posts p CROSS JOIN LATERAL unnest(p.tags) AS x(tag) CROSS JOIN LATERAL unnest(p.tags) AS y(tag)
    WHERE x.tag < y.tag GROUP BY x.tag, y.tag HAVING count(*) >= 20 ORDER BY 3 DESC, 1, 2 LIMIT 15'),
('all pairs', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y GROUP BY 1, 2'),
('larger first', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x > y GROUP BY 1, 2 HAVING count(*) > 10'),
('unequal', 'SELECT x, y, count(*) FROM posts, unnest(bigs) x, unnest(bigs) y WHERE x <> y GROUP BY 1, 2'),
('at most', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x <= y GROUP BY 1, 2'),
('equal', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x = y GROUP BY 1, 2'),
('distinct pairs', 'SELECT DISTINCT x, y FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y'),
('NULLs counted', 'SELECT x, y, count(*), count(x), count(y) FROM posts, unnest(ids) x, unnest(ids) y GROUP BY 1, 2'),
('a domain over arrays', 'SELECT x, y, count(*) FROM posts, unnest(more) x, unnest(more) y WHERE x < y GROUP BY 1, 2'),
('elements of a domain', 'SELECT x, y, count(*) FROM posts, unnest(smalls) x, unnest(smalls) y WHERE x < y GROUP BY 1, 2'),
('jsonb as text', 'SELECT x, y, count(*) FROM posts, jsonb_array_elements_text(doc) x, jsonb_array_elements_text(doc) y WHERE x < y GROUP BY 1, 2'),
('jsonb', 'SELECT x, y, count(*) FROM posts, jsonb_array_elements(doc) x, jsonb_array_elements(doc) y WHERE x < y GROUP BY 1, 2'),
('jsonb within', 'SELECT x, y, count(*) FROM (SELECT jsonb_build_object(''tags'', doc) AS d FROM posts) p, jsonb_array_elements_text(p.d -> ''tags'') x,
    jsonb_array_elements_text(p.d -> ''tags'') y WHERE x < y GROUP BY 1, 2'),
('words', 'SELECT x, y, count(*) FROM posts, regexp_split_to_table(words, '' '') x, regexp_split_to_table(words, '' '') y WHERE x < y GROUP BY 1, 2'),
('string_to_table', 'SELECT x, y, count(*) FROM posts, string_to_table(words, '' '') x, string_to_table(words, '' '') y WHERE x < y GROUP BY 1, 2'),
('subscripts', 'SELECT x, y, count(*) FROM posts, generate_subscripts(ids, 1) x, generate_subscripts(ids, 1) y WHERE x < y GROUP BY 1, 2'),
('subscripts as elements', 'SELECT p.ids[x], p.ids[y] AS other, count(*) FROM posts p, generate_subscripts(ids, 1) x, generate_subscripts(ids, 1) y WHERE x < y GROUP BY 1, 2'),
('posts filtered', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y AND day < ''2024-03-01'' AND n > 1 GROUP BY 1, 2'),
('posts of users', 'SELECT x, y, count(*) FROM posts JOIN users u USING (user_id), unnest(ids) x, unnest(ids) y WHERE x < y AND u.city <> ''city 1'' GROUP BY 1, 2'),
('by city', 'SELECT u.city, x, y, count(*) FROM posts LEFT JOIN users u USING (user_id), unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2, 3'),
('by lang and month', 'SELECT lang, date_trunc(''month'', day) AS month, x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2, 3, 4'),
('posts with EXISTS', 'SELECT x, y, count(*) FROM posts p, unnest(ids) x, unnest(ids) y WHERE x < y AND EXISTS (SELECT FROM users u WHERE u.user_id = p.user_id) GROUP BY 1, 2'),
('posts with IN', 'SELECT x, y, count(*) FROM posts p, unnest(ids) x, unnest(ids) y WHERE x < y AND p.user_id IN (SELECT n FROM posts) GROUP BY 1, 2'),
('posts of a subquery', 'WITH p AS MATERIALIZED (SELECT * FROM posts ORDER BY id LIMIT 500) SELECT x, y, count(*) FROM p, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2'),
('distinct posts', 'SELECT x, y, count(DISTINCT p.id) FROM posts p, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2 HAVING count(DISTINCT p.id) >= 5'),
('a condition of both', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y AND x % 3 = 1 AND y % 3 = 1 GROUP BY 1, 2'),
('a condition of one', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y AND x % 3 = 1 GROUP BY 1, 2 HAVING count(*) > 3'),
('conditions with the row', 'SELECT x, y, count(*) FROM posts, unnest(tags) x, unnest(tags) y WHERE x < y AND x <> main AND y <> main GROUP BY 1, 2'),
('a condition with the row', 'SELECT x, y, count(*) FROM posts, unnest(tags) x, unnest(tags) y WHERE x = main AND y <> main GROUP BY 1, 2'),
('elements equal to the row', 'SELECT x, y, count(*) FROM posts, unnest(tags) x, unnest(tags) y WHERE x = main AND y = main GROUP BY 1, 2'),
('no comparison of sides', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x + y > 40 GROUP BY 1, 2'),
('expressions', 'SELECT x % 5, y % 7, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2'),
('aggregates', 'SELECT x, y, count(*), sum(n), min(day), max(price), count(*) FILTER (WHERE lang = ''lang 1''), avg(x + y) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2'),
('one element grouped', 'SELECT lang, x, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2'),
('an element and the row', 'SELECT lang, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y GROUP BY 1, 2'),
('the row alone', 'SELECT lang, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1'),
('what goes with a tag', 'SELECT y, count(*) FROM posts, unnest(tags) x, unnest(tags) y WHERE x = ''7'' AND y <> x GROUP BY 1'),
('errors kept away by both', 'SELECT 60 / x AS a, 60 / y AS b, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x <> 0 AND y <> 0 GROUP BY 1, 2'),
('errors kept away by one', 'SELECT 60 / x AS a, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x <> 0 GROUP BY 1, 2'),
('errors kept away in order', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE 60 / x + y > 10 AND x <> 0 GROUP BY 1, 2'),
('three calls', 'SELECT x, y, z, count(*) FROM posts, unnest(ids) x, unnest(ids) y, unnest(ids) z WHERE x < y AND y < z GROUP BY 1, 2, 3'),
('the same twice', 'SELECT x AS a, y AS b, x AS c, y AS d, count(*) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2, 3, 4'),
('two arrays', 'SELECT x, y, count(*) FROM posts, unnest(ids) x, unnest(bigs) y WHERE x < y GROUP BY 1, 2'),
('a left join', 'SELECT x, y, count(*) FROM posts LEFT JOIN LATERAL unnest(ids) x ON true LEFT JOIN LATERAL unnest(ids) y ON y > x GROUP BY 1, 2'),
('ordinality', 'SELECT x, y, count(*) FROM posts, unnest(ids) WITH ORDINALITY a(x, i), unnest(ids) WITH ORDINALITY b(y, j) WHERE i < j GROUP BY 1, 2'),
('two columns', 'SELECT a.key, b.key AS other, count(*) FROM posts, jsonb_each(to_jsonb(posts)) a, jsonb_each(to_jsonb(posts)) b WHERE id <= 200 AND a.key < b.key GROUP BY 1, 2'),
('a table beside it', 'SELECT x, u.city, count(*) FROM posts, unnest(ids) x JOIN users u ON u.user_id = x GROUP BY 1, 2'),
('another function on one side', 'SELECT x, y, count(*) FROM posts, unnest(tags) x, string_to_table(words, '' '') y WHERE x < y GROUP BY 1, 2'),
('a subquery that expands', 'SELECT x.tag, y.tag AS other, count(*) FROM posts p, LATERAL (SELECT unnest(p.ids) AS tag) x, LATERAL (SELECT unnest(p.ids) AS tag) y WHERE x.tag < y.tag GROUP BY 1, 2'),
('posts counted apart', 'SELECT x, y, count(DISTINCT n) FROM posts, unnest(ids) x, unnest(ids) y GROUP BY 1, 2'),
('posts of users counted', 'SELECT x, y, count(DISTINCT p.id) FROM posts p JOIN users u USING (user_id), unnest(ids) x, unnest(ids) y GROUP BY 1, 2'),
('posts of users counted apart', 'SELECT x, y, count(DISTINCT p.id) FROM posts p JOIN users u ON u.user_id < p.user_id, unnest(ids) x, unnest(ids) y WHERE p.id <= 200 GROUP BY 1, 2'),
('users counted', 'SELECT x, y, count(DISTINCT u.user_id) FROM posts p JOIN users u USING (user_id), unnest(ids) x, unnest(ids) y GROUP BY 1, 2'),
('values that are equal and differ', 'SELECT x, y, count(*) FROM (SELECT ARRAY[price, n, 1.0, 1.00] AS a FROM posts) p, unnest(a) x, unnest(a) y WHERE x::text < ''2'' GROUP BY 1, 2');
-- Estimates of the length of arrays differ between versions of the server. Only nested loops can call the functions.
SET enable_nestloop = off;
SELECT number, shape, t.* FROM shapes, try(query) t ORDER BY number;
-- why not
SELECT shape, expression, reason FROM shapes, batmap_explain_why(query) WHERE NOT taken ORDER BY number;
RESET enable_nestloop;
-- the plans
EXPLAIN (COSTS OFF) SELECT x, y, count(*) FROM posts p, unnest(p.tags) x, unnest(p.tags) y WHERE x < y AND x <> 'spam' AND y <> 'spam' GROUP BY 1, 2 HAVING count(*) > 3;
EXPLAIN (COSTS OFF, VERBOSE) SELECT u.city, x % 5, y, count(*) FROM posts p JOIN users u USING (user_id), unnest(p.ids) x, unnest(p.ids) y WHERE x < y GROUP BY 1, 2, 3;
-- parallel workers number the rows apart
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT x, y, count(*) FROM posts, unnest(bigs) x, unnest(bigs) y WHERE x < y GROUP BY 1, 2;
SELECT * FROM try('SELECT x, y, count(*) FROM posts, unnest(bigs) x, unnest(bigs) y WHERE x < y GROUP BY 1, 2');
SELECT * FROM try('SELECT x, y, count(*) FROM posts JOIN users USING (user_id), unnest(ids) x, unnest(ids) y WHERE city <> ''city 1'' GROUP BY 1, 2');
SELECT * FROM try('SELECT x, y, count(DISTINCT id) FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2');
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;
-- parameters, and a run for each row of an outer query
PREPARE of_user (int, int) AS SELECT x, y, count(*) FROM posts p, unnest(ids[1:$2]) x, unnest(ids[1:$2]) y
    WHERE x < y AND user_id < $1 GROUP BY 1, 2 HAVING count(*) > 50 ORDER BY 3 DESC, 1, 2 LIMIT 4;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE of_user (40, 5);
EXECUTE of_user (40, 5);
EXECUTE of_user (30, 9);
RESET plan_cache_mode;
SELECT * FROM try('SELECT k, q.* FROM generate_series(1, 4) k, LATERAL (SELECT x, y, count(*) AS c FROM posts, unnest(array_replace(ids, k, NULL)) x, unnest(array_replace(ids, k, NULL)) y WHERE x < y AND id % 4 <> k GROUP BY 1, 2 OFFSET 0) q');
SELECT * FROM try('SELECT k, q.* FROM generate_series(1, 4) k, LATERAL (SELECT x, y, count(*) AS c FROM posts, string_to_table(words, k::text) x, string_to_table(words, k::text) y
    WHERE x < y AND x <> k::text AND y <> k::text GROUP BY 1, 2 HAVING count(*) > 2 OFFSET 0) q');
-- a cursor that stops early, and starts again
BEGIN;
DECLARE c CURSOR FOR SELECT x, y, count(*) FROM posts, string_to_table(words, ' ') x, string_to_table(words, ' ') y WHERE x < y GROUP BY 1, 2 HAVING count(*) > 60;
FETCH 1 FROM c;
COMMIT;
-- rights and row security are those of the plain plan
CREATE ROLE blog_reader;
GRANT USAGE ON SCHEMA blog TO blog_reader;
GRANT SELECT (id, ids) ON posts TO blog_reader;
ALTER TABLE posts ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON posts FOR SELECT USING (id % 2 = 0);
CREATE FUNCTION elements(int[]) RETURNS SETOF int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN QUERY SELECT unnest($1); END';
SET ROLE blog_reader;
SELECT count(*), sum(n) FROM (SELECT x, y, count(*) AS n FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2) q;
SELECT x, y, count(*) AS n FROM posts, unnest(tags) x, unnest(tags) y WHERE x < y GROUP BY 1, 2;
SELECT count(*), sum(n) FROM (SELECT x, y, count(*) AS n FROM posts, elements(ids) x, elements(ids) y WHERE x < y GROUP BY 1, 2) q;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION elements FROM PUBLIC;
SET ROLE blog_reader;
SELECT count(*), sum(n) FROM (SELECT x, y, count(*) AS n FROM posts, elements(ids) x, elements(ids) y WHERE x < y GROUP BY 1, 2) q;
SET batmap.enable_join_project = off;
SELECT count(*), sum(n) FROM (SELECT x, y, count(*) AS n FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2) q;
RESET batmap.enable_join_project;
RESET ROLE;
-- too little memory: the plain plan answers
PREPARE pairs AS SELECT count(*), sum(n) FROM (SELECT x, y, count(*) AS n FROM posts, unnest(ids) x, unnest(ids) y WHERE x < y GROUP BY 1, 2) q;
EXECUTE pairs;
SET batmap.memory_limit = '64kB';
EXECUTE pairs;
RESET batmap.memory_limit;
SET client_min_messages = warning;
DROP SCHEMA blog CASCADE;
DROP ROLE blog_reader;
