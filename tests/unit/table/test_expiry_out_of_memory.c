/*
 * Statements on a table whose entities expire, in connections that have used none before: one of
 * nine of their allocations fails once, with LONG=1 each of them. What fails has changed nothing.
 */
#include "faults/failing_malloc.h"
#include "fixtures/database.h"

enum { STRIDE = 9 };

static const struct trial {
    int code;
    const char *sql;
} trials[] = {
    {SQLITE_DONE, "SELECT RowKey FROM m WHERE PartitionKey = 'p'"},
    {SQLITE_DONE, "SELECT (SELECT b.S FROM m b WHERE b.PartitionKey = a.PartitionKey AND b.RowKey "
                  "= a.RowKey) FROM m a"},
    {SQLITE_DONE, "SELECT S FROM m WHERE S > 'a' ORDER BY S"},
    {SQLITE_CONSTRAINT_PRIMARYKEY, "INSERT INTO m(PartitionKey, RowKey) VALUES ('p', 'b')"},
    {SQLITE_DONE, "INSERT INTO m(PartitionKey, RowKey, S) VALUES ('p', 'a', 'new')"},
    {SQLITE_DONE, "INSERT INTO m(PartitionKey, RowKey, S) VALUES ('q', 'new', 'a')"},
    {SQLITE_DONE, "INSERT INTO m(PartitionKey, RowKey, S, WriteMode) VALUES ('p', 'a', 'new', "
                  "'merge')"},
    {SQLITE_CONSTRAINT_CHECK, "INSERT INTO m(PartitionKey, RowKey, WriteMode, IfMatch) VALUES "
                              "('p', 'a', 'delete', '*')"},
    {SQLITE_DONE, "UPDATE m SET RowKey = 'a' WHERE RowKey = 'b'"},
    {SQLITE_DONE, "DELETE FROM m WHERE S = 'b'"},
    {SQLITE_ROW, "SELECT pt_purge('m', 1)"},
    {SQLITE_ROW, "SELECT pt_purge('m')"},
    {SQLITE_ERROR, "SELECT pt_purge('none')"},
    {SQLITE_DONE, "UPDATE pt_tables SET Expires = NULL"},
    {SQLITE_DONE, "UPDATE pt_tables SET Expires = 'Till'"},
    {SQLITE_CONSTRAINT_VTAB, "UPDATE pt_tables SET Expires = 'till'"},
    {SQLITE_CONSTRAINT_VTAB, "UPDATE pt_tables SET Expires = 'RowKey'"},
    {SQLITE_CONSTRAINT_VTAB, "UPDATE pt_tables SET Bytes = 7"},
    {SQLITE_ERROR, "DELETE FROM pt_indexes WHERE IndexName = 'Due'"},
    {SQLITE_ERROR, "CREATE VIRTUAL TABLE n USING ptable(Due DateTime, expires=ETag)"},
    {SQLITE_ERROR, "CREATE VIRTUAL TABLE n USING ptable(Till DateTime, table=m, expires=Till)"},
    {SQLITE_DONE, "CREATE VIRTUAL TABLE n USING ptable(Due DateTime, index(Due), expires=due)"},
};

static void make_table(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE m USING ptable(S String, Due DateTime, Till DateTime, unique(S), "
            "expires=Due, sync=off);"
            "INSERT INTO m(PartitionKey, RowKey, S, Due, Till) VALUES ('p', 'a', 'a', "
            "'2020-01-01', '2020-01-01'), ('p', 'b', 'b', '2999-01-01', '2020-01-01'), ('p', 'c', "
            "printf('%%.*c', 70000, 'c'), '2020-01-01', NULL), ('p', 'd', 'd', NULL, NULL)");
    close_database(db);
}

/* A result that the trial may have: the first row's, if it is a query, or that at the end. */
static int result_of(sqlite3_stmt *statement, int code)
{
    int rc = sqlite3_step(statement);
    while (rc == SQLITE_ROW && code != SQLITE_ROW) {
        rc = sqlite3_step(statement);
    }
    return rc;
}

/* True if an allocation has failed. */
static bool try_without_memory(const char *folder, const struct trial *trial, int n)
{
    sqlite3 *db = open_database(folder, "main.db");
    sqlite3_stmt *statement = NULL;
    run(db, "BEGIN");
    assert_int_equal(sqlite3_prepare_v2(db, trial->sql, -1, &statement, NULL), SQLITE_OK);
    failing_malloc_arm(n, false);
    int rc = result_of(statement, trial->code);
    bool hit = failing_malloc_disarm();
    sqlite3_finalize(statement);
    if (rc != trial->code && !(hit && (rc & 0xFF) == SQLITE_NOMEM)) {
        fail_msg("%s: allocation %d: %d, %s", trial->sql, n, rc, sqlite3_errmsg(db));
    }
    if (rc != trial->code && !sqlite3_get_autocommit(db)) {
        assert_number(db, 2, "SELECT count(*) FROM m");
        assert_number(db, 4, "SELECT Entities FROM pt_tables WHERE TableName = 'm'");
        assert_number(db, 2, "SELECT count(*) FROM pt_indexes");
    }
    if (!sqlite3_get_autocommit(db)) {
        run(db, "ROLLBACK");
    }
    close_database(db);
    return hit;
}

static void statements_fail_whole(void **state)
{
    int stride = setting("LONG", 0) != 0 ? 1 : STRIDE;
    make_table(*state);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        int n = (int)i % stride;
        while (try_without_memory(*state, &trials[i], n)) {
            n += stride;
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
