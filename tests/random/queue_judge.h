/*
 * Runs a statement and holds what it did against what the model says.
 */
#ifndef TESTS_RANDOM_QUEUE_JUDGE_H
#define TESTS_RANDOM_QUEUE_JUDGE_H

#include "random/queue_world.h"

/* The columns of a message, as the functions of queues show them. */
enum {
    CELL_ID,
    CELL_BODY,
    CELL_INSERTED,
    CELL_EXPIRES,
    CELL_NEXT_VISIBLE,
    CELL_DEQUEUE_COUNT,
    CELL_RECEIPT,
    CELLS
};

#define MESSAGE_COLUMNS                                                                            \
    "MessageId, Body, InsertionTime, ExpirationTime, TimeNextVisible, DequeueCount, PopReceipt"

/* What a statement is to do. */
typedef struct expectation {
    int rc;           /* extended; SQLITE_DONE */
    const char *says; /* the text of a failure contains this */
    int changes;      /* NOT_COUNTED: whatever they are */
    enum { NO_MATTER, MESSAGES, NUMBER } shows;
    sqlite3_int64 number; /* the one value that is shown */
    model_rows rows;
} expectation;

enum { NOT_COUNTED = -1 };

static inline expectation expected(int rc, const char *says)
{
    return (expectation){.rc = rc, .says = says, .changes = NOT_COUNTED};
}

static inline expectation expected_changes(int changes)
{
    expectation wanted = expected(SQLITE_DONE, NULL);
    wanted.changes = changes;
    return wanted;
}

static inline expectation expected_number(sqlite3_int64 number)
{
    expectation wanted = expected(SQLITE_DONE, NULL);
    wanted.shows = NUMBER;
    wanted.number = number;
    return wanted;
}

static inline const char *text_of_writing_failure(int rc)
{
    return rc == SQLITE_BUSY ? "" : "was changed by another connection";
}

/* --- Comparing --- */

/* A row of cells with the model's message. */
static inline bool is_message(queue_world *world, char *const *cells, const model_message *message)
{
    known_message *known = known_message_of(world, message->identity);
    char count[12];
    snprintf(count, sizeof count, "%d", message->dequeue_count);
    bool same = same_or_learned(&known->id, cells[CELL_ID]) &&
                same_or_learned(&known->inserted, cells[CELL_INSERTED]) &&
                strcmp(cells[CELL_BODY], body_texts[message->body]) == 0 &&
                strcmp(cells[CELL_DEQUEUE_COUNT], count) == 0;
    bool ends = strcmp(cells[CELL_EXPIRES], "NULL") != 0;
    if (ends != (message->expires != END_OF_TIME) ||
        (ends && !same_or_learned(&known->expires, cells[CELL_EXPIRES]))) {
        return false;
    }
    return same &&
           is_receipt(world, message->receipt, cells[CELL_RECEIPT], cells[CELL_NEXT_VISIBLE]);
}

static inline bool are_messages(queue_world *world, const sql_effect *effect,
                                const model_rows *rows)
{
    if (effect->row_count != rows->count * CELLS) {
        return false;
    }
    for (int i = 0; i < rows->count; i++) {
        if (!is_message(world, effect->rows + (size_t)i * CELLS, &rows->messages[i])) {
            return false;
        }
    }
    return true;
}

static inline bool is_number(const sql_effect *effect, sqlite3_int64 number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", number);
    return effect->row_count == 1 && strcmp(effect->rows[0], text) == 0;
}

static inline bool shows_what_is_wanted(queue_world *world, const sql_effect *effect,
                                        const expectation *wanted)
{
    switch (wanted->shows) {
    case MESSAGES:
        return are_messages(world, effect, &wanted->rows);
    case NUMBER:
        return is_number(effect, wanted->number);
    default:
        return true;
    }
}

static inline bool is_as_wanted(queue_world *world, const sql_effect *effect,
                                const expectation *wanted)
{
    if (effect->rc != wanted->rc) {
        return false;
    }
    if (effect->rc != SQLITE_DONE) {
        return wanted->says == NULL || strstr(effect->message, wanted->says) != NULL;
    }
    return (wanted->changes == NOT_COUNTED || wanted->changes == effect->changes) &&
           shows_what_is_wanted(world, effect, wanted);
}

/* --- Printing --- */

static inline void print_wanted_messages(const model_rows *rows)
{
    for (int i = 0; i < rows->count; i++) {
        const model_message *message = &rows->messages[i];
        printf("#     message %d, body %s, given %d times, receipt %d%s\n", message->identity,
               body_texts[message->body], message->dequeue_count, message->receipt,
               message->expires == END_OF_TIME ? "" : ", expires");
    }
}

static inline void print_cells(const sql_effect *effect)
{
    for (int i = 0; i < effect->row_count; i++) {
        bool ends_row = effect->row_count % CELLS != 0 || i % CELLS == CELLS - 1;
        bool begins_row = effect->row_count % CELLS != 0 || i % CELLS == 0;
        printf("%s%s%s", begins_row ? "#     " : " | ", effect->rows[i], ends_row ? "\n" : "");
    }
}

