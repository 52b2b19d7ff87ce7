#include "queue/functions.h"

#include "base/ticks.h"
#include "queue/run_request.h"
#include "value/value.h"

enum {
    FUNCTION_MESSAGE_ID,
    FUNCTION_BODY,
    FUNCTION_INSERTION_TIME,
    FUNCTION_EXPIRATION_TIME,
    FUNCTION_TIME_NEXT_VISIBLE,
    FUNCTION_DEQUEUE_COUNT,
    FUNCTION_POP_RECEIPT,
    FUNCTION_ARGUMENTS
};

#define FUNCTION_COLUMNS                                                                           \
    "MessageId TEXT, Body, InsertionTime TEXT COLLATE " PT_TICKS_COLLATION ", "                    \
    "ExpirationTime TEXT COLLATE " PT_TICKS_COLLATION ", "                                         \
    "TimeNextVisible TEXT COLLATE " PT_TICKS_COLLATION ", "                                        \
    "DequeueCount INT, PopReceipt TEXT, "

/*
 * What a queue has answered to a call. SQLite reads a table-valued function as often as it likes:
 * once for each row of the outer table in a join, or for each evaluation of a correlated subquery.
 * Messages must be handed out only once, so a cursor keeps every reply and returns it again when
 * the same call comes again.
 */
typedef struct queue_reply {
    struct queue_reply *next;
    pt_buffer call; /* number of the statement and the arguments; equal calls have equal bytes */
    pt_queue_request request;
    sqlite3_int64 first_row; /* rowid of the first message */
} queue_reply;

typedef struct function_cursor {
    pt_tvf_cursor base;
    queue_reply *replies; /* all replies of this cursor, until the statement ends */
    queue_reply *reply;   /* the one being read */
} function_cursor;

/* Shared by all cursors of a function. */
typedef struct function_shared {
    sqlite3_int64 rows;           /* number of rows returned so far */
    function_cursor *opened;      /* opened last, unless a cursor was read or closed since */
    const sqlite3_stmt *planning; /* the statement that was planned last */
    unsigned statements;          /* number of statements planned so far */
} function_shared;

static function_cursor *function_cursor_of(pt_tvf_cursor *cursor)
{
    return (function_cursor *)cursor;
}

/* --- Calls --- */

/* False when out of memory. */
static bool append_call_argument(pt_buffer *call, sqlite3_value *value)
{
    int type = value != NULL ? sqlite3_value_type(value) : 0;
    pt_buffer_append_byte(call, (uint8_t)type);
    if (type == SQLITE_INTEGER) {
        sqlite3_int64 integer = sqlite3_value_int64(value);
        pt_buffer_append(call, &integer, sizeof integer);
    } else if (type == SQLITE_FLOAT) {
        double number = sqlite3_value_double(value);
        pt_buffer_append(call, &number, sizeof number);
    } else if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
        const void *bytes =
            type == SQLITE_TEXT ? sqlite3_value_text(value) : sqlite3_value_blob(value);
        size_t size = (size_t)sqlite3_value_bytes(value);
        if (bytes == NULL && type == SQLITE_TEXT) {
            return false;
        }
        pt_buffer_append(call, &size, sizeof size);
        pt_buffer_append(call, bytes, size);
    }
    return !call->failed;
}

/* False when out of memory. */
static bool describe_call(unsigned statement, sqlite3_value *const *arguments, pt_buffer *call)
{
    pt_buffer_append(call, &statement, sizeof statement);
    bool complete = !call->failed;
    for (int i = 0; complete && i < PT_TVF_ARGUMENTS_MAX; i++) {
        complete = append_call_argument(call, arguments[i]);
    }
    return complete;
}

/* --- Replies --- */

static void free_reply(queue_reply *reply)
{
    pt_queue_request_clear(&reply->request);
    pt_buffer_free(&reply->call);
    sqlite3_free(reply);
}

static void free_replies(queue_reply **list)
{
    while (*list != NULL) {
        queue_reply *first = *list;
        *list = first->next;
        free_reply(first);
    }
}

