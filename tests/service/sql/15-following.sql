-- A table of the service follows the changes of a local one.
.load ./ptable
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'FollowedStock'), ('hr', 'SeenOfStock');
CREATE VIRTUAL TABLE Stock USING ptable(Name String, Pieces Int32, changes=on);
CREATE VIRTUAL TABLE Copy USING pt_service(Name String, Pieces Int32, account=hr, table='FollowedStock', batch=split);
CREATE VIRTUAL TABLE Followed USING pt_service(Since String, account=hr, table='SeenOfStock');
INSERT INTO Stock(PartitionKey, RowKey, Name, Pieces) VALUES ('Tools', '1', 'Hammer', 5), ('Tools', '2', 'Saw', 3), ('Wood', '1', 'Board', 20);
CREATE TEMP TABLE Seen AS SELECT NULL AS since, (SELECT max(Timestamp) FROM pt_changes('Stock', NULL)) AS latest;
INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode) SELECT PartitionKey, RowKey, Properties, WriteMode FROM Seen, pt_changes('Stock', since) ORDER BY PartitionKey, RowKey;
INSERT OR REPLACE INTO Followed(PartitionKey, RowKey, Since) SELECT 'Stock', '', latest FROM Seen WHERE latest IS NOT NULL;
DROP TABLE Seen;
SELECT PartitionKey, RowKey, Name, Pieces FROM Copy ORDER BY PartitionKey, RowKey;
-- changed, deleted, deleted and made again, made and deleted
UPDATE Stock SET Pieces = Pieces - 1 WHERE RowKey = '1';
DELETE FROM Stock WHERE RowKey = '2';
DELETE FROM Stock WHERE PartitionKey = 'Wood';
INSERT INTO Stock(PartitionKey, RowKey, Name) VALUES ('Wood', '1', 'Lath'), ('Never', '1', 'x'), ('Never', '2', 'x'), ('Tools', '3', 'Nail');
DELETE FROM Stock WHERE PartitionKey = 'Never';
CREATE TEMP TABLE Seen AS SELECT since, (SELECT max(Timestamp) FROM pt_changes('Stock', since)) AS latest FROM (SELECT max(Since) AS since FROM Followed WHERE PartitionKey = 'Stock' AND RowKey = '');
SELECT PartitionKey, RowKey, WriteMode FROM Seen, pt_changes('Stock', since) ORDER BY PartitionKey, RowKey;
-- written twice, as after a kill: no error, and the same
INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode) SELECT PartitionKey, RowKey, Properties, WriteMode FROM Seen, pt_changes('Stock', since) ORDER BY PartitionKey, RowKey;
SELECT PartitionKey, RowKey, Name, Pieces FROM Copy ORDER BY PartitionKey, RowKey;
INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode) SELECT PartitionKey, RowKey, Properties, WriteMode FROM Seen, pt_changes('Stock', since) ORDER BY PartitionKey, RowKey;
INSERT OR REPLACE INTO Followed(PartitionKey, RowKey, Since) SELECT 'Stock', '', latest FROM Seen WHERE latest IS NOT NULL;
SELECT PartitionKey, RowKey, Name, Pieces FROM Copy ORDER BY PartitionKey, RowKey;
SELECT count(*) FROM Followed, pt_changes('Stock', Since);
-- In one transaction it cannot be: several partitions.
BEGIN;
INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode) SELECT PartitionKey, RowKey, Properties, WriteMode FROM Seen, pt_changes('Stock', since) ORDER BY PartitionKey, RowKey;
ROLLBACK;
-- The service's tables are left as they were.
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName IN ('FollowedStock', 'SeenOfStock');
