/*
 * pt_queue_update, for one message or several.
 */
#ifndef TESTS_RANDOM_QUEUE_UPDATING_H
#define TESTS_RANDOM_QUEUE_UPDATING_H

#include "random/queue_writing.h"

typedef struct update_run {
    write_run write;
    bool stores;  /* in an ordinary table */
    bool checked; /* which has constraints: a failure takes all of the statement back */
    int count;
    held_pair pairs[PAIRS_MAX];
    const number_choice *timeout;
    const number_choice *wrong_body; /* NULL: it is none */
    int body;
    bool failed;
    int stored; /* rows */
    model_rows rows;
} update_run;

static inline void fail_update(update_run *update, int rc, const char *says)
{
    update->write.wanted = expected(rc, says);
    update->failed = true;
}

/* What was asked before is not done again, but answered in the same way. */
static inline bool is_asked_again(update_run *update, int number)
{
    const held_pair *pair = &update->pairs[number];
    for (int i = 0; i < number; i++) {
        if (strcmp(update->pairs[i].id, pair->id) == 0 &&
            strcmp(update->pairs[i].receipt, pair->receipt) == 0) {
            update->rows.messages[number] = update->rows.messages[i];
            return true;
        }
    }
    return false;
}

static inline void update_one(update_run *update, int number)
{
    write_run *write = &update->write;
    queue_world *world = write->world;
    model_rows all;
    model_peek(&world->counters, state_of(write), write->place, &all);
    int found = find_held(world, &all, &update->pairs[number]);
    if (found == NO_PAIR) {
        fail_update(update, SQLITE_CONSTRAINT_VTAB, "(MissingRequiredQueryParameter)");
    } else if (found == NOT_HELD) {
        fail_update(update, SQLITE_CONSTRAINT_VTAB, "(PopReceiptMismatch)");
    } else if (update->timeout->rc != SQLITE_OK) {
        fail_update(update, update->timeout->rc, update->timeout->says);
    } else if (update->wrong_body != NULL) {
        fail_update(update, update->wrong_body->rc, update->wrong_body->says);
    } else {
        update->rows.messages[number] =
            model_change(&world->counters, state_of(write), write->place,
                         all.messages[found].identity, update->timeout->value, update->body);
    }
}

/* In autocommit a SELECT changes each message in a transaction of its own. */
static inline void begin_update_again(update_run *update, int number)
{
    if (!update->stores && number > 0) {
        end_write(&update->write, KEEP);
        begin_write(&update->write);
    }
}

/* In a transaction SQLite takes a statement back that may break a constraint or calls a function,
 * and otherwise leaves the rows that it has stored. */
static inline bool is_taken_back(const update_run *update)
{
    bool calls_function =
        update->body != SAME_BODY && strchr(body_literals[update->body], '(') != NULL;
    return update->checked || calls_function || !update->write.connection->in_transaction;
}

static inline void model_update_each(update_run *update)
{
    for (int i = 0; i < update->count && !update->failed; i++) {
        if (!is_asked_again(update, i)) {
            begin_update_again(update, i);
            update_one(update, i);
        }
        update->stored += update->failed ? 0 : 1;
    }
    update->rows.count = update->count;
    if (!update->failed && update->stores) {
        update->write.wanted = expected_changes(update->count);
    } else if (!update->failed) {
        update->write.wanted = expected(SQLITE_DONE, NULL);
        update->write.wanted.shows = MESSAGES;
        update->write.wanted.rows = update->rows;
    }
    bool taken_back = update->failed && update->stores && is_taken_back(update);
    update->stored = update->stores && !taken_back ? update->stored : 0;
    end_write(&update->write, taken_back ? TAKE_BACK : KEEP);
}

static inline char *update_statement(const update_run *update)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    if (update->stores) {
        sqlite3_str_appendf(sql, "INSERT INTO %s ", update->checked ? "got_checked" : "got");
    }
    sqlite3_str_appendf(sql, "SELECT u.%s FROM (VALUES ", update->stores ? "Body" : "*");
    for (int i = 0; i < update->count; i++) {
        sqlite3_str_appendf(sql, "%s(%s, %s)", i == 0 ? "" : ", ", update->pairs[i].id,
                            update->pairs[i].receipt);
    }
    sqlite3_str_appendf(sql, ") v CROSS JOIN pt_queue_update('%s', v.column1, v.column2, %s",
                        update->write.place == JOBS ? "jobs" : "jobs-poison",
                        update->timeout->literal);
    if (update->wrong_body != NULL || update->body != SAME_BODY) {
        sqlite3_str_appendf(sql, ", %s",
                            update->wrong_body != NULL ? update->wrong_body->literal
                                                       : body_literals[update->body]);
    }
    sqlite3_str_appendall(sql, ") u");
    return sqlite3_str_finish(sql);
}

static inline void choose_update(update_run *update, uint64_t *random)
{
    write_run *write = &update->write;
    update->stores = random_below(random, 4) == 0;
    update->checked = random_below(random, 2) == 0;
    update->count = 1 + (random_below(random, 3) == 0 ? (int)random_below(random, PAIRS_MAX) : 0);
    for (int i = 0; i < update->count; i++) {
        update->pairs[i] = choose_pair(write->world, state_of(write), write->place, random);
    }
    update->timeout = CHOOSE(random, timeouts);
    update->body = random_below(random, 2) == 0 ? choose_body(random) : SAME_BODY;
    unsigned fault = random_below(random, 16);
    if (fault == 0) {
        update->timeout = CHOOSE(random, wrong_timeouts);
    } else if (fault == 1) {
        update->wrong_body = CHOOSE(random, wrong_bodies);
        update->body = SAME_BODY;
    }
}

/* The rows that were stored before a failure stay with the messages as they are. */
static inline void empty_after_update(const update_run *update)
{
    const char *table = update->checked ? "got_checked" : "got";
    expectation deleted = expected_changes(update->stored);
    check(update->write.world, update->write.connection, sqlite3_mprintf("DELETE FROM %s", table),
          &deleted);
}

static inline void update_by_function(queue_world *world, world_connection *connection,
                                      uint64_t *random)
{
    update_run update = {
        .write = {.world = world, .connection = connection, .place = choose_place(random)}};
    bool begins = begin_write(&update.write);
    choose_update(&update, random);
    if (begins) {
        model_update_each(&update);
    }
    check(world, connection, update_statement(&update), &update.write.wanted);
    if (update.stores) {
        empty_after_update(&update);
    }
}

#endif
