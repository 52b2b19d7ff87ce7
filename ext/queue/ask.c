#include "queue/ask.h"

#include "module/companion.h"
#include "module/module.h"
#include "module/schema_search.h"
#include "queue/hand_out.h"
#include "table/table_transaction.h"

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

/* Ends a statement, which is NULL if it could not be prepared; `needs` as for an authorizer. */
static int finish(sqlite3 *db, sqlite3_stmt *statement, bool done, const char *needs,
                  pt_error *error)
{
    int rc = done ? SQLITE_OK : pt_module_nested_error(db, needs, error);
    sqlite3_finalize(statement);
    return rc;
}

/* --- Finding the queue --- */

/* Whether a row of PRAGMA table_xinfo shows what only queues have: the hidden column Request. An
 * ordinary table may have a column of that name, too, and must not be written to. */
static bool shows_request(sqlite3_stmt *columns)
{
    enum { NAME = 1, HIDDEN = 6, HIDDEN_IN_VIRTUAL_TABLE = 1 };
    const unsigned char *name = sqlite3_column_text(columns, NAME);
    return name != NULL && strcmp((const char *)name, "Request") == 0 &&
           sqlite3_column_int(columns, HIDDEN) == HIDDEN_IN_VIRTUAL_TABLE;
}

/* Whether a schema has a table or view of that name, and whether that is a queue, which SQLite then
 * has connected. */
static int look_into_schema(sqlite3 *db, const char *schema, const char *name, bool *found,
                            bool *is_queue, pt_error *error)
{
    sqlite3_stmt *columns;
    char *sql = sqlite3_mprintf("PRAGMA \"%w\".table_xinfo(%Q)", schema, name);
    int rc = prepare(db, sql, &columns, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *found = false;
    *is_queue = false;
    int step = SQLITE_ERROR;
    while (columns != NULL && !*is_queue && (step = sqlite3_step(columns)) == SQLITE_ROW) {
        *found = true;
        *is_queue = shows_request(columns);
    }
    bool done = *is_queue || (step == SQLITE_DONE && !pt_module_is_ignored(columns));
    return finish(db, columns, done, "PRAGMA table_xinfo", error);
}

typedef struct sought {
    const char *name;
    bool is_queue;
} sought;

static int look_for_queue(sqlite3 *db, const char *schema, void *context, bool *has,
                          pt_error *error)
{
    sought *self = context;
    return look_into_schema(db, schema, self->name, has, &self->is_queue, error);
}

/* --- Asking it --- */

typedef struct question {
    pt_connection *connection;
    const char *schema;
    const char *name;
    pt_queue_request *request;
} question;

/* NULL if it is not one of ours: as a table that only behaves like a queue. */
static pt_queue *connected_queue(const question *asked)
{
    pt_connected *connected =
        pt_connection_find_table(asked->connection, asked->schema, asked->name);
    pt_table *table = connected != NULL ? pt_table_of_connected(connected) : NULL;
    bool is_queue = table != NULL && table->form->kind == PT_TABLE_OF_MESSAGES;
    return is_queue ? pt_queue_of(&table->base) : NULL;
}

static int answer(pt_queue *queue, pt_queue_request *request, pt_error *error)
{
    pt_table *table = &queue->table;
    pt_table_enter(table);
    int rc = pt_transaction_enter(table, error);
    if (rc == SQLITE_OK) {
        rc = pt_transaction_prepare_write(table, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_queue_answer(queue, request, error);
    }
    pt_table_leave_by_name(table);
    return rc;
}

/* The companion's job. */
static int answer_by_name(void *context, pt_error *error)
{
    const question *asked = context;
    pt_error own = PT_ERROR_NONE;
    pt_queue *queue = connected_queue(asked);
    int rc = queue != NULL ? answer(queue, asked->request, &own)
                           : pt_error_set(&own, SQLITE_LOCKED,
                                          "has been dropped or disconnected by what was called "
                                          "meanwhile; run the statement again");
    if (rc == SQLITE_NOMEM) {
        pt_error_nomem(error);
    } else if (rc != SQLITE_OK) {
        rc = pt_error_set(error, rc, "%s: %s", asked->name, own.message);
    }
    pt_error_clear(&own);
    return rc;
}

static int insert_request(const question *asked, pt_error *error)
{
    sqlite3 *db = pt_connection_db(asked->connection);
    sqlite3_stmt *insert;
    char *sql = sqlite3_mprintf("INSERT INTO \"%w\".\"%w\"(Request) VALUES (?1)", asked->schema,
                                asked->name);
    int rc = prepare(db, sql, &insert, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* One that an authorizer has ignored does nothing. */
    bool done =
        insert != NULL && !sqlite3_stmt_readonly(insert) &&
        sqlite3_bind_pointer(insert, 1, asked->request, PT_QUEUE_REQUEST_TYPE, NULL) == SQLITE_OK &&
        sqlite3_step(insert) == SQLITE_DONE;
    return finish(db, insert, done, "INSERT into the queue", error);
}

static int ask(question *asked, pt_error *error)
{
    bool run = false;
    int rc = SQLITE_OK;
    if (connected_queue(asked) != NULL) {
        rc = pt_companion_run(asked->connection, answer_by_name, asked, &run, error);
    }
    return rc == SQLITE_OK && !run ? insert_request(asked, error) : rc;
}

/* --- By any name --- */

/* SQLITE_NOTFOUND, without a text, if the schema has no such queue. */
static int ask_in_schema(question *asked, pt_error *error)
{
    sqlite3 *db = pt_connection_db(asked->connection);
    bool found = false;
    bool is_queue = false;
    if (sqlite3_db_readonly(db, asked->schema) >= 0) {
        int rc = look_into_schema(db, asked->schema, asked->name, &found, &is_queue, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    return is_queue ? ask(asked, error) : SQLITE_NOTFOUND;
}

static int ask_qualified(question *asked, const char *point, pt_error *error)
{
    char *schema = sqlite3_mprintf("%.*s", (int)(point - asked->name), asked->name);
    if (schema == NULL) {
        return pt_error_nomem(error);
    }
    asked->schema = schema;
    asked->name = point + 1;
    int rc = ask_in_schema(asked, error);
    sqlite3_free(schema);
    return rc;
}

int pt_queue_ask(pt_connection *connection, const char *name, pt_queue_request *request,
                 pt_error *error)
{
    question asked = {.connection = connection, .name = name, .request = request};
    const char *point = strchr(name, '.');
    char *schema;
    sought queue = {.name = name};
    int rc = pt_schema_search(pt_connection_db(connection), look_for_queue, &queue, &schema, error);
    asked.schema = schema;
    if (rc == SQLITE_OK) {
        rc = queue.is_queue ? ask(&asked, error) : SQLITE_NOTFOUND;
    }
    sqlite3_free(schema);
    if (rc == SQLITE_NOTFOUND && point != NULL) {
        rc = ask_qualified(&asked, point, error);
    }
    if (rc == SQLITE_NOTFOUND) {
        rc = pt_error_set(error, SQLITE_ERROR,
                          "%Q is not the name of a queue; give the name of a table that was made "
                          "USING pt_queue",
                          name);
    }
    return rc;
}
