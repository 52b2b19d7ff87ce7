/*
 * The stores of a connection: their names in a column Store, how a name finds one, and pt_stores,
 * which lists those that are open:
 *
 *     Store, Tables, Entities, FileBytes, UsedBytes, Dropped, Readers, OldestReader,
 *     LastTransaction, LastWrite
 *
 * Tables and Entities are what the transaction sees. UsedBytes is FileBytes less the free pages.
 * Dropped is the number of dropped tables whose entities are still to be deleted. Readers is the
 * number of snapshots in use by all connections and processes. OldestReader is the number of
 * commits since the oldest of them was taken; pages that it can see cannot be reused.
 * LastTransaction is the number of the newest commit, LastWrite the newest Timestamp in the store.
 */
#ifndef PT_CATALOG_STORES_H
#define PT_CATALOG_STORES_H

#include "module/tvf.h"

/*
 * The name of a store in a column Store: its path; or "(private)" for the private store of main,
 * "(private temp)" for that of temp, and so on. From sqlite3_malloc; NULL when out of memory.
 */
char *pt_catalog_store_name(const pt_connection *connection, const pt_session *session);

/*
 * Uses the store of that name (pt_connection_use). The name is one of the above, or a path like
 * that of the option `store` of a table in main. NULL means the default store of tables in main.
 * The store is not created: SQLITE_CANTOPEN, or for the default store SQLITE_ERROR.
 */
int pt_catalog_use_store(pt_connection *connection, const char *name, pt_session **session,
                         pt_error *error);

/* Uses the default store of tables in main. *session is NULL if it does not exist yet. */
int pt_catalog_use_default_store(pt_connection *connection, pt_session **session, pt_error *error);

/* The error for a missing store name. Its text lists the open stores. SQLITE_ERROR. */
int pt_catalog_ask_for_store(const pt_connection *connection, pt_error *error);

extern const pt_tvf pt_tvf_stores;

#endif
