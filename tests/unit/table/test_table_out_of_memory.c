/*
 * Out of memory where other tests have memory left over: in databases of UTF-16, whose texts are
 * converted for each statement, in the first statement of a connection, and with records that
 * describe their shape themselves. What fails has done nothing, and works when there is memory.
 */
#include "fixtures/store_fixture.h"

#include "base/ticks.h"
#include "entity/record.h"
#include "entity/shape.h"
#include "faults/failing_malloc.h"
#include "fixtures/connection.h"
#include "table/write_request.h"

#define ID "01a1ff20-c1a2-71e5-816f-a201ba7d23a7"
#define MESSAGE "0639308784992341940_" ID

#define NINETEEN_COLUMNS                                                                           \
    "c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19"
#define TWENTY_COLUMNS NINETEEN_COLUMNS ", c20"
#define NINETEEN_NUMBERS "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19"
#define EIGHTEEN_NULLS                                                                             \
    "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "   \
    "NULL, NULL, NULL"

enum { TABLE_T = 1, TABLE_JOBS = 3 };

static sqlite3 *seen; /* a connection that looks, and puts everything back */
static char *database;

static int open_database(sqlite3 **db, const char *encoding)
{
    int rc = sqlite3_open(database, db);
    assert_int_equal(sqlite3_db_config(*db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0), SQLITE_OK);
    char *sql = sqlite3_mprintf("PRAGMA encoding = %Q", encoding);
    sqlite3_exec(*db, sql, NULL, NULL, NULL); /* before anything else, or for nothing */
    sqlite3_free(sql);
    sqlite3_extended_result_codes(*db, 1);
    return rc == SQLITE_OK ? sqlite3_ptable_init(*db, NULL, NULL) : rc;
}

/* --- Records that name no shape --- */

static pt_field field_of(const char *name, pt_value value)
{
    return (pt_field){.name = pt_slice_text(name), .value = value};
}

/* In the order of their names. */
static void put_with_inline_shape(uint32_t table, pt_slice entity, const pt_field *fields,
                                  unsigned count)
{
    uint8_t bytes[500];
    test_key key = {{0}, 0};
    pt_buffer description = {0};
    key.size = pt_key_put_table(key.bytes, table);
    memcpy(key.bytes + key.size, entity.data, entity.size);
    key.size += entity.size;
    pt_shape_describe(fields, count, &description);
    void *memory = malloc(pt_shape_memory(pt_buffer_slice(&description)));
    pt_shape *shape = pt_shape_parse(pt_buffer_slice(&description), NULL, NULL, memory);
    assert_non_null(shape);
    size_t size = pt_record_size(shape, fields);
    assert_in_range(size, 1, sizeof bytes);
    pt_record_write(shape, fields, 1, key_slice(&key), bytes, size);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_put(writer, key_slice(&key), pt_slice_of(bytes, size), &error));
    commit_write(writer);
    engine->unlock(store);
    engine->close(store);
    free(memory);
    pt_buffer_free(&description);
}

static void put_entity_with_inline_shape(void)
{
    const pt_field fields[] = {
        field_of("n", (pt_value){.type = PT_INT32, .integer = 7}),
        field_of("s", (pt_value){.type = PT_STRING, .bytes = pt_slice_text("abc")}),
    };
    put_with_inline_shape(TABLE_T, pt_slice_of("p\0001", 3), fields, 2);
}

static void put_message_with_inline_shape(void)
{
    const pt_field fields[] = {
        field_of("Body", (pt_value){.type = PT_STRING, .bytes = pt_slice_text("inline")}),
        field_of("DequeueCount", (pt_value){.type = PT_INT64, .integer = 3}),
        field_of("InsertionTime", (pt_value){.type = PT_DATETIME, .integer = PT_TICKS_UNIX_EPOCH}),
        field_of("Receipt", (pt_value){.type = PT_GUID, .guid = {1}}),
    };
    put_with_inline_shape(TABLE_JOBS, pt_slice_of("\0" MESSAGE, sizeof MESSAGE), fields, 4);
}

/* --- What there is --- */

