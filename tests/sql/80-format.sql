-- A store that version 0.1.0 has made, with everything that a store can have (data/make-format.sql). This
-- and every later version opens, checks, reads, writes and compacts it.
.load ./ptable
.shell cp data/format-0.1.0.ptable stored.ptable && chmod u+w stored.ptable
SELECT pt_check('stored.ptable');
CREATE VIRTUAL TABLE Everything USING ptable(Text String, Small Int32, Large Int64, Real Double, Yes Boolean,
    Moment DateTime, Id Guid, Bytes Binary, unique(Text), index(Small), store='stored.ptable');
CREATE VIRTUAL TABLE Many USING ptable(Number Int32, store='stored.ptable');
CREATE VIRTUAL TABLE Session USING ptable(Due DateTime, expires=Due, store='stored.ptable');
CREATE VIRTUAL TABLE Job USING pt_queue(store='stored.ptable');
.nullvalue NULL

-- Read: every type, texts and binaries in pieces, long keys, properties that no column shows.
SELECT TableName, Entities, Expires, Store LIKE '%stored.ptable' AS here FROM pt_tables ORDER BY TableName;
SELECT RowKey, Text, Small, Large, Real = 2.5, abs(Real) = 1.7976931348623157e308, Yes, Moment, Id,
    hex(Bytes) FROM Everything WHERE PartitionKey = 'types';
SELECT PartitionKey, RowKey, Properties FROM Everything WHERE PartitionKey IN ('json', '', 'ключ');
SELECT RowKey, length(Text), Text = printf('%.*c', RowKey, 't'), Bytes = zeroblob(RowKey) FROM Everything
  WHERE PartitionKey = 'large';
SELECT length(PartitionKey), length(RowKey), substr(RowKey, -1), Small FROM Everything
  WHERE pt_starts_with(PartitionKey, 'pp');
SELECT PartitionKey, count(*), sum(Number), min(RowKey), max(RowKey) FROM Many GROUP BY 1;
SELECT pt_ticks(Timestamp) > pt_ticks('2026-01-01T00:00:00Z') AND Timestamp < '2036' FROM Many LIMIT 1;

SELECT RowKey, Due FROM Session;

-- By its indexes, which know the same entities.
SELECT RowKey FROM Everything WHERE Text = 'ω 𝄞';
SELECT Small, length(RowKey) FROM Everything WHERE Small BETWEEN 3 AND 7 ORDER BY Small;
SELECT TableName, Columns, IsUnique FROM pt_indexes ORDER BY 2;
INSERT INTO Everything(PartitionKey, RowKey, Text) VALUES ('new', 'same', 'text');

-- A queue: a message that was handed out is to be had again, and keeps its count.
SELECT substr(Body, 1, 6), length(Body), DequeueCount FROM pt_queue_get('Job', 10) ORDER BY 1;

-- Write, compact, and all once more in another connection.
UPDATE Everything SET Small = 8, Bytes = x'01' WHERE PartitionKey = 'large' AND RowKey = '9000';
UPDATE Everything SET Text = 'new ' || Small WHERE pt_starts_with(PartitionKey, 'pp');
SELECT pt_purge('Session');
DELETE FROM Everything WHERE PartitionKey = 'types' AND RowKey = 'least';
INSERT INTO Everything(PartitionKey, RowKey, Text) VALUES ('new', 'a', 'a');
INSERT INTO Many(PartitionKey, RowKey, Number) SELECT '2', RowKey, Number FROM Many WHERE PartitionKey = '1';
SELECT Text, length(PartitionKey) FROM Everything WHERE Text GLOB 'new *' ORDER BY Text;
SELECT pt_check('stored.ptable');
SELECT pt_compact('stored.ptable') > 0;
SELECT pt_check('stored.ptable');
.open :memory:
.load ./ptable
CREATE VIRTUAL TABLE Many USING ptable(Number Int32, store='stored.ptable');
SELECT PartitionKey, count(*), sum(Number) FROM Many GROUP BY 1;
SELECT TableName, Entities FROM pt_tables ORDER BY 1;
