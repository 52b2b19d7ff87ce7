/*
 * The stores that the catalogue's tables speak of: what they are called, and which one is meant.
 */
#ifndef PT_CATALOG_STORE_H
#define PT_CATALOG_STORE_H

#include "transaction/connection.h"

/*
 * What a store is called in a column Store: its path; "(private)" for the private store of main,
 * "(private temp)" for that of temp, and so on. From sqlite3_malloc; NULL when out of memory.
 */
char *pt_catalog_store_name(const pt_connection *connection, const pt_session *session);

/*
 * Uses the store of that name (pt_connection_use): one of the names above, or a path as the option
 * `store` of a table in main takes it. It is not created. SQLITE_CANTOPEN if there is none.
 */
int pt_catalog_use_store(pt_connection *connection, const char *name, pt_session **session,
                         pt_error *error);

/* Uses the store that tables in main have by default; *session = NULL if there is none yet. */
int pt_catalog_use_default_store(pt_connection *connection, pt_session **session, pt_error *error);

/* The error of who must name a store and did not; it lists those that are open. SQLITE_ERROR. */
int pt_catalog_ask_for_store(const pt_connection *connection, pt_error *error);

#endif
