/*
 * pt_check([store]): whether a store is sound, as text: ok, or a line for each problem and one that
 * says what to do. Not in views and triggers.
 */
#ifndef PT_CATALOG_ADMIN_CHECK_H
#define PT_CATALOG_ADMIN_CHECK_H

#include "base/sqlite.h"

void pt_admin_check(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
