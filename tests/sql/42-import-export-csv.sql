-- The CSV of Azure Storage Explorer, in and out: sql/import_csv.sql and sql/export_csv.sql.
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(store='csv.ptable');

-- Import: the file becomes a table of SQLite's own, the script makes a view of it, INSERT takes it.
.import --csv --schema temp data/employees.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Employee(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
SELECT pt_entity_json(PartitionKey, RowKey, NULL, Properties) FROM Employee;

-- The temporary script is gone.
SELECT count(*) FROM fsdir('.') WHERE name GLOB '*ptable_import*';

-- Export gives the same file (here with the Timestamp it had).
CREATE TEMP VIEW exported AS
  SELECT PartitionKey, RowKey, '2026-11-21T08:43:22.5484454Z' AS Timestamp, Properties FROM Employee;
.output employees.csv
.read sql/export_csv.sql
.output
SELECT readfile('employees.csv') = readfile('data/employees.csv');

-- A part of a table, with the columns that its entities have, and real Timestamps.
DROP VIEW exported;
CREATE TEMP VIEW exported AS
  SELECT PartitionKey, RowKey, Timestamp, Properties FROM Employee WHERE PartitionKey = 'Zürich';
.output part.csv
.read sql/export_csv.sql
.output
SELECT replace(CAST(readfile('part.csv') AS TEXT), (SELECT max(Timestamp) FROM Employee), '(Timestamp)');

-- Nothing at all.
DROP VIEW exported;
CREATE TEMP VIEW exported AS
  SELECT PartitionKey, RowKey, Timestamp, Properties FROM Employee WHERE PartitionKey = 'none';
.read sql/export_csv.sql
DROP VIEW exported;

-- What is imported a second time exists already; OR REPLACE and OR IGNORE are the user's to add.
INSERT INTO Employee(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
INSERT OR REPLACE INTO Employee(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities WHERE PartitionKey = 'Marketing';
SELECT changes();

-- Types without "Edm."; pairs in any order, also before the keys; columns that say the keys' types;
-- names that SQL takes for one, which .import tells of and numbers; odd names; a byte order mark; CRLF.
SELECT writefile('odd.csv', char(0xFEFF) || replace('flag@type,flag,n,n@type,PartitionKey,PartitionKey@type,RowKey,RowKey@type,Timestamp,Timestamp@type,N,N@type,"a ""b"", [c] %d''%s",@type,"a ""b"", [c] %d''%s@type"
Boolean,FALSE,34,Int32,p,Edm.String,1,Edm.String,2026,Edm.DateTime,1.5,Double,TRUE,,Boolean
,,,,p,Edm.String,2,Edm.String,2026,Edm.DateTime,"0F8FAD5B-D9CB-469F-A165-70867728950E",Guid,,,
', char(10), char(13, 10))) > 0;
CREATE VIRTUAL TABLE Odd USING ptable(store='csv.ptable');
.import --csv --schema temp odd.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Odd(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
SELECT pt_entity_json(PartitionKey, RowKey, NULL, Properties) FROM Odd;

-- Any set of columns: none but the keys, and 998 properties, the most that a table of SQLite's own
-- has columns for.
SELECT writefile('bare.csv', 'RowKey,PartitionKey' || char(10) || '1,bare') > 0;
.import --csv --schema temp bare.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Odd(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
SELECT PartitionKey, RowKey, Properties FROM Odd WHERE PartitionKey = 'bare';
SELECT writefile('wide.csv',
  (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 998)
   SELECT 'PartitionKey,RowKey' || group_concat(format(',P%d,P%d@type', i, i), '') || char(10) ||
          'wide,1' || group_concat(format(',%d,Int32', i), '') || char(10) FROM n)) > 0;
.import --csv --schema temp wide.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Odd(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
SELECT count(*), sum(value), Properties ->> 'P998' FROM Odd, json_each(Properties) WHERE PartitionKey = 'wide';

-- All types and every kind of text: import(export(t)) = t.
CREATE VIRTUAL TABLE Origin USING ptable(store='csv.ptable');
INSERT INTO Origin VALUES
  ('', '', NULL),
  ('p', '1', '{"v":"a,b;c\td\"e\"\r\nf\ng\rh "}'), ('p', '2', '{"v":"''"}'), ('p', '3', '{"v":""}'),
  ('p', '4', '{"v":1}'), ('p', '5', '{"v":1,"v@odata.type":"Edm.Int64"}'), ('p', '6', '{"v":1.0}'),
  ('o', '1', '{"a \"b\", [c] %d''%s":1,"back\\slash":2,"tab\there":3,"é\u0001":4,"two\nlines":5,"日本":6}'),
  ('p', '7', '{"v":true}'), ('p', '8', '{"v":"1"}'), ('p', '9', '{"v":5e-324,"w":1.7976931348623157e308}'),
  ('q,"', char(10), '{"v":"Infinity","v@odata.type":"Edm.Double","w":"Infinity"}'),
  ('q', ' blank ', '{"v":"0001-01-01T00:00:00.0000001Z","v@odata.type":"Edm.DateTime","w":false}'),
  ('日本', '😀', '{"v":"AAECAwQF","v@odata.type":"Edm.Binary","w":"","w@odata.type":"Edm.Binary","x, y":"NULL"}');
CREATE TEMP VIEW exported AS SELECT PartitionKey, RowKey, Timestamp, Properties FROM Origin;
.output origin.csv
.read sql/export_csv.sql
.output
.import --csv --schema temp origin.csv csv_rows
.read sql/import_csv.sql
CREATE VIRTUAL TABLE Arrived USING ptable(store='arrived.ptable');
INSERT INTO Arrived(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
SELECT count(*), (SELECT count(*) FROM Arrived), sum(pt_entity_json('', '', NULL, o.Properties) = pt_entity_json('', '', NULL, a.Properties))
  FROM Origin AS o JOIN Arrived AS a USING (PartitionKey, RowKey);

-- Names that differ from other columns' only in case, or end in @type: also without the property that
-- they seem to describe.
CREATE VIRTUAL TABLE Names USING ptable(store='csv.ptable');
INSERT INTO Names VALUES
  ('p', '1', '{"partitionkey":1,"PARTITIONKEY":"x","rowKey":2,"timestamp":"2026","TimeStamp":true,"Age":1,"age":2,"AGE":3}'),
  ('p', '2', '{"v":1,"v@type":"Edm.String","v@type@type":2,"w@type":"Int32","W":3,"PartitionKey@type":4,"x_3":5,"n_15":6}'),
  ('P', '3', '{"@type":7,"a@Type":8,"a":9,"A@type":10,"rowkey@type":"r"}');
INSERT INTO Names VALUES ('p', '4',
  (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT json_group_object('P' || i, i) FROM n));
DROP VIEW exported;
CREATE TEMP VIEW exported AS SELECT PartitionKey, RowKey, Timestamp, Properties FROM Names ORDER BY RowKey DESC;
.output names.csv
.read sql/export_csv.sql
.output
.import --csv --schema temp names.csv csv_rows
SELECT count(*) FROM pragma_table_info('csv_rows');
.read sql/import_csv.sql
CREATE VIRTUAL TABLE Names2 USING ptable(store='csv.ptable');
INSERT INTO Names2(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
SELECT count(*), (SELECT count(*) FROM Names2), sum(o.Properties = a.Properties)
  FROM Names AS o JOIN Names2 AS a USING (PartitionKey, RowKey);
SELECT Properties FROM Names2 WHERE RowKey < '4' ORDER BY RowKey;
-- In the order of the keys, whatever the view's.
SELECT group_concat(PartitionKey || RowKey) FROM csv_entities;

-- What CSV cannot hold is an error: a U+0000.
DROP VIEW exported;
CREATE TEMP VIEW exported AS SELECT PartitionKey, RowKey, Timestamp, Properties FROM Origin;
INSERT INTO Origin VALUES ('r', '1', '{"v":"a\u0000b"}');
.output wrong.csv
.read sql/export_csv.sql
.output
DELETE FROM Origin WHERE PartitionKey = 'r';
-- Without a header there are no lines either.
DROP VIEW exported;
CREATE TEMP VIEW exported AS SELECT 'p' AS PartitionKey, 'r' AS RowKey, NULL AS Timestamp, '{"a":' AS Properties;
.output wrong.csv
.read sql/export_csv.sql
.output
SELECT length(readfile('wrong.csv'));

-- What is wrong in a file: the message names row, column and value, and nothing is imported.
CREATE VIRTUAL TABLE Wrong USING ptable(store='csv.ptable');
.print the value has no type
SELECT writefile('bad.csv', 'PartitionKey,RowKey,Age,Age@type' || char(10) || 'p,1,34,Int32' || char(10) || 'p,2,35,' || char(10)) > 0;
.import --csv --schema temp bad.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
-- To give the values types, UPDATE between the first two lines.
.import --csv --schema temp bad.csv csv_rows
UPDATE csv_rows SET "Age@type" = 'Int32' WHERE "Age@type" = '';
.read sql/import_csv.sql
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
SELECT RowKey, Properties FROM Wrong;
DELETE FROM Wrong;
.print the column has no types at all
SELECT writefile('bad.csv', 'PartitionKey,RowKey,Age' || char(10) || 'p,1,' || char(10) || 'p,2,35' || char(10)) > 0;
.import --csv --schema temp bad.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
.print the type is unknown
SELECT writefile('bad.csv', 'PartitionKey,RowKey,Where,Where@type' || char(10) || 'p,1,POINT(1 2),Edm.GeographyPoint' || char(10)) > 0;
.import --csv --schema temp bad.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
.print the value is malformed
SELECT writefile('bad.csv', 'PartitionKey,RowKey,Age,Age@type' || char(10) || 'p,1,34,Int32' || char(10) || 'p,2,thirty,Int32' || char(10)) > 0;
.import --csv --schema temp bad.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
.print there is no such column
SELECT writefile('bad.csv', 'PartitionKey,Age,Age@type' || char(10) || 'p,34,Int32' || char(10)) > 0;
.import --csv --schema temp bad.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
SELECT count(*) FROM Wrong;
