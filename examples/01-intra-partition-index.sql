-- Intra-partition secondary index
-- Problem: employees have ids, but are looked up by e-mail address too. A search by a property
--   reads the whole partition.
-- Solution: store an employee once for each kind of look-up, all in one partition. A prefix of the
--   RowKey says which kind it is.
-- When: the look-ups are frequent, and each knows the partition.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Employee USING ptable(Id String, Name String, Email String);
INSERT INTO Employee VALUES                     -- one statement writes both entities or none
  ('Sales', 'empid_000223',             '000223', 'Jun Jones', 'jonesj@contoso.com'),
  ('Sales', 'email_jonesj@contoso.com', '000223', 'Jun Jones', 'jonesj@contoso.com');
SELECT Id, Name FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = 'email_' || lower('JonesJ@contoso.com');

-- In detail, in a new database
--
-- Keys: PartitionKey  the department: 'Sales'
--       RowKey        'empid_000223', 'email_jonesj@contoso.com', 'lastname_jones_000223'
-- Costs: one more entity for each kind of look-up, and every change must reach all copies.
-- Better in SQL: one statement writes all copies or none, and is not limited to the 100 operations
--   of the Table service's batches (entity group transactions). A copy may be short: a join gets
--   the rest. A view with triggers writes the copies, so none is forgotten.
.open :memory:
.load ./ptable
.nullvalue NULL

CREATE VIRTUAL TABLE Employee USING ptable(
  Id String, FirstName String, LastName String, Age Int32, Email String);

-- A full copy for the id and one for the address. The address is put in lower case, so that it is
-- found however it is typed. Several people can share a name, so its key ends with the id; its
-- copy is short.
INSERT INTO Employee
  WITH Person(Id, FirstName, LastName, Age, Email) AS (VALUES
    ('000100', 'Ann', 'Adams', 41, 'adamsa@contoso.com'),
    ('000152', 'Eva', 'Jones', 52, 'jonese@contoso.com'),
    ('000199', 'Ken', 'Kwok', 23, 'Ken.Kwok@contoso.com'),
    ('000223', 'Jun', 'Jones', 34, 'jonesj@contoso.com'))
  SELECT 'Sales', 'empid_' || Id, * FROM Person
  UNION ALL
  SELECT 'Sales', 'email_' || lower(Email), * FROM Person
  UNION ALL
  SELECT 'Sales', 'lastname_' || lower(LastName) || '_' || Id, Id, NULL, NULL, NULL, NULL
    FROM Person;

.print
.print == The partition holds three entities for each employee
SELECT RowKey, Id, FirstName, LastName, Age, Email FROM Employee WHERE PartitionKey = 'Sales';

.print
.print == By id and by e-mail address: point queries
.eqp on
SELECT FirstName, Email FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000223';
SELECT Id, FirstName FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = 'email_jonesj@contoso.com';
.eqp off

-- The address as it is printed on a card: without lower() it is not found.
SELECT count(*) AS "as typed", (SELECT count(*) FROM Employee
    WHERE PartitionKey = 'Sales' AND RowKey = 'email_' || lower('Ken.Kwok@Contoso.com')) AS lower
  FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = 'email_' || 'Ken.Kwok@Contoso.com';
-- SQLite's lower() knows A to Z only; 17-unique-names.sql shows what that means for a key.

.print
.print == Ranges: ids 000100 to 000199, and addresses that begin with a
.eqp on
SELECT RowKey, LastName FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey >= 'empid_000100' AND RowKey <= 'empid_000199';
.eqp off
SELECT RowKey, LastName FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey >= 'email_a' AND RowKey < 'email_b';

-- The upper bound is a whole key. Longer keys, such as that of a review of 000199, come after it:
-- with < and the next id they are in the range.
BEGIN;
INSERT INTO Employee(PartitionKey, RowKey) VALUES ('Sales', 'empid_000199_2012');
SELECT '<= empid_000199' AS bound, max(RowKey) AS "last key" FROM Employee
    WHERE PartitionKey = 'Sales' AND RowKey >= 'empid_000100' AND RowKey <= 'empid_000199'
  UNION ALL
  SELECT '<  empid_000200', max(RowKey) FROM Employee
    WHERE PartitionKey = 'Sales' AND RowKey >= 'empid_000100' AND RowKey < 'empid_000200';
ROLLBACK;

.print
.print == Last names from B to J: a range of short copies, then a point query for each
.eqp on
SELECT Employee.Id, Employee.LastName, Employee.FirstName, Employee.Age
  FROM Employee AS Name
  JOIN Employee ON Employee.PartitionKey = Name.PartitionKey
    AND Employee.RowKey = 'empid_' || Name.Id
  WHERE Name.PartitionKey = 'Sales' AND Name.RowKey >= 'lastname_b' AND Name.RowKey < 'lastname_k';
.eqp off

