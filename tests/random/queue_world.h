/*
 * Connections with one queue between them, and the model of what each of them sees. Identifiers and
 * times that the queue makes are learned when they are first seen, and must stay the same as long
 * as the model says that they do.
 */
#ifndef TESTS_RANDOM_QUEUE_WORLD_H
#define TESTS_RANDOM_QUEUE_WORLD_H

#include "random/queue_model.h"
#include "random/run.h"

enum { CONNECTIONS = 3, SAVEPOINTS_MAX = 4 };

typedef struct world_host {
    const char *name;
    int connections;
    const char *files[CONNECTIONS]; /* main databases; NULL: in memory */
    const char *encodings[CONNECTIONS];
    const char *modes[CONNECTIONS];
    bool one_main;       /* all have the same */
    bool private_store;  /* one connection, whose store nobody else sees */
    const char *schemas; /* 't' or 'm' for each connection: where it declares its tables */
} world_host;

typedef struct model_savepoint {
    char name;
    bool writing;
    model_state state;
} model_savepoint;

typedef struct world_connection {
    int number;
    sqlite3 *db;
    int max_dequeue_count;
    bool in_transaction;
    bool begun_by_savepoint;
    bool has_view;
    bool writing;
    bool refused; /* a statement could not begin to write */
    sqlite3_stmt
        *reader; /* of messages that were handed out, while other statements run; or NULL */
    model_rows reads;
    int read;
    uint64_t version; /* of the store, which the view is of */
    model_state view; /* the version that it has read, with its own writes */
    model_savepoint savepoints[SAVEPOINTS_MAX];
    int savepoint_count;
} world_connection;

/* What the queue calls a message of the model, and its times. NULL: not seen yet. */
typedef struct known_message {
    char *id;
    char *inserted;
    char *expires;
} known_message;

typedef struct known_receipt {
    char *receipt;
    char *next_visible;
} known_receipt;

typedef struct queue_world {
    const world_host *host;
    const char *folder;
    world_connection connections[CONNECTIONS];
    sqlite3 *observer; /* sees committed messages only; NULL if the store is private */
    world_connection *writer;
    model_state committed;
    uint64_t version;
    model_counters counters;
    known_message *messages;
    int known_messages;
    known_receipt *receipts;
    int known_receipts;
    bool prints_statements; /* as they are run */
    bool prints_difference;
    bool different; /* something was */
} queue_world;

/* --- Bodies --- */

/* Text and BLOBs; the long ones are kept outside of the entity. */
static const char *const body_literals[] = {
    "'a'",
    "'b'",
    "'a'",
    "'to do'",
    "''",
    "x''",
    "x'00ff'",
    "x'61'",
    "'é'",
    "'日本 😀'",
    "'12'",
    "'2.5'",
    "char(97, 0, 98)",
    "'more'",
    "x'6d6f7265'",
    "'c'",
    "'d'",
    "hex(zeroblob(700))",
    "zeroblob(40000)",
    "hex(zeroblob(50000))",
};
enum {
    BODIES = sizeof body_literals / sizeof body_literals[0],
    LONG_BODIES = 2, /* the last ones */
};

/* As write_value shows them. */
static char *body_texts[BODIES];

static inline void learn_bodies(void)
{
    sqlite3 *db = NULL;
    must_be_ok(sqlite3_open(":memory:", &db), "opening a database");
    for (int i = 0; i < BODIES; i++) {
        sqlite3_stmt *select = NULL;
        char *sql = need(sqlite3_mprintf("SELECT %s", body_literals[i]));
        must_be_ok(sqlite3_prepare_v2(db, sql, -1, &select, NULL), sql);
        sqlite3_step(select);
        body_texts[i] = row_text(select);
        sqlite3_finalize(select);
        sqlite3_free(sql);
    }
    sqlite3_close(db);
}

static inline void forget_bodies(void)
{
    for (int i = 0; i < BODIES; i++) {
        sqlite3_free(body_texts[i]);
    }
}

/* --- Transactions --- */

static inline void model_end(queue_world *world, world_connection *connection, bool keep)
{
    if (connection->writing) {
        world->writer = NULL;
        if (keep && connection->view.wrote) {
            world->committed = connection->view;
            world->committed.wrote = false;
            world->version++;
        }
    }
    connection->in_transaction = false;
    connection->has_view = false;
    connection->writing = false;
    connection->savepoint_count = 0;
}

