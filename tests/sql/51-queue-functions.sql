-- Working off a queue: pt_queue_get hands out messages, pt_queue_update keeps or gives back one.
.load ./ptable
.mode box
CREATE VIRTUAL TABLE jobs USING pt_queue(max_dequeue_count=3);
INSERT INTO jobs(Body) VALUES ('clean'), ('cook'), ('shop'), ('wash');

-- Handed out, a message is hidden from others for 30 seconds, or as many as are asked for. It has
-- been handed out once more, and a new PopReceipt says who holds it.
SELECT Body, DequeueCount FROM pt_queue_get('jobs');
SELECT Body, DequeueCount FROM pt_queue_get('jobs', 2, 3600);
SELECT Body, DequeueCount, TimeNextVisible <= pt_datetime() AS visible FROM jobs;
SELECT PopReceipt = (SELECT PopReceipt FROM jobs WHERE Body = 'wash') AS same,
    TimeNextVisible > pt_datetime() AS hidden, InsertionTime < TimeNextVisible AS later,
    ExpirationTime, length(MessageId) FROM pt_queue_get('jobs');
SELECT count(*) AS "none is left" FROM pt_queue_get('jobs');

-- A worker keeps what it holds in a table of its own. Done, it deletes the message.
DELETE FROM pt_tables WHERE TableName = 'jobs';
DROP TABLE jobs;
CREATE VIRTUAL TABLE jobs USING pt_queue(max_dequeue_count=3);
INSERT INTO jobs(Body) VALUES ('clean'), ('cook'), ('shop');
CREATE TEMP TABLE mine AS SELECT * FROM pt_queue_get('jobs', 1, 60);
DELETE FROM jobs WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM mine);
SELECT Body FROM jobs;

-- What takes longer is kept for longer, with a note of how far it came; the new PopReceipt is what
-- is held from now on.
DELETE FROM mine;
INSERT INTO mine SELECT * FROM pt_queue_get('jobs');
UPDATE mine SET (PopReceipt, Body) = (SELECT u.PopReceipt, u.Body
  FROM pt_queue_update('jobs', mine.MessageId, mine.PopReceipt, 600, 'cook, half done') AS u);
SELECT j.Body, j.DequeueCount, j.PopReceipt = mine.PopReceipt AS mine, mine.Body
  FROM mine JOIN jobs AS j USING (MessageId);

-- In 0 seconds it is for the next one.
SELECT u.Body FROM mine, pt_queue_update('jobs', mine.MessageId, mine.PopReceipt, 0) AS u;
SELECT Body, DequeueCount FROM pt_queue_get('jobs', 3) ORDER BY DequeueCount;
.mode list

-- Consumed at once: what is handed out is deleted in the same statement. Or it is moved to a table
-- that has nothing to do with the queue, and what was moved is deleted.
INSERT INTO jobs(Body) VALUES ('iron'), ('fold'), ('sew');
DELETE FROM jobs WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM pt_queue_get('jobs'));
BEGIN;
CREATE TEMP TABLE work AS SELECT MessageId, PopReceipt, Body FROM pt_queue_get('jobs', 10);
DELETE FROM jobs WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM work);
COMMIT;
SELECT Body FROM work;

-- A hand-out is part of the transaction: after ROLLBACK the messages are there as before.
INSERT INTO jobs(Body) VALUES ('iron'), ('fold');
BEGIN;
SELECT Body FROM pt_queue_get('jobs', 10);
SELECT Body FROM pt_queue_get('jobs', 10);
ROLLBACK;
SELECT Body, DequeueCount FROM jobs WHERE DequeueCount = 0;

-- A statement that fails gives them back.
CREATE TABLE done(Body TEXT UNIQUE);
INSERT INTO done VALUES ('fold');
INSERT INTO done SELECT Body FROM pt_queue_get('jobs', 10);
SELECT Body, DequeueCount FROM jobs WHERE DequeueCount = 0;

