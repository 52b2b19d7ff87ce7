-- Errors say what is wrong and what to do, and show no secret.
.load ./ptable_service
CREATE VIRTUAL TABLE Early USING pt_service(account=later, table='Employee');
SELECT count(*) FROM Early;
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Missing USING pt_service(Age Int32, account=hr);
SELECT * FROM Missing;
SELECT * FROM Missing WHERE PartitionKey = 'p' AND RowKey = 'r';
CREATE VIRTUAL TABLE Employee USING pt_service(Age Int32, account=hr, scan=deny);
SELECT * FROM Employee;
SELECT count(*) FROM Employee WHERE PartitionKey = 'Sales';
CREATE VIRTUAL TABLE ReadOnly USING pt_service(account=hr, table='Employee', readonly=1); INSERT INTO ReadOnly(PartitionKey, RowKey) VALUES ('p', 'r');
SELECT pt_service_account('nobody');
SELECT pt_service_account('bad', 'AccountName=x');
SELECT pt_service_account('bad', 'no connection string');
-- a wrong key
SELECT length(pt_service_account('wrong', 'AccountName=devstoreaccount1;AccountKey=c2VjcmV0;TableEndpoint=http://127.0.0.1:' || substr(address, instr(address, '1:') + 2)))
  > 0 FROM (SELECT replace(pt_service_account('hr'), '/devstoreaccount1', '') || '/devstoreaccount1' AS address);
CREATE VIRTUAL TABLE Locked USING pt_service(account=wrong, table='Employee');
SELECT count(*) FROM Locked;
CREATE VIRTUAL TABLE NoAccount USING pt_service(table='Employee');
CREATE VIRTUAL TABLE Unknown USING pt_service(account=hr, pull='keys', table='Employee');
CREATE VIRTUAL TABLE Local USING pt_service(account=hr, store='x');
CREATE VIRTUAL TABLE BadName USING pt_service(account=hr, table='a b');
