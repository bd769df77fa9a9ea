-- batmap_pairs_of: items of any hashable type.
CREATE TABLE baskets (tid text, item text);
INSERT INTO baskets VALUES ('a', 'milk'), ('a', 'bread'), ('a', 'eggs'), ('b', 'milk'), ('b', 'bread'), ('c', 'eggs'),
    ('c', 'bread'), ('c', 'bread'), ('c', NULL), (NULL, 'milk');
-- item_a < item_b in the order of the type
SELECT * FROM batmap_pairs_of('SELECT tid, item FROM baskets', min_count => 1) ORDER BY 1, 2;
SELECT * FROM batmap_pairs_of('SELECT tid, item FROM baskets', top_k => 1);
SELECT item_a, item_b FROM batmap_pairs_of('SELECT tid, item FROM baskets', min_count => 1, include => '{eggs}')
ORDER BY 1, 2;
SELECT item_a, item_b FROM batmap_pairs_of('SELECT tid, item FROM baskets', min_count => 1, exclude => '{eggs,cheese}')
ORDER BY 1, 2;
SELECT pg_typeof(item_a), pg_typeof(item_b) FROM batmap_pairs_of('SELECT tid, item FROM baskets', top_k => 1);
-- other types: by value, fixed length, variable length, composite, without an order of its own
SELECT * FROM batmap_pairs_as(NULL::uuid, $$SELECT tid, md5(item)::uuid FROM baskets$$, top_k => 1);
SELECT * FROM batmap_pairs_as(NULL::numeric, $$SELECT tid, length(item)::numeric / 2 FROM baskets$$, min_count => 1) ORDER BY 1, 2;
SELECT * FROM batmap_pairs_as(NULL::date, $$SELECT tid, date '2026-01-01' + length(item) FROM baskets$$, top_k => 1);
SELECT * FROM batmap_pairs_as(NULL::float8, $$VALUES (1, '0'::float8), (1, '-0'), (1, 'NaN'), (2, 'NaN'), (2, '0')$$, min_count => 1);
SELECT * FROM batmap_pairs_as(NULL::int4, 'SELECT tid, length(item) FROM baskets', top_k => 1);
SELECT * FROM batmap_pairs_as(NULL::text[], $$SELECT tid, ARRAY[item, 'x'] FROM baskets$$, top_k => 1);
SELECT * FROM batmap_pairs_as(NULL::xid, $$SELECT tid, length(item)::text::xid FROM baskets$$, min_count => 1) ORDER BY 1::text, 2::text;
SELECT * FROM batmap_pairs_as(NULL::bool, $$SELECT tid, item > 'c' FROM baskets$$, min_count => 1);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
SELECT * FROM batmap_pairs_as(NULL::mood, $$VALUES (1, 'happy'::mood), (1, 'sad'), (2, 'sad'), (2, 'happy')$$, min_count => 1);
-- long values, toasted ones too
CREATE TABLE long_items AS SELECT t AS tid, repeat(md5(i::text), 500) AS item FROM generate_series(1, 4) t, generate_series(1, t) i;
SELECT length(item_a), length(item_b), item_a < item_b AS ordered, support_count
FROM batmap_pairs_of('SELECT tid, item FROM long_items', top_k => 2);
-- items that do not occur are named, those that are excluded are not, and over no rows none are
SELECT item_a, item_b FROM batmap_pairs_of('SELECT tid, item FROM baskets', min_count => 1, include => '{eggs,cheese}') ORDER BY 1, 2;
SELECT item, partner FROM batmap_partners_of('SELECT tid, item FROM baskets', items => '{Milk,milk,tea,jam,wine,beer}', top_k => 1);
SELECT lhs FROM batmap_rules_of('baskets', 'tid', 'item', min_count => 1, lhs_include => '{tea}', rhs_include => '{jam}', lhs_exclude => '{wine}', exclude => '{beer}');
SELECT itemset FROM batmap_itemsets_as(NULL::numeric, 'SELECT tid, length(item)::numeric FROM baskets', min_count => 1, include => '{4.0,7.50}');
SELECT item FROM batmap_recommend_of('{none}', 'SELECT tid, item FROM baskets', include => '{other}');
SELECT item_a FROM batmap_pairs_of('SELECT tid, item FROM baskets WHERE false', min_count => 1, include => '{cheese}');
SELECT item_a FROM batmap_pairs_of('SELECT tid, item FROM baskets', min_count => 1, include => ARRAY[repeat('ä', 40)]);
-- columns of binary-coercible types, and arrays of the requested type
CREATE DOMAIN label AS text;
CREATE DOMAIN small AS int4 CHECK (VALUE < 100);
CREATE DOMAIN even_smaller AS small CHECK (VALUE < 99);
SELECT item_a, item_b, support_count FROM batmap_pairs_of('SELECT tid, item::varchar(9) FROM baskets', min_count => 2, include => '{milk}');
SELECT item_a, item_b, support_count FROM batmap_pairs_as(item_type => NULL::varchar, query => 'SELECT tid, item FROM baskets', top_k => 1);
SELECT itemset || ARRAY['x'] AS more FROM batmap_itemsets_of('SELECT tid, item::varchar FROM baskets', top_k => 1);
SELECT itemset || ARRAY['x'] AS more FROM batmap_itemsets_of('SELECT tid, item::label FROM baskets', top_k => 1);
SELECT episode || ARRAY['x'] AS more FROM batmap_episodes_of('SELECT length(item), item::label FROM baskets', ARRAY[0, 1], top_k => 1);
SELECT item_a, item_b FROM batmap_pairs_as(NULL::small, 'SELECT 1, x::small FROM generate_series(98, 99) x', top_k => 1);
SELECT item_a, item_b FROM batmap_pairs_as(NULL::small, 'SELECT 1, x::even_smaller FROM generate_series(97, 98) x', top_k => 1);
-- refused
SELECT item_a, item_b FROM batmap_pairs_as(NULL::small, 'SELECT 1, x FROM generate_series(99, 100) x', top_k => 1);
SELECT episode FROM batmap_episodes_as(NULL::small, 'SELECT 1, 100', ARRAY[0, 1], top_k => 1);
SELECT item_a FROM batmap_pairs_of('SELECT tid, item::char(9) FROM baskets', top_k => 1);
SELECT * FROM batmap_pairs_of('SELECT 1, 2', min_count => 1);
SELECT * FROM batmap_pairs_as(NULL::json, $$SELECT 1, '{}'::json$$, min_count => 1);
SELECT * FROM batmap_pairs_of($$SELECT '{}'::json, 'x'::text$$, min_count => 1);
SELECT * FROM batmap_pairs_as(NULL, 'SELECT 1, 2', min_count => 1);
SELECT * FROM batmap_pairs_as(NULL::int, 'SELECT 1, 2', min_count => 1, include => '{1,x}');
SELECT * FROM batmap_pairs_of('SELECT tid, item FROM baskets', min_count => 1, exclude => '{milk,NULL}');
DROP TABLE baskets, long_items;
DROP TYPE mood;
DROP DOMAIN label, even_smaller, small;
