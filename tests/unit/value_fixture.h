/*
 * SQL values for tests, from expressions that a database in memory evaluates.
 */
#ifndef VALUE_FIXTURE_H
#define VALUE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "value/value.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static sqlite3 *db;

static inline sqlite3 *open_database(void)
{
    sqlite3 *opened = NULL;
    assert_int_equal(sqlite3_open(":memory:", &opened), SQLITE_OK);
    return opened;
}

static inline int open_shared(void **state)
{
    (void)state;
    db = open_database();
    return 0;
}

static inline int close_shared(void **state)
{
    (void)state;
    return sqlite3_close(db);
}

/* What an SQL expression gives; sqlite3_value_free frees it. */
static inline sqlite3_value *value_in(sqlite3 *database, const char *expression)
{
    char *sql = sqlite3_mprintf("SELECT %s", expression);
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (rc != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    }
    sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    assert_non_null(value);
    return value;
}

static inline sqlite3_value *value_of(const char *expression)
{
    return value_in(db, expression);
}

#endif
