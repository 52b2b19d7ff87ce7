-- Materialised view
-- Problem: commands are recorded as events, such as 'employee 000223 hired for Sales', and must be
--   kept unchanged. But most queries ask something else: how many employees has each department?
-- Solution: write events, read totals (CQRS). An event table only grows, and a second table, shaped
--   for the queries, is kept up to date from it.
-- When: the history matters, and its totals are read often.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Event USING ptable(Kind String, Department String);
CREATE VIRTUAL TABLE Headcount USING ptable(Employees Int32);
INSERT INTO Headcount VALUES ('headcount', 'Sales', 0);
BEGIN;                                          -- the event and the total, or neither
INSERT OR ROLLBACK INTO Event VALUES ('2014-07-31', '0000000001', 'hired', 'Sales');
UPDATE Headcount SET Employees = Employees + 1
  WHERE PartitionKey = 'headcount' AND RowKey = 'Sales';
COMMIT;
SELECT RowKey AS Department, Employees FROM Headcount WHERE PartitionKey = 'headcount';

-- In detail, in a new database
--
-- Keys: Event      PartitionKey the day: '2014-07-31', RowKey a number that rises: '0000000003'
--       Headcount  PartitionKey 'headcount', RowKey the department: 'Sales'
-- Costs: every command writes twice. On the Table service these are two transactions with a queue
--   between them, so the view lags and may count an event twice.
-- Better in SQL: one transaction keeps both tables of a store in step. A view that may lag
--   remembers how far it has come.
.open :memory:
.load ./ptable

CREATE VIRTUAL TABLE Event USING ptable(Kind String, Employee String, Department String);
CREATE VIRTUAL TABLE Headcount USING ptable(Employees Int32);

.print
.print == A command writes both tables
-- A command is a row inserted into this view. Its trigger checks it, writes the event and adds to
-- the count, all in one transaction. The first event of a department makes its entity.
CREATE VIEW Command AS SELECT PartitionKey AS Day, Kind, Employee, Department FROM Event;
CREATE TRIGGER CommandInsert INSTEAD OF INSERT ON Command BEGIN
  SELECT RAISE(ABORT, 'that day is over') WHERE EXISTS (
    SELECT 1 FROM Event WHERE PartitionKey > new.Day);
  SELECT RAISE(ABORT, 'nobody is there who could leave') WHERE new.Kind = 'left' AND NOT EXISTS (
    SELECT 1 FROM Headcount
    WHERE PartitionKey = 'headcount' AND RowKey = new.Department AND Employees > 0);
  INSERT INTO Event VALUES (new.Day,
    pt_pad(1 + coalesce((SELECT RowKey FROM Event ORDER BY EntityKey DESC LIMIT 1), 0), 10),
    new.Kind, new.Employee, new.Department);
  INSERT INTO Headcount(PartitionKey, RowKey, Employees, WriteMode) VALUES (
    'headcount', new.Department,
    CASE new.Kind WHEN 'hired' THEN 1 ELSE -1 END + coalesce((SELECT Employees FROM Headcount
      WHERE PartitionKey = 'headcount' AND RowKey = new.Department), 0), 'merge');
END;
INSERT INTO Command VALUES
  ('2014-07-30', 'hired', '000223', 'Sales'),     ('2014-07-30', 'hired', '000312', 'Sales'),
  ('2014-07-31', 'hired', '000150', 'Marketing'), ('2014-07-31', 'left',  '000312', 'Sales'),
  ('2014-07-31', 'hired', '000312', 'Marketing');
-- A command that is refused leaves neither an event nor a count; nor does a valid one before it in
-- the same statement.
INSERT INTO Command VALUES
  ('2014-08-01', 'hired', '000401', 'Sales'), ('2014-08-01', 'left', '000500', 'Legal');
SELECT PartitionKey AS day, RowKey, Kind, Employee, Department FROM Event;
-- The count is now a point query, however many events there are.
.eqp on
SELECT Employees FROM Headcount WHERE PartitionKey = 'headcount' AND RowKey = 'Marketing';
.eqp off

.print
.print == The plain way: an SQL view counts on demand
-- It is never wrong, but reads all events: better until that takes too long.
CREATE VIEW Counted AS
  SELECT Department, sum(CASE Kind WHEN 'hired' THEN 1 ELSE -1 END) AS Employees
  FROM Event GROUP BY Department;
.eqp on
SELECT * FROM Counted WHERE Department = 'Marketing';
.eqp off

