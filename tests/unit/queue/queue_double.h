/*
 * A queue that is easy to see through: CREATE VIRTUAL TABLE jobs USING queue_double. It answers the
 * requests of queue/request.h with the messages m1, m2, ... without end, keeps no times, and takes
 * part in transactions: what is rolled back is handed out again. `SELECT handed_out FROM jobs` is
 * the number of the last message.
 */
#ifndef TESTS_UNIT_QUEUE_QUEUE_DOUBLE_H
#define TESTS_UNIT_QUEUE_QUEUE_DOUBLE_H

#include "fixtures/cmocka.h"

#include "base/ticks.h"
#include "queue/request.h"

enum { DOUBLE_LEVELS = 8 };

typedef struct queue_double {
    sqlite3_vtab base;
    int handed_out;
    int at_begin;
    int at_savepoint[DOUBLE_LEVELS];
} queue_double;

typedef struct double_cursor {
    sqlite3_vtab_cursor base;
    bool eof;
} double_cursor;

static int double_asked; /* requests so far, of all queues */

static inline queue_double *double_of(sqlite3_vtab *vtab)
{
    return (queue_double *)vtab;
}

static inline int double_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                                 sqlite3_vtab **vtab, char **message)
{
    (void)context;
    (void)argc;
    (void)argv;
    (void)message;
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(handed_out INT, Request HIDDEN)");
    queue_double *self = rc == SQLITE_OK ? sqlite3_malloc64(sizeof *self) : NULL;
    if (self != NULL) {
        *self = (queue_double){0};
        *vtab = &self->base;
    }
    return rc == SQLITE_OK && self == NULL ? SQLITE_NOMEM : rc;
}

static inline int double_disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

static inline int double_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    info->estimatedCost = 1;
    return SQLITE_OK;
}

static inline int double_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    (void)vtab;
    double_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    *out = &cursor->base;
    return cursor != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

static inline int double_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static inline int double_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                                sqlite3_value **argv)
{
    (void)plan;
    (void)text;
    (void)argc;
    (void)argv;
    ((double_cursor *)cursor)->eof = false;
    return SQLITE_OK;
}

static inline int double_next(sqlite3_vtab_cursor *cursor)
{
    ((double_cursor *)cursor)->eof = true;
    return SQLITE_OK;
}

static inline int double_eof(sqlite3_vtab_cursor *cursor)
{
    return ((double_cursor *)cursor)->eof;
}

static inline int double_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
    if (column == 0) {
        sqlite3_result_int(context, double_of(cursor->pVtab)->handed_out);
    }
    return SQLITE_OK;
}

static inline int double_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    (void)cursor;
    *id = 1;
    return SQLITE_OK;
}

/* --- Answering --- */

static inline int double_number(sqlite3_value *value, int otherwise)
{
    return value != NULL ? sqlite3_value_int(value) : otherwise;
}

/* Its DequeueCount is the seconds that were asked for, its times are its number in ticks; the first
 * one never expires. */
static inline bool double_add(pt_queue_request *request, char *id, int number, const char *body)
{
    pt_queue_message *message = id != NULL ? pt_queue_request_add(request) : NULL;
    if (message == NULL) {
        sqlite3_free(id);
        return false;
    }
    message->id = id;
    message->receipt = sqlite3_mprintf("r%d", number);
    message->body_is_text = body != NULL;
    pt_buffer_append_text(&message->body, body != NULL ? body : "");
    message->inserted = 0;
    message->expires = number == 1 ? PT_TICKS_MAX : number;
    message->next_visible = number;
    message->dequeue_count = double_number(request->visibility, 30);
    return message->receipt != NULL && !message->body.failed;
}

static inline bool double_get(queue_double *self, pt_queue_request *request)
{
    bool added = true;
    for (int i = double_number(request->count, 1); added && i > 0; i--) {
        self->handed_out++;
        char *id = sqlite3_mprintf("m%d", self->handed_out);
        added = double_add(request, id, self->handed_out, "body");
    }
    return added;
}

static inline bool double_change(queue_double *self, pt_queue_request *request)
{
    self->handed_out++;
    const char *body =
        request->body != NULL ? (const char *)sqlite3_value_text(request->body) : NULL;
    char *id = sqlite3_mprintf("%s %s", sqlite3_value_text(request->id),
                               sqlite3_value_text(request->receipt));
    return double_add(request, id, self->handed_out, body);
}

static inline int double_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv,
                                sqlite3_int64 *rowid)
{
    enum { REQUEST = 3 };
    queue_double *self = double_of(vtab);
    *rowid = 1;
    pt_queue_request *request =
        argc > REQUEST ? sqlite3_value_pointer(argv[REQUEST], PT_QUEUE_REQUEST_TYPE) : NULL;
    if (request == NULL) {
        vtab->zErrMsg = sqlite3_mprintf("ptable: jobs: there is no request");
        return SQLITE_CONSTRAINT_VTAB;
    }
    double_asked++;
    bool get = request->kind == PT_QUEUE_GET;
    if (request->visibility != NULL && sqlite3_value_type(request->visibility) != SQLITE_INTEGER) {
        vtab->zErrMsg = sqlite3_mprintf("ptable: jobs: seconds are a number");
        return SQLITE_MISMATCH;
    }
    return (get ? double_get(self, request) : double_change(self, request)) ? SQLITE_OK
                                                                            : SQLITE_NOMEM;
}

/* --- Transactions --- */

static inline int double_begin(sqlite3_vtab *vtab)
{
    queue_double *self = double_of(vtab);
    self->at_begin = self->handed_out;
    for (int level = 0; level < DOUBLE_LEVELS; level++) {
        self->at_savepoint[level] = self->handed_out;
    }
    return SQLITE_OK;
}

static inline int double_end(sqlite3_vtab *vtab)
{
    (void)vtab;
    return SQLITE_OK;
}

static inline int double_rollback(sqlite3_vtab *vtab)
{
    double_of(vtab)->handed_out = double_of(vtab)->at_begin;
    return SQLITE_OK;
}

static inline int double_savepoint(sqlite3_vtab *vtab, int level)
{
    double_of(vtab)->at_savepoint[level] = double_of(vtab)->handed_out;
    return SQLITE_OK;
}

static inline int double_release(sqlite3_vtab *vtab, int level)
{
    (void)vtab;
    (void)level;
    return SQLITE_OK;
}

static inline int double_rollback_to(sqlite3_vtab *vtab, int level)
{
    queue_double *self = double_of(vtab);
    self->handed_out = level < 0 ? self->at_begin : self->at_savepoint[level];
    return SQLITE_OK;
}

static const sqlite3_module double_module = {
    .iVersion = 2,
    .xCreate = double_connect,
    .xConnect = double_connect,
    .xBestIndex = double_best_index,
    .xDisconnect = double_disconnect,
    .xDestroy = double_disconnect,
    .xOpen = double_open,
    .xClose = double_close,
    .xFilter = double_filter,
    .xNext = double_next,
    .xEof = double_eof,
    .xColumn = double_column,
    .xRowid = double_rowid,
    .xUpdate = double_update,
    .xBegin = double_begin,
    .xSync = double_end,
    .xCommit = double_end,
    .xRollback = double_rollback,
    .xSavepoint = double_savepoint,
    .xRelease = double_release,
    .xRollbackTo = double_rollback_to,
};

#endif
