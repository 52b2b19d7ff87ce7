-- sql/index_entities.sql: for each last name an entity with the list of those who have it, written by
-- the triggers of one view.
.load ./ptable
.nullvalue NULL

-- Two indexes: of each department, and of the whole company.
CREATE VIRTUAL TABLE Staff USING ptable(FirstName String, LastName String, Age Int32);
CREATE VIRTUAL TABLE StaffNames USING ptable();
CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
INSERT INTO index_entities VALUES
  ('Staff', NULL, 'Employee', 'StaffNames', 'DepartmentByName', '''in_'' || PartitionKey', 'LastName'),
  ('Staff', NULL, 'Employee', 'StaffNames', 'CompanyByName', '''name_'' || LastName', 'LastName');
-- What is there already goes into the lists, too.
INSERT INTO Staff VALUES ('Sales', '000223', 'Jun', 'Jones', 34);
.read sql/index_entities.sql
SELECT type, name FROM sqlite_schema WHERE type <> 'table' ORDER BY type DESC, name;
SELECT name FROM sqlite_temp_schema WHERE name NOT LIKE 'ptable%';
SELECT count(*) FROM fsdir('.') WHERE name GLOB '*ptable_*';

-- Two rows of one statement enter one list. Who has no last name is in none.
INSERT INTO Employee(PartitionKey, RowKey, FirstName, LastName, Age) VALUES
  ('Sales', '000152', 'Al', 'Jones', 50), ('Sales', '000312', 'Ken', 'Kwok', 23),
  ('Marketing', '000150', 'Don', 'Jones', 46), ('Marketing', '000151', 'Eve', NULL, 30);
SELECT PartitionKey, RowKey, Properties ->> 'Entities' FROM StaffNames;
SELECT * FROM StaffNames WHERE PartitionKey = 'in_Sales' AND RowKey = 'Kwok';

-- From a name to all who have it: the list, then a point query for each.
EXPLAIN QUERY PLAN SELECT PartitionKey, RowKey, FirstName FROM CompanyByName
 WHERE IndexPartitionKey = 'name_Jones' AND IndexRowKey = 'Jones';
SELECT PartitionKey, RowKey, FirstName FROM CompanyByName
 WHERE IndexPartitionKey = 'name_Jones' AND IndexRowKey = 'Jones';
SELECT RowKey, FirstName FROM DepartmentByName WHERE IndexPartitionKey = 'in_Sales' AND IndexRowKey = 'Jones';

-- Another name: out of two lists and into two others. The last one out deletes the list.
UPDATE Employee SET LastName = 'Kwok' WHERE RowKey = '000150';
UPDATE Employee SET LastName = NULL WHERE PartitionKey = 'Sales' AND RowKey = '000312';
SELECT PartitionKey, RowKey, Properties ->> 'Entities' FROM StaffNames;
-- Other keys.
UPDATE Employee SET PartitionKey = 'Sales', RowKey = '000153' WHERE RowKey = '000150';
DELETE FROM Employee WHERE RowKey = '000152';
SELECT PartitionKey, RowKey, Properties ->> 'Entities' FROM StaffNames;

-- What changes neither name nor keys writes no list.
CREATE TEMP TABLE Seen AS SELECT ETag AS tag FROM StaffNames;
UPDATE Employee SET Age = Age + 1, LastName = LastName || '';
SELECT count(*), (SELECT count(*) FROM Seen) FROM StaffNames WHERE ETag IN (SELECT tag FROM Seen);
UPDATE Employee SET LastName = 'Li' WHERE RowKey = '000151';
SELECT count(*), (SELECT count(*) FROM Seen) FROM StaffNames WHERE ETag IN (SELECT tag FROM Seen);

-- An employee who exists: no row of the statement is in any list.
INSERT INTO Employee(PartitionKey, RowKey, LastName) VALUES ('Sales', '000500', 'Jones'), ('Sales', '000223', 'Li');
SELECT count(*) FROM CompanyByName;
-- OR IGNORE passes over her, OR REPLACE puts another in her place, with another name.
INSERT OR IGNORE INTO Employee(PartitionKey, RowKey, LastName) VALUES ('Sales', '000500', 'Jones'), ('Sales', '000223', 'Li');
SELECT IndexRowKey, RowKey FROM DepartmentByName WHERE PartitionKey = 'Sales';
INSERT OR REPLACE INTO Employee(PartitionKey, RowKey, LastName) VALUES ('Sales', '000223', 'Li');
UPDATE OR REPLACE Employee SET RowKey = '000500' WHERE RowKey = '000153';
SELECT IndexRowKey, RowKey FROM DepartmentByName WHERE PartitionKey = 'Sales';
UPDATE OR IGNORE Employee SET RowKey = '000223' WHERE RowKey = '000500';
SELECT IndexRowKey, RowKey FROM DepartmentByName WHERE PartitionKey = 'Sales';

-- Rollback and savepoint take entity and lists back together.
BEGIN;
DELETE FROM Employee WHERE PartitionKey = 'Sales';
SELECT count(*) FROM StaffNames;
SAVEPOINT a;
INSERT INTO Employee(PartitionKey, RowKey, LastName) VALUES ('Sales', '000001', 'Li'), ('Sales', '000002', 'Li');
SELECT PartitionKey, RowKey, Properties ->> 'Entities' FROM StaffNames;
ROLLBACK TO a;
SELECT count(*) FROM StaffNames;
ROLLBACK;
SELECT IndexRowKey, RowKey FROM CompanyByName;

-- What is written beside the view is in no list until the script runs again. What was removed beside
-- it is in a list, but the lookup finds nothing there.
INSERT INTO Staff(PartitionKey, RowKey, LastName) VALUES ('Sales', '000600', 'Jones');
DELETE FROM Staff WHERE RowKey = '000500';
SELECT IndexRowKey, RowKey FROM CompanyByName;
SELECT RowKey, Properties ->> 'Entities' FROM StaffNames WHERE PartitionKey = 'name_Kwok';
CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
INSERT INTO index_entities VALUES
  ('Staff', NULL, 'Employee', 'StaffNames', 'DepartmentByName', '''in_'' || PartitionKey', 'LastName'),
  ('Staff', NULL, 'Employee', 'StaffNames', 'CompanyByName', '''name_'' || LastName', 'LastName');
.read sql/index_entities.sql
SELECT IndexRowKey, RowKey FROM CompanyByName;
SELECT PartitionKey, RowKey FROM StaffNames WHERE Filter MATCH 'IndexName eq ''CompanyByName''';

-- The guide's layout: lists beside the employees, as T('Sales', 'Jones'). There a name can be an id:
-- that is an error, and never overwrites an employee or a list. A prefix would keep them apart.
CREATE VIRTUAL TABLE Contoso USING ptable(LastName String, limits=azure);
CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
INSERT INTO index_entities VALUES ('Contoso', NULL, 'Worker', 'Contoso', 'WorkerByName', 'PartitionKey', 'LastName');
.read sql/index_entities.sql
INSERT INTO Worker(PartitionKey, RowKey, LastName) VALUES ('Sales', '000152', 'Jones'), ('Sales', '000153', 'Jones');
INSERT INTO Worker(PartitionKey, RowKey, LastName) VALUES ('Sales', '000154', '000152');
INSERT INTO Worker(PartitionKey, RowKey, LastName) VALUES ('Sales', 'Jones', 'Li');
INSERT OR REPLACE INTO Worker(PartitionKey, RowKey, LastName) VALUES ('Sales', 'Jones', 'Li');
INSERT OR IGNORE INTO Worker(PartitionKey, RowKey, LastName) VALUES ('Sales', '000154', '000152');
SELECT RowKey, LastName, Properties ->> 'Entities' FROM Contoso;
SELECT RowKey FROM Worker;
DELETE FROM Worker;
SELECT count(*) FROM Contoso;

-- The longest list: with limits='azure' a text has 32,768 characters.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 76)
INSERT INTO Worker(PartitionKey, RowKey, LastName) SELECT 'Sales', pt_pad(i, 6) || printf('%.412c', '.'), 'Smith' FROM n;
SELECT length(Properties ->> 'Entities') FROM Contoso WHERE RowKey = 'Smith';
INSERT INTO Worker(PartitionKey, RowKey, LastName) VALUES ('Sales', '999999', 'Smith');
INSERT OR IGNORE INTO Worker(PartitionKey, RowKey, LastName) VALUES ('Sales', '999999', 'Smith');
UPDATE OR IGNORE Worker SET RowKey = '000000-longer' || substr(RowKey, 7) WHERE pt_starts_with(RowKey, '000001');
SELECT count(*), rtrim(min(RowKey), '.'), rtrim(max(RowKey), '.') FROM WorkerByName WHERE IndexPartitionKey = 'Sales' AND IndexRowKey = 'Smith';

-- Any names; a TEMP table has its views in the TEMP schema.
CREATE VIRTUAL TABLE temp."It's" USING ptable("a ""b""" String);
CREATE VIRTUAL TABLE temp."%w" USING ptable();
CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
INSERT INTO index_entities VALUES ('It''s', '"a ""b""" <> ''x''', 'a "view"', '%w', 'by ''no''', '"a ""b"""', '''''');
.read sql/index_entities.sql
INSERT INTO "a ""view""" VALUES ('"', '[', 'v', NULL, NULL, NULL, NULL), (1, 2, 'v', NULL, NULL, NULL, NULL);
INSERT INTO "a ""view""" VALUES (1, 3, 'x', NULL, NULL, NULL, NULL);
SELECT PartitionKey, Properties ->> 'Entities' FROM "%w";
SELECT PartitionKey, RowKey, "a ""b""" FROM "by 'no'";
DELETE FROM "a ""view""" WHERE RowKey = '[';
SELECT PartitionKey, Properties ->> 'Entities' FROM "%w";

-- Parameters that are wrong: an error, and nothing is made.
CREATE VIRTUAL TABLE Batch USING ptable(LastName String, batch = 'Azure');
CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
INSERT INTO index_entities VALUES ('Batch', NULL, 'V', 'StaffNames', 'L', 'PartitionKey', 'LastName');
.read sql/index_entities.sql
CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
INSERT INTO index_entities VALUES ('Staff', NULL, 'V', 'Nowhere', 'L', 'PartitionKey', 'LastName');
.read sql/index_entities.sql
CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
INSERT INTO index_entities VALUES ('Staff', NULL, 'Contoso', 'StaffNames', 'L', 'PartitionKey', 'LastName');
.read sql/index_entities.sql
CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
INSERT INTO index_entities VALUES ('Staff', NULL, 'V', 'StaffNames', 'L', 'PartitionKey', 'LastNmae');
.read sql/index_entities.sql
SELECT count(*) FROM sqlite_schema WHERE name IN ('V', 'L');
SELECT name FROM sqlite_temp_schema WHERE name LIKE '%index_entities%';

-- To undo it.
DROP VIEW Employee;
DROP VIEW DepartmentByName;
DROP VIEW CompanyByName;
DELETE FROM StaffNames WHERE Filter MATCH 'IndexName eq ''DepartmentByName'' or IndexName eq ''CompanyByName''';
SELECT (SELECT count(*) FROM Staff), (SELECT count(*) FROM StaffNames);

-- Comparisons in the expressions follow the columns' types, for what an entity was, too.
CREATE VIRTUAL TABLE Crew USING ptable(Age Int32);
CREATE VIRTUAL TABLE CrewAges USING ptable();
CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
INSERT INTO index_entities VALUES ('Crew', NULL, 'Sailor', 'CrewAges', 'SailorByAge', 'PartitionKey', 'iif(Age >= ''40'', ''old'', ''young'')');
.read sql/index_entities.sql
INSERT INTO Sailor(PartitionKey, RowKey, Age) VALUES ('a', '1', 50), ('a', '2', 60), ('a', '3', 30);
UPDATE Sailor SET Age = 20 WHERE RowKey = '1';
DELETE FROM Sailor WHERE RowKey = '2';
SELECT RowKey, Properties ->> 'Entities' FROM CrewAges;
