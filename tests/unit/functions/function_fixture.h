/*
 * A connection for tests of SQL functions: evaluates expressions, also while allocations fail.
 */
#ifndef TESTS_UNIT_FUNCTIONS_FUNCTION_FIXTURE_H
#define TESTS_UNIT_FUNCTIONS_FUNCTION_FIXTURE_H

#include "fixtures/cmocka.h"

#include <sqlite3.h>
#include <string.h>

#include "faults/failing_malloc.h"

typedef void (*sql_function)(sqlite3_context *, int, sqlite3_value **);

/* Without lookaside, so that every allocation can be made to fail. */
static inline sqlite3 *fixture_open(void)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0), SQLITE_OK);
    return db;
}

static inline void fixture_register(sqlite3 *db, const char *name, sql_function function)
{
    assert_int_equal(sqlite3_create_function_v2(db, name, -1, SQLITE_UTF8, (void *)name, function,
                                                NULL, NULL, NULL),
                     SQLITE_OK);
}

static inline void fixture_close(sqlite3 *db)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_memory_used(), 0);
}

/* Makes a table t whose column x has this text, in a database of UTF-16. */
static inline void fixture_make_wide(sqlite3 *db, const char *text)
{
    char *sql = sqlite3_mprintf("PRAGMA encoding='UTF-16le'; CREATE TABLE t(x); "
                                "INSERT INTO t VALUES (%Q)",
                                text);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
}

/* The first column of the first row as text ("(null)" for NULL), or the error text; from
 * sqlite3_malloc. NULL when out of memory. */
static inline char *fixture_step(sqlite3_stmt *statement)
{
    char *answer = NULL;
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        bool null = sqlite3_column_type(statement, 0) == SQLITE_NULL;
        const unsigned char *text = sqlite3_column_text(statement, 0);
        if (text != NULL || null) {
            answer = sqlite3_mprintf("%s", null ? "(null)" : (const char *)text);
        }
    } else if (rc != SQLITE_NOMEM) {
        assert_int_equal(rc, SQLITE_ERROR);
        answer = sqlite3_mprintf("%s", sqlite3_errmsg(sqlite3_db_handle(statement)));
    }
    return answer;
}

static inline void fixture_expect(sqlite3 *db, const char *expression, const char *expected)
{
    char *sql = sqlite3_mprintf("SELECT %s", expression);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    char *answer = fixture_step(statement);
    assert_non_null(answer);
    assert_string_equal(answer, expected);
    sqlite3_finalize(statement);
    sqlite3_free(answer);
    sqlite3_free(sql);
}

/*
 * Fails every allocation of the expression's evaluation in turn: the answer is the expected one or
 * SQLITE_NOMEM, and afterwards the same expression works again. Where SQLite itself has no memory
 * to keep a function's error text, it gives the code's own text instead.
 */
static inline void fixture_expect_without_memory(sqlite3 *db, const char *expression,
                                                 const char *expected, bool persistent)
{
    char *sql = sqlite3_mprintf("SELECT %s", expression);
    bool hit = true;
    int failures = 0;
    for (int n = 0; hit; n++) {
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        failing_malloc_arm(n, persistent);
        char *answer = fixture_step(statement);
        hit = failing_malloc_disarm();
        failures += hit;
        bool lost = answer == NULL || strcmp(answer, sqlite3_errstr(SQLITE_ERROR)) == 0;
        assert_true(!lost || hit);
        if (!lost) {
            assert_string_equal(answer, expected);
        }
        sqlite3_free(answer);
        sqlite3_finalize(statement);
    }
    assert_true(failures > 0);
    sqlite3_free(sql);
    fixture_expect(db, expression, expected);
}

typedef struct function_answer {
    const char *expression;
    const char *answer; /* or the error's text */
} function_answer;

static inline void fixture_expect_all(sqlite3 *db, const function_answer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fixture_expect(db, answers[i].expression, answers[i].answer);
    }
}

/* Once with one allocation failing, once with all from it on. */
static inline void fixture_expect_all_without_memory(sqlite3 *db, const function_answer *answers,
                                                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fixture_expect_without_memory(db, answers[i].expression, answers[i].answer, false);
        fixture_expect_without_memory(db, answers[i].expression, answers[i].answer, true);
    }
}

#endif
