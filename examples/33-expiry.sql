-- Sessions, caches and locks
-- Problem: a session ends after half an hour without a request, a cached answer is good for a minute,
--   a lock is given up if its holder dies. Somebody has to leave out what is over, and to delete it.
-- Solution: a time in each entity, and expires= with its name. From that time on the entity is not
--   there for any statement. pt_purge deletes what has expired, when it suits.
-- When: not on the service, which has no such thing: there every query needs the condition.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Session USING ptable(User String, Due DateTime, expires=Due);
INSERT INTO Session VALUES ('web', 's1', 'Ann', datetime('now', '+30 minutes')),
                           ('web', 's2', 'Ben', datetime('now', '-1 second'));
SELECT RowKey, User FROM Session;
SELECT pt_purge('Session') AS purged;

-- In detail, in a new database
--
-- Keys: Session  PartitionKey the site, RowKey the session's id; an index by User is kept as well
--       Cache    PartitionKey the kind of answer, RowKey the question
--       Lock     PartitionKey 'lock', RowKey what is locked
-- Costs: an entry in the index on Due for each write; a query reads the time of each entity it meets.
-- Better in SQL: the lock is taken and the session renewed in one statement, with nothing read before.
.open :memory:
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE Session USING ptable(User String, Due DateTime, index(User), expires=Due);
CREATE VIRTUAL TABLE Cache USING ptable(Answer String, Due DateTime, expires=Due);
CREATE VIRTUAL TABLE Lock USING ptable(Holder String, Due DateTime, expires=Due);
CREATE TEMP VIEW Stored AS SELECT TableName, Entities, Expires FROM pt_tables;

.print
.print == A session is renewed with each request, if it is still there
INSERT INTO Session VALUES ('web', 's1', 'Ann', datetime('now', '+30 minutes')),
                           ('web', 's2', 'Ben', datetime('now', '-1 second')),
                           ('web', 's3', 'Ann', NULL); -- stays signed in
UPDATE Session SET Due = datetime('now', '+30 minutes') WHERE PartitionKey = 'web' AND RowKey = 's1';
SELECT changes() AS "s1 renewed";
UPDATE Session SET Due = datetime('now', '+30 minutes') WHERE PartitionKey = 'web' AND RowKey = 's2';
SELECT changes() AS "s2 renewed";
SELECT RowKey FROM Session WHERE User = 'Ann' ORDER BY RowKey;
SELECT count(*) FROM Session;
-- A session ends at once.
DELETE FROM Session WHERE PartitionKey = 'web' AND RowKey = 's1';

.print
.print == A cache: what has expired is computed anew
INSERT INTO Cache VALUES ('capital', 'France', 'Paris', datetime('now', '+1 minute')),
                         ('capital', 'Kazakhstan', 'Astana', datetime('now', '-1 minute'));
SELECT Answer FROM Cache WHERE PartitionKey = 'capital' AND RowKey = 'Kazakhstan';
-- A plain INSERT takes the place of what has expired, and of nothing else.
INSERT INTO Cache VALUES ('capital', 'Kazakhstan', 'Astana', datetime('now', '+1 minute'));
INSERT INTO Cache VALUES ('capital', 'France', 'Paris', datetime('now', '+1 minute'));
-- What was just computed may replace what another program has stored meanwhile.
INSERT OR REPLACE INTO Cache VALUES ('capital', 'France', 'Paris', datetime('now', '+1 minute'));
SELECT RowKey, Answer FROM Cache WHERE PartitionKey = 'capital';

.print
.print == A lock is taken by INSERT: free, or given up by a holder that died
INSERT INTO Lock VALUES ('lock', 'report', 'A', datetime('now', '+1 minute'));
INSERT INTO Lock VALUES ('lock', 'report', 'B', datetime('now', '+1 minute'));
-- A dies, and a minute passes.
UPDATE Lock SET Due = datetime('now', '-1 second') WHERE Holder = 'A';
INSERT INTO Lock VALUES ('lock', 'report', 'B', datetime('now', '+1 minute'));
SELECT Holder FROM Lock;
-- If A was only slow, it finds that the lock is not its own any more.
UPDATE Lock SET Due = datetime('now', '+1 minute') WHERE PartitionKey = 'lock' AND RowKey = 'report' AND Holder = 'A';
SELECT changes() AS "A goes on";

.print
.print == Deleting what has expired, a few at a time
INSERT INTO Session SELECT 'web', 'old' || value, 'Cho', datetime('now', '-1 day', '+' || value || ' seconds')
  FROM generate_series(1, 250);
SELECT * FROM Stored;
SELECT pt_purge('Session', 100) AS purged;
SELECT pt_purge('Session', 100) AS purged;
SELECT pt_purge('Session', 100) AS "purged, less than 100: all";
SELECT * FROM Stored;

.print
.print == The mistake: a column without a type stores the time as a text, which never expires
CREATE VIRTUAL TABLE Loose USING ptable(User, Due, table=Session);
INSERT INTO Loose VALUES ('web', 's9', 'Dan', datetime('now', '-1 hour'));
SELECT RowKey, Due IS NOT NULL AS due FROM Session WHERE User = 'Dan';

.print
.print == Off, and on for a table that is there
UPDATE pt_tables SET Expires = NULL WHERE TableName = 'Cache';
UPDATE pt_tables SET Expires = 'Due' WHERE TableName = 'Cache';
SELECT * FROM Stored WHERE TableName = 'Cache';
