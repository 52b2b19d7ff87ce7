-- sql/secondary_index.sql: copies of entities under other keys, written by the triggers of one view.
.load ./ptable
.nullvalue NULL

-- Employees, and copies that are found by e-mail address and by last name. Two employees can have one
-- last name, so those RowKeys end with the id; an e-mail address belongs to one.
CREATE VIRTUAL TABLE Staff USING ptable(FirstName String, LastName String, Age Int32, Email String);
CREATE VIRTUAL TABLE StaffByEmail USING ptable(LastName String);
CREATE VIRTUAL TABLE StaffByName USING ptable();
-- What is there already gets its copies, too.
INSERT INTO Staff VALUES ('Sales', '000223', 'Jun', 'Jones', 34, 'JonesJ@contoso.com');
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES
  ('Staff', NULL, 'Employee', 'StaffByEmail', 'EmployeeByEmail', 'PartitionKey', 'lower(Email)'),
  ('Staff', NULL, 'Employee', 'StaffByName', 'EmployeeByName', '''name''', 'lower(LastName) || ''_'' || RowKey');
.read sql/secondary_index.sql
SELECT type, name FROM sqlite_schema WHERE type <> 'table' ORDER BY type DESC, name;
-- Nothing else is left of it.
SELECT name FROM sqlite_temp_schema WHERE name NOT LIKE 'ptable%';
SELECT count(*) FROM fsdir('.') WHERE name GLOB '*ptable_*';
SELECT * FROM EmployeeByEmail;
SELECT * FROM EmployeeByName;

-- One name to write to; undeclared properties go into Properties and, here, into the copies by name.
INSERT INTO Employee(PartitionKey, RowKey, FirstName, LastName, Age, Email)
  VALUES ('Sales', '000312', 'Ken', 'Kwok', 23, 'kwokk@contoso.com'),
         ('Marketing', '000150', 'Don', 'Hall', 46, 'halld@contoso.com');
INSERT INTO Employee(PartitionKey, RowKey, Properties)
  VALUES ('Sales', '000401', '{"LastName":"Jones","Badge":7,"Hired":"2026-11-21T08:00:00Z","Hired@odata.type":"Edm.DateTime"}');
SELECT PartitionKey, RowKey, FirstName, LastName, Age, Email FROM Employee;
-- Ann has no e-mail address, so she has no copy there.
SELECT IndexPartitionKey, IndexRowKey, PartitionKey, RowKey, LastName FROM EmployeeByEmail;
SELECT IndexRowKey, PartitionKey, RowKey, Properties ->> 'Badge' FROM EmployeeByName;

-- From an e-mail address to the whole employee: two point queries. Without the copies: a scan.
EXPLAIN QUERY PLAN SELECT e.FirstName, e.Age
  FROM EmployeeByEmail AS i JOIN Employee AS e USING (PartitionKey, RowKey)
 WHERE IndexPartitionKey = 'Sales' AND IndexRowKey = 'kwokk@contoso.com';
SELECT e.FirstName, e.Age
  FROM EmployeeByEmail AS i JOIN Employee AS e USING (PartitionKey, RowKey)
 WHERE IndexPartitionKey = 'Sales' AND IndexRowKey = 'kwokk@contoso.com';
EXPLAIN QUERY PLAN SELECT FirstName, Age FROM Employee WHERE lower(Email) = 'kwokk@contoso.com';
-- All that begins with a text, in its order: a range of the copies.
EXPLAIN QUERY PLAN SELECT IndexRowKey FROM EmployeeByName
 WHERE IndexPartitionKey = 'name' AND pt_starts_with(IndexRowKey, 'jones_');
SELECT IndexRowKey FROM EmployeeByName
 WHERE IndexPartitionKey = 'name' AND pt_starts_with(IndexRowKey, 'jones_');

-- An address that is taken: neither the employee nor any copy is written, nor the row before it.
INSERT INTO Employee(PartitionKey, RowKey, LastName, Email) VALUES
  ('Sales', '000500', 'New', 'new@contoso.com'), ('Sales', '000501', 'Kwok', 'KWOKK@contoso.com');
-- So it is with two rows of one statement that want the same.
INSERT INTO Employee(PartitionKey, RowKey, LastName, Email) VALUES
  ('Sales', '000500', 'New', 'new@contoso.com'), ('Sales', '000501', 'New', 'NEW@contoso.com');
