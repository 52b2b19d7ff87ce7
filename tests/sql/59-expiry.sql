-- Entities that expire: from the time of a property on they are not there, until pt_purge deletes
-- them.
.load ./ptable
CREATE VIRTUAL TABLE Session USING ptable(User String, Due DateTime, unique(User), expires=due);
SELECT TableName, Expires FROM pt_tables;
SELECT IndexName FROM pt_indexes;
INSERT INTO Session(PartitionKey, RowKey, User, Due) VALUES
  ('a', '1', 'ann', '2020-01-01'), ('a', '2', 'ben', '2999-01-01'), ('b', '1', 'cho', NULL), ('c', '1', 'dan', '2020-01-02');

-- What has expired is not there: for points, ranges, indexes, counts, joins.
SELECT PartitionKey, RowKey, User FROM Session;
SELECT count(*) FROM Session;
SELECT count(*), max(RowKey) FROM Session WHERE PartitionKey = 'a';
SELECT User FROM Session WHERE PartitionKey = 'a' AND RowKey = '1';
SELECT User FROM Session WHERE _rowid_ = 'a/1';
SELECT DISTINCT PartitionKey FROM Session;
SELECT PartitionKey FROM Session ORDER BY PartitionKey DESC, RowKey DESC LIMIT 1;
SELECT User FROM Session WHERE Filter MATCH 'User lt ''c''';
SELECT a.User, b.User FROM Session a LEFT JOIN Session b ON b.PartitionKey = 'a' AND b.RowKey = '1';
.eqp on
SELECT User FROM Session WHERE User <= 'b';
SELECT RowKey FROM Session WHERE Due < '2021';
SELECT User FROM Session ORDER BY User DESC LIMIT 1;
.eqp off

-- It blocks neither its key nor a unique value.
INSERT INTO Session(PartitionKey, RowKey, User) VALUES ('c', '1', 'ann');
INSERT INTO Session(PartitionKey, RowKey, User) VALUES ('c', '2', 'ann');
SELECT PartitionKey, RowKey, User FROM Session WHERE User = 'ann';
SELECT Entities FROM pt_tables;
UPDATE Session SET Due = '2020-01-03' WHERE User = 'ann';
SELECT changes();
UPDATE Session SET Due = NULL WHERE PartitionKey = 'c';
SELECT changes();
UPDATE Session SET RowKey = '9', PartitionKey = 'c' WHERE User = 'cho';
UPDATE Session SET RowKey = '1' WHERE RowKey = '9';
SELECT PartitionKey, RowKey, User FROM Session;
DELETE FROM Session;
SELECT changes(), count(*) FROM Session;

