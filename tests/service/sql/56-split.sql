-- batch=split: a statement outside a transaction becomes groups of 100 operations of a partition.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Loaded');
CREATE VIRTUAL TABLE Loaded USING pt_service(n Int32, account=hr, batch=split, retries=2);
CREATE TABLE Source AS WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 4999) SELECT printf('p%d', i % 7) AS pk, printf('%05d', i) AS rk, i AS n FROM c;
.shell ./command forget
INSERT INTO Loaded(PartitionKey, RowKey, n) SELECT pk, rk, n FROM Source;
SELECT changes();
.shell echo $(./command | sort | uniq -c); ./command forget
SELECT count(*), sum(n), count(DISTINCT PartitionKey) FROM Loaded;
SELECT json_extract(pt_service_requests(), '$.operations');
SELECT PartitionKey, RowKey, n FROM Loaded EXCEPT SELECT pk, rk, n FROM Source;
-- one row is one request
.shell ./command forget
INSERT INTO Loaded(PartitionKey, RowKey, n) VALUES ('one', '1', 1);
.shell ./command; ./command forget
-- the later row wins, and more partitions than are collected at once
INSERT OR REPLACE INTO Loaded(PartitionKey, RowKey, n) SELECT 'same', '1', n FROM Source WHERE n < 10;
SELECT n FROM Loaded WHERE PartitionKey = 'same';
INSERT INTO Loaded(PartitionKey, RowKey, n) SELECT 'many' || (n % 100), n, n FROM Source WHERE n < 300;
SELECT count(*), sum(n), count(DISTINCT PartitionKey) FROM Loaded WHERE PartitionKey >= 'many' AND PartitionKey < 'manz';
UPDATE Loaded SET n = n + 1 WHERE PartitionKey >= 'many' AND PartitionKey < 'manz';
SELECT changes(), (SELECT sum(n) FROM Loaded WHERE PartitionKey >= 'many' AND PartitionKey < 'manz');
DELETE FROM Loaded WHERE PartitionKey >= 'many' AND PartitionKey < 'manz';
SELECT changes(), (SELECT count(*) FROM Loaded WHERE PartitionKey >= 'many' AND PartitionKey < 'manz');
UPDATE Loaded SET RowKey = '2' WHERE PartitionKey = 'one';
-- in a transaction nothing is split
BEGIN;
INSERT INTO Loaded(PartitionKey, RowKey) VALUES ('x', '1'), ('y', '1');
ROLLBACK;
-- what is done stays, and OR REPLACE repeats it
DELETE FROM Loaded;
INSERT INTO Loaded(PartitionKey, RowKey, n) VALUES ('p', '00450', 0);
INSERT INTO Loaded(PartitionKey, RowKey, n) SELECT 'p', rk, n FROM Source WHERE n < 1000;
SELECT count(*) >= 400, count(*) % 100 FROM Loaded;
INSERT OR REPLACE INTO Loaded(PartitionKey, RowKey, n) SELECT 'p', rk, n FROM Source WHERE n < 1000;
SELECT count(*), sum(n) FROM Loaded;
DELETE FROM Loaded;
INSERT INTO Loaded(PartitionKey, RowKey, n) SELECT 'p', rk, iif(n = 250, 'many', n) FROM Source WHERE n < 1000;
SELECT count(*) FROM Loaded;
DELETE FROM Loaded;
INSERT OR IGNORE INTO Loaded(PartitionKey, RowKey, n) SELECT iif(n = 5, NULL, 'p'), rk, n FROM Source WHERE n < 8;
SELECT count(*) FROM Loaded;
-- OR IGNORE skips what is written earlier in the statement, and loses nothing else
DELETE FROM Loaded;
INSERT INTO Loaded(PartitionKey, RowKey, n) VALUES ('p', '00003', -3);
INSERT OR IGNORE INTO Loaded(PartitionKey, RowKey, n) SELECT 'p', printf('%05d', n % 150), n FROM Source WHERE n < 300;
SELECT changes(), (SELECT count(*) FROM Loaded), (SELECT sum(n) FROM Loaded);
-- faults are met as by one request: what may be done twice is sent again, 56 groups in 60 requests
DELETE FROM Loaded;
.shell ./command forget; ./command fault lose 2; ./command fault throttle 4; ./command fault cut 6; ./command fault drop 7
INSERT OR REPLACE INTO Loaded(PartitionKey, RowKey, n) SELECT pk, rk, n FROM Source;
.shell ./command | wc -l; ./command forget
SELECT count(*), sum(n) FROM Loaded;
DELETE FROM Loaded;
.shell ./command forget; ./command fault busy 3+ 0
INSERT INTO Loaded(PartitionKey, RowKey, n) SELECT 'p', rk, n FROM Source WHERE n < 1000;
.shell ./command forget
SELECT count(*) FROM Loaded;
-- in no order of keys and with repetitions: the last write of each entity wins
.shell ./command forget
INSERT OR REPLACE INTO Loaded(PartitionKey, RowKey, n) WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 999) SELECT 'order', printf('%05d', i * 7919 % 250), i FROM c;
SELECT count(*), min(n), sum(n) FROM Loaded WHERE PartitionKey = 'order';
-- entities of which few fit into a group
INSERT INTO Loaded(PartitionKey, RowKey, Properties) WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 14), p(json) AS (SELECT json_group_object('p' || i, printf('%.*c', 32000, 'x')) FROM c) SELECT 'large', i, json FROM c, p;
SELECT count(*) FROM Loaded WHERE PartitionKey = 'large';
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Loaded';
