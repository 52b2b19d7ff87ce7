-- What happens when the entity to be inserted exists already: OR ABORT (as without), OR REPLACE,
-- OR IGNORE, OR FAIL, OR ROLLBACK mean what they mean for any table.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(v String);
INSERT INTO T VALUES ('p', '1', 'first'), ('p', '2', 'first');
UPDATE T SET Properties = json_set(Properties, '$.extra', 1) WHERE RowKey = '1';

-- Insert Entity of the service: 409. The statement is taken back as a whole.
INSERT INTO T VALUES ('p', '1', 'second');
INSERT INTO T VALUES ('p', '0', 'new'), ('p', '1', 'second'), ('p', '9', 'new');
SELECT RowKey, v FROM T;

-- In a transaction only the statement is taken back, not what came before.
BEGIN;
INSERT INTO T VALUES ('p', '3', 'kept');
INSERT INTO T VALUES ('p', '4', 'new'), ('p', '2', 'second');
SELECT RowKey, v FROM T;
COMMIT;

-- The same key twice in one statement.
INSERT INTO T VALUES ('q', '1', 'a'), ('q', '1', 'b');
SELECT count(*) FROM T WHERE PartitionKey = 'q';

-- OR REPLACE: Insert Or Replace Entity. All that was there goes, undeclared properties too.
INSERT OR REPLACE INTO T VALUES ('p', '1', 'replaced'), ('p', '5', 'new');
SELECT changes();
REPLACE INTO T(PartitionKey, RowKey) VALUES ('p', '2');
SELECT RowKey, Properties FROM T WHERE PartitionKey = 'p';

-- OR IGNORE: what exists stays as it is.
INSERT OR IGNORE INTO T VALUES ('p', '1', 'ignored'), ('p', '6', 'new');
SELECT changes();
SELECT RowKey, v FROM T WHERE RowKey IN ('1', '6');

-- OR IGNORE passes over existing entities only: a value of the wrong type remains an error.
CREATE VIRTUAL TABLE N USING ptable(n Int32);
INSERT OR IGNORE INTO N VALUES ('p', '1', 'one');
INSERT OR IGNORE INTO N VALUES (x'00', '1', 1);

-- A key that is NULL breaks a NOT NULL constraint, which OR IGNORE passes over as for any table.
INSERT OR IGNORE INTO N VALUES (NULL, '1', 1);
SELECT changes(), count(*) FROM N;

-- OR FAIL: what was inserted before the conflict stays.
INSERT OR FAIL INTO T VALUES ('p', '7', 'stays'), ('p', '1', 'second'), ('p', '8', 'never');
SELECT RowKey, v FROM T WHERE RowKey IN ('1', '7', '8');

-- OR ROLLBACK ends the transaction: the way to run an entity group transaction.
BEGIN;
INSERT INTO T VALUES ('p', '10', 'gone');
INSERT OR ROLLBACK INTO T VALUES ('p', '1', 'second');
COMMIT;
SELECT count(*) FROM T WHERE RowKey = '10';

-- UPDATE that moves an entity onto another.
UPDATE T SET RowKey = '1' WHERE RowKey = '5';
UPDATE OR IGNORE T SET RowKey = '1' WHERE RowKey = '5';
SELECT changes();
UPDATE OR FAIL T SET RowKey = '1' WHERE RowKey = '5';
UPDATE OR REPLACE T SET RowKey = '1' WHERE RowKey = '5';
SELECT changes();
SELECT RowKey, v FROM T WHERE RowKey IN ('1', '5');

-- Onto itself is no conflict.
UPDATE T SET RowKey = RowKey || '' WHERE RowKey = '1';
SELECT changes();

-- UPSERT's ON CONFLICT is not for virtual tables. Read and write in one statement instead:
INSERT INTO T VALUES ('p', '1', 'x') ON CONFLICT DO NOTHING;
INSERT INTO T VALUES ('p', '1', 'x') ON CONFLICT (EntityKey) DO UPDATE SET v = 'x';
INSERT OR REPLACE INTO T(PartitionKey, RowKey, v)
  SELECT 'p', '1', coalesce((SELECT v FROM T WHERE PartitionKey = 'p' AND RowKey = '1'), '') || '+';
SELECT v FROM T WHERE RowKey = '1';

-- UPDATE OR REPLACE removes the entities that have the unique value. changes() also counts one that the
-- statement was still to update, unlike for an ordinary table.
CREATE VIRTUAL TABLE Unlike USING ptable(v String, unique(v));
CREATE TABLE Ordinary(k PRIMARY KEY, v UNIQUE);
INSERT INTO Unlike VALUES ('p', '1', 'a'), ('p', '2', 'b'), ('p', '3', 'c');
INSERT INTO Ordinary VALUES ('1', 'a'), ('2', 'b'), ('3', 'c');
UPDATE OR REPLACE Unlike SET v = 'b' WHERE RowKey = '1';
SELECT changes(), group_concat(RowKey || v) FROM Unlike;
UPDATE OR REPLACE Unlike SET v = 'c';
SELECT changes(), group_concat(RowKey || v) FROM Unlike;
UPDATE OR REPLACE Ordinary SET v = 'b' WHERE k = '1';
UPDATE OR REPLACE Ordinary SET v = 'c';
SELECT changes(), group_concat(k || v) FROM Ordinary;
