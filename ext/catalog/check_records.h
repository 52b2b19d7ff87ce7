/*
 * Checking a store. The engine reads all of it and checks its own structures (for LMDB,
 * lmdb/check.h). This module checks the contents of the records: the catalogue of tables, entities,
 * large values and their parts, and the counts.
 */
#ifndef PT_CATALOG_CHECK_RECORDS_H
#define PT_CATALOG_CHECK_RECORDS_H

#include "store/engine.h"

/*
 * Checks an open store, or, if `store` is NULL, a file that `engine` cannot open. *text, from
 * sqlite3_malloc, is "ok" or the problems (store/check_report.h). Without a watch it cannot be
 * interrupted. SQLITE_NOMEM, SQLITE_IOERR, SQLITE_INTERRUPT, or SQLITE_CANTOPEN if there is nothing
 * to check.
 */
int pt_check_store(const pt_engine *engine, const char *path, pt_store *store,
                   const pt_watch *watch, char **text, pt_error *error);

#endif
