-- Exports entities as the CSV of Azure Storage Explorer: PartitionKey, RowKey, Timestamp, and a
-- pair of columns, Name and Name@type, for each property that any entity has. Both are empty if an
-- entity lacks the property. import_csv.sql reads at most 998 properties, because a table of SQLite
-- has at most 2,000 columns; beyond that use export_json_lines.sql. For the sqlite3 shell:
--
--     CREATE TEMP VIEW exported AS SELECT PartitionKey, RowKey, Timestamp, Properties FROM Employee;
--     .output employees.csv
--     .read sql/export_csv.sql
--     .output
--
-- The view selects what is exported, and may have a WHERE. It is read twice, for the columns and
-- for the rows, in one transaction. A text with U+0000 is an error, because CSV cannot hold it: use
-- export_json_lines.sql. Afterwards the shell is in .mode list with .headers off.

.mode list
.headers off

SAVEPOINT export_csv;

DROP TABLE IF EXISTS temp.csv_columns;
CREATE TEMP TABLE csv_columns AS
  SELECT json_group_object(name, NULL) AS names
    FROM (SELECT DISTINCT key AS name
            FROM temp.exported, json_each(exported.Properties)
           WHERE key NOT GLOB '*@odata.type'
           ORDER BY key);

-- One statement, so that no line is written if the header fails.
SELECT pt_csv_header(names) FROM temp.csv_columns
UNION ALL
SELECT * FROM (
  SELECT pt_csv_line(names, PartitionKey, RowKey, Timestamp, Properties)
    FROM temp.csv_columns CROSS JOIN temp.exported
   ORDER BY PartitionKey, RowKey);

DROP TABLE temp.csv_columns;
RELEASE export_csv;
