/*
 * Whether a statement was asked to stop: by sqlite3_interrupt, or by what a progress handler
 * answers. SQLite looks between its own steps only, so long loops of ours have to ask.
 *
 * SQLite tells nobody that it was asked, but a statement that runs inside another one stops as
 * well. So the answer is what becomes of a small statement, which is also counted for the progress
 * handler like any other.
 */
#ifndef PT_INTERRUPTION_H
#define PT_INTERRUPTION_H

#include "engine.h"

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

typedef struct pt_interruption {
    sqlite3 *db;         /* NULL: nobody interrupts */
    sqlite3_stmt *probe; /* NULL: it is made when it is first needed */
    unsigned steps;      /* of pt_interruption_step */
} pt_interruption;

/*
 * SQLITE_OK: go on, which is also the answer if it cannot be known (an authorizer forbids it).
 * SQLITE_INTERRUPT; SQLITE_NOMEM. Takes some microseconds, and leaves a statement that
 * pt_interruption_end must take away before the connection is closed.
 */
int pt_interruption_ask(pt_interruption *interruption);

/* Asks, and fills the error. */
int pt_interruption_check(pt_interruption *interruption, pt_error *error);

void pt_interruption_finalize(pt_interruption *interruption);

/* While no statement runs there must be none of ours either, or the connection cannot be closed. */
static inline void pt_interruption_end(pt_interruption *interruption)
{
    if (interruption->probe != NULL) {
        pt_interruption_finalize(interruption);
    }
}

/* For a loop that goes to the next entry of a store without returning to SQLite: checks now and
 * then. NULL: never. */
static inline int pt_interruption_step(pt_interruption *interruption, pt_error *error)
{
    enum { STEPS_BETWEEN_CHECKS = 8192 };
    return interruption == NULL || ++interruption->steps % STEPS_BETWEEN_CHECKS != 0
               ? 0
               : pt_interruption_check(interruption, error);
}

/* The same for an engine; valid as long as the interruption. */
pt_watch pt_interruption_watch(pt_interruption *interruption);

#endif
