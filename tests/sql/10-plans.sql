-- EXPLAIN QUERY PLAN says in the service's words how a query will be answered. (The number before
-- the colon is the same plan as bits.)
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(v Int32);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 26)
INSERT INTO T SELECT char(97 + i / 9), char(97 + i / 3 % 3) || (i % 3), i FROM n;
CREATE TABLE Wanted(p TEXT, r TEXT);
INSERT INTO Wanted VALUES ('a', 'a1'), ('c', 'b2'), ('x', 'x');
SELECT PartitionKey, group_concat(RowKey, ' '), min(v), max(v) FROM T GROUP BY PartitionKey;
.eqp on

-- Point query, and several of them.
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey = 'b1';
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey IN ('c2', 'a0', 'zz', 'a0');
SELECT v FROM T WHERE PartitionKey IN ('c', 'a') AND RowKey = 'b1';
SELECT v FROM T WHERE PartitionKey IN ('c', 'a') AND RowKey IN ('b1', 'b0');
SELECT v FROM T WHERE (PartitionKey, RowKey) = ('b', 'b1');
-- IN with row values: SQLite tells of a SELECT, but not of several rows of VALUES.
CREATE TEMP TABLE Pair AS SELECT 'b' AS p, 'b1' AS r UNION SELECT 'a', 'b1';
SELECT v FROM T WHERE (PartitionKey, RowKey) IN (SELECT p, r FROM Pair);
SELECT v FROM T WHERE (PartitionKey, RowKey) IN (VALUES ('b', 'b1'), ('a', 'b1'));
SELECT v FROM T WHERE EntityKey = pt_entity_key('b', 'b1');
SELECT v FROM T WHERE EntityKey IN (pt_entity_key('c', 'b1'), pt_entity_key('a', 'b1'));

-- Either this entity or that: an arm for each.
SELECT v FROM T WHERE (PartitionKey = 'a' AND RowKey = 'a0') OR (PartitionKey = 'c' AND RowKey = 'c2');

-- Range queries: bounds of the RowKey inside a partition.
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey > 'a1' AND RowKey <= 'b1';
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey BETWEEN 'a2' AND 'b0';
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey >= 'c1';
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey < 'a1';
SELECT v FROM T WHERE PartitionKey = 'b' AND pt_starts_with(RowKey, 'c');
SELECT v FROM T WHERE PartitionKey IN ('a', 'c') AND RowKey >= 'c1';
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey > 'b' AND RowKey < 'b';

-- GLOB with a prefix gives bounds as well, which SQLite works out; LIKE ignores case and gives none.
-- Recent versions also tell of the GLOB itself, whose prefix may then look like a number.
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey GLOB 'c*';
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey LIKE 'C%';
SELECT v FROM T WHERE PartitionKey = 'b' AND RowKey GLOB 'c' || '[12]';
SELECT count(*) FROM T WHERE PartitionKey GLOB '[bc]' AND RowKey GLOB '2026-*';
SELECT count(*) FROM T WHERE PartitionKey GLOB NULL OR RowKey GLOB x'6332';
SELECT count(*) FROM T WHERE RowKey NOT GLOB 'c*' AND v GLOB '1*';
SELECT p, count(v) FROM Wanted LEFT JOIN T ON PartitionKey = p AND RowKey GLOB r || '*' GROUP BY p;
SELECT count(p) FROM T LEFT JOIN Wanted ON RowKey GLOB lower('C') || '*' AND p = 'c';

-- Partition scans, of one, of some, of a range of partitions.
SELECT v FROM T WHERE PartitionKey = 'b';
SELECT v FROM T WHERE PartitionKey IN ('c', 'b');
SELECT v FROM T WHERE PartitionKey = 'a' OR PartitionKey = 'c';
SELECT sum(v) FROM T WHERE PartitionKey >= 'b';
SELECT sum(v) FROM T WHERE PartitionKey > 'a' AND PartitionKey < 'c';
SELECT sum(v) FROM T WHERE pt_starts_with(PartitionKey, 'c');

-- A RowKey alone: a look into each partition, no scan.
SELECT v FROM T WHERE RowKey = 'b1';
SELECT v FROM T WHERE RowKey >= 'c1' AND RowKey < 'c2';

-- Ranges of keys over partition borders.
SELECT v FROM T WHERE EntityKey > pt_entity_key('a', 'c1') AND EntityKey <= pt_entity_key('b', 'a1');

