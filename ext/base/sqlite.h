/*
 * The one place that pulls SQLite in. As a loadable extension every sqlite3_* call goes through
 * the routine table that SQLite hands to the entry point; with SQLITE_CORE they are direct calls.
 */
#ifndef PT_BASE_SQLITE_H
#define PT_BASE_SQLITE_H

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3

#endif
