/*
 * The scripts that run out of memory: with out_of_memory_more_scripts.h, every feature once. A step
 * that begins with ! fails also with memory. Steps that begin with a dot: out_of_memory_side.h.
 */
#ifndef TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_SCRIPTS_H
#define TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_SCRIPTS_H

#include "unit/out_of_memory/out_of_memory_more_scripts.h"
#include "unit/out_of_memory/out_of_memory_side.h"

enum {
    JOURNAL = 1 << HOST_JOURNAL,
    WAL = 1 << HOST_WAL,
    UTF16 = 1 << HOST_UTF16,
    MEMORY = 1 << HOST_MEMORY,
    OPENS = 1 << HOSTS,
    LOGS = OPENS << 1,    /* small commits go to the log, from the first on */
    APPLIES = OPENS << 2, /* and it is written to the tree at random moments */
};

typedef struct memory_script {
    const char *name;
    const char *const *steps; /* up to NULL */
    unsigned hosts;           /* and whether opening may fail too, and what a log is used for */
} memory_script;

/* --- What all begin with --- */

static const char *const journal_mode[] = {"PRAGMA journal_mode = delete", NULL};
static const char *const wal_mode[] = {"PRAGMA journal_mode = wal", NULL};

#define TABLES                                                                                     \
    "CREATE VIRTUAL TABLE T USING ptable(s String, i Int32, l Int64, d Double, b Boolean, "        \
    "t DateTime, g Guid, x Binary, n, sync=off)",                                                  \
        "CREATE VIRTUAL TABLE Bare USING ptable(sync=off)",                                        \
        "CREATE VIRTUAL TABLE W USING ptable(v Int32, sync=off)", "CREATE TABLE Plain(v)"

static const char *const store_in_file[] = {
    TABLES, "CREATE VIRTUAL TABLE U USING ptable(v Int32, store='other.ptable', sync=off)", NULL};

static const char *const store_in_memory[] = {
    TABLES, "CREATE VIRTUAL TABLE temp.U USING ptable(v Int32, sync=off)", NULL};

static const char *const first_rows[] = {
    "INSERT INTO T(PartitionKey, RowKey, s, i) VALUES "
    "('a', 'a1', 'one', 1), ('a', 'a2', 'two', 2), ('a', 'b1', 'three', 3), "
    "('b', 'a1', 'four', 4), ('b', 'b1', 'five', 5), ('c', 'a1', 'six', 6), ('c', 'c1', 'x', 7)",
    "INSERT INTO T(PartitionKey, RowKey, t, g, x, d, b, l) VALUES ('d', 'all', '2026-11-21', "
    "'0f8fad5b-d9cb-469f-a165-70867728950e', x'00ff', 2.5, 1, 9223372036854775807)",
    "INSERT INTO Bare VALUES ('p', '1', '{\"Name\":\"Jun\",\"Age\":34,\"Rate\":2.5}')",
    "INSERT INTO W VALUES ('p', '1', 1), ('p', '2', 2), ('q', '1', 3)",
    "INSERT INTO U VALUES ('p', '1', 1), ('p', '2', 2)",
    "INSERT INTO Plain VALUES (1), (2)",
    NULL};

/* What must work at the end, on every connection: it leaves nothing behind. */
static const char *const probe[] = {"PRAGMA query_only = 0",
                                    "INSERT INTO W VALUES ('probe', '1', 1)",
                                    "INSERT INTO U VALUES ('probe', '1', 1)",
                                    "BEGIN",
                                    "UPDATE W SET v = 2 WHERE PartitionKey = 'probe'",
                                    "DELETE FROM U WHERE PartitionKey = 'probe'",
                                    "DELETE FROM W WHERE PartitionKey = 'probe'",
                                    "COMMIT",
                                    NULL};

/* --- The scripts --- */

static const char *const opening[] = {"SELECT s FROM T WHERE PartitionKey = 'a' AND RowKey = 'a1'",
                                      "INSERT INTO U VALUES ('new', '1', 1)",
                                      "SELECT count(*) FROM T JOIN U ON i = v", NULL};

static const char *const creating[] = {
    "SELECT count(*) FROM W",
    "CREATE VIRTUAL TABLE New USING ptable(PartitionKey, RowKey, \"v\" INTEGER, name TEXT, "
    "sync = 'off', scan=allow, readonly=0, table='Newest')",
    "INSERT INTO New VALUES ('p', '1', 1, 'x')",
    "SELECT * FROM New",
    "ALTER TABLE New RENAME TO Newer",
    "SELECT * FROM Newer",
    "DROP TABLE Newer",
    "!CREATE VIRTUAL TABLE New USING ptable(v Integr)",
    "!CREATE VIRTUAL TABLE New USING ptable(v, stor='x')",
    "!CREATE VIRTUAL TABLE New USING ptable(v, store='none/x')",
    "CREATE VIRTUAL TABLE Seen USING ptable(v, table=Newest, readonly=1)",
    "SELECT * FROM Seen",
    "!INSERT INTO Seen VALUES ('p', '1', 1)",
    "!ALTER TABLE Plain RENAME TO W",
    NULL};

