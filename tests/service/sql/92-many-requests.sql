-- What is asked for one by one has a limit without the option: 10,000.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
CREATE VIRTUAL TABLE Usual USING pt_service(n Int32, account=hr, table=Many);
CREATE VIRTUAL TABLE Free USING pt_service(n Int32, account=hr, table=Many, max_requests=0);
CREATE TABLE Keys AS WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 10999) SELECT printf('%06d', i) AS k FROM c;
.shell ./command forget
SELECT count(*) FROM Usual WHERE PartitionKey = 'a' AND RowKey IN (SELECT k FROM Keys);
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Keys CROSS JOIN Usual ON PartitionKey = 'a' AND RowKey = k;
.shell ./command | wc -l; ./command forget
SELECT count(*) FROM Free WHERE PartitionKey = 'a' AND RowKey IN (SELECT k FROM Keys);
.shell ./command | wc -l; ./command forget
