-- A main database in UTF-16 compares text in the order of its own bytes. There only = and IN of keys
-- become key ranges; everything else is checked and sorted by SQLite, with the same results.
PRAGMA encoding = 'UTF-16le';
.load ./ptable
PRAGMA encoding;
CREATE VIRTUAL TABLE T USING ptable(v String);
INSERT INTO T VALUES
  ('a', 'a', 'a'), ('a', 'b', 'ä'), ('a', 'é', 'é'),
  ('a', 'Ā', '日本'), ('a', '€', '€'),
  ('ä', '😀', '😀'), ('日本', 'x', json_quote('"')), ('p', '', '');

-- Text comes back as it was, in keys, columns and JSON.
SELECT PartitionKey, RowKey, v, length(v), hex(CAST(v AS BLOB)) FROM T WHERE PartitionKey IN ('ä', '日本');
SELECT Properties, Properties ->> 'v' FROM T WHERE PartitionKey = 'ä';
SELECT quote(EntityKey) FROM T WHERE PartitionKey = 'ä';

-- = and IN find entities by their keys.
SELECT v FROM T WHERE PartitionKey = 'a' AND RowKey = 'Ā';
SELECT v FROM T WHERE PartitionKey = 'a' AND RowKey IN ('é', 'b', 'z');
EXPLAIN QUERY PLAN SELECT v FROM T WHERE PartitionKey = 'a' AND RowKey = 'Ā';
EXPLAIN QUERY PLAN SELECT v FROM T WHERE PartitionKey = 'a' AND RowKey >= 'b';
EXPLAIN QUERY PLAN SELECT v FROM T WHERE PartitionKey = 'a' ORDER BY RowKey;

-- Ranges give what an ordinary table gives.
CREATE TABLE Plain AS SELECT PartitionKey, RowKey, v FROM T;
SELECT count(*), sum(
  (SELECT group_concat(RowKey) FROM (SELECT RowKey FROM T
    WHERE PartitionKey = 'a' AND RowKey < Bound.RowKey ORDER BY RowKey)) IS
  (SELECT group_concat(RowKey) FROM (SELECT RowKey FROM Plain
    WHERE PartitionKey = 'a' AND RowKey < Bound.RowKey ORDER BY RowKey))) FROM Plain AS Bound;
SELECT RowKey FROM T WHERE PartitionKey = 'a' AND RowKey < 'b' ORDER BY RowKey DESC;
SELECT RowKey FROM T WHERE PartitionKey = 'a' AND pt_starts_with(RowKey, 'é');
SELECT min(RowKey), max(RowKey) FROM T WHERE PartitionKey = 'a';
SELECT DISTINCT PartitionKey FROM T ORDER BY PartitionKey;

-- EntityKey is bytes in any encoding, so paging goes on working.
SELECT RowKey FROM T WHERE EntityKey > pt_entity_key('a', 'b') ORDER BY EntityKey LIMIT 3;

-- So is a row id, which is ASCII.
SELECT _rowid_ FROM T WHERE oid IN (SELECT rowid FROM T WHERE RowKey IN ('Ā', '😀'));
SELECT RowKey FROM T WHERE rowid = 'a/%C4%80' OR rowid = 'a/Ā' OR rowid = 'a/b' || char(0);
EXPLAIN QUERY PLAN SELECT RowKey FROM T WHERE rowid = 'a/%C4%80';

-- Writing.
UPDATE T SET v = v || '€' WHERE PartitionKey = 'a' AND RowKey = 'Ā';
INSERT OR REPLACE INTO T(PartitionKey, RowKey, Properties) VALUES ('ä', '😀', '{"v":"\ud83d\ude00€"}');
INSERT INTO T VALUES ('a', 'Ā', '');
SELECT v FROM T WHERE RowKey IN ('Ā', '😀');

-- The store itself is the same for any encoding.
CREATE VIRTUAL TABLE S USING ptable(v String, store='both.ptable');
INSERT INTO S VALUES ('ä', '😀', 'Grüße');
.open eight.db
.load ./ptable
PRAGMA encoding;
CREATE VIRTUAL TABLE S USING ptable(v String, store='both.ptable');
SELECT * FROM S WHERE PartitionKey = 'ä' AND pt_starts_with(RowKey, '😀');

-- After .load it is too late for the PRAGMA: loading makes a table in TEMP, which settles the encoding.
.open :memory:
.load ./ptable
PRAGMA encoding = 'UTF-16be';
PRAGMA encoding;
