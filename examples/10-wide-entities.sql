-- Wide entities: one logical entity in several physical ones.
--
-- Problem: a count for each day of a year, 365 values, is to be kept and read together. An entity
-- of the Table service has at most 252 properties (255 with PartitionKey, RowKey and Timestamp).
--
-- Pattern: two entities in one partition. PartitionKey: employee and year, '000223_2014'; RowKey
-- '01' holds the days 1 to 252, RowKey '02' the days 253 to 365. Both are written in one entity
-- group transaction, or one of them alone; reading takes two point queries. With ptable views and a
-- trigger make one logical row of them. Outside the service's limits one entity holds all 365.
.load ./ptable
.mode box
.nullvalue NULL

-- Under the service's limits and the service's rules for transactions.
CREATE VIRTUAL TABLE DailyPart USING ptable(limits='azure', batch='azure');
-- Day and count of a year, made up.
CREATE TEMP VIEW Year AS
  WITH RECURSIVE n(Day) AS (SELECT 1 UNION ALL SELECT Day + 1 FROM n WHERE Day < 365)
  SELECT Day, Day * 7 % 23 AS Messages FROM n;

-- 1. Not in one entity. 253 properties are too many, as 365 are; 252 are allowed.
INSERT INTO DailyPart SELECT '000223_2014', '01', json_group_object('D' || pt_pad(Day, 3), Messages)
  FROM Year WHERE Day <= 253;
-- In two. Both are in one partition, so this is one entity group transaction.
INSERT INTO DailyPart
  SELECT '000223_2014', pt_pad(1 + (Day - 1) / 252, 2),
    json_group_object('D' || pt_pad(Day, 3), Messages)
  FROM Year GROUP BY 2;
SELECT PartitionKey, RowKey, (SELECT count(*) FROM json_each(Properties)) AS days,
    (SELECT min(key) FROM json_each(Properties)) AS first,
    (SELECT max(key) FROM json_each(Properties)) AS last
  FROM DailyPart;

-- 2. One logical row for each partition. Either part may be missing.
INSERT INTO DailyPart VALUES ('000312_2014', '02', '{"D364":4,"D365":9}');
CREATE VIEW Daily AS
  SELECT p.PartitionKey, a.ETag AS ETag1, b.ETag AS ETag2,
    json_patch(coalesce(a.Properties, '{}'), coalesce(b.Properties, '{}')) AS Properties
  FROM (SELECT DISTINCT PartitionKey FROM DailyPart) AS p
    LEFT JOIN DailyPart a ON a.PartitionKey = p.PartitionKey AND a.RowKey = '01'
    LEFT JOIN DailyPart b ON b.PartitionKey = p.PartitionKey AND b.RowKey = '02';
-- A look whether there is such a partition, and two point queries. All are of one snapshot: never
-- one part from before a change and the other from after it.
.eqp on
SELECT Properties ->> 'D252' AS D252, Properties ->> 'D253' AS D253
  FROM Daily WHERE PartitionKey = '000223_2014';
.eqp off
SELECT PartitionKey, (SELECT count(*) FROM json_each(Properties)) AS days FROM Daily;

-- The same as rows.
CREATE VIEW DailyCount AS
  SELECT PartitionKey, CAST(substr(key, 2) AS INTEGER) AS Day, value AS Messages
  FROM DailyPart, json_each(Properties);
SELECT PartitionKey, count(*) AS days, sum(Messages) AS messages FROM DailyCount
  GROUP BY PartitionKey;
SELECT Day, Messages FROM DailyCount
  WHERE PartitionKey = '000223_2014' AND Day BETWEEN 251 AND 254;

-- 3. Changing one day is a merge into the part that it belongs to. A trigger finds the part.
CREATE TRIGGER PutDay INSTEAD OF INSERT ON DailyCount BEGIN
  INSERT INTO DailyPart(PartitionKey, RowKey, Properties, WriteMode)
    VALUES (new.PartitionKey, pt_pad(1 + (new.Day - 1) / 252, 2),
      json_object('D' || pt_pad(new.Day, 3), new.Messages), 'merge');
END;
INSERT INTO DailyCount VALUES ('000223_2014', 252, 100);
INSERT INTO DailyCount VALUES ('000312_2014', 1, 5);
SELECT PartitionKey, RowKey, Properties FROM DailyPart WHERE PartitionKey = '000312_2014';

-- 4. Changing both parts: all or nothing, in one partition. Each only if it is as it was read.
CREATE TEMP TABLE Seen AS SELECT ETag1, ETag2 FROM Daily WHERE PartitionKey = '000223_2014';
INSERT INTO DailyCount VALUES ('000223_2014', 253, 50);   -- somebody else changes the second part
BEGIN;
INSERT OR ROLLBACK INTO DailyPart(PartitionKey, RowKey, Properties, WriteMode, IfMatch)
  SELECT '000223_2014', '01', '{"D252":200}', 'merge', ETag1 FROM Seen;
INSERT OR ROLLBACK INTO DailyPart(PartitionKey, RowKey, Properties, WriteMode, IfMatch)
  SELECT '000223_2014', '02', '{"D253":200}', 'merge', ETag2 FROM Seen;
COMMIT;
-- 412: OR ROLLBACK has ended the transaction, and COMMIT finds none. The first part, which nobody
-- else had changed, is as it was.
SELECT Day, Messages FROM DailyCount WHERE PartitionKey = '000223_2014' AND Day IN (252, 253);
-- Read again, and both are changed. One statement with two rows does it without BEGIN.
INSERT INTO DailyPart(PartitionKey, RowKey, Properties, WriteMode, IfMatch)
  SELECT PartitionKey, '01', '{"D252":200}', 'merge', ETag1 FROM Daily
    WHERE PartitionKey = '000223_2014' UNION ALL
  SELECT PartitionKey, '02', '{"D253":200}', 'merge', ETag2 FROM Daily
    WHERE PartitionKey = '000223_2014';
SELECT Day, Messages FROM DailyCount WHERE PartitionKey = '000223_2014' AND Day IN (252, 253);

-- 5. The plain way: without limits='azure' one entity holds the year, a leap year too. It is right
-- where the data need not go to the service; an entity may have 65,535 properties.
CREATE VIRTUAL TABLE DailyWhole USING ptable(D252 Int32, D253 Int32);
INSERT INTO DailyWhole(PartitionKey, RowKey, Properties)
  SELECT PartitionKey, '', Properties FROM Daily;
UPDATE DailyWhole SET D252 = D252 + 1, D253 = D253 + 1
  WHERE PartitionKey = '000223_2014' AND RowKey = '';
SELECT PartitionKey, D252, D253, (SELECT count(*) FROM json_each(Properties)) AS days
  FROM DailyWhole;
