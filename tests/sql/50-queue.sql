-- Queues: messages that are handed out to one worker at a time. The functions that hand them out
-- have a script of their own; here is what plain SQL does.
.load ./ptable
.nullvalue NULL

-- A queue always has the same columns.
CREATE VIRTUAL TABLE jobs USING pt_queue(store='contoso.ptable', sync=off);
SELECT name, type, hidden FROM pragma_table_xinfo('jobs');

-- INSERT enqueues. A body is a text or a BLOB of any length and stays what it is.
INSERT INTO jobs(Body) VALUES ('first'), ('second'), (x'00FF'), (''), (zeroblob(100000));
SELECT substr(Body, 1, 6) AS Body, typeof(Body), length(Body), DequeueCount FROM jobs;
SELECT count(DISTINCT MessageId), count(DISTINCT PopReceipt), count(DISTINCT MessageKey) FROM jobs;

-- All times are ptable's: UTC with 7 digits. A message is visible at once and never expires, unless
-- it is told otherwise, in seconds. VisibilityTimeout and TimeToLive are only written.
INSERT INTO jobs(Body, VisibilityTimeout, TimeToLive)
  VALUES ('in a minute', 60, NULL), ('for an hour', NULL, 3600), ('for ever', 100.5, -1),
         ('as text', '60', '1e3'), ('never', 9e18, 9e99);
SELECT Body, (pt_ticks(TimeNextVisible) - pt_ticks(InsertionTime)) / 1e7 AS Delay,
       (pt_ticks(ExpirationTime) - pt_ticks(InsertionTime)) / 1e7 AS Lives,
       VisibilityTimeout, TimeToLive, Request
  FROM jobs WHERE Body NOT IN ('', 'first', 'second', 'never') AND typeof(Body) = 'text';
SELECT TimeNextVisible, ExpirationTime FROM jobs WHERE Body = 'never';
SELECT sum(pt_ticks() - pt_ticks(InsertionTime) NOT BETWEEN 0 AND 600000000) FROM jobs;

-- Messages that have expired are not there any more.
INSERT INTO jobs(Body, TimeToLive) VALUES ('gone at once', 0.0000001);
SELECT count(*) FROM jobs WHERE Body = 'gone at once';

-- What a queue holds is counted as in any other table of the store, also what has expired but has
-- not been met since.
SELECT TableName, Entities FROM pt_tables WHERE Store = 'contoso.ptable';

-- SELECT peeks: in the order in which messages are handed out, those that are hidden now included.
SELECT substr(Body, 1, 11) FROM jobs;
.eqp on
SELECT count(*) FROM jobs WHERE TimeNextVisible <= pt_datetime();
SELECT Body FROM jobs ORDER BY TimeNextVisible LIMIT 1;
SELECT Body FROM jobs WHERE TimeNextVisible > pt_datetime() ORDER BY TimeNextVisible DESC LIMIT 2;
SELECT Body FROM jobs WHERE TimeNextVisible = '9999-12-31T23:59:59.9999999Z';
SELECT count(*) FROM jobs WHERE TimeNextVisible BETWEEN '1999' AND '2000';
SELECT count(*) FROM jobs WHERE TimeNextVisible >= '2000' AND TimeNextVisible < '9';
SELECT count(*) FROM jobs WHERE TimeNextVisible > NULL;
SELECT Body FROM jobs WHERE DequeueCount = 0 ORDER BY TimeNextVisible, MessageId LIMIT 1 OFFSET 1;
SELECT max(TimeNextVisible) FROM jobs WHERE Body = 'never';
.eqp off

-- Who has the PopReceipt holds the message: a point.
CREATE TABLE held AS SELECT MessageId, PopReceipt, Body AS Was FROM jobs WHERE typeof(Body) = 'text';
.eqp on
SELECT Body FROM held JOIN jobs USING (MessageId, PopReceipt) WHERE Was IN ('first', 'for ever');
SELECT Body FROM jobs WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM held WHERE Was IN ('first', 'second', 'never'));
.eqp off

