/*
 * The scripts whose system calls fail: every feature that touches files. A step is an SQL
 * statement, or
 *
 *     .second <SQL>  another connection of this process runs it
 *     .hold <SQL>    the other connection begins a statement and leaves it open on its first row
 *     .rest          it reads that to its end
 *     .reopen        the connection is closed, and opened again
 *
 * Each step succeeds as long as no call fails. A unit is a step outside of transactions, or all
 * from BEGIN to the end of the transaction; it can be run again after it failed.
 */
#ifndef TESTS_PROCESS_IO_IO_SCRIPTS_H
#define TESTS_PROCESS_IO_IO_SCRIPTS_H

#include <stddef.h>

/* The main database's journal and syncs, and those of the stores (the option `sync`). */
typedef enum io_host {
    HOST_JOURNAL, /* journal_mode=delete, synchronous=full; sync=full */
    HOST_WAL,     /* journal_mode=wal, synchronous=full; sync=full */
    HOST_NORMAL,  /* journal_mode=wal, synchronous=normal; sync=normal */
    HOST_OFF,     /* journal_mode=delete, synchronous=off; sync=off */
    HOST_MEMORY,  /* no files but that of a private store */
    HOSTS,
} io_host;

enum {
    JOURNAL = 1 << HOST_JOURNAL,
    WAL = 1 << HOST_WAL,
    NORMAL = 1 << HOST_NORMAL,
    OFF = 1 << HOST_OFF,
    MEMORY = 1 << HOST_MEMORY,
    FILES = JOURNAL | WAL | NORMAL | OFF,
};

typedef struct io_script {
    const char *name;
    const char *const *steps; /* up to NULL */
    unsigned hosts;
    int log; /* small commits go to the log, which is applied after so many; 0: none does */
} io_script;

static const char *const io_pragmas[HOSTS] = {
    "PRAGMA synchronous = full", "PRAGMA synchronous = full", "PRAGMA synchronous = normal",
    "PRAGMA synchronous = off", "PRAGMA temp_store = memory"};

static const char *const io_sync_modes[HOSTS] = {"full", "full", "normal", "off", "full"};

/* --- What all begin with; formats with the option sync --- */

#define MANY(count)                                                                                \
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < " count ") "

static const char *const io_tables[] = {
    "CREATE VIRTUAL TABLE T USING ptable(s String, i Int32, sync='%s')",
    "CREATE VIRTUAL TABLE W USING ptable(v Int32, sync='%s')",
    "CREATE VIRTUAL TABLE L USING ptable(s String, sync='%s')",
    "CREATE VIRTUAL TABLE Q USING pt_queue(max_dequeue_count=2, sync='%s')",
    "CREATE TABLE Plain(v)",
    "INSERT INTO T VALUES ('a', '1', 'one', 1), ('a', '2', 'two', 2), ('b', '1', 'three', 3), "
    "('c', '1', 'four', 4)",
    "INSERT INTO W VALUES ('p', '1', 1), ('p', '2', 2), ('q', '1', 3)",
    MANY("30") "INSERT INTO L SELECT 'l', printf('%%03d', k), hex(zeroblob(400)) FROM n",
    "INSERT INTO L VALUES ('large', '1', hex(zeroblob(40000)))",
    "INSERT INTO L VALUES ('long', hex(zeroblob(400)), 'x'), ('long', hex(zeroblob(400)) || '1', "
    "'y')",
    "INSERT INTO Q(Body) VALUES ('first'), ('second'), (hex(zeroblob(3000)))",
    "INSERT INTO Plain VALUES (1), (2)",
    NULL};

/* In a store of its own; not where there are no files. */
static const char *const io_other_table =
    "CREATE VIRTUAL TABLE U USING ptable(v Int32, store='other.ptable', sync='%s')";

/* What must work for everybody in the end; it leaves nothing behind but a younger clock. */
static const char *const io_probe =
    "INSERT INTO W VALUES ('probe', '1', 1); BEGIN; UPDATE W SET v = 2 WHERE PartitionKey = "
    "'probe'; DELETE FROM W WHERE PartitionKey = 'probe'; COMMIT; "
    "INSERT INTO Plain VALUES ('probe'); DELETE FROM Plain WHERE v = 'probe'";

