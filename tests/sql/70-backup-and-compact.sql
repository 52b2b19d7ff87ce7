-- Looking after stores: pt_backup copies one that is in use, pt_compact gives its unused space back
-- to the file system, pt_check says whether it is sound.
.load ./ptable
.nullvalue NULL
.open contoso.db
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, Age Int32, Photo Binary);
INSERT INTO Employee VALUES ('Sales', '000223', 'Jun', 34, zeroblob(100000)), ('IT', '000401', 'Eve', 29, NULL);

-- A backup is a new file, on the disk when the function returns; its size in bytes is the result.
-- A relative path starts at the folder of the database file, as the option store does.
SELECT pt_backup('contoso.db-ptable', 'monday.ptable') > 100000;
SELECT pt_check('monday.ptable');
-- NULL is the main database's own store.
INSERT INTO Employee VALUES ('IT', '000402', 'Ann', 51, NULL);
SELECT pt_backup(NULL, 'tuesday.ptable') > 100000;

-- A backup is a store like any other.
CREATE VIRTUAL TABLE temp.Monday USING ptable(FirstName String, Age Int32, store='monday.ptable', table='Employee');
CREATE VIRTUAL TABLE temp.Tuesday USING ptable(FirstName String, Age Int32, store='tuesday.ptable', table='Employee');
SELECT (SELECT count(*) FROM Monday), (SELECT count(*) FROM Tuesday);
SELECT t.FirstName FROM Tuesday t WHERE NOT EXISTS
  (SELECT 1 FROM Monday m WHERE m.EntityKey = t.EntityKey);
-- Bringing back what was deleted by mistake.
DELETE FROM Employee WHERE PartitionKey = 'Sales';
INSERT INTO Employee(PartitionKey, RowKey, Properties)
  SELECT PartitionKey, RowKey, Properties FROM Tuesday WHERE PartitionKey = 'Sales';
SELECT FirstName, length(Photo) FROM Employee WHERE PartitionKey = 'Sales';

-- A file that exists is never overwritten, whatever it is.
SELECT pt_backup(NULL, 'tuesday.ptable');
SELECT pt_backup(NULL, 'contoso.db');
SELECT pt_backup(NULL, 'contoso.db-ptable');
SELECT pt_backup(NULL, '.');
-- Names that cannot be.
SELECT pt_backup(NULL, 'missing/wednesday.ptable');
SELECT pt_backup(NULL, 'tuesday.ptable/wednesday.ptable');
SELECT pt_backup(NULL, 'wednesday-lock');
SELECT pt_backup(NULL, 'contoso.db-wal');
SELECT pt_backup(NULL, 'file:wednesday.ptable?mode=rwc');
SELECT pt_backup(NULL, '');
SELECT pt_backup(NULL, NULL);
SELECT pt_backup(NULL, CAST(x'610062' AS TEXT));
SELECT pt_backup('missing.ptable', 'wednesday.ptable');
SELECT pt_backup('', 'wednesday.ptable');
SELECT pt_backup(CAST(x'610062' AS TEXT), 'wednesday.ptable');
SELECT pt_backup('contoso.db', 'wednesday.ptable');
SELECT readfile('missing.ptable') IS NULL, readfile('wednesday.ptable') IS NULL;

-- It holds what is committed; a transaction's own writes are not.
BEGIN;
UPDATE Employee SET Age = 35;
SELECT pt_backup(NULL, 'wednesday.ptable');
ROLLBACK;
BEGIN;
SELECT count(*) FROM Employee;
SELECT pt_backup(NULL, 'wednesday.ptable') > 100000;
COMMIT;

-- Neither function can be used in views and triggers of a database that somebody else has made.
CREATE VIEW Sneaky AS SELECT pt_backup(NULL, 'thursday.ptable');
SELECT * FROM Sneaky;
DROP VIEW Sneaky;

-- The space of deleted entities and dropped tables is used again, but the file does not become
-- smaller by itself.
CREATE VIRTUAL TABLE Log USING ptable(Line String);
WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 20000)
  INSERT INTO Log SELECT n % 10, n, 'a line of the log' FROM more;
DELETE FROM pt_tables WHERE TableName = 'Log';
DROP TABLE Log;
SELECT FileBytes > 1000000, Dropped FROM pt_stores WHERE Store LIKE '%contoso.db-ptable';
-- The result is by how many bytes it became smaller.
SELECT pt_compact(NULL) > 1000000;
SELECT FileBytes < 300000, FileBytes - UsedBytes < 100000, Dropped FROM pt_stores WHERE Store LIKE '%contoso.db-ptable';
SELECT FirstName, Age, length(Photo) FROM Employee;
SELECT pt_compact('contoso.db-ptable') BETWEEN 0 AND 100000;
SELECT pt_compact();
SELECT pt_check();

-- Like VACUUM it is not for transactions, and nobody may be reading.
BEGIN;
SELECT pt_compact(NULL);
COMMIT;
SELECT pt_compact(NULL) FROM Employee;
SELECT pt_compact('missing.ptable');
SELECT pt_compact(1, 2);

-- Private stores can be backed up; they have no file to become smaller.
.open :memory:
.load ./ptable
SELECT pt_backup(NULL, 'memory.ptable');
CREATE VIRTUAL TABLE Scratch USING ptable(V);
INSERT INTO Scratch VALUES ('p', '1', 'kept');
SELECT pt_backup(NULL, 'memory.ptable') > 0;
SELECT pt_compact(NULL);
.open :memory:
.load ./ptable
CREATE VIRTUAL TABLE Scratch USING ptable(V, store='memory.ptable');
SELECT V FROM Scratch;

-- A store that is damaged: pt_check says what is wrong, and what can be read can be copied.
SELECT writefile('damaged.ptable', substr(readfile('monday.ptable'), 1, 81920)) > 0;
SELECT pt_check('damaged.ptable') = 'ok';

.print A table that keeps its changes, with entities that have expired: backups and compaction keep all of it.
CREATE VIRTUAL TABLE Feed USING ptable(N, Due DateTime, store='feed.ptable', changes=on, expires=Due);
INSERT INTO Feed(PartitionKey, RowKey, N, Due) VALUES ('a', '1', 1, NULL), ('a', '2', 2, '2000-01-01'), ('b', '1', 3, '2999-01-01'), ('b', '2', 4, NULL);
DELETE FROM Feed WHERE RowKey = '2';
SELECT pt_purge('Feed');
INSERT INTO Feed(PartitionKey, RowKey, N, Due) VALUES ('a', '3', 5, '2000-01-02');
CREATE TEMP TABLE Known AS SELECT t.Horizon, c.* FROM pt_tables t, pt_changes('Feed', t.Horizon) c WHERE t.Store = 'feed.ptable';
SELECT PartitionKey, RowKey, WriteMode FROM Known;
SELECT pt_backup('feed.ptable', 'feed-backup.ptable') IS NOT NULL;
SELECT pt_compact('feed.ptable') IS NOT NULL;
CREATE VIRTUAL TABLE OldFeed USING ptable(N, store='feed-backup.ptable', table=Feed);
SELECT Store, count(*) FROM (SELECT t.Store, t.Horizon, c.* FROM pt_tables t, pt_changes(t.Store, 'Feed', t.Horizon) c WHERE t.TableName = 'Feed') NATURAL JOIN (SELECT Horizon, Timestamp, PartitionKey, RowKey, WriteMode FROM Known) GROUP BY Store;
SELECT Store, Changes, Expires FROM pt_tables WHERE TableName = 'Feed' ORDER BY Store;
SELECT pt_check('feed.ptable'), pt_check('feed-backup.ptable');
