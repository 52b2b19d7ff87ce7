-- Index entities: for each value of a property, one entity with the list of the entities that have
-- that value (the design guide's index entities pattern, options 2 and 3). You write to one view;
-- its triggers write the entity and the lists that it leaves or joins in one statement, all or
-- nothing. For the sqlite3 shell:
--
--     CREATE VIRTUAL TABLE Staff USING ptable(FirstName String, LastName String);
--     CREATE VIRTUAL TABLE StaffNames USING ptable();
--     CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey, RowKey);
--     INSERT INTO index_entities VALUES
--       ('Staff', NULL, 'Employee', 'StaffNames', 'EmployeeByName', 'PartitionKey', 'LastName');
--     .read sql/index_entities.sql
--
-- Consider sql/secondary_index.sql first, with a RowKey such as 'LastName || ''_'' || RowKey': one
-- small entity for each value and entity. It writes a few bytes where this script reads and writes
-- the whole list, does not limit how many entities share a value, and can return some of them. A
-- list is better if programs of the Table service expect it, or if lists are short and are read as
-- a whole.
--
-- One row for each index. base, entities and name are the same in all rows.
--
--   base          the ptable of the entities, or the view that another script like this made for
--                 writing
--   entities      a condition that is true for the entities, if the base has other rows too; else
--                 NULL
--   name          the view to write to: keys, declared columns, Properties, Timestamp, ETag and
--                 EntityKey of the base
--   lists         the ptable of the lists, which can be the base
--   lookup        the view to read, which joins lists and entities; also the name of the index
--   PartitionKey  expressions of the base's columns, deterministic: the keys of the list. If either
--   RowKey        is NULL, the entity is in no list
--
-- If both keys come from the value, there is one index of the whole company; with the entity's
-- PartitionKey there is one for each department. If the lists are in the base itself, give their
-- RowKey a prefix, because ids and names then share the keys. A list has two properties: IndexName,
-- and Entities, a text such as [["Sales","000152"],["Sales","000223"]], sorted as text. With
-- limits='azure' it has at most 32,768 characters, about 1,700 such pairs; one too many is an error
-- (PropertyValueTooLarge). A list that becomes empty is deleted. An UPDATE that changes neither
-- value nor keys writes no list.
--
-- No one else can write between reading a list and writing it: a statement locks the store from its
-- beginning, so there is no ETag to compare and nothing to try again. A transaction may write a
-- list several times, so batch='azure' is refused.
--
-- OR REPLACE and OR IGNORE apply to the entity, and leave no list wrong. Do not use OR FAIL: it
-- keeps what the failing row has written so far. changes() is 0 after a write to a view; RETURNING
-- shows the rows that were found.
--
-- Entities that are already in the base are put into lists when the script runs. Entities that are
-- later written to the base, not to the view, are not: run the script again, and it makes, changes
-- and deletes the lists that are missing or wrong. Then give all indexes: the view maintains only
-- those of the last run.
--
-- Base and lists are in the main database; or the base is a TEMP table. The views and triggers
-- are created in the schema of the base. They stay in the database, for all programs that load
-- ptable, but fail under PRAGMA trusted_schema=0. To undo it (dropping a view drops its triggers):
--
--     DROP VIEW Employee;
--     DROP VIEW EmployeeByName;
--     DELETE FROM StaffNames WHERE Filter MATCH 'IndexName eq ''EmployeeByName''';
--
-- If a parameter is wrong, the script fails and changes nothing. (If .bail on stops it in an
-- interactive shell: ROLLBACK.) The script drops the TEMP table. Its SQL goes through a file in the
-- current folder, ptable_index_entities.sql, which is removed again.

DROP TABLE IF EXISTS temp.index_entities_row;
CREATE TEMP TABLE index_entities_row AS
  SELECT row_number() OVER (ORDER BY rowid) AS number,
         base, entities, name, lists, lookup, PartitionKey, RowKey,
         -- Marks the views as made by this script for this base.
         '/* index_entities.sql: ' || replace(lower(base), '*/', '') || ' */' AS mark,
         (SELECT schema FROM pragma_table_list WHERE lower(name) = lower(base)
           ORDER BY schema <> 'temp', schema <> 'main') AS schema
    FROM temp.index_entities;
DROP TABLE temp.index_entities;

