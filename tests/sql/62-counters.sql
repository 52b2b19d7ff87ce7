-- sql/counters.sql: counts and sums of groups, kept by the triggers of one view.
.load ./ptable
.nullvalue NULL

-- Employees and their departments in one table: each partition has an entity 'department', which knows
-- how many employees there are and what they earn together, beside the name it has anyway.
CREATE VIRTUAL TABLE Contoso USING ptable(Name String, Salary Int64, EmployeeCount Int64, Payroll Int64, limits=azure);
INSERT INTO Contoso(PartitionKey, RowKey, Name, Salary) VALUES
  ('Sales', 'department', 'Sales and service', NULL), ('Sales', 'empid_000223', 'Jones', 5000);
CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey, amount);
INSERT INTO counters VALUES
  ('Contoso', 'pt_starts_with(RowKey, ''empid_'')', 'Employee', 'Contoso', 'EmployeeCount', 'PartitionKey', '''department''', '1'),
  ('Contoso', 'pt_starts_with(RowKey, ''empid_'')', 'Employee', 'Contoso', 'Payroll', 'PartitionKey', '''department''', 'Salary');
.read sql/counters.sql
SELECT type, name FROM sqlite_schema WHERE type <> 'table' ORDER BY type DESC, name;
SELECT name FROM sqlite_temp_schema WHERE name NOT LIKE 'ptable%';
SELECT count(*) FROM fsdir('.') WHERE name GLOB '*ptable_*';
CREATE VIEW Department AS SELECT PartitionKey AS Department, Name, EmployeeCount, Payroll
  FROM Contoso WHERE RowKey = 'department';
-- What is there already has been counted.
SELECT * FROM Department;

-- Several rows of one statement count in one group; a department appears with its first employee. A
-- salary that is NULL is nothing.
INSERT INTO Employee(PartitionKey, RowKey, Name, Salary) VALUES
  ('Sales', 'empid_000312', 'Kwok', 4000), ('Sales', 'empid_000313', 'Trainee', NULL),
  ('Marketing', 'empid_000150', 'Hall', 6000);
SELECT * FROM Department;

-- One point query, where counting reads a key for each employee.
EXPLAIN QUERY PLAN SELECT EmployeeCount FROM Department WHERE Department = 'Sales';
EXPLAIN QUERY PLAN SELECT count(*) FROM Employee WHERE PartitionKey = 'Sales';

-- Another salary, another department, none.
UPDATE Employee SET Salary = Salary + 500 WHERE PartitionKey = 'Sales';
UPDATE Employee SET PartitionKey = 'Marketing' WHERE RowKey = 'empid_000313';
DELETE FROM Employee WHERE Name = 'Kwok';
SELECT * FROM Department;
-- What changes neither department nor salary writes no counter.
CREATE TEMP TABLE Seen AS SELECT ETag AS tag FROM Contoso WHERE RowKey = 'department';
UPDATE Employee SET Name = upper(Name), Salary = Salary + 0;
SELECT count(*) FROM Contoso WHERE ETag IN (SELECT tag FROM Seen);

-- An error counts nothing: an employee who exists, after one who does not; a salary of the wrong type.
INSERT INTO Employee(PartitionKey, RowKey, Salary) VALUES ('Sales', 'empid_000500', 1), ('Sales', 'empid_000223', 1);
INSERT INTO Employee(PartitionKey, RowKey, Salary) VALUES ('Sales', 'empid_000500', 1), ('Sales', 'empid_000501', 'much');
-- A sum that does not fit.
UPDATE Employee SET Salary = 9223372036854775807 WHERE PartitionKey = 'Sales' RETURNING RowKey;
INSERT INTO Employee(PartitionKey, RowKey, Salary) VALUES ('Sales', 'empid_000500', 1);
UPDATE Employee SET Salary = 5500 WHERE PartitionKey = 'Sales';
SELECT * FROM Department;

-- OR IGNORE counts nobody twice; OR REPLACE counts the new one for the old.
INSERT OR IGNORE INTO Employee(PartitionKey, RowKey, Salary) VALUES ('Sales', 'empid_000223', 1), ('Sales', 'empid_000224', 10);
SELECT * FROM Department;
INSERT OR REPLACE INTO Employee(PartitionKey, RowKey, Salary) VALUES ('Sales', 'empid_000223', 2000);
SELECT * FROM Department;
UPDATE OR REPLACE Employee SET RowKey = 'empid_000224' WHERE RowKey = 'empid_000223';
UPDATE OR IGNORE Employee SET RowKey = 'empid_000150' WHERE RowKey = 'empid_000313';
SELECT * FROM Department;

-- Rollback and savepoint.
BEGIN;
INSERT INTO Employee(PartitionKey, RowKey, Salary) VALUES ('Legal', 'empid_000600', 7000);
SAVEPOINT a;
DELETE FROM Employee;
SELECT * FROM Department;
ROLLBACK TO a;
SELECT * FROM Department;
ROLLBACK;
SELECT * FROM Department;

-- Departments and employees are kept apart.
INSERT INTO Employee(PartitionKey, RowKey) VALUES ('Sales', 'department');
INSERT OR REPLACE INTO Employee(PartitionKey, RowKey) VALUES ('Sales', 'department');

