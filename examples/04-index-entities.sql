-- Index entities
-- Problem: find all employees with a certain last name. A last name is not a key: several employees
--   may share it.
-- Solution: an index entity for each last name holds the list of the employees' ids.
-- When: names are looked up often and change seldom; a list stays short.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Employee USING ptable(Name String, Ids String);
INSERT INTO Employee VALUES
  ('Sales', 'empid_000152', 'Eva Jones', NULL), ('Sales', 'empid_000223', 'Jun Jones', NULL),
  ('Sales', 'lastname_jones', NULL, '["000152","000223"]');
SELECT Employee.RowKey, Employee.Name FROM Employee AS List, json_each(List.Ids) AS Id
  JOIN Employee ON Employee.PartitionKey = 'Sales' AND Employee.RowKey = 'empid_' || Id.value
  WHERE List.PartitionKey = 'Sales' AND List.RowKey = 'lastname_jones';

-- In detail, in a new database
--
-- Keys: option 1  a blob for each last name, here an entity ('names', 'jones') of table Blob
--       option 2  in the department: employee ('Sales', 'empid_000152'),
--                 index entity ('Sales', 'lastname_jones') with EmployeeIDs = ["000152","000223"]
--       option 3  for the whole company: table NameIndex, ('jones', 'jones') with EmployeeDetails
-- Costs: each change of a list reads and writes all of it, and two writers of one list hinder each
--   other. Only option 2 fits a batch (entity group transaction) of the Table service.
-- Better in SQL: a list is a JSON array that json_each joins with the employees. A statement can
--   change a list in place, without an ETag. And an entity for each pair of name and id
--   needs no list at all: see the end.
-- (The script is long because the pattern has three options.)
.open :memory:
.load ./ptable
.mode box --wrap 100
.nullvalue NULL

CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, LastName String, EmployeeIDs String);
INSERT INTO Employee VALUES
  ('Sales', 'empid_000152', 'Eva', 'Jones', NULL),
  ('Sales', 'empid_000223', 'Jun', 'Jones', NULL),
  ('Sales', 'empid_000400', 'Ann', 'Brown', NULL),
  ('Marketing', 'empid_000150', 'Tom', 'Jones', NULL);

.print
.print == Option 1: a list for each name outside the table, rebuilt from time to time
CREATE VIRTUAL TABLE Blob USING ptable(Content String);
INSERT INTO Blob
  SELECT 'names', lower(LastName), json_group_array(json_array(PartitionKey, RowKey))
  FROM Employee GROUP BY lower(LastName);
SELECT RowKey, Content FROM Blob WHERE PartitionKey = 'names';
-- It is right when it is built, and out of date after the next write.
INSERT INTO Employee VALUES ('Sales', 'empid_000401', 'Ida', 'Jones', NULL);
SELECT json_array_length(Content) AS listed, (SELECT count(*) FROM Employee
    WHERE LastName = 'Jones') AS employees
  FROM Blob WHERE PartitionKey = 'names' AND RowKey = 'jones';
-- Here it need not be: rebuilt in the transaction that writes the employee, it is never out of
-- date.
INSERT OR REPLACE INTO Blob
  SELECT 'names', lower(LastName), json_group_array(json_array(PartitionKey, RowKey))
  FROM Employee WHERE LastName = 'Jones' GROUP BY lower(LastName);
SELECT json_array_length(Content) AS listed FROM Blob
  WHERE PartitionKey = 'names' AND RowKey = 'jones';

.print
.print == Option 2: why the keys have prefixes
-- Without them ids and names share the RowKeys of a department. Here a last name is '000152': an
-- insert of its index entity is refused, a merge makes it part of the employee of that id.
CREATE VIRTUAL TABLE Unprefixed USING ptable(FirstName String, EmployeeIDs String);
INSERT INTO Unprefixed VALUES ('Sales', '000152', 'Eva', NULL);
INSERT INTO Unprefixed VALUES ('Sales', '000152', NULL, '["000402"]');
INSERT INTO Unprefixed(PartitionKey, RowKey, EmployeeIDs, WriteMode)
  VALUES ('Sales', '000152', '["000402"]', 'merge');
SELECT * FROM Unprefixed;

.print
.print == Option 2: look up a name
INSERT INTO Employee(PartitionKey, RowKey, EmployeeIDs)
  SELECT PartitionKey, 'lastname_' || lower(LastName), json_group_array(pt_key_part(RowKey, 2))
  FROM Employee WHERE PartitionKey = 'Sales' GROUP BY PartitionKey, lower(LastName);
SELECT RowKey, EmployeeIDs FROM Employee
  WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'lastname_');

-- One point query for the list and one for each employee on it.
.eqp on
SELECT Employee.RowKey, Employee.FirstName, Employee.LastName
  FROM Employee AS Name, json_each(Name.EmployeeIDs) AS Id
  JOIN Employee ON Employee.PartitionKey = Name.PartitionKey
    AND Employee.RowKey = 'empid_' || Id.value
  WHERE Name.PartitionKey = 'Sales' AND Name.RowKey = 'lastname_jones';
