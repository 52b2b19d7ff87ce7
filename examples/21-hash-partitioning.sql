-- Hash partitioning
-- Problem: users have ids, but nothing divides them evenly. One partition for all of them takes all
--   the load; departments or ranges of ids are uneven.
-- Solution: the partition is a hash of the key, so that every program can compute it.
-- When: reads are by whole keys. Ranges of ids cost one seek in each bucket.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Bucketed USING ptable(Email String);
INSERT INTO Bucketed
  SELECT 'user-' || pt_pad(pt_hash_bucket(value, 16), 2), value, 'user' || value || '@contoso.com'
  FROM json_each('["000222","000223","000224"]');
SELECT PartitionKey, Email FROM Bucketed
  WHERE PartitionKey = 'user-' || pt_pad(pt_hash_bucket('000223', 16), 2) AND RowKey = '000223';

-- In detail, in a new database
--
-- Keys: PartitionKey  the bucket of the id: 'user-00' to 'user-15'
--       RowKey        the id: '000223'
-- Costs: a range of ids takes one seek in each bucket, and ids in order take a sort. The number of
--   buckets is part of every key: on the Table service, changing it takes a program that copies and
--   deletes entities while others look for them.
-- Better in SQL: pt_hash_bucket computes the bucket, a join looks up many ids, and a new number of
--   buckets is one transaction.
.open :memory:
.load ./ptable

.print
.print == The bucket of an id
-- The hash is XXH64 of the UTF-8 bytes of the text, modulo the number of buckets; most languages
-- have a library for it. pt_pad gives all buckets names of one length.
SELECT pt_hash_bucket('000223', 16) AS bucket,
       'user-' || pt_pad(pt_hash_bucket('000223', 16), 2) AS PartitionKey;
CREATE VIRTUAL TABLE Bucketed USING ptable(Department String, Email String);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1600)
INSERT INTO Bucketed
  SELECT 'user-' || pt_pad(pt_hash_bucket(pt_pad(i, 6), 16), 2), pt_pad(i, 6),
         CASE WHEN i % 10 < 7 THEN 'Sales' WHEN i % 10 < 9 THEN 'Marketing' ELSE 'Legal' END,
         'user' || i || '@contoso.com' FROM n;

.print
.print == How even is it?
-- pt_partitions counts. By department the largest partition would have 70% of all.
SELECT count(*) AS partitions, min(Entities) AS smallest, avg(Entities) AS average,
       max(Entities) AS largest FROM pt_partitions('Bucketed');
SELECT Department, count(*) AS users FROM Bucketed GROUP BY Department;

.print
.print == A point query computes the partition from the id
.parameter set :id "'000223'"
.eqp on
SELECT Email FROM Bucketed
  WHERE PartitionKey = 'user-' || pt_pad(pt_hash_bucket(:id, 16), 2) AND RowKey = :id;
-- Several users: the join computes each partition, one point query after the other.
WITH Wanted(id) AS (VALUES ('000312'), ('000223'), ('999999'))
SELECT id, Email FROM Wanted LEFT JOIN Bucketed
  ON PartitionKey = 'user-' || pt_pad(pt_hash_bucket(id, 16), 2) AND RowKey = id;
-- Without the hash the entity is found too, by one seek in each of the 16 partitions.
SELECT PartitionKey, Email FROM Bucketed WHERE RowKey = '000223';

.print
.print == In the order of ids
-- Neighbours are in different buckets, so a range of ids is a range in each bucket, and SQLite
-- sorts the rows. Give both ends of the range: LIMIT alone applies after the sort, when everything
-- has been read.
SELECT PartitionKey, RowKey FROM Bucketed
  WHERE RowKey BETWEEN '000221' AND '000225' ORDER BY RowKey;
-- All users in the order of ids: a table scan and a sort of everything.
EXPLAIN QUERY PLAN SELECT RowKey FROM Bucketed ORDER BY RowKey;
-- If order does not matter, the table's own order costs nothing, and EntityKey makes pages.
SELECT PartitionKey, RowKey FROM Bucketed ORDER BY EntityKey LIMIT 3;
.eqp off

