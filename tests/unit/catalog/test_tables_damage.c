/*
 * Stores whose file holds what no commit writes: they are refused or the damage is reported, and
 * nothing else happens.
 */
#include "fixtures/raw_store.h"

#include "fixtures/connection.h"
#include "fixtures/own_shape.h"
#include "fixtures/sealed.h"

static void make_store(void)
{
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    engine->close(store);
}

static void databases_in_another_order_are_refused(void **state)
{
    (void)state;
    static const unsigned orders[] = {MDB_REVERSEKEY, MDB_DUPSORT, MDB_INTEGERKEY};
    const pt_slice key = pt_slice_text("header");
    const pt_slice header = sealed(key, pt_slice_of("ptable\0\1\17\0\0\0\0\0\0\0\0\0\0\0", 20));
    pt_store *store = NULL;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        raw_put_with(NULL, MDB_CREATE, key, header);
        assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "parts are");
        raw_put_with("entities", MDB_CREATE | orders[i], pt_slice_text("12345678"),
                     pt_slice_text("record"));
        assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "parts are");
        unlink(fixture_path);
        raw_put_with(NULL, MDB_CREATE | (orders[i] & ~(unsigned)MDB_INTEGERKEY), key, header);
        assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, NULL);
        unlink(fixture_path);
    }
}

/* Links to buckets of long keys that no commit makes. */
static void links_that_lead_nowhere_are_reported(void **state)
{
    (void)state;
    static const uint8_t itself[] = {7, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t empty[] = {9, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t none[8];
    const pt_slice values[] = {pt_slice_text("record"), pt_slice_of(none, sizeof none),
                               pt_slice_of(empty, sizeof empty),
                               pt_slice_of(itself, sizeof itself)};
    uint8_t key[600] = {1, 'b'};
    uint8_t circle[511] = {0, 0, 0, 0, 0, 0, 0, 7}; /* the first link of bucket 7 leads to it */
    pt_slice inner = pt_slice_of(circle, sizeof circle);
    make_store();
    raw_put_with("long_keys", MDB_CREATE, inner, sealed(inner, pt_slice_of(itself, sizeof itself)));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        pt_slice link = pt_slice_of(key, 511);
        raw_put_with("entities", MDB_CREATE, link, sealed(link, values[i]));
        pt_store *store = open_store(fixture_path);
        pt_snapshot *snapshot = begin_snapshot(store);
        pt_engine_cursor *cursor = NULL;
        assert_ok(engine->cursor_open(snapshot, &cursor, &error));
        assert_ok(engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
        assert_true(cursor->valid);
        assert_fails(engine->cursor_step(cursor, PT_FORWARD, &error), SQLITE_CORRUPT, "backup");
        assert_false(cursor->valid);
        assert_fails(
            engine->cursor_seek(cursor, pt_slice_of("\2", 1), (pt_slice){0}, PT_BACKWARD, &error),
            SQLITE_CORRUPT, "backup");
        engine->cursor_close(cursor);
        engine->snapshot_free(snapshot);
        lock_store(store);
        pt_writer *writer = begin_write(store);
        if (i < 2) {
            assert_fails(engine->write_put(writer, pt_slice_of(key, sizeof key),
                                           pt_slice_text("two"), &error),
                         SQLITE_CORRUPT, "backup");
        }
        engine->write_abort(writer);
        engine->unlock(store);
        engine->close(store);
    }
}

/* Garbage that names the catalogue, or nothing, must not be collected. */
static void garbage_that_names_no_table_is_reported(void **state)
{
    (void)state;
    static const pt_slice keys[] = {
        {(const uint8_t *)"\xFF\0\0\0\0\0\0\0", 8},
        {(const uint8_t *)"\xFF\0\0\0\xFF\0\0\0", 8},
        {(const uint8_t *)"\xFF\0\0\0\0\0\1", 7},
        {(const uint8_t *)"\0\0\0\0\0\0\0\1", 8},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        make_store();
        raw_put_with("garbage", MDB_CREATE, keys[i], sealed(keys[i], pt_slice_text("\1")));
        pt_store *store = open_store(fixture_path);
        lock_store(store);
        bool collected;
        pt_writer *writer = begin_write(store);
        assert_fails(engine->write_collect(writer, &collected, &error), SQLITE_CORRUPT, "backup");
        engine->write_abort(writer);
        engine->unlock(store);
        engine->close(store);
        unlink(fixture_path);
    }
}

static void counts_may_overflow(void **state)
{
    (void)state;
    static const uint8_t most[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F,
                                   0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F,
                                   0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F};
    make_store();
    pt_slice key = pt_slice_of("c\0\0\0\1", 5);
    raw_put_with(NULL, MDB_CREATE, key, sealed(key, pt_slice_of(most, sizeof most)));
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "b", "two");
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "b", "two");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* --- Through SQL --- */

static sqlite3 *open_table(void)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE t USING ptable(v, store=%Q)", fixture_path);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
    return db;
}

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Between ordinary entities of the table one whose key has no NUL. */
static void put_undivided_key(sqlite3 *db)
{
    assert_int_equal(run(db, "INSERT INTO t VALUES ('a', '1', 1), ('m', '1', 2), ('z', '1', 3)"),
                     SQLITE_OK);
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "mm", "record");
    engine->close(store);
}

