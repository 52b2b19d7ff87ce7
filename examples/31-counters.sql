-- Counters
-- Problem: page views, votes, the next invoice number: several processes add to one number. No
--   addition may be lost, and no number may be issued twice.
-- Solution: read the entity and its ETag, add 1, merge on condition of the ETag, and start again
--   after a 412. A sharded counter has several entities; the reader adds them up.
-- When: on the service. Here UPDATE ... SET N = N + 1 reads and writes in one step.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Counter USING ptable(N Int64);
BEGIN;
INSERT OR IGNORE INTO Counter VALUES ('home', 'views', 0);
UPDATE Counter SET N = N + 1 WHERE PartitionKey = 'home' AND RowKey = 'views';
SELECT N FROM Counter WHERE PartitionKey = 'home' AND RowKey = 'views';       -- the number is ours
COMMIT;

-- In detail, in a new database
--
-- Keys: Counter  PartitionKey what is counted: 'home', RowKey 'views', or the shard: 'a'
-- Costs: two requests an addition, more after a 412; reading a sharded counter is a partition scan.
-- Better in SQL: UPDATE ... SET N = N + 1 reads and writes under the store's lock. Writers wait for
--   each other, up to .timeout; nothing is repeated. sql/counters.sql keeps counts of
--   entities in step with them.
.shell rm -f build/counters.db* build/add-100.sql
.open build/counters.db
.load ./ptable
.timeout 60000
PRAGMA journal_mode = WAL;
.nullvalue NULL
CREATE VIRTUAL TABLE Counter USING ptable(N Int64);
INSERT INTO Counter VALUES ('home', 'views', 0);

.print
.print == The mistake
-- A and B read 0, each adds 1, each writes 1. One view is lost.
CREATE TEMP TABLE Client(Name, N, Tag);
CREATE TEMP VIEW Now AS SELECT N, ETag FROM Counter
  WHERE PartitionKey = 'home' AND RowKey = 'views';
INSERT INTO Client SELECT 'A', N, ETag FROM Now;
INSERT INTO Client SELECT 'B', N, ETag FROM Now;
UPDATE Counter SET N = (SELECT N + 1 FROM Client WHERE Name = 'A')
  WHERE PartitionKey = 'home' AND RowKey = 'views';
UPDATE Counter SET N = (SELECT N + 1 FROM Client WHERE Name = 'B')
  WHERE PartitionKey = 'home' AND RowKey = 'views';
SELECT N AS "N, one lost" FROM Counter;

.print
.print == The service's way: ETags
-- Each writes on condition that the ETag is still the one it has read.
-- B's write fails with 412.
DELETE FROM Client;
INSERT INTO Client SELECT 'A', N, ETag FROM Now;
INSERT INTO Client SELECT 'B', N, ETag FROM Now;
INSERT INTO Counter(PartitionKey, RowKey, N, WriteMode, IfMatch)
  SELECT 'home', 'views', N + 1, 'merge', Tag FROM Client WHERE Name = 'A';
INSERT INTO Counter(PartitionKey, RowKey, N, WriteMode, IfMatch)
  SELECT 'home', 'views', N + 1, 'merge', Tag FROM Client WHERE Name = 'B';
-- The same quietly: no row has that ETag any more, as changes() shows.
UPDATE Counter SET N = (SELECT N + 1 FROM Client WHERE Name = 'B')
  WHERE PartitionKey = 'home' AND RowKey = 'views'
    AND ETag = (SELECT Tag FROM Client WHERE Name = 'B');
SELECT changes();
-- So B reads again and writes again.
UPDATE Client SET (N, Tag) = (SELECT N, ETag FROM Now) WHERE Name = 'B';
INSERT INTO Counter(PartitionKey, RowKey, N, WriteMode, IfMatch)
  SELECT 'home', 'views', N + 1, 'merge', Tag FROM Client WHERE Name = 'B';
SELECT N AS "N, none lost" FROM Counter;

.print
.print == SQL's way: one statement
-- It sees the newest N, and no one can write in between.
.eqp on
UPDATE Counter SET N = N + 1 WHERE PartitionKey = 'home' AND RowKey = 'views';
.eqp off
-- Two processes at once, each a hundred times: 4 + 200.
SELECT writefile('build/add-100.sql', replace(hex(zeroblob(100)), '00',
  'UPDATE Counter SET N = N + 1 WHERE PartitionKey = ''home'' AND RowKey = ''views'';')) AS bytes;
