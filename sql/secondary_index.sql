-- Secondary indexes: copies of entities under other keys, so that an e-mail address, say, finds
-- them as fast as their own keys do (the design guide's intra-partition and inter-partition
-- secondary index patterns). You write to one view; its triggers write the entity and its copies in
-- one statement, all or nothing. For the sqlite3 shell:
--
--     CREATE VIRTUAL TABLE Staff USING ptable(FirstName String, LastName String, Email String);
--     CREATE VIRTUAL TABLE StaffByEmail USING ptable(LastName String);
--     CREATE TEMP TABLE secondary_index(
--       base, entities, name, copies, lookup, PartitionKey, RowKey);
--     INSERT INTO secondary_index VALUES ('Staff', NULL, 'Employee',
--       'StaffByEmail', 'EmployeeByEmail', 'PartitionKey', 'lower(Email)');
--     .read sql/secondary_index.sql
--
-- A ptable also has indexes of its own: CREATE VIRTUAL TABLE Staff USING ptable(..., unique(Email)).
-- Those are the better way if a property, or several, is all that you look up: they take no views
-- and no triggers, every program keeps them, and they are faster. Take this script if the copies
-- need columns of their own, so that a look-up reads one place only; if keys are computed, as
-- lower(Email); or if the same SQL has to run on the Table service, which has no indexes.
--
-- One row for each index. base, entities and name are the same in all rows.
--
--   base          the ptable of the entities, or the view that another script like this made for
--                 writing
--   entities      a condition that is true for the entities, if the base has other rows too; else
--                 NULL
--   name          the view to write to: keys, declared columns, Properties, Timestamp, ETag and
--                 EntityKey of the base
--   copies        the ptable of the copies, which can be the base
--   lookup        the view to read the copies from; also the name of the index
--   PartitionKey  expressions of the base's columns, deterministic: the keys of the copy. If either
--   RowKey        is NULL, there is no copy
--
-- A copy has the columns that its ptable declares and the base has too. If its ptable declares
-- none, or is the base, it has all properties. It also has three properties of its own, which
-- entities should not have: IndexName, EntityPartitionKey and EntityRowKey. The lookup view shows
-- the keys of the copy as IndexPartitionKey and IndexRowKey, and those of its entity as
-- PartitionKey and RowKey. An UPDATE writes only the copies that it changes.
--
-- No two copies may have the same keys: a second entity with such keys is an error
-- (EntityAlreadyExists). If several entities may have the same value, end the RowKey with something
-- that tells them apart: 'lower(LastName) || ''_'' || RowKey'.
--
-- OR REPLACE replaces an entity and moves its copies. It never replaces copies of another entity:
-- that is an error, too. OR IGNORE skips entities that exist; if only a copy is in the way, that is
-- an error as well. For entities that exist both may write a copy twice, which batch='azure'
-- refuses. Do not use OR FAIL: it keeps what the failing row has written so far, perhaps an entity
-- without copies. changes() is 0 after a write to a view; RETURNING shows the rows that were found.
--
-- Entities that are already in the base get their copies when the script runs, in one transaction,
-- which batch='azure' limits. Entities that are later written to the base, not to the view, get no
-- copies: run the script again, and it makes, changes and deletes the copies that are missing or
-- wrong. Then give all indexes: the view maintains only those of the last run.
--
-- Base and copies are in the main database; or the base is a TEMP table. The views and triggers
-- are created in the schema of the base. They stay in the database, for all programs that load
-- ptable, but fail under PRAGMA trusted_schema=0. To undo it (dropping a view drops its triggers):
--
--     DROP VIEW Employee;
--     DROP VIEW EmployeeByEmail;
--     DELETE FROM StaffByEmail WHERE Filter MATCH 'IndexName eq ''EmployeeByEmail''';
--
-- If a parameter is wrong, or if two copies would have the same keys, the script fails and changes
-- nothing. (If .bail on stops it in an interactive shell: ROLLBACK.) The script drops the TEMP
-- table. Its SQL goes through a file in the current folder, ptable_secondary_index.sql, which is
-- removed again.

DROP TABLE IF EXISTS temp.secondary_index_row;
CREATE TEMP TABLE secondary_index_row AS
  SELECT row_number() OVER (ORDER BY rowid) AS number,
         base, entities, name, copies, lookup, PartitionKey, RowKey,
         -- Marks the views as made by this script for this base.
         '/* secondary_index.sql: ' || replace(lower(base), '*/', '') || ' */' AS mark,
         (SELECT schema FROM pragma_table_list WHERE lower(name) = lower(base)
           ORDER BY schema <> 'temp', schema <> 'main') AS schema
    FROM temp.secondary_index;
