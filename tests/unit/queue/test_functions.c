/*
 * What pt_queue_get and pt_queue_update take and give.
 */
#include "unit/queue/queue_function_fixture.h"

/* --- What they give --- */

static void test_columns(void **state)
{
    (void)state;
    assert_rows("SELECT * FROM pt_queue_get('jobs', 2, 7)",
                "m1,body,0001-01-01T00:00:00.0000000Z,-,0001-01-01T00:00:00.0000001Z,7,r1 "
                "m2,body,0001-01-01T00:00:00.0000000Z,0001-01-01T00:00:00.0000002Z,"
                "0001-01-01T00:00:00.0000002Z,7,r2");
    assert_rows("SELECT * FROM pt_queue_update('jobs', 'id', 'receipt', 8, 'new')",
                "id receipt,new,0001-01-01T00:00:00.0000000Z,0001-01-01T00:00:00.0000003Z,"
                "0001-01-01T00:00:00.0000003Z,8,r3");
    assert_rows("SELECT typeof(Body), length(Body) FROM pt_queue_update('jobs', 'a', 'b', 0)",
                "blob,0");
    assert_rows("SELECT typeof(Body) FROM pt_queue_get('jobs')", "text");
}

static void test_defaults(void **state)
{
    (void)state;
    assert_rows("SELECT MessageId, DequeueCount FROM pt_queue_get('jobs')", "m1,30");
    assert_rows("SELECT MessageId, DequeueCount FROM pt_queue_get('jobs', 2)", "m2,30 m3,30");
    assert_rows("SELECT MessageId FROM pt_queue_get('jobs', 0)", "");
}

static void test_arguments_are_columns(void **state)
{
    (void)state;
    assert_rows("SELECT argument1, argument2, argument3 FROM pt_queue_get('jobs', 1)", "jobs,1,-");
    assert_rows("SELECT DequeueCount FROM pt_queue_get WHERE argument1 = 'jobs' AND argument3 = 2",
                "2");
    assert_rows("SELECT MessageId FROM pt_queue_get('jobs', 2) WHERE argument2 = 2", "m3 m4");
    assert_rows("SELECT MessageId FROM t, pt_queue_get('jobs', 1, 30) WHERE argument2 = n",
                "m5 m5");
}

static void test_names_of_queues(void **state)
{
    (void)state;
    run("ATTACH ':memory:' AS \"other.one\"; CREATE VIRTUAL TABLE \"other.one\".\"its \"\"own\" "
        "USING queue_double; CREATE VIRTUAL TABLE temp.\"a.b\" USING queue_double");
    assert_rows("SELECT MessageId FROM pt_queue_get('main.jobs')", "m1");
    assert_rows("SELECT MessageId FROM pt_queue_get('JOBS')", "m2");
    assert_rows("SELECT MessageId FROM pt_queue_get('its \"own')", "m1");
    assert_rows("SELECT MessageId FROM pt_queue_get('a.b')", "m1");
    assert_rows("SELECT MessageId FROM pt_queue_get('temp.a.b')", "m2");
    run("CREATE TEMP TABLE jobs(Request)");
    assert_fails(
        "SELECT * FROM pt_queue_get('jobs')", SQLITE_ERROR,
        "ptable: pt_queue_get: 'jobs' is not the name of a queue; give the name of a table "
        "created USING pt_queue");
    assert_rows("SELECT count(*) FROM temp.jobs", "0");
    assert_rows("SELECT MessageId FROM pt_queue_get('main.jobs')", "m3");
}

#define NO_QUEUE(name)                                                                             \
    "ptable: pt_queue_get: '" name "' is not the name of a queue; give the name of a table "       \
    "created USING pt_queue"
#define GET_USAGE "write pt_queue_get('queue' [, count [, seconds]])"

