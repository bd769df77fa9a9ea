-- Queries as people write them, by field. A name, and the query.
CREATE TABLE corpus (number serial, name text, query text);
INSERT INTO corpus (name, query) VALUES
('shop: bought together', $$SELECT a.product_id, b.product_id, count(*) FROM order_items a JOIN order_items b ON a.order_id = b.order_id AND a.product_id < b.product_id
  GROUP BY a.product_id, b.product_id HAVING count(*) >= 5$$),
('shop: bought together, old join', $$SELECT a.product_id p1, b.product_id p2, count(*) AS times FROM order_items a, order_items b
  WHERE a.order_id = b.order_id AND a.product_id <> b.product_id GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 20$$),
('shop: names', $$SELECT p.name AS first, q.name AS second, count(*) AS orders FROM order_items a JOIN order_items b USING (order_id)
  JOIN products p ON p.id = a.product_id JOIN products q ON q.id = b.product_id WHERE a.product_id < b.product_id GROUP BY p.name, q.name$$),
('shop: names and ids', $$SELECT p.id, p.name, q.id, q.name, count(DISTINCT a.order_id) FROM order_items a JOIN order_items b USING (order_id)
  JOIN products p ON p.id = a.product_id JOIN products q ON q.id = b.product_id WHERE p.id < q.id GROUP BY p.id, q.id$$),
('shop: categories', $$SELECT p.category, q.category, count(DISTINCT a.order_id) FROM order_items a JOIN products p ON p.id = a.product_id
  JOIN order_items b ON b.order_id = a.order_id JOIN products q ON q.id = b.product_id WHERE p.category < q.category GROUP BY 1, 2$$),
('shop: brands', $$SELECT ba.name, bb.name, count(*) FROM order_items a JOIN products pa ON pa.id = a.product_id JOIN brands ba ON ba.id = pa.brand_id
  JOIN order_items b USING (order_id) JOIN products pb ON pb.id = b.product_id JOIN brands bb ON bb.id = pb.brand_id WHERE ba.id < bb.id GROUP BY 1, 2$$),
('shop: of one month', $$SELECT a.product_id, b.product_id, count(*) FROM orders o JOIN order_items a ON a.order_id = o.id JOIN order_items b ON b.order_id = o.id
  WHERE o.day BETWEEN '2026-02-01' AND '2026-02-28' AND a.product_id < b.product_id GROUP BY 1, 2$$),
('shop: paid orders, IN', $$SELECT a.product_id, b.product_id, count(*) FROM order_items a JOIN order_items b USING (order_id)
  WHERE a.order_id IN (SELECT id FROM orders WHERE status = 'paid') AND a.product_id < b.product_id GROUP BY 1, 2$$),
('shop: paid orders, EXISTS', $$SELECT a.product_id, b.product_id, count(*) FROM order_items a JOIN order_items b USING (order_id)
  WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = a.order_id AND o.status = 'paid') AND a.product_id > b.product_id GROUP BY 1, 2$$),
('shop: not returned', $$SELECT a.product_id, b.product_id, count(*) FROM order_items a JOIN order_items b USING (order_id) WHERE NOT EXISTS (SELECT 1 FROM orders o
  WHERE o.id = a.order_id AND o.status = 'returned') AND a.product_id < b.product_id GROUP BY 1, 2$$),
('shop: by country', $$SELECT c.country, a.product_id, b.product_id, count(*) FROM order_items a JOIN order_items b ON b.order_id = a.order_id AND a.product_id < b.product_id
  JOIN orders o ON o.id = a.order_id JOIN customers c ON c.id = o.customer_id GROUP BY 1, 2, 3$$),
('shop: by status', $$SELECT o.status, a.product_id, b.product_id, count(*) FROM orders o JOIN order_items a ON a.order_id = o.id JOIN order_items b ON b.order_id = o.id
  WHERE a.product_id < b.product_id GROUP BY 1, 2, 3 HAVING count(*) > 2$$),
('shop: quantities', $$SELECT a.product_id, b.product_id, count(*), sum(a.quantity), sum(b.quantity), sum(a.quantity * b.quantity) FROM order_items a
  JOIN order_items b USING (order_id) WHERE a.product_id < b.product_id GROUP BY 1, 2$$),
