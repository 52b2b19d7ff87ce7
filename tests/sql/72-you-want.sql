-- The rows of "You want -> write" on the front page: what SQLite refuses or misunderstands, and then
-- what to write instead. Then the pitfalls that SQL can show.
.load ./ptable
.open want.db
.load ./ptable
CREATE VIRTUAL TABLE t USING ptable(Name String, Age Int32);
INSERT INTO t VALUES ('a', '1', 'Ann', 30), ('a', '2', 'Bob', 40), ('b', '1', 'Cid', 50);

.print == Upsert
INSERT INTO t(PartitionKey, RowKey, Age) VALUES ('a', '1', 31)
  ON CONFLICT DO UPDATE SET Age = excluded.Age;
INSERT INTO t(PartitionKey, RowKey, Age, WriteMode) VALUES ('a', '1', 31, 'merge');
SELECT * FROM t WHERE PartitionKey = 'a' AND RowKey = '1';
INSERT OR REPLACE INTO t(PartitionKey, RowKey, Age) VALUES ('a', '1', 32);
SELECT * FROM t WHERE PartitionKey = 'a' AND RowKey = '1';
INSERT INTO t(PartitionKey, RowKey, Age) VALUES ('a', '1', 33) ON CONFLICT DO NOTHING;
INSERT OR IGNORE INTO t(PartitionKey, RowKey, Age) VALUES ('a', '1', 33), ('a', '3', 33);
SELECT * FROM t WHERE PartitionKey = 'a';
BEGIN;
INSERT OR IGNORE INTO t(PartitionKey, RowKey, Age) VALUES ('count', 'views', 0);
UPDATE t SET Age = Age + 1 WHERE PartitionKey = 'count' AND RowKey = 'views';
COMMIT;
BEGIN;
INSERT OR IGNORE INTO t(PartitionKey, RowKey, Age) VALUES ('count', 'views', 0);
UPDATE t SET Age = Age + 1 WHERE PartitionKey = 'count' AND RowKey = 'views';
COMMIT;
SELECT Age FROM t WHERE PartitionKey = 'count';
DELETE FROM t WHERE PartitionKey = 'count';

.print == A backup: neither .dump nor .backup has the entities
.dump t
.backup copy.db
.shell test -e copy.db-ptable || echo 'no store beside copy.db'
SELECT pt_backup(NULL, 'copy.db-ptable') > 0;
.connection 1
.open copy.db
.load ./ptable
SELECT count(*) FROM t;
.connection 0

.print == LIKE and GLOB
EXPLAIN QUERY PLAN SELECT * FROM t WHERE PartitionKey = 'a' AND RowKey LIKE 'ab%';
EXPLAIN QUERY PLAN SELECT * FROM t WHERE PartitionKey = 'a' AND pt_starts_with(RowKey, 'ab');
EXPLAIN QUERY PLAN SELECT * FROM t WHERE PartitionKey = 'a' AND RowKey GLOB 'ab*';
EXPLAIN QUERY PLAN SELECT * FROM t WHERE PartitionKey = 'a' AND RowKey GLOB '2026-*';
EXPLAIN QUERY PLAN SELECT * FROM t WHERE PartitionKey = 'a' AND RowKey GLOB lower('AB') || '*';

.print == Indexes, triggers, foreign keys
CREATE INDEX i ON t(Name);
INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('t', 'Name', 0);
SELECT TableName, Columns, IsUnique FROM pt_indexes;
CREATE VIRTUAL TABLE n USING ptable(Email String, Name String, unique(Email), index(Name), table=n);
SELECT TableName, Columns, IsUnique FROM pt_indexes;
DROP TABLE n;
CREATE TRIGGER tr AFTER INSERT ON t BEGIN SELECT 1; END;
CREATE VIEW v AS SELECT * FROM t;
CREATE TRIGGER tr INSTEAD OF INSERT ON v BEGIN
  INSERT INTO t VALUES (new.PartitionKey, new.RowKey, upper(new.Name), new.Age);
END;
INSERT INTO v VALUES ('b', '2', 'Dan', 20);
SELECT * FROM t WHERE PartitionKey = 'b';
CREATE VIRTUAL TABLE n USING ptable(Name String NOT NULL);
CREATE VIRTUAL TABLE n USING ptable(Name String CHECK (Name > ''));

