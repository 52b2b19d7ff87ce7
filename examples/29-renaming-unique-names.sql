-- Renaming users whose names are unique
-- Problem: users log in by name. No two names may be equal, not even when they differ only in case.
--   Users change their names; no two may end up with the same name, and no one with two.
-- Solution: an entity for the user and one that reserves the name, in one partition, so that one
--   entity group transaction writes both. INSERT of a name that is taken fails with 409.
-- When: names are unique and change.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE User USING ptable(Name String, UserId String);
INSERT INTO User VALUES ('users', 'id-223', 'JonesJ', NULL), ('users', 'name-jonesj', NULL, '223');
BEGIN;                                          -- rename; if the name is taken, nothing changes
UPDATE OR ROLLBACK User SET RowKey = 'name-junj'
  WHERE PartitionKey = 'users' AND RowKey = 'name-jonesj';
UPDATE OR ROLLBACK User SET Name = 'JunJ' WHERE PartitionKey = 'users' AND RowKey = 'id-223';
COMMIT;
SELECT * FROM User;

-- In detail, in a new database
--
-- Keys: User  PartitionKey 'users', RowKey of the user 'id-223', of the name in lower case
--         'name-jonesj', whose IndexedEntityId leads back. The prefixes keep a name that looks like
--         an id apart from ids. NameKey in the user's row is the name that it has reserved.
-- Costs: a log-in is two point queries; a renaming is three operations in one transaction.
-- Better in SQL: one UPDATE renames. It changes the key of the name's row, which fails with 409 if
--   the new one is taken, and is also right when only the case changes.
.open :memory:
.load ./ptable
.nullvalue NULL
CREATE VIRTUAL TABLE User USING ptable(
  Name String, NameKey String, IndexedEntityId String, batch=azure);
INSERT INTO User VALUES ('users', 'id-223', 'JonesJ', 'jonesj', NULL),
                        ('users', 'name-jonesj', NULL, NULL, '223');
INSERT INTO User VALUES ('users', 'id-312', 'KenK', 'kenk', NULL),
                        ('users', 'name-kenk', NULL, NULL, '312');

.print
.print == Log in
-- Log in: from the name, in any case, to the id, to the user.
.eqp on
SELECT id.RowKey, id.Name FROM User AS name
  JOIN User AS id ON id.PartitionKey = 'users' AND id.RowKey = 'id-' || name.IndexedEntityId
  WHERE name.PartitionKey = 'users' AND name.RowKey = 'name-' || lower('JONESJ');
.eqp off

.print
.print == Rename as in the service
-- Rename as in the service: insert the new name, delete the old one, change the user. IfMatch = '*'
-- requires that the old name and the user exist (404).
BEGIN;
INSERT OR ROLLBACK INTO User(PartitionKey, RowKey, IndexedEntityId)
  VALUES ('users', 'name-junj', '223');
INSERT OR ROLLBACK INTO User(PartitionKey, RowKey, WriteMode, IfMatch)
  VALUES ('users', 'name-jonesj', 'delete', '*');
INSERT OR ROLLBACK INTO User(PartitionKey, RowKey, Name, NameKey, WriteMode, IfMatch)
  VALUES ('users', 'id-223', 'JunJ', 'junj', 'merge', '*');
COMMIT;
SELECT RowKey, Name, NameKey, IndexedEntityId FROM User;

-- The same by someone who does not know that: the old name no longer exists, 404.
BEGIN;
INSERT OR ROLLBACK INTO User VALUES ('users', 'name-jonesjun', NULL, NULL, '223');
INSERT OR ROLLBACK INTO User(PartitionKey, RowKey, WriteMode, IfMatch)
  VALUES ('users', 'name-jonesj', 'delete', '*');
COMMIT;

.print
.print == A name that is taken
-- A name that is taken: 409, and OR ROLLBACK has ended the transaction. Nothing has changed. The
-- other two statements must not be run now: they would be transactions of their own. Programs stop
-- at the first error, and so does the shell with .bail on.
BEGIN;
INSERT OR ROLLBACK INTO User(PartitionKey, RowKey, IndexedEntityId)
  VALUES ('users', 'name-kenk', '223');
COMMIT;
SELECT RowKey, Name FROM User;

.print
.print == In SQL: one statement
-- In SQL it is one statement, atomic without BEGIN and COMMIT. In a trigger of a view it is written
-- once, and a program just says UPDATE Person. The old name comes from the user's row, so no other
-- name is deleted.
CREATE VIEW Person AS SELECT RowKey, Name, NameKey FROM User
  WHERE PartitionKey = 'users' AND RowKey GLOB 'id-*';
CREATE TRIGGER Rename INSTEAD OF UPDATE OF Name ON Person BEGIN
  UPDATE User SET
      RowKey  = iif(RowKey = old.RowKey, RowKey, 'name-' || lower(new.Name)),
      Name    = iif(RowKey = old.RowKey, new.Name, NULL),
      NameKey = iif(RowKey = old.RowKey, lower(new.Name), NULL)
    WHERE PartitionKey = 'users' AND RowKey IN (old.RowKey, 'name-' || old.NameKey);
