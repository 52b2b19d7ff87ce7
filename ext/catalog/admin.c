#include "catalog/admin.h"

#include <string.h>

#include "catalog/backup.h"
#include "catalog/check.h"
#include "catalog/store.h"
#include "module/store_path.h"
#include "transaction/interruption.h"

static const struct {
    const char *name;
    int arguments;
    void (*call)(sqlite3_context *, int, sqlite3_value **);
} functions[] = {
    {"pt_backup", 2, pt_admin_backup},   {"pt_compact", 0, pt_admin_compact},
    {"pt_compact", 1, pt_admin_compact}, {"pt_check", 0, pt_admin_check},
    {"pt_check", 1, pt_admin_check},
};

static void release(void *connection)
{
    pt_connection_release(connection);
}

int pt_admin_register(sqlite3 *db, pt_connection *connection)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof functions[0]; i++) {
        pt_connection_retain(connection); /* also released by a registration that fails */
        rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
                                        SQLITE_UTF8 | SQLITE_DIRECTONLY, connection,
                                        functions[i].call, NULL, NULL, release);
    }
    return rc;
}

/* Its text is valid as long as the argument; NULL, or no argument: no name. */
static int store_name(sqlite3_value *argument, const char **name, pt_error *error)
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
                            "%Q is not the name of a store; name its file, or NULL for the main "
                            "database's own",
                            text);
    }
    *name = text;
    return SQLITE_OK;
}

static void fail(sqlite3_context *context, const char *name, pt_error *error)
{
    char *text =
        error->message != NULL ? sqlite3_mprintf("ptable: %s: %s", name, error->message) : NULL;
    if (text == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_error(context, text, -1);
        sqlite3_result_error_code(context, error->rc);
    }
    sqlite3_free(text);
    pt_error_clear(error);
}

void pt_admin_run(sqlite3_context *context, const char *name, pt_admin_work *work, int argc,
                  sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    pt_connection *connection = sqlite3_user_data(context);
    pt_interruption interruption = {.db = pt_connection_db(connection)};
    const pt_watch watch = pt_interruption_watch(&interruption);
    pt_admin_call call = {.context = context,
                          .connection = connection,
                          .argument = argc > 1 ? argv[1] : NULL,
                          .watch = &watch};
    int rc = store_name(argc > 0 ? argv[0] : NULL, &call.store, &error);
    if (rc == SQLITE_OK) {
        rc = work(&call, &error);
        rc = pt_interruption_result(&interruption, rc, &error);
    }
    if (rc != SQLITE_OK) {
        fail(context, name, &error);
    }
}

int pt_admin_use_store(const pt_admin_call *call, pt_session **session, pt_error *error)
{
    if (call->store != NULL) {
        return pt_catalog_use_store(call->connection, call->store, session, error);
    }
    int rc = pt_catalog_use_default_store(call->connection, session, error);
    return rc == SQLITE_OK && *session == NULL ? pt_catalog_ask_for_store(call->connection, error)
                                               : rc;
}

/* --- Admin check --- */

/* What is wrong with a store that cannot be opened or read; if that cannot be said, the error says
 * why it could not. */
static int check_file(const pt_admin_call *call, char **text, pt_error *error)
{
    char *path = NULL;
    pt_error ours = PT_ERROR_NONE;
    int rc = pt_store_path(call->connection, "main", call->store, &path, &ours);
    if (rc == SQLITE_OK && path != NULL) {
        rc = pt_check(pt_connection_engine(call->connection), path, NULL, call->watch, text, &ours);
    }
    sqlite3_free(path);
    bool is_said = rc == SQLITE_OK && *text != NULL && strcmp(*text, "ok") != 0;
    if (is_said) {
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

static int check(const pt_admin_call *call, pt_error *error)
{
    char *text = NULL;
    pt_session *session;
    int rc = pt_admin_use_store(call, &session, error);
    if (rc == SQLITE_OK) {
        pt_store *store = pt_session_store(session);
        rc = pt_check(store->engine, store->path, store, call->watch, &text, error);
        pt_connection_leave(call->connection, session);
    }
    if (rc == SQLITE_CANTOPEN || rc == SQLITE_CORRUPT) {
        rc = check_file(call, &text, error);
    }
    if (rc == SQLITE_OK) {
        sqlite3_result_text(call->context, text, -1, sqlite3_free);
    }
    return rc;
}

void pt_admin_check(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_admin_run(context, "pt_check", check, argc, argv);
}
