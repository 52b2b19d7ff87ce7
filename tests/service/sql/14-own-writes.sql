-- A transaction reads what it has written, before the service has it.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Written');
CREATE VIRTUAL TABLE Written USING pt_service(n Int32, s String, account=hr);
CREATE VIRTUAL TABLE Same USING pt_service(n Int32, account=hr, table='Written');
INSERT INTO Written(PartitionKey, RowKey, n, s, Properties) VALUES ('a', '1', 1, 'one', '{"x":1.5}'), ('a', '3', 3, 'three', '{"x":3.5}'), ('a', '5', 5, 'five', NULL), ('a', '7', 7, 'seven', NULL);
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('b', '1', 10);
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n, s) VALUES ('a', '4', 4, 'four'), ('a', '2', 2, 'Zoë "2"'), ('a', '9', 9, NULL);
UPDATE Written SET n = n * 100 WHERE PartitionKey = 'a' AND RowKey = '1';
UPDATE Written SET s = NULL WHERE PartitionKey = 'a' AND RowKey = '3';
DELETE FROM Written WHERE PartitionKey = 'a' AND RowKey = '5';
INSERT OR REPLACE INTO Written(PartitionKey, RowKey, n) VALUES ('a', '7', 70);
INSERT INTO Written(PartitionKey, RowKey, n, WriteMode) VALUES ('a', '8', 8, 'merge');
-- a scan, a partition, ranges, points, lists, both directions
SELECT PartitionKey, RowKey, n, s FROM Written;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' ORDER BY RowKey;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' ORDER BY RowKey DESC;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' AND RowKey > '2' AND RowKey <= '7';
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' AND RowKey BETWEEN '4' AND '5';
SELECT RowKey, n, s FROM Written WHERE PartitionKey = 'a' AND RowKey = '2';
SELECT RowKey, n, s FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
SELECT count(*) FROM Written WHERE PartitionKey = 'a' AND RowKey = '5';
SELECT count(*) FROM Written WHERE PartitionKey = 'b' AND RowKey = '2';
SELECT RowKey, n FROM Written WHERE PartitionKey IN ('a', 'b') AND RowKey IN ('5', '1', '9', '2', 'x');
SELECT PartitionKey, RowKey FROM Written WHERE PartitionKey IN ('b', 'a');
SELECT RowKey FROM Written WHERE RowKey > '7';
SELECT RowKey FROM Written WHERE PartitionKey = 'a' AND (RowKey < '3' OR RowKey = '9');
SELECT PartitionKey, RowKey FROM Written WHERE PartitionKey >= 'a' AND PartitionKey < 'b' AND RowKey GLOB '[24]*';
SELECT RowKey FROM Written WHERE EntityKey > (SELECT EntityKey FROM Written WHERE PartitionKey = 'a' AND RowKey = '4') AND PartitionKey = 'a';
SELECT count(*), sum(n), min(RowKey), max(RowKey) FROM Written WHERE PartitionKey = 'a';
SELECT RowKey FROM Written WHERE PartitionKey = 'a' LIMIT 3 OFFSET 4;
SELECT EXISTS (SELECT 1 FROM Written WHERE PartitionKey = 'a' AND RowKey = '9');
-- conditions on columns, whole entities, joins
SELECT RowKey FROM Written WHERE PartitionKey = 'a' AND n >= 70;
SELECT RowKey FROM Written WHERE PartitionKey = 'a' AND s IS NULL;
SELECT RowKey, Properties ->> 'n', Properties ->> 'x', Properties ->> 's' FROM Written WHERE PartitionKey = 'a' AND RowKey < '5';
SELECT a.RowKey, b.n FROM Written AS a JOIN Written AS b ON b.PartitionKey = 'a' AND b.RowKey = a.RowKey AND b.n < 10 WHERE a.PartitionKey = 'a';
SELECT RowKey, n FROM Same WHERE PartitionKey = 'a' AND RowKey < '3';
-- what the service gives comes with COMMIT
SELECT RowKey, ETag IS NULL, Timestamp IS NULL, hex(EntityVersion) FROM Written WHERE PartitionKey = 'a' AND RowKey IN ('1', '2');
SELECT RowKey FROM Written WHERE Filter MATCH 'n gt 50';
SELECT RowKey FROM Written WHERE PartitionKey = 'a' AND (n = -5 OR Filter MATCH 'n gt 50');
SELECT PartitionKey, RowKey FROM Written WHERE PartitionKey = 'b' AND Filter MATCH 'n eq 10';
-- an entity is written once
UPDATE Written SET n = 0 WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET s = NULL WHERE PartitionKey = 'a' AND RowKey = '4';
UPDATE Written SET RowKey = '6' WHERE PartitionKey = 'a' AND RowKey = '4';
DELETE FROM Written WHERE PartitionKey = 'a' AND RowKey = '2';
INSERT INTO Written(PartitionKey, RowKey) VALUES ('a', '4');
INSERT OR IGNORE INTO Written(PartitionKey, RowKey) VALUES ('a', '4');
DELETE FROM Written WHERE PartitionKey = 'a' AND RowKey = '5';
SELECT changes();
-- savepoints
SAVEPOINT one;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '6', 6);
SELECT group_concat(RowKey) FROM Written WHERE PartitionKey = 'a';
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '6b', 6), ('a', '6c', 'six');
SELECT group_concat(RowKey) FROM Written WHERE PartitionKey = 'a';
ROLLBACK TO one;
SELECT group_concat(RowKey) FROM Written WHERE PartitionKey = 'a';
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', '6', 66);
RELEASE one;
SELECT RowKey, n, s FROM Written WHERE PartitionKey = 'a';
COMMIT;
SELECT RowKey, n, s, Properties ->> 'x' FROM Written WHERE PartitionKey = 'a';
-- ROLLBACK
BEGIN;
DELETE FROM Written WHERE PartitionKey = 'a';
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('a', 'new', 1);
SELECT RowKey FROM Written WHERE PartitionKey = 'a';
ROLLBACK;
SELECT count(*) FROM Written WHERE PartitionKey = 'a';
-- what another has deleted meanwhile is not there
BEGIN;
UPDATE Written SET n = 0 WHERE PartitionKey = 'a' AND RowKey < '3';
.shell printf ".load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\nCREATE VIRTUAL TABLE Written USING pt_service(n Int32, account=hr);\nDELETE FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';\nUPDATE Written SET n = 30 WHERE PartitionKey = 'a' AND RowKey = '3';\n" | ${PT_SHELL:-sqlite3} -batch -init /dev/null :memory:
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' AND RowKey < '4';
COMMIT;
SELECT RowKey, n FROM Written WHERE PartitionKey = 'a' AND RowKey < '4';
-- several partitions in the order of the text, not of the service
BEGIN;
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('c', char(0x1F600), 2), ('c', char(0xFF5E), 1), ('c', 'z', 0);
SELECT n FROM Written WHERE PartitionKey = 'c' ORDER BY RowKey;
COMMIT;
SELECT n FROM Written WHERE PartitionKey = 'c' ORDER BY RowKey;
-- an attached database and its table
ATTACH ':memory:' AS other;
CREATE VIRTUAL TABLE other.Attached USING pt_service(n Int32, account=hr, table='Written');
BEGIN;
INSERT INTO other.Attached(PartitionKey, RowKey, n) VALUES ('d', '1', 1);
INSERT INTO Written(PartitionKey, RowKey, n) VALUES ('d', '2', 2);
SELECT a.n, w.n FROM other.Attached AS a, Written AS w WHERE a.PartitionKey = 'd' AND w.PartitionKey = 'd';
COMMIT;
SELECT count(*) FROM Written WHERE PartitionKey = 'd';
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Written';
