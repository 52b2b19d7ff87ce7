/*
 * Statements in connections that have used none before, so that the first allocations of buffers,
 * which later statements find large enough, fail too. The database is main.db in the test's folder.
 */
#ifndef TESTS_FAULTS_FRESH_CONNECTION_H
#define TESTS_FAULTS_FRESH_CONNECTION_H

#include "faults/failing_malloc.h"
#include "fixtures/database.h"

typedef struct fresh_trial {
    int code; /* of the first row, if it is SQLITE_ROW, or at the end */
    const char *sql;
} fresh_trial;

typedef struct fresh_trials {
    const char *folder;
    const fresh_trial *trials;
    size_t count;
    int stride;                       /* one of so many allocations fails */
    void (*assert_same)(sqlite3 *db); /* as before the statement, after it has failed */
} fresh_trials;

static int fresh_trial_result(sqlite3_stmt *statement, int code)
{
    int rc = sqlite3_step(statement);
    while (rc == SQLITE_ROW && code != SQLITE_ROW) {
        rc = sqlite3_step(statement);
    }
    return rc;
}

/* True if an allocation has failed. */
static bool fresh_trial_fails(const fresh_trials *self, const fresh_trial *trial, int n)
{
    sqlite3 *db = open_database(self->folder, "main.db");
    sqlite3_stmt *statement = NULL;
    run(db, "BEGIN");
    assert_int_equal(sqlite3_prepare_v2(db, trial->sql, -1, &statement, NULL), SQLITE_OK);
    failing_malloc_arm(n, false);
    int rc = fresh_trial_result(statement, trial->code);
    bool hit = failing_malloc_disarm();
    sqlite3_finalize(statement);
    if (rc != trial->code && !(hit && (rc & 0xFF) == SQLITE_NOMEM)) {
        fail_msg("%s: allocation %d: %d, %s", trial->sql, n, rc, sqlite3_errmsg(db));
    }
    if (rc != trial->code && !sqlite3_get_autocommit(db)) {
        self->assert_same(db);
    }
    if (!sqlite3_get_autocommit(db)) {
        run(db, "ROLLBACK");
    }
    close_database(db);
    return hit;
}

/* Allocations of each statement fail once. At the end the store is sound. */
static void fresh_trials_run(const fresh_trials *self)
{
    for (size_t i = 0; i < self->count; i++) {
        for (int n = (int)i % self->stride; fresh_trial_fails(self, &self->trials[i], n);) {
            n += self->stride;
        }
    }
    sqlite3 *db = open_database(self->folder, "main.db");
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
    close_database(db);
}

#endif
