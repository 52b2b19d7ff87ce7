/*
 * pt_queue_get and pt_queue_update on a queue that hands out m1, m2, m3, ...: who is handed out
 * what, however SQLite evaluates the statement.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "companion.h"
#include "failing_malloc.h"
#include "ptable.h"
#include "queue_double.h"
#include "queue_functions.h"

enum { TEXT_SIZE = 400 };

static sqlite3 *db;
static pt_connection *connection;

static void run(const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
}

static int setup(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    sqlite3_extended_result_codes(db, 1);
    pt_error error = PT_ERROR_NONE;
    connection = pt_connection_new(db);
    assert_int_equal(pt_companion_register(db, connection, &error), SQLITE_OK);
    assert_int_equal(pt_queue_functions_register(db, connection), SQLITE_OK);
    assert_int_equal(sqlite3_create_module_v2(db, "queue_double", &double_module, NULL, NULL),
                     SQLITE_OK);
    run("CREATE VIRTUAL TABLE jobs USING queue_double; CREATE TABLE t(x INTEGER PRIMARY KEY, n);"
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 1); CREATE TABLE done(Body UNIQUE, MessageId)");
    double_asked = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pt_connection_release(connection);
    return sqlite3_close(db) == SQLITE_OK && sqlite3_memory_used() == 0 ? 0 : -1;
}

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    return statement;
}

static void append_row(char text[TEXT_SIZE], sqlite3_stmt *statement)
{
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        size_t size = strlen(text);
        const unsigned char *value = sqlite3_column_text(statement, i);
        snprintf(text + size, TEXT_SIZE - size, "%s%s",
                 i > 0      ? ","
                 : size > 0 ? " "
                            : "",
                 value != NULL ? (const char *)value : "-");
    }
}

/* Runs a statement to its end: its rows, or the error. Returns the code. */
static int finish(sqlite3_stmt *statement, char text[TEXT_SIZE])
{
    int rc;
    text[0] = 0;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        append_row(text, statement);
    }
    if (rc != SQLITE_DONE) {
        snprintf(text, TEXT_SIZE, "%s", sqlite3_errmsg(db));
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void assert_rows_of(sqlite3_stmt *statement, const char *expected)
{
    char text[TEXT_SIZE];
    finish(statement, text);
    assert_string_equal(text, expected);
    sqlite3_reset(statement);
}

static void assert_rows(const char *sql, const char *expected)
{
    sqlite3_stmt *statement = prepare(sql);
    assert_rows_of(statement, expected);
    sqlite3_finalize(statement);
}

static void assert_fails(const char *sql, int code, const char *expected)
{
    char text[TEXT_SIZE];
    sqlite3_stmt *statement = prepare(sql);
    assert_int_equal(finish(statement, text), code);
    assert_string_equal(text, expected);
    sqlite3_finalize(statement);
}

static void assert_handed_out(int expected)
{
    sqlite3_stmt *statement = prepare("SELECT handed_out FROM jobs");
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), expected);
    sqlite3_finalize(statement);
}

/* Executed twice, a statement gives the rows of its first hand-out, then those of a new one, each
 * with so many requests. */
static void assert_hands_out(const char *sql, const char *first, const char *second, int requests)
{
    run("DROP TABLE jobs; CREATE VIRTUAL TABLE jobs USING queue_double");
    double_asked = 0;
    sqlite3_stmt *statement = prepare(sql);
    assert_rows_of(statement, first);
    assert_int_equal(double_asked, requests);
    assert_rows_of(statement, second);
    assert_int_equal(double_asked, 2 * requests);
    sqlite3_finalize(statement);
}

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
        "that was made USING pt_queue");
    assert_rows("SELECT count(*) FROM temp.jobs", "0");
    assert_rows("SELECT MessageId FROM pt_queue_get('main.jobs')", "m3");
}

#define NO_QUEUE(name)                                                                             \
    "ptable: pt_queue_get: '" name "' is not the name of a queue; give the name of a table that "  \
    "was made USING pt_queue"
#define GET_USAGE "write pt_queue_get('queue', count, seconds) with the last two or without"

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
                 "ptable: pt_queue_get: needs to be told more; " GET_USAGE);
    assert_fails("SELECT * FROM pt_queue_get WHERE argument2 = 1", SQLITE_ERROR,
                 "ptable: pt_queue_get: needs to be told more; " GET_USAGE);
    assert_fails("SELECT * FROM pt_queue_update('jobs', 'id', 'receipt')", SQLITE_ERROR,
                 "ptable: pt_queue_update: needs to be told more; write pt_queue_update('queue', "
                 "id, receipt, seconds, body) with body or without");
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

