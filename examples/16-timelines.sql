-- Timelines
-- Problem: all users see the events of those they follow. Timelines are read far more often than
--   anyone posts, so reading must be cheap.
-- Solution: fan-out. An event is copied into the timeline of every follower when it happens.
-- When: reads outnumber posts, and nobody has millions of followers.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Followers USING ptable();
CREATE VIRTUAL TABLE Timeline USING ptable(Event String);
INSERT INTO Followers(PartitionKey, RowKey) VALUES ('jones', 'hall'), ('jones', 'kwok');
INSERT INTO Timeline                            -- jones posts: one statement, all timelines
  SELECT RowKey, '2026-11-21T08:00:00Z_jones_1', 'Hello' FROM Followers
  WHERE PartitionKey = 'jones';
SELECT RowKey, Event FROM Timeline WHERE PartitionKey = 'kwok' ORDER BY RowKey DESC LIMIT 10;

-- In detail, in a new database
--
-- Keys: Timeline          PartitionKey the timeline's id: 'liveid{kwok}'
--                         RowKey the event's id, a time first; the same in all timelines
--       SubjectFollowers  PartitionKey the user who is followed, RowKey the follower
--       FollowerSubjects  the same pairs the other way round
-- Costs: an entity for each follower and event. Reading a page is one range query.
-- Better in SQL: fan-out is one INSERT ... SELECT over all partitions. ORDER BY ... DESC reads the
--   newest first, so event ids need no inverted time. Removing an event everywhere costs one seek
--   in each partition and no scan.
.open :memory:
.load ./ptable
.mode box --wrap 0

CREATE VIRTUAL TABLE SubjectFollowers USING ptable();
CREATE VIRTUAL TABLE FollowerSubjects USING ptable();
CREATE VIRTUAL TABLE Timeline USING ptable(Subject String, Event String);

.print
.print == Followers in both directions
-- Jun's followers are a partition. The users whom Ken follows are spread over all partitions, so
-- the pairs are stored twice. A view writes both tables: one statement, so both are written or
-- neither.
CREATE VIEW Follow AS SELECT PartitionKey AS Subject, RowKey AS Follower FROM SubjectFollowers;
CREATE TRIGGER FollowInsert INSTEAD OF INSERT ON Follow BEGIN
  INSERT INTO SubjectFollowers(PartitionKey, RowKey) VALUES (new.Subject, new.Follower);
  INSERT INTO FollowerSubjects(PartitionKey, RowKey) VALUES (new.Follower, new.Subject);
END;
CREATE TRIGGER FollowDelete INSTEAD OF DELETE ON Follow BEGIN
  DELETE FROM SubjectFollowers WHERE PartitionKey = old.Subject AND RowKey = old.Follower;
  DELETE FROM FollowerSubjects WHERE PartitionKey = old.Follower AND RowKey = old.Subject;
END;
INSERT INTO Follow VALUES ('jones', 'agar'), ('jones', 'hall'), ('jones', 'kwok'), ('hall', 'kwok');
INSERT INTO Follow VALUES ('hall', 'agar'), ('jones', 'kwok');     -- the second exists: 409
SELECT count(*) AS pairs FROM FollowerSubjects;

.eqp on
SELECT RowKey AS "follow jones" FROM SubjectFollowers WHERE PartitionKey = 'jones';
SELECT RowKey AS "kwok follows" FROM FollowerSubjects WHERE PartitionKey = 'kwok';
-- Without the second table: one seek in the partition of each user who is followed. The Table
-- service reads the whole table for this.
SELECT PartitionKey AS "kwok follows" FROM SubjectFollowers WHERE RowKey = 'kwok';
.eqp off

.print
.print == Fan-out
-- Jun posts. One statement, and so one transaction, writes the event into Jun's own timeline and
-- those of all followers.
.parameter set :event "'2026-11-21T08:00:00Z_jones_1'"
INSERT INTO Timeline
  SELECT 'liveid{jones}', :event, 'jones', 'Hello'
  UNION ALL
  SELECT 'liveid{' || RowKey || '}', :event, 'jones', 'Hello' FROM SubjectFollowers
    WHERE PartitionKey = 'jones';
SELECT changes() AS timelines;
SELECT * FROM Timeline;
-- A sender that got no answer tries again. It is refused, and nothing is doubled ...
INSERT INTO Timeline
  SELECT 'liveid{' || RowKey || '}', :event, 'jones', 'Hello' FROM SubjectFollowers
  WHERE PartitionKey = 'jones';
