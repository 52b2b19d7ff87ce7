-- An UPDATE that keeps types and sizes leaves what any other way of writing the entity would.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE t USING ptable(s String, i Int32, l Int64, d Double, b Boolean, at DateTime, g Guid, x Binary, any, store='s.ptable', table='things');
CREATE TABLE stamps(RowKey TEXT, at TEXT, etag TEXT);
INSERT INTO t(PartitionKey, RowKey, s, i, l, d, b, at, g, x, any) VALUES
  ('p', '1', 'abc', 1, 10, 1.5, 0, '2026-01-01', '00000000-0000-0000-0000-000000000001', x'0102', 5),
  ('p', '2', 'äö', -1, NULL, 'NaN', NULL, NULL, NULL, x'', 'text'),
  ('p', '3', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO stamps SELECT RowKey, Timestamp, ETag FROM t;

-- Each type, one after the other and together; text is measured in bytes.
UPDATE t SET i = i + 1, l = l * 2;
UPDATE t SET d = -0.0, b = 1, at = '2027-02-03 04:05:06.7', g = 'FFFFFFFF-0000-0000-0000-00000000000A', x = x'ffee' WHERE RowKey = '1';
UPDATE t SET s = 'xyz' WHERE RowKey = '1';
UPDATE t SET s = 'abcd' WHERE RowKey = '2';
SELECT * FROM t;
SELECT Properties FROM t;

-- The store sets the time, and it rises.
SELECT RowKey, t.Timestamp > stamps.at, t.ETag <> stamps.etag FROM t JOIN stamps USING (RowKey);

-- A value that reading gives is not set, so what another type shows the same stays what it is.
INSERT INTO t(PartitionKey, RowKey, Properties) VALUES ('q', '1', '{"i":"7","l":7,"s":3}');
UPDATE t SET i = '7', l = 7 WHERE PartitionKey = 'q';
SELECT Properties FROM t WHERE PartitionKey = 'q';
UPDATE t SET l = 8 WHERE PartitionKey = 'q';
UPDATE t SET i = 9 WHERE PartitionKey = 'q';
SELECT Properties FROM t WHERE PartitionKey = 'q';

-- Other types and sizes, NULL, and what was not there.
UPDATE t SET any = 6 WHERE RowKey = '1' AND PartitionKey = 'p';
UPDATE t SET any = 6000000000 WHERE RowKey = '1' AND PartitionKey = 'p';
UPDATE t SET any = 'text' WHERE RowKey = '1' AND PartitionKey = 'p';
UPDATE t SET any = CAST('text' AS BLOB), s = 'a' || char(0) || 'c' WHERE RowKey = '2';
UPDATE t SET i = NULL, l = 3 WHERE RowKey = '2';
UPDATE t SET b = 0 WHERE RowKey = '3';
SELECT Properties FROM t WHERE PartitionKey = 'p';

-- A column takes another's value, also the one that is overwritten.
UPDATE t SET i = l, l = i WHERE PartitionKey = 'p' AND RowKey = '1';
UPDATE t SET s = any, any = s WHERE PartitionKey = 'p' AND RowKey = '1';
BEGIN;
UPDATE t SET s = upper(any), any = s WHERE PartitionKey = 'p' AND RowKey = '1';
UPDATE t SET s = any, any = s WHERE PartitionKey = 'p' AND RowKey = '1';
COMMIT;
SELECT s, any, i, l FROM t WHERE PartitionKey = 'p' AND RowKey = '1';

-- What is refused changes nothing, the columns before it included.
UPDATE t SET i = 5, b = 2 WHERE PartitionKey = 'p' AND RowKey = '1';
UPDATE t SET i = 5, l = 'x' WHERE PartitionKey = 'p' AND RowKey = '1';
UPDATE t SET i = 5, Timestamp = 'now' WHERE PartitionKey = 'p' AND RowKey = '1';
SELECT s, any, i, l, b FROM t WHERE PartitionKey = 'p' AND RowKey = '1';

-- Savepoints bring back what was overwritten.
BEGIN;
UPDATE t SET i = 100 WHERE PartitionKey = 'p' AND RowKey = '1';
SAVEPOINT one;
UPDATE t SET i = 200 WHERE PartitionKey = 'p' AND RowKey = '1';
UPDATE t SET i = 300 WHERE PartitionKey = 'p' AND RowKey = '1';
SELECT i FROM t WHERE PartitionKey = 'p' AND RowKey = '1';
ROLLBACK TO one;
SELECT i FROM t WHERE PartitionKey = 'p' AND RowKey = '1';
ROLLBACK;
SELECT i FROM t WHERE PartitionKey = 'p' AND RowKey = '1';

-- Properties or a key set with it.
UPDATE t SET i = 1, Properties = '{"New":1,"i":2,"l":4}' WHERE PartitionKey = 'p' AND RowKey = '3';
UPDATE t SET l = 5, Properties = Properties WHERE PartitionKey = 'p' AND RowKey = '3';
UPDATE t SET l = 6, RowKey = '4' WHERE PartitionKey = 'p' AND RowKey = '3';
UPDATE t SET l = 7, RowKey = '4' WHERE PartitionKey = 'p' AND RowKey = '4';
SELECT RowKey, Properties FROM t WHERE PartitionKey = 'p' AND RowKey > '2';

-- Beside a value that is kept outside the record, and in place of one.
UPDATE t SET s = printf('%.*c', 3000, 's') WHERE PartitionKey = 'q';
UPDATE t SET l = 11 WHERE PartitionKey = 'q';
SELECT length(s), l FROM t WHERE PartitionKey = 'q';
UPDATE t SET s = printf('%.*c', 3000, 'r') WHERE PartitionKey = 'q';
SELECT length(s), substr(s, 1, 3), l FROM t WHERE PartitionKey = 'q';
UPDATE t SET s = printf('%.*c', 1900, 'r'), any = printf('%.*c', 1900, 'a') WHERE PartitionKey = 'q';
UPDATE t SET s = printf('%.*c', 1900, 't'), l = 12 WHERE PartitionKey = 'q';
SELECT length(s), substr(s, 1, 3), substr(any, 1, 3), l FROM t WHERE PartitionKey = 'q';

-- The rules of limits='azure' are asked all the same.
INSERT INTO t(PartitionKey, RowKey, at, i) VALUES ('a/', '1', '1700-01-01', 1), ('a', '1', '1500-01-01', 1), ('a', '2', '1700-01-01', 1);
CREATE VIRTUAL TABLE z USING ptable(at DateTime, i Int32, store='s.ptable', table='things', limits='azure');
UPDATE z SET i = 2 WHERE PartitionKey = 'a/';
UPDATE z SET i = 2 WHERE PartitionKey = 'a';
UPDATE t SET i = 2 WHERE PartitionKey IN ('a', 'a/');
SELECT PartitionKey, i FROM z WHERE PartitionKey IN ('a', 'a/');

-- UPDATE ... FROM gives all columns.
CREATE TABLE f(RowKey TEXT PRIMARY KEY, n INT);
INSERT INTO f VALUES ('1', 21), ('2', 22);
UPDATE t SET l = n FROM f WHERE f.RowKey = t.RowKey AND PartitionKey = 'p';
SELECT RowKey, l FROM t WHERE PartitionKey = 'p';

-- A merge that keeps types and sizes, and ones that do not.
INSERT INTO t(PartitionKey, RowKey, s, i, d) VALUES ('m', '1', 'abc', 1, 0.5), ('m', '2', 'abc', 1, 0.5);
INSERT INTO t(PartitionKey, RowKey, s, i, WriteMode) VALUES ('m', '1', 'xyz', 2, 'merge');
INSERT INTO t(PartitionKey, RowKey, i, WriteMode) VALUES ('m', '1', 3, 'merge'), ('m', '2', 4, 'merge');
INSERT INTO t(PartitionKey, RowKey, d, Properties, WriteMode) VALUES ('m', '2', -0.5, '{"i":5,"s":"ABC"}', 'merge');
SELECT RowKey, Properties FROM t WHERE PartitionKey = 'm';
INSERT INTO t(PartitionKey, RowKey, i, s, l, WriteMode) VALUES ('m', '1', 6, 'xyz', 7, 'merge');
INSERT INTO t(PartitionKey, RowKey, i, s, WriteMode, IfMatch) VALUES ('m', '1', 8, 'wxyz', 'merge', '*');
SELECT RowKey, Properties FROM t WHERE PartitionKey = 'm';
DELETE FROM stamps;
INSERT INTO stamps SELECT RowKey, Timestamp, ETag FROM t WHERE PartitionKey = 'm';
INSERT INTO t(PartitionKey, RowKey, i, WriteMode, IfMatch) SELECT 'm', RowKey, 10, 'merge', etag FROM stamps;
SELECT t.RowKey, i, t.Timestamp > stamps.at, t.ETag <> stamps.etag FROM t JOIN stamps USING (RowKey) WHERE PartitionKey = 'm';

-- Names that are too long for the store's dictionary stand in the shape itself. A column that is not
-- there is not one of them, whatever its type.
INSERT INTO t(PartitionKey, RowKey, Properties) SELECT 'long', value, json_object('i', 1, printf('%.300c', 'a'), value)
  FROM json_each('[1, 2, 3]');
UPDATE t SET l = 10, any = 4 WHERE PartitionKey = 'long' AND RowKey <> '1';
UPDATE t SET i = 2 WHERE PartitionKey = 'long';
UPDATE t SET i = 3, any = 5 WHERE PartitionKey = 'long' AND RowKey = '2';
SELECT RowKey, i, l, any, Properties ->> printf('%.300c', 'a') FROM t WHERE PartitionKey = 'long';

-- A column without a type takes another type's value.
CREATE VIRTUAL TABLE Untyped USING ptable(v);
INSERT INTO Untyped VALUES('p', '1', x'41');
UPDATE Untyped SET v = 'A';
SELECT typeof(v), v FROM Untyped;
UPDATE Untyped SET v = x'41';
SELECT typeof(v), v FROM Untyped;
