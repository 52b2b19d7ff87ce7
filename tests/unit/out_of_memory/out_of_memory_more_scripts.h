/*
 * More scripts that run out of memory: import and export, what looks after stores, collection,
 * large values, and odd ways to be used.
 */
#ifndef TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_MORE_SCRIPTS_H
#define TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_MORE_SCRIPTS_H

#include <stddef.h>

static const char *const rolled_back_under_a_statement[] = {
    "BEGIN",
    "INSERT INTO W VALUES ('a', '1', 1)",
    ".hold SELECT v FROM W",
    "INSERT INTO W VALUES ('x', '1', 1)",
    "ROLLBACK",
    "!.rest",
    "INSERT INTO W VALUES ('c', '1', 1)",
    ".hold SELECT v FROM W",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, sync=off)",
    ".rest",
    NULL};

static const char *const views_and_triggers[] = {
    "CREATE VIEW V AS SELECT PartitionKey AS p, v FROM W WHERE pt_starts_with(RowKey, '1')",
    "CREATE TRIGGER Fork INSTEAD OF INSERT ON V BEGIN "
    "INSERT INTO W VALUES (new.p, '1', new.v); INSERT INTO U VALUES (new.p, 'log', 1); END",
    "CREATE TRIGGER Follow AFTER INSERT ON Plain BEGIN "
    "UPDATE W SET v = v + new.v WHERE PartitionKey = 'p'; END",
    "INSERT INTO V VALUES ('t', 5), ('u', 6)",
    "INSERT INTO Plain VALUES (100)",
    "!INSERT INTO V VALUES ('w', 5), ('t', 6)",
    "SELECT * FROM V",
    NULL};

static const char *const functions[] = {
    "SELECT pt_ticks('2026-11-21'), pt_datetime(639308474025484454), "
    "pt_inverted_ticks('2026-11-21'), pt_inverted_datetime('2516070501974515545')",
    "SELECT pt_ticks() > 0, length(pt_datetime()), length(pt_inverted_ticks())",
    "SELECT pt_starts_with('abc', 'a'), pt_prefix_end('abc'), pt_compound_key('a', 7, 'b'), "
    "pt_compound_key_sep('--', 'a', 'b'), pt_key_part('a_b_c', -2), pt_pad(7, 6), pt_pad('42', 4)",
    "SELECT pt_hash_bucket('x', 16), length(pt_guid()), length(pt_uuid7()), "
    "hex(pt_entity_key('p', 7))",
    "SELECT length(pt_compound_key(hex(zeroblob(5000)), 'b')), "
    "length(pt_prefix_end(hex(zeroblob(5000)))), length(pt_entity_key(hex(zeroblob(500)), 5))",
    "SELECT pt_version() > '', pt_debug() > ''",
    "SELECT pt_starts_with(v, 1), pt_hash_bucket(v, 7), pt_prefix_end(v) FROM W",
    "!SELECT pt_ticks('now')",
    "!SELECT pt_compound_key('a_b', 'c')",
    "!SELECT pt_pad(-1, 3)",
    "!SELECT pt_inverted_datetime('x')",
    "!SELECT pt_entity_key(x'00', 'a')",
    NULL};

static const char *const attached[] = {"ATTACH ':memory:' AS more",
                                       "CREATE VIRTUAL TABLE more.A USING ptable(v Int32)",
                                       "INSERT INTO A SELECT PartitionKey, RowKey, v FROM W",
                                       "BEGIN",
                                       "UPDATE A SET v = v + 1",
                                       "DELETE FROM W",
                                       "INSERT INTO W SELECT PartitionKey, RowKey, v FROM A",
                                       "COMMIT",
                                       "SELECT sum(v) FROM A",
                                       "DETACH more",
                                       NULL};

static const char *const refusals[] = {
    "CREATE VIRTUAL TABLE D USING ptable(v, table='W', scan=deny)",
    "!SELECT * FROM D",
    "SELECT v FROM D WHERE PartitionKey = 'p'",
    "!ALTER TABLE W RENAME TO X",
    "CREATE VIRTUAL TABLE Lost USING ptable(store='missing.ptable', readonly=1)",
    "!SELECT * FROM Lost",
    "!SELECT nothing FROM W",
    "DROP TABLE Lost",
    NULL};

static const char *const limits_and_batches[] = {
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, s, limits=azure, batch=azure)",
    "BEGIN",
    "INSERT INTO New VALUES ('p', '1', 1, 'one')",
    "SAVEPOINT a",
    "INSERT INTO New VALUES ('p', '2', 2, 'two'), ('p', '3', 3, 'three')",
    "!INSERT INTO New VALUES ('p', '4', 4, 'four'), ('q', '1', 1, 'other partition')",
    "!UPDATE New SET v = 5 WHERE PartitionKey = 'p' AND RowKey = '1'",
    "!INSERT INTO W VALUES ('p', '9', 9)",
    "ROLLBACK TO a",
    "UPDATE New SET RowKey = '4' WHERE PartitionKey = 'p' AND RowKey = '2'",
    "COMMIT",
    "UPDATE New SET RowKey = '5', v = 5 WHERE PartitionKey = 'p'",
    "!INSERT INTO New VALUES ('p', 'a/b', 1, 'slash')",
    "!INSERT INTO New VALUES ('p', '6', 1, printf('%.40000c', 'x'))",
    "INSERT INTO New VALUES ('p', '7', 1, printf('%.30000c', 'x'))",
    "UPDATE New SET v = 2 WHERE PartitionKey = 'p' AND RowKey = '7'",
    "!CREATE VIRTUAL TABLE Newer USING ptable(limits=azure, table='a-b')",
    "INSERT INTO W VALUES ('p', '9', 9)",
    "DELETE FROM New WHERE PartitionKey = 'p'",
    NULL};

