/*
 * Entities whose records have a right checksum and values that no type has: each way to the value
 * reports it, nothing is made of it, and the entity can be repaired.
 */
#include "fixtures/store_fixture.h"

#include "entity/damage.h"
#include "entity/record.h"
#include "fixtures/connection.h"
#include "fixtures/record_checksums.h"
#include "queue/message.h"

static sqlite3 *db;

static int setup(void **state)
{
    if (fixture_setup(state) != 0) {
        return -1;
    }
    db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE t USING ptable(s String, y Binary, z Binary, "
                                "b Boolean, w DateTime, l String, n, store=%Q)",
                                fixture_path);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return fixture_teardown(state);
}

static void assert_damaged(const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_CORRUPT) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_extended_errcode(db), SQLITE_CORRUPT_VTAB);
    assert_non_null(strstr(sqlite3_errmsg(db), "ptable: t: the entity with PartitionKey 'p', "
                                               "RowKey '1' is damaged in the store; DELETE or"));
}

/* --- Records --- */

enum { RECORD_MAX = 200 };

static pt_slice the_key(void)
{
    return pt_slice_of("\1p\0001", 4);
}

static void replace_record(pt_store *store, const uint8_t *bytes, size_t size)
{
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_put(writer, the_key(), pt_slice_of(bytes, size), &error));
    commit_write(writer);
    engine->unlock(store);
}

/* Writes bytes into the entity's record, at a place in it or so many bytes from its end, under
 * right checksums or under the old ones. */
