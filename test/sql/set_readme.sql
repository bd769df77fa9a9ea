-- The examples of README.md, "The set type".
CREATE TABLE purchases AS SELECT i % 50 AS product_id, (i * 7919) % 20011 AS customer_id FROM generate_series(1, 100000) i;
CREATE TABLE product (id int PRIMARY KEY, buyers batmap(1000000));
INSERT INTO product SELECT product_id, batmap_agg(customer_id) FROM purchases GROUP BY product_id;
SELECT b.id, batmap_and_cardinality(a.buyers, b.buyers) AS common, (a.buyers <%> b.buyers)::numeric(6,4) AS distance
FROM product a JOIN product b ON a.buyers && b.buyers AND a.id < b.id ORDER BY common DESC, b.id LIMIT 3;
CREATE INDEX ON product USING gin (buyers);
SELECT id FROM product WHERE buyers @> 4711 ORDER BY id;
SELECT batmap_unnest('{1,2}'::batmap);
-- sharding by hand
SELECT batmap_state_final(batmap_state_merge(a::text::batmap_state, b::text::batmap_state))
FROM (SELECT batmap_or_trans(NULL, '{1,2}') AS a, batmap_or_trans(NULL, '{2,3}') AS b) v;
-- bytes an element
SELECT round(bytes / cardinality::numeric, 1) FROM batmap_stats((SELECT batmap_agg(x * 97, 10000000) FROM generate_series(1, 100000) x));
DROP TABLE purchases, product;
