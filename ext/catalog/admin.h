/*
 * The functions that look after stores: pt_backup, pt_compact, pt_check.
 */
#ifndef PT_CATALOG_ADMIN_H
#define PT_CATALOG_ADMIN_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/* Registers the functions; they keep references to the connection. SQLite's code. */
int pt_admin_register(sqlite3 *db, pt_connection *connection);

#endif