static const char *const making_a_store[] = {
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, store='new.ptable', sync=off)",
    "INSERT INTO New VALUES ('p', '1', 1)", "SELECT v FROM New", NULL};

static const char *const creating_in_a_transaction[] = {
    "BEGIN",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, sync=off)",
    "INSERT INTO New VALUES ('p', '1', 1), ('p', '2', 2)",
    "SAVEPOINT a",
    "CREATE VIRTUAL TABLE Newer USING ptable(v Int32, sync=off)",
    "INSERT INTO Newer VALUES ('p', '1', 1)",
    "ROLLBACK TO a",
    "INSERT INTO New VALUES ('p', '3', 3)",
    "SELECT count(*) FROM New",
    "COMMIT",
    "CREATE VIRTUAL TABLE Newer USING ptable(v Int32, readonly=1)",
    "!SELECT * FROM Newer",
    "SELECT v FROM New",
    NULL};

static const char *const rolling_a_table_back[] = {
    "BEGIN",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, sync=off)",
    "INSERT INTO New VALUES ('p', '1', 1)",
    "ROLLBACK",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, sync=off)",
    "SELECT count(*) FROM New",
    "BEGIN",
    "INSERT INTO New VALUES ('p', '1', 1)",
    "DROP TABLE New",
    "INSERT INTO W VALUES ('p', '3', 3)",
    "ROLLBACK",
    "SELECT count(*) FROM New",
    "BEGIN",
    "INSERT INTO New VALUES ('p', '1', 1)",
    "DROP TABLE New",
    "COMMIT",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, sync=off)",
    "SELECT count(*) FROM New",
    NULL};

static const char *const inserting[] = {
    "INSERT INTO T VALUES ('p', '1', 'text', 7, 8, 1.5, 1, '2026-11-21 08:43', "
    "'0F8FAD5B-D9CB-469F-A165-70867728950E', x'01', 12)",
    "INSERT INTO T VALUES (5, 6, 7, '8', '9', '1.5', 'true', '2026-11-21', "
    "x'0f8fad5bd9cb469fa16570867728950e', zeroblob(3), 'n')",
    "!INSERT INTO T(PartitionKey, RowKey) VALUES ('p', '1')",
    "INSERT INTO T(PartitionKey, RowKey, s) VALUES ('p', 'long', hex(zeroblob(3000)))",
    "SELECT length(s) FROM T WHERE PartitionKey = 'p'",
    "!INSERT INTO T(PartitionKey, RowKey, i) VALUES ('p', 'r', 'thirty-four')",
    "!INSERT INTO T(PartitionKey, RowKey) VALUES (NULL, 'r')",
    "!INSERT INTO T(PartitionKey, RowKey) VALUES ('p' || char(0), 'r')",
    "!INSERT INTO T(PartitionKey, RowKey, ETag) VALUES ('p', 'r', 'x')",
    NULL};

static const char *const inserting_many[] = {
    "INSERT INTO W VALUES ('r', '1', 1), ('r', '2', 2), ('r', '3', 3)",
    "!INSERT INTO W VALUES ('s', '1', 1), ('s', '2', 2), ('s', '1', 3)",
    "INSERT INTO W SELECT 'copy', RowKey, v FROM W WHERE PartitionKey = 'r'",
    "BEGIN",
    "!INSERT INTO W VALUES ('t', '1', 1), ('p', '1', 2)",
    "INSERT INTO W SELECT 't', PartitionKey || RowKey, v FROM W",
    "COMMIT",
    NULL};

static const char *const loading[] = {
    "BEGIN",
    "INSERT INTO W WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
    "SELECT 'load', 1000 + i * 7 % 300, i FROM n",
    "SELECT count(*), sum(v) FROM W",
    "INSERT INTO W WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) "
    "SELECT 'z', 1000 + i, i FROM n",
    "DELETE FROM W WHERE v % 2 = 0",
    "UPDATE W SET v = v + 1 WHERE PartitionKey = 'z'",
    "COMMIT",
    "SELECT count(*), sum(v) FROM W",
    NULL};

static const char *const conflicts[] = {
    "BEGIN",
    "INSERT OR REPLACE INTO W VALUES ('p', '1', 10), ('p', '9', 9)",
    "INSERT OR IGNORE INTO W VALUES ('p', '1', 11), ('p', '8', 8)",
    "!INSERT OR FAIL INTO W VALUES ('p', '7', 7), ('p', '1', 12), ('p', '6', 6)",
    "!INSERT OR ABORT INTO W VALUES ('p', '5', 7), ('p', '1', 12)",
    "UPDATE OR REPLACE W SET RowKey = '2' WHERE RowKey = '9'",
    "UPDATE OR IGNORE W SET RowKey = '1' WHERE PartitionKey = 'p'",
    "COMMIT",
    "BEGIN",
    "INSERT INTO W VALUES ('lost', '1', 1)",
    "!INSERT OR ROLLBACK INTO W VALUES ('p', '1', 12)",
    "!COMMIT",
    "INSERT OR REPLACE INTO W SELECT PartitionKey, RowKey, v + 1 FROM W",
    NULL};