.print
.print == Rebuild
-- Someone has damaged the materialised view; a comparison finds the damage. It is rebuilt from the
-- events, in one transaction. Readers see the old counts until COMMIT.
UPDATE Headcount SET Employees = 99 WHERE PartitionKey = 'headcount' AND RowKey = 'Sales';
SELECT Department, Counted.Employees AS events, Headcount.Employees AS kept FROM Counted
  LEFT JOIN Headcount ON PartitionKey = 'headcount' AND RowKey = Department
  WHERE Counted.Employees IS NOT Headcount.Employees;
BEGIN;
DELETE FROM Headcount WHERE PartitionKey = 'headcount';
INSERT OR ROLLBACK INTO Headcount SELECT 'headcount', Department, Employees FROM Counted;
COMMIT;
SELECT RowKey AS department, Employees FROM Headcount WHERE PartitionKey = 'headcount';

.print
.print == A view that lags
-- Writers do not wait for it, and it can catch up at any time. It counts hirings by day, and
-- remembers the EntityKey of the last event that it has applied. This mark is stored with the
-- counts and changes in the same transaction: an event is never applied twice or left out, even if
-- the process is killed between two statements.
CREATE VIRTUAL TABLE Hirings USING ptable(Hired Int32, LastKey Binary);
INSERT INTO Hirings(PartitionKey, RowKey, LastKey) VALUES ('mark', '', x'');
CREATE VIEW Mark AS SELECT LastKey FROM Hirings WHERE PartitionKey = 'mark' AND RowKey = '';
-- The next events, at most four: catching up reads the range after the mark.
CREATE VIEW NextEvent AS SELECT EntityKey AS Place, PartitionKey AS Day, Kind FROM Event
  WHERE EntityKey > (SELECT LastKey FROM Mark) ORDER BY EntityKey LIMIT 4;
-- SQLite has no procedures; a trigger on a view is one. INSERT INTO CatchUp does a step.
CREATE VIEW CatchUp AS SELECT LastKey FROM Mark;
CREATE TRIGGER CatchUpStep INSTEAD OF INSERT ON CatchUp BEGIN
  INSERT INTO Hirings(PartitionKey, RowKey, Hired, WriteMode)
    SELECT 'day', Day, count(*) + coalesce((SELECT Hired FROM Hirings
      WHERE PartitionKey = 'day' AND RowKey = Day), 0), 'merge'
    FROM NextEvent WHERE Kind = 'hired' GROUP BY Day;
  UPDATE Hirings SET LastKey = coalesce((SELECT max(Place) FROM NextEvent), LastKey)
    WHERE PartitionKey = 'mark' AND RowKey = '';
END;
.eqp on
SELECT Day, Kind FROM NextEvent;
.eqp off
INSERT INTO CatchUp DEFAULT VALUES;
SELECT RowKey AS day, Hired, (SELECT count(*) FROM NextEvent) AS "events to come"
  FROM Hirings WHERE PartitionKey = 'day';
INSERT INTO CatchUp DEFAULT VALUES;
INSERT INTO CatchUp DEFAULT VALUES;        -- one more does no harm
INSERT INTO Command VALUES ('2014-08-01', 'hired', '000401', 'Sales');
INSERT INTO CatchUp DEFAULT VALUES;
SELECT RowKey AS day, Hired, (SELECT count(*) FROM NextEvent) AS "events to come"
  FROM Hirings WHERE PartitionKey = 'day';

.print
.print == Events must come in the order of their keys
-- For commands the trigger ensures this, and a store has one writer at a time. Any other event
-- inserted before the mark is not seen.
INSERT INTO Command VALUES ('2014-07-30', 'hired', '000402', 'Legal');
INSERT INTO Event VALUES ('2014-07-30', '0000000007', 'hired', '000402', 'Legal');
INSERT INTO CatchUp DEFAULT VALUES;
CREATE VIEW Wrong AS SELECT Day, sum(Kind = 'hired') AS events, Hired AS kept FROM Command
  LEFT JOIN Hirings ON Hirings.PartitionKey = 'day' AND Hirings.RowKey = Day
  GROUP BY Day HAVING events IS NOT kept;
SELECT * FROM Wrong;
-- Then the view is rebuilt: emptied, the mark too, and brought up to date in the same transaction.
BEGIN;
DELETE FROM Hirings WHERE PartitionKey = 'day';
UPDATE OR ROLLBACK Hirings SET LastKey = x'' WHERE PartitionKey = 'mark' AND RowKey = '';
INSERT OR ROLLBACK INTO CatchUp DEFAULT VALUES;
INSERT OR ROLLBACK INTO CatchUp DEFAULT VALUES;
COMMIT;
SELECT count(*) AS "days that are wrong" FROM Wrong;
