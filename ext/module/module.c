#include "module/module.h"

#include <stdbool.h>
#include <string.h>

int pt_module_fail(char **message, const char *name, pt_error *error)
{
    int rc = error->rc;
    if (error->message != NULL) {
        sqlite3_free(*message);
        *message = sqlite3_mprintf("ptable: %s: %s", name, error->message);
        rc = *message != NULL ? rc : SQLITE_NOMEM;
    }
    pt_error_clear(error);
    return rc;
}

void pt_module_fail_function(sqlite3_context *context, const char *name, pt_error *error)
{
    char *message = NULL;
    int rc = pt_module_fail(&message, name, error);
    if (message == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_error(context, message, -1);
        sqlite3_result_error_code(context, rc);
    }
    sqlite3_free(message);
}

bool pt_module_ignores(sqlite3 *db, const pt_error *error)
{
    return (error->rc & 0xFF) == SQLITE_CONSTRAINT && sqlite3_vtab_on_conflict(db) == SQLITE_IGNORE;
}

bool pt_module_keeps_rows(sqlite3 *db, int rc)
{
    int action = sqlite3_vtab_on_conflict(db);
    return (rc & 0xFF) == SQLITE_CONSTRAINT && (action == SQLITE_IGNORE || action == SQLITE_FAIL);
}

int pt_module_fail_write(sqlite3 *db, char **message, const char *name, pt_error *error)
{
    int rc = error->rc;
    if (!pt_module_ignores(db, error)) {
        return pt_module_fail(message, name, error);
    }
    pt_error_clear(error);
    return rc;
}

static bool is_error(int rc)
{
    return rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE;
}

int pt_module_nested_error(sqlite3 *db, const char *needs, pt_error *error)
{
    static const char prefix[] = "ptable: ";
    const size_t prefix_size = sizeof prefix - 1;
    int rc = sqlite3_extended_errcode(db);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    if (rc == SQLITE_MISUSE) {
        return pt_error_set(error, SQLITE_ERROR,
                            "this statement's connection was closed with sqlite3_close_v2; run it "
                            "in another one");
    }
    if (!is_error(rc) || (rc & 0xFF) == SQLITE_AUTH) {
        return pt_error_set(error, SQLITE_AUTH, "%s; let the authorizer allow %s",
                            is_error(rc) ? sqlite3_errmsg(db) : "not authorized", needs);
    }
    const char *text = sqlite3_errmsg(db);
    bool own = strncmp(text, prefix, prefix_size) == 0;
    return pt_error_set(error, rc, "%s", own ? text + prefix_size : text);
}

int pt_module_prepare(sqlite3 *db, char *sql, sqlite3_stmt **statement, pt_error *error)
{
    *statement = NULL;
    if (sql == NULL) {
        return pt_error_nomem(error);
    }
    sqlite3_prepare_v2(db, sql, -1, statement, NULL);
    sqlite3_free(sql);
    return SQLITE_OK;
}

int pt_module_finish(sqlite3 *db, sqlite3_stmt *statement, bool done, const char *needs,
                     pt_error *error)
{
    int rc = done ? SQLITE_OK : pt_module_nested_error(db, needs, error);
    sqlite3_finalize(statement);
    return rc;
}

int pt_module_find(sqlite3 *db, const char *const *names, bool *found, int count)
{
    sqlite3_stmt *modules = NULL;
    for (int i = 0; i < count; i++) {
        found[i] = false;
    }
    int rc = sqlite3_prepare_v2(db, "PRAGMA module_list", -1, &modules, NULL);
    while (rc == SQLITE_OK && sqlite3_step(modules) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(modules, 0);
        for (int i = 0; i < count; i++) {
            found[i] = found[i] || sqlite3_stricmp(name, names[i]) == 0;
        }
    }
    int end = sqlite3_finalize(modules);
    return rc == SQLITE_NOMEM || end == SQLITE_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

bool pt_module_is_ignored(sqlite3_stmt *statement)
{
    return sqlite3_column_count(statement) == 0;
}

int pt_module_is_utf8(sqlite3 *db, const char *schema, bool *utf8)
{
    char *sql = sqlite3_mprintf("PRAGMA \"%w\".encoding", schema);
    if (sql == NULL) {
        return SQLITE_NOMEM;
    }
    sqlite3_stmt *statement = NULL;
    const unsigned char *name = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        name = sqlite3_column_text(statement, 0);
    }
    *utf8 = name != NULL && sqlite3_stricmp((const char *)name, "UTF-8") == 0;
    sqlite3_free(sql);
    sqlite3_finalize(statement);
    return name == NULL && sqlite3_errcode(db) == SQLITE_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
}

bool pt_module_is_any_statement_busy(sqlite3 *db)
{
    for (sqlite3_stmt *s = sqlite3_next_stmt(db, NULL); s != NULL; s = sqlite3_next_stmt(db, s)) {
        if (sqlite3_stmt_busy(s)) {
            return true;
        }
    }
    return false;
}
