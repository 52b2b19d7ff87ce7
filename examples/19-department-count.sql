-- Department count
-- Problem: a department knows how many employees it has. The number must stay right while several
--   people hire and dismiss at the same time.
-- Solution: the number is written in the same batch as the employee, with the ETag of the
--   department that was read. If someone else was faster (412), read again and repeat.
-- When: the number is read often. In SQL, N + 1 in one UPDATE needs no ETag; count(*) no number.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Company USING ptable(N Int32, LastName String);
INSERT INTO Company VALUES ('Sales', 'DEPARTMENT', 0, NULL);
CREATE TEMP TABLE Seen AS SELECT N, ETag FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT';
INSERT INTO Company(PartitionKey, RowKey, LastName, N, WriteMode, IfMatch)    -- both or none
  SELECT 'Sales', 'EMPLOYEE_000223', 'Jones', NULL, 'insert', NULL UNION ALL
  SELECT 'Sales', 'DEPARTMENT', NULL, N + 1, 'merge', ETag FROM Seen;
SELECT RowKey, N, LastName FROM Company WHERE PartitionKey = 'Sales';

-- In detail, in a new database
--
-- Keys: PartitionKey  the department: 'Sales'
--       RowKey        'DEPARTMENT_SALES', 'EMPLOYEE_000223': one partition, so one batch
-- Costs: each change writes the department too, and writers that collide there repeat their work.
-- Better in SQL: SET EmployeeCount = EmployeeCount + 1 reads and writes in one step, so there is
--   nothing to repeat. Often count(*), which reads only keys, is enough.
.open :memory:
.load ./ptable
.shell rm -f build/department-count*

-- Two writers on one store. Each has read the department. The second writer is a second connection:
-- .connection 1 makes it and switches to it, .connection 0 switches back.
CREATE VIRTUAL TABLE Company USING ptable(EmployeeCount Int32, LastName String,
  store='build/department-count');
INSERT INTO Company VALUES ('Sales', 'DEPARTMENT_SALES', 2, NULL),
  ('Sales', 'EMPLOYEE_000223', NULL, 'Jones'), ('Sales', 'EMPLOYEE_000312', NULL, 'Kwok');
CREATE TEMP TABLE Seen AS SELECT EmployeeCount, ETag FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
.connection 1
.load ./ptable
CREATE VIRTUAL TABLE Company USING ptable(EmployeeCount Int32, LastName String,
  store='build/department-count');
CREATE TEMP TABLE Seen AS SELECT EmployeeCount, ETag FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';

.print
.print == With the ETag
-- The second writer hires Ann. The batch is one statement, which writes both entities or none: the
-- employee, and the number merged into what was read.
INSERT INTO Company(PartitionKey, RowKey, LastName, EmployeeCount, WriteMode, IfMatch)
  SELECT 'Sales', 'EMPLOYEE_000401', 'Agar', NULL, 'insert', NULL
  UNION ALL
  SELECT 'Sales', 'DEPARTMENT_SALES', NULL, EmployeeCount + 1, 'merge', ETag FROM Seen;

-- The first writer hires Nina with the ETag that it has read: 412, and Nina is not inserted either.
.connection 0
INSERT INTO Company(PartitionKey, RowKey, LastName, EmployeeCount, WriteMode, IfMatch)
  SELECT 'Sales', 'EMPLOYEE_000402', 'Nash', NULL, 'insert', NULL
  UNION ALL
  SELECT 'Sales', 'DEPARTMENT_SALES', NULL, EmployeeCount + 1, 'merge', ETag FROM Seen;
SELECT RowKey, coalesce(EmployeeCount, LastName) AS "number or name" FROM Company
  WHERE PartitionKey = 'Sales';

