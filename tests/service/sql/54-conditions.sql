-- What is sent of conditions on properties. The server compares as Azure does.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName String, LastName String, Age Int32, Active Boolean,
  Hired DateTime, Badge, account=hr);
.shell ./command forget
-- the first request tells which service it is; what is sent before that suits all of them
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND Age > 30;
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND Age > 30;
.shell ./command; ./command forget
.eqp on
SELECT RowKey, Age FROM Employee WHERE PartitionKey >= 'M' AND Age BETWEEN 20 AND 40 AND LastName IN ('Kwok', 'Jones');
SELECT RowKey FROM Employee WHERE Age IS NULL AND Active IS NOT TRUE;
SELECT RowKey FROM Employee WHERE Hired >= '2026-11-21' AND Timestamp > '2020-01-01';
SELECT RowKey FROM Employee WHERE Filter MATCH 'Age gt 20 or Badge eq 7' AND Active = TRUE;
-- keys in a URL leave no place for conditions
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223' AND Age > 30;
-- no index of a table, no sending: other collations, expressions, OR of several columns
SELECT RowKey FROM Employee WHERE FirstName = 'jun' COLLATE NOCASE AND Age + 0 > 30 AND (Age = 34 OR Badge = 7);
.eqp off
.shell ./command; ./command forget
-- parameters, and values that cannot be sent
.parameter set ?1 34
SELECT RowKey FROM Employee WHERE Age = ?1;
.parameter set ?1 1e300
SELECT RowKey FROM Employee WHERE Age < ?1;
.parameter set ?1 NULL
SELECT RowKey FROM Employee WHERE Age = ?1;
SELECT RowKey FROM Employee WHERE Active = 'true';
.shell ./command; ./command forget
-- every entity has the declared types
CREATE VIRTUAL TABLE Typed USING pt_service(FirstName String, Age Int32, account=hr, table='Employee', types=declared);
SELECT RowKey FROM Typed WHERE Age > 30 AND FirstName >= 'D';
-- keys only
CREATE VIRTUAL TABLE Keys_only USING pt_service(FirstName String, Age Int32, Active Boolean, account=hr, table='Employee', push=keys);
EXPLAIN QUERY PLAN SELECT RowKey FROM Keys_only WHERE PartitionKey = 'Sales' AND Age > 30;
SELECT RowKey FROM Keys_only WHERE PartitionKey = 'Sales' AND Age > 30;
SELECT RowKey FROM Keys_only WHERE Active = 'true';
CREATE VIRTUAL TABLE Cosmos USING pt_service(Age Int32, account=hr, table='Employee', dialect=cosmos);
EXPLAIN QUERY PLAN SELECT RowKey FROM Cosmos WHERE PartitionKey = 'Sales' AND Age > 30 ORDER BY RowKey;
SELECT RowKey FROM Cosmos WHERE PartitionKey = 'Sales' AND Age > 30 ORDER BY RowKey;
CREATE VIRTUAL TABLE Emulated USING pt_service(Age Int32, account=hr, table='Employee', dialect=azurite);
SELECT RowKey FROM Emulated WHERE Age > 30;
CREATE VIRTUAL TABLE Wrong USING pt_service(Age Int32, account=hr, dialect=aws);
.shell ./command; ./command forget
-- a join asks with each value
CREATE TABLE Wanted(name TEXT);
INSERT INTO Wanted VALUES ('Jones'), ('5'), (NULL);
SELECT name, RowKey FROM Wanted LEFT JOIN Employee ON PartitionKey = 'Sales' AND LastName = name;
.shell ./command; ./command forget
-- what the transaction has written is not known to the service: then conditions are SQLite's
BEGIN;
UPDATE Employee SET Age = 99 WHERE PartitionKey = 'Sales' AND RowKey = '000312';
.shell ./command forget
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND Age = 99;
SELECT RowKey FROM Employee WHERE PartitionKey = 'Marketing' AND Age = 46;
ROLLBACK;
.shell ./command; ./command forget
