/*
 * What has changed in a table that keeps its changes (transaction/change_log.h):
 *
 *     pt_changes(table, since), pt_changes(store, table, since)
 *         Timestamp, PartitionKey, RowKey, WriteMode ('replace' or 'delete'), Properties
 *
 * One row for each key that was written after `since`, in the order of the writes. Properties are
 * those that the entity has now; NULL for a key under which there is none. `since` NULL: all
 * entities and no deletions; then the last row has at least the horizon as its Timestamp, so that
 * a program that has read all rows can go on from there.
 *
 *     pt_forget_deleted(table, before), pt_forget_deleted(store, table, before)
 *
 * Forgets the deletions before a time, and returns how many they were.
 */
#ifndef PT_CATALOG_CHANGES_H
#define PT_CATALOG_CHANGES_H

#include "module/tvf.h"

extern const pt_tvf pt_tvf_changes;

/* Registers pt_forget_deleted. Returns an SQLite code. */
int pt_forget_register(sqlite3 *db, pt_connection *connection);

/*
 * For pt_tables: `value` is that of the column Changes, 'on' or 'off', 1 or 0. The session is
 * writing. SQLITE_CONSTRAINT_VTAB: another value; SQLITE_ERROR: a queue; other codes as
 * pt_change_log_switch.
 */
int pt_catalog_set_changes(pt_session *session, const char *table, sqlite3_value *value,
                           pt_error *error);

#endif
