-- Counters: the number of entities in a group, or the sum of a property, kept in an entity of their
-- own, so that one point query reads it (the design guide's EmployeeCount of a department). You
-- write to one view; its triggers write the entity and the counters in one statement, all or
-- nothing. For the sqlite3 shell:
--
--     CREATE VIRTUAL TABLE Contoso USING ptable(LastName String, EmployeeCount Int64);
--     CREATE TEMP TABLE counters(
--       base, entities, name, counters, property, PartitionKey, RowKey, amount);
--     INSERT INTO counters VALUES ('Contoso', 'pt_starts_with(RowKey, ''empid_'')', 'Employee',
--       'Contoso', 'EmployeeCount', 'PartitionKey', '''department''', '1');
--     .read sql/counters.sql
--
-- Without a counter, SELECT count(*) FROM Contoso WHERE PartitionKey = 'Sales' AND
-- pt_starts_with(RowKey, 'empid_') reads the keys of all entities that it counts, and a sum reads
-- the entities. A counter pays off if groups are large and are read more often than they change,
-- because each write to the view also writes the counter.
--
-- One row for each counter. base, entities and name are the same in all rows.
--
--   base          the ptable of the entities, or the view that another script like this made for
--                 writing
--   entities      a condition that is true for the entities, if the base has other rows too, such
--                 as the counters; else NULL
--   name          the view to write to: keys, declared columns, Properties, Timestamp, ETag and
--                 EntityKey of the base
--   counters      the ptable of the counters, which can be the base
--   property      the counter: a column that this ptable declares. Other properties of the same
--                 entity stay as they are, so a department may have a name as well as its count
--   PartitionKey  expressions of the base's columns, deterministic: the keys of the counter. If
--   RowKey        either is NULL, the entity is not counted
--   amount        another such expression: what the entity adds to the counter. '1' makes a count, a
--                 column a sum; NULL adds nothing. Use integers, such as cents: sums of Doubles are
--                 not exact
--
-- A counter is created by the first amount, and stays, as 0, when all entities of its group are
-- gone. An UPDATE that changes neither group nor amount writes no counter.
--
-- Several writers: a statement locks the store from its beginning, so no count is lost, and there
-- is no ETag to compare. Others wait (PRAGMA busy_timeout). A transaction that reads before its
-- first write may get SQLITE_BUSY_SNAPSHOT, and must begin again. With batch='azure' a transaction
-- could write a counter only once, so that is refused.
--
-- OR REPLACE and OR IGNORE apply to the entity, and leave no count wrong. Do not use OR FAIL: it
-- keeps what the failing row has written so far. changes() is 0 after a write to a view; RETURNING
-- shows the rows that were found.
--
-- Entities that are already in the base are counted when the script runs. Entities that are later
-- written to the base, not to the view, are not counted: run the script again, and it counts again
-- and corrects the counters. Then give all counters: the view maintains only those of the last run.
-- In the whole ptable of the counters, only the script may write the property.
--
-- Base and counters are in the main database; or the base is a TEMP table. The views and triggers
-- are created in the schema of the base. They stay in the database, for all programs that load
-- ptable, but fail under PRAGMA trusted_schema=0. To undo it (dropping a view drops its triggers):
--
--     DROP VIEW Employee;
--     UPDATE Contoso SET EmployeeCount = NULL WHERE EmployeeCount IS NOT NULL;
--
-- If a parameter is wrong, the script fails and changes nothing. (If .bail on stops it in an
-- interactive shell: ROLLBACK.) The script drops the TEMP table. Its SQL goes through a file in the
-- current folder, ptable_counters.sql, which is removed again.

DROP TABLE IF EXISTS temp.counters_row;
CREATE TEMP TABLE counters_row AS
  SELECT row_number() OVER (ORDER BY rowid) AS number,
         base, entities, name, counters, property, PartitionKey, RowKey, amount,
         -- Marks the views as made by this script for this base.
         '/* counters.sql: ' || replace(lower(base), '*/', '') || ' */' AS mark,
         (SELECT schema FROM pragma_table_list WHERE lower(name) = lower(base)
           ORDER BY schema <> 'temp', schema <> 'main') AS schema
    FROM temp.counters;
DROP TABLE temp.counters;

-- Problems of the parameters.
DROP VIEW IF EXISTS temp.counters_problem;
CREATE TEMP VIEW counters_problem(rank, text) AS
  WITH object AS (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema)
  SELECT 1, 'there is no row' WHERE NOT EXISTS (SELECT 1 FROM counters_row)
  UNION ALL
  SELECT 2, format('row %d: only entities may be NULL', number) FROM counters_row
   WHERE base IS NULL OR name IS NULL OR counters IS NULL OR property IS NULL
      OR PartitionKey IS NULL OR RowKey IS NULL OR amount IS NULL
  UNION ALL
  SELECT 3, format('row %d: base, entities and name differ from those of row 1', r.number)
    FROM counters_row AS r JOIN counters_row AS f ON f.number = 1
   WHERE (r.base, r.entities, r.name) IS NOT (f.base, f.entities, f.name)
  UNION ALL
  SELECT 4, format('row %d: base "%w" is neither a ptable nor a view of these scripts', number, base)
    FROM counters_row
   WHERE NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(base) WHERE name = 'EntityKey')
  UNION ALL
  SELECT 4, format('row %d: base "%w" is in "%w"; open that as the main database', number, base,
                   schema)
    FROM counters_row WHERE schema NOT IN ('main', 'temp')
  UNION ALL
  SELECT 5, format('row %d: counters "%w" is not a ptable in the schema of the base', number,
                   counters)
    FROM counters_row
   WHERE NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(counters) WHERE name = 'WriteMode')
      OR schema <> 'temp' AND schema <> (
           SELECT schema FROM pragma_table_list WHERE lower(name) = lower(counters)
            ORDER BY schema <> 'temp', schema <> 'main')
  UNION ALL
  SELECT 6, format('row %d: counters "%w" declares no column "%w"', number, counters, property)
    FROM counters_row AS r
   WHERE NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(r.counters) AS c
                      WHERE c.name = r.property AND NOT c.hidden
                        AND c.name NOT IN ('PartitionKey', 'RowKey'))
  UNION ALL
  SELECT 7, format('the counter "%w" of "%w" is given twice', property, counters)
    FROM counters_row GROUP BY lower(counters), property HAVING count(*) > 1
  UNION ALL
  SELECT 8, format('row %d: the counters are in the base, so entities must exclude them', number)
    FROM counters_row
   WHERE lower(counters) = lower(base) AND entities IS NULL
  UNION ALL
  SELECT 9, format('"%w" has batch=azure, which lets a transaction write a counter only once',
                   o.name)
    FROM object AS o
   WHERE lower(o.name) IN (SELECT lower(base) FROM counters_row
                           UNION SELECT lower(counters) FROM counters_row)
     AND instr(replace(replace(replace(lower(sql), ' ', ''), '''', ''), '"', ''), 'batch=azure')
  UNION ALL
  SELECT 10, format('the name "%w" belongs to something else; take another', o.name)
    FROM object AS o
   WHERE o.type IN ('table', 'view') AND instr(o.sql, (SELECT mark FROM counters_row)) = 0
     AND lower(o.name) IN (SELECT lower(name) FROM counters_row);

-- Parts of the statements below. A part may contain {parts} that come after it.
DROP TABLE IF EXISTS temp.counters_part;
CREATE TEMP TABLE counters_part AS
  WITH based(number, columns, new, old, changes) AS (
         SELECT r.number, group_concat(format('"%w"', c.name), ', '),
                group_concat(format('new."%w"', c.name), ', '),
                group_concat(format('old."%w"', c.name), ', '),
                group_concat(format('"%w" = new."%w"', c.name, c.name), ', ')
           FROM counters_row AS r, pragma_table_xinfo(r.base) AS c
          WHERE c.name NOT IN ('Filter', 'WriteMode', 'IfMatch')
            AND NOT (c.hidden AND c.name IN ('_rowid_', 'rowid', 'oid'))
          GROUP BY r.number),
       -- Which rows of the base are entities; NULL: all of them.
       entity(condition) AS (
         SELECT '(' || entities || ')' FROM counters_row WHERE number = 1),
       -- Adds the sums of some amounts to their counters.
       add_up(text) AS (VALUES (
   'INSERT INTO {counters}(PartitionKey, RowKey, {property}, WriteMode)
    SELECT d.CounterPartitionKey, d.CounterRowKey, coalesce(c.{property}, 0) + d.amount, ''merge''
      FROM (SELECT CounterKey, CounterPartitionKey, CounterRowKey, sum(amount) AS amount
              FROM ({amounts})
             GROUP BY CounterKey HAVING sum(amount) <> 0) AS d
      LEFT JOIN {counters} AS c ON c.EntityKey = d.CounterKey'))
  SELECT r.number, row_number() OVER (PARTITION BY r.number ORDER BY part.id) AS step,
         '{' || part.key || '}' AS name, part.value AS text
    FROM counters_row AS r LEFT JOIN based USING (number), entity, json_each(json_object(
    'take replaced', (SELECT replace(text, '{amounts}',
   'SELECT CounterKey, CounterPartitionKey, CounterRowKey, -amount AS amount
                      FROM {counted} WHERE EntityKey = {new key}') FROM add_up),
    'take overwritten', (SELECT replace(text, '{amounts}',
   'SELECT CounterKey, CounterPartitionKey, CounterRowKey, -amount AS amount
                      FROM {counted} WHERE EntityKey = {new key} AND EntityKey <> old.EntityKey')
                           FROM add_up),
    'add new', (SELECT replace(text, '{amounts}',
   'SELECT * FROM {counted} WHERE EntityKey = {new key}') FROM add_up),
    'add difference', (SELECT replace(text, '{amounts}',
   'SELECT CounterKey, CounterPartitionKey, CounterRowKey, amount FROM {counted}
                     WHERE EntityKey IN (old.EntityKey, {new key})
                    UNION ALL {old amount}') FROM add_up),
    'take old', (SELECT replace(text, '{amounts}', '{old amount}') FROM add_up),
    'check',
   'SELECT RAISE(ABORT, {not written})
      FROM {counted} AS d LEFT JOIN {counters} AS c ON c.EntityKey = d.CounterKey
     WHERE d.amount <> 0 AND c.{property} IS NULL',
    'total',
   '(SELECT CounterKey, CounterPartitionKey, CounterRowKey, sum(amount) AS amount FROM {counted}
           GROUP BY CounterKey)',
    'counted',
   '(SELECT {key} AS CounterKey, {PartitionKey} AS CounterPartitionKey,
                           {RowKey} AS CounterRowKey, {amount} AS amount, EntityKey
                      FROM {base} WHERE {entities} AND {key} IS NOT NULL)',
    'old amount',
   'SELECT {key} AS CounterKey, {PartitionKey} AS CounterPartitionKey,
                           {RowKey} AS CounterRowKey, -({amount}) AS amount
                      FROM {old entity} AS {base} WHERE {key} IS NOT NULL',
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
    'columns', based.columns, 'new', based.new, 'old', based.old, 'set', based.changes,
    'schema', format('"%w"', r.schema), 'mark', r.mark,
    'on insert', format('"%w insert"', r.name), 'on update', format('"%w update"', r.name),
    'on delete', format('"%w delete"', r.name),
    'name', format('"%w"', r.name), 'base', format('"%w"', r.base),
    'counters', format('"%w"', r.counters), 'property', format('"%w"', r.property),
    'not written', format('%Q', r.property || ': the counter cannot be written'),
    'no entity', format('%Q', r.name || ': this row does not meet the condition of the view'),
    'changed', format('%Q', r.name || ': an earlier row of this statement has changed this entity'),
    'entities', coalesce(entity.condition, 'TRUE'),
    'PartitionKey', format('(%s)', r.PartitionKey), 'RowKey', format('(%s)', r.RowKey),
    'amount', format('(%s)', r.amount))) AS part;

-- The statements, in files 1 and 2. Those that are not "once" are repeated for every counter.
DROP VIEW IF EXISTS temp.counters_statement;
CREATE TEMP VIEW counters_statement(file, line, once, text) AS VALUES
  (1, 10, TRUE,  'CREATE TEMP TRIGGER counters_make INSERT ON counters_start BEGIN'),
  (1, 11, FALSE, '  UPDATE {counters} SET {property} = 0
   WHERE {property} <> 0 AND EntityKey NOT IN (SELECT CounterKey FROM {total});
  INSERT INTO {counters}(PartitionKey, RowKey, {property}, WriteMode)
    SELECT d.CounterPartitionKey, d.CounterRowKey, d.amount, ''merge''
      FROM {total} AS d LEFT JOIN {counters} AS c ON c.EntityKey = d.CounterKey
     WHERE d.amount <> coalesce(c.{property}, 0);'),
  (1, 12, TRUE,  '  INSERT INTO counters_done VALUES (1);
END;
INSERT INTO counters_start VALUES (1);'),

  (2, 20, TRUE,  'DROP VIEW IF EXISTS {schema}.{name};
CREATE VIEW {schema}.{name} {mark} AS
  SELECT {columns} FROM {base} WHERE {entities};'),

  (2, 30, TRUE,  'CREATE TRIGGER {schema}.{on insert} INSTEAD OF INSERT ON {name}
BEGIN{spare others}'),
  -- With OR REPLACE another entity may have these keys.
  (2, 31, FALSE, '  {take replaced};'),
  (2, 32, TRUE,  '  INSERT INTO {base}({columns}) VALUES ({new});{check entity}'),
  (2, 33, FALSE, '  {add new};'),
  -- With OR IGNORE a counter may have been skipped.
  (2, 34, FALSE, '  {check} AND d.EntityKey = {new key};'),
  (2, 35, TRUE,  'END;'),

  (2, 40, TRUE,  'CREATE TRIGGER {schema}.{on update} INSTEAD OF UPDATE ON {name} BEGIN
  SELECT RAISE(ABORT, {changed})
   WHERE NOT EXISTS (SELECT 1 FROM {base} WHERE EntityKey = old.EntityKey AND ETag = old.ETag);' ||
   '{spare others}'),
  (2, 41, FALSE, '  {take overwritten};'),
  (2, 42, TRUE,  '  UPDATE {base} SET {set} WHERE EntityKey = old.EntityKey;{check entity}'),
  -- With OR IGNORE the entity may still have its old keys, and another one the new keys.
  (2, 43, FALSE, '  {add difference};'),
  (2, 44, FALSE, '  {check} AND d.EntityKey IN (old.EntityKey, {new key});'),
  (2, 45, TRUE,  'END;'),

  (2, 50, TRUE,  'CREATE TRIGGER {schema}.{on delete} INSTEAD OF DELETE ON {name} BEGIN'),
  (2, 51, FALSE, '  {take old};'),
  (2, 52, TRUE,  '  DELETE FROM {base} WHERE EntityKey = old.EntityKey;
END;'),

  (2, 90, TRUE,  'CREATE TEMP TRIGGER counters_try INSERT ON counters_start BEGIN
  INSERT INTO {name} SELECT * FROM {name} WHERE FALSE;
  UPDATE {name} SET RowKey = RowKey WHERE FALSE;
  DELETE FROM {name} WHERE FALSE;'),
  (2, 92, TRUE,  '  INSERT INTO counters_done VALUES (2);
END;
DROP TRIGGER counters_make;
INSERT INTO counters_start VALUES (2);');

DROP VIEW IF EXISTS temp.counters_sql;
CREATE TEMP VIEW counters_sql(file, line, number, text) AS
  WITH filled(file, line, number, step, text) AS (
         SELECT file, line, number, 0, text
           FROM counters_statement JOIN counters_row ON number = 1 OR NOT once
         UNION ALL
         SELECT f.file, f.line, f.number, f.step + 1, replace(f.text, p.name, p.text)
           FROM filled AS f
           JOIN counters_part AS p ON p.number = f.number AND p.step = f.step + 1)
  SELECT file, line, number, text FROM filled
   WHERE step = (SELECT max(step) FROM counters_part)
     AND iif(file = 1, NOT EXISTS (SELECT 1 FROM counters_problem),
                       EXISTS (SELECT 1 FROM counters_done))
  UNION ALL
  SELECT 1, 1, 0, format('CREATE TEMP TRIGGER counters_refuse
  INSERT ON counters_start BEGIN SELECT RAISE(ABORT, %Q); END;
INSERT INTO counters_start VALUES (1);', 'counters: ' || text)
    FROM (SELECT text FROM counters_problem ORDER BY rank LIMIT 1)
  UNION ALL
  SELECT 3, 1, 0, 'ROLLBACK TO counters;'
   WHERE NOT EXISTS (SELECT 1 FROM counters_done WHERE number = 2)
  UNION ALL
  VALUES (1, 0, 0, '.shell rm ptable_counters.sql'),
         (2, 0, 0, '.shell rm ptable_counters.sql'),
         (3, 0, 0, '.shell rm ptable_counters.sql');

-- First count everything, by a trigger: one statement, all or nothing.
DROP TABLE IF EXISTS temp.counters_start;
CREATE TEMP TABLE counters_start(number);
DROP TABLE IF EXISTS temp.counters_done;
CREATE TEMP TABLE counters_done(number);
SAVEPOINT counters;
SELECT 'cannot write ptable_counters.sql'
 WHERE writefile('ptable_counters.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM counters_sql WHERE file = 1 ORDER BY line, number))) IS NULL;
.read ptable_counters.sql

-- Then, if that succeeded, make the views, and try each kind of write on no row.
SELECT 'cannot write ptable_counters.sql'
 WHERE writefile('ptable_counters.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM counters_sql WHERE file = 2 ORDER BY line, number))) IS NULL;
.read ptable_counters.sql

-- If anything failed, undo everything.
SELECT 'cannot write ptable_counters.sql'
 WHERE writefile('ptable_counters.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM counters_sql WHERE file = 3 ORDER BY line, number))) IS NULL;
.read ptable_counters.sql
RELEASE counters;

DROP VIEW temp.counters_sql;
DROP VIEW temp.counters_statement;
DROP VIEW temp.counters_problem;
DROP TABLE temp.counters_start;
DROP TABLE temp.counters_done;
DROP TABLE temp.counters_part;
DROP TABLE temp.counters_row;
