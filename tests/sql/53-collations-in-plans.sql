-- A condition becomes a key range only under the collation of its column. Under any other, SQLite
-- checks every row, and the result is that of an ordinary table.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(N Int32, store='plans.ptable');
INSERT INTO T VALUES ('a', 'x', 1), ('A', 'x', 2), ('A', 'X', 3), ('b', 'x ', 4);
CREATE TABLE o(plain TEXT, nocase TEXT COLLATE NOCASE);
INSERT INTO o VALUES ('A', 'A');

-- PartitionKey and RowKey.
.eqp on
SELECT N FROM T WHERE PartitionKey = 'A' COLLATE NOCASE;
SELECT N FROM T WHERE 'A' COLLATE NOCASE = PartitionKey;
SELECT N FROM T WHERE PartitionKey = 'A' COLLATE BINARY;
SELECT N FROM T WHERE PartitionKey = 'A' COLLATE PT_DATETIME;
SELECT N FROM T WHERE PartitionKey COLLATE NOCASE IN ('a', 'B');
SELECT N FROM T WHERE PartitionKey > 'A' COLLATE NOCASE;
SELECT N FROM T WHERE PartitionKey COLLATE NOCASE BETWEEN 'B' AND 'b';
SELECT N FROM T WHERE PartitionKey = 'A' AND RowKey = 'X' COLLATE NOCASE;
SELECT N FROM T WHERE PartitionKey = 'A' AND RowKey COLLATE NOCASE < 'Y';
SELECT N FROM T WHERE PartitionKey = 'b' AND RowKey = 'x' COLLATE RTRIM;
SELECT N FROM T WHERE PartitionKey LIKE 'A%' AND RowKey LIKE 'X%';
SELECT N FROM T WHERE PartitionKey GLOB 'A*' AND RowKey GLOB 'X*';
SELECT N FROM T WHERE _rowid_ = 'A/x' COLLATE NOCASE;
SELECT N FROM T WHERE EntityKey = x'610078' COLLATE NOCASE;
SELECT N FROM T WHERE (PartitionKey COLLATE NOCASE, RowKey) > ('a', 'x');

-- Joins: the left column's collation decides.
SELECT N FROM o CROSS JOIN T WHERE o.nocase = T.PartitionKey;
SELECT N FROM o CROSS JOIN T WHERE T.PartitionKey = o.nocase;
SELECT N FROM o CROSS JOIN T WHERE o.plain = T.PartitionKey;
SELECT N FROM o CROSS JOIN T WHERE +o.nocase >= T.PartitionKey;

-- So it does for a Guid column, which is NOCASE.
.eqp off
CREATE VIRTUAL TABLE G USING ptable(Id Guid, store='plans.ptable', table=T);
INSERT INTO G VALUES ('g', '', '0F8FAD5B-D9CB-469F-A165-70867728950E');
CREATE TABLE p(Id TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO p VALUES ('0f8fad5b-d9cb-469f-a165-70867728950e');
.eqp on
SELECT count(*) FROM G CROSS JOIN p WHERE p.Id = G.Id AND PartitionKey = 'g';
SELECT count(*) FROM G WHERE Id = '0F8FAD5B-D9CB-469F-A165-70867728950E' COLLATE BINARY;
SELECT count(*) FROM G WHERE Id = '0F8FAD5B-D9CB-469F-A165-70867728950E' OR Id IN ('0F8FAD5B-d9cb-469f-A165-70867728950E');
.eqp off
DELETE FROM G WHERE PartitionKey = 'g';
.eqp on

-- ORDER BY, GROUP BY and DISTINCT use the order of the keys, but not under another collation.
SELECT group_concat(N, '') FROM (SELECT N FROM T ORDER BY PartitionKey, RowKey);
SELECT group_concat(N, '') FROM (SELECT N FROM T ORDER BY PartitionKey COLLATE BINARY, RowKey COLLATE BINARY);
SELECT group_concat(N, '') FROM (SELECT N FROM T ORDER BY PartitionKey COLLATE NOCASE, RowKey DESC);
SELECT count(*) FROM T GROUP BY PartitionKey COLLATE NOCASE;
SELECT count(*) FROM (SELECT DISTINCT PartitionKey COLLATE NOCASE FROM T);

-- A queue.
.eqp off
CREATE VIRTUAL TABLE Q USING pt_queue(store='plans.ptable');
INSERT INTO Q(Body, VisibilityTimeout) VALUES ('a', 0), ('b', 6000);
.eqp on
SELECT Body FROM Q WHERE TimeNextVisible <= datetime('now', '+30 minutes');
SELECT Body FROM Q WHERE TimeNextVisible <= datetime('now', '+30 minutes') COLLATE PT_DATETIME;
SELECT Body FROM Q WHERE TimeNextVisible < strftime('%Y-%m-%dt', 'now', '+3 days') COLLATE NOCASE;
SELECT Body FROM Q WHERE TimeNextVisible < strftime('%Y-%m-%dT', 'now', '+3 days') COLLATE BINARY;
-- '2000-13' is not a time: under PT_DATETIME it comes after all times.
SELECT Body FROM Q WHERE TimeNextVisible > '2000-13' COLLATE BINARY;
SELECT Body FROM Q WHERE TimeNextVisible > '2000-13';
SELECT Body FROM Q WHERE TimeNextVisible < '2000-13';
SELECT Body FROM Q WHERE TimeNextVisible GLOB '2*' AND TimeNextVisible LIKE '2%z';
SELECT Body FROM Q WHERE TimeNextVisible IN ('2000-01-01', '2000-01-01 00:00');
SELECT Body FROM Q WHERE MessageId IN (SELECT upper(MessageId) COLLATE NOCASE FROM Q) OR upper(MessageId) = MessageId COLLATE NOCASE;
SELECT Body FROM Q ORDER BY TimeNextVisible DESC;
SELECT Body FROM Q ORDER BY TimeNextVisible COLLATE BINARY DESC;

-- The catalogue.
SELECT TableName FROM pt_tables WHERE TableName = 't';
SELECT TableName FROM pt_tables WHERE TableName = 't' COLLATE BINARY;
SELECT TableName FROM pt_tables WHERE Store = 'PLANS.ptable' COLLATE NOCASE;
SELECT PartitionKey FROM pt_partitions('plans.ptable', 'T') WHERE PartitionKey = 'A' COLLATE NOCASE;
SELECT PartitionKey FROM pt_partitions('plans.ptable', 'T') WHERE PartitionKey COLLATE NOCASE > 'A';
SELECT PartitionKey FROM pt_partitions('plans.ptable', 'T') WHERE PartitionKey >= 'A' ORDER BY PartitionKey COLLATE NOCASE, PartitionKey DESC;
.eqp off

-- An ordinary table answers the same.
CREATE TABLE R(PartitionKey TEXT, RowKey TEXT, N, PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID;
INSERT INTO R SELECT * FROM T;
SELECT (SELECT group_concat(N, '') FROM (SELECT N FROM R WHERE PartitionKey = 'A' COLLATE NOCASE ORDER BY N)) = '123',
  (SELECT group_concat(N, '') FROM (SELECT N FROM R WHERE (PartitionKey COLLATE NOCASE, RowKey) > ('a', 'x') ORDER BY N)) = '4',
  (SELECT group_concat(N, '') FROM (SELECT N FROM o CROSS JOIN R WHERE +o.nocase >= R.PartitionKey ORDER BY N)) = '123';
