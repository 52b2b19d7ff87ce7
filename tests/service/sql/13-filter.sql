-- Filter MATCH, judged by the service
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName String, Age Int32, account=hr);
SELECT RowKey, FirstName FROM Employee WHERE Filter MATCH 'Age gt 30' ORDER BY RowKey;
-- the keys of the range, and the filter's; other properties than the declared ones
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND Filter MATCH 'Badge eq 7 or Age lt 30';
SELECT RowKey FROM Employee('PartitionKey eq ''Sales'' and RowKey ge ''0003''') WHERE FirstName IS NOT NULL;
SELECT RowKey FROM Employee('LastName eq ''O''''Neil''');
SELECT RowKey FROM Employee WHERE PartitionKey = 'Sales' AND RowKey IN ('000223', '000312', 'none') AND Filter MATCH 'Age gt 30';
SELECT PartitionKey, RowKey FROM Employee WHERE PartitionKey IN ('Sales', 'Marketing', 'none') AND Filter MATCH 'Age gt 20' ORDER BY PartitionKey, RowKey;
SELECT RowKey FROM Employee WHERE Filter MATCH 'Age eq 34' OR Filter MATCH 'Badge eq 7' ORDER BY RowKey;
SELECT count(*) FROM Employee WHERE Filter MATCH '';
SELECT count(*) FROM Employee WHERE Filter MATCH NULL;
CREATE TABLE wanted(f);
INSERT INTO wanted VALUES ('Age eq 34'), ('Age eq 46'), ('Age eq 1');
SELECT f, RowKey FROM wanted JOIN Employee ON Filter = f ORDER BY f;
SELECT f, RowKey FROM wanted LEFT JOIN Employee ON Filter MATCH f ORDER BY f;
SELECT f, RowKey FROM wanted LEFT JOIN Employee ON 1 WHERE Filter MATCH f;
SELECT count(*) FROM Employee WHERE NOT (Filter MATCH 'Age eq 1');
-- LIMIT and order
CREATE VIRTUAL TABLE Many USING pt_service(n Int32, account=hr);
SELECT n FROM Many WHERE PartitionKey = 'a' AND Filter MATCH 'n ge 11' LIMIT 2;
SELECT n FROM Many WHERE PartitionKey = 'a' AND Filter MATCH 'n ge 10' ORDER BY RowKey LIMIT 2 OFFSET 3;
SELECT count(*), min(n), max(n) FROM Many WHERE Filter MATCH 'n lt 50' AND n % 2 = 0;
