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
