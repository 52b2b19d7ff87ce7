-- Conditions and values that nobody writes on purpose: the answers are those of an ordinary table,
-- or say what is wrong.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(v Int32);
INSERT INTO T VALUES ('a', '1', 1), ('a', '2', 2), ('b', '1', 3);

-- What the store sets may be written back as it is, by SET too.
UPDATE T SET Timestamp = Timestamp WHERE RowKey = '2';
UPDATE T SET ETag = ETag WHERE RowKey = '2';
UPDATE T SET EntityKey = EntityKey, v = 4 WHERE RowKey = '2';
SELECT v, changes() FROM T WHERE RowKey = '2';
UPDATE T SET EntityKey = 'a' WHERE RowKey = '2';
UPDATE T SET EntityKey = NULL WHERE RowKey = '2';
UPDATE T SET ETag = NULL WHERE RowKey = '2';
UPDATE T SET Timestamp = 5 WHERE RowKey = '2';

-- A Filter is a text.
SELECT v FROM T WHERE Filter MATCH x'76';
SELECT v FROM T WHERE Filter MATCH 5;
SELECT v FROM T WHERE Filter MATCH NULL;
SELECT v MATCH 'a' FROM T;
SELECT v FROM T WHERE PartitionKey MATCH 'c';
SELECT v FROM T WHERE PartitionKey MATCH 'other';
SELECT v FROM T WHERE PartitionKey MATCH 5;

-- Tables are asked for by name.
SELECT TableName FROM pt_tables WHERE TableName = 't';
SELECT TableName FROM pt_tables WHERE TableName = 't' COLLATE BINARY;
SELECT TableName FROM pt_tables WHERE TableName = 'T  ' COLLATE RTRIM;
SELECT TableName FROM pt_tables WHERE TableName = 5;
SELECT TableName FROM pt_tables WHERE TableName = 1.5;
SELECT TableName FROM pt_tables WHERE TableName = x'54';
SELECT TableName FROM pt_tables WHERE TableName IS NULL;
SELECT TableName FROM pt_tables WHERE Store = x'54';
SELECT TableName FROM pt_tables WHERE Store = NULL;
INSERT INTO pt_tables(TableName) VALUES (x'54');
INSERT INTO pt_tables(TableName) VALUES (1.5);
INSERT INTO pt_tables(TableName) VALUES (NULL);
INSERT INTO pt_tables(TableName, Entities) VALUES ('New', 1);
INSERT INTO pt_tables(TableName, Bytes) VALUES ('New', 1);

-- The table by which ptable follows transactions holds nothing.
SELECT count(*) FROM temp.ptable_companion;
INSERT INTO temp.ptable_companion(job) VALUES (1);
DELETE FROM temp.ptable_companion;

-- Messages under conditions that no index answers.
CREATE VIRTUAL TABLE Q USING pt_queue;
INSERT INTO Q(Body) VALUES ('one'), ('two');
SELECT count(*) FROM Q WHERE PopReceipt > 'a';
SELECT count(*) FROM Q WHERE PopReceipt IS NULL;
SELECT count(*) FROM Q WHERE MessageKey > x'00';
SELECT count(*) FROM Q WHERE MessageKey = 'a';
SELECT count(*) FROM Q WHERE MessageId = 'a' AND PopReceipt = NULL;
SELECT count(*) FROM Q WHERE TimeNextVisible > '2000';
SELECT count(*) FROM Q WHERE TimeNextVisible < '2000';
SELECT count(*) FROM Q WHERE TimeNextVisible <= NULL;
SELECT count(*) FROM Q WHERE TimeNextVisible <= 'zz' COLLATE NOCASE;
SELECT count(*) FROM Q WHERE MessageId = 'a' COLLATE NOCASE;
SELECT Body FROM Q ORDER BY TimeNextVisible, MessageKey DESC, Body;
SELECT Body FROM Q ORDER BY TimeNextVisible DESC, MessageKey, Body;
