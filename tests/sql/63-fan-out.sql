-- sql/fan_out.sql: an event that is written once is in the timelines of all who follow its subject.
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE Event USING ptable(Title String);
CREATE VIRTUAL TABLE Timeline USING ptable(Subject String, Title String);
CREATE VIRTUAL TABLE Follower USING ptable();
CREATE VIRTUAL TABLE Following USING ptable();
-- What is there already is spread, too.
INSERT INTO Event VALUES ('team', 'e01', 'Kick-off');
INSERT INTO Follower VALUES ('team', 'ann', NULL);
CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
INSERT INTO fan_out VALUES ('Event', 'Timeline', 'Follower', 'Following', 'Post', 'Follow');
.read sql/fan_out.sql
SELECT type, name FROM sqlite_schema WHERE type <> 'table' ORDER BY type DESC, name;
SELECT name FROM sqlite_temp_schema WHERE name NOT LIKE 'ptable%';
SELECT count(*) FROM fsdir('.') WHERE name GLOB '*ptable_*';
SELECT * FROM Timeline;

-- Both directions: who follows the team, and whom Bob follows.
INSERT INTO Follow VALUES ('team', 'bob'), ('ann', 'bob'), ('team', 'eve');
SELECT RowKey FROM Follower WHERE PartitionKey = 'team';
SELECT RowKey FROM Following WHERE PartitionKey = 'bob';

-- Two events are written; they are in five timelines. Undeclared properties go with them.
INSERT INTO Post(PartitionKey, RowKey, Title, Properties) VALUES
  ('team', 'e02', 'Lunch', '{"Seats":7,"At":"2026-11-21T12:00:00Z","At@odata.type":"Edm.DateTime"}'),
  ('ann', 'e03', 'Birthday', NULL);
SELECT PartitionKey, RowKey, Subject, Title FROM Timeline;
SELECT Properties FROM Timeline WHERE PartitionKey = 'eve' AND RowKey = 'e02';

-- A page of a timeline, the newest first: a range that is read backwards and stops after two.
EXPLAIN QUERY PLAN SELECT RowKey, Title FROM Timeline WHERE PartitionKey = 'bob' ORDER BY RowKey DESC LIMIT 2;
SELECT RowKey, Title FROM Timeline WHERE PartitionKey = 'bob' ORDER BY RowKey DESC LIMIT 2;
SELECT RowKey, Title FROM Timeline WHERE PartitionKey = 'bob' AND RowKey < 'e02' ORDER BY RowKey DESC LIMIT 2;
-- The same without timelines: all events of all whom he follows are read and sorted.
CREATE VIEW Joined AS SELECT f.PartitionKey, e.RowKey, e.PartitionKey AS Subject, e.Title
  FROM Following AS f JOIN Event AS e ON e.PartitionKey = f.RowKey;
EXPLAIN QUERY PLAN SELECT RowKey, Title FROM Joined WHERE PartitionKey = 'bob' ORDER BY RowKey DESC LIMIT 2;
SELECT RowKey, Title FROM Joined WHERE PartitionKey = 'bob' ORDER BY RowKey DESC LIMIT 2;

-- A change is in all timelines, and so is a new id or subject.
UPDATE Post SET Title = 'Long lunch' WHERE PartitionKey = 'team' AND RowKey = 'e02';
UPDATE Post SET PartitionKey = 'team', RowKey = 'e04' WHERE RowKey = 'e03';
SELECT PartitionKey, RowKey, Subject, Title FROM Timeline;
-- What changes nothing writes no timeline.
CREATE TEMP TABLE Seen AS SELECT ETag AS tag FROM Timeline;
UPDATE Post SET Title = Title || '';
SELECT count(*), (SELECT count(*) FROM Seen) FROM Timeline WHERE ETag IN (SELECT tag FROM Seen);

-- One DELETE removes it from all: point queries, for the followers are known. (By its id alone every
-- partition would be looked into.)
EXPLAIN QUERY PLAN DELETE FROM Timeline WHERE RowKey = 'e04'
   AND PartitionKey IN (SELECT RowKey FROM Follower WHERE PartitionKey = 'team');
EXPLAIN QUERY PLAN DELETE FROM Timeline WHERE RowKey = 'e04';
DELETE FROM Post WHERE RowKey = 'e04';
SELECT PartitionKey, RowKey FROM Timeline;
-- Who follows no more sees none of it; who begins to follow sees what is there.
DELETE FROM Follow WHERE Subject = 'team' AND Follower = 'ann';
INSERT INTO Follow VALUES ('team', 'kim');
SELECT PartitionKey, RowKey FROM Timeline;
SELECT RowKey FROM Following WHERE PartitionKey = 'ann';
SELECT count(*) FROM (SELECT PartitionKey, RowKey, Subject, Title FROM Timeline
  EXCEPT SELECT * FROM Joined);