-- UPDATE: visible again in so many seconds, perhaps with another body, and always under another
-- receipt. Without VisibilityTimeout the message stays where it is.
UPDATE jobs SET VisibilityTimeout = 3600 WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM held WHERE Was = 'first');
UPDATE jobs SET Body = 'second, looked at' WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM held WHERE Was = 'second');
SELECT changes();
UPDATE jobs SET VisibilityTimeout = 0, Body = x'01' FROM held
  WHERE jobs.MessageId = held.MessageId AND jobs.PopReceipt = held.PopReceipt AND Was = 'never';
SELECT substr(Body, 1, 17), typeof(Body), TimeNextVisible <= pt_datetime() AS Visible,
       jobs.PopReceipt <> held.PopReceipt AS NewReceipt
  FROM held JOIN jobs USING (MessageId) WHERE Was IN ('first', 'second', 'never') ORDER BY Was;

-- DELETE: the work is done.
DELETE FROM jobs WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM held WHERE Was IN ('', 'for ever'));
SELECT changes(), count(*) FROM jobs;

-- A receipt that is not the current one is an error, also in a SELECT: somebody else may have the
-- message now. Nothing is done then.
DELETE FROM jobs WHERE MessageId = '01a1ff20-c1a2-71e5-816f-a201ba7d23a7'
  AND PopReceipt = '0639308784992341940-c86658ca-b200-4a26-b032-6b2c8a3ed221';
UPDATE jobs SET VisibilityTimeout = 1 WHERE MessageId = 'none' AND PopReceipt = 'neither';
SELECT Body FROM jobs WHERE MessageId = 1 AND PopReceipt = x'02';
SELECT Body FROM jobs WHERE MessageId = NULL AND PopReceipt = '';
DELETE FROM jobs WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM held
  WHERE Was IN ('in a minute', 'no such')) OR (MessageId = 'x' AND PopReceipt = 'y');
SELECT count(*) FROM jobs;

-- Without both nothing can be changed or deleted.
DELETE FROM jobs;
DELETE FROM jobs WHERE Body = 'in a minute';
UPDATE jobs SET VisibilityTimeout = 0 WHERE MessageId = (SELECT MessageId FROM held LIMIT 1);
UPDATE jobs SET Body = '' WHERE TimeNextVisible > pt_datetime();
DELETE FROM jobs WHERE Body = 'no such';
SELECT count(*) FROM jobs;

-- However a row is found, it comes once.
SELECT Body FROM jobs WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM held
  WHERE Was = 'in a minute') OR TimeNextVisible BETWEEN '2000' AND '9' AND Body = 'in a minute';
SELECT Body FROM jobs, (SELECT MessageId AS id, PopReceipt AS receipt FROM held WHERE Was = 'in a minute')
  WHERE MessageId = id AND PopReceipt = receipt OR MessageId = id AND PopReceipt = receipt AND Body <> '';
SELECT Body FROM jobs WHERE MessageKey IN (SELECT MessageKey FROM jobs WHERE Body = 'in a minute');
DELETE FROM jobs WHERE MessageKey IN (SELECT MessageKey FROM jobs WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM held WHERE Was = 'in a minute'));
DELETE FROM jobs WHERE MessageKey = (SELECT MessageKey FROM jobs LIMIT 1);
SELECT changes(), count(*) FROM jobs;

-- A queue is part of transactions, like any table: nobody sees what is not committed, and what is
-- rolled back has not happened.
BEGIN;
INSERT INTO jobs(Body) VALUES ('perhaps');
SAVEPOINT a;
INSERT INTO jobs(Body) VALUES ('never'), (NULL);
UPDATE jobs SET Body = 'certainly', VisibilityTimeout = 5 WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM jobs WHERE Body = 'perhaps');
SELECT Body FROM jobs WHERE Body IN ('perhaps', 'never', 'certainly') AND TimeNextVisible < '9';
ROLLBACK TO a;
SELECT Body FROM jobs WHERE Body IN ('perhaps', 'never', 'certainly') AND TimeNextVisible < '9';
ROLLBACK;
SELECT count(*) FROM jobs WHERE Body = 'perhaps';

