-- DELETE FROM pt_partitions: all entities of a partition, or of several, in one statement.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE Person USING ptable(Name String, table=Employee);
CREATE VIRTUAL TABLE Other USING ptable(Name String);
CREATE TEMP TABLE seed(p, r, n);
INSERT INTO seed WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 29)
  SELECT substr('ABCDE', n % 5 + 1, 1), printf('%02d', n), 'name ' || n FROM i;
INSERT INTO Person SELECT * FROM seed;
INSERT INTO Other SELECT * FROM seed;
CREATE TEMP VIEW Remaining AS SELECT TableName, PartitionKey, Entities FROM pt_partitions
  WHERE TableName IN ('Employee', 'Other') ORDER BY TableName, PartitionKey;
CREATE TEMP VIEW Remaining_keys AS SELECT group_concat(PartitionKey || Entities, ' ') AS Remaining
  FROM (SELECT * FROM pt_partitions('Person') ORDER BY PartitionKey);
SELECT * FROM Remaining;

-- One partition. changes() counts partitions, because they are the rows of this table.
DELETE FROM pt_partitions WHERE TableName = 'Employee' AND PartitionKey = 'C';
SELECT changes(), (SELECT Remaining FROM Remaining_keys), (SELECT count(*) FROM Person),
  (SELECT Entities FROM pt_tables WHERE TableName = 'Employee');
SELECT count(*) FROM Other;
-- Names of tables have no case. A partition or a table that is not there is no error.
DELETE FROM pt_partitions WHERE TableName = 'EMPLOYEE' AND PartitionKey = 'C';
DELETE FROM pt_partitions WHERE TableName = 'Nobody' AND PartitionKey = 'A';
DELETE FROM pt_partitions WHERE TableName = NULL AND PartitionKey = 'A';
DELETE FROM pt_partitions WHERE TableName = x'4F74686572' AND PartitionKey = 'A';
SELECT changes(), (SELECT Remaining FROM Remaining_keys);

-- Several: IN, ranges, prefixes, OR, and conditions on what is in them. All are part of the
-- transaction.
BEGIN;
DELETE FROM pt_partitions WHERE TableName = 'Employee' AND PartitionKey IN ('A', 'E', 'Z');
SELECT changes(), (SELECT Remaining FROM Remaining_keys);
ROLLBACK;
BEGIN;
DELETE FROM pt_partitions WHERE TableName = 'Employee' AND PartitionKey BETWEEN 'B' AND 'D';
SELECT changes(), (SELECT Remaining FROM Remaining_keys);
INSERT INTO Person VALUES ('B', 'new', 'again'), ('F', 'new', 'first');
SAVEPOINT s;
DELETE FROM pt_partitions WHERE TableName = 'Employee' AND (PartitionKey = 'A' OR PartitionKey > 'E');
SELECT changes(), (SELECT Remaining FROM Remaining_keys);
ROLLBACK TO s;
SELECT (SELECT Remaining FROM Remaining_keys);
DELETE FROM pt_partitions WHERE TableName = 'Employee' AND Entities = 1;
SELECT changes(), (SELECT Remaining FROM Remaining_keys);
INSERT INTO Person VALUES ('B', 'new', 'again');
SELECT PartitionKey, Operations FROM pt_batches;
ROLLBACK;
SELECT (SELECT Remaining FROM Remaining_keys);
BEGIN;
DELETE FROM pt_partitions WHERE TableName = 'Employee' AND PartitionKey >= 'B' AND PartitionKey < 'E';
SELECT changes(), (SELECT Remaining FROM Remaining_keys);
ROLLBACK;
BEGIN;
-- What the transaction has written goes, too, and what it has deleted is not there.
INSERT INTO Person VALUES ('A', 'new', 'x');
UPDATE Person SET Name = 'y' WHERE PartitionKey = 'A';
DELETE FROM Person WHERE PartitionKey = 'A' AND RowKey = '00';
DELETE FROM pt_partitions WHERE TableName = 'Employee' AND PartitionKey = 'A';
SELECT changes(), (SELECT Remaining FROM Remaining_keys), (SELECT count(*) FROM Person WHERE PartitionKey = 'A');
INSERT INTO Person VALUES ('A', '00', 'z');
SELECT * FROM Person WHERE PartitionKey = 'A';
COMMIT;
SELECT (SELECT Remaining FROM Remaining_keys), pt_check();
.eqp on
DELETE FROM pt_partitions WHERE TableName = 'Employee' AND PartitionKey > 'A' AND PartitionKey < 'A';
.eqp off