static void keys_that_cannot_be_divided_are_reported(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT PartitionKey FROM t",
        "SELECT RowKey FROM t ORDER BY EntityKey DESC",
        "SELECT v FROM t",
        "SELECT rowid FROM t",
        "SELECT DISTINCT PartitionKey FROM t",
        "SELECT DISTINCT PartitionKey FROM t ORDER BY PartitionKey DESC",
        "SELECT v FROM t WHERE RowKey = '1'",
        "SELECT v FROM t WHERE RowKey = '1' ORDER BY EntityKey DESC",
        "SELECT v FROM t WHERE PartitionKey > 'a' AND RowKey >= '1'",
        "SELECT v FROM t WHERE Filter MATCH 'v gt 0'",
        "SELECT v FROM t WHERE Filter MATCH 'RowKey ge ''1'''",
        "UPDATE t SET v = 0",
        "SELECT count(*) FROM pt_partitions('t')",
        "DELETE FROM pt_partitions WHERE argument1 = 't'",
    };
    sqlite3 *db = open_table();
    put_undivided_key(db);
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        assert_int_equal(run(db, statements[i]), SQLITE_CORRUPT);
        assert_int_equal(sqlite3_extended_errcode(db), SQLITE_CORRUPT_VTAB);
        assert_non_null(strstr(sqlite3_errmsg(db), "damaged"));
    }
    assert_int_equal(run(db, "SELECT v FROM t WHERE PartitionKey = 'm'"), SQLITE_OK);
    assert_int_equal(run(db, "DELETE FROM t WHERE EntityKey BETWEEN x'6D02' AND x'6E'"), SQLITE_OK);
    assert_int_equal(run(db, "UPDATE t SET v = 0 WHERE RowKey = '1'"), SQLITE_OK);
    assert_int_equal(sqlite3_changes(db), 3);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* No text that is a key has a NUL; one that the store has all the same is shown whole. */
