-- Transactions: a transaction reads its own writes, savepoints nest, a statement that fails is taken
-- back as a whole, and ptables and ordinary tables commit and roll back together.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE T USING ptable(v Int32);
CREATE VIRTUAL TABLE U USING ptable(v Int32);
CREATE TABLE Plain(v INTEGER);
INSERT INTO T VALUES ('p', '1', 1), ('p', '2', 2), ('p', '3', 3);

-- ROLLBACK takes back everything, in all tables.
BEGIN;
INSERT INTO T VALUES ('p', '4', 4);
UPDATE T SET v = 20 WHERE RowKey = '2';
DELETE FROM T WHERE RowKey = '1';
INSERT INTO U VALUES ('p', '1', 1);
INSERT INTO Plain VALUES (1);
SELECT RowKey, v FROM T;
SELECT (SELECT count(*) FROM U), (SELECT count(*) FROM Plain);
ROLLBACK;
SELECT RowKey, v FROM T;
SELECT (SELECT count(*) FROM U), (SELECT count(*) FROM Plain);

-- COMMIT keeps it.
BEGIN;
INSERT INTO T VALUES ('p', '4', 4);
INSERT INTO U VALUES ('p', '1', 1);
INSERT INTO Plain VALUES (1);
COMMIT;
SELECT (SELECT count(*) FROM T), (SELECT count(*) FROM U), (SELECT count(*) FROM Plain);

-- Its own writes: every kind of query sees them, in their place.
BEGIN;
INSERT INTO T VALUES ('o', '9', 90), ('p', '25', 25), ('q', '1', 91);
DELETE FROM T WHERE RowKey = '3';
UPDATE T SET v = 10 WHERE PartitionKey = 'p' AND RowKey = '1';
SELECT v FROM T WHERE PartitionKey = 'p' AND RowKey = '25';
SELECT count(*) FROM T WHERE PartitionKey = 'p' AND RowKey = '3';
SELECT group_concat(v, ' ') FROM (SELECT v FROM T WHERE PartitionKey = 'p' ORDER BY RowKey DESC);
SELECT group_concat(PartitionKey || RowKey, ' ') FROM (SELECT PartitionKey, RowKey FROM T);
SELECT DISTINCT PartitionKey FROM T;
SELECT min(RowKey), max(RowKey) FROM T WHERE PartitionKey = 'p';
-- Deleted and inserted again, changed twice, inserted and deleted.
INSERT INTO T VALUES ('p', '3', 33);
UPDATE T SET v = v + 1 WHERE RowKey = '25';
UPDATE T SET v = v + 1 WHERE RowKey = '25';
DELETE FROM T WHERE PartitionKey = 'o';
SELECT group_concat(v, ' ') FROM (SELECT v FROM T);
COMMIT;
SELECT group_concat(v, ' ') FROM (SELECT v FROM T);

-- Savepoints.
BEGIN;
DELETE FROM T WHERE PartitionKey = 'q';
SAVEPOINT a;
INSERT INTO T VALUES ('s', '1', 1);
SAVEPOINT b;
INSERT INTO T VALUES ('s', '2', 2);
UPDATE T SET v = 100 WHERE PartitionKey = 's' AND RowKey = '1';
SELECT group_concat(v, ' ') FROM T WHERE PartitionKey = 's';
ROLLBACK TO b;
SELECT group_concat(v, ' ') FROM T WHERE PartitionKey = 's';
INSERT INTO T VALUES ('s', '3', 3);
RELEASE b;
SELECT group_concat(v, ' ') FROM T WHERE PartitionKey = 's';
ROLLBACK TO a;
SELECT count(*) FROM T WHERE PartitionKey IN ('q', 's');
INSERT INTO T VALUES ('s', '4', 4);
COMMIT;
SELECT PartitionKey, RowKey, v FROM T WHERE PartitionKey IN ('q', 's');

-- The outermost SAVEPOINT begins a transaction, its RELEASE commits.
SAVEPOINT outer;
INSERT INTO T VALUES ('s', '5', 5);
SAVEPOINT inner;
INSERT INTO T VALUES ('s', '6', 6);
RELEASE inner;
SELECT count(*) FROM T WHERE PartitionKey = 's';
ROLLBACK TO outer;
SELECT count(*) FROM T WHERE PartitionKey = 's';
INSERT INTO T VALUES ('s', '7', 7);
RELEASE outer;
SELECT group_concat(RowKey, ' ') FROM T WHERE PartitionKey = 's';

