#include "catalog/admin.h"

#include <string.h>

#include "base/ticks.h"
#include "catalog/check_records.h"
#include "catalog/stores.h"
#include "module/module.h"
#include "module/registration.h"
#include "module/store_path.h"
#include "transaction/connection.h"
#include "transaction/interruption.h"
#include "transaction/main_database_lock.h"

/* --- Calls --- */

typedef struct admin_call {
    sqlite3_context *context; /* receives the result */
    pt_connection *connection;
    const char *store;       /* first argument; NULL: the default store of main */
    sqlite3_value *argument; /* second argument, or NULL */
    const pt_watch *watch;
} admin_call;

typedef int admin_work(const admin_call *call, pt_error *error);

/* *name is NULL if the argument is missing or NULL. It is valid as long as the argument. */
static int read_store_name(sqlite3_value *argument, const char **name, pt_error *error)
{
    *name = NULL;
    if (argument == NULL || sqlite3_value_type(argument) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    const char *text = (const char *)sqlite3_value_text(argument);
    if (text == NULL) {
        return pt_error_nomem(error);
    }
    if (text[0] == 0 || strlen(text) != (size_t)sqlite3_value_bytes(argument)) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "%Q is not the name of a store; give its file, or NULL for the default "
                            "store of the main database",
                            text);
    }
    *name = text;
    return SQLITE_OK;
}

static void run_admin_call(sqlite3_context *context, const char *name, admin_work *work, int argc,
                           sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    pt_connection *connection = sqlite3_user_data(context);
    pt_interruption interruption = {.db = connection->db};
    const pt_watch watch = pt_interruption_watch(&interruption);
    admin_call call = {.context = context,
                       .connection = connection,
                       .argument = argc > 1 ? argv[1] : NULL,
                       .watch = &watch};
    int rc = read_store_name(argc > 0 ? argv[0] : NULL, &call.store, &error);
    if (rc == SQLITE_OK) {
        rc = work(&call, &error);
        rc = pt_interruption_result(&interruption, rc, &error);
    }
    if (rc != SQLITE_OK) {
        pt_module_fail_function(context, name, &error);
    }
}

/* --- pt_check --- */

/* Checks a store that cannot be opened, which gave `error`. If the check finds problems, *text
 * lists them and the error is cleared; otherwise the error stays. */
static int check_closed_file(const admin_call *call, char **text, pt_error *error)
{
    char *path = NULL;
    pt_error ours = PT_ERROR_NONE;
    int rc = pt_store_path(call->connection, "main", call->store, &path, &ours);
    if (rc == SQLITE_OK && path != NULL) {
        rc = pt_check_store(pt_connection_engine(call->connection), path, NULL, call->watch, text,
                            &ours);
    }
    sqlite3_free(path);
    bool has_problems = rc == SQLITE_OK && *text != NULL && strcmp(*text, "ok") != 0;
    if (has_problems) {
        pt_error_clear(error);
    } else {
        sqlite3_free(*text);
        *text = NULL;
        if (rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT) {
            pt_error_clear(error);
            *error = ours;
            ours = PT_ERROR_NONE;
        }
    }
    pt_error_clear(&ours);
    return error->rc;
}

static int check_store(const admin_call *call, pt_error *error)
{
    char *text = NULL;
    pt_session *session;
    int rc = pt_catalog_use_store(call->connection, call->store, &session, error);
    if (rc == SQLITE_OK) {
        pt_store *store = pt_session_store(session);
        rc = pt_check_store(store->engine, store->path, store, call->watch, &text, error);
        pt_connection_leave(call->connection, session);
    }
    if (rc == SQLITE_CANTOPEN || rc == SQLITE_CORRUPT) {
        rc = check_closed_file(call, &text, error);
    }
    if (rc == SQLITE_OK) {
        sqlite3_result_text(call->context, text, -1, sqlite3_free);
    }
    return rc;
}

static void call_check(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    run_admin_call(context, "pt_check", check_store, argc, argv);
}

/* --- pt_backup --- */

