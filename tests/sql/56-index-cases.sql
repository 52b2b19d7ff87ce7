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

-- A backup has the indexes, and a compacted store keeps them.
CREATE VIRTUAL TABLE Twins USING ptable(A Int32);
INSERT INTO Twins VALUES ('p', '1', 5), ('q', '2', 5);
SELECT pt_backup(NULL, 'copy.ptable') > 0;
CREATE VIRTUAL TABLE Copy USING ptable(A Int32, S String, index(S), index(PartitionKey, A), table=One, store='copy.ptable');
SELECT pt_compact('copy.ptable') >= 0;
SELECT IndexName, Entries FROM pt_indexes WHERE Store = 'copy.ptable';
SELECT RowKey FROM Copy WHERE PartitionKey = substr(hex(zeroblob(200)), 1, 254) AND A = 5;
INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES ('copy.ptable', 'Two', 'S', 1);
INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES ('copy.ptable', 'Twins', 'A', 1);
SELECT pt_check('copy.ptable');

-- Definitions that are refused leave nothing behind.
CREATE VIRTUAL TABLE Wrong USING ptable(S String, indx(S));
CREATE VIRTUAL TABLE Wrong USING ptable(S String, index());
CREATE VIRTUAL TABLE Wrong USING ptable(S String, index(S)x);
CREATE VIRTUAL TABLE Wrong USING ptable(S String, index(S DESC));
CREATE VIRTUAL TABLE Wrong USING ptable(S String, index(PartitionKey, RowKey));
CREATE VIRTUAL TABLE Wrong USING ptable(S String, index(a, b, c, d, e, f, g, h, i));
CREATE VIRTUAL TABLE Wrong USING ptable(index(S), unique(A), table=Twins);
CREATE VIRTUAL TABLE Wrong USING ptable(S String, unique(S), table=One);
CREATE VIRTUAL TABLE Jobs USING pt_queue();
CREATE VIRTUAL TABLE Reader USING ptable(S String, table=Two, readonly=1, store='copy.ptable');
INSERT INTO pt_indexes(Store, TableName, Columns) VALUES ('copy.ptable', 'Two', 'A');
DELETE FROM pt_indexes WHERE Store = 'copy.ptable' AND TableName = 'Two';
BEGIN;
INSERT INTO One(PartitionKey, RowKey, A) VALUES ('p', '9', 9);
CREATE VIRTUAL TABLE Wrong USING ptable(index(S, A), unique(A), table=Twins);
INSERT INTO pt_indexes(TableName, Columns) VALUES ('One', 'A'), ('One', 'A,S'), ('One', 'S');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('Jobs', 'Body');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('One', '');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('One', 'A,,S');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('One', 'A' || char(0) || 'B');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('One', '"A@odata.type"');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('One', 'lower(S)');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('One', x'41');
INSERT INTO pt_indexes(TableName, IndexName) VALUES ('One', 'A');
INSERT INTO pt_indexes(Store, TableName, Columns) VALUES ('none.ptable', 'One', 'A');
COMMIT;
SELECT name FROM sqlite_schema;
SELECT TableName, IndexName, Entries FROM pt_indexes;
SELECT pt_check();

-- Only 255 bytes of a value are in its entry.
INSERT INTO Two VALUES ('cut', '1', printf('%.255c', 'u')), ('cut', '2', printf('%.256c', 'u'));
INSERT INTO Two VALUES ('cut', '3', printf('%.256c', 'u'));
SELECT count(*) FROM Two WHERE PartitionKey = 'cut';
