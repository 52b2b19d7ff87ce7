-- Unique names
-- Problem: a user's projects have ids and unique names. Only keys are unique, and the id is already
--   the key: names change, keys cannot.
-- Solution: a second entity in the same partition has the name as its key. Both are inserted in one
--   batch (entity group transaction). If the name is taken, nothing is written (409).
-- When: something that is not the key must be unique within a partition.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Project USING ptable(Name String, IndexedEntityId String);
INSERT INTO Project VALUES ('user1', 'id-1',         'Roadmap', NULL),
                           ('user1', 'name-roadmap', NULL,      '1');
INSERT INTO Project VALUES ('user1', 'id-2',         'ROADMAP', NULL),        -- taken
                           ('user1', 'name-' || lower('ROADMAP'), NULL, '2');
SELECT RowKey, Name FROM Project WHERE PartitionKey = 'user1';

-- In detail, in a new database
--
-- Keys: PartitionKey  the user's id: 'user1'
--       RowKey        'id-' and the id: the project
--                     'name-' and the name in lower case; IndexedEntityId is the project's id
-- Costs: two writes for each project. Finding one by its name is two point queries.
-- Better in SQL: one INSERT writes both entities, one join finds by name, and renaming is an UPDATE
--   of the key, even if only the case changes.
.open :memory:
.load ./ptable
.nullvalue NULL

-- limits='azure' and batch='azure' hold the table to the Table service's limits and batches.
CREATE VIRTUAL TABLE Project USING ptable(
  Name String, Budget Int32, IndexedEntityId String, limits='azure', batch='azure');
.parameter set :roadmap "'7f1e55e0-0d42-4b5e-9a3c-1f0a6c1d2b01'"
.parameter set :website "'7f1e55e0-0d42-4b5e-9a3c-1f0a6c1d2b02'"

.print
.print == Insert
-- One statement is one transaction, so both entities are inserted or neither.
INSERT INTO Project VALUES
  ('user1', 'id-' || :roadmap, 'Roadmap', 100, NULL),
  ('user1', 'name-' || lower('Roadmap'), NULL, NULL, :roadmap);

-- The name is taken, in any case: 409 for the name, and the project is not inserted either.
INSERT INTO Project VALUES
  ('user1', 'id-' || :website, 'ROADMAP', 50, NULL),
  ('user1', 'name-' || lower('ROADMAP'), NULL, NULL, :website);
SELECT RowKey, Name, Budget, IndexedEntityId FROM Project;

-- As two statements they need OR ROLLBACK. Leaving it out is WRONG: SQL goes on after the one that
-- failed, and COMMIT keeps a project whose name belongs to another.
BEGIN;
INSERT INTO Project VALUES ('user1', 'id-' || :website, 'Roadmap', 50, NULL);
INSERT INTO Project VALUES ('user1', 'name-roadmap', NULL, NULL, :website);
COMMIT;
SELECT Name FROM Project WHERE PartitionKey = 'user1' AND RowKey = 'id-' || :website;
DELETE FROM Project WHERE PartitionKey = 'user1' AND RowKey = 'id-' || :website;
-- With it the failure ends the transaction, and COMMIT finds no transaction.
BEGIN;
INSERT OR ROLLBACK INTO Project VALUES ('user1', 'id-' || :website, 'Roadmap', 50, NULL);
INSERT OR ROLLBACK INTO Project VALUES ('user1', 'name-roadmap', NULL, NULL, :website);
COMMIT;
SELECT count(*) AS written FROM Project WHERE PartitionKey = 'user1' AND RowKey = 'id-' || :website;

-- A name may look like an id: the prefixes keep them apart. In another partition it is free.
INSERT INTO Project VALUES
  ('user1', 'id-' || :website, :roadmap, 50, NULL),
  ('user1', 'name-' || :roadmap, NULL, NULL, :website),
  ('user1', 'id-3', 'Website', 5, NULL),
  ('user1', 'name-website', NULL, NULL, '3');
INSERT INTO Project VALUES
  ('user2', 'id-4', 'Roadmap', 70, NULL), ('user2', 'name-roadmap', NULL, NULL, '4');
SELECT PartitionKey, RowKey, coalesce(Name, '-> ' || IndexedEntityId) AS "name or id" FROM Project;

.print
.print == Find
-- By name: two point queries, in one statement.
.eqp on
SELECT P.RowKey, P.Name, P.Budget
  FROM Project AS N JOIN Project AS P
    ON P.PartitionKey = N.PartitionKey AND P.RowKey = 'id-' || N.IndexedEntityId
  WHERE N.PartitionKey = 'user1' AND N.RowKey = 'name-' || lower('roadMAP');
