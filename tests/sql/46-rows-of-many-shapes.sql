-- Rows are read one after the other, each with the shape and the keys that it has.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE t USING ptable(a String, i Int32, l Int64, d Double, b Boolean, store='s.ptable');
INSERT INTO t(PartitionKey, RowKey, a, i, l, d, b) VALUES
  ('p', '1', 'one', -1, -9223372036854775808, 1.5, 1),
  ('p', '2', NULL, 2147483647, NULL, NULL, NULL),
  ('p', '3', '', NULL, 9223372036854775807, 'NaN', 0),
  ('p', '4', 'four', -2147483648, 4, '-Infinity', 1),
  ('q', '1', NULL, NULL, NULL, NULL, NULL),
  ('q', '2', 'x' || char(0) || 'y', 2, 2, 'Infinity', 0);
SELECT * FROM t;
SELECT RowKey, typeof(a), length(CAST(a AS BLOB)), typeof(i), typeof(l), typeof(d), typeof(b) FROM t;

-- Two cursors of one statement, each among shapes of its own.
SELECT x.RowKey, y.RowKey, x.a, y.d FROM t AS x, t AS y WHERE x.PartitionKey = 'p' AND y.PartitionKey = 'q';

-- What is pending has shapes that a rollback takes back, and others get their ids.
BEGIN;
INSERT INTO t(PartitionKey, RowKey, Properties) VALUES ('p', '25', '{"a":"pending","New":1}');
SELECT RowKey, a, i, Properties FROM t WHERE PartitionKey = 'p';
ROLLBACK;
BEGIN;
INSERT INTO t(PartitionKey, RowKey, Properties) VALUES ('p', '25', '{"Other":2,"i":5}');
SELECT RowKey, a, i, Properties FROM t WHERE PartitionKey = 'p';
COMMIT;
SELECT RowKey, a, i, Properties FROM t WHERE PartitionKey = 'p';

-- The same entities by other columns.
CREATE VIRTUAL TABLE u USING ptable(i Int32, Other Int32, a String, store='s.ptable', table='t');
SELECT RowKey, i, Other, a FROM u;

-- Keys short and long, asked for as terminated texts, compared, aggregated and sorted.
INSERT INTO t(PartitionKey, RowKey, i) VALUES ('k', '', 0), ('k', 'é', 1), ('', '', 2);
INSERT INTO t(PartitionKey, RowKey, i)
  SELECT 'k', substr(printf('%.*c', 600, 'r'), 1, value), value
  FROM json_each('[1, 254, 255, 256, 257, 500, 511, 600]');
SELECT PartitionKey, length(RowKey), i FROM t WHERE PartitionKey IN ('', 'k');
SELECT length(min(RowKey)), length(max(RowKey)), min(PartitionKey) FROM t WHERE PartitionKey = 'k';
SELECT group_concat(length(RowKey), ' ') FROM (SELECT RowKey FROM t WHERE PartitionKey = 'k' ORDER BY i DESC);
SELECT count(*) FROM t AS x JOIN t AS y ON y.PartitionKey = x.PartitionKey AND y.RowKey = x.RowKey;
SELECT RowKey || '|' FROM t WHERE PartitionKey = 'k' AND RowKey <= 'r' ORDER BY RowKey DESC;
SELECT RowKey, i FROM t WHERE PartitionKey = 'p' AND RowKey = '1';

-- Columns in another order than that in which their names came to the store; each row has some that
-- the one before it has not, and lacks others.
CREATE VIRTUAL TABLE v USING ptable(z String, New Int32, d Double, a String, i Int32, store='s.ptable', table='t');
INSERT INTO v(PartitionKey, RowKey, z, New, d, a, i) VALUES
  ('v', '1', 'z', 1, 1.5, 'a', 1),
  ('v', '2', 'z', 2, 2.5, 'a', 2),
  ('v', '3', NULL, 3, NULL, 'a', 3),
  ('v', '4', 'z', NULL, 4.5, NULL, 4),
  ('v', '5', 'z', 5, 5.5, 'a', 5),
  ('v', '6', NULL, NULL, NULL, NULL, NULL),
  ('v', '7', NULL, NULL, 7.5, NULL, NULL);
SELECT * FROM v WHERE PartitionKey = 'v';
INSERT INTO v(PartitionKey, RowKey, i, a, z) VALUES ('v', '8', 8, 'a', 'z'), ('v', '9', 'x', 'a', 'z');
INSERT INTO v(PartitionKey, RowKey, i, Properties) VALUES ('v', '9', 9, '{"l":9,"z":9,"i":0}');
INSERT INTO v(PartitionKey, RowKey, z, i) VALUES ('v', 'A', 'z', 10);
SELECT RowKey, Properties FROM v WHERE PartitionKey = 'v';