static void test_wrong_arguments(void **state)
{
    (void)state;
    assert_fails("SELECT * FROM pt_queue_get('none')", SQLITE_ERROR, NO_QUEUE("none"));
    assert_fails("SELECT * FROM pt_queue_get('no.ne')", SQLITE_ERROR, NO_QUEUE("no.ne"));
    assert_fails("SELECT * FROM pt_queue_get('main.none')", SQLITE_ERROR, NO_QUEUE("main.none"));
    assert_fails("SELECT * FROM pt_queue_get('')", SQLITE_ERROR, NO_QUEUE(""));
    assert_fails("SELECT * FROM pt_queue_get('t')", SQLITE_ERROR, NO_QUEUE("t"));
    assert_fails("SELECT * FROM pt_queue_get('sqlite_schema')", SQLITE_ERROR,
                 NO_QUEUE("sqlite_schema"));
    assert_fails("SELECT * FROM pt_queue_get(NULL)", SQLITE_ERROR,
                 "ptable: pt_queue_get: the name of the queue is NULL; " GET_USAGE);
    assert_fails("SELECT * FROM pt_queue_get", SQLITE_ERROR,
                 "ptable: pt_queue_get: an argument is missing; " GET_USAGE);
    assert_fails("SELECT * FROM pt_queue_get WHERE argument2 = 1", SQLITE_ERROR,
                 "ptable: pt_queue_get: an argument is missing; " GET_USAGE);
    assert_fails("SELECT * FROM pt_queue_update('jobs', 'id', 'receipt')", SQLITE_ERROR,
                 "ptable: pt_queue_update: an argument is missing; write pt_queue_update('queue', "
                 "id, receipt, seconds [, body])");
    assert_int_equal(double_asked, 0);
}

static void test_the_queue_refuses(void **state)
{
    (void)state;
    assert_fails("SELECT * FROM pt_queue_get('jobs', 1, NULL)", SQLITE_MISMATCH,
                 "ptable: pt_queue_get: jobs: seconds are a number");
    run("PRAGMA query_only = 1");
    assert_fails("SELECT * FROM pt_queue_get('jobs')", SQLITE_READONLY,
                 "ptable: pt_queue_get: attempt to write a readonly database");
    run("PRAGMA query_only = 0");
    assert_handed_out(0);
}

static int refuse_inserts(void *answer, int action, const char *a, const char *b, const char *c,
                          const char *d)
{
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return action == SQLITE_INSERT ? *(const int *)answer : SQLITE_OK;
}

static void test_authorizer(void **state)
{
    (void)state;
    static const int answers[] = {SQLITE_DENY, SQLITE_IGNORE};
    for (int i = 0; i < 2; i++) {
        int answer = answers[i];
        sqlite3_set_authorizer(db, refuse_inserts, &answer);
        assert_fails("SELECT * FROM pt_queue_get('jobs')", SQLITE_AUTH,
                     "ptable: pt_queue_get: not authorized; let the authorizer allow INSERT into "
                     "the queue");
        sqlite3_set_authorizer(db, NULL, NULL);
    }
    assert_handed_out(0);
}

static void assert_unsafe(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_ERROR);
    assert_string_equal(sqlite3_errmsg(db), "unsafe use of virtual table \"pt_queue_get\"");
}

static void test_views_and_triggers(void **state)
{
    (void)state;
    run("CREATE VIEW v AS SELECT * FROM pt_queue_get('jobs')");
    assert_unsafe("SELECT * FROM v");
    run("CREATE TRIGGER r AFTER INSERT ON t BEGIN"
        " UPDATE t SET n = (SELECT MessageId FROM pt_queue_get('jobs')) WHERE x = new.x; END");
    assert_unsafe("INSERT INTO t VALUES (4, 0)");
    assert_handed_out(0);
}

/* A trigger is a statement for each row. */
static void test_temporary_views_and_triggers(void **state)
{
    (void)state;
    run("CREATE TEMP VIEW v AS SELECT MessageId FROM pt_queue_get('jobs');"
        "CREATE TEMP TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET n ="
        " (SELECT MessageId || u.x FROM pt_queue_get('jobs')) FROM t AS u WHERE t.x = new.x; END");
    assert_rows("SELECT a.MessageId, b.MessageId FROM v AS a, v AS b", "m1,m2");
    run("INSERT INTO t VALUES (4, 0), (5, 0)");
    assert_rows("SELECT substr(n, 1, 2) FROM t WHERE x > 3", "m3 m4");
}

/* --- Without memory --- */

/* One allocation fails: nothing is handed out, or the rows are there. */
static void try_without_memory(const char *sql, const char *expected, bool persistent)
{
    bool hit = true;
    for (int n = 0; hit; n++) {
        char text[TEXT_SIZE];
        run("DROP TABLE IF EXISTS jobs; CREATE VIRTUAL TABLE jobs USING queue_double");
        sqlite3_stmt *statement = prepare(sql);
        failing_malloc_arm(n, persistent);
        int rc = finish(statement, text);
        hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_OK || (rc == SQLITE_NOMEM && hit));
        if (rc == SQLITE_OK) {
            assert_string_equal(text, expected);
        }
        sqlite3_finalize(statement);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        try_without_memory("SELECT MessageId FROM pt_queue_get('main.jobs', 2)", "m1 m2",
                           persistent != 0);
        try_without_memory("SELECT MessageId FROM pt_queue_update('jobs', 'id', x'00', 1.5, 'b')"
                           " WHERE 0 UNION ALL SELECT MessageId FROM t, pt_queue_get('jobs', n)",
                           "m1 m2 m3 m1", persistent != 0);
    }
}