static void put_back(void)
{
    run_sql(seen,
            "DELETE FROM t; DELETE FROM w; DELETE FROM jobs WHERE (MessageId, PopReceipt) IN "
            "(SELECT MessageId, PopReceipt FROM jobs);"
            "INSERT INTO t(PartitionKey, RowKey, n, s) VALUES ('p', '2', 1, 'x');"
            "INSERT INTO t(PartitionKey, RowKey, s) VALUES ('q', 'large', hex(zeroblob(2000)));"
            "INSERT INTO w(PartitionKey, RowKey, Properties) VALUES ('p', '1', '{\"a\":1}')");
    put_entity_with_inline_shape();
    put_message_with_inline_shape();
}

/* Everything but what differs each time; for sqlite3_free. */
static char *look(void)
{
    static const char sql[] = "SELECT (SELECT group_concat(RowKey || substr(Properties, 1, 60) || "
                              "length(Properties), ' ') FROM t) || '/' ||"
                              "(SELECT group_concat(RowKey || substr(Properties, 1, 60) || "
                              "length(Properties), ' ') FROM w) || '/' ||"
                              "(SELECT group_concat(hex(Body) || DequeueCount, ' ') FROM jobs)";
    sqlite3_stmt *statement = step_into(seen, sql);
    char *text = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return text;
}

/* --- Trials --- */

static const struct trial {
    const char *sql;
    int code;   /* with memory */
    bool fresh; /* each time in a new connection */
    bool gets;  /* hands out a message, which stays handed out if the statement fails later */
} trials[] = {
    {"INSERT INTO t(PartitionKey, RowKey, s, WriteMode, IfMatch) VALUES ('p', '2', 'y', 'merge', "
     "'*')",
     SQLITE_OK, false, false},
    {"INSERT INTO t(PartitionKey, RowKey, WriteMode) VALUES ('p', '2', 'upsert')",
     SQLITE_CONSTRAINT_VTAB, false, false},
    {"INSERT INTO t(PartitionKey, RowKey, WriteMode) SELECT 'p', '2', count(*) FROM w",
     SQLITE_CONSTRAINT_VTAB, false, false},
    {"SELECT Body FROM pt_queue_get(x'6A00')", SQLITE_ERROR, false, false},
    {"INSERT INTO t(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '2', 'merge', 'x')",
     SQLITE_CONSTRAINT_VTAB, false, false},
    {"INSERT INTO t(PartitionKey, RowKey) VALUES ('y', '1'), (zeroblob(300), 'r')", SQLITE_MISMATCH,
     false, false},
    {"INSERT INTO t(PartitionKey, RowKey, ETag) VALUES ('y', '1', NULL), ('y', '2', 'x')",
     SQLITE_CONSTRAINT_VTAB, false, false},
    {"UPDATE t SET b = zeroblob(3000) WHERE RowKey = '2'", SQLITE_OK, false, false},
    {"SELECT count(*) FROM t WHERE Filter MATCH 's gt ''a'' and n gt 0'", SQLITE_OK, true, false},
    {"SELECT Filter MATCH 'n gt 0' FROM t WHERE Filter MATCH 'n gt 0'", SQLITE_OK, true, false},
    {"SELECT n, s FROM t", SQLITE_OK, false, false},
    {"SELECT n FROM t WHERE _rowid_ = 'p/1'", SQLITE_OK, true, false},
    {"SELECT n FROM t WHERE _rowid_ IN ('p/1', 'q/large')", SQLITE_OK, true, false},
    {"SELECT Properties FROM t", SQLITE_OK, true, false},
    {"UPDATE t SET n = 8 WHERE RowKey = '1'", SQLITE_OK, true, false},
    {"INSERT OR REPLACE INTO t(PartitionKey, RowKey, n) VALUES ('p', '1', 9)", SQLITE_OK, true,
     false},
    {"DELETE FROM t WHERE RowKey = '1'", SQLITE_OK, false, false},
    {"INSERT INTO w(PartitionKey, RowKey, Properties, " TWENTY_COLUMNS ") VALUES ('p', '2', "
     "'{\"a\":1}', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)",
     SQLITE_OK, true, false},
    /* The last row is like the first two, but with a large value. The merge has left no room for
     * its properties. */
    {"INSERT INTO w(PartitionKey, RowKey, WriteMode, c20, " NINETEEN_COLUMNS ") VALUES "
     "('y', '1', NULL, 'x', " NINETEEN_NUMBERS "), ('y', '2', NULL, 'x', " NINETEEN_NUMBERS "), "
     "('y', '1', 'merge', NULL, 5, " EIGHTEEN_NULLS "), "
     "('y', '3', NULL, hex(zeroblob(1500)), " NINETEEN_NUMBERS ")",
     SQLITE_OK, true, false},
    {"UPDATE w SET (" TWENTY_COLUMNS ") = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, "
     "17, 18, 19, 20)",
     SQLITE_OK, true, false},
    {"UPDATE w SET Properties = '{\"b\":1}', (" TWENTY_COLUMNS ") = (1, 2, 3, 4, 5, 6, 7, 8, 9, "
     "10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)",
     SQLITE_OK, true, false},
    {"SELECT Body FROM jobs WHERE TimeNextVisible >= '2000' ORDER BY TimeNextVisible", SQLITE_OK,
     false, false},
    {"INSERT INTO jobs(Body) VALUES ('text'), (zeroblob(300))", SQLITE_OK, true, false},
    {"SELECT Body FROM pt_queue_get('jobs')", SQLITE_OK, true, true},
    {"SELECT Body FROM pt_queue_update('jobs', '" ID "', '639308784992341940-" ID "', 5, 'new')",
     SQLITE_CONSTRAINT_VTAB, true, false},
    {"DELETE FROM jobs WHERE MessageId = '" ID "' AND PopReceipt = 'x'", SQLITE_CONSTRAINT_VTAB,
     true, false},
};

