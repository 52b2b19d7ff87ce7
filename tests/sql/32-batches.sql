-- Entity group transactions: several operations that happen all or not at all. A batch is BEGIN ...
-- COMMIT; SQL goes on after a statement that fails, so the statements say OR ROLLBACK, or the
-- program stops at the first error and rolls back, as the shell does with .bail on.
.open bank.db
.load ./ptable
CREATE VIRTUAL TABLE Account USING ptable(Owner String, Balance Int64, Entries Int32);
CREATE VIEW State AS SELECT RowKey, Owner, Balance, Entries FROM Account WHERE PartitionKey = 'bank';
INSERT INTO Account VALUES ('bank', 'a', 'Ann', 100, 1), ('bank', 'b', 'Bob', 0, 1), ('bank', 'old', 'Cid', 0, 0);

-- A batch of every kind of operation, all of which succeed.
BEGIN;
INSERT OR ROLLBACK INTO Account VALUES ('bank', 'c', 'Cleo', 0, 0);
INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch) VALUES ('bank', 'a', 70, 'merge', '*');
INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch) VALUES ('bank', 'b', 30, 'merge', '*');
INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('bank', 'old', 'delete', '*');
UPDATE OR ROLLBACK Account SET Entries = Entries + 1 WHERE PartitionKey = 'bank' AND RowKey IN ('a', 'b');
COMMIT;
SELECT * FROM State;

-- Insert of what exists, 409: the whole batch is taken back, and the transaction is over. What
-- follows it in the batch is then a transaction of its own, so it must not go on blindly: here the
-- rest of the batch is COMMIT, which says that there is nothing to commit.
BEGIN;
INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch) VALUES ('bank', 'a', 0, 'merge', '*');
INSERT OR ROLLBACK INTO Account VALUES ('bank', 'c', 'Cleo', 70, 1);
COMMIT;
SELECT * FROM State;

-- An entity that is gone, 404.
BEGIN;
INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch) VALUES ('bank', 'a', 0, 'merge', '*');
INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch) VALUES ('bank', 'old', 70, 'merge', '*');
COMMIT;
SELECT * FROM State;

-- An entity that has changed since it was read, 412: two rows in one statement, the second fails.
CREATE TEMP TABLE Seen AS SELECT RowKey AS rk, Balance AS balance, ETag AS tag FROM Account;
UPDATE Account SET Entries = 3 WHERE PartitionKey = 'bank' AND RowKey = 'b';
BEGIN;
INSERT OR ROLLBACK INTO Account VALUES ('bank', 'd', 'Dan', 0, 0);
INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch)
  SELECT 'bank', rk, balance + 1, 'merge', tag FROM Seen ORDER BY rk;
COMMIT;
SELECT * FROM State;

-- UPDATE OR ROLLBACK that moves an entity onto another.
BEGIN;
DELETE FROM Account WHERE PartitionKey = 'bank' AND RowKey = 'a';
UPDATE OR ROLLBACK Account SET RowKey = 'b' WHERE PartitionKey = 'bank' AND RowKey = 'c';
COMMIT;
SELECT * FROM State;

-- The quiet forms do not fail where they find nothing: a batch that relies on them asks changes(),
-- or uses the loud forms.
BEGIN;
UPDATE OR ROLLBACK Account SET Balance = 5 WHERE PartitionKey = 'bank' AND RowKey = 'a'
  AND ETag = (SELECT tag FROM Seen WHERE rk = 'b');
SELECT changes();
ROLLBACK;

-- OR ROLLBACK acts when a constraint is broken. A value of the wrong type breaks none, as in any
-- table: the statement fails, and the transaction is still open.
BEGIN;
INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch) VALUES ('bank', 'a', 0, 'merge', '*');
INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch) VALUES ('bank', 'b', 'all', 'merge', '*');
ROLLBACK;
SELECT * FROM State;

-- Without OR ROLLBACK only the statement that failed is taken back. ROLLBACK TO leaves a part out
-- on purpose.
BEGIN;
INSERT INTO Account(PartitionKey, RowKey, Entries, WriteMode, IfMatch) VALUES ('bank', 'a', 10, 'merge', '*');
SAVEPOINT part;
INSERT INTO Account(PartitionKey, RowKey, Entries, WriteMode, IfMatch) VALUES ('bank', 'b', 10, 'merge', '*');
INSERT INTO Account(PartitionKey, RowKey, Entries, WriteMode, IfMatch) VALUES ('bank', 'old', 10, 'merge', '*');
ROLLBACK TO part;
INSERT INTO Account(PartitionKey, RowKey, Entries, WriteMode, IfMatch) VALUES ('bank', 'c', 10, 'merge', '*');
COMMIT;
SELECT * FROM State;

-- The unique-name index: an entity and the entry for its name, both by insert. A name that is taken
-- stops the batch, and nothing of it is stored.
CREATE VIRTUAL TABLE Person USING ptable(Name String, EntityId String);
BEGIN;
INSERT OR ROLLBACK INTO Person VALUES ('u', 'id-1', 'Ann', NULL), ('u', 'name-ann', NULL, '1');
COMMIT;
BEGIN;
INSERT OR ROLLBACK INTO Person VALUES ('u', 'id-2', 'ann', NULL), ('u', 'name-ann', NULL, '2');
COMMIT;
-- Renaming: the new name is inserted, the old one deleted, the person changed.
BEGIN;
INSERT OR ROLLBACK INTO Person(PartitionKey, RowKey, EntityId) VALUES ('u', 'name-anna', '1');
INSERT OR ROLLBACK INTO Person(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('u', 'name-ann', 'delete', '*');
INSERT OR ROLLBACK INTO Person(PartitionKey, RowKey, Name, WriteMode, IfMatch) VALUES ('u', 'id-1', 'Anna', 'merge', '*');
COMMIT;
SELECT RowKey, Name, EntityId FROM Person;

-- .bail on ends a script at its first error, and leaving a connection rolls its transaction back:
-- a batch without OR ROLLBACK, whatever goes wrong in it. A second shell runs it from a file.
.once transfer.sql
SELECT '
.load ./ptable
.bail on
BEGIN;
INSERT INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch) VALUES (''bank'', ''a'', 0, ''merge'', ''*'');
INSERT INTO Account(PartitionKey, RowKey, Balance, WriteMode, IfMatch) VALUES (''bank'', ''b'', ''all'', ''merge'', ''*'');
COMMIT;
SELECT ''not reached'';';
.shell sqlite3 -batch bank.db < transfer.sql 2>&1 || true
SELECT * FROM State;
