-- Fourth question, of another kind: not what goes together but what follows what. The stream is made up, because no machine has one
-- that everybody knows the answer of: a network of 64 neurons that fire at random, among them four chains.

\set seconds 300
\set least 300

\echo
\echo 4. Which neurons fire one after the other?
\echo
SELECT format('  CREATE TABLE spikes AS SELECT * FROM batmap_generate_spikes(%s, rate => 4)', :seconds);
SELECT format('  SELECT * FROM batmap_episodes(''SELECT time_us, neuron FROM spikes'', ARRAY[5000, 10000], min_count => %s, min_length => 9)', :least);
\echo

CREATE TEMP TABLE spikes AS SELECT * FROM batmap_generate_spikes(:seconds, rate => 4);
CREATE TEMP TABLE chains AS
    SELECT * FROM batmap_episodes('SELECT time_us, neuron FROM spikes', ARRAY[5000, 10000], min_count => :least, min_length => 9);

SELECT format('  %s spikes in %s minutes; %s chains of nine neurons, each 5 to 10 ms after the one before:',
              pg_temp.num((SELECT count(*) FROM spikes)), :seconds / 60, (SELECT count(*) FROM chains));
SELECT format('    %s: %s times', array_to_string(episode, ' -> '), pg_temp.num(support)) FROM chains ORDER BY episode;
\echo
SELECT * FROM pg_temp.how_it_ran();
DROP TABLE spikes, chains;
