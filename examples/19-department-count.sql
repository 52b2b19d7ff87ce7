-- ==================================================================================
-- A department that knows how many employees it has.
--
-- Problem:  the number must be right although several people hire and dismiss at the same time.
-- Pattern:  the number is a property of the department, written in the same batch (entity group
--           transaction) as the employee, with the ETag of the department that was read. If
--           somebody was faster, the batch is refused as a whole (412): read again and repeat.
-- Keys:     PartitionKey = department, RowKey = DEPARTMENT_SALES or EMPLOYEE_000223:
--           one partition, so one batch.
-- Cost:     each change writes the department too, and those who meet there repeat their work.
-- In SQL:   SET EmployeeCount = EmployeeCount + 1 reads and writes in one step, so there is nothing
--           to repeat. Often count(*), which reads only keys, is enough.
-- ==================================================================================
.shell rm -f build/19-department-count*
-- Two writers, connections 0 and 1, on one store. Each has read the department.
.load ./ptable
CREATE VIRTUAL TABLE Company USING ptable(EmployeeCount Int32, LastName String,
  store='build/19-department-count');
INSERT INTO Company VALUES ('Sales', 'DEPARTMENT_SALES', 2, NULL),
  ('Sales', 'EMPLOYEE_000223', NULL, 'Jones'), ('Sales', 'EMPLOYEE_000312', NULL, 'Kwok');
CREATE TEMP TABLE Seen AS SELECT EmployeeCount, ETag AS Tag FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
.connection 1
.open :memory:
.load ./ptable
CREATE VIRTUAL TABLE Company USING ptable(EmployeeCount Int32, LastName String,
  store='build/19-department-count');
CREATE TEMP TABLE Seen AS SELECT EmployeeCount, ETag AS Tag FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';

-- ---- With the ETag ------------------------------------------------------------------

-- The second writer hires Ann: the employee, and the number merged into what was read.
BEGIN;
INSERT OR ROLLBACK INTO Company VALUES ('Sales', 'EMPLOYEE_000401', NULL, 'Agar');
INSERT OR ROLLBACK INTO Company(PartitionKey, RowKey, EmployeeCount, WriteMode, IfMatch)
  SELECT 'Sales', 'DEPARTMENT_SALES', EmployeeCount + 1, 'merge', Tag FROM Seen;
COMMIT;

-- The first writer hires Nina by what it has read: 412. OR ROLLBACK takes her row back, too.
.connection 0
BEGIN;
INSERT OR ROLLBACK INTO Company VALUES ('Sales', 'EMPLOYEE_000402', NULL, 'Nash');
INSERT OR ROLLBACK INTO Company(PartitionKey, RowKey, EmployeeCount, WriteMode, IfMatch)
  SELECT 'Sales', 'DEPARTMENT_SALES', EmployeeCount + 1, 'merge', Tag FROM Seen;
SELECT RowKey, coalesce(EmployeeCount, LastName) FROM Company WHERE PartitionKey = 'Sales';

