-- Names of properties are case-sensitive, names of columns in SQL are not. An index on a name that
-- nothing has would stay empty: it is refused if the name differs in case alone from one in use.
.load ./ptable
CREATE VIRTUAL TABLE T USING ptable(Name String, Age Int32);
INSERT INTO T VALUES ('p', '1', 'Ann', 34);
INSERT INTO pt_indexes(TableName, Columns) VALUES ('T', 'name');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('T', 'PartitionKey, AGE, Name');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('T', 'partitionkey, Age, "Name"'), ('t', 'TIMESTAMP'), ('T', 'Name');
SELECT TableName, IndexName, Entries FROM pt_indexes;

-- So it is while there are no entities.
CREATE VIRTUAL TABLE None USING ptable(Due DateTime);
INSERT INTO pt_indexes(TableName, Columns) VALUES ('None', 'due');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('None', 'Due'), ('None', 'Another');

-- The properties of entities count like declared ones.
CREATE VIRTUAL TABLE Loose USING ptable();
INSERT INTO Loose(PartitionKey, RowKey, Properties) VALUES
  ('p', '1', '{"Email":"a"}'), ('p', '2', '{"email":"b","Größe":1}'), ('p', '3', '{"EMail":"c","größe":1}');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('Loose', 'Email'), ('Loose', 'email'), ('Loose', 'größe');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('Loose', 'eMAIL');
SELECT IndexName, Entries FROM pt_indexes WHERE TableName = 'Loose';
DELETE FROM Loose WHERE RowKey = '1';
BEGIN;
DELETE FROM Loose WHERE RowKey IN ('2', '3');
INSERT INTO Loose(PartitionKey, RowKey, Properties) VALUES ('p', '4', '{"Mail":"a","At":1}'), ('p', '5', '{"mail":"b"}');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('Loose', 'eMAIL');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('Loose', 'At,MAIL');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('Loose', 'mail');
COMMIT;
SELECT IndexName, Entries FROM pt_indexes WHERE TableName = 'Loose';

-- So it is in a declaration, whose own columns may be in any case.
CREATE VIRTUAL TABLE Wrong USING ptable(At Int32, index(at, MAIL), table=Loose);
SELECT count(*) FROM sqlite_schema WHERE name = 'Wrong';
CREATE VIRTUAL TABLE Right USING ptable(Mail String, index(MAIL), index(at2), table=Loose);
SELECT IndexName, Entries FROM pt_indexes WHERE TableName = 'Loose';

-- What a declaration has in an index is a name in use, too, as is each of two that differ in case.
INSERT INTO Loose(PartitionKey, RowKey, Properties) VALUES ('p', '6', '{"AT2":"a"}');
DELETE FROM pt_indexes WHERE IndexName = 'at2';
INSERT INTO Right(PartitionKey, RowKey) VALUES ('p', '7');
INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('Loose', 'at2', 0);
INSERT INTO Right(PartitionKey, RowKey) VALUES ('p', '7');
CREATE VIRTUAL TABLE Other USING ptable(AGE Int32, table=T);
INSERT INTO pt_indexes(TableName, Columns) VALUES ('T', 'AGE'), ('T', 'Age');
INSERT INTO pt_indexes(TableName, Columns) VALUES ('T', 'age');
SELECT pt_check();