.print == What ends by itself, and what has changed
CREATE VIRTUAL TABLE Session USING ptable(User String, Due DateTime, expires=Due);
INSERT INTO Session VALUES ('web', '1', 'Ann', '2020-01-01'), ('web', '2', 'Ben', '2999-01-01');
SELECT User FROM Session;
SELECT pt_purge('Session', 1000);
CREATE VIRTUAL TABLE Source USING ptable(Name String, changes=on);
CREATE VIRTUAL TABLE Copy USING ptable(Name String);
CREATE TABLE Followed(since);
INSERT INTO Source VALUES ('a', '1', 'Ann'), ('a', '2', 'Ben');
INSERT INTO Followed SELECT max(Timestamp) FROM pt_changes('Source', NULL);
INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode)
  SELECT PartitionKey, RowKey, Properties, WriteMode FROM pt_changes('Source', NULL);
DELETE FROM Source WHERE RowKey = '1';
INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode)
  SELECT PartitionKey, RowKey, Properties, WriteMode FROM Followed, pt_changes('Source', since);
SELECT PartitionKey, RowKey, Name FROM Copy;

.print == ALTER TABLE
ALTER TABLE t ADD COLUMN Badge Int32;
ALTER TABLE t RENAME TO u;
DROP TABLE t;
CREATE VIRTUAL TABLE t USING ptable(Name String, Age Int32, Badge Int32);
SELECT * FROM t WHERE PartitionKey = 'b';
CREATE VIRTUAL TABLE u USING ptable(Name String, table=t);
SELECT * FROM u WHERE PartitionKey = 'b';
DROP TABLE u;

.print == RETURNING
UPDATE t SET Age = 1 WHERE RowKey = '1' RETURNING Age;
DELETE FROM t WHERE RowKey = '1' RETURNING Age;
INSERT INTO t(PartitionKey, RowKey) VALUES ('c', '1') RETURNING PartitionKey, quote(ETag);
BEGIN;
INSERT INTO t(PartitionKey, RowKey) VALUES ('c', '2');
SELECT ETag GLOB 'W/"datetime*"' FROM t WHERE PartitionKey = 'c' AND RowKey = '2';
COMMIT;

.print == Filters, RIGHT JOIN
SELECT RowKey FROM t WHERE Filter MATCH 'Age gt 30' AND Filter MATCH 'Age lt 45';
SELECT RowKey FROM t WHERE Filter MATCH '(Age gt 30) and (Age lt 45)';
CREATE TABLE o(id TEXT);
INSERT INTO o VALUES ('1'), ('7');
-- Each entity over 45 should be beside its id.
SELECT o.id, t.Age FROM o RIGHT JOIN t('Age gt 45') ON t.RowKey = o.id;
SELECT o.id, t.Age FROM o RIGHT JOIN (SELECT * FROM t WHERE Filter MATCH 'Age gt 45') AS t
  ON t.RowKey = o.id;

.print == Pages
.parameter set :last "pt_entity_key('a', '2')"
SELECT PartitionKey, RowKey FROM t WHERE EntityKey > :last ORDER BY EntityKey LIMIT 2;

.print == A CSV file
.output rows.csv
.print PartitionKey,RowKey,Name,Age,Badge
.print csv,1,Eve,60,
.output
.import --csv --skip 1 rows.csv t
SELECT PartitionKey, RowKey, Properties FROM t WHERE PartitionKey = 'csv';

.print == A partition, then a table, goes with its data
DELETE FROM pt_partitions WHERE TableName = 't' AND PartitionKey = 'csv';
SELECT count(*) FROM t WHERE PartitionKey = 'csv';
DELETE FROM pt_tables WHERE TableName = 't';
DROP TABLE t;
CREATE VIRTUAL TABLE t USING ptable(Name String, Age Int32);
SELECT count(*) FROM t;

.print == Pitfalls: keys are text, scan=deny, times, a database that was moved without its store
INSERT INTO t(PartitionKey, RowKey) VALUES ('a', 9), ('a', 10), ('a', pt_pad(9, 6)), ('a', pt_pad(10, 6));
SELECT RowKey FROM t;
CREATE TABLE Numbers(id INTEGER);
INSERT INTO Numbers VALUES (9);
SELECT RowKey FROM Numbers JOIN t ON PartitionKey = 'a' AND RowKey = id;
SELECT RowKey FROM Numbers JOIN t ON PartitionKey = 'a' AND RowKey = CAST(id AS TEXT);
CREATE VIRTUAL TABLE careful USING ptable(Name, table=t, scan=deny);
SELECT RowKey FROM careful WHERE Name = 'Eve';
SELECT count(*) FROM careful WHERE PartitionKey = 'a' AND Name IS NULL;
CREATE VIRTUAL TABLE Task USING ptable(Due DateTime);
INSERT INTO Task VALUES ('a', '1', '2099-01-01');
SELECT Due < 'now', Due < pt_datetime(), Due = '2099-01-01T01:00+01:00' FROM Task;
.shell cp want.db moved.db
.connection 1
.open moved.db
.load ./ptable
SELECT count(*) FROM t;
