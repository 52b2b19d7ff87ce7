#include "interruption.h"

#include "sqlite.h"

/*
 * Not kept prepared: an application may finalize all statements that it finds, and none of ours may
 * keep it from closing the connection. So the question has more than 1,000 instructions, for SQLite
 * counts those of each statement for itself until it calls a progress handler.
 */
static const char question[] =
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT 80) SELECT max(k) FROM n";

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