/* All that the tables hold. */
static const char *const io_queries[] = {
    "SELECT name, sql FROM sqlite_schema ORDER BY name",
    "SELECT PartitionKey, RowKey, length(s), substr(s, 1, 20), i FROM T",
    "SELECT * FROM W",
    "SELECT * FROM U",
    "SELECT PartitionKey, length(RowKey), substr(RowKey, -4), length(s), substr(s, -9) FROM L",
    "SELECT * FROM New",
    "SELECT v FROM Plain",
    "SELECT length(Body), substr(Body, 1, 9), DequeueCount FROM Q",
    "SELECT TableName, Entities FROM pt_tables",
    "SELECT TableName, IndexName, IsUnique, Entries FROM pt_indexes",
    "SELECT s, RowKey FROM T WHERE s >= '' ORDER BY s, RowKey",
    "SELECT instr(pt_check(), 'index') = 0",
};

enum { IO_QUERIES = sizeof io_queries / sizeof io_queries[0] };

/* --- The scripts --- */

static const char *const opening[] = {"SELECT s FROM T WHERE PartitionKey = 'a' AND RowKey = '1'",
                                      "SELECT count(*) FROM T",
                                      ".reopen",
                                      "INSERT INTO W VALUES ('new', '1', 1)",
                                      ".reopen",
                                      "SELECT count(*) FROM W",
                                      NULL};

static const char *const making_a_store[] = {
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, store='new.ptable')",
    "INSERT INTO New VALUES ('p', '1', 1)", NULL};

static const char *const making_a_private_store[] = {
    "CREATE VIRTUAL TABLE temp.P USING ptable(v Int32)",
    "INSERT INTO P VALUES ('p', '1', 1)",
    "BEGIN",
    "INSERT INTO P SELECT 'p', 'x' || i, i FROM T",
    "COMMIT",
    "SELECT count(*) FROM P",
    "DROP TABLE P",
    NULL};

static const char *const making_tables[] = {
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, sync=full)",
    "INSERT INTO New VALUES ('p', '1', 1)",
    "INSERT INTO pt_tables(TableName) VALUES ('n1'), ('n2'), ('n3'), ('n4'), ('n5')",
    "BEGIN",
    "INSERT INTO pt_tables(TableName) VALUES ('n6')",
    "INSERT INTO Plain VALUES (3)",
    "COMMIT",
    "DROP TABLE New",
    NULL};

static const char *const writing[] = {
    "INSERT INTO T VALUES ('new', '1', 'x', 1)",
    "UPDATE T SET i = 9 WHERE PartitionKey = 'a'",
    "INSERT OR REPLACE INTO T VALUES ('new', '1', 'y', 2)",
    "INSERT INTO T(PartitionKey, RowKey, i, WriteMode) VALUES ('new', '1', 3, 'merge')",
    "DELETE FROM T WHERE PartitionKey = 'b'",
    NULL};

static const char *const large_values[] = {
    "INSERT INTO L VALUES ('large', '2', hex(zeroblob(150000)))",
    "UPDATE L SET s = hex(zeroblob(30000)) || 'x' WHERE PartitionKey = 'large'",
    "SELECT length(s) FROM L WHERE PartitionKey = 'large'",
    "DELETE FROM L WHERE PartitionKey = 'large'", NULL};

static const char *const long_keys[] = {
    "INSERT INTO L VALUES (hex(zeroblob(400)), hex(zeroblob(600)), 'x')",
    "INSERT INTO L VALUES ('long', hex(zeroblob(400)) || '2', 'z')",
    "UPDATE L SET s = s || '!' WHERE PartitionKey = 'long'",
    "DELETE FROM L WHERE length(RowKey) > 99", NULL};

static const char *const many_pages[] = {
    "BEGIN",
    MANY("1500") "INSERT INTO L SELECT 'm', printf('%05d', k * 7919 % 100000), "
                 "hex(zeroblob(150)) FROM n",
    "INSERT INTO Plain VALUES ('many')",
    "COMMIT",
    "UPDATE L SET s = 'small' WHERE PartitionKey = 'm'",
    "DELETE FROM L WHERE PartitionKey = 'm'",
    NULL};