-- Problems of the parameters.
DROP VIEW IF EXISTS temp.index_entities_problem;
CREATE TEMP VIEW index_entities_problem(rank, text) AS
  WITH object AS (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema)
  SELECT 1, 'there is no row' WHERE NOT EXISTS (SELECT 1 FROM index_entities_row)
  UNION ALL
  SELECT 2, format('row %d: only entities may be NULL', number) FROM index_entities_row
   WHERE base IS NULL OR name IS NULL OR lists IS NULL OR lookup IS NULL
      OR PartitionKey IS NULL OR RowKey IS NULL
  UNION ALL
  SELECT 3, format('row %d: base, entities and name differ from those of row 1', r.number)
    FROM index_entities_row AS r JOIN index_entities_row AS f ON f.number = 1
   WHERE (r.base, r.entities, r.name) IS NOT (f.base, f.entities, f.name)
  UNION ALL
  SELECT 4, format('row %d: base "%w" is neither a ptable nor a view of these scripts', number, base)
    FROM index_entities_row
   WHERE NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(base) WHERE name = 'EntityKey')
  UNION ALL
  SELECT 4, format('row %d: base "%w" is in "%w"; open that as the main database', number, base,
                   schema)
    FROM index_entities_row WHERE schema NOT IN ('main', 'temp')
  UNION ALL
  SELECT 5, format('row %d: lists "%w" is not a ptable in the schema of the base', number, lists)
    FROM index_entities_row
   WHERE NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(lists) WHERE name = 'WriteMode')
      OR schema <> 'temp' AND schema <> (
           SELECT schema FROM pragma_table_list WHERE lower(name) = lower(lists)
            ORDER BY schema <> 'temp', schema <> 'main')
  UNION ALL
  SELECT 6, format('"%w" has batch=azure, which lets a transaction write a list only once', o.name)
    FROM object AS o
   WHERE lower(o.name) IN (SELECT lower(base) FROM index_entities_row
                           UNION SELECT lower(lists) FROM index_entities_row)
     AND instr(replace(replace(replace(lower(sql), ' ', ''), '''', ''), '"', ''), 'batch=azure')
  UNION ALL
  SELECT 7, format('the name "%w" is given twice', name)
    FROM (SELECT name FROM index_entities_row WHERE number = 1
          UNION ALL SELECT lookup FROM index_entities_row)
   GROUP BY lower(name) HAVING count(*) > 1
  UNION ALL
  SELECT 8, format('the name "%w" belongs to something else; take another', o.name)
    FROM object AS o
   WHERE o.type IN ('table', 'view') AND instr(o.sql, (SELECT mark FROM index_entities_row)) = 0
     AND lower(o.name) IN (SELECT lower(name) FROM index_entities_row
                           UNION SELECT lower(lookup) FROM index_entities_row);

-- Parts of the statements below. A part may contain {parts} that come after it.
DROP TABLE IF EXISTS temp.index_entities_part;
CREATE TEMP TABLE index_entities_part AS
  WITH based(number, columns, seen, new, old, changes) AS (
         SELECT r.number, group_concat(format('"%w"', c.name), ', '),
                group_concat(format('e."%w"', c.name), ', '),
                group_concat(format('new."%w"', c.name), ', '),
                group_concat(format('old."%w"', c.name), ', '),
                group_concat(format('"%w" = new."%w"', c.name, c.name), ', ')
           FROM index_entities_row AS r, pragma_table_xinfo(r.base) AS c
          WHERE c.name NOT IN ('Filter', 'WriteMode', 'IfMatch')
            AND NOT (c.hidden AND c.name IN ('_rowid_', 'rowid', 'oid'))
          GROUP BY r.number),
       -- Which rows of the base are entities; NULL: all of them.
       entity(condition) AS (
         SELECT CASE WHEN EXISTS (SELECT 1 FROM index_entities_row WHERE lower(lists) = lower(base))
                       OR EXISTS (SELECT 1 FROM pragma_table_list(base) WHERE type = 'view')
                     THEN coalesce('(' || entities || ') AND ', '') ||
                          'Properties ->> ''IndexName'' IS NULL'
                     ELSE '(' || entities || ')' END
           FROM index_entities_row WHERE number = 1),
       -- Removes one entity from one list.
       leave(text) AS (VALUES (
   'DELETE FROM {lists}
     WHERE EntityKey = {list} AND Properties ->> ''IndexName'' = {index}
       AND Properties ->> ''Entities'' = (SELECT json_array(json(value))
             FROM json_each(Properties ->> ''Entities'')
            WHERE pt_entity_key(value ->> 0, value ->> 1) = {entity});
  UPDATE {lists}
     SET Properties = json_set(Properties, ''$.Entities'',
           (SELECT json_group_array(json(value)) || '''' FROM json_each(Properties ->> ''Entities'')
             WHERE pt_entity_key(value ->> 0, value ->> 1) <> {entity}))
   WHERE EntityKey = {list} AND Properties ->> ''IndexName'' = {index}
     AND {entity} IN (SELECT pt_entity_key(value ->> 0, value ->> 1)
                        FROM json_each(Properties ->> ''Entities''))'))
  SELECT r.number, row_number() OVER (PARTITION BY r.number ORDER BY part.id) AS step,
         '{' || part.key || '}' AS name, part.value AS text
    FROM index_entities_row AS r LEFT JOIN based USING (number), entity, json_each(json_object(
    'replaced leaves', (SELECT replace(replace(text, '{entity}', '{new key}'), '{list}',
   '(SELECT ListKey FROM {wanted} WHERE EntityKey = {new key})') FROM leave),
    'overwritten leaves', (SELECT replace(replace(text, '{entity}', '{new key}'), '{list}',
   '(SELECT ListKey FROM {wanted} WHERE EntityKey = {new key} AND EntityKey <> old.EntityKey)')
                             FROM leave),
    'old leaves', (SELECT replace(replace(text, '{entity}', 'old.EntityKey'), '{list}',
   '(SELECT {key} FROM {old entity} AS {base}
        WHERE {key} NOT IN (SELECT ListKey FROM {wanted} WHERE EntityKey = old.EntityKey))')
                     FROM leave),
    'enter',
   'INSERT INTO {lists}(PartitionKey, RowKey, Properties, WriteMode)
    SELECT e.ListPartitionKey, e.ListRowKey,
           json_object(''IndexName'', {index}, ''Entities'',
             (SELECT json_group_array(json(value)) || ''''
                FROM (SELECT value FROM json_each(i.Properties ->> ''Entities'')
                      UNION SELECT json_array(e.PartitionKey, e.RowKey)))),
           iif(i.Properties ->> ''IndexName'' = {index}, ''replace'', ''insert'')
      FROM {wanted} AS e LEFT JOIN {lists} AS i ON i.EntityKey = e.ListKey
     WHERE {listed} IS NOT TRUE',
    'check',
   'SELECT RAISE(ABORT, {not written})
      FROM {wanted} AS e LEFT JOIN {lists} AS i ON i.EntityKey = e.ListKey
     WHERE {listed} IS NOT TRUE',
    'listed',
   '(i.Properties ->> ''IndexName'' = {index} AND json_array(e.PartitionKey, e.RowKey) IN
           (SELECT value FROM json_each(i.Properties ->> ''Entities'')))',
    'wanted lists',
   '(SELECT ListKey, ListPartitionKey, ListRowKey, json_group_array(json(pair)) || '''' AS list
            FROM (SELECT *, json_array(PartitionKey, RowKey) AS pair FROM {wanted} ORDER BY pair)
           GROUP BY ListKey)',
    'wanted',
   '(SELECT {key} AS ListKey, {PartitionKey} AS ListPartitionKey, {RowKey} AS ListRowKey,
                   PartitionKey, RowKey, EntityKey
              FROM {base} WHERE {entities} AND {key} IS NOT NULL)',
    -- OR REPLACE replaces entities only.
    'spare others', CASE
      WHEN entity.condition IS NULL THEN ''
      WHEN EXISTS (SELECT 1 FROM pragma_table_list(r.base) WHERE type = 'view') THEN '
  SELECT RAISE(ABORT, {no entity}) FROM {base}
   WHERE EntityKey = {new key} AND ({entities}) IS NOT TRUE;'
      ELSE '
  INSERT INTO {base}(PartitionKey, RowKey, WriteMode)
    SELECT PartitionKey, RowKey, ''insert'' FROM {base}
     WHERE EntityKey = {new key} AND ({entities}) IS NOT TRUE;' END,
    'check entity', iif(entity.condition IS NULL, '', '
  SELECT RAISE(ABORT, {no entity}) FROM {base}
   WHERE EntityKey = {new key} AND ({entities}) IS NOT TRUE;'),
    -- The second SELECT takes the columns' names and types, which comparisons need, from the first.
    -- The LIMIT keeps SQLite from flattening the subquery, which would lose the types.
    'old entity', '(SELECT {columns} FROM {base} WHERE FALSE UNION ALL SELECT {old} LIMIT -1)',
    'key', 'pt_entity_key({PartitionKey}, {RowKey})',
    'new key', 'pt_entity_key(new.PartitionKey, new.RowKey)',
    'columns', based.columns, 'seen', based.seen, 'new', based.new, 'old', based.old,
    'set', based.changes,
    'schema', format('"%w"', r.schema), 'mark', r.mark,
    'on insert', format('"%w insert"', r.name), 'on update', format('"%w update"', r.name),
    'on delete', format('"%w delete"', r.name),
    'name', format('"%w"', r.name), 'base', format('"%w"', r.base),
    'lists', format('"%w"', r.lists), 'lookup', format('"%w"', r.lookup),
    'index', format('%Q', r.lookup), 'filter', format('%Q', format('IndexName eq %Q', r.lookup)),
    'not written', format('%Q', r.lookup || ': the list cannot be written; another entity has ' ||
                                'its keys, or they or its length are not allowed'),
    'no entity', format('%Q', r.name || ': this row does not meet the condition of the view'),
    'changed', format('%Q', r.name || ': an earlier row of this statement has changed this entity'),
    'entities', coalesce(entity.condition, 'TRUE'),
    'PartitionKey', format('(%s)', r.PartitionKey), 'RowKey', format('(%s)', r.RowKey))) AS part;

-- The statements, in files 1 and 2. Those that are not "once" are repeated for every index.
DROP VIEW IF EXISTS temp.index_entities_statement;
CREATE TEMP VIEW index_entities_statement(file, line, once, text) AS VALUES
  (1, 10, TRUE,  'CREATE TEMP TRIGGER index_entities_make INSERT ON index_entities_start BEGIN'),
  (1, 11, FALSE, '  DELETE FROM {lists}
     WHERE Filter MATCH {filter}
       AND (EntityKey, Properties ->> ''Entities'') NOT IN
             (SELECT ListKey, list FROM {wanted lists});
  INSERT INTO {lists}(PartitionKey, RowKey, Properties)
    SELECT ListPartitionKey, ListRowKey,
           json_object(''IndexName'', {index}, ''Entities'', list || '''')
      FROM {wanted lists}
     WHERE ListKey NOT IN (SELECT EntityKey FROM {lists} WHERE Filter MATCH {filter});'),
  (1, 12, TRUE,  '  INSERT INTO index_entities_done VALUES (1);
END;
INSERT INTO index_entities_start VALUES (1);'),

  (2, 20, TRUE,  'DROP VIEW IF EXISTS {schema}.{name};
CREATE VIEW {schema}.{name} {mark} AS
  SELECT {columns} FROM {base} WHERE {entities};'),

  (2, 30, TRUE,  'CREATE TRIGGER {schema}.{on insert} INSTEAD OF INSERT ON {name}
BEGIN{spare others}'),
  -- With OR REPLACE another entity may have these keys.
  (2, 31, FALSE, '  {replaced leaves};'),
  (2, 32, TRUE,  '  INSERT INTO {base}({columns}) VALUES ({new});{check entity}'),
  (2, 33, FALSE, '  {enter} AND e.EntityKey = {new key};'),
  -- With OR IGNORE a list may have been skipped.
  (2, 34, FALSE, '  {check} AND e.EntityKey = {new key};'),
  (2, 35, TRUE,  'END;'),

  (2, 40, TRUE,  'CREATE TRIGGER {schema}.{on update} INSTEAD OF UPDATE ON {name} BEGIN
  SELECT RAISE(ABORT, {changed})
   WHERE NOT EXISTS (SELECT 1 FROM {base} WHERE EntityKey = old.EntityKey AND ETag = old.ETag);' ||
   '{spare others}'),
  (2, 41, FALSE, '  {overwritten leaves};'),
  (2, 42, TRUE,  '  UPDATE {base} SET {set} WHERE EntityKey = old.EntityKey;{check entity}'),
  (2, 43, FALSE, '  {old leaves};'),
  -- With OR IGNORE the entity may still have its old keys, and another one the new keys.
  (2, 44, FALSE, '  {enter} AND e.EntityKey IN (old.EntityKey, {new key});'),
  (2, 45, FALSE, '  {check} AND e.EntityKey IN (old.EntityKey, {new key});'),
  (2, 46, TRUE,  'END;'),

  (2, 50, TRUE,  'CREATE TRIGGER {schema}.{on delete} INSTEAD OF DELETE ON {name} BEGIN
  DELETE FROM {base} WHERE EntityKey = old.EntityKey;'),
  (2, 51, FALSE, '  {old leaves};'),
  (2, 52, TRUE,  'END;'),

  (2, 60, FALSE, 'DROP VIEW IF EXISTS {schema}.{lookup};
CREATE VIEW {schema}.{lookup} {mark} AS
  SELECT i.PartitionKey AS IndexPartitionKey, i.RowKey AS IndexRowKey, {seen}
    FROM {lists} AS i CROSS JOIN json_each(i.Properties ->> ''Entities'') AS pair
   CROSS JOIN {base} AS e
      ON e.PartitionKey = pair.value ->> 0 AND e.RowKey = pair.value ->> 1
   WHERE i.Filter MATCH {filter};'),

  (2, 90, TRUE,  'CREATE TEMP TRIGGER index_entities_try INSERT ON index_entities_start BEGIN
  INSERT INTO {name} SELECT * FROM {name} WHERE FALSE;
  UPDATE {name} SET RowKey = RowKey WHERE FALSE;
  DELETE FROM {name} WHERE FALSE;'),
  (2, 91, FALSE, '  SELECT 1 FROM {lookup} WHERE FALSE;'),
  (2, 92, TRUE,  '  INSERT INTO index_entities_done VALUES (2);
END;
DROP TRIGGER index_entities_make;
INSERT INTO index_entities_start VALUES (2);');

DROP VIEW IF EXISTS temp.index_entities_sql;
CREATE TEMP VIEW index_entities_sql(file, line, number, text) AS
  WITH filled(file, line, number, step, text) AS (
         SELECT file, line, number, 0, text
           FROM index_entities_statement JOIN index_entities_row ON number = 1 OR NOT once
         UNION ALL
         SELECT f.file, f.line, f.number, f.step + 1, replace(f.text, p.name, p.text)
           FROM filled AS f
           JOIN index_entities_part AS p ON p.number = f.number AND p.step = f.step + 1)
  SELECT file, line, number, text FROM filled
   WHERE step = (SELECT max(step) FROM index_entities_part)
     AND iif(file = 1, NOT EXISTS (SELECT 1 FROM index_entities_problem),
                       EXISTS (SELECT 1 FROM index_entities_done))
  UNION ALL
  SELECT 1, 1, 0, format('CREATE TEMP TRIGGER index_entities_refuse
  INSERT ON index_entities_start BEGIN SELECT RAISE(ABORT, %Q); END;
INSERT INTO index_entities_start VALUES (1);', 'index_entities: ' || text)
    FROM (SELECT text FROM index_entities_problem ORDER BY rank LIMIT 1)
  UNION ALL
  SELECT 3, 1, 0, 'ROLLBACK TO index_entities;'
   WHERE NOT EXISTS (SELECT 1 FROM index_entities_done WHERE number = 2)
  UNION ALL
  VALUES (1, 0, 0, '.shell rm ptable_index_entities.sql'),
         (2, 0, 0, '.shell rm ptable_index_entities.sql'),
         (3, 0, 0, '.shell rm ptable_index_entities.sql');

-- First make the lists, by a trigger: one statement, all or nothing.
DROP TABLE IF EXISTS temp.index_entities_start;
CREATE TEMP TABLE index_entities_start(number);
DROP TABLE IF EXISTS temp.index_entities_done;
CREATE TEMP TABLE index_entities_done(number);
SAVEPOINT index_entities;
SELECT 'cannot write ptable_index_entities.sql'
 WHERE writefile('ptable_index_entities.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM index_entities_sql WHERE file = 1 ORDER BY line, number))) IS NULL;
.read ptable_index_entities.sql

-- Then, if that succeeded, make the views, and try each kind of write on no row.
SELECT 'cannot write ptable_index_entities.sql'
 WHERE writefile('ptable_index_entities.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM index_entities_sql WHERE file = 2 ORDER BY line, number))) IS NULL;
.read ptable_index_entities.sql

-- If anything failed, undo everything.
SELECT 'cannot write ptable_index_entities.sql'
 WHERE writefile('ptable_index_entities.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM index_entities_sql WHERE file = 3 ORDER BY line, number))) IS NULL;
.read ptable_index_entities.sql
RELEASE index_entities;

DROP VIEW temp.index_entities_sql;
DROP VIEW temp.index_entities_statement;
DROP VIEW temp.index_entities_problem;
DROP TABLE temp.index_entities_start;
DROP TABLE temp.index_entities_done;
DROP TABLE temp.index_entities_part;
DROP TABLE temp.index_entities_row;