static const char *const others_hold_the_lock[] = {
    ".write",
    "!INSERT INTO W VALUES ('l', '1', 1)",
    "!INSERT OR IGNORE INTO W VALUES ('p', '1', 1)",
    "!DELETE FROM pt_tables WHERE TableName = 'Bare'",
    "!CREATE VIRTUAL TABLE New USING ptable(v Int32, sync=off)",
    "!SELECT pt_compact(NULL)",
    "BEGIN",
    "SELECT count(*) FROM W",
    "!UPDATE W SET v = v + 1",
    "INSERT INTO U VALUES ('l', '1', 1)",
    "!UPDATE W SET v = v + 1",
    "COMMIT",
    ".unread",
    "INSERT INTO W SELECT 'l', PartitionKey || RowKey, v FROM U",
    NULL};

/* Relative paths start at the folder that is the current one. */
static const char *const stores_without_a_folder[] = {
    "!SELECT * FROM pt_tables WHERE Store = 'no folder/none.ptable'",
    "!SELECT * FROM pt_tables WHERE Store = 'no folder/none.ptable'",
    "!CREATE VIRTUAL TABLE New USING ptable(v, store='no folder/new.ptable')",
    "!SELECT pt_check('no folder/none.ptable')",
    "!SELECT pt_backup(NULL, 'no folder/copy.ptable')",
    "SELECT v FROM W",
    NULL};

static const char *const mixture[] = {
    "BEGIN",
    "INSERT INTO W VALUES ('x', 'é', 1), ('x', '😀', 2)",
    "UPDATE T SET s = s || 'é' WHERE PartitionKey >= 'b'",
    "SELECT s FROM T WHERE RowKey > 'a1' ORDER BY PartitionKey, RowKey",
    "SELECT v FROM W WHERE PartitionKey = 'x' AND RowKey IN ('é', 'e')",
    "SELECT v FROM W WHERE PartitionKey = 'x' AND RowKey < '😀'",
    "SELECT DISTINCT PartitionKey FROM W",
    "SAVEPOINT a",
    "DELETE FROM W WHERE PartitionKey = 'x'",
    "ROLLBACK TO a",
    "INSERT INTO U VALUES ('x', '1', 1)",
    "SELECT Properties FROM T",
    "COMMIT",
    "UPDATE T SET i = i + 1 WHERE PartitionKey = 'a'",
    NULL};

static const char *const indexes[] = {
    "CREATE VIRTUAL TABLE I USING ptable(s String, n Int32, t DateTime, unique(s), index(n, t), "
    "index(PartitionKey, n), sync=off)",
    "INSERT INTO I(PartitionKey, RowKey, s, n, t) VALUES ('p', '1', 'one', 1, '2026-01-01'), ('p', "
    "'2', 'two', 2, NULL), ('q', '3', NULL, 2, '2026-01-02')",
    "!INSERT INTO I(PartitionKey, RowKey, s) VALUES ('p', '4', 'two')",
    "INSERT OR REPLACE INTO I(PartitionKey, RowKey, s) VALUES ('p', '4', 'two')",
    "INSERT INTO I(PartitionKey, RowKey, s) VALUES ('q', '5', printf('%3000c', 'x'))",
    "!INSERT INTO I(PartitionKey, RowKey, s) VALUES ('q', '6', printf('%3000c', 'x'))",
    "SELECT RowKey FROM I WHERE s = 'two'",
    "SELECT RowKey FROM I WHERE s IN ('one', 'two', 'three') ORDER BY s DESC",
    "SELECT RowKey FROM I WHERE n > 0 AND n < 3 ORDER BY n, t",
    "SELECT RowKey FROM I WHERE PartitionKey = 'p' AND n BETWEEN 1 AND 2 ORDER BY n DESC",
    "SELECT RowKey FROM I WHERE n = 2 AND t >= '2026'",
    "UPDATE I SET n = n + 1 WHERE n > 0",
    "UPDATE I SET RowKey = RowKey || 'x' WHERE s = 'one'",
    "!UPDATE I SET s = 'two' WHERE n > 1",
    "SELECT RowKey, s FROM I WHERE s > 'a'",
    "SELECT PartitionKey, RowKey, EntityKey, n, t FROM I WHERE n IN (1, 2, 3)",
    "INSERT INTO I(PartitionKey, RowKey, s) VALUES ('z', 'nul', 'z' || char(0) || 'z')",
    "SELECT RowKey, s FROM I WHERE s >= 'z'",
    "SELECT TableName, IndexName, IsUnique, Entries, Bytes FROM pt_indexes",
    "INSERT INTO pt_indexes(TableName, Columns) VALUES ('I', 't, Timestamp')",
    "!INSERT INTO pt_indexes(TableName, Columns) VALUES ('I', 't, Timestamp')",
    "UPDATE I SET n = 5 WHERE n > 0",
    "!INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('I', 'n', 1)",
    "DELETE FROM pt_indexes WHERE IndexName = 'n,t'",
    "SELECT RowKey FROM I WHERE n > 0 ORDER BY n, t",
    "!INSERT INTO I(PartitionKey, RowKey) VALUES ('p', '7')",
    "DELETE FROM pt_partitions WHERE TableName = 'I' AND PartitionKey = 'p'",
    "SELECT pt_check()",
    "DELETE FROM pt_tables WHERE TableName = 'I'",
    NULL};

