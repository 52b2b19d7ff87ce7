/*
 * pt_backup(store, path): copies what the last commit left in a store to a new file, while others
 * read and write it, and gives the file's size in bytes. It is on the disk when the function
 * returns. A relative path starts where that of a store does. Not while the transaction has writes
 * pending for the store: SQLITE_LOCKED.
 *
 * pt_compact([store]): makes a store's file as small as can be, and gives the bytes by which it
 * became smaller. Not inside a transaction. Only this process may have the store open: SQLITE_BUSY.
 * Not where the main database is open for reading only, nor under PRAGMA query_only:
 * SQLITE_READONLY.
 *
 * Both can be interrupted (sqlite3_interrupt), and neither can be used in views and triggers.
 */
#ifndef PT_CATALOG_BACKUP_H
#define PT_CATALOG_BACKUP_H

#include "base/sqlite.h"

void pt_admin_backup(sqlite3_context *context, int argc, sqlite3_value **argv);
void pt_admin_compact(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
