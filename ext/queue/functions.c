#include "queue/functions.h"

#include <limits.h>

#include "base/ticks.h"
#include "module/companion.h"
#include "module/module.h"
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
    "MessageId TEXT, Body, InsertionTime TEXT, ExpirationTime TEXT, TimeNextVisible TEXT, "        \
    "DequeueCount INT, PopReceipt TEXT, "

typedef struct queue_function {
    const char *name;
    const char *declaration; /* for sqlite3_declare_vtab */
    const char *usage;       /* how to call it, for the error of who did not */
    const char *plan;        /* what EXPLAIN QUERY PLAN shows */
    pt_queue_request_kind kind;
    int least_arguments;
    int most_arguments;
} queue_function;

static const queue_function queue_functions[] = {
    {.name = "pt_queue_get",
     .declaration =
         "CREATE TABLE x(" FUNCTION_COLUMNS "argument1 HIDDEN, argument2 HIDDEN, argument3 HIDDEN)",
     .usage = "pt_queue_get('queue', count, seconds) with the last two or without",
     .plan = "hands out messages once",
     .kind = PT_QUEUE_GET,
     .least_arguments = 1,
     .most_arguments = 3},
    {.name = "pt_queue_update",
     .declaration = "CREATE TABLE x(" FUNCTION_COLUMNS
                    "argument1 HIDDEN, argument2 HIDDEN, argument3 HIDDEN, argument4 HIDDEN, "
                    "argument5 HIDDEN)",
     .usage = "pt_queue_update('queue', id, receipt, seconds, body) with body or without",
     .plan = "updates a message once",
     .kind = PT_QUEUE_UPDATE,
     .least_arguments = 4,
     .most_arguments = 5},
};

typedef struct function_cursor function_cursor;

typedef struct function_table {
    sqlite3_vtab base;
    pt_connection *connection;
    const queue_function *function;
    sqlite3_int64 rows;      /* given so far */
    function_cursor *opened; /* last, and neither it nor another has been read or closed since */
    const sqlite3_stmt *planning; /* the last statement that was planned */
    unsigned statements;          /* planned so far */
} function_table;

struct function_cursor {
    sqlite3_vtab_cursor base;
    pt_queue_reply *replies; /* all that were given here, while the statement runs */
    pt_queue_reply *reply;   /* the one that is read */
    size_t index;
};

static function_table *table_of(sqlite3_vtab *vtab)
{
    return (function_table *)vtab;
}

static function_cursor *cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (function_cursor *)cursor;
}

/* --- The table --- */

static int disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(table_of(vtab));
    return SQLITE_OK;
}

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **vtab, char **message)
{
    (void)argc;
    (void)argv;
    const pt_module_registration *registered = context;
    const queue_function *function = registered->description;
    int rc = sqlite3_declare_vtab(db, function->declaration);
    if (rc != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return rc;
    }
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    function_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    *table = (function_table){.connection = registered->connection, .function = function};
    pt_error error = PT_ERROR_NONE;
    if (pt_companion_ensure(table->connection, &error) != SQLITE_OK) {
        disconnect(&table->base);
        return pt_module_fail(message, function->name, &error);
    }
    *vtab = &table->base;
    return SQLITE_OK;
}

/* --- Plans --- */

/* Where the arguments are missing; that is an error, but planning also looks at parts of a WHERE
 * without them. */
#define COST_WITHOUT_ARGUMENTS 1e12
#define COST 10
enum { ROWS = 10 };

enum { PLAN_ARGUMENTS = PT_QUEUE_ARGUMENTS_MAX, PLAN_STATEMENT = INT_MAX >> PLAN_ARGUMENTS };

static bool is_equality(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
}

/* Which arguments are given, as bits, and by which constraint. SQLITE_CONSTRAINT: one of them is
 * not known in this order of a join. */
static int find_arguments(const sqlite3_index_info *info, unsigned *given,
                          int index[PT_QUEUE_ARGUMENTS_MAX])
{
    unsigned unknown = 0;
    *given = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        int argument = info->aConstraint[i].iColumn - FUNCTION_ARGUMENTS;
        if (argument < 0 || !is_equality(info->aConstraint[i].op)) {
            continue;
        }
        unsigned bit = 1u << argument;
        if (!info->aConstraint[i].usable) {
            unknown |= bit;
        } else if ((*given & bit) == 0) {
            *given |= bit;
            index[argument] = i;
        }
    }
    return (unknown & ~*given) == 0 ? SQLITE_OK : SQLITE_CONSTRAINT;
}

static bool are_enough(const queue_function *function, unsigned given)
{
    unsigned needed = (1u << function->least_arguments) - 1;
    return (given & needed) == needed;
}

/* Numbers the statement that is being planned: it is the newest, which SQLite lists first. */
static unsigned number_of_statement(function_table *table)
{
    const sqlite3_stmt *newest = sqlite3_next_stmt(pt_connection_db(table->connection), NULL);
    if (newest != table->planning) {
        table->planning = newest;
        table->statements++;
    }
    return table->statements;
}

