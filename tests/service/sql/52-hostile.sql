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
-- a gateway's refusals are not the service's: neither the key nor the service is to blame
CREATE VIRTUAL TABLE Once USING pt_service(FirstName String, account=hr, table=Employee, retries=0);
.shell ./command fault page 1 403
SELECT FirstName FROM Once WHERE PartitionKey = 'Sales';
.shell ./command fault page 1 404
SELECT FirstName FROM Once WHERE PartitionKey = 'Sales';
.shell ./command fault page 1 502
SELECT FirstName FROM Once WHERE PartitionKey = 'Sales';
.shell ./command fault page 1 400
INSERT INTO Once(PartitionKey, RowKey) VALUES ('gateway', '1');
.shell ./command fault redirect 1
INSERT INTO Once(PartitionKey, RowKey) VALUES ('gateway', '1');
-- a long pause is told, not waited for
.shell ./command forget; ./command fault busy 1 3600
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
.shell ./command fault busy 1 3600
SELECT * FROM pt_service_tables;
.shell ./command | wc -l
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
