.load ./ptable
.nullvalue NULL

-- Prefixes.
SELECT pt_starts_with('empid_000123', 'empid_'), pt_starts_with('empid', 'empid_'),
  pt_starts_with('empid', ''), pt_starts_with('', ''), pt_starts_with('Empid', 'e'),
  pt_starts_with('naïve', 'naï'), pt_starts_with(12345, 12), pt_starts_with(1.5, '1.'),
  pt_starts_with(x'6162', 'a');
SELECT pt_starts_with(NULL, 'a'), pt_starts_with('a', NULL), pt_starts_with(NULL, NULL);

SELECT pt_prefix_end('METABOLIS'), pt_prefix_end('empid_000123_'), pt_prefix_end('a'),
  pt_prefix_end(129), hex(pt_prefix_end(char(127))), hex(pt_prefix_end('é'));
SELECT hex(pt_prefix_end('x' || char(0xD7FF))), hex(pt_prefix_end(char(0xFFFF))),
  pt_prefix_end('ab' || char(0x10FFFF, 0x10FFFF)), pt_prefix_end(char(0x10FFFF)),
  pt_prefix_end(''), pt_prefix_end(NULL);

-- The range from prefix to its end is exactly what starts with the prefix.
CREATE TABLE word(w TEXT);
WITH letter(c) AS (VALUES ('a'), ('b'), ('_'), (char(127)), ('é'), (char(0xD7FF)), (char(0xE000)),
                          (char(0xFFFF)), (char(0x10000)), (char(0x10FFFF)))
INSERT INTO word SELECT '' UNION ALL SELECT c FROM letter
  UNION ALL SELECT a.c || b.c FROM letter a, letter b
  UNION ALL SELECT a.c || b.c || d.c FROM letter a, letter b, letter d;
SELECT count(*), count(DISTINCT w) FROM word;
SELECT count(*) FROM word, (SELECT w AS p FROM word WHERE length(w) < 3)
WHERE pt_starts_with(w, p) <> (w >= p AND coalesce(w < pt_prefix_end(p), 1));
SELECT count(*) FROM word, (SELECT w AS p FROM word WHERE length(w) < 3)
WHERE pt_starts_with(w, p) <> (substr(w, 1, length(p)) = p);

-- Compound keys and their parts.
SELECT pt_compound_key('empid', '000123', 2012), pt_compound_key('one'), pt_compound_key('', 'b', '');
SELECT pt_compound_key_sep('--', 'a-b', 7, '-c'), pt_compound_key_sep('é', 'x', 'y');
SELECT pt_compound_key('a', NULL, 1.5), pt_compound_key_sep(NULL, 'a'), pt_compound_key_sep('|', NULL);
SELECT pt_key_part('empid_000123_2012', 1), pt_key_part('empid_000123_2012', 2),
  pt_key_part('empid_000123_2012', 3), pt_key_part('empid_000123_2012', 4);
SELECT pt_key_part('empid_000123_2012', -1), pt_key_part('empid_000123_2012', -3),
  pt_key_part('empid_000123_2012', -4), pt_key_part('empid_000123_2012', '2');
SELECT pt_key_part('_x_', 1) = '', pt_key_part('_x_', -1) = '', pt_key_part('', 1) = '', pt_key_part('', 2),
  pt_key_part(42, 1);
SELECT pt_key_part('a--b---c', 1, '--'), pt_key_part('a--b---c', -1, '--'), pt_key_part('xéy', 2, 'é');
SELECT pt_key_part('a', 9223372036854775807), pt_key_part('a', -9223372036854775808),
  pt_key_part(NULL, 1), pt_key_part('a', NULL), pt_key_part('a', 1, NULL);

-- What can be joined comes apart again.
SELECT count(*), sum(pt_key_part(k, 1, '--') = a AND pt_key_part(k, 2, '--') = b AND pt_key_part(k, 3, '--') IS NULL)
FROM (SELECT a, b, pt_compound_key_sep('--', a, b) AS k FROM
  (SELECT column1 AS a FROM (VALUES (''), ('a'), ('-a'), ('a-b'))),
  (SELECT column1 AS b FROM (VALUES (''), ('a'), ('-'), ('-a-'), ('a-b'))));