-- A whole table, partition by partition.
DELETE FROM pt_partitions WHERE TableName = 'Employee';
SELECT changes(), (SELECT count(*) FROM Person), (SELECT count(*) FROM Other);
-- From a query; and as an ordinary table is cleared.
DELETE FROM pt_partitions WHERE TableName = 'Other' AND PartitionKey IN (SELECT p FROM seed WHERE r < '02');
SELECT TableName, PartitionKey FROM pt_partitions WHERE TableName = 'Other' AND TableName = 'OTHER';
SELECT TableName, PartitionKey FROM pt_partitions WHERE TableName = 'Other' AND TableName = 'Employee';
SELECT count(*) FROM pt_partitions(x'4F74686572');
SELECT t.TableName, p.PartitionKey, p.Entities FROM pt_tables t JOIN pt_partitions p
  ON p.Store = t.Store AND p.TableName = t.TableName WHERE t.TableName = 'other';

-- Without a table nothing is deleted.
DELETE FROM pt_partitions;
DELETE FROM pt_partitions WHERE PartitionKey = 'C';
DELETE FROM pt_partitions WHERE TableName LIKE 'Other';
DELETE FROM pt_partitions WHERE TableName = 'Other ' COLLATE RTRIM;
DELETE FROM pt_partitions WHERE TableName = 5;
DELETE FROM pt_partitions WHERE TableName = 'Other' AND Store = '(PRIVATE)' COLLATE NOCASE AND PartitionKey = 'C';
DELETE FROM pt_partitions WHERE TableName = 'Other' LIMIT 1;
INSERT INTO pt_partitions(TableName, PartitionKey) VALUES ('Other', 'X');
UPDATE pt_partitions SET PartitionKey = 'X' WHERE TableName = 'Other';
PRAGMA query_only = 1;
DELETE FROM pt_partitions WHERE TableName = 'Other' AND PartitionKey = 'C';
PRAGMA query_only = 0;
SELECT count(*) FROM Other;

-- The store: by default that of the main database's tables.
CREATE VIRTUAL TABLE Far USING ptable(Name String, store='far.ptable');
INSERT INTO Far SELECT * FROM seed;
DELETE FROM pt_partitions WHERE TableName = 'Far' AND PartitionKey = 'A';
SELECT changes() FROM Far LIMIT 1;
DELETE FROM pt_partitions WHERE Store = 'far.ptable' AND TableName = 'Far' AND PartitionKey = 'A';
SELECT changes(), (SELECT count(*) FROM Far);
DELETE FROM pt_partitions WHERE Store = 'nowhere.ptable' AND TableName = 'Far' AND PartitionKey = 'A';
BEGIN;
DELETE FROM pt_partitions WHERE Store = 'far.ptable' AND TableName = 'Far' AND PartitionKey = 'B';
DELETE FROM pt_partitions WHERE TableName = 'Other' AND PartitionKey = 'C';
SELECT (SELECT count(*) FROM Far), (SELECT count(*) FROM Other);
ROLLBACK;
SELECT (SELECT count(*) FROM Far), (SELECT count(*) FROM Other);
-- Both at once.
CREATE VIRTUAL TABLE FarOther USING ptable(Name String, store='far.ptable', table=Other);
INSERT INTO FarOther SELECT * FROM seed;
DELETE FROM pt_partitions WHERE Store IN ('(private)', 'far.ptable') AND TableName = 'Other' AND PartitionKey > 'C';
SELECT changes(), (SELECT count(*) FROM FarOther), (SELECT count(*) FROM Other);
INSERT INTO Other SELECT * FROM seed WHERE p = 'D';
CREATE VIRTUAL TABLE temp.Scratch USING ptable(Name String);
INSERT INTO Scratch SELECT * FROM seed;
DELETE FROM pt_partitions WHERE Store = '(private temp)' AND TableName = 'Scratch' AND PartitionKey <> 'A';
SELECT changes(), (SELECT count(*) FROM Scratch);

