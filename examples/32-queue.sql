-- The queue
-- Problem: work must be done later, or by other processes, each piece once, and nothing forgotten.
-- Solution: messages in a queue. A worker that gets a message has it alone for some time, and
--   deletes it when done. If the worker dies, the message comes again; after too many times it is
--   put aside.
-- When: producer and worker are different processes, or work must survive a crash.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Mail USING pt_queue();
INSERT INTO Mail(Body) VALUES ('to ann'), ('to bob');
CREATE TEMP TABLE Held AS SELECT * FROM pt_queue_get('Mail', 1, 60);    -- ours for 60 seconds
SELECT Body, DequeueCount FROM Held;
DELETE FROM Mail WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Held);
SELECT Body FROM Mail;

-- In detail, in a new database
--
-- Keys: none to choose. Messages come in the order in which they were inserted.
-- Costs: getting and deleting are two commits a message, or fewer for several at once.
-- Better in SQL: messages are rows that can be counted, joined and read; they commit and roll back
--   with the tables of their store.
.open :memory:
.load ./ptable
.nullvalue NULL

-- With a limit of two instead of the usual five.
CREATE VIRTUAL TABLE Mail USING pt_queue(max_dequeue_count=2);

.print
.print == Enqueue: text or binary; later; for a limited time
INSERT INTO Mail(Body) VALUES ('to ann'), ('to bob'), (x'00FF');
INSERT INTO Mail(Body, VisibilityTimeout) VALUES ('tomorrow', 86400);
INSERT INTO Mail(Body, TimeToLive) VALUES ('no use later', 3600);

.print
.print == Peek: a SELECT changes nothing
SELECT row_number() OVER () AS place, typeof(Body) AS type, quote(Body) AS body, DequeueCount,
       TimeNextVisible > pt_datetime() AS hidden, ExpirationTime IS NOT NULL AS expires
  FROM Mail;
-- Only those that could be handed out now; a range of TimeNextVisible.
SELECT count(*) AS visible FROM Mail WHERE TimeNextVisible <= pt_datetime();
-- How many there are altogether, without reading them.
SELECT Entities AS messages FROM pt_tables WHERE TableName = 'Mail';

.print
.print == Get: two messages for a minute
CREATE TEMP TABLE Held AS SELECT * FROM pt_queue_get('Mail', 2, 60);
SELECT Body, DequeueCount FROM Held;
-- The next worker gets the next ones.
SELECT quote(Body) AS body FROM pt_queue_get('Mail', 1, 60);

.print
.print == Done: deleting a message needs its PopReceipt
DELETE FROM Mail WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM Held WHERE Body = 'to ann');
SELECT changes();
DELETE FROM Held WHERE Body = 'to ann';
-- Without the receipt no one can.
DELETE FROM Mail WHERE Body = 'to bob';

.print
.print == More time, and a note of what was done so far
CREATE TEMP TABLE Renewed AS
  SELECT renewed.* FROM Held,
         pt_queue_update('Mail', Held.MessageId, Held.PopReceipt, 120, 'to bob, half done') AS renewed
   WHERE Held.Body = 'to bob';
SELECT Body, DequeueCount FROM Renewed;
-- The receipt is new. A worker that has only the old one has lost the message, and gets an error
-- instead of deleting a message that another worker holds.
DELETE FROM Mail WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Held);

.print
.print == Given back: visible again at once, by a plain UPDATE
UPDATE Mail SET VisibilityTimeout = 0
 WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Renewed);
SELECT Body, DequeueCount FROM Mail WHERE TimeNextVisible <= pt_datetime();

.print
.print == Taken back: a get that is rolled back has not happened
BEGIN;
SELECT Body, DequeueCount FROM pt_queue_get('Mail', 10, 60);
ROLLBACK;
SELECT Body, DequeueCount FROM Mail WHERE TimeNextVisible <= pt_datetime();

.print
.print == Poison: a message handed out twice and not deleted is put aside
-- A hundred nanoseconds pass before the next statement, so here the messages come back at once.
SELECT Body, DequeueCount FROM pt_queue_get('Mail', 10, 1e-7);
SELECT Body, DequeueCount FROM pt_queue_get('Mail', 10, 1e-7);
SELECT count(*) FROM pt_queue_get('Mail', 10, 60);
CREATE VIRTUAL TABLE "Mail-poison" USING pt_queue();
SELECT Body, DequeueCount FROM "Mail-poison";

.print
.print == What is refused, and loses nothing
INSERT INTO Mail(Body) VALUES (NULL);
INSERT INTO Mail(Body) VALUES (42);
INSERT INTO Mail(Body, VisibilityTimeout) VALUES ('x', -1);
INSERT INTO Mail(Body, TimeToLive) VALUES ('x', 0);
SELECT * FROM pt_queue_get('Mail', 0);
SELECT * FROM pt_queue_get('Mail', 1, -5);
SELECT * FROM pt_queue_get('Post');
-- The service's own limits.
CREATE VIRTUAL TABLE limited USING pt_queue(limits=azure);
INSERT INTO limited(Body) VALUES (zeroblob(65537));
SELECT * FROM pt_queue_get('limited', 33);
SELECT TableName, Entities AS messages FROM pt_tables;
