-- Questions for entities that have a property, for its least and greatest value and for all of its
-- values, by an index; indexes on RowKey, whose values repeat across partitions.
.load ./ptable
CREATE VIRTUAL TABLE Task USING ptable(Name String, Age Int32, At DateTime, Size Double, Raw Binary,
  index(Name), index(Age), index(At), index(Size), index(Raw), store='presence.ptable');
CREATE VIRTUAL TABLE Other USING ptable(V Int32, store='presence.ptable');
INSERT INTO Task(PartitionKey, RowKey, Name, Age, At, Size, Raw) VALUES
  ('p', '1', 'b', 3, '2026-01-01', 2.5, x'01'), ('p', '2', NULL, NULL, NULL, NULL, NULL), ('q', '1', 'a', -2, NULL, -9e999, NULL),
  ('q', '2', 'b', 3, '2025-01-01', 9e999, x''), ('q', '3', '', NULL, '2025-06-01', NULL, NULL);
INSERT INTO Task(PartitionKey, RowKey, Properties) VALUES
  ('r', '1', '{"Name":7,"Age":"text","At":"soon","Size@odata.type":"Edm.Double","Size":"NaN"}'), ('r', '2', '{"Age":true}');
INSERT INTO Other VALUES ('p', '1', 1), ('p', '5', 5);
.eqp on
-- All numbers and texts are less than any Binary, and no NULL is.
SELECT PartitionKey, RowKey, Name FROM Task WHERE Name < x'' ORDER BY Name LIMIT 1;
SELECT PartitionKey, RowKey, Name FROM Task WHERE Name >= '' ORDER BY Name LIMIT 2;
SELECT RowKey, Age FROM Task WHERE Age < x'' ORDER BY Age DESC LIMIT 2;
SELECT max(Age) FROM Task WHERE Age < x'';
SELECT min(Age) FROM Task WHERE Age < x'';
SELECT Age FROM Task WHERE Age < x'' ORDER BY Age LIMIT 1;
SELECT DISTINCT Age FROM Task WHERE Age < x'';
SELECT Age, count(*) FROM Task WHERE Age < x'' GROUP BY Age;
SELECT count(*), max(Size), min(Size) FROM Task WHERE Size < x'';
SELECT max(At) FROM Task WHERE At < x'';
SELECT count(*) FROM Task WHERE Raw >= x'';
-- Since SQLite 3.51.1 IS NOT NULL does the same, for Binaries, too.
SELECT RowKey, Age FROM Task WHERE Age IS NOT NULL ORDER BY Age LIMIT 1;
SELECT PartitionKey, RowKey, Age, typeof(Age) FROM Task WHERE Age IS NOT NULL;
SELECT max(Age) FROM Task WHERE Age IS NOT NULL;
SELECT Size FROM Task WHERE Size IS NOT NULL AND Size > 0 ORDER BY Size DESC;
SELECT count(Size), count(DISTINCT Size) FROM Task WHERE Size IS NOT NULL;
SELECT Name, count(*) FROM Task WHERE Name IS NOT NULL GROUP BY Name;
SELECT RowKey, hex(Raw) FROM Task WHERE Raw NOT NULL ORDER BY Raw;
SELECT RowKey FROM Task WHERE At IS NOT NULL AND PartitionKey = 'q' ORDER BY At LIMIT 1;
SELECT RowKey, Name FROM Task WHERE Age IS NOT NULL AND Name = 'b';
SELECT RowKey FROM Task WHERE Timestamp IS NOT NULL AND Age IS NULL ORDER BY RowKey;
SELECT Task.PartitionKey, Task.RowKey, V FROM Task LEFT JOIN Other ON Other.RowKey = Task.RowKey AND Task.Age IS NOT NULL AND Other.V IS NOT NULL;
-- Without such a condition all entities are asked for.
SELECT max(Age) FROM Task;
.eqp off