.print
.print == An address that is taken: 409, and no copy of the new employee is left
INSERT INTO Employee(PartitionKey, RowKey, Id, LastName, Email) VALUES
  ('Sales', 'empid_000401', '000401', 'Jonas', 'jonesj@contoso.com'),
  ('Sales', 'email_jonesj@contoso.com', '000401', 'Jonas', 'jonesj@contoso.com'),
  ('Sales', 'lastname_jonas_000401', '000401', NULL, NULL);
SELECT count(*) AS "entities of 000401" FROM Employee WHERE Id = '000401';

.print
.print == A new address: the full copies change, and one of them moves
-- The service cannot change a key: there it is a delete and an insert in one batch. UPDATE does
-- both, and keeps the other properties. If the address is taken, OR ROLLBACK ends the transaction
-- and undoes the first UPDATE too: 17-unique-names.sql shows it.
BEGIN;
UPDATE OR ROLLBACK Employee SET Email = 'jun@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000223';
UPDATE OR ROLLBACK Employee SET Email = 'jun@contoso.com', RowKey = 'email_jun@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'email_jonesj@contoso.com';
COMMIT;
SELECT RowKey, FirstName, Age, Email FROM Employee WHERE PartitionKey = 'Sales' AND Id = '000223';

.print
.print == Declared once: a view whose triggers keep the copies
CREATE VIEW Person AS
  SELECT PartitionKey, RowKey, Id, FirstName, LastName, Age, Email
  FROM Employee WHERE pt_starts_with(RowKey, 'empid_');
CREATE TRIGGER PersonInsert INSTEAD OF INSERT ON Person BEGIN
  INSERT INTO Employee VALUES
    (new.PartitionKey, 'empid_' || new.Id,
     new.Id, new.FirstName, new.LastName, new.Age, new.Email),
    (new.PartitionKey, 'email_' || lower(new.Email),
     new.Id, new.FirstName, new.LastName, new.Age, new.Email),
    (new.PartitionKey, 'lastname_' || lower(new.LastName) || '_' || new.Id,
     new.Id, NULL, NULL, NULL, NULL);
END;
CREATE TRIGGER PersonDelete INSTEAD OF DELETE ON Person BEGIN
  DELETE FROM Employee WHERE PartitionKey = old.PartitionKey AND RowKey IN (old.RowKey,
    'email_' || lower(old.Email), 'lastname_' || lower(old.LastName) || '_' || old.Id);
END;
-- The entity under the id keeps properties that the view does not know; Properties copies them all.
CREATE TRIGGER PersonUpdate INSTEAD OF UPDATE ON Person BEGIN
  SELECT RAISE(ABORT, 'department and id do not change here')
    WHERE (new.PartitionKey, new.RowKey, new.Id) IS NOT (old.PartitionKey, old.RowKey, old.Id);
  DELETE FROM Employee WHERE PartitionKey = old.PartitionKey AND RowKey IN (
    'email_' || lower(old.Email), 'lastname_' || lower(old.LastName) || '_' || old.Id);
  UPDATE Employee SET FirstName = new.FirstName, LastName = new.LastName, Age = new.Age,
    Email = new.Email WHERE PartitionKey = old.PartitionKey AND RowKey = old.RowKey;
  INSERT INTO Employee(PartitionKey, RowKey, Properties)
    SELECT PartitionKey, 'email_' || lower(Email), Properties FROM Employee
      WHERE PartitionKey = old.PartitionKey AND RowKey = old.RowKey
    UNION ALL SELECT old.PartitionKey, 'lastname_' || lower(new.LastName) || '_' || old.Id,
      json_object('Id', old.Id);
END;

INSERT INTO Person(PartitionKey, Id, FirstName, LastName, Age, Email)
  VALUES ('Sales', '000312', 'Zoe', 'Brown', 29, 'Zoe@contoso.com');
UPDATE Person SET LastName = 'Kwok', Email = 'zoe.kwok@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000312';
SELECT RowKey, FirstName, LastName, Email FROM Employee
  WHERE PartitionKey = 'Sales' AND Id = '000312';
-- The address is still unique: the whole change is undone.
UPDATE Person SET Email = 'JUN@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000312';
DELETE FROM Person WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000312';
SELECT count(*) AS "entities of 000312" FROM Employee WHERE Id = '000312';

.print
.print == Without any copy
-- The plain way reads all ids of the department. It is better while departments are small or the
-- query is rare: nothing has to be kept in step.
.eqp on
SELECT Id, FirstName FROM Person WHERE PartitionKey = 'Sales' AND Email = 'jun@contoso.com';
.eqp off

.print
.print == An index of the store instead of copies
-- The service has no such index. Where only SQLite reads the data it is the better way: no copies and
-- no triggers, one look-up over all partitions, and every program that writes keeps it.
CREATE VIRTUAL TABLE Colleague USING ptable(FirstName String, Email String,
  unique(Email), index(PartitionKey, FirstName));
INSERT INTO Colleague SELECT PartitionKey, Id, FirstName, Email FROM Person;
.eqp on
SELECT PartitionKey, RowKey, FirstName FROM Colleague WHERE Email = 'jun@contoso.com';
SELECT FirstName, RowKey FROM Colleague WHERE PartitionKey = 'Sales' AND FirstName GLOB 'J*';
