-- An UPDATE ... FROM that fails in a transaction leaves none of its operations in it.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Failed');
CREATE VIRTUAL TABLE Failed USING pt_service(n Int32, account=hr);
CREATE TABLE Wanted(r TEXT, n);
INSERT INTO Failed(PartitionKey, RowKey, n) VALUES ('p', '1', 1), ('p', '2', 2), ('p', '3', 3), ('p', '4', 4);
INSERT INTO Wanted VALUES ('1', 10), ('2', 20), ('3', 'three');
BEGIN;
DELETE FROM Failed WHERE PartitionKey = 'p' AND RowKey = '4';
UPDATE Failed SET n = Wanted.n FROM Wanted WHERE PartitionKey = 'p' AND RowKey = r;
SELECT RowKey, n FROM Failed WHERE PartitionKey = 'p';
UPDATE OR FAIL Failed SET n = Wanted.n FROM Wanted WHERE PartitionKey = 'p' AND RowKey = r;
SAVEPOINT s;
INSERT INTO Failed(PartitionKey, RowKey, n) VALUES ('p', '5', 5);
UPDATE Failed SET n = Wanted.n FROM Wanted WHERE PartitionKey = 'p' AND RowKey = r;
SELECT RowKey, n FROM Failed WHERE PartitionKey = 'p';
ROLLBACK TO s;
-- each entity may be written once in a transaction; OR FAIL keeps what was before
UPDATE Failed SET n = 11 WHERE PartitionKey = 'p' AND RowKey = '3';
UPDATE OR FAIL Failed SET n = n + 100 FROM (SELECT 1) WHERE PartitionKey = 'p';
COMMIT;
SELECT RowKey, n FROM Failed WHERE PartitionKey = 'p';
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Failed';
