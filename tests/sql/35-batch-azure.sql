-- batch='azure': a transaction must be an entity group transaction of the Table service. The
-- statement that breaks a rule fails, and its message tells which operation of the batch it would
-- have been, counted from 0 as in the service's answers.
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(Name String, Age Int32, batch='azure');
CREATE VIRTUAL TABLE Department USING ptable(Name String, batch='azure');
CREATE VIRTUAL TABLE Audit USING ptable(What String);
CREATE VIRTUAL TABLE temp.Elsewhere USING ptable(v Int32);
CREATE TABLE Plain(v INTEGER);

-- One partition: the statement fails, what was before stays, and the batch may go on.
BEGIN;
INSERT INTO Employee VALUES ('Sales', '1', 'Jun', 34);
INSERT INTO Employee VALUES ('Sales', '2', 'Ken', 23);
INSERT INTO Employee VALUES ('Marketing', '1', 'Don', 46);
INSERT INTO Employee VALUES ('Sales', '3', 'Ann', 51);
COMMIT;
SELECT PartitionKey, RowKey, Name FROM Employee;

-- With OR ROLLBACK the whole batch goes, as in the service.
BEGIN;
INSERT OR ROLLBACK INTO Employee VALUES ('Sales', '4', 'Liz', 28);
INSERT OR ROLLBACK INTO Employee VALUES ('Marketing', '1', 'Don', 46);
COMMIT;
SELECT count(*) FROM Employee;

-- Each statement without BEGIN is a batch, too, and leaves nothing behind when it fails.
INSERT INTO Employee VALUES ('Marketing', '1', 'Don', 46), ('Sales', '4', 'Liz', 28);
INSERT INTO Employee VALUES ('Marketing', '1', 'Don', 46), ('Marketing', '2', 'Eve', 40);
UPDATE Employee SET Age = Age + 1;
DELETE FROM Employee;
UPDATE Employee SET Age = Age + 1 WHERE PartitionKey = 'Marketing';
SELECT PartitionKey, RowKey, Age FROM Employee;

-- Each entity once, also if the second operation deletes it or makes it anew: it is not the entity
-- that exists that is complained about.
BEGIN;
UPDATE Employee SET Age = 35 WHERE PartitionKey = 'Sales' AND RowKey = '1';
UPDATE Employee SET Age = 36 WHERE PartitionKey = 'Sales' AND RowKey = '1';
INSERT INTO Employee VALUES ('Sales', '1', 'Jun', 37);
INSERT OR REPLACE INTO Employee VALUES ('Sales', '1', 'Jun', 38);
DELETE FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '1';
DELETE FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '2';
INSERT INTO Employee VALUES ('Sales', '2', 'Ken', 24);
COMMIT;
SELECT RowKey, Age FROM Employee WHERE PartitionKey = 'Sales';

-- What finds nothing is no operation; what fails otherwise is none either.
BEGIN;
UPDATE Employee SET Age = 1 WHERE PartitionKey = 'Nobody';
DELETE FROM Employee WHERE PartitionKey = 'Nobody';
INSERT INTO Employee VALUES ('Marketing', '1', 'exists', 1);
INSERT INTO Employee VALUES ('Sales', '2', 'Ken', 24);
COMMIT;

-- A change of keys is two operations: an insert and a delete.
BEGIN;
UPDATE Employee SET RowKey = '9' WHERE PartitionKey = 'Sales' AND RowKey = '2';
INSERT INTO Employee VALUES ('Marketing', '3', 'Pat', 30);
INSERT INTO Employee VALUES ('Sales', '2', 'again', 1);
ROLLBACK;
UPDATE Employee SET PartitionKey = 'Marketing' WHERE PartitionKey = 'Sales' AND RowKey = '3';
SELECT PartitionKey, RowKey, Name FROM Employee;

-- The loud forms: a rule that is broken comes before the entity that is missing or exists.
BEGIN;
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode) VALUES ('Sales', '1', 36, 'merge');
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode) VALUES ('Sales', '1', 37, 'merge');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('Sales', '1', 'delete');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('Sales', '2', 'delete', '*');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('Sales', '2', 'delete', '*');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('Other', '1', 'delete', '*');
INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('Other', '1', 'delete');
INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode) VALUES ('Marketing', '1', 1, 'insert');
ROLLBACK;

-- At most 100 operations.
CREATE TABLE Number(n INTEGER PRIMARY KEY);
WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 101)
  INSERT INTO Number SELECT n FROM more;
INSERT INTO Employee(PartitionKey, RowKey, Age) SELECT 'Many', n, n FROM Number;
INSERT INTO Employee(PartitionKey, RowKey, Age) SELECT 'Many', n, n FROM Number WHERE n <= 100;
BEGIN;
UPDATE Employee SET Age = 0 WHERE PartitionKey = 'Many' AND RowKey >= '2';
INSERT INTO Employee VALUES ('Many', '1001', 'x', 1);
SAVEPOINT s;
INSERT INTO Employee SELECT 'Many', 2000 + n, 'x', 1 FROM Number WHERE n <= 20;
DELETE FROM Employee WHERE PartitionKey = 'Many' AND RowKey IN ('1', '10');
ROLLBACK TO s;
-- 89 are pending, and soon 99; a change of keys would be operations 99 and 100, which is half too
-- many, and is not half done.
INSERT INTO Employee SELECT 'Many', 3000 + n, 'x', 1 FROM Number WHERE n <= 10;
UPDATE Employee SET RowKey = 'ten' WHERE PartitionKey = 'Many' AND RowKey = '10';
SELECT count(*), sum(RowKey = '10'), sum(RowKey = 'ten') FROM Employee WHERE PartitionKey = 'Many';
COMMIT;
SELECT count(*), sum(Age) FROM Employee WHERE PartitionKey = 'Many';

