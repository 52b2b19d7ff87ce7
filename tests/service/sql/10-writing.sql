-- Writing entities.
.load ./ptable_service
SELECT length(pt_service_account('hr')) > 0;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Written');
CREATE VIRTUAL TABLE Written USING pt_service(Name String, Age Int32, Big Int64, Rate Double, Yes Boolean, Seen DateTime, Id Guid, Bytes Binary, account=hr);
-- INSERT
INSERT INTO Written(PartitionKey, RowKey, Name, Age) VALUES ('a', '1', 'Zoë "x" \ ' || char(10, 127, 0x1F600), 34);
SELECT PartitionKey, RowKey, hex(Name), Age FROM Written;
INSERT INTO Written(PartitionKey, RowKey, Name) VALUES ('a', '1', 'again');
-- every type comes back as it was given
INSERT INTO Written(PartitionKey, RowKey, Name, Age, Big, Rate, Yes, Seen, Id, Bytes) VALUES ('a', 'types', '', -5, 9223372036854775807, 5.0, 1, '2024-01-02T03:04:05.1234567Z', '0f8fad5b-d9cb-469f-a165-70867728950e', x'0001ff');
SELECT key, value, type FROM Written, json_each(Properties) WHERE RowKey = 'types' ORDER BY key;
INSERT INTO Written(PartitionKey, RowKey, Rate, Properties) VALUES ('a', 'nan', 'NaN', '{"More":1.5,"Rate":1}');
SELECT Rate, Properties ->> 'More' FROM Written WHERE RowKey = 'nan';
-- keys with characters that URLs and quotes need
INSERT OR REPLACE INTO Written(PartitionKey, RowKey, Age) VALUES ('it''s é', '100% of "&+=;,@', 1);
SELECT PartitionKey, RowKey, Age FROM Written WHERE PartitionKey = 'it''s é' AND RowKey = '100% of "&+=;,@';
DELETE FROM Written WHERE PartitionKey = 'it''s é';
SELECT count(*) FROM Written WHERE PartitionKey = 'it''s é';
-- REPLACE, and WriteMode
INSERT OR REPLACE INTO Written(PartitionKey, RowKey, Name) VALUES ('a', '1', 'replaced');
INSERT INTO Written(PartitionKey, RowKey, Age, WriteMode) VALUES ('a', '1', 35, 'merge');
SELECT Name, Age FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
INSERT INTO Written(PartitionKey, RowKey, Age, WriteMode) VALUES ('a', '1', 36, 'replace');
INSERT INTO Written(PartitionKey, RowKey, Age, WriteMode) VALUES ('a', '1', 36, 'insert');
INSERT INTO Written(PartitionKey, RowKey, WriteMode) VALUES ('a', 'none', 'delete');
INSERT INTO Written(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('a', 'none', 'delete', '*');
INSERT INTO Written(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('a', 'none', 1, 'replace', '*');
INSERT INTO Written(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('a', '1', 1, 'merge', 'W/"datetime''2020-01-01T00%3A00%3A00.0000000Z''"');
INSERT INTO Written(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('a', '1', 1, 'merge', 'W/"' || char(13, 10) || 'x: y"');
INSERT INTO Written(PartitionKey, RowKey, Age, WriteMode, IfMatch) SELECT PartitionKey, RowKey, 37, 'merge', ETag FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
SELECT Name, Age FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
-- UPDATE of columns is a merge, with the ETag that was read
UPDATE Written SET Name = 'updated' WHERE PartitionKey = 'a' AND RowKey = '1';
SELECT changes();
SELECT Name, Age FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
-- a property is removed by writing the whole entity
UPDATE Written SET Age = NULL WHERE PartitionKey = 'a' AND RowKey = '1';
SELECT Age, Name, Properties ->> 'Other' FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
UPDATE Written SET Properties = '{"Other":7}', Age = 8 WHERE PartitionKey = 'a' AND RowKey = '1';
SELECT Age, Name, Properties ->> 'Other' FROM Written WHERE PartitionKey = 'a' AND RowKey = '1';
UPDATE Written SET RowKey = '2' WHERE PartitionKey = 'a' AND RowKey = '1';
SELECT RowKey, Age, Name, Properties ->> 'Other' FROM Written WHERE PartitionKey = 'a' AND RowKey < '3';
UPDATE Written SET PartitionKey = 'b' WHERE PartitionKey = 'a' AND RowKey = '2';
CREATE TABLE New(id, age);
INSERT INTO New VALUES ('2', 50), ('2', 50);
UPDATE Written SET Age = New.age FROM New WHERE PartitionKey = 'a' AND RowKey = New.id;
SELECT RowKey, Age, Name, Properties ->> 'Other' FROM Written WHERE PartitionKey = 'a' AND RowKey < '3';
UPDATE Written SET ETag = 'x' WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET WriteMode = 'merge' WHERE PartitionKey = 'a' AND RowKey = '2';
-- OR IGNORE looks first
INSERT OR IGNORE INTO Written(PartitionKey, RowKey, Age) VALUES ('a', '2', 1);
SELECT changes();
INSERT OR IGNORE INTO Written(PartitionKey, RowKey, Age) VALUES ('a', '3', 3);
SELECT changes(), Age FROM Written WHERE PartitionKey = 'a' AND RowKey = '3';
-- what the service would refuse is refused before
INSERT INTO Written(PartitionKey, RowKey) VALUES ('a/b', '1');
INSERT INTO Written(PartitionKey, RowKey) VALUES ('a', NULL);
INSERT INTO Written(PartitionKey, RowKey, Age) VALUES ('a', '4', 'four');
INSERT INTO Written(PartitionKey, RowKey, Name) VALUES ('a', '4', printf('%.*c', 32769, 'x'));
INSERT INTO Written(PartitionKey, RowKey, Timestamp) VALUES ('a', '4', '2024-01-01');
INSERT INTO Written(PartitionKey, RowKey, _rowid_) VALUES ('a', '4', 'x');
INSERT INTO Written(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('a', '4', 'merge', 'W/"a' || char(10) || '"');
INSERT INTO Written(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('a', '4', 'merge', printf('W/"%.*c"', 2000, 'x'));
INSERT INTO Written(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('a', '4', 'merge', 'W/"é"');
UPDATE Written SET Timestamp = '2024-01-01' WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET Age = 1, EntityKey = x'01' WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET Age = 1, EntityVersion = 'a' WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET EntityKey = EntityKey, EntityVersion = EntityVersion WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET IfMatch = '*' WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET _rowid_ = 'x' WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET PartitionKey = NULL WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET RowKey = NULL WHERE PartitionKey = 'a' AND RowKey = '2';
UPDATE Written SET Age = 'old' WHERE PartitionKey = 'a' AND RowKey = '2';
INSERT INTO Written(PartitionKey, RowKey, Filter) VALUES ('a', '4', 'Age gt 5');
CREATE VIRTUAL TABLE Locked USING pt_service(account=hr, table='Written', readonly=1);
DELETE FROM Locked;
CREATE VIRTUAL TABLE Missing USING pt_service(account=hr);
INSERT INTO Missing(PartitionKey, RowKey) VALUES ('a', '1');
-- Filter chooses what is written
UPDATE Written SET Age = 9 WHERE Filter MATCH 'Age ge 50';
UPDATE Written SET Age = New.age FROM New WHERE Filter MATCH 'Age eq 9' AND RowKey = New.id;
SELECT RowKey, Age FROM Written;
DELETE FROM Written WHERE Filter MATCH 'Age ge 1000';
-- DELETE
DELETE FROM Written WHERE PartitionKey = 'a' AND RowKey = '2';
DELETE FROM Written;
SELECT changes();
SELECT count(*) FROM Written;
DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'Written';
