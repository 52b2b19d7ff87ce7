-- INSERT converts what it stores in a DateTime or Guid column. Conditions understand the same spellings.
.load ./ptable
CREATE VIRTUAL TABLE Task USING ptable(Due DateTime, Id Guid, Loose, store='times.ptable');
INSERT INTO Task(PartitionKey, RowKey, Due, Id) VALUES
  ('p', '1', '2026-11-22 10:00', '0F8FAD5B-D9CB-469F-A165-70867728950E'),
  ('p', '2', '2026-11-22T12:00:00+01:00', '7c9e6679-7425-40de-944b-e07fc1f90ae7'),
  ('p', '3', '2026-11-23', NULL),
  ('q', '4', '2027-01-01T00:00:00.5Z', '{0f8fad5b-d9cb-469f-a165-70867728950e}'),
  ('q', '5', NULL, NULL);
SELECT RowKey, Due, Id FROM Task;

-- One time, however it is written.
SELECT RowKey FROM Task WHERE Due = '2026-11-22 10:00';
SELECT RowKey FROM Task WHERE '2026-11-22T12:00:00.000+02:00' = Due;
SELECT RowKey FROM Task WHERE Due IS '2026-11-22T10:00Z';
SELECT RowKey FROM Task WHERE Due = '2026-11-23';
SELECT RowKey FROM Task WHERE Due > datetime('2026-11-22 23:00');
SELECT RowKey FROM Task WHERE Due <= datetime('2026-11-22 23:00') ORDER BY Due DESC;
SELECT RowKey FROM Task WHERE Due BETWEEN '2026-11-22 10:30' AND '2026-11-23 00:00';
SELECT RowKey FROM Task WHERE Due NOT BETWEEN '2026-11-22 10:30' AND '2026-11-23 00:00';
SELECT RowKey FROM Task WHERE Due IN ('2026-11-23 00:00', '2026-11-22 10:00', '2026-11-22T10:00Z');
SELECT RowKey FROM Task WHERE Due NOT IN ('2026-11-23 00:00', '2026-11-22 10:00');
SELECT RowKey FROM Task WHERE Due <> '2026-11-22 10:00' AND PartitionKey = 'p';
SELECT RowKey, CASE Due WHEN '2026-11-23' THEN 'that day' ELSE 'another' END FROM Task WHERE PartitionKey = 'p';

-- The beginning of a time is its first instant.
SELECT RowKey FROM Task WHERE Due >= '2027';
SELECT RowKey FROM Task WHERE Due >= '2026-11-22T11' AND Due < '2026-12';
SELECT RowKey FROM Task WHERE Due >= '2026-11-2' AND Due < '2026-11-23';

-- The empty text is before all times, and what is not a time is after them.
SELECT count(*) FROM Task WHERE Due > '';
SELECT count(*) FROM Task WHERE Due <> '';
SELECT count(*) FROM Task WHERE Due = '' OR Due > 'now' OR Due >= '2026-02-30';
SELECT count(*) FROM Task WHERE Due < 'now';

-- A Guid in any case.
SELECT RowKey FROM Task WHERE Id = '0F8FAD5B-D9CB-469F-A165-70867728950E';
SELECT RowKey FROM Task WHERE Id IN ('7C9E6679-7425-40DE-944B-E07FC1F90AE7');

-- Writes find the same entities.
UPDATE Task SET Loose = 'found' WHERE Due = '2026-11-22 11:00';
DELETE FROM Task WHERE Due = '2026-11-23';
SELECT RowKey, Loose FROM Task;

-- ORDER BY, GROUP BY, DISTINCT, min and max.
DELETE FROM Task;
INSERT INTO Task(PartitionKey, RowKey, Due, Loose) VALUES
  ('p', '1', '2026-11-22T11:00+01:00', '2026-11-22 10:00'), ('p', '2', '2026-11-23', '2026-11-22T10:00Z'),
  ('q', '3', '2026-11-22 10:00', NULL), ('q', '4', '2026-11-22 09:59:59.9999999', '2026-11-23');
SELECT group_concat(RowKey, ' ') FROM (SELECT RowKey FROM Task ORDER BY Due, RowKey);
SELECT group_concat(RowKey, ' ') FROM (SELECT RowKey FROM Task ORDER BY Due DESC, PartitionKey DESC);
SELECT Due, count(*) FROM Task GROUP BY Due;
SELECT count(DISTINCT Due), min(Due), max(Due) FROM Task;
SELECT RowKey FROM Task WHERE Due = (SELECT max(Due) FROM Task);

-- A column without a type compares bytes, unless the statement says otherwise.
SELECT RowKey FROM Task WHERE Loose = '2026-11-22 10:00';
SELECT RowKey FROM Task WHERE Loose = '2026-11-22 10:00' COLLATE PT_DATETIME;