static const char *const write_modes[] = {
    "CREATE TEMP TABLE Seen AS SELECT RowKey AS rk, ETag AS tag FROM W WHERE PartitionKey = 'p'",
    "INSERT INTO W(PartitionKey, RowKey, v, WriteMode) VALUES ('p', '1', 10, 'replace'), "
    "('p', '4', 4, 'merge'), ('p', '5', 5, 'insert')",
    "!INSERT INTO W(PartitionKey, RowKey, v, WriteMode) VALUES ('p', '5', 6, 'insert')",
    "INSERT INTO W(PartitionKey, RowKey, v, WriteMode, IfMatch) "
    "SELECT 'p', rk, 20, 'merge', tag FROM Seen WHERE rk = '2'",
    "!INSERT INTO W(PartitionKey, RowKey, v, WriteMode, IfMatch) "
    "SELECT 'p', rk, 21, 'replace', tag FROM Seen",
    "INSERT INTO Bare(PartitionKey, RowKey, Properties, WriteMode, IfMatch) "
    "VALUES ('p', '1', '{\"Age\":35,\"Badge\":\"é\"}', 'merge', '*')",
    "SELECT Properties FROM Bare",
    "!INSERT INTO W(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '9', 'delete', '*')",
    "!INSERT INTO W(PartitionKey, RowKey, WriteMode) VALUES ('p', '1', 'upsert')",
    "!INSERT INTO W(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'merge', 'x')",
    "!INSERT INTO W(PartitionKey, RowKey, v, WriteMode) VALUES ('p', '1', 1, 'delete')",
    "!INSERT INTO W(PartitionKey, RowKey, IfMatch) VALUES ('p', '1', '*')",
    "!UPDATE W SET WriteMode = 'merge'",
    "BEGIN",
    "INSERT INTO W(PartitionKey, RowKey, v, WriteMode, IfMatch) VALUES ('p', '1', 11, 'merge', "
    "'*'), "
    "('p', '1', 12, 'merge', '*'), ('q', '1', NULL, 'delete', '*')",
    "INSERT OR IGNORE INTO W(PartitionKey, RowKey, v, WriteMode, IfMatch) "
    "VALUES ('p', '1', 13, 'merge', 'W/\"x\"'), ('q', '1', 3, 'merge', '*')",
    "COMMIT",
    "SELECT PartitionKey, RowKey, v FROM W",
    NULL};

static const char *const properties[] = {
    "INSERT INTO Bare VALUES ('p', '2', '{\"i\":\"7\",\"i@odata.type\":\"Edm.Int64\","
    "\"t\":\"2026-11-21\",\"t@odata.type\":\"Edm.DateTime\",\"x\":\"AP8=\","
    "\"x@odata.type\":\"Edm.Binary\",\"u\":\"\\u0041\\n\",\"no\":null,\"yes\":true}')",
    "SELECT Properties, Properties ->> 'Age' FROM Bare",
    "UPDATE Bare SET Properties = json_set(Properties, '$.Age', 35)",
    "UPDATE T SET Properties = '{\"s\":\"base\",\"extra\":1}', i = 9 WHERE RowKey = 'a1'",
    "INSERT INTO T(PartitionKey, RowKey, s, Properties) VALUES ('p', 'r', 'set', "
    "'{\"s\":\"base\",\"b\":false,\"more\":\"é\"}')",
    "UPDATE T SET Properties = NULL WHERE PartitionKey = 'd'",
    "SELECT RowKey, key, value FROM T, json_each(Properties) WHERE PartitionKey IN ('b', 'p')",
    "INSERT INTO Bare SELECT 'copy', PartitionKey || RowKey, Properties FROM T",
    "!INSERT INTO Bare VALUES ('p', '3', '{\"a\":[1]}')",
    "!INSERT INTO Bare VALUES ('p', '3', '{\"a\":1')",
    "!INSERT INTO Bare VALUES ('p', '3', '{\"a\":\"x\",\"a@odata.type\":\"Edm.Guid\"}')",
    NULL};

static const char *const large_values[] = {
    "INSERT INTO T(PartitionKey, RowKey, s, x, i) VALUES ('p', '1', hex(zeroblob(3000)), "
    "zeroblob(4100), 1)",
    "SELECT length(s), length(x), length(Properties) FROM T WHERE PartitionKey = 'p'",
    "UPDATE T SET i = 2 WHERE PartitionKey = 'p'",
    "UPDATE T SET s = s || 'x', x = x WHERE PartitionKey = 'p'",
    "UPDATE T SET RowKey = '2', x = NULL WHERE PartitionKey = 'p'",
    "UPDATE T SET s = Plain.v || hex(zeroblob(2000)) FROM Plain WHERE PartitionKey = 'p'",
    "UPDATE T SET Properties = json_set(Properties, '$.i', 3) WHERE PartitionKey = 'p'",
    "BEGIN",
    "INSERT OR REPLACE INTO T(PartitionKey, RowKey, s) VALUES ('p', '2', hex(zeroblob(1500))), "
    "('p', '3', hex(zeroblob(1501)))",
    "UPDATE OR REPLACE T SET RowKey = '3' WHERE PartitionKey = 'p' AND RowKey = '2'",
    "SELECT length(s), Properties FROM T WHERE PartitionKey = 'p'",
    "COMMIT",
    "INSERT INTO Bare SELECT 'large', RowKey, Properties FROM T WHERE PartitionKey = 'p'",
    "DELETE FROM T WHERE PartitionKey = 'p'",
    NULL};

