-- What a schema may do, which may come from elsewhere: nothing without the program that uses it.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName String, account=hr);
-- views and triggers reach no service
CREATE VIEW Names AS SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales';
SELECT * FROM Names;
CREATE TABLE Watched(x);
CREATE TRIGGER Reader AFTER INSERT ON Watched BEGIN SELECT count(*) FROM Employee; END;
INSERT INTO Watched VALUES (1);
CREATE VIEW Account AS SELECT pt_service_account('hr');
SELECT * FROM Account;
CREATE VIEW AllTables AS SELECT * FROM pt_service_tables;
SELECT * FROM AllTables;
-- no request leaves this machine without TLS
SELECT pt_service_account('plain', 'AccountName=hr;AccountKey=c2VjcmV0;TableEndpoint=http://example.com');
SELECT pt_service_account('ftp', 'AccountName=hr;AccountKey=c2VjcmV0;TableEndpoint=ftp://127.0.0.1/hr');
-- creating and deleting a table of the service is no part of a transaction
BEGIN;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Stays');
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Employee';
COMMIT;
SELECT TableName FROM pt_service_tables WHERE TableName IN ('Employee', 'Stays');
-- counts
SELECT json_extract(pt_service_requests(), '$.requests') > 0;
-- the account may be given again, and a statement uses the new one
SELECT length(pt_service_account('hr', 'AccountName=devstoreaccount1;AccountKey=c2VjcmV0;TableEndpoint=' || pt_service_account('hr'))) > 0;
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT length(pt_service_account('hr')) > 0;
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