/* Copying a damaged store could crash, or lose what can still be read, so it is refused. */
static int require_sound_store(const pt_session *session, const pt_watch *watch, pt_error *error)
{
    pt_store *store = pt_session_store(session);
    char *found = NULL;
    int rc = pt_check_store(store->engine, store->path, store, watch, &found, error);
    if (rc == SQLITE_OK && strcmp(found, "ok") != 0) {
        rc = pt_error_set(error, SQLITE_CORRUPT,
                          "store %Q is damaged: %.*s; SELECT pt_check(...) lists the problems; "
                          "restore a backup, or copy what can be read with INSERT ... SELECT",
                          store->path, (int)strcspn(found, "\n"), found);
    }
    sqlite3_free(found);
    return rc;
}

/* The absolute path of the new file, from sqlite3_malloc. */
static int read_backup_path(pt_connection *connection, sqlite3_value *argument, char **path,
                            pt_error *error)
{
    const char *name = (const char *)sqlite3_value_text(argument);
    if (sqlite3_value_type(argument) == SQLITE_NULL) {
        return pt_error_set(error, SQLITE_ERROR,
                            "the path is NULL; give the name of a new file, as in "
                            "pt_backup('contoso.ptable', 'backup.ptable')");
    }
    if (name == NULL) {
        return pt_error_nomem(error);
    }
    if (name[0] == 0 || strlen(name) != (size_t)sqlite3_value_bytes(argument)) {
        return pt_error_set(error, SQLITE_CANTOPEN, "%Q is not the name of a file; name a new one",
                            name);
    }
    int rc = pt_store_path_check(name, error);
    if (rc == SQLITE_OK) {
        rc = pt_store_path(connection, "main", name, path, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_store_name_check(*path, error);
        if (rc != SQLITE_OK) {
            sqlite3_free(*path);
        }
    }
    return rc;
}

/* The view is opened only because that fails if the outcome of the last commit is unknown. */
static int check_for_backup(pt_session *session, const pt_watch *watch, pt_error *error)
{
    pt_view *view;
    if (pt_session_has_pending(session)) {
        return pt_error_set(error, SQLITE_LOCKED,
                            "this transaction has written to store %Q, but a backup contains only "
                            "committed data; COMMIT first",
                            pt_session_store(session)->path);
    }
    int rc = pt_session_read(session, &view, error);
    pt_session_end_read(session);
    return rc == SQLITE_OK ? require_sound_store(session, watch, error) : rc;
}

static int back_up_store(const admin_call *call, pt_error *error)
{
    char *path = NULL;
    int64_t bytes = 0;
    pt_session *session = NULL;
    int rc = read_backup_path(call->connection, call->argument, &path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_catalog_use_store(call->connection, call->store, &session, error);
    if (rc == SQLITE_OK) {
        pt_store *store = pt_session_store(session);
        rc = check_for_backup(session, call->watch, error);
        if (rc == SQLITE_OK) {
            rc = store->engine->backup(store, path, call->watch, &bytes, error);
        }
        pt_connection_leave(call->connection, session);
    }
    sqlite3_free(path);
    if (rc == SQLITE_OK) {
        sqlite3_result_int64(call->context, bytes);
    }
    return rc;
}

static void call_backup(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    run_admin_call(context, "pt_backup", back_up_store, argc, argv);
}

/* --- pt_compact --- */

static int read_query_only(sqlite3 *db, bool *query_only, pt_error *error)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA query_only", -1, &statement, NULL);
    rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    *query_only = rc == SQLITE_ROW && sqlite3_column_int(statement, 0) != 0;
    rc = rc == SQLITE_ROW ? SQLITE_OK : pt_module_nested_error(db, "PRAGMA query_only", error);
    sqlite3_finalize(statement);
    return rc;
}

/* SQLite makes these checks itself only for statements that write a table. `what` the store would
 * be. */
static int check_writable(sqlite3 *db, const char *path, const char *what, pt_error *error)
{
    bool query_only = false;
    if (sqlite3_db_readonly(db, "main") == 1) {
        return pt_error_set(error, SQLITE_READONLY,
                            "store %Q cannot be %s by a connection whose main database was opened "
                            "read-only; open it for writing",
                            path, what);
    }
    int rc = read_query_only(db, &query_only, error);
    if (rc == SQLITE_OK && query_only) {
        rc = pt_error_set(error, SQLITE_READONLY,
                          "store %Q cannot be %s under PRAGMA query_only; turn it off first", path,
                          what);
    }
    return rc;
}

static int check_for_compacting(pt_connection *connection, pt_session *session,
                                const pt_watch *watch, pt_error *error)
{
    const char *path = pt_session_store(session)->path;
    int rc = check_writable(connection->db, path, "compacted", error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!sqlite3_get_autocommit(connection->db)) {
        return pt_error_set(error, SQLITE_ERROR,
                            "store %Q cannot be compacted inside a transaction; COMMIT first",
                            path);
    }
    if (pt_session_is_writing(session)) {
        return pt_error_set(error, SQLITE_LOCKED,
                            "store %Q cannot be compacted by a statement that writes to it; "
                            "use a SELECT of its own",
                            path);
    }
    return require_sound_store(session, watch, error);
}

static int compact_store(const admin_call *call, pt_error *error)
{
    int64_t bytes = 0;
    pt_session *session = NULL;
    int rc = pt_catalog_use_store(call->connection, call->store, &session, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_store *store = pt_session_store(session);
    int wait_ms;
    rc = check_for_compacting(call->connection, session, call->watch, error);
    if (rc == SQLITE_OK) {
        rc = pt_busy_timeout(call->connection->db, &wait_ms, error);
    }
    if (rc == SQLITE_OK) {
        rc = store->engine->compact(store, wait_ms, call->watch, &bytes, error);
    }
    pt_connection_leave(call->connection, session);
    if (rc == SQLITE_OK) {
        sqlite3_result_int64(call->context, bytes);
    }
    return rc;
}

static void call_compact(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    run_admin_call(context, "pt_compact", compact_store, argc, argv);
}

/* --- pt_forget_log --- */

static int forget_log(const admin_call *call, pt_error *error)
{
    char *path = NULL;
    char time[PT_DATETIME_TEXT_SIZE + 1];
    int64_t kept = 0;
    int64_t clock = 0;
    int rc = pt_store_path(call->connection, "main", call->store, &path, error);
    if (rc == SQLITE_OK && path == NULL) {
        return pt_error_set(error, SQLITE_ERROR,
                            "a database in memory has a private store, which has no log");
    }
    if (rc == SQLITE_OK) {
        rc = check_writable(call->connection->db, path, "made to forget its log", error);
    }
    if (rc == SQLITE_OK) {
        const pt_engine *engine = pt_connection_engine(call->connection);
        rc = engine->forget_log(path, &kept, &clock, error);
    }
    sqlite3_free(path);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_ticks_format(clock, time);
    char *text = kept < 0
                     ? sqlite3_mprintf("the store has no log")
                     : sqlite3_mprintf("kept %lld commit%s of the log; those after %s are lost",
                                       (sqlite3_int64)kept, kept == 1 ? "" : "s", time);
    if (text == NULL) {
        return pt_error_nomem(error);
    }
    sqlite3_result_text(call->context, text, -1, sqlite3_free);
    return SQLITE_OK;
}

static void call_forget_log(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    run_admin_call(context, "pt_forget_log", forget_log, argc, argv);
}

/* --- Registration --- */

static const struct {
    const char *name;
    int arguments;
    void (*call)(sqlite3_context *, int, sqlite3_value **);
} admin_functions[] = {
    {"pt_backup", 2, call_backup},   {"pt_compact", 0, call_compact},
    {"pt_compact", 1, call_compact}, {"pt_check", 0, call_check},
    {"pt_check", 1, call_check},     {"pt_forget_log", 1, call_forget_log},
};

int pt_admin_register(sqlite3 *db, pt_connection *connection)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof admin_functions / sizeof admin_functions[0];
         i++) {
        pt_connection_retain(connection); /* SQLite releases it even if this fails */
        rc = sqlite3_create_function_v2(db, admin_functions[i].name, admin_functions[i].arguments,
                                        SQLITE_UTF8 | SQLITE_DIRECTONLY, connection,
                                        admin_functions[i].call, NULL, NULL,
                                        pt_module_release_connection);
    }
    return rc;
}
