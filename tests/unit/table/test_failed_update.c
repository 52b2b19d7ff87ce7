/*
 * What is discarded when an UPDATE ... FROM fails in a transaction, for which SQLite opens no
 * savepoint: what the statement has written, with the statements that its functions have run, and
 * nothing else, whatever is being read meanwhile.
 */
#include "fixtures/cmocka.h"

#include "fixtures/connection.h"

static sqlite3 *db;

/* Runs a statement, which may fail, as part of another. */
static void run_nested(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_exec(db, (const char *)sqlite3_value_text(argv[0]), NULL, NULL, NULL);
    sqlite3_result_int(context, sqlite3_errcode(db));
}

static int setup(void **state)
{
    (void)state;
    db = open_with_ptable(":memory:");
    sqlite3_create_function(db, "run", 1, SQLITE_UTF8, NULL, run_nested, NULL, NULL);
    run_sql(db, "CREATE VIRTUAL TABLE T USING ptable(N Int32, sync=off);"
                "CREATE VIRTUAL TABLE Again USING ptable(N Int32, table=T, sync=off);"
                "CREATE VIRTUAL TABLE Indexed USING ptable(N Int32, S String, index(N), unique(S), "
                "sync=off);"
                "INSERT INTO T VALUES ('a', '1', 1), ('a', '2', 2), ('a', '3', 3);"
                "INSERT INTO Indexed VALUES ('a', '1', 1, 'x'), ('a', '2', 2, 'y'), ('a', '3', 3, "
                "'z');"
                "CREATE TABLE Wanted(r TEXT, w);"
                "INSERT INTO Wanted VALUES ('1', 10), ('2', 20), ('3', 'three')");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return sqlite3_close(db) == SQLITE_OK ? 0 : -1;
}

static void assert_code(const char *sql, int code)
{
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (sqlite3_errcode(db) != code) {
        fail_msg("%s: %d, %s", sql, sqlite3_errcode(db), sqlite3_errmsg(db));
    }
}

static void assert_rows(const char *table, const char *expected)
{
    sqlite3_stmt *rows = NULL;
    char *sql =
        sqlite3_mprintf("SELECT group_concat(RowKey || '=' || coalesce(N, '')) FROM %s", table);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &rows, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(rows, 0), expected);
    sqlite3_finalize(rows);
    sqlite3_free(sql);
}

#define FAILING "UPDATE T SET N = w FROM Wanted WHERE r = RowKey"

/* Writes from before the statement are overwritten by it, in all ways in which they were made. */
static void earlier_writes_stay(void **state)
{
    (void)state;
    run_sql(db, "BEGIN; UPDATE T SET N = 5 WHERE PartitionKey = 'a' AND RowKey = '1';"
                "INSERT INTO T VALUES ('a', '0', 0);"
                "DELETE FROM T WHERE PartitionKey = 'a' AND RowKey = '2'");
    assert_code(FAILING, SQLITE_MISMATCH);
    assert_rows("T", "0=0,1=5,3=3");
    run_sql(db, "UPDATE T SET N = 6 WHERE PartitionKey = 'a' AND RowKey = '1';"
                "INSERT INTO T VALUES ('a', '2', 7); SAVEPOINT s;"
                "UPDATE T SET N = 8 WHERE PartitionKey = 'a' AND RowKey = '1'");
    assert_code(FAILING, SQLITE_MISMATCH);
    assert_rows("T", "0=0,1=8,2=7,3=3");
    run_sql(db, "UPDATE T SET N = N + 1 FROM (SELECT 1); ROLLBACK TO s");
    assert_code(FAILING, SQLITE_MISMATCH);
    assert_rows("T", "0=0,1=6,2=7,3=3");
    run_sql(db, "COMMIT");
    assert_rows("T", "0=0,1=6,2=7,3=3");
}

static void entries_are_those_of_the_entities(void **state)
{
    (void)state;
    run_sql(db, "BEGIN; UPDATE Indexed SET N = 4, S = 'w' WHERE PartitionKey = 'a' AND RowKey = "
                "'1'");
    assert_code("UPDATE Indexed SET N = w, S = 'of ' || w FROM Wanted WHERE r = RowKey",
                SQLITE_MISMATCH);
    assert_code("UPDATE Indexed SET S = 'same' FROM Wanted WHERE r = RowKey", SQLITE_CONSTRAINT);
    assert_rows("Indexed", "1=4,2=2,3=3");
    run_sql(db, "INSERT INTO Indexed VALUES ('b', '1', 9, 'same'), ('b', '2', 10, 'of 10');"
                "COMMIT; SELECT iif(pt_check() = 'ok', 1, abs(-9223372036854775808))");
    assert_rows("Indexed WHERE N > 1", "2=2,3=3,1=4,1=9,2=10");
}