END;
UPDATE Person SET Name = 'Jun' WHERE RowKey = 'id-223';
SELECT RowKey, Name, NameKey, IndexedEntityId FROM User;
-- Taken, even in another case: 409, and nothing has changed.
UPDATE Person SET Name = 'KENK' WHERE RowKey = 'id-223';
SELECT RowKey, Name, NameKey, IndexedEntityId FROM User;

.print
.print == Only the case changes
-- Jun wants to be JUN. For the pattern this is a special case, because both names have one row.
-- Inserting first: the name is taken, by Jun.
BEGIN;
INSERT OR ROLLBACK INTO User VALUES ('users', 'name-jun', NULL, NULL, '223');
-- Deleting first: a group may contain each entity only once, and the service refuses all of it.
BEGIN;
INSERT OR ROLLBACK INTO User(PartitionKey, RowKey, WriteMode, IfMatch)
  VALUES ('users', 'name-jun', 'delete', '*');
INSERT OR ROLLBACK INTO User VALUES ('users', 'name-jun', NULL, NULL, '223');
-- Right: if the new NameKey is the old one, the name's row is left alone.
INSERT INTO User(PartitionKey, RowKey, Name, WriteMode, IfMatch)
  VALUES ('users', 'id-223', 'JUN', 'merge', '*');
SELECT RowKey, Name, NameKey, IndexedEntityId FROM User
  WHERE PartitionKey = 'users' AND RowKey IN ('id-223', 'name-jun');
-- The UPDATE needs no such care: a key that stays the same is not a conflict, and is one operation.
UPDATE Person SET Name = 'jun' WHERE RowKey = 'id-223';
SELECT RowKey, Name, NameKey, IndexedEntityId FROM User
  WHERE PartitionKey = 'users' AND RowKey IN ('id-223', 'name-jun');

.print
.print == Lower case beyond ASCII
-- Lower case beyond ASCII. SQLite's lower() knows A to Z only and leaves other letters as they are.
-- Other programs differ, even from each other: the first name begins with i and a combining dot in
-- Python and JavaScript, with a plain i by Turkish rules; the second becomes weiss where case is
-- folded; the third ends with the final small sigma in some programs and not in others.
SELECT column1 AS name, lower(column1) FROM (VALUES ('İPEK'), ('WEIß'), ('ΟΔΥΣΣΕΥΣ'));
-- So this name is there twice, without an error.
INSERT INTO User VALUES ('users', 'id-400', 'ÉLODIE', lower('ÉLODIE'), NULL),
                        ('users', 'name-' || lower('ÉLODIE'), NULL, NULL, '400');
INSERT INTO User VALUES ('users', 'id-401', 'Élodie', 'élodie', NULL),   -- a program's lower case
                        ('users', 'name-élodie', NULL, NULL, '401');
SELECT RowKey, Name, NameKey FROM User
  WHERE PartitionKey = 'users' AND pt_starts_with(RowKey, 'id-4');
-- Either allow only ASCII, by a check in every statement that writes a name: nothing is inserted.
INSERT INTO User SELECT 'users', 'id-402', name, lower(name), NULL
  FROM (SELECT 'İPEK' AS name) WHERE name NOT GLOB '*[^ -~]*';
SELECT changes();
-- Or fold names in one function, the same in all programs (normalize to NFKC, fold case), and pass
-- its result to SQL. It is stored in NameKey, and deleting or renaming takes the key from there
-- instead of computing it with another library, or with next year's.
INSERT INTO User VALUES ('users', 'id-403', 'Weiß', 'weiss', NULL),
                        ('users', 'name-weiss', NULL, NULL, '403');
INSERT INTO User VALUES ('users', 'id-404', 'WEISS', 'weiss', NULL),
                        ('users', 'name-weiss', NULL, NULL, '404');

.print
.print == A name that looks like an id
-- A name that looks like an id takes nothing from the user with that id.
INSERT INTO User VALUES ('users', 'id-405', 'id-312', 'id-312', NULL),
                        ('users', 'name-id-312', NULL, NULL, '405');

.print
.print == Delete
-- Delete: both rows in one statement. One that computes the name's key misses it for 'id-403'.
BEGIN;
DELETE FROM User WHERE PartitionKey = 'users' AND RowKey IN ('id-403', 'name-' || lower('Weiß'));
SELECT changes();
ROLLBACK;
DELETE FROM User WHERE PartitionKey = 'users' AND RowKey IN ('id-403', (SELECT 'name-' || NameKey
  FROM User WHERE PartitionKey = 'users' AND RowKey = 'id-403'));
SELECT changes();

.print
.print == Is anything left over?
-- A check to run now and then: users without their name, and names without their user. There are
-- none.
SELECT count(*) AS halves FROM User AS one WHERE PartitionKey = 'users' AND NOT EXISTS (
  SELECT 1 FROM User AS two WHERE two.PartitionKey = 'users' AND two.RowKey =
    iif(one.RowKey GLOB 'id-*', 'name-' || one.NameKey, 'id-' || one.IndexedEntityId));
