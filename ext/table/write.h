/*
 * Writing a ptable: INSERT, UPDATE and DELETE of one row. Each is all or nothing, for SQLite opens
 * no savepoint around a single row.
 */
#ifndef PT_TABLE_WRITE_H
#define PT_TABLE_WRITE_H

#include "table/entity_writer.h"
#include "table/table.h"

/* The module's xUpdate. */
int pt_write_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

/*
 * INSERT into a ptable.
 */

/* One row of an INSERT. SQLITE_OK, SQLITE_NOMEM, or the code of an error with text. */
int pt_insert(pt_table *table, const pt_write_arguments *given, pt_error *error);

#endif