static const char *const shapes[] = {
    "BEGIN",
    "INSERT INTO Bare WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) "
    "SELECT 's', i, json_object('name' || i, i, 'and' || (i % 7), i, 'Age', 1) FROM n",
    "SELECT count(*), max(length(Properties)) FROM Bare",
    "ROLLBACK",
    "INSERT INTO Bare VALUES ('s', '1', '{\"name5\":1,\"Age\":2}')",
    "INSERT INTO Bare VALUES ('s', '2', '{\"and1\":\"x\",\"name1\":2}')",
    "SELECT Properties FROM Bare",
    NULL};

static const char *const updating[] = {
    "UPDATE T SET s = 'changed', n = 1.5, x = NULL WHERE PartitionKey = 'd' AND RowKey = 'all'",
    "UPDATE T SET i = i + 1 WHERE PartitionKey = 'a'",
    "UPDATE T SET RowKey = 'z' || RowKey, i = i * 2 WHERE PartitionKey = 'a'",
    "UPDATE T SET PartitionKey = 'e', RowKey = '1' WHERE EntityKey = pt_entity_key('c', 'c1')",
    "!UPDATE T SET RowKey = 'same' WHERE PartitionKey = 'a'",
    "!UPDATE T SET i = 'x' WHERE PartitionKey = 'b'",
    "!UPDATE T SET ETag = 'x'",
    "UPDATE T SET i = v FROM W WHERE W.RowKey = '1' AND W.PartitionKey = 'p' AND T.RowKey = 'b1'",
    "UPDATE T SET i = 0 WHERE PartitionKey = 'none'",
    "BEGIN",
    "UPDATE T SET RowKey = 'y' || RowKey WHERE PartitionKey = 'b'",
    "UPDATE T SET i = i + 1 WHERE PartitionKey = 'b'",
    "!UPDATE T SET RowKey = 'same' WHERE PartitionKey = 'b'",
    "COMMIT",
    NULL};

static const char *const deleting[] = {"DELETE FROM T WHERE PartitionKey = 'a' AND RowKey = 'a1'",
                                       "DELETE FROM T WHERE PartitionKey = 'b' AND RowKey > 'a'",
                                       "DELETE FROM T WHERE i IN (3, 6)",
                                       "DELETE FROM T WHERE 0",
                                       "BEGIN",
                                       "INSERT INTO W VALUES ('p', '5', 5)",
                                       "DELETE FROM W",
                                       "SELECT count(*) FROM W",
                                       "INSERT INTO W VALUES ('p', '5', 6)",
                                       "COMMIT",
                                       "DELETE FROM T",
                                       NULL};

static const char *const point_queries[] = {
    "SELECT i FROM T WHERE PartitionKey = 'b' AND RowKey = 'b1'",
    "SELECT i FROM T WHERE PartitionKey = 'a' AND RowKey IN ('b1', 'a0', 'zz', 'a1')",
    "SELECT i FROM T WHERE PartitionKey IN ('c', 'a') AND RowKey = 'a1'",
    "SELECT i FROM T WHERE PartitionKey IN ('c', 'a') AND RowKey IN ('a1', 'c1', NULL)",
    "SELECT i FROM T WHERE (PartitionKey, RowKey) = ('b', 'b1')",
    "SELECT i FROM T WHERE EntityKey = pt_entity_key('b', 'b1')",
    "SELECT i, oid FROM T WHERE _rowid_ = 'b/b1'",
    "SELECT i FROM T WHERE rowid IN ('c/a1', 'a/b1', 'a')",
    "SELECT i FROM T WHERE rowid = printf('%.*c', 9000, 'a')",
    "SELECT i FROM T WHERE rowid IN ('c/a1', printf('%.*c', 9000, 'a'))",
    "SELECT i FROM T WHERE EntityKey IN (pt_entity_key('c', 'a1'), pt_entity_key('a', 'b1'))",
    "SELECT i FROM T WHERE (PartitionKey = 'a' AND RowKey = 'a1') OR "
    "(PartitionKey = 'c' AND RowKey = 'c1')",
    "SELECT i FROM T WHERE PartitionKey = 'a' AND RowKey IN (SELECT RowKey FROM T WHERE i > 3)",
    "SELECT i FROM T WHERE i > zeroblob(9000)",
    "EXPLAIN QUERY PLAN SELECT i FROM T WHERE PartitionKey = 'b' AND RowKey = 'b1'",
    NULL};

