#include "check_function.h"

#include "catalog_store.h"
#include "check.h"
#include "store_path.h"

/* Uses the store that is meant, if it can be opened. */
static int use_store(pt_connection *connection, const char *name, pt_session **session,
                     pt_error *error)
{
    *session = NULL;
    int rc = name != NULL ? pt_catalog_use_store(connection, name, session, error)
                          : pt_catalog_use_default_store(connection, session, error);
    return rc == SQLITE_OK && *session == NULL ? pt_catalog_ask_for_store(connection, error) : rc;
}

/* What is wrong with a store that could not be opened; if that cannot be said, the error says why
 * it could not. */
static int check_file(const pt_connection *connection, const char *name, char **text,
                      pt_error *error)
{
    char *path = NULL;
    pt_error ours = PT_ERROR_NONE;
    int rc = pt_store_path(pt_connection_db(connection), "main", name, &path, &ours);
    if (rc == SQLITE_OK && path != NULL) {
        rc = pt_check(path, NULL, text, &ours);
    }
    sqlite3_free(path);
    bool is_said = rc == SQLITE_OK && *text != NULL && strcmp(*text, "ok") != 0;
    if (is_said) {
        pt_error_clear(error);
    } else {
        sqlite3_free(*text);
        *text = NULL;
        if (rc == SQLITE_NOMEM) {
            pt_error_nomem(error);
        }
    }
    pt_error_clear(&ours);
    return error->rc;
}

static int check_store(pt_connection *connection, const char *name, char **text, pt_error *error)
{
    pt_session *session;
    int rc = use_store(connection, name, &session, error);
    if (rc == SQLITE_OK) {
        pt_store *store = pt_session_store(session);
        rc = pt_check(store->path, store, text, error);
        pt_connection_leave(connection, session);
    } else if (rc == SQLITE_CANTOPEN || rc == SQLITE_CORRUPT) {
        rc = check_file(connection, name, text, error);
    }
    return rc;
}

static void fail(sqlite3_context *context, pt_error *error)
{
    int rc = error->rc;
    if (rc == SQLITE_NOMEM) {
        sqlite3_result_error_nomem(context);
    } else {
        char *text = sqlite3_mprintf("ptable: pt_check: %s", error->message);
        sqlite3_result_error(context, text != NULL ? text : "out of memory", -1);
        sqlite3_result_error_code(context, text != NULL ? rc : SQLITE_NOMEM);
        sqlite3_free(text);
    }
    pt_error_clear(error);
}

static void call(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_connection *connection = sqlite3_user_data(context);
    const char *name = NULL;
    char *text = NULL;
    pt_error error = PT_ERROR_NONE;
    if (argc == 1 && sqlite3_value_type(argv[0]) != SQLITE_NULL) {
        name = (const char *)sqlite3_value_text(argv[0]);
        if (name == NULL) {
            sqlite3_result_error_nomem(context);
            return;
        }
    }
    if (check_store(connection, name, &text, &error) == SQLITE_OK) {
        sqlite3_result_text(context, text, -1, sqlite3_free);
    } else {
        fail(context, &error);
    }
}

static void release(void *connection)
{
    pt_connection_release(connection);
}

int pt_check_function_register(sqlite3 *db, pt_connection *connection)
{
    int rc = SQLITE_OK;
    for (int arguments = 0; rc == SQLITE_OK && arguments <= 1; arguments++) {
        pt_connection_retain(connection);
        rc = sqlite3_create_function_v2(db, "pt_check", arguments, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                        connection, call, NULL, NULL, release);
    }
    return rc;
}