.print
.print == The number of buckets belongs to the data
-- Store it as an entity in the same store, not in every statement. A view's trigger puts every new
-- user into the right bucket. (Queried by Id alone, the view seeks in each bucket.)
CREATE VIRTUAL TABLE Setting USING ptable(Buckets Int32);
INSERT INTO Setting VALUES ('hash', 'User', 16);
CREATE VIEW Place AS SELECT Buckets FROM Setting WHERE PartitionKey = 'hash' AND RowKey = 'User';
CREATE VIEW User AS SELECT RowKey AS Id, Department, Email FROM Bucketed;
CREATE TRIGGER UserInsert INSTEAD OF INSERT ON User BEGIN
  INSERT INTO Bucketed SELECT 'user-' || pt_pad(pt_hash_bucket(new.Id, Buckets), 2),
    new.Id, new.Department, new.Email FROM Place;
END;
INSERT INTO User VALUES ('001601', 'Sales', 'jonesj@contoso.com');
INSERT INTO User VALUES ('001601', 'Legal', 'donh@contoso.com');     -- ids stay unique (409)
.parameter set :id "'001601'"
SELECT PartitionKey, RowKey, Email FROM Bucketed JOIN Place
  ON PartitionKey = 'user-' || pt_pad(pt_hash_bucket(:id, Buckets), 2) AND RowKey = :id;

-- WRONG: a program that still writes with another number of buckets. The same id gets into a second
-- partition, and nothing prevents it.
INSERT INTO Bucketed
  VALUES ('user-' || pt_pad(pt_hash_bucket('001601', 10), 2), '001601', 'Legal', NULL);
SELECT PartitionKey, RowKey, Department FROM Bucketed WHERE RowKey = '001601';
-- Computing every key again finds such strays, and here deletes them.
DELETE FROM Bucketed WHERE PartitionKey <>
  'user-' || pt_pad(pt_hash_bucket(RowKey, (SELECT Buckets FROM Place)), 2);
SELECT changes() AS "strays deleted";

.print
.print == From 16 to 32 buckets: the entities and the setting in one transaction
-- About half of the entities move; to 17 buckets it would be nearly all.
SELECT count(*) FILTER (WHERE pt_hash_bucket(RowKey, 16) <> pt_hash_bucket(RowKey, 32)) AS "to 32",
       count(*) FILTER (WHERE pt_hash_bucket(RowKey, 16) <> pt_hash_bucket(RowKey, 17)) AS "to 17"
  FROM Bucketed;
-- Others see the old partitions with the old number until COMMIT, then the new ones.
BEGIN;
UPDATE OR ROLLBACK Setting SET Buckets = 32 WHERE PartitionKey = 'hash' AND RowKey = 'User';
UPDATE OR ROLLBACK Bucketed
  SET PartitionKey = 'user-' || pt_pad(pt_hash_bucket(RowKey, (SELECT Buckets FROM Place)), 2)
  WHERE PartitionKey <> 'user-' || pt_pad(pt_hash_bucket(RowKey, (SELECT Buckets FROM Place)), 2);
SELECT changes() AS moved;
COMMIT;
SELECT count(*) AS partitions, min(Entities) AS smallest, max(Entities) AS largest,
       sum(Entities) AS users FROM pt_partitions('Bucketed');
SELECT PartitionKey, RowKey, Email FROM Bucketed JOIN Place
  ON PartitionKey = 'user-' || pt_pad(pt_hash_bucket(:id, Buckets), 2) AND RowKey = :id;

.print
.print == The plain way: one partition
-- A store on one machine has no partition servers to spread load over, and has one writer at a time
-- whatever the partition. With PartitionKey '' and the id as RowKey there is no hash, and ids are
-- in order: better, unless the data comes from the service or will go there.
CREATE VIRTUAL TABLE Plain USING ptable(Department String, Email String);
INSERT INTO Plain SELECT '', Id, Department, Email FROM User;
.eqp on
SELECT RowKey, Email FROM Plain
  WHERE PartitionKey = '' AND RowKey > '000222' ORDER BY RowKey LIMIT 3;
