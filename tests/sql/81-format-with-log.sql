-- A store of version 0.1.0 whose process was killed, with commits in its log, changes and expiry
-- (data/make-format-log.sh). The log's file ended with zeros, which data/ does not keep.
.load ./ptable
.shell cp data/format-0.1.0-log.ptable stored.ptable && cp data/format-0.1.0-log.ptable-log stored.ptable-log
.shell chmod u+w stored.ptable* && truncate --size=1314816 stored.ptable-log
CREATE VIRTUAL TABLE Person USING ptable(Name String, Born DateTime, Photo Binary, unique(Name), store='stored.ptable');
CREATE VIRTUAL TABLE Session USING ptable(Due DateTime, Large Int64, expires=Due, index(Large), store='stored.ptable');
CREATE VIRTUAL TABLE Job USING pt_queue(store='stored.ptable');
SELECT pt_check('stored.ptable');
.shell ls stored*
.nullvalue NULL

-- Read: what the tree has and what the log has. The process was killed after its last commit.
SELECT length(PartitionKey), substr(RowKey, 1, 8), Name, Born, length(Photo) FROM Person;
SELECT PartitionKey, RowKey, Due, Large FROM Session;
SELECT RowKey FROM Person WHERE Name = 'Cleopatra';
SELECT RowKey FROM Session WHERE Large > 0;
SELECT Body, DequeueCount FROM Job ORDER BY Body;
SELECT TableName, Entities, Changes, Expires FROM pt_tables WHERE Store = 'stored.ptable' ORDER BY 1;
SELECT WriteMode, PartitionKey, substr(RowKey, 1, 8) FROM pt_changes('Person', NULL)
  WHERE length(PartitionKey) < 10;

-- Write, while what the log has is still there; compact; and all once more in another connection.
INSERT INTO Person(PartitionKey, RowKey, Name) VALUES ('new', '1', 'name 3');
INSERT INTO Person(PartitionKey, RowKey, Name) VALUES ('new', '1', 'Bob');
UPDATE Person SET Name = Name || '!' WHERE PartitionKey = 'log' AND Name IS NOT NULL;
DELETE FROM Person WHERE RowKey IN ('large', 'stays');
SELECT pt_purge('Session');
SELECT pt_check('stored.ptable');
SELECT pt_compact('stored.ptable') >= 0;
.open :memory:
.load ./ptable
.shell ls stored*
SELECT pt_check('stored.ptable');
CREATE VIRTUAL TABLE Person USING ptable(Name String, store='stored.ptable');
SELECT count(*), sum(Name LIKE '%!') FROM Person;
SELECT WriteMode, PartitionKey, RowKey FROM pt_changes('Person', NULL) WHERE PartitionKey IN ('tree', 'new');

-- The same files without the log are refused, and pt_forget_log goes on without what it held.
.open :memory:
.load ./ptable
.shell cp data/format-0.1.0-log.ptable lost.ptable && chmod u+w lost.ptable
CREATE VIRTUAL TABLE Person USING ptable(Name String, store='lost.ptable');
SELECT pt_forget_log('lost.ptable') IS NOT NULL;
CREATE VIRTUAL TABLE Person USING ptable(Name String, store='lost.ptable');
SELECT count(*), group_concat(RowKey) FROM Person WHERE PartitionKey IN ('tree', 'log');
SELECT pt_check('lost.ptable');

-- A private store has no log.
SELECT pt_forget_log(NULL);