-- And with an employee who exists.
INSERT INTO Employee(PartitionKey, RowKey, LastName, Email) VALUES ('Sales', '000312', 'New', 'new@contoso.com');
-- In a transaction that is all that is taken back, unless OR ROLLBACK ends it.
BEGIN;
INSERT INTO Employee(PartitionKey, RowKey, LastName, Email) VALUES ('Sales', '000502', 'Kept', 'kept@contoso.com');
UPDATE Employee SET Email = 'kept@contoso.com' WHERE RowKey = '000312';
SELECT count(*), (SELECT count(*) FROM EmployeeByEmail) AS by_email, (SELECT count(*) FROM EmployeeByName) FROM Employee;
INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, Email) VALUES ('Sales', '000503', 'kwokk@contoso.com');
COMMIT;
SELECT count(*), (SELECT count(*) FROM EmployeeByEmail) AS by_email, (SELECT count(*) FROM EmployeeByName) FROM Employee;

-- Savepoints take the entity and its copies back together.
BEGIN;
UPDATE Employee SET Email = 'ken@contoso.com' WHERE PartitionKey = 'Sales' AND RowKey = '000312';
SAVEPOINT a;
UPDATE Employee SET LastName = 'Kwan', Email = NULL WHERE RowKey = '000312';
DELETE FROM Employee WHERE LastName = 'Jones';
SELECT IndexRowKey FROM EmployeeByEmail;
SELECT IndexRowKey FROM EmployeeByName;
ROLLBACK TO a;
COMMIT;
SELECT IndexRowKey FROM EmployeeByEmail;
SELECT IndexRowKey FROM EmployeeByName;

-- changes() is 0 for a view. RETURNING tells what was found; with the ETag that was read, it tells
-- whether the employee is still the same.
UPDATE Employee SET Age = 24 WHERE RowKey = '000312';
SELECT changes();
UPDATE Employee SET Age = Age + 1 WHERE PartitionKey = 'Sales' AND RowKey = '000312'
  AND ETag = (SELECT ETag FROM Staff WHERE RowKey = '000312') RETURNING RowKey, Age;
UPDATE Employee SET Age = Age + 1 WHERE PartitionKey = 'Sales' AND RowKey = '000312'
  AND ETag = (SELECT ETag FROM Staff WHERE RowKey = '000223') RETURNING RowKey, Age;

-- Only copies that change are written: Age is not among what StaffByEmail has, in StaffByName it is.
CREATE TEMP TABLE Seen AS SELECT 'email' AS which, ETag AS tag FROM StaffByEmail
  UNION ALL SELECT 'name', ETag FROM StaffByName;
UPDATE Employee SET Age = 99;
SELECT which, count(*) FROM Seen
 WHERE tag IN (SELECT ETag FROM StaffByEmail UNION SELECT ETag FROM StaffByName) GROUP BY which;
DELETE FROM Seen;
INSERT INTO Seen SELECT 'email', ETag FROM StaffByEmail UNION ALL SELECT 'name', ETag FROM StaffByName;
UPDATE Employee SET Email = lower(Email), Age = Age;
SELECT which, count(*) FROM Seen
 WHERE tag IN (SELECT ETag FROM StaffByEmail UNION SELECT ETag FROM StaffByName) GROUP BY which;