('shop: average and bounds', $$SELECT a.product_id, b.product_id, avg(a.quantity), min(b.quantity), max(b.quantity) FROM order_items a JOIN order_items b USING (order_id)
  WHERE a.product_id < b.product_id GROUP BY 1, 2$$),
('shop: revenue', $$SELECT a.product_id, b.product_id, sum(a.quantity * p.price) FROM order_items a JOIN order_items b USING (order_id) JOIN products p ON p.id = a.product_id
  WHERE a.product_id < b.product_id GROUP BY 1, 2$$),
('shop: many at once', $$SELECT a.product_id, b.product_id, count(*) FILTER (WHERE a.quantity > 2) FROM order_items a JOIN order_items b USING (order_id)
  WHERE a.product_id < b.product_id GROUP BY 1, 2 HAVING count(*) >= 3$$),
('shop: the same customer', $$SELECT a.product_id, b.product_id, count(DISTINCT oa.customer_id) FROM order_items a JOIN orders oa ON oa.id = a.order_id
  JOIN orders ob ON ob.customer_id = oa.customer_id JOIN order_items b ON b.order_id = ob.id WHERE a.product_id < b.product_id GROUP BY 1, 2$$),
('shop: triples', $$SELECT a.product_id, b.product_id, c.product_id, count(*) FROM order_items a JOIN order_items b USING (order_id) JOIN order_items c USING (order_id)
  WHERE a.product_id < b.product_id AND b.product_id < c.product_id GROUP BY 1, 2, 3 HAVING count(*) >= 10$$),
('shop: best partners, window', $$SELECT * FROM (SELECT x, y, n, rank() OVER (PARTITION BY x ORDER BY n DESC) AS r FROM (SELECT a.product_id AS x, b.product_id AS y, count(*) AS n
  FROM order_items a JOIN order_items b USING (order_id) WHERE a.product_id <> b.product_id GROUP BY 1, 2) pairs) ranked WHERE r <= 3$$),
('shop: lift, CTE', $$WITH n AS (SELECT count(DISTINCT order_id)::float8 AS n FROM order_items), s AS (SELECT product_id, count(*) AS c FROM order_items GROUP BY 1),
  p AS (SELECT a.product_id AS x, b.product_id AS y, count(*) AS c FROM order_items a JOIN order_items b USING (order_id) WHERE a.product_id < b.product_id GROUP BY 1, 2)
  SELECT x, y, p.c * n.n / (sx.c * sy.c) FROM p JOIN s sx ON sx.product_id = x JOIN s sy ON sy.product_id = y, n WHERE p.c > 4$$),
('shop: view with a barrier', $$SELECT a.product_id, b.product_id, count(*) FROM paid_items a JOIN paid_items b USING (order_id) WHERE a.product_id < b.product_id GROUP BY 1, 2$$),
('shop: with one product', $$SELECT b.product_id, count(*) FROM order_items a JOIN order_items b USING (order_id) WHERE a.product_id = 7 AND b.product_id <> 7 GROUP BY 1
  ORDER BY 2 DESC, 1 LIMIT 10$$),
('shop: segments', $$SELECT c.segment, p.category, count(DISTINCT o.id) FROM customers c JOIN orders o ON o.customer_id = c.id JOIN order_items i ON i.order_id = o.id
  JOIN products p ON p.id = i.product_id GROUP BY 1, 2$$),
('shop: products of customers', $$SELECT o.customer_id, i.product_id, count(*) FROM orders o JOIN order_items i ON i.order_id = o.id GROUP BY 1, 2$$),
('tags: pairs', $$SELECT a.tag, b.tag, count(*) FROM question_tags a JOIN question_tags b ON a.question_id = b.question_id AND a.tag < b.tag GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2
  LIMIT 25$$),
('tags: of good questions', $$SELECT a.tag, b.tag, count(*) FROM questions q JOIN question_tags a ON a.question_id = q.id JOIN question_tags b ON b.question_id = q.id
  WHERE q.score >= 10 AND a.tag < b.tag GROUP BY 1, 2$$),
