#include "queue_ask.h"

/* Frees the text of the statement, which is NULL when there was no memory for it. */
static int prepare(sqlite3 *db, char *sql, sqlite3_stmt **statement, pt_error *error)
{
    *statement = NULL;
    if (sql == NULL) {
        return pt_error_nomem(error);
    }
    sqlite3_prepare_v2(db, sql, -1, statement, NULL);
    sqlite3_free(sql);
    return SQLITE_OK;
}

/* The connection's last error, without what every text of ptable begins with. */
static int take_over_error(sqlite3 *db, pt_error *error)
{
    static const char prefix[] = "ptable: ";
    const size_t prefix_size = sizeof prefix - 1;
    int rc = sqlite3_extended_errcode(db);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    const char *text = sqlite3_errmsg(db);
    bool own = strncmp(text, prefix, prefix_size) == 0;
    return pt_error_set(error, rc, "%s", own ? text + prefix_size : text);
}

/* Ends a statement, which is NULL if it could not be prepared. */
static int finish(sqlite3 *db, sqlite3_stmt *statement, bool done, pt_error *error)
{
    int rc = done ? SQLITE_OK : take_over_error(db, error);
    sqlite3_finalize(statement);
    return rc;
}

/* Whether a row of PRAGMA table_xinfo shows what only queues have: the hidden column Request. */
static bool shows_request(sqlite3_stmt *columns)
{
    enum { NAME = 1, HIDDEN = 6, HIDDEN_IN_VIRTUAL_TABLE = 1 };
    const unsigned char *name = sqlite3_column_text(columns, NAME);
    return name != NULL && strcmp((const char *)name, "Request") == 0 &&
           sqlite3_column_int(columns, HIDDEN) == HIDDEN_IN_VIRTUAL_TABLE;
}

/*
 * Whether a table is a queue. `schema` is empty, or a quoted name with a point. An ordinary table
 * may have a column Request, too, and would be written to.
 */
static int look_for_queue(sqlite3 *db, const char *schema, const char *name, bool *found,
                          pt_error *error)
{
    sqlite3_stmt *columns;
    int rc =
        prepare(db, sqlite3_mprintf("PRAGMA %stable_xinfo(%Q)", schema, name), &columns, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *found = false;
    int step = SQLITE_ERROR;
    while (columns != NULL && !*found && (step = sqlite3_step(columns)) == SQLITE_ROW) {
        *found = shows_request(columns);
    }
    return finish(db, columns, *found || step == SQLITE_DONE, error);
}

static int send(sqlite3 *db, const char *schema, const char *name, pt_queue_request *request,
                pt_error *error)
{
    sqlite3_stmt *insert;
    char *sql = sqlite3_mprintf("INSERT INTO %s\"%w\"(Request) VALUES (?1)", schema, name);
    int rc = prepare(db, sql, &insert, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool done =
        insert != NULL &&
        sqlite3_bind_pointer(insert, 1, request, PT_QUEUE_REQUEST_TYPE, NULL) == SQLITE_OK &&
        sqlite3_step(insert) == SQLITE_DONE;
    return finish(db, insert, done, error);
}

/* SQLITE_NOTFOUND, without a text, if there is no such queue. */
static int ask_if_there(sqlite3 *db, const char *schema, const char *name,
                        pt_queue_request *request, pt_error *error)
{
    bool found;
    int rc = look_for_queue(db, schema, name, &found, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return found ? send(db, schema, name, request, error) : SQLITE_NOTFOUND;
}

static int ask_in_schema(sqlite3 *db, const char *schema, const char *name,
                         pt_queue_request *request, pt_error *error)
{
    if (sqlite3_db_readonly(db, schema) < 0) {
        return SQLITE_NOTFOUND;
    }
    char *quoted = sqlite3_mprintf("\"%w\".", schema);
    int rc =
        quoted != NULL ? ask_if_there(db, quoted, name, request, error) : pt_error_nomem(error);
    sqlite3_free(quoted);
    return rc;
}

static int ask_qualified(sqlite3 *db, const char *name, const char *point,
                         pt_queue_request *request, pt_error *error)
{
    char *schema = sqlite3_mprintf("%.*s", (int)(point - name), name);
    int rc = schema != NULL ? ask_in_schema(db, schema, point + 1, request, error)
                            : pt_error_nomem(error);
    sqlite3_free(schema);
    return rc;
}

int pt_queue_ask(sqlite3 *db, const char *name, pt_queue_request *request, pt_error *error)
{
    const char *point = strchr(name, '.');
    int rc = ask_if_there(db, "", name, request, error);
    if (rc == SQLITE_NOTFOUND && point != NULL) {
        rc = ask_qualified(db, name, point, request, error);
    }
    if (rc == SQLITE_NOTFOUND) {
        rc = pt_error_set(error, SQLITE_ERROR,
                          "%Q is not the name of a queue; give the name of a table that was made "
                          "USING pt_queue",
                          name);
    }
    return rc;
}
