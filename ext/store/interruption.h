/*
 * Whether a statement was asked to stop: by sqlite3_interrupt, or by what a progress handler
 * answers. SQLite looks between its own steps only, so long loops of ours have to ask.
 *
 * SQLite tells nobody that it was asked, but a statement that runs inside another one stops as
 * well. So the answer is what becomes of a small statement, which is also counted for the progress
 * handler like any other.
 */
#ifndef PT_STORE_INTERRUPTION_H
#define PT_STORE_INTERRUPTION_H

#include "store/engine.h"

typedef struct sqlite3 sqlite3;

typedef struct pt_interruption {
    sqlite3 *db;
    unsigned steps; /* of pt_interruption_step */
    int answer;     /* the last one that a watch had */
} pt_interruption;

/*
 * SQLITE_OK: go on, which is also the answer if it cannot be known (an authorizer forbids SELECT).
 * SQLITE_INTERRUPT; SQLITE_NOMEM. Takes about 50 microseconds.
 */
int pt_interruption_ask(sqlite3 *db);

/* Asks, and fills the error. */
int pt_interruption_check(sqlite3 *db, pt_error *error);

/* For a loop that goes to the next entry of a store without returning to SQLite: checks now and
 * then. NULL: never. */
static inline int pt_interruption_step(pt_interruption *interruption, pt_error *error)
{
    enum { STEPS_BETWEEN_CHECKS = 8192 };
    return interruption == NULL || ++interruption->steps % STEPS_BETWEEN_CHECKS != 0
               ? 0
               : pt_interruption_check(interruption->db, error);
}

/* The same for an engine; valid as long as the interruption. The work is over without memory, too:
 * SQLite lets no statement go on then. */
pt_watch pt_interruption_watch(pt_interruption *interruption);

/* What the work that was watched has come to: SQLITE_NOMEM if it ended for that. */
int pt_interruption_settle(const pt_interruption *interruption, int rc, pt_error *error);

#endif