static int deny_inserts(void *context, int action, const char *a, const char *b, const char *c,
                        const char *d)
{
    (void)context;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return action == SQLITE_INSERT ? SQLITE_DENY : SQLITE_OK;
}

static void test_authorizer(void **state)
{
    (void)state;
    sqlite3_set_authorizer(db, deny_inserts, NULL);
    assert_fails("SELECT * FROM pt_queue_get('jobs')", SQLITE_AUTH,
                 "ptable: pt_queue_get: not authorized");
    sqlite3_set_authorizer(db, NULL, NULL);
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

/* --- Once for an execution --- */

static void test_plain_selects(void **state)
{
    (void)state;
    assert_hands_out("SELECT MessageId FROM pt_queue_get('jobs', 2)", "m1 m2", "m3 m4", 1);
    assert_hands_out("SELECT MessageId FROM pt_queue_get('jobs', 3) ORDER BY 1 DESC LIMIT 1", "m3",
                     "m6", 1);
    assert_hands_out("SELECT MessageId FROM pt_queue_get('jobs', 3) LIMIT 1 OFFSET 1", "m2", "m5",
                     1);
    assert_hands_out("SELECT DISTINCT Body FROM pt_queue_get('jobs', 3)", "body", "body", 1);
    assert_hands_out("SELECT count(*), min(MessageId) FROM pt_queue_get('jobs', 2)", "2,m1", "2,m3",
                     1);
    assert_hands_out("SELECT max(MessageId) OVER () FROM pt_queue_get('jobs', 2)", "m2 m2", "m4 m4",
                     1);
    assert_hands_out("SELECT MessageId FROM pt_queue_get('jobs', 2) WHERE 0", "", "", 0);
    run("EXPLAIN SELECT * FROM pt_queue_get('jobs')");
    assert_rows("SELECT 1 FROM pt_queue_get('jobs') LIMIT 0", "");
    assert_handed_out(0);
}

static void test_joins(void **state)
{
    (void)state;
    assert_hands_out("SELECT x, MessageId FROM t CROSS JOIN pt_queue_get('jobs', 2)",
                     "1,m1 1,m2 2,m1 2,m2 3,m1 3,m2", "1,m3 1,m4 2,m3 2,m4 3,m3 3,m4", 1);
    assert_hands_out("SELECT x, MessageId FROM pt_queue_get('jobs', 2) CROSS JOIN t",
                     "1,m1 2,m1 3,m1 1,m2 2,m2 3,m2", "1,m3 2,m3 3,m3 1,m4 2,m4 3,m4", 1);
    assert_hands_out("SELECT x, MessageId FROM t LEFT JOIN pt_queue_get('jobs') ON x > 1",
                     "1,- 2,m1 3,m1", "1,- 2,m2 3,m2", 1);
    assert_hands_out("SELECT x, MessageId FROM t FULL JOIN pt_queue_get('jobs', 2) ON x = 2",
                     "1,- 2,m1 2,m2 3,-", "1,- 2,m3 2,m4 3,-", 1);
    assert_hands_out("SELECT x, MessageId FROM pt_queue_get('jobs') RIGHT JOIN t ON x = 2",
                     "2,m1 1,- 3,-", "2,m2 1,- 3,-", 1);
    assert_hands_out("SELECT x, MessageId FROM t CROSS JOIN pt_queue_get('jobs') WHERE x > 5", "",
                     "", 0);
}

static void test_two_places(void **state)
{
    (void)state;
    assert_hands_out("SELECT a.MessageId, b.MessageId FROM pt_queue_get('jobs') AS a,"
                     " pt_queue_get('jobs') AS b",
                     "m1,m2", "m3,m4", 2);
    assert_hands_out("SELECT MessageId FROM pt_queue_get('jobs')"
                     " UNION ALL SELECT MessageId FROM pt_queue_get('jobs')",
                     "m1 m2", "m3 m4", 2);
    assert_hands_out("SELECT (SELECT MessageId || x FROM pt_queue_get('jobs')) || ' '"
                     " || (SELECT MessageId || x FROM pt_queue_get('jobs')) FROM t",
                     "m11 m21 m12 m22 m13 m23", "m31 m41 m32 m42 m33 m43", 2);
}

static void test_arguments_from_a_table(void **state)
{
    (void)state;
    assert_hands_out("SELECT x, MessageId FROM t, pt_queue_get('jobs', n)", "1,m1 2,m2 2,m3 3,m1",
                     "1,m4 2,m5 2,m6 3,m4", 2);
    assert_hands_out("SELECT MessageId FROM t, pt_queue_get('jobs', 1, x) WHERE x < 3", "m1 m2",
                     "m3 m4", 2);
    assert_hands_out("SELECT q.MessageId, u.PopReceipt FROM pt_queue_get('jobs') AS q,"
                     " pt_queue_update('jobs', q.MessageId, q.PopReceipt, 0) AS u",
                     "m1,r2", "m3,r4", 2);
    assert_hands_out("SELECT MessageId FROM pt_queue_get WHERE argument1 IN ('jobs', 'main.jobs')",
                     "m1 m2", "m3 m4", 2);
}

/* Values that are equal, yet not the same, and those that may be taken for another. */
static void test_arguments_that_differ(void **state)
{
    (void)state;
    assert_hands_out("SELECT group_concat(MessageId, ' ') FROM (VALUES ('a', 'bc'), ('ab', 'c'),"
                     " ('a', x'6263'), ('a', NULL), ('a', 1), ('a', 1.0), ('a', 1.5), ('a', '1'),"
                     " ('a', 'bc'), ('a', x'6263'), ('a', 1.5)) AS v,"
                     " pt_queue_update('jobs', column1, column2, 0)",
                     "a bc ab c a bc a  a 1 a 1.0 a 1.5 a 1 a bc a bc a 1.5",
                     "a bc ab c a bc a  a 1 a 1.0 a 1.5 a 1 a bc a bc a 1.5", 8);
}

static void test_subqueries(void **state)
{
    (void)state;
    assert_hands_out("SELECT (SELECT MessageId FROM pt_queue_get('jobs')) FROM t", "m1 m1 m1",
                     "m2 m2 m2", 1);
    assert_hands_out("SELECT (SELECT MessageId || x FROM pt_queue_get('jobs')) FROM t",
                     "m11 m12 m13", "m21 m22 m23", 1);
    assert_hands_out("SELECT (SELECT group_concat(MessageId || x) FROM pt_queue_get('jobs', n))"
                     " FROM t",
                     "m11 m22,m32 m13", "m41 m52,m62 m43", 2);
    assert_hands_out("SELECT (SELECT a.MessageId || b.MessageId || x FROM pt_queue_get('jobs') AS"
                     " a, pt_queue_get('jobs') AS b) FROM t",
                     "m1m21 m1m22 m1m23", "m3m41 m3m42 m3m43", 2);
    assert_hands_out("SELECT x FROM t WHERE EXISTS"
                     " (SELECT 1 FROM pt_queue_get('jobs') WHERE DequeueCount > x)",
                     "1 2 3", "1 2 3", 1);
    assert_hands_out("SELECT x FROM t WHERE 'm' || x IN (SELECT MessageId FROM"
                     " pt_queue_get('jobs', 2))",
                     "1 2", "3", 1);
    assert_hands_out("SELECT x FROM t WHERE ('m' || x, 'r' || x) IN (SELECT MessageId, PopReceipt"
                     " FROM pt_queue_get('jobs', 2))",
                     "1 2", "3", 1);
    assert_hands_out("SELECT m FROM (SELECT (SELECT MessageId FROM pt_queue_get('jobs')) AS m)"
                     " WHERE m IS NOT NULL",
                     "m1", "m2", 1);
}

static void test_common_table_expressions(void **state)
{
    (void)state;
    assert_hands_out("WITH q AS MATERIALIZED (SELECT * FROM pt_queue_get('jobs'))"
                     " SELECT a.MessageId, b.MessageId FROM q AS a, q AS b",
                     "m1,m1", "m2,m2", 1);
    assert_hands_out("WITH q AS NOT MATERIALIZED (SELECT * FROM pt_queue_get('jobs'))"
                     " SELECT a.MessageId, b.MessageId FROM q AS a, q AS b",
                     "m1,m2", "m3,m4", 2);
    assert_hands_out("WITH RECURSIVE r(i, m) AS (VALUES (1, '') UNION ALL"
                     " SELECT i + 1, MessageId FROM r, pt_queue_get('jobs') WHERE i < 3)"
                     " SELECT m FROM r WHERE i > 1",
                     "m1 m1", "m2 m2", 1);
}

/* SQLite reads a table for each part of an OR that it has an index for, or thinks it has. */
static void test_or(void **state)
{
    (void)state;
    assert_hands_out("SELECT MessageId FROM pt_queue_get('jobs', 3)"
                     " WHERE MessageId = 'm2' OR DequeueCount > 1",
                     "m1 m2 m3", "m4 m5 m6", 1);
    assert_hands_out("SELECT x, MessageId FROM t, pt_queue_get('jobs', n) AS q"
                     " WHERE q.MessageId = 'm2' OR q.DequeueCount > x",
                     "1,m1 2,m2 2,m3 3,m1", "1,m4 2,m5 2,m6 3,m4", 2);
    assert_hands_out(
        "SELECT MessageId FROM pt_queue_get WHERE argument1 = 'jobs' AND MessageId > 'a'"
        " OR argument1 = 'jobs' AND MessageId < 'z'",
        "m1", "m2", 1);
    assert_hands_out("SELECT MessageId FROM pt_queue_get WHERE argument1 = 'jobs' AND argument3 = 1"
                     " OR argument1 = 'main.jobs' AND argument2 = 2",
                     "m1 m2 m3", "m4 m5 m6", 2);
}

static void test_statements_that_write(void **state)
{
    (void)state;
    run("INSERT INTO done SELECT MessageId, PopReceipt FROM pt_queue_get('jobs', 2)");
    assert_rows("SELECT * FROM done", "m1,r1 m2,r2");
    run("CREATE TABLE made AS SELECT MessageId FROM pt_queue_get('jobs', 2)");
    assert_rows("SELECT * FROM made", "m3 m4");
    run("UPDATE t SET n = MessageId FROM pt_queue_get('jobs') WHERE x = 1");
    run("UPDATE t SET n = (SELECT MessageId || x FROM pt_queue_get('jobs')) WHERE x > 1");
    assert_rows("SELECT n FROM t", "m5 m62 m63");
    run("DELETE FROM made; INSERT INTO made VALUES ('m7'), ('m8'), ('m9')");
    run("DELETE FROM made WHERE MessageId IN (SELECT MessageId FROM pt_queue_get('jobs', 2))");
    assert_rows("SELECT * FROM made", "m9");
    run("INSERT INTO done VALUES ('m9', 'r9'), ('m10', 'x')");
    run("DELETE FROM done WHERE (Body, MessageId) IN"
        " (SELECT MessageId, PopReceipt FROM pt_queue_get('jobs', 2))");
    assert_rows("SELECT Body FROM done ORDER BY rowid", "m1 m2 m10");
    assert_handed_out(10);
}

/* The nested statement writes the table that the outer one is about to write. */
static void test_consuming(void **state)
{
    (void)state;
    run("DELETE FROM jobs WHERE (handed_out, Request) IN"
        " (SELECT DequeueCount, PopReceipt FROM pt_queue_get('jobs', 2))");
    assert_handed_out(2);
    assert_int_equal(double_asked, 1);
}

/* --- Several statements --- */

static void test_half_read(void **state)
{
    (void)state;
    sqlite3_stmt *statement = prepare("SELECT MessageId FROM pt_queue_get('jobs', 3)");
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    sqlite3_reset(statement);
    assert_rows_of(statement, "m4 m5 m6");
    sqlite3_finalize(statement);
}

static void test_statements_side_by_side(void **state)
{
    (void)state;
    static const char sql[] = "SELECT MessageId || x FROM t, pt_queue_get('jobs') ORDER BY +x";
    sqlite3_stmt *one = prepare(sql);
    sqlite3_stmt *other = prepare(sql);
    assert_int_equal(sqlite3_step(one), SQLITE_ROW);
    assert_rows_of(other, "m21 m22 m23");
    assert_string_equal((const char *)sqlite3_column_text(one, 0), "m11");
    assert_int_equal(sqlite3_step(one), SQLITE_ROW);
    assert_int_equal(sqlite3_step(other), SQLITE_ROW);
    sqlite3_reset(one);
    assert_rows_of(one, "m41 m42 m43");
    assert_string_equal((const char *)sqlite3_column_text(other, 0), "m31");
    sqlite3_finalize(one);
    sqlite3_finalize(other);
}

/* SQLite comes to the subquery's place each time; the second time it reads nothing there. */
static void test_a_place_that_is_not_always_read(void **state)
{
    (void)state;
    assert_hands_out("SELECT (SELECT MessageId FROM t AS u CROSS JOIN pt_queue_get('jobs')"
                     " WHERE u.x = t.x AND u.x <> 2) FROM t",
                     "m1 - m1", "m2 - m2", 1);
}

/* A place that has been opened and not read gets nothing of what another statement was given. */
static void test_a_place_that_another_leaves(void **state)
{
    (void)state;
    sqlite3_stmt *one = prepare("SELECT (SELECT MessageId FROM t AS u CROSS JOIN"
                                " pt_queue_get('jobs') WHERE u.x = t.x AND u.x > 1) FROM t");
    sqlite3_stmt *other = prepare("SELECT MessageId FROM pt_queue_get('jobs')");
    assert_int_equal(sqlite3_step(other), SQLITE_ROW);
    assert_int_equal(sqlite3_step(one), SQLITE_ROW);
    sqlite3_reset(other);
    assert_rows_of(other, "m2");
    assert_rows_of(one, "m3 m3");
    sqlite3_finalize(one);
    sqlite3_finalize(other);
}

static void test_interrupt(void **state)
{
    (void)state;
    sqlite3_stmt *statement = prepare("SELECT MessageId FROM pt_queue_get('jobs', 2)");
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    sqlite3_interrupt(db);
    assert_int_equal(sqlite3_step(statement), SQLITE_INTERRUPT);
    sqlite3_reset(statement);
    assert_rows_of(statement, "m3 m4");
    sqlite3_finalize(statement);
}

/* Nor if the other one was compiled again, and this one then where that had been done in memory. */
static void test_a_place_that_one_compiled_again_leaves(void **state)
{
    (void)state;
    sqlite3_stmt *other = prepare("SELECT MessageId FROM pt_queue_get('jobs')");
    run("CREATE TABLE later(x)");
    assert_int_equal(sqlite3_step(other), SQLITE_ROW);
    static const char *const expected[] = {"m2 m2", "m4 m4", "m6 m6", "m8 m8"};
    sqlite3_stmt *some[4];
    for (int i = 0; i < 4; i++) {
        some[i] = prepare("SELECT (SELECT MessageId FROM t AS u CROSS JOIN"
                          " pt_queue_get('jobs') WHERE u.x = t.x AND u.x > 1) FROM t");
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sqlite3_step(some[i]), SQLITE_ROW);
        sqlite3_reset(other);
        assert_rows_of(some[i], expected[i]);
        assert_int_equal(sqlite3_step(other), SQLITE_ROW);
        sqlite3_finalize(some[i]);
    }
    sqlite3_finalize(other);
}

