-- Cases of indexes that are easily overlooked.
.load ./ptable
CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, index(S), index(PartitionKey, A));
CREATE VIRTUAL TABLE Two USING ptable(S String, unique(S));
INSERT INTO One(PartitionKey, RowKey, S) VALUES ('p', '1', 'a'), ('q', '2', NULL);
INSERT INTO Two(PartitionKey, RowKey, S) VALUES ('p', '1', 'a'), ('q', '2', NULL);
-- A statement that deletes partitions of two tables deletes the entries of both.
DELETE FROM pt_partitions WHERE TableName IN ('One', 'Two');
SELECT TableName, IndexName, Entries FROM pt_indexes;
SELECT pt_check();

-- Entries have only 255 bytes of a PartitionKey. A longer one is found, and only this one.
INSERT INTO One(PartitionKey, RowKey, A) SELECT substr(hex(zeroblob(200)), 1, value), value, 5
  FROM (SELECT 254 AS value UNION SELECT 255 UNION SELECT 256 UNION SELECT 300);
EXPLAIN QUERY PLAN SELECT RowKey FROM One WHERE A = 5 AND PartitionKey = 'p';
SELECT RowKey, (SELECT group_concat(b.RowKey) FROM One b WHERE b.A = 5 AND b.PartitionKey = a.PartitionKey) FROM One a;
SELECT RowKey FROM One WHERE A > 1 AND PartitionKey = substr(hex(zeroblob(200)), 1, 255) ORDER BY A DESC;
SELECT RowKey FROM One WHERE A > 1 AND PartitionKey = substr(hex(zeroblob(200)), 1, 260) ORDER BY A;
