/*
 * xUpdate of ptable: INSERT (table/insert.h), UPDATE (table/update.h) and DELETE of one row.
 */
#ifndef PT_TABLE_WRITE_H
#define PT_TABLE_WRITE_H

#include "base/sqlite.h"

/* The module's xUpdate. All or nothing: SQLite opens no savepoint around a single row. */
int pt_write_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

#endif