-- What is written beside the view is not counted until the script runs again, which sets what is wrong.
UPDATE Contoso SET Salary = 1 WHERE RowKey = 'empid_000224';
DELETE FROM Contoso WHERE PartitionKey = 'Marketing' AND RowKey <> 'department';
CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey, amount);
INSERT INTO counters VALUES
  ('Contoso', 'pt_starts_with(RowKey, ''empid_'')', 'Employee', 'Contoso', 'EmployeeCount', 'PartitionKey', '''department''', '1'),
  ('Contoso', 'pt_starts_with(RowKey, ''empid_'')', 'Employee', 'Contoso', 'Payroll', 'PartitionKey', '''department''', 'Salary');
.read sql/counters.sql
SELECT * FROM Department;

-- On top of another script's view: one write keeps the copies by e-mail address and the counts by
-- city. A city that is NULL is not counted.
CREATE VIRTUAL TABLE Customer USING ptable(City String, Email String);
CREATE VIRTUAL TABLE CustomerByEmail USING ptable(EntityRowKey String);
CREATE VIRTUAL TABLE City USING ptable(Customers Int64, limits=azure);
CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey, RowKey);
INSERT INTO secondary_index VALUES
  ('Customer', NULL, 'CustomerIndexed', 'CustomerByEmail', 'ByEmail', '''email''', 'lower(Email)');
.read sql/secondary_index.sql
CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey, amount);
INSERT INTO counters VALUES ('CustomerIndexed', NULL, 'CustomerCounted', 'City', 'Customers', '''city''', 'City', '1');
.read sql/counters.sql
INSERT INTO CustomerCounted(PartitionKey, RowKey, City, Email) VALUES
  ('c', '1', 'Oslo', 'a@contoso.com'), ('c', '2', 'Oslo', 'b@contoso.com'), ('c', '3', NULL, 'c@contoso.com');
UPDATE CustomerCounted SET City = 'Rome', Email = 'd@contoso.com' WHERE PartitionKey = 'c' AND RowKey = '2';
SELECT RowKey, Customers FROM City;
SELECT * FROM CustomerByEmail;
EXPLAIN QUERY PLAN UPDATE CustomerCounted SET City = 'Bonn' WHERE PartitionKey = 'c' AND RowKey = '2';
-- An address that is taken: no city has one more customer.
INSERT INTO CustomerCounted(PartitionKey, RowKey, City, Email) VALUES ('c', '4', 'Oslo', 'e@contoso.com'), ('c', '5', 'Oslo', 'A@contoso.com');
INSERT OR REPLACE INTO CustomerCounted(PartitionKey, RowKey, City, Email) VALUES ('c', '1', 'Rome', 'f@contoso.com');
INSERT OR IGNORE INTO CustomerCounted(PartitionKey, RowKey, City, Email) VALUES ('c', '1', 'Oslo', 'g@contoso.com');
DELETE FROM CustomerCounted WHERE RowKey = '3';
-- A city that the limits refuse as a key, also when that is to be ignored.
INSERT INTO CustomerCounted(PartitionKey, RowKey, City) VALUES ('c', '6', 'Rome/Lazio');
INSERT OR IGNORE INTO CustomerCounted(PartitionKey, RowKey, City) VALUES ('c', '6', 'Rome/Lazio');
SELECT count(*) FROM CustomerCounted;
SELECT RowKey, Customers FROM City;
SELECT * FROM CustomerByEmail;

-- Parameters that are wrong: an error, and nothing is made.
CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey, amount);
INSERT INTO counters VALUES ('Customer', NULL, 'V', 'City', 'Inhabitants', '''city''', 'City', '1');
.read sql/counters.sql
CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey, amount);
INSERT INTO counters VALUES ('Contoso', NULL, 'V', 'Contoso', 'Payroll', 'PartitionKey', '''department''', 'Salary');
.read sql/counters.sql
CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey, amount);
INSERT INTO counters VALUES ('Customer', NULL, 'V', 'City', 'Customers', '''city''', 'City', '1'), ('Customer', NULL, 'V', 'City', 'Customers', '''mail''', 'Email', '1');
.read sql/counters.sql
CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey, amount);
INSERT INTO counters VALUES ('Customer', NULL, 'V', 'City', 'Customers', '''city''', 'City', 'Turnover');
.read sql/counters.sql
CREATE VIRTUAL TABLE Batch USING ptable(Name String, n Int64, batch=azure);
CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey, amount);
INSERT INTO counters VALUES ('Batch', 'RowKey <> ''n''', 'V', 'Batch', 'n', 'PartitionKey', '''n''', '1');
.read sql/counters.sql
SELECT count(*) FROM sqlite_schema WHERE name = 'V';
SELECT RowKey, Customers FROM City;
SELECT name FROM sqlite_temp_schema WHERE name LIKE '%counters%';

-- To undo it.
DROP VIEW Employee;
UPDATE Contoso SET EmployeeCount = NULL, Payroll = NULL WHERE EmployeeCount IS NOT NULL;
SELECT RowKey, Properties FROM Contoso;

-- Comparisons in the expressions follow the columns' types, for what an entity was, too.
CREATE VIRTUAL TABLE Crew USING ptable(Age Int32);
CREATE VIRTUAL TABLE CrewCount USING ptable(Old Int64);
CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey, amount);
INSERT INTO counters VALUES ('Crew', NULL, 'Sailor', 'CrewCount', 'Old', 'PartitionKey', 'iif(Age >= ''40'', ''old'', ''young'')', '1');
.read sql/counters.sql
INSERT INTO Sailor(PartitionKey, RowKey, Age) VALUES ('a', '1', 50), ('a', '2', 60), ('a', '3', 30);
UPDATE Sailor SET Age = 20 WHERE RowKey = '1';
DELETE FROM Sailor WHERE RowKey = '2';
SELECT RowKey, Old FROM CrewCount;
