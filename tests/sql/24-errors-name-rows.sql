-- An error names its row: by its keys, and by its number if the statement has written other rows.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(Name String, Age Int32, Due DateTime);
CREATE VIRTUAL TABLE Limited USING ptable(Name String, limits='azure', table='Limited');
CREATE VIRTUAL TABLE Batch USING ptable(Name String, Age Int32, batch='azure', table='Batch');

-- One row: its keys, and no number.
INSERT INTO T(PartitionKey, RowKey, Age) VALUES ('p', '1', 'x');
INSERT INTO T(PartitionKey, RowKey, Age) VALUES (5, NULL, 1);
INSERT INTO T(PartitionKey, RowKey, Age) VALUES (x'70', '1', 1);

-- INSERT ... SELECT of a thousand rows.
CREATE TEMP TABLE Thousand AS
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n;
INSERT INTO T(PartitionKey, RowKey, Age) SELECT 'p', printf('%04d', i), iif(i = 700, 'x', i) FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, Age) SELECT 'p', printf('%04d', i % 900), i FROM Thousand;
INSERT INTO T(PartitionKey, RowKey) SELECT 'p', iif(i = 3, NULL, i) FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, Properties) SELECT 'p', i, iif(i = 1000, '{', '{}') FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, Name) SELECT 'p', iif(i = 2, hex(zeroblob(9000)), i), 'n' FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch)
  SELECT 'p', i, iif(i < 4, 'insert', 'replace'), iif(i < 4, NULL, '*') FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch)
  SELECT 'p', '1', iif(i < 2, 'insert', 'merge'), iif(i < 2, NULL, 'W/"x"') FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, WriteMode) SELECT 'p', i, iif(i = 2, 'upsert', 'merge') FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) SELECT 'p', i, 'merge', iif(i = 3, 'x', NULL) FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode) SELECT 'p', i, iif(i = 3, 'n', NULL), 'delete' FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, ETag) SELECT 'p', i, iif(i = 3, 'x', NULL) FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, _rowid_) SELECT 'p', i, iif(i = 3, 'x', NULL) FROM Thousand;
INSERT INTO T(PartitionKey, RowKey, Filter) SELECT 'p', i, iif(i = 3, 'x', NULL) FROM Thousand;
INSERT INTO Limited(PartitionKey, RowKey) SELECT 'p', iif(i = 4, 'a/b', i) FROM Thousand;
INSERT INTO Limited(PartitionKey, RowKey, Name) SELECT 'p', i, iif(i = 4, hex(zeroblob(20000)), 'n') FROM Thousand;
INSERT INTO Limited(PartitionKey, RowKey, Properties) SELECT 'p', i, iif(i = 4, '{"a b":1}', '{}') FROM Thousand;
SELECT count(*) FROM T;
SELECT count(*) FROM Limited;

-- UPDATE of many rows. A row that moves has two keys.
INSERT INTO T(PartitionKey, RowKey, Name, Age) SELECT 'p', i, i, i FROM Thousand WHERE i < 6;
UPDATE T SET Age = iif(RowKey = '4', 1e10, 1);
UPDATE T SET Due = iif(RowKey = '2', '2026-02-30', NULL);
UPDATE T SET PartitionKey = 'q', RowKey = iif(RowKey > '2', 'same', RowKey);
UPDATE T SET Properties = iif(RowKey = '3', '[]', Properties);
UPDATE T SET RowKey = iif(RowKey = '3', NULL, RowKey);
UPDATE T SET ETag = iif(RowKey = '2', 'x', ETag);
UPDATE T SET IfMatch = iif(RowKey = '2', '*', NULL);
SELECT count(*), sum(Age) FROM T;

-- Every statement counts its own rows, in a transaction too.
BEGIN;
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '1');
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '2');
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '1');
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '3'), ('r', '4'), ('r', '1');
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '1');
INSERT INTO T(PartitionKey, RowKey, Age) SELECT 'r', i, json('{') FROM Thousand WHERE i > 5;
INSERT INTO T(PartitionKey, RowKey) SELECT 'r', iif(i = 9, json('{'), i) FROM Thousand WHERE i > 5;
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '1');
INSERT OR IGNORE INTO T(PartitionKey, RowKey) VALUES ('r', '1');
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '1');
SAVEPOINT s;
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '7');
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '1');
ROLLBACK TO s;
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '7'), ('r', '1');
RELEASE s;
DELETE FROM T WHERE PartitionKey = 'none';
INSERT INTO T(PartitionKey, RowKey) VALUES ('r', '7'), ('r', '8'), ('r', '2');
ROLLBACK;

-- OR IGNORE skips rows, and they count. OR FAIL keeps those before.
INSERT OR IGNORE INTO T(PartitionKey, RowKey, Age) VALUES ('p', '1', 1), ('p', '2', 1), ('s', '1', 1), ('s', '2', 'x');
INSERT OR FAIL INTO T(PartitionKey, RowKey) VALUES ('s', '1'), ('s', '2'), ('p', '1');
INSERT OR FAIL INTO T(PartitionKey, RowKey) VALUES ('s', '3'), ('p', '1');
SELECT RowKey FROM T WHERE PartitionKey = 's';

-- In a view's trigger each step is a statement of its own: the keys tell.
CREATE TEMP VIEW V AS SELECT PartitionKey, RowKey FROM T;
CREATE TEMP TRIGGER V_insert INSTEAD OF INSERT ON V BEGIN
  INSERT INTO T(PartitionKey, RowKey) VALUES (new.PartitionKey, new.RowKey);
END;
INSERT INTO V VALUES ('v', '1'), ('v', '2'), ('v', '1');

-- A batch counts the operations of the transaction, as the service does.
INSERT INTO Batch(PartitionKey, RowKey, Age) VALUES ('p', '1', 1), ('p', '2', 'x');
BEGIN;
INSERT INTO Batch(PartitionKey, RowKey) VALUES ('p', '1');
INSERT INTO Batch(PartitionKey, RowKey) VALUES ('p', '2');
INSERT INTO Batch(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '3', 'merge', '*');
INSERT INTO Batch(PartitionKey, RowKey, Age) VALUES ('p', '4', 1), ('p', '5', 'x');
INSERT INTO Batch(PartitionKey, RowKey) VALUES ('p', '4'), ('p', '1');
INSERT INTO Batch(PartitionKey, RowKey) VALUES ('p', '4'), ('q', '1');
INSERT INTO T(PartitionKey, RowKey) VALUES ('t', '1');
INSERT INTO T(PartitionKey, RowKey, Age) VALUES ('t', '1', 'x');
ROLLBACK;

-- Long keys are shortened, quotes doubled, and control characters escaped.
INSERT INTO T(PartitionKey, RowKey, Age) VALUES (printf('%.100c', 'k'), 'it''s', 'x');
INSERT INTO T(PartitionKey, RowKey, Age) VALUES ('a' || char(10, 9, 127) || 'b', 'ä', 'x');
INSERT INTO T(PartitionKey, RowKey) VALUES ('a' || char(10), 'it''s'), ('a' || char(10), 'it''s');

-- Queues. A message that is inserted has no id yet.
CREATE VIRTUAL TABLE Q USING pt_queue(table='Q');
INSERT INTO Q(Body) VALUES ('a'), ('b'), (NULL);
INSERT INTO Q(Body, TimeToLive) VALUES ('a', 1), ('b', 'x');
INSERT INTO Q(Body, VisibilityTimeout) VALUES ('a', 1), ('b', -1);
INSERT INTO Q(Body) VALUES ('a'), (5);
INSERT INTO Q(Body) VALUES (NULL);
SELECT count(*) FROM Q;
