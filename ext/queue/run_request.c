#include "queue/run_request.h"

#include "module/companion.h"
#include "module/module.h"
#include "module/schema_search.h"
#include "queue/write.h"
#include "table/table_transaction.h"

/* --- Finding the queue --- */

/* True if a row of PRAGMA table_xinfo is the hidden column Request, which only queues have. An
 * ordinary table may have a visible column of that name, and must not be written to. */
static bool is_request_column(sqlite3_stmt *columns)
{
    enum { XINFO_NAME = 1, XINFO_HIDDEN = 6, HIDDEN_IN_VIRTUAL_TABLE = 1 };
    const unsigned char *name = sqlite3_column_text(columns, XINFO_NAME);
    return name != NULL && strcmp((const char *)name, "Request") == 0 &&
           sqlite3_column_int(columns, XINFO_HIDDEN) == HIDDEN_IN_VIRTUAL_TABLE;
}

/* Finds out if a schema has a table or view of that name, and if that is a queue. The PRAGMA makes
 * SQLite connect it. */
static int find_queue_in_schema(sqlite3 *db, const char *schema, const char *name, bool *found,
                                bool *is_queue, pt_error *error)
{
    sqlite3_stmt *columns;
    char *sql = sqlite3_mprintf("PRAGMA \"%w\".table_xinfo(%Q)", schema, name);
    int rc = pt_module_prepare(db, sql, &columns, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *found = false;
    *is_queue = false;
    int step = SQLITE_ERROR;
    while (columns != NULL && !*is_queue && (step = sqlite3_step(columns)) == SQLITE_ROW) {
        *found = true;
        *is_queue = is_request_column(columns);
    }
    bool done = *is_queue || (step == SQLITE_DONE && !pt_module_is_ignored(columns));
    return pt_module_finish(db, columns, done, "PRAGMA table_xinfo", error);
}

/* --- Running the request --- */

typedef struct named_request {
    pt_named_write base;
    pt_queue_request *request;
} named_request;

/* A pt_named_write's `write`. */
static int serve_request(pt_named_write *self, pt_table *table, pt_error *error)
{
    return pt_queue_serve_request(pt_queue_of(&table->base), ((named_request *)self)->request,
                                  error);
}

static int insert_request(const named_request *self, pt_error *error)
{
    sqlite3 *db = self->base.connection->db;
    sqlite3_stmt *insert;
    char *sql = sqlite3_mprintf("INSERT INTO \"%w\".\"%w\"(Request) VALUES (?1)", self->base.schema,
                                self->base.name);
    int rc = pt_module_prepare(db, sql, &insert, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* If an authorizer ignored the INSERT, it is read-only and does nothing. */
    bool done =
        insert != NULL && !sqlite3_stmt_readonly(insert) &&
        sqlite3_bind_pointer(insert, 1, self->request, PT_QUEUE_REQUEST_TYPE, NULL) == SQLITE_OK &&
        sqlite3_step(insert) == SQLITE_DONE;
    return pt_module_finish(db, insert, done, "INSERT into the queue", error);
}

static int run_in_queue(named_request *self, pt_error *error)
{
    bool run = false;
    int rc = SQLITE_OK;
    /* It may not be ours, but only behave like a queue. */
    if (pt_named_write_find(&self->base) != NULL) {
        rc = pt_named_write_run(&self->base, &run, error);
    }
    return rc == SQLITE_OK && !run ? insert_request(self, error) : rc;
}

/* A pt_schema_look: runs the request in the queue of this name. */
static int run_in_schema(void *context, const char *schema, const char *name, bool *has,
                         pt_error *error)
{
    named_request *self = context;
    bool is_queue;
    self->base.schema = schema;
    self->base.name = name;
    int rc = find_queue_in_schema(self->base.connection->db, schema, name, has, &is_queue, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return is_queue ? run_in_queue(self, error) : SQLITE_NOTFOUND;
}

int pt_queue_run_request(pt_connection *connection, const char *name, pt_queue_request *request,
                         pt_error *error)
{
    named_request self = {
        .base = {.connection = connection, .kind = PT_TABLE_OF_MESSAGES, .write = serve_request},
        .request = request};
    int rc = pt_schema_search(connection->db, name, run_in_schema, &self, error);
    if (rc == SQLITE_NOTFOUND) {
        rc = pt_error_set(error, SQLITE_ERROR,
                          "%Q is not the name of a queue; give the name of a table created USING "
                          "pt_queue",
                          name);
    }
    return rc;
}
