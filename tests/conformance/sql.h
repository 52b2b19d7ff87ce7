/*
 * SQL for use where everything but the statement under test must succeed.
 */
#ifndef TESTS_CONFORMANCE_SQL_H
#define TESTS_CONFORMANCE_SQL_H

#include "fixtures/database.h"

/* Binds text parameters ?1, ?2, ...; NULL texts as NULL. */
static inline sqlite3_stmt *prepare_with(sqlite3 *db, const char *sql, int count,
                                         const char *const *texts)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    for (int i = 0; i < count; i++) {
        assert_int_equal(sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_STATIC),
                         SQLITE_OK);
    }
    return statement;
}

/* The first column of the first row as text from malloc; NULL if there is none or it is NULL. */
static inline char *text_with(sqlite3 *db, const char *sql, int count, const char *const *texts)
{
    sqlite3_stmt *statement = prepare_with(db, sql, count, texts);
    const char *found = sqlite3_step(statement) == SQLITE_ROW
                            ? (const char *)sqlite3_column_text(statement, 0)
                            : NULL;
    char *text = found != NULL ? strdup(found) : NULL;
    if (sqlite3_finalize(statement) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    return text;
}

/* Members of a JSON object, by path. */
static inline char *member(sqlite3 *db, const char *json, const char *path)
{
    const char *texts[] = {json, path};
    return text_with(db, "SELECT ?1 ->> ?2", 2, texts);
}

static inline int64_t member_number(sqlite3 *db, const char *json, const char *path,
                                    int64_t otherwise)
{
    char *text = member(db, json, path);
    int64_t number = text != NULL ? strtoll(text, NULL, 10) : otherwise;
    free(text);
    return number;
}

#endif
