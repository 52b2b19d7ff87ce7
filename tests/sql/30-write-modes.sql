-- The hidden column WriteMode says which operation of the Table service an INSERT is: insert,
-- replace, merge or delete. Without it INSERT is Insert Entity, and INSERT OR REPLACE is Insert Or
-- Replace Entity.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(Name String, Age Int32);
CREATE VIEW Everything AS SELECT PartitionKey, RowKey, Properties FROM T;
INSERT INTO T(PartitionKey, RowKey, Name, Age, Properties)
  VALUES ('p', '1', 'Jun', 34, '{"Badge":7,"Grade":"A"}');

-- insert: Insert Entity, as without a mode. The entity must not exist.
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode) VALUES ('p', '2', 'Ken', 'insert');
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode) VALUES ('p', '1', 'Ken', 'insert');
SELECT * FROM Everything;

-- replace: Insert Or Replace Entity. Only what is given remains.
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode) VALUES ('p', '2', 'Kim', 'replace');
INSERT INTO T(PartitionKey, RowKey, Properties, WriteMode) VALUES ('p', '3', '{"Grade":"B"}', 'replace');
SELECT * FROM Everything WHERE RowKey > '1';
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('p', '2', 40, 'replace');
SELECT * FROM Everything WHERE RowKey = '2';

-- merge: Insert Or Merge Entity. What is given is set, everything else stays as it is, undeclared
-- properties too; a NULL is not given, so nothing is removed.
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('p', '1', 35, 'merge');
INSERT INTO T(PartitionKey, RowKey, Name, Age, WriteMode) VALUES ('p', '1', NULL, NULL, 'merge');
INSERT INTO T(PartitionKey, RowKey, Properties, WriteMode)
  VALUES ('p', '1', '{"Badge":8,"Grade":null,"Hired":"2026-11-21","Hired@odata.type":"Edm.DateTime"}', 'merge');
SELECT Properties FROM T WHERE RowKey = '1';
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode) VALUES ('p', '4', 'New', 'merge');
SELECT * FROM Everything WHERE RowKey = '4';

-- A property may change its type, and a declared column overrides Properties, as in every INSERT.
INSERT INTO T(PartitionKey, RowKey, Name, Properties, WriteMode)
  VALUES ('p', '1', 'Jo', '{"Name":1,"Age":"old","Badge":2.5,"Grade":true}', 'merge');
SELECT Properties FROM T WHERE RowKey = '1';

-- delete: deletes the entity if it exists. (changes() counts the statement's rows, not what they
-- did.) It takes the keys and nothing else.
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', '4', 'delete');
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', '4', 'delete');
SELECT count(*) FROM T WHERE RowKey = '4';
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode) VALUES ('p', '3', 'x', 'delete');
INSERT INTO T(PartitionKey, RowKey, Properties, WriteMode) VALUES ('p', '3', '{}', 'delete');
SELECT count(*) FROM T WHERE RowKey = '3';

-- The mode may be written in any case; NULL is not given.
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('p', '3', 1, 'Merge'), ('p', '3', 2, 'MERGE');
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('p', '3', 3, NULL);
SELECT Properties FROM T WHERE RowKey = '3';

-- Anything else is refused.
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', '3', 'upsert');
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', '3', '');
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', '3', ' merge');
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', '3', 'merge' || char(0));
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', '3', 2);
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', '3', x'6d65726765');
SELECT Properties FROM T WHERE RowKey = '3';

-- An explicit mode wins over OR REPLACE; the other conflict clauses act on its errors.
INSERT OR REPLACE INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('p', '3', 4, 'merge');
SELECT Properties FROM T WHERE RowKey = '3';
INSERT OR REPLACE INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('p', '3', 5, 'insert');
INSERT OR REPLACE INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('p', '3', 6, 'replace');
SELECT Properties FROM T WHERE RowKey = '3';
INSERT OR IGNORE INTO T(PartitionKey, RowKey, Age, WriteMode)
  VALUES ('p', '3', 7, 'insert'), ('p', '5', 7, 'insert'), ('p', '6', 7, 'upsert');
SELECT changes(), group_concat(RowKey) FROM T WHERE Age = 7;
INSERT OR FAIL INTO T(PartitionKey, RowKey, Age, WriteMode)
  VALUES ('p', '6', 8, 'insert'), ('p', '3', 8, 'insert'), ('p', '7', 8, 'insert');