/* Entries that show too little, whose order is not that of the column, and that meet each other. */
static const char *const changes[] = {
    "CREATE VIRTUAL TABLE G USING ptable(n Int32, s String, unique(s), sync=off)",
    "INSERT INTO G VALUES ('p', '1', 1, 'a'), ('p', '2', 2, 'b'), ('p', '3', 3, NULL)",
    "UPDATE pt_tables SET Changes = 'on' WHERE TableName = 'G'",
    "SELECT PartitionKey, RowKey, WriteMode, Properties FROM pt_changes('G', NULL)",
    "UPDATE OR REPLACE G SET s = 'a' WHERE n = 2",
    "INSERT INTO G VALUES ('p', '1', 4, 'c')",
    "DELETE FROM G WHERE RowKey = '3'",
    "BEGIN",
    "UPDATE G SET n = n + 1, RowKey = RowKey || 'x'",
    "INSERT INTO G VALUES ('q', '1', 5, 'd'), ('p', '3', 6, 'e')",
    ".refuse",
    "!COMMIT",
    ".accept",
    "SELECT RowKey, WriteMode FROM pt_tables, pt_changes('G', Horizon) WHERE TableName = 'G' "
    "ORDER BY PartitionKey, RowKey",
    "SELECT pt_forget_deleted('G', '9999-01-01')",
    "!SELECT * FROM pt_changes('G', '2020-01-01')",
    "!SELECT * FROM pt_changes('G', 'then')",
    "!SELECT pt_forget_deleted('W', '2020-01-01')",
    "DELETE FROM pt_partitions WHERE TableName = 'G' AND PartitionKey = 'p'",
    "SELECT pt_check()",
    "!UPDATE pt_tables SET Changes = 'perhaps' WHERE TableName = 'G'",
    "UPDATE pt_tables SET Changes = 'off' WHERE TableName = 'G'",
    "INSERT INTO pt_tables(TableName, Changes) VALUES ('H', 'on')",
    "CREATE VIRTUAL TABLE F USING ptable(n Int32, changes=on, table=G, sync=off)",
    "DELETE FROM pt_tables WHERE TableName = 'H'",
    NULL};

static const char *const cases_of_indexes[] = {
    "CREATE VIRTUAL TABLE I USING ptable(s String, n Int32, t DateTime, g Guid, x Binary, v, "
    "unique(s, PartitionKey), index(t, g), index(n, s), index(x), index(PartitionKey, s), "
    "sync=off)",
    "INSERT INTO I(PartitionKey, RowKey, Properties) VALUES "
    "('p', '1', '{\"t\":\"soon\",\"n\":1,\"s\":\"b\",\"g\":\"Q\"}'), "
    "('p', '2', '{\"t\":\"2026-01-01\",\"n\":2,\"s\":\"a\"}'), "
    "('q', '3', '{\"t@odata.type\":\"Edm.Double\",\"t\":\"NaN\",\"n\":1,\"s\":\"\\u0000c\"}')",
    "INSERT INTO I(PartitionKey, RowKey, n, s, x, t) VALUES ('q', '4', 1, printf('%3000c', 'x'), "
    "zeroblob(400), '2026-01-02'), ('q', '5', 1, printf('%40000c', 'x'), zeroblob(70000), NULL)",
    "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('I', 'v', 1)",
    "INSERT INTO I(PartitionKey, RowKey, v) VALUES ('r', '1', 1), ('r', '2', 2)",
    "!INSERT INTO I(PartitionKey, RowKey, s) VALUES ('q', '6', printf('%40000c', 'x'))",
    "INSERT OR REPLACE INTO I(PartitionKey, RowKey, s, v) VALUES ('q', '6', printf('%40000c', "
    "'x'), 2)",
    "UPDATE OR REPLACE I SET v = 1 WHERE v = 2",
    "SELECT t, g FROM I WHERE t > '' ORDER BY t, g",
    "SELECT t FROM I WHERE t > '2026' ORDER BY t DESC",
    "SELECT n, s FROM I WHERE n > 0 ORDER BY n, s",
    "SELECT s FROM I WHERE PartitionKey = 'q' AND s > '' ORDER BY s",
    "SELECT x FROM I WHERE x > x'00' ORDER BY x",
    "SELECT RowKey FROM I WHERE n IN (1, 2, 3) AND s IN ('a', 'b', 'c')",
    "SELECT RowKey FROM I WHERE n > 0 AND n <= 2 AND n IN (SELECT v FROM Plain)",
    "SELECT Plain.v, RowKey FROM Plain LEFT JOIN I ON I.n = Plain.v AND I.s > 'a'",
    "SELECT RowKey FROM I WHERE PartitionKey = lower('Q') AND s = 'none'",
    "SELECT IndexName FROM pt_indexes WHERE Store = 'main.db-' || lower('PTABLE')",
    "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('I', '\"say \"\"x\"\"\", s', 1)",
    "!INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('I', 'n', 1)",
    "!INSERT INTO pt_indexes(TableName, Columns) VALUES ('Bare', 'Filter')",
    "!INSERT INTO pt_indexes(TableName, Columns) VALUES ('I', 'N')",
    "!CREATE VIRTUAL TABLE K USING ptable(n Int32, index(S), table=I)",
    "INSERT INTO pt_indexes(TableName, Columns) VALUES ('T', 's'), ('T', 'x, s')",
    "!CREATE VIRTUAL TABLE J USING ptable(s String, unique(s), table=T)",
    "CREATE VIRTUAL TABLE J USING ptable(s String, index(s), index(x, s), table=T)",
    "DROP TABLE J",
    "CREATE VIRTUAL TABLE J USING ptable(s String, n, index(n), unique(\"a b\", s), sync=off)",
    "!CREATE VIRTUAL TABLE K USING ptable(s String, index(\"n\"), unique(n))",
    "BEGIN",
    "DELETE FROM pt_indexes WHERE TableName = 'I' AND IndexName <> 'v'",
    "!INSERT INTO I(PartitionKey, RowKey, n) VALUES ('p', '9', 9)",
    "SELECT n, s FROM I WHERE n > 0 ORDER BY n, s",
    "INSERT INTO J(PartitionKey, RowKey, s, n) VALUES ('p', '1', 'a', 1)",
    "DELETE FROM J WHERE n = 1",
    "SELECT TableName, count(*) FROM pt_batches",
    "DELETE FROM pt_tables WHERE TableName = 'J'",
    "COMMIT",
    NULL};

