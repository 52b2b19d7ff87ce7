-- Denormalisation
-- Problem: a page that shows a department also shows its manager's name and e-mail address. They
--   are stored with the manager, so each department takes two queries.
-- Solution: the department has a copy of the manager's name and address.
-- When: the page is read far more often than the copied properties change.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Company USING ptable(Email String, ManagerEmail String);
INSERT INTO Company VALUES ('Sales', 'empid_000223', 'jonesj@contoso.com', NULL),
                           ('Sales', 'department', NULL, 'jonesj@contoso.com');
BEGIN;                                          -- a new address: entity and copy together
UPDATE OR ROLLBACK Company SET Email = 'jun@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000223';
UPDATE OR ROLLBACK Company SET ManagerEmail = 'jun@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'department';
COMMIT;
SELECT ManagerEmail FROM Company WHERE PartitionKey = 'Sales' AND RowKey = 'department';

-- In detail, in a new database
--
-- Keys: PartitionKey  the department: 'Sales'
--       RowKey        'department', and 'empid_000223' for its employees
-- Costs: a change of the manager's address is two writes. They fit one batch (entity group
--   transaction) of the Table service, because department and manager are in one partition.
-- Better in SQL: a join needs no copy and is always right. If you do want copies, one statement
--   finds and repairs all stale ones, and a view with a trigger keeps them from becoming stale.
.open :memory:
.load ./ptable
.nullvalue NULL

-- batch='azure' refuses every transaction that is not a batch of the service, so each statement
-- that works here fits one. Each department is a partition and so has an INSERT of its own.
CREATE VIRTUAL TABLE Company USING ptable(Name String, Email String, EmployeeCount Int32,
  ManagerId String, ManagerName String, ManagerEmail String, batch='azure');
INSERT INTO Company VALUES
  ('Sales', 'department', 'Sales', NULL, 2, '000223', 'Jun Jones', 'jonesj@contoso.com'),
  ('Sales', 'empid_000223', 'Jun Jones', 'jonesj@contoso.com', NULL, NULL, NULL, NULL),
  ('Sales', 'empid_000312', 'Ken Kwok', 'kwokk@contoso.com', NULL, NULL, NULL, NULL);
INSERT INTO Company VALUES
  ('Marketing', 'department', 'Marketing', NULL, 1, '000150', 'Don Hall', 'halld@contoso.com'),
  ('Marketing', 'empid_000150', 'Don Hall', 'halld@contoso.com', NULL, NULL, NULL, NULL);

.print
.print == One point query has all of it
.eqp on
SELECT Name, EmployeeCount, ManagerName, ManagerEmail FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey = 'department';
-- All departments: one point query in each partition.
SELECT Name, ManagerName, ManagerEmail FROM Company WHERE RowKey = 'department';
.eqp off

.print
.print == The manager's address changes: two writes, one batch
BEGIN;
UPDATE OR ROLLBACK Company SET Email = 'jun@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000223';
UPDATE OR ROLLBACK Company SET ManagerEmail = 'jun@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'department' AND ManagerId = '000223';
SELECT PartitionKey, Operations FROM pt_batches;
COMMIT;

-- The department gets another manager: the copy is taken from the manager's entity.
UPDATE Company SET ManagerId = '000312', (ManagerName, ManagerEmail) =
    (SELECT Name, Email FROM Company WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000312')
  WHERE PartitionKey = 'Sales' AND RowKey = 'department';
SELECT ManagerId, ManagerName, ManagerEmail FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey = 'department';

.print
.print == A program that does not know of the copy leaves it stale
UPDATE Company SET Email = 'ken@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000312';
CREATE VIEW Stale AS
  SELECT Department.PartitionKey, Department.ManagerId, Department.ManagerEmail,
    Manager.Name AS Name, Manager.Email AS Email
  FROM Company AS Department
  LEFT JOIN Company AS Manager ON Manager.PartitionKey = Department.PartitionKey
    AND Manager.RowKey = 'empid_' || Department.ManagerId
  WHERE Department.RowKey = 'department' AND (Department.ManagerName, Department.ManagerEmail)
    IS NOT (Manager.Name, Manager.Email);
SELECT * FROM Stale;
-- (With batch='azure', as here, one statement can repair one department.)
UPDATE Company SET ManagerName = Stale.Name, ManagerEmail = Stale.Email FROM Stale
  WHERE Company.PartitionKey = Stale.PartitionKey AND Company.RowKey = 'department';
SELECT changes() AS repaired, (SELECT count(*) FROM Stale) AS "still stale";

.print
.print == A manager from another department: no batch of the service takes both
BEGIN;
UPDATE OR ROLLBACK Company
  SET ManagerId = '000150', ManagerName = 'Don Hall', ManagerEmail = 'don@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'department';
UPDATE OR ROLLBACK Company SET Email = 'don@contoso.com'
  WHERE PartitionKey = 'Marketing' AND RowKey = 'empid_000150';
-- OR ROLLBACK has ended the transaction, and COMMIT finds none.
COMMIT;
SELECT ManagerId, ManagerEmail FROM Company WHERE PartitionKey = 'Sales' AND RowKey = 'department';
-- Without batch='azure' this is one transaction. On the service it is two steps, and a job that
-- finishes them; that is why the copy and its source should share a partition.

.print
.print == A view whose trigger writes both
CREATE VIEW Employee AS SELECT PartitionKey, RowKey, Name, Email FROM Company
  WHERE pt_starts_with(RowKey, 'empid_');
CREATE TRIGGER EmployeeUpdate INSTEAD OF UPDATE ON Employee BEGIN
  SELECT RAISE(ABORT, 'department and id do not change here')
    WHERE (new.PartitionKey, new.RowKey) IS NOT (old.PartitionKey, old.RowKey);
  UPDATE Company SET Name = new.Name, Email = new.Email
    WHERE PartitionKey = old.PartitionKey AND RowKey = old.RowKey;
  UPDATE Company SET ManagerName = new.Name, ManagerEmail = new.Email
    WHERE PartitionKey = old.PartitionKey AND RowKey = 'department'
      AND 'empid_' || ManagerId = old.RowKey;
END;
UPDATE Employee SET Email = 'kwok@contoso.com'
  WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000312';
SELECT RowKey, Email, ManagerEmail FROM Company WHERE PartitionKey = 'Sales';

.print
.print == Without a copy: a join, which is never stale
-- Two point queries inside one statement instead of one. Prefer it here. Make copies for readers
-- that cannot join, as on the service, or to record what was true at the time.
.eqp on
SELECT Department.Name, Manager.Name AS ManagerName, Manager.Email AS ManagerEmail
  FROM Company AS Department
  JOIN Company AS Manager ON Manager.PartitionKey = Department.PartitionKey
    AND Manager.RowKey = 'empid_' || Department.ManagerId
  WHERE Department.PartitionKey = 'Sales' AND Department.RowKey = 'department';
