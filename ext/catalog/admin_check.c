#include "catalog/admin_check.h"

#include "catalog/admin.h"
#include "catalog/check.h"
#include "module/store_path.h"

/* What is wrong with a store that cannot be opened or read; if that cannot be said, the error says
 * why it could not. */
static int check_file(const pt_admin_call *call, char **text, pt_error *error)
{
    char *path = NULL;
    pt_error ours = PT_ERROR_NONE;
    int rc = pt_store_path(call->connection, "main", call->store, &path, &ours);
    if (rc == SQLITE_OK && path != NULL) {
        rc = pt_check(path, NULL, call->watch, text, &ours);
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
        rc = pt_check(store->path, store, call->watch, &text, error);
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
