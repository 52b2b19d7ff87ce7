/*
 * Statements on indexes in connections that have used none before: each of their allocations fails
 * once, also the first ones of buffers that later statements find large enough. What fails has
 * changed nothing.
 */
#include "faults/fresh_connection.h"

#define LONG_TEXT "printf('%.300c', 'x')"

static const fresh_trial trials[] = {
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
    {SQLITE_ERROR, "INSERT INTO lost VALUES ('p', '1', 1)"},
    {SQLITE_ERROR, "INSERT INTO other VALUES ('p', '1', 1)"},
    {SQLITE_DONE, "CREATE VIRTUAL TABLE n USING ptable(Due DateTime, expires=Due)"},
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
        "('p', '4', '{\"T\":\"1999\",\"V\":\"z\"}');"
        "CREATE VIRTUAL TABLE lost USING ptable(V, index(V), sync=off);"
        "CREATE VIRTUAL TABLE other USING ptable(V, unique(V), sync=off);"
        "DELETE FROM pt_indexes WHERE TableName IN ('lost', 'other');"
        "INSERT INTO pt_indexes(TableName, Columns) VALUES ('other', 'V');");
    close_database(db);
}

static void assert_same(sqlite3 *db)
{
    assert_number(db, 4, "SELECT count(*) FROM m WHERE PartitionKey = 'p' AND S IS NOT 'q'");
    assert_number(db, 4, "SELECT count(*) FROM pt_indexes WHERE TableName = 'm' AND IsUnique = 0");
}

static void statements_fail_whole(void **state)
{
    make_table(*state);
    fresh_trials_run(&(fresh_trials){.folder = *state,
                                     .trials = trials,
                                     .count = sizeof trials / sizeof trials[0],
                                     .stride = 1,
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