static const char *const dropping[] = {"DELETE FROM pt_tables WHERE TableName = 'L'",
                                       "INSERT INTO W VALUES ('x', '1', 1)",
                                       "INSERT INTO W VALUES ('x', '2', 1)",
                                       "BEGIN",
                                       "DELETE FROM pt_tables WHERE TableName = 'W'",
                                       "INSERT INTO pt_tables(TableName) VALUES ('W'), ('L')",
                                       "INSERT INTO W VALUES ('x', '3', 1)",
                                       "COMMIT",
                                       "INSERT INTO L VALUES ('x', '1', 'x')",
                                       NULL};

static const char *const savepoints[] = {"BEGIN",
                                         "INSERT INTO T VALUES ('s', '1', 'x', 1)",
                                         "INSERT INTO Plain VALUES (3)",
                                         "SAVEPOINT one",
                                         "UPDATE T SET i = i + 1",
                                         "SAVEPOINT two",
                                         "DELETE FROM T",
                                         "ROLLBACK TO two",
                                         "INSERT INTO T VALUES ('s', '2', 'x', 1)",
                                         "RELEASE one",
                                         "COMMIT",
                                         "SAVEPOINT outer",
                                         "INSERT INTO T VALUES ('s', '3', 'x', 1)",
                                         "RELEASE outer",
                                         NULL};

static const char *const rolling_back[] = {
    "BEGIN",
    "INSERT INTO T VALUES ('s', '1', 'x', 1)",
    "INSERT INTO Plain VALUES (3)",
    "SELECT count(*) FROM T",
    "ROLLBACK",
    "INSERT INTO T VALUES ('s', '2', 'x', 1)",
    "BEGIN",
    "DELETE FROM pt_tables WHERE TableName = 'W'",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, sync=full)",
    "ROLLBACK",
    NULL};

static const char *const committing_again[] = {
    "UPDATE T SET i = i + 1 WHERE RowKey = '1'", "UPDATE T SET i = i + 1 WHERE RowKey = '1'",
    "UPDATE T SET i = i + 1 WHERE RowKey = '1'", "UPDATE T SET i = i + 1 WHERE RowKey = '1'",
    "UPDATE T SET i = i + 1 WHERE RowKey = '1'", NULL};

static const char *const with_the_main_database[] = {"BEGIN",
                                                     "INSERT INTO Plain SELECT s FROM T",
                                                     "UPDATE T SET i = i + 1",
                                                     "INSERT INTO W SELECT s, i, i FROM T",
                                                     "COMMIT",
                                                     "INSERT INTO Plain SELECT count(*) FROM W",
                                                     "BEGIN IMMEDIATE",
                                                     "DELETE FROM Plain",
                                                     "DELETE FROM T WHERE i > 3",
                                                     "COMMIT",
                                                     NULL};

static const char *const two_stores[] = {"INSERT INTO U VALUES ('p', '9', 9)",
                                         "BEGIN",
                                         "INSERT INTO Plain VALUES (3)",
                                         "UPDATE T SET i = i + 1",
                                         "UPDATE U SET v = v + 1",
                                         "COMMIT",
                                         NULL};

static const char *const queues[] = {
    "INSERT INTO Q(Body) VALUES ('fourth')",
    "SELECT Body FROM pt_queue_get('Q', 1, 60)",
    "BEGIN",
    "SELECT Body, DequeueCount FROM pt_queue_get('Q', 2, 60)",
    "UPDATE T SET i = i + 1 WHERE PartitionKey = 'a'",
    "DELETE FROM Q WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM Q WHERE "
    "Body = 'first')",
    "COMMIT",
    "SELECT count(*) FROM Q",
    NULL};