DROP TABLE temp.secondary_index;

-- Problems of the parameters.
DROP VIEW IF EXISTS temp.secondary_index_problem;
CREATE TEMP VIEW secondary_index_problem(rank, text) AS
  SELECT 1, 'there is no row' WHERE NOT EXISTS (SELECT 1 FROM secondary_index_row)
  UNION ALL
  SELECT 2, format('row %d: only entities may be NULL', number) FROM secondary_index_row
   WHERE base IS NULL OR name IS NULL OR copies IS NULL OR lookup IS NULL
      OR PartitionKey IS NULL OR RowKey IS NULL
  UNION ALL
  SELECT 3, format('row %d: base, entities and name differ from those of row 1', r.number)
    FROM secondary_index_row AS r JOIN secondary_index_row AS f ON f.number = 1
   WHERE (r.base, r.entities, r.name) IS NOT (f.base, f.entities, f.name)
  UNION ALL
  SELECT 4, format('row %d: base "%w" is neither a ptable nor a view of these scripts', number, base)
    FROM secondary_index_row
   WHERE NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(base) WHERE name = 'EntityKey')
  UNION ALL
  SELECT 4, format('row %d: base "%w" is in "%w"; open that as the main database', number, base,
                   schema)
    FROM secondary_index_row WHERE schema NOT IN ('main', 'temp')
  UNION ALL
  SELECT 5, format('row %d: copies "%w" is not a ptable in the schema of the base', number, copies)
    FROM secondary_index_row
   WHERE NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(copies) WHERE name = 'WriteMode')
      OR schema <> 'temp' AND schema <> (
           SELECT schema FROM pragma_table_list WHERE lower(name) = lower(copies)
            ORDER BY schema <> 'temp', schema <> 'main')
  UNION ALL
  SELECT 6, format('the name "%w" is given twice', name)
    FROM (SELECT name FROM secondary_index_row WHERE number = 1
          UNION ALL SELECT lookup FROM secondary_index_row)
   GROUP BY lower(name) HAVING count(*) > 1
  UNION ALL
  SELECT 7, format('the name "%w" belongs to something else; take another', s.name)
    FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema) AS s
   WHERE s.type IN ('table', 'view') AND instr(s.sql, (SELECT mark FROM secondary_index_row)) = 0
     AND lower(s.name) IN (SELECT lower(name) FROM secondary_index_row
                           UNION SELECT lower(lookup) FROM secondary_index_row);

-- The columns of the base and of the copies; those that every ptable has are not "declared".
DROP TABLE IF EXISTS temp.secondary_index_column;
CREATE TEMP TABLE secondary_index_column AS
  SELECT number, source, name,
         name NOT IN ('PartitionKey', 'RowKey', 'Properties', 'Timestamp', 'ETag', 'EntityKey')
           AS declared
    FROM (SELECT r.number, 'base' AS source, c.name, c.hidden
            FROM secondary_index_row AS r, pragma_table_xinfo(r.base) AS c
          UNION ALL
          SELECT r.number, 'copies', c.name, c.hidden
            FROM secondary_index_row AS r, pragma_table_xinfo(r.copies) AS c)
   WHERE name NOT IN ('Filter', 'WriteMode', 'IfMatch')
     AND NOT (hidden AND name IN ('_rowid_', 'rowid', 'oid'));

