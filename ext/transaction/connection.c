#include "transaction/connection.h"

#include <sys/stat.h>

#include "base/assert.h"
#include "base/seal.h"
#include "base/sqlite.h"
#include "transaction/main_database_lock.h"
#include "transaction/taken_back.h"

pt_connection *pt_connection_new(sqlite3 *db, const pt_engine *engine)
{
    pt_connection *connection = sqlite3_malloc64(sizeof *connection);
    if (connection != NULL) {
        *connection = (pt_connection){.db = db, .engine = engine, .references = 1};
    }
    return connection;
}

void pt_connection_retain(pt_connection *connection)
{
    connection->references++;
}

static void close_session(pt_open_session *open)
{
    pt_session_free(open->session);
    sqlite3_free(open);
}

void pt_connection_release(pt_connection *connection)
{
    PT_ASSERT(connection->references > 0);
    if (--connection->references > 0) {
        return;
    }
    while (connection->sessions != NULL) {
        pt_open_session *open = connection->sessions;
        connection->sessions = open->next;
        close_session(open);
    }
    sqlite3_free(connection->folder);
    sqlite3_free(connection);
}

/* --- Properties --- */

const pt_engine *pt_connection_engine(const pt_connection *connection)
{
    return connection->engine;
}

const char *pt_connection_schema(const pt_connection *connection, const char *name)
{
    return sqlite3_stricmp(name, sqlite3_db_name(connection->db, 0)) == 0 ? "main" : name;
}

const char *pt_connection_folder(const pt_connection *connection)
{
    return connection->folder;
}

void pt_connection_set_folder(pt_connection *connection, char *folder)
{
    PT_ASSERT(connection->folder == NULL);
    connection->folder = folder;
}

/* --- Answers to sessions: pt_session_host --- */

/*
 * Two connections that each hold one store's lock and wait for the other's would deadlock. So would
 * a connection that reads the main database and waits for a store's lock, and one that holds the
 * store's lock and waits to commit the main database. In both cases do not wait at all.
 */
static int lock_wait(void *context, int *wait_ms, const char **advice, pt_error *error)
{
    *wait_ms = 0;
    const pt_connection *connection = context;
    if (connection->beside_main && pt_main_database_read_blocks_writers(connection->db)) {
        *advice = "try again; a statement that reads a database with a rollback journal cannot "
                  "wait for that: BEGIN IMMEDIATE before it, or use PRAGMA journal_mode=WAL";
        return SQLITE_OK;
    }
    for (const pt_open_session *open = connection->sessions; open != NULL; open = open->next) {
        if (pt_session_is_writing(open->session)) {
            *advice = "ROLLBACK and try again; a transaction that writes to another store cannot "
                      "wait for that";
            return SQLITE_OK;
        }
    }
    *advice = "try again, or wait longer with PRAGMA busy_timeout";
    return pt_busy_timeout(connection->db, wait_ms, error);
}

static int before_commit(void *context, pt_error *error)
{
    return pt_main_database_lock_for_commit(((const pt_connection *)context)->db, error);
}

/* --- File names --- */

static bool is_regular_file(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* SQLite overwrites and deletes files with such endings, but only next to a database of that name.
 */
static int refuse_next_to_database(const char *path, const char *ending, pt_error *error)
{
    char *database = sqlite3_mprintf("%.*s", (int)(ending - path), path);
    if (database == NULL) {
        return pt_error_nomem(error);
    }
    int rc = SQLITE_OK;
    if (is_regular_file(database)) {
        rc = pt_error_set(error, SQLITE_CANTOPEN,
                          "a store cannot be named %Q: SQLite gives a file of the database %Q this "
                          "name; choose another",
                          path, database);
    }
    sqlite3_free(database);
    return rc;
}

int pt_store_name_check(const char *path, pt_error *error)
{
    const char *ending = strrchr(path, '-');
    if (ending == NULL) {
        return SQLITE_OK;
    }
    /* LMDB would take it for the lock file of the store without the ending, and overwrite it. */
    if (strcmp(ending, "-lock") == 0) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "a store cannot be named %Q: names that end in -lock are those of "
                            "lock files; choose another",
                            path);
    }
    bool reserved = strcmp(ending, "-journal") == 0 || strcmp(ending, "-wal") == 0 ||
                    strcmp(ending, "-shm") == 0;
    return reserved ? refuse_next_to_database(path, ending, error) : SQLITE_OK;
}