static const char *const indexes[] = {
    "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('T', 's', 1), ('T', 'i,s', 0)",
    "INSERT OR REPLACE INTO T VALUES ('new', '1', 'two', 7)",
    "UPDATE T SET i = i + 1 WHERE i > 2",
    "SELECT RowKey FROM T WHERE s = 'two'",
    "BEGIN",
    "INSERT OR IGNORE INTO T VALUES ('new', '2', 'two', 7), ('new', '3', 'six', 7)",
    "DELETE FROM pt_indexes WHERE TableName = 'T' AND IndexName = 'i,s'",
    "INSERT INTO Plain VALUES (4)",
    "UPDATE T SET RowKey = RowKey || 'x' WHERE s = 'six'",
    "COMMIT",
    "DELETE FROM pt_partitions WHERE TableName = 'T' AND PartitionKey = 'a'",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, index(v), sync=full)",
    "INSERT INTO New VALUES ('p', '1', 1)",
    "DROP TABLE New",
    NULL};

static const char *const looking_inside[] = {
    "SELECT TableName, Entities FROM pt_tables",
    "SELECT PartitionKey, Entities FROM pt_partitions('T')",
    "SELECT count(*) >= 0 FROM pt_stores",
    "SELECT Name, Type, Entities FROM pt_properties('T')",
    "BEGIN",
    "INSERT INTO W VALUES ('x', '1', 1)",
    "SELECT TableName, PartitionKey, Operations FROM pt_batches",
    "SELECT TableName, Entities FROM pt_tables",
    "COMMIT",
    "DELETE FROM pt_partitions WHERE TableName = 'T' AND PartitionKey = 'a'",
    "BEGIN",
    "DELETE FROM pt_partitions WHERE TableName = 'W'",
    "INSERT INTO W VALUES ('x', '2', 1)",
    "COMMIT",
    "SELECT PartitionKey, Entities FROM pt_partitions('T')",
    NULL};

static const char *const reading_only[] = {
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, table=W, readonly=1)",
    "SELECT count(*) FROM New",
    ".reopen",
    "SELECT count(*) FROM New",
    "BEGIN",
    "SELECT count(*) FROM T",
    "SELECT count(*) FROM L",
    "COMMIT",
    NULL};

static const char *const two_connections[] = {"SELECT count(*) FROM T",
                                              ".second SELECT count(*) FROM W",
                                              "INSERT INTO T VALUES ('s', '1', 'x', 1)",
                                              ".hold SELECT i FROM T",
                                              "UPDATE W SET v = 7",
                                              ".rest",
                                              ".second UPDATE W SET v = 8",
                                              "SELECT sum(v) FROM W",
                                              NULL};

static const char *const holding_a_statement[] = {
    ".hold SELECT v FROM W", "INSERT INTO W VALUES ('s', '1', 1)",
    "UPDATE W SET v = 5 WHERE PartitionKey = 's'", NULL};

static const char *const vacuum_and_temporary_files[] = {
    MANY("2000") "SELECT count(*) FROM (SELECT k, hex(zeroblob(400)) AS x FROM n ORDER BY "
                 "k * 7919 % 10007, x)",
    "INSERT INTO T SELECT 'sorted', v, v, v FROM Plain ORDER BY v DESC", "VACUUM",
    "INSERT INTO T VALUES ('s', '1', 'x', 1)", NULL};

static const char *const backing_up[] = {
    "SELECT pt_backup(NULL, 'new.ptable') > 0",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, table=W, store='new.ptable')",
    "INSERT INTO W VALUES ('x', '1', 1)", NULL};

static const char *const compacting[] = {"DELETE FROM L WHERE PartitionKey = 'l'",
                                         "SELECT pt_compact(NULL) >= 0",
                                         "INSERT INTO W VALUES ('x', '1', 1)",
                                         ".reopen",
                                         "SELECT pt_compact('other.ptable') >= 0",
                                         "INSERT INTO U VALUES ('x', '1', 1)",
                                         NULL};

