/*
 * Finds out if SQLite has been asked to stop the statement that is running: by sqlite3_interrupt(),
 * or by a progress handler. SQLite checks between its own instructions only, so a long loop of ours
 * has to ask.
 *
 * SQLite 3.40 has no function to ask. (sqlite3_is_interrupted came with 3.41, and does not call
 * progress handlers.) But a request to stop also stops a statement that runs inside another one, so
 * we run a small statement and look at its result code. Its instructions count for the progress
 * handler like any others.
 */
#ifndef PT_TRANSACTION_INTERRUPTION_H
#define PT_TRANSACTION_INTERRUPTION_H

#include "store/engine.h"

typedef struct sqlite3 sqlite3;

typedef struct pt_interruption {
    sqlite3 *db;
    unsigned steps; /* calls of pt_interruption_step */
    int answer;     /* the code of the watch's last check (pt_interruption_watch) */
} pt_interruption;

/*
 * SQLITE_INTERRUPT if the statement is to stop; SQLITE_NOMEM; SQLITE_OK otherwise, also if we
 * cannot ask because an authorizer forbids SELECT. Takes about 50 microseconds.
 */
int pt_interruption_check(sqlite3 *db, pt_error *error);

/* For a loop over the entries of a store: call it once per entry. Checks every 8192nd time. Never
 * checks if `interruption` is NULL. */
static inline int pt_interruption_step(pt_interruption *interruption, pt_error *error)
{
    enum { STEPS_BETWEEN_CHECKS = 8192 };
    return interruption == NULL || ++interruption->steps % STEPS_BETWEEN_CHECKS != 0
               ? 0
               : pt_interruption_check(interruption->db, error);
}

/*
 * For a store engine, which knows no SQLite: a callback that checks. Valid as long as the
 * interruption. Being out of memory also stops the engine, since SQLite would let no statement go
 * on. The engine reports SQLITE_INTERRUPT in both cases; pt_interruption_result tells them apart.
 */
pt_watch pt_interruption_watch(pt_interruption *interruption);

/* Turns the result code of work that was watched into the true one: SQLITE_NOMEM if the work
 * stopped because memory ran out. */
int pt_interruption_result(const pt_interruption *interruption, int rc, pt_error *error);

#endif
