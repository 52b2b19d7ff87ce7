-- Conditions and orders that indexes serve: Timestamp, PartitionKey, LIMIT, joins by integers.
.load ./ptable
CREATE VIRTUAL TABLE Task USING ptable(Name String, Age Int32, Done Boolean, Due DateTime, Id Guid,
  index(Timestamp), index(Age), index(PartitionKey, Timestamp), index(Timestamp, Name), index(Name, PartitionKey, Age),
  index(Due, Age), index(Id), store='terms.ptable');
INSERT INTO Task(PartitionKey, RowKey, Age, Name) VALUES
  ('p', '1', 1, 'a'), ('p', '2', 2, 'b'), ('q', '3', 2, NULL), ('q', '4', 3, NULL), ('q', '5', 4, 'x');
CREATE TABLE Seen AS SELECT RowKey AS id, Timestamp AS at, Age AS age, Name AS name FROM Task;
.eqp on
-- The latest; with LIMIT the whole index is not read. Without it, and with other columns, a scan is better.
SELECT RowKey, Age FROM Task ORDER BY Timestamp DESC LIMIT 2;
SELECT RowKey FROM Task ORDER BY Timestamp;
SELECT RowKey, Age FROM Task ORDER BY Timestamp;
SELECT RowKey, Age FROM Task WHERE Done IS NULL ORDER BY Timestamp DESC LIMIT 1;
SELECT RowKey FROM Task WHERE PartitionKey = 'q' ORDER BY Timestamp DESC LIMIT 1;
SELECT RowKey, Age FROM Task WHERE PartitionKey = 'q' AND Timestamp > '2026' ORDER BY Timestamp DESC LIMIT 2 OFFSET 1;
-- What has changed since.
SELECT RowKey, Age FROM Task WHERE Timestamp > (SELECT at FROM Seen WHERE id = '3');
SELECT RowKey FROM Task WHERE Timestamp IN (SELECT at FROM Seen WHERE id < '3');
-- An entity without Name is not in the index that has Timestamp and Name.
SELECT RowKey, Name FROM Task WHERE Timestamp > '2026' AND Name >= 'a' ORDER BY Timestamp DESC LIMIT 2;
SELECT RowKey, Name FROM Task WHERE Timestamp > '2026' AND Name IS NULL;
-- PartitionKey as a column of the index anywhere, or after all of its columns.
SELECT RowKey FROM Task WHERE Age = 2 AND PartitionKey = 'q';
SELECT RowKey FROM Task WHERE Age = '2' AND PartitionKey = 'q';
SELECT RowKey FROM Task WHERE Age IN (1, 2) AND PartitionKey = 'p' ORDER BY RowKey DESC;
SELECT RowKey FROM Task WHERE Age > 1 AND PartitionKey = 'q';
SELECT RowKey FROM Task WHERE Name = 'x' AND PartitionKey = 'q' AND Age = 4;
SELECT RowKey FROM Task WHERE Name = '5' AND PartitionKey = 'q';
SELECT RowKey FROM Task WHERE Age = 2 ORDER BY PartitionKey DESC, RowKey DESC;
-- A join by integers may stand anywhere; by others, only first. BETWEEN may always.
SELECT Seen.id, RowKey FROM Seen JOIN Task ON Seen.age = Task.Age WHERE Seen.id > '3';
SELECT Seen.id, RowKey FROM Seen JOIN Task ON Task.Name = Seen.name WHERE Seen.id > '1';
SELECT Seen.id, RowKey FROM Seen JOIN Task ON Task.Name BETWEEN Seen.name AND Seen.name WHERE Seen.id > '1';
SELECT Seen.id, RowKey FROM Seen, Task WHERE Task.Name = Seen.name AND Seen.id > '1';
-- Row values.
SELECT RowKey FROM Task WHERE (Age, Name) IN (SELECT age, name FROM Seen WHERE id > '1');
SELECT RowKey FROM Task WHERE (Age, PartitionKey) IN (SELECT age, 'p' FROM Seen);
.eqp off
-- Orders of texts that are no times, and of Guids beside other texts, where the index is not in order.
INSERT INTO Task(PartitionKey, RowKey, Properties) SELECT 't', key, value FROM json_each('[
  {"Due":"2026-01-01T00:00:00Z","Due@odata.type":"Edm.DateTime","Id":"0f8fad5b-d9cb-469f-a165-70867728950e","Id@odata.type":"Edm.Guid"},
  {"Due":"0f8fad5b-d9cb-469f-a165-70867728950e","Due@odata.type":"Edm.Guid","Id":"2026-01-01T00:00:00Z","Id@odata.type":"Edm.DateTime"},
  {"Due":"NaN","Due@odata.type":"Edm.Double","Id":"NaN","Id@odata.type":"Edm.Double"},
  {"Due":"2026","Id":"0F8FAD5B-D9CB-469F-A165-70867728950D and more"}, {"Due":"","Id":"nAM"}, {"Due":"9999-12-31","Id":"nano"}]');
SELECT RowKey, Due FROM Task WHERE Due >= '' ORDER BY Due;
SELECT RowKey, Id FROM Task WHERE Id >= '' ORDER BY Id DESC;
-- Plans with LIMIT under scan='deny'; a whole index is not read.
CREATE VIRTUAL TABLE Strict USING ptable(Age Int32, index(Timestamp), scan=deny, table=Task, store='terms.ptable');
SELECT RowKey FROM Strict ORDER BY Timestamp LIMIT 2;
SELECT RowKey FROM Strict WHERE Timestamp < (SELECT at FROM Seen WHERE id = '3');
SELECT RowKey FROM Strict ORDER BY Timestamp;

-- pt_starts_with on a property; since SQLite 3.51.1 by an index. Older versions hand one in the ON
-- of a LEFT JOIN to the table on the left.
CREATE VIRTUAL TABLE Word USING ptable(W String, At DateTime, N Int32, index(W), index(PartitionKey, At), index(N, W), store='terms.ptable');
INSERT INTO Word VALUES ('p', '1', 'ape', '2026-01-01', 12), ('p', '2', 'apple', '2026-02-01', 1), ('p', '3', 'Ape', '2025-01-01', 12), ('q', '4', 'bee', NULL, 2);
INSERT INTO Word(PartitionKey, RowKey, Properties) VALUES ('p', '5', '{"W":12,"N":"1x"}'), ('p', '6', '{"W":null,"N":1}'),
  ('p', '7', '{"W":"YXA=","W@odata.type":"Edm.Binary"}'), ('p', '8', '{"W":"ap\u0000x"}');
.eqp on
SELECT RowKey FROM Word WHERE pt_starts_with(W, 'ap');
SELECT RowKey FROM Word WHERE PT_STARTS_WITH(W, '1');
SELECT RowKey FROM Word WHERE pt_starts_with(W, 'ap' || char(0));
SELECT RowKey, W FROM Word WHERE pt_starts_with(W, lower('AP')) AND W >= 'app' ORDER BY W DESC;
SELECT RowKey FROM Word WHERE PartitionKey = 'p' AND pt_starts_with(At, '2026-');
SELECT RowKey FROM Word WHERE N = 12 AND pt_starts_with(W, 'a');
SELECT RowKey FROM Word WHERE pt_starts_with(N, 1);
SELECT count(*) FROM Word WHERE pt_starts_with(W, NULL);
SELECT w.RowKey FROM (SELECT 'a' AS k UNION SELECT 'b') LEFT JOIN Word w ON pt_starts_with(w.W, k);
SELECT w.RowKey, k FROM Word w LEFT JOIN (SELECT 1 AS k) ON pt_starts_with(w.W, 'b');
.eqp off