-- An id that another subject's event has in a follower's timeline: nothing is written, not to the
-- timelines before it either. A follower whom that would hit cannot follow.
INSERT INTO Follow VALUES ('solo', 'zoe');
INSERT INTO Post(PartitionKey, RowKey, Title) VALUES ('ann', 'e05', 'Mine'), ('ann', 'e02', 'Not mine');
INSERT INTO Post(PartitionKey, RowKey, Title) VALUES ('solo', 'e02', 'Nobody else has it there');
INSERT INTO Follow VALUES ('solo', 'bob');
INSERT OR IGNORE INTO Follow VALUES ('solo', 'bob');
INSERT OR REPLACE INTO Follow VALUES ('solo', 'bob');
INSERT OR IGNORE INTO Post(PartitionKey, RowKey, Title) VALUES ('ann', 'e02', 'Not mine');
SELECT PartitionKey, RowKey, Subject FROM Timeline WHERE PartitionKey IN ('bob', 'zoe');
SELECT count(*) FROM Event WHERE PartitionKey = 'ann';

-- An event or follower that exists; OR IGNORE passes over it, OR REPLACE writes the event anew.
INSERT INTO Follow VALUES ('team', 'bob');
INSERT OR IGNORE INTO Follow VALUES ('team', 'bob'), ('team', 'lee');
INSERT INTO Post(PartitionKey, RowKey, Title) VALUES ('team', 'e02', 'Dinner');
INSERT OR IGNORE INTO Post(PartitionKey, RowKey, Title) VALUES ('team', 'e02', 'Dinner');
SELECT Title, count(*) FROM Timeline WHERE RowKey = 'e02' GROUP BY Title;
INSERT OR REPLACE INTO Post(PartitionKey, RowKey, Title) VALUES ('team', 'e02', 'Dinner');
SELECT Title, count(*) FROM Timeline WHERE RowKey = 'e02' GROUP BY Title;
SELECT Properties FROM Timeline WHERE PartitionKey = 'eve' AND RowKey = 'e02';
UPDATE OR REPLACE Post SET RowKey = 'e01' WHERE PartitionKey = 'team' AND RowKey = 'e02';
SELECT PartitionKey, RowKey, Title FROM Timeline WHERE Subject = 'team';
-- A follower is not changed, but deleted and inserted.
UPDATE Follow SET Follower = 'max' WHERE Follower = 'lee';

-- Rollback and savepoint.
BEGIN;
INSERT INTO Post(PartitionKey, RowKey, Title) VALUES ('team', 'e06', 'Party');
SAVEPOINT a;
DELETE FROM Follow;
SELECT (SELECT count(*) FROM Timeline), (SELECT count(*) FROM Follower), (SELECT count(*) FROM Following);
ROLLBACK TO a;
SELECT count(*) FROM Timeline WHERE RowKey = 'e06';
ROLLBACK;
SELECT count(*) FROM Timeline WHERE RowKey = 'e06';

-- What is written beside the views is in no timeline until the script runs again.
DELETE FROM Event WHERE PartitionKey = 'solo';
INSERT INTO Event VALUES ('solo', 'e07', 'Beside');
DELETE FROM Follower WHERE RowKey = 'lee';
CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
INSERT INTO fan_out VALUES ('Event', 'Timeline', 'Follower', 'Following', 'Post', 'Follow');
.read sql/fan_out.sql
SELECT PartitionKey, RowKey, Title FROM Timeline;
SELECT PartitionKey, RowKey FROM Following;

-- Any names, keys given as numbers, a TEMP schema.
CREATE VIRTUAL TABLE temp."e'" USING ptable("a ""b""" String);
CREATE VIRTUAL TABLE temp."t""" USING ptable();
CREATE VIRTUAL TABLE temp."f %w" USING ptable();
CREATE VIRTUAL TABLE temp."g" USING ptable();
CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
INSERT INTO fan_out VALUES ('e''', 't"', 'f %w', 'g', 'p p', 'f''"');
.read sql/fan_out.sql
INSERT INTO "f'""" VALUES (1, 2);
INSERT INTO "p p"(PartitionKey, RowKey, "a ""b""") VALUES (1, 3, 'v');
SELECT * FROM "t""";
DELETE FROM "f'""";
SELECT count(*) FROM "t""";

-- Parameters that are wrong: an error, and nothing is made.
CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
.read sql/fan_out.sql
CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
INSERT INTO fan_out VALUES ('Event', 'Timeline', NULL, 'Following', 'P', 'F');
.read sql/fan_out.sql
CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
INSERT INTO fan_out VALUES ('Event', 'Timeline', 'Post', 'Following', 'P', 'F');
.read sql/fan_out.sql
CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
INSERT INTO fan_out VALUES ('Event', 'Timeline', 'Follower', 'follower', 'P', 'F');
.read sql/fan_out.sql
CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
INSERT INTO fan_out VALUES ('Event', 'Timeline', 'Follower', 'Following', 'joined', 'F');
.read sql/fan_out.sql
CREATE VIRTUAL TABLE Batch USING ptable(batch=azure);
CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
INSERT INTO fan_out VALUES ('Batch', 'Timeline', 'Follower', 'Following', 'P', 'F');
.read sql/fan_out.sql
SELECT count(*) FROM sqlite_schema WHERE name IN ('P', 'F');
SELECT name FROM sqlite_temp_schema WHERE name LIKE '%fan_out%';

-- To undo it.
DROP VIEW Post;
DROP VIEW Follow;
DELETE FROM Timeline;
DELETE FROM Following;
SELECT (SELECT count(*) FROM Event), (SELECT count(*) FROM Follower);
