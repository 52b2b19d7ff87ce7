/*
 * A store whose clock stands at the last time there is, through SQL: writes that need a Timestamp
 * are refused and change nothing; everything else goes on.
 */
#include "base/ticks.h"
#include "fixtures/connection.h"
#include "fixtures/store_fixture.h"

static sqlite3 *db;

/* So that so many timestamps are left. */
static void put_clock_before_its_end(int left)
{
    pt_store *store = open_store(fixture_path);
    pt_commit commit = {.sync = PT_SYNC_OFF, .clock = PT_TICKS_MAX - left};
    lock_store(store);
    assert_ok(engine->write_commit(begin_write(store), &commit, &error));
    engine->unlock(store);
    engine->close(store);
}

static int set_up_with(void **state, int left)
{
    if (fixture_setup(state) != 0) {
        return -1;
    }
    db = open_with_ptable(":memory:");
    char *sql =
        sqlite3_mprintf("CREATE VIRTUAL TABLE t USING ptable(S String, N Int32, store=%Q);"
                        "CREATE VIRTUAL TABLE q USING pt_queue(store=%Q);"
                        "INSERT INTO t VALUES('p', '1', 'one', 1), "
                        "('p', '2', printf('%%.5000c', 'x'), 2);"
                        "INSERT INTO q(Body) VALUES('a'), ('b');"
                        "CREATE TEMP TABLE held AS SELECT * FROM pt_queue_get('q', 1);"
                        "CREATE TEMP VIEW receipt AS SELECT MessageId, PopReceipt FROM held",
                        fixture_path, fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    put_clock_before_its_end(left);
    return 0;
}

static int setup(void **state)
{
    return set_up_with(state, 0);
}

static int teardown(void **state)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return fixture_teardown(state);
}

static void assert_number(int64_t expected, const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_column_int64(statement, 0), expected);
    sqlite3_finalize(statement);
}

/* False if the statement does its work. */
static bool is_refused(const char *sql)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    const char *text = sqlite3_errmsg(db);
    if (rc == SQLITE_OK) {
        return false;
    }
    if (rc != SQLITE_FULL || strstr(text, "its clock stands at 9999-12-31") == NULL ||
        strstr(text, "copy its tables into a new store") == NULL ||
        strstr(text, fixture_path) == NULL) {
        fail_msg("%s: %d %s", sql, rc, text);
    }
    return true;
}

static void writes_are_refused(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "INSERT INTO t VALUES('p', '3', 'three', 3)",
        "INSERT INTO t(PartitionKey, RowKey) VALUES('p', '3')",
        "INSERT INTO t VALUES('p', '3', printf('%.5000c', 'y'), 3)",
        "INSERT INTO t(PartitionKey, RowKey, N, WriteMode) VALUES('p', '1', 9, 'merge')",
        "UPDATE t SET N = N + 1 WHERE RowKey = '1'",
        "UPDATE t SET S = 'longer than it was' WHERE RowKey = '1'",
        "UPDATE t SET S = printf('%.6000c', 'z')",
        "UPDATE t SET RowKey = '3' WHERE RowKey = '1'",
        "INSERT INTO q(Body) VALUES('c')",
        "SELECT * FROM pt_queue_get('q', 1)",
        "SELECT u.* FROM held, pt_queue_update('q', held.MessageId, held.PopReceipt, 5) AS u",
        "UPDATE q SET Body = 'd' WHERE (MessageId, PopReceipt) IN (SELECT * FROM receipt)",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        assert_true(is_refused(statements[i]));
        assert_number(1, "SELECT count(*) = 2 AND sum(N) = 3 AND sum(length(S)) = 5003 FROM t");
        assert_number(2, "SELECT count(*) FROM q");
    }
    assert_number(2, "SELECT count(DISTINCT Timestamp) FROM t");
}

/* The timestamps that are left, fewer than a statement takes, are used up with it. */
static void the_clock_ends_within_a_statement(void **state)
{
    static const struct {
        const char *sql;
        int least; /* timestamps that it takes */
    } statements[] = {
        {"INSERT INTO t VALUES('p', '3', 'three', 3), ('p', '4', 'four', 4), ('p', '5', 'five', 5)",
         3},
        {"INSERT INTO t VALUES('p', '3', printf('%.5000c', 'y'), 3), ('p', '4', 'four', 4)", 2},
        {"INSERT INTO t VALUES('p', '3', 'x', 3), ('p', '4', 'y', 4), ('p', '5', 'z', 5), "
         "('p', '6', 'a row like the last one', 6)",
         4},
        {"UPDATE t SET N = N + 1", 2},
        {"INSERT INTO q(Body) VALUES('c'), ('d')", 2},
        {"SELECT u.* FROM held, pt_queue_update('q', held.MessageId, held.PopReceipt, 5) AS u", 2},
        {"UPDATE q SET Body = 'd' WHERE (MessageId, PopReceipt) IN (SELECT * FROM receipt)", 1},
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        int left = 0;
        for (bool refused = true; refused; left++) {
            assert_int_equal(set_up_with(state, left), 0);
            refused = is_refused(statements[i].sql);
            if (refused) {
                assert_number(1, "SELECT count(*) = 2 AND sum(N) = 3 FROM t");
                assert_number(1, "SELECT count(*) = 2 AND max(Body) = 'b' FROM q");
                assert_true(is_refused("INSERT INTO t VALUES('p', '3', 'three', 3)"));
            }
            assert_int_equal(teardown(state), 0);
        }
        assert_true(left > statements[i].least);
    }
}

static void the_rest_goes_on(void **state)
{
    (void)state;
    run_sql(db, "DELETE FROM t WHERE RowKey = '1'");
    assert_number(1, "SELECT count(*) FROM t");
    /* Follows the advice in the message. */
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE c USING ptable(S String, N Int32, "
                                "store='%s/new.ptable'); INSERT INTO c SELECT * FROM t;"
                                "UPDATE c SET N = 7;"
                                "DELETE FROM pt_tables WHERE TableName = 't' AND Store = %Q",
                                fixture_folder, fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    assert_number(7, "SELECT N FROM c WHERE length(S) = 5000");
    run_sql(db, "DROP TABLE t; DROP TABLE q");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_are_refused, setup, teardown),
        cmocka_unit_test(the_clock_ends_within_a_statement),
        cmocka_unit_test_setup_teardown(the_rest_goes_on, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