static void test_out_of_memory_connecting(void **state)
{
    (void)state;
    bool hit = true;
    for (int n = 0; hit; n++) {
        sqlite3_stmt *statement = NULL;
        teardown(NULL);
        setup(NULL);
        failing_malloc_arm(n, false);
        int rc = sqlite3_prepare_v2(db, "SELECT * FROM pt_queue_get('jobs')", -1, &statement, NULL);
        hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_OK || (rc == SQLITE_NOMEM && hit));
        sqlite3_finalize(statement);
        assert_rows("SELECT MessageId FROM pt_queue_get('jobs')", "m1");
    }
}

/* --- With a queue of its own kind --- */

static int set_queue_up(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    sqlite3_extended_result_codes(db, 1);
    return sqlite3_ptable_init(db, NULL, NULL);
}

static int close_queue(void **state)
{
    (void)state;
    return sqlite3_close(db);
}

static void make_messages(void)
{
    run("DELETE FROM pt_tables; DROP TABLE IF EXISTS real; CREATE VIRTUAL TABLE real USING"
        " pt_queue(); INSERT INTO real(Body) VALUES ('a'), ('b'), ('c')");
}

static void assert_handed_out_of_real(int expected)
{
    char text[TEXT_SIZE];
    sqlite3_stmt *statement = prepare("SELECT count(*) FROM real WHERE DequeueCount > 0");
    assert_int_equal(finish(statement, text), SQLITE_OK);
    assert_int_equal(atoi(text), expected);
    sqlite3_finalize(statement);
}

/* The rows are there, or none of the messages is handed out; unless SQLite has no memory for a row
 * after the queue's commit. */
static void test_out_of_memory_with_a_queue(void **state)
{
    (void)state;
    bool hit = true;
    int kept = 0;
    for (int n = 0; hit; n++) {
        char text[TEXT_SIZE];
        make_messages();
        sqlite3_stmt *statement = prepare("SELECT Body FROM pt_queue_get('real', 2)");
        failing_malloc_arm(n, n % 2 == 0);
        int rc = finish(statement, text);
        hit = failing_malloc_disarm();
        sqlite3_finalize(statement);
        assert_true(rc == SQLITE_OK || (rc == SQLITE_NOMEM && hit));
        if (rc == SQLITE_OK) {
            assert_string_equal(text, "a b");
            assert_handed_out_of_real(2);
        } else {
            statement = prepare("SELECT Body FROM pt_queue_get('real', 3)");
            finish(statement, text);
            sqlite3_finalize(statement);
            assert_true(strcmp(text, "a b c") == 0 || strcmp(text, "c") == 0);
            kept += strcmp(text, "c") == 0;
        }
    }
    assert_in_range(kept, 0, 10);
}

/* Out of memory, SQLite takes the whole transaction back. */
static void test_out_of_memory_in_a_transaction(void **state)
{
    (void)state;
    bool hit = true;
    make_messages();
    for (int n = 0; hit; n++) {
        char text[TEXT_SIZE];
        run("BEGIN; SELECT Body FROM pt_queue_get('real')");
        sqlite3_stmt *statement =
            prepare("SELECT u.Body FROM pt_queue_get('main.real', 1, 2) AS q,"
                    " pt_queue_update('real', q.MessageId, q.PopReceipt, 3, 'new') AS u");
        failing_malloc_arm(n, false);
        int rc = finish(statement, text);
        hit = failing_malloc_disarm();
        sqlite3_finalize(statement);
        assert_true(rc == SQLITE_OK || (rc == SQLITE_NOMEM && hit));
        assert_true(rc == SQLITE_OK || sqlite3_get_autocommit(db));
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        assert_handed_out_of_real(0);
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        queue_test(test_columns),
        queue_test(test_defaults),
        queue_test(test_arguments_are_columns),
        queue_test(test_names_of_queues),
        queue_test(test_wrong_arguments),
        queue_test(test_the_queue_refuses),
        queue_test(test_authorizer),
        queue_test(test_views_and_triggers),
        queue_test(test_temporary_views_and_triggers),
        queue_test(test_out_of_memory),
        queue_test(test_out_of_memory_connecting),
        cmocka_unit_test_setup_teardown(test_out_of_memory_with_a_queue, set_queue_up, close_queue),
        cmocka_unit_test_setup_teardown(test_out_of_memory_in_a_transaction, set_queue_up,
                                        close_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