static const char *const logging[] = {"INSERT INTO W VALUES ('x', '1', 1)",
                                      "INSERT INTO W VALUES ('x', '2', 2)",
                                      "UPDATE T SET i = i + 1",
                                      "BEGIN",
                                      "INSERT INTO Plain VALUES (3)",
                                      "DELETE FROM W WHERE RowKey = '1'",
                                      "INSERT INTO T VALUES ('new', '1', 'x', 1)",
                                      "COMMIT",
                                      "SELECT sum(v), count(*) FROM W",
                                      "INSERT INTO Q(Body) VALUES ('fourth')",
                                      "SELECT Body FROM pt_queue_get('Q', 1, 60)",
                                      ".reopen",
                                      "SELECT sum(v), count(*) FROM W",
                                      "INSERT INTO W VALUES ('x', '3', 3)",
                                      "UPDATE W SET v = v + 1",
                                      NULL};

static const char *const logging_long_ones[] = {
    "UPDATE W SET v = v + 1",
    "UPDATE W SET v = v + 1",
    "INSERT INTO L VALUES ('large', '2', hex(zeroblob(50000)))",
    "UPDATE W SET v = v + 1",
    "BEGIN",
    "INSERT INTO pt_tables(TableName) VALUES ('n1')",
    "UPDATE W SET v = v + 1",
    "COMMIT",
    "UPDATE L SET s = s || '!' WHERE PartitionKey = 'long'",
    "SELECT pt_compact(NULL) >= 0",
    "UPDATE W SET v = v + 1",
    "SELECT pt_backup(NULL, 'new.ptable') > 0",
    "CREATE VIRTUAL TABLE New USING ptable(v Int32, table=W, store='new.ptable')",
    "UPDATE W SET v = v + 1",
    NULL};

static const char *const logging_by_two[] = {"SELECT count(*) FROM T",
                                             ".second SELECT count(*) FROM W",
                                             "UPDATE T SET i = i + 1",
                                             "UPDATE W SET v = v + 1",
                                             ".hold SELECT i FROM T",
                                             "UPDATE W SET v = 7 WHERE RowKey = '1'",
                                             ".rest",
                                             ".second UPDATE W SET v = v + 8",
                                             "UPDATE W SET v = v + 1",
                                             "BEGIN",
                                             "UPDATE T SET i = i + 1",
                                             "UPDATE U SET v = v + 1",
                                             "INSERT INTO Plain VALUES (3)",
                                             "COMMIT",
                                             ".second SELECT sum(v) FROM W",
                                             NULL};

static const io_script io_scripts[] = {
    {"opening", opening, FILES, 0},
    {"making a store", making_a_store, JOURNAL | NORMAL, 0},
    {"making a private store", making_a_private_store, WAL | MEMORY, 0},
    {"making tables", making_tables, JOURNAL | WAL, 0},
    {"writing", writing, FILES | MEMORY, 0},
    {"large values", large_values, JOURNAL | NORMAL, 0},
    {"long keys", long_keys, JOURNAL | NORMAL, 0},
    {"many pages", many_pages, JOURNAL | WAL | OFF, 0},
    {"dropping", dropping, JOURNAL | WAL | NORMAL, 0},
    {"savepoints", savepoints, JOURNAL | WAL | NORMAL | OFF, 0},
    {"rolling back", rolling_back, JOURNAL | WAL, 0},
    {"committing again", committing_again, FILES, 0},
    {"with the main database", with_the_main_database, FILES, 0},
    {"two stores", two_stores, FILES, 0},
    {"queues", queues, FILES | MEMORY, 0},
    {"indexes", indexes, JOURNAL | WAL | NORMAL | MEMORY, 0},
    {"looking inside", looking_inside, JOURNAL | WAL, 0},
    {"reading only", reading_only, JOURNAL | WAL, 0},
    {"two connections", two_connections, WAL | NORMAL, 0},
    {"holding a statement", holding_a_statement, WAL | NORMAL, 0},
    {"backing up", backing_up, JOURNAL | NORMAL, 0},
    {"compacting", compacting, JOURNAL | WAL | OFF, 0},
    {"temporary files", vacuum_and_temporary_files, JOURNAL | WAL, 0},
    {"logging", logging, FILES, 1000},
    {"logging and applying", logging, FILES, 2},
    {"logging long ones", logging_long_ones, FILES, 1000},
    {"logging by two", logging_by_two, WAL | NORMAL, 3},
};

enum { IO_SCRIPTS = sizeof io_scripts / sizeof io_scripts[0] };

#endif
