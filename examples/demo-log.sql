-- ==================================================================================
-- dpkg's log as a log tail: the newest entity comes first.
-- ==================================================================================
.load ./ptable
.mode box --wrap 60

-- The lines of the log, the oldest first. (Their times are local and taken as UTC.)
CREATE TEMP TABLE Line(Number INTEGER, Time TEXT, Action TEXT, Package TEXT, Rest TEXT);
.import --csv log.csv Line

-- A partition for each action. The RowKey counts down: the time left until the year 10000, and
-- for lines of the same second ten million less the line number.
CREATE VIRTUAL TABLE Log USING ptable(
  Time DateTime, Package String, Rest String, store=demo.ptable);
CREATE TEMP TABLE Start AS SELECT pt_ticks() AS Ticks;
INSERT INTO Log(PartitionKey, RowKey, Time, Package, Rest)
  SELECT Action, pt_inverted_ticks(Time) || '_' || pt_pad(9999999 - Number, 7), Time, Package, Rest
  FROM Line;
SELECT changes() AS "lines loaded", round((pt_ticks() - Ticks) / 1e7, 3) AS seconds FROM Start;
.timer on
.eqp on

-- The last ten are the first ten rows. LIMIT stops the scan after them.
SELECT RowKey, Time, Package, Rest FROM Log WHERE PartitionKey = 'install' LIMIT 10;

-- Time runs backwards in the keys, so the last 24 hours have an upper bound for their keys.
SELECT count(*) AS installations FROM Log
  WHERE PartitionKey = 'install' AND RowKey < pt_inverted_ticks(
    (SELECT datetime(max(Time), '-1 day') FROM Log WHERE PartitionKey = 'install'));

-- From a key back to its time.
SELECT pt_inverted_datetime(pt_key_part(RowKey, 1)) AS time, Time FROM Log
  WHERE PartitionKey = 'configure' LIMIT 1;

-- The oldest: the last key of the partition, read backwards.
SELECT Time, Package FROM Log WHERE PartitionKey = 'install' ORDER BY RowKey DESC LIMIT 1;

-- One package over all partitions: no key is given, so the table is scanned.
SELECT PartitionKey AS action, Time, Rest FROM Log
  WHERE Package = 'sqlite3:' || (SELECT Architecture FROM Package
    WHERE PartitionKey = 'database' AND RowKey = 'sqlite3') LIMIT 5;

-- All actions, newest line first: the order of time runs across partitions, so SQLite sorts.
SELECT Time, PartitionKey AS action, Package FROM Log ORDER BY RowKey LIMIT 5;

-- A join with the packages by RowKey alone: without the section each is searched in every
-- partition, which is one seek a partition and still no scan.
SELECT Package.PartitionKey AS section, Package.RowKey AS package, Version, Log.Time AS installed
  FROM (SELECT Package, Time FROM Log WHERE PartitionKey = 'install' LIMIT 5) AS Log
  JOIN Package ON Package.RowKey = pt_key_part(Log.Package, 1, ':');

-- How often each action occurs, and on how many days.
SELECT PartitionKey AS action, count(*) AS lines, count(DISTINCT substr(Time, 1, 10)) AS days
  FROM Log GROUP BY PartitionKey;