-- (Jun's address was not in lower case: the copy has the same key, but Email is among what it has.)

-- Other keys: the copies go with the employee. Every column, declared or not, keeps its value.
UPDATE Employee SET PartitionKey = 'Legal', RowKey = '000777', LastName = 'Li' WHERE RowKey = '000401';
SELECT IndexRowKey, PartitionKey, RowKey, Properties FROM EmployeeByName WHERE IndexRowKey >= 'k';
UPDATE Employee SET PartitionKey = 'Legal' WHERE RowKey = '000312';
SELECT IndexPartitionKey, IndexRowKey, PartitionKey, RowKey FROM EmployeeByEmail;
UPDATE Employee SET RowKey = '000777' WHERE RowKey = '000312';

-- OR IGNORE passes over employees who exist, and is an error where only a copy is in the way.
INSERT OR IGNORE INTO Employee(PartitionKey, RowKey, LastName, Email) VALUES
  ('Legal', '000777', 'Other', 'other@contoso.com'), ('Legal', '000778', 'Abe', 'abe@contoso.com');
SELECT RowKey, LastName, Email FROM Employee WHERE PartitionKey = 'Legal';
INSERT OR IGNORE INTO Employee(PartitionKey, RowKey, LastName, Email) VALUES ('Legal', '000779', 'Abe', 'abe@contoso.com');
UPDATE OR IGNORE Employee SET RowKey = '000777' WHERE RowKey = '000778';
SELECT IndexRowKey, RowKey FROM EmployeeByName WHERE PartitionKey = 'Legal';

-- OR REPLACE puts another entity in a place: its copies go, and the new one's come. It does not take
-- an address from somebody else.
INSERT OR REPLACE INTO Employee(PartitionKey, RowKey, LastName, Email) VALUES ('Legal', '000778', 'Bo', 'bo@contoso.com');
SELECT IndexRowKey, RowKey FROM EmployeeByEmail WHERE PartitionKey = 'Legal';
INSERT OR REPLACE INTO Employee(PartitionKey, RowKey, LastName, Email) VALUES ('Legal', '000778', 'Bo', 'ken@contoso.com');
UPDATE OR REPLACE Employee SET RowKey = '000777' WHERE RowKey = '000778';
SELECT IndexRowKey, RowKey FROM EmployeeByEmail WHERE PartitionKey = 'Legal';
SELECT IndexRowKey, RowKey FROM EmployeeByName WHERE PartitionKey = 'Legal';
-- A statement that would replace rows it has still to change is an error.
INSERT INTO Employee(PartitionKey, RowKey, LastName) VALUES ('Chain', '1', 'a'), ('Chain', '2', 'b');
UPDATE OR REPLACE Employee SET RowKey = RowKey + 1 WHERE PartitionKey = 'Chain';
SELECT RowKey, LastName FROM Employee WHERE PartitionKey = 'Chain';

-- OR FAIL keeps what it had written before the conflict, as for every trigger: an employee without a
-- copy. Running the script again finds what differs, as it does after writes beside the view.
INSERT OR FAIL INTO Employee(PartitionKey, RowKey, LastName, Email) VALUES ('Legal', '000900', 'Fay', 'ken@contoso.com');
SELECT count(*) FROM Employee WHERE RowKey = '000900';
UPDATE Staff SET Email = 'fay@contoso.com' WHERE RowKey = '000900';
DELETE FROM Staff WHERE RowKey = '000777';
SELECT IndexRowKey, RowKey FROM EmployeeByEmail WHERE PartitionKey = 'Legal';
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES
  ('Staff', NULL, 'Employee', 'StaffByEmail', 'EmployeeByEmail', 'PartitionKey', 'lower(Email)'),
  ('Staff', NULL, 'Employee', 'StaffByName', 'EmployeeByName', '''name''', 'lower(LastName) || ''_'' || RowKey');
.read sql/secondary_index.sql
SELECT IndexRowKey, RowKey FROM EmployeeByEmail WHERE PartitionKey = 'Legal';
-- The copies are what they should be, of all employees.
SELECT count(*) FROM (SELECT PartitionKey, lower(Email), RowKey, LastName FROM Employee WHERE Email IS NOT NULL
  EXCEPT SELECT IndexPartitionKey, IndexRowKey, RowKey, LastName FROM EmployeeByEmail);
SELECT count(*) FROM EmployeeByName;
DELETE FROM Employee;
SELECT (SELECT count(*) FROM StaffByEmail), (SELECT count(*) FROM StaffByName);

-- Copies in the table of the entities, in the same partition, told apart by prefixes. So they are an
-- entity group transaction of the Table service, and the table can ask for that.
CREATE VIRTUAL TABLE Contoso USING ptable(LastName String, Email String, limits=azure, batch=azure);
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES
  ('Contoso', 'pt_starts_with(RowKey, ''empid_'')', 'Worker', 'Contoso', 'WorkerByEmail', 'PartitionKey', '''email_'' || lower(Email)');
.read sql/secondary_index.sql
INSERT INTO Worker(PartitionKey, RowKey, LastName, Email) VALUES ('Sales', 'empid_000223', 'Jones', 'jonesj@contoso.com'), ('Sales', 'empid_000224', 'Smith', 'smiths@contoso.com');
SELECT RowKey, LastName FROM Contoso;
SELECT RowKey, LastName FROM Worker WHERE PartitionKey = 'Sales' AND RowKey BETWEEN 'empid_000200' AND 'empid_000299';
SELECT IndexRowKey, RowKey, LastName, Email FROM WorkerByEmail WHERE IndexPartitionKey = 'Sales' AND IndexRowKey >= 'email_a' AND IndexRowKey < 'email_t';
UPDATE Worker SET Email = 'jones@contoso.com' WHERE RowKey = 'empid_000223';
DELETE FROM Worker WHERE RowKey = 'empid_000224';
SELECT RowKey, Email FROM Contoso;
-- What the condition does not take for an employee cannot be written, a copy least of all.
INSERT INTO Worker(PartitionKey, RowKey) VALUES ('Sales', '000224');
INSERT OR REPLACE INTO Worker(PartitionKey, RowKey) VALUES ('Sales', 'email_jones@contoso.com');
-- An address that the limits refuse as a key, also when that is to be ignored.
INSERT INTO Worker(PartitionKey, RowKey, Email) VALUES ('Sales', 'empid_000225', 'a/b@contoso.com');
INSERT OR IGNORE INTO Worker(PartitionKey, RowKey, Email) VALUES ('Sales', 'empid_000225', 'a/b@contoso.com');
SELECT count(*) FROM Contoso;
-- An entity group transaction writes each entity once, a copy too.
INSERT OR REPLACE INTO Worker(PartitionKey, RowKey, LastName, Email) VALUES ('Sales', 'empid_000223', 'Li', 'jones@contoso.com');
INSERT OR IGNORE INTO Worker(PartitionKey, RowKey, LastName, Email) VALUES ('Sales', 'empid_000223', 'Li', 'li@contoso.com');
INSERT OR REPLACE INTO Worker(PartitionKey, RowKey, LastName, Email) VALUES ('Sales', 'empid_000223', 'Li', 'li@contoso.com');
SELECT RowKey, LastName, Email FROM Contoso;

-- Any names; a TEMP table has its views in the TEMP schema. Keys given as numbers; no properties.
CREATE VIRTUAL TABLE temp."It's a ""table""" USING ptable("no 1");
CREATE VIRTUAL TABLE temp."%w'" USING ptable("no 1", EntityRowKey String);
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES
  ('It''s a "table"', NULL, 'a "view"', '%w''', 'by ''no''', '"no 1"', 'PartitionKey || RowKey'),
  ('It''s a "table"', NULL, 'a "view"', '%w''', 'other', '''pk''', 'RowKey');
.read sql/secondary_index.sql
INSERT INTO "a ""view""" VALUES (1, 2, 35, NULL, NULL, NULL, NULL), (1, 3, NULL, '{"no 2":true}', NULL, NULL, NULL);
UPDATE "a ""view""" SET RowKey = 4 WHERE RowKey = '3';
SELECT * FROM "%w'";
SELECT * FROM "by 'no'";
DELETE FROM "a ""view""";
SELECT count(*) FROM "%w'";
SELECT count(*) FROM sqlite_schema WHERE name LIKE '%view%';

-- Parameters that are wrong: an error, and nothing is made or changed.
.print no rows
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
.read sql/secondary_index.sql
.print a NULL
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'StaffByName', 'L', NULL, 'RowKey');
.read sql/secondary_index.sql
.print two views
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES
  ('Staff', NULL, 'V', 'StaffByName', 'L', 'RowKey', 'RowKey'), ('Staff', NULL, 'W', 'StaffByName', 'M', 'RowKey', 'RowKey');
