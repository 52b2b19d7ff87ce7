-- How many requests writes send. ./command prints the server's log.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Written');
CREATE VIRTUAL TABLE Written USING pt_service(n Int32, m Int32, account=hr);
.shell ./command forget
-- one entity, one request
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '1', 1);
INSERT OR REPLACE INTO Written(PartitionKey, RowKey, n) VALUES ('a', '1', 1);
INSERT INTO Written(PartitionKey, RowKey, n, WriteMode) VALUES ('a', '1', 1, 'merge');
INSERT INTO Written(PartitionKey, RowKey, WriteMode) VALUES ('a', 'none', 'delete');
.shell ./command; ./command forget
-- UPDATE and DELETE read first, for the ETag
UPDATE Written SET n = 2 WHERE PartitionKey = 'a' AND RowKey = '1';
UPDATE Written SET Properties = '{"n":3}' WHERE PartitionKey = 'a' AND RowKey = '1';
DELETE FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
.shell ./command; ./command forget
-- the whole entity is needed to remove a property, to change a key, and in UPDATE ... FROM
INSERT INTO Written(PartitionKey, RowKey, n, m) VALUES ('a', '1', 1, 2);
.shell ./command forget
UPDATE Written SET m = NULL WHERE PartitionKey = 'a' AND RowKey = '1';
UPDATE Written SET RowKey = '2' WHERE PartitionKey = 'a' AND RowKey = '1';
UPDATE Written SET n = v.column1 FROM (VALUES (7)) AS v WHERE PartitionKey = 'a' AND RowKey = '2';
.shell ./command; ./command forget
-- OR IGNORE looks for each entity
INSERT OR IGNORE INTO Written(PartitionKey, RowKey) VALUES ('a', '2'), ('a', '3');
.shell ./command; ./command forget
-- nothing before COMMIT, and nothing at all if nothing has changed
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '4', 1), ('a', '5', 2);
SAVEPOINT s;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '6', 1);
ROLLBACK TO s;
.shell ./command
COMMIT;
.shell ./command; ./command forget
BEGIN;
DELETE FROM Written WHERE PartitionKey = 'none' AND RowKey = 'none';
UPDATE Written SET n = 1 WHERE 0;
COMMIT;
BEGIN;
INSERT INTO Written(PartitionKey, RowKey) VALUES ('a', '7');
ROLLBACK;
.shell ./command
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Written';
-- a signature is in the URL of the batch, and not in its operations
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Signed');
CREATE TEMP TABLE Address AS SELECT pt_service_account('hr') AS address;
SELECT length(pt_service_account('signed', 'TableEndpoint=' || address || ';SharedAccessSignature=sv=2019-02-02&sig=c2VjcmV0')) > 0 FROM Address;
CREATE VIRTUAL TABLE Signed USING pt_service(n Int32, account=signed);
.shell ./command forget
INSERT INTO Signed(PartitionKey, RowKey, n) VALUES ('a', '1', 1);
INSERT INTO Signed(PartitionKey, RowKey, n) VALUES ('a', '2', 2), ('a', '3', 3);
.shell ./command
SELECT count(*) FROM Signed;
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Signed';