-- A table that is declared read-only only.
CREATE VIRTUAL TABLE Kept USING ptable(Name String, store='far.ptable', table=Far, readonly=1);
DELETE FROM pt_partitions WHERE Store = 'far.ptable' AND TableName = 'Far' AND PartitionKey = 'B';
SELECT changes(), (SELECT count(*) FROM Kept);
DROP TABLE Far;
DELETE FROM pt_partitions WHERE Store = 'far.ptable' AND TableName = 'Far' AND PartitionKey = 'C';
SELECT count(*) FROM Kept;

-- batch='azure': each entity is an operation, as if it were deleted by itself.
CREATE VIRTUAL TABLE Batch USING ptable(Name String, batch='azure');
BEGIN; INSERT INTO Batch VALUES ('a', '1', 'x'), ('a', '2', 'x'); COMMIT;
BEGIN; INSERT INTO Batch VALUES ('b', '1', 'x'); COMMIT;
DELETE FROM pt_partitions WHERE TableName = 'Batch' AND PartitionKey IN ('a', 'b');
SELECT count(*) FROM Batch;
BEGIN;
DELETE FROM pt_partitions WHERE TableName = 'Batch' AND PartitionKey = 'a';
INSERT INTO Batch VALUES ('b', '2', 'x');
INSERT INTO Batch VALUES ('a', '2', 'x');
INSERT INTO Other VALUES ('a', '9', 'x');
DELETE FROM pt_partitions WHERE TableName = 'Other' AND PartitionKey = 'D';
INSERT INTO Batch VALUES ('a', '3', 'x');
COMMIT;
SELECT PartitionKey, RowKey FROM Batch;
CREATE VIRTUAL TABLE Many USING ptable(Name String);
WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 101)
  INSERT INTO Many SELECT 'a', n, '' FROM i;
CREATE VIRTUAL TABLE Many_in_batches USING ptable(Name String, table=Many, batch='azure');
DELETE FROM pt_partitions WHERE TableName = 'Many';
SELECT count(*) FROM Many;
DELETE FROM Many WHERE RowKey = '1';
DELETE FROM pt_partitions WHERE TableName = 'Many';
SELECT count(*) FROM Many;

-- Long keys, and large values, whose chunks go with them.
CREATE VIRTUAL TABLE Large USING ptable(Data Binary, Text String);
INSERT INTO Large VALUES (printf('%.*c', 800, 'p'), printf('%.*c', 900, 'r'), zeroblob(50000), 'x'),
  (printf('%.*c', 800, 'p'), printf('%.*c', 901, 'r'), zeroblob(9), printf('%.*c', 40000, 'y')),
  (printf('%.*c', 800, 'p') || 'q', 'r', zeroblob(60000), 'x'), ('small', '1', zeroblob(9), 'x');
SELECT length(PartitionKey), Entities, Bytes > 50000 FROM pt_partitions('Large');
DELETE FROM pt_partitions WHERE TableName = 'Large' AND PartitionKey = printf('%.*c', 800, 'p');
SELECT changes(), length(PartitionKey), length(Data) FROM Large;
BEGIN;
INSERT INTO Large VALUES ('small', '2', zeroblob(70000), 'new');
DELETE FROM pt_partitions WHERE TableName = 'Large' AND PartitionKey >= 'p';
SELECT changes(), count(*) FROM Large;
COMMIT;
SELECT Entities, Bytes FROM pt_tables WHERE TableName = 'Large';
SELECT pt_check();

-- A queue is a table with one partition: this clears it.
CREATE VIRTUAL TABLE Work USING pt_queue;
INSERT INTO Work(Body) VALUES ('a'), ('b');
DELETE FROM pt_partitions WHERE TableName = 'Work';
INSERT INTO Work(Body) VALUES ('c');
SELECT Body FROM Work;

-- An open cursor goes on with what it began with. A view or trigger cannot delete.
CREATE VIRTUAL TABLE Loop USING ptable(Name String);
INSERT INTO Loop SELECT * FROM seed;
CREATE TABLE log(x);
CREATE TRIGGER bad AFTER INSERT ON log BEGIN
  DELETE FROM pt_partitions WHERE TableName = 'Loop' AND PartitionKey = 'A';
END;
INSERT INTO log VALUES (1);
DROP TRIGGER bad;
DELETE FROM pt_partitions WHERE TableName = 'Loop'
  AND PartitionKey IN (SELECT PartitionKey FROM pt_partitions('Loop') WHERE PartitionKey > 'B');
SELECT group_concat(PartitionKey) FROM pt_partitions('Loop');
SELECT pt_check();
