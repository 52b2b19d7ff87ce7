-- Eventually consistent transactions
-- Problem: employees who leave move from one table (or partition, or account) to another. On the
--   service no transaction spans both, and a program can die between the two writes.
-- Solution: a message in a queue says what to do. A worker gets it, does the work in steps that can
--   be repeated, and deletes the message last. If the worker dies, the message comes again.
-- When: the two places have no common transaction, or the work should be done later.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Current USING ptable(Name String);
CREATE VIRTUAL TABLE Archive USING ptable(Name String);
CREATE VIRTUAL TABLE Job USING pt_queue();
INSERT INTO Current VALUES ('Sales', '000456', 'Jun Jones');
INSERT INTO Job(Body) VALUES ('000456');
CREATE TEMP TABLE Held AS SELECT * FROM pt_queue_get('Job', 1, 30);     -- hidden for 30 seconds
INSERT OR REPLACE INTO Archive SELECT * FROM Current WHERE RowKey = (SELECT Body FROM Held);
DELETE FROM Current WHERE RowKey = (SELECT Body FROM Held);
DELETE FROM Job WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Held);
SELECT * FROM Archive;

-- In detail, in a new database
--
-- Keys: Current ('Sales', '000456') -> Archive ('Sales', '000456'); queue Job.
-- Costs: every step may happen twice, and in between a reader sees both copies.
-- Better in SQL: the queue and the tables of a store share transactions, so enqueueing is part of
--   the business transaction, and all steps can be one. examples/archive_worker.c is such a worker;
--   a test kills it after each step.
.open :memory:
.load ./ptable
.nullvalue NULL

CREATE VIRTUAL TABLE Current USING ptable(Name String, Born DateTime);
CREATE VIRTUAL TABLE Archive USING ptable(Name String, Born DateTime);
CREATE VIRTUAL TABLE Job USING pt_queue();
INSERT INTO Current VALUES ('Sales', '000456', 'Jun Jones', '1990-05-01'),
                           ('Sales', '000457', 'Ken Kwok', '1984-12-24');
CREATE TEMP VIEW Everything AS
  SELECT 'Current' AS place, RowKey, Name FROM Current
  UNION ALL SELECT 'Archive', RowKey, Name FROM Archive
  UNION ALL SELECT 'Job', NULL, Body FROM Job;

.print
.print == Step 1: enqueue, in one transaction with the change that is the reason for it
BEGIN;
INSERT OR ROLLBACK INTO Current(PartitionKey, RowKey, Properties, WriteMode, IfMatch)
  VALUES ('Sales', '000456', '{"Left":true}', 'merge', '*');
INSERT OR ROLLBACK INTO Job(Body)
  VALUES (json_object('PartitionKey', 'Sales', 'RowKey', '000456'));
COMMIT;
SELECT * FROM Everything;

.print
.print == Step 2: get the message; it is hidden from others for a while
-- A hundred nanoseconds instead of the usual 30 seconds: this worker will die, and we do not want
-- to wait. A TEMP table keeps what it needs to know.
CREATE TEMP TABLE Held AS
  SELECT MessageId, PopReceipt, DequeueCount, Body ->> 'PartitionKey' AS PartitionKey,
         Body ->> 'RowKey' AS RowKey
    FROM pt_queue_get('Job', 1, 1e-7);

.print
.print == Steps 3 and 4: read from Current, insert or replace in Archive
INSERT OR REPLACE INTO Archive(PartitionKey, RowKey, Properties)
  SELECT PartitionKey, RowKey, Properties FROM Current JOIN Held USING (PartitionKey, RowKey);
-- Here it dies. A reader sees both copies, and the message is still there.
SELECT * FROM Everything;

.print
.print == Another worker, from step 2 on: gets the same message for the second time
DROP TABLE Held;
CREATE TEMP TABLE Held AS
  SELECT MessageId, PopReceipt, DequeueCount, Body ->> 'PartitionKey' AS PartitionKey,
         Body ->> 'RowKey' AS RowKey
    FROM pt_queue_get('Job', 1, 30);
SELECT DequeueCount, PartitionKey, RowKey FROM Held;
-- A third worker gets nothing.
SELECT count(*) FROM pt_queue_get('Job', 1, 30);
-- Step 4 again: OR REPLACE replaces what is already there, so the step can be repeated.
INSERT OR REPLACE INTO Archive(PartitionKey, RowKey, Properties)
  SELECT PartitionKey, RowKey, Properties FROM Current JOIN Held USING (PartitionKey, RowKey);
-- Step 5: delete the entity if it is there. A DELETE can be repeated, too.
DELETE FROM Current WHERE (PartitionKey, RowKey) IN (SELECT PartitionKey, RowKey FROM Held);
SELECT changes();
DELETE FROM Current WHERE (PartitionKey, RowKey) IN (SELECT PartitionKey, RowKey FROM Held);
SELECT changes();
-- Step 6: the message is done. Only its holder can delete it: the first worker's receipt would be
-- refused.
DELETE FROM Job WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Held);
SELECT * FROM Everything;
-- All properties were moved, including the one that no column declares.
SELECT Properties FROM Archive;

.print
.print == In one store: all steps in one transaction, so nothing is ever half done
-- While the transaction lasts no one else can write to the store, so the work should be quick.
INSERT INTO Job(Body) VALUES (json_object('PartitionKey', 'Sales', 'RowKey', '000457'));
DROP TABLE Held;
BEGIN;
CREATE TEMP TABLE Held AS
  SELECT MessageId, PopReceipt, Body ->> 'PartitionKey' AS PartitionKey, Body ->> 'RowKey' AS RowKey
    FROM pt_queue_get('Job', 1, 30);
INSERT OR ROLLBACK INTO Archive(PartitionKey, RowKey, Properties)
  SELECT PartitionKey, RowKey, Properties FROM Current JOIN Held USING (PartitionKey, RowKey);
DELETE FROM Current WHERE (PartitionKey, RowKey) IN (SELECT PartitionKey, RowKey FROM Held);
DELETE FROM Job WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Held);
-- A worker that dies here has done nothing, and its message was never hidden.
ROLLBACK;
SELECT * FROM Everything;
-- The next worker does it all.
BEGIN;
CREATE TEMP TABLE Held AS
  SELECT MessageId, PopReceipt, Body ->> 'PartitionKey' AS PartitionKey, Body ->> 'RowKey' AS RowKey
    FROM pt_queue_get('Job', 1, 30);
INSERT OR ROLLBACK INTO Archive(PartitionKey, RowKey, Properties)
  SELECT PartitionKey, RowKey, Properties FROM Current JOIN Held USING (PartitionKey, RowKey);
DELETE FROM Current WHERE (PartitionKey, RowKey) IN (SELECT PartitionKey, RowKey FROM Held);
DELETE FROM Job WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Held);
COMMIT;
SELECT * FROM Everything;
