-- An UPDATE ... FROM that fails in a transaction changes nothing, although SQLite opens no savepoint for it,
-- and nothing else is lost: neither what the transaction has written before, nor what comes later.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(N Int32, S String);
CREATE TABLE Wanted(r TEXT, n, s);
INSERT INTO T VALUES ('p', '1', 1, 'a'), ('p', '2', 2, 'b'), ('p', '3', 3, 'c'), ('q', '1', 4, 'd');
INSERT INTO Wanted VALUES ('1', 10, 'x'), ('2', 20, 'y'), ('3', 'three', 'z');
BEGIN;
UPDATE T SET N = Wanted.n FROM Wanted WHERE Wanted.r = T.RowKey AND T.PartitionKey = 'p';
SELECT RowKey, N FROM T WHERE PartitionKey = 'p';
-- Entities that the transaction has written before keep what it has written.
UPDATE T SET N = 100 WHERE PartitionKey = 'p' AND RowKey = '1';
INSERT INTO T VALUES ('p', '0', 0, 'new');
UPDATE T SET S = 'big' || hex(zeroblob(50000)) WHERE PartitionKey = 'p' AND RowKey = '2';
UPDATE T SET N = Wanted.n, S = Wanted.s FROM Wanted WHERE Wanted.r = T.RowKey AND T.PartitionKey = 'p';
SELECT RowKey, N, substr(S, 1, 4), length(S) FROM T WHERE PartitionKey = 'p';
-- Two statements, of which the second fails.
UPDATE T SET N = Wanted.n FROM Wanted WHERE Wanted.r = T.RowKey AND T.PartitionKey = 'p' AND Wanted.r < '3';
UPDATE T SET RowKey = T.RowKey || Wanted.r, N = Wanted.n FROM Wanted WHERE Wanted.r = T.RowKey AND T.PartitionKey = 'p';
SELECT RowKey, N FROM T WHERE PartitionKey = 'p';
SELECT changes();
COMMIT;
SELECT RowKey, N, substr(S, 1, 4), length(S) FROM T;

-- OR FAIL keeps what was before the broken rule, OR IGNORE what is beside it; OR ROLLBACK ends the transaction. An error
-- of another kind takes back the statement with them, too.
CREATE VIRTUAL TABLE U USING ptable(N Int32, unique(N));
INSERT INTO U VALUES ('p', '1', 1), ('p', '2', 2), ('p', '3', 3);
BEGIN;
INSERT INTO U VALUES ('p', '4', 4);
UPDATE U SET N = 7 FROM (SELECT 1) WHERE RowKey >= '2';
SELECT group_concat(N) FROM U;
UPDATE OR FAIL U SET N = 8 FROM (SELECT 1) WHERE RowKey >= '2';
SELECT group_concat(N) FROM U;
UPDATE OR IGNORE U SET N = 9 FROM (SELECT 1) WHERE RowKey >= '2';
SELECT group_concat(N) FROM U;
UPDATE OR FAIL U SET N = Wanted.n FROM Wanted WHERE Wanted.r = U.RowKey;
SELECT group_concat(N) FROM U;
UPDATE OR IGNORE U SET N = Wanted.n FROM Wanted WHERE Wanted.r = U.RowKey;
SELECT group_concat(N) FROM U;
UPDATE OR REPLACE U SET N = Wanted.n FROM Wanted WHERE Wanted.r = U.RowKey;
SELECT group_concat(N) FROM U;
UPDATE OR ROLLBACK U SET N = 5 FROM (SELECT 1) WHERE RowKey >= '2';
SELECT group_concat(N) FROM U;
COMMIT;
SELECT pt_check();

-- Savepoints around it, and a cursor that reads meanwhile.
BEGIN;
SAVEPOINT a;
INSERT INTO U VALUES ('p', '5', 5);
SAVEPOINT b;
UPDATE U SET N = Wanted.n FROM Wanted WHERE Wanted.r = U.RowKey;
SELECT group_concat(N) FROM U;
UPDATE U SET N = N + 50;
UPDATE U SET N = Wanted.n FROM Wanted WHERE Wanted.r = U.RowKey;
SELECT group_concat(N) FROM U;
ROLLBACK TO b;
SELECT group_concat(N) FROM U;
UPDATE U SET N = Wanted.n FROM Wanted WHERE Wanted.r = U.RowKey;
RELEASE a;
COMMIT;
SELECT group_concat(N) FROM U;

