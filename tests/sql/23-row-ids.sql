-- _rowid_, rowid and oid: programs use these names for any table, and SQLite takes "_rowid_" for a
-- text if there is no such column.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE E USING ptable(N String);
INSERT INTO E(PartitionKey, RowKey, N) VALUES
  ('p', '1', 'a'), ('p', '2', 'b'), ('q/%', 'it''s "x"', 'c'), ('', '', 'd'), ('é', '', 'e'), ('', '5', 'f'), ('a_b', '-.~', 'g');
SELECT "_rowid_", * FROM E LIMIT 0, 50000;
SELECT count(*) FROM E WHERE rowid = _rowid_ AND oid = rowid AND typeof(oid) = 'text';

-- What editors send when a cell is edited, a row duplicated or deleted.
UPDATE "main"."E" SET "N" = 'x' WHERE "_rowid_" = '_rowid_';
UPDATE "main"."E" SET "N" = 'x' WHERE "rowid" = 'rowid' OR "oid" = 'oid';
SELECT changes(), group_concat(N, '') FROM E;
UPDATE "main"."E" SET "N" = 'A' WHERE "_rowid_" = 'p/1';
UPDATE E SET N = 'C' WHERE "rowid" = 'q%2F%25/it%27s%20%22x%22';
UPDATE E SET N = 'D' WHERE "oid" = '/';
SELECT changes(), group_concat(N, '') FROM E;
DELETE FROM "main"."E" WHERE "_rowid_" IN ('p/2', '%C3%A9/', 'p/3');
SELECT changes(), group_concat(N, '') FROM E;

-- Only this spelling matches; nothing else does.
SELECT rowid FROM E WHERE rowid IN ('p/%31', 'q%2f%25/it%27s%20%22x%22', 'P/1', 'p/1/', 'p/1 ', 'p', '', '_rowid_');
SELECT rowid FROM E WHERE rowid = 'p/1' || char(0) OR rowid = 'p' || char(0) || '1' OR rowid = 'p/%001';
SELECT rowid FROM E WHERE rowid = x'702F31' OR rowid = 5 OR rowid = 0.5 OR rowid = NULL OR rowid IS NULL;
SELECT rowid FROM E WHERE rowid = 5;
SELECT rowid FROM E WHERE rowid IS 'p/1';
SELECT rowid FROM E WHERE rowid = 'P/1' COLLATE NOCASE;
SELECT rowid FROM E WHERE rowid <> 'p/1' AND rowid NOT IN ('/');
SELECT rowid FROM E WHERE rowid > 'a' AND rowid LIKE '%/%' ORDER BY rowid DESC;
SELECT rowid FROM E WHERE rowid = (SELECT 5) OR +rowid = 'p/1';
SELECT rowid FROM E WHERE rowid = 'p/1' AND PartitionKey = 'q';
SELECT rowid FROM E WHERE rowid = 'p/1' AND EntityKey = x'700031' AND PartitionKey >= 'a' AND RowKey = '1';
SELECT rowid FROM E WHERE rowid IN ('p/1', '/', '/5', 'a_b/-.~') AND PartitionKey IN ('', 'p') ORDER BY EntityKey DESC;
SELECT rowid FROM E WHERE Filter MATCH 'N eq ''A''' AND rowid IN ('p/1', '/');
SELECT rowid FROM E('N eq ''A''') WHERE rowid = '/';
SELECT rowid FROM E WHERE rowid IN (SELECT value FROM json_each('["p/1", 1, null, 2.5, "/"]'));
SELECT count(*) FROM E WHERE (rowid, N) IN (('p/1', 'A'), ('/', 'A'));

-- Plans.
.eqp on
SELECT N FROM E WHERE "_rowid_" = 'p/1';
SELECT PartitionKey, rowid, EntityKey FROM E WHERE oid IN ('p/1', '/');
SELECT count(*) FROM E WHERE rowid >= 'p' AND rowid < 'p~';
UPDATE E SET N = 'A' WHERE rowid = 'p/1';
DELETE FROM E WHERE rowid = 'none/';
SELECT a.N, b.N FROM E AS a JOIN E AS b ON a._rowid_ = b._rowid_;
.eqp off
CREATE VIRTUAL TABLE Guarded USING ptable(N String, table='E', scan=deny);
SELECT N FROM Guarded WHERE rowid = 'p/1';
SELECT N FROM Guarded WHERE rowid IN ('p/1', '/') ORDER BY N;
SELECT N FROM Guarded WHERE rowid > 'p';

