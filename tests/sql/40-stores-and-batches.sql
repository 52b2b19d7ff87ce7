-- pt_stores: which stores this connection has open, and how they are. pt_batches: what the open
-- transaction is going to commit.
.load ./ptable
.nullvalue NULL
SELECT count(*) FROM pt_stores;
CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, Age Int32, store='contoso.ptable');
CREATE VIRTUAL TABLE Department USING ptable(EmployeeCount Int32, store='contoso.ptable');
CREATE VIRTUAL TABLE temp.Scratch USING ptable(V);
INSERT INTO Employee VALUES ('Sales', '000223', 'Jun', 34), ('IT', '000401', 'Eve', 29);
INSERT INTO Scratch VALUES ('s', '1', 1);

SELECT Store, Tables, Entities FROM pt_stores;
SELECT Store, FileBytes >= UsedBytes, UsedBytes > 0, LastTransaction > 0 FROM pt_stores;
-- The last write's time is the newest Timestamp.
SELECT s.LastWrite = (SELECT max(Timestamp) FROM Employee) FROM pt_stores s WHERE Tables = 2;
-- Readers are transactions in progress, of all connections; here there are none, then one.
SELECT Readers, OldestReader FROM pt_stores WHERE Tables = 2;
BEGIN;
SELECT count(*) FROM Employee;
SELECT Readers, OldestReader FROM pt_stores WHERE Tables = 2;
COMMIT;

-- Nothing is pending outside a transaction.
SELECT count(*) FROM pt_batches;
BEGIN;
INSERT INTO Employee VALUES ('Sales', '000312', 'Ken', 23), ('Sales', '000400', 'Ann', 51),
  ('Marketing', '000150', 'Don', 46);
UPDATE Employee SET Age = 30 WHERE PartitionKey = 'IT';
INSERT INTO Department VALUES ('Contoso', 'Sales', 4);
INSERT INTO Scratch VALUES ('s', '2', 2), ('', '', 3);
SELECT Store, TableName, PartitionKey, Operations FROM pt_batches;
-- One table and one partition are an entity group transaction; this is not.
SELECT count(*) AS Batches, sum(Operations) AS Operations, sum(Bytes) > 0 FROM pt_batches;
-- Operations on one entity are one; what is taken back does not count.
SAVEPOINT s;
DELETE FROM Employee WHERE PartitionKey = 'Sales';
UPDATE Employee SET Age = 31 WHERE PartitionKey = 'IT';
SELECT TableName, PartitionKey, Operations FROM pt_batches WHERE TableName = 'Employee';
ROLLBACK TO s;
SELECT TableName, PartitionKey, Operations FROM pt_batches WHERE TableName = 'Employee';
-- A table that is dropped will not be written.
DELETE FROM pt_tables WHERE Store = 'contoso.ptable' AND TableName = 'Employee';
INSERT INTO pt_tables(Store, TableName) VALUES ('contoso.ptable', 'Fresh');
SELECT TableName, PartitionKey, Operations FROM pt_batches;
SELECT Tables, Entities FROM pt_stores WHERE Store LIKE '%contoso%';
ROLLBACK;
SELECT count(*) FROM pt_batches;
SELECT Tables, Entities FROM pt_stores;

-- Large values count, too, as long as they are there and are new.
CREATE VIRTUAL TABLE temp.Photo USING ptable(Data Binary, Text String, Note String);
INSERT INTO Photo VALUES ('old', '1', zeroblob(50000), NULL, NULL);
BEGIN;
INSERT INTO Photo VALUES ('p', '1', zeroblob(100000), hex(zeroblob(5000)), NULL);
SELECT PartitionKey, Operations, Bytes / 1000 FROM pt_batches;
UPDATE Photo SET Note = 'seen';
SELECT PartitionKey, Operations, Bytes / 1000 FROM pt_batches;
UPDATE Photo SET Data = NULL;
SELECT PartitionKey, Operations, Bytes / 1000 FROM pt_batches;
DELETE FROM Photo;
SELECT PartitionKey, Operations, Bytes / 1000 FROM pt_batches;
ROLLBACK;

-- A store that no table of this connection uses is not open.
DROP TABLE Employee;
DROP TABLE Department;
SELECT Store FROM pt_stores;

-- The space of a dropped table is given back by the commits that follow.
CREATE VIRTUAL TABLE Log USING ptable(Text String, store='log.ptable');
WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 20000)
  INSERT INTO Log SELECT n % 10, n, 'line' FROM more;
INSERT INTO pt_tables(Store, TableName) VALUES ('log.ptable', 'Next');
DELETE FROM pt_tables WHERE Store = 'log.ptable' AND TableName = 'Log';
SELECT Tables, Entities, Dropped FROM pt_stores WHERE Store LIKE '%log.ptable';
DROP TABLE Log;
CREATE VIRTUAL TABLE Next USING ptable(Text String, store='log.ptable');
INSERT INTO Next VALUES ('0', '1', 'a'), ('0', '2', 'b'), ('0', '3', 'c');
INSERT INTO Next VALUES ('0', '4', 'd');
INSERT INTO Next VALUES ('0', '5', 'e');
INSERT INTO Next VALUES ('0', '6', 'f');
INSERT INTO Next VALUES ('0', '7', 'g');
INSERT INTO Next VALUES ('0', '8', 'h');
INSERT INTO Next VALUES ('0', '9', 'i');
SELECT Tables, Entities, Dropped FROM pt_stores WHERE Store LIKE '%log.ptable';
