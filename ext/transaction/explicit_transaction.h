/*
 * An explicit transaction, from BEGIN to COMMIT or ROLLBACK, for all sessions of a connection. The
 * companion (module/companion.h) takes part in it and passes SQLite's callbacks on to here, so that
 * sessions that only read learn of its end too.
 */
#ifndef PT_TRANSACTION_EXPLICIT_TRANSACTION_H
#define PT_TRANSACTION_EXPLICIT_TRANSACTION_H

#include "transaction/connection.h"

/* The companion takes part from now on: pt_connection.followed is true until commit or
 * rollback. */
void pt_explicit_transaction_follow(pt_connection *connection);

/* Opens, releases or goes back to a savepoint in all sessions, even after one has failed
 * (pt_session_savepoint). SQLITE_OK or SQLITE_NOMEM. */
int pt_explicit_transaction_savepoint(pt_connection *connection, int level);
void pt_explicit_transaction_release(pt_connection *connection, int level);
void pt_explicit_transaction_rollback_to(pt_connection *connection, int level);

/* Syncs all sessions. Stops at the first one that fails, and returns its code (pt_session_sync). */
int pt_explicit_transaction_sync(pt_connection *connection, pt_error *error);

/* End the transaction of all sessions, drop their views, and close unused stores. */
void pt_explicit_transaction_commit(pt_connection *connection);
void pt_explicit_transaction_rollback(pt_connection *connection);

/* --- What the companion is doing --- */

/* True while the companion joins a transaction that is already open. */
bool pt_explicit_transaction_is_joining(const pt_connection *connection);
void pt_explicit_transaction_set_joining(pt_connection *connection, bool joining);

/* True while SQLite connects tables again because the companion could not be created
 * (pt_companion_ensure). It does so once, so that it cannot go on for ever. */
bool pt_explicit_transaction_is_reconnecting(const pt_connection *connection);
void pt_explicit_transaction_set_reconnecting(pt_connection *connection, bool reconnecting);

/*
 * Set while a statement writes through the companion (pt_companion_run). Such a statement may be
 * part of one that reads the main database and so keeps others from committing: it must not wait
 * for a store's lock.
 */
void pt_explicit_transaction_set_beside_main(pt_connection *connection, bool beside);

#endif
