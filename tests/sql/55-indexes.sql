-- Secondary indexes, which the store keeps.
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(Name String, Email String, Age Int32, Due DateTime, unique(Email), index(PartitionKey, Age), index(Age, Name), store='indexes.ptable');
INSERT INTO Employee(PartitionKey, RowKey, Name, Email, Age, Due) VALUES
  ('Sales', '1', 'Jun', 'jun@contoso.com', 34, '2026-01-01'), ('Sales', '2', 'Kim', 'kim@contoso.com', 28, NULL),
  ('Sales', '3', 'Lee', NULL, 41, '2026-03-01'), ('Ware', '4', 'Max', NULL, 28, '2025-06-01'), ('Ware', '5', 'Nil', 'nil@contoso.com', NULL, NULL);
SELECT TableName, IndexName, Columns, IsUnique, Entries FROM pt_indexes;
CREATE TABLE Login(Email TEXT, At TEXT);
INSERT INTO Login VALUES ('jun@contoso.com', 'Monday'), ('x', 'Tuesday'), (NULL, 'Friday');
.eqp on
-- Equality, IN, ranges, prefixes, and order.
SELECT RowKey FROM Employee WHERE Email = 'kim@contoso.com';
SELECT RowKey FROM Employee WHERE Email IN ('kim@contoso.com', 'nobody', 'nil@contoso.com');
SELECT RowKey FROM Employee WHERE Age > 28;
SELECT RowKey FROM Employee WHERE Age BETWEEN 28 AND 34 ORDER BY Age DESC, Name DESC;
SELECT RowKey FROM Employee WHERE Age = 28 AND Name GLOB 'M*';
SELECT RowKey, Age FROM Employee WHERE PartitionKey = 'Sales' AND Age >= 28 AND Age < 50 ORDER BY Age LIMIT 2;
SELECT RowKey FROM Employee WHERE Age = 28 ORDER BY Name DESC;
-- The key is better, or a condition that NULL can meet.
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '2' AND Age = 28;
SELECT RowKey FROM Employee WHERE Age IS NULL;
-- Joins.
SELECT At, RowKey FROM Login JOIN Employee ON Employee.Email = Login.Email;
SELECT At, RowKey FROM Login LEFT JOIN Employee ON Employee.Email = Login.Email;
-- A statement that changes what it reads by an index.
UPDATE Employee SET Age = Age + 10 WHERE Age >= 28;
DELETE FROM Employee WHERE Age = 51;
.eqp off
SELECT RowKey, Age FROM Employee WHERE Age > 0;

-- Uniqueness. An entity without a value conflicts with none.
INSERT INTO Employee(PartitionKey, RowKey, Email) VALUES ('Sales', '6', 'jun@contoso.com');
INSERT OR IGNORE INTO Employee(PartitionKey, RowKey, Email) VALUES ('Sales', '6', 'jun@contoso.com');
INSERT OR REPLACE INTO Employee(PartitionKey, RowKey, Email) VALUES ('Sales', '6', 'jun@contoso.com'), ('Sales', '7', NULL), ('Sales', '8', NULL);
SELECT PartitionKey, RowKey, Email FROM Employee WHERE PartitionKey = 'Sales';
UPDATE Employee SET Email = 'kim@contoso.com' WHERE RowKey = '6';
UPDATE OR REPLACE Employee SET Email = 'kim@contoso.com' WHERE RowKey = '6';
SELECT PartitionKey, RowKey, Email FROM Employee WHERE Email >= 'k';
INSERT INTO Employee(PartitionKey, RowKey, Properties, WriteMode) VALUES ('Sales', '7', '{"Email":"kim@contoso.com"}', 'merge');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('Sales', '6', 'delete');
INSERT INTO Employee(PartitionKey, RowKey, Properties, WriteMode) VALUES ('Sales', '7', '{"Email":"kim@contoso.com"}', 'merge');