static const char *const catalog[] = {
    "SELECT TableName, Entities, Bytes FROM pt_tables",
    "INSERT INTO pt_tables(TableName) VALUES ('First'), ('Second')",
    "!INSERT INTO pt_tables(TableName) VALUES ('Third'), ('FIRST')",
    "INSERT OR IGNORE INTO pt_tables(TableName) VALUES ('FIRST'), ('Third')",
    "!INSERT OR REPLACE INTO pt_tables(TableName) VALUES ('First')",
    "!INSERT INTO pt_tables(TableName) VALUES ('')",
    "!INSERT INTO pt_tables(TableName, Limits) VALUES ('1st', 'azure')",
    "!INSERT INTO pt_tables(TableName, Limits) VALUES ('One', 1)",
    "!UPDATE pt_tables SET TableName = 'x'",
    "DELETE FROM pt_tables WHERE TableName = 'T'",
    "!SELECT * FROM T",
    "DELETE FROM pt_tables WHERE TableName GLOB '*ir*'",
    "DELETE FROM pt_tables WHERE TableName = 'nobody'",
    "SELECT TableName FROM pt_tables WHERE Store = 'other.ptable' AND TableName = 'u'",
    "INSERT INTO pt_tables(Store, TableName) VALUES ('other.ptable', 'First')",
    "DELETE FROM pt_tables WHERE Store IN ('other.ptable', 'main.db-ptable') AND "
    "TableName = 'first'",
    "!SELECT * FROM pt_tables WHERE Store = 'none.ptable'",
    "SELECT t.TableName FROM pt_stores s JOIN pt_tables t ON t.Store = s.Store ORDER BY 1",
    NULL};

static const char *const dropping_in_a_transaction[] = {
    "BEGIN",
    "INSERT INTO T(PartitionKey, RowKey) VALUES ('d', '1')",
    "DELETE FROM pt_tables WHERE TableName = 'Bare'",
    "SAVEPOINT a",
    "DELETE FROM pt_tables WHERE TableName = 'T'",
    "!SELECT * FROM T",
    "INSERT INTO pt_tables(TableName) VALUES ('t')",
    "INSERT INTO T(PartitionKey, RowKey) VALUES ('e', '1'), ('e', '2')",
    "SELECT TableName, Entities, Bytes FROM pt_tables",
    "ROLLBACK TO a",
    "SELECT TableName, Entities, Bytes FROM pt_tables",
    "!INSERT INTO pt_tables(TableName) VALUES ('More'), ('T')",
    "COMMIT",
    "BEGIN",
    ".hold SELECT i FROM T",
    "DELETE FROM pt_tables WHERE TableName = 'T'",
    ".rest",
    "ROLLBACK",
    "SELECT i FROM T",
    NULL};

