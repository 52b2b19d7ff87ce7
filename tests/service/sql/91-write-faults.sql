-- Writes that meet faults: success is told only of what is done, and nothing is done twice.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Written');
CREATE VIRTUAL TABLE Written USING pt_service(n Int32, Name String, account=hr, retries=2);
CREATE VIRTUAL TABLE Once USING pt_service(n Int32, account=hr, table='Written', retries=0);
SELECT count(*) FROM Written;
-- the request is lost: it is sent again
.shell ./command forget; ./command fault drop 1
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '1', 1);
.shell ./command
-- the reply is lost, and the second request refused: another program may have written the same
.shell ./command forget; ./command fault lose 1
INSERT INTO Written(PartitionKey, RowKey, n, Name) VALUES ('a', '2', 2, 'Zoë');
.shell ./command; ./command forget; ./command fault cut 1
BEGIN; INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '3', 3), ('a', '4', 4); COMMIT;
.shell ./command; ./command forget; ./command fault lose 2
UPDATE Written SET n = n + 1 WHERE PartitionKey = 'a' AND RowKey = '1';
SELECT n FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
.shell ./command forget; ./command fault lose 1
INSERT OR REPLACE INTO Written(PartitionKey, RowKey, n) VALUES ('a', '2', 20);
.shell ./command; ./command forget; ./command fault lose 2
DELETE FROM Written WHERE PartitionKey = 'a' AND RowKey = '3';
.shell ./command; ./command forget; ./command fault spoil 1
BEGIN; INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '5', 5), ('a', '6', 6); COMMIT;
.shell ./command forget
SELECT RowKey, n, Name FROM Written;
-- an entity of another writer is not taken for ours
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '7', 3);
.shell ./command forget; ./command fault drop 1
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '7', 3);
.shell ./command; ./command forget
-- what may be done twice needs no certainty: deletes of what is gone are left out
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '8', 8), ('a', '9', 9);
.shell ./command forget; ./command fault lose 1
INSERT INTO Written(PartitionKey, RowKey, n, WriteMode) VALUES ('a', '7', 70, 'merge'), ('a', '8', NULL, 'delete'), ('a', '9', NULL, 'delete');
.shell ./command; ./command forget
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' AND RowKey > '6';
-- the service is busy: certainly nothing is done, and COMMIT can be given again
.shell ./command forget; ./command fault busy 1
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('b', '1', 1);
.shell ./command forget; ./command fault throttle 1
BEGIN; INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('b', '2', 2), ('b', '3', 3); COMMIT;
.shell ./command | wc -l; ./command forget; ./command fault throttle 1; ./command fault throttle 2; ./command fault throttle 3
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('b', '4', 4), ('b', '5', 5);
COMMIT;
COMMIT;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'b';
-- a delete of what is not there is left out, and then the service is busy: savepoints still fit
.shell ./command forget; ./command fault throttle 2
BEGIN;
INSERT INTO Once(PartitionKey, RowKey, WriteMode) VALUES ('b', 'gone', 'delete');
INSERT INTO Once(PartitionKey, RowKey, n) VALUES ('b', '6', 6);
SAVEPOINT seven;
INSERT INTO Once(PartitionKey, RowKey, n) VALUES ('b', '7', 7);
COMMIT;
ROLLBACK TO seven;
COMMIT;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'b' AND RowKey > '5';
-- nobody can say: no reply ever came
.shell ./command forget; ./command fault drop 1+
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('c', '1', 1);
.shell ./command forget; ./command fault drop 1; ./command fault lose 2
INSERT INTO Once(PartitionKey, RowKey, n) VALUES ('c', '1', 1);
.shell ./command forget; ./command fault lose 1
INSERT INTO Once(PartitionKey, RowKey, n) VALUES ('c', '2', 2);
.shell ./command; ./command forget; ./command fault page 1
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('c', '3', 3);
.shell ./command forget; ./command fault redirect 1
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('c', '4', 4);
.shell ./command forget
SELECT RowKey, n FROM Written WHERE PartitionKey = 'c';
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Written';
