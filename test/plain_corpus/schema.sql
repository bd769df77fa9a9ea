-- Tables of the corpus of queries (queries.sql). The variable `scale` is the number of orders; other tables grow with it.
SELECT setseed(0.42);

-- A shop
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, country text NOT NULL, segment text);
INSERT INTO customers SELECT i, 'customer ' || i, (ARRAY['DE', 'DK', 'FR', 'US', 'JP'])[1 + i % 5], CASE WHEN i % 4 > 0 THEN 'segment ' || i % 3 END
FROM generate_series(1, :scale / 10 + 1) i;
CREATE TABLE brands (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO brands SELECT i, 'brand ' || i FROM generate_series(0, 9) i;
CREATE TABLE products (id int PRIMARY KEY, name text NOT NULL, category text NOT NULL, brand_id int NOT NULL REFERENCES brands, price numeric(10, 2) NOT NULL);
INSERT INTO products SELECT i, 'product ' || i % 190, 'category ' || i % 12, i % 10, i % 97 + 0.5 FROM generate_series(1, 200) i;
CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, day date NOT NULL, status text NOT NULL);
INSERT INTO orders SELECT i, 1 + (random() ^ 2 * (:scale / 10))::int, date '2026-01-01' + i % 180, CASE WHEN i % 11 = 0 THEN 'returned' ELSE 'paid' END
FROM generate_series(1, :scale) i;
CREATE TABLE order_items (order_id int NOT NULL REFERENCES orders, product_id int NOT NULL REFERENCES products, quantity int NOT NULL, PRIMARY KEY (order_id, product_id));
INSERT INTO order_items SELECT DISTINCT ON (1, 2) o, 1 + (random() ^ 2 * 199)::int, 1 + (random() * 4)::int
FROM generate_series(1, :scale) o, generate_series(1, 8);

-- Questions with tags, and a site with clicks
CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL, reputation int NOT NULL);
INSERT INTO users SELECT i, 'user ' || i, i * 7 % 1000 FROM generate_series(1, :scale / 5 + 1) i;
CREATE TABLE questions (id int PRIMARY KEY, user_id int NOT NULL, score int NOT NULL, tags text[] NOT NULL, labels jsonb NOT NULL, body text NOT NULL);
INSERT INTO questions
SELECT i, 1 + (random() * :scale / 5)::int, (random() * 20)::int, t, to_jsonb(t), array_to_string(t, ' ')
FROM generate_series(1, :scale) i, LATERAL (SELECT array_agg(tag) AS t FROM (SELECT 'tag ' || (random() ^ 2 * 60 + 0 * i)::int AS tag FROM generate_series(1, 4)) r) s;
CREATE TABLE question_tags AS SELECT DISTINCT id AS question_id, tag FROM questions, unnest(tags) tag;
ALTER TABLE question_tags ALTER question_id SET NOT NULL, ALTER tag SET NOT NULL, ADD PRIMARY KEY (question_id, tag);
CREATE TABLE page_views (session_id int8 NOT NULL, url text, at timestamptz NOT NULL, device text);
INSERT INTO page_views
SELECT 9000000000 + (random() * :scale)::int, CASE WHEN random() < 0.97 THEN '/page/' || (random() ^ 3 * 120)::int END,
       timestamptz '2026-03-01 00:00+00' + random() * interval '30 days', CASE WHEN i % 3 = 0 THEN 'phone' ELSE 'desk' END
FROM generate_series(1, :scale * 6) i;

-- Patients and genes
CREATE TABLE patients (id int PRIMARY KEY, cancer text NOT NULL, age int);
INSERT INTO patients SELECT i, (ARRAY['breast', 'lung', 'colon'])[1 + i % 3], 30 + i % 60 FROM generate_series(1, :scale) i;
CREATE TABLE mutations (patient_id int NOT NULL, gene text NOT NULL, effect text NOT NULL);
INSERT INTO mutations SELECT 1 + (random() * (:scale - 1))::int, 'GENE' || (random() ^ 2 * 150)::int, (ARRAY['missense', 'nonsense', 'silent'])[1 + i % 3]
FROM generate_series(1, :scale * 6) i;

-- Flights
CREATE TABLE airports (code text PRIMARY KEY, city text NOT NULL, country text NOT NULL);
INSERT INTO airports SELECT 'A' || i, 'city ' || i % 70, 'land ' || i % 9 FROM generate_series(0, 80) i;
CREATE TABLE flights (id int PRIMARY KEY, carrier text NOT NULL, origin text NOT NULL, destination text NOT NULL, day date NOT NULL);
INSERT INTO flights SELECT i, 'carrier ' || i % 7, 'A' || (random() ^ 2 * 80)::int, 'A' || (random() * 80)::int, date '2026-01-01' + i % 30
FROM generate_series(1, :scale * 4) i;

-- Graphs
CREATE TABLE edges (x int NOT NULL, y int NOT NULL, PRIMARY KEY (x, y));
INSERT INTO edges SELECT DISTINCT (random() ^ 2 * :scale / 8)::int, (random() * :scale / 8)::int FROM generate_series(1, :scale * 5);
CREATE TABLE authors (id int PRIMARY KEY, name text NOT NULL, institute text);
INSERT INTO authors SELECT i, 'author ' || i, CASE WHEN i % 5 > 0 THEN 'institute ' || i % 20 END FROM generate_series(0, 300) i;
CREATE TABLE papers (id int PRIMARY KEY, venue text NOT NULL, year int NOT NULL);
INSERT INTO papers SELECT i, 'venue ' || i % 8, 2000 + i % 25 FROM generate_series(1, :scale) i;
CREATE TABLE authorship (paper_id int NOT NULL, author_id int NOT NULL, PRIMARY KEY (paper_id, author_id));
INSERT INTO authorship SELECT DISTINCT p, (random() ^ 2 * 300)::int FROM generate_series(1, :scale) p, generate_series(1, 5);

-- Films
CREATE TABLE films (id int PRIMARY KEY, title text NOT NULL, year int NOT NULL);
INSERT INTO films SELECT i, 'film ' || i, 1980 + i % 40 FROM generate_series(0, 250) i;
CREATE TABLE ratings (user_id int NOT NULL, film_id int NOT NULL, stars int NOT NULL, PRIMARY KEY (user_id, film_id));
INSERT INTO ratings SELECT DISTINCT ON (1, 2) u, (random() ^ 2 * 250)::int, 1 + (random() * 4)::int FROM generate_series(1, :scale) u, generate_series(1, 7);

-- Documents, partitioned by month, and a view with a security barrier
CREATE TABLE words (document_id int NOT NULL, word text NOT NULL, month int NOT NULL) PARTITION BY RANGE (month);
CREATE TABLE words_1 PARTITION OF words FOR VALUES FROM (1) TO (4);
CREATE TABLE words_2 PARTITION OF words FOR VALUES FROM (4) TO (7);
INSERT INTO words SELECT d, 'word ' || (random() ^ 3 * 200)::int, 1 + d % 6 FROM generate_series(1, :scale) d, generate_series(1, 7);
CREATE VIEW paid_items WITH (security_barrier) AS
SELECT i.order_id, i.product_id, i.quantity FROM order_items i JOIN orders o ON o.id = i.order_id WHERE o.status = 'paid';
ANALYZE;
