-- Point and multi reads
-- Problem: find an employee by department and number, several employees at once, those with last
--   names from B to C, and only the e-mail address of some.
-- Solution: the keys answer all of this. A whole key is a point query, a prefix a range, a
--   department a partition scan; anything else reads the table.
-- When: always; choose keys by the questions.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Employee USING ptable(LastName String, Email String);
INSERT INTO Employee VALUES ('Sales', '212', 'Jones', 'jonesj@contoso.com'),
  ('Sales', '214', 'Brown', NULL), ('Marketing', '212', 'Hall', 'donh@contoso.com');
SELECT LastName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '212';
SELECT RowKey, LastName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey IN ('212', '214');
SELECT Email FROM Employee WHERE EntityKey IN       -- pairs of keys
  (pt_entity_key('Sales', '212'), pt_entity_key('Marketing', '212'));

-- In detail, in a new database
--
-- Keys: Employee  PartitionKey the department: 'Sales', RowKey the number: '212'
--       ByName    PartitionKey the department, RowKey last name and number: 'Brown_000214'
-- Costs: one seek for each key. On the Table service an 'or' of two keys reads the table.
-- Better in SQL: several keys are several point queries, in SQL and in the service's filters alike.
--   A join shows which of them are missing.
.open :memory:
.load ./ptable
.nullvalue NULL

CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, LastName String, Email String);
INSERT INTO Employee VALUES
  ('Sales', '212', 'Jun', 'Jones', 'jonesj@contoso.com'), ('Sales', '213', 'Ken', 'Kwok', NULL),
  ('Sales', '214', 'Ann', 'Brown', 'brown@contoso.com'),
  ('Marketing', '212', 'Don', 'Hall', 'donh@contoso.com'),
  ('Men''s Wear', '301', 'Eve', 'Carter', 'carter@contoso.com');

.print
.print == Get('Sales','212')
.eqp on
SELECT * FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '212';
SELECT LastName FROM Employee WHERE Filter MATCH 'PartitionKey eq ''Sales'' and RowKey eq ''212''';
.eqp off
-- A missing key returns no row (the service's Get is 404). Case and leading zeros matter.
SELECT count(*) AS "not there" FROM Employee WHERE PartitionKey = 'sales' AND RowKey = '212'
  OR PartitionKey = 'Sales' AND RowKey = '0212';

.print
.print == Several keys
-- From one department, from several departments, and in a filter.
.eqp on
SELECT RowKey, LastName FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey IN ('212', '214', '999');
SELECT PartitionKey, RowKey, LastName FROM Employee
  WHERE EntityKey IN (pt_entity_key('Sales', '212'), pt_entity_key('Men''s Wear', '301'));
SELECT PartitionKey, RowKey, LastName FROM Employee WHERE Filter MATCH
  'PartitionKey eq ''Sales'' and RowKey eq ''212''
   or PartitionKey eq ''Men''''s Wear'' and RowKey eq ''301''';
-- Two INs mean all pairs: also Marketing 212, which was not intended.
SELECT PartitionKey, RowKey, LastName FROM Employee
  WHERE PartitionKey IN ('Sales', 'Marketing') AND RowKey IN ('212', '213');
-- A plan cannot show which keys a filter's text will name. A table with scan='deny' refuses, at run
-- time, a filter that would read all of it; the first of these is not refused.
.eqp off
CREATE VIRTUAL TABLE Strict USING ptable(LastName String, table=Employee, scan='deny');
SELECT LastName FROM Strict WHERE Filter MATCH
  'PartitionKey eq ''Sales'' and RowKey eq ''212''
   or PartitionKey eq ''Sales'' and RowKey eq ''214''';
SELECT LastName FROM Strict WHERE Filter MATCH
  'PartitionKey eq ''Sales'' and RowKey eq ''212''
   or LastName eq ''Kwok''';
-- Which of several keys are missing? A join keeps the list, and is a point query for each.
.eqp on
WITH Wanted(Department, Id) AS (VALUES ('Sales', '212'), ('Sales', '999'))
SELECT Department, Id, LastName FROM Wanted
  LEFT JOIN Employee ON PartitionKey = Department AND RowKey = Id;
.eqp off

.print
.print == Last names from B to C
-- That is, those that begin with B: at least 'B' and less than 'C'.
CREATE VIRTUAL TABLE ByName USING ptable(Email String);
INSERT INTO ByName(PartitionKey, RowKey) VALUES
  ('Sales', 'Adams_000101'), ('Sales', 'Brown_000214'),
  ('Sales', 'Burke_000105'), ('Sales', 'C'), ('Sales', 'Carter_000107'), ('Sales', 'F'),
  ('Sales', 'Fabian_000108'), ('Sales', 'brandt_000109'), ('Legal', 'Baker_000110');
.eqp on
SELECT RowKey FROM ByName WHERE PartitionKey = 'Sales' AND RowKey >= 'B' AND RowKey < 'C';
SELECT RowKey FROM ByName
  WHERE Filter MATCH 'PartitionKey eq ''Sales'' and RowKey ge ''B'' and RowKey lt ''C''';
-- The same with functions. None of them finds 'brandt': lower case sorts after all of upper case.
-- If you do not want that, write names in keys in one case.
SELECT RowKey FROM ByName WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'B');
.eqp off
-- RowKey le 'F' goes up to the key 'F' itself; every longer one that begins with F comes after it.
-- All names from B to F are lt 'G'.
SELECT group_concat(RowKey, ' ') FILTER (WHERE RowKey <= 'F') AS "le 'F'",
       group_concat(RowKey, ' ') FILTER (WHERE RowKey < 'G')  AS "lt 'G'"
  FROM ByName WHERE PartitionKey = 'Sales' AND RowKey >= 'B' AND RowKey < 'a';

