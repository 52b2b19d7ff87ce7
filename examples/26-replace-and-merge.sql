-- Replace and merge: two ways to change an entity, each in two forms.
--
-- Problem: a client knows a new e-mail address. Shall the entity be what the client sends, or shall
-- only that property change? And what if there is no such entity, or somebody else was faster?
--
-- Pattern: PartitionKey: the department; RowKey: the employee's number. Replace keeps only what is
-- given, merge keeps everything else. Either wants the entity to be there (404), or makes it.
-- Each is one look-up by key and one write, with a new ETag. SQL has the same operations as INSERTs
-- with WriteMode and IfMatch; its UPDATE is a merge that can also remove properties, count up
-- without reading first, and change many entities at once.
.load ./ptable
.mode box --wrap 80
CREATE VIRTUAL TABLE Employee USING ptable(
  LastName String, Email String, Age Int32, EmployeeCount Int32);
CREATE VIEW Seen AS SELECT RowKey, Properties FROM Employee WHERE PartitionKey = 'Sales';
INSERT INTO Employee(PartitionKey, RowKey, LastName, Age, Properties) VALUES
  ('Sales', '000223', 'Jones', 34, '{"Badge":7}'), ('Sales', '000312', 'Kwok', 23, '{"Badge":8}');

-- 1. Merge Entity and Update (replace) Entity: the entity must exist, in any version. Badge, which
-- is no column, survives the merge and not the replace.
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode, IfMatch)
  VALUES ('Sales', '000223', 'jonesj@contoso.com', 'merge', '*');
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode, IfMatch)
  VALUES ('Sales', '000312', 'kwokk@contoso.com', 'replace', '*');
SELECT * FROM Seen;

-- 2. "Any version" is not "any entity": an update with ETag * of one that is missing is no upsert,
-- but an error (404), for merge and replace alike.
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode, IfMatch)
  VALUES ('Sales', '000401', 'annb@contoso.com', 'merge', '*');
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode, IfMatch)
  VALUES ('Sales', '000401', 'annb@contoso.com', 'replace', '*');
-- The quiet form finds nothing, and changes() says so.
UPDATE Employee SET Email = 'annb@contoso.com' WHERE PartitionKey = 'Sales' AND RowKey = '000401';
SELECT changes() AS updated;

-- 3. An upsert is the form without IfMatch: Insert Or Merge, Insert Or Replace. It makes the entity
-- or changes it. INSERT OR REPLACE is SQL's word for the second.
INSERT INTO Employee(PartitionKey, RowKey, Email, WriteMode)
  VALUES ('Sales', '000401', 'annb@contoso.com', 'merge');
INSERT INTO Employee(PartitionKey, RowKey, LastName, WriteMode)
  VALUES ('Sales', '000401', 'Brown', 'merge');
INSERT INTO Employee(PartitionKey, RowKey, LastName, WriteMode)
  VALUES ('Sales', '000312', 'Kwok', 'replace');
INSERT OR REPLACE INTO Employee(PartitionKey, RowKey, Age) VALUES ('Sales', '000402', 51);
SELECT * FROM Seen;

-- 4. Without IfMatch nothing is checked: of two clients that have read the same version the last
-- one wins, and the first does not learn of it. With the ETag that was read the second is refused
-- (412). No operation checks by itself: replace, merge and delete do if they are given an ETag.
CREATE TEMP TABLE Tag AS SELECT ETag AS tag FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  SELECT 'Sales', '000223', 35, 'merge', tag FROM Tag;
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  SELECT 'Sales', '000223', 36, 'merge', tag FROM Tag;
INSERT INTO Employee(PartitionKey, RowKey, WriteMode, IfMatch)
  SELECT 'Sales', '000223', 'delete', tag FROM Tag;
-- The quiet form finds no such version.
UPDATE Employee SET Age = 36
  WHERE PartitionKey = 'Sales' AND RowKey = '000223' AND ETag = (SELECT tag FROM Tag);