-- Parts of the statements below. A part may contain {parts} that come after it.
DROP TABLE IF EXISTS temp.secondary_index_part;
CREATE TEMP TABLE secondary_index_part AS
  WITH shared(number, name) AS (
         SELECT c.number, c.name
           FROM secondary_index_column AS c
           JOIN secondary_index_column AS b ON b.number = c.number AND b.name = c.name
           JOIN secondary_index_row AS r ON r.number = c.number
          WHERE c.source = 'copies' AND b.source = 'base' AND c.declared
            AND c.name NOT IN ('IndexName', 'EntityPartitionKey', 'EntityRowKey')
            AND lower(r.copies) <> lower(r.base)),
       whole(number) AS (
         SELECT number FROM secondary_index_row WHERE lower(copies) = lower(base)
         UNION
         SELECT number FROM secondary_index_column WHERE source = 'copies'
          GROUP BY number HAVING NOT max(declared)),
       copied(number, columns, given, differs) AS (
         SELECT number, group_concat(format('"%w", ', name), ''),
                group_concat(format('e."%w", ', name), ''),
                group_concat(format('c."%w" IS NOT e."%w"', name, name), ' OR ')
           FROM shared GROUP BY number),
       based(number, columns, new, old, changes) AS (
         SELECT number, group_concat(format('"%w"', name), ', '),
                group_concat(format('new."%w"', name), ', '),
                group_concat(format('old."%w"', name), ', '),
                group_concat(format('"%w" = new."%w"', name, name), ', ')
           FROM secondary_index_column WHERE source = 'base' GROUP BY number),
       shown(number, columns) AS (
         SELECT number, group_concat(format('"%w", ', name), '')
           FROM secondary_index_column
          WHERE source = 'copies' AND declared
            AND name NOT IN ('IndexName', 'EntityPartitionKey', 'EntityRowKey')
          GROUP BY number),
       -- Which rows of the base are entities; NULL: all of them.
       entity(condition) AS (
         SELECT CASE WHEN EXISTS (SELECT 1 FROM secondary_index_row WHERE lower(copies) = lower(base))
                       OR EXISTS (SELECT 1 FROM pragma_table_list(base) WHERE type = 'view')
                     THEN coalesce('(' || entities || ') AND ', '') ||
                          'Properties ->> ''IndexName'' IS NULL'
                     ELSE '(' || entities || ')' END
           FROM secondary_index_row WHERE number = 1)
  SELECT r.number, row_number() OVER (PARTITION BY r.number ORDER BY part.id) AS step,
         '{' || part.key || '}' AS name, part.value AS text
    FROM secondary_index_row AS r LEFT JOIN based USING (number)
    LEFT JOIN copied USING (number) LEFT JOIN shown USING (number), entity,
         json_each(json_object(
    'write',
   'INSERT INTO {copies}(PartitionKey, RowKey, {copied columns}Properties, WriteMode)
    SELECT e.CopyPartitionKey, e.CopyRowKey, {copied values}{copy},
           CASE WHEN {its copy} THEN ''replace'' ELSE ''insert'' END
      FROM {wanted} AS e LEFT JOIN {copies} AS c ON c.EntityKey = e.CopyKey
     WHERE ({its copy} IS NOT TRUE OR {differs})',
    'check',
   'SELECT RAISE(ABORT, {not written})
      FROM {wanted} AS e LEFT JOIN {copies} AS c ON c.EntityKey = e.CopyKey
     WHERE {its copy} IS NOT TRUE',
    'wanted',
   '(SELECT {key} AS CopyKey, {PartitionKey} AS CopyPartitionKey, {RowKey} AS CopyRowKey,
                   {copied columns}PartitionKey, RowKey, Properties, EntityKey
              FROM {base} WHERE {entities} AND {key} IS NOT NULL)',
    'old copy', '(SELECT {key} FROM {old entity} AS {base})',
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
    'its copy', '(c.Properties ->> ''IndexName'' = {index} AND {c.owner} = e.EntityKey)',
    'owner',
   'pt_entity_key(Properties ->> ''EntityPartitionKey'', Properties ->> ''EntityRowKey'')',
    'c.owner',
   'pt_entity_key(c.Properties ->> ''EntityPartitionKey'', c.Properties ->> ''EntityRowKey'')',
    'copy',
   'json_set({copied properties}, ''$.IndexName'', {index},
             ''$.EntityPartitionKey'', e.PartitionKey, ''$.EntityRowKey'', e.RowKey)',
    'copied properties', iif(number IN whole, 'e.Properties', '''{}'''),
    'differs', CASE WHEN number IN whole
                    THEN 'json_remove(c.Properties, ''$.IndexName'', ''$.EntityPartitionKey'',
                      ''$.EntityRowKey'') IS NOT e.Properties'
                    ELSE coalesce(copied.differs, 'FALSE') END,
    'copied columns', coalesce(copied.columns, ''),
    'copied values', coalesce(copied.given, ''),
    'shown columns', coalesce(shown.columns, ''),
    'columns', based.columns, 'new', based.new, 'old', based.old, 'set', based.changes,
    'schema', format('"%w"', r.schema), 'mark', r.mark,
    'on insert', format('"%w insert"', r.name), 'on update', format('"%w update"', r.name),
    'on delete', format('"%w delete"', r.name),
    'name', format('"%w"', r.name), 'base', format('"%w"', r.base),
    'copies', format('"%w"', r.copies), 'lookup', format('"%w"', r.lookup),
    'index', format('%Q', r.lookup), 'filter', format('%Q', format('IndexName eq %Q', r.lookup)),
    'not written', format('%Q', r.lookup || ': the copy cannot be written; another entity has ' ||
                                'its keys, or they are not allowed'),
    'no entity', format('%Q', r.name || ': this row does not meet the condition of the view'),
    'changed', format('%Q', r.name || ': an earlier row of this statement has changed this entity'),
    'entities', coalesce(entity.condition, 'TRUE'),
    'PartitionKey', format('(%s)', r.PartitionKey), 'RowKey', format('(%s)', r.RowKey))) AS part;