static const char *const range_queries[] = {
    "SELECT i FROM T WHERE PartitionKey = 'a' AND RowKey > 'a1' AND RowKey <= 'b1'",
    "SELECT i FROM T WHERE PartitionKey = 'a' AND RowKey BETWEEN 'a2' AND 'b0'",
    "SELECT i FROM T WHERE PartitionKey = 'a' AND pt_starts_with(RowKey, 'a')",
    "SELECT i FROM T WHERE PartitionKey IN ('a', 'c') AND RowKey >= 'b1' ORDER BY RowKey DESC",
    "SELECT i FROM T WHERE PartitionKey = 'a' AND RowKey GLOB 'a*'",
    "SELECT i FROM T WHERE PartitionKey = 'a' OR PartitionKey = 'c'",
    "SELECT sum(i) FROM T WHERE PartitionKey > 'a' AND PartitionKey < 'c'",
    "SELECT sum(i) FROM T WHERE pt_starts_with(PartitionKey, 'c')",
    "SELECT i FROM T WHERE EntityKey > pt_entity_key('a', 'a2') AND EntityKey <= "
    "pt_entity_key('b', 'a1')",
    "SELECT i FROM T WHERE PartitionKey = 'a' ORDER BY RowKey DESC",
    "SELECT i FROM T WHERE PartitionKey IN ('b', 'a') ORDER BY PartitionKey DESC, RowKey DESC",
    "SELECT i, s, Timestamp > '', ETag > '' FROM T ORDER BY PartitionKey DESC, RowKey DESC",
    NULL};

static const char *const skipping[] = {
    "SELECT i FROM T WHERE RowKey = 'a1'",
    "SELECT i FROM T WHERE RowKey IN ('b1', 'c1') ORDER BY EntityKey DESC",
    "SELECT i FROM T WHERE RowKey >= 'b' AND RowKey < 'c'",
    "SELECT DISTINCT PartitionKey FROM T",
    "SELECT DISTINCT PartitionKey FROM T WHERE PartitionKey > 'a' ORDER BY PartitionKey DESC",
    "SELECT PartitionKey, count(*), min(i) FROM T GROUP BY PartitionKey",
    "SELECT min(RowKey), max(RowKey) FROM T WHERE PartitionKey = 'a'",
    "SELECT count(*) FROM T WHERE upper(s) = 'SIX'",
    "SELECT v FROM W JOIN T ON T.PartitionKey = 'a' AND T.RowKey = 'a' || v",
    "SELECT W.RowKey, count(i) FROM W LEFT JOIN T ON T.RowKey >= W.RowKey GROUP BY 1",
    NULL};

static const char *const numbers_as_keys[] = {
    "INSERT INTO W VALUES ('5', '1', 100), ('05', '1', 101), ('5.0', '2', 102), (5, 3, 103)",
    "SELECT v FROM W WHERE PartitionKey = 5",
    "SELECT v FROM W WHERE PartitionKey = CAST(5 AS INTEGER) AND RowKey = 1",
    "SELECT v FROM W WHERE PartitionKey = CAST(5 AS INTEGER) ORDER BY RowKey",
    "!SELECT v FROM W WHERE PartitionKey = 2 + 3 ORDER BY RowKey",
    "!SELECT v FROM W WHERE PartitionKey IN (SELECT v FROM W)",
    "SELECT v FROM W WHERE PartitionKey = CAST(5 AS INTEGER) AND RowKey IN (1, '2') ORDER BY v",
    "SELECT v FROM W WHERE PartitionKey = NULL OR PartitionKey IS NULL",
    "SELECT v FROM W WHERE PartitionKey = x'35'",
    "SELECT v FROM W WHERE PartitionKey > 4 AND RowKey < 3",
    "SELECT v FROM W WHERE PartitionKey = 'P' COLLATE NOCASE AND RowKey = '1'",
    NULL};

static const char *const filters[] = {
    "SELECT s FROM T WHERE Filter MATCH 'i gt 2 and not (d eq 2.5) or b'",
    "SELECT s FROM T('PartitionKey eq ''a'' and RowKey eq ''a1'' or PartitionKey eq ''c''')",
    "SELECT RowKey FROM T WHERE Filter MATCH 'x eq X''00ff''' OR Filter MATCH 's eq ''one'''",
    "SELECT Plain.v, W.v FROM Plain JOIN W ON Filter MATCH 'v le ' || Plain.v",
    "!SELECT s FROM T('i gt')",
    "!SELECT s FROM T('startswith(s, ''x'')')",
    "SELECT s FROM T WHERE NOT Filter MATCH 'b' OR Filter MATCH 'x eq X''00ff'''",
    "BEGIN",
    "INSERT INTO T(PartitionKey, RowKey, n, i) VALUES ('e', '1', 'new', 9)",
    "UPDATE T SET i = i + 1 WHERE Filter MATCH 'n eq ''new'' or i lt 3'",
    "DELETE FROM T WHERE Filter MATCH 'Timestamp gt datetime''2000-01-01'' and i gt 9'",
    "SELECT group_concat(s), Filter FROM T('i ge 1') ORDER BY PartitionKey DESC",
    "ROLLBACK",
    NULL};

