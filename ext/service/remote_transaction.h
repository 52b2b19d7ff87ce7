/*
 * Transactions on tables of the service. Writes are collected, and sent as one entity group
 * transaction when SQLite has all other locks for its COMMIT.
 */
#ifndef PT_SERVICE_REMOTE_TRANSACTION_H
#define PT_SERVICE_REMOTE_TRANSACTION_H

#include "service/remote_table.h"

/* True if the running statement is split: batch=split, and no transaction is open. */
bool pt_remote_transaction_splits(const pt_remote_table *table);

/* After an error of a row. If its statement is split and ends with it, waits for the groups under
 * way and adds to the error how much is done. */
void pt_remote_transaction_stop(pt_remote_table *table, pt_error *error);

/*
 * Adds an operation to the open transaction. SQLITE_CONSTRAINT_VTAB if the service could not do it
 * together with the earlier ones (CommandsInBatchActOnDifferentPartitions, InvalidDuplicateRow,
 * InvalidInput, RequestBodyTooLarge); SQLITE_NOMEM.
 */
int pt_remote_transaction_add(pt_remote_table *table, const pt_remote_operation *operation,
                              pt_error *error);

/* True if the open transaction has an operation on the operation's entity, with this ETag if it has
 * data. */
bool pt_remote_transaction_holds(const pt_remote_table *table, const pt_remote_operation *operation,
                                 pt_slice etag);

/* SQLITE_CONSTRAINT_VTAB if the open transaction has an operation on the operation's entity already
 * (InvalidDuplicateRow). */
int pt_remote_transaction_check_first(const pt_remote_table *table,
                                      const pt_remote_operation *operation, pt_error *error);

/* After an error of an UPDATE: forgets what the statement has added. SQLite opens no savepoint for
 * UPDATE ... FROM, and reads all of its rows before it writes the first. */
void pt_remote_transaction_undo_statement(pt_remote_table *table);

/* Methods of the module. */
int pt_remote_transaction_begin(sqlite3_vtab *vtab);
int pt_remote_transaction_sync(sqlite3_vtab *vtab);
int pt_remote_transaction_commit(sqlite3_vtab *vtab);
int pt_remote_transaction_rollback(sqlite3_vtab *vtab);
int pt_remote_transaction_savepoint(sqlite3_vtab *vtab, int level);
int pt_remote_transaction_release(sqlite3_vtab *vtab, int level);
int pt_remote_transaction_rollback_to(sqlite3_vtab *vtab, int level);

#endif