-- The statements, in files 1 and 2. Those that are not "once" are repeated for every index.
DROP VIEW IF EXISTS temp.secondary_index_statement;
CREATE TEMP VIEW secondary_index_statement(file, line, once, text) AS VALUES
  (1, 10, TRUE,  'CREATE TEMP TRIGGER secondary_index_make INSERT ON secondary_index_start BEGIN'),
  (1, 11, FALSE, '  DELETE FROM {copies}
     WHERE Filter MATCH {filter}
       AND (EntityKey, {owner}) NOT IN (SELECT CopyKey, EntityKey FROM {wanted});'),
  (1, 12, FALSE, '  {write};'),
  (1, 13, TRUE,  '  INSERT INTO secondary_index_done VALUES (1);
END;
INSERT INTO secondary_index_start VALUES (1);'),
  (2, 20, TRUE,  'DROP VIEW IF EXISTS {schema}.{name};
CREATE VIEW {schema}.{name} {mark} AS
  SELECT {columns} FROM {base} WHERE {entities};'),

  (2, 30, TRUE,  'CREATE TRIGGER {schema}.{on insert} INSTEAD OF INSERT ON {name}
BEGIN{spare others}'),
  -- With OR REPLACE another entity may have these keys.
  (2, 31, FALSE, '  DELETE FROM {copies}
     WHERE EntityKey = (SELECT CopyKey FROM {wanted} WHERE EntityKey = {new key})
       AND {owner} = {new key};'),
  (2, 32, TRUE,  '  INSERT INTO {base}({columns}) VALUES ({new});{check entity}'),
  (2, 33, FALSE, '  {write} AND e.EntityKey = {new key};'),
  -- With OR IGNORE a copy may have been skipped.
  (2, 34, FALSE, '  {check} AND e.EntityKey = {new key};'),
  (2, 35, TRUE,  'END;'),

  (2, 40, TRUE,  'CREATE TRIGGER {schema}.{on update} INSTEAD OF UPDATE ON {name} BEGIN
  SELECT RAISE(ABORT, {changed})
   WHERE NOT EXISTS (SELECT 1 FROM {base} WHERE EntityKey = old.EntityKey AND ETag = old.ETag);' ||
   '{spare others}'),
  (2, 41, FALSE, '  DELETE FROM {copies}
     WHERE EntityKey = (SELECT CopyKey FROM {wanted} WHERE EntityKey = {new key})
       AND {owner} = {new key} AND {new key} <> old.EntityKey;'),
  (2, 42, TRUE,  '  UPDATE {base} SET {set} WHERE EntityKey = old.EntityKey;{check entity}'),
  (2, 43, FALSE, '  DELETE FROM {copies}
     WHERE EntityKey = {old copy} AND {owner} = old.EntityKey
       AND EntityKey NOT IN (SELECT CopyKey FROM {wanted} WHERE EntityKey = old.EntityKey);'),
  -- With OR IGNORE the entity may still have its old keys, and another one the new keys.
  (2, 44, FALSE, '  {write} AND e.EntityKey IN (old.EntityKey, {new key});'),
  (2, 45, FALSE, '  {check} AND e.EntityKey IN (old.EntityKey, {new key});'),
  (2, 46, TRUE,  'END;'),

  (2, 50, TRUE,  'CREATE TRIGGER {schema}.{on delete} INSTEAD OF DELETE ON {name} BEGIN'),
  (2, 51, FALSE, '  DELETE FROM {copies}
     WHERE EntityKey = (SELECT CopyKey FROM {wanted} WHERE EntityKey = old.EntityKey)
       AND {owner} = old.EntityKey;'),
  (2, 52, TRUE,  '  DELETE FROM {base} WHERE EntityKey = old.EntityKey;
END;'),

  (2, 60, FALSE, 'DROP VIEW IF EXISTS {schema}.{lookup};
CREATE VIEW {schema}.{lookup} {mark} AS
  SELECT PartitionKey AS IndexPartitionKey, RowKey AS IndexRowKey,
         Properties ->> ''EntityPartitionKey'' AS PartitionKey,
         Properties ->> ''EntityRowKey'' AS RowKey, {shown columns}Properties
    FROM {copies} WHERE Filter MATCH {filter};'),

  (2, 90, TRUE,  'CREATE TEMP TRIGGER secondary_index_try INSERT ON secondary_index_start BEGIN
  INSERT INTO {name} SELECT * FROM {name} WHERE FALSE;
  UPDATE {name} SET RowKey = RowKey WHERE FALSE;
  DELETE FROM {name} WHERE FALSE;'),
  (2, 91, FALSE, '  SELECT 1 FROM {lookup} WHERE FALSE;'),
  (2, 92, TRUE,  '  INSERT INTO secondary_index_done VALUES (2);
END;
DROP TRIGGER secondary_index_make;
INSERT INTO secondary_index_start VALUES (2);');

DROP VIEW IF EXISTS temp.secondary_index_sql;
CREATE TEMP VIEW secondary_index_sql(file, line, number, text) AS
  WITH filled(file, line, number, step, text) AS (
         SELECT file, line, number, 0, text
           FROM secondary_index_statement JOIN secondary_index_row ON number = 1 OR NOT once
         UNION ALL
         SELECT f.file, f.line, f.number, f.step + 1, replace(f.text, p.name, p.text)
           FROM filled AS f
           JOIN secondary_index_part AS p ON p.number = f.number AND p.step = f.step + 1)
  SELECT file, line, number, text FROM filled
   WHERE step = (SELECT max(step) FROM secondary_index_part)
     AND iif(file = 1, NOT EXISTS (SELECT 1 FROM secondary_index_problem),
                       EXISTS (SELECT 1 FROM secondary_index_done))
  UNION ALL
  SELECT 1, 1, 0, format('CREATE TEMP TRIGGER secondary_index_refuse
  INSERT ON secondary_index_start BEGIN SELECT RAISE(ABORT, %Q); END;
INSERT INTO secondary_index_start VALUES (1);', 'secondary_index: ' || text)
    FROM (SELECT text FROM secondary_index_problem ORDER BY rank LIMIT 1)
  UNION ALL
  SELECT 3, 1, 0, 'ROLLBACK TO secondary_index;'
   WHERE NOT EXISTS (SELECT 1 FROM secondary_index_done WHERE number = 2)
  UNION ALL
  VALUES (1, 0, 0, '.shell rm ptable_secondary_index.sql'),
         (2, 0, 0, '.shell rm ptable_secondary_index.sql'),
         (3, 0, 0, '.shell rm ptable_secondary_index.sql');

-- First make the copies, by a trigger: one statement, all or nothing.
DROP TABLE IF EXISTS temp.secondary_index_start;
CREATE TEMP TABLE secondary_index_start(number);
DROP TABLE IF EXISTS temp.secondary_index_done;
CREATE TEMP TABLE secondary_index_done(number);
SAVEPOINT secondary_index;
SELECT 'cannot write ptable_secondary_index.sql'
 WHERE writefile('ptable_secondary_index.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM secondary_index_sql WHERE file = 1 ORDER BY line, number))) IS NULL;
.read ptable_secondary_index.sql

-- Then, if that succeeded, make the views, and try each kind of write on no row.
SELECT 'cannot write ptable_secondary_index.sql'
 WHERE writefile('ptable_secondary_index.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM secondary_index_sql WHERE file = 2 ORDER BY line, number))) IS NULL;
.read ptable_secondary_index.sql

-- If anything failed, undo everything.
SELECT 'cannot write ptable_secondary_index.sql'
 WHERE writefile('ptable_secondary_index.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM secondary_index_sql WHERE file = 3 ORDER BY line, number))) IS NULL;
.read ptable_secondary_index.sql
RELEASE secondary_index;

DROP VIEW temp.secondary_index_sql;
DROP VIEW temp.secondary_index_statement;
DROP VIEW temp.secondary_index_problem;
DROP TABLE temp.secondary_index_start;
DROP TABLE temp.secondary_index_done;
DROP TABLE temp.secondary_index_part;
DROP TABLE temp.secondary_index_column;
DROP TABLE temp.secondary_index_row;
