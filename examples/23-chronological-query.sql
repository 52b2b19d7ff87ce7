-- Chronological query
-- Problem: events come all the time, and queries are about time: between 15:04 and 15:06 of a day,
--   from Wednesday to Friday, the last ten. The Table service sorts by keys only.
-- Solution: the RowKey begins with the time, in a form whose text order is the order of time. The
--   source follows, so that two events at the same moment are two entities.
-- When: nearly every question names a time.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Event USING ptable(Message String);
INSERT INTO Event
  SELECT substr(pt_datetime(column1), 1, 10), pt_datetime(column1) || '_web_1', column2
  FROM (VALUES ('2014-07-31 15:03:59', 'before'), ('2014-07-31T15:04:00Z', 'first'),
               ('2014-07-31 17:05:59.5+02:00', 'written in another time zone'));
SELECT RowKey, Message FROM Event WHERE PartitionKey = '2014-07-31'
  AND RowKey >= pt_datetime('2014-07-31 15:04') AND RowKey < pt_datetime('2014-07-31 15:06');

-- In detail, in a new database
--
-- Keys: PartitionKey  the day: '2014-07-31'
--       RowKey        time in UTC and source: '2014-07-31T15:04:05.0000000Z_web_1'
-- Costs: one partition takes all writes of a day, and a query about one source also reads the
--   events of the others. On the service, reading the newest first needs keys that count down
--   (07-log-tail.sql), and the client formats the keys.
-- Better in SQL: any range, even of several days, can be read backwards, and pt_datetime formats
--   any usual form of a time.
.open :memory:
.load ./ptable

CREATE VIRTUAL TABLE Event USING ptable(Level String, Message String);

.print
.print == The key is made in one place
-- A view's trigger makes it from a time with or without a zone.
CREATE VIEW Happened AS SELECT substr(RowKey, 1, 28) AS Time, substr(RowKey, 30) AS Source,
  Level, Message FROM Event;
CREATE TRIGGER HappenedInsert INSTEAD OF INSERT ON Happened BEGIN
  INSERT INTO Event VALUES (substr(pt_datetime(new.Time), 1, 10),
    pt_datetime(new.Time) || '_' || new.Source, new.Level, new.Message);
END;
INSERT INTO Happened VALUES
  ('2014-07-30 23:59:59.9999999', 'web_1', 'Error', 'last of Wednesday'),
  ('2014-07-31 15:03:59',         'web_1', 'Info',  'before'),
  ('2014-07-31T15:04:00Z',        'web_1', 'Error', 'first'),
  ('2014-07-31 15:04:00',         'web_2', 'Error', 'the same moment elsewhere'),
  ('2014-07-31 17:05:59.5+02:00', 'web_1', 'Error', 'written in another time zone'),
  ('2014-07-31 15:06:00',         'web_1', 'Info',  'at the end'),
  ('2014-08-01 00:00:00',         'web_2', 'Error', 'first of Friday');
SELECT * FROM Event;
-- A source with two events within 100 nanoseconds needs one more number in its keys (409).
INSERT INTO Happened VALUES ('2014-07-31 15:04', 'web_1', 'Error', 'first, again');

.print
.print == From 15:04 to 15:06
-- The range includes its start and not its end. The bounds have the form of the keys.
.eqp on
SELECT RowKey, Message FROM Event
  WHERE PartitionKey = '2014-07-31'
    AND RowKey >= pt_datetime('2014-07-31 15:04') AND RowKey < pt_datetime('2014-07-31 15:06');
.eqp off
-- <= does not include the event of 15:06:00: its key continues after the time, and so is greater.
SELECT count(*) AS "until 15:06, by <=" FROM Event WHERE PartitionKey = '2014-07-31'
  AND RowKey >= pt_datetime('2014-07-31 15:04') AND RowKey <= pt_datetime('2014-07-31 15:06');