-- The store sets them: no INSERT gives one, and no UPDATE changes one.
INSERT INTO E(PartitionKey, RowKey, _rowid_) VALUES ('z', '1', 'z/1');
INSERT INTO E(PartitionKey, RowKey, oid) VALUES ('z', '1', 7);
INSERT OR IGNORE INTO E(PartitionKey, RowKey, rowid) VALUES ('z', '1', 'z/1');
INSERT INTO E(PartitionKey, RowKey, rowid) VALUES ('z', '1', NULL);
UPDATE E SET rowid = 'z/2' WHERE rowid = 'z/1';
UPDATE OR IGNORE E SET rowid = NULL WHERE rowid = 'z/1';
UPDATE E SET oid = x'7A2F31' WHERE rowid = 'z/1';
UPDATE E SET RowKey = '2', rowid = 'z/2' WHERE rowid = 'z/1';
UPDATE E SET oid = rowid, rowid = 'z/1', N = 'h' WHERE rowid = 'z/1';
UPDATE E SET N = new.n, RowKey = new.r FROM (SELECT 'z/1' AS id, 'i' AS n, '2' AS r) AS new WHERE E.rowid = new.id;
INSERT OR IGNORE INTO E(PartitionKey, RowKey, N) VALUES ('z', '2', 'j');
INSERT OR REPLACE INTO E(PartitionKey, RowKey, N) VALUES ('z', '3', 'k');
SELECT rowid, N FROM E WHERE PartitionKey = 'z';
UPDATE OR IGNORE E SET RowKey = '3' WHERE rowid = 'z/2';
UPDATE OR REPLACE E SET RowKey = '3' WHERE rowid = 'z/2';
SELECT rowid, N FROM E WHERE PartitionKey = 'z';

-- They are hidden, so everything without these names is as before.
PRAGMA table_info(E);
SELECT group_concat(name || CASE hidden WHEN 0 THEN '' ELSE '*' END, ' ') FROM pragma_table_xinfo('E');
.once build/rows.csv
.print z,5,imported
.import --csv build/rows.csv E
SELECT rowid, * FROM E WHERE RowKey = '5' AND N = 'imported';
DELETE FROM E WHERE N = 'imported';
INSERT INTO E VALUES ('z', '4', 'l');
CREATE TABLE Copy AS SELECT * FROM E;
SELECT sql FROM sqlite_schema WHERE name = 'Copy';
SELECT count(*) FROM E NATURAL JOIN Copy;
CREATE VIRTUAL TABLE F USING ptable(M Int32);
INSERT INTO F(PartitionKey, RowKey, M) VALUES ('p', '1', 1), ('z', '4', 4), ('y', '', 0);
SELECT * FROM E NATURAL JOIN F;
SELECT * FROM E JOIN F ON E.PartitionKey = F.PartitionKey AND E.RowKey = F.RowKey;
SELECT Copy.rowid, E.rowid, * FROM Copy JOIN E USING (PartitionKey, RowKey) WHERE E.N = 'l';
SELECT * FROM E JOIN F USING (PartitionKey, RowKey) ORDER BY 1 DESC;
SELECT E.N, F.M, F.rowid FROM E JOIN F ON E._rowid_ = F._rowid_;
SELECT E.N, F.M FROM E JOIN F USING (rowid);
SELECT F.oid, E.N FROM F LEFT JOIN E ON E.rowid = F.oid;
SELECT json_group_array(rowid) FROM Guarded WHERE PartitionKey IN ('p', 'z');
BEGIN;
INSERT INTO E(PartitionKey, RowKey, N) VALUES ('w', '/', 'pending');
SELECT rowid, N FROM E WHERE rowid = 'w/%2F';
ROLLBACK;
SELECT rowid, N FROM E WHERE rowid = 'w/%2F';

