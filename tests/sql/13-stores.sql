-- Stores: which file holds a table's entities, and what is said when that file is not right.
.load ./ptable
.nullvalue NULL

-- Without the option, a :memory: or temporary database has a private store that goes with the
-- connection; main and temp each have their own.
CREATE VIRTUAL TABLE T USING ptable(v Int32);
CREATE VIRTUAL TABLE temp.U USING ptable(v Int32, table='T');
INSERT INTO T VALUES ('main', '1', 1);
INSERT INTO U VALUES ('temp', '1', 2);
SELECT * FROM T UNION ALL SELECT * FROM U;

-- Without the option, a database file has the store of its own name plus -ptable.
.open first.db
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(v Int32);
INSERT INTO T VALUES ('first', '1', 1);
SELECT 'first.db-ptable', readfile('first.db-ptable') IS NOT NULL;

-- Several tables in one store, each with its entities.
CREATE VIRTUAL TABLE U USING ptable(v Int32);
INSERT INTO U VALUES ('first', '1', 11);
CREATE VIRTUAL TABLE TEMP.V USING ptable(v Int32, store='first.db-ptable', table='U');
SELECT (SELECT v FROM T), (SELECT v FROM U), (SELECT v FROM V);

-- A database opened again finds them, without being told anything.
.open first.db
.load ./ptable
SELECT * FROM T;
-- Before the extension is loaded the tables are there, but nothing can be done with them.
.open first.db
SELECT * FROM T;
.load ./ptable

-- Attached databases have stores of their own. A relative path starts at the database's folder.
SELECT writefile('folder/note.txt', 'hello');
ATTACH 'folder/second.db' AS second;
CREATE VIRTUAL TABLE second.T USING ptable(v Int32);
INSERT INTO second.T VALUES ('second', '1', 2);
CREATE VIRTUAL TABLE second.W USING ptable(v Int32, store='shared.ptable');
INSERT INTO W VALUES ('shared', '1', 3);
CREATE VIRTUAL TABLE main.W USING ptable(v Int32, store='folder/shared.ptable');
SELECT * FROM main.T UNION ALL SELECT * FROM second.T UNION ALL SELECT * FROM main.W;
SELECT readfile('folder/second.db-ptable') IS NOT NULL, readfile('folder/shared.ptable') IS NOT NULL;

-- One transaction over several stores.
BEGIN;
UPDATE main.T SET v = v + 100;
UPDATE second.T SET v = v + 100;
UPDATE main.W SET v = v + 100;
SELECT v FROM second.W;
ROLLBACK;
SELECT v FROM main.T UNION ALL SELECT v FROM second.T UNION ALL SELECT v FROM second.W;
DETACH second;
SELECT * FROM W;

-- A table of a TEMP database starts at the current folder.
CREATE VIRTUAL TABLE temp.X USING ptable(v Int32, store='first.db-ptable', table='T');
SELECT * FROM X;
DROP TABLE X;

-- An absolute path is taken as it is; its folder must exist, as any folder must.
CREATE VIRTUAL TABLE Nowhere USING ptable(store='/nonexistent/folder/x.ptable');

-- A URI is not a path. A file whose name looks like one can be named all the same.
CREATE VIRTUAL TABLE Uri USING ptable(store='file:first.db-ptable?mode=ro');
CREATE VIRTUAL TABLE Uri USING ptable(store='file:first.db-ptable', readonly=1);
SELECT count(*) FROM pt_partitions('file:first.db-ptable', 'T');
SELECT readfile('file:first.db-ptable?mode=ro') IS NULL;
CREATE VIRTUAL TABLE Uri USING ptable(v Int32, store='./file:x');
INSERT INTO Uri VALUES ('p', '1', 1);
SELECT v, readfile('file:x') IS NOT NULL FROM Uri;
DROP TABLE Uri;
-- A database that declares one all the same: its table can be dropped.
PRAGMA writable_schema = 1;
INSERT INTO sqlite_schema VALUES ('table', 'Old', 'Old', 0,
  'CREATE VIRTUAL TABLE Old USING ptable(v Int32, store=''file:old'')');