/* --- Finding sessions --- */

/* Each session that a caller can have is in the list. */
static pt_open_session *find_by_session(const pt_connection *connection, const pt_session *session)
{
    pt_open_session *open = connection->sessions;
    while (open->session != session) {
        open = open->next;
    }
    return open;
}

static pt_open_session *find_by_session_name(const pt_connection *connection, const char *name,
                                             bool is_private)
{
    pt_open_session *open = connection->sessions;
    while (open != NULL && (open->is_private != is_private || strcmp(open->name, name) != 0)) {
        open = open->next;
    }
    return open;
}

static pt_open_session *find_by_store(const pt_connection *connection, const pt_store *store)
{
    pt_open_session *open = connection->sessions;
    while (open != NULL && pt_session_store(open->session) != store) {
        open = open->next;
    }
    return open;
}

pt_session *pt_connection_find_private(const pt_connection *connection, const char *schema)
{
    const pt_open_session *open = find_by_session_name(connection, schema, true);
    return open != NULL ? open->session : NULL;
}

const char *pt_connection_private_schema(const pt_connection *connection, const pt_session *session)
{
    const pt_open_session *open = find_by_session(connection, session);
    return open->is_private ? open->name : NULL;
}

uint32_t pt_connection_number_of(const pt_connection *connection, const pt_session *session)
{
    return find_by_session(connection, session)->number;
}

pt_session *pt_connection_session_of(const pt_connection *connection, uint32_t number)
{
    const pt_open_session *open = connection->sessions;
    while (open != NULL && open->number != number) {
        open = open->next;
    }
    return open != NULL ? open->session : NULL;
}

pt_session *pt_connection_session_above(const pt_connection *connection, uint32_t number)
{
    const pt_open_session *lowest = NULL;
    /* The list has the highest number first. */
    for (const pt_open_session *open = connection->sessions; open != NULL && open->number > number;
         open = open->next) {
        lowest = open;
    }
    return lowest != NULL ? lowest->session : NULL;
}

/* --- Detached databases --- */

static bool can_be_detached(const char *schema)
{
    return sqlite3_stricmp(schema, "main") != 0 && sqlite3_stricmp(schema, "temp") != 0;
}

/* True if no database has this name any more. */
static bool is_detached(const pt_connection *connection, const char *schema)
{
    return can_be_detached(schema) && sqlite3_db_filename(connection->db, schema) == NULL;
}

static uint32_t checksum_of(const char *file)
{
    return pt_seal_of(pt_slice_text("database"), pt_slice_text(file));
}

/* True also if another database has the name now. (Databases in memory have no file name to tell
 * them apart. If it is the same file again, its store is the same too.) */
static bool has_lost_database(const pt_connection *connection, const pt_connected *table)
{
    const char *file = table->attached ? sqlite3_db_filename(connection->db, table->schema) : "";
    return table->attached && (file == NULL || checksum_of(file) != table->database);
}

void pt_connection_leave_detached(pt_connection *connection)
{
    pt_connected **link = &connection->tables;
    while (*link != NULL) {
        pt_connected *table = *link;
        if (has_lost_database(connection, table) && table->leave_store(table)) {
            *link = table->next;
            connection->attached--;
        } else {
            link = &table->next;
        }
    }
}

/* --- Opening and closing stores --- */

static int add_session(pt_connection *connection, pt_store *store, const char *name,
                       bool is_private, pt_open_session **out, pt_error *error)
{
    size_t size = strlen(name) + 1;
    pt_open_session *open = sqlite3_malloc64(sizeof *open + size);
    if (open == NULL) {
        store->engine->close(store);
        return pt_error_nomem(error);
    }
    *open = (pt_open_session){.is_private = is_private, .number = ++connection->last_number};
    memcpy(open->name, name, size);
    const pt_session_host host = {.context = connection,
                                  .lock_wait = lock_wait,
                                  .followed = &connection->followed,
                                  .before_commit = before_commit,
                                  .amend = pt_taken_back_amend,
                                  .db = connection->db};
    open->session = pt_session_new(store, &host);
    if (open->session == NULL) { /* pt_session_new has closed the store */
        sqlite3_free(open);
        return pt_error_nomem(error);
    }
    open->next = connection->sessions;
    connection->sessions = open;
    *out = open;
    return SQLITE_OK;
}

