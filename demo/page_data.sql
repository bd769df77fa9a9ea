-- What page.py draws, as CSV files in the folder `data`: a file a picture, from what the questions have left.

\pset format csv
\pset tuples_only off

\set processor `sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1`
\set cores `nproc`
SELECT (SELECT count(*) FROM source) AS packages, (SELECT count(*) FROM needs) AS needs, (SELECT count(*) FROM tags) AS tags,
       :'from' AS catalogue, nullif(:'processor', '') AS processor, :'cores' AS cores,
       'PostgreSQL ' || current_setting('server_version') AS server,
       (SELECT extversion FROM pg_extension WHERE extname = 'batmap') AS batmap, to_char(now(), 'YYYY-MM-DD HH24:MI') AS made
\g :data/facts.csv

SELECT * FROM question ORDER BY number \g :data/questions.csv
SELECT * FROM timing ORDER BY question, ctid \g :data/timings.csv

-- The graph has an edge from a package to each of the two that are the most like it, as long as they share a fifth of those
-- that need them; of these edges those that most packages agree on.
CREATE TEMP TABLE edges AS
    SELECT DISTINCT least(package, partner) AS a, greatest(package, partner) AS b, support_count, jaccard
    FROM (SELECT *, row_number() OVER (PARTITION BY package ORDER BY jaccard DESC, partner) AS rank
          FROM (SELECT lhs AS package, rhs AS partner, support_count, jaccard FROM news
                UNION ALL
                SELECT rhs, lhs, support_count, jaccard FROM news) both_ways) ranked
    WHERE rank <= 2 AND jaccard >= 0.2
    ORDER BY support_count DESC, a, b LIMIT 64;
SELECT * FROM edges ORDER BY a, b \g :data/edges.csv
SELECT needed AS package, count(*) AS support_count FROM needs WHERE needed IN (SELECT a FROM edges UNION SELECT b FROM edges) GROUP BY 1 ORDER BY 1
\g :data/nodes.csv

SELECT count(*) > 0 AS tagged FROM question WHERE number = 2 \gset
\if :tagged
SELECT lhs, rhs, lhs_support, support_count, support_count::float8 / lhs_support AS confidence, rhs_support::float8 / total AS usual
FROM tag_rules ORDER BY lift DESC, lhs \g :data/tag_rules.csv
\endif

SELECT * FROM closest ORDER BY jaccard DESC, program, relative \g :data/relatives.csv

-- One second of the stream, from shortly before the occurrence that has the most others close behind it; its times count from there.
\set shown_us 1000000
\set close_us 400000
SELECT coalesce((SELECT greatest(a.starts_at - 20000, 0)
                 FROM occurrences a JOIN occurrences b ON b.starts_at >= a.starts_at AND b.ends_at < a.starts_at - 20000 + :shown_us
                 GROUP BY a.starts_at
                 ORDER BY count(*) FILTER (WHERE b.ends_at < a.starts_at - 20000 + :close_us) DESC, count(*) DESC, a.starts_at LIMIT 1),
                0) AS from_us \gset
CREATE TEMP TABLE shown AS SELECT time_us - :from_us AS time_us, neuron FROM spikes WHERE time_us >= :from_us AND time_us < :from_us + :shown_us;

-- An occurrence comes as its first and last time; the spikes between are looked up: each follows the one before within the gap.
SELECT row_number() OVER (ORDER BY episode) AS chain, array_to_string(episode, ' ') AS episode, support_count FROM chains ORDER BY 1
\g :data/chains.csv
WITH RECURSIVE path AS (
    SELECT episode, starts_at, ends_at, ARRAY[starts_at - :from_us] AS times FROM occurrences
    WHERE starts_at >= :from_us AND ends_at < :from_us + :shown_us
    UNION ALL
    SELECT episode, starts_at, ends_at, times || time_us
    FROM path JOIN shown ON neuron = episode[cardinality(times) + 1] AND time_us <= ends_at - :from_us
                            AND time_us - times[cardinality(times)] > 5000 AND time_us - times[cardinality(times)] <= 10000),
complete AS (
    SELECT DISTINCT ON (episode, starts_at) * FROM path
    WHERE cardinality(times) = cardinality(episode) AND times[cardinality(times)] = ends_at - :from_us
    ORDER BY episode, starts_at, times),
numbered AS (SELECT *, row_number() OVER (ORDER BY starts_at, episode) AS occurrence FROM complete),
found AS (SELECT occurrence, chain, step.time_us, step.neuron
          FROM numbered JOIN (SELECT episode, row_number() OVER (ORDER BY episode) AS chain FROM chains) c USING (episode),
               unnest(times, episode) AS step (time_us, neuron))
SELECT time_us, neuron, chain, occurrence FROM shown LEFT JOIN found USING (time_us, neuron) ORDER BY time_us, neuron
\g :data/spikes.csv

\pset format unaligned
\pset tuples_only on
