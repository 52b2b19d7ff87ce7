-- Makes the store of tests/sql/80-format.sql, in which all is that a store can have:
--     sqlite3 :memory: '.load ./ptable' '.read tests/sql/data/make-format.sql'
CREATE VIRTUAL TABLE Everything USING ptable(Text String, Small Int32, Large Int64, Real Double, Yes Boolean,
    Moment DateTime, Id Guid, Bytes Binary, unique(Text), index(Small), store='format-new.ptable');
INSERT INTO Everything(PartitionKey, RowKey, Text, Small, Large, Real, Yes, Moment, Id, Bytes) VALUES
  ('types', 'usual', 'text', 7, 9007199254740993, 2.5, 1, '2024-02-29T12:34:56.7890123Z',
   'c9da6455-213d-42c9-9a79-3e9149a57833', x'00ff10'),
  ('types', 'least', '', -2147483648, -9223372036854775807 - 1, -1.7976931348623157e308, 0,
   '0001-01-01T00:00:00Z', '00000000-0000-0000-0000-000000000000', x''),
  ('types', 'most', 'ω 𝄞', 2147483647, 9223372036854775807, 1.7976931348623157e308, 1,
   '9999-12-31T23:59:59.9999999Z', 'ffffffff-ffff-ffff-ffff-ffffffffffff', x'ff');
INSERT INTO Everything(PartitionKey, RowKey) VALUES ('types', 'none'), ('', ''), ('ключ', 'ключ');
INSERT INTO Everything(PartitionKey, RowKey, Properties) VALUES
  ('json', 'other', '{"Other":"o","Infinity":"Infinity","Infinity@odata.type":"Edm.Double","Big":"5","Big@odata.type":"Edm.Int64"}');

-- Keys that LMDB cannot hold in one piece.
INSERT INTO Everything(PartitionKey, RowKey, Small)
  SELECT printf('%.*c', length, 'p'), printf('%.*c', 1200 - length, 'r') || n, n
    FROM (SELECT 300 AS length, 1 AS n UNION ALL VALUES (511, 2), (600, 3), (600, 4), (1100, 5));

-- Values that are stored in pieces, and one that is just not.
INSERT INTO Everything(PartitionKey, RowKey, Text, Bytes)
  SELECT 'large', size, printf('%.*c', size, 't'), zeroblob(size)
    FROM (SELECT 1000 AS size UNION ALL VALUES (2000), (2001), (9000));

-- So many entities that each tree has several levels, and a page that was once in use.
CREATE VIRTUAL TABLE Many USING ptable(Number Int32, store='format-new.ptable');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
INSERT INTO Many(PartitionKey, RowKey, Number) SELECT i % 3, printf('%05d', i), i FROM n;
DELETE FROM Many WHERE PartitionKey = '2';
CREATE VIRTUAL TABLE Gone USING ptable(store='format-new.ptable');
INSERT INTO Gone(PartitionKey, RowKey) VALUES ('a', 'b');
DELETE FROM pt_tables WHERE TableName = 'Gone' AND Store = 'format-new.ptable';

-- Entities that have expired, that will, and that never do.
CREATE VIRTUAL TABLE Session USING ptable(Due DateTime, expires=Due, store='format-new.ptable');
INSERT INTO Session(PartitionKey, RowKey, Due) VALUES
  ('web', 'past', '2020-01-01'), ('web', 'future', '9999-01-01'), ('web', 'never', NULL);

CREATE VIRTUAL TABLE Job USING pt_queue(store='format-new.ptable');
INSERT INTO Job(Body) VALUES ('first'), ('second'), (printf('%.*c', 3000, 'm'));
SELECT count(*) FROM pt_queue_get('Job', 1, 1);
SELECT pt_check('format-new.ptable');
