#include "admin_check.h"

#include "admin.h"
#include "check.h"
#include "store_path.h"

/* What is wrong with a store that cannot be opened or read; if that cannot be said, the error says
 * why it could not. */
static int check_file(const pt_connection *connection, const char *name, const pt_watch *watch,
                      char **text, pt_error *error)
{
    char *path = NULL;
    pt_error ours = PT_ERROR_NONE;
    int rc = pt_store_path(pt_connection_db(connection), "main", name, &path, &ours);
    if (rc == SQLITE_OK && path != NULL) {
        rc = pt_check(path, NULL, watch, text, &ours);
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

static int check_store(pt_connection *connection, sqlite3_value *argument, const pt_watch *watch,
                       char **text, pt_error *error)
{
    pt_session *session;
    const char *name;
    int rc = pt_admin_store_name(argument, &name, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_admin_use_store(connection, argument, &session, error);
    if (rc == SQLITE_OK) {
        pt_store *store = pt_session_store(session);
        rc = pt_check(store->path, store, watch, text, error);
        pt_connection_leave(connection, session);
    }
    return rc == SQLITE_CANTOPEN || rc == SQLITE_CORRUPT
               ? check_file(connection, name, watch, text, error)
               : rc;
}

void pt_admin_check(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    char *text = NULL;
    pt_error error = PT_ERROR_NONE;
    pt_connection *connection = sqlite3_user_data(context);
    pt_interruption interruption = {.db = pt_connection_db(connection)};
    const pt_watch watch = pt_interruption_watch(&interruption);
    int rc = check_store(connection, argc == 1 ? argv[0] : NULL, &watch, &text, &error);
    rc = pt_interruption_settle(&interruption, rc, &error);
    if (rc == SQLITE_OK) {
        sqlite3_result_text(context, text, -1, sqlite3_free);
    } else {
        pt_admin_fail(context, "pt_check", &error);
    }
}