.read sql/secondary_index.sql
.print no ptable
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Stuff', NULL, 'V', 'StaffByName', 'L', 'RowKey', 'RowKey');
.read sql/secondary_index.sql
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'Employee', 'L', 'RowKey', 'RowKey');
.read sql/secondary_index.sql
.print a name that is used
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'StaffByName', 'contoso', 'RowKey', 'RowKey');
.read sql/secondary_index.sql
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'StaffByName', 'v', 'RowKey', 'RowKey');
.read sql/secondary_index.sql
.print an expression with a mistake
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'StaffByName', 'L', 'RowKey', 'lower(Emial)');
.read sql/secondary_index.sql
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'StaffByName', 'L', 'RowKey', 'lower(Email');
.read sql/secondary_index.sql
.print entities that want one key
INSERT INTO Staff(PartitionKey, RowKey, LastName) VALUES ('Sales', '1', 'Jones'), ('Sales', '2', 'Jones');
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'StaffByName', 'L', 'PartitionKey', 'LastName');
.read sql/secondary_index.sql
.print what only the views show to be wrong: a name that an index has, or SQLite; a table in TEMP
CREATE TABLE Plain(a); CREATE INDEX PlainIndex ON Plain(a);
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'StaffByEmail', 'PlainIndex', 'PartitionKey', 'RowKey');
.read sql/secondary_index.sql
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'StaffByEmail', 'sqlite_lookup', 'PartitionKey', 'RowKey');
.read sql/secondary_index.sql
CREATE TEMP TABLE Codes AS SELECT 'Sales' AS name, 'S' AS code;
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'StaffByEmail', 'L', '(SELECT code FROM Codes WHERE name = PartitionKey)', 'RowKey');
.read sql/secondary_index.sql
.print a view of another base
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('StaffByName', NULL, 'Employee', 'Contoso', 'L', 'PartitionKey', 'RowKey');
.read sql/secondary_index.sql
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('StaffByName', NULL, 'V', 'Contoso', 'EmployeeByEmail', 'PartitionKey', 'RowKey');
.read sql/secondary_index.sql
.print copies in another schema than the base, a base in an attached database
CREATE VIRTUAL TABLE temp.TempCopies USING ptable();
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'V', 'TempCopies', 'L', 'PartitionKey', 'RowKey');
.read sql/secondary_index.sql
ATTACH ':memory:' AS other;
CREATE VIRTUAL TABLE other.OtherStaff USING ptable();
CREATE VIRTUAL TABLE other.OtherCopies USING ptable();
CREATE VIEW other.V AS SELECT 'not its own';
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('OtherStaff', NULL, 'V', 'OtherCopies', 'L', 'PartitionKey', 'RowKey');
.read sql/secondary_index.sql
SELECT * FROM other.V;
SELECT count(*) FROM sqlite_schema WHERE name IN ('V', 'W', 'L', 'M', 'v');
SELECT count(*) FROM StaffByName;
SELECT name FROM sqlite_temp_schema WHERE name LIKE '%index%';
SELECT count(*) FROM fsdir('.') WHERE name GLOB '*ptable_*';

