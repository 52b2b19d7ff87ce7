-- Change feed: a copy in another store that follows a table, entity by entity.
-- The last Timestamp that was seen is an entity of the copy's store, written in the same transaction.
.load ./ptable
CREATE VIRTUAL TABLE Stock USING ptable(Name String, Pieces Int32, store='shop.ptable');
INSERT INTO Stock(PartitionKey, RowKey, Name, Pieces) VALUES
  ('Tools', '1', 'Hammer', 5), ('Tools', '2', 'Saw', 3), ('Wood', '1', 'Board', 20);
UPDATE pt_tables SET Changes = 'on' WHERE Store = 'shop.ptable' AND TableName = 'Stock';

CREATE VIRTUAL TABLE Copy USING ptable(Name String, Pieces Int32, store='copy.ptable');
CREATE VIRTUAL TABLE Followed USING ptable(Since String, store='copy.ptable');
INSERT INTO Followed(PartitionKey, RowKey) VALUES ('Stock', '');

-- This transaction is run again and again, by whichever process. Here the first time: all entities.
BEGIN;
CREATE TEMP TABLE now AS SELECT Since FROM Followed WHERE PartitionKey = 'Stock' AND RowKey = '';
INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode)
  SELECT PartitionKey, RowKey, Properties, WriteMode FROM now, pt_changes('Stock', Since);
UPDATE Followed SET Since = (SELECT ifnull(max(Timestamp), Since) FROM now, pt_changes('Stock', Since))
  WHERE PartitionKey = 'Stock' AND RowKey = '';
DROP TABLE now;
COMMIT;
SELECT PartitionKey, RowKey, Name, Pieces FROM Copy;

.print Changed, deleted, moved, and deleted and made again:
UPDATE Stock SET Pieces = Pieces - 1 WHERE Name = 'Hammer';
UPDATE Stock SET Pieces = Pieces - 1 WHERE Name = 'Hammer';
DELETE FROM Stock WHERE Name = 'Saw';
UPDATE Stock SET PartitionKey = 'Sale' WHERE Name = 'Board';
INSERT INTO Stock(PartitionKey, RowKey, Name, Pieces) VALUES ('Wood', '1', 'Lath', 7);
SELECT c.WriteMode, c.PartitionKey, c.RowKey, c.Properties FROM Followed f, pt_changes('Stock', f.Since) c;

-- The same transaction again.
BEGIN;
CREATE TEMP TABLE now AS SELECT Since FROM Followed WHERE PartitionKey = 'Stock' AND RowKey = '';
INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode)
  SELECT PartitionKey, RowKey, Properties, WriteMode FROM now, pt_changes('Stock', Since);
UPDATE Followed SET Since = (SELECT ifnull(max(Timestamp), Since) FROM now, pt_changes('Stock', Since))
  WHERE PartitionKey = 'Stock' AND RowKey = '';
DROP TABLE now;
COMMIT;
.print In the copy:
SELECT PartitionKey, RowKey, Name, Pieces FROM Copy;

-- Deletions that every follower has seen can be forgotten.
SELECT pt_forget_deleted('Stock', (SELECT Since FROM Followed)) AS forgotten;
-- A follower whose Since is older than the horizon copies anew: DELETE FROM Copy, and Since is NULL again.
SELECT f.Since >= t.Horizon AS goes_on FROM Followed f, pt_tables t WHERE t.Store = 'shop.ptable' AND t.TableName = 'Stock';
