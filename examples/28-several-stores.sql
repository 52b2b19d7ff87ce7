-- One timeline in several stores
-- Problem: timelines have grown beyond one storage account, or beyond one disk. Their events are
--   spread over two stores, and you still want one timeline, newest event first, in pages.
-- Solution: sharding over accounts. A hash of the event id says which store an event is in.
-- When: one disk or one writer is not enough.
.load ./ptable
.mode box

.print == The pattern
.shell rm -f build/one.ptable* build/two.ptable*
CREATE VIRTUAL TABLE East USING ptable(Title String, store='build/one.ptable', table=Timeline);
CREATE VIRTUAL TABLE West USING ptable(Title String, store='build/two.ptable', table=Timeline);
INSERT INTO East VALUES ('liveid1', '20261121T0836_jonesj', 'Hello');
INSERT INTO West VALUES ('liveid1', '20261121T0840_kenk', 'Hi');
CREATE VIEW Timeline AS SELECT * FROM East UNION ALL SELECT * FROM West;
SELECT RowKey, Title FROM Timeline WHERE PartitionKey = 'liveid1' ORDER BY RowKey DESC LIMIT 5;

-- In detail, in a new database
--
-- Keys: East, West  PartitionKey the timeline: 'liveid1', RowKey the event's id, which begins with
--         its time: '20261121T0836_jonesj'
-- Costs: a page costs one seek in each store. With the service the client asks both accounts and
--   merges the answers itself; one account holds 500 TiB, one partition 2,000 entities a second.
-- Better in SQL: a view with UNION ALL merges the stores in key order and stops at LIMIT. Newest
--   first is ORDER BY ... DESC, no inverted times. One transaction writes both stores: see the end
--   for what it promises.
.shell rm -f build/timeline.db* build/east.ptable* build/west.ptable*
.open build/timeline.db
.load ./ptable
PRAGMA journal_mode = WAL;
CREATE VIRTUAL TABLE East USING ptable(Title String, store=east.ptable, table=Timeline);
CREATE VIRTUAL TABLE West USING ptable(Title String, store=west.ptable, table=Timeline);
CREATE VIEW Timeline AS
  SELECT 'east' AS Shard, PartitionKey, RowKey, Title, EntityKey FROM East UNION ALL
  SELECT 'west', PartitionKey, RowKey, Title, EntityKey FROM West;

.print
.print == An INSERT goes to the store of the event
-- An INSERT into the view goes to the store of the event: only one place knows the rule. Every
-- program that writes must use the same rule; pt_hash_bucket is XXH64, which other languages have,
-- too.
CREATE TRIGGER "Timeline insert" INSTEAD OF INSERT ON Timeline BEGIN
  INSERT INTO East(PartitionKey, RowKey, Title)
    SELECT new.PartitionKey, new.RowKey, new.Title WHERE pt_hash_bucket(new.RowKey, 2) = 0;
  INSERT INTO West(PartitionKey, RowKey, Title)
    SELECT new.PartitionKey, new.RowKey, new.Title WHERE pt_hash_bucket(new.RowKey, 2) = 1;
END;
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 12)
INSERT INTO Timeline(PartitionKey, RowKey, Title)
  SELECT timeline.value, '20261121T' || pt_pad(800 + 3 * n, 4) || '_' ||
    json_extract('["ann","donh","jonesj","kenk","liz"]', '$[' || (n % 5) || ']'), 'Event ' || n
  FROM number, json_each('["liveid1", "liveid2"]') AS timeline;
SELECT Shard, count(*) AS events FROM Timeline GROUP BY Shard;

.print
.print == The newest events, page by page
-- The newest five events of a timeline. The plan merges two scans that are already in order:
-- nothing is sorted, and each store returns no more than LIMIT asks for.
.eqp on
SELECT Shard, RowKey, Title FROM Timeline
  WHERE PartitionKey = 'liveid1' ORDER BY RowKey DESC LIMIT 5;
.eqp off
-- The next page: older than the last one seen. The token is a key and knows nothing of stores.
SELECT Shard, RowKey, Title FROM Timeline
  WHERE PartitionKey = 'liveid1' AND RowKey < '20261121T0824_kenk' ORDER BY RowKey DESC LIMIT 5;
-- The last page is short.
SELECT Shard, RowKey, Title FROM Timeline
  WHERE PartitionKey = 'liveid1' AND RowKey < '20261121T0809_kenk' ORDER BY RowKey DESC LIMIT 5;

.print
.print == Pages over all timelines
-- Pages over all timelines use EntityKey. Select it, too: SQLite can merge a UNION only by columns
-- that it returns; without it SQLite reads both stores completely and sorts.
EXPLAIN QUERY PLAN SELECT PartitionKey, RowKey, EntityKey FROM Timeline
  WHERE EntityKey > pt_entity_key('liveid1', '20261121T0830') ORDER BY EntityKey LIMIT 4;
