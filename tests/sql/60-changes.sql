-- The changes of a table: what has been written and deleted since a time.
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(Name String, Age Int32, index(Age), table=Employees, store='changes.ptable');
INSERT INTO Employee(PartitionKey, RowKey, Name, Age) VALUES ('Sales', '1', 'Ann', 34), ('Sales', '2', 'Ben', 28), ('IT', '3', 'Cho', 41);
SELECT * FROM pt_changes('Employee', NULL);
SELECT * FROM pt_changes('Elsewhere', NULL);
SELECT count(*) FROM pt_changes(NULL, NULL), pt_changes('changes.ptable', NULL, NULL);
UPDATE pt_tables SET Changes = 'on' WHERE Store = 'changes.ptable' AND TableName = 'Employees';
SELECT TableName, Changes, Expires, Horizon >= (SELECT max(Timestamp) FROM Employee) FROM pt_tables WHERE Store = 'changes.ptable';
-- The last row of a first copy has at least the horizon as its Timestamp.
SELECT c.PartitionKey, c.RowKey, c.WriteMode, c.Properties, c.Timestamp = e.Timestamp FROM pt_changes('Employee', NULL) c JOIN Employee e USING (PartitionKey, RowKey);
CREATE TABLE Follower(since);
INSERT INTO Follower SELECT max(Timestamp) FROM pt_changes('Employee', NULL);
CREATE VIEW News AS SELECT PartitionKey, RowKey, WriteMode, Properties FROM Follower, pt_changes('changes.ptable', 'Employees', since);
SELECT * FROM News;
SELECT PartitionKey, RowKey, WriteMode, Properties FROM Follower, pt_changes('changes.ptable', 'Employees', since);
INSERT INTO Employee(PartitionKey, RowKey, Name, WriteMode) VALUES ('Sales', '2', 'Bea', 'merge'), ('IT', '3', NULL, 'delete'), ('IT', '4', 'Dan', 'insert');
UPDATE Employee SET RowKey = '10', Name = NULL WHERE RowKey = '1';
SELECT PartitionKey, RowKey, WriteMode, Properties FROM Follower, pt_changes('Employee', since);
SELECT PartitionKey, RowKey FROM Follower, pt_changes('Employee', since) LIMIT 2;
SELECT count(*), count(DISTINCT c.Timestamp), max(c.Timestamp) = (SELECT LastWrite FROM pt_stores) FROM Follower, pt_changes('Employee', since) c;
-- In a transaction with its own writes; each key once, as it is.
BEGIN;
INSERT INTO Employee(PartitionKey, RowKey, Name) VALUES ('IT', '3', 'Cho again');
UPDATE Employee SET Age = 1 WHERE RowKey = '2';
UPDATE Employee SET Age = 2 WHERE RowKey = '2';
DELETE FROM pt_partitions WHERE TableName = 'Employees' AND Store = 'changes.ptable' AND PartitionKey = 'IT';
SELECT PartitionKey, RowKey, WriteMode, Properties FROM Follower, pt_changes('Employee', since);
SAVEPOINT s;
DELETE FROM Employee;
SELECT group_concat(RowKey || ' ' || WriteMode) FROM Follower, pt_changes('Employee', since);
ROLLBACK TO s;
SELECT group_concat(RowKey || ' ' || WriteMode) FROM Follower, pt_changes('Employee', since);
ROLLBACK;
-- A statement that writes the table reads what was there.
INSERT INTO Employee(PartitionKey, RowKey, Properties) SELECT 'copy', RowKey, Properties FROM pt_changes('Employee', NULL);
DELETE FROM Employee WHERE (PartitionKey, RowKey) IN (SELECT PartitionKey, RowKey FROM pt_changes('Employee', NULL) WHERE PartitionKey = 'copy');
SELECT group_concat(PartitionKey || RowKey || ' ' || WriteMode) FROM Follower, pt_changes('Employee', since);
-- Following into another store.
CREATE VIRTUAL TABLE Copy USING ptable(Name String, Age Int32, store='copy.ptable');
INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode) SELECT PartitionKey, RowKey, Properties, WriteMode FROM pt_changes('Employee', NULL);
SELECT PartitionKey, RowKey, Name, Age FROM Copy EXCEPT SELECT PartitionKey, RowKey, Name, Age FROM Employee;
SELECT count(*) - (SELECT count(*) FROM Employee) FROM Copy;
-- Forgetting. Older times are refused, the last deletion that was forgotten is not.
SELECT pt_forget_deleted('Employee', '2020-01-01'), pt_forget_deleted('Employee', NULL);
INSERT INTO Follower SELECT max(Timestamp) FROM Follower, pt_changes('Employee', since) WHERE WriteMode = 'delete';
SELECT pt_forget_deleted('changes.ptable', 'Employees', '2999-01-01');
SELECT group_concat(RowKey) FROM pt_changes('Employee', (SELECT max(since) FROM Follower));
SELECT count(*) FROM pt_changes('Employee', NULL);
BEGIN;
DELETE FROM Employee WHERE RowKey = '4';
SELECT pt_forget_deleted('Employee', '9999-12-31');
SELECT count(*) FROM pt_changes('Employee', NULL);
ROLLBACK;
-- Off, and on.
BEGIN;
UPDATE pt_tables SET Changes = 0 WHERE Store = 'changes.ptable';
SELECT count(*) FROM pt_changes('Employee', NULL);
ROLLBACK;
SELECT count(*) FROM pt_changes('Employee', NULL);
UPDATE pt_tables SET Changes = 'OFF' WHERE Store = 'changes.ptable';
SELECT Changes, Horizon FROM pt_tables WHERE Store = 'changes.ptable';
SELECT pt_check('changes.ptable');
UPDATE pt_tables SET Changes = 1 WHERE Store = 'changes.ptable';
SELECT count(*) FROM pt_changes('Employee', NULL);
SELECT Horizon > (SELECT max(since) FROM Follower) FROM pt_tables WHERE Store = 'changes.ptable';
SELECT pt_check('changes.ptable');
-- A table that is dropped; one that is made with its changes.
DELETE FROM pt_tables WHERE Store = 'changes.ptable';
SELECT count(*) FROM pt_changes('Employee', NULL);
INSERT INTO pt_tables(Store, TableName, Changes) VALUES ('changes.ptable', 'Employees', 'on');
SELECT count(*) FROM pt_changes('Employee', NULL);
SELECT Horizon > (SELECT max(since) FROM Follower) FROM pt_tables WHERE Store = 'changes.ptable';
SELECT count(*) FROM pt_changes('Employee', '2999-01-01');
-- What is refused.
SELECT count(*) FROM pt_changes('Employee', 'yesterday');
SELECT count(*) FROM pt_changes('Employee', 2026);
SELECT count(*) FROM pt_changes('Employee');
SELECT pt_forget_deleted('Employee', 'tomorrow');
SELECT pt_forget_deleted('Copy', '2026-01-01');
SELECT pt_forget_deleted('copy.ptable', 'Nothing', '2026-01-01');
SELECT pt_forget_deleted('Nothing', '2026-01-01');
UPDATE pt_tables SET Changes = 'perhaps' WHERE Store = 'changes.ptable';
UPDATE pt_tables SET Changes = NULL WHERE Store = 'changes.ptable';
UPDATE pt_tables SET TableName = 'Other', Changes = 'off' WHERE Store = 'changes.ptable';
UPDATE pt_tables SET Entities = 5 WHERE Store = 'changes.ptable';
INSERT INTO pt_tables(Store, TableName, Changes) VALUES ('changes.ptable', 'Third', 'maybe');
SELECT TableName, Changes FROM pt_tables WHERE Store = 'changes.ptable';
CREATE VIRTUAL TABLE Jobs USING pt_queue(store='copy.ptable');
UPDATE pt_tables SET Changes = 'on' WHERE Store = 'copy.ptable' AND TableName = 'Jobs';
SELECT TableName, Changes FROM pt_tables WHERE Store = 'copy.ptable';
CREATE VIRTUAL TABLE Archive USING ptable(table=Employees, store='changes.ptable', readonly=1);
UPDATE pt_tables SET Changes = 'off' WHERE Store = 'changes.ptable';
SELECT pt_forget_deleted('Archive', '2026-01-01'), Changes FROM pt_tables WHERE Store = 'changes.ptable';
DROP TABLE Employee;
UPDATE pt_tables SET Changes = 'off' WHERE Store = 'changes.ptable';
SELECT pt_forget_deleted('Archive', '2026-01-01');
EXPLAIN QUERY PLAN SELECT * FROM pt_changes('Archive', NULL);
-- An entity that expires is no change until it is purged.
CREATE VIRTUAL TABLE Session USING ptable(User String, Due DateTime, expires=Due, store='session.ptable');
UPDATE pt_tables SET Changes = 'on', Expires = 'Due' WHERE Store = 'session.ptable';
INSERT INTO Session(PartitionKey, RowKey, User, Due) VALUES ('web', '1', 'Ann', '2020-01-01'), ('web', '2', 'Ben', '2999-01-01');
SELECT RowKey, WriteMode FROM pt_changes('Session', NULL);
SELECT pt_purge('Session');
SELECT RowKey, WriteMode FROM pt_tables, pt_changes('Session', Horizon) WHERE Store = 'session.ptable';
SELECT pt_check('session.ptable');
-- Declared: the store begins to keep them, and no declaration says otherwise.
CREATE VIRTUAL TABLE A USING ptable(N Int32, changes=on, store='declared.ptable');
INSERT INTO A(PartitionKey, RowKey, N) VALUES ('p', '1', 1);
SELECT RowKey, WriteMode FROM pt_changes('A', NULL);
UPDATE pt_tables SET Changes = 'off' WHERE Store = 'declared.ptable';
SELECT N FROM A;
DELETE FROM A;
INSERT INTO A(PartitionKey, RowKey, N) VALUES ('p', '2', 2);
CREATE VIRTUAL TABLE B USING ptable(N Int32, changes=ON, table=A, store='declared.ptable');
INSERT INTO A(PartitionKey, RowKey, N) VALUES ('p', '2', 2);
SELECT RowKey, WriteMode FROM pt_changes('B', NULL);
CREATE VIRTUAL TABLE C USING ptable(N Int32, changes=perhaps, table=A, store='declared.ptable');
CREATE VIRTUAL TABLE D USING ptable(N Int32, changes=on, readonly=1, table=A, store='declared.ptable');
SELECT N FROM D;
CREATE VIRTUAL TABLE E USING pt_queue(changes=on);
CREATE VIRTUAL TABLE F USING ptable(Due DateTime, changes=on, expires=Due, index(Due), store='declared.ptable');
SELECT TableName, Changes, Expires FROM pt_tables WHERE Store = 'declared.ptable';
SELECT pt_check('declared.ptable');
-- A row of pt_tables is changed as a whole or not at all, also where SQLite takes nothing back.
UPDATE OR IGNORE pt_tables SET Changes = 'off', Expires = 'RowKey' WHERE Store = 'declared.ptable';
UPDATE OR FAIL pt_tables SET Changes = 'off', Expires = '' WHERE Store = 'declared.ptable';
SELECT TableName, Changes, Expires FROM pt_tables WHERE Store = 'declared.ptable';
