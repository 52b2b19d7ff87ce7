-- A query that reads nothing but columns of the index and keys is answered from entries alone. The
-- values are those of the entities, of their types.
.load ./ptable
CREATE VIRTUAL TABLE Thing USING ptable(Name String, I Int32, L Int64, D Double, B Boolean, T DateTime, G Guid, X Binary, V,
  index(Name, I), index(L), index(D), index(B, T, G), index(X), index(V, L), index(PartitionKey, I), store='entries.ptable');
INSERT INTO Thing(PartitionKey, RowKey, Name, I, L, D, B, T, G, X, V) VALUES
  ('p', '1', 'a', 1, 9007199254740993, 2.5, 1, '2026-01-01', '0F8FAD5B-D9CB-469F-A165-70867728950E', x'00ff', 'text'),
  ('p', '2', 'b', -2, -9223372036854775808, -0.0, 0, '2026-01-01T00:00:00.0000001Z', NULL, x'', 5),
  ('q', '3', 'c' || char(0) || 'd', NULL, 9223372036854775807, 9e999, 1, NULL, NULL, NULL, 2.5),
  ('q', '4', 'e' || hex(zeroblob(200)), 2147483647, NULL, NULL, NULL, NULL, NULL, NULL, x'0a'),
  ('q', '5', 'e' || hex(zeroblob(200)) || 'f', 0, 0, 0.0, 0, '0001-01-01', NULL, NULL, NULL);
INSERT INTO Thing(PartitionKey, RowKey, Properties) VALUES ('r', '6',
  '{"Name":7,"I":"text","D@odata.type":"Edm.Double","D":"NaN","L":true,"V@odata.type":"Edm.DateTime","V":"2026-01-01T00:00:00Z"}');
.mode quote
.eqp on
SELECT RowKey, length(Name), substr(hex(Name), 1, 10), I FROM Thing WHERE Name >= 'a';
SELECT RowKey, Name FROM Thing WHERE Name = 7;
SELECT RowKey, L, typeof(L) FROM Thing WHERE L >= -9223372036854775808;
SELECT RowKey, D, typeof(D) FROM Thing WHERE D > -1;
SELECT RowKey, B, T, G FROM Thing WHERE B IN (0, 1) AND T >= '0001';
SELECT RowKey, V, typeof(V), L FROM Thing WHERE V < x'ff';
SELECT RowKey, I, typeof(I) FROM Thing WHERE PartitionKey = 'r' AND I < 'u';
-- A Binary is read from the entity, and so is any column that the index lacks.
SELECT RowKey, X FROM Thing WHERE X >= x'';
SELECT RowKey, Name FROM Thing WHERE L = 0;
SELECT RowKey FROM Thing WHERE L = 0 AND ETag IS NOT NULL;
-- Keys in all their forms; counting; order; groups.
SELECT PartitionKey, RowKey, EntityKey, _rowid_ FROM Thing WHERE D = 2.5;
SELECT count(*), count(I), max(Name < 'e') FROM Thing WHERE Name >= 'b';
SELECT RowKey, I FROM Thing WHERE PartitionKey = 'q' AND I > -1 ORDER BY I DESC;
SELECT B, count(*), min(T) FROM Thing WHERE B >= 0 GROUP BY B;
SELECT DISTINCT B FROM Thing WHERE B >= 0;
SELECT RowKey FROM Thing WHERE B = 'yes';
-- Joins.
SELECT w.column1, RowKey, I FROM (VALUES ('b'), ('x'), ('a')) w LEFT JOIN Thing ON Name = w.column1;
SELECT a.RowKey, b.RowKey FROM Thing a JOIN Thing b ON b.D = a.I + 1.5 WHERE a.Name < 'b';
-- Statements that change what they read.
DELETE FROM Thing WHERE D = 2.5;
UPDATE Thing SET I = I + 1 WHERE Name = 'b';
.eqp off
SELECT RowKey, I FROM Thing WHERE Name = 'b';
-- Pending entries, savepoints, and a statement whose rows are taken back.
BEGIN;
INSERT INTO Thing(PartitionKey, RowKey, Name, I) VALUES ('s', '7', 'b', 8), ('s', '8', 'b', 9);
UPDATE Thing SET I = 10 WHERE RowKey = '8';
SELECT RowKey, I FROM Thing WHERE Name = 'b';
SAVEPOINT a;
DELETE FROM Thing WHERE Name = 'b' AND I < 9;
SELECT RowKey, I FROM Thing WHERE Name = 'b';
ROLLBACK TO a;
SELECT RowKey, I FROM Thing WHERE Name = 'b';
ROLLBACK;
SELECT RowKey, I FROM Thing WHERE Name = 'b';