-- Operations of the Table service: there is no such entity.
INSERT INTO Session(PartitionKey, RowKey, User, Due) VALUES ('d', '1', 'eva', '2020-01-01');
INSERT INTO Session(PartitionKey, RowKey, User, WriteMode, IfMatch) VALUES ('d', '1', 'x', 'merge', '*');
INSERT INTO Session(PartitionKey, RowKey, User, WriteMode, IfMatch) VALUES ('d', '1', 'x', 'replace', '*');
INSERT INTO Session(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('d', '1', 'delete', '*');
INSERT INTO Session(PartitionKey, RowKey, WriteMode) VALUES ('d', '1', 'delete');
INSERT INTO Session(PartitionKey, RowKey, Properties, WriteMode) VALUES ('d', '1', '{"Seen":1}', 'merge');
SELECT Properties FROM Session WHERE PartitionKey = 'd';
DELETE FROM Session;

-- pt_purge deletes, the oldest first, also in a transaction.
INSERT INTO Session(PartitionKey, RowKey, Due) VALUES ('p', '1', '2020-03-01'), ('p', '2', '2020-01-01'),
  ('p', '3', '2020-02-01'), ('p', '4', '2999-01-01');
INSERT INTO Session(PartitionKey, RowKey, Properties) VALUES ('p', '5', '{"Due":"2020-01-01"}'), ('p', '6', '{"Due":2020}');
SELECT RowKey, Due FROM Session;
BEGIN;
SELECT pt_purge('Session', 1);
SELECT Entities FROM pt_tables;
SELECT pt_purge('main.session');
SELECT Entities FROM pt_tables;
ROLLBACK;
SELECT pt_purge('Session', 2), pt_purge('Session', 0), pt_purge('Session', 1.0), pt_purge('Session', NULL);
SELECT RowKey, Due FROM Session;
SELECT Entities, Entries FROM pt_tables JOIN pt_indexes ON IndexName = 'Due';
SELECT pt_check();
SELECT pt_purge('Session', -1);
SELECT pt_purge('Session', 'all');
SELECT pt_purge('Session', 0.5);
SELECT pt_purge('Session', 1e30);
SELECT pt_purge(NULL);
SELECT pt_purge('nobody');

-- Off and on.
INSERT INTO Session(PartitionKey, RowKey, Due) VALUES ('q', '1', '2020-01-01');
DELETE FROM pt_indexes WHERE IndexName = 'Due';
UPDATE pt_tables SET Expires = NULL WHERE TableName = 'session';
SELECT Expires IS NULL, (SELECT count(*) FROM Session WHERE PartitionKey = 'q') FROM pt_tables;
SELECT pt_purge('Session');
INSERT INTO Session(PartitionKey, RowKey) VALUES ('q', '2');
DROP TABLE Session;
CREATE VIRTUAL TABLE Session USING ptable(User String, Due DateTime);
INSERT INTO Session(PartitionKey, RowKey) VALUES ('q', '2');
UPDATE pt_tables SET Expires = 'due' WHERE TableName = 'Session';
UPDATE pt_tables SET Expires = 'Due' WHERE TableName = 'Session';
SELECT RowKey FROM Session WHERE PartitionKey = 'q';
CREATE VIRTUAL TABLE Other USING ptable(User String, Till DateTime, table=Session, expires=Till);
CREATE VIRTUAL TABLE Reader USING ptable(Due DateTime, table=Session, readonly=1, limits='azure');
SELECT count(*) FROM Reader WHERE PartitionKey = 'q';

-- What is no property by which entities can expire.
CREATE VIRTUAL TABLE Bad USING ptable(Due String, expires=Due);
CREATE VIRTUAL TABLE Bad USING ptable(Due, expires=Due);
CREATE VIRTUAL TABLE Bad USING ptable(Due DateTime, expires=Timestamp);
CREATE VIRTUAL TABLE Bad USING ptable(Due DateTime, expires=ETag);
CREATE VIRTUAL TABLE Bad USING ptable(Due DateTime, expires=);
CREATE VIRTUAL TABLE Bad USING pt_queue(expires=Due);
UPDATE pt_tables SET Expires = 'Timestamp';
UPDATE pt_tables SET Expires = '';
UPDATE pt_tables SET Expires = 5;
UPDATE pt_tables SET Expires = printf('%.*c', 300, 'x');
UPDATE pt_tables SET TableName = 'Else';
UPDATE pt_tables SET Entities = 5, Expires = NULL;
UPDATE pt_tables SET rowid = 5;
UPDATE pt_tables SET rowid = rowid;
SELECT changes() > 0, group_concat(DISTINCT Expires) FROM pt_tables;
CREATE VIRTUAL TABLE Jobs USING pt_queue;
UPDATE pt_tables SET Expires = 'Due' WHERE TableName = 'Jobs';
UPDATE pt_tables SET Expires = NULL WHERE TableName = 'Jobs';
SELECT pt_purge('Jobs');
SELECT TableName, Expires FROM pt_tables;

-- With changes kept: what has expired is a change until it is purged, and then a deletion.
DELETE FROM pt_tables WHERE TableName = 'Jobs';
CREATE VIRTUAL TABLE Kept USING ptable(User String, Due DateTime, unique(User), expires=Due);
UPDATE pt_tables SET Changes = 'on' WHERE TableName = 'Kept';
INSERT INTO Kept VALUES ('k', '1', 'ann', '2020-01-01'), ('k', '2', 'ben', '2020-01-02'), ('k', '3', 'cho', '2020-01-03');
SELECT RowKey, WriteMode FROM pt_changes('Kept', NULL);
CREATE TEMP TABLE Seen AS SELECT max(Timestamp) AS since FROM pt_changes('Kept', NULL);
INSERT INTO Kept VALUES ('k', '1', 'ben', NULL);  -- in the place of one, with the name of another
SELECT RowKey, WriteMode FROM pt_changes('Kept', (SELECT since FROM Seen));
SELECT pt_purge('Kept');
SELECT RowKey, WriteMode FROM pt_changes('Kept', (SELECT since FROM Seen));
SELECT RowKey, WriteMode FROM pt_changes('Kept', NULL);
SELECT pt_check();

-- INSERT takes Expires, too, alone and with Changes; what it refuses leaves no table.
INSERT INTO pt_tables(TableName, Expires, Changes) VALUES ('Token', 'Due', 'on');
INSERT INTO pt_tables(TableName, Expires) VALUES ('Lock', NULL), ('Cache', 'Until');
SELECT TableName, Entities, Changes, Expires FROM pt_tables WHERE TableName IN ('Token', 'Lock', 'Cache');
SELECT TableName, IndexName FROM pt_indexes WHERE TableName IN ('Token', 'Cache');
CREATE VIRTUAL TABLE Token USING ptable(Due DateTime);
INSERT INTO Token VALUES ('p', '1', '2020-01-01'), ('p', '2', '2999-01-01');
SELECT RowKey FROM Token;
SELECT pt_purge('Token');
SELECT RowKey, WriteMode FROM pt_changes('Token', (SELECT Horizon FROM pt_tables WHERE TableName = 'Token'));
INSERT INTO pt_tables(TableName, Expires) VALUES ('Wrong', 'Timestamp');
INSERT INTO pt_tables(TableName, Expires) VALUES ('Wrong', 5);
INSERT OR IGNORE INTO pt_tables(TableName, Changes, Expires) VALUES ('Wrong', 'on', '');
INSERT INTO pt_tables(TableName, Entities) VALUES ('Wrong', 5);
INSERT INTO pt_tables(TableName, Expires) VALUES ('Token', 'Due');
SELECT count(*) FROM pt_tables WHERE TableName = 'Wrong';
SELECT pt_check();

-- Where entities expire, each is read: EXPLAIN does not say "keys only", once a statement has used the
-- table or if its declaration says it.
SELECT count(*) FROM Session;
EXPLAIN QUERY PLAN SELECT RowKey FROM Session WHERE PartitionKey = 'q';
EXPLAIN QUERY PLAN SELECT count(*) FROM Token;
EXPLAIN QUERY PLAN SELECT DISTINCT PartitionKey FROM Token;
EXPLAIN QUERY PLAN SELECT Due FROM Token WHERE Due > '2020';
UPDATE pt_tables SET Expires = NULL WHERE TableName = 'Token';
SELECT count(*) FROM Token;
EXPLAIN QUERY PLAN SELECT count(*) FROM Token;