.eqp off
SELECT Name FROM Project WHERE PartitionKey = 'user1' AND pt_starts_with(RowKey, 'id-');   -- all

.print
.print == Rename
-- The entity of the name moves to the new name. To a name that is taken: 409, all undone.
BEGIN;
UPDATE OR ROLLBACK Project SET Name = 'Website'
  WHERE PartitionKey = 'user1' AND RowKey = 'id-' || :roadmap;
UPDATE OR ROLLBACK Project SET RowKey = 'name-' || lower('Website')
  WHERE PartitionKey = 'user1' AND RowKey = 'name-' || lower('Roadmap');
COMMIT;
SELECT Name FROM Project WHERE PartitionKey = 'user1' AND RowKey = 'id-' || :roadmap;
-- To a free one. (If several programs rename the same project, the second UPDATE may find the old
-- name gone: 29-renaming-unique-names.sql.)
BEGIN;
UPDATE OR ROLLBACK Project SET Name = 'Road Map'
  WHERE PartitionKey = 'user1' AND RowKey = 'id-' || :roadmap;
UPDATE OR ROLLBACK Project SET RowKey = 'name-' || lower('Road Map')
  WHERE PartitionKey = 'user1' AND RowKey = 'name-' || lower('Roadmap');
COMMIT;

-- Only the case changes: the name keeps its key. A batch that deletes and inserts it has the same
-- entity twice and is refused ...
BEGIN;
DELETE FROM Project WHERE PartitionKey = 'user1' AND RowKey = 'name-' || lower('Road Map');
INSERT OR ROLLBACK INTO Project
  VALUES ('user1', 'name-' || lower('ROAD MAP'), NULL, NULL, :roadmap);
COMMIT;
-- ... while the same two UPDATEs as above work: the second one leaves the key as it is.
BEGIN;
UPDATE OR ROLLBACK Project SET Name = 'ROAD MAP'
  WHERE PartitionKey = 'user1' AND RowKey = 'id-' || :roadmap;
UPDATE OR ROLLBACK Project SET RowKey = 'name-' || lower('ROAD MAP')
  WHERE PartitionKey = 'user1' AND RowKey = 'name-' || lower('Road Map');
COMMIT;
SELECT RowKey, Name, IndexedEntityId FROM Project
  WHERE PartitionKey = 'user1' AND (RowKey = 'id-' || :roadmap OR IndexedEntityId = :roadmap);

-- SQLite's lower() knows only ASCII: it would let both Été and ÉTÉ in. Other libraries know more,
-- but not all the same of İ, ß and Σ. Make the keys in one place, by one function of the program.
SELECT lower('Été') AS key, lower('ÉTÉ') AS "another key", lower('İßΣ') AS "left as it is";

.print
.print == Delete
-- Both entities; the name comes from the project. After that the name is free.
DELETE FROM Project WHERE PartitionKey = 'user1' AND RowKey IN ('id-' || :roadmap,
  (SELECT 'name-' || lower(Name) FROM Project
    WHERE PartitionKey = 'user1' AND RowKey = 'id-' || :roadmap));
SELECT changes() AS deleted;
INSERT INTO Project VALUES
  ('user1', 'id-5', 'Road map', 1, NULL), ('user1', 'name-' || lower('Road map'), NULL, NULL, '5');

.print
.print == The plain way
-- No entities for names: a statement sees one state of the store, and no one can write between its
-- check and its INSERT. It reads all projects of the user, so it is right if these are few.
CREATE VIRTUAL TABLE Plain USING ptable(Name String);
INSERT INTO Plain VALUES ('user1', '1', 'Roadmap');
INSERT INTO Plain SELECT 'user1', '2', 'ROADMAP' WHERE NOT EXISTS
  (SELECT 1 FROM Plain WHERE PartitionKey = 'user1' AND lower(Name) = lower('ROADMAP'));
SELECT changes() AS inserted;

.print
.print == An index of the store instead of entities for names
-- unique() also holds for a thousand projects and for programs that do not know of the rule. The
-- service has no such index. The name that counts is a property of its own, in lower case.
CREATE VIRTUAL TABLE Own USING ptable(Name String, NameKey String, unique(PartitionKey, NameKey));
INSERT INTO Own VALUES
  ('user1', '1', 'Roadmap', lower('Roadmap')), ('user2', '1', 'Roadmap', lower('Roadmap'));
INSERT INTO Own VALUES ('user1', '2', 'ROADMAP', lower('ROADMAP'));
