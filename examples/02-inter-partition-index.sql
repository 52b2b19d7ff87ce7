-- Inter-partition secondary index
-- Problem: employees are looked up by id and by e-mail address, and a scan by id should not meet
--   the copies that are kept for the addresses.
-- Solution: store an employee twice, each copy in a partition of its own. No RowKey needs a prefix.
-- When: scans and counts by one of the keys are frequent, or the partition grows large.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Employee USING ptable(Id String, Name String, Email String);
INSERT INTO Employee VALUES                     -- one transaction over both partitions
  ('empid_Sales', '000223',             '000223', 'Jun Jones', 'jonesj@contoso.com'),
  ('email_Sales', 'jonesj@contoso.com', '000223', 'Jun Jones', 'jonesj@contoso.com');
SELECT Id, Name FROM Employee
  WHERE PartitionKey = 'email_Sales' AND RowKey = 'jonesj@contoso.com';
SELECT count(*) AS employees FROM Employee WHERE PartitionKey = 'empid_Sales';

-- In detail, in a new database
--
-- Keys: PartitionKey 'empid_Sales', RowKey '000223'
--       PartitionKey 'email_Sales', RowKey 'jonesj@contoso.com'
-- Costs: one more entity for each kind of look-up. A batch (entity group transaction) of the Table
--   service stays inside a partition, so the copies are written one after the other, and a job has
--   to finish what a program that dies has begun.
-- Better in SQL: a transaction spans all partitions and tables of a store. No one sees one copy
--   without the other, and there is nothing to repair.
.open :memory:
.load ./ptable
.shell rm -f build/inter-partition.ptable*

CREATE VIRTUAL TABLE Employee USING ptable(
  Id String, FirstName String, LastName String, Email String, store='build/inter-partition.ptable');

-- One statement is one transaction.
INSERT INTO Employee
  WITH Person(Id, FirstName, LastName, Email) AS (VALUES
    ('000100', 'Ann', 'Adams', 'adamsa@contoso.com'),
    ('000199', 'Ken', 'Kwok', 'kwokk@contoso.com'),
    ('000223', 'Jun', 'Jones', 'jonesj@contoso.com'))
  SELECT 'empid_Sales', Id, * FROM Person
  UNION ALL
  SELECT 'email_Sales', lower(Email), * FROM Person;

.print
.print == By id, by e-mail address
.eqp on
SELECT FirstName, Email FROM Employee WHERE PartitionKey = 'empid_Sales' AND RowKey = '000223';
SELECT Id, FirstName FROM Employee
  WHERE PartitionKey = 'email_Sales' AND RowKey = 'jonesj@contoso.com';
.eqp off

.print
.print == Ranges: ids 000100 to 000199, and addresses that begin with a
.eqp on
SELECT RowKey, FirstName FROM Employee
  WHERE PartitionKey = 'empid_Sales' AND RowKey >= '000100' AND RowKey <= '000199';
.eqp off
SELECT RowKey, FirstName FROM Employee
  WHERE PartitionKey = 'email_Sales' AND RowKey >= 'a' AND RowKey < 'b';

-- The partition contains every employee once: nothing to leave out when counting.
.eqp on
SELECT count(*) AS employees FROM Employee WHERE PartitionKey = 'empid_Sales';
.eqp off

.print
.print == On the service: no batch takes both partitions
-- The same table, held to the service's rules.
CREATE VIRTUAL TABLE AsService USING ptable(
  Id String, FirstName String, LastName String, Email String,
  table=Employee, store='build/inter-partition.ptable', batch='azure');
INSERT INTO AsService VALUES
  ('empid_Sales', '000401', '000401', 'Eva', 'Berg', 'eva@contoso.com'),
  ('email_Sales', 'eva@contoso.com', '000401', 'Eva', 'Berg', 'eva@contoso.com');

-- So there are two steps, and a reader between them finds the employee by one key only. The reader
-- is a second connection: .connection 1 makes it and switches to it, .connection 0 switches back.
.connection 1
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(
  Id String, FirstName String, Email String, store='build/inter-partition.ptable');
CREATE TEMP TABLE Sought(Id TEXT, Email TEXT);
CREATE TEMP VIEW Found AS
  SELECT Sought.Id,
    (SELECT count(*) FROM Employee
      WHERE PartitionKey = 'empid_Sales' AND RowKey = Sought.Id) AS "by id",
    (SELECT count(*) FROM Employee
      WHERE PartitionKey = 'email_Sales' AND RowKey = Sought.Email) AS "by e-mail"
  FROM Sought;
INSERT INTO Sought VALUES ('000401', 'eva@contoso.com');
.connection 0
INSERT INTO AsService
  VALUES ('empid_Sales', '000401', '000401', 'Eva', 'Berg', 'eva@contoso.com');
.connection 1
SELECT * FROM Found;
.connection 0

-- The second step never comes if the program stops here. So a job looks for ids whose copy is
-- missing and writes it. It can run at any time and any number of times: OR IGNORE skips what
-- someone else wrote first.
INSERT OR IGNORE INTO Employee
  SELECT 'email_Sales', lower(Email), Id, FirstName, LastName, Email FROM Employee AS ById
  WHERE PartitionKey = 'empid_Sales' AND NOT EXISTS (SELECT 1 FROM Employee AS ByEmail
    WHERE ByEmail.PartitionKey = 'email_Sales' AND ByEmail.RowKey = lower(ById.Email));
SELECT changes() AS repaired;
.connection 1
SELECT * FROM Found;

.print
.print == Here: one transaction over both partitions, which a reader sees whole or not at all
UPDATE Sought SET Id = '000402', Email = 'zoe@contoso.com';
.connection 0
-- Two statements, so that the reader can look in between. (After a 409 OR ROLLBACK has ended the
-- transaction, and a program must stop there: 26-replace-and-merge.sql. One statement, as in the
-- next section, needs no such care.)
BEGIN;
INSERT OR ROLLBACK INTO Employee
  VALUES ('empid_Sales', '000402', '000402', 'Zoe', 'Brown', 'zoe@contoso.com');
.connection 1
SELECT * FROM Found;
.connection 0
INSERT OR ROLLBACK INTO Employee
  VALUES ('email_Sales', 'zoe@contoso.com', '000402', 'Zoe', 'Brown', 'zoe@contoso.com');
COMMIT;
.connection 1
SELECT * FROM Found;
.connection 0

.print
.print == The address is unique: a 409 in one partition undoes the write to the other
INSERT INTO Employee VALUES
  ('empid_Sales', '000403', '000403', 'Jo', 'Jones', 'jonesj@contoso.com'),
  ('email_Sales', 'jonesj@contoso.com', '000403', 'Jo', 'Jones', 'jonesj@contoso.com');
SELECT count(*) AS "entities of 000403" FROM Employee WHERE Id = '000403';

.print
.print == A new address: one copy changes, the other moves
BEGIN;
UPDATE OR ROLLBACK Employee SET Email = 'jun@contoso.com'
  WHERE PartitionKey = 'empid_Sales' AND RowKey = '000223';
UPDATE OR ROLLBACK Employee SET Email = 'jun@contoso.com', RowKey = 'jun@contoso.com'
  WHERE PartitionKey = 'email_Sales' AND RowKey = 'jonesj@contoso.com';
COMMIT;
SELECT PartitionKey, RowKey, FirstName, Email FROM Employee WHERE Id = '000223';

-- On the service one partition (01-intra-partition-index.sql) gives atomic writes, and two spread
-- the load. Here both are atomic: choose by what is scanned.

.connection close 1
.open :memory:
.shell rm -f build/inter-partition.ptable*