static int interrupt_at_zero(void *left)
{
    int *steps = left;
    return *steps >= 0 && (*steps)-- == 0;
}

/* What stops SQLite while it connects a function is no want of memory. */
static void test_interrupt_connecting(void **state)
{
    (void)state;
    int left = -1;
    for (int n = 0; left < 0; n++) {
        sqlite3_stmt *statement = NULL;
        teardown(NULL);
        setup(NULL);
        left = n;
        sqlite3_progress_handler(db, 1, interrupt_at_zero, &left);
        int rc = sqlite3_prepare_v2(db, "SELECT * FROM pt_queue_get('jobs')", -1, &statement, NULL);
        sqlite3_progress_handler(db, 0, NULL, NULL);
        assert_int_equal(rc, SQLITE_OK);
        sqlite3_finalize(statement);
    }
}

/* --- In transactions --- */

static void test_autocommit(void **state)
{
    (void)state;
    sqlite3_stmt *statement = prepare("SELECT MessageId FROM pt_queue_get('jobs', 2)");
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_txn_state(db, "main"), SQLITE_TXN_READ);
    sqlite3_finalize(statement);
    assert_handed_out(2);
}

static void test_rollback(void **state)
{
    (void)state;
    run("BEGIN");
    assert_rows("SELECT MessageId FROM pt_queue_get('jobs', 2)", "m1 m2");
    run("SAVEPOINT s");
    assert_rows("SELECT MessageId FROM pt_queue_get('jobs')", "m3");
    run("ROLLBACK TO s");
    assert_rows("SELECT MessageId FROM pt_queue_get('jobs')", "m3");
    run("ROLLBACK");
    assert_rows("SELECT MessageId FROM pt_queue_get('jobs')", "m1");
}

