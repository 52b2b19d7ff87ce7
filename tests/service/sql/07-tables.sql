-- The service's tables.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
SELECT * FROM pt_service_tables WHERE TableName GLOB '[A-O]*' ORDER BY TableName;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'NewOne');
SELECT * FROM pt_service_tables WHERE TableName = 'NEWone';
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'NewOne');
CREATE VIRTUAL TABLE NewOne USING pt_service(account=hr);
SELECT count(*) FROM NewOne;
DROP TABLE NewOne;
SELECT count(*) FROM pt_service_tables WHERE TableName = 'NewOne';
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'newone';
SELECT changes();
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'NewOne';
SELECT changes();
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'a b');
-- a table is deleted only by its names
DELETE FROM pt_service_tables;
DELETE FROM pt_service_tables WHERE TableName = 'Employee';
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName > 'A';
SELECT * FROM pt_service_tables WHERE TableName GLOB '[A-O]*' ORDER BY TableName;
-- what was done before a failure stays, and the error says so
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'NewOne'), ('hr', 'NewTwo'), ('hr', 'Employee');
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName IN ('NewOne', 'NewTwo', 'NewThree');
SELECT changes();
SELECT * FROM pt_service_accounts;