-- In the program of a trigger.
CREATE TABLE Log(what);
CREATE TRIGGER Logged AFTER INSERT ON Log BEGIN
  INSERT INTO U VALUES ('log', new.what, 1000 + new.what);
  UPDATE U SET N = Wanted.n FROM Wanted WHERE Wanted.r = U.RowKey AND new.what <> 2;
END;
BEGIN;
INSERT INTO U VALUES ('p', '6', 6);
INSERT INTO Log VALUES (2);
INSERT INTO Log VALUES (7);
SELECT PartitionKey, group_concat(N), (SELECT count(*) FROM Log) FROM U GROUP BY 1;
COMMIT;
DROP TABLE Log;

-- batch='azure' counts no operation of it.
CREATE VIRTUAL TABLE B USING ptable(N Int32, batch=azure);
INSERT INTO B VALUES ('p', '1', 1), ('p', '2', 2), ('p', '3', 3);
BEGIN;
UPDATE B SET N = Wanted.n FROM Wanted WHERE Wanted.r = B.RowKey;
UPDATE B SET N = 11 WHERE PartitionKey = 'p' AND RowKey = '1';
UPDATE B SET N = Wanted.n FROM Wanted WHERE Wanted.r = B.RowKey AND Wanted.r > '1';
SELECT * FROM pt_batches;
COMMIT;
SELECT group_concat(N) FROM B;
BEGIN;
UPDATE B SET N = Wanted.n FROM Wanted WHERE Wanted.r = B.RowKey;
INSERT INTO T VALUES ('other', '1', 1, 'not in a batch');
COMMIT;

-- Changes, and entities that expire.
CREATE VIRTUAL TABLE C USING ptable(N Int32, Due DateTime, changes=on, expires=Due, store='changes.ptable');
INSERT INTO C VALUES ('p', '1', 1, NULL), ('p', '2', 2, NULL), ('p', '3', 3, '2020-01-01'), ('p', '4', 4, NULL);
CREATE TABLE Seen AS SELECT max(Timestamp) AS at FROM C;
BEGIN;
DELETE FROM C WHERE RowKey = '4';
UPDATE C SET RowKey = RowKey || 'x', N = iif(RowKey = '2', 'two', 5) FROM Wanted WHERE Wanted.r = C.RowKey;
SELECT RowKey, WriteMode FROM pt_changes('changes.ptable', 'C', (SELECT at FROM Seen));
COMMIT;
SELECT RowKey, N FROM C;
SELECT RowKey, WriteMode FROM pt_changes('changes.ptable', 'C', (SELECT at FROM Seen));
SELECT pt_check('changes.ptable');

-- A queue.
CREATE VIRTUAL TABLE Jobs USING pt_queue();
INSERT INTO Jobs(Body) VALUES ('a'), ('b'), ('c');
BEGIN;
CREATE TABLE Got AS SELECT * FROM pt_queue_get('Jobs', 3, 60);
UPDATE Jobs SET VisibilityTimeout = iif(Got.Body = 'c', -1, 0), Body = 'changed' FROM Got WHERE Jobs.MessageId = Got.MessageId AND Jobs.PopReceipt = Got.PopReceipt;
SELECT Body FROM Jobs;
UPDATE Jobs SET VisibilityTimeout = 5, Body = Jobs.Body || 1 FROM Got WHERE Jobs.MessageId = Got.MessageId AND Jobs.PopReceipt = Got.PopReceipt;
SELECT Body FROM Jobs;
COMMIT;
SELECT count(*), sum(DequeueCount) FROM Jobs;

-- The properties of tables.
BEGIN;
UPDATE pt_tables SET Changes = Wanted.s FROM (SELECT 'T' AS t, 'on' AS s UNION ALL SELECT 'U', 'sometimes') AS Wanted WHERE TableName = Wanted.t;
SELECT TableName, Changes FROM pt_tables WHERE TableName IN ('T', 'U');
COMMIT;
SELECT pt_check();
