-- UPDATE and DELETE with LIMIT, where SQLite is compiled with them, also as the first statements
-- of a connection.
.open limited.db
.load ./ptable
CREATE VIRTUAL TABLE t USING ptable(v Int32);
INSERT INTO t VALUES ('p', '1', 1), ('p', '2', 2), ('p', '3', 3);

.open limited.db
.load ./ptable
DELETE FROM t WHERE PartitionKey = 'p' ORDER BY RowKey LIMIT 1;
SELECT RowKey, v FROM t;

.open limited.db
.load ./ptable
BEGIN;
UPDATE t SET v = v * 10 WHERE PartitionKey = 'p' ORDER BY RowKey DESC LIMIT 1;
COMMIT;
SELECT RowKey, v FROM t;