-- An end of 15:05:59 loses the events within that second.
SELECT count(*) AS "until 15:05:59" FROM Event WHERE PartitionKey = '2014-07-31'
  AND RowKey >= pt_datetime('2014-07-31 15:04') AND RowKey < pt_datetime('2014-07-31 15:05:59');
-- SQLite's datetime() writes a blank where the keys have T, and the blank sorts first: as a start
-- such a bound is before the whole day, and finds the event 'before', too.
SELECT count(*) AS "from datetime()" FROM Event WHERE PartitionKey = '2014-07-31'
  AND RowKey >= datetime('2014-07-31 15:04') AND RowKey < pt_datetime('2014-07-31 15:06');

.print
.print == Several days: a range of partitions
-- The RowKey contains date and time, so its range runs through all partitions; with the time of day
-- alone, 'from Wednesday 23:00 on' would not be a range.
.eqp on
SELECT RowKey, Message FROM Event
  WHERE PartitionKey BETWEEN '2014-07-30' AND '2014-08-01'
    AND RowKey >= pt_datetime('2014-07-30 23:00') AND RowKey < pt_datetime('2014-07-31 15:04');
-- As a filter of the Table service. The beginning of a time can be a bound, too.
SELECT count(*) AS events FROM Event WHERE Filter MATCH 'PartitionKey ge ''2014-07-30''
  and PartitionKey le ''2014-08-01'' and RowKey ge ''2014-07-30T23''
  and RowKey lt ''2014-07-31T15:04''';

.print
.print == The newest first
-- Read the table backwards; LIMIT ends the reading. No key has to count down.
SELECT RowKey, Message FROM Event ORDER BY PartitionKey DESC, RowKey DESC LIMIT 3;
-- ORDER BY RowKey gives the same rows, by a table scan and a sort: the table's order begins with
-- the PartitionKey.
SELECT RowKey, Message FROM Event ORDER BY RowKey DESC LIMIT 3;
-- The next event after a moment, on any day.
SELECT RowKey, Message FROM Event WHERE PartitionKey >= '2014-07-31'
  AND RowKey > pt_datetime('2014-07-31 16:00') ORDER BY PartitionKey, RowKey LIMIT 1;
.eqp off

.print
.print == By hour, errors only
-- A condition that is not on a key is checked for the rows of the range.
SELECT substr(RowKey, 1, 13) AS hour, count(*) AS errors FROM Event
  WHERE PartitionKey >= '2014-07-31' AND Level = 'Error' GROUP BY hour;

.print
.print == The other form: ticks
-- 100 ns ticks since the year 1, padded to 19 digits, are shorter, good for arithmetic, and hard to
-- read. pt_datetime converts them back.
CREATE VIRTUAL TABLE Ticked USING ptable(Message String);
INSERT INTO Ticked SELECT substr(Time, 1, 10), pt_pad(pt_ticks(Time), 19) || '_' || Source, Message
  FROM Happened;
SELECT RowKey, pt_datetime(CAST(pt_key_part(RowKey, 1) AS INTEGER)) AS time FROM Ticked
  WHERE PartitionKey = '2014-07-31' AND RowKey >= pt_pad(pt_ticks('2014-07-31 15:04'), 19)
    AND RowKey < pt_pad(pt_ticks('2014-07-31 15:04') + 60 * 10000000, 19);

.print
.print == The plain way: the time as a property
-- This is right if most queries are by other keys, and a query about time may read every entity.
CREATE VIRTUAL TABLE BySource USING ptable(Time DateTime, Message String);
INSERT INTO BySource
  SELECT Source, pt_pad(row_number() OVER (ORDER BY Time), 4), Time, Message FROM Happened;
.eqp on
SELECT PartitionKey, Time, Message FROM BySource
  WHERE Time >= pt_datetime('2014-07-31 15:04') AND Time < pt_datetime('2014-07-31 15:06')
  ORDER BY Time;
