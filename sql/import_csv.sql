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

-- .import renames columns that differ only in case, because to SQL a and A are one name: to a_3 and
-- A_5, by their positions. These are two properties, and PartitionKey_1 is PartitionKey.
.once ptable_import_csv.sql
WITH RECURSIVE
     bare(position, field, name) AS (
       SELECT cid, name,
              CASE WHEN rtrim(name, '0123456789') GLOB '?*_' AND
                        ltrim(substr(name, length(rtrim(name, '0123456789')) + 1), '0') = CAST(cid + 1 AS TEXT)
                   THEN substr(name, 1, length(rtrim(name, '0123456789')) - 1) END
         FROM pragma_table_info('csv_imported', 'temp')),
     renamed(name) AS (
       SELECT lower(name) FROM bare WHERE name IS NOT NULL GROUP BY 1 HAVING count(*) > 1),
     field(position, field, name) AS MATERIALIZED (
       SELECT position, field, iif(lower(name) IN (SELECT name FROM renamed), name, field)
         FROM bare),
     -- A value is followed by its type, or else the type is elsewhere. In order, because the name of
     -- a property may end in @type: v, v@type, v@type, v@type@type are the two properties v, v@type.
     neighbour(position, is_type) AS (
       SELECT 0, 0
       UNION ALL
       SELECT n.position + 1, NOT n.is_type AND f.name = before.name || '@type'
         FROM neighbour AS n
         JOIN field AS before ON before.position = n.position
         JOIN field AS f ON f.position = n.position + 1),
     single(position, field, name) AS MATERIALIZED (
       SELECT f.position, f.field, f.name
         FROM field AS f JOIN neighbour AS n USING (position)
         LEFT JOIN neighbour AS next ON next.position = n.position + 1
        WHERE NOT n.is_type AND NOT coalesce(next.is_type, 0)),
     pair(position, name, value, type) AS (
       SELECT v.position, v.name, v.field, t.field
         FROM neighbour AS n
         JOIN field AS t ON t.position = n.position
         JOIN field AS v ON v.position = n.position - 1
        WHERE n.is_type
       UNION ALL
       SELECT v.position, v.name, v.field, t.field
         FROM single AS v JOIN single AS t ON t.name = v.name || '@type'),
     property(position, name, value, type) AS (
       SELECT position, name, value, format('r."%w"', type) FROM pair
       UNION ALL
       SELECT position, name, field, 'NULL' FROM single
        WHERE field NOT IN (SELECT value FROM pair UNION SELECT type FROM pair)),
     key(partition_key, row_key) AS (
       SELECT format('r."%w"', coalesce(max(iif(name = 'PartitionKey', field, NULL)), 'PartitionKey')),
              format('r."%w"', coalesce(max(iif(name = 'RowKey', field, NULL)), 'RowKey'))
         FROM field),
     -- In groups, because SQLite limits the depth of an expression.
     members(sql) AS (
       SELECT group_concat(format('pt_csv_member(''row '' || (r.rowid + 1), %Q, r."%w", %s)',
                                  name, value, type), ' ||' || char(10) || '    ')
         FROM property
        WHERE name NOT IN ('PartitionKey', 'RowKey', 'Timestamp')
        GROUP BY position / 50)
SELECT format(
  'CREATE TEMP VIEW csv_entities(PartitionKey, RowKey, Properties) AS
  SELECT %s, %s, pt_entity_properties(
    ''{"PartitionKey":'' || json_quote(%s) || '',"RowKey":'' || json_quote(%s) ||
    %s || ''}'', ''row '' || (r.rowid + 1))
  FROM temp.csv_imported AS r;',
  partition_key, row_key, partition_key, row_key,
  coalesce((SELECT group_concat('(' || sql || ')', ' ||' || char(10) || '    ') FROM members),
           '''''')) FROM key;

.read ptable_import_csv.sql
.shell rm ptable_import_csv.sql
