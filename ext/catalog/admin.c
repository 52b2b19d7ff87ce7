#include "catalog/admin.h"

#include <string.h>

#include "catalog/admin_backup.h"
#include "catalog/admin_check.h"
#include "catalog/store.h"
#include "store/interruption.h"

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
        rc = pt_interruption_settle(&interruption, rc, &error);
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