-- unique(RowKey): no two partitions have the same.
CREATE VIRTUAL TABLE Account USING ptable(Name String, unique(RowKey), index(Name, RowKey), store='presence.ptable');
INSERT INTO Account VALUES ('EU', 'ann', 'Ann'), ('US', 'ben', 'Ben'), ('US', 'cho', 'Cho');
INSERT INTO Account VALUES ('US', 'ann', 'Another Ann');
INSERT OR IGNORE INTO Account VALUES ('US', 'ann', 'Another Ann'), ('US', 'dan', 'Dan');
UPDATE Account SET RowKey = 'ann' WHERE RowKey = 'ben';
UPDATE Account SET PartitionKey = 'US' WHERE PartitionKey = 'EU' AND RowKey = 'ann';
INSERT OR REPLACE INTO Account VALUES ('EU', 'ben', 'New Ben');
.eqp on
SELECT PartitionKey, Name FROM Account WHERE RowKey = 'ben';
SELECT PartitionKey FROM Account WHERE RowKey = 'ann';
SELECT RowKey FROM Account ORDER BY RowKey LIMIT 2;
SELECT PartitionKey, RowKey FROM Account WHERE RowKey = 'cho' AND PartitionKey > 'A';
SELECT Name FROM Account WHERE RowKey = 'cho' AND PartitionKey = 'US';
SELECT Name FROM Account WHERE RowKey IN ('ann', 'cho') AND PartitionKey IN ('EU', 'US');
SELECT PartitionKey FROM Account WHERE Name = 'Cho' AND RowKey = 'cho' ORDER BY PartitionKey DESC;
SELECT w.column1, a.PartitionKey FROM (VALUES ('ann'), ('none'), ('dan')) w LEFT JOIN Account a ON a.RowKey = w.column1;
SELECT RowKey FROM Account WHERE RowKey = NULL;
UPDATE Account SET Name = 'Chris' WHERE RowKey = 'cho';
DELETE FROM Account WHERE RowKey = 'dan';
.eqp off
SELECT PartitionKey, RowKey, Name FROM Account;
-- Entries have 255 bytes of a key.
INSERT INTO Account SELECT 'L' || value, hex(zeroblob(126)) || substr('abcdef', 1, value) || 'x', value FROM (SELECT 1 AS value UNION SELECT 2 UNION SELECT 3 UNION SELECT 4);
INSERT INTO Account SELECT 'M', RowKey, Name FROM Account WHERE Name = '4';
SELECT a.PartitionKey, (SELECT b.PartitionKey FROM Account b WHERE b.RowKey = a.RowKey) FROM Account a WHERE a.PartitionKey GLOB 'L*';
SELECT PartitionKey FROM Account WHERE PartitionKey >= 'L' AND length(RowKey) > 5 ORDER BY RowKey DESC;
SELECT IndexName, IsUnique, Entries FROM pt_indexes WHERE Store = 'presence.ptable' AND TableName = 'Account';
DELETE FROM pt_indexes WHERE Store = 'presence.ptable' AND TableName = 'Account' AND IndexName = 'RowKey';
SELECT PartitionKey FROM Account WHERE RowKey = 'ann';
INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES ('presence.ptable', 'Task', 'RowKey', 1);
INSERT INTO pt_indexes(Store, TableName, Columns) VALUES ('presence.ptable', 'Other', 'RowKey,PartitionKey');
.eqp on
SELECT V FROM Other WHERE RowKey = '5';
.eqp off
SELECT pt_check('presence.ptable');
-- One entity a partition. Both keys together are unique anyway, and order the table.
CREATE VIRTUAL TABLE Single USING ptable(V Int32, unique(PartitionKey), store='presence.ptable');
INSERT INTO Single VALUES ('p', '1', 1), ('q', '1', 1), ('p', '2', 2);
CREATE VIRTUAL TABLE Wrong USING ptable(V Int32, index(PartitionKey));
CREATE VIRTUAL TABLE Wrong USING ptable(V Int32, unique(PartitionKey, RowKey));
CREATE VIRTUAL TABLE Wrong USING ptable(V Int32, unique(RowKey, PartitionKey));
INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES ('presence.ptable', 'Other', 'PartitionKey', 0);
-- scan='deny' accepts a query by an index on RowKey.
CREATE VIRTUAL TABLE Strict USING ptable(V Int32, index(RowKey), scan=deny, store='presence.ptable');
INSERT INTO Strict VALUES ('p', '1', 1);
SELECT V FROM Strict WHERE RowKey = '1';
SELECT V FROM Strict WHERE RowKey > '0';
