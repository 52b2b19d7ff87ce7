/*
 * SELECT from a queue.
 */
#ifndef TESTS_RANDOM_QUEUE_READING_H
#define TESTS_RANDOM_QUEUE_READING_H

#include "random/queue_choices.h"

/* A statement that reads, on its way. */
typedef struct read_run {
    queue_world *world;
    world_connection *connection;
    model_place place;
    model_rows all;
    expectation wanted;
} read_run;

static inline bool begin_read(read_run *run)
{
    model_state *state = model_read(run->world, run->connection);
    if (!state->queues[run->place].exists) {
        run->wanted = expected(SQLITE_ERROR, "NotFound)");
        return false;
    }
    model_peek(&run->world->counters, state, run->place, &run->all);
    run->wanted = expected(SQLITE_DONE, NULL);
    run->wanted.shows = MESSAGES;
    return true;
}

static inline void reverse(model_rows *rows)
{
    for (int i = 0; i < rows->count / 2; i++) {
        model_message first = rows->messages[i];
        rows->messages[i] = rows->messages[rows->count - 1 - i];
        rows->messages[rows->count - 1 - i] = first;
    }
}

/* Leaves those whose TimeNextVisible is between two times. */
static inline void cut_rows(model_rows *rows, int64_t low, int64_t high)
{
    int count = 0;
    for (int i = 0; i < rows->count; i++) {
        if (rows->messages[i].next_visible >= low && rows->messages[i].next_visible <= high) {
            rows->messages[count++] = rows->messages[i];
        }
    }
    rows->count = count;
}

/* --- By TimeNextVisible --- */

/* Conditions on TimeNextVisible and a time, which is %s. */
typedef struct range_form {
    const char *sql;
    int from; /* relative to the time; FAR: no bound */
    int to;
} range_form;

enum { FAR = 9 };

static const range_form range_forms[] = {
    {"TimeNextVisible <= %s", -FAR, 0},
    {"TimeNextVisible < %s", -FAR, -1},
    {"TimeNextVisible > %s", 1, FAR},
    {"TimeNextVisible >= %s", 0, FAR},
    {"TimeNextVisible = %s", 0, 0},
    {"%s >= TimeNextVisible AND TimeNextVisible > '2000'", -FAR, 0},
    {"TimeNextVisible BETWEEN '0001-01-01' AND %s", -FAR, 0},
    {"TimeNextVisible > %s AND TimeNextVisible < 'Z'", 1, FAR},
};

static inline void cut_to_range(model_rows *rows, const range_form *form, int64_t time)
{
    cut_rows(rows, form->from == -FAR ? 0 : time + form->from,
             form->to == FAR ? END_OF_TIME : time + form->to);
}

static inline void peek_range(queue_world *world, world_connection *connection, uint64_t *random)
{
    read_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    const range_form *form = CHOOSE(random, range_forms);
    unsigned limit = random_below(random, 2) == 0 ? 1 + random_below(random, 3) : QUEUE_MAX;
    bool descending = random_below(random, 3) == 0;
    const char *time = "pt_datetime()";
    if (begin_read(&run)) {
        int64_t middle = world->counters.clock;
        run.wanted.rows = run.all;
        if (run.all.count > 0 && random_below(random, 2) == 0) {
            unsigned any = random_below(random, (unsigned)run.all.count);
            const model_message *message = &run.all.messages[any];
            const char *known = known_receipt_of(world, message->receipt)->next_visible;
            time = known != NULL ? known : time;
            middle = known != NULL ? message->next_visible : middle;
        }
        cut_to_range(&run.wanted.rows, form, middle);
        if (descending) {
            reverse(&run.wanted.rows);
        }
        if (run.wanted.rows.count > (int)limit) {
            run.wanted.rows.count = (int)limit;
        }
    }
    char *condition = need(sqlite3_mprintf(form->sql, time));
    check(world, connection,
          sqlite3_mprintf("SELECT " MESSAGE_COLUMNS " FROM %s WHERE %z ORDER BY TimeNextVisible "
                          "%s, MessageId %s LIMIT %u",
                          choose_table(random, run.place), condition, descending ? "DESC" : "",
                          descending ? "DESC" : "ASC", limit),
          &run.wanted);
}