EXPLAIN QUERY PLAN SELECT PartitionKey, RowKey FROM Timeline
  WHERE EntityKey > pt_entity_key('liveid1', '20261121T0830') ORDER BY EntityKey LIMIT 4;
SELECT PartitionKey, RowKey, hex(EntityKey) AS token FROM (
  SELECT PartitionKey, RowKey, EntityKey FROM Timeline
  WHERE EntityKey > pt_entity_key('liveid1', '20261121T0830') ORDER BY EntityKey LIMIT 4);

.print
.print == How many entities each store has
-- How many entities each store has: the stores count, and no entity is read.
SELECT substr(Store, -11) AS store, TableName, Entities FROM pt_tables
  WHERE Store IN ('east.ptable', 'west.ptable');

.print
.print == One transaction writes both stores
-- A new follower, liveid3, gets two old events. After an error with OR ROLLBACK nothing of it is in
-- either store.
BEGIN;
INSERT OR ROLLBACK INTO Timeline(PartitionKey, RowKey, Title)
  VALUES ('liveid3', '20261121T0803_donh', 'Event 1'),
         ('liveid3', '20261121T0806_jonesj', 'Event 2');
COMMIT;
BEGIN;
INSERT OR ROLLBACK INTO East VALUES ('liveid3', '20261121T0824_kenk', 'Event 8');
INSERT OR ROLLBACK INTO West VALUES ('liveid3', '20261121T0803_donh', 'again');    -- exists: 409
COMMIT;
SELECT Shard, RowKey, Title FROM Timeline WHERE PartitionKey = 'liveid3' ORDER BY RowKey;

-- The service has no such transaction: an entity group is one partition of one table.
CREATE VIRTUAL TABLE "East group" USING ptable(
  Title String, store=east.ptable, table=Timeline, batch=azure);
BEGIN;
INSERT OR ROLLBACK INTO "East group" VALUES ('liveid4', '20261121T0824_kenk', 'Event 8');
INSERT OR ROLLBACK INTO West VALUES ('liveid4', '20261121T0803_donh', 'Event 1');
COMMIT;

.print
.print == Not promised: one moment for both
-- A transaction sees each store as it was when it first read that store. In between another process
-- writes both in a transaction of its own, and the reader sees the half in the store that it had
-- not yet read.
BEGIN;
SELECT count(*) AS "east" FROM East;
.shell sqlite3 build/timeline.db ".load ./ptable" "BEGIN" "INSERT INTO East VALUES ('liveid5', '20261121T0824_kenk', 'Event 8')" "INSERT INTO West VALUES ('liveid5', '20261121T0803_donh', 'Event 1')" "COMMIT"
SELECT count(*) AS "west, one more" FROM West;
SELECT count(*) AS "east, as before" FROM East;
COMMIT;
SELECT Shard, RowKey FROM Timeline WHERE PartitionKey = 'liveid5' ORDER BY RowKey;

.print
.print == Not promised: both or nothing after a crash
-- COMMIT writes one store after the other, in an order that you cannot rely on. So if one half
-- alone would be a loss, do not use one transaction. An event moves from East to West in two, the
-- copy first:
INSERT OR IGNORE INTO West(PartitionKey, RowKey, Properties)
  SELECT PartitionKey, RowKey, Properties FROM East WHERE RowKey = '20261121T0824_kenk';
-- A crash here leaves the event twice, never zero times. UNION instead of UNION ALL shows equal
-- rows once, and is merged in the same way.
SELECT Shard, RowKey FROM Timeline WHERE PartitionKey = 'liveid1' AND RowKey >= '20261121T0824'
  ORDER BY RowKey LIMIT 3;
.eqp on
SELECT PartitionKey, RowKey, Title FROM East
  WHERE PartitionKey = 'liveid1' AND RowKey >= '20261121T0824'
UNION
SELECT PartitionKey, RowKey, Title FROM West
  WHERE PartitionKey = 'liveid1' AND RowKey >= '20261121T0824'
ORDER BY PartitionKey, RowKey LIMIT 3;
.eqp off
-- The second step deletes from East only what is in West. Both steps can be run again at any time.
DELETE FROM East WHERE RowKey = '20261121T0824_kenk'
  AND EXISTS (SELECT 1 FROM West WHERE West.EntityKey = East.EntityKey);
-- (The rule for new events must name West before that, or an INSERT puts one back into East.)
SELECT Shard, count(*) AS "events with this id" FROM Timeline
  WHERE RowKey = '20261121T0824_kenk' GROUP BY Shard;

.open :memory:
.shell rm -f build/timeline.db* build/east.ptable* build/west.ptable*
