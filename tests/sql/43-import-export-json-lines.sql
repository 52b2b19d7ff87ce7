-- JSON lines as the Table service writes entities, in and out: sql/import_json_lines.sql and
-- sql/export_json_lines.sql.
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(store='lines.ptable');

-- Import: the script makes a table for the lines and a view over it, INSERT takes that.
.read sql/import_json_lines.sql
.import data/employees.jsonl json_lines
INSERT INTO Employee(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
.mode list
SELECT count(*), sum(Properties ->> 'Badge' = 9007199254740993) FROM Employee;

-- Export gives the same file (here with the Timestamp it had), whatever the mode was.
CREATE TEMP VIEW exported AS
  SELECT PartitionKey, RowKey, '2026-11-21T08:43:22.5484454Z' AS Timestamp, Properties FROM Employee;
.mode box
.output employees.jsonl
.read sql/export_json_lines.sql
.output
SELECT readfile('employees.jsonl') = readfile('data/employees.jsonl');

-- A part of a table, with its real Timestamps.
DROP VIEW exported;
CREATE TEMP VIEW exported AS
  SELECT PartitionKey, RowKey, Timestamp, Properties FROM Employee WHERE PartitionKey = 'Marketing' AND RowKey > '000151';
.output part.jsonl
.read sql/export_json_lines.sql
.output
SELECT replace(CAST(readfile('part.jsonl') AS TEXT), (SELECT max(Timestamp) FROM Employee WHERE RowKey = '000152'), '(Timestamp)');
DROP VIEW exported;

-- Other forms of the same: annotations before their property, Int64 as a number, what begins with
-- odata., an annotated Timestamp, escapes, blanks, empty lines, a byte order mark, CRLF, no end of line.
SELECT writefile('other.jsonl', char(0xFEFF) || replace(
'{"odata.metadata":"http://x/$metadata#T/@Element","odata.etag":"W/\"x\"","PartitionKey":"p","RowKey":"1","Timestamp@odata.type":"Edm.DateTime","Timestamp":"2026-11-21T08:43:22.5484454Z","l@odata.type":"Edm.Int64","l":"7","n@odata.type":"Edm.Double","n":"NaN"}

 { "RowKey" : "2" , "PartitionKey" : "\u0070\ud83d\ude00|,\"" , "l" : 8, "l@odata.type" : "Edm.Int64", "d": 1e3, "none": null }
{"PartitionKey":"p","RowKey":"3","s":"|,;'' \u0000 \u2028"}', char(10), char(13, 10))) > 0;
CREATE VIRTUAL TABLE Other USING ptable(store='lines.ptable');
.read sql/import_json_lines.sql
.import other.jsonl json_lines
INSERT INTO Other(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
.mode list
SELECT PartitionKey, RowKey, Properties FROM Other;

-- All types and every kind of text: import(export(t)) = t.
CREATE VIRTUAL TABLE Origin USING ptable(store='lines.ptable');
INSERT INTO Origin VALUES
  ('', '', NULL),
  ('p', '1', '{"v":"a,b;c\td\"e\"\r\nf\ng\rh \u0000\u001f"}'), ('p', '2', '{"v":"''"}'), ('p', '3', '{"v":""}'),
  ('p', '4', '{"v":1}'), ('p', '5', '{"v":1,"v@odata.type":"Edm.Int64"}'), ('p', '6', '{"v":1.0}'),
  ('p', '7', '{"v":true}'), ('p', '8', '{"v":"1"}'), ('p', '9', '{"v":5e-324,"w":1.7976931348623157e308}'),
  ('q|"', char(10), '{"v":"Infinity","v@odata.type":"Edm.Double","w":"Infinity"}'),
  ('q', ' blank ', '{"v":"0001-01-01T00:00:00.0000001Z","v@odata.type":"Edm.DateTime","V":false}'),
  ('日本', '😀', '{"v":"AAECAwQF","v@odata.type":"Edm.Binary","w":"","w@odata.type":"Edm.Binary","v@type":"Edm.Int32"}');
CREATE TEMP VIEW exported AS SELECT PartitionKey, RowKey, Timestamp, Properties FROM Origin;
.output origin.jsonl
.read sql/export_json_lines.sql
.output
.read sql/import_json_lines.sql
.import origin.jsonl json_lines
CREATE VIRTUAL TABLE Arrived USING ptable(store='arrived.ptable');
INSERT INTO Arrived(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
.mode list
SELECT count(*), (SELECT count(*) FROM Arrived), sum(pt_entity_json('', '', NULL, o.Properties) = pt_entity_json('', '', NULL, a.Properties))
  FROM Origin AS o JOIN Arrived AS a USING (PartitionKey, RowKey);

-- What is wrong in a file: the message names line, property and value, and nothing is imported.
CREATE VIRTUAL TABLE Wrong USING ptable(store='lines.ptable');
.read sql/import_json_lines.sql
.mode list
INSERT INTO json_lines VALUES ('{"PartitionKey":"p","RowKey":"1","Age":34}'), (''), ('{"PartitionKey":"p","RowKey":"2","Age":"thirty","Age@odata.type":"Edm.Int64"}');
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
UPDATE json_lines SET line = '{"PartitionKey":"p","RowKey":"2","Age":34,"Age@odata.type":"Edm.Integer"}' WHERE rowid = 3;
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
UPDATE json_lines SET line = '{"PartitionKey":"p","RowKey":"2","Age":34' WHERE rowid = 3;
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
UPDATE json_lines SET line = '[{"PartitionKey":"p","RowKey":"2"}]' WHERE rowid = 3;
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
UPDATE json_lines SET line = '{"PartitionKey":"p","Age":34}' WHERE rowid = 3;
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
UPDATE json_lines SET line = '{"PartitionKey":"p","RowKey":"a\u0000b"}' WHERE rowid = 3;
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
UPDATE json_lines SET line = '{"PartitionKey":"p","RowKey":2}' WHERE rowid = 3;
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
SELECT count(*) FROM Wrong;
INSERT INTO Wrong(PartitionKey, RowKey, Properties) SELECT * FROM json_entities WHERE RowKey = '1';
SELECT count(*) FROM Wrong;