-- Transactions and savepoints.
BEGIN;
INSERT INTO Employee(PartitionKey, RowKey, Email) VALUES ('Sales', '9', 'new@contoso.com');
SAVEPOINT s;
DELETE FROM Employee WHERE Email = 'new@contoso.com';
SELECT count(*) FROM Employee WHERE Email = 'new@contoso.com';
ROLLBACK TO s;
SELECT RowKey FROM Employee WHERE Email = 'new@contoso.com';
ROLLBACK;
SELECT count(*) FROM Employee WHERE Email = 'new@contoso.com';

-- pt_indexes makes indexes, and drops them.
INSERT INTO pt_indexes(Store, TableName, Columns) VALUES ('indexes.ptable', 'Employee', 'Due, Timestamp');
INSERT INTO pt_indexes(Store, TableName, Columns) VALUES ('indexes.ptable', 'Employee', 'Due, Timestamp');
INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES ('indexes.ptable', 'Employee', 'Age', 1);
INSERT INTO pt_indexes(Store, TableName, Columns) VALUES ('indexes.ptable', 'Employee', 'Name, Properties');
INSERT INTO pt_indexes(Store, TableName, Columns) VALUES ('indexes.ptable', 'Nobody', 'Name');
INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES ('indexes.ptable', 'Employee', 'Name', 2);
UPDATE pt_indexes SET IsUnique = 1 WHERE Store = 'indexes.ptable';
EXPLAIN QUERY PLAN SELECT RowKey FROM Employee WHERE Due < '2026-01-01';
SELECT RowKey FROM Employee WHERE Due < '2026-01-01';
DELETE FROM pt_indexes WHERE Store = 'indexes.ptable' AND TableName = 'Employee' AND IndexName = 'Due,Timestamp';
SELECT IndexName, Entries FROM pt_indexes WHERE Store = 'indexes.ptable';
-- A statement that was prepared with an index goes on without it; a declared index must be there to
-- write.
DELETE FROM pt_indexes WHERE Store = 'indexes.ptable' AND IndexName = 'Age,Name';
SELECT RowKey, Age FROM Employee WHERE Age > 0 ORDER BY Age DESC;
INSERT INTO Employee(PartitionKey, RowKey) VALUES ('Sales', '9');
INSERT INTO pt_indexes(Store, TableName, Columns) VALUES ('indexes.ptable', 'Employee', 'Age,Name');
INSERT INTO Employee(PartitionKey, RowKey) VALUES ('Sales', '9');

-- Wrong definitions.
CREATE VIRTUAL TABLE Wrong USING ptable(Name String, index(Name, name));
CREATE VIRTUAL TABLE Wrong USING ptable(Name String, index(Filter));
CREATE VIRTUAL TABLE Wrong USING ptable(Name String, index(PartitionKey));
CREATE VIRTUAL TABLE Wrong USING ptable(Name String, index(Name), unique(Name));
CREATE VIRTUAL TABLE Wrong USING ptable(Name String, unique(lower(Name)));
CREATE VIRTUAL TABLE Wrong USING ptable(Email String, index(Email), store='indexes.ptable', table=Employee);
CREATE VIRTUAL TABLE Wrong USING pt_queue(index(Body));

-- Partitions and tables take their entries with them.
DELETE FROM pt_partitions WHERE Store = 'indexes.ptable' AND TableName = 'Employee' AND PartitionKey = 'Ware';
SELECT IndexName, Entries FROM pt_indexes WHERE Store = 'indexes.ptable';
SELECT pt_check('indexes.ptable');
DELETE FROM pt_tables WHERE Store = 'indexes.ptable';
SELECT count(*) FROM pt_indexes WHERE Store = 'indexes.ptable';
SELECT pt_check('indexes.ptable');
-- scan='deny' accepts a query by an index.
CREATE VIRTUAL TABLE Strict USING ptable(Name String, Age Int32, index(Name), scan=deny);
INSERT INTO Strict(PartitionKey, RowKey, Name, Age) VALUES ('p', '1', 'Jun', 1);
SELECT RowKey FROM Strict WHERE Name = 'Jun';
SELECT RowKey FROM Strict WHERE Age = 1;