PRAGMA writable_schema = reset;
SELECT * FROM Old;
DROP TABLE Old;

-- A folder instead of a file, and files that are no stores, are refused and left alone.
CREATE VIRTUAL TABLE Bad USING ptable(store='missing/x.ptable');
CREATE VIRTUAL TABLE Bad USING ptable(store='folder');
CREATE VIRTUAL TABLE Bad USING ptable(store='folder/note.txt');
CREATE VIRTUAL TABLE Bad USING ptable(store='first.db');
SELECT writefile('empty', '');
CREATE VIRTUAL TABLE Bad USING ptable(store='empty');
SELECT writefile('zeros', zeroblob(65536));
CREATE VIRTUAL TABLE Bad USING ptable(store='zeros');
-- They are as they were.
SELECT CAST(readfile('folder/note.txt') AS TEXT), length(readfile('empty')),
  readfile('zeros') = zeroblob(65536);
SELECT count(*) FROM sqlite_schema WHERE name IN ('Bad', 'Nowhere');

-- A store that is cut short is refused.
SELECT writefile('short.ptable', substr(readfile('first.db-ptable'), 1, 6000)) = 6000;
CREATE VIRTUAL TABLE Short USING ptable(store='short.ptable', table='T');

-- A table that only reads creates nothing: its store, and its table there, must exist when it is read.
CREATE VIRTUAL TABLE Seen USING ptable(v Int32, store='later.ptable', readonly=1);
SELECT * FROM Seen;
SELECT readfile('later.ptable') IS NULL;
CREATE VIRTUAL TABLE Other USING ptable(v Int32, store='later.ptable');
SELECT * FROM Seen;
CREATE VIRTUAL TABLE Maker USING ptable(v Int32, store='later.ptable', table='Seen');
INSERT INTO Maker VALUES ('p', '1', 7);
SELECT * FROM Seen;

-- A copy of a store that is closed is a store.
.open :memory:
.load ./ptable
SELECT writefile('copy.ptable', readfile('later.ptable')) > 0;
CREATE VIRTUAL TABLE Copy USING ptable(v Int32, store='copy.ptable', table='Seen');
SELECT * FROM Copy;
INSERT INTO Copy VALUES ('p', '2', 8);
CREATE VIRTUAL TABLE Maker USING ptable(v Int32, store='later.ptable', table='Seen');
SELECT (SELECT count(*) FROM Copy), (SELECT count(*) FROM Maker);

-- A database without its store: the tables can be dropped, or given another store, but not read.
.open alone.db
.load ./ptable
CREATE TABLE Note(text);
PRAGMA writable_schema = 1;
INSERT INTO sqlite_schema VALUES ('table', 'T', 'T', 0, 'CREATE VIRTUAL TABLE T USING ptable(v Int32)');
.open alone.db
.load ./ptable
SELECT * FROM T;
INSERT INTO T VALUES ('p', '1', 1);
SELECT readfile('alone.db-ptable') IS NULL;
DROP TABLE T;
CREATE VIRTUAL TABLE T USING ptable(v Int32);
INSERT INTO T VALUES ('p', '1', 1);
SELECT * FROM T;

-- A database that is opened for reading makes its tables read-only.
.open --readonly first.db
.load ./ptable
SELECT * FROM T;
INSERT INTO T VALUES ('p', '1', 1);

-- Options are found in any case and with blanks; sync=normal and sync=off change nothing visible.
.open :memory:
.load ./ptable
CREATE VIRTUAL TABLE Fast USING ptable(v Int32, Store = "quick.ptable" , SYNC = off, ReadOnly=0, scan=allow);
INSERT INTO Fast VALUES ('p', '1', 1);
CREATE VIRTUAL TABLE Safe USING ptable(v Int32, store=quick.ptable, table=Fast, sync=full);
INSERT INTO Safe VALUES ('p', '2', 2);
SELECT count(*) FROM Fast;