SELECT group_concat(RowKey) FROM T WHERE Age = 8;
INSERT OR ABORT INTO T(PartitionKey, RowKey, Age, WriteMode)
  VALUES ('p', '7', 9, 'merge'), ('p', '3', 9, 'insert'), ('p', '8', 9, 'merge');
SELECT count(*) FROM T WHERE Age = 9;
BEGIN;
INSERT INTO T(PartitionKey, RowKey, Age) VALUES ('p', '8', 10);
INSERT OR ROLLBACK INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('p', '3', 10, 'insert');
COMMIT;
SELECT count(*) FROM T WHERE Age = 10;

-- One statement can do everything at once, each row in its mode.
CREATE TEMP TABLE Work(mode, rk, name, age);
INSERT INTO Work VALUES ('delete', '1', NULL, NULL), ('merge', '2', 'Kit', NULL),
                        ('replace', '3', 'Lou', 50), ('insert', '9', 'Max', 60);
INSERT INTO T(PartitionKey, RowKey, Name, Age, WriteMode) SELECT 'p', rk, name, age, mode FROM Work;
SELECT RowKey, Name, Age FROM T WHERE RowKey IN ('1', '2', '3', '9');

-- A transaction sees what it has written itself, also after savepoints and rollbacks.
BEGIN;
INSERT INTO T VALUES ('q', '1', 'a', 1);
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('q', '1', 2, 'merge');
SAVEPOINT s;
INSERT INTO T(PartitionKey, RowKey, Name, WriteMode) VALUES ('q', '1', 'b', 'merge');
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('q', '1', 'delete');
INSERT INTO T(PartitionKey, RowKey, Age, WriteMode) VALUES ('q', '1', 9, 'merge');
SELECT Properties FROM T WHERE PartitionKey = 'q';
ROLLBACK TO s;
INSERT INTO T(PartitionKey, RowKey, Properties, WriteMode) VALUES ('q', '1', '{"c":3}', 'merge');
SELECT Properties FROM T WHERE PartitionKey = 'q';
COMMIT;
SELECT Properties FROM T WHERE PartitionKey = 'q';

-- Every write gives a new Timestamp and ETag, also a merge or replace that changes nothing; the
-- ETag is fixed with the statement and is the same after COMMIT.
CREATE TEMP TABLE Stamps(step, tag);
CREATE VIEW temp.Tag AS SELECT ETag AS tag FROM T WHERE PartitionKey = 'q' AND RowKey = '1';
INSERT INTO Stamps SELECT 'first', tag FROM Tag;
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('q', '1', 'merge');
INSERT INTO Stamps SELECT 'merged', tag FROM Tag;
INSERT INTO T(PartitionKey, RowKey, Name, Age, Properties, WriteMode)
  SELECT PartitionKey, RowKey, Name, Age, Properties, 'replace' FROM T WHERE PartitionKey = 'q';
INSERT INTO Stamps SELECT 'replaced', tag FROM Tag;
BEGIN;
INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('q', '1', 'merge');
INSERT INTO Stamps SELECT 'in the transaction', tag FROM Tag;
COMMIT;
INSERT INTO Stamps SELECT 'after it', tag FROM Tag;
SELECT step, tag > lag(tag, 1, '') OVER (ORDER BY rowid) AS newer FROM Stamps;
SELECT Properties FROM T WHERE PartitionKey = 'q';

-- Reading shows nothing in WriteMode and IfMatch, and UPDATE does not take them.
SELECT quote(WriteMode), quote(IfMatch) FROM T WHERE PartitionKey = 'q';
UPDATE T SET Age = 3, WriteMode = 'merge' WHERE PartitionKey = 'q';
UPDATE T SET Age = 3, IfMatch = '*' WHERE PartitionKey = 'q';
UPDATE T SET Age = n.age FROM (SELECT 4 AS age) AS n WHERE PartitionKey = 'q';
SELECT Age FROM T WHERE PartitionKey = 'q';

-- Triggers on ordinary tables can use the modes: here an inbox that is merged into the table.
CREATE TABLE Inbox(rk, name, age);
CREATE TRIGGER Merge AFTER INSERT ON Inbox BEGIN
  INSERT INTO T(PartitionKey, RowKey, Name, Age, WriteMode) VALUES ('in', new.rk, new.name, new.age, 'merge');
END;
INSERT INTO Inbox VALUES ('1', 'Ann', NULL), ('1', NULL, 51), ('2', 'Bob', NULL);
SELECT RowKey, Name, Age FROM T WHERE PartitionKey = 'in';