static const char *const looking_inside[] = {
    "SELECT PartitionKey, Entities, Bytes > 0, FirstRowKey, LastRowKey FROM pt_partitions('T')",
    "SELECT PartitionKey FROM pt_partitions('main.W') WHERE PartitionKey IN ('q', 'x', 'p') "
    "ORDER BY PartitionKey DESC",
    "SELECT Entities FROM pt_partitions('T') WHERE PartitionKey > 'a' AND PartitionKey <= 'c'",
    "!SELECT * FROM pt_partitions('Plain')",
    "!SELECT * FROM pt_partitions('none.T')",
    "!SELECT * FROM pt_partitions('none.ptable', 'T')",
    "!SELECT * FROM pt_partitions",
    "SELECT * FROM pt_properties('T')",
    "SELECT * FROM pt_properties('Bare') WHERE Share = 1",
    "BEGIN",
    "INSERT INTO W VALUES ('q', '7', 1), ('z', '1', 2)",
    "UPDATE Bare SET Properties = '{\"New\":true}'",
    "SELECT TableName, PartitionKey, Operations, Bytes > 0 FROM pt_batches",
    "SELECT PartitionKey, Entities FROM pt_partitions('W')",
    "SELECT Name, Type, Entities FROM pt_properties('Bare')",
    "SELECT Tables, Entities, LastWrite > '' FROM pt_stores",
    "ROLLBACK",
    "DELETE FROM pt_partitions WHERE TableName = 'W' AND PartitionKey = 'p'",
    "SELECT PartitionKey, Entities FROM pt_partitions('W')",
    "BEGIN",
    "INSERT INTO W VALUES ('q', '8', 1), ('z', '1', 2), ('z', '2', 2)",
    "INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('z', '1', "
    "json_object('Large', hex(zeroblob(5000))))",
    "DELETE FROM pt_partitions WHERE TableName IN ('T', 'W') AND PartitionKey >= 'b'",
    "SELECT TableName, Entities FROM pt_tables",
    "COMMIT",
    "!DELETE FROM pt_partitions",
    "!INSERT INTO pt_partitions(PartitionKey) VALUES ('p')",
    "!DELETE FROM pt_partitions WHERE TableName = 5",
    "CREATE VIRTUAL TABLE Kept USING ptable(table=Bare, readonly=1)",
    "DROP TABLE Bare",
    "!DELETE FROM pt_partitions WHERE TableName = 'Bare'",
    NULL};

#define HELD "(MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Q WHERE "

static const char *const queues[] = {
    "CREATE VIRTUAL TABLE Q USING pt_queue(max_dequeue_count=1, sync=off)",
    "CREATE VIRTUAL TABLE QP USING pt_queue(table='Q-poison', sync=off)",
    "INSERT INTO Q(Body) VALUES ('a'), (hex(zeroblob(3000))), ('c'), (x'00')",
    "INSERT INTO Q(Body, TimeToLive) VALUES ('expired', 1e-7)",
    "INSERT INTO Q(Body, VisibilityTimeout) VALUES ('later', 9e10)",
    "SELECT Body, DequeueCount, argument1, argument2 FROM pt_queue_get('Q', 1, 1e-7)",
    "BEGIN",
    "SELECT Body, DequeueCount FROM pt_queue_get('main.Q', 1, 9e10)",
    "SAVEPOINT a",
    "SELECT Body, DequeueCount FROM pt_queue_get('Q', 9, 9e10)",
    "UPDATE Q SET VisibilityTimeout = 0, Body = Body || '!' WHERE " HELD "Body = 'c')",
    "SELECT count(*) FROM QP",
    "ROLLBACK TO a",
    "SELECT given.Body FROM Q, pt_queue_update('Q', Q.MessageId, Q.PopReceipt, 0, Q.Body || '?') "
    "AS given WHERE Q.Body = 'c'",
    "!DELETE FROM Q WHERE " HELD "Body = 'c?') OR MessageId = '' AND PopReceipt = ''",
    "DELETE FROM Q WHERE " HELD "Body = 'c?')",
    "COMMIT",
    "SELECT Body FROM Q ORDER BY TimeNextVisible DESC, MessageId DESC",
    "INSERT INTO Plain SELECT count(*) FROM pt_queue_get('Q', 9, 9e10)",
    "!SELECT * FROM pt_queue_get('Plain')",
    "!SELECT * FROM pt_queue_get('Q', 0)",
    "!INSERT INTO Q(Body) VALUES ('x'), (NULL)",
    "SELECT TableName, Entities FROM pt_tables",
    NULL};

static const char *const exporting[] = {
    "SELECT pt_entity_json(PartitionKey, RowKey, NULL, Properties) FROM T",
    "SELECT pt_entity_json(PartitionKey, RowKey, '2026-11-21', Properties) FROM Bare",
    "SELECT pt_csv_header('{\"Age\":null,\"Name\":null,\"g\":null,\"t\":null,\"x\":null}')",
    "SELECT "
    "pt_csv_line('{\"b\":null,\"d\":null,\"g\":null,\"i\":null,\"l\":null,\"s\":null,\"t\":null,"
    "\"x\":null}', "
    "PartitionKey, RowKey, '2026-11-21', Properties) FROM T",
    "!SELECT pt_csv_line('{\"Name\":null}', 'p', 'r', '2026-11-21', '{\"Name\":\"a\\u0000\"}')",
    "!SELECT pt_entity_json('p', 'r', NULL, '{\"a\":1')",
    NULL};

#define MEMBERS                                                                                    \
    "pt_entity_properties('{\"PartitionKey\":\"i\",\"RowKey\":\"' || rowid || '\"' || "            \
    "pt_csv_member('row', 'Name', name, nametype) || pt_csv_member('row', 'n', n, ntype) || '}', " \
    "'row ' || rowid)"