/* As rows that SQLite has sorted, those of a hand-out can be read to the end. */
static void test_reading_on_after_rollback(void **state)
{
    (void)state;
    run("BEGIN");
    sqlite3_stmt *statement = prepare("SELECT MessageId FROM pt_queue_get('jobs', 2)");
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    run("ROLLBACK");
    assert_handed_out(0);
    assert_rows_of(statement, "m2");
    assert_rows_of(statement, "m1 m2");
    sqlite3_finalize(statement);
}

#define NOT_UNIQUE "UNIQUE constraint failed: done.Body"

static void test_statement_that_fails_in_autocommit(void **state)
{
    (void)state;
    run("INSERT INTO done VALUES ('body', '')");
    assert_fails("INSERT INTO done SELECT MessageId, 1 FROM pt_queue_get('jobs', 2)"
                 " UNION ALL SELECT 'body', 1",
                 SQLITE_CONSTRAINT_UNIQUE, NOT_UNIQUE);
    assert_handed_out(0);
    assert_fails("INSERT INTO done VALUES ((SELECT Body FROM pt_queue_get('jobs')), 1)",
                 SQLITE_CONSTRAINT_UNIQUE, NOT_UNIQUE);
    assert_handed_out(0);
    assert_rows("SELECT MessageId FROM pt_queue_get('jobs')", "m1");
}