/* --- All of it --- */

static inline void peek_all(queue_world *world, world_connection *connection, uint64_t *random)
{
    static const struct {
        const char *sql;
        enum { IN_ORDER, BACKWARDS, COUNTED, FROM_SECOND, BY_IDENTITY } gives;
    } forms[] = {
        {"SELECT " MESSAGE_COLUMNS " FROM %s", IN_ORDER},
        {"SELECT " MESSAGE_COLUMNS " FROM %s ORDER BY TimeNextVisible", IN_ORDER},
        {"SELECT " MESSAGE_COLUMNS " FROM %s ORDER BY +TimeNextVisible, +MessageId", IN_ORDER},
        {"SELECT " MESSAGE_COLUMNS " FROM %s ORDER BY TimeNextVisible DESC, MessageId DESC",
         BACKWARDS},
        {"SELECT " MESSAGE_COLUMNS " FROM %s ORDER BY MessageKey DESC", BACKWARDS},
        {"SELECT " MESSAGE_COLUMNS " FROM %s ORDER BY MessageId", BY_IDENTITY},
        {"SELECT " MESSAGE_COLUMNS " FROM %s LIMIT 100 OFFSET 1", FROM_SECOND},
        {"SELECT count(*) FROM %s", COUNTED},
        {"SELECT count(Body) FROM %s WHERE MessageId > ''", COUNTED},
        {"SELECT count(DISTINCT MessageKey) FROM %s", COUNTED},
    };
    read_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    unsigned form = random_below(random, sizeof forms / sizeof forms[0]);
    if (begin_read(&run)) {
        run.wanted.rows = run.all;
        switch (forms[form].gives) {
        case BACKWARDS:
            reverse(&run.wanted.rows);
            break;
        case COUNTED:
            run.wanted = expected_number(run.all.count);
            break;
        case FROM_SECOND:
            if (run.all.count > 0) {
                run.wanted.rows.count--;
                memmove(run.wanted.rows.messages, run.all.messages + 1,
                        (size_t)run.wanted.rows.count * sizeof(model_message));
            }
            break;
        case BY_IDENTITY:
            sort_rows_by_identity(&run.wanted.rows);
            break;
        default:
            break;
        }
    }
    check(world, connection, sqlite3_mprintf(forms[form].sql, choose_table(random, run.place)),
          &run.wanted);
}

/* --- Some messages --- */

static inline void peek_some(queue_world *world, world_connection *connection, uint64_t *random)
{
    read_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    finding found;
    bool begins = begin_read(&run);
    choose_messages(world, &connection->view, run.place, random, &found);
    if (begins && found.refused) {
        run.wanted = expected(SQLITE_CONSTRAINT_VTAB, "(PopReceiptMismatch)");
    } else if (begins) {
        run.wanted.rows = found.rows;
        if (found.by_receipt) {
            sort_rows_by_identity(&run.wanted.rows);
        }
    }
    check(world, connection,
          sqlite3_mprintf("SELECT " MESSAGE_COLUMNS " FROM %s WHERE %z ORDER BY %s",
                          choose_table(random, run.place), found.where,
                          found.by_receipt ? "MessageId" : "TimeNextVisible, MessageId"),
          &run.wanted);
}

/* --- How many there are --- */

/* Expired ones count until they are met. A table that is not there has no row. */
static inline void count_entities(queue_world *world, world_connection *connection,
                                  uint64_t *random)
{
    read_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    const model_queue *queue = &model_read(world, connection)->queues[run.place];
    run.wanted = expected_number(queue->exists ? queue->count : -1);
    const char *store = world->host->private_store ? "" : "Store = '" SHARED_STORE "' AND ";
    check(world, connection,
          sqlite3_mprintf("SELECT coalesce(sum(Entities), -1) FROM pt_tables WHERE %sTableName = "
                          "'%s'",
                          store, run.place == JOBS ? "jobs" : "jobs-poison"),
          &run.wanted);
}

#endif
