-- EXPLAIN QUERY PLAN shows what is read, and about how many requests that takes.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(Age Int32, account=hr);
CREATE TABLE Wanted(id);
.eqp on
SELECT count(*) FROM Employee WHERE PartitionKey = 'None' AND RowKey = '1';
SELECT count(*) FROM Employee WHERE PartitionKey = 'None' AND RowKey > '1';
SELECT count(*) FROM Employee WHERE PartitionKey = 'None';
SELECT count(*) FROM Employee WHERE PartitionKey > 'U';
SELECT count(*) FROM Employee WHERE PartitionKey IN ('None', 'Nothing');
SELECT count(*) FROM Employee WHERE PartitionKey = 'None' AND RowKey IN ('1', '2');
SELECT count(*) FROM Employee;
SELECT count(*) FROM Employee WHERE Age = 1000;
SELECT count(*) FROM Employee WHERE PartitionKey > 'U' ORDER BY PartitionKey, RowKey;
SELECT count(*) FROM Wanted JOIN Employee ON PartitionKey = 'Sales' AND RowKey = id;
-- what is sent beside the keys, and LIMIT
SELECT Age FROM Employee WHERE PartitionKey = 'Sales' AND Filter MATCH 'Age gt 3' AND Age LIKE '3%';
SELECT Age FROM Employee('Age gt 3');
SELECT Age FROM Employee('Age gt 3') LIMIT 1500 OFFSET 501;
SELECT Age FROM Employee WHERE PartitionKey = 'Sales' ORDER BY RowKey LIMIT 10;
SELECT Age FROM Employee WHERE PartitionKey = 'Sales' AND RowKey IN ('a', 'b', 'c') LIMIT 2;
SELECT Age FROM Employee WHERE PartitionKey = 'Sales' ORDER BY RowKey DESC LIMIT 10;
SELECT Age FROM Employee WHERE PartitionKey = 'Sales' LIMIT (SELECT 1);
-- joins: a few keys are asked for; a large indexed table is not looked up in the cloud row by row
SELECT * FROM Wanted JOIN Employee ON PartitionKey = id;
CREATE TABLE Large(id TEXT PRIMARY KEY, x) WITHOUT ROWID;
SELECT * FROM Large JOIN Employee ON PartitionKey = 'Sales' AND RowKey = id;
SELECT * FROM Large JOIN Employee ON PartitionKey = x AND RowKey = id;
SELECT * FROM Large JOIN Employee ON Age = id;
SELECT * FROM Wanted JOIN Employee ON Age = id WHERE PartitionKey > 'A';