-- The second try: read again, then everything once more.
UPDATE Seen SET (EmployeeCount, ETag) = (SELECT EmployeeCount, ETag FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES');
INSERT INTO Company(PartitionKey, RowKey, LastName, EmployeeCount, WriteMode, IfMatch)
  SELECT 'Sales', 'EMPLOYEE_000402', 'Nash', NULL, 'insert', NULL
  UNION ALL
  SELECT 'Sales', 'DEPARTMENT_SALES', NULL, EmployeeCount + 1, 'merge', ETag FROM Seen;
CREATE TEMP VIEW Numbers AS SELECT (SELECT EmployeeCount FROM Company
    WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES') AS EmployeeCount,
  (SELECT count(*) FROM Company
    WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'EMPLOYEE_')) AS employees;
SELECT * FROM Numbers;

-- WRONG: without the ETag an old number overwrites a new one. 3 was read, so Don is not counted.
BEGIN;
INSERT OR ROLLBACK INTO Company VALUES ('Sales', 'EMPLOYEE_000403', NULL, 'Hall');
UPDATE OR ROLLBACK Company SET EmployeeCount = (SELECT EmployeeCount FROM Seen) + 1
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
SELECT * FROM Numbers;
ROLLBACK;

.print
.print == In one step
-- UPDATE uses the current number. From then on its transaction is the store's only writer, so no
-- one can write in between: no ETag and no second try. Another writer waits for PRAGMA busy_timeout
-- (here not at all).
BEGIN;
UPDATE OR ROLLBACK Company SET EmployeeCount = EmployeeCount + 1
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
.connection 1
DELETE FROM Company WHERE PartitionKey = 'Sales' AND RowKey = 'EMPLOYEE_000223';
.connection 0
INSERT OR ROLLBACK INTO Company VALUES ('Sales', 'EMPLOYEE_000403', NULL, 'Hall');
COMMIT;
-- The INSERT, which can fail, is the last statement. An employee who is there already is not
-- counted twice: OR ROLLBACK undoes the change of the number, and COMMIT finds no transaction.
BEGIN;
UPDATE OR ROLLBACK Company SET EmployeeCount = EmployeeCount + 1
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
INSERT OR ROLLBACK INTO Company VALUES ('Sales', 'EMPLOYEE_000403', NULL, 'Hall');
COMMIT;
SELECT * FROM Numbers;

-- Dismiss: subtract as many as DELETE has found. Here that is one of two.
BEGIN;
DELETE FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey IN ('EMPLOYEE_000403', 'EMPLOYEE_000999');
UPDATE OR ROLLBACK Company SET EmployeeCount = EmployeeCount - changes()
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
COMMIT;
SELECT * FROM Numbers;

.print
.print == A transaction that reads first
-- It holds no lock. If someone else writes after its SELECT, it can no longer write. So here, too,
-- no update is lost: ROLLBACK and try again.
BEGIN;
SELECT EmployeeCount FROM Company WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
.connection 1
UPDATE Company SET LastName = 'Agar-Kim'
  WHERE PartitionKey = 'Sales' AND RowKey = 'EMPLOYEE_000401';
.connection 0
INSERT INTO Company VALUES ('Sales', 'EMPLOYEE_000404', NULL, 'Bell');
ROLLBACK;

.print
.print == No such employee, no such department: 404
-- DELETE and UPDATE find nothing and succeed. The loud forms, with IfMatch '*', fail.
INSERT INTO Company(PartitionKey, RowKey, WriteMode, IfMatch)
  VALUES ('Sales', 'EMPLOYEE_000403', 'delete', '*');
INSERT INTO Company(PartitionKey, RowKey, LastName, EmployeeCount, WriteMode, IfMatch) VALUES
  ('Archive', 'EMPLOYEE_000404', 'Bell', NULL, 'insert', NULL),
  ('Archive', 'DEPARTMENT_ARCHIVE', NULL, (SELECT EmployeeCount + 1 FROM Company
    WHERE PartitionKey = 'Archive' AND RowKey = 'DEPARTMENT_ARCHIVE'), 'merge', '*');
SELECT count(*) AS "in Archive" FROM Company WHERE PartitionKey = 'Archive';

.print
.print == Two processes at the same time
-- Each runs the script that is written here and hires fifty people, one after the other. No one is
-- lost or counted twice. .bail on ends a script at its first error.
.mode list
.once build/department-count.sql
SELECT '.bail on' UNION ALL SELECT '.load ./ptable' UNION ALL SELECT '.timeout 60000' UNION ALL
SELECT 'CREATE VIRTUAL TABLE Company USING ptable(EmployeeCount Int32, LastName String,
  store=''build/department-count'');' UNION ALL
SELECT 'BEGIN;
UPDATE OR ROLLBACK Company SET EmployeeCount = EmployeeCount + 1
  WHERE PartitionKey = ''Sales'' AND RowKey = ''DEPARTMENT_SALES'';
INSERT OR ROLLBACK INTO Company(PartitionKey, RowKey)
  VALUES (''Sales'', ''EMPLOYEE_'' || pt_guid());
COMMIT;' FROM generate_series(1, 50);
.shell sqlite3 < build/department-count.sql & sqlite3 < build/department-count.sql & wait
.mode box
SELECT * FROM Numbers;

.print
.print == The plain way
-- Count on demand. It reads only the employees' keys, and is never wrong. A stored number is worth
-- the trouble if it is read often and there are many employees.
.eqp on
SELECT count(*) AS employees FROM Company
  WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'EMPLOYEE_');
.eqp off

.connection close 1
.open :memory:
.shell rm -f build/department-count*
