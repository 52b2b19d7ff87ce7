/*
 * What one SQLite connection has open: one session for each store. All modules and functions that
 * are registered on the connection share this object. Two other modules keep state in it:
 *
 *     transaction/explicit_transaction.h   callbacks for all sessions, from BEGIN to COMMIT
 *     transaction/batch_rules.h            batches over all sessions
 */
#ifndef PT_TRANSACTION_CONNECTION_H
#define PT_TRANSACTION_CONNECTION_H

#include "transaction/session.h"

typedef struct sqlite3 sqlite3;

/* A session and the name it was opened by. */
typedef struct pt_open_session {
    struct pt_open_session *next;
    pt_session *session;
    unsigned uses;
    uint32_t number;
    bool is_private;
    char name[]; /* path, or schema of a private store */
} pt_open_session;

/* Part of the table's object, which owns the names. */
typedef struct pt_connected {
    struct pt_connected *next;
    const char *schema;
    const char *name;
    /* Gives the table's use of its store back, for good: see pt_connection_notice_detach. False if
     * it cannot be done now. */
    bool (*leave_store)(struct pt_connected *table);
    bool attached;     /* in an attached database: one that can be detached */
    uint32_t database; /* a checksum of that database's file name */
} pt_connected;

/* Everyone may read `db`, `followed` and `attached`. The other members are for the modules above.
 */
typedef struct pt_connection {
    sqlite3 *db;
    const pt_engine *engine;
    char *folder;
    unsigned references;
    pt_open_session *sessions; /* the newest first */
    uint32_t last_number;      /* of the sessions */
    bool keeps_open;           /* unused stores stay open until the transaction ends */

    /* transaction/explicit_transaction.h */
    bool followed; /* the companion takes part in an explicit transaction */
    bool joining;
    bool reconnecting;
    bool beside_main;

    pt_connected *tables; /* the newest first */
    unsigned attached;    /* how many of them are in attached databases */
    bool may_have_batch;  /* transaction/batch_rules.h; false: no session has a batch */
} pt_connection;

/* With one reference. `engine` will open its stores. NULL when out of memory. */
pt_connection *pt_connection_new(sqlite3 *db, const pt_engine *engine);
void pt_connection_retain(pt_connection *connection);
/* The last reference closes all stores. */
void pt_connection_release(pt_connection *connection);

const pt_engine *pt_connection_engine(const pt_connection *connection);

/* "main" for the main database, which a program can rename at any time
 * (SQLITE_DBCONFIG_MAINDBNAME). Returns the names of other schemas as they are. */
const char *pt_connection_schema(const pt_connection *connection, const char *name);

/* The folder where relative paths start if there is no database file. NULL until it is set. */
const char *pt_connection_folder(const pt_connection *connection);
/* Call once. Takes ownership of `folder`, from sqlite3_malloc. */
void pt_connection_set_folder(pt_connection *connection, char *folder);

/* --- Opening and closing stores --- */

/*
 * The session for a store file (absolute path), or, with path NULL, for the private store of a
 * schema ("main", "temp", ...), which lives as long as its database. Opens the store if it is not
 * open. Creates it if `create`, with the access rights of the schema's database file. Give each use
 * back with pt_connection_leave. SQLITE_CANTOPEN if the store may not have this name
 * (pt_store_name_check); SQLITE_NOMEM; or the engine's error if it cannot open the store.
 */
int pt_connection_use(pt_connection *connection, const char *path, const char *schema, bool create,
                      pt_session **session, pt_error *error);

/* True if the connection has that store open. */
bool pt_connection_has_open(const pt_connection *connection, const char *path, const char *schema);

/* One more use of an open session. */
void pt_connection_use_again(pt_connection *connection, pt_session *session);

/* Gives one use back. A store without uses is closed, unless a transaction still needs it. A
 * private one stays until its database is detached. */
void pt_connection_leave(pt_connection *connection, pt_session *session);

/* Keeps unused stores open until the transaction ends. */
void pt_connection_keep_open(pt_connection *connection);

/* For the end of a transaction: closes the stores that only the transaction kept open. */
void pt_connection_close_unused(pt_connection *connection);

/* Refuses a file name that a store must not have, because SQLite or LMDB would overwrite the file.
 * SQLITE_CANTOPEN if the path is that of a lock file, or of a file that SQLite creates for a
 * database (-journal, -wal, -shm). SQLITE_NOMEM. */
int pt_store_name_check(const char *path, pt_error *error);

/* For pt_connection_notice_detach. */
void pt_connection_leave_detached(pt_connection *connection);

/*
 * Closes stores that only tables of detached databases use. After DETACH, SQLite disconnects a
 * table when the next statement is prepared, but not before all statements on the table are
 * finalized. Programs keep statements, although these can never use the table again. So this comes
 * before each use of the extension that is not frequent.
 */
static inline void pt_connection_notice_detach(pt_connection *connection)
{
    if (connection->attached != 0) {
        pt_connection_leave_detached(connection);
    }
}

/* --- Finding sessions --- */

/* The session of a schema's private store, or NULL. Does not count as a use. */
pt_session *pt_connection_find_private(const pt_connection *connection, const char *schema);

/* The schema if the session's store is private; NULL if it is a file. */
const char *pt_connection_private_schema(const pt_connection *connection,
                                         const pt_session *session);

/* Sessions have numbers from 1 on; a connection uses each number once. */
uint32_t pt_connection_number_of(const pt_connection *connection, const pt_session *session);
/* The session with that number; NULL if there is none, or its store is closed. */
pt_session *pt_connection_session_of(const pt_connection *connection, uint32_t number);
/* The session with the lowest number above `number`, or NULL. */
pt_session *pt_connection_session_above(const pt_connection *connection, uint32_t number);

/* --- Connected tables: for functions that are given the name of a table in SQL --- */

/* The newest; follow `next` to the others. NULL if there is none. */
static inline pt_connected *pt_connected_tables_first(const pt_connection *connection)
{
    return connection->tables;
}

/* Not copied: remove the table before it is freed. */
void pt_connected_tables_add(pt_connection *connection, pt_connected *table);
/* Does nothing if the table was not added. */
void pt_connected_tables_remove(pt_connection *connection, pt_connected *table);
/* The table that was connected last under this name (case does not matter), or NULL. */
pt_connected *pt_connected_tables_find(const pt_connection *connection, const char *schema,
                                       const char *name);

#endif