/* A reply without messages. NULL when out of memory. */
static queue_reply *new_reply(unsigned statement, sqlite3_value *const *arguments)
{
    queue_reply *reply = sqlite3_malloc64(sizeof *reply);
    if (reply == NULL) {
        return NULL;
    }
    *reply = (queue_reply){0};
    if (!describe_call(statement, arguments, &reply->call)) {
        free_reply(reply);
        return NULL;
    }
    return reply;
}

/* The reply to the same call, or NULL. */
static queue_reply *find_reply(queue_reply *list, const queue_reply *same)
{
    pt_slice call = pt_buffer_slice(&same->call);
    while (list != NULL && !pt_slice_equal(pt_buffer_slice(&list->call), call)) {
        list = list->next;
    }
    return list;
}

/* Has the queue carry out the request. Nothing after this may fail: messages that were handed out
 * must reach the statement. */
static int run_queue_call(function_cursor *cursor, queue_reply *reply, pt_error *error)
{
    function_shared *shared = cursor->base.shared;
    sqlite3_value *queue = cursor->base.arguments[0];
    if (sqlite3_value_type(queue) == SQLITE_NULL) {
        const pt_tvf *tvf =
            reply->request.kind == PT_QUEUE_GET ? &pt_tvf_queue_get : &pt_tvf_queue_update;
        return pt_error_set(error, SQLITE_ERROR, "the name of the queue is NULL; write %s",
                            tvf->usage);
    }
    const char *name = (const char *)sqlite3_value_text(queue);
    if (name == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_queue_run_request(cursor->base.connection, name, &reply->request, error);
    if (rc == SQLITE_OK) {
        reply->first_row = shared->rows + 1;
        shared->rows += (sqlite3_int64)reply->request.message_count;
    }
    return rc;
}

/* Makes the reply to a call the current one: an earlier reply to the same call, or a new one. */
static int begin_call(pt_tvf_cursor *base, unsigned statement, const pt_queue_request *request,
                      pt_error *error)
{
    function_cursor *cursor = function_cursor_of(base);
    function_shared *shared = base->shared;
    shared->opened = NULL;
    queue_reply *reply = new_reply(statement, base->arguments);
    if (reply == NULL) {
        return pt_error_nomem(error);
    }
    cursor->reply = find_reply(cursor->replies, reply);
    if (cursor->reply != NULL) {
        free_reply(reply);
    } else {
        reply->request = *request;
        int rc = run_queue_call(cursor, reply, error);
        if (rc != SQLITE_OK) {
            free_reply(reply);
            return rc;
        }
        reply->next = cursor->replies;
        cursor->replies = reply;
        cursor->reply = reply;
    }
    base->row = cursor->reply->first_row;
    return SQLITE_OK;
}

static int begin_get(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    const pt_queue_request request = {
        .kind = PT_QUEUE_GET, .count = cursor->arguments[1], .visibility = cursor->arguments[2]};
    return begin_call(cursor, keys->plan, &request, error);
}

static int begin_update(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    const pt_queue_request request = {.kind = PT_QUEUE_UPDATE,
                                      .id = cursor->arguments[1],
                                      .receipt = cursor->arguments[2],
                                      .visibility = cursor->arguments[3],
                                      .body = cursor->arguments[4]};
    return begin_call(cursor, keys->plan, &request, error);
}

/* --- The cursor --- */

/* Numbers the statement that is being planned. It is the newest one, which SQLite lists first. Its
 * address alone is not enough, because a later statement may have the same. */
static unsigned number_statement(pt_connection *connection, void *context)
{
    function_shared *shared = context;
    const sqlite3_stmt *newest = sqlite3_next_stmt(connection->db, NULL);
    if (newest != shared->planning) {
        shared->planning = newest;
        shared->statements++;
    }
    return shared->statements;
}

static void open_call(pt_tvf_cursor *cursor)
{
    function_shared *shared = cursor->shared;
    shared->opened = function_cursor_of(cursor);
    shared->planning = NULL; /* planning is over, so that address may be used again */
}

/*
 * SQLite 3.40 reads a function again, as in a correlated subquery, by opening a new cursor and at
 * once closing the old one. So the new cursor takes over the replies. (Newer versions keep the old
 * cursor.) If the cursor that was opened last is one of another statement, the replies do no harm
 * there, because the number of its statement differs.
 */
static void close_call(pt_tvf_cursor *base)
{
    function_cursor *cursor = function_cursor_of(base);
    function_shared *shared = base->shared;
    if (shared->opened != NULL && shared->opened != cursor) {
        shared->opened->replies = cursor->replies;
    } else {
        free_replies(&cursor->replies);
    }
    shared->opened = NULL;
}

static int next_message(pt_tvf_cursor *cursor, pt_error *error)
{
    (void)error;
    const queue_reply *reply = function_cursor_of(cursor)->reply;
    cursor->eof = (size_t)(cursor->row - reply->first_row) >= reply->request.message_count;
    return SQLITE_OK;
}

static void end_call(pt_tvf_cursor *cursor)
{
    function_cursor_of(cursor)->reply = NULL;
}

/* --- Columns --- */

static pt_value function_text(const char *text)
{
    return (pt_value){.type = PT_STRING, .bytes = pt_slice_text(text)};
}

static pt_value function_time(int64_t ticks)
{
    return (pt_value){.type = PT_DATETIME, .integer = ticks};
}

static pt_value function_value(const pt_queue_message *message, int column)
{
    switch (column) {
    case FUNCTION_MESSAGE_ID:
        return function_text(message->id);
    case FUNCTION_BODY:
        return (pt_value){.type = message->body_is_text ? PT_STRING : PT_BINARY,
                          .bytes = pt_buffer_slice(&message->body)};
    case FUNCTION_INSERTION_TIME:
        return function_time(message->inserted);
    case FUNCTION_EXPIRATION_TIME:
        return message->expires != PT_TICKS_MAX ? function_time(message->expires)
                                                : (pt_value){.type = PT_NONE};
    case FUNCTION_TIME_NEXT_VISIBLE:
        return function_time(message->next_visible);
    case FUNCTION_DEQUEUE_COUNT:
        return (pt_value){.type = PT_INT64, .integer = message->dequeue_count};
    default:
        return function_text(message->receipt);
    }
}

static void message_column(pt_tvf_cursor *cursor, sqlite3_context *context, int index)
{
    const queue_reply *reply = function_cursor_of(cursor)->reply;
    pt_value value =
        function_value(&reply->request.messages[cursor->row - reply->first_row], index);
    pt_value_result(context, &value, false);
}

/* --- Descriptions --- */

#define FUNCTION_FRAME                                                                             \
    .first_argument = FUNCTION_ARGUMENTS, .key_column = -1, .writes = true, .takes_null = true,    \
    .cost = 10, .rows = 10, .cursor_size = sizeof(function_cursor),                                \
    .shared_size = sizeof(function_shared), .number = number_statement, .opened = open_call,       \
    .closed = close_call, .next = next_message, .column = message_column, .end = end_call

const pt_tvf pt_tvf_queue_get = {.name = "pt_queue_get",
                                 .declaration =
                                     "CREATE TABLE x(" FUNCTION_COLUMNS
                                     "argument1 HIDDEN, argument2 HIDDEN, argument3 HIDDEN)",
                                 .usage = "pt_queue_get('queue' [, count [, seconds]])",
                                 .sentence = "hands out messages once",
                                 .least_arguments = 1,
                                 .most_arguments = 3,
                                 .begin = begin_get,
                                 FUNCTION_FRAME};

const pt_tvf pt_tvf_queue_update = {
    .name = "pt_queue_update",
    .declaration = "CREATE TABLE x(" FUNCTION_COLUMNS
                   "argument1 HIDDEN, argument2 HIDDEN, argument3 HIDDEN, argument4 HIDDEN, "
                   "argument5 HIDDEN)",
    .usage = "pt_queue_update('queue', id, receipt, seconds [, body])",
    .sentence = "updates a message once",
    .least_arguments = 4,
    .most_arguments = 5,
    .begin = begin_update,
    FUNCTION_FRAME};
