#include "interruption.h"

#include "sqlite.h"

/* One instruction a column: so a progress handler hears of our loops about as often as is useful
 * for the intervals that are usual (1,000 instructions and more). */
static const char probe_text[] =
    "SELECT 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";

int pt_interruption_ask(pt_interruption *interruption)
{
    int rc = SQLITE_OK;
    if (interruption->db == NULL) {
        return SQLITE_OK;
    }
    if (interruption->probe == NULL) {
        rc = sqlite3_prepare_v2(interruption->db, probe_text, -1, &interruption->probe, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(interruption->probe);
        sqlite3_reset(interruption->probe);
    }
    return rc == SQLITE_INTERRUPT || rc == SQLITE_NOMEM ? rc : SQLITE_OK;
}

void pt_interruption_end(pt_interruption *interruption)
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