/* idxNum: which arguments are given, as bits, and above them the statement's number. xFilter gets
 * the arguments in their order. */
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    function_table *table = table_of(vtab);
    const queue_function *function = table->function;
    int index[PT_QUEUE_ARGUMENTS_MAX];
    unsigned given;
    int place = 0;
    int rc = find_arguments(info, &given, index);
    if (rc != SQLITE_OK) {
        return rc;
    }
    for (int i = 0; i < function->most_arguments; i++) {
        if ((given & 1u << i) != 0) {
            info->aConstraintUsage[index[i]].argvIndex = ++place;
            info->aConstraintUsage[index[i]].omit = 1;
        }
    }
    info->idxNum = (int)(given | (number_of_statement(table) & PLAN_STATEMENT) << PLAN_ARGUMENTS);
    info->idxStr = (char *)function->plan;
    info->estimatedCost = are_enough(function, given) ? COST : COST_WITHOUT_ARGUMENTS;
    info->estimatedRows = ROWS;
    return SQLITE_OK;
}

/* --- Asking --- */

static int fail(function_table *table, pt_error *error)
{
    return pt_module_fail(&table->base.zErrMsg, table->function->name, error);
}

static void fill_request(const function_table *table, pt_queue_reply *asked)
{
    sqlite3_value *const *arguments = asked->arguments;
    pt_queue_request *request = &asked->request;
    request->kind = table->function->kind;
    if (request->kind == PT_QUEUE_GET) {
        request->count = arguments[1];
        request->visibility = arguments[2];
    } else {
        request->id = arguments[1];
        request->receipt = arguments[2];
        request->visibility = arguments[3];
        request->body = arguments[4];
    }
}

/* SQLITE_ERROR: without these arguments the queue is not asked. */
static int check_arguments(const queue_function *function, unsigned given,
                           const pt_queue_reply *asked, pt_error *error)
{
    if (!are_enough(function, given)) {
        return pt_error_set(error, SQLITE_ERROR, "needs to be told more; write %s",
                            function->usage);
    }
    if (sqlite3_value_type(asked->arguments[0]) == SQLITE_NULL) {
        return pt_error_set(error, SQLITE_ERROR, "the name of the queue is NULL; write %s",
                            function->usage);
    }
    return SQLITE_OK;
}

/* This comes last: what the queue hands out is given to the statement, whatever happens. */
static int ask(function_table *table, pt_queue_reply *asked, pt_error *error)
{
    const char *name = (const char *)sqlite3_value_text(asked->arguments[0]);
    if (name == NULL) {
        return pt_error_nomem(error);
    }
    fill_request(table, asked);
    int rc = pt_queue_run_request(table->connection, name, &asked->request, error);
    if (rc == SQLITE_OK) {
        asked->first_row = table->rows + 1;
        table->rows += (sqlite3_int64)asked->request.message_count;
    }
    return rc;
}

/* Makes the reply to a question the current one: the one that was given before, or a new one. */
static int reply(function_cursor *cursor, unsigned plan, pt_queue_reply *asked, pt_error *error)
{
    function_table *table = table_of(cursor->base.pVtab);
    cursor->index = 0;
    cursor->reply = pt_queue_replies_find(cursor->replies, asked);
    if (cursor->reply != NULL) {
        pt_queue_reply_free(asked);
        return SQLITE_OK;
    }
    int rc = check_arguments(table->function, plan, asked, error);
    if (rc == SQLITE_OK) {
        rc = ask(table, asked, error);
    }
    if (rc != SQLITE_OK) {
        pt_queue_reply_free(asked);
        return rc;
    }
    asked->next = cursor->replies;
    cursor->replies = asked;
    cursor->reply = asked;
    return SQLITE_OK;
}

/* --- The cursor --- */

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    function_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *cursor = (function_cursor){0};
    table_of(vtab)->opened = cursor;
    table_of(vtab)->planning = NULL; /* the next to be planned may lie at the same address */
    *out = &cursor->base;
    return SQLITE_OK;
}

/*
 * When it comes again to where a function stands, as for each evaluation of a correlated subquery,
 * SQLite 3.40 opens the next cursor and closes the last one at once. The next one takes over what
 * the last one was answered. (Newer versions keep the cursor.) If it is one of another statement
 * that was opened last, it asks under another number.
 */