SELECT sum(length(pt_compound_key('a', hex(zeroblob(100000)), 'b')) = 200004);

-- Padding.
SELECT pt_pad(0, 1), pt_pad(223, 6), pt_pad('42', 4), pt_pad(123456, 6), pt_pad('007', 2), pt_pad('-0', 2);
SELECT pt_pad(9223372036854775807, 19), pt_pad('9223372036854775807', 20), pt_pad(1, 64), pt_pad(NULL, 3), pt_pad(3, NULL);

-- Buckets by XXH64.
SELECT pt_hash_bucket('', 2147483647), pt_hash_bucket('a', 2147483647), pt_hash_bucket('foobar', 2147483647);
SELECT pt_hash_bucket('', 1000), pt_hash_bucket('a', 1000), pt_hash_bucket('foobar', 1000),
  pt_hash_bucket('Zürich', 1000), pt_hash_bucket(42, 1000), pt_hash_bucket('42', 1000);
SELECT pt_hash_bucket('a', 1), pt_hash_bucket(NULL, 16), pt_hash_bucket('a', NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 16000)
SELECT count(*), min(c) > 900, max(c) < 1100 FROM
  (SELECT count(*) AS c FROM n GROUP BY pt_hash_bucket('customer' || i, 16));

-- Entity keys: PartitionKey, 00, RowKey.
SELECT hex(pt_entity_key('Sales', '000223')), hex(pt_entity_key('', '')), hex(pt_entity_key(7, 'é')),
  typeof(pt_entity_key('a', 'b')), pt_entity_key(NULL, 'a'), pt_entity_key('a', NULL);
SELECT group_concat(k, ' ') FROM (SELECT hex(pt_entity_key(column1, column2)) AS k
  FROM (VALUES ('ab', ''), ('a', 'z'), ('a', ''), ('', 'a')) ORDER BY pt_entity_key(column1, column2));

-- What is refused.
SELECT pt_prefix_end(1.5);
SELECT pt_prefix_end(x'61');
SELECT pt_prefix_end('a' || char(0));
SELECT pt_prefix_end(CAST(x'61ff' AS TEXT));
SELECT pt_compound_key();
SELECT pt_compound_key('a', 'b_c');
SELECT pt_compound_key('a', 1.5);
SELECT pt_compound_key(x'00', 'a');
SELECT pt_compound_key_sep('|');
SELECT pt_compound_key_sep('|', 'a', 'b|c');
SELECT pt_compound_key_sep('--', 'a-', 'b');
SELECT pt_compound_key_sep('', 'a', 'b');
SELECT pt_compound_key_sep(5, 'a', 'b');
SELECT pt_compound_key_sep(char(0), 'a', 'b');
SELECT pt_compound_key_sep('''', 'it''s', 'b');
SELECT pt_key_part('a_b', 0);
SELECT pt_key_part('a_b', 'first');
SELECT pt_key_part('a_b', 1.5);
SELECT pt_key_part('a_b', 1, '');
SELECT pt_key_part(x'61', 1);
SELECT pt_pad(12345, 3);
SELECT pt_pad(10, 1);
SELECT pt_pad(-5, 3);
SELECT pt_pad(5, 0);
SELECT pt_pad(5, 65);
SELECT pt_pad(5.5, 3);
SELECT pt_pad('5 ', 3);
SELECT pt_pad('', 3);
SELECT pt_pad('-', 3);
SELECT pt_pad('9223372036854775808', 30);
SELECT pt_hash_bucket('a', 0);
SELECT pt_hash_bucket('a', 2147483648);
SELECT pt_hash_bucket(x'61', 4);
SELECT pt_entity_key('a', 1.5);
SELECT pt_entity_key(x'61', 'b');
SELECT pt_entity_key('a' || char(0) || 'b', 'c');
SELECT pt_entity_key('Sales', CAST(x'c3' AS TEXT));

-- All of it is deterministic: good for indexes and generated columns.
CREATE TABLE review(key TEXT, year AS (pt_key_part(key, -1)));
CREATE INDEX review_bucket ON review(pt_hash_bucket(key, 8), pt_entity_key(key, ''));
INSERT INTO review VALUES ('empid_000123_2012');
SELECT year FROM review;