.shell for p in 1 2; do sqlite3 -cmd ".load ./ptable" -cmd ".timeout 60000" build/counters.db < build/add-100.sql & done; wait
SELECT N FROM Counter;

.print
.print == The next number, in a transaction
-- In a transaction write first, then read: the number is yours, such as the next invoice number.
BEGIN;
UPDATE Counter SET N = N + 1 WHERE PartitionKey = 'home' AND RowKey = 'views';
SELECT N AS "my number" FROM Counter WHERE PartitionKey = 'home' AND RowKey = 'views';
COMMIT;
-- If you read first, another process may add meanwhile. Then this transaction can no longer write,
-- because it would lose an addition. ROLLBACK and start again.
BEGIN;
SELECT N FROM Counter WHERE PartitionKey = 'home' AND RowKey = 'views';
.shell sqlite3 -cmd ".load ./ptable" build/counters.db "UPDATE Counter SET N = N + 1"
UPDATE Counter SET N = 206 WHERE PartitionKey = 'home' AND RowKey = 'views';
ROLLBACK;
-- DELETE ... WHERE 0 takes the lock before the SELECT. The other process must wait, here for no
-- time at all, and is refused.
BEGIN;
DELETE FROM Counter WHERE 0;
SELECT N FROM Counter WHERE PartitionKey = 'home' AND RowKey = 'views';
.shell sqlite3 -cmd ".load ./ptable" build/counters.db "UPDATE Counter SET N = N + 1"
UPDATE Counter SET N = 207 WHERE PartitionKey = 'home' AND RowKey = 'views';
COMMIT;
SELECT N FROM Counter;

.print
.print == A counter that is not there yet
-- A counter that does not exist yet: UPDATE finds nothing and reports nothing.
UPDATE Counter SET N = N + 1 WHERE PartitionKey = 'about' AND RowKey = 'views';
SELECT changes();
-- Insert Or Merge with the present value, or 0. It keeps other properties; OR REPLACE would not.
INSERT INTO Counter(PartitionKey, RowKey, N, WriteMode) SELECT 'about', 'views', 1 + coalesce(
  (SELECT N FROM Counter WHERE PartitionKey = 'about' AND RowKey = 'views'), 0), 'merge';
INSERT INTO Counter(PartitionKey, RowKey, N, WriteMode) SELECT 'about', 'views', 1 + coalesce(
  (SELECT N FROM Counter WHERE PartitionKey = 'about' AND RowKey = 'views'), 0), 'merge';
SELECT PartitionKey, N FROM Counter WHERE PartitionKey = 'about';
-- An entity without the property: NULL + 1 is NULL, so it stays absent. Use coalesce again.
INSERT INTO Counter(PartitionKey, RowKey) VALUES ('help', 'views');
UPDATE Counter SET N = N + 1 WHERE PartitionKey = 'help';
SELECT N FROM Counter WHERE PartitionKey = 'help';
UPDATE Counter SET N = coalesce(N, 0) + 1 WHERE PartitionKey = 'help';
SELECT N FROM Counter WHERE PartitionKey = 'help';
.print
.print == Where a counter ends
-- An Int32 ends at 2,147,483,647, with an error, not with a wrong number. Use Int64.
CREATE VIRTUAL TABLE Small USING ptable(N Int32);
INSERT INTO Small VALUES ('home', 'views', 2147483647);
UPDATE Small SET N = N + 1;

.print
.print == A counter in several entities
-- The sharded counter: four entities, and a writer adds to one, chosen by its own name or at
-- random. Two processes, two shards, each a hundred times.
INSERT INTO Counter SELECT 'votes', value, 0 FROM json_each('["a", "b", "c", "d"]');
SELECT writefile('build/add-100.sql', replace(hex(zeroblob(100)), '00',
  'UPDATE Counter SET N = N + 1 WHERE PartitionKey = ''votes'' AND RowKey = @shard;')) AS bytes;
.shell for p in a c; do sqlite3 -cmd ".load ./ptable" -cmd ".timeout 60000" -cmd ".parameter set @shard $p" build/counters.db < build/add-100.sql & done; wait
SELECT RowKey AS shard, N FROM Counter WHERE PartitionKey = 'votes';
.eqp on
SELECT sum(N) AS votes FROM Counter WHERE PartitionKey = 'votes';
.eqp off
-- On the service shards reduce the 412s and, in partitions of their own, share the load, which is
-- limited to 2,000 requests a second in one partition. A store has one writer at a time whichever
-- entity it writes, so here shards gain nothing over N + 1.

.open :memory:
.shell rm -f build/counters.db* build/add-100.sql