static const char *const importing[] = {
    "CREATE TEMP TABLE csv(p, r, name, nametype, n, ntype)",
    "INSERT INTO csv VALUES ('i', '1', 'Jun', 'String', '34', 'Int32'), "
    "('i', '2', 'Ken \"K\"', 'Edm.String', '5.5', 'Double'), ('i', '3', '', '', 'AP8=', 'Binary')",
    "INSERT INTO Bare(PartitionKey, RowKey, Properties) SELECT p, r, " MEMBERS " FROM csv",
    "SELECT Properties FROM Bare WHERE PartitionKey = 'i'",
    "INSERT INTO csv VALUES ('i', '4', 'Jun', 'String', 'x', 'Int32')",
    "!INSERT OR REPLACE INTO Bare(PartitionKey, RowKey, Properties) SELECT p, r, " MEMBERS
    " FROM csv",
    "!SELECT pt_csv_member('row 2', 'n', 'x', 'Number')",
    "INSERT INTO Bare SELECT 'lines', value ->> 'RowKey', pt_entity_properties(value, 1) "
    "FROM json_each('[{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Age\":7},"
    "{\"PartitionKey\":\"p\",\"RowKey\":\"2\",\"L\":\"8\",\"L@odata.type\":\"Edm.Int64\"}]')",
    "SELECT Properties FROM Bare WHERE PartitionKey = 'lines'",
    "!SELECT pt_entity_properties('{\"Age\":', 1)",
    "INSERT INTO W VALUES ('ret', '1', 5), ('ret', '2', 6) RETURNING RowKey, v + 1",
    NULL};

#define LARGE(size) "zeroblob(" #size ")"

static const char *const checking[] = {
    "INSERT INTO T(PartitionKey, RowKey, s, x) VALUES ('k', hex(zeroblob(400)), 'long', "
    "zeroblob(20000))",
    "SELECT pt_check()",
    "SELECT pt_check('other.ptable')",
    "!SELECT pt_check('none.ptable')",
    "BEGIN",
    "DELETE FROM W",
    "SELECT pt_check(NULL)",
    "ROLLBACK",
    NULL};

static const char *const backing_up[] = {
    "BEGIN",
    "INSERT INTO W VALUES ('b', '1', 1)",
    "COMMIT",
    "SELECT pt_backup(NULL, 'copy.ptable') > 0",
    "!SELECT pt_backup('none.ptable', 'more.ptable')",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, store='copy.ptable', table=W)",
    "SELECT sum(v) FROM New",
    "DELETE FROM New WHERE PartitionKey = 'b'",
    "DROP TABLE New",
    NULL};

static const char *const compacting[] = {
    "INSERT INTO T(PartitionKey, RowKey, x) VALUES ('k', '1', " LARGE(100000) ")",
    "DELETE FROM T WHERE PartitionKey = 'k'",
    "SELECT pt_compact(NULL) > 0",
    "INSERT INTO T(PartitionKey, RowKey, i) VALUES ('k', '2', 2)",
    "SELECT i FROM T",
    "BEGIN",
    "SELECT count(*) FROM W",
    "!SELECT pt_compact('other.ptable')",
    "COMMIT",
    "SELECT pt_compact('other.ptable') >= 0",
    "SELECT (SELECT sum(v) FROM U), (SELECT sum(v) FROM W)",
    NULL};

/* What is dropped is collected by later commits. */
static const char *const collecting[] = {
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, x Binary, sync=off)",
    "INSERT INTO New WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) "
    "SELECT 'g', hex(zeroblob(i * 10)), i, zeroblob(i * 150) FROM n",
    "DELETE FROM pt_tables WHERE TableName = 'New'",
    "INSERT INTO W VALUES ('g', '1', 1)",
    "INSERT INTO W VALUES ('g', '2', 2)",
    "INSERT INTO pt_tables(TableName) VALUES ('New')",
    "INSERT INTO New VALUES ('g', '1', 1, " LARGE(30000) ")",
    "SELECT RowKey, length(x) FROM New",
    "SELECT TableName, Entities, Bytes FROM pt_tables",
    "DELETE FROM pt_tables WHERE TableName IN ('New', 'T')",
    "UPDATE W SET v = v + 1",
    "UPDATE W SET v = v + 1",
    NULL};

static const char *const chunks[] = {
    "INSERT INTO T(PartitionKey, RowKey, x, s) VALUES ('k', '1', " LARGE(70000) ", hex(" LARGE(
        20000) "))",
    "SELECT length(x), length(s) FROM T WHERE PartitionKey = 'k'",
    "SELECT RowKey FROM T WHERE Filter MATCH 'PartitionKey eq ''k'' and s ge ''0'''",
    "BEGIN",
    "UPDATE T SET x = zeroblob(90000) WHERE PartitionKey = 'k'",
    "INSERT INTO T(PartitionKey, RowKey, x) VALUES ('k', '2', " LARGE(30000) ")",
    "SELECT RowKey, length(x), length(s) FROM T WHERE PartitionKey = 'k' ORDER BY RowKey DESC",
    ".refuse",
    "!COMMIT",
    ".accept",
    "SELECT RowKey, length(x) FROM T WHERE PartitionKey = 'k'",
    "UPDATE T SET i = 5 WHERE PartitionKey = 'k'",
    "DELETE FROM T WHERE PartitionKey = 'k'",
    NULL};