/* Connected, but for what a first statement makes. */
static sqlite3 *open_connected(void)
{
    sqlite3 *db = NULL;
    assert_int_equal(open_database(&db, "UTF-8"), SQLITE_OK);
    run_sql(db, "SELECT * FROM t WHERE 0; SELECT * FROM w WHERE 0; SELECT * FROM jobs WHERE 0");
    return db;
}

/* True if an allocation failed. */
static bool try(const struct trial *trial, sqlite3 *db, int n, const char *before)
{
    failing_malloc_arm(n, false);
    int rc = sqlite3_exec(db, trial->sql, NULL, NULL, NULL);
    bool hit = failing_malloc_disarm();
    if (rc != trial->code && !(hit && (rc & 0xff) == SQLITE_NOMEM)) {
        fail_msg("%s: allocation %d: %s", trial->sql, n, sqlite3_errmsg(db));
    }
    if (rc != SQLITE_OK && !trial->gets) {
        char *after = look();
        if (strcmp(after, before) != 0) {
            fail_msg("%s: allocation %d: %s, not %s", trial->sql, n, after, before);
        }
        sqlite3_free(after);
    } else {
        put_back();
    }
    return hit;
}

static void try_all(const struct trial *trial)
{
    put_back();
    char *before = look();
    sqlite3 *db = open_connected();
    bool hit = true;
    for (int n = 0; hit; n++) {
        hit = try(trial, db, n, before);
        if (trial->fresh) {
            assert_int_equal(sqlite3_close(db), SQLITE_OK);
            db = open_connected();
        }
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    sqlite3_free(before);
}

static void assert_encoding(const char *encoding)
{
    sqlite3_stmt *statement = step_into(seen, "PRAGMA encoding");
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), encoding);
    sqlite3_finalize(statement);
}

static void open_seen(const char *encoding)
{
    database = sqlite3_mprintf("%s/%s.db", fixture_folder, encoding);
    assert_int_equal(open_database(&seen, encoding), SQLITE_OK);
    char *sql = sqlite3_mprintf("PRAGMA synchronous = off;"
                                "CREATE VIRTUAL TABLE t USING ptable(n, s String, b Binary, d "
                                "DateTime, store=%Q, sync=off);"
                                "CREATE VIRTUAL TABLE w USING ptable(" TWENTY_COLUMNS
                                ", store=%Q, sync=off);"
                                "CREATE VIRTUAL TABLE jobs USING pt_queue(store=%Q, sync=off)",
                                fixture_path, fixture_path, fixture_path);
    run_sql(seen, sql);
    sqlite3_free(sql);
    assert_encoding(encoding);
}

