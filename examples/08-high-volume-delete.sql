-- High-volume delete
-- Problem: every login attempt is stored, and those older than 60 days must go. Deleting them one
--   by one costs as much as writing them did, and a batch of the service takes at most 100.
-- Solution: a table for each day. To forget a day, drop its table: one operation, however many
--   entities it has.
--   Or, in one table, a partition for each day: DELETE FROM pt_partitions deletes it in one loop.
-- When: data expires by age, and much of it at once.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Logins20140530 USING ptable(Success Boolean);
CREATE VIRTUAL TABLE Logins20140731 USING ptable(Success Boolean);
INSERT INTO Logins20140530 VALUES ('jonesj@contoso.com', '08:01:12_0001', 1);
INSERT INTO Logins20140731 VALUES ('jonesj@contoso.com', '08:00:05_0001', 1);
DELETE FROM pt_tables WHERE TableName GLOB 'Logins*' AND TableName < 'Logins20140601';
SELECT TableName, Entities FROM pt_tables;

-- In detail, in a new database
--
-- Keys: table         the day: Logins20140731
--       PartitionKey  the user: 'jonesj@contoso.com'
--       RowKey        the time of day and a number: '08:03:40_0002'
-- Costs: a question about many days takes a query for each table.
-- Better in SQL: one view reads all tables. Dropping tables is part of a transaction, and the names
--   are free at once.
.open :memory:
.load ./ptable

.print
.print == A table for each day
-- The service allows only letters and digits in a name, so the first is refused.
CREATE VIRTUAL TABLE "Logins2014-07-31" USING ptable(Success Boolean, limits='azure');
CREATE VIRTUAL TABLE Logins20140530 USING ptable(Success Boolean, limits='azure');
CREATE VIRTUAL TABLE Logins20140531 USING ptable(Success Boolean, limits='azure');
CREATE VIRTUAL TABLE Logins20140601 USING ptable(Success Boolean, limits='azure');
CREATE VIRTUAL TABLE Logins20140731 USING ptable(Success Boolean, limits='azure');
-- 300 attempts of other users on the first day, and jonesj logs in on each day. The number at the
-- end keeps two attempts in one second apart.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
INSERT INTO Logins20140530
  SELECT 'user' || pt_pad(i % 30, 2) || '@contoso.com', time(i * 200, 'unixepoch') || '_0001', 1
  FROM n;
INSERT INTO Logins20140530 VALUES ('jonesj@contoso.com', '08:01:12_0001', 1);
INSERT INTO Logins20140531 VALUES ('jonesj@contoso.com', '08:03:40_0001', 0),
  ('jonesj@contoso.com', '08:03:40_0002', 1), ('donh@contoso.com', '09:15:00_0001', 1);
INSERT INTO Logins20140601 VALUES ('jonesj@contoso.com', '07:58:21_0001', 1);
INSERT INTO Logins20140731 VALUES ('jonesj@contoso.com', '08:00:05_0001', 1),
  ('donh@contoso.com', '10:44:59_0001', 1);
SELECT TableName, Entities FROM pt_tables WHERE TableName GLOB 'Logins*';

