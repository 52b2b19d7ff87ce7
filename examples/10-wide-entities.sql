-- Wide entities
-- Problem: store a count for each day of a year, 365 values, and read them together. An entity of
--   the Table service has at most 252 properties (255 with PartitionKey, RowKey and Timestamp).
-- Solution: two entities in one partition: days 1 to 252, and days 253 to 365.
-- When: the service's limits apply. Without them one entity holds all 365.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE DailyPart USING ptable();
INSERT INTO DailyPart VALUES                    -- one partition: the service takes both as a batch
  ('000223_2014', '01', '{"D001":7,"D252":16}'), ('000223_2014', '02', '{"D253":0,"D365":2}');
SELECT a.PartitionKey, json_patch(a.Properties, b.Properties) AS Year
  FROM DailyPart AS a JOIN DailyPart AS b USING (PartitionKey)
  WHERE PartitionKey = '000223_2014' AND a.RowKey = '01' AND b.RowKey = '02';

-- In detail, in a new database
--
-- Keys: PartitionKey  employee and year: '000223_2014'
--       RowKey        the part: '01', '02'
-- Costs: reading takes two point queries, and a change of both parts a batch (entity group
--   transaction).
-- Better in SQL: a view and a trigger make one logical row of the two. Without the service's limits
--   one entity holds all 365.
.open :memory:
.load ./ptable
.nullvalue NULL

-- limits='azure' and batch='azure' hold the table to the service's limits and batches.
CREATE VIRTUAL TABLE DailyPart USING ptable(limits='azure', batch='azure');
-- Day and count of a year, made up.
CREATE TEMP VIEW Year AS
  WITH RECURSIVE n(Day) AS (SELECT 1 UNION ALL SELECT Day + 1 FROM n WHERE Day < 365)
  SELECT Day, Day * 7 % 23 AS Messages FROM n;

.print
.print == Two parts
-- 253 properties are already too many for one entity; 252 are allowed.
INSERT INTO DailyPart SELECT '000223_2014', '01', json_group_object('D' || pt_pad(Day, 3), Messages)
  FROM Year WHERE Day <= 253;
-- In two entities. Both are in one partition, so this statement is one batch.
INSERT INTO DailyPart
  SELECT '000223_2014', pt_pad(1 + (Day - 1) / 252, 2),
    json_group_object('D' || pt_pad(Day, 3), Messages)
  FROM Year GROUP BY 2;
SELECT PartitionKey, RowKey, (SELECT count(*) FROM json_each(Properties)) AS days,
    (SELECT min(key) FROM json_each(Properties)) AS first,
    (SELECT max(key) FROM json_each(Properties)) AS last
  FROM DailyPart;

.print
.print == One logical row for each partition
-- Either part may be missing.
INSERT INTO DailyPart VALUES ('000312_2014', '02', '{"D364":4,"D365":9}');
CREATE VIEW Daily AS
  SELECT p.PartitionKey, a.ETag AS ETag1, b.ETag AS ETag2,
    json_patch(coalesce(a.Properties, '{}'), coalesce(b.Properties, '{}')) AS Properties
  FROM (SELECT DISTINCT PartitionKey FROM DailyPart) AS p
    LEFT JOIN DailyPart a ON a.PartitionKey = p.PartitionKey AND a.RowKey = '01'
    LEFT JOIN DailyPart b ON b.PartitionKey = p.PartitionKey AND b.RowKey = '02';
-- One query finds out if there is such a partition, and two point queries read it. All use one
-- snapshot: never one part from before a change and the other from after it.
.eqp on
SELECT Properties ->> 'D252' AS D252, Properties ->> 'D253' AS D253
  FROM Daily WHERE PartitionKey = '000223_2014';
.eqp off
SELECT PartitionKey, (SELECT count(*) FROM json_each(Properties)) AS days FROM Daily;

.print
.print == The same as rows
CREATE VIEW DailyCount AS
  SELECT PartitionKey, CAST(substr(key, 2) AS INTEGER) AS Day, value AS Messages
  FROM DailyPart, json_each(Properties);
SELECT PartitionKey, count(*) AS days, sum(Messages) AS messages FROM DailyCount
  GROUP BY PartitionKey;
SELECT Day, Messages FROM DailyCount
  WHERE PartitionKey = '000223_2014' AND Day BETWEEN 251 AND 254;

.print
.print == Changing one day: a merge into the part that it belongs to
-- A trigger finds the part.
CREATE TRIGGER DailyCountInsert INSTEAD OF INSERT ON DailyCount BEGIN
  INSERT INTO DailyPart(PartitionKey, RowKey, Properties, WriteMode)
    VALUES (new.PartitionKey, pt_pad(1 + (new.Day - 1) / 252, 2),
      json_object('D' || pt_pad(new.Day, 3), new.Messages), 'merge');
END;
INSERT INTO DailyCount VALUES ('000223_2014', 252, 100);
INSERT INTO DailyCount VALUES ('000312_2014', 1, 5);
SELECT PartitionKey, RowKey, Properties FROM DailyPart WHERE PartitionKey = '000312_2014';

.print
.print == Changing both parts: all or nothing
-- A statement of two rows is one batch. Each part is changed only if it is still as it was read. A
-- part that was missing then has no ETag, and IfMatch NULL is no condition: so it is inserted (409
-- if someone has inserted it since).
CREATE TEMP TABLE Seen AS SELECT ETag1, ETag2 FROM Daily WHERE PartitionKey = '000223_2014';
INSERT INTO DailyCount VALUES ('000223_2014', 253, 50);   -- someone else changes the second part
INSERT INTO DailyPart(PartitionKey, RowKey, Properties, WriteMode, IfMatch)
  SELECT '000223_2014', '01', '{"D252":200}', iif(ETag1 IS NULL, 'insert', 'merge'), ETag1
    FROM Seen
  UNION ALL
  SELECT '000223_2014', '02', '{"D253":200}', iif(ETag2 IS NULL, 'insert', 'merge'), ETag2
    FROM Seen;
-- 412. The first part, which no one else had changed, stays as it was.
SELECT Day, Messages FROM DailyCount WHERE PartitionKey = '000223_2014' AND Day IN (252, 253);
-- Read again, and both are changed.
UPDATE Seen SET (ETag1, ETag2) =
  (SELECT ETag1, ETag2 FROM Daily WHERE PartitionKey = '000223_2014');
INSERT INTO DailyPart(PartitionKey, RowKey, Properties, WriteMode, IfMatch)
  SELECT '000223_2014', '01', '{"D252":200}', iif(ETag1 IS NULL, 'insert', 'merge'), ETag1
    FROM Seen
  UNION ALL
  SELECT '000223_2014', '02', '{"D253":200}', iif(ETag2 IS NULL, 'insert', 'merge'), ETag2
    FROM Seen;
SELECT Day, Messages FROM DailyCount WHERE PartitionKey = '000223_2014' AND Day IN (252, 253);

.print
.print == The plain way: one entity, without limits='azure'
-- It holds a leap year, too, and is right if the data need not go to the service. An entity may
-- have 65,535 properties.
CREATE VIRTUAL TABLE DailyWhole USING ptable(D252 Int32, D253 Int32);
INSERT INTO DailyWhole(PartitionKey, RowKey, Properties)
  SELECT PartitionKey, '', Properties FROM Daily;
UPDATE DailyWhole SET D252 = D252 + 1, D253 = D253 + 1
  WHERE PartitionKey = '000223_2014' AND RowKey = '';
SELECT PartitionKey, D252, D253, (SELECT count(*) FROM json_each(Properties)) AS days
  FROM DailyWhole;
