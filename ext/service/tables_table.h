/*
 * The table pt_service_tables: the tables of the accounts that this connection has named. INSERT
 * creates a table and DELETE deletes one with all that it holds, at once: no ROLLBACK undoes it.
 */
#ifndef PT_SERVICE_TABLES_TABLE_H
#define PT_SERVICE_TABLES_TABLE_H

#include "base/sqlite.h"

extern const sqlite3_module pt_service_tables_module; /* its user data is the pt_service */

#endif
