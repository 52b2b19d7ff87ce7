-- DROP TABLE detaches a table; its entities stay in the store and another declaration finds them.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE Employee USING ptable(Name String, Age Int32, store='hr.ptable');
INSERT INTO Employee VALUES ('Sales', '1', 'Ann', 30), ('Sales', '2', 'Bob', 40);
DROP TABLE Employee;
SELECT * FROM Employee;

-- Declared again, with other columns: nothing is copied or converted.
CREATE VIRTUAL TABLE Employee USING ptable(Age, City String, store='hr.ptable');
SELECT * FROM Employee;
INSERT INTO Employee VALUES ('Sales', '3', 50, 'Rome');
SELECT RowKey, Properties FROM Employee;

-- Two declarations of one table at the same time, under different names.
CREATE VIRTUAL TABLE Names USING ptable(Name String, store='hr.ptable', table='Employee');
SELECT * FROM Names;
UPDATE Names SET Name = 'Eve' WHERE RowKey = '3';
SELECT Properties ->> 'Name' FROM Employee WHERE RowKey = '3';

-- The name in the store is found without regard to case, as the service does.
CREATE VIRTUAL TABLE Again USING ptable(Name String, store='hr.ptable', table='EMPLOYEE');
SELECT count(*) FROM Again;

-- IF NOT EXISTS and IF EXISTS work as usual.
CREATE VIRTUAL TABLE IF NOT EXISTS Employee USING ptable(store='other.ptable');
DROP TABLE IF EXISTS Missing;
SELECT count(*) FROM Employee;

-- The declared name says which table of the store it is, so it cannot be changed ...
ALTER TABLE Employee RENAME TO Staff;
-- ... unless the option table says it.
ALTER TABLE Names RENAME TO FirstNames;
SELECT * FROM FirstNames WHERE RowKey = '1';
INSERT INTO FirstNames VALUES ('Sales', '4', 'Kim');
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales';
SELECT name FROM sqlite_schema ORDER BY name;

-- Nor can columns be added, dropped or renamed: DROP and CREATE again, the entities stay.
ALTER TABLE Employee ADD COLUMN Email TEXT;
ALTER TABLE Employee DROP COLUMN City;
ALTER TABLE Employee RENAME COLUMN City TO Town;

-- CREATE and DROP in a transaction that is rolled back.
BEGIN;
CREATE VIRTUAL TABLE Brief USING ptable(v, store='hr.ptable');
INSERT INTO Brief VALUES ('p', '1', 1);
SELECT count(*) FROM Brief;
ROLLBACK;
SELECT count(*) FROM Brief;
BEGIN;
DROP TABLE Again;
ROLLBACK;
SELECT count(*) FROM Again;

-- The rolled back table left nothing behind: its name is free and empty.
CREATE VIRTUAL TABLE Brief USING ptable(v, store='hr.ptable');
SELECT count(*) FROM Brief;

-- A private store goes with its connection, but not with its table.
CREATE VIRTUAL TABLE Private USING ptable(v);
INSERT INTO Private VALUES ('p', '1', 1);
DROP TABLE Private;
CREATE VIRTUAL TABLE Private USING ptable(v);
SELECT * FROM Private;

-- CREATE TABLE AS copies into an ordinary table.
CREATE TABLE Plain AS SELECT PartitionKey, RowKey, Age FROM Employee;
SELECT count(*), sql FROM Plain, sqlite_schema WHERE name = 'Plain';
