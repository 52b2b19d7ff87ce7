/*
 * Statements on indexes in connections that have used none before: each of their allocations fails
 * once, also the first ones of buffers that later statements find large enough. What fails has
 * changed nothing.
 */
#include "faults/failing_malloc.h"
#include "fixtures/database.h"

#define LONG_TEXT "printf('%.300c', 'x')"

static const struct trial {
    int code;
    const char *sql;
} trials[] = {
    {SQLITE_DONE, "SELECT * FROM pt_indexes"},
    {SQLITE_DONE, "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('m', "
                  "'\"a b\", S, Timestamp', 1)"},
    {SQLITE_CONSTRAINT_UNIQUE,
     "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('m', 'V', 1)"},
    {SQLITE_CONSTRAINT_PRIMARYKEY, "INSERT INTO pt_indexes(TableName, Columns) VALUES ('m', 'X')"},
    {SQLITE_CONSTRAINT_VTAB, "INSERT INTO pt_indexes(TableName, Columns) VALUES ('m', '\"\"')"},
    {SQLITE_DONE, "DELETE FROM pt_indexes WHERE IndexName = 'X'"},
    {SQLITE_DONE, "SELECT S, V FROM m WHERE T > '' ORDER BY T"},
    {SQLITE_DONE, "SELECT T FROM m WHERE PartitionKey = 'p' AND V IN (1, 2) AND V > 0"},
    {SQLITE_DONE, "SELECT T FROM m WHERE V IN (1, 2) AND S IN ('a', 'b')"},
    {SQLITE_CONSTRAINT_UNIQUE,
     "INSERT INTO m(PartitionKey, RowKey, S) VALUES ('p', '9', " LONG_TEXT ")"},
    {SQLITE_DONE,
     "INSERT OR REPLACE INTO m(PartitionKey, RowKey, S, X) VALUES ('p', '9', " LONG_TEXT
     ", x'01')"},
    {SQLITE_DONE, "UPDATE m SET V = V + 1, X = x'02' WHERE PartitionKey = 'p'"},
};

static void make_table(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db,
        "CREATE VIRTUAL TABLE m USING ptable(S String, T DateTime, X Binary, V, unique(S), "
        "index(T, V), index(X), index(V, S), index(PartitionKey, V), sync=off);"
        "INSERT INTO m(PartitionKey, RowKey, S, X, V) VALUES ('p', '1', printf('%%.300c', 'x'), "
        "x'00', 1), ('p', '2', 'b', zeroblob(300), 1);"
        "INSERT INTO m(PartitionKey, RowKey, Properties) VALUES "
        "('p', '3', '{\"T\":\"soon\",\"V\":2,\"S\":\"a\"}'), "
        "('p', '4', '{\"T\":\"1999\",\"V\":\"z\"}')");
    close_database(db);
}

/* True if an allocation has failed. */
static bool try_without_memory(const char *folder, const struct trial *trial, int n)
{
    sqlite3 *db = open_database(folder, "main.db");
    sqlite3_stmt *statement = NULL;
    run(db, "BEGIN");
    assert_int_equal(sqlite3_prepare_v2(db, trial->sql, -1, &statement, NULL), SQLITE_OK);
    failing_malloc_arm(n, false);
    int rc = sqlite3_step(statement);
    while (rc == SQLITE_ROW) {
        rc = sqlite3_step(statement);
    }
    bool hit = failing_malloc_disarm();
    sqlite3_finalize(statement);
    if (rc != trial->code && !(hit && (rc & 0xFF) == SQLITE_NOMEM)) {
        fail_msg("%s: allocation %d: %d, %s", trial->sql, n, rc, sqlite3_errmsg(db));
    }
    if (rc != trial->code && !sqlite3_get_autocommit(db)) {
        assert_number(db, 4, "SELECT count(*) FROM m WHERE PartitionKey = 'p' AND S IS NOT 'q'");
        assert_number(db, 4, "SELECT count(*) FROM pt_indexes WHERE IsUnique = 0");
    }
    if (!sqlite3_get_autocommit(db)) {
        run(db, "ROLLBACK");
    }
    close_database(db);
    return hit;
}

static void statements_fail_whole(void **state)
{
    make_table(*state);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        for (int n = 0; try_without_memory(*state, &trials[i], n); n++) {
        }
    }
    sqlite3 *db = open_database(*state, "main.db");
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(statements_fail_whole, make_folder, remove_folder),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
