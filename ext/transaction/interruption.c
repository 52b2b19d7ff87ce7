#include "transaction/interruption.h"

#include "base/sqlite.h"

#define ROWS_6 "(1),(1),(1),(1),(1),(1)"
#define ROWS_24 "(VALUES" ROWS_6 "," ROWS_6 "," ROWS_6 "," ROWS_6 ")"

/*
 * Prepared again each time: an application may finalize every statement that it finds, and a
 * statement of ours must not keep it from closing the connection.
 *
 * SQLite counts the instructions of each statement separately until it calls a progress handler, so
 * ours executes more than 1,000. It uses nothing that an authorizer could forbid except SELECT
 * itself, and nothing that a low limit of the connection could exclude: no function, table,
 * recursion, UNION, deep expression or long list of columns.
 */
static const char long_statement[] =
    "SELECT 1 FROM " ROWS_24 " CROSS JOIN " ROWS_24 " LIMIT 1 OFFSET 1000";

static int run_long_statement(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, long_statement, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_step(statement);
        rc = sqlite3_finalize(statement);
    }
    return rc == SQLITE_INTERRUPT || rc == SQLITE_NOMEM ? rc : SQLITE_OK;
}

int pt_interruption_check(sqlite3 *db, pt_error *error)
{
    int rc = run_long_statement(db);
    if (rc == SQLITE_INTERRUPT) {
        return pt_error_set(error, rc, "the statement was interrupted");
    }
    return rc == SQLITE_OK ? rc : pt_error_nomem(error);
}

static bool must_stop(void *context)
{
    pt_interruption *interruption = context;
    interruption->answer = run_long_statement(interruption->db);
    return interruption->answer != SQLITE_OK;
}

pt_watch pt_interruption_watch(pt_interruption *interruption)
{
    return (pt_watch){.context = interruption, .is_over = must_stop};
}

int pt_interruption_result(const pt_interruption *interruption, int rc, pt_error *error)
{
    if (rc != SQLITE_INTERRUPT || interruption->answer != SQLITE_NOMEM) {
        return rc;
    }
    pt_error_clear(error);
    return pt_error_nomem(error);
}
