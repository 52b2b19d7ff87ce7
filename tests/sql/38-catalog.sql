-- pt_tables: the tables of a store as rows. SELECT lists them, INSERT makes one, DELETE drops one
-- with its entities.
.load ./ptable
.nullvalue NULL

-- Nothing is open yet. INSERT makes the private store of a database in memory.
SELECT * FROM pt_tables;
DELETE FROM pt_tables WHERE TableName = 'Logins';
INSERT INTO pt_tables(TableName) VALUES ('Logins');
SELECT * FROM pt_tables;
CREATE VIRTUAL TABLE Login USING ptable(At DateTime, table=logins);
INSERT INTO Login VALUES ('h08', '1', '2026-11-02 08:00');
SELECT TableName, Entities FROM pt_tables;
.open :memory:
.load ./ptable
BEGIN;
INSERT INTO pt_tables(TableName) VALUES ('Logins');
ROLLBACK;
SELECT count(*) FROM pt_tables;
-- A database in a file has a store once a ptable is declared.
.open nothing.db
.load ./ptable
INSERT INTO pt_tables(TableName) VALUES ('Logins');

.open contoso.db
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, Age Int32);
INSERT INTO Employee VALUES ('Sales', '000223', 'Jun', 34), ('Sales', '000312', 'Ken', 23),
  ('Marketing', '000150', 'Don', 46);
CREATE VIRTUAL TABLE Department USING ptable(EmployeeCount Int32);
INSERT INTO Department VALUES ('Contoso', 'Sales', 153);

-- Without Store it is the main database's own store. Names are compared without case.
SELECT * FROM pt_tables;
SELECT TableName, Entities FROM pt_tables WHERE TableName = 'EMPLOYEE';
SELECT TableName FROM pt_tables WHERE TableName = 'Nobody';
SELECT count(*) FROM pt_tables WHERE TableName = NULL OR TableName = x'45';
-- A number in a column is compared as a number.
CREATE TEMP TABLE Year(Number INTEGER);
INSERT INTO Year VALUES (2026);
INSERT INTO pt_tables(TableName) VALUES ('2026'), ('02026');
SELECT TableName FROM Year CROSS JOIN pt_tables ON TableName = Number;
SELECT TableName FROM pt_tables WHERE TableName IN (SELECT Number FROM Year);
SELECT TableName FROM pt_tables WHERE TableName = 2026;
DELETE FROM pt_tables WHERE TableName IN ('2026', '02026');

-- A table needs no ptable: INSERT makes an empty one, in any store that exists.
INSERT INTO pt_tables(TableName) VALUES ('Logins20261101'), ('Logins20261102');
SELECT TableName, Entities, Bytes FROM pt_tables ORDER BY TableName DESC;
INSERT INTO pt_tables(TableName) VALUES ('logins20261101');
INSERT OR IGNORE INTO pt_tables(TableName) VALUES ('LOGINS20261101'), ('Logins20261103');
SELECT changes();
INSERT OR REPLACE INTO pt_tables(TableName) VALUES ('Employee');
SELECT count(*) FROM Employee;
CREATE VIRTUAL TABLE Monday USING ptable(At DateTime, table=Logins20261102);
INSERT INTO Monday VALUES ('h08', '1', '2026-11-02 08:00');
SELECT TableName, Entities FROM pt_tables WHERE TableName LIKE 'logins%';

