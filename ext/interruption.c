#include "interruption.h"

#include "sqlite.h"

/* A step is four instructions; several let a progress handler hear of our loops about as often as
 * is useful for the intervals that are usual, 1,000 instructions and more. A longer statement would
 * take longer to prepare than many a loop. */
enum { STEPS = 8 };

static int step(sqlite3_stmt *probe)
{
    int rc = SQLITE_ROW;
    for (int i = 0; rc == SQLITE_ROW && i < STEPS; i++) {
        rc = sqlite3_step(probe);
        sqlite3_reset(probe);
    }
    return rc;
}

int pt_interruption_ask(pt_interruption *interruption)
{
    int rc = SQLITE_OK;
    if (interruption->db == NULL) {
        return SQLITE_OK;
    }
    if (interruption->probe == NULL) {
        rc = sqlite3_prepare_v2(interruption->db, "SELECT 1", -1, &interruption->probe, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = step(interruption->probe);
    }
    return rc == SQLITE_INTERRUPT || rc == SQLITE_NOMEM ? rc : SQLITE_OK;
}

void pt_interruption_finalize(pt_interruption *interruption)
{
    sqlite3_finalize(interruption->probe);
    interruption->probe = NULL;
}

int pt_interruption_check(pt_interruption *interruption, pt_error *error)
{
    int rc = pt_interruption_ask(interruption);
    if (rc == SQLITE_INTERRUPT) {
        return pt_error_set(error, rc, "the statement was interrupted");
    }
    return rc == SQLITE_OK ? rc : pt_error_nomem(error);
}

static bool is_over(void *context)
{
    return pt_interruption_ask(context) == SQLITE_INTERRUPT;
}

pt_watch pt_interruption_watch(pt_interruption *interruption)
{
    return (pt_watch){.context = interruption, .is_over = is_over};
}
