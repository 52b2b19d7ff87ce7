/*
 * Checking a store: its engine reads it through and verifies its own structures; what the records
 * say, and how they belong together, is verified here.
 */
#ifndef PT_CATALOG_CHECK_H
#define PT_CATALOG_CHECK_H

#include "store/engine.h"

/*
 * Checks an open store, or with store NULL the file at `path`, which cannot be opened. *text, from
 * sqlite3_malloc, is "ok" or the problems (store/check_report.h). With watch NULL nothing
 * interrupts it. SQLITE_NOMEM, SQLITE_IOERR, SQLITE_INTERRUPT, and SQLITE_CANTOPEN if there is
 * nothing that can be checked.
 */
int pt_check(const char *path, pt_store *store, const pt_watch *watch, char **text,
             pt_error *error);

#endif