-- What cannot be: names that are none, counts that are given, changes.
INSERT INTO pt_tables(TableName) VALUES ('');
INSERT INTO pt_tables(TableName) VALUES (NULL);
INSERT INTO pt_tables(TableName) VALUES (x'4142');
INSERT INTO pt_tables(TableName) VALUES ('a' || char(0));
INSERT INTO pt_tables(TableName) VALUES (printf('%501c', 'n'));
INSERT INTO pt_tables(TableName, Entities) VALUES ('Full', 100);
-- Limits is for INSERT only. 'azure' refuses what the Table service refuses.
INSERT INTO pt_tables(TableName, Limits) VALUES ('ok1', 'azure'), ('a' || printf('%.62c', '9'), 'AZURE');
INSERT INTO pt_tables(TableName, Limits) VALUES ('2026', 'none'), ('a-b', NULL), ('tables', 'None');
SELECT TableName, Limits FROM pt_tables WHERE TableName NOT LIKE 'Log%' AND Limits IS NULL;
INSERT INTO pt_tables(TableName, Limits) VALUES ('2027', 'azure');
INSERT INTO pt_tables(TableName, Limits) VALUES ('a_b', 'azure');
INSERT INTO pt_tables(TableName, Limits) VALUES ('Größe', 'azure');
INSERT INTO pt_tables(TableName, Limits) VALUES ('ab', 'azure');
INSERT INTO pt_tables(TableName, Limits) VALUES ('a' || printf('%.63c', '9'), 'azure');
INSERT INTO pt_tables(TableName, Limits) VALUES ('TABLES', 'azure');
INSERT OR IGNORE INTO pt_tables(TableName, Limits) VALUES ('2028', 'azure'), ('ok1', 'azure');
INSERT INTO pt_tables(TableName, Limits) VALUES ('ok2', 'strict');
INSERT INTO pt_tables(TableName, Limits) VALUES ('ok2', 1);
DELETE FROM pt_tables WHERE TableName IN ('2026', 'a-b', 'tables', 'ok1') OR length(TableName) = 63;
SELECT group_concat(TableName) FROM pt_tables;
PRAGMA table_info(pt_tables);
INSERT INTO pt_tables(rowid, TableName) VALUES (7, 'Seven');
UPDATE pt_tables SET TableName = 'Staff' WHERE TableName = 'Employee';
SELECT count(*) FROM pt_tables;

-- DELETE drops a table with all its entities; a ptable of it then has nothing to show.
DELETE FROM pt_tables WHERE TableName = 'Logins20261102';
SELECT changes();
SELECT * FROM Monday;
INSERT INTO Monday VALUES ('h09', '1', NULL);
DELETE FROM pt_tables WHERE TableName = 'Logins20261102';
SELECT changes();
-- Made again it is another one, empty.
INSERT INTO pt_tables(TableName) VALUES ('Logins20261102');
SELECT count(*) FROM Monday;
-- Several at once.
DELETE FROM pt_tables WHERE TableName GLOB 'Logins*';
SELECT changes();
SELECT TableName FROM pt_tables;

-- It is part of the transaction: what is dropped comes back with ROLLBACK.
BEGIN;
INSERT INTO Employee VALUES ('Sales', '000400', 'Ann', 51);
SELECT TableName, Entities FROM pt_tables;
DELETE FROM pt_tables WHERE TableName = 'Employee';
SELECT TableName FROM pt_tables;
SELECT count(*) FROM Employee;
ROLLBACK;
SELECT count(*), sum(Age) FROM Employee;

-- Savepoints too. A table dropped and made again in one transaction begins empty.
BEGIN;
UPDATE Employee SET Age = 35 WHERE RowKey = '000223';
SAVEPOINT before;
DELETE FROM pt_tables WHERE TableName = 'Employee';
INSERT INTO pt_tables(TableName) VALUES ('Employee');
INSERT INTO Employee VALUES ('New', '1', 'Eve', 1);
SELECT * FROM Employee;
ROLLBACK TO before;
SELECT * FROM Employee WHERE PartitionKey = 'Sales';
DELETE FROM pt_tables WHERE TableName = 'Employee';
INSERT INTO pt_tables(TableName) VALUES ('Employee');
INSERT INTO Employee VALUES ('New', '2', 'Eve', 2);
COMMIT;
SELECT * FROM Employee;
SELECT TableName, Entities FROM pt_tables;

-- A statement that fails leaves nothing behind.
BEGIN;
INSERT INTO pt_tables(TableName) VALUES ('One'), ('Two'), ('Employee');
SELECT TableName FROM pt_tables;
INSERT OR FAIL INTO pt_tables(TableName) VALUES ('Three'), ('Employee'), ('Four');
SELECT TableName FROM pt_tables;
COMMIT;
DELETE FROM pt_tables WHERE TableName = 'Three';