-- Table scan: nothing is said about the keys.
SELECT sum(v) FROM T;
SELECT v FROM T WHERE v = 13;
SELECT v FROM T WHERE upper(PartitionKey) = 'B' AND v % 4 = 0;

-- Keys only: the entities themselves are not read.
SELECT count(*) FROM T;
SELECT RowKey FROM T WHERE PartitionKey = 'b' AND RowKey < 'b';

-- The order of the keys needs no sorting, in either direction; any other order does.
SELECT v FROM T WHERE PartitionKey = 'b' ORDER BY RowKey LIMIT 2;
SELECT v FROM T WHERE PartitionKey = 'b' ORDER BY RowKey DESC LIMIT 2;
SELECT v FROM T ORDER BY PartitionKey, RowKey LIMIT 2;
SELECT v FROM T ORDER BY PartitionKey DESC, RowKey DESC LIMIT 2;
SELECT v FROM T ORDER BY EntityKey DESC LIMIT 2;
SELECT v FROM T ORDER BY PartitionKey, RowKey DESC LIMIT 2;
SELECT v FROM T ORDER BY RowKey, PartitionKey LIMIT 2;
SELECT v FROM T WHERE PartitionKey = 'b' ORDER BY v DESC LIMIT 2;
SELECT RowKey, sum(v) FROM T WHERE PartitionKey = 'b' GROUP BY RowKey LIMIT 2;

-- Which partitions there are: one look for each.
SELECT DISTINCT PartitionKey FROM T;
SELECT DISTINCT PartitionKey FROM T WHERE PartitionKey > 'a' ORDER BY PartitionKey DESC;
SELECT DISTINCT PartitionKey FROM T WHERE EntityKey > pt_entity_key('b', 'c2');
-- One for each entity, if the statement tells entities apart.
SELECT DISTINCT PartitionKey FROM T WHERE hex(EntityKey) LIKE '%6332';
SELECT DISTINCT PartitionKey FROM Wanted RIGHT JOIN T ON PartitionKey = p WHERE p IS NULL;

-- min and max of keys look at one end.
SELECT min(RowKey) FROM T WHERE PartitionKey = 'b';
SELECT max(RowKey) FROM T WHERE PartitionKey = 'b';

-- Joins: the inner table is asked once for each row of the outer one.
SELECT v FROM Wanted JOIN T ON PartitionKey = p AND RowKey = r;
SELECT p, count(v) FROM Wanted LEFT JOIN T ON PartitionKey = p AND RowKey < r GROUP BY p;
SELECT v FROM T WHERE PartitionKey = 'a' AND RowKey IN (SELECT r FROM Wanted);
SELECT r FROM Wanted WHERE EXISTS (SELECT 1 FROM T WHERE PartitionKey = p AND RowKey = r);

-- Writing plans as reading does.
UPDATE T SET v = v WHERE PartitionKey = 'b' AND RowKey = 'b1';
DELETE FROM T WHERE PartitionKey = 'c' AND RowKey > 'c0';
.eqp off

-- Keys are texts. An integer that is bound compares as its text; a number that stands in the
-- statement is left to SQLite, which looks at each row.
INSERT INTO T VALUES ('5', '1', 100), ('05', '1', 101), ('5.0', '1', 102);
.parameter init
.parameter set :five 5
.eqp on
SELECT v, typeof(:five) FROM T WHERE PartitionKey = :five AND RowKey = '1';
SELECT v FROM T WHERE PartitionKey = 5;
SELECT v FROM T WHERE PartitionKey = CAST(5 AS INTEGER) AND RowKey = '1';
SELECT v FROM T WHERE PartitionKey IN (5, 5.0) ORDER BY PartitionKey DESC;
SELECT v FROM T WHERE PartitionKey = NULL;
SELECT v FROM T WHERE PartitionKey IS NULL;
SELECT v FROM T WHERE PartitionKey = x'35';
SELECT v FROM T WHERE PartitionKey = 'B' COLLATE NOCASE AND RowKey = 'b1';