-- ... or, with OR IGNORE, only what is missing is written: here for a new follower.
INSERT INTO Follow VALUES ('jones', 'nash');
INSERT OR IGNORE INTO Timeline
  SELECT 'liveid{' || RowKey || '}', :event, 'jones', 'Hello' FROM SubjectFollowers
  WHERE PartitionKey = 'jones';
SELECT changes() AS timelines;

.print
.print == Pages of 250
-- Ken follows Don, too, who had posted every minute for ten hours. (The shell's generate_series
-- counts.)
INSERT INTO Timeline
  SELECT 'liveid{kwok}', strftime('%Y-%m-%dT%H:%M:00Z', '2026-11-20', value || ' minutes')
    || '_hall_' || value, 'hall', 'Post ' || value FROM generate_series(1, 600);

-- Newest first. The EntityKey of a page's last row is the token after which the next page begins,
-- now or in another process. Each page is one seek, wherever it begins.
CREATE TEMP TABLE Page(Number INTEGER, Token BLOB, RowKey TEXT);
INSERT INTO Page SELECT 1, EntityKey, RowKey FROM Timeline
  WHERE PartitionKey = 'liveid{kwok}' ORDER BY EntityKey DESC LIMIT 250;
-- A new event is posted between the pages.
INSERT INTO Timeline VALUES ('liveid{kwok}', '2026-11-21T08:01:00Z_hall_601', 'hall', 'Post 601');
.eqp on
INSERT INTO Page SELECT 2, EntityKey, RowKey FROM Timeline
  WHERE PartitionKey = 'liveid{kwok}' AND EntityKey < (SELECT min(Token) FROM Page)
  ORDER BY EntityKey DESC LIMIT 250;
.eqp off
INSERT INTO Page SELECT 3, EntityKey, RowKey FROM Timeline
  WHERE PartitionKey = 'liveid{kwok}' AND EntityKey < (SELECT min(Token) FROM Page)
  ORDER BY EntityKey DESC LIMIT 250;
SELECT Number, count(*) AS events, max(RowKey) AS newest, min(RowKey) AS oldest
  FROM Page GROUP BY Number;
-- OFFSET counts from the newest, which has changed: page 2 would repeat the end of page 1.
SELECT RowKey AS "first of page 2 by OFFSET" FROM Timeline
  WHERE PartitionKey = 'liveid{kwok}' ORDER BY RowKey DESC LIMIT 1 OFFSET 250;

-- Forwards, the oldest first: the same with > and max().
DELETE FROM Page;
INSERT INTO Page SELECT 1, EntityKey, RowKey FROM Timeline
  WHERE PartitionKey = 'liveid{kwok}' ORDER BY EntityKey LIMIT 250;
INSERT INTO Page SELECT 2, EntityKey, RowKey FROM Timeline
  WHERE PartitionKey = 'liveid{kwok}' AND EntityKey > (SELECT max(Token) FROM Page)
  ORDER BY EntityKey LIMIT 250;
SELECT Number, count(*) AS events, min(RowKey) AS oldest, max(RowKey) AS newest
  FROM Page GROUP BY Number;

-- The Table service reads forwards only. For its clients event ids must begin with a number that
-- decreases over time.
SELECT value AS time, pt_inverted_ticks(value) AS id
  FROM json_each('["2026-11-20T08:00:00Z", "2026-11-21T08:00:00Z"]') ORDER BY id;

.print
.print == Removing an event
-- Ann stops following Jun, who then removes the event. By the list of followers these are point
-- queries, the cheapest way if there are many timelines and few followers. But it misses Ann's
-- timeline, and Jun's own.
DELETE FROM Follow WHERE Subject = 'jones' AND Follower = 'agar';
.eqp on
DELETE FROM Timeline WHERE RowKey = :event AND PartitionKey IN
  (SELECT 'liveid{' || RowKey || '}' FROM SubjectFollowers WHERE PartitionKey = 'jones');
.eqp off
SELECT changes() AS removed, (SELECT group_concat(PartitionKey, ' ') FROM Timeline
  WHERE RowKey = :event) AS "still in";
-- By the event id alone: one seek in every timeline, however long it is. It finds all copies.
.eqp on
DELETE FROM Timeline WHERE RowKey = :event;
.eqp off
SELECT changes() AS removed, (SELECT count(*) FROM Timeline WHERE RowKey = :event) AS "still in";

-- Ann is gone from both tables of followers.
SELECT (SELECT group_concat(RowKey, ' ') FROM SubjectFollowers WHERE PartitionKey = 'jones')
    AS "follow jones",
  (SELECT count(*) FROM FollowerSubjects WHERE PartitionKey = 'agar') AS "agar follows";