('tags: unnest twice', $$SELECT x, y, count(*) FROM questions, unnest(tags) x, unnest(tags) y WHERE x < y GROUP BY 1, 2$$),
('tags: unnest twice, lateral', $$SELECT x.tag, y.tag, count(*) AS n FROM questions q CROSS JOIN LATERAL unnest(q.tags) AS x (tag) CROSS JOIN LATERAL unnest(q.tags) AS y (tag)
  WHERE q.score > 5 AND x.tag < y.tag GROUP BY 1, 2 HAVING count(*) >= 3$$),
('tags: jsonb twice', $$SELECT x, y, count(*) FROM questions, jsonb_array_elements_text(labels) x, jsonb_array_elements_text(labels) y WHERE x < y GROUP BY x, y$$),
('tags: words of the body', $$SELECT x, y, count(*) FROM questions, regexp_split_to_table(body, ' tag ') x, regexp_split_to_table(body, ' tag ') y WHERE x < y GROUP BY 1, 2$$),
('tags: users of tags', $$SELECT a.tag, b.tag, count(DISTINCT qa.user_id) FROM question_tags a JOIN questions qa ON qa.id = a.question_id
  JOIN questions qb ON qb.user_id = qa.user_id JOIN question_tags b ON b.question_id = qb.id WHERE a.tag < b.tag GROUP BY 1, 2$$),
('clicks: pages of a session', $$SELECT a.url, b.url, count(DISTINCT a.session_id) FROM page_views a JOIN page_views b USING (session_id) WHERE a.url < b.url GROUP BY 1, 2$$),
('clicks: distinct first', $$WITH seen AS (SELECT DISTINCT session_id, url FROM page_views) SELECT a.url, b.url, count(*) FROM seen a JOIN seen b USING (session_id)
  WHERE a.url < b.url GROUP BY 1, 2$$),
('clicks: on a phone', $$SELECT a.url, b.url, count(*) FROM page_views a JOIN page_views b ON a.session_id = b.session_id AND a.device = 'phone' AND b.device = 'phone'
  AND a.url < b.url GROUP BY 1, 2$$),
('clicks: later page', $$SELECT a.url, b.url, count(*) FROM page_views a JOIN page_views b ON a.session_id = b.session_id AND a.at < b.at GROUP BY 1, 2$$),
('clicks: by day', $$SELECT a.at::date, a.url, b.url, count(*) FROM page_views a JOIN page_views b USING (session_id) WHERE a.url < b.url GROUP BY 1, 2, 3$$),
('genes: mutated together', $$SELECT a.gene, b.gene, count(DISTINCT a.patient_id) FROM mutations a JOIN mutations b ON a.patient_id = b.patient_id WHERE a.gene < b.gene
  AND a.effect <> 'silent' AND b.effect <> 'silent' GROUP BY a.gene, b.gene$$),
('genes: by cancer', $$SELECT p.cancer, a.gene, b.gene, count(DISTINCT p.id) FROM patients p JOIN mutations a ON a.patient_id = p.id JOIN mutations b ON b.patient_id = p.id
  WHERE a.gene < b.gene GROUP BY 1, 2, 3$$),
('genes: effects', $$SELECT a.gene, a.effect, b.gene, b.effect, count(*) FROM mutations a JOIN mutations b USING (patient_id) WHERE a.gene < b.gene GROUP BY 1, 2, 3, 4$$),
('genes: age', $$SELECT a.gene, b.gene, avg(p.age), count(*) FROM mutations a JOIN mutations b USING (patient_id) JOIN patients p ON p.id = a.patient_id WHERE a.gene < b.gene
  GROUP BY 1, 2$$),
