#include "transaction/connection.h"

#include <sys/stat.h>

#include "base/sqlite.h"
#include "transaction/main_database_lock.h"

/* A session and under which name it was opened. */
typedef struct opened {
    struct opened *next;
    pt_session *session;
    unsigned uses;
    uint32_t number;
    bool is_private;
    char name[]; /* path, or schema of a private store */
} opened;

struct pt_connection {
    sqlite3 *db;
    const pt_engine *engine;
    char *folder;
    unsigned references;
    opened *sessions;
    uint32_t last_number; /* of the sessions */
    pt_connected *tables;
    bool joining;
    bool reconnecting; /* tables, since the companion could not be made: once is enough */
    bool beside_main;
    bool followed;       /* the companion takes part in the transaction that is open */
    bool keeps_open;     /* until the transaction is over */
    bool may_have_batch; /* false: no session has a batch */
};

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

static void free_opened(opened *entry)
{
    pt_session_free(entry->session);
    sqlite3_free(entry);
}

void pt_connection_release(pt_connection *connection)
{
    if (--connection->references > 0) {
        return;
    }
    while (connection->sessions != NULL) {
        opened *entry = connection->sessions;
        connection->sessions = entry->next;
        free_opened(entry);
    }
    sqlite3_free(connection->folder);
    sqlite3_free(connection);
}

sqlite3 *pt_connection_db(const pt_connection *connection)
{
    return connection->db;
}

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
    connection->folder = folder;
}

/* --- What sessions ask --- */

static int busy_timeout(sqlite3 *db, int *milliseconds)
{
    sqlite3_stmt *statement = NULL;
    *milliseconds = 0;
    int rc = sqlite3_prepare_v2(db, "PRAGMA busy_timeout", -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        *milliseconds = sqlite3_column_int(statement, 0);
    }
    return rc == SQLITE_OK ? sqlite3_finalize(statement) : rc;
}

/* Where it is not known for another reason, as an authorizer's, nothing is waited for. */
int pt_connection_busy_timeout(const pt_connection *connection, int *milliseconds, pt_error *error)
{
    switch (busy_timeout(connection->db, milliseconds)) {
    case SQLITE_INTERRUPT:
        return pt_error_set(error, SQLITE_INTERRUPT, "the statement was interrupted");
    case SQLITE_NOMEM:
        return pt_error_nomem(error);
    default:
        return SQLITE_OK;
    }
}

/* Who holds one store's lock must not wait for another's: two such could wait for each other. So
 * could one that reads the main database and one that is to commit it. */
static int lock_wait(void *context, int *wait_ms, const char **advice, pt_error *error)
{
    *wait_ms = 0;
    const pt_connection *connection = context;
    if (connection->beside_main && pt_main_database_read_blocks_writers(connection->db)) {
        *advice = "try again; a statement that reads a database with a rollback journal cannot "
                  "wait for that: BEGIN IMMEDIATE before it, or use PRAGMA journal_mode=WAL";
        return SQLITE_OK;
    }
    for (const opened *entry = connection->sessions; entry != NULL; entry = entry->next) {
        if (pt_session_is_writing(entry->session)) {
            *advice = "ROLLBACK and try again; a transaction that writes to another store cannot "
                      "wait for that";
            return SQLITE_OK;
        }
    }
    *advice = "try again, or wait longer with PRAGMA busy_timeout";
    return pt_connection_busy_timeout(connection, wait_ms, error);
}

static bool follows_transaction(void *context)
{
    return ((const pt_connection *)context)->followed;
}

/* As with a store's lock, the busy time-out is asked for only when there is something to wait for.
 */