.print
.print == One view over all days
-- Its text is made from the list of tables, by the view LoginText. (SQLite takes up to 500 tables
-- in such a view.)
CREATE TEMP VIEW LoginText AS
  SELECT 'DROP VIEW IF EXISTS temp.Login; CREATE TEMP VIEW Login AS ' ||
      group_concat('SELECT ''' || substr(TableName, 7) || ''' AS Day, * FROM ' || TableName,
        ' UNION ALL ') || ';'
    FROM pt_tables WHERE TableName GLOB 'Logins[0-9]*';
-- Whenever a day is added or dropped: .once writes the text to a file, .read runs it.
.mode list
.once build/logins.sql
SELECT * FROM LoginText;
.read build/logins.sql
.mode box
-- A user's attempts on all days: a partition scan in each table.
.eqp on
SELECT * FROM Login WHERE PartitionKey = 'jonesj@contoso.com';
-- Some days only: the plan lists all tables, but those of other days are not read.
SELECT Day, RowKey, Success FROM Login
  WHERE PartitionKey = 'jonesj@contoso.com' AND Day BETWEEN '20140531' AND '20140601';
.eqp off

.print
.print == On 31 July 2014 everything before 1 June is dropped
-- Year, month, day: the names sort like dates.
CREATE TEMP TABLE Oldest AS SELECT 'Logins' || strftime('%Y%m%d', '2014-07-31', '-60 days') AS Kept;
SELECT Kept FROM Oldest;
-- In a transaction the tables are gone at once, and ROLLBACK brings them back.
BEGIN;
DELETE FROM pt_tables WHERE TableName GLOB 'Logins[0-9]*' AND TableName < (SELECT Kept FROM Oldest);
SELECT TableName, Entities FROM pt_tables WHERE TableName GLOB 'Logins*';
ROLLBACK;
SELECT count(*) AS "back again" FROM Logins20140530;
-- For good. changes() counts tables.
DELETE FROM pt_tables WHERE TableName GLOB 'Logins[0-9]*' AND TableName < (SELECT Kept FROM Oldest);
SELECT changes() AS dropped;

.print
.print == The view still names the dropped tables: 404
-- A query about other days works, because it does not read them.
SELECT count(*) FROM Login;
SELECT count(*) AS attempts FROM Login WHERE Day >= '20140601';
-- So drop the declarations too, and make the view again.
DROP TABLE Logins20140530;
DROP TABLE Logins20140531;
.mode list
.once build/logins.sql
SELECT * FROM LoginText;
.read build/logins.sql
.mode box
SELECT Day, count(*) AS attempts FROM Login GROUP BY Day;

.print
.print == The name is free at once
-- The service keeps a dropped name busy for 40 seconds or more (409 TableBeingDeleted), and is slow
-- with a new table at first. Here it is free even in the same transaction.
BEGIN;
DELETE FROM pt_tables WHERE TableName = 'Logins20140601';
INSERT INTO pt_tables(TableName) VALUES ('Logins20140601');
-- (A second table of that name, in any case, is refused.)
INSERT INTO pt_tables(TableName) VALUES ('logins20140601');
SELECT count(*) AS attempts FROM Logins20140601;
ROLLBACK;

.print
.print == One table, and a partition for each day
-- Where the day can come first in the key, one table is enough, and no view is needed. The entities
-- are deleted one by one, but without passing through SQLite. changes() counts partitions.
CREATE VIRTUAL TABLE LoginsByDay USING ptable(Success Boolean, limits='azure');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
INSERT INTO LoginsByDay SELECT '20140530', 'user' || pt_pad(i, 3) || '@contoso.com_08:00', 1 FROM n;
INSERT INTO LoginsByDay SELECT '20140731', PartitionKey || '_' || RowKey, Success FROM Logins20140731;
.eqp on
DELETE FROM pt_partitions WHERE TableName = 'LoginsByDay' AND PartitionKey < '20140601';
.eqp off
SELECT changes() AS days;
SELECT PartitionKey, Entities FROM pt_partitions('LoginsByDay');

.print
.print == The plain way: one table, and DELETE with a condition
-- This is right if no day is large, or if less than whole days must go. Time comes first in the
-- RowKey, so this is a range of each partition; every entity is still deleted by itself.
CREATE VIRTUAL TABLE AllLogins USING ptable(Success Boolean, limits='azure');
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
INSERT INTO AllLogins SELECT 'jonesj@contoso.com',
  strftime('%Y%m%dT%H%M%S', '2014-05-31', i || ' hours') || '_0001', 1 FROM n;
.eqp on
DELETE FROM AllLogins WHERE RowKey < '20140601';
.eqp off
SELECT changes() AS deleted;
-- The remaining 276 are too many for a batch of the service. So delete one batch after the other,
-- of 100 entities each, until changes() is less than 100:
CREATE VIRTUAL TABLE LoginsInBatches USING ptable(table=AllLogins, batch='azure');
DELETE FROM LoginsInBatches WHERE PartitionKey = 'jonesj@contoso.com';
DELETE FROM LoginsInBatches WHERE EntityKey IN (
  SELECT EntityKey FROM AllLogins WHERE PartitionKey = 'jonesj@contoso.com' LIMIT 100);
SELECT changes() AS deleted, count(*) AS "still there" FROM AllLogins;

.shell rm -f build/logins.sql
