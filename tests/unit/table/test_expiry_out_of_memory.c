/*
 * Statements on a table whose entities expire, in connections that have used none before: one of
 * nine of their allocations fails once, with LONG=1 each of them. What fails has changed nothing.
 */
#include "faults/fresh_connection.h"

enum { STRIDE = 9 };

static const fresh_trial trials[] = {
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
    {SQLITE_DONE, "INSERT INTO pt_tables(TableName, Changes, Expires) VALUES ('n', 1, 'Due')"},
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

static void assert_same(sqlite3 *db)
{
    assert_number(db, 2, "SELECT count(*) FROM m");
    assert_number(db, 4, "SELECT Entities FROM pt_tables WHERE TableName = 'm'");
    assert_number(db, 2, "SELECT count(*) FROM pt_indexes");
}

static void statements_fail_whole(void **state)
{
    make_table(*state);
    fresh_trials_run(&(fresh_trials){.folder = *state,
                                     .trials = trials,
                                     .count = sizeof trials / sizeof trials[0],
                                     .stride = setting("LONG", 0) != 0 ? 1 : STRIDE,
                                     .assert_same = assert_same});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(statements_fail_whole, make_folder, remove_folder),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
