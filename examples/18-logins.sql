-- Logins
-- Problem: users are found by id, and by the e-mail address that they log in with. An address
--   belongs to one user, but it may change, and a user may log in in several ways.
-- Solution: two entities in two tables, first the user, then the login. If the login exists, the
--   address is taken, and the user that was stored is an orphan: harmless, and cleaned up later.
-- When: no transaction spans the tables, as on the service. Here one does, and leaves no orphan.
.load ./ptable
.mode box

.print == The pattern
CREATE VIRTUAL TABLE Users USING ptable(Email String);
CREATE VIRTUAL TABLE Logins USING ptable(EntityId String);
BEGIN;
INSERT OR ROLLBACK INTO Users VALUES ('u1', 'details', 'JonesJ@contoso.com');
INSERT OR ROLLBACK INTO Logins VALUES (lower('JonesJ@contoso.com'), 'password', 'u1');
COMMIT;
SELECT Users.PartitionKey AS id, Email FROM Logins
  JOIN Users ON Users.PartitionKey = EntityId AND Users.RowKey = 'details'
  WHERE Logins.PartitionKey = 'jonesj@contoso.com' AND Logins.RowKey = 'password';

-- In detail, in a new database
--
-- Keys: Users   PartitionKey the user's id: 'u1', RowKey 'details'
--       Logins  PartitionKey the address in lower case, RowKey the kind of login; EntityId
-- Costs: two writes, and a clean-up now and then. Logging in is two point queries.
-- Better in SQL: one transaction over both tables leaves no orphans, so nothing needs cleaning up.
.open :memory:
.load ./ptable

CREATE VIRTUAL TABLE Users USING ptable(Email String, CreatedAt DateTime);
CREATE VIRTUAL TABLE Logins USING ptable(EntityId String);

.print
.print == Register, in the order of the Table service
INSERT INTO Users VALUES ('u1', 'details', 'JonesJ@contoso.com', '2026-11-21 08:00');
INSERT INTO Logins VALUES (lower('JonesJ@contoso.com'), 'password', 'u1');
-- Another kind of login is another RowKey, added later. Every user has the kind password, so that
-- is the row that shows if an address is taken.
INSERT INTO Logins VALUES (lower('JonesJ@contoso.com'), 'card', 'u1');

-- Log in: two point queries.
.eqp on
SELECT Users.PartitionKey AS UserId, Email FROM Logins
  JOIN Users ON Users.PartitionKey = EntityId AND Users.RowKey = 'details'
  WHERE Logins.PartitionKey = lower('jonesJ@CONTOSO.com') AND Logins.RowKey = 'password';
.eqp off

-- The same address again: the user is stored, the login is refused (409), the user is an orphan.
INSERT INTO Users VALUES ('u2', 'details', 'jonesj@contoso.com', '2026-11-21 08:10');
INSERT INTO Logins VALUES ('jonesj@contoso.com', 'password', 'u2');

-- The program ended between the two: u3 is another orphan. Registering again, with a new id, works:
-- the address is still free.
INSERT INTO Users VALUES ('u3', 'details', 'kwokk@contoso.com', '2026-11-21 08:20');
INSERT INTO Users VALUES ('u4', 'details', 'kwokk@contoso.com', '2026-11-21 08:30');
INSERT INTO Logins VALUES ('kwokk@contoso.com', 'password', 'u4');

-- The other order would lock the address. If the program ends after the login, there is no user u5
-- to log in as, and nobody can register with this address any more.
INSERT INTO Logins VALUES ('halld@contoso.com', 'password', 'u5');
INSERT INTO Logins VALUES ('halld@contoso.com', 'password', 'u6');
SELECT PartitionKey AS Email, EntityId FROM Logins WHERE NOT EXISTS
  (SELECT 1 FROM Users WHERE Users.PartitionKey = EntityId AND Users.RowKey = 'details');
DELETE FROM Logins WHERE PartitionKey = 'halld@contoso.com';

.print
.print == Clean-up
-- It is 10:00. u7 and u8 have been stored, their logins have not yet.
.parameter set :now "'2026-11-21 10:00'"
INSERT INTO Users VALUES ('u7', 'details', 'agara@contoso.com', '2026-11-21 08:40'),
  ('u8', 'details', 'nashn@contoso.com', '2026-11-21 09:59');