SELECT changes() AS updated;
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode) VALUES ('Sales', '000223', 37, 'merge');
SELECT Age AS "the last one won" FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
-- An insert has no version to check; it checks that there is no entity (409). A delete without
-- IfMatch takes the entity if it is there (the service wants an If-Match, at least '*').
INSERT INTO Employee(PartitionKey, RowKey, Age) VALUES ('Sales', '000223', 38);
INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('Sales', '000402', 'delete');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('Sales', '000402', 'delete');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode, IfMatch)
  VALUES ('Sales', '000402', 'delete', '*');
-- An ETag is a version, not a content: a merge of nothing gives a new one, too.
UPDATE Tag SET tag = (SELECT ETag FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('Sales', '000223', 'merge');
SELECT ETag = tag AS "same ETag" FROM Employee, Tag
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';

-- 5. Merge cannot remove a property: NULL is "not given". In the service that takes a replace of
-- the whole entity with its ETag; in SQL, UPDATE. Properties removes what is no column.
INSERT INTO Employee(PartitionKey, RowKey, Age, Properties, WriteMode)
  VALUES ('Sales', '000223', NULL, '{"Badge":null}', 'merge');
SELECT Properties FROM Seen WHERE RowKey = '000223';
UPDATE Employee SET Age = NULL WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT Properties FROM Seen WHERE RowKey = '000223';
UPDATE Employee SET Properties = json_remove(Properties, '$.Badge')
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT Properties FROM Seen WHERE RowKey = '000223';
-- The service's way, in one statement: a replace by what was read, with its ETag, less the Email.
INSERT INTO Employee(PartitionKey, RowKey, LastName, WriteMode, IfMatch)
  SELECT PartitionKey, RowKey, LastName, 'replace', ETag FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT Properties FROM Seen WHERE RowKey = '000223';

-- 6. Merge only if a property exists: employees and departments in one partition, and only
-- departments have an EmployeeCount. Without the condition a merge could give one to an employee.
INSERT INTO Employee(PartitionKey, RowKey, EmployeeCount) VALUES ('Sales', 'DEPARTMENT', 3);
UPDATE Employee SET EmployeeCount = EmployeeCount + 1
  WHERE PartitionKey = 'Sales' AND RowKey IN ('000223', 'DEPARTMENT') AND EmployeeCount IS NOT NULL;
SELECT changes() AS updated;
-- The same for a client that reads first: what it read goes along as the ETag.
INSERT INTO Employee(PartitionKey, RowKey, EmployeeCount, WriteMode, IfMatch)
  SELECT PartitionKey, RowKey, EmployeeCount + 1, 'merge', ETag FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey IN ('000223', 'DEPARTMENT') AND EmployeeCount IS NOT NULL;
-- A filter has no null. A property that exists is greater, equal or less; an absent one is neither.
SELECT RowKey, EmployeeCount FROM Employee
  WHERE Filter MATCH 'PartitionKey eq ''Sales'' and (EmployeeCount ge 0 or EmployeeCount lt 0)';
SELECT * FROM Seen;

-- 7. In a transaction. SQL goes on after a statement that fails, so this commits the half of it ...
BEGIN;
INSERT INTO Employee(PartitionKey, RowKey, EmployeeCount, WriteMode, IfMatch)
  VALUES ('Sales', 'DEPARTMENT', 6, 'merge', '*');
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('Sales', '000500', 20, 'replace', '*');
COMMIT;
SELECT Properties FROM Seen WHERE RowKey = 'DEPARTMENT';
-- ... and OR ROLLBACK nothing: the 404 ends the transaction.
BEGIN;
INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, EmployeeCount, WriteMode, IfMatch)
  VALUES ('Sales', 'DEPARTMENT', 7, 'merge', '*');
INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('Sales', '000500', 20, 'replace', '*');
SELECT Properties FROM Seen WHERE RowKey = 'DEPARTMENT';
