-- scan=deny: a statement that would read the whole table is an error when it runs, for a table so
-- large that nobody wants that by accident.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(v Int32, scan=deny);
INSERT INTO T VALUES ('a', '1', 1), ('a', '2', 2), ('b', '1', 3), ('c', '1', 4);

-- Refused: no condition on the keys, or one that does not say which partitions.
SELECT * FROM T;
SELECT count(*) FROM T;
SELECT * FROM T WHERE v = 3;
SELECT * FROM T WHERE RowKey = '1';
SELECT * FROM T WHERE RowKey >= '1' AND RowKey < '2';
SELECT * FROM T WHERE upper(PartitionKey) = 'A';
SELECT * FROM T WHERE PartitionKey || '' = 'a';
SELECT * FROM T WHERE PartitionKey LIKE 'a%';
SELECT * FROM T WHERE PartitionKey GLOB '*a';
SELECT * FROM T WHERE PartitionKey = 'a' OR v = 3;
SELECT * FROM T ORDER BY PartitionKey LIMIT 1;
SELECT DISTINCT PartitionKey FROM T;
UPDATE T SET v = 0;
UPDATE T SET v = 0 WHERE v = 1;
DELETE FROM T;
SELECT count(*) FROM T AS x JOIN T AS y ON x.PartitionKey = 'a' AND y.v = x.v;

-- Allowed: PartitionKey with =, IN, a range, a prefix; EntityKey.
SELECT count(*) FROM T WHERE PartitionKey = 'a';
SELECT count(*) FROM T WHERE PartitionKey IN ('a', 'b');
SELECT count(*) FROM T WHERE PartitionKey = 'a' OR PartitionKey = 'c';
SELECT count(*) FROM T WHERE PartitionKey >= 'b';
SELECT count(*) FROM T WHERE PartitionKey BETWEEN 'a' AND 'b' AND v > 1;
SELECT count(*) FROM T WHERE pt_starts_with(PartitionKey, 'a');
SELECT count(*) FROM T WHERE PartitionKey GLOB 'a*';
SELECT v FROM T WHERE EntityKey = pt_entity_key('b', '1');
SELECT v FROM T WHERE EntityKey > pt_entity_key('b', '') ORDER BY EntityKey LIMIT 1;
UPDATE T SET v = 30 WHERE PartitionKey = 'b' AND v = 3;
DELETE FROM T WHERE PartitionKey = 'c';
SELECT v FROM T WHERE PartitionKey IN ('a', 'b', 'c');

-- Who really means it says so.
SELECT count(*) FROM T WHERE PartitionKey >= '';

-- A join reads the inner table by its key.
CREATE TABLE Wanted(p TEXT);
INSERT INTO Wanted VALUES ('a'), ('b');
SELECT count(*) FROM Wanted JOIN T ON PartitionKey = p;

-- Explaining and preparing are allowed, so that one can see why.
EXPLAIN QUERY PLAN SELECT * FROM T WHERE v = 3;
EXPLAIN QUERY PLAN DELETE FROM T;
CREATE VIEW Everything AS SELECT * FROM T;
SELECT * FROM Everything WHERE PartitionKey = 'b';
SELECT * FROM Everything;

-- Writing rows needs no scan; a statement that is refused changes nothing.
INSERT INTO T VALUES ('d', '1', 5);
BEGIN;
INSERT INTO T VALUES ('d', '2', 6);
DELETE FROM T;
COMMIT;
SELECT count(*) FROM T WHERE PartitionKey = 'd';

-- WHERE 0 reads nothing.
DELETE FROM T WHERE 0;

-- It holds for this declaration, not for the entities.
CREATE VIRTUAL TABLE Free USING ptable(v Int32, table=T);
SELECT count(*) FROM Free;