static const char *const conditions[] = {
    "SELECT s FROM T WHERE i > 2 AND i <= 6.5 AND PartitionKey = 'a'",
    "SELECT RowKey FROM T WHERE s IN ('one', 'two', '3', NULL) OR b = 'x'",
    "SELECT RowKey FROM T WHERE s IN ('one', 'two', '3', 4, x'00', NULL) AND i IS 1",
    "SELECT RowKey FROM T WHERE i IN ('1', '2', 'x') AND t IS NULL",
    "SELECT RowKey FROM T WHERE t >= '2026' AND g = '0F8FAD5B-D9CB-469F-A165-70867728950E' AND "
    "x = x'00ff'",
    "SELECT RowKey FROM T WHERE x = zeroblob(3000)",
    "SELECT RowKey FROM T WHERE x IN (zeroblob(8000), zeroblob(5000), x'00ff')",
    "!SELECT RowKey FROM T WHERE b = 'true'",
    "SELECT RowKey FROM T WHERE i IN (WITH RECURSIVE c(x) AS (VALUES (0) UNION ALL SELECT x + 1 "
    "FROM c WHERE x < 300) SELECT x FROM c) AND b IS NULL",
    "SELECT T.RowKey, v FROM Plain LEFT JOIN T ON T.i = Plain.v AND T.s > 'a'",
    "BEGIN",
    "INSERT INTO T(PartitionKey, RowKey, n, i) VALUES ('e', '1', 'new', 9)",
    "SELECT RowKey FROM T WHERE n = 'new' AND Filter MATCH 'i gt 2'",
    "UPDATE T SET i = i + 1 WHERE n = 'new' AND i > 3",
    "DELETE FROM T WHERE i = 10 AND n >= 'new'",
    "ROLLBACK",
    NULL};

static const char *const paging[] = {
    "SELECT hex(EntityKey) FROM T ORDER BY EntityKey LIMIT 3",
    "SELECT i FROM T WHERE EntityKey > pt_entity_key('a', 'b1') ORDER BY EntityKey LIMIT 3",
    "SELECT i FROM T WHERE EntityKey < pt_entity_key('b', 'b1') ORDER BY EntityKey DESC LIMIT 2",
    "BEGIN",
    "INSERT INTO T(PartitionKey, RowKey, i) VALUES ('a', 'b2', 30), ('b', 'a2', 40)",
    "DELETE FROM T WHERE PartitionKey = 'b' AND RowKey = 'a1'",
    "SELECT i FROM T WHERE EntityKey > pt_entity_key('a', 'b1') ORDER BY EntityKey LIMIT 3",
    "SELECT i FROM T WHERE EntityKey < pt_entity_key('b', 'b1') ORDER BY EntityKey DESC LIMIT 3",
    "SELECT DISTINCT PartitionKey FROM T",
    "SELECT i FROM T WHERE RowKey >= 'b' ORDER BY PartitionKey DESC, RowKey DESC",
    "COMMIT",
    NULL};

static const char *const savepoints[] = {"BEGIN",
                                         "INSERT INTO W VALUES ('s', '1', 1)",
                                         "SAVEPOINT a",
                                         "INSERT INTO U VALUES ('s', '1', 1)",
                                         "UPDATE W SET v = 10 WHERE PartitionKey = 's'",
                                         "SAVEPOINT b",
                                         "INSERT INTO W VALUES ('s', '2', 2)",
                                         "UPDATE W SET v = 100 WHERE PartitionKey = 's'",
                                         "DELETE FROM U",
                                         "ROLLBACK TO b",
                                         "SELECT v FROM W WHERE PartitionKey = 's'",
                                         "INSERT INTO W VALUES ('s', '3', 3)",
                                         "RELEASE b",
                                         "SAVEPOINT c",
                                         "INSERT INTO U VALUES ('s', '3', 3)",
                                         "ROLLBACK TO a",
                                         "SELECT v FROM W UNION ALL SELECT v FROM U",
                                         "INSERT INTO W VALUES ('s', '4', 4)",
                                         "COMMIT",
                                         "SAVEPOINT outermost",
                                         "INSERT INTO W VALUES ('s', '5', 5)",
                                         "SAVEPOINT inner",
                                         "INSERT INTO U VALUES ('s', '6', 6)",
                                         "RELEASE inner",
                                         "ROLLBACK TO outermost",
                                         "INSERT INTO W VALUES ('s', '7', 7)",
                                         "RELEASE outermost",
                                         NULL};

static const char *const deep_savepoints[] = {"BEGIN",
                                              "SELECT count(*) FROM W",
                                              "INSERT INTO W VALUES ('d', '0', 0)",
                                              "INSERT INTO U VALUES ('d', '0', 0)",
                                              "SAVEPOINT s1",
                                              "SAVEPOINT s2",
                                              "SAVEPOINT s3",
                                              "SAVEPOINT s4",
                                              "SAVEPOINT s5",
                                              "SAVEPOINT s6",
                                              "SAVEPOINT s7",
                                              "UPDATE W SET v = 6 WHERE PartitionKey = 'd'",
                                              "SAVEPOINT s8",
                                              "UPDATE W SET v = 7 WHERE PartitionKey = 'd'",
                                              "SAVEPOINT s9",
                                              "UPDATE W SET v = 9 WHERE PartitionKey = 'd'",
                                              "ROLLBACK TO s9",
                                              "SELECT v FROM W WHERE PartitionKey = 'd'",
                                              "ROLLBACK TO s3",
                                              "INSERT INTO W VALUES ('d', '3', 3)",
                                              "RELEASE s1",
                                              "COMMIT",
                                              NULL};

