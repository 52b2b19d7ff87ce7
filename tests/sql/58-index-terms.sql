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

-- A table of more columns than SQLite tells apart, and more conditions than an index looks at.
CREATE VIRTUAL TABLE Wide USING ptable(c1 Int32, c2 Int32, c3 Int32, c4 Int32, c5 Int32, c6 Int32, c7 Int32, c8 Int32, c9 Int32, c10 Int32, c11 Int32, c12 Int32, c13 Int32, c14 Int32, c15 Int32, c16 Int32, c17 Int32, c18 Int32, c19 Int32, c20 Int32, c21 Int32, c22 Int32, c23 Int32, c24 Int32, c25 Int32, c26 Int32, c27 Int32, c28 Int32, c29 Int32, c30 Int32, c31 Int32, c32 Int32, c33 Int32, c34 Int32, c35 Int32, c36 Int32, c37 Int32, c38 Int32, c39 Int32, c40 Int32, c41 Int32, c42 Int32, c43 Int32, c44 Int32, c45 Int32, c46 Int32, c47 Int32, c48 Int32, c49 Int32, c50 Int32, c51 Int32, c52 Int32, c53 Int32, c54 Int32, c55 Int32, c56 Int32, c57 Int32, c58 Int32, c59 Int32, c60 Int32, c61 Int32, c62 Int32, c63 Int32, c64 Int32, c65 Int32, c66 Int32, c67 Int32, c68 Int32, c69 Int32, c70 Int32,
  index(c1), index(c70), index(c2, c70), store='terms.ptable');
INSERT INTO Wide(PartitionKey, RowKey, c1, c2, c70) VALUES ('p', '1', 1, 2, 70), ('p', '2', 1, 3, 71), ('p', '3', 2, 2, 72);
.eqp on
SELECT c70 FROM Wide WHERE c70 > 70;
SELECT c2, c70 FROM Wide WHERE c2 = 2 AND c70 > 70;
SELECT c1 FROM Wide WHERE c1 = 1 ORDER BY RowKey LIMIT 1 OFFSET 1;
SELECT c1 FROM Wide WHERE c1 > 0 ORDER BY c1 LIMIT -1 OFFSET 1;
SELECT RowKey FROM Wide WHERE c3 IS NULL AND c4 IS NULL AND c5 IS NULL AND c6 IS NULL AND c7 IS NULL AND c8 IS NULL AND c9 IS NULL AND c10 IS NULL AND c11 IS NULL AND c12 IS NULL AND c13 IS NULL AND c14 IS NULL AND c15 IS NULL AND c16 IS NULL AND c17 IS NULL AND c18 IS NULL AND c19 IS NULL AND c20 IS NULL AND c21 IS NULL AND c22 IS NULL AND c23 IS NULL AND c24 IS NULL AND c25 IS NULL AND c26 IS NULL AND c27 IS NULL AND c28 IS NULL AND c29 IS NULL AND c30 IS NULL AND c31 IS NULL AND c32 IS NULL AND c33 IS NULL AND c34 IS NULL AND c35 IS NULL AND c36 IS NULL AND c37 IS NULL AND c38 IS NULL AND c39 IS NULL AND c40 IS NULL AND c41 IS NULL AND c42 IS NULL AND c43 IS NULL AND c44 IS NULL AND c45 IS NULL AND c46 IS NULL AND c47 IS NULL AND c48 IS NULL AND c49 IS NULL AND c50 IS NULL AND c51 IS NULL AND c52 IS NULL AND c53 IS NULL AND c54 IS NULL AND c55 IS NULL AND c56 IS NULL AND c57 IS NULL AND c58 IS NULL AND c59 IS NULL AND c60 IS NULL AND c61 IS NULL AND c62 IS NULL AND c63 IS NULL AND c64 IS NULL AND c65 IS NULL AND c66 IS NULL AND c67 IS NULL AND c68 IS NULL AND c69 IS NULL AND c70 = 72;
SELECT RowKey FROM Wide WHERE c70 = 72 AND c3 IS NULL AND c4 IS NULL AND c5 IS NULL AND c6 IS NULL AND c7 IS NULL AND c8 IS NULL AND c9 IS NULL AND c10 IS NULL AND c11 IS NULL AND c12 IS NULL AND c13 IS NULL AND c14 IS NULL AND c15 IS NULL AND c16 IS NULL AND c17 IS NULL AND c18 IS NULL AND c19 IS NULL AND c20 IS NULL AND c21 IS NULL AND c22 IS NULL AND c23 IS NULL AND c24 IS NULL AND c25 IS NULL AND c26 IS NULL AND c27 IS NULL AND c28 IS NULL AND c29 IS NULL AND c30 IS NULL AND c31 IS NULL AND c32 IS NULL AND c33 IS NULL AND c34 IS NULL AND c35 IS NULL AND c36 IS NULL AND c37 IS NULL AND c38 IS NULL AND c39 IS NULL AND c40 IS NULL AND c41 IS NULL AND c42 IS NULL AND c43 IS NULL AND c44 IS NULL AND c45 IS NULL AND c46 IS NULL AND c47 IS NULL AND c48 IS NULL AND c49 IS NULL AND c50 IS NULL AND c51 IS NULL AND c52 IS NULL AND c53 IS NULL AND c54 IS NULL AND c55 IS NULL AND c56 IS NULL AND c57 IS NULL AND c58 IS NULL AND c59 IS NULL AND c60 IS NULL AND c61 IS NULL AND c62 IS NULL AND c63 IS NULL AND c64 IS NULL AND c65 IS NULL AND c66 IS NULL AND c67 IS NULL AND c68 IS NULL AND c69 IS NULL ORDER BY c70 LIMIT 1;
.eqp off
-- More comparisons of one column than make a range.
SELECT RowKey FROM Wide WHERE c70 > 50 AND c70 > 51 AND c70 > 52 AND c70 > 53 AND c70 > 54 AND c70 > 55 AND c70 > 56 AND c70 > 57 AND c70 > 58 AND c70 > 59 AND c70 > 60 AND c70 > 61 AND c70 > 62 AND c70 > 63 AND c70 > 64 AND c70 > 65 AND c70 > 66 AND c70 > 67 AND c70 > 68 AND c70 > 69 AND c70 > 70;
SELECT RowKey FROM Wide WHERE c70 > 50 AND c70 > 51 AND c70 > 52 AND c70 > 53 AND c70 > 54 AND c70 > 55 AND c70 > 56 AND c70 > 57 AND c70 > 58 AND c70 > 59 AND c70 > 60 AND c70 > 61 AND c70 > 62 AND c70 > 63 AND c70 > 64 AND c70 > 65 AND c70 > 66 AND c70 > 67 AND c70 > 68 AND c70 > 69 AND c70 > 70 AND c70 < 72;