static int close_cursor(sqlite3_vtab_cursor *base)
{
    function_cursor *cursor = cursor_of(base);
    function_table *table = table_of(base->pVtab);
    if (table->opened != NULL && table->opened != cursor) {
        table->opened->replies = cursor->replies;
    } else {
        pt_queue_replies_free(&cursor->replies);
    }
    table->opened = NULL;
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *sentence, int argc,
                  sqlite3_value **argv)
{
    (void)sentence;
    (void)argc;
    function_cursor *cursor = cursor_of(base);
    function_table *table = table_of(base->pVtab);
    table->opened = NULL;
    sqlite3_value *arguments[PT_QUEUE_ARGUMENTS_MAX] = {NULL};
    for (int i = 0; i < PT_QUEUE_ARGUMENTS_MAX; i++) {
        if ((plan & 1 << i) != 0) {
            arguments[i] = *argv++;
        }
    }
    pt_queue_reply *asked = pt_queue_reply_new((unsigned)plan >> PLAN_ARGUMENTS, arguments);
    if (asked == NULL) {
        return SQLITE_NOMEM;
    }
    pt_error error = PT_ERROR_NONE;
    int rc = reply(cursor, (unsigned)plan, asked, &error);
    return rc == SQLITE_OK ? rc : fail(table, &error);
}

static int next(sqlite3_vtab_cursor *base)
{
    cursor_of(base)->index++;
    return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
    const function_cursor *cursor = cursor_of(base);
    return cursor->index >= cursor->reply->request.message_count;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    const function_cursor *cursor = cursor_of(base);
    *id = cursor->reply->first_row + (sqlite3_int64)cursor->index;
    return SQLITE_OK;
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

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
    const function_cursor *cursor = cursor_of(base);
    const pt_queue_reply *reply = cursor->reply;
    if (index < FUNCTION_ARGUMENTS) {
        pt_value value = function_value(&reply->request.messages[cursor->index], index);
        pt_value_result(context, &value, false);
    } else if (reply->arguments[index - FUNCTION_ARGUMENTS] != NULL) {
        sqlite3_result_value(context, reply->arguments[index - FUNCTION_ARGUMENTS]);
    }
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = eof,
    .xColumn = column,
    .xRowid = rowid,
};

int pt_queue_functions_register(sqlite3 *db, pt_connection *connection)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof queue_functions / sizeof queue_functions[0];
         i++) {
        rc = pt_module_register_shared(db, queue_functions[i].name, &module, connection,
                                       &queue_functions[i]);
    }
    return rc;
}

/* --- Replies --- */

static void append_bytes(pt_buffer *question, const void *bytes, size_t size)
{
    pt_buffer_append(question, &size, sizeof size);
    pt_buffer_append(question, bytes, size);
}

/* False when out of memory. */
static bool append_argument(pt_buffer *question, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    pt_buffer_append_byte(question, (uint8_t)type);
    if (type == SQLITE_INTEGER) {
        sqlite3_int64 integer = sqlite3_value_int64(value);
        pt_buffer_append(question, &integer, sizeof integer);
    } else if (type == SQLITE_FLOAT) {
        double number = sqlite3_value_double(value);
        pt_buffer_append(question, &number, sizeof number);
    } else if (type != SQLITE_NULL) {
        const void *bytes =
            type == SQLITE_TEXT ? sqlite3_value_text(value) : sqlite3_value_blob(value);
        size_t size = (size_t)sqlite3_value_bytes(value);
        if (bytes == NULL && type == SQLITE_TEXT) {
            return false;
        }
        append_bytes(question, bytes, size);
    }
    return !question->failed;
}

static bool add_argument(pt_queue_reply *reply, int number, sqlite3_value *argument)
{
    if (argument == NULL) {
        pt_buffer_append_byte(&reply->question, 0);
        return !reply->question.failed;
    }
    reply->arguments[number] = sqlite3_value_dup(argument);
    return reply->arguments[number] != NULL &&
           append_argument(&reply->question, reply->arguments[number]);
}

pt_queue_reply *pt_queue_reply_new(unsigned asker,
                                   sqlite3_value *const arguments[PT_QUEUE_ARGUMENTS_MAX])
{
    pt_queue_reply *reply = sqlite3_malloc64(sizeof *reply);
    if (reply == NULL) {
        return NULL;
    }
    *reply = (pt_queue_reply){0};
    pt_buffer_append(&reply->question, &asker, sizeof asker);
    bool complete = !reply->question.failed;
    for (int i = 0; complete && i < PT_QUEUE_ARGUMENTS_MAX; i++) {
        complete = add_argument(reply, i, arguments[i]);
    }
    if (!complete) {
        pt_queue_reply_free(reply);
        return NULL;
    }
    return reply;
}

void pt_queue_reply_free(pt_queue_reply *reply)
{
    for (int i = 0; i < PT_QUEUE_ARGUMENTS_MAX; i++) {
        sqlite3_value_free(reply->arguments[i]);
    }
    pt_queue_request_clear(&reply->request);
    pt_buffer_free(&reply->question);
    sqlite3_free(reply);
}

pt_queue_reply *pt_queue_replies_find(pt_queue_reply *list, const pt_queue_reply *asked)
{
    pt_slice question = pt_buffer_slice(&asked->question);
    while (list != NULL && !pt_slice_equal(pt_buffer_slice(&list->question), question)) {
        list = list->next;
    }
    return list;
}

void pt_queue_replies_free(pt_queue_reply **list)
{
    while (*list != NULL) {
        pt_queue_reply *first = *list;
        *list = first->next;
        pt_queue_reply_free(first);
    }
}
