#include "store/interruption.h"

#include "base/sqlite.h"

#define ROWS_6 "(1),(1),(1),(1),(1),(1)"
#define ROWS_24 "(VALUES" ROWS_6 "," ROWS_6 "," ROWS_6 "," ROWS_6 ")"

/*
 * Not kept prepared: an application may finalize all statements that it finds, and none of ours may
 * keep it from closing the connection. So the question has more than 1,000 instructions, for SQLite
 * counts those of each statement for itself until it calls a progress handler. It comes to them
 * without anything that an authorizer could forbid, but for SELECT itself, or that a low limit of
 * the connection excludes: functions, tables, recursion, UNION, deep expressions, many columns.
 */
static const char question[] =
    "SELECT 1 FROM " ROWS_24 " CROSS JOIN " ROWS_24 " LIMIT 1 OFFSET 1000";

int pt_interruption_ask(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, question, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_step(statement);
        rc = sqlite3_finalize(statement);
    }
    return rc == SQLITE_INTERRUPT || rc == SQLITE_NOMEM ? rc : SQLITE_OK;
}

int pt_interruption_check(sqlite3 *db, pt_error *error)
{
    int rc = pt_interruption_ask(db);
    if (rc == SQLITE_INTERRUPT) {
        return pt_error_set(error, rc, "the statement was interrupted");
    }
    return rc == SQLITE_OK ? rc : pt_error_nomem(error);
}

static bool is_over(void *context)
{
    pt_interruption *interruption = context;
    interruption->answer = pt_interruption_ask(interruption->db);
    return interruption->answer != SQLITE_OK;
}

pt_watch pt_interruption_watch(pt_interruption *interruption)
{
    return (pt_watch){.context = interruption, .is_over = is_over};
}

int pt_interruption_settle(const pt_interruption *interruption, int rc, pt_error *error)
{
    if (rc != SQLITE_INTERRUPT || interruption->answer != SQLITE_NOMEM) {
        return rc;
    }
    pt_error_clear(error);
    return pt_error_nomem(error);
}
