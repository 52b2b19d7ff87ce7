/*
 * The one file that includes SQLite's header. In the loadable extension every sqlite3_* call goes
 * through the table of routines that SQLite passes to the entry point; with SQLITE_CORE it is a
 * direct call.
 */
#ifndef PT_BASE_SQLITE_H
#define PT_BASE_SQLITE_H

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3

#endif