-- Other stores are named as the option store names them, whether they are open or not; a store is
-- never made by this.
CREATE VIRTUAL TABLE Old USING ptable(V, store='archive.ptable');
DROP TABLE Old;
SELECT * FROM pt_tables WHERE Store = 'archive.ptable';
INSERT INTO pt_tables(Store, TableName) VALUES ('archive.ptable', 'Older');
DELETE FROM pt_tables WHERE Store = 'archive.ptable' AND TableName = 'Old';
SELECT * FROM pt_tables WHERE Store IN ('archive.ptable', 'contoso.db-ptable');
SELECT * FROM pt_tables WHERE Store = 'elsewhere.ptable';
INSERT INTO pt_tables(Store, TableName) VALUES ('elsewhere.ptable', 'T');
SELECT readfile('elsewhere.ptable') IS NULL;
BEGIN;
DELETE FROM pt_tables WHERE Store = 'archive.ptable' OR Store = 'contoso.db-ptable' AND TableName = 'Employee';
SELECT * FROM pt_tables WHERE Store IN ('archive.ptable', 'contoso.db-ptable');
ROLLBACK;
-- A private store is named as it is shown.
CREATE VIRTUAL TABLE temp.Scratch USING ptable(V);
SELECT * FROM pt_tables WHERE Store = '(private temp)';
SELECT * FROM pt_tables WHERE Store = '(private)';

-- Where the main database has no store of its own, SELECT shows all that are open, and to write one
-- must say which.
.open :memory:
.load ./ptable
CREATE VIRTUAL TABLE A USING ptable(V, store='archive.ptable', table='Older');
CREATE VIRTUAL TABLE B USING ptable(V, store='contoso.db-ptable', table='Department');
SELECT count(*) FROM A UNION ALL SELECT count(*) FROM B;
SELECT * FROM pt_tables;
DELETE FROM pt_tables WHERE TableName = 'Department';
INSERT INTO pt_tables(TableName) VALUES ('T');
DELETE FROM pt_tables WHERE Store = 'contoso.db-ptable' AND TableName = 'Department';
SELECT * FROM B;
-- A join gives the Store; so does a subquery.
SELECT t.TableName FROM pt_stores s JOIN pt_tables t ON t.Store = s.Store ORDER BY 1;
SELECT TableName FROM pt_tables WHERE Store = (SELECT min(Store) FROM pt_stores);

-- Not from views and triggers, which may be somebody else's.
CREATE VIEW v AS SELECT * FROM pt_tables;
SELECT * FROM v;

-- Rowids tell the tables of a connection apart.
SELECT count(DISTINCT rowid) = count(*) FROM pt_tables;
EXPLAIN QUERY PLAN SELECT * FROM pt_tables WHERE Store = 'a' AND TableName = 'b';
SELECT TableName FROM pt_tables WHERE Store IS 'archive.ptable';

-- A table whose declarations are all read-only is neither dropped nor changed. With another that
-- may write, it is.
CREATE VIRTUAL TABLE Seen USING ptable(V, store='seen.ptable', table='First');
INSERT INTO Seen VALUES ('p', '1', 1);
INSERT INTO pt_tables(Store, TableName) VALUES ('seen.ptable', 'Second');
DROP TABLE Seen;
CREATE VIRTUAL TABLE Seen USING ptable(V, store='seen.ptable', table='First', readonly=1);
DELETE FROM pt_tables WHERE Store = 'seen.ptable' AND TableName = 'First';
DELETE FROM pt_tables WHERE Store = 'seen.ptable';
UPDATE pt_tables SET Expires = 'V' WHERE Store = 'seen.ptable' AND TableName = 'First';
SELECT TableName, Entities FROM pt_tables WHERE Store = 'seen.ptable';
DELETE FROM pt_tables WHERE Store = 'seen.ptable' AND TableName = 'Second';
CREATE VIRTUAL TABLE Writer USING ptable(V, store='seen.ptable', table='First');
DELETE FROM pt_tables WHERE Store = 'seen.ptable';
SELECT TableName, Entities FROM pt_tables WHERE Store = 'seen.ptable';