static void test_statement_that_fails_in_a_transaction(void **state)
{
    (void)state;
    run("INSERT INTO done VALUES ('body', ''); BEGIN");
    assert_rows("SELECT MessageId FROM pt_queue_get('jobs')", "m1");
    assert_fails("INSERT INTO done SELECT Body, 1 FROM pt_queue_get('jobs', 2)",
                 SQLITE_CONSTRAINT_UNIQUE, NOT_UNIQUE);
    assert_handed_out(1);
    assert_fails("UPDATE t SET n = json(Body) FROM pt_queue_get('jobs') WHERE x > 1", SQLITE_ERROR,
                 "malformed JSON");
    assert_handed_out(1);
    assert_rows("SELECT MessageId FROM pt_queue_get('jobs')", "m2");
    run("COMMIT");
    assert_handed_out(2);
}

/* SQLite takes back nothing of a statement that only reads, and keeps no savepoint for one row. */
static void test_what_is_not_taken_back(void **state)
{
    (void)state;
    assert_fails("SELECT json(Body) FROM pt_queue_get('jobs')", SQLITE_ERROR, "malformed JSON");
    assert_handed_out(1);
    run("INSERT INTO done VALUES ('body', ''); BEGIN");
    assert_fails("INSERT INTO done VALUES ((SELECT Body FROM pt_queue_get('jobs')), 1)",
                 SQLITE_CONSTRAINT_UNIQUE, NOT_UNIQUE);
    assert_handed_out(2);
    run("ROLLBACK");
    assert_handed_out(1);
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

#define queue_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
        queue_test(test_plain_selects),
        queue_test(test_joins),
        queue_test(test_two_places),
        queue_test(test_arguments_from_a_table),
        queue_test(test_arguments_that_differ),
        queue_test(test_subqueries),
        queue_test(test_common_table_expressions),
        queue_test(test_or),
        queue_test(test_statements_that_write),
        queue_test(test_consuming),
        queue_test(test_half_read),
        queue_test(test_statements_side_by_side),
        queue_test(test_a_place_that_is_not_always_read),
        queue_test(test_a_place_that_another_leaves),
        queue_test(test_a_place_that_one_compiled_again_leaves),
        queue_test(test_interrupt),
        queue_test(test_interrupt_connecting),
        queue_test(test_autocommit),
        queue_test(test_rollback),
        queue_test(test_reading_on_after_rollback),
        queue_test(test_statement_that_fails_in_autocommit),
        queue_test(test_statement_that_fails_in_a_transaction),
        queue_test(test_what_is_not_taken_back),
        queue_test(test_out_of_memory),
        queue_test(test_out_of_memory_connecting),
        cmocka_unit_test_setup_teardown(test_out_of_memory_with_a_queue, set_queue_up, close_queue),
        cmocka_unit_test_setup_teardown(test_out_of_memory_in_a_transaction, set_queue_up,
                                        close_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
