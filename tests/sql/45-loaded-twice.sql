-- Loading the extension into a connection that has it, as ~/.sqliterc and a script do, changes
-- nothing: tables, transactions and private stores go on.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(A Int32);
INSERT INTO T VALUES ('p', '1', 1);
.load ./ptable
SELECT load_extension('./ptable');
SELECT * FROM T;
CREATE VIRTUAL TABLE U USING ptable(A Int32);
BEGIN;
INSERT INTO T VALUES ('p', '2', 2);
.load ./ptable
INSERT INTO U VALUES ('p', '1', 1);
SELECT TableName, Entities FROM pt_tables;
ROLLBACK;
SELECT count(*) FROM T;
-- SQLite lets go of all tables and connects them anew.
VACUUM;
SELECT * FROM T;
SELECT count(*) FROM U;
DROP TABLE U;
SELECT Tables FROM pt_stores;