.eqp off
-- A name that no one has: there is no index entity, so there are no rows and no error.
SELECT count(*) AS "called Wu" FROM Employee AS Name, json_each(Name.EmployeeIDs)
  WHERE Name.PartitionKey = 'Sales' AND Name.RowKey = 'lastname_wu';

.print
.print == Option 2: one more Jones, as on the service: read, then write with the ETag
CREATE TEMP TABLE Seen AS SELECT RowKey, ETag, EmployeeIDs FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = 'lastname_jones';
-- Meanwhile someone else adds a Jones.
INSERT INTO Employee VALUES ('Sales', 'empid_000301', 'Max', 'Jones', NULL);
UPDATE Employee SET EmployeeIDs = json_insert(EmployeeIDs, '$[#]', '000301')
  WHERE PartitionKey = 'Sales' AND RowKey = 'lastname_jones';
-- The batch as one statement, which writes both entities or none: 412, and no employee either.
INSERT INTO Employee(PartitionKey, RowKey, FirstName, LastName, EmployeeIDs, WriteMode, IfMatch)
  SELECT 'Sales', 'empid_000402', 'Kim', 'Jones', NULL, 'insert', NULL
  UNION ALL
  SELECT 'Sales', RowKey, NULL, NULL, json_insert(EmployeeIDs, '$[#]', '000402'), 'merge', ETag
    FROM Seen;
SELECT count(*) AS "000402 written" FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = 'empid_000402';

-- So start again and read the list as it is now. A program repeats this until there is no 412.
DELETE FROM Seen;
INSERT INTO Seen SELECT RowKey, ETag, EmployeeIDs FROM Employee
  WHERE PartitionKey = 'Sales' AND RowKey = 'lastname_jones';
INSERT INTO Employee(PartitionKey, RowKey, FirstName, LastName, EmployeeIDs, WriteMode, IfMatch)
  SELECT 'Sales', 'empid_000402', 'Kim', 'Jones', NULL, 'insert', NULL
  UNION ALL
  SELECT 'Sales', RowKey, NULL, NULL, json_insert(EmployeeIDs, '$[#]', '000402'), 'merge', ETag
    FROM Seen;
SELECT EmployeeIDs FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = 'lastname_jones';

.print
.print == Option 2: the first Wu. Nothing was read, so the index entity is inserted: 409
-- Someone else has just inserted another first Wu.
INSERT INTO Employee VALUES ('Sales', 'empid_000310', 'Lin', 'Wu', NULL),
  ('Sales', 'lastname_wu', NULL, NULL, '["000310"]');
INSERT INTO Employee VALUES ('Sales', 'empid_000403', 'Bo', 'Wu', NULL),
  ('Sales', 'lastname_wu', NULL, NULL, '["000403"]');
-- Start again here too: now there is a list to read, and an ETag.
SELECT RowKey, EmployeeIDs FROM Employee WHERE PartitionKey = 'Sales'
  AND RowKey IN ('empid_000403', 'lastname_wu');

.print
.print == Option 2: Ann Brown becomes Ann Jones: three entities with three ETags
DELETE FROM Seen;
INSERT INTO Seen SELECT RowKey, ETag, EmployeeIDs FROM Employee WHERE PartitionKey = 'Sales'
  AND RowKey IN ('empid_000400', 'lastname_brown', 'lastname_jones');
-- She was the only Brown. A list that would become empty is deleted with its entity; a longer one
-- is merged.
INSERT INTO Employee(PartitionKey, RowKey, LastName, EmployeeIDs, WriteMode, IfMatch)
  SELECT 'Sales', RowKey, 'Jones', NULL, 'merge', ETag FROM Seen WHERE RowKey = 'empid_000400'
  UNION ALL
  SELECT 'Sales', RowKey, NULL, json_insert(EmployeeIDs, '$[#]', '000400'), 'merge', ETag
    FROM Seen WHERE RowKey = 'lastname_jones'
  UNION ALL
  SELECT 'Sales', RowKey, NULL, Rest, iif(Rest IS NULL, 'delete', 'merge'), ETag
    FROM (SELECT RowKey, ETag, (SELECT nullif(json_group_array(value), '[]')
      FROM json_each(EmployeeIDs) WHERE value <> '000400') AS Rest
      FROM Seen WHERE RowKey = 'lastname_brown');
SELECT RowKey, LastName, EmployeeIDs FROM Employee WHERE PartitionKey = 'Sales'
  AND (RowKey = 'empid_000400' OR pt_starts_with(RowKey, 'lastname_'));

.print
.print == Option 2 in plain SQL: no ETag and no second try
-- A statement that writes also reads under the write lock, so no one else can write in between.
-- This one also makes the index entity of a new name. ETags are for programs that keep what they
-- have read and write later.
INSERT INTO Employee(PartitionKey, RowKey, FirstName, LastName, EmployeeIDs, WriteMode)
  SELECT 'Sales', 'empid_000403', 'Bo', 'Wu', NULL, 'insert'
  UNION ALL
  SELECT 'Sales', 'lastname_wu', NULL, NULL, json_insert(coalesce((SELECT EmployeeIDs FROM Employee
    WHERE PartitionKey = 'Sales' AND RowKey = 'lastname_wu'), '[]'), '$[#]', '000403'), 'merge';