-- At most 4 MiB.
BEGIN;
INSERT INTO Employee SELECT 'Big', n, printf('%.1000000c', 'x'), n FROM Number WHERE n <= 4;
INSERT INTO Employee VALUES ('Big', '5', printf('%.200000c', 'x'), 5);
INSERT INTO Employee VALUES ('Big', '6', 'small', 6);
COMMIT;
SELECT RowKey, length(Name) FROM Employee WHERE PartitionKey = 'Big';
-- Too big is not what OR ROLLBACK acts upon: the transaction is still open.
BEGIN;
INSERT OR ROLLBACK INTO Employee SELECT 'Huge', n, printf('%.1000000c', 'x'), n FROM Number WHERE n <= 4;
INSERT OR ROLLBACK INTO Employee VALUES ('Huge', '5', printf('%.200000c', 'x'), 5);
ROLLBACK;
SELECT count(*) FROM Employee WHERE PartitionKey = 'Huge';

-- One table: neither another with the rule, nor one without, nor one in another store may be
-- written in the same transaction. SQLite's own tables may.
BEGIN;
INSERT INTO Employee VALUES ('Sales', '5', 'Tom', 20);
INSERT INTO Department VALUES ('Sales', 'd', 'Sales');
INSERT INTO Audit VALUES ('Sales', '1', 'Tom came');
INSERT INTO Elsewhere VALUES ('Sales', '1', 1);
INSERT INTO Plain VALUES (1);
INSERT INTO Employee VALUES ('Sales', '6', 'Tim', 21);
COMMIT;
BEGIN;
INSERT INTO Audit VALUES ('Sales', '2', 'first'), ('Marketing', '2', 'Audit has no such rule');
INSERT INTO Audit VALUES ('Sales', '2', 'and its own errors');
INSERT INTO Employee VALUES ('Sales', '7', 'Una', 22);
COMMIT;
BEGIN;
INSERT INTO Elsewhere VALUES ('Sales', '2', 2);
INSERT INTO Employee VALUES ('Sales', '7', 'Una', 22);
ROLLBACK;
SELECT (SELECT group_concat(RowKey) FROM Employee WHERE PartitionKey = 'Sales') AS employees,
  (SELECT count(*) FROM Department) AS departments, (SELECT count(*) FROM Audit) AS audit,
  (SELECT count(*) FROM Elsewhere) AS elsewhere, (SELECT count(*) FROM Plain) AS plain;

-- Rolled back to before the batch, the transaction may be another one.
BEGIN;
SAVEPOINT a;
INSERT INTO Employee VALUES ('Sales', '7', 'Una', 22);
SAVEPOINT b;
INSERT INTO Employee VALUES ('Sales', '8', 'Uwe', 22);
ROLLBACK TO b;
INSERT INTO Audit VALUES ('x', '1', 'not yet');
ROLLBACK TO a;
INSERT INTO Audit VALUES ('x', '1', 'now'), ('y', '1', 'anywhere');
UPDATE Audit SET What = 'again' WHERE PartitionKey = 'x';
INSERT INTO Elsewhere VALUES ('Sales', '3', 3);
INSERT INTO Employee VALUES ('Sales', '7', 'Una', 22);
COMMIT;
SELECT PartitionKey, RowKey, What FROM Audit;

-- In a transaction that is a batch, tables without the rule keep it as well: here another
-- declaration of the same table.
CREATE VIRTUAL TABLE Free USING ptable(Name String, table=Employee);
BEGIN;
INSERT INTO Free VALUES ('Sales', '7', 'Una');
INSERT INTO Employee VALUES ('Sales', '8', 'Uwe', 22);
INSERT INTO Free VALUES ('Sales', '9', 'Ute');
UPDATE Free SET Name = 'twice' WHERE PartitionKey = 'Sales' AND RowKey = '7';
DELETE FROM Free WHERE PartitionKey = 'Many';
COMMIT;
SELECT group_concat(RowKey) FROM Employee WHERE PartitionKey = 'Sales';
BEGIN;
UPDATE Free SET Name = 'once';
UPDATE Free SET Name = 'twice' WHERE PartitionKey = 'Sales';
COMMIT;
SELECT Name, count(*) FROM Employee GROUP BY Name;

-- A table may be made and a batch written in one transaction; reading is free.
BEGIN;
CREATE VIRTUAL TABLE Task USING ptable(Done Boolean, limits=azure, batch=azure);
INSERT INTO Task VALUES ('today', '1', 0), ('today', '2', 0);
SELECT count(*) FROM Task, Employee, Audit WHERE Employee.PartitionKey = 'Marketing';
COMMIT;
SELECT * FROM Task;
CREATE VIRTUAL TABLE Wrong USING ptable(batch=cosmos);
