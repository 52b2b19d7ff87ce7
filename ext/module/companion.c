#include "module/companion.h"

#include <stdbool.h>

#include "module/follower.h"
#include "module/module.h"
#include "module/registration.h"
#include "transaction/explicit_transaction.h"

#define COMPANION "ptable_companion"
#define JOB_TYPE "ptable_companion_job"

/* The work of an INSERT, passed as a pointer value in column `job`. */
typedef struct companion_job {
    pt_companion_write write;
    void *context;
    pt_error *error;
    bool *run;
} companion_job;

static int companion_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                             sqlite3_vtab **vtab, char **message)
{
    (void)argc;
    if (sqlite3_stricmp(argv[1], "temp") != 0 || sqlite3_stricmp(argv[2], COMPANION) != 0) {
        *message = sqlite3_mprintf(COMPANION " is created by ptable itself, in the TEMP schema");
        return *message != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
    }
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(job)");
    if (rc != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return rc;
    }
    pt_follower *self = sqlite3_malloc64(sizeof *self);
    if (self == NULL) {
        return SQLITE_NOMEM;
    }
    *self = (pt_follower){.connection = context};
    *vtab = &self->base;
    return SQLITE_OK;
}

/* Created inside a transaction, the companion joins it without xBegin. */
static int companion_create(sqlite3 *db, void *context, int argc, const char *const *argv,
                            sqlite3_vtab **vtab, char **message)
{
    int rc = companion_connect(db, context, argc, argv, vtab, message);
    if (rc == SQLITE_OK && !sqlite3_get_autocommit(db)) {
        pt_explicit_transaction_follow(context);
    }
    return rc;
}

static int companion_disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(pt_follower_of(vtab));
    return SQLITE_OK;
}

/* Refuses DROP TABLE while the companion follows a transaction: once it is dropped, SQLite would
 * not tell it how the transaction ends. */
static int companion_destroy(sqlite3_vtab *vtab)
{
    return pt_follower_of(vtab)->connection->followed ? SQLITE_LOCKED : companion_disconnect(vtab);
}

/* --- Reading: the table is always empty --- */

static int companion_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    info->estimatedRows = 0;
    info->estimatedCost = 1;
    return SQLITE_OK;
}

static int companion_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
    (void)vtab;
    *cursor = sqlite3_malloc64(sizeof **cursor);
    return *cursor != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

static int companion_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int companion_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc,
                            sqlite3_value **argv)
{
    (void)cursor;
    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    return SQLITE_OK;
}

static int companion_next(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return SQLITE_OK;
}

static int companion_eof(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return 1;
}

static int companion_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int index)
{
    (void)cursor;
    (void)index;
    sqlite3_result_null(context);
    return SQLITE_OK;
}

static int companion_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    (void)cursor;
    *id = 0;
    return SQLITE_OK;
}

static int companion_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *id)
{
    enum { JOB = 2 };
    const companion_job *job =
        argc > JOB ? sqlite3_value_pointer(argv[JOB], JOB_TYPE) : (companion_job *)NULL;
    pt_connection *connection = pt_follower_of(vtab)->connection;
    if (job != NULL) {
        /* Until now xSavepoint was called for savepoints that were open already. From now on it is
         * called for savepoints that the job opens. */
        pt_explicit_transaction_set_joining(connection, false);
        *job->run = true;
        *id = sqlite3_last_insert_rowid(connection->db);
        return job->write(job->context, job->error);
    }
    vtab->zErrMsg = sqlite3_mprintf(COMPANION " holds no rows; write to another table");
    return vtab->zErrMsg != NULL ? SQLITE_READONLY : SQLITE_NOMEM;
}

/* --- xBegin --- */

/* In autocommit mode the transaction is this statement, so no view has to outlive a statement.
 * xSync, xCommit and xRollback reach all sessions in any case. */
static int companion_begin(sqlite3_vtab *vtab)
{
    pt_connection *connection = pt_follower_of(vtab)->connection;
    if (!sqlite3_get_autocommit(connection->db)) {
        pt_explicit_transaction_follow(connection);
    }
    return SQLITE_OK;
}

static const sqlite3_module companion_module = {
    .iVersion = 2,
    .xCreate = companion_create,
    .xConnect = companion_connect,
    .xBestIndex = companion_best_index,
    .xDisconnect = companion_disconnect,
    .xDestroy = companion_destroy,
    .xOpen = companion_open,
    .xClose = companion_close,
    .xFilter = companion_filter,
    .xNext = companion_next,
    .xEof = companion_eof,
    .xColumn = companion_column,
    .xRowid = companion_rowid,
    .xUpdate = companion_update,
    .xBegin = companion_begin,
    .xSync = pt_follower_sync,
    .xCommit = pt_follower_commit,
    .xRollback = pt_follower_rollback,
    .xSavepoint = pt_follower_savepoint,
    .xRelease = pt_follower_release,
    .xRollbackTo = pt_follower_rollback_to,
};

/* --- Creating the table --- */

/*
 * Runs a statement that may fail, for example under PRAGMA query_only. *outcome is its code; the
 * result is SQLITE_OK. But if memory runs out, or an interrupt makes SQLite roll back the whole
 * transaction, the result is an error too: the statement that called us must not go on.
 */