static void overwrite(int at, const char *change, size_t size, bool seal)
{
    uint8_t bytes[RECORD_MAX];
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    bool found = false;
    pt_slice record;
    assert_ok(engine->get(snapshot, the_key(), &found, &record, &error));
    assert_true(found && record.size <= sizeof bytes);
    memcpy(bytes, record.data, record.size);
    size_t place = at >= 0 ? (size_t)at : record.size - (size_t)-at;
    assert_true(place + size <= record.size);
    assert_memory_not_equal(bytes + place, change, size);
    checksum_places places = find_checksums(the_key(), record);
    memcpy(bytes + place, change, size);
    if (seal) {
        restore_checksums_at(places, the_key(), bytes, record.size);
    }
    replace_record(store, bytes, record.size);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* --- Values --- */

static const struct impossible {
    const char *column;
    const char *insert;
    const char *other; /* a value of its type */
    int at;            /* in the record; negative: from its end */
    const char *bytes;
    size_t size;
} impossibles[] = {
    {"s", "INSERT INTO t(PartitionKey, RowKey, s) VALUES ('p', '1', 'abc')", "'abd'", -1, "x", 1},
    {"y", "INSERT INTO t(PartitionKey, RowKey, y, z) VALUES ('p', '1', x'01', x'02')", "x'03'",
     PT_RECORD_HEADER, "\xFF", 1},
    {"b", "INSERT INTO t(PartitionKey, RowKey, b) VALUES ('p', '1', 1)", "0", PT_RECORD_HEADER,
     "\2", 1},
    {"w", "INSERT INTO t(PartitionKey, RowKey, w) VALUES ('p', '1', '2026-11-21')", "'2026-11-22'",
     PT_RECORD_HEADER, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8},
    {"l", "INSERT INTO t(PartitionKey, RowKey, l) VALUES ('p', '1', hex(zeroblob(3000)))", "'x'",
     PT_RECORD_HEADER, "\0\0\0\0\0\0\0\0", 8},
};

enum { IMPOSSIBLES = sizeof impossibles / sizeof impossibles[0] };

static void make(const struct impossible *value)
{
    run_sql(db, "DELETE FROM t");
    run_sql(db, value->insert);
    overwrite(value->at, value->bytes, value->size, true);
}

static void assert_way_is_damaged(const char *format, const struct impossible *value)
{
    char *sql = sqlite3_mprintf(format, value->column, value->other);
    assert_damaged(sql);
    sqlite3_free(sql);
}

static void impossible_values_are_reported(void **state)
{
    (void)state;
    for (int i = 0; i < IMPOSSIBLES; i++) {
        make(&impossibles[i]);
        assert_way_is_damaged("SELECT %s FROM t", &impossibles[i]);
        assert_way_is_damaged("SELECT n, %s FROM t", &impossibles[i]);
        assert_way_is_damaged("SELECT Properties FROM t", &impossibles[i]);
        assert_way_is_damaged("SELECT 1 FROM t WHERE Filter MATCH '%s eq ''x'''", &impossibles[i]);
        assert_way_is_damaged("UPDATE t SET %s = %s", &impossibles[i]);
        assert_way_is_damaged("UPDATE t SET n = 1", &impossibles[i]);
        assert_way_is_damaged("UPDATE t SET RowKey = '2'", &impossibles[i]);
        assert_way_is_damaged("INSERT INTO t(PartitionKey, RowKey, n, WriteMode) VALUES ('p', '1', "
                              "1, 'merge')",
                              &impossibles[i]);
        run_sql(db, "SELECT PartitionKey, RowKey, Timestamp, ETag, n FROM t");
    }
}

/* Numbers are read and written without the text: it stays damaged. */
static void values_beside_a_damaged_text_change_and_hide_nothing(void **state)
{
    (void)state;
    for (int sealed = 0; sealed <= 1; sealed++) {
        run_sql(db, "DELETE FROM t");
        run_sql(db, "INSERT INTO t(PartitionKey, RowKey, s, b, y) "
                    "VALUES ('p', '1', 'abc', 1, x'0102')");
        overwrite(sealed ? -3 : -4, "x", 1, sealed != 0);
        run_sql(db, "UPDATE t SET b = 0");
        run_sql(db, "UPDATE t SET b = 1 WHERE b = 0 AND ETag IS NOT NULL");
        run_sql(db, "SELECT b, Timestamp, ETag, PartitionKey FROM t WHERE b = 1");
        assert_damaged("SELECT s FROM t");
        assert_damaged("SELECT 1 FROM t WHERE s = 'abc'");
        assert_damaged("SELECT Properties FROM t");
        assert_damaged("UPDATE t SET s = 'abd'");
        assert_damaged("UPDATE t SET b = 0, s = 'abd'");
        assert_damaged("UPDATE t SET b = NULL");
        assert_damaged("UPDATE t SET RowKey = '2'");
    }
}

/* The checksum is that of all texts and binaries: none is read under a wrong one. */
static void a_wrong_checksum_is_found_by_what_reads_any_text(void **state)
{
    (void)state;
    static const char *const readers[] = {
        "SELECT s FROM t",
        "SELECT y FROM t",
        "SELECT b, y FROM t",
        "SELECT Properties FROM t",
        "SELECT b FROM t WHERE y = x'0102'",
        "SELECT b FROM t WHERE Filter MATCH 'not (s eq ''x'')'",
        "UPDATE t SET y = x'0203'",
        "UPDATE t SET n = 1",
    };
    run_sql(db,
            "INSERT INTO t(PartitionKey, RowKey, s, b, y) VALUES ('p', '1', 'abc', 1, x'0102')");
    overwrite(-1, "x", 1, false);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        assert_damaged(readers[i]);
    }
    run_sql(db, "SELECT b, w, Timestamp, ETag FROM t WHERE b = 1");
    run_sql(db, "SELECT 1 FROM t WHERE Filter MATCH 'b eq true'");
}

static void a_damaged_head_is_found_by_what_reads_the_record(void **state)
{
    (void)state;
    static const char *const readers[] = {"SELECT b FROM t", "SELECT s FROM t", "SELECT n FROM t",
                                          "SELECT ETag FROM t", "UPDATE t SET b = 0"};
    run_sql(db, "INSERT INTO t(PartitionKey, RowKey, s, b) VALUES ('p', '1', 'abc', 1)");
    overwrite(PT_RECORD_HEADER, "\0", 1, false);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        assert_damaged(readers[i]);
    }
    run_sql(db, "SELECT PartitionKey, RowKey FROM t");
}

