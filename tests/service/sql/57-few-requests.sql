-- No more requests than a statement needs. ./command prints the server's log.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName String, Age Int32, account=hr);
CREATE VIRTUAL TABLE Many USING pt_service(n Int32, m Int32, account=hr);
.shell ./command forget
-- LIMIT reads one partition after the other, EXISTS and min() one page
SELECT PartitionKey, RowKey FROM Many WHERE PartitionKey IN ('a', 'b', 'c') ORDER BY PartitionKey, RowKey LIMIT 2;
.shell ./command; ./command forget
SELECT PartitionKey, RowKey FROM Many WHERE PartitionKey IN ('none', 'b', 'nothing') LIMIT 2 OFFSET 3;
.shell ./command; ./command forget
SELECT EXISTS (SELECT 1 FROM Many WHERE PartitionKey = 'a');
.shell ./command; ./command forget
SELECT min(RowKey) FROM Many WHERE PartitionKey = 'a';
.shell ./command; ./command forget
-- a LIMIT of more than a page, and one that SQLite keeps to itself because of the condition
SELECT count(*) FROM (SELECT 1 FROM Many WHERE PartitionKey = 'a' LIMIT 1100);
.shell ./command | cut -c1-100; ./command forget
SELECT n, m FROM Many WHERE PartitionKey = 'a' AND n * 100 + m = 400 LIMIT 1;
.shell ./command; ./command forget
-- one request for each key or partition of a list
CREATE TABLE wanted AS SELECT '000223' AS id UNION ALL SELECT '000312' UNION ALL SELECT 'none';
SELECT RowKey, FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey IN (SELECT id FROM wanted) ORDER BY RowKey;
.shell ./command | sort; ./command forget
SELECT PartitionKey, count(*) FROM Employee WHERE PartitionKey IN ('Sales', 'Marketing') GROUP BY PartitionKey;
.shell ./command | sort; ./command forget
-- the filter beside the keys
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223' AND Filter MATCH 'Age gt 30 or FirstName eq ''Zoë''';
.shell ./command; ./command forget
SELECT RowKey FROM Employee('Age gt 30') LIMIT 1;
.shell ./command; ./command forget
SELECT RowKey FROM Employee('Age gt 30 and');
SELECT RowKey FROM Employee('startswith(FirstName, ''J'')');
.shell ./command | wc -l; ./command forget
-- the service judges a row for which SQLite has no filter in its plan
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey < '0003' AND NOT (Filter MATCH 'Age gt 40');
.shell ./command; ./command forget
-- columns: some, with the keys of several partitions, all
SELECT FirstName FROM Employee WHERE PartitionKey > 'S' AND Age > 30;
SELECT Timestamp IS NOT NULL, ETag IS NOT NULL FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
SELECT Properties FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
.shell ./command; ./command forget
-- a guard against scans that lets a filter of partitions pass
CREATE VIRTUAL TABLE Denied USING pt_service(Age Int32, account=hr, table=Employee, scan=deny);
SELECT count(*) FROM Denied('PartitionKey eq ''Sales'' and Age gt 30');
SELECT count(*) FROM Denied('Age gt 30');
SELECT count(*) FROM Denied;
.shell ./command | wc -l