/* What a statement of the connection reads. */
static inline model_state *model_read(queue_world *world, world_connection *connection)
{
    if (!connection->in_transaction) {
        connection->view = world->committed;
    } else if (!connection->has_view) {
        connection->view = world->committed;
        connection->version = world->version;
        connection->has_view = true;
    }
    return &connection->view;
}

/* A statement of the connection begins to write its view: SQLITE_DONE, or why it cannot. */
static inline int model_write(queue_world *world, world_connection *connection)
{
    if (connection->writing) {
        return SQLITE_DONE;
    }
    if (world->writer != NULL) {
        return SQLITE_BUSY;
    }
    if (connection->has_view && connection->version != world->version) {
        return SQLITE_BUSY_SNAPSHOT;
    }
    connection->view = world->committed;
    connection->has_view = true;
    connection->writing = true;
    world->writer = connection;
    return SQLITE_DONE;
}

/* The statement is over, outside of a transaction with what it has written. */
static inline void model_end_statement(queue_world *world, world_connection *connection, bool keep)
{
    if (!connection->in_transaction) {
        model_end(world, connection, keep);
    }
}

/* --- Databases --- */

static inline const char *schema_of(const queue_world *world, const world_connection *connection)
{
    return world->host->schemas[connection->number] == 't' ? "temp" : "main";
}

#define SHARED_STORE "shared.ptable"

static inline const char *store_option(const queue_world *world)
{
    return world->host->private_store ? "" : ", store=" SHARED_STORE;
}

/* The queue of jobs is declared twice. */
static inline char *second_declaration(const queue_world *world, const world_connection *connection)
{
    return sqlite3_mprintf("CREATE VIRTUAL TABLE IF NOT EXISTS %s.jobs_again USING "
                           "pt_queue(table=jobs, max_dequeue_count=%d, sync=off%s)",
                           schema_of(world, connection), connection->max_dequeue_count,
                           store_option(world));
}

static inline char *declaration_of(const queue_world *world, const world_connection *connection,
                                   model_place place)
{
    const char *schema = schema_of(world, connection);
    const char *store = store_option(world);
    return place == JOBS
               ? sqlite3_mprintf("CREATE VIRTUAL TABLE IF NOT EXISTS %s.jobs USING "
                                 "pt_queue(max_dequeue_count=%d, sync=off%s)",
                                 schema, connection->max_dequeue_count, store)
               : sqlite3_mprintf("CREATE VIRTUAL TABLE IF NOT EXISTS %s.\"jobs-poison\" USING "
                                 "pt_queue(sync=off%s)",
                                 schema, store);
}

/* Tables that stay in their connection: for what was got, and one that fills the queue. */
static const char OWN_TABLES[] =
    "CREATE TABLE IF NOT EXISTS %s.got(body);"
    "CREATE TEMP TABLE got_checked(body NOT NULL);"
    "CREATE TEMP TABLE work(body CHECK (body IS NOT 13));"
    "CREATE TEMP TRIGGER work_made AFTER INSERT ON work BEGIN"
    " INSERT INTO jobs(Body) VALUES (new.body); END;"
    "CREATE TEMP VIEW next_one AS SELECT * FROM pt_queue_get('jobs', 1, 3600);";

/* Runs SQL, whose text is then freed, that must work. */
static inline void must_text(sqlite3 *db, char *sql)
{
    must(db, need(sql));
    sqlite3_free(sql);
}

static inline void declare_tables(const queue_world *world, const world_connection *connection)
{
    sqlite3 *db = connection->db;
    must_text(db, declaration_of(world, connection, JOBS));
    must_text(db, declaration_of(world, connection, POISON));
    must_text(db, second_declaration(world, connection));
    must_text(
        db, sqlite3_mprintf("CREATE VIRTUAL TABLE IF NOT EXISTS %s.outbox USING ptable(sync=off%s)",
                            schema_of(world, connection), store_option(world)));
    must_text(db, sqlite3_mprintf(OWN_TABLES, world->host->one_main ? "temp" : "main"));
}

