/*
 * sqlite3_close() has virtual tables roll back before it looks whether the connection can be closed
 * at all. If a statement is left, SQLite would go on with the rest of the transaction, and commit
 * it without what was written to stores. So the rest is rolled back, too.
 */
#ifndef PT_MODULE_WHOLE_ROLLBACK_H
#define PT_MODULE_WHOLE_ROLLBACK_H

#include "base/sqlite.h"

/* What xRollback does first: ends the connection's transaction, unless SQLite has done so. */
void pt_whole_rollback(sqlite3 *db);

#endif