static const char *const many_names[] = {
    "BEGIN",
    "INSERT INTO Bare SELECT 'd', '1', json_group_object('name' || i, i) FROM (WITH RECURSIVE n(i) "
    "AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80) SELECT i FROM n)",
    "SELECT length(Properties) FROM Bare",
    "ROLLBACK",
    "INSERT INTO Bare SELECT 'd', i, json_object('other' || i, i, 'Age', 1) FROM (WITH RECURSIVE "
    "n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i FROM n)",
    "SELECT Properties FROM Bare WHERE Filter MATCH 'other7 eq 7 or other9 ge 2'",
    "SELECT Name, Entities FROM pt_properties('Bare') WHERE Name >= 'other2'",
    NULL};

static const char *const durable[] = {
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, table=W, sync=full)",
    "CREATE VIRTUAL TABLE Newer USING ptable(v Int32, table=W, sync=normal)",
    "INSERT INTO New VALUES ('f', '1', 1)",
    "INSERT INTO Newer VALUES ('f', '2', 2)",
    "BEGIN",
    "UPDATE W SET v = v + 1",
    "UPDATE New SET v = v + 1",
    "INSERT INTO U VALUES ('f', '1', 1)",
    "COMMIT",
    "SELECT v FROM Newer",
    NULL};

static const char *const temporary_tables[] = {
    "CREATE VIRTUAL TABLE temp.Own USING ptable(v Int32)",
    "INSERT INTO Own SELECT PartitionKey, RowKey, v FROM W",
    "BEGIN",
    "UPDATE Own SET v = v * 2",
    "INSERT INTO W SELECT 'temp', RowKey, v FROM Own WHERE PartitionKey = 'p'",
    "SAVEPOINT a",
    "CREATE VIRTUAL TABLE temp.Mine USING ptable(v Int32)",
    "INSERT INTO Mine VALUES ('n', '1', 1)",
    "ROLLBACK TO a",
    "COMMIT",
    "SELECT PartitionKey, Entities FROM pt_partitions('temp.Own')",
    "DROP TABLE Own",
    NULL};

/* That pragma takes effect when it is prepared, even if it then fails. */
static const char *const only_reading[] = {
    "PRAGMA query_only = 1",
    "PRAGMA query_only = 1",
    "BEGIN",
    "SELECT count(*) FROM W",
    "SELECT v FROM U WHERE PartitionKey = 'p' AND RowKey IN ('2', '1')",
    "!INSERT INTO W VALUES ('o', '1', 1)",
    "COMMIT",
    "PRAGMA query_only = 0",
    "PRAGMA query_only = 0",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, table=W, readonly=1)",
    "SELECT sum(v) FROM New",
    "!DELETE FROM New",
    "BEGIN",
    "SELECT sum(v) FROM New JOIN U USING (RowKey, v)",
    "ROLLBACK",
    NULL};

/* The companion is made again: before a statement runs, and inside one. */
static const char *const emptying_temp[] = {"PRAGMA temp_store = 2",
                                            "BEGIN",
                                            "SELECT count(*) FROM W",
                                            "INSERT INTO W VALUES ('e', '1', 1)",
                                            "COMMIT",
                                            "DROP TABLE IF EXISTS temp.ptable_companion",
                                            "BEGIN",
                                            "UPDATE W SET v = v + 1",
                                            "SELECT sum(v) FROM W",
                                            "ROLLBACK",
                                            NULL};

static const char *const many_keys[] = {
    "SELECT count(*) FROM W WHERE PartitionKey = 'p' AND RowKey IN (WITH RECURSIVE n(i) AS (SELECT "
    "300 UNION ALL SELECT i - 1 FROM n WHERE i > 1) SELECT CAST(i AS TEXT) FROM n)",
    "SELECT i FROM T WHERE Filter MATCH 'PartitionKey eq ''c'' and RowKey eq ''c1'' or "
    "PartitionKey eq ''a'' and (RowKey eq ''b1'' or RowKey ge ''a2'' and RowKey lt ''b'') or "
    "PartitionKey gt ''b'' and PartitionKey lt ''c'''",
    "SELECT i FROM T WHERE Filter MATCH 'RowKey eq ''a1'' or RowKey eq ''c1'''",
    "SELECT i FROM T WHERE (PartitionKey, RowKey) IN (SELECT PartitionKey, RowKey FROM T WHERE i > "
    "2)",
    "SELECT count(*) FROM Plain JOIN W ON PartitionKey = 'p' AND RowKey = CAST(Plain.v AS TEXT)",
    "UPDATE T SET i = i + 100 WHERE Filter MATCH 'PartitionKey eq ''a''' AND RowKey IN ('a1', "
    "'b1')",
    "DELETE FROM T WHERE PartitionKey IN ('a', 'b') AND pt_starts_with(RowKey, 'b')",
    NULL};