static inline void open_connection(queue_world *world, world_connection *connection)
{
    const world_host *host = world->host;
    const char *file = host->files[connection->number];
    connection->db =
        open_database(file == NULL ? ":memory:" : file, host->encodings[connection->number],
                      host->modes[connection->number]);
}

static inline void world_open(queue_world *world, const world_host *host, const char *folder,
                              uint64_t seed)
{
    memset(world, 0, sizeof *world);
    world->host = host;
    world->folder = folder;
    for (int i = 0; i < host->connections; i++) {
        world_connection *connection = &world->connections[i];
        connection->number = i;
        connection->max_dequeue_count = (int)(host->one_main ? seed % 4 : (seed >> 8 * i) % 4);
        open_connection(world, connection);
        declare_tables(world, connection);
    }
    if (!host->private_store) {
        world->observer = open_database(":memory:", "UTF-8", "memory");
        must(world->observer,
             "CREATE VIRTUAL TABLE jobs USING pt_queue(store=" SHARED_STORE ");"
             "CREATE VIRTUAL TABLE \"jobs-poison\" USING pt_queue(store=" SHARED_STORE ");"
             "CREATE VIRTUAL TABLE outbox USING ptable(store=" SHARED_STORE ")");
    }
    world->committed.queues[JOBS].exists = true;
    world->committed.queues[POISON].exists = true;
}

static inline void forget_identifiers(queue_world *world)
{
    for (int i = 0; i < world->known_messages; i++) {
        sqlite3_free(world->messages[i].id);
        sqlite3_free(world->messages[i].inserted);
        sqlite3_free(world->messages[i].expires);
    }
    for (int i = 0; i < world->known_receipts; i++) {
        sqlite3_free(world->receipts[i].receipt);
        sqlite3_free(world->receipts[i].next_visible);
    }
    free(world->messages);
    free(world->receipts);
    free(world->counters.receipt_owners);
}

static inline void world_close(queue_world *world)
{
    for (int i = 0; i < world->host->connections; i++) {
        sqlite3_finalize(world->connections[i].reader);
        must_be_ok(sqlite3_close(world->connections[i].db), "closing a connection");
    }
    must_be_ok(sqlite3_close(world->observer), "closing the observer");
    forget_identifiers(world);
    remove_files(world->folder);
}

/* --- Identifiers --- */

static inline known_message *known_message_of(queue_world *world, int identity)
{
    if (identity >= world->known_messages) {
        int count = world->counters.identities;
        world->messages = need(realloc(world->messages, (size_t)count * sizeof(known_message)));
        memset(world->messages + world->known_messages, 0,
               (size_t)(count - world->known_messages) * sizeof(known_message));
        world->known_messages = count;
    }
    return &world->messages[identity];
}

static inline known_receipt *known_receipt_of(queue_world *world, int receipt)
{
    if (receipt >= world->known_receipts) {
        int count = world->counters.receipts;
        world->receipts = need(realloc(world->receipts, (size_t)count * sizeof(known_receipt)));
        memset(world->receipts + world->known_receipts, 0,
               (size_t)(count - world->known_receipts) * sizeof(known_receipt));
        world->known_receipts = count;
    }
    return &world->receipts[receipt];
}

/* True if a text is the one that was seen before, or none was. */
static inline bool same_or_learned(char **known, const char *shown)
{
    if (*known == NULL) {
        *known = need(sqlite3_mprintf("%s", shown));
        return true;
    }
    return strcmp(*known, shown) == 0;
}

/* A receipt that is new has not been there before. */
static inline bool is_new_receipt(const queue_world *world, const char *shown)
{
    for (int i = 0; i < world->known_receipts; i++) {
        if (world->receipts[i].receipt != NULL && strcmp(world->receipts[i].receipt, shown) == 0) {
            return false;
        }
    }
    return true;
}

static inline bool is_receipt(queue_world *world, int receipt, const char *shown,
                              const char *next_visible)
{
    known_receipt *known = known_receipt_of(world, receipt);
    if (known->receipt == NULL && !is_new_receipt(world, shown)) {
        return false;
    }
    return same_or_learned(&known->receipt, shown) &&
           same_or_learned(&known->next_visible, next_visible);
}

#endif
