-- Replace and merge
-- Problem: a client has a new e-mail address to store. Should only that property change, or the
--   whole entity? And what if there is no entity, or someone else was faster?
-- Solution: replace keeps only the given properties, merge also keeps all others. Each comes in two
--   forms: the entity must exist (404), or it is made.
-- When: merge for changes to a part, replace for whole entities; IfMatch when both must agree.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Employee USING ptable(LastName String, Email String);
INSERT INTO Employee VALUES ('Sales', '000223', 'Jones', NULL);
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode)                  -- made if missing
  VALUES ('Sales', '000223', 'jonesj@contoso.com', 'merge');
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode, IfMatch)         -- must exist: 404
  VALUES ('Sales', '000312', 'kwokk@contoso.com', 'replace', '*');
SELECT * FROM Employee;

-- In detail, in a new database
--
-- Keys: PartitionKey  the department: 'Sales'
--       RowKey        the employee's number: '000223'
-- Costs: one look-up by key and one write, with a new ETag.
-- Better in SQL: WriteMode and IfMatch turn an INSERT into any of the Table service's operations.
--   UPDATE is a merge that can also remove properties, increment without reading first, and change
--   many entities at once.
.open :memory:
.load ./ptable
.mode box --wrap 80

CREATE VIRTUAL TABLE Employee USING ptable(LastName String, Email String, Age Int32);
CREATE VIEW Sales AS SELECT RowKey, Properties FROM Employee WHERE PartitionKey = 'Sales';
INSERT INTO Employee(PartitionKey, RowKey, LastName, Age, Properties) VALUES
  ('Sales', '000223', 'Jones', 34, '{"Badge":7}'), ('Sales', '000312', 'Kwok', 23, '{"Badge":8}');

.print
.print == The entity must exist, in any version
-- IfMatch '*': the service's Merge Entity and Update (replace) Entity. Badge, which is undeclared,
-- survives the merge but not the replace.
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode, IfMatch)
  VALUES ('Sales', '000223', 'jonesj@contoso.com', 'merge', '*');
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode, IfMatch)
  VALUES ('Sales', '000312', 'kwokk@contoso.com', 'replace', '*');
SELECT * FROM Sales;

.print
.print == An update of an entity that is missing: 404
-- The design guide's sample of an upsert is an update with the ETag *. That means any version, not
-- any entity: it is not an upsert but an error, for merge and replace alike.
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode, IfMatch)
  VALUES ('Sales', '000401', 'annb@contoso.com', 'merge', '*');
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode, IfMatch)
  VALUES ('Sales', '000401', 'annb@contoso.com', 'replace', '*');
-- The quiet form finds nothing, and changes() shows it.
UPDATE Employee SET Email = 'annb@contoso.com' WHERE PartitionKey = 'Sales' AND RowKey = '000401';
SELECT changes() AS updated;

.print
.print == An upsert is the form without IfMatch
-- Insert Or Merge, Insert Or Replace: they make the entity or change it. INSERT OR REPLACE is SQL's
-- name for the second.
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode)
  VALUES ('Sales', '000401', 'annb@contoso.com', 'merge');
INSERT INTO Employee(PartitionKey, RowKey, LastName, WriteMode)
  VALUES ('Sales', '000401', 'Brown', 'merge');
INSERT INTO Employee(PartitionKey, RowKey, LastName, WriteMode)
  VALUES ('Sales', '000312', 'Kwok', 'replace');
INSERT OR REPLACE INTO Employee(PartitionKey, RowKey, Age) VALUES ('Sales', '000402', 51);
SELECT * FROM Sales;

.print
.print == Two clients have read the same version: 412
-- With the ETag that was read the second is refused. No operation checks by default: replace, merge
-- and delete check if they are given an ETag.
CREATE TEMP TABLE Seen AS SELECT ETag FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  SELECT 'Sales', '000223', 35, 'merge', ETag FROM Seen;
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  SELECT 'Sales', '000223', 36, 'merge', ETag FROM Seen;
INSERT INTO Employee(PartitionKey, RowKey, WriteMode, IfMatch)
  SELECT 'Sales', '000223', 'delete', ETag FROM Seen;
