#include "catalog/backup.h"

#include <string.h>

#include "catalog/admin.h"
#include "catalog/check.h"
#include "module/module.h"
#include "module/store_path.h"

/* --- Before a copy is made --- */

/* What can still be read of a damaged store would be lost with the rest, if the process did not end
 * while copying it. */
static int check_soundness(const pt_session *session, const pt_watch *watch, pt_error *error)
{
    pt_store *store = pt_session_store(session);
    char *found = NULL;
    int rc = pt_check(store->engine, store->path, store, watch, &found, error);
    if (rc == SQLITE_OK && strcmp(found, "ok") != 0) {
        rc =
            pt_error_set(error, SQLITE_CORRUPT,
                         "store %Q is damaged: %.*s; SELECT pt_check(...) lists what is concerned: "
                         "restore a backup, or copy what can be read with INSERT ... SELECT",
                         store->path, (int)strcspn(found, "\n"), found);
    }
    sqlite3_free(found);
    return rc;
}

/* --- pt_backup --- */

/* The absolute path of the new file, from sqlite3_malloc. */
static int path_of(pt_connection *connection, sqlite3_value *argument, char **path, pt_error *error)
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
    if (strncmp(name, "file:", strlen("file:")) == 0) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "%Q is a URI; give a path, without file:", name);
    }
    int rc = pt_store_path(connection, "main", name, path, error);
    if (rc == SQLITE_OK) {
        rc = pt_connection_check_name(*path, error);
        if (rc != SQLITE_OK) {
            sqlite3_free(*path);
        }
    }
    return rc;
}

/* The view is asked for only because a store in doubt refuses it. */
static int check_for_backup(pt_session *session, const pt_watch *watch, pt_error *error)
{
    pt_view *view;
    if (pt_session_has_pending(session)) {
        return pt_error_set(error, SQLITE_LOCKED,
                            "this transaction has written to store %Q, and a backup holds what is "
                            "committed; COMMIT first",
                            pt_session_store(session)->path);
    }
    int rc = pt_session_read(session, &view, error);
    pt_session_end_read(session);
    return rc == SQLITE_OK ? check_soundness(session, watch, error) : rc;
}

static int back_up(const pt_admin_call *call, pt_error *error)
{
    char *path = NULL;
    int64_t bytes = 0;
    pt_session *session = NULL;
    int rc = path_of(call->connection, call->argument, &path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_admin_use_store(call, &session, error);
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

void pt_admin_backup(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_admin_run(context, "pt_backup", back_up, argc, argv);
}

/* --- pt_compact --- */

static int ask_for_query_only(sqlite3 *db, bool *query_only, pt_error *error)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA query_only", -1, &statement, NULL);
    rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    *query_only = rc == SQLITE_ROW && sqlite3_column_int(statement, 0) != 0;
    rc = rc == SQLITE_ROW ? SQLITE_OK : pt_module_nested_error(db, "PRAGMA query_only", error);
    sqlite3_finalize(statement);
    return rc;
}

/* What SQLite sees to where a table is written to. */
static int check_writable(sqlite3 *db, const char *path, pt_error *error)
{
    bool query_only = false;
    if (sqlite3_db_readonly(db, "main") == 1) {
        return pt_error_set(error, SQLITE_READONLY,
                            "store %Q cannot be compacted by a connection whose main database was "
                            "opened read-only; open it for writing",
                            path);
    }
    int rc = ask_for_query_only(db, &query_only, error);
    if (rc == SQLITE_OK && query_only) {
        rc = pt_error_set(error, SQLITE_READONLY,
                          "store %Q cannot be compacted under PRAGMA query_only; turn that off "
                          "first",
                          path);
    }
    return rc;
}

static int check_for_compacting(pt_connection *connection, pt_session *session,
                                const pt_watch *watch, pt_error *error)
{
    const char *path = pt_session_store(session)->path;
    int rc = check_writable(pt_connection_db(connection), path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!sqlite3_get_autocommit(pt_connection_db(connection))) {
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
    return check_soundness(session, watch, error);
}

static int compact(const pt_admin_call *call, pt_error *error)
{
    int64_t bytes = 0;
    pt_session *session = NULL;
    int rc = pt_admin_use_store(call, &session, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_store *store = pt_session_store(session);
    int wait_ms;
    rc = check_for_compacting(call->connection, session, call->watch, error);
    if (rc == SQLITE_OK) {
        rc = pt_connection_busy_timeout(call->connection, &wait_ms, error);
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

void pt_admin_compact(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_admin_run(context, "pt_compact", compact, argc, argv);
}