static const char *const rolling_back[] = {
    "BEGIN",
    "SELECT count(*) FROM W",
    "INSERT INTO W VALUES ('r', '1', 1)",
    "INSERT INTO Plain VALUES (3)",
    "DELETE FROM T WHERE PartitionKey = 'a'",
    "SELECT count(*) FROM T",
    "ROLLBACK",
    "SELECT (SELECT count(*) FROM W), (SELECT count(*) FROM T), (SELECT count(*) FROM Plain)",
    "BEGIN",
    "UPDATE W SET v = v + 1",
    "ROLLBACK",
    NULL};

static const char *const several_tables[] = {
    "BEGIN",
    "INSERT INTO Plain VALUES (3)",
    "INSERT INTO T(PartitionKey, RowKey, i) VALUES ('m', '1', 1)",
    "UPDATE W SET v = v + 10",
    "INSERT INTO U SELECT 'm', RowKey, v FROM W WHERE PartitionKey = 'p'",
    "INSERT INTO Bare VALUES ('m', '1', '{\"Age\":1}')",
    "SELECT (SELECT sum(v) FROM W), (SELECT sum(v) FROM U), (SELECT sum(v) FROM Plain)",
    "COMMIT",
    "BEGIN",
    "DELETE FROM U",
    "DELETE FROM W WHERE RowKey = '2'",
    "DELETE FROM Plain WHERE v = 1",
    "COMMIT",
    NULL};

static const char *const refused_commits[] = {
    "BEGIN",
    "INSERT INTO W VALUES ('h', '1', 1)",
    "UPDATE W SET v = 20 WHERE RowKey = '2'",
    "DELETE FROM U WHERE RowKey = '1'",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, sync=off)",
    "INSERT INTO New VALUES ('p', '1', 1)",
    ".refuse",
    "!COMMIT",
    "SELECT count(*), sum(v) FROM W",
    "!INSERT INTO W VALUES ('h', '2', 2)",
    ".accept",
    "SELECT count(*), sum(v) FROM W",
    "INSERT INTO W VALUES ('h', '3', 3)",
    NULL};

static const char *const long_keys[] = {
    "BEGIN",
    "INSERT INTO T(PartitionKey, RowKey, s) VALUES ('l', hex(zeroblob(300)), 'x'), "
    "('l', hex(zeroblob(300)) || '1', printf('%.5000c', 'y')), ('l', hex(zeroblob(900)), 'z')",
    "SAVEPOINT a",
    "UPDATE T SET RowKey = RowKey || hex(zeroblob(300)) WHERE PartitionKey = 'l'",
    "ROLLBACK TO a",
    "UPDATE T SET RowKey = 'short', s = s || s WHERE PartitionKey = 'l' AND s >= 'z'",
    "COMMIT",
    "SELECT RowKey, s FROM T WHERE PartitionKey = 'l' ORDER BY RowKey DESC",
    "SELECT s FROM T WHERE EntityKey > pt_entity_key('l', hex(zeroblob(299))) LIMIT 2",
    "BEGIN",
    "DELETE FROM T WHERE PartitionKey = 'l' AND RowKey > '0'",
    ".refuse",
    "!COMMIT",
    "SELECT s FROM T WHERE PartitionKey = 'l' AND RowKey = hex(zeroblob(300)) || '1'",
    ".accept",
    "DELETE FROM T WHERE PartitionKey = 'l' AND RowKey > '0'",
    NULL};

static const char *const busy_commits[] = {"BEGIN",
                                           "INSERT INTO W VALUES ('b', '1', 1)",
                                           ".read",
                                           "!COMMIT",
                                           "INSERT INTO W VALUES ('b', '2', 2)",
                                           "INSERT INTO U VALUES ('b', '3', 3)",
                                           "!COMMIT",
                                           "SAVEPOINT a",
                                           "DELETE FROM W",
                                           "ROLLBACK TO a",
                                           ".unread",
                                           "COMMIT",
                                           "SELECT v FROM W",
                                           NULL};

static const char *const others_write[] = {"BEGIN",
                                           "SELECT count(*) FROM W",
                                           ".elsewhere INSERT INTO W VALUES ('e', '1', 1)",
                                           "SELECT count(*) FROM W",
                                           "!INSERT INTO W VALUES ('e', '2', 2)",
                                           "ROLLBACK",
                                           "INSERT INTO W VALUES ('e', '2', 2)",
                                           ".elsewhere UPDATE W SET v = v + 1",
                                           "SELECT sum(v) FROM W",
                                           NULL};

