/*
 * The first net under a commit: the locks that could make the main database's own commit fail are
 * taken before the store is written.
 */
#ifndef PT_TRANSACTION_MAIN_DATABASE_LOCK_H
#define PT_TRANSACTION_MAIN_DATABASE_LOCK_H

#include <stdbool.h>

#include "base/error.h"

typedef struct sqlite3 sqlite3;

/*
 * Takes the EXCLUSIVE lock of every attached rollback-journal file that the open transaction writes
 * to, waiting up to `wait_ms` altogether. SQLite finds the lock held when it commits, and drops it
 * as its own. SQLITE_BUSY while somebody reads such a file; other codes of its VFS. Nothing is done
 * for WAL files, whose commit needs no lock that readers could hold.
 */
int pt_main_database_lock_all(sqlite3 *db, int wait_ms, pt_error *error);

/*
 * Whether the connection reads an attached rollback-journal file that it does not write. A writer
 * of that file cannot commit meanwhile, so whoever reads must not wait for anything that the writer
 * may hold.
 */
bool pt_main_database_read_blocks_writers(sqlite3 *db);

#endif
