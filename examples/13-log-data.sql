-- Log data anti-pattern
-- Problem: several services write a log. Find the errors of all services between 15:04 and 15:06 of
--   a day. With the hour as PartitionKey all services write to one partition at a time.
-- Solution: the service is the PartitionKey and the time begins the RowKey: the writes are spread.
-- When: there are few sources. Here a time range costs one seek for each; the Table service scans.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Log USING ptable(Level String, Message String);
INSERT INTO Log VALUES ('queue', '20140731150405_000017', 'Error', 'full'),
  ('table', '20140731150512_000018', 'Info', 'started'),
  ('table', '20140731150559_000019', 'Error', 'gone');
SELECT RowKey, PartitionKey, Message FROM Log WHERE Level = 'Error'
  AND RowKey >= '201407311504' AND RowKey < '201407311506' ORDER BY RowKey;

-- In detail, in a new database
--
-- Keys: LogByHour    PartitionKey '2014073115', RowKey time and id: '20140731150405_000017'
--       LogBySource  PartitionKey 'queue', RowKey the same
-- Costs: by hour, a hot partition (12-prepend-append.sql). By source, the Table service scans the
--   table for the two minutes. The design guide therefore puts logs into blobs, whose names begin
--   with service and hour.
-- Better in SQL: a range of RowKeys looks into each partition at the right place and skips the
--   rest, so LogBySource costs one seek for each service and no scan.
.open :memory:
.load ./ptable

.print
.print == The same log under two choices of PartitionKey
CREATE VIRTUAL TABLE LogByHour USING ptable(Source String, Level String, Message String);
CREATE VIRTUAL TABLE LogBySource USING ptable(Level String, Message String);
-- Two hours of three services, a message every 10 seconds; every fifth is an error.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 719)
INSERT INTO LogBySource
  SELECT CASE i % 3 WHEN 0 THEN 'blob' WHEN 1 THEN 'queue' ELSE 'table' END,
    strftime('%Y%m%d%H%M%S_', '2014-07-31 14:30:00', (i * 10) || ' seconds') || pt_pad(i, 6),
    iif(i % 5, 'Info', 'Error'), 'message ' || i
  FROM n;
INSERT INTO LogByHour
  SELECT substr(RowKey, 1, 10), RowKey, PartitionKey, Level, Message FROM LogBySource;
SELECT PartitionKey, Entities FROM pt_partitions('LogByHour') UNION ALL
SELECT PartitionKey, Entities FROM pt_partitions('LogBySource');

.print
.print == Ids break ties
-- Two messages of one service in one second need different keys: 409 without.
INSERT INTO LogBySource VALUES ('blob', '20140731150405', 'Info', 'first');
INSERT INTO LogBySource VALUES ('blob', '20140731150405', 'Error', 'second');
DELETE FROM LogBySource WHERE PartitionKey = 'blob' AND RowKey = '20140731150405';
INSERT INTO LogBySource VALUES ('blob', '20140731150405_000801', 'Info', 'first'),
  ('blob', '20140731150405_000802', 'Error', 'second');
INSERT INTO LogByHour
  SELECT substr(RowKey, 1, 10), RowKey, PartitionKey, Level, Message FROM LogBySource
  WHERE pt_starts_with(RowKey, '20140731150405_');

.print
.print == From 15:04:00 to 15:05:59
-- By hour: one range in one partition.
.eqp on
SELECT RowKey, Source, Message FROM LogByHour WHERE PartitionKey = '2014073115'
  AND RowKey >= '201407311504' AND RowKey < '201407311506' AND Level = 'Error';
-- By source: the same range of each partition. The rows are sorted, because the order of time runs
-- across the partitions.
SELECT RowKey, PartitionKey, Message FROM LogBySource
  WHERE RowKey >= '201407311504' AND RowKey < '201407311506' AND Level = 'Error' ORDER BY RowKey;
-- One service: a range query again.
SELECT RowKey, Level, Message FROM LogBySource
  WHERE PartitionKey = 'queue' AND RowKey >= '201407311504' AND RowKey < '201407311506';
-- A time span that crosses the hour is in two partitions of LogByHour. EntityKey is both keys in
-- one, so this is still one range. (23-chronological-query.sql shows the edges of such ranges.)
SELECT PartitionKey, RowKey FROM LogByHour
  WHERE EntityKey >= pt_entity_key('2014073114', '201407311459')
    AND EntityKey < pt_entity_key('2014073115', '201407311501') AND Level = 'Error';
.eqp off
-- A range of RowKeys costs one seek in each partition. So it is cheap for a few services, and a
-- scan if nearly every message has a PartitionKey of its own. How many partitions are there?
SELECT count(*) AS partitions FROM (SELECT DISTINCT PartitionKey FROM LogBySource);

.print
.print == Names as keys: the design guide's blobs as entities
-- A log file covers an hour of a service, with several files to the hour; first and last time are
-- properties of the file. PartitionKey: the kind of log; RowKey: the name.
CREATE VIRTUAL TABLE LogFile USING ptable(First DateTime, Last DateTime, Lines String);
INSERT INTO LogFile VALUES
  ('log', 'queue/2014/07/31/1700/000001.log', '2014-07-31 17:00:03', '2014-07-31 17:59:58', '...'),
  ('log', 'queue/2014/07/31/1800/000001.log', '2014-07-31 18:00:01', '2014-07-31 18:20:09', '...'),
  ('log', 'queue/2014/07/31/1800/000002.log', '2014-07-31 18:20:10', '2014-07-31 18:59:57', '...'),
  ('log', 'queue/2014/07/31/1900/000001.log', '2014-07-31 19:00:02', '2014-07-31 19:59:55', '...'),
  ('log', 'table/2014/07/31/1800/000001.log', '2014-07-31 18:00:00', '2014-07-31 18:59:59', '...');
-- The files of an hour, by the prefix of their names.
.eqp on
SELECT RowKey, First, Last FROM LogFile
  WHERE PartitionKey = 'log' AND pt_starts_with(RowKey, 'queue/2014/07/31/1800');
.eqp off
-- Those with messages between 18:15 and 18:25: they begin before 18:25 and end after 18:15.
SELECT RowKey FROM LogFile
  WHERE PartitionKey = 'log' AND pt_starts_with(RowKey, 'queue/2014/07/31/18')
    AND First < pt_datetime('2014-07-31 18:25') AND Last >= pt_datetime('2014-07-31 18:15');
-- A service and its hours, by the parts of the names.
SELECT pt_key_part(RowKey, 1, '/') AS service, pt_key_part(RowKey, 5, '/') AS hour,
    count(*) AS files
  FROM LogFile WHERE PartitionKey = 'log' GROUP BY 1, 2;

-- The Table service has no / in keys (blobs may have it in their names): another separator does.
CREATE VIRTUAL TABLE ServiceLogFile USING ptable(
  First DateTime, Last DateTime, Lines String, limits='azure');
INSERT INTO ServiceLogFile SELECT * FROM LogFile;
INSERT INTO ServiceLogFile
  SELECT PartitionKey, replace(RowKey, '/', '_'), First, Last, Lines FROM LogFile;
SELECT RowKey FROM ServiceLogFile
  WHERE PartitionKey = 'log' AND pt_starts_with(RowKey, 'queue_2014_07_31_1800');