-- A declared column keeps its name and its meaning.
CREATE VIRTUAL TABLE Objects USING ptable(Oid Int32, "_ROWID_" String);
INSERT INTO Objects(PartitionKey, RowKey, oid, _rowid_) VALUES ('o', '1', 17, 'mine'), ('o', '2', 18, 'yours');
SELECT rowid, oid, _rowid_ FROM Objects;
UPDATE Objects SET oid = oid + 1, _rowid_ = 'ours' WHERE _rowid_ = 'mine';
SELECT name FROM pragma_table_xinfo('Objects') WHERE name LIKE '%id%';
SELECT * FROM Objects WHERE rowid = 'o/1' OR oid = 18;
INSERT INTO Objects VALUES ('o', '3', 19, 'theirs');
SELECT *, typeof(oid) FROM Objects WHERE oid > 18 ORDER BY oid;

-- Keys of any length.
INSERT INTO E(PartitionKey, RowKey, N) VALUES (hex(zeroblob(4000)), replace(hex(zeroblob(4189)), '00', '%'), 'long');
UPDATE E SET N = 'longer' WHERE rowid = hex(zeroblob(4000)) || '/' || replace(hex(zeroblob(4189)), '00', '%25');
SELECT length(PartitionKey) + length(RowKey), length(rowid), N FROM E WHERE N LIKE 'long%';
INSERT INTO E(PartitionKey, RowKey, N) VALUES (replace(hex(zeroblob(8000)), '00', '/'), replace(hex(zeroblob(8379)), '00', '"'), 'longest');
SELECT length(PartitionKey) + length(RowKey), length(rowid), N FROM E WHERE rowid = replace(hex(zeroblob(8000)), '00', '%2F') || '/' || replace(hex(zeroblob(8379)), '00', '%22');
SELECT count(*) FROM E WHERE rowid = hex(zeroblob(100000)) || '/' || hex(zeroblob(100000));
DELETE FROM E WHERE length(rowid) > 10000;

-- More columns than SQLite tells apart in a query.
.once build/wide.sql
SELECT 'CREATE VIRTUAL TABLE Wide USING ptable(' || group_concat('c' || value) || ');' FROM generate_series(1, 80);
.read build/wide.sql
INSERT INTO Wide(PartitionKey, RowKey, c1, c80) VALUES ('w', '1', 1, 80), ('w', '2', 2, 160);
UPDATE Wide SET c80 = 81 WHERE "_rowid_" = 'w/1';
SELECT DISTINCT PartitionKey FROM Wide WHERE oid = 'w/2';
SELECT rowid, c1, c80 FROM Wide;

-- A queue has them as well, with the same values as MessageId.
CREATE VIRTUAL TABLE Q USING pt_queue;
INSERT INTO Q(Body) VALUES ('x'), ('y');
SELECT count(*), sum(rowid = MessageId), sum(oid = _rowid_) FROM Q WHERE rowid = MessageId;
SELECT Body FROM Q WHERE rowid = (SELECT MessageId FROM Q WHERE Body = 'y');
UPDATE Q SET Body = 'z' WHERE "_rowid_" = '_rowid_';
UPDATE Q SET Body = 'z' WHERE "_rowid_" = (SELECT MessageId FROM Q WHERE Body = 'x');
INSERT INTO Q(Body, rowid) VALUES ('z', 1);
CREATE TABLE Got AS SELECT * FROM pt_queue_get('Q', 1);
UPDATE Q SET Body = 'held', oid = rowid WHERE rowid = (SELECT MessageId FROM Got) AND PopReceipt = (SELECT PopReceipt FROM Got);
SELECT count(*), max(Body) FROM Q WHERE Body = 'held';
UPDATE Q SET rowid = 'other' WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Q);
EXPLAIN QUERY PLAN UPDATE Q SET Body = 'z' WHERE _rowid_ = 'x' AND PopReceipt = 'y';
EXPLAIN QUERY PLAN SELECT * FROM Q ORDER BY TimeNextVisible, rowid;
SELECT sum(hidden = 1), count(*) FROM pragma_table_xinfo('Q') WHERE name IN ('_rowid_', 'rowid', 'oid');