/* A new store gets the access rights of the database file whose table is the first in it. */
static int open_store_file(const pt_connection *connection, const char *path, const char *schema,
                           bool create, pt_store **store, pt_error *error)
{
    int rc = pt_store_name_check(path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const char *like = create ? sqlite3_db_filename(connection->db, schema) : NULL;
    if (like == NULL || like[0] == 0) {
        return connection->engine->open(path, create ? PT_OPEN_CREATE : 0, store, error);
    }
    /* Does nothing if the file exists. Connections that create it at the same time all open the
     * same one. */
    rc = connection->engine->create(path, like, error);
    return rc == SQLITE_OK ? connection->engine->open(path, 0, store, error) : rc;
}

static int open_session(pt_connection *connection, const char *path, const char *schema,
                        bool create, pt_open_session **open, pt_error *error)
{
    pt_store *store;
    int rc = path == NULL ? connection->engine->open("", PT_OPEN_PRIVATE, &store, error)
                          : open_store_file(connection, path, schema, create, &store, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* The path may be another name of a file that is open. Then the engine returns the same store
     * again; use its session, because two sessions of one connection would block each other. */
    *open = find_by_store(connection, store);
    if (*open != NULL) {
        store->engine->close(store);
        return SQLITE_OK;
    }
    return add_session(connection, store, path == NULL ? schema : path, path == NULL, open, error);
}

int pt_connection_use(pt_connection *connection, const char *path, const char *schema, bool create,
                      pt_session **session, pt_error *error)
{
    bool is_private = path == NULL;
    pt_connection_notice_detach(connection);
    pt_open_session *open =
        find_by_session_name(connection, is_private ? schema : path, is_private);
    if (open == NULL) {
        int rc = open_session(connection, path, schema, create, &open, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    open->uses++;
    *session = open->session;
    return SQLITE_OK;
}

bool pt_connection_has_open(const pt_connection *connection, const char *path, const char *schema)
{
    bool is_private = path == NULL;
    return find_by_session_name(connection, is_private ? schema : path, is_private) != NULL;
}

void pt_connection_use_again(pt_connection *connection, pt_session *session)
{
    find_by_session(connection, session)->uses++;
}

void pt_connection_keep_open(pt_connection *connection)
{
    connection->keeps_open = true;
}

void pt_connection_close_unused(pt_connection *connection)
{
    if (connection->keeps_open || connection->followed) {
        return;
    }
    pt_open_session **link = &connection->sessions;
    while (*link != NULL) {
        pt_open_session *open = *link;
        /* Closing a private store loses its tables. */
        bool lasts = open->is_private && !is_detached(connection, open->name);
        if (open->uses == 0 && !lasts && !pt_session_is_writing(open->session)) {
            *link = open->next;
            close_session(open);
        } else {
            link = &open->next;
        }
    }
}

void pt_connection_leave(pt_connection *connection, pt_session *session)
{
    pt_open_session *open = find_by_session(connection, session);
    PT_ASSERT(open->uses > 0);
    open->uses--;
    pt_connection_close_unused(connection);
}

/* --- Connected tables --- */

void pt_connected_tables_add(pt_connection *connection, pt_connected *table)
{
    pt_connection_notice_detach(connection);
    table->attached = can_be_detached(table->schema);
    if (table->attached) {
        table->database = checksum_of(sqlite3_db_filename(connection->db, table->schema));
        connection->attached++;
    }
    table->next = connection->tables;
    connection->tables = table;
}

void pt_connected_tables_remove(pt_connection *connection, pt_connected *table)
{
    pt_connected **link = &connection->tables;
    while (*link != NULL && *link != table) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = table->next;
        connection->attached -= table->attached;
    }
}

/* After a schema reset SQLite connects a table again before it disconnects the old object. The
 * newest object comes first in the list. */
pt_connected *pt_connected_tables_find(const pt_connection *connection, const char *schema,
                                       const char *name)
{
    const char *lasting = pt_connection_schema(connection, schema);
    pt_connected *table = connection->tables;
    while (table != NULL && (sqlite3_stricmp(table->schema, lasting) != 0 ||
                             sqlite3_stricmp(table->name, name) != 0)) {
        table = table->next;
    }
    return table;
}