-- The quiet form finds no such version.
UPDATE Employee SET Age = 36
  WHERE PartitionKey = 'Sales' AND RowKey = '000223' AND ETag = (SELECT ETag FROM Seen);
SELECT changes() AS updated;
-- WRONG: without IfMatch nothing is checked. The last one wins, and the first does not learn of it.
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode) VALUES ('Sales', '000223', 37, 'merge');
SELECT Age AS "the last one won" FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
-- IfMatch NULL is no condition: an ETag that was not read checks nothing. SELECT it FROM what was
-- read, as above, so that without it there is no row to write.
DELETE FROM Seen;
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  SELECT 'Sales', '000223', 39, 'merge', ETag FROM Seen;
SELECT changes() AS written;

.print
.print == Insert and delete
-- An insert has no version to check; it checks that there is no entity (409). A delete without
-- IfMatch deletes the entity if it exists (the service requires an If-Match, at least '*').
INSERT INTO Employee(PartitionKey, RowKey, Age) VALUES ('Sales', '000223', 38);
INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('Sales', '000402', 'delete');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('Sales', '000402', 'delete');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode, IfMatch)
  VALUES ('Sales', '000402', 'delete', '*');

.print
.print == An ETag is a version, not a hash of the content
-- A merge of nothing makes a new ETag, too.
INSERT INTO Seen SELECT ETag FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('Sales', '000223', 'merge');
SELECT Employee.ETag = Seen.ETag AS "same ETag" FROM Employee, Seen
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';

.print
.print == Merge cannot remove a property
-- NULL is "not given". On the service, removing takes a replace of the whole entity with its ETag;
-- in SQL, an UPDATE. Setting Properties removes undeclared ones.
INSERT INTO Employee(PartitionKey, RowKey, Age, Properties, WriteMode)
  VALUES ('Sales', '000223', NULL, '{"Badge":null}', 'merge');
SELECT Properties FROM Sales WHERE RowKey = '000223';
UPDATE Employee SET Age = NULL WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT Properties FROM Sales WHERE RowKey = '000223';
UPDATE Employee SET Properties = json_remove(Properties, '$.Badge')
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT Properties FROM Sales WHERE RowKey = '000223';
-- The service's way, in one statement: a replace with what was read, less the Email, and its ETag.
INSERT INTO Employee(PartitionKey, RowKey, LastName, WriteMode, IfMatch)
  SELECT PartitionKey, RowKey, LastName, 'replace', ETag FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT Properties FROM Sales WHERE RowKey = '000223';

.print
.print == In a transaction
-- WRONG: SQL goes on after a statement that fails, so this commits one half.
BEGIN;
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('Sales', '000312', 24, 'merge', '*');
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('Sales', '000500', 20, 'replace', '*');
COMMIT;
SELECT Properties FROM Sales WHERE RowKey = '000312';
-- With OR ROLLBACK the 404 ends the transaction and undoes the first merge. COMMIT finds none.
BEGIN;
INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('Sales', '000312', 25, 'merge', '*');
INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('Sales', '000500', 20, 'replace', '*');
COMMIT;
SELECT Properties FROM Sales WHERE RowKey = '000312';
-- WRONG: the statement that can fail comes first. A script goes on with the next one, outside any
-- transaction. A program stops at the first error; a script says .bail on.
BEGIN;
INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('Sales', '000500', 20, 'replace', '*');
INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('Sales', '000312', 26, 'merge', '*');
COMMIT;
SELECT Properties FROM Sales WHERE RowKey = '000312';
-- Best, where possible: one statement, all or nothing in any order.
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('Sales', '000312', 27, 'merge', '*'), ('Sales', '000500', 20, 'replace', '*');
SELECT Properties FROM Sales WHERE RowKey = '000312';
