-- Imports the CSV of Azure Storage Explorer: columns PartitionKey, RowKey, and for each property a
-- pair of columns, Name and Name@type, in any order. The types are String, Int32, Int64, Double,
-- Boolean, DateTime, Guid and Binary (base64), with or without "Edm." before them. If both fields
-- are empty, the entity lacks the property; an empty value of type String is an empty text.
-- Timestamp is ignored. For the sqlite3 shell:
--
--     .import --csv --schema temp employees.csv csv_rows
--     .read sql/import_csv.sql
--     INSERT INTO Employee(PartitionKey, RowKey, Properties) SELECT * FROM csv_entities;
--
-- The script renames the TEMP table csv_rows to csv_imported, so that the name is free for the next
-- file, and makes the TEMP view csv_entities on it. The INSERT adds all entities or, if one is not
-- valid, none; the error says in which row (the first row has the names). OR REPLACE, OR IGNORE and
-- WHERE can be added to it. A value without a type is an error: to give it one, UPDATE csv_rows
-- before the second line.
--
-- The view's SQL depends on the columns of the file. It goes through a file in the current folder,
-- ptable_import_csv.sql, which is removed again. Afterwards the shell is in .mode list with
-- .headers off.

.mode list
.headers off

DROP VIEW IF EXISTS temp.csv_entities;
DROP TABLE IF EXISTS temp.csv_imported;
CREATE TEMP TABLE csv_imported AS SELECT * FROM temp.csv_rows;
DROP TABLE temp.csv_rows;

-- .import renames columns that differ only in case, because to SQL a and A are one name: a_3,
-- a@type_4, A_5, A@type_6. These are two properties.
.once ptable_import_csv.sql
WITH field(position, name, next) AS (
       SELECT cid, name, lead(name, 1, '') OVER (ORDER BY cid)
         FROM pragma_table_info('csv_imported', 'temp')),
     pair(position, property, value, type) AS (
       SELECT v.position, v.name, v.name, t.name
         FROM field AS v JOIN field AS t ON t.name = v.name || '@type'
       UNION ALL
       SELECT position, substr(next, 1, instr(next, '@type_') - 1), name, next
         FROM field
        WHERE next GLOB '?*@type_[0-9]*'
          AND substr(name, 1, instr(next, '@type_')) =
              substr(next, 1, instr(next, '@type_') - 1) || '_'),
     property(position, name, value, type) AS (
       SELECT position, property, value, format('r."%w"', type) FROM pair
       UNION ALL
       SELECT position, name, name, 'NULL' FROM field
        WHERE name NOT IN (SELECT value FROM pair UNION SELECT type FROM pair)),
     -- In groups, because SQLite limits the depth of an expression.
     members(sql) AS (
       SELECT group_concat(format('pt_csv_member(''row '' || (r.rowid + 1), %Q, r."%w", %s)',
                                  name, value, type), ' ||' || char(10) || '    ')
         FROM property
        WHERE name NOT IN ('PartitionKey', 'RowKey', 'Timestamp')
        GROUP BY position / 50)
SELECT format(
  'CREATE TEMP VIEW csv_entities(PartitionKey, RowKey, Properties) AS
  SELECT r.PartitionKey, r.RowKey, pt_entity_properties(
    ''{"PartitionKey":'' || json_quote(r.PartitionKey) || '',"RowKey":'' || json_quote(r.RowKey) ||
    %s || ''}'', ''row '' || (r.rowid + 1))
  FROM temp.csv_imported AS r;',
  coalesce((SELECT group_concat('(' || sql || ')', ' ||' || char(10) || '    ') FROM members),
           ''''''));

.read ptable_import_csv.sql
.shell rm ptable_import_csv.sql
