-- Queues in a database whose text is UTF-16.
PRAGMA encoding = 'UTF-16le';
.load ./ptable
CREATE VIRTUAL TABLE jobs USING pt_queue;
INSERT INTO jobs(Body) VALUES ('eins'), ('zwei é😀');
INSERT INTO jobs(Body, VisibilityTimeout) VALUES ('drei', '60');
SELECT Body, length(Body) FROM jobs WHERE TimeNextVisible <= pt_datetime() ORDER BY TimeNextVisible DESC;

-- Text that is not a time comes after all times, in this encoding too.
SELECT Body FROM jobs WHERE TimeNextVisible < 'é' AND TimeNextVisible >= '2000';
SELECT count(*) FROM jobs WHERE TimeNextVisible < 'Ā';

CREATE TABLE held AS SELECT MessageId, PopReceipt, Body AS Was FROM jobs;
SELECT Body FROM held JOIN jobs USING (MessageId, PopReceipt);
UPDATE jobs SET Body = 'neu', VisibilityTimeout = '0' WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM held WHERE Was = 'drei');
DELETE FROM jobs WHERE (MessageId, PopReceipt) IN
  (SELECT MessageId, PopReceipt FROM held WHERE Was <> 'drei');
SELECT Body FROM jobs;
DELETE FROM jobs WHERE MessageId = 'é' AND PopReceipt = '日';
