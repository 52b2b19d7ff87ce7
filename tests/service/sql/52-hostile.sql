-- Replies that cannot be the service's are errors, and give no rows.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName String, account=hr);
.shell ./command fault spoil 1
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales';
.shell ./command fault spoil 1
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
.shell ./command fault page 1
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales';
.shell ./command fault page 1
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
.shell ./command fault redirect 1
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales';
.shell ./command fault redirect 1
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
.shell ./command fault page 1
SELECT * FROM pt_service_tables;
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
