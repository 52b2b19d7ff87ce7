/*
 * More scripts that run out of memory: import and export, what looks after stores, collection,
 * large values, and odd ways to be used.
 */
#ifndef OUT_OF_MEMORY_MORE_SCRIPTS_H
#define OUT_OF_MEMORY_MORE_SCRIPTS_H

#include <stddef.h>

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

static const char *const only_reading[] = {
    "PRAGMA query_only = 1",
    "BEGIN",
    "SELECT count(*) FROM W",
    "SELECT v FROM U WHERE PartitionKey = 'p' AND RowKey IN ('2', '1')",
    "!INSERT INTO W VALUES ('o', '1', 1)",
    "COMMIT",
    "PRAGMA query_only = 0",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, table=W, readonly=1)",
    "SELECT sum(v) FROM New",
    "!DELETE FROM New",
    "BEGIN",
    "SELECT sum(v) FROM New JOIN U USING (RowKey, v)",
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

#endif
