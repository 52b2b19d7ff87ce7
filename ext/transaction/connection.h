/*
 * What one SQLite connection has open: its sessions, one a store, and whether the companion follows
 * its explicit transaction. Shared by all modules and functions registered on the connection.
 */
#ifndef PT_TRANSACTION_CONNECTION_H
#define PT_TRANSACTION_CONNECTION_H

#include "transaction/session.h"

typedef struct sqlite3 sqlite3;
typedef struct pt_connection pt_connection;

/* With one reference; its stores are opened by `engine`. NULL when out of memory. */
pt_connection *pt_connection_new(sqlite3 *db, const pt_engine *engine);
void pt_connection_retain(pt_connection *connection);
/* The last reference closes all stores. */
void pt_connection_release(pt_connection *connection);

sqlite3 *pt_connection_db(const pt_connection *connection);
const pt_engine *pt_connection_engine(const pt_connection *connection);

/* "main" for the name that a program may have given the main database, and may change
 * (SQLITE_DBCONFIG_MAINDBNAME); any other name of a schema as it is. */
const char *pt_connection_schema(const pt_connection *connection, const char *name);

/* The folder at which paths start where there is no database file; NULL as long as none is set. */
const char *pt_connection_folder(const pt_connection *connection);
/* To be set once. Takes over `folder`, from sqlite3_malloc. */
void pt_connection_set_folder(pt_connection *connection, char *folder);

/*
 * The session for a store file (absolute path), or, with path NULL, for the private store of a
 * schema ("main", "temp", ...), which lives as long as the connection. Opens the store if need be,
 * making it if `create`. Each use is given back with pt_connection_leave. SQLITE_NOMEM, and what
 * the engine answers when it cannot open the store.
 */
int pt_connection_use(pt_connection *connection, const char *path, const char *schema, bool create,
                      pt_session **session, pt_error *error);
void pt_connection_leave(pt_connection *connection, pt_session *session);

/* Stores that nobody uses any more stay open until the transaction is over. */
void pt_connection_keep_open(pt_connection *connection);

/* --- What is open --- */

/* Whether a store may have this path: not that of a lock file, nor of a file that SQLite makes for
 * a database. SQLITE_CANTOPEN, SQLITE_NOMEM. */
int pt_connection_check_name(const char *path, pt_error *error);

/* In ms, as PRAGMA busy_timeout says. SQLITE_OK, SQLITE_INTERRUPT, SQLITE_NOMEM. */
int pt_connection_busy_timeout(const pt_connection *connection, int *milliseconds, pt_error *error);

/* The session of a schema's private store, or NULL; not a use of it. */
pt_session *pt_connection_find_private(const pt_connection *connection, const char *schema);

/*
 * Sessions have numbers from 1 on, each used once in a connection. The one with the lowest number
 * above `number`, or NULL.
 */
pt_session *pt_connection_session_above(const pt_connection *connection, uint32_t number);
/* The one with that number; NULL if there is none, or its store is closed. */
pt_session *pt_connection_session_of(const pt_connection *connection, uint32_t number);
uint32_t pt_connection_number_of(const pt_connection *connection, const pt_session *session);

/* One more use of a session that is open. */
void pt_connection_use_again(pt_connection *connection, pt_session *session);

/* The schema whose private store this is; NULL for a file. */
const char *pt_connection_private_schema(const pt_connection *connection,
                                         const pt_session *session);

/* --- The tables that SQLite has connected, for those that are given a table's name --- */

/* Part of a table's object; the names are the object's. */
typedef struct pt_connected {
    struct pt_connected *next;
    const char *schema;
    const char *name;
} pt_connected;

void pt_connection_enter(pt_connection *connection, pt_connected *table);
/* One that was not entered is passed over. */
void pt_connection_take_out(pt_connection *connection, pt_connected *table);
/* The table that was connected last under this name, compared without case; NULL if none is. */
pt_connected *pt_connection_find_table(const pt_connection *connection, const char *schema,
                                       const char *name);

/* The session after this one in a fixed order, the first one for NULL; NULL: there is no other. */
pt_session *pt_connection_next_session(const pt_connection *connection, const pt_session *session);

/*
 * The write that a session has just made begins a batch, if none has begun; whether one has begun
 * in a transaction of any session. It costs next to nothing while there is none.
 */
void pt_connection_note_batch(pt_connection *connection, pt_session *session);
bool pt_connection_has_batch(pt_connection *connection);

/*
 * While a statement writes beside the main database (pt_companion_run): it may be part of one that
 * keeps others from committing, and then does not wait for a store's lock.
 */
void pt_connection_set_beside_main(pt_connection *connection, bool beside);

/* --- An explicit transaction, as the companion is told of it; for all sessions --- */

/* While the companion joins a transaction that is open already. */
bool pt_connection_is_joining(const pt_connection *connection);
void pt_connection_set_joining(pt_connection *connection, bool joining);

/* Whether tables are connected again since the companion could not be made: once is enough. */
bool pt_connection_is_reconnecting(const pt_connection *connection);
void pt_connection_set_reconnecting(pt_connection *connection, bool reconnecting);

bool pt_connection_is_followed(const pt_connection *connection);
void pt_connection_follow(pt_connection *connection);
/* SQLITE_OK or SQLITE_NOMEM; all sessions are told of it in any case. */
int pt_connection_savepoint(pt_connection *connection, int level);
void pt_connection_release_savepoint(pt_connection *connection, int level);
void pt_connection_rollback_to(pt_connection *connection, int level);
/* What the first session answers that fails (pt_session_sync). */
int pt_connection_sync(pt_connection *connection, pt_error *error);
void pt_connection_commit(pt_connection *connection);
void pt_connection_rollback(pt_connection *connection);

#endif