-- In JavaScript and R every number is a REAL. One that is bound and an integer counts as that integer
-- in conditions, where SQLite lets the table compare.
.eqp off
.parameter set :real 7.0
.parameter set :half 7.5
SELECT typeof(:real);
INSERT INTO T VALUES ('7', '7', 104), ('7', :real || '1', 105);
SELECT PartitionKey, RowKey, v FROM T WHERE PartitionKey = :real;
SELECT v FROM T WHERE PartitionKey = :real AND RowKey = :real;
SELECT v FROM T WHERE PartitionKey IS :real AND RowKey > :real;
SELECT v FROM T WHERE PartitionKey = :real AND RowKey BETWEEN :real AND :real;
SELECT v FROM T WHERE PartitionKey = :real AND RowKey IN (:real);
-- A list is text before the table sees it, and what SQLite checks itself it compares with '7.0'.
SELECT v FROM T WHERE PartitionKey = :real AND RowKey IN (:real, 'x');
SELECT v FROM T WHERE PartitionKey = :real AND RowKey IN (CAST(:real AS INTEGER), 'x');
SELECT v FROM T WHERE PartitionKey = '7' AND (RowKey = :real OR v = 105);
-- What is not an integer, is not bound, or may be part of a row value is refused.
INSERT INTO T VALUES (:half, '1', 106);
INSERT INTO T VALUES (:real, '1', 106);
INSERT INTO T VALUES (7.0, '1', 106);
SELECT v FROM T WHERE PartitionKey = :half;
SELECT v FROM T WHERE (PartitionKey, RowKey) > (:real, '7');
SELECT v FROM T WHERE PartitionKey <= :real;
DELETE FROM T WHERE PartitionKey = :real;
SELECT count(*) FROM T WHERE PartitionKey = '7';
.eqp on

-- One from a column or an expression may mean its value, which several keys have ('5', '05'): it is
-- refused, and CAST says what is meant.
CREATE TABLE Wish(id INTEGER);
INSERT INTO Wish VALUES (5);
SELECT v FROM Wish CROSS JOIN T ON PartitionKey = id;
SELECT v FROM Wish CROSS JOIN T ON PartitionKey = id WHERE id = :five; -- the one that is bound
SELECT v FROM T WHERE PartitionKey IN (SELECT id FROM Wish);
DELETE FROM T WHERE PartitionKey = '5' AND RowKey = (SELECT id - 4 FROM Wish);
SELECT v FROM T WHERE PartitionKey > '1' AND RowKey BETWEEN 0 + 1 AND 2;
SELECT v FROM Wish CROSS JOIN T ON PartitionKey = CAST(id AS TEXT);
UPDATE T SET v = 103 WHERE PartitionKey = '5' AND RowKey = (SELECT CAST(id - 4 AS TEXT) FROM Wish);
SELECT v FROM T WHERE PartitionKey = '5';

-- One partition, whatever its name is; DISTINCT passes over partitions and stops where the ranges
-- do. Each outer row of a join asks for its own, and its text stays what it was.
.eqp off
INSERT INTO T VALUES ('', 'r1', 200), ('', 'r2', 201), ('b' || char(1), 'r1', 202);
SELECT v FROM T WHERE PartitionKey = '' ORDER BY RowKey DESC;
SELECT count(*) FROM T WHERE PartitionKey = 'b';
SELECT count(*) FROM T WHERE PartitionKey = 'b' || char(0) || 'r';
SELECT RowKey FROM T WHERE PartitionKey = 'c' ORDER BY RowKey DESC LIMIT 2;
SELECT DISTINCT PartitionKey FROM T WHERE PartitionKey = 'b';
SELECT group_concat(hex(PartitionKey)) FROM (SELECT DISTINCT PartitionKey FROM T);
SELECT group_concat(hex(PartitionKey)) FROM (SELECT DISTINCT PartitionKey FROM T WHERE PartitionKey < 'b');
SELECT group_concat(hex(PartitionKey)) FROM (SELECT DISTINCT PartitionKey FROM T WHERE RowKey >= 'c2');
SELECT p, typeof(p), (SELECT count(*) FROM T WHERE PartitionKey = p),
       (SELECT count(*) FROM T WHERE PartitionKey = p AND RowKey > r) FROM Wanted;
BEGIN;
DELETE FROM T WHERE PartitionKey = 'b';
INSERT INTO T VALUES ('a', 'a00', 203), ('bb', 'r1', 204);
SELECT group_concat(hex(PartitionKey)) FROM (SELECT DISTINCT PartitionKey FROM T);
SELECT RowKey FROM T WHERE PartitionKey = 'a' LIMIT 2;
SELECT count(*) FROM T WHERE PartitionKey = 'b';
ROLLBACK;
