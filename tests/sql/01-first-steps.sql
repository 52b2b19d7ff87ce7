-- First steps: declare a table, write entities, ask the kinds of question that the Table service
-- knows, and those that only SQL knows.
.load ./ptable
.headers on

-- One LMDB file holds all the tables that name it as their store.
CREATE VIRTUAL TABLE Employee USING ptable(
  FirstName String, LastName String, Age Int32, Email String,
  store='contoso.ptable');

INSERT INTO Employee(PartitionKey, RowKey, FirstName, LastName, Age, Email) VALUES
  ('Sales', '000223', 'Jun', 'Jones', 34, 'jonesj@contoso.com'),
  ('Sales', '000120', 'Mary', 'Brown', 51, 'maryb@contoso.com'),
  ('Marketing', '000017', 'Ken', 'Kwok', 45, 'kenk@contoso.com'),
  ('Marketing', '000087', 'Don', 'Hall', 29, NULL);

-- Without column names: PartitionKey, RowKey, then the declared columns.
INSERT INTO Employee VALUES ('Sales', '000121', 'Anna', 'Beck', 28, 'annab@contoso.com');

-- Point query: the fastest, always.
SELECT * FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';

-- Range query: part of a partition.
SELECT RowKey, LastName FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey >= '000120' AND RowKey < '000200';
SELECT RowKey, LastName FROM Employee
  WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, '00012');

-- Partition scan: rows come in the order of their RowKey.
SELECT RowKey, FirstName FROM Employee WHERE PartitionKey = 'Marketing';

-- Everything, in the order of PartitionKey and RowKey. A missing property is NULL.
.nullvalue NULL
SELECT * FROM Employee;

-- What the service does not have: aggregates, sorting by any column, joins.
SELECT PartitionKey, count(*) AS people, avg(Age) AS age FROM Employee GROUP BY PartitionKey;
SELECT FirstName, Age FROM Employee ORDER BY Age DESC LIMIT 2;
CREATE TABLE Department(Name TEXT PRIMARY KEY, Floor INTEGER);
INSERT INTO Department VALUES ('Sales', 3), ('Marketing', 4);
SELECT LastName, Floor FROM Employee JOIN Department ON Name = PartitionKey WHERE Age < 40
  ORDER BY LastName;

-- Writing: changes() tells how many entities were touched.
UPDATE Employee SET Age = Age + 1 WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT changes(), (SELECT Age FROM Employee WHERE RowKey = '000223') AS Age;
DELETE FROM Employee WHERE PartitionKey = 'Marketing';
SELECT changes(), (SELECT count(*) FROM Employee) AS employees;

-- Any number of tables share the store.
CREATE VIRTUAL TABLE Visit USING ptable(Minutes Int32, store='contoso.ptable');
INSERT INTO Visit VALUES ('000223', '2026-11-21', 30), ('000223', '2026-11-22', 45);
SELECT LastName, sum(Minutes) AS minutes FROM Employee
  JOIN Visit ON Visit.PartitionKey = Employee.RowKey
  WHERE Employee.PartitionKey = 'Sales' GROUP BY LastName;

-- The extension's version is that of the header.
SELECT pt_version() GLOB '[0-9]*.[0-9]*.[0-9]*' AS "has a version";
