/*
 * Entities that expire (transaction/expiry.h): switching that on and off, and pt_purge.
 *
 * pt_purge(table [, count]): deletes entities of a ptable that have expired, the oldest first, at
 * most `count`; NULL is no limit. Returns how many. They are deleted as DELETE would: inside a
 * transaction as part of it, otherwise in one of their own. A call deletes all of them or none.
 * SQLITE_ERROR if entities of the table do not expire.
 *
 * Views and triggers cannot call it, unless they are in the TEMP schema.
 */
#ifndef PT_CATALOG_EXPIRY_H
#define PT_CATALOG_EXPIRY_H

#include "base/sqlite.h"
#include "catalog/tables_source.h"

/* Registers the function, which keeps a reference to the connection. Returns an SQLite code. */
int pt_purge_register(sqlite3 *db, pt_connection *connection);

/*
 * For UPDATE of pt_tables: makes entities of a table expire by a property, and makes the index on
 * it, unless it is there. With an empty name they expire no more, and the index stays. The session
 * is writing, and the view is its own. The caller has begun a row, and discards it on failure.
 * SQLITE_CONSTRAINT_VTAB: no property can have the name; SQLITE_ERROR: a queue; SQLITE_NOTFOUND
 * (without a text), or other codes as pt_table_directory_set_properties and pt_new_index_make.
 */
int pt_catalog_set_expires(pt_session *session, pt_view *view, const pt_declared_tables *declared,
                           const char *table, pt_slice name, pt_error *error);

#endif
