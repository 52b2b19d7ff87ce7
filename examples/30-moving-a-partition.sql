-- Moving a partition
-- Problem: Sales becomes Retail. PartitionKey is the department, and the keys of an entity never
--   change in the Table service.
-- Solution: copy, then delete, in groups of at most 100. No group may span two partitions, so a
--   reader sees entities twice between the two, and after a crash both steps are run again.
-- When: on the service. Here one UPDATE moves the whole partition at once.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Employee USING ptable(LastName String);
INSERT INTO Employee VALUES ('Sales', '000223', 'Jones'), ('Sales', '000312', 'Kwok');
UPDATE Employee SET PartitionKey = 'Retail' WHERE PartitionKey = 'Sales';
SELECT * FROM Employee;

-- In detail, in a new database
--
-- Keys: Employee  PartitionKey the department: 'Sales', RowKey the number: '000223'
-- Costs: two operations for each entity, here and on the service.
-- Better in SQL: one UPDATE moves the whole partition at once, however big it is. INSERT ... SELECT
--   and DELETE in one transaction do the same, also into another table or with other RowKeys.
.open :memory:
.load ./ptable

CREATE VIRTUAL TABLE Employee USING ptable(LastName String, Age Int32);
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 249)
INSERT INTO Employee(PartitionKey, RowKey, LastName, Age)
  SELECT 'Sales', pt_pad(n, 6), 'Kwok', 20 + n % 40 FROM number;
-- One employee with a property of each type, most of them undeclared.
INSERT INTO Employee(PartitionKey, RowKey, Properties) VALUES ('Sales', '000250', '{
  "LastName": "Jones", "Age": 34, "Active": true, "Score": 5.0, "Limit@odata.type": "Edm.Double",
  "Limit": "Infinity", "Badge@odata.type": "Edm.Int64", "Badge": 9007199254740993,
  "Hired@odata.type": "Edm.DateTime", "Hired": "2026-11-21T08:00:00.0000001Z",
  "Key@odata.type": "Edm.Guid", "Key": "0f8fad5b-d9cb-469f-a165-70867728950e",
  "Photo@odata.type": "Edm.Binary", "Photo": "AAEC/w=="}');
CREATE TEMP TABLE Before AS
  SELECT RowKey, Properties, ETag AS Tag FROM Employee WHERE PartitionKey = 'Sales';

.print
.print == One statement moves all
-- One statement, one transaction: others see all 250 in Sales, or all in Retail.
.eqp on
UPDATE Employee SET PartitionKey = 'Retail' WHERE PartitionKey = 'Sales';
.eqp off
SELECT changes();
SELECT PartitionKey, Entities, FirstRowKey, LastRowKey FROM pt_partitions('Employee');
-- Every property was moved with its type, and none was added. The ETags are new, so a condition on
-- an old one fails.
SELECT Properties FROM Employee WHERE PartitionKey = 'Retail' AND RowKey = '000250';
SELECT count(*) AS moved, sum(Before.Properties = Employee.Properties) AS same,
    sum(Tag = ETag) AS "same ETag"
  FROM Before JOIN Employee ON PartitionKey = 'Retail' AND Employee.RowKey = Before.RowKey;

.print
.print == Back again, but a key is taken
-- Back again; but by now someone has been inserted into Sales. 409, and none of the 250 has moved.
INSERT INTO Employee VALUES ('Sales', '000007', 'Hall', 46);
UPDATE Employee SET PartitionKey = 'Sales' WHERE PartitionKey = 'Retail';
SELECT PartitionKey, Entities FROM pt_partitions('Employee');
-- Who is in the way?
SELECT RowKey, Retail.LastName AS retail, Sales.LastName AS sales
  FROM Employee AS Retail JOIN Employee AS Sales USING (RowKey)
  WHERE Retail.PartitionKey = 'Retail' AND Sales.PartitionKey = 'Sales';
-- OR IGNORE moves the others; OR REPLACE moves all and overwrites Hall. Both are rolled back here.
BEGIN;
UPDATE OR IGNORE Employee SET PartitionKey = 'Sales' WHERE PartitionKey = 'Retail';
SELECT PartitionKey, Entities FROM pt_partitions('Employee');
ROLLBACK;
BEGIN;
UPDATE OR REPLACE Employee SET PartitionKey = 'Sales' WHERE PartitionKey = 'Retail';
SELECT PartitionKey, Entities FROM pt_partitions('Employee');
ROLLBACK;
SELECT PartitionKey, Entities FROM pt_partitions('Employee');

