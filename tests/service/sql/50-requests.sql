-- How many requests statements send. ./command prints the server's log.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
.shell ./command forget
-- none: CREATE, DROP, ALTER, preparing, EXPLAIN
CREATE VIRTUAL TABLE Employee USING pt_service(FirstName String, Age Int32, account=hr);
CREATE VIRTUAL TABLE Gone USING pt_service(account=hr);
DROP TABLE Gone;
EXPLAIN QUERY PLAN SELECT * FROM Employee WHERE PartitionKey = 'Sales';
SELECT count(*) > 0 FROM pragma_table_xinfo('Employee');
CREATE VIEW Old AS SELECT * FROM Employee WHERE Age > 30;
SELECT * FROM Employee WHERE 0;
SELECT * FROM Employee WHERE PartitionKey = 'Sales' LIMIT 0;
SELECT * FROM Employee WHERE PartitionKey = NULL;
.shell ./command
-- a point
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = '000223';
.shell ./command; ./command forget
-- only the columns that are needed
SELECT count(*) FROM Employee WHERE PartitionKey = 'Sales';
.shell ./command; ./command forget
-- points, each with a request
SELECT FirstName FROM Employee WHERE PartitionKey = 'Sales' AND RowKey IN ('000223', '000312');
.shell ./command | sort; ./command forget
-- a page for LIMIT
CREATE VIRTUAL TABLE Many USING pt_service(n Int32, account=hr);
SELECT RowKey FROM Many WHERE PartitionKey = 'a' LIMIT 2;
.shell ./command; ./command forget
-- three pages
SELECT count(*) FROM Many;
.shell ./command | wc -l; ./command forget
-- a guard against many requests
CREATE VIRTUAL TABLE Guarded USING pt_service(account=hr, table='Many', max_requests=2);
SELECT count(*) FROM Guarded;
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Guarded WHERE PartitionKey = 'a';