-- A statement that fails in the middle leaves the transaction as it was before it.
BEGIN;
INSERT INTO T VALUES ('t', '1', 1);
INSERT INTO T SELECT 't', value, value FROM json_each('[5, 6, "seven", 8]');
UPDATE T SET v = v * 500000000 WHERE PartitionKey = 's';
SELECT RowKey, v FROM T WHERE PartitionKey IN ('s', 't');
COMMIT;
SELECT RowKey, v FROM T WHERE PartitionKey IN ('s', 't');

-- Outside a transaction each statement is one.
INSERT INTO T VALUES ('u', '1', 1), ('u', '2', 2), ('u', '1', 3);
SELECT count(*) FROM T WHERE PartitionKey = 'u';

-- A statement that reads the table it writes sees it as it was before.
INSERT INTO T SELECT 'v', RowKey, v FROM T WHERE PartitionKey = 'p';
SELECT count(*) FROM T WHERE PartitionKey = 'v';
INSERT INTO T SELECT PartitionKey, RowKey || 'x', v FROM T WHERE PartitionKey = 'v';
SELECT count(*) FROM T WHERE PartitionKey = 'v';

-- CREATE in a transaction, written at once, and taken back to a savepoint.
BEGIN;
CREATE VIRTUAL TABLE New USING ptable(v Int32);
INSERT INTO New VALUES ('p', '1', 1);
SAVEPOINT a;
INSERT INTO New VALUES ('p', '2', 2);
ROLLBACK TO a;
COMMIT;
SELECT * FROM New;
BEGIN;
SAVEPOINT a;
CREATE VIRTUAL TABLE Newer USING ptable(v Int32);
INSERT INTO Newer VALUES ('p', '1', 1);
ROLLBACK TO a;
INSERT INTO New VALUES ('p', '3', 3);
COMMIT;
SELECT * FROM New;
CREATE VIRTUAL TABLE Newer USING ptable(v Int32);
SELECT count(*) FROM Newer;

-- Timestamps rise from write to write, also inside a transaction, and over a ROLLBACK.
BEGIN;
INSERT INTO New VALUES ('time', '1', 1);
INSERT INTO New VALUES ('time', '2', 2);
SELECT count(DISTINCT Timestamp), max(Timestamp) =
    (SELECT Timestamp FROM New WHERE PartitionKey = 'time' AND RowKey = '2')
  FROM New WHERE PartitionKey = 'time';
CREATE TEMP TABLE Last AS SELECT max(Timestamp) AS t, max(ETag) AS e FROM New;
COMMIT;
SELECT count(*) FROM New, Last WHERE ETag = e AND Timestamp = t;
INSERT INTO New VALUES ('time', '3', 3);
SELECT Timestamp > t FROM New, Last WHERE PartitionKey = 'time' AND RowKey = '3';

-- Two connections: what one has not committed the other does not see, and they take turns writing.
.open shared.db
.load ./ptable
CREATE VIRTUAL TABLE S USING ptable(v Int32, store='shared.ptable');
INSERT INTO S VALUES ('p', '1', 1);
.connection 1
.open second.db
.load ./ptable
CREATE VIRTUAL TABLE S USING ptable(v Int32, store='shared.ptable');
.connection 0
BEGIN;
INSERT INTO S VALUES ('p', '2', 2);
SELECT count(*) FROM S;
.connection 1
SELECT count(*) FROM S;
INSERT INTO S VALUES ('p', '3', 3);
.connection 0
COMMIT;
.connection 1
SELECT count(*) FROM S;
INSERT INTO S VALUES ('p', '3', 3);

-- A transaction goes on seeing what it saw first; one that then finds the store changed cannot write.
BEGIN;
SELECT count(*) FROM S;
.connection 0
INSERT INTO S VALUES ('p', '4', 4);
.connection 1
SELECT count(*) FROM S;
INSERT INTO S VALUES ('p', '5', 5);
ROLLBACK;
SELECT count(*) FROM S;
INSERT INTO S VALUES ('p', '5', 5);
.connection 0
SELECT count(*) FROM S;

-- DELETE ... WHERE 0 writes nothing and takes the writer lock: the way to lock before reading.
BEGIN;
DELETE FROM S WHERE 0;
SELECT max(v) FROM S;
.connection 1
INSERT INTO S VALUES ('p', '6', 6);
.connection 0
INSERT INTO S SELECT 'p', '7', max(v) + 2 FROM S;
COMMIT;
SELECT group_concat(v, ' ') FROM S;

-- Who writes to one store does not wait for another: two such could wait for each other.
.connection 0
BEGIN;
DELETE FROM S WHERE 0;
.connection 1
PRAGMA busy_timeout = 60000;
CREATE VIRTUAL TABLE Own USING ptable(v Int32);
BEGIN;
INSERT INTO Own VALUES ('p', '1', 1);
INSERT INTO S VALUES ('p', '8', 8);
ROLLBACK;
.connection 0
ROLLBACK;