-- Timestamp, which is hidden, and the other tables that show times.
SELECT count(*) FROM Task WHERE Timestamp > datetime('now', '-1 hour') AND Timestamp < datetime('now', '+1 day');
SELECT count(*) FROM Task WHERE Timestamp <= datetime('now', '-1 hour') OR Timestamp > '2999-01-01 00:00';
SELECT count(*) FROM pt_stores WHERE LastWrite BETWEEN datetime('now', '-1 hour') AND datetime('now', '+1 day');
CREATE VIRTUAL TABLE Job USING pt_queue(store='times.ptable');
INSERT INTO Job(Body, VisibilityTimeout, TimeToLive) VALUES ('now', 0, 864000), ('tomorrow', 86400, 864000);
SELECT Body FROM Job WHERE TimeNextVisible > datetime('now', '+1 hour');
SELECT Body FROM Job WHERE TimeNextVisible <= datetime('now', '+1 hour') AND InsertionTime > datetime('now', '-1 hour')
  AND ExpirationTime > date('now', '+1 day');
SELECT Body FROM Job WHERE TimeNextVisible = (SELECT strftime('%Y-%m-%d ', max(TimeNextVisible)) || substr(max(TimeNextVisible), 12) FROM Job);
SELECT Body FROM pt_queue_get('Job', 2, 3600) WHERE InsertionTime > datetime('now', '-1 hour') AND ExpirationTime > datetime('now')
  AND TimeNextVisible > datetime('now');

-- The columns stay TEXT for every other tool.
SELECT name, type, hidden FROM pragma_table_xinfo('Task') WHERE name IN ('Due', 'Id', 'Timestamp');
CREATE TABLE Copy AS SELECT Due, Id, Timestamp FROM Task;
SELECT sql FROM sqlite_schema WHERE name = 'Copy';

-- Views and common table expressions keep the collation.
CREATE VIEW Seen AS SELECT RowKey, Due FROM Task;
SELECT RowKey FROM Seen WHERE Due = '2026-11-22 10:00';
WITH s AS MATERIALIZED (SELECT RowKey, Due FROM Task) SELECT RowKey FROM s WHERE Due = '2026-11-22 10:00';

-- Where it does not hold: a plain column at the left, what a function returns, UNION after a plain SELECT.
CREATE TABLE Plan(What TEXT, At TEXT);
CREATE INDEX Plan_At ON Plan(At);
INSERT INTO Plan VALUES ('short', '2026-11-22 10:00'), ('full', '2026-11-22T10:00:00.0000000Z');
SELECT What, RowKey FROM Plan, Task WHERE Plan.At = Task.Due ORDER BY RowKey;
SELECT What, RowKey FROM Plan, Task WHERE Plan.At = +Task.Due ORDER BY RowKey;
SELECT RowKey FROM Task WHERE lower(Due) = '2026-11-22 10:00' OR Due || '' = '2026-11-22 10:00';
SELECT count(*) FROM (SELECT At FROM Plan UNION SELECT Due FROM Task);
SELECT count(*) FROM (SELECT Due FROM Task UNION SELECT At FROM Plan);
SELECT count(*) FROM Plan WHERE At IN (SELECT Due FROM Task);

-- There the texts must be the same; pt_datetime makes them so.
SELECT What, RowKey FROM Plan, Task WHERE pt_datetime(Plan.At) = Task.Due ORDER BY What, RowKey;
SELECT What, RowKey FROM Plan, Task WHERE Task.Due = pt_datetime(Plan.At) ORDER BY What, RowKey;
SELECT count(*) FROM Plan WHERE pt_datetime(At) IN (SELECT Due FROM Task);

-- An index of another table serves a join if the collations agree.
.eqp on
SELECT What FROM Task CROSS JOIN Plan WHERE Plan.At = Task.Due AND Task.RowKey = '1';
CREATE INDEX Plan_time ON Plan(At COLLATE PT_DATETIME);
SELECT What FROM Task CROSS JOIN Plan WHERE Task.Due = Plan.At AND Task.RowKey = '1' ORDER BY What;
.eqp off

-- In a database of UTF-16 it is the same.
.open --new wide.db
PRAGMA encoding = 'UTF-16le';
.load ./ptable
CREATE VIRTUAL TABLE Task USING ptable(Due DateTime, Id Guid, store='times.ptable');
SELECT RowKey FROM Task WHERE Due = '2026-11-22 10:00' ORDER BY RowKey;
SELECT RowKey FROM Task WHERE Due < '2026-11-22 09:59:59.9999999' OR Due > 'é' OR Due >= '2026-11-23' OR Timestamp < '2026';
CREATE VIRTUAL TABLE Job USING pt_queue(store='times.ptable');
SELECT count(*) FROM Job WHERE TimeNextVisible > datetime('now') AND TimeNextVisible < 'é';
