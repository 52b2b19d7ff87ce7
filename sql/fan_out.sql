-- Fan-out: one INSERT puts an event into the timelines of all followers of its subject, and one
-- DELETE removes it from all of them. Followers are stored in both directions. You write to two
-- views; their triggers write everything in one statement, all or nothing. For the sqlite3 shell:
--
--     CREATE VIRTUAL TABLE Event USING ptable(Title String);
--     CREATE VIRTUAL TABLE Timeline USING ptable(Subject String, Title String);
--     CREATE VIRTUAL TABLE Follower USING ptable();
--     CREATE VIRTUAL TABLE Following USING ptable();
--     CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);
--     INSERT INTO fan_out VALUES ('Event', 'Timeline', 'Follower', 'Following', 'Post', 'Follow');
--     .read sql/fan_out.sql
--
-- Give one row: the names of four ptables and two views.
--
--   events      PartitionKey: the subject; RowKey: the event's id
--   timelines   PartitionKey: the follower; RowKey: the event's id. Properties: the event's, and
--               Subject, which events should not have
--   followers   PartitionKey: the subject; RowKey: a follower. A partition scan answers: who follows
--               X?
--   following   PartitionKey: the follower; RowKey: a subject. A partition scan answers: whom does X
--               follow?
--   post        the view to write events to: keys, declared columns, Properties, Timestamp, ETag and
--               EntityKey of the events
--   follow      the view to write followers to: Subject, Follower. INSERT gives a new follower the
--               events that exist, DELETE takes them away
--
-- Ids are unique among all subjects. If a timeline already has an event with the same id, that is
-- an error (EntityAlreadyExists). pt_uuid7() makes ids in the order of time. A page of a timeline
-- is
--
--     SELECT * FROM Timeline WHERE PartitionKey = 'ann' ORDER BY RowKey DESC LIMIT 10;
--
-- A write costs as many entities as there are followers. Without timelines, a join of Following and
-- Event gives the same rows, but for each page it reads and sorts the events of all the subjects
-- that the user follows. It is better if much is written and little is read, or if subjects have
-- very many followers.
--
-- OR REPLACE replaces an event in all timelines; OR IGNORE skips events and followers that exist.
-- No timeline is left wrong. But do not use OR FAIL: it keeps what the failing row has written so
-- far. changes() is 0 after a write to a view; RETURNING shows the rows that were found. A
-- transaction with batch='azure' can write only one table, so that is refused.
--
-- Only this script may write Timeline and Following. Events and followers that already exist are
-- spread when it runs. Those that are later written to the ptables, not to the views, are not: run
-- the script again, and it makes, changes and deletes what is missing or wrong.
--
-- All ptables are in the main database; or the events are a TEMP table. The views and triggers are
-- created in the schema of the events. They stay in the database, for all programs that load
-- ptable, but fail under PRAGMA trusted_schema=0. To undo it (dropping a view drops its triggers):
--
--     DROP VIEW Post;
--     DROP VIEW Follow;
--     DELETE FROM Timeline;
--     DELETE FROM Following;
--
-- If a parameter is wrong, the script fails and changes nothing. (If .bail on stops it in an
-- interactive shell: ROLLBACK.) The script drops the TEMP table. Its SQL goes through a file in the
-- current folder, ptable_fan_out.sql, which is removed again.

DROP TABLE IF EXISTS temp.fan_out_row;
CREATE TEMP TABLE fan_out_row AS
  SELECT events, timelines, followers, following, post, follow,
         -- Marks the views as made by this script for this table.
         '/* fan_out.sql: ' || replace(lower(events), '*/', '') || ' */' AS mark,
         (SELECT schema FROM pragma_table_list WHERE lower(name) = lower(events)
           ORDER BY schema <> 'temp', schema <> 'main') AS schema
    FROM temp.fan_out;
DROP TABLE temp.fan_out;

