-- Savepoints over several tables of one store, and statements that join a transaction late.
.load ./ptable
CREATE VIRTUAL TABLE t USING ptable(v Int32);
CREATE VIRTUAL TABLE u USING ptable(v Int32);

-- A table that is first written inside a savepoint is rolled back with the others.
BEGIN;
SAVEPOINT a;
INSERT INTO t VALUES ('p', '1', 1), ('p', '2', 2);
INSERT INTO u VALUES ('p', '1', 1);
ROLLBACK TO a;
COMMIT;
SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u);

-- What was written before the savepoint stays.
BEGIN;
INSERT INTO t VALUES ('p', '1', 1);
SAVEPOINT a;
INSERT INTO u VALUES ('p', '1', 1), ('p', '2', 2);
INSERT INTO t VALUES ('p', '2', 2);
SAVEPOINT b;
DELETE FROM u;
ROLLBACK TO b;
SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u);
ROLLBACK TO a;
COMMIT;
SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u);

-- The table that follows transactions cannot be dropped inside one.
BEGIN;
SELECT count(*) FROM t;
DROP TABLE temp.ptable_companion;
COMMIT;
INSERT INTO t VALUES ('p', '3', 3);
SELECT count(*) FROM t;

-- An UPDATE ... FROM may meet an entity twice; as for an ordinary table one of its rows is taken.
UPDATE t SET v = n.v FROM (SELECT '1' AS r, 7 AS v UNION ALL SELECT '1', 7) AS n WHERE RowKey = n.r;
SELECT RowKey, v FROM t;
UPDATE t SET Timestamp = '2026-01-01' FROM (SELECT '1' AS r) AS n WHERE RowKey = n.r;

-- A statement that reads a stored table through one declaration and writes it through another
-- reads what was there when it began.
CREATE VIRTUAL TABLE t2 USING ptable(v Int32, table=t);
INSERT INTO t2 SELECT PartitionKey, RowKey || 'b', v FROM t;
SELECT RowKey, v FROM t;
BEGIN;
UPDATE t SET v = 0 WHERE RowKey = '1';
INSERT OR REPLACE INTO t2 SELECT PartitionKey, RowKey || 'b', v FROM t;
SELECT RowKey, v FROM t ORDER BY RowKey DESC;
ROLLBACK;