static int run_optional(sqlite3 *db, const char *sql, int *outcome, pt_error *error)
{
    bool was_open = !sqlite3_get_autocommit(db);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    bool rolled_back = rc != SQLITE_OK && was_open && sqlite3_get_autocommit(db);
    *outcome = rc;
    /* SQLITE_SCHEMA after a rollback also means out of memory. Do not return it: SQLite would
     * prepare the outer statement again and run it as if nothing had happened. */
    if (rc == SQLITE_NOMEM || (rolled_back && rc == SQLITE_SCHEMA)) {
        return pt_error_nomem(error);
    }
    if (rolled_back) {
        return pt_error_set(error, rc, "the transaction has been rolled back: %s; run it again",
                            sqlite3_errstr(rc));
    }
    return SQLITE_OK;
}

static int create_companion(sqlite3 *db, int *outcome, pt_error *error)
{
    return run_optional(db,
                        "CREATE VIRTUAL TABLE IF NOT EXISTS temp." COMPANION " USING " COMPANION,
                        outcome, error);
}

static int create_unless_busy(sqlite3 *db, int *outcome, pt_error *error)
{
    *outcome = SQLITE_OK;
    return pt_module_is_any_statement_busy(db) ? SQLITE_OK : create_companion(db, outcome, error);
}

/*
 * After PRAGMA temp_store, creating the companion fails with SQLITE_SCHEMA: SQLite still has the
 * schema of the old TEMP and cannot drop it while it connects a table. If xConnect fails with
 * SQLITE_SCHEMA, SQLite drops the old schema and calls xConnect again. That is done once, so that
 * it cannot go on for ever.
 */
int pt_companion_ensure(pt_connection *connection, pt_error *error)
{
    int outcome;
    int rc = create_unless_busy(connection->db, &outcome, error);
    bool retry = rc == SQLITE_OK && outcome == SQLITE_SCHEMA &&
                 !pt_explicit_transaction_is_reconnecting(connection);
    pt_explicit_transaction_set_reconnecting(connection, outcome == SQLITE_SCHEMA);
    return retry ? pt_error_set(error, SQLITE_SCHEMA, "TEMP was emptied; try again") : rc;
}

int pt_companion_register(sqlite3 *db, pt_connection *connection, pt_error *error)
{
    int outcome;
    int rc = pt_module_register(db, COMPANION, &companion_module, connection);
    return rc == SQLITE_OK ? create_unless_busy(db, &outcome, error) : rc;
}

int pt_companion_is_registered(sqlite3 *db, bool *registered, bool *functions)
{
    static const char *const names[] = {COMPANION, "pt_service"};
    bool found[2];
    int rc = pt_module_find(db, names, found, 2);
    *registered = found[0];
    *functions = found[1];
    return rc;
}

/* --- Joining a transaction --- */

/*
 * Each of these statements makes the companion join and changes nothing. An authorizer may deny one
 * and allow another, so try all three. They are not kept prepared: sqlite3_close() fails while a
 * statement exists.
 */
static int run_joining_statement(sqlite3 *db, int *outcome, pt_error *error)
{
    static const char *const statements[] = {
        "DELETE FROM temp." COMPANION " WHERE 0",
        "INSERT INTO temp." COMPANION " SELECT NULL WHERE 0",
        "UPDATE temp." COMPANION " SET job = NULL WHERE 0",
    };
    int rc = SQLITE_OK;
    *outcome = SQLITE_AUTH;
    for (size_t i = 0;
         rc == SQLITE_OK && *outcome == SQLITE_AUTH && i < sizeof statements / sizeof statements[0];
         i++) {
        rc = run_optional(db, statements[i], outcome, error);
    }
    return rc;
}

int pt_companion_join(pt_connection *connection, pt_error *error)
{
    sqlite3 *db = connection->db;
    if (connection->followed || sqlite3_get_autocommit(db)) {
        return SQLITE_OK;
    }
    int outcome;
    pt_explicit_transaction_set_joining(connection, true);
    int rc = run_joining_statement(db, &outcome, error);
    pt_explicit_transaction_set_joining(connection, false);
    /* SQLITE_ERROR: no such table, because PRAGMA temp_store has dropped the companion. Creating it
     * may abort the statement that is running. That is better than going on without it: then the
     * transaction's snapshot would not last, and an update could be lost. */
    return rc == SQLITE_OK && outcome == SQLITE_ERROR ? create_companion(db, &outcome, error) : rc;
}

/* --- Writing from an SQL function --- */

int pt_companion_run(pt_connection *connection, pt_companion_write write, void *context, bool *run,
                     pt_error *error)
{
    sqlite3 *db = connection->db;
    companion_job job = {.write = write, .context = context, .error = error, .run = run};
    sqlite3_stmt *insert = NULL;
    *run = false;
    int rc = pt_companion_join(connection, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_prepare_v2(db, "INSERT INTO temp." COMPANION " VALUES (?1)", -1, &insert, NULL);
    if (rc == SQLITE_ERROR) { /* no such table */
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_pointer(insert, 1, &job, JOB_TYPE, NULL);
    }
    if (rc == SQLITE_OK) {
        /* companion_update ends `joining` before it calls the job. */
        pt_explicit_transaction_set_joining(connection, true);
        pt_explicit_transaction_set_beside_main(connection, true);
        rc = sqlite3_step(insert);
        pt_explicit_transaction_set_beside_main(connection, false);
        pt_explicit_transaction_set_joining(connection, false);
    }
    /* If the job has set an error, keep it: SQLite's own text is that of its xUpdate only. */
    if (rc != SQLITE_DONE && error->rc == SQLITE_OK) {
        pt_module_nested_error(db, "INSERT into temp." COMPANION, error);
    }
    sqlite3_finalize(insert);
    return error->rc;
}