.print
.print == A department from a parameter
-- A parameter of SQL is a value; nothing in it needs quotes.
.parameter set :department "'Men''s Wear'"
SELECT RowKey, LastName FROM Employee WHERE PartitionKey = :department;
-- A filter is text. A value without quotes is read as a property. Between quotes, an apostrophe
-- ends it, and the rest is read as filter. quote() puts quotes around it and doubles those inside.
SELECT RowKey FROM Employee WHERE Filter MATCH 'PartitionKey eq Sales';
SELECT RowKey FROM Employee WHERE Filter MATCH 'PartitionKey eq ''' || :department || '''';
SELECT RowKey, LastName FROM Employee WHERE Filter MATCH 'PartitionKey eq ' || quote(:department);
-- WRONG: without quote() a text from a user can read every department.
.parameter set :department "'x'' or PartitionKey ne ''x'"
SELECT count(*) AS "without quote()" FROM Employee
  WHERE Filter MATCH 'PartitionKey eq ''' || :department || '''';
SELECT count(*) AS "with quote()" FROM Employee
  WHERE Filter MATCH 'PartitionKey eq ' || quote(:department);

.print
.print == Projection ($select)
-- One property, and the keys if they are named. Only keys: "keys only".
.eqp on
SELECT RowKey, Email FROM Employee WHERE PartitionKey = 'Sales';
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales';
.eqp off
-- A property that an entity lacks is NULL: the Email of 213 above. An undeclared property is read
-- from Properties; there names are case-sensitive, and one that no entity has is NULL, too.
SELECT RowKey, Properties ->> 'Email' AS Email, Properties ->> 'email' AS email,
       Properties ->> 'Phone' AS Phone FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = '212';
SELECT Phone FROM Employee;         -- a column must be declared
-- Entities without the property: in SQL, and in the filter, which has no null.
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND Email IS NULL;
SELECT RowKey FROM Employee
  WHERE Filter MATCH 'PartitionKey eq ''Sales'' and not (Email ge '''' or Email lt '''')';
