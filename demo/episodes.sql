-- Fourth question, of another kind: not what goes together but what follows what. The stream is made up, because no machine has one
-- that everybody knows the answer of: a network of 64 neurons that fire at random, among them four chains.

\set seconds 300
\set least 300

\set title 'Which neurons fire one after the other?'
SELECT format('SELECT * FROM batmap_generate_spikes(%s, rate => 4)', :seconds) AS stream,
       format('SELECT * FROM batmap_episodes(''SELECT time_us, neuron FROM spikes'', ARRAY[5000, 10000], min_count => %s, min_length => 9)',
              :least) AS statement \gset

\echo
\echo 4. :title
\echo
\echo '  CREATE TABLE spikes AS' :stream
\echo ' ' :statement
\echo

CREATE TEMP TABLE spikes AS :stream;
SELECT clock_timestamp() AS started \gset
CREATE TEMP TABLE chains AS :statement;
SELECT extract(epoch FROM clock_timestamp() - :'started'::timestamptz) * 1000 AS ours_ms \gset
CALL pg_temp.keep_question(4, :'title', :'statement', :ours_ms);

SELECT format('  %s spikes in %s minutes; %s chains of nine neurons, each 5 to 10 ms after the one before:',
              pg_temp.num((SELECT count(*) FROM spikes)), :seconds / 60, (SELECT count(*) FROM chains));
SELECT format('    %s: %s times', array_to_string(episode, ' -> '), pg_temp.num(support_count)) FROM chains ORDER BY episode;
\echo
SELECT * FROM pg_temp.how_it_ran();

-- Where the chains occur.
\set where 'SELECT * FROM chains, batmap_episode_occurrences(\'SELECT time_us, neuron FROM spikes\', episode, ARRAY[5000, 10000])'
CREATE TEMP TABLE occurrences AS :where;
UPDATE question SET statement = concat_ws(E';\n', statement, :'where') WHERE number = 4;