-- Only the body and the two times are given.
INSERT INTO jobs(MessageId, Body) VALUES ('1', 'x');
INSERT INTO jobs(Body, PopReceipt) VALUES ('x', '1');
INSERT INTO jobs(Body, MessageKey) VALUES ('x', x'00');
INSERT INTO jobs(Body, Request) VALUES ('x', '1');
INSERT INTO jobs(VisibilityTimeout) VALUES (1);
INSERT INTO jobs(Body) VALUES (12);
INSERT INTO jobs(Body) VALUES (1.5);
INSERT INTO jobs(Body, VisibilityTimeout) VALUES ('x', -1), ('y', 1);
INSERT INTO jobs(Body, VisibilityTimeout) VALUES ('x', 'soon');
INSERT INTO jobs(Body, VisibilityTimeout) VALUES ('x', x'31');
INSERT INTO jobs(Body, TimeToLive) VALUES ('x', 0);
INSERT INTO jobs(Body, TimeToLive) VALUES ('x', -2);
INSERT INTO jobs(Body, TimeToLive) VALUES ('x', 1e-9);
CREATE TEMP VIEW mine AS SELECT * FROM held WHERE Was = 'as text';
UPDATE jobs SET DequeueCount = 1 WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
UPDATE jobs SET MessageId = '1' WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
UPDATE jobs SET ExpirationTime = NULL WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
UPDATE jobs SET TimeToLive = 1 WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
UPDATE jobs SET Request = 1 WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
UPDATE jobs SET MessageKey = x'00' WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
UPDATE jobs SET VisibilityTimeout = NULL WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
UPDATE jobs SET VisibilityTimeout = -1 WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
UPDATE jobs SET Body = NULL WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
SELECT Body, DequeueCount FROM mine JOIN jobs USING (MessageId, PopReceipt);

-- With limits='azure' a queue takes what the Queue service takes.
CREATE VIRTUAL TABLE azure USING pt_queue(store='contoso.ptable', limits=azure, table='my-queue');
INSERT INTO azure(Body) VALUES (zeroblob(65536));
INSERT INTO azure(Body) VALUES (zeroblob(65537));
INSERT INTO azure(Body, VisibilityTimeout, TimeToLive) VALUES ('x', 604800, -1), ('y', 0, 100);
SELECT (pt_ticks(ExpirationTime) - pt_ticks(InsertionTime)) / 10000000 FROM azure;
INSERT INTO azure(Body, VisibilityTimeout, TimeToLive) VALUES ('x', 604801, -1);
INSERT INTO azure(Body, VisibilityTimeout, TimeToLive) VALUES ('x', 604800, NULL);
INSERT INTO azure(Body, VisibilityTimeout, TimeToLive) VALUES ('x', 60, 60);
INSERT INTO azure(Body, VisibilityTimeout) VALUES ('x', 1.5);
INSERT INTO azure(Body, TimeToLive) VALUES ('x', 0.5);
CREATE VIRTUAL TABLE q USING pt_queue(store='contoso.ptable', limits=azure, table='My_Queue');
CREATE VIRTUAL TABLE q USING pt_queue(store='contoso.ptable', limits=azure, table='my--queue');
CREATE VIRTUAL TABLE q USING pt_queue(store='contoso.ptable', limits=azure, table='my-');
CREATE VIRTUAL TABLE q USING pt_queue(store='contoso.ptable', limits=azure);
CREATE VIRTUAL TABLE q USING pt_queue(store='contoso.ptable', limits=azure,
  table='a-name-of-60-characters-is-long-enough-for-a-queue-in-azure-');
CREATE VIRTUAL TABLE q USING pt_queue(store='contoso.ptable', limits=azure,
  table='a-name-of-60-characters-is-long-enough-for-a-queue-in-azure1');
CREATE VIRTUAL TABLE q USING pt_queue(store='contoso.ptable', limits=azure, max_dequeue_count=0,
  table='a-name-of-60-characters-is-long-enough-for-a-queue-in-azure1');