-- The outbox: the order and the message that it is to be sent are there, or neither.
CREATE TABLE orders(id INTEGER PRIMARY KEY, what TEXT NOT NULL);
CREATE VIRTUAL TABLE outbox USING pt_queue();
BEGIN;
INSERT INTO orders VALUES (1, 'chair');
INSERT INTO outbox(Body) SELECT 'send order ' || max(id) FROM orders;
COMMIT;
BEGIN;
INSERT INTO orders VALUES (2, 'table');
INSERT INTO outbox(Body) SELECT 'send order ' || max(id) FROM orders;
ROLLBACK;
SELECT Body FROM outbox;
-- And the other way round: what the message asked for is done and the message is gone, or neither.
CREATE TABLE sent(id INTEGER PRIMARY KEY);
BEGIN;
CREATE TEMP TABLE held AS SELECT * FROM pt_queue_get('outbox');
INSERT INTO sent SELECT substr(Body, 12) FROM held;
DELETE FROM outbox WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM held);
COMMIT;
SELECT id FROM sent;
SELECT count(*) FROM outbox;

-- A function that stands once hands out once, however often SQLite reads it; one that stands twice
-- hands out twice.
INSERT INTO outbox(Body) VALUES ('a'), ('b'), ('c'), ('d');
SELECT who.value, Body FROM json_each('["Ann","Bob"]') AS who, pt_queue_get('outbox');
SELECT a.Body, b.Body FROM pt_queue_get('outbox') AS a, pt_queue_get('outbox') AS b;
-- Other arguments are another hand-out: one message from each queue.
INSERT INTO jobs(Body) VALUES ('sweep');
SELECT q.value, Body FROM json_each('["outbox","main.jobs"]') AS q, pt_queue_get(q.value) AS m
  WHERE Body IN ('d', 'iron');

-- What has been handed out as often as max_dequeue_count allows is poison: it is put aside.
INSERT INTO jobs(Body) VALUES ('crash');
DELETE FROM jobs WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM pt_queue_get('jobs', 100));
INSERT INTO jobs(Body) VALUES ('crash');
SELECT Body, DequeueCount FROM pt_queue_get('jobs', 1, 0.0000001);
SELECT Body, DequeueCount FROM pt_queue_get('jobs', 1, 0.0000001);
SELECT Body, DequeueCount FROM pt_queue_get('jobs', 1, 0.0000001);
SELECT Body, DequeueCount FROM pt_queue_get('jobs', 1, 0.0000001);
CREATE VIRTUAL TABLE poison USING pt_queue(table='jobs-poison');
SELECT Body, DequeueCount, ExpirationTime IS NULL FROM poison;

-- Errors
SELECT * FROM pt_queue_get('nothing');
SELECT * FROM pt_queue_get('orders');
SELECT * FROM pt_queue_get(NULL);
SELECT * FROM pt_queue_update(NULL, 'x', 'y', 1);
SELECT * FROM pt_queue_get;
SELECT * FROM pt_queue_get('jobs', 0);
SELECT * FROM pt_queue_get('jobs', 'all');
SELECT * FROM pt_queue_get('jobs', 1, 0);
SELECT * FROM pt_queue_get('jobs', 1, NULL);
SELECT * FROM pt_queue_update('jobs', 'id', 'receipt');
-- Who does not hold a message, or not any more, cannot change it.
SELECT * FROM pt_queue_update('jobs', 'id', 'receipt', 60);
CREATE VIEW next_job AS SELECT * FROM pt_queue_get('jobs');
SELECT * FROM next_job;
PRAGMA query_only = 1;
SELECT * FROM pt_queue_get('jobs');

PRAGMA query_only = 0;
-- A table that has a column Request is no queue for that.
CREATE VIRTUAL TABLE requests USING ptable(Request);
SELECT count(*) FROM pt_queue_get('requests');
SELECT count(*) FROM requests;

-- Arguments are equal to something; other comparisons are asked of the rows.
SELECT count(*) FROM pt_queue_get('jobs') WHERE argument2 > 0;
SELECT count(*) FROM pt_queue_get WHERE argument1 IS 'nobody''s';
SELECT count(*) FROM pt_queue_get WHERE argument1 > 'jobs';