static void row_keys_with_a_nul_are_shown_whole(void **state)
{
    (void)state;
    sqlite3 *db = open_table();
    sqlite3_stmt *statement;
    assert_int_equal(run(db, "INSERT INTO t VALUES ('a', '1', 1)"), SQLITE_OK);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    pt_slice key = pt_slice_of("\1b\0x\0y", 6);
    assert_ok(engine->write_put(writer, key, pt_slice_text("not a record at all"), &error));
    commit_write(writer);
    engine->unlock(store);
    engine->close(store);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT RowKey FROM t", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "1");
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_memory_equal(sqlite3_column_text(statement, 0), "x\0y", 4);
    assert_int_equal(sqlite3_column_bytes(statement, 0), 3);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The entity ('m', '1') gets a record that is none. */
static void damage_record(sqlite3 *db)
{
    assert_int_equal(run(db, "INSERT OR REPLACE INTO t VALUES ('m', '1', 2)"), SQLITE_OK);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    pt_slice key = pt_slice_of("\1m\0001", 4);
    assert_ok(engine->write_put(writer, key, pt_slice_text("not a record at all"), &error));
    commit_write(writer);
    engine->unlock(store);
    engine->close(store);
}

/* Whatever needs nothing of the record works on it. */
static void damaged_entities_can_be_replaced_and_deleted(void **state)
{
    (void)state;
    static const struct {
        const char *form; /* WriteMode, IfMatch */
        int code;
    } writes[] = {
        {"'merge', NULL", SQLITE_CORRUPT},
        {"'merge', '*'", SQLITE_CORRUPT},
        {"'replace', 'W/\"x\"'", SQLITE_CORRUPT},
        {"'delete', 'W/\"x\"'", SQLITE_CORRUPT},
        {"'replace', NULL", SQLITE_OK},
        {"'replace', '*'", SQLITE_OK},
        {"'delete', NULL", SQLITE_OK},
        {"'delete', '*'", SQLITE_OK},
    };
    sqlite3 *db = open_table();
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        damage_record(db);
        char *sql = sqlite3_mprintf("INSERT INTO t(PartitionKey, RowKey, WriteMode, IfMatch) "
                                    "VALUES ('m', '1', %s)",
                                    writes[i].form);
        assert_int_equal(run(db, sql), writes[i].code);
        assert_int_equal(run(db, "SELECT v FROM t"), writes[i].code);
        assert_int_equal(run(db, "SELECT 1 FROM t WHERE Filter MATCH 'v gt 0'"), writes[i].code);
        sqlite3_free(sql);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void put_own_record(record_bytes record)
{
    raw_put_with("entities", MDB_CREATE, sample_key(), slice_of(&record));
    free(record.data);
}

static void assert_damaged(sqlite3 *db, const char *sql)
{
    if (run(db, sql) != SQLITE_CORRUPT || strstr(sqlite3_errmsg(db), "damaged") == NULL) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_extended_errcode(db), SQLITE_CORRUPT_VTAB);
}

static void questions_about_damaged_entities(void **state)
{
    (void)state;
    static const char partitions[] = "SELECT PartitionKey, Bytes FROM pt_partitions('t')";
    static const char properties[] = "SELECT * FROM pt_properties('t')";
    sqlite3 *db = open_table();
    damage_record(db);
    assert_damaged(db, partitions);
    assert_damaged(db, properties);
    assert_int_equal(run(db, "BEGIN; DELETE FROM pt_partitions WHERE argument1 = 't'; ROLLBACK"),
                     SQLITE_OK);
    assert_int_equal(run(db, "DELETE FROM t"), SQLITE_OK);
    sqlite3_close(db);
    raw_put_with("entities", MDB_CREATE, sample_key(), pt_slice_text("short"));
    db = open_table();
    assert_damaged(db, partitions);
    assert_damaged(db, properties);
    sqlite3_close(db);
    put_own_record(own_record(sample_ticks, 2));
    db = open_table();
    assert_int_equal(run(db, partitions), SQLITE_OK);
    assert_damaged(db, properties);
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE b USING ptable(Active Boolean, table=t, "
                                "store=%Q)",
                                fixture_path);
    assert_int_equal(run(db, sql), SQLITE_OK);
    sqlite3_free(sql);
    assert_damaged(db, "SELECT RowKey FROM b WHERE Active = 0");
    sqlite3_close(db);
    put_own_record(own_large_record(0));
    db = open_table();
    assert_int_equal(run(db, partitions), SQLITE_OK);
    assert_damaged(db, properties);
    sqlite3_close(db);
}

/* The table's entry has the number 0, which is the catalogue's own. */
static void questions_to_a_damaged_catalogue(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT * FROM pt_tables",
        "SELECT * FROM pt_stores",
        "SELECT v FROM t",
    };
    sqlite3 *db;
    sqlite3_close(open_table());
    pt_slice key = pt_slice_of("\0t", 2);
    raw_put_with("entities", MDB_CREATE, key, sealed(key, pt_slice_of("\1\0\0\0\0t", 6)));
    db = open_with_ptable(":memory:");
    char *tables = sqlite3_mprintf("CREATE VIRTUAL TABLE u USING ptable(v, store=%Q);"
                                   "CREATE VIRTUAL TABLE t USING ptable(v, store=%Q, readonly=1)",
                                   fixture_path, fixture_path);
    assert_int_equal(run(db, tables), SQLITE_OK);
    sqlite3_free(tables);
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        assert_damaged(db, statements[i]);
    }
    char *sql = sqlite3_mprintf("SELECT * FROM pt_tables WHERE Store = %Q AND TableName = 'T'",
                                fixture_path);
    assert_damaged(db, sql);
    sqlite3_free(sql);
    sqlite3_close(db);
}

/* --- Pages that lie in another's place --- */

enum { PAGE = 4096, ROWS = 300, FILE_MAX = 400 * PAGE };

static uint8_t file_bytes[FILE_MAX];