DROP TABLE q;

-- The options of a queue are those of a ptable, but for what means nothing there.
CREATE VIRTUAL TABLE q USING pt_queue(batch=azure);
CREATE VIRTUAL TABLE q USING pt_queue(scan=deny);
CREATE VIRTUAL TABLE q USING pt_queue(Body TEXT);
CREATE VIRTUAL TABLE q USING pt_queue(max_dequeue_count=-1);
CREATE VIRTUAL TABLE q USING pt_queue(max_dequeue_count=often);
CREATE VIRTUAL TABLE q USING pt_queue(store='contoso.ptable', table=jobs, readonly=1);
SELECT count(*) FROM q;
INSERT INTO q(Body) VALUES ('x');
DROP TABLE q;

-- A queue's table is a queue's, and a ptable's is a ptable's.
CREATE VIRTUAL TABLE entities USING ptable(store='contoso.ptable', table=jobs);
CREATE VIRTUAL TABLE entities USING ptable(store='contoso.ptable', table=jobs, readonly=1);
SELECT * FROM entities;
DROP TABLE entities;
CREATE VIRTUAL TABLE entities USING ptable(store='contoso.ptable');
CREATE VIRTUAL TABLE q USING pt_queue(store='contoso.ptable', table=Entities);

-- DROP TABLE only detaches a queue: its messages stay in the store. DELETE FROM pt_tables deletes
-- them.
ALTER TABLE jobs RENAME TO work;
DROP TABLE jobs;
CREATE VIRTUAL TABLE work USING pt_queue(store='contoso.ptable', table=JOBS, sync=off);
SELECT count(*) FROM work;
DELETE FROM pt_tables WHERE Store = 'contoso.ptable' AND TableName = 'jobs';
SELECT count(*) FROM work;
INSERT INTO work(Body) VALUES ('x');

-- Tables that look into stores see a queue's messages as the entities that they are.
CREATE VIRTUAL TABLE work2 USING pt_queue(store='contoso.ptable', sync=off);
INSERT INTO work2(Body, TimeToLive) VALUES ('a', 60), ('b', NULL), (x'00', NULL);
SELECT PartitionKey, Entities FROM pt_partitions('work2');
SELECT Name, Type, Entities FROM pt_properties('work2');

-- A database in memory has queues of its own.
CREATE VIRTUAL TABLE temp.mine_only USING pt_queue;
INSERT INTO mine_only(Body) VALUES ('x');
SELECT Body FROM mine_only;

-- In which order they come, SQLite sorts if it is not the queue's own.
CREATE VIRTUAL TABLE sorted USING pt_queue(store='contoso.ptable', sync=off);
INSERT INTO sorted(Body, VisibilityTimeout) VALUES ('b', 0), ('c', 60), ('a', 0);
SELECT group_concat(Body) FROM (SELECT Body FROM sorted ORDER BY TimeNextVisible, MessageId);
SELECT group_concat(Body) FROM (SELECT Body FROM sorted ORDER BY TimeNextVisible DESC, MessageId DESC);
SELECT group_concat(Body) FROM (SELECT Body FROM sorted ORDER BY TimeNextVisible, MessageId, Body);
SELECT count(*) FROM (SELECT Body FROM sorted ORDER BY TimeNextVisible, MessageId DESC);
EXPLAIN QUERY PLAN SELECT Body FROM sorted ORDER BY TimeNextVisible DESC, MessageId DESC;
EXPLAIN QUERY PLAN SELECT Body FROM sorted ORDER BY TimeNextVisible, MessageId, Body;
EXPLAIN QUERY PLAN SELECT Body FROM sorted ORDER BY TimeNextVisible, MessageId DESC;

-- What is no MessageKey finds nothing.
SELECT count(*) FROM sorted WHERE MessageKey = x'';
SELECT count(*) FROM sorted WHERE MessageKey = x'00';
SELECT count(*) FROM sorted WHERE MessageKey = zeroblob(100);
SELECT count(*) FROM sorted WHERE MessageKey = 'x';
