-- Episodes by the GPU against those of the CPU, through SQL. Only what is the same on every GPU is printed.
\set QUIET on
\pset format unaligned
\pset tuples_only on

CREATE TABLE spikes AS SELECT time_us, neuron, neuron % 3 AS stream FROM batmap_generate_spikes(60);
INSERT INTO spikes SELECT * FROM spikes WHERE neuron = 7;
-- every statement on the GPU and on the CPU: rows that only one of the two has
CREATE FUNCTION episode_differences(call text) RETURNS TABLE (device text, method text, only_one bigint, has_rows bool) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'CREATE TEMP TABLE on_gpu ON COMMIT DROP AS SELECT * FROM ' || replace(call, '@', 'device => ''require''');
    SELECT split_part(r.device, ':', 1), r.method INTO device, method FROM batmap_last_run() r;
    EXECUTE 'CREATE TEMP TABLE on_cpu ON COMMIT DROP AS SELECT * FROM ' || replace(call, '@', 'device => ''cpu''');
    SELECT count(*) INTO only_one FROM ((TABLE on_gpu EXCEPT ALL TABLE on_cpu) UNION ALL (TABLE on_cpu EXCEPT ALL TABLE on_gpu)) d;
    SELECT count(*) > 0 INTO has_rows FROM on_gpu;
    DROP TABLE on_gpu, on_cpu;
    RETURN NEXT;
END $$;
SELECT * FROM episode_differences($$batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[5000, 10000], min_count => 500, max_length => 5, @)$$);
SELECT length, frequent BETWEEN 1 AND candidates, milliseconds >= 0 FROM batmap_last_run_levels() WHERE length <= 3;
SELECT * FROM episode_differences($$batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[5000, 10000], min_count => 700, max_length => 3, algorithm => 'atomic', @)$$);
SELECT * FROM episode_differences($$batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[5000, 10000], min_count => 700, max_length => 3, algorithm => 'automaton', @)$$);
SELECT * FROM episode_differences($$batmap_episodes('SELECT time_us, neuron, stream FROM spikes', ARRAY[[0, 5000], [5000, 10000]], min_count => 500, max_length => 3, @)$$);
SELECT * FROM episode_differences($$batmap_episodes('SELECT time_us, neuron FROM spikes WHERE time_us < 1000000', ARRAY[0, NULL], min_count => 20, max_length => 3, @)$$);
SELECT * FROM episode_differences($$batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[5000, 10000], top_k => 300, max_length => 4, @)$$);
SELECT * FROM episode_differences($$batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[5000, 10000], min_count => 600, min_length => 2, max_length => 4, include => '{1,2}', exclude => '{5}', @)$$);
SELECT * FROM episode_differences($$batmap_episodes_of('SELECT time_us, ''n'' || neuron FROM spikes', ARRAY[5000, 10000], min_count => 700, max_length => 3, @)$$);
SELECT * FROM episode_differences($$batmap_episode_count('SELECT time_us, neuron FROM spikes', '{{0,1,2,3},{9,10,11,12},{3,2,1,0},{5,5,5,5},{1,2,3,99}}', ARRAY[0, 10000], @)$$);
SELECT * FROM episode_differences($$batmap_episode_count('SELECT time_us, neuron, stream FROM spikes', '{{0,3},{3,6}}', ARRAY[0, 10000], algorithm => 'atomic', @)$$);
SELECT * FROM episode_differences($$batmap_episode_count('SELECT time_us, neuron, stream FROM spikes', '{{0,1,2,3},{9,10,11,12},{3,2,1,0},{5,5,5,5},{1,2,3,99}}', ARRAY[0, 10000], algorithm => 'automaton', @)$$);
SELECT * FROM episode_differences($$batmap_episode_count('SELECT time_us, neuron, stream FROM spikes', '{{0,1,2,3},{9,10,11,12},{3,2,1,0},{5,5,5,5},{1,2,3,99}}', ARRAY[0, 10000], algorithm => 'mapconcat', @)$$);
SELECT * FROM episode_differences($$batmap_episode_count('SELECT time_us, neuron FROM spikes', '{{0},{9},{77}}', ARRAY[0, 1], @)$$);
SELECT * FROM episode_differences($$batmap_episode_count_of('SELECT time_us, ''n'' || neuron FROM spikes', '{n0,n1,n2}', ARRAY[0, 10000], @)$$);

-- edges
SELECT count(*) FROM batmap_episodes('SELECT 1, 1 WHERE false', ARRAY[0, 1], min_count => 1, device => 'require');
SELECT episode, support_count FROM batmap_episodes('VALUES (1, 2), (2, 1), (2, 1), (NULL, 3)', ARRAY[0, 1], min_count => 1, device => 'require');

-- memory of the device: an error, or the CPU
SET batmap.gpu_memory_limit = '1MB';
\set VERBOSITY sqlstate
SELECT count(*) FROM batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[5000, 10000], min_count => 700, max_length => 2, device => 'require');
\set VERBOSITY default
SELECT count(*) > 0 FROM batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[5000, 10000], min_count => 700, max_length => 2, device => 'cuda');
SELECT device FROM batmap_last_run();
RESET batmap.gpu_memory_limit;

-- a cancelled run leaves the device as it was
SET statement_timeout = '1s';
SELECT count(*) FROM batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[0, 100000], min_count => 200, device => 'require');
RESET statement_timeout;
SELECT count(*) > 0 FROM batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[5000, 10000], min_count => 700, max_length => 2, device => 'require');

-- 300 runs in one session leave nothing: the process does not grow
CREATE FUNCTION episodes_resident_kb() RETURNS int8 LANGUAGE sql AS
$$SELECT substring(pg_read_file('/proc/self/status') FROM 'VmRSS:\s+(\d+)')::int8$$;
DO $$ BEGIN FOR i IN 1..30 LOOP PERFORM count(*) FROM batmap_episodes('SELECT time_us, neuron FROM spikes WHERE time_us < 500000', ARRAY[5000, 10000], min_count => 5, max_length => 3, device => 'require'); END LOOP; END $$;
SELECT episodes_resident_kb() AS before \gset
DO $$ BEGIN FOR i IN 1..300 LOOP PERFORM count(*) FROM batmap_episodes('SELECT time_us, neuron FROM spikes WHERE time_us < 500000', ARRAY[5000, 10000], min_count => 5, max_length => 3, device => 'require'); END LOOP; END $$;
SELECT episodes_resident_kb() - :before < 20000;
DROP TABLE spikes;
