#include "transaction/main_database_lock.h"

#include <stdint.h>
#include <time.h>

#include "base/sqlite.h"

/* This byte of a database file is 1 for a rollback journal, 2 for WAL (SQLite's file format,
 * section 1.3). */
enum { WRITE_VERSION_OFFSET = 18, WRITE_VERSION_WAL = 2, POLL_NANOSECONDS = 500000 };

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_briefly(void)
{
    const struct timespec pause = {.tv_nsec = POLL_NANOSECONDS};
    nanosleep(&pause, NULL);
}

/* The open file of a schema, or NULL if it is in memory. */
static sqlite3_file *file_of(sqlite3 *db, const char *schema)
{
    const char *name = sqlite3_db_filename(db, schema);
    sqlite3_file *file = NULL;
    if (name == NULL || name[0] == 0 ||
        sqlite3_file_control(db, schema, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) {
        return NULL;
    }
    return file != NULL && file->pMethods != NULL ? file : NULL;
}

static bool is_wal(sqlite3_file *file)
{
    unsigned char version = 0;
    int rc = file->pMethods->xRead(file, &version, 1, WRITE_VERSION_OFFSET);
    return rc == SQLITE_OK && version == WRITE_VERSION_WAL;
}

/* With a rollback journal, SQLite takes a reserved lock before it writes. So a transaction that
 * writes with less than that uses WAL, and we need not read the file. */
static bool writes_wal(sqlite3_file *file)
{
    int lock = SQLITE_LOCK_EXCLUSIVE;
    int rc = file->pMethods->xFileControl(file, SQLITE_FCNTL_LOCKSTATE, &lock);
    return (rc == SQLITE_OK && lock <= SQLITE_LOCK_SHARED) || is_wal(file);
}

/* A raw xLock does not call the busy handler, so poll. */
static int wait_for_exclusive(sqlite3_file *file, int64_t deadline)
{
    for (;;) {
        int rc = file->pMethods->xLock(file, SQLITE_LOCK_EXCLUSIVE);
        if (rc != SQLITE_BUSY || monotonic_ms() >= deadline) {
            return rc;
        }
        pause_briefly();
    }
}

static int report_lock_failure(pt_error *error, int rc, const char *schema)
{
    if (rc == SQLITE_BUSY) {
        return pt_error_set(
            error, rc,
            "database %Q is being read by another connection, so the "
            "transaction cannot commit now; try again (an open one by COMMIT), or use WAL mode",
            schema);
    }
    return pt_error_set(error, rc,
                        "database %Q cannot be locked for the commit: %s; check its file "
                        "system",
                        schema, sqlite3_errstr(rc));
}

int pt_main_database_lock_all(sqlite3 *db, int wait_ms, pt_error *error)
{
    int64_t deadline = wait_ms > 0 ? monotonic_ms() + wait_ms : 0;
    for (int i = 0;; i++) {
        const char *schema = sqlite3_db_name(db, i);
        if (schema == NULL) {
            return SQLITE_OK;
        }
        if (sqlite3_txn_state(db, schema) != SQLITE_TXN_WRITE) {
            continue;
        }
        sqlite3_file *file = file_of(db, schema);
        if (file == NULL || writes_wal(file)) {
            continue;
        }
        /* Locks already taken stay on failure: SQLite releases them with its own, at COMMIT or
         * ROLLBACK. */
        int rc = wait_for_exclusive(file, deadline);
        if (rc != SQLITE_OK) {
            return report_lock_failure(error, rc, schema);
        }
    }
}

bool pt_main_database_read_blocks_writers(sqlite3 *db)
{
    const char *schema;
    for (int i = 0; (schema = sqlite3_db_name(db, i)) != NULL; i++) {
        sqlite3_file *file =
            sqlite3_txn_state(db, schema) == SQLITE_TXN_READ ? file_of(db, schema) : NULL;
        if (file != NULL && !is_wal(file)) {
            return true;
        }
    }
    return false;
}

static int ask_busy_timeout(sqlite3 *db, int *milliseconds)
{
    sqlite3_stmt *statement = NULL;
    *milliseconds = 0;
    int rc = sqlite3_prepare_v2(db, "PRAGMA busy_timeout", -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        *milliseconds = sqlite3_column_int(statement, 0);
    }
    return rc == SQLITE_OK ? sqlite3_finalize(statement) : rc;
}

int pt_busy_timeout(sqlite3 *db, int *milliseconds, pt_error *error)
{
    switch (ask_busy_timeout(db, milliseconds)) {
    case SQLITE_INTERRUPT:
        return pt_error_set(error, SQLITE_INTERRUPT, "the statement was interrupted");
    case SQLITE_NOMEM:
        return pt_error_nomem(error);
    default:
        return SQLITE_OK;
    }
}

int pt_main_database_lock_for_commit(sqlite3 *db, pt_error *error)
{
    /* Asking for the busy timeout costs a statement: do it only if a lock is taken. */
    int rc = pt_main_database_lock_all(db, 0, error);
    if (rc != SQLITE_BUSY) {
        return rc;
    }
    /* SQLITE_INTERRUPT would roll the transaction back. It stays open if we answer SQLITE_BUSY, as
     * for a lock that is not waited for. */
    int milliseconds;
    if (ask_busy_timeout(db, &milliseconds) == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    if (milliseconds <= 0) {
        return rc;
    }
    pt_error_clear(error);
    return pt_main_database_lock_all(db, milliseconds, error);
}