static const char *const open_statements[] = {".hold SELECT v FROM W",
                                              "INSERT INTO W VALUES ('o', '1', 1)",
                                              "BEGIN",
                                              "INSERT INTO W VALUES ('z', '1', 1)",
                                              "DELETE FROM W WHERE PartitionKey = 'q'",
                                              "COMMIT",
                                              ".rest",
                                              "BEGIN",
                                              "INSERT INTO W VALUES ('a', '1', 1)",
                                              ".hold SELECT v FROM W ORDER BY EntityKey DESC",
                                              "INSERT INTO W VALUES ('b', '1', 1)",
                                              "UPDATE W SET v = 9 WHERE RowKey = '1'",
                                              ".rest",
                                              ".hold SELECT v FROM W",
                                              "COMMIT",
                                              ".rest",
                                              NULL};

static const memory_script scripts[] = {
    {"opening", opening, JOURNAL | WAL | OPENS},
    {"creating tables", creating, JOURNAL},
    {"making a store", making_a_store, JOURNAL},
    {"creating in a transaction", creating_in_a_transaction, JOURNAL | WAL},
    {"rolling a table back", rolling_a_table_back, JOURNAL | WAL},
    {"inserting", inserting, JOURNAL | UTF16},
    {"inserting many", inserting_many, JOURNAL},
    {"loading", loading, JOURNAL},
    {"conflicts", conflicts, JOURNAL},
    {"write modes", write_modes, JOURNAL | UTF16},
    {"properties", properties, JOURNAL | UTF16},
    {"large values", large_values, JOURNAL | WAL},
    {"shapes", shapes, JOURNAL},
    {"updating", updating, JOURNAL | UTF16},
    {"deleting", deleting, JOURNAL},
    {"point queries", point_queries, JOURNAL | UTF16},
    {"range queries", range_queries, JOURNAL | UTF16},
    {"skipping", skipping, JOURNAL},
    {"numbers as keys", numbers_as_keys, JOURNAL},
    {"filters", filters, JOURNAL | UTF16},
    {"conditions", conditions, JOURNAL | UTF16},
    {"paging", paging, JOURNAL},
    {"savepoints", savepoints, JOURNAL | WAL},
    {"deep savepoints", deep_savepoints, JOURNAL},
    {"rolling back", rolling_back, JOURNAL | WAL},
    {"several tables", several_tables, JOURNAL | WAL},
    {"refused commits", refused_commits, JOURNAL | WAL},
    {"long keys", long_keys, JOURNAL | WAL},
    {"busy commits", busy_commits, JOURNAL},
    {"others write", others_write, WAL},
    {"open statements", open_statements, WAL},
    {"rolled back under a statement", rolled_back_under_a_statement, WAL},
    {"views and triggers", views_and_triggers, JOURNAL},
    {"functions", functions, JOURNAL | UTF16},
    {"attached", attached, JOURNAL},
    {"refusals", refusals, JOURNAL},
    {"limits and batches", limits_and_batches, JOURNAL | WAL},
    {"mixture", mixture, MEMORY | UTF16},
    {"indexes", indexes, JOURNAL | UTF16},
    {"cases of indexes", cases_of_indexes, JOURNAL | UTF16},
    {"changes", changes, JOURNAL | WAL},
    {"catalog", catalog, JOURNAL | WAL},
    {"dropping in a transaction", dropping_in_a_transaction, JOURNAL | WAL},
    {"queues", queues, JOURNAL | WAL | UTF16},
    {"looking inside", looking_inside, JOURNAL | UTF16 | MEMORY},
    {"exporting", exporting, JOURNAL | UTF16},
    {"importing", importing, JOURNAL | UTF16},
    {"checking", checking, JOURNAL},
    {"backing up", backing_up, JOURNAL},
    {"compacting", compacting, JOURNAL | WAL},
    {"collecting", collecting, JOURNAL},
    {"chunks", chunks, JOURNAL | MEMORY},
    {"many names", many_names, JOURNAL},
    {"durable", durable, JOURNAL | WAL},
    {"temporary tables", temporary_tables, JOURNAL},
    {"only reading", only_reading, JOURNAL | WAL},
    {"emptying temp", emptying_temp, JOURNAL},
    {"many keys", many_keys, JOURNAL | UTF16},
    {"two databases", two_databases, JOURNAL | WAL},
    {"others hold the lock", others_hold_the_lock, JOURNAL | WAL},
    {"logging", logging, JOURNAL | WAL | LOGS},
    {"logging and applying", logging, JOURNAL | WAL | LOGS | APPLIES},
    {"logging beside a reader", logging_beside_a_reader, WAL | LOGS},
    {"logging what does not fit", logging_what_does_not_fit, JOURNAL | LOGS},
    {"looking after a log", looking_after_a_log, JOURNAL | WAL | LOGS},
    {"recovering a log", recovering_a_log, JOURNAL | LOGS},
    {"stores without a folder", stores_without_a_folder, MEMORY},
};

enum { SCRIPTS = sizeof scripts / sizeof scripts[0] };

#endif
