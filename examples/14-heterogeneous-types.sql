-- Heterogeneous entity types
-- Problem: a department and its employees are read and changed together, but they have different
--   properties. The Table service changes entities together only within one partition.
-- Solution: both types live in one partition. Each entity shows its type: by a prefix of its
--   RowKey, or by a property EntityType.
-- When: types are read or written together; otherwise a table for each is simpler.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Company USING ptable();    -- no columns: Properties shows all of each entity
INSERT INTO Company VALUES ('Sales', 'DEPARTMENT_SALES', '{"EmployeeCount":1}'),
                           ('Sales', 'EMPLOYEE_000223', '{"FirstName":"Jun","Age":34}');
CREATE VIRTUAL TABLE EmployeeRow USING ptable(FirstName String, Age Int32, table=Company);
SELECT * FROM EmployeeRow WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'EMPLOYEE_');

-- In detail, in a new database
--
-- Keys: PartitionKey  the department: 'Sales'
--       RowKey        'DEPARTMENT_SALES', 'EMPLOYEE_000223'; with EntityType '000223'
-- Costs: with a prefix one type is a range, and two types never collide. With EntityType one type
--   is a partition scan, and ids of all types share the keys.
-- Better in SQL: a second virtual table on the same entities, and a view, give each type its
--   columns; a property that an entity lacks is NULL. If the types are seldom read together, a
--   table for each is the plain way: a transaction covers all tables of a store.
.open :memory:
.load ./ptable
.mode box --wrap 0
.nullvalue NULL

.print
.print == The type in the key
-- Without columns the table shows Properties, all of them.
CREATE VIRTUAL TABLE Company USING ptable();
INSERT INTO Company VALUES
  ('Sales', 'DEPARTMENT_SALES', '{"DepartmentName":"Sales","EmployeeCount":2}'),
  ('Sales', 'EMPLOYEE_000223',
    '{"FirstName":"Jun","LastName":"Jones","Age":34,"Email":"jonesj@contoso.com"}'),
  ('Sales', 'EMPLOYEE_000312', '{"FirstName":"Ken","LastName":"Kwok","Age":23}');

-- Several virtual tables on one stored table: table=Company. Each declares the columns of its type.
CREATE VIRTUAL TABLE EmployeeRow USING ptable(
  FirstName String, LastName String, Age Int32, Email String, table=Company);
CREATE VIRTUAL TABLE DepartmentRow USING ptable(
  DepartmentName String, EmployeeCount Int32, table=Company);

-- They show the same entities: each still shows all of them.
SELECT * FROM DepartmentRow;

-- A view over it chooses the type by its prefix. With a partition this stays a range query.
CREATE VIEW Employee AS
  SELECT PartitionKey AS Department, pt_key_part(RowKey, 2) AS EmployeeId,
    FirstName, LastName, Age, Email FROM EmployeeRow WHERE pt_starts_with(RowKey, 'EMPLOYEE_');
CREATE VIEW Department AS
  SELECT PartitionKey AS Department, DepartmentName, EmployeeCount FROM DepartmentRow
    WHERE pt_starts_with(RowKey, 'DEPARTMENT_');
.eqp on
SELECT * FROM Employee WHERE Department = 'Sales';
.eqp off
SELECT * FROM Department;

-- The underscore belongs to the prefix: without it, other types that begin alike are found too.
INSERT INTO Company VALUES ('Sales', 'EMPLOYEEREVIEW_000223', '{"Rating":5}');
SELECT (SELECT count(*) FROM Company WHERE pt_starts_with(RowKey, 'EMPLOYEE')) AS "EMPLOYEE",
  (SELECT count(*) FROM Company WHERE pt_starts_with(RowKey, 'EMPLOYEE_')) AS "EMPLOYEE_";

.print
.print == Merge only if the property exists
-- IS NOT NULL tests if an entity has the property. Only the department has this one.
UPDATE DepartmentRow SET EmployeeCount = 3
  WHERE PartitionKey = 'Sales' AND RowKey = 'EMPLOYEE_000223' AND EmployeeCount IS NOT NULL;
SELECT changes() AS "employees changed";
UPDATE DepartmentRow SET EmployeeCount = 3
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES' AND EmployeeCount IS NOT NULL;
SELECT changes() AS "departments changed";
-- The same test as a Filter, which has no null: a value that exists is greater, equal or less.
SELECT RowKey FROM DepartmentRow('EmployeeCount ge 0 or EmployeeCount lt 0');
-- A program that reads before it writes passes the ETag: here too the employee is skipped.
INSERT INTO DepartmentRow(PartitionKey, RowKey, EmployeeCount, WriteMode, IfMatch)
  SELECT PartitionKey, RowKey, EmployeeCount + 1, 'merge', ETag FROM DepartmentRow
  WHERE PartitionKey = 'Sales' AND RowKey IN ('EMPLOYEE_000223', 'DEPARTMENT_SALES')
    AND EmployeeCount IS NOT NULL;
