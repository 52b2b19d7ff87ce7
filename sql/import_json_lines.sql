-- Imports JSON lines: one entity a line, as the Table service writes it, with PartitionKey, RowKey,
-- any properties, and annotations "Name@odata.type" before or after them. An Int64 is a string or a
-- number. Timestamp and members whose names begin with "odata." are ignored. For the sqlite3 shell:
--
--     .read sql/import_json_lines.sql
--     .import employees.jsonl json_lines
--     INSERT INTO Employee(PartitionKey, RowKey, Properties) SELECT * FROM json_entities;
--     .mode list
--
-- The script makes the TEMP table json_lines and the TEMP view json_entities on it, and sets the
-- separators so that .import reads each line as it is; .mode sets the usual ones again. The INSERT
-- adds all entities or, if one is not valid, none; the error says in which line. OR REPLACE, OR
-- IGNORE and WHERE can be added to it.

.mode list
.separator "\037" "\n"

DROP VIEW IF EXISTS temp.json_entities;
DROP TABLE IF EXISTS temp.json_lines;
CREATE TEMP TABLE json_lines(line TEXT);

-- pt_entity_properties checks the whole line, including the keys, which ->> alone would cut at a
-- U+0000.
CREATE TEMP VIEW json_entities(PartitionKey, RowKey, Properties) AS
  SELECT CASE WHEN json_valid(line) THEN line ->> 'PartitionKey' END,
         CASE WHEN json_valid(line) THEN line ->> 'RowKey' END,
         pt_entity_properties(line, 'line ' || rowid)
    FROM temp.json_lines
   WHERE trim(line, char(9, 13, 32)) <> '';