-- Problems of the parameters.
DROP VIEW IF EXISTS temp.fan_out_problem;
CREATE TEMP VIEW fan_out_problem(rank, text) AS
  WITH object AS (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema),
       given(role, name) AS (
         SELECT 'events', events FROM fan_out_row
         UNION ALL SELECT 'timelines', timelines FROM fan_out_row
         UNION ALL SELECT 'followers', followers FROM fan_out_row
         UNION ALL SELECT 'following', following FROM fan_out_row
         UNION ALL SELECT 'post', post FROM fan_out_row
         UNION ALL SELECT 'follow', follow FROM fan_out_row)
  SELECT 1, format('there are %d rows; give one', count(*)) FROM fan_out_row HAVING count(*) <> 1
  UNION ALL
  SELECT 2, format('%s is NULL', role) FROM given WHERE name IS NULL
  UNION ALL
  SELECT 3, format('%s "%w" is not a ptable', role, name) FROM given AS g
   WHERE role NOT IN ('post', 'follow')
     AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(g.name) AS c WHERE c.name = 'WriteMode')
  UNION ALL
  SELECT 3, format('events "%w" is in "%w"; open that as the main database', events, schema)
    FROM fan_out_row WHERE schema NOT IN ('main', 'temp')
  UNION ALL
  SELECT 3, format('%s "%w" is not in the schema of the events', role, g.name)
    FROM given AS g, fan_out_row AS r
   WHERE role NOT IN ('post', 'follow') AND r.schema <> 'temp' AND r.schema <> (
           SELECT schema FROM pragma_table_list WHERE lower(name) = lower(g.name)
            ORDER BY schema <> 'temp', schema <> 'main')
  UNION ALL
  SELECT 4, format('the name "%w" is given twice', name)
    FROM given GROUP BY lower(name) HAVING count(*) > 1
  UNION ALL
  SELECT 5, format('"%w" has batch=azure, which allows a transaction only one table', o.name)
    FROM object AS o
   WHERE lower(o.name) IN (SELECT lower(name) FROM given)
     AND instr(replace(replace(replace(lower(sql), ' ', ''), '''', ''), '"', ''), 'batch=azure')
  UNION ALL
  SELECT 6, format('the name "%w" belongs to something else; take another', o.name)
    FROM object AS o
   WHERE o.type IN ('table', 'view') AND instr(o.sql, (SELECT mark FROM fan_out_row)) = 0
     AND lower(o.name) IN (SELECT lower(name) FROM given WHERE role IN ('post', 'follow'));

-- Parts of the statements below. A part may contain {parts} that come after it.
DROP TABLE IF EXISTS temp.fan_out_part;
CREATE TEMP TABLE fan_out_part AS
  WITH based(columns, new, changes) AS (
         SELECT group_concat(format('"%w"', c.name), ', '),
                group_concat(format('new."%w"', c.name), ', '),
                group_concat(format('"%w" = new."%w"', c.name, c.name), ', ')
           FROM fan_out_row AS r, pragma_table_xinfo(r.events) AS c
          WHERE c.name NOT IN ('Filter', 'WriteMode', 'IfMatch')
            AND NOT (c.hidden AND c.name IN ('_rowid_', 'rowid', 'oid')))
  SELECT row_number() OVER (ORDER BY part.id) AS step,
         '{' || part.key || '}' AS name, part.value AS text
    FROM fan_out_row AS r, based, json_each(json_object(
    'spread',
   'INSERT INTO {timelines}(PartitionKey, RowKey, Properties, WriteMode)
    SELECT f.RowKey, e.RowKey, json_set(e.Properties, ''$.Subject'', e.PartitionKey),
           iif({its own}, ''replace'', ''insert'')
      FROM {there}
     WHERE ({its own} AND json_remove(t.Properties, ''$.Subject'') = e.Properties) IS NOT TRUE',
    'check', 'SELECT RAISE(ABORT, {not written}) FROM {there}
     WHERE {its own} IS NOT TRUE',
    'withdraw',
   'DELETE FROM {timelines}
   WHERE PartitionKey IN (SELECT RowKey FROM {followers} WHERE PartitionKey = old.PartitionKey)
     AND RowKey = old.RowKey AND Properties ->> ''Subject'' = old.PartitionKey
     AND NOT EXISTS (SELECT 1 FROM {events} WHERE EntityKey = old.EntityKey)',
    'there',
   '{events} AS e JOIN {followers} AS f ON f.PartitionKey = e.PartitionKey
      LEFT JOIN {timelines} AS t ON t.PartitionKey = f.RowKey AND t.RowKey = e.RowKey',
    'its own', '(t.Properties ->> ''Subject'' = e.PartitionKey)',
    'new key', 'pt_entity_key(new.PartitionKey, new.RowKey)',
    'columns', based.columns, 'new', based.new, 'set', based.changes,
    'schema', format('"%w"', r.schema), 'mark', r.mark,
    'not written', format('%Q', r.timelines || ': the event cannot be written; another has its ' ||
                                'id, or it is not allowed'),
    'changed', format('%Q', r.post || ': an earlier row of this statement has changed this event'),
    'on insert', format('"%w insert"', r.post), 'on update', format('"%w update"', r.post),
    'on delete', format('"%w delete"', r.post),
    'on follow', format('"%w insert"', r.follow), 'on unfollow', format('"%w delete"', r.follow),
    'events', format('"%w"', r.events), 'timelines', format('"%w"', r.timelines),
    'followers', format('"%w"', r.followers), 'following', format('"%w"', r.following),
    'post', format('"%w"', r.post), 'follow', format('"%w"', r.follow))) AS part;

-- The statements, in files 1 and 2.
DROP VIEW IF EXISTS temp.fan_out_statement;
CREATE TEMP VIEW fan_out_statement(file, line, text) AS VALUES
  (1, 10, 'CREATE TEMP TRIGGER fan_out_make INSERT ON fan_out_start BEGIN
  DELETE FROM {following}
   WHERE pt_entity_key(RowKey, PartitionKey) NOT IN (SELECT EntityKey FROM {followers});
  INSERT INTO {following}(PartitionKey, RowKey)
    SELECT RowKey, PartitionKey FROM {followers}
     WHERE pt_entity_key(RowKey, PartitionKey) NOT IN (SELECT EntityKey FROM {following});
  DELETE FROM {timelines}
   WHERE (EntityKey, Properties ->> ''Subject'') NOT IN (
           SELECT pt_entity_key(f.RowKey, e.RowKey), e.PartitionKey
             FROM {events} AS e JOIN {followers} AS f ON f.PartitionKey = e.PartitionKey);
  {spread};
  INSERT INTO fan_out_done VALUES (1);
END;
INSERT INTO fan_out_start VALUES (1);'),

  (2, 20, 'DROP VIEW IF EXISTS {schema}.{post};
CREATE VIEW {schema}.{post} {mark} AS SELECT {columns} FROM {events};'),

  -- An event that OR REPLACE replaces has the same keys in the same timelines.
  (2, 21, 'CREATE TRIGGER {schema}.{on insert} INSTEAD OF INSERT ON {post} BEGIN
  INSERT INTO {events}({columns}) VALUES ({new});
  {spread} AND e.EntityKey = {new key};
  {check} AND e.EntityKey = {new key};
END;'),

  -- With OR IGNORE the event may still have its old keys, and another one the new keys.
  (2, 22, 'CREATE TRIGGER {schema}.{on update} INSTEAD OF UPDATE ON {post} BEGIN
  SELECT RAISE(ABORT, {changed})
   WHERE NOT EXISTS (SELECT 1 FROM {events} WHERE EntityKey = old.EntityKey AND ETag = old.ETag);
  UPDATE {events} SET {set} WHERE EntityKey = old.EntityKey;
  {withdraw};
  {spread} AND e.EntityKey IN (old.EntityKey, {new key});
  {check} AND e.EntityKey IN (old.EntityKey, {new key});
END;'),

  (2, 23, 'CREATE TRIGGER {schema}.{on delete} INSTEAD OF DELETE ON {post} BEGIN
  DELETE FROM {events} WHERE EntityKey = old.EntityKey;
  {withdraw};
END;'),

  (2, 30, 'DROP VIEW IF EXISTS {schema}.{follow};
CREATE VIEW {schema}.{follow} {mark} AS
  SELECT PartitionKey AS Subject, RowKey AS Follower FROM {followers};'),

  (2, 31, 'CREATE TRIGGER {schema}.{on follow} INSTEAD OF INSERT ON {follow} BEGIN
  INSERT INTO {followers}(PartitionKey, RowKey) VALUES (new.Subject, new.Follower);
  INSERT INTO {following}(PartitionKey, RowKey) VALUES (new.Follower, new.Subject);
  {spread} AND f.EntityKey = pt_entity_key(new.Subject, new.Follower);
  {check} AND f.EntityKey = pt_entity_key(new.Subject, new.Follower);
END;'),

  (2, 32, 'CREATE TRIGGER {schema}.{on unfollow} INSTEAD OF DELETE ON {follow} BEGIN
  DELETE FROM {timelines}
   WHERE PartitionKey = old.Follower AND Properties ->> ''Subject'' = old.Subject
     AND RowKey IN (SELECT RowKey FROM {events} WHERE PartitionKey = old.Subject);
  DELETE FROM {following} WHERE PartitionKey = old.Follower AND RowKey = old.Subject;
  DELETE FROM {followers} WHERE PartitionKey = old.Subject AND RowKey = old.Follower;
END;'),

  (2, 40, 'CREATE TEMP TRIGGER fan_out_try INSERT ON fan_out_start BEGIN
  INSERT INTO {post} SELECT * FROM {post} WHERE FALSE;
  UPDATE {post} SET RowKey = RowKey WHERE FALSE;
  DELETE FROM {post} WHERE FALSE;
  INSERT INTO {follow} SELECT * FROM {follow} WHERE FALSE;
  DELETE FROM {follow} WHERE FALSE;
  INSERT INTO fan_out_done VALUES (2);
END;
DROP TRIGGER fan_out_make;
INSERT INTO fan_out_start VALUES (2);');

DROP VIEW IF EXISTS temp.fan_out_sql;
CREATE TEMP VIEW fan_out_sql(file, line, text) AS
  WITH filled(file, line, step, text) AS (
         SELECT file, line, 0, text FROM fan_out_statement
         UNION ALL
         SELECT f.file, f.line, f.step + 1, replace(f.text, p.name, p.text)
           FROM filled AS f JOIN fan_out_part AS p ON p.step = f.step + 1)
  SELECT file, line, text FROM filled
   WHERE step = (SELECT max(step) FROM fan_out_part)
     AND iif(file = 1, NOT EXISTS (SELECT 1 FROM fan_out_problem),
                       EXISTS (SELECT 1 FROM fan_out_done))
  UNION ALL
  SELECT 1, 1, format('CREATE TEMP TRIGGER fan_out_refuse
  INSERT ON fan_out_start BEGIN SELECT RAISE(ABORT, %Q); END;
INSERT INTO fan_out_start VALUES (1);', 'fan_out: ' || text)
    FROM (SELECT text FROM fan_out_problem ORDER BY rank LIMIT 1)
  UNION ALL
  SELECT 3, 1, 'ROLLBACK TO fan_out;'
   WHERE NOT EXISTS (SELECT 1 FROM fan_out_done WHERE number = 2)
  UNION ALL
  VALUES (1, 0, '.shell rm ptable_fan_out.sql'),
         (2, 0, '.shell rm ptable_fan_out.sql'),
         (3, 0, '.shell rm ptable_fan_out.sql');

-- First make the timelines, by a trigger: one statement, all or nothing.
DROP TABLE IF EXISTS temp.fan_out_start;
CREATE TEMP TABLE fan_out_start(number);
DROP TABLE IF EXISTS temp.fan_out_done;
CREATE TEMP TABLE fan_out_done(number);
SAVEPOINT fan_out;
SELECT 'cannot write ptable_fan_out.sql'
 WHERE writefile('ptable_fan_out.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM fan_out_sql WHERE file = 1 ORDER BY line))) IS NULL;
.read ptable_fan_out.sql

-- Then, if that succeeded, make the views, and try each kind of write on no row.
SELECT 'cannot write ptable_fan_out.sql'
 WHERE writefile('ptable_fan_out.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM fan_out_sql WHERE file = 2 ORDER BY line))) IS NULL;
.read ptable_fan_out.sql

-- If anything failed, undo everything.
SELECT 'cannot write ptable_fan_out.sql'
 WHERE writefile('ptable_fan_out.sql', (SELECT group_concat(text, char(10))
         FROM (SELECT text FROM fan_out_sql WHERE file = 3 ORDER BY line))) IS NULL;
.read ptable_fan_out.sql
RELEASE fan_out;

DROP VIEW temp.fan_out_sql;
DROP VIEW temp.fan_out_statement;
DROP VIEW temp.fan_out_problem;
DROP TABLE temp.fan_out_start;
DROP TABLE temp.fan_out_done;
DROP TABLE temp.fan_out_part;
DROP TABLE temp.fan_out_row;
