-- IfMatch is the If-Match header of the Table service: a write is done only if the entity exists
-- ('*'), or if it still is the version that was read (its ETag). Otherwise the INSERT fails.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(Name String, Age Int32);
CREATE VIEW Everything AS SELECT RowKey, Properties FROM T;
INSERT INTO T(PartitionKey, RowKey, Name, Age, Properties)
  VALUES ('p', '1', 'Jun', 34, '{"Badge":7}'), ('p', '2', 'Ken', 23, NULL);

-- '*': Merge, Update (replace) and Delete Entity of an entity that must exist, in any version.
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 35, 'merge', '*');
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode, IfMatch) VALUES ('p', '2', 'Kim', 'replace', '*');
SELECT * FROM Everything;
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '2', 'delete', '*');
SELECT * FROM Everything;

-- Where there is none, they fail: 404.
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '2', 1, 'merge', '*');
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '2', 1, 'replace', '*');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '2', 'delete', '*');
SELECT * FROM Everything;

-- An ETag: the version that was read. The first to write wins; whoever comes with the same ETag
-- after that is refused, 412, and must read again.
CREATE TEMP TABLE Seen AS SELECT RowKey AS rk, ETag AS tag FROM T;
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) SELECT 'p', rk, 36, 'merge', tag FROM Seen;
SELECT Age FROM T;
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) SELECT 'p', rk, 37, 'merge', tag FROM Seen;
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) SELECT 'p', rk, 37, 'replace', tag FROM Seen;
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) SELECT 'p', rk, 'delete', tag FROM Seen;
SELECT * FROM Everything;

-- Read and write again.
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode, IfMatch)
  SELECT PartitionKey, RowKey, upper(Name), 'replace', ETag FROM T WHERE PartitionKey = 'p' AND RowKey = '1';
SELECT * FROM Everything;
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch)
  SELECT PartitionKey, RowKey, 'delete', ETag FROM T WHERE PartitionKey = 'p' AND RowKey = '1';
SELECT count(*) FROM T;

-- An entity that is not there is 404 whatever the ETag; one that was made anew has another one.
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) SELECT 'p', rk, 38, 'merge', tag FROM Seen;
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 1, 'merge', 'W/"other"');
INSERT INTO T(PartitionKey, RowKey, Age) VALUES ('p', '1', 34);
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) SELECT 'p', rk, 38, 'merge', tag FROM Seen;
SELECT * FROM Everything;

-- Any other weak ETag is one that does not match, whatever is inside.
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 1, 'merge', 'W/""');
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 1, 'replace', 'W/"*"');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch)
  VALUES ('p', '1', 'delete', 'W/"it''s a much longer one than any ETag that the store itself has made"');

-- What is no ETag at all is malformed: 400, before anything is looked for.
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'merge', '');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'merge', '"strong"');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'merge', 'w/"small"');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'merge', 'W/open"');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'merge', 'W/"open');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'merge', 'W/"');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'merge', 'W/"a", W/"b"');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'merge', '**');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('none', '1', 'delete', 'x');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'delete', 5);
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'delete', x'2a');

-- IfMatch goes with the modes that change something.
INSERT INTO T(PartitionKey, RowKey, IfMatch) VALUES ('p', '1', '*');
INSERT OR REPLACE INTO T(PartitionKey, RowKey, IfMatch) VALUES ('p', '1', '*');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '9', 'insert', '*');
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 39, 'merge', NULL);
SELECT * FROM Everything;

-- The order of the checks is the service's: what is malformed (400), then what is not there (404),
-- then what has changed (412).
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '2', 'old', 'merge', 'W/"x"');
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '2', 1, 'merge', 'W/"x"');
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 'old', 'merge', 'W/"x"');
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', NULL, 1, 'merge', 'W/"x"');
INSERT INTO T(PartitionKey, RowKey, Properties, WriteMode, IfMatch) VALUES ('p', '1', '{', 'merge', 'W/"x"');
INSERT INTO T(PartitionKey, RowKey, ETag, WriteMode) VALUES ('p', '1', 'W/"x"', 'merge');

-- A write that fails changes nothing, the ETag neither.
CREATE TEMP TABLE Before AS SELECT ETag AS tag FROM T;
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 1, 'merge', 'W/"x"');
BEGIN;
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 1, 'merge', 'W/"x"');
COMMIT;
SELECT Properties, ETag = tag FROM T, Before;

-- The conflict clauses act on 404 and 412 as on 409. OR IGNORE passes over the row ...
INSERT OR IGNORE INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('p', '1', 40, 'merge', 'W/"x"'), ('p', '2', 40, 'merge', '*'), ('p', '1', 41, 'merge', '*');
SELECT changes();
SELECT * FROM Everything;
-- ... OR FAIL keeps what came before, OR ABORT (as without) does not ...
INSERT OR FAIL INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('p', '1', 42, 'merge', '*'), ('p', '2', 42, 'merge', '*'), ('p', '1', 43, 'merge', '*');
SELECT * FROM Everything;
INSERT OR ABORT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('p', '1', 44, 'merge', '*'), ('p', '1', 45, 'merge', 'W/"x"');
SELECT * FROM Everything;
-- ... OR ROLLBACK ends the transaction, and OR REPLACE is like OR ABORT.
BEGIN;
INSERT INTO T(PartitionKey, RowKey) VALUES ('p', '3');
INSERT OR ROLLBACK INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 46, 'merge', 'W/"x"');
COMMIT;
INSERT OR REPLACE INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch)
  VALUES ('p', '1', 47, 'merge', '*'), ('p', '2', 47, 'replace', '*');
SELECT * FROM Everything;

-- In a transaction the condition is about what the transaction sees, and the ETag that it reads
-- after its own write is the one that COMMIT stores.
BEGIN;
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) SELECT 'p', '1', 50, 'merge', ETag FROM T;
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode, IfMatch) SELECT 'p', '1', 51, 'merge', tag FROM Before;
SAVEPOINT s;
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'delete', '*');
INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'delete', '*');
ROLLBACK TO s;
DELETE FROM Before;
INSERT INTO Before SELECT ETag FROM T;
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode, IfMatch) SELECT 'p', '1', 'In', 'merge', tag FROM Before;
UPDATE Before SET tag = (SELECT ETag FROM T);
COMMIT;
INSERT INTO T(PartitionKey, RowKey, Properties, WriteMode, IfMatch)
  SELECT 'p', '1', '{"After":true}', 'merge', tag FROM Before;
SELECT * FROM Everything;

-- The quiet forms: UPDATE and DELETE with the ETag in WHERE touch what they find; changes() tells.
UPDATE T SET Age = 60 WHERE PartitionKey = 'p' AND RowKey = '1' AND ETag = (SELECT tag FROM Before);
SELECT changes();
UPDATE T SET Age = 61 WHERE PartitionKey = 'p' AND RowKey = '1' AND ETag = (SELECT ETag FROM T);
SELECT changes();