static size_t read_file(void)
{
    FILE *file = fopen(fixture_path, "rb");
    assert_non_null(file);
    size_t size = fread(file_bytes, 1, sizeof file_bytes, file);
    assert_in_range(size, 1, sizeof file_bytes - 1);
    assert_int_equal(fclose(file), 0);
    return size;
}

static void write_file(size_t size)
{
    FILE *file = fopen(fixture_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(file_bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* True if a leaf page begins with an entity of the table, of a partition named by its letter. */
static bool is_leaf_of(size_t page, uint8_t table)
{
    const uint8_t *bytes = file_bytes + page * PAGE;
    size_t entry = pt_get_le16(bytes + 16);
    return pt_get_le16(bytes + 10) == 2 && entry < PAGE - 16 && bytes[entry + 8] == table &&
           bytes[entry + 9] >= 'a' && bytes[entry + 10] == 0;
}

/* All but the pages' own numbers. */
static void exchange(size_t a, size_t b)
{
    for (size_t i = 8; i < PAGE; i++) {
        uint8_t kept = file_bytes[a * PAGE + i];
        file_bytes[a * PAGE + i] = file_bytes[b * PAGE + i];
        file_bytes[b * PAGE + i] = kept;
    }
}

/* Rows that are shown before the end or an error are the table's own. */
static void assert_own_rows(sqlite3 *db, const char *sql, const char *partition)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        assert_string_equal((const char *)sqlite3_column_text(statement, 0), partition);
    }
    assert_true(rc == SQLITE_DONE || rc == SQLITE_CORRUPT);
    sqlite3_finalize(statement);
}

/* NULL if they are refused. */
static sqlite3 *open_two_tables(void)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE t USING ptable(v, store=%Q);"
                                "CREATE VIRTUAL TABLE u USING ptable(v, store=%Q)",
                                fixture_path, fixture_path);
    int rc = run(db, sql);
    sqlite3_free(sql);
    assert_true(rc == SQLITE_OK || rc == SQLITE_CORRUPT);
    if (rc != SQLITE_OK) {
        sqlite3_close(db);
    }
    return rc == SQLITE_OK ? db : NULL;
}

/* False if they are refused. */
static bool read_two_tables(void)
{
    sqlite3 *db = open_two_tables();
    if (db == NULL) {
        return false;
    }
    assert_own_rows(db, "SELECT PartitionKey, Properties FROM t", "t");
    assert_own_rows(db, "SELECT PartitionKey, Properties FROM u", "u");
    assert_own_rows(db, "SELECT PartitionKey, v FROM u WHERE PartitionKey = 'u'", "u");
    assert_own_rows(db, "SELECT PartitionKey, v FROM t ORDER BY EntityKey DESC", "t");
    assert_own_rows(db, "SELECT PartitionKey, v FROM u ORDER BY EntityKey DESC", "u");
    assert_own_rows(
        db, "SELECT PartitionKey, v FROM u WHERE EntityKey > pt_entity_key('u', '0100')", "u");
    sqlite3_close(db);
    return true;
}

static void rows_of_other_tables_are_not_shown(void **state)
{
    (void)state;
    char sql[300];
    size_t read = 0;
    sqlite3 *db = open_two_tables();
    assert_non_null(db);
    snprintf(sql, sizeof sql,
             "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d) "
             "INSERT INTO t SELECT 't', printf('%%04d', k), printf('%%.60c', 'x') FROM n;"
             "INSERT INTO u SELECT 'u', RowKey, v FROM t",
             ROWS);
    assert_int_equal(run(db, sql), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    size_t size = read_file();
    for (size_t a = 2; a < size / PAGE; a++) {
        for (size_t b = 2; is_leaf_of(a, 1) && b < size / PAGE; b++) {
            if (is_leaf_of(b, 2)) {
                exchange(a, b);
                write_file(size);
                read += read_two_tables() ? 1 : 0;
                exchange(a, b);
            }
        }
    }
    assert_in_range(read, 10, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(databases_in_another_order_are_refused),
        store_test(links_that_lead_nowhere_are_reported),
        store_test(garbage_that_names_no_table_is_reported),
        store_test(counts_may_overflow),
        store_test(keys_that_cannot_be_divided_are_reported),
        store_test(row_keys_with_a_nul_are_shown_whole),
        store_test(damaged_entities_can_be_replaced_and_deleted),
        store_test(questions_about_damaged_entities),
        store_test(questions_to_a_damaged_catalogue),
        store_test(rows_of_other_tables_are_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