static const char *const two_databases[] = {
    ".attach second",
    "PRAGMA second.journal_mode = delete",
    "PRAGMA second.synchronous = off",
    "CREATE VIRTUAL TABLE second.A USING ptable(v Int32, sync=off)",
    "BEGIN",
    "INSERT INTO A SELECT PartitionKey, RowKey, v FROM W",
    "UPDATE W SET v = 0",
    "INSERT INTO Plain VALUES (9)",
    ".refuse",
    "!COMMIT",
    ".accept",
    "SELECT (SELECT count(*) FROM A), (SELECT sum(v) FROM W)",
    "INSERT INTO A VALUES ('p', '1', 1)",
    "BEGIN",
    "DELETE FROM A WHERE PartitionKey = 'q'",
    "DELETE FROM W WHERE PartitionKey = 'q'",
    "COMMIT",
    "SELECT count(*) FROM A",
    NULL};

/* --- The log in front of LMDB --- */

/* The first commit makes it. */
static const char *const logging[] = {"INSERT INTO W VALUES ('l', '1', 1)",
                                      "INSERT INTO W VALUES ('l', '2', 2), ('l', '3', 3)",
                                      "UPDATE W SET v = v + 1",
                                      "SELECT sum(v), count(*) FROM W",
                                      "!INSERT INTO W VALUES ('l', '1', 1)",
                                      "BEGIN",
                                      "DELETE FROM W WHERE RowKey = '1'",
                                      "INSERT INTO Plain VALUES (3)",
                                      "UPDATE U SET v = v + 1",
                                      "COMMIT",
                                      ".refuse",
                                      "!UPDATE W SET v = v + 1",
                                      ".accept",
                                      ".hold SELECT v FROM W ORDER BY EntityKey DESC",
                                      "UPDATE W SET v = v + 10",
                                      ".rest",
                                      ".elsewhere UPDATE W SET v = v + 100 WHERE RowKey = '2'",
                                      "SELECT v FROM W WHERE PartitionKey = 'p' AND RowKey = '2'",
                                      "SELECT TableName, Entities FROM pt_tables",
                                      ".reopen",
                                      "SELECT sum(v), count(*) FROM W",
                                      "INSERT INTO W VALUES ('l', '4', 4)",
                                      NULL};

/* With a rollback journal, others could not commit while the statement is open. */
static const char *const logging_beside_a_reader[] = {
    "UPDATE W SET v = v + 1",
    "INSERT INTO W VALUES ('l', '1', 1)",
    ".hold SELECT v FROM W ORDER BY EntityKey DESC",
    ".elsewhere UPDATE W SET v = v + 100 WHERE RowKey = '2'",
    "UPDATE W SET v = v + 10",
    ".elsewhere DELETE FROM W WHERE PartitionKey = 'l'",
    ".rest",
    "SELECT * FROM W",
    NULL};

static const char *const logging_what_does_not_fit[] = {
    "UPDATE W SET v = v + 1",
    "UPDATE W SET v = v + 1",
    "INSERT INTO T(PartitionKey, RowKey, x) VALUES ('k', '1', " LARGE(60000) ")",
    "UPDATE W SET v = v + 1",
    "INSERT INTO T(PartitionKey, RowKey, x) VALUES ('k', '2', " LARGE(100000) ")",
    "UPDATE T SET i = 1 WHERE PartitionKey = 'k'",
    "BEGIN",
    "INSERT INTO pt_tables(TableName) VALUES ('Newest')",
    "UPDATE W SET v = v + 1",
    "COMMIT",
    "UPDATE W SET v = v + 1",
    "DELETE FROM pt_tables WHERE TableName = 'Newest'",
    "UPDATE W SET v = v + 1",
    "INSERT INTO Bare VALUES ('p', '2', '{\"Other\":1}')",
    "SELECT sum(v) FROM W",
    NULL};

static const char *const looking_after_a_log[] = {
    "UPDATE W SET v = v + 1",
    "INSERT INTO W VALUES ('l', '1', 1)",
    "SELECT pt_check()",
    "SELECT count(*) FROM pt_stores",
    "SELECT pt_backup(NULL, 'new.ptable') > 0",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, table=W, store='new.ptable')",
    "SELECT v FROM New",
    "UPDATE W SET v = v + 1",
    "SELECT pt_compact(NULL) >= 0",
    "UPDATE W SET v = v + 1",
    "!SELECT pt_forget_log(NULL)",
    "UPDATE W SET v = v + 1",
    "SELECT PartitionKey, Entities FROM pt_partitions('W')",
    "SELECT DISTINCT PartitionKey FROM W",
    NULL};

static const char *const recovering_a_log[] = {"UPDATE W SET v = v + 1",
                                               "INSERT INTO W VALUES ('l', '1', 1)",
                                               "DELETE FROM W WHERE RowKey = '2'",
                                               ".crash",
                                               "SELECT * FROM W",
                                               "UPDATE W SET v = v + 1",
                                               ".crash",
                                               "UPDATE W SET v = v + 1",
                                               ".crash",
                                               "SELECT pt_check()",
                                               ".crash",
                                               "SELECT length(pt_forget_log(NULL)) > 10",
                                               "SELECT * FROM W",
                                               "UPDATE W SET v = v + 1",
                                               NULL};

#endif