-- The second round: read again, then everything once more.
UPDATE Seen SET (EmployeeCount, Tag) = (SELECT EmployeeCount, ETag FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES');
BEGIN;
INSERT OR ROLLBACK INTO Company VALUES ('Sales', 'EMPLOYEE_000402', NULL, 'Nash');
INSERT OR ROLLBACK INTO Company(PartitionKey, RowKey, EmployeeCount, WriteMode, IfMatch)
  SELECT 'Sales', 'DEPARTMENT_SALES', EmployeeCount + 1, 'merge', Tag FROM Seen;
COMMIT;
CREATE TEMP VIEW Numbers AS SELECT (SELECT EmployeeCount FROM Company
    WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES') AS EmployeeCount,
  (SELECT count(*) FROM Company
    WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'EMPLOYEE_')) AS employees;
.headers on
SELECT * FROM Numbers;

-- Without the ETag an old number overwrites a new one: what was read is 3, so Don is not counted.
BEGIN;
INSERT OR ROLLBACK INTO Company VALUES ('Sales', 'EMPLOYEE_000403', NULL, 'Hall');
UPDATE Company SET EmployeeCount = (SELECT EmployeeCount FROM Seen) + 1
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
SELECT * FROM Numbers;
ROLLBACK;

-- ---- In one step --------------------------------------------------------------------

-- UPDATE takes the number that is there now. Its transaction has been the store's only writer
-- since the INSERT, so nobody comes in between: no ETag and no second round. Another writer waits,
-- as long as PRAGMA busy_timeout says (here not at all).
BEGIN;
INSERT OR ROLLBACK INTO Company VALUES ('Sales', 'EMPLOYEE_000403', NULL, 'Hall');
.connection 1
DELETE FROM Company WHERE PartitionKey = 'Sales' AND RowKey = 'EMPLOYEE_000223';
.connection 0
UPDATE OR ROLLBACK Company SET EmployeeCount = EmployeeCount + 1
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
COMMIT;
SELECT * FROM Numbers;

-- Dismiss: minus as many as DELETE has found. Here that is one of two.
BEGIN;
DELETE FROM Company
  WHERE PartitionKey = 'Sales' AND RowKey IN ('EMPLOYEE_000403', 'EMPLOYEE_000999');
UPDATE OR ROLLBACK Company SET EmployeeCount = EmployeeCount - changes()
  WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
COMMIT;
SELECT * FROM Numbers;

-- A transaction that reads first holds no lock. If somebody writes after its SELECT, it may not
-- write any more. So here, too, no number is lost: ROLLBACK and try again.
BEGIN;
SELECT EmployeeCount FROM Company WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES';
.connection 1
UPDATE Company SET LastName = 'Agar-Kim'
  WHERE PartitionKey = 'Sales' AND RowKey = 'EMPLOYEE_000401';
.connection 0
INSERT INTO Company VALUES ('Sales', 'EMPLOYEE_000404', NULL, 'Bell');
ROLLBACK;

-- Who is not there, or which department: DELETE and UPDATE find nothing and are content. The loud
-- forms, with IfMatch '*', are not (404).
INSERT INTO Company(PartitionKey, RowKey, WriteMode, IfMatch)
  VALUES ('Sales', 'EMPLOYEE_000403', 'delete', '*');
BEGIN;
INSERT OR ROLLBACK INTO Company VALUES ('Archive', 'EMPLOYEE_000404', NULL, 'Bell');
INSERT OR ROLLBACK INTO Company(PartitionKey, RowKey, EmployeeCount, WriteMode, IfMatch)
  VALUES ('Archive', 'DEPARTMENT_ARCHIVE', (SELECT EmployeeCount + 1 FROM Company
    WHERE PartitionKey = 'Archive' AND RowKey = 'DEPARTMENT_ARCHIVE'), 'merge', '*');
SELECT count(*) AS "in Archive" FROM Company WHERE PartitionKey = 'Archive';

-- ---- Two processes at the same time -------------------------------------------------

-- Each hires fifty people, one after the other. None is lost, none counted twice.
.headers off
.once build/19-department-count.sql
SELECT '.load ./ptable' UNION ALL SELECT '.timeout 60000' UNION ALL
SELECT 'CREATE VIRTUAL TABLE Company USING ptable(EmployeeCount Int32, LastName String,
  store=''build/19-department-count'');' UNION ALL
SELECT 'BEGIN;
INSERT OR ROLLBACK INTO Company(PartitionKey, RowKey)
  VALUES (''Sales'', ''EMPLOYEE_'' || pt_guid());
UPDATE OR ROLLBACK Company SET EmployeeCount = EmployeeCount + 1
  WHERE PartitionKey = ''Sales'' AND RowKey = ''DEPARTMENT_SALES'';
COMMIT;' FROM generate_series(1, 50);
.shell sqlite3 < build/19-department-count.sql & sqlite3 < build/19-department-count.sql & wait
.headers on
SELECT * FROM Numbers;

-- ---- The plain way ------------------------------------------------------------------

-- Count when somebody asks. It reads the employees' keys, nothing else, and is never wrong. A
-- stored number is worth its trouble where it is asked for often and the employees are many.
.eqp on
SELECT count(*) AS employees FROM Company
  WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'EMPLOYEE_');
.eqp off
.connection close 1
.shell rm -f build/19-department-count*
