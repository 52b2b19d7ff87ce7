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