SELECT EmployeeIDs FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = 'lastname_wu';

.print
.print == Option 3: a table of its own, for names in all departments
-- On the service no batch contains entities of both tables. Here one transaction can write both.
CREATE VIRTUAL TABLE NameIndex USING ptable(EmployeeDetails String);
INSERT INTO NameIndex
  SELECT lower(LastName), lower(LastName),
    json_group_array(json_object('department', PartitionKey, 'id', pt_key_part(RowKey, 2)))
  FROM Employee WHERE pt_starts_with(RowKey, 'empid_') GROUP BY lower(LastName);
SELECT EmployeeDetails FROM NameIndex WHERE PartitionKey = 'wu' AND RowKey = 'wu';
.eqp on
SELECT Employee.PartitionKey, Employee.RowKey, FirstName
  FROM NameIndex, json_each(EmployeeDetails) AS Detail
  JOIN Employee ON Employee.PartitionKey = Detail.value ->> 'department'
    AND Employee.RowKey = 'empid_' || (Detail.value ->> 'id')
  WHERE NameIndex.PartitionKey = 'jones' AND NameIndex.RowKey = 'jones';
.eqp off

.print
.print == How long a list may be
-- On the service the limit of a String is 64 KiB, far below the 1 MiB of an entity: 32,768
-- characters are 4,681 ids of 6 digits with commas between, or 3,640 as a JSON array.
CREATE VIRTUAL TABLE Limited USING ptable(EmployeeIDs String, limits='azure');
CREATE TEMP VIEW Id AS
  WITH RECURSIVE N(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM N WHERE n < 100000)
  SELECT n, pt_pad(n, 6) AS id FROM N;
INSERT INTO Limited SELECT 'Sales', 'commas', group_concat(id) FROM Id WHERE n <= 4681;
INSERT INTO Limited SELECT 'Sales', 'commas+1', group_concat(id) FROM Id WHERE n <= 4682;
INSERT INTO Limited SELECT 'Sales', 'json', json_group_array(id) FROM Id WHERE n <= 3640;
INSERT INTO Limited SELECT 'Sales', 'json+1', json_group_array(id) FROM Id WHERE n <= 3641;
SELECT RowKey, length(EmployeeIDs) AS characters FROM Limited;

-- A longer list is split over several properties; the limit is then that of the entity.
INSERT INTO Limited(PartitionKey, RowKey, Properties)
  SELECT 'Sales', 'split', json_group_object('EmployeeIDs' || part, ids) FROM
    (SELECT 1 + n / 3000 AS part, '' || json_group_array(id) AS ids FROM Id
      WHERE n <= 20000 GROUP BY part);
INSERT INTO Limited(PartitionKey, RowKey, Properties)
  SELECT 'Sales', 'too long', json_group_object('EmployeeIDs' || part, ids) FROM
    (SELECT 1 + n / 3000 AS part, '' || json_group_array(id) AS ids FROM Id
      WHERE n <= 80000 GROUP BY part);
SELECT count(DISTINCT List.key) AS properties, count(*) AS ids
  FROM Limited, json_each(Limited.Properties) AS List, json_each(List.value) AS Id
  WHERE PartitionKey = 'Sales' AND RowKey = 'split';

-- Without limits='azure' a list may be as long as a text may be in SQLite. Adding an id still
-- writes all of it.

.print
.print == Without lists: an entity for each pair of name and id
-- Nothing is read before it is written, no two writers change the same entity, the number of ids
-- has no limit, and a rename moves one key. Prefer this, unless a single point query must return
-- the whole list.
CREATE VIRTUAL TABLE Called USING ptable(FirstName String);
INSERT INTO Called SELECT lower(LastName), PartitionKey || '_' || pt_key_part(RowKey, 2), FirstName
  FROM Employee WHERE pt_starts_with(RowKey, 'empid_');
UPDATE Called SET PartitionKey = 'jones' WHERE PartitionKey = 'wu' AND RowKey = 'Sales_000310';
.eqp on
SELECT RowKey, FirstName FROM Called
  WHERE PartitionKey = 'jones' AND pt_starts_with(RowKey, 'Sales_');
.eqp off

.print
.print == An index of the store instead of index entities
-- The service has no such index. Here it needs no entities beside the employees.
CREATE VIRTUAL TABLE Named USING ptable(LastName String, FirstName String, index(LastName, PartitionKey));
INSERT INTO Named SELECT PartitionKey, RowKey, LastName, FirstName FROM Employee
  WHERE pt_starts_with(RowKey, 'empid_');
.eqp on
SELECT FirstName FROM Named WHERE LastName = 'Jones' AND PartitionKey = 'Sales';
SELECT LastName, count(*) FROM Named WHERE LastName >= 'A' GROUP BY LastName LIMIT 3;
