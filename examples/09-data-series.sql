-- Data series
-- Problem: the messages of every employee are counted for every hour. With an entity for each hour
--   there are 24 times as many keys, and a chart of one day must read 24 entities.
-- Solution: one entity for each employee and day, whose properties H00 to H23 are the hours.
-- When: the values of a series are read together, and their number is bounded.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE MessageStats USING ptable(H08 Int32, H09 Int32);   -- ... up to H23
INSERT INTO MessageStats(PartitionKey, RowKey, H08, WriteMode)          -- makes or changes the day
  VALUES ('Sales', '000223_20140731', 7, 'merge');
INSERT INTO MessageStats(PartitionKey, RowKey, H09, WriteMode)
  VALUES ('Sales', '000223_20140731', 15, 'merge');
SELECT RowKey, Properties FROM MessageStats     -- a month is a range, a day a point query
  WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, '000223_201407');

-- In detail, in a new database
--
-- Keys: PartitionKey  the department: 'Sales'
--       RowKey        employee and day: '000223_20140731'
-- Costs: each change of an hour writes the whole day again. On the Table service a series has at
--   most 252 values, the number of properties that an entity may have.
-- Better in SQL: one statement increments an hour, without reading it first. UPDATE can remove an
--   hour, and json_each shows the hours as rows.
.open :memory:
.load ./ptable
.nullvalue NULL

CREATE VIRTUAL TABLE MessageStats USING ptable(
  H00 Int32, H01 Int32, H02 Int32, H03 Int32, H04 Int32, H05 Int32, H06 Int32, H07 Int32,
  H08 Int32, H09 Int32, H10 Int32, H11 Int32, H12 Int32, H13 Int32, H14 Int32, H15 Int32,
  H16 Int32, H17 Int32, H18 Int32, H19 Int32, H20 Int32, H21 Int32, H22 Int32, H23 Int32,
  limits='azure');

.print
.print == A day is a point query, some days of one employee are a range query
-- Whole days at once, as JSON. Hours without messages have no property.
INSERT INTO MessageStats(PartitionKey, RowKey, Properties) VALUES
  ('Sales', '000223_20140730', '{"H08":4,"H09":11,"H10":8,"H14":2}'),
  ('Sales', '000223_20140731', '{"H08":7,"H09":15,"H11":3}'),
  ('Sales', '000312_20140731', '{"H09":2,"H17":6}');
CREATE VIEW Days AS SELECT RowKey, Properties FROM MessageStats;
.eqp on
SELECT Properties FROM MessageStats WHERE PartitionKey = 'Sales' AND RowKey = '000223_20140731';
SELECT RowKey, H08, H09, H10 FROM MessageStats
  WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, '000223_201407');
.eqp off

.print
.print == Setting one hour
-- UPDATE changes a day that exists, and leaves the other hours alone.
UPDATE MessageStats SET H11 = 5 WHERE PartitionKey = 'Sales' AND RowKey = '000223_20140731';
-- Insert Or Merge Entity makes the day if necessary. With IfMatch the day must exist: 404.
INSERT INTO MessageStats(PartitionKey, RowKey, H12, WriteMode) VALUES
  ('Sales', '000223_20140731', 9, 'merge'), ('Sales', '000223_20140801', 1, 'merge');
INSERT INTO MessageStats(PartitionKey, RowKey, H12, WriteMode, IfMatch)
  VALUES ('Sales', '000223_20140802', 1, 'merge', '*');
SELECT * FROM Days WHERE RowKey >= '000223_20140731' AND RowKey < '000224';

.print
.print == Removing an hour
-- A merge cannot: there NULL means "not given". UPDATE can.
INSERT INTO MessageStats(PartitionKey, RowKey, H12, WriteMode)
  VALUES ('Sales', '000223_20140731', NULL, 'merge');
SELECT H12 FROM MessageStats WHERE PartitionKey = 'Sales' AND RowKey = '000223_20140731';
UPDATE MessageStats SET H12 = NULL WHERE PartitionKey = 'Sales' AND RowKey = '000223_20140731';
SELECT * FROM Days WHERE RowKey = '000223_20140731';