-- Users without a login: an anti-join. It reads every user and seeks in the partition of the user's
-- address. Some are not orphans yet: u8 is just being registered, so there is an age limit.
CREATE VIEW Orphan AS SELECT PartitionKey AS UserId, CreatedAt, ETag FROM Users
  WHERE RowKey = 'details' AND NOT EXISTS (SELECT 1 FROM Logins
    WHERE Logins.PartitionKey = lower(Users.Email) AND EntityId = Users.PartitionKey);
.eqp on
SELECT UserId, CreatedAt, CreatedAt < pt_datetime(datetime(:now, '-1 hour')) AS old FROM Orphan;
.eqp off

-- The clean-up reads first and deletes later. It keeps the ETag of each user that it has read.
CREATE TEMP TABLE Seen AS SELECT UserId, ETag FROM Orphan
  WHERE CreatedAt < pt_datetime(datetime(:now, '-1 hour'));

-- Meanwhile Ann resumes her interrupted registration as u7. A program that resumes one first sets
-- CreatedAt, if the user still exists: that gives a new ETag, and another hour.
UPDATE Users SET CreatedAt = :now WHERE PartitionKey = 'u7' AND RowKey = 'details';
SELECT changes() AS "u7 is there";

-- Delete each user that is still the version that was read. u7 has changed and stays.
DELETE FROM Users WHERE RowKey = 'details'
  AND (PartitionKey, ETag) IN (SELECT UserId, ETag FROM Seen);
SELECT (SELECT group_concat(UserId, ' ') FROM Seen) AS seen, changes() AS deleted,
  (SELECT group_concat(PartitionKey, ' ') FROM Users) AS "users now";
-- So Ann's login gets a user that exists. Anyone who resumes after the clean-up starts over.
INSERT INTO Logins VALUES ('agara@contoso.com', 'password', 'u7');
UPDATE Users SET CreatedAt = :now WHERE PartitionKey = 'u3' AND RowKey = 'details';
SELECT changes() AS "u3 is there";

-- Here the clean-up is one statement, and no one can write between its reading and its deleting: it
-- needs no ETags. It still needs the age limit as long as registrations are two transactions. It is
-- 11:30 now, and u8 has not come back.
.parameter set :now "'2026-11-21 11:30'"
DELETE FROM Users WHERE RowKey = 'details' AND PartitionKey IN
  (SELECT UserId FROM Orphan WHERE CreatedAt < pt_datetime(datetime(:now, '-1 hour')));
SELECT changes() AS deleted, (SELECT group_concat(PartitionKey, ' ') FROM Users) AS "users now";

.print
.print == The plain way: one transaction
-- Both tables are in one store, so one transaction writes both. If the address is taken, OR
-- ROLLBACK undoes the user too, and a program that ends in between leaves nothing: there are no
-- orphans and no clean-up. (The statement that can fail is the last one. A statement after it in
-- the script would run outside the transaction: 26-replace-and-merge.sql.)
BEGIN;
INSERT OR ROLLBACK INTO Users VALUES ('u9', 'details', 'KwokK@contoso.com', :now);
INSERT OR ROLLBACK INTO Logins VALUES (lower('KwokK@contoso.com'), 'password', 'u9');
COMMIT;
SELECT count(*) AS "u9 is there" FROM Users WHERE PartitionKey = 'u9' AND RowKey = 'details';

-- Jun changes the address: all kinds of login move, to an address that is free or not at all.
BEGIN;
UPDATE OR ROLLBACK Users SET Email = 'Jun@contoso.com'
  WHERE PartitionKey = 'u1' AND RowKey = 'details';
UPDATE OR ROLLBACK Logins SET PartitionKey = 'jun@contoso.com'
  WHERE PartitionKey = 'jonesj@contoso.com';
COMMIT;
SELECT Email, Logins.RowKey AS login FROM Users
  JOIN Logins ON Logins.PartitionKey = lower(Email) WHERE Users.PartitionKey = 'u1';