static void close_seen(void)
{
    assert_int_equal(sqlite3_close(seen), SQLITE_OK);
    sqlite3_free(database);
}

static void statements_fail_whole(const char *encoding)
{
    open_seen(encoding);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        try_all(&trials[i]);
    }
    close_seen();
}

static void statements_fail_whole_in_utf8(void **state)
{
    (void)state;
    statements_fail_whole("UTF-8");
}

static void statements_fail_whole_in_utf16(void **state)
{
    (void)state;
    statements_fail_whole("UTF-16le");
}

/* The rows before it leave a template, which it fills. */
static void a_row_like_the_last_fails_whole(void **state)
{
    (void)state;
    static const struct trial row = {"INSERT OR REPLACE INTO t(PartitionKey, RowKey, n, s, d) "
                                     "VALUES ('y', '3', 3, 'a text', '2026-11-22')",
                                     SQLITE_OK, true, false};
    open_seen("UTF-16le");
    put_back();
    char *before = look();
    bool hit = true;
    for (int n = 0; hit; n++) {
        sqlite3 *db = open_connected();
        run_sql(db, "INSERT INTO t(PartitionKey, RowKey, n, s, d) VALUES ('y', '1', 1, 'x', "
                    "'2026-11-20'), ('y', '2', 2, 'y', '2026-11-21'); DELETE FROM t WHERE "
                    "PartitionKey = 'y'");
        hit = try(&row, db, n, before);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
    sqlite3_free(before);
    close_seen();
}

/* A number that is no mode is shown as text. */
static void a_mode_that_is_a_number_takes_memory(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_stmt *statement = step_into(db, "SELECT 1.5, NULL");
    sqlite3_value *mode = sqlite3_value_dup(sqlite3_column_value(statement, 0));
    const pt_given_request given = {.mode = mode, .if_match = sqlite3_column_value(statement, 1)};
    pt_write_request request;
    pt_error failure = PT_ERROR_NONE;
    failing_malloc_arm(0, false);
    assert_int_equal(pt_write_request_read(&given, &request, &failure), SQLITE_NOMEM);
    assert_true(failing_malloc_disarm());
    pt_error_clear(&failure);
    sqlite3_value_free(mode);
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Each of them may lie where the one before has lain. */
static void shapes_without_id_are_looked_into_in_each_row(void **state)
{
    (void)state;
    static const char sql[] = "SELECT group_concat(RowKey || ifnull(n, '-'), ' ') FROM t WHERE "
                              "Filter MATCH 'n ge 5'";
    const pt_field other[] = {
        field_of("m", (pt_value){.type = PT_INT32, .integer = 9}),
        field_of("n", (pt_value){.type = PT_INT32, .integer = 5}),
    };
    const pt_field small[] = {
        field_of("m", (pt_value){.type = PT_INT32, .integer = 4}),
        field_of("o", (pt_value){.type = PT_INT32, .integer = 9}),
    };
    open_seen("UTF-8");
    put_back();
    put_with_inline_shape(TABLE_T, pt_slice_of("p\0000", 3), other, 2);
    put_with_inline_shape(TABLE_T, pt_slice_of("p\0003", 3), small, 2);
    put_with_inline_shape(TABLE_T, pt_slice_of("p\0004", 3), other, 2);
    sqlite3_stmt *statement = step_into(seen, sql);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "05 17 45");
    sqlite3_finalize(statement);
    close_seen();
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        store_test(a_row_like_the_last_fails_whole),
        store_test(statements_fail_whole_in_utf8),
        store_test(statements_fail_whole_in_utf16),
        store_test(a_mode_that_is_a_number_takes_memory),
        store_test(shapes_without_id_are_looked_into_in_each_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
