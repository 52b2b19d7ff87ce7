/*
 * Rows of which no column is read are counted, a page of the store at a time, and the scan stays
 * behind. A column that is read nevertheless is that of SQLite's row, and every row is counted.
 */
#include "fixtures/store_fixture.h"

#include "fixtures/connection.h"
#include "fixtures/database.h"

enum { ROWS = 500, LONG = 700 };

static sqlite3 *db;
static int ticks;

/* tick() is 1, 2, 3 and so on in each statement. */
static void tick(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int(context, ++ticks);
}

/* Table o is an ordinary one with the same rows: short keys, long keys, and keys of one link. */
static int setup(void **state)
{
    (void)state;
    db = open_with_ptable(":memory:");
    assert_int_equal(sqlite3_create_function(db, "tick", 0, SQLITE_UTF8, NULL, tick, NULL, NULL),
                     SQLITE_OK);
    char *sql = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE t USING ptable(v Int32, sync=off);"
        "CREATE TABLE o(PartitionKey, RowKey, v, PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        "INSERT INTO o SELECT 'p' || i %% 3,"
        " CASE WHEN i %% 37 = 0 THEN printf('%%.*c', %d, 'k') ELSE '' END || printf('%%04d', i), i"
        " FROM n;"
        "INSERT INTO t SELECT * FROM o",
        ROWS, LONG);
    run_sql(db, sql);
    sqlite3_free(sql);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return sqlite3_close(db) == SQLITE_OK ? 0 : -1;
}

static const char *const conditions[] = {
    "1",
    "PartitionKey = 'p1'",
    "PartitionKey = 'p1' AND RowKey >= '0100' AND RowKey < '0300'",
    "PartitionKey >= 'p1'",
    "PartitionKey IN ('p0', 'p2')",
    "PartitionKey = 'p2' AND RowKey >= 'k'",
    "PartitionKey IN ('p0', 'p2') AND RowKey > '0200'",
    "PartitionKey = 'none'",
};

enum { CONDITIONS = sizeof conditions / sizeof conditions[0] };

static void every_row_is_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONDITIONS; i++) {
        int64_t expected = number(db, "SELECT count(*) FROM o WHERE %s", conditions[i]);
        assert_number(db, expected, "SELECT count(*) FROM t WHERE %s", conditions[i]);
        assert_number(db, expected,
                      "SELECT count(*) FROM (SELECT 1 FROM t WHERE %s "
                      "ORDER BY PartitionKey DESC, RowKey DESC LIMIT 1000)",
                      conditions[i]);
        run(db, "BEGIN; INSERT INTO t VALUES('p1', '0100a', 0)");
        int64_t more = number(db,
                              "SELECT '0100a' >= '0' AND %s FROM "
                              "(SELECT 'p1' PartitionKey, '0100a' RowKey)",
                              conditions[i]);
        assert_number(db, expected + more, "SELECT count(*) FROM t WHERE %s", conditions[i]);
        run(db, "ROLLBACK");
    }
}

/* Reads RowKey and v from row `first` on, or of that row only. */
static char *rows_of(const char *table, const char *condition, const char *order, const char *first)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf(
        "SELECT group_concat(x) FROM (SELECT CASE WHEN tick() %s THEN RowKey || v END x FROM %s "
        "WHERE %s %s LIMIT -1)",
        first, table, condition, order);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    ticks = 0;
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    char *rows = sqlite3_mprintf("%d: %s", ticks, sqlite3_column_text(statement, 0));
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    sqlite3_free(sql);
    return rows;
}

static void a_column_is_that_of_the_row(void **state)
{
    (void)state;
    static const char *const orders[] = {"ORDER BY PartitionKey, RowKey",
                                         "ORDER BY PartitionKey DESC, RowKey DESC"};
    static const char *const reads[] = {
        "= 1",   ">= 1", "= 2", ">= 2", "= 33", ">= 34", "= 90", ">= 120", "= 1 OR tick() > 50",
        "> 1000"};
    for (size_t i = 0; i < CONDITIONS * 2; i++) {
        for (size_t r = 0; r < sizeof reads / sizeof reads[0]; r++) {
            char *expected = rows_of("o", conditions[i / 2], orders[i % 2], reads[r]);
            char *found = rows_of("t", conditions[i / 2], orders[i % 2], reads[r]);
            assert_string_equal(found, expected);
            sqlite3_free(found);
            sqlite3_free(expected);
        }
    }
}

/* Counts five rows in a transaction, which then is rolled back. */
static void assert_rollback_stops(const char *before, const char *meanwhile)
{
    sqlite3_stmt *statement = NULL;
    run(db, "BEGIN; %s", before);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 FROM t", -1, &statement, NULL), SQLITE_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    }
    run(db, "%s; ROLLBACK", meanwhile);
    assert_int_equal(sqlite3_step(statement), SQLITE_ABORT);
    says(db, "has been rolled back");
    sqlite3_finalize(statement);
    assert_number(db, ROWS, "SELECT count(*) FROM t");
}

static void counting_stops_at_a_rollback(void **state)
{
    (void)state;
    assert_rollback_stops("", "INSERT INTO t VALUES('a', 'a', 1)");
    assert_rollback_stops("INSERT INTO t VALUES('a', 'a', 1)", "SELECT 1");
}

static sqlite3_stmt *inherited;

/* A child may pass the rows that its parent has counted, and no others. */
static int step_inherited(void)
{
    int rows = 0;
    while (sqlite3_step(inherited) == SQLITE_ROW) {
        rows++;
    }
    return rows >= ROWS || sqlite3_extended_errcode(db) != SQLITE_CANTOPEN ||
           strstr(sqlite3_errmsg(db), "opened before fork()") == NULL;
}

static void a_child_does_not_count_on(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT 1 FROM t",
        "SELECT CASE WHEN tick() = 6 THEN RowKey END FROM t",
    };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sqlite3_prepare_v2(db, statements[i], -1, &inherited, NULL), SQLITE_OK);
        ticks = 0;
        for (int row = 0; row < 5; row++) {
            assert_int_equal(sqlite3_step(inherited), SQLITE_ROW);
        }
        await_child(start_child(step_inherited));
        assert_int_equal(sqlite3_step(inherited), SQLITE_ROW);
        sqlite3_finalize(inherited);
    }
}

/* A statement does not see what is written while it runs. */
static void rows_written_meanwhile_do_not_count(void **state)
{
    (void)state;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 FROM t", -1, &statement, NULL), SQLITE_OK);
    int rows = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        rows++;
        if (rows % 50 == 0) {
            run(db, "INSERT INTO t VALUES('p1', 'new %d', 1)", rows);
        }
    }
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(rows, ROWS);
    assert_number(db, ROWS + ROWS / 50, "SELECT count(*) FROM t");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_row_is_counted),
        TEST(a_column_is_that_of_the_row),
        TEST(counting_stops_at_a_rollback),
        TEST(a_child_does_not_count_on),
        TEST(rows_written_meanwhile_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
