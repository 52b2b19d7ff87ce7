-- How many requests statements take, as sql/README.md says. Prints the number before the statement.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Costs');
CREATE VIRTUAL TABLE Costs USING pt_service(a, b Int32, account=hr);
CREATE VIRTUAL TABLE Split USING pt_service(a, b Int32, account=hr, table=Costs, batch=split);
CREATE TABLE Local(k);
INSERT INTO Local VALUES ('00001'), ('00002'), ('00003');
CREATE TABLE before(n);
INSERT INTO before VALUES (pt_service_requests() ->> '$.requests');
-- 4 partitions of 2,500 entities
INSERT INTO Split(PartitionKey, RowKey, a, b)
  WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
  SELECT 'p' || (i / 2500), printf('%05d', i), 'x', i FROM n;
SELECT (pt_service_requests() ->> '$.requests') - n, 'INSERT ... SELECT of 10,000 entities, batch=split' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT * FROM Costs WHERE PartitionKey = 'p0' AND RowKey = '00001';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT * FROM Costs WHERE PartitionKey = ''p0'' AND RowKey = ''00001''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT * FROM Costs WHERE PartitionKey = 'p0' AND RowKey IN ('00001', '00002', '00003');
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT * FROM Costs WHERE PartitionKey = ''p0'' AND RowKey IN (''00001'', ''00002'', ''00003'')' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT * FROM Costs WHERE PartitionKey = 'p0' AND RowKey > '00001';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT * FROM Costs WHERE PartitionKey = ''p0'' AND RowKey > ''00001''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT * FROM Costs WHERE PartitionKey = 'p0';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT * FROM Costs WHERE PartitionKey = ''p0''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT * FROM Costs WHERE PartitionKey IN ('p0', 'p1');
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT * FROM Costs WHERE PartitionKey IN (''p0'', ''p1'')' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT count(*) FROM Costs;
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT count(*) FROM Costs' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT count(*) FROM Costs WHERE RowKey = '00001';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT count(*) FROM Costs WHERE RowKey = ''00001''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT max(RowKey) FROM Costs WHERE PartitionKey = 'p0';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT max(RowKey) FROM Costs WHERE PartitionKey = ''p0''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT min(RowKey) FROM Costs WHERE PartitionKey = 'p0';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT min(RowKey) FROM Costs WHERE PartitionKey = ''p0''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT DISTINCT PartitionKey FROM Costs;
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT DISTINCT PartitionKey FROM Costs' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT * FROM Costs ORDER BY PartitionKey, RowKey LIMIT 10;
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT * FROM Costs ORDER BY PartitionKey, RowKey LIMIT 10' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT * FROM Costs WHERE PartitionKey = 'p0' ORDER BY RowKey DESC LIMIT 1;
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT * FROM Costs WHERE PartitionKey = ''p0'' ORDER BY RowKey DESC LIMIT 1' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT EXISTS (SELECT 1 FROM Costs WHERE PartitionKey = 'p0');
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT EXISTS (SELECT 1 FROM Costs WHERE PartitionKey = ''p0'')' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT * FROM Local JOIN Costs ON PartitionKey = 'p0' AND RowKey = k;
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT * FROM Local JOIN Costs ON PartitionKey = ''p0'' AND RowKey = k' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
SELECT * FROM Costs WHERE PartitionKey = 'p0' AND RowKey IN (SELECT k FROM Local);
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'SELECT * FROM Costs WHERE PartitionKey = ''p0'' AND RowKey IN (SELECT k FROM Local)' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
INSERT INTO Costs(PartitionKey, RowKey, a) VALUES ('q', '1', 'x');
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'INSERT INTO Costs(PartitionKey, RowKey, a) VALUES (''q'', ''1'', ''x'')' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
INSERT OR REPLACE INTO Costs(PartitionKey, RowKey, a) VALUES ('q', '1', 'x');
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'INSERT OR REPLACE INTO Costs(PartitionKey, RowKey, a) VALUES (''q'', ''1'', ''x'')' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
INSERT OR IGNORE INTO Costs(PartitionKey, RowKey, a) VALUES ('q', '1', 'x');
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'INSERT OR IGNORE INTO Costs(PartitionKey, RowKey, a) VALUES (''q'', ''1'', ''x'')' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
INSERT OR IGNORE INTO Costs(PartitionKey, RowKey, a) VALUES ('q', '2', 'x'), ('q', '3', 'x');
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'INSERT OR IGNORE INTO Costs(PartitionKey, RowKey, a) VALUES (''q'', ''2'', ''x''), (''q'', ''3'', ''x'')' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
INSERT INTO Costs(PartitionKey, RowKey, a) VALUES ('q', '4', 'x'), ('q', '5', 'x');
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'INSERT INTO Costs(PartitionKey, RowKey, a) VALUES (''q'', ''4'', ''x''), (''q'', ''5'', ''x'')' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
UPDATE Costs SET a = 'y' WHERE PartitionKey = 'q' AND RowKey = '1';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'UPDATE Costs SET a = ''y'' WHERE PartitionKey = ''q'' AND RowKey = ''1''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
UPDATE Costs SET a = NULL WHERE PartitionKey = 'q' AND RowKey = '1';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'UPDATE Costs SET a = NULL WHERE PartitionKey = ''q'' AND RowKey = ''1''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
DELETE FROM Costs WHERE PartitionKey = 'q' AND RowKey = '1';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'DELETE FROM Costs WHERE PartitionKey = ''q'' AND RowKey = ''1''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
DELETE FROM Costs WHERE PartitionKey = 'q';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'DELETE FROM Costs WHERE PartitionKey = ''q''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
INSERT INTO Costs(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p0', '00001', 'delete', '*');
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'INSERT INTO Costs(PartitionKey, RowKey, WriteMode, IfMatch) VALUES (''p0'', ''00001'', ''delete'', ''*'')' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
DELETE FROM Split WHERE PartitionKey = 'p1';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'DELETE FROM Split WHERE PartitionKey = ''p1''' FROM before;
UPDATE before SET n = pt_service_requests() ->> '$.requests';
.output /dev/null
UPDATE Split SET b = b + 1 WHERE PartitionKey = 'p2';
.output
SELECT (pt_service_requests() ->> '$.requests') - n, 'UPDATE Split SET b = b + 1 WHERE PartitionKey = ''p2''' FROM before;
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Costs';
