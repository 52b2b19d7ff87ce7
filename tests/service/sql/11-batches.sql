-- A transaction is an entity group transaction: one request at COMMIT, for one partition of one table.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Written'), ('hr', 'Other');
CREATE VIRTUAL TABLE Written USING pt_service(n Int32, account=hr);
CREATE VIRTUAL TABLE Other USING pt_service(n Int32, account=hr);
CREATE TABLE Local(x);
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '1', 1), ('a', '2', 2);
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '3', 3);
INSERT INTO Local VALUES ('first');
COMMIT;
SELECT RowKey, n FROM Written;
-- several kinds in one batch
BEGIN;
UPDATE Written SET n = 10 WHERE PartitionKey = 'a' AND RowKey = '1';
DELETE FROM Written WHERE PartitionKey = 'a' AND RowKey = '2';
INSERT INTO Written(PartitionKey, RowKey, n, WriteMode) VALUES ('a', '3', 30, 'merge');
INSERT OR REPLACE INTO Written(PartitionKey, RowKey, n) VALUES ('a', '4', 4);
INSERT INTO Written(PartitionKey, RowKey, WriteMode) VALUES ('a', 'x', 'delete'), ('a', 'y', 'delete');
COMMIT;
SELECT RowKey, n FROM Written;
-- one operation is refused, and nothing is done, in SQLite's tables neither
BEGIN;
INSERT INTO Local VALUES ('second');
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '5', 5), ('a', '1', 6);
COMMIT;
SELECT count(*) FROM Written;
SELECT * FROM Local;
-- ROLLBACK and savepoints
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '6', 6);
ROLLBACK;
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '6', 6);
SAVEPOINT one;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '7', 7);
SAVEPOINT two;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '8', 8);
ROLLBACK TO two;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '9', 9);
RELEASE two;
ROLLBACK TO one;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '7', 77);
COMMIT;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' AND RowKey > '5';
SAVEPOINT outer;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '8', 8);
ROLLBACK TO outer;
INSERT INTO Other(PartitionKey, RowKey, n) VALUES ('a', '8', 8);
RELEASE outer;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' AND RowKey > '7' UNION ALL SELECT RowKey, n FROM Other;
-- a savepoint that is open when a second table joins
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('b', '1', 1);
SAVEPOINT one;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('b', '2', 2);
INSERT INTO Other(PartitionKey, RowKey, n) VALUES ('b', '1', 1);
ROLLBACK TO one;
COMMIT;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'b';
-- a statement that fails half-way leaves the earlier ones
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('b', '3', 3);
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('b', '4', 4), ('b', '5', 'five');
INSERT OR FAIL INTO Written(PartitionKey, RowKey, n) VALUES ('b', '6', 6), ('c', '7', 7);
INSERT OR IGNORE INTO Written(PartitionKey, RowKey, n) VALUES ('b', '7', 7), ('c', '7', 7), ('b', '1', 1), ('b', '8', 8);
COMMIT;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'b';
-- refused when it is written
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('d', '1', 1);
INSERT INTO Other(PartitionKey, RowKey, n) VALUES ('d', '1', 1);
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('e', '1', 1);
INSERT INTO Written(PartitionKey, RowKey, n, WriteMode) VALUES ('d', '1', 1, 'merge');
DROP TABLE Other;
INSERT INTO Written(PartitionKey, RowKey, n) WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 98) SELECT 'd', 100 + i, i FROM c;
COMMIT;
SELECT count(*) FROM Written WHERE PartitionKey = 'd';
-- the same for a statement outside a transaction
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('f', '1', 1), ('g', '1', 1);
INSERT INTO Written(PartitionKey, RowKey, n) WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 100) SELECT 'f', i, i FROM c;
SELECT count(*) FROM Written WHERE PartitionKey IN ('f', 'g');
-- too many bytes
INSERT INTO Written(PartitionKey, RowKey, Properties) WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 14), p(json) AS (SELECT json_group_object('p' || i, printf('%.*c', 32000, 'x')) FROM c) SELECT 'h', i, json FROM c, p;
SELECT count(*) FROM Written WHERE PartitionKey = 'h';
-- an UPDATE of what another has changed: the transaction is over, and can be run again
BEGIN;
INSERT INTO Local VALUES ('third');
UPDATE Written SET n = n + 1 WHERE PartitionKey = 'a' AND RowKey = '1';
.shell printf ".load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\nCREATE VIRTUAL TABLE Written USING pt_service(n Int32, account=hr);\nUPDATE Written SET n = 0 WHERE PartitionKey = 'a' AND RowKey = '1';\n" | ${PT_SHELL:-sqlite3} -batch -init /dev/null :memory:
COMMIT;
SELECT n FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
SELECT * FROM Local;
-- UPDATE ... FROM updates an entity once, and is refused if the transaction has written it before
CREATE TABLE New(id, n);
INSERT INTO New VALUES ('1', 5), ('1', 5), ('3', 6), ('3', 6);
BEGIN;
UPDATE Written SET n = New.n FROM New WHERE PartitionKey = 'a' AND RowKey = New.id;
UPDATE Written SET n = 7 FROM New WHERE PartitionKey = 'a' AND RowKey = New.id;
COMMIT;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' AND RowKey < '4';
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName IN ('Written', 'Other');
