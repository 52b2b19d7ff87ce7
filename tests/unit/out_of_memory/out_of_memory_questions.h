/*
 * Statements that are run once for each allocation of SQLite's allocator that they make, which
 * fails: they end for want of memory or give the rows that they give with memory.
 */
#ifndef TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_QUESTIONS_H
#define TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_QUESTIONS_H

#include "fixtures/store_fixture.h"

#include "faults/failing_malloc.h"
#include "fixtures/connection.h"

enum { ROWS_SIZE = 1 << 16, VALUE_SHOWN = 600, MOST = 100000 };

typedef struct question {
    const char *before; /* with memory, each time; the transaction it begins is rolled back */
    const char *sql;
} question;

static sqlite3 *db;
static unsigned long failures;

/* --- Running --- */

static int append_row(sqlite3_stmt *statement, char *rows, size_t *size)
{
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        int type = sqlite3_column_type(statement, i);
        const void *bytes = sqlite3_column_blob(statement, i);
        size_t length = (size_t)sqlite3_column_bytes(statement, i);
        if (bytes == NULL && type != SQLITE_NULL && sqlite3_errcode(db) == SQLITE_NOMEM) {
            return SQLITE_NOMEM;
        }
        length = length < VALUE_SHOWN ? length : VALUE_SHOWN;
        assert_in_range(length, 0, ROWS_SIZE - *size - 1);
        if (length != 0) {
            memcpy(rows + *size, bytes, length);
        }
        *size += length;
        rows[(*size)++] = '|';
    }
    return SQLITE_OK;
}

/* The rows, one column after the other. */
static int answer(const char *sql, char *rows, size_t *size)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    *size = 0;
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        rc = append_row(statement, rows, size);
    }
    sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* While this statement is open its tables have no cursor to spare, whose buffers are large enough.
 */
static const char *taking_spare_cursors = "SELECT 1 FROM T";

/* The result of asking while allocation n fails; false: there is none. */
static bool ask(const question *asked, int n, int *rc, char *rows, size_t *size)
{
    sqlite3_stmt *other = step_into(db, taking_spare_cursors);
    if (asked->before != NULL) {
        run_sql(db, asked->before);
    }
    failing_malloc_arm(n, false);
    *rc = answer(asked->sql, rows, size);
    bool hit = failing_malloc_disarm();
    sqlite3_finalize(other);
    if (!sqlite3_get_autocommit(db)) {
        run_sql(db, "ROLLBACK");
    }
    return hit;
}

static void try_all(const question *asked)
{
    static char expected[ROWS_SIZE];
    static char rows[ROWS_SIZE];
    size_t expected_size;
    size_t size;
    int expected_rc;
    int rc;
    assert_false(ask(asked, MOST, &expected_rc, expected, &expected_size));
    for (int n = 0; ask(asked, n, &rc, rows, &size); n++) {
        failures++;
        if (rc == SQLITE_NOMEM) {
            continue;
        }
        if (rc != expected_rc || size != expected_size ||
            memcmp(rows, expected, expected_size) != 0) {
            fail_msg("%s: %d without allocation %d: %s", asked->sql, rc, n, sqlite3_errmsg(db));
        }
    }
}

#endif