.print
.print == One more message
-- On the service a client reads the count and its ETag, and writes the new count if the ETag is
-- still the same. Here someone else has written another hour in between, and the ETag is that of
-- the whole day: 412, read again.
CREATE TEMP TABLE Seen AS SELECT H09, ETag FROM MessageStats
  WHERE PartitionKey = 'Sales' AND RowKey = '000223_20140731';
UPDATE MessageStats SET H10 = 1 WHERE PartitionKey = 'Sales' AND RowKey = '000223_20140731';
INSERT INTO MessageStats(PartitionKey, RowKey, H09, WriteMode, IfMatch)
  SELECT 'Sales', '000223_20140731', H09 + 1, 'merge', ETag FROM Seen;
-- In SQL one statement reads and writes, and no one else can write in between. An hour that has no
-- property is NULL, and NULL + 1 would be NULL: coalesce makes it 0.
UPDATE MessageStats SET H09 = coalesce(H09, 0) + 1, H13 = coalesce(H13, 0) + 1
  WHERE PartitionKey = 'Sales' AND RowKey = '000223_20140731';
-- The same if the day may be missing: the first of these makes it, the second increments it.
INSERT INTO MessageStats(PartitionKey, RowKey, H07, WriteMode) SELECT 'Sales', '000401_20140731',
    1 + coalesce((SELECT H07 FROM MessageStats
      WHERE PartitionKey = 'Sales' AND RowKey = '000401_20140731'), 0), 'merge';
INSERT INTO MessageStats(PartitionKey, RowKey, H07, WriteMode) SELECT 'Sales', '000401_20140731',
    1 + coalesce((SELECT H07 FROM MessageStats
      WHERE PartitionKey = 'Sales' AND RowKey = '000401_20140731'), 0), 'merge';
SELECT * FROM Days WHERE RowKey GLOB '*_20140731';

.print
.print == Hours as rows, for sum(), GROUP BY and joins
-- Those that exist ...
CREATE VIEW Hourly AS
  SELECT PartitionKey, RowKey, pt_key_part(RowKey, 1) AS Employee, pt_key_part(RowKey, 2) AS Day,
    CAST(substr(key, 2) AS INTEGER) AS Hour, value AS Messages
  FROM MessageStats, json_each(Properties);
.eqp on
SELECT Employee, Hour, Messages FROM Hourly
  WHERE PartitionKey = 'Sales' AND RowKey = '000223_20140731';
.eqp off
SELECT Employee, sum(Messages) AS messages, max(Messages) AS most FROM Hourly
  WHERE PartitionKey = 'Sales' GROUP BY Employee;
-- ... and the missing ones too, as 0, from 8 to 14 o'clock.
WITH RECURSIVE Clock(Hour) AS (SELECT 8 UNION ALL SELECT Hour + 1 FROM Clock WHERE Hour < 14)
SELECT Clock.Hour, coalesce(Messages, 0) AS Messages FROM Clock LEFT JOIN Hourly
  ON Hourly.Hour = Clock.Hour AND PartitionKey = 'Sales' AND RowKey = '000223_20140730';

.print
.print == How long a series may be
-- A value every five minutes makes 288 properties, too many for the service. 10-wide-entities.sql
-- goes on from here.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 287)
INSERT INTO MessageStats(PartitionKey, RowKey, Properties)
  SELECT 'Sales', '000223_20140803', json_group_object('M' || pt_pad(i * 5, 4), 1) FROM n;

.print
.print == The plain way: an entity for each hour
-- '000223_20140731_08'. This is right if queries are about single hours, or if an hour has more
-- than one value; and sum() works directly. It takes more space:
CREATE VIRTUAL TABLE OneDay USING ptable;
CREATE VIRTUAL TABLE OneHour USING ptable(Messages Int32);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 23)
INSERT INTO OneHour SELECT 'Sales', '000223_20140731_' || pt_pad(i, 2), 10 + i FROM n;
INSERT INTO OneDay SELECT 'Sales', '000223_20140731',
  json_group_object('H' || pt_key_part(RowKey, 3), Messages) FROM OneHour;
SELECT TableName, Entities, Bytes FROM pt_tables WHERE TableName LIKE 'One%';
