/*
 * For tests of pt_queue_get and pt_queue_update: a connection with them and a queue, jobs, that
 * hands out m1, m2, m3, ... (queue_double.h).
 */
#ifndef TESTS_UNIT_QUEUE_QUEUE_FUNCTION_FIXTURE_H
#define TESTS_UNIT_QUEUE_QUEUE_FUNCTION_FIXTURE_H

#include "fixtures/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "faults/failing_malloc.h"
#include "functions/functions.h"
#include "lmdb/engine.h"
#include "module/companion.h"
#include "ptable.h"
#include "queue/functions.h"
#include "unit/queue/queue_double.h"

enum { TEXT_SIZE = 400 };

static sqlite3 *db;
static pt_connection *connection;

static inline void run(const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
}

static inline int setup(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    sqlite3_extended_result_codes(db, 1);
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_functions_register(db, &error), SQLITE_OK);
    connection = pt_connection_new(db, &pt_lmdb_engine);
    assert_int_equal(pt_companion_register(db, connection, &error), SQLITE_OK);
    assert_int_equal(pt_tvf_register(db, connection, &pt_tvf_queue_get), SQLITE_OK);
    assert_int_equal(pt_tvf_register(db, connection, &pt_tvf_queue_update), SQLITE_OK);
    assert_int_equal(sqlite3_create_module_v2(db, "queue_double", &double_module, NULL, NULL),
                     SQLITE_OK);
    run("CREATE VIRTUAL TABLE jobs USING queue_double; CREATE TABLE t(x INTEGER PRIMARY KEY, n);"
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 1); CREATE TABLE done(Body UNIQUE, MessageId)");
    double_asked = 0;
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    pt_connection_release(connection);
    return sqlite3_close(db) == SQLITE_OK && sqlite3_memory_used() == 0 ? 0 : -1;
}

static inline sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    return statement;
}

static inline void append_row(char text[TEXT_SIZE], sqlite3_stmt *statement)
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
static inline int finish(sqlite3_stmt *statement, char text[TEXT_SIZE])
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

static inline void assert_rows_of(sqlite3_stmt *statement, const char *expected)
{
    char text[TEXT_SIZE];
    finish(statement, text);
    assert_string_equal(text, expected);
    sqlite3_reset(statement);
}

static inline void assert_rows(const char *sql, const char *expected)
{
    sqlite3_stmt *statement = prepare(sql);
    assert_rows_of(statement, expected);
    sqlite3_finalize(statement);
}

static inline void assert_fails(const char *sql, int code, const char *expected)
{
    char text[TEXT_SIZE];
    sqlite3_stmt *statement = prepare(sql);
    assert_int_equal(finish(statement, text), code);
    assert_string_equal(text, expected);
    sqlite3_finalize(statement);
}

static inline void assert_handed_out(int expected)
{
    sqlite3_stmt *statement = prepare("SELECT handed_out FROM jobs");
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), expected);
    sqlite3_finalize(statement);
}

/* Executed twice, a statement gives the rows of its first hand-out, then those of a new one, each
 * with so many requests. */
static inline void assert_hands_out(const char *sql, const char *first, const char *second,
                                    int requests)
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

#define queue_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