-- Without the test a merge adds it to any entity with that key.
INSERT INTO DepartmentRow(PartitionKey, RowKey, EmployeeCount, WriteMode, IfMatch)
  VALUES ('Sales', 'EMPLOYEE_000223', 3, 'merge', '*');
SELECT RowKey, Properties FROM Company WHERE Properties ->> 'EmployeeCount' IS NOT NULL;
UPDATE DepartmentRow SET EmployeeCount = NULL               -- removes it again
  WHERE PartitionKey = 'Sales' AND RowKey = 'EMPLOYEE_000223';

.print
.print == The type as a property, with a version
-- EntityType beside the id. Version 1 of Employee had one property Name, version 2 has two.
-- Age changed its type, too. Its column has no type, so each value keeps the one it came with.
CREATE VIRTUAL TABLE Staff USING ptable(EntityType String, Version Int32,
  Name String, FirstName String, LastName String, Age, EmployeeCount Int32);
INSERT INTO Staff(PartitionKey, RowKey, EntityType, Version, Name, Age)
  VALUES ('Sales', '000223', 'Employee', 1, 'Jun Jones', '34');
INSERT INTO Staff(PartitionKey, RowKey, EntityType, Version, FirstName, LastName, Age)
  VALUES ('Sales', '000312', 'Employee', 2, 'Ken', 'Kwok', 23);
INSERT INTO Staff(PartitionKey, RowKey, EntityType, EmployeeCount)
  VALUES ('Sales', '000001', 'Department', 2);
INSERT INTO Staff(PartitionKey, RowKey) VALUES ('Sales', 'note');
SELECT Name, Type, Entities, Example FROM pt_properties('Staff') WHERE Name IN ('Version', 'Age');

-- Ids of two types share the keys: a department 000223 is refused. A prefix avoids that.
INSERT INTO Staff(PartitionKey, RowKey, EntityType, EmployeeCount)
  VALUES ('Sales', '000223', 'Department', 0);

-- One type: EntityType is not a key, so the whole partition is read.
.eqp on
SELECT RowKey FROM Staff WHERE PartitionKey = 'Sales' AND EntityType = 'Employee';
.eqp off

-- A view reads both versions ...
CREATE VIEW StaffMember AS SELECT PartitionKey, RowKey,
    coalesce(FirstName, pt_key_part(Name, 1, ' ')) AS FirstName,
    coalesce(LastName, pt_key_part(Name, 2, ' ')) AS LastName, CAST(Age AS INTEGER) AS Age, Version
  FROM Staff WHERE EntityType = 'Employee';
SELECT * FROM StaffMember;
-- ... until one statement has brought all to version 2: a statement is a transaction.
UPDATE Staff SET Version = 2, Name = NULL, FirstName = pt_key_part(Name, 1, ' '),
    LastName = pt_key_part(Name, 2, ' '), Age = CAST(Age AS INTEGER)
  WHERE EntityType = 'Employee' AND Version = 1;
SELECT RowKey, Properties FROM Staff WHERE EntityType = 'Employee';

-- Everything except employees. The note has no EntityType: in the service's Filter ne excludes it
-- and not (... eq ...) includes it; in SQL <> excludes it and IS NOT includes it.
SELECT (SELECT count(*) FROM Staff('EntityType ne ''Employee''')) AS "ne",
  (SELECT count(*) FROM Staff('not (EntityType eq ''Employee'')')) AS "not eq",
  (SELECT count(*) FROM Staff WHERE EntityType <> 'Employee') AS "<>",
  (SELECT count(*) FROM Staff WHERE EntityType IS NOT 'Employee') AS "IS NOT";

.print
.print == What is in a table
-- If you do not know which properties and types a table has ...
SELECT Name, Type, Entities, Example FROM pt_properties('Company');
-- ... or what one of its entities has.
SELECT key AS Name, value FROM Company, json_each(Properties)
  WHERE PartitionKey = 'Sales' AND RowKey = 'EMPLOYEE_000312';

-- An entity may have 252 properties of its own: 255 with PartitionKey, RowKey and Timestamp.
-- limits='azure' enforces that. (The shell's generate_series counts.)
CREATE VIRTUAL TABLE Wide USING ptable(limits='azure');
INSERT INTO Wide
  SELECT 'p', '252', json_group_object('P' || value, value) FROM generate_series(1, 252);
INSERT INTO Wide
  SELECT 'p', '253', json_group_object('P' || value, value) FROM generate_series(1, 253);
SELECT RowKey, (SELECT count(*) FROM json_each(Properties)) AS properties FROM Wide;