static inline void print_difference(const sql_effect *effect, const expectation *wanted)
{
    printf("# is: %s%s%s; changes() %lld; %d cells\n", sqlite3_errstr(effect->rc),
           effect->message != NULL ? ": " : "", effect->message != NULL ? effect->message : "",
           effect->changes, effect->row_count);
    print_cells(effect);
    printf("# should be: %s%s%s", sqlite3_errstr(wanted->rc), wanted->says != NULL ? ": " : "",
           wanted->says != NULL ? wanted->says : "");
    if (wanted->changes != NOT_COUNTED) {
        printf("; changes() %d", wanted->changes);
    }
    if (wanted->shows == NUMBER) {
        printf("; %lld", wanted->number);
    }
    puts("");
    print_wanted_messages(&wanted->rows);
}

/* --- Running --- */

/* The value of each column is a row of the effect. */
static inline void add_cells(sql_effect *effect, sqlite3_stmt *row)
{
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        sqlite3_str *text = sqlite3_str_new(NULL);
        write_value(text, row, i);
        add_row(effect, need(sqlite3_str_finish(text)));
    }
}

static inline int run_cells(sqlite3_stmt *prepared, sql_effect *effect)
{
    int rc;
    while ((rc = sqlite3_step(prepared)) == SQLITE_ROW) {
        add_cells(effect, prepared);
    }
    return rc;
}

static inline sql_effect run_one(sqlite3 *db, const char *sql)
{
    sql_effect effect = {.rc = SQLITE_OK};
    sqlite3_stmt *prepared = NULL;
    effect.rc = sqlite3_prepare_v2(db, sql, -1, &prepared, NULL);
    if (effect.rc == SQLITE_OK) {
        effect.rc = run_cells(prepared, &effect);
    }
    if (effect.rc != SQLITE_DONE) {
        take_error(db, &effect);
    }
    sqlite3_finalize(prepared);
    effect.changes = sqlite3_changes64(db);
    effect.in_transaction = !sqlite3_get_autocommit(db);
    return effect;
}

static inline void judge(queue_world *world, const char *sql, const sql_effect *effect,
                         const expectation *wanted, bool same)
{
    world->different = world->different || !same;
    if (world->prints_difference && world->different) {
        printf("# %s;\n", sql);
        print_difference(effect, wanted);
    }
}

static inline void check_on(queue_world *world, sqlite3 *db, const char *sql,
                            const expectation *wanted)
{
    if (!world->different) {
        sql_effect effect = run_one(db, sql);
        judge(world, sql, &effect, wanted, is_as_wanted(world, &effect, wanted));
        effect_free(&effect);
    }
}

static inline void show_statement(const queue_world *world, const world_connection *connection,
                                  const char *sql)
{
    if (world->prints_statements && !world->different) {
        printf("# %d> %s;\n", connection->number, sql);
    }
}

/* SQL knows of the transaction that the model knows of. */
static inline void check_transaction(queue_world *world, const world_connection *connection)
{
    bool in_transaction = !sqlite3_get_autocommit(connection->db);
    if (!world->different && in_transaction != connection->in_transaction) {
        world->different = true;
        if (world->prints_difference) {
            printf("# is %s a transaction\n", in_transaction ? "in" : "not in");
        }
    }
}

/* Runs a statement, whose text is then freed, and judges it. */
static inline void check(queue_world *world, world_connection *connection, char *sql,
                         const expectation *wanted)
{
    show_statement(world, connection, need(sql));
    check_on(world, connection->db, sql, wanted);
    check_transaction(world, connection);
    sqlite3_free(sql);
}

/* --- Everything --- */

static const char *const queue_names[QUEUES] = {[JOBS] = "jobs", [POISON] = "\"jobs-poison\""};

static inline void check_queue(queue_world *world, sqlite3 *db, const model_state *state,
                               model_place place)
{
    expectation wanted = expected(SQLITE_DONE, NULL);
    if (state->queues[place].exists) {
        wanted.shows = MESSAGES;
        model_peek(&world->counters, state, place, &wanted.rows);
    } else {
        wanted.rc = SQLITE_ERROR;
        wanted.says = "NotFound)";
    }
    char *sql = need(sqlite3_mprintf("SELECT " MESSAGE_COLUMNS " FROM %s", queue_names[place]));
    check_on(world, db, sql, &wanted);
    sqlite3_free(sql);
}

static inline void check_outbox(queue_world *world, sqlite3 *db, const model_state *state)
{
    expectation wanted = expected_number(0);
    for (int i = 0; i < OUTBOX_KEYS; i++) {
        wanted.number += state->outbox[i] ? 1 << i : 0;
    }
    check_on(world, db,
             "SELECT coalesce(sum(1 << CAST(RowKey AS INTEGER)), 0) FROM outbox "
             "WHERE PartitionKey = ''",
             &wanted);
}

static inline void check_state(queue_world *world, sqlite3 *db, const model_state *state)
{
    check_queue(world, db, state, JOBS);
    check_queue(world, db, state, POISON);
    check_outbox(world, db, state);
}

/* Whatever can be seen without beginning to read in a transaction that has not read yet. */
static inline void check_everything(queue_world *world, world_connection *connection)
{
    if (!connection->in_transaction || connection->has_view) {
        check_state(world, connection->db, model_read(world, connection));
    }
    if (world->observer != NULL) {
        check_state(world, world->observer, &world->committed);
    }
}

#endif