('flights: two legs', $$SELECT a.origin, b.destination, count(*) FROM flights a JOIN flights b ON b.origin = a.destination WHERE a.origin <> b.destination GROUP BY 1, 2$$),
('flights: two legs on a day', $$SELECT a.origin, b.destination, count(*) FROM flights a JOIN flights b ON b.origin = a.destination AND b.day = a.day GROUP BY 1, 2$$),
('flights: reachable', $$SELECT DISTINCT a.origin, b.destination FROM flights a JOIN flights b ON a.destination = b.origin$$),
('flights: lands', $$SELECT x.country, y.country, count(*) FROM flights f JOIN airports x ON x.code = f.origin JOIN airports y ON y.code = f.destination GROUP BY 1, 2$$),
('flights: carriers at airports', $$SELECT a.carrier, b.carrier, count(DISTINCT a.origin) FROM flights a JOIN flights b USING (origin) WHERE a.carrier < b.carrier GROUP BY 1, 2$$),
('graph: paths of two', $$SELECT a.x, b.y, count(*) FROM edges a JOIN edges b ON a.y = b.x GROUP BY a.x, b.y$$),
('graph: common neighbours', $$SELECT a.x, b.x, count(*) FROM edges a JOIN edges b ON a.y = b.y WHERE a.x < b.x GROUP BY 1, 2 HAVING count(*) >= 4$$),
('graph: triangles', $$SELECT count(*) FROM edges a JOIN edges b ON b.x = a.y JOIN edges c ON c.x = a.x AND c.y = b.y$$),
('graph: triangles of an edge', $$SELECT c.x, c.y, count(*) FROM edges c JOIN edges a ON a.x = c.x JOIN edges b ON b.x = c.y AND b.y = a.y GROUP BY 1, 2$$),
('papers: coauthors', $$SELECT n.name, m.name, count(*) AS papers FROM authorship a JOIN authorship b ON a.paper_id = b.paper_id AND a.author_id < b.author_id
  JOIN authors n ON n.id = a.author_id JOIN authors m ON m.id = b.author_id GROUP BY n.name, m.name$$),
('papers: institutes', $$SELECT n.institute, m.institute, count(DISTINCT a.paper_id) FROM authorship a JOIN authors n ON n.id = a.author_id
  JOIN authorship b ON b.paper_id = a.paper_id JOIN authors m ON m.id = b.author_id WHERE n.institute < m.institute GROUP BY 1, 2$$),
('papers: since 2010', $$SELECT a.author_id, b.author_id, count(*), min(p.year), max(p.year) FROM papers p JOIN authorship a ON a.paper_id = p.id
  JOIN authorship b ON b.paper_id = p.id WHERE p.year >= 2010 AND a.author_id < b.author_id GROUP BY 1, 2$$),
('papers: authors of venues', $$SELECT a.author_id, p.venue, count(*) FROM authorship a JOIN papers p ON p.id = a.paper_id GROUP BY 1, 2$$),
('films: liked together', $$SELECT a.film_id, b.film_id, count(*) FROM ratings a JOIN ratings b USING (user_id) WHERE a.stars >= 4 AND b.stars >= 4 AND a.film_id < b.film_id
  GROUP BY 1, 2$$),
('films: dot products', $$SELECT a.film_id, b.film_id, sum(a.stars * b.stars) AS dot, count(*) AS n FROM ratings a JOIN ratings b USING (user_id) WHERE a.film_id < b.film_id GROUP BY 1, 2$$),
('films: like-minded users', $$SELECT a.user_id, b.user_id, count(*) FROM ratings a JOIN ratings b ON b.film_id = a.film_id AND b.stars = a.stars WHERE a.user_id < b.user_id
  GROUP BY 1, 2 HAVING count(*) >= 3$$),
('films: titles, left join', $$SELECT f.title, g.title, count(*) FROM ratings a JOIN ratings b USING (user_id) LEFT JOIN films f ON f.id = a.film_id
  LEFT JOIN films g ON g.id = b.film_id WHERE a.film_id < b.film_id GROUP BY 1, 2$$),
('words: in documents', $$SELECT a.word, b.word, count(DISTINCT a.document_id) FROM words a JOIN words b USING (document_id) WHERE a.word < b.word GROUP BY 1, 2$$),
('words: of some months', $$SELECT a.word, b.word, count(*) FROM words a JOIN words b USING (document_id) WHERE a.month < 4 AND b.month < 4 AND a.word < b.word GROUP BY 1, 2$$),
('words: upper case', $$SELECT upper(a.word), upper(b.word), count(*) FROM words a JOIN words b USING (document_id) WHERE upper(a.word) < upper(b.word) GROUP BY 1, 2$$);