.print
.print == The same as copy and delete
-- The same as copy and delete. OR ROLLBACK ends the transaction at the 409. The DELETE must not be
-- run after that: without its transaction it would delete what was never copied. So a program stops
-- at the first error, as the shell does with .bail on; the UPDATE cannot fail like that.
BEGIN;
INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, Properties)
  SELECT 'Sales', RowKey, Properties FROM Employee WHERE PartitionKey = 'Retail';
COMMIT;
SELECT PartitionKey, Entities FROM pt_partitions('Employee');

.print
.print == Into another table, with other RowKeys
-- This is how to move to another table or to other RowKeys. Properties has all properties, declared
-- or not.
CREATE VIRTUAL TABLE Staff USING ptable(LastName String);
BEGIN;
INSERT OR ROLLBACK INTO Staff(PartitionKey, RowKey, Properties)
  SELECT 'Shops', pt_compound_key('empid', RowKey), Properties FROM Employee
  WHERE PartitionKey = 'Retail';
DELETE FROM Employee WHERE PartitionKey = 'Retail';
COMMIT;
SELECT 'Employee', PartitionKey, Entities FROM pt_partitions('Employee') UNION ALL
SELECT 'Staff', PartitionKey, Entities FROM pt_partitions('Staff');
SELECT Properties = (SELECT Properties FROM Before WHERE RowKey = '000250') AS same FROM Staff
  WHERE PartitionKey = 'Shops' AND RowKey = 'empid_000250';

.print
.print == As on the service: a hundred at a time
-- On the service, which batch='azure' imitates, two partitions in one group are refused, and more
-- than 100 operations.
CREATE VIRTUAL TABLE Grouped USING ptable(LastName String, Age Int32, table=Staff, batch=azure);
UPDATE Grouped SET PartitionKey = 'Stores' WHERE PartitionKey = 'Shops';
INSERT INTO Grouped(PartitionKey, RowKey, Properties)
  SELECT 'Stores', RowKey, Properties FROM Staff WHERE PartitionKey = 'Shops';
-- So: read a hundred with their ETags, copy them, and delete those that are still as copied.
CREATE TEMP TABLE Chunk(RowKey, Properties, Tag);
INSERT INTO Chunk SELECT RowKey, Properties, ETag FROM Staff WHERE PartitionKey = 'Shops' LIMIT 100;
INSERT OR REPLACE INTO Grouped(PartitionKey, RowKey, Properties)
  SELECT 'Stores', RowKey, Properties FROM Chunk;
-- Now a reader sees a hundred employees twice, and someone changes one that has been copied.
SELECT PartitionKey, Entities FROM pt_partitions('Staff');
UPDATE Staff SET LastName = 'Hall' WHERE PartitionKey = 'Shops' AND RowKey = 'empid_000001';
.eqp on
DELETE FROM Grouped
  WHERE PartitionKey = 'Shops' AND (RowKey, ETag) IN (SELECT RowKey, Tag FROM Chunk);
.eqp off
SELECT changes();
-- The changed one stays, and the next round copies it again over its old copy. After a crash begin
-- here. Two more rounds, until nothing is left; every employee is moved, with the change. (If
-- someone deletes one in Shops between copy and delete, it stays in Stores: no ETag shows that.)
DELETE FROM Chunk;
INSERT INTO Chunk SELECT RowKey, Properties, ETag FROM Staff WHERE PartitionKey = 'Shops' LIMIT 100;
INSERT OR REPLACE INTO Grouped(PartitionKey, RowKey, Properties)
  SELECT 'Stores', RowKey, Properties FROM Chunk;
DELETE FROM Grouped
  WHERE PartitionKey = 'Shops' AND (RowKey, ETag) IN (SELECT RowKey, Tag FROM Chunk);
SELECT PartitionKey, Entities FROM pt_partitions('Staff');
DELETE FROM Chunk;
INSERT INTO Chunk SELECT RowKey, Properties, ETag FROM Staff WHERE PartitionKey = 'Shops' LIMIT 100;
INSERT OR REPLACE INTO Grouped(PartitionKey, RowKey, Properties)
  SELECT 'Stores', RowKey, Properties FROM Chunk;
DELETE FROM Grouped
  WHERE PartitionKey = 'Shops' AND (RowKey, ETag) IN (SELECT RowKey, Tag FROM Chunk);
SELECT PartitionKey, Entities FROM pt_partitions('Staff');
SELECT RowKey, LastName FROM Staff WHERE PartitionKey = 'Stores' LIMIT 1;
