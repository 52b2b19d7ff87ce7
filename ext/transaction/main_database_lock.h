/*
 * Locking the main database, so that its commit cannot fail after ours.
 *
 * A store commits in xSync; SQLite commits its own files after that. With a rollback journal that
 * fails with SQLITE_BUSY while anyone reads the file, and then our commit would have to be undone.
 * So xSync first takes the lock that SQLite will need. "The main database" also means the attached
 * ones.
 */
#ifndef PT_TRANSACTION_MAIN_DATABASE_LOCK_H
#define PT_TRANSACTION_MAIN_DATABASE_LOCK_H

#include <stdbool.h>

#include "base/error.h"

typedef struct sqlite3 sqlite3;

/*
 * Takes the EXCLUSIVE lock of every rollback-journal file that the open transaction writes to,
 * waiting up to `wait_ms` altogether. SQLite finds the lock held when it commits, and releases it
 * as its own. SQLITE_BUSY while another connection reads such a file; other codes of its VFS. Does
 * nothing for WAL files: readers do not block their commit.
 */
int pt_main_database_lock_all(sqlite3 *db, int wait_ms, pt_error *error);

/* pt_main_database_lock_all that waits as long as PRAGMA busy_timeout says. Also SQLITE_NOMEM. */
int pt_main_database_lock_for_commit(sqlite3 *db, pt_error *error);

/*
 * True if the connection reads a rollback-journal file without writing it. A writer of that file
 * cannot commit until the read ends, so the reader must not wait for anything that the writer may
 * hold.
 */
bool pt_main_database_read_blocks_writers(sqlite3 *db);

/* PRAGMA busy_timeout, in ms; 0 if it cannot be asked, for example because of an authorizer.
 * SQLITE_OK, SQLITE_INTERRUPT, SQLITE_NOMEM. */
int pt_busy_timeout(sqlite3 *db, int *milliseconds, pt_error *error);

#endif
