-- Exports entities as JSON lines: one entity a line, in the order of the keys, as the Table service
-- writes it: PartitionKey, RowKey, Timestamp, the properties in the order of their names, and
-- annotations "Name@odata.type" where JSON alone would lose the type. An Int64 is a string. For the
-- sqlite3 shell:
--
--     CREATE TEMP VIEW exported AS SELECT PartitionKey, RowKey, Timestamp, Properties FROM Employee;
--     .output employees.jsonl
--     .read sql/export_json_lines.sql
--     .output
--
-- The view selects what is exported, and may have a WHERE. Afterwards the shell is in .mode list
-- with .headers off.

.mode list
.headers off

SELECT pt_entity_json(PartitionKey, RowKey, Timestamp, Properties)
  FROM temp.exported
 ORDER BY PartitionKey, RowKey;