/* Other statements that fail have written at most one row, which is not there. */
static void other_statements_lose_nothing(void **state)
{
    (void)state;
    sqlite3_stmt *reading = NULL;
    run_sql(db, "BEGIN");
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT N FROM T", -1, &reading, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(reading), SQLITE_ROW);
    run_sql(db, "INSERT INTO T VALUES ('b', '1', 1);"
                "UPDATE T SET N = 4 WHERE PartitionKey = 'a' AND RowKey = '1';"
                "UPDATE T SET N = 5 WHERE PartitionKey = 'a' AND RowKey = '1';"
                "UPDATE T SET N = N + 1 FROM (SELECT 1)");
    assert_code("INSERT INTO T VALUES ('b', '1', 1)", SQLITE_CONSTRAINT);
    assert_code("INSERT INTO T VALUES ('b', '2', 1), ('b', '1', 1)", SQLITE_CONSTRAINT);
    assert_code("UPDATE T SET N = 'x' WHERE PartitionKey = 'a' AND RowKey = '1'", SQLITE_MISMATCH);
    assert_code("UPDATE T SET N = iif(N > 3, 'x', 9)", SQLITE_MISMATCH);
    assert_rows("T", "1=6,2=3,3=4,1=2");
    assert_code(FAILING, SQLITE_MISMATCH);
    assert_rows("T", "1=6,2=3,3=4,1=2");
    assert_int_equal(sqlite3_step(reading), SQLITE_ROW);
    sqlite3_finalize(reading);
    assert_code("UPDATE T SET N = 'x' WHERE PartitionKey = 'a' AND RowKey = '1'", SQLITE_MISMATCH);
    assert_rows("T", "1=6,2=3,3=4,1=2");
    run_sql(db, "COMMIT");
    assert_rows("T", "1=6,2=3,3=4,1=2");
}

/* As with ordinary tables, a statement that fails takes those along that its functions have run. */
static void nested_statements_go_with_theirs(void **state)
{
    (void)state;
    run_sql(db, "BEGIN; INSERT INTO Again VALUES ('c', '1', 1)");
    assert_code("UPDATE T SET N = iif(run('INSERT INTO Again VALUES (''d'', ''' || r || ''', 1)')"
                " = 0, w, 0) FROM Wanted WHERE r = RowKey",
                SQLITE_MISMATCH);
    assert_rows("T", "1=1,2=2,3=3,1=1");
    /* One of them fails: the statement goes on. */
    run_sql(db, "UPDATE T SET N = 40 + run('" FAILING "') FROM Wanted WHERE r = RowKey AND r < '3' "
                "AND PartitionKey = 'a'");
    assert_rows("T", "1=60,2=60,3=3,1=1");
    run_sql(db, "COMMIT");
    assert_rows("T", "1=60,2=60,3=3,1=1");
}

/* The program of a trigger is a part of its statement. */
static void triggers_are_whole(void **state)
{
    (void)state;
    run_sql(db, "CREATE TABLE Log(x UNIQUE); CREATE TRIGGER Logged AFTER INSERT ON Log BEGIN"
                "  UPDATE T SET N = N + new.x FROM (SELECT 1);"
                "  UPDATE T SET N = iif(RowKey = new.x, 'x', N + 1) FROM (SELECT 1);"
                "END; BEGIN; INSERT INTO Log VALUES (5)");
    assert_rows("T", "1=7,2=8,3=9");
    assert_code("INSERT INTO Log VALUES (10), (3)", SQLITE_MISMATCH);
    assert_rows("T", "1=7,2=8,3=9");
    run_sql(db, "COMMIT");
    assert_rows("T", "1=7,2=8,3=9");
}

/* The rows of an UPDATE are found in all kinds of ways, and none closes the cursor of the table. */
static void however_rows_are_found(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "UPDATE T SET N = w FROM Wanted WHERE r = RowKey OR r = N",
        "UPDATE T SET N = w FROM Wanted WHERE (RowKey = '1' AND PartitionKey = 'a' AND r = '1') OR "
        "(RowKey = '3' AND PartitionKey = 'a' AND r = '3')",
        "UPDATE T SET N = w FROM Wanted WHERE r = RowKey AND PartitionKey = 'a'",
        "UPDATE T SET N = w FROM Again, Wanted WHERE Again.RowKey = T.RowKey AND r = "
        "T.RowKey",
        "UPDATE T SET N = w FROM (SELECT max(RowKey) AS k, N AS w FROM Again WHERE RowKey < '3' "
        "GROUP BY N UNION ALL "
        "SELECT '3', 'x') WHERE k = RowKey",
        "UPDATE T SET N = iif(T.RowKey = '3', 'x', 7) FROM Wanted LEFT JOIN Again ON Again.N = w",
        "UPDATE T SET N = iif(RowKey = '3', 'x', (SELECT count(*) FROM Again)) FROM (SELECT 1)",
        "UPDATE T SET N = w FROM Wanted WHERE r IN (SELECT RowKey FROM Again) AND r = RowKey",
        "UPDATE T SET RowKey = RowKey || 'x', N = w FROM Wanted WHERE r = RowKey",
        "UPDATE T AS a SET N = w FROM Wanted CROSS JOIN T AS b WHERE r = a.RowKey AND b.N = a.N",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        run_sql(db, "BEGIN; UPDATE T SET N = 4 WHERE PartitionKey = 'a' AND RowKey = '1'");
        assert_code(statements[i], SQLITE_MISMATCH);
        assert_rows("T", "1=4,2=2,3=3");
        run_sql(db, "ROLLBACK");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define update_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        update_test(earlier_writes_stay),
        update_test(entries_are_those_of_the_entities),
        update_test(other_statements_lose_nothing),
        update_test(nested_statements_go_with_theirs),
        update_test(triggers_are_whole),
        update_test(however_rows_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
