-- Reading a table of the service by its keys.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName String, LastName String, Age Int32, Active Boolean, account=hr);

-- points
SELECT * FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT * FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = 'missing';
-- properties in the order of their names: the services have other orders
SELECT RowKey, (SELECT group_concat(key || '=' || value, ' ') FROM (SELECT key, value FROM json_each(Properties) ORDER BY key)) FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000401';
-- ranges
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey > '000223';
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey BETWEEN '000223' AND '000312';
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey >= 'email_' AND RowKey < 'email`';
SELECT PartitionKey, RowKey FROM Employee WHERE PartitionKey > 'Marketing' AND PartitionKey < 'T';
SELECT PartitionKey, RowKey FROM Employee WHERE RowKey = '000400';
-- partitions and the table
SELECT RowKey, FirstName FROM Employee WHERE PartitionKey = 'Marketing';
SELECT count(*) FROM Employee;
SELECT PartitionKey, count(*) FROM Employee GROUP BY PartitionKey;
SELECT DISTINCT PartitionKey FROM Employee;
-- IN
SELECT PartitionKey, RowKey FROM Employee WHERE PartitionKey IN ('Types', 'Marketing', 'None');
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey IN ('000312', '000223', 'x');
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey IN (SELECT EmployeeId FROM (SELECT '000223' AS EmployeeId));
-- OR of keys
SELECT RowKey FROM Employee WHERE (PartitionKey = 'Sales' AND RowKey = '000223') OR (PartitionKey = 'Marketing' AND RowKey = '000150');
-- conditions on other columns
SELECT RowKey, Age FROM Employee WHERE Age > 30;
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND Age IS NULL;
SELECT RowKey, typeof(Age), Age FROM Employee WHERE LastName = 'O''Neil';
SELECT RowKey, Active FROM Employee WHERE Active = 0;
-- the table's other columns
SELECT count(*), min(typeof(ETag)), min(Timestamp > '2020') FROM Employee WHERE ETag GLOB 'W/"datetime*';
SELECT hex(EntityKey) FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT RowKey FROM Employee WHERE EntityKey > x'53616C657300303030333132' AND PartitionKey = 'Sales';
-- without columns
CREATE VIRTUAL TABLE Everything USING pt_service(account=hr, table='Employee');
SELECT PartitionKey, RowKey, (SELECT group_concat(key || '=' || value, ' ') FROM (SELECT key, value FROM json_each(Properties) ORDER BY key)) FROM Everything WHERE PartitionKey = 'Marketing';
