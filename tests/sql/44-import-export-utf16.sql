-- Importing and exporting from a database whose text is UTF-16: the files are UTF-8 all the same.
PRAGMA encoding = 'UTF-16le';
.load ./ptable
CREATE VIRTUAL TABLE Csv USING ptable(store='wide.ptable');
CREATE VIRTUAL TABLE Lines USING ptable(store='wide.ptable');

.import --csv --schema temp data/employees.csv csv_rows
.read sql/import_csv.sql
INSERT INTO Csv(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
CREATE TEMP VIEW exported AS
  SELECT PartitionKey, RowKey, '2026-11-21T08:43:22.5484454Z' AS Timestamp, Properties FROM Csv;
.output employees.csv
.read sql/export_csv.sql
.output
SELECT readfile('employees.csv') = readfile('data/employees.csv');
DROP VIEW exported;

.read sql/import_json_lines.sql
.import data/employees.jsonl json_lines
INSERT INTO Lines(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
CREATE TEMP VIEW exported AS
  SELECT PartitionKey, RowKey, '2026-11-21T08:43:22.5484454Z' AS Timestamp, Properties FROM Lines;
.output employees.jsonl
.read sql/export_json_lines.sql
.output
SELECT readfile('employees.jsonl') = readfile('data/employees.jsonl');