static int before_commit(void *context, pt_error *error)
{
    sqlite3 *db = ((const pt_connection *)context)->db;
    int rc = pt_main_database_lock_all(db, 0, error);
    if (rc != SQLITE_BUSY) {
        return rc;
    }
    /* Interrupted, it is busy like any commit that was not waited for: the transaction stays. */
    int milliseconds;
    if (busy_timeout(db, &milliseconds) == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    if (milliseconds <= 0) {
        return rc;
    }
    pt_error_clear(error);
    return pt_main_database_lock_all(db, milliseconds, error);
}

/* --- Sessions --- */

static opened *find_by_name(const pt_connection *connection, const char *name, bool is_private)
{
    opened *entry = connection->sessions;
    while (entry != NULL && (entry->is_private != is_private || strcmp(entry->name, name) != 0)) {
        entry = entry->next;
    }
    return entry;
}

static opened *find_by_store(const pt_connection *connection, const pt_store *store)
{
    opened *entry = connection->sessions;
    while (entry != NULL && pt_session_store(entry->session) != store) {
        entry = entry->next;
    }
    return entry;
}

static opened *find_by_session(const pt_connection *connection, const pt_session *session)
{
    opened *entry = connection->sessions;
    while (entry->session != session) {
        entry = entry->next;
    }
    return entry;
}

static int add_session(pt_connection *connection, pt_store *store, const char *name,
                       bool is_private, opened **out, pt_error *error)
{
    size_t size = strlen(name) + 1;
    opened *entry = sqlite3_malloc64(sizeof *entry + size);
    if (entry == NULL) {
        store->engine->close(store);
        return pt_error_nomem(error);
    }
    *entry = (opened){.is_private = is_private, .number = ++connection->last_number};
    memcpy(entry->name, name, size);
    const pt_session_host host = {.context = connection,
                                  .lock_wait = lock_wait,
                                  .follows_transaction = follows_transaction,
                                  .before_commit = before_commit,
                                  .db = connection->db};
    entry->session = pt_session_new(store, &host);
    if (entry->session == NULL) {
        sqlite3_free(entry);
        return pt_error_nomem(error);
    }
    entry->next = connection->sessions;
    connection->sessions = entry;
    *out = entry;
    return SQLITE_OK;
}

static bool is_regular_file(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* SQLite overwrites and deletes files with these names that belong to a database. */
static int check_database(const char *path, const char *ending, pt_error *error)
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

int pt_connection_check_name(const char *path, pt_error *error)
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
    return reserved ? check_database(path, ending, error) : SQLITE_OK;
}

/* A new store is for whom the database is that declares its first table. */
static int open_store(const pt_connection *connection, const char *path, const char *schema,
                      bool create, pt_store **store, pt_error *error)
{
    int rc = pt_connection_check_name(path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const char *like = create ? sqlite3_db_filename(connection->db, schema) : NULL;
    if (like == NULL || like[0] == 0) {
        return connection->engine->open(path, create ? PT_OPEN_CREATE : 0, store, error);
    }
    rc = connection->engine->create(path, like, error);
    return rc == SQLITE_OK ? connection->engine->open(path, 0, store, error) : rc;
}

/* Opens the store; another name of a file that is open already leads to its session. */
static int open_session(pt_connection *connection, const char *path, const char *schema,
                        bool create, opened **entry, pt_error *error)
{
    pt_store *store;
    int rc = path == NULL ? connection->engine->open("", PT_OPEN_PRIVATE, &store, error)
                          : open_store(connection, path, schema, create, &store, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *entry = find_by_store(connection, store);
    if (*entry != NULL) {
        store->engine->close(store);
        return SQLITE_OK;
    }
    return add_session(connection, store, path == NULL ? schema : path, path == NULL, entry, error);
}

int pt_connection_use(pt_connection *connection, const char *path, const char *schema, bool create,
                      pt_session **session, pt_error *error)
{
    bool is_private = path == NULL;
    const char *name = is_private ? schema : path;
    opened *entry = find_by_name(connection, name, is_private);
    if (entry == NULL) {
        int rc = open_session(connection, path, schema, create, &entry, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    entry->uses++;
    *session = entry->session;
    return SQLITE_OK;
}

/* Closes stores that no table uses any more and that no transaction needs. */
static void close_unused(pt_connection *connection)
{
    if (connection->keeps_open || connection->followed) {
        return;
    }
    opened **link = &connection->sessions;
    while (*link != NULL) {
        opened *entry = *link;
        if (entry->uses == 0 && !entry->is_private && !pt_session_is_writing(entry->session)) {
            *link = entry->next;
            free_opened(entry);
        } else {
            link = &entry->next;
        }
    }
}

void pt_connection_leave(pt_connection *connection, pt_session *session)
{
    find_by_session(connection, session)->uses--;
    close_unused(connection);
}

void pt_connection_keep_open(pt_connection *connection)
{
    connection->keeps_open = true;
}

/* --- What is open --- */

pt_session *pt_connection_find_private(const pt_connection *connection, const char *schema)
{
    const opened *entry = find_by_name(connection, schema, true);
    return entry != NULL ? entry->session : NULL;
}

pt_session *pt_connection_session_above(const pt_connection *connection, uint32_t number)
{
    /* The newest, which has the highest number, is the first. */
    const opened *lowest = NULL;
    for (const opened *entry = connection->sessions; entry != NULL && entry->number > number;
         entry = entry->next) {
        lowest = entry;
    }
    return lowest != NULL ? lowest->session : NULL;
}

pt_session *pt_connection_session_of(const pt_connection *connection, uint32_t number)
{
    const opened *entry = connection->sessions;
    while (entry != NULL && entry->number != number) {
        entry = entry->next;
    }
    return entry != NULL ? entry->session : NULL;
}

uint32_t pt_connection_number_of(const pt_connection *connection, const pt_session *session)
{
    return find_by_session(connection, session)->number;
}

void pt_connection_use_again(pt_connection *connection, pt_session *session)
{
    find_by_session(connection, session)->uses++;
}

const char *pt_connection_private_schema(const pt_connection *connection, const pt_session *session)
{
    const opened *entry = find_by_session(connection, session);
    return entry->is_private ? entry->name : NULL;
}

/* --- Connected tables --- */

void pt_connection_enter(pt_connection *connection, pt_connected *table)
{
    table->next = connection->tables;
    connection->tables = table;
}

void pt_connection_take_out(pt_connection *connection, pt_connected *table)
{
    pt_connected **link = &connection->tables;
    while (*link != NULL && *link != table) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = table->next;
    }
}

pt_connected *pt_connection_find_table(const pt_connection *connection, const char *schema,
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

pt_session *pt_connection_next_session(const pt_connection *connection, const pt_session *session)
{
    const opened *entry = connection->sessions;
    if (session != NULL) {
        while (entry->session != session) {
            entry = entry->next;
        }
        entry = entry->next;
    }
    return entry != NULL ? entry->session : NULL;
}

/* --- Batches --- */

void pt_connection_note_batch(pt_connection *connection, pt_session *session)
{
    pt_session_note_batch(session);
    connection->may_have_batch = true;
}

bool pt_connection_has_batch(pt_connection *connection)
{
    if (!connection->may_have_batch) {
        return false;
    }
    const opened *entry = connection->sessions;
    while (entry != NULL && !pt_session_has_batch(entry->session)) {
        entry = entry->next;
    }
    connection->may_have_batch = entry != NULL;
    return connection->may_have_batch;
}

/* --- Explicit transactions --- */

bool pt_connection_is_joining(const pt_connection *connection)
{
    return connection->joining;
}

void pt_connection_set_beside_main(pt_connection *connection, bool beside)
{
    connection->beside_main = beside;
}

void pt_connection_set_joining(pt_connection *connection, bool joining)
{
    connection->joining = joining;
}

bool pt_connection_is_reconnecting(const pt_connection *connection)
{
    return connection->reconnecting;
}

void pt_connection_set_reconnecting(pt_connection *connection, bool reconnecting)
{
    connection->reconnecting = reconnecting;
}

bool pt_connection_is_followed(const pt_connection *connection)
{
    return connection->followed;
}

void pt_connection_follow(pt_connection *connection)
{
    connection->followed = true;
}

int pt_connection_savepoint(pt_connection *connection, int level)
{
    int first_rc = SQLITE_OK;
    for (opened *entry = connection->sessions; entry != NULL; entry = entry->next) {
        int rc = pt_session_savepoint(entry->session, level);
        first_rc = first_rc == SQLITE_OK ? rc : first_rc;
    }
    return first_rc;
}

void pt_connection_release_savepoint(pt_connection *connection, int level)
{
    for (opened *entry = connection->sessions; entry != NULL; entry = entry->next) {
        pt_session_release(entry->session, level);
    }
}

void pt_connection_rollback_to(pt_connection *connection, int level)
{
    for (opened *entry = connection->sessions; entry != NULL; entry = entry->next) {
        pt_session_rollback_to(entry->session, level);
    }
}

int pt_connection_sync(pt_connection *connection, pt_error *error)
{
    int rc = SQLITE_OK;
    for (opened *entry = connection->sessions; rc == SQLITE_OK && entry != NULL;
         entry = entry->next) {
        rc = pt_session_sync(entry->session, error);
    }
    return rc;
}

static void end_transaction(pt_connection *connection, void (*end)(pt_session *))
{
    connection->followed = false;
    connection->keeps_open = false;
    for (opened *entry = connection->sessions; entry != NULL; entry = entry->next) {
        end(entry->session);
        pt_session_end_read(entry->session);
    }
    close_unused(connection);
}

void pt_connection_commit(pt_connection *connection)
{
    end_transaction(connection, pt_session_commit);
}

void pt_connection_rollback(pt_connection *connection)
{
    end_transaction(connection, pt_session_rollback);
}