static void entities_with_impossible_values_are_repaired(void **state)
{
    (void)state;
    static const char *const repairs[] = {
        "DELETE FROM t",
        "UPDATE t SET Properties = '{\"n\":1}'",
        "INSERT OR REPLACE INTO t(PartitionKey, RowKey, n) VALUES ('p', '1', 1)",
    };
    for (int i = 0; i < IMPOSSIBLES; i++) {
        for (size_t r = 0; r < sizeof repairs / sizeof repairs[0]; r++) {
            make(&impossibles[i]);
            run_sql(db, repairs[r]);
            run_sql(db, "SELECT s, y, z, b, w, l, n, Properties FROM t");
        }
    }
}

/* --- Names --- */

/* One property has its name's id and another one, of the same name, the name itself. */
static void names_that_occur_twice_are_reported(void **state)
{
    (void)state;
    /* Shape id, ticks, description, two values, checksum of the head. */
    uint8_t bytes[] = "\0\0"
                      "\0\0\0\0\0\0\0\0"
                      "\013\0\0\0"
                      "\2\0"
                      "\1\0\2"
                      "\0\0\2"
                      "\1\0n"
                      "\5\0\0\0"
                      "\6\0\0\0"
                      "\0\0\0";
    const checksum_places places = {.head = sizeof bytes - CHECKSUM_SIZE};
    restore_checksums_at(places, the_key(), bytes, sizeof bytes);
    run_sql(db, "INSERT INTO t(PartitionKey, RowKey, n) VALUES ('p', '1', 1)");
    pt_store *store = open_store(fixture_path);
    replace_record(store, bytes, sizeof bytes);
    engine->close(store);
    run_sql(db, "SELECT n, Properties FROM t");
    assert_damaged("UPDATE t SET s = 'x'");
    run_sql(db, "DELETE FROM t");
}

/* Some programs, such as Python, cannot take a message that is not UTF-8: they would show another
 * error. */
static void a_message_about_a_damaged_key_is_utf8(void **state)
{
    (void)state;
    const pt_slice key = pt_slice_of("\1p\xEB\0r\xFF'", 7);
    uint8_t bytes[PT_RECORD_LEAST] = {0};
    pt_error told = PT_ERROR_NONE;
    run_sql(db, "INSERT INTO t(PartitionKey, RowKey, n) VALUES ('p', '1', 1)");
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_put(writer, key, pt_slice_of(bytes, sizeof bytes), &error));
    commit_write(writer);
    engine->unlock(store);
    engine->close(store);
    assert_int_equal(sqlite3_exec(db, "SELECT n FROM t", NULL, NULL, NULL), SQLITE_CORRUPT);
    assert_non_null(strstr(sqlite3_errmsg(db), "the entity with PartitionKey 'p?', RowKey 'r?'' is "
                                               "damaged in the store"));
    assert_int_equal(pt_report_damaged_property(key, pt_slice_text("n"), &told),
                     SQLITE_CORRUPT_VTAB);
    assert_non_null(strstr(told.message, "PartitionKey 'p?', RowKey 'r?'' is damaged"));
    pt_error_clear(&told);
    assert_int_equal(pt_message_report_damage(key, &told), SQLITE_CORRUPT_VTAB);
    assert_non_null(strstr(told.message, "PartitionKey 'p?', RowKey 'r?'' of the queue's table"));
    pt_error_clear(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(impossible_values_are_reported),
        TEST(values_beside_a_damaged_text_change_and_hide_nothing),
        TEST(a_wrong_checksum_is_found_by_what_reads_any_text),
        TEST(a_damaged_head_is_found_by_what_reads_the_record),
        TEST(entities_with_impossible_values_are_repaired),
        TEST(names_that_occur_twice_are_reported),
        TEST(a_message_about_a_damaged_key_is_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
