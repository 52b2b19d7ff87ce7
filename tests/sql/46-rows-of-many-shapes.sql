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
