-- Prepend/append anti-pattern
-- Problem: with the hour as PartitionKey every new event goes to the last partition (to the first
--   one, if time counts down). The Table service gives a partition to one server: it is hot.
-- Solution: a PartitionKey that does not follow the clock, such as a hash of the employee, with the
--   time in the RowKey.
-- When: the data is on the service. A store has one writer at a time, whatever the partition.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Event USING ptable(Kind String);
INSERT INTO Event
  SELECT pt_pad(pt_hash_bucket(column2, 4), 2), pt_compound_key(column1, column2), 'mail'
  FROM (VALUES ('20140731150442', '000223'), ('20140731150445', '000312'),
               ('20140731150447', '000401'), ('20140731150451', '000456'));
SELECT PartitionKey, RowKey FROM Event          -- by time: a range in each bucket, then a sort
  WHERE RowKey >= '201407311504' AND RowKey < '201407311505' ORDER BY RowKey;

-- In detail, in a new database
--
-- Keys: ByHour        PartitionKey '2014073115', RowKey '20140731150442_000223': the anti-pattern
--       ByDepartment  PartitionKey 'Sales', RowKey the same
--       ByEmployee    PartitionKey 'Sales_000223', RowKey '20140731150442'
--       ByBucket      PartitionKey '00' to '03', a hash of the employee; RowKey as in ByHour
-- Costs: to read the whole table in the order of time, the partitions must be merged.
-- Better in SQL: pt_batches and pt_partitions measure where writes go, and a query merges the
--   partitions. A store of ptable has one writer at a time, whatever the partition: data that stays
--   here may well have the hour as PartitionKey, and should if most queries are for an hour.
.open :memory:
.load ./ptable

CREATE VIRTUAL TABLE ByHour USING ptable(Kind String);
CREATE VIRTUAL TABLE ByDepartment USING ptable(Kind String);
CREATE VIRTUAL TABLE ByEmployee USING ptable(Kind String);
CREATE VIRTUAL TABLE ByBucket USING ptable(Kind String);

-- This view makes up four hours: every 12 seconds an event, of 24 employees in turn, 12 in Sales.
CREATE TEMP VIEW Event AS
  WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1199)
  SELECT strftime('%Y%m%d%H%M%S', '2014-07-31 12:00:06', (i * 12) || ' seconds') AS Time,
    iif(i % 24 < 12, 'Sales', iif(i % 24 < 20, 'Marketing', 'IT')) AS Department,
    pt_pad(212 + i % 24, 6) AS Employee
  FROM n;
-- Rows inserted into it go to all four tables. The employee in the RowKey keeps events of the same
-- second apart. The bucket is a text of fixed width, as every number in a key should be.
CREATE TEMP TRIGGER EventInsert INSTEAD OF INSERT ON Event BEGIN
  INSERT INTO ByHour
    VALUES (substr(new.Time, 1, 10), pt_compound_key(new.Time, new.Employee), 'mail');
  INSERT INTO ByDepartment
    VALUES (new.Department, pt_compound_key(new.Time, new.Employee), 'mail');
  INSERT INTO ByEmployee
    VALUES (pt_compound_key(new.Department, new.Employee), new.Time, 'mail');
  INSERT INTO ByBucket
    VALUES (pt_pad(pt_hash_bucket(new.Employee, 4), 2),
      pt_compound_key(new.Time, new.Employee), 'mail');
END;
INSERT INTO Event SELECT * FROM Event WHERE Time < '2014073115';

.print
.print == Measuring: where do writes go?
-- The writes of the open transaction. Here they are the last hour.
BEGIN;
INSERT OR ROLLBACK INTO Event SELECT * FROM Event WHERE Time >= '2014073115';
SELECT TableName, sum(Operations) AS writes, count(*) AS partitions,
    max(Operations) AS "most in one"
  FROM pt_batches GROUP BY TableName;
COMMIT;
-- The whole tables. The hours are of the same size, and yet only one of them still grows: size is
-- not load. LastRowKey tells which partitions have been written since 15 o'clock.
SELECT t.TableName, count(*) AS partitions,
    count(*) FILTER (WHERE LastRowKey >= '2014073115') AS growing,
    min(p.Entities) AS smallest, max(p.Entities) AS largest
  FROM pt_tables AS t JOIN pt_partitions(t.TableName) AS p GROUP BY t.TableName;
-- Departments differ in size: Sales gets half of all writes. One more part in the PartitionKey, as
-- in ByEmployee, or a hash, as in ByBucket, spreads them.
SELECT PartitionKey, Entities, LastRowKey FROM pt_partitions('ByDepartment');
SELECT PartitionKey, Entities, LastRowKey FROM pt_partitions('ByBucket');

.print
.print == Reading a minute of all employees, in the order of time
-- By hour it is one range query.
.eqp on
SELECT RowKey FROM ByHour
  WHERE PartitionKey = '2014073115' AND pt_starts_with(RowKey, '201407311504');
-- In the other tables it is a range of each partition. SQLite sorts what it finds.
SELECT RowKey, PartitionKey FROM ByDepartment WHERE pt_starts_with(RowKey, '201407311504')
  ORDER BY RowKey;
-- If n is known, as with buckets, n range queries can be merged. Each is already in order, so
-- nothing is sorted, and LIMIT stops all of them early.
SELECT RowKey, PartitionKey FROM ByBucket
  WHERE PartitionKey = '00' AND RowKey >= '201407311504' UNION ALL
SELECT RowKey, PartitionKey FROM ByBucket
  WHERE PartitionKey = '01' AND RowKey >= '201407311504' UNION ALL
SELECT RowKey, PartitionKey FROM ByBucket
  WHERE PartitionKey = '02' AND RowKey >= '201407311504' UNION ALL
SELECT RowKey, PartitionKey FROM ByBucket
  WHERE PartitionKey = '03' AND RowKey >= '201407311504'
  ORDER BY RowKey LIMIT 5;

.print
.print == Reading one employee
-- With the employee in the PartitionKey it is a range query.
SELECT RowKey, Kind FROM ByEmployee
  WHERE PartitionKey = 'Sales_000223' AND pt_starts_with(RowKey, '2014073115') LIMIT 3;
-- The hash says which bucket to look in; other employees in it are skipped.
SELECT RowKey, Kind FROM ByBucket
  WHERE PartitionKey = pt_pad(pt_hash_bucket('000223', 4), 2)
    AND pt_starts_with(RowKey, '2014073115') AND pt_key_part(RowKey, 2) = '000223' LIMIT 3;
-- 21-hash-partitioning.sql says more about buckets.