-- Whatever the shell is set to, the script works and sets nothing. Expressions may name the base; what
-- the copies have of their own is not taken from the base.
.output noise.txt
.mode csv
.headers on
.changes on
.eqp on
.echo on
CREATE VIRTUAL TABLE Person USING ptable(Email String, EntityRowKey String);
CREATE VIRTUAL TABLE PersonByEmail USING ptable(EntityRowKey String);
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Person', NULL, 'Man', 'PersonByEmail', 'ManByEmail', 'Person.PartitionKey', 'lower(Person.Email)');
.read sql/secondary_index.sql
.show
.output
.echo off
.eqp off
.changes off
.headers off
.mode list
INSERT INTO Man(PartitionKey, RowKey, Email, EntityRowKey) VALUES ('a', '1', 'X@contoso.com', 'its own');
UPDATE Man SET Email = 'y@contoso.com';
SELECT * FROM Person;
SELECT * FROM ManByEmail;
SELECT trim(value) FROM json_each('["' || replace(replace(replace(readfile('noise.txt'), '\', ''), '"', ''), char(10), '","') || '"]')
 WHERE pt_starts_with(trim(value), 'headers: ') OR pt_starts_with(trim(value), 'mode: ');

-- Comparisons in the expressions follow the columns' types, for what an entity was, too.
CREATE VIRTUAL TABLE Crew USING ptable(Age Int32);
CREATE VIRTUAL TABLE CrewAges USING ptable();
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Crew', NULL, 'Sailor', 'CrewAges', 'SailorByAge', 'iif(Age >= ''40'', ''old'', ''young'')', 'RowKey');
.read sql/secondary_index.sql
INSERT INTO Sailor(PartitionKey, RowKey, Age) VALUES ('a', '1', 50), ('a', '2', 60), ('a', '3', 30);
UPDATE Sailor SET Age = 20 WHERE RowKey = '1';
DELETE FROM Sailor WHERE RowKey = '2';
SELECT IndexPartitionKey, IndexRowKey FROM SailorByAge;

-- Another program that loads ptable uses the views; it must trust the schema.
.open staff.db
.load ./ptable
CREATE VIRTUAL TABLE Staff USING ptable(Email String);
CREATE VIRTUAL TABLE StaffByEmail USING ptable(EntityRowKey String);
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES ('Staff', NULL, 'Employee', 'StaffByEmail', 'EmployeeByEmail', 'PartitionKey', 'lower(Email)');
.read sql/secondary_index.sql
.connection 1
.open staff.db
.load ./ptable
INSERT INTO Employee(PartitionKey, RowKey, Email) VALUES ('Sales', '000223', 'jonesj@contoso.com');
PRAGMA trusted_schema = 0;
INSERT INTO Employee(PartitionKey, RowKey, Email) VALUES ('Sales', '000312', 'kwokk@contoso.com');
.connection 0
SELECT * FROM StaffByEmail;

-- To undo it.
DROP VIEW Employee;
DROP VIEW EmployeeByEmail;
DELETE FROM StaffByEmail WHERE Filter MATCH 'IndexName eq ''EmployeeByEmail''';
SELECT count(*) FROM sqlite_schema WHERE type <> 'table';
SELECT (SELECT count(*) FROM Staff), (SELECT count(*) FROM StaffByEmail);
