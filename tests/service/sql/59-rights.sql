-- The key of the account changes during a transaction: it waits for the new one, and all is there once.
.load ./ptable_service
CREATE TEMP TABLE Address AS SELECT pt_service_account('hr') AS address;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Waiting');
CREATE VIRTUAL TABLE Waiting USING pt_service(n Int32, account=hr);
CREATE TABLE Own(n);
BEGIN;
INSERT INTO Waiting(PartitionKey, RowKey, n) VALUES ('p', '1', 1), ('p', '2', 2);
INSERT INTO Own VALUES (3);
SELECT length(pt_service_account('hr', 'AccountName=devstoreaccount1;AccountKey=b2xkZXI=;TableEndpoint=' || address)) > 0 FROM Address;
COMMIT;
SELECT n FROM Own;
INSERT INTO Waiting(PartitionKey, RowKey, n) VALUES ('p', '3', 3);
COMMIT;
SELECT length(pt_service_account('hr')) > 0;
SELECT RowKey, n, ETag IS NULL AS waits FROM Waiting WHERE PartitionKey = 'p';
.shell ./command forget
COMMIT;
.shell ./command
SELECT RowKey, n, ETag IS NULL AS waits FROM Waiting;
SELECT n FROM Own;
-- a statement without BEGIN does not wait
SELECT length(pt_service_account('hr', 'AccountName=devstoreaccount1;AccountKey=b2xkZXI=;TableEndpoint=' || address)) > 0 FROM Address;
INSERT INTO Waiting(PartitionKey, RowKey, n) VALUES ('p', '4', 4);
SELECT length(pt_service_account('hr')) > 0;
SELECT count(*) FROM Waiting;
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Waiting';
