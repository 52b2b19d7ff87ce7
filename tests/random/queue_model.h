/*
 * What queues do, told again in the simplest way: lists of messages that are copied whole. Times
 * are made up. A tick of the store's clock counts PAUSE, more than any time here that is called
 * short, for between two statements of a test more than 100 ns pass; and less than any that is
 * called long, for whoever uses a model is done with it before the shortest, 30 seconds.
 */
#ifndef TESTS_RANDOM_QUEUE_MODEL_H
#define TESTS_RANDOM_QUEUE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "random/step.h"

enum { QUEUE_MAX = 300, OUTBOX_KEYS = 6 };

typedef enum model_place { JOBS, POISON, QUEUES } model_place;

#define PAUSE INT64_C(1000)
#define SHORT_TIME INT64_C(1)
#define LONG_TIME (INT64_C(1) << 50)
#define NOT_SO_LONG_TIME (LONG_TIME / 120)
#define END_OF_TIME (INT64_C(1) << 60)

typedef struct model_message {
    int identity; /* counts the messages in the order of their insertion */
    int receipt;  /* counts the receipts */
    int body;     /* number in the test's list of bodies */
    int dequeue_count;
    int64_t next_visible;
    int64_t expires; /* END_OF_TIME: never */
} model_message;

typedef struct model_queue {
    bool exists;
    int count;
    model_message messages[QUEUE_MAX]; /* in the order of handing out; expired ones are among them
                                        */
} model_queue;

/* What is in the store, as somebody sees it. */
typedef struct model_state {
    model_queue queues[QUEUES];
    bool outbox[OUTBOX_KEYS]; /* keys of entities in a ptable */
    bool wrote;               /* in the transaction that sees it so */
} model_state;

/* What never goes back, whatever is rolled back. */
typedef struct model_counters {
    int64_t clock;
    int identities;
    int receipts;
    int *receipt_owners; /* identities, by receipts */
} model_counters;

typedef struct model_rows {
    int count;
    model_message messages[QUEUE_MAX];
} model_rows;

static inline int64_t model_tick(model_counters *counters)
{
    counters->clock += PAUSE;
    return counters->clock;
}

static inline int64_t model_later(int64_t time, int64_t duration)
{
    return duration >= END_OF_TIME - time ? END_OF_TIME : time + duration;
}

/* When a message that is hidden for some time is to be looked at again. */
static inline int64_t model_hide(int64_t time, int64_t duration, int64_t expires)
{
    int64_t later = model_later(time, duration);
    return later < expires ? later : expires;
}

static inline void model_renew_receipt(model_counters *counters, model_message *message)
{
    size_t size = (size_t)(counters->receipts + 1) * sizeof(int);
    counters->receipt_owners = need(realloc(counters->receipt_owners, size));
    counters->receipt_owners[counters->receipts] = message->identity;
    message->receipt = counters->receipts++;
}

static inline bool model_is_alive(const model_message *message, int64_t now)
{
    return message->expires > now || message->expires == END_OF_TIME;
}

static inline bool model_comes_before(const model_message *a, const model_message *b)
{
    return a->next_visible != b->next_visible ? a->next_visible < b->next_visible
                                              : a->identity < b->identity;
}

/* Takes the place in the queue that is the message's. */
static inline void model_put(model_state *state, model_place place, const model_message *message)
{
    model_queue *queue = &state->queues[place];
    int at = queue->count++;
    while (at > 0 && model_comes_before(message, &queue->messages[at - 1])) {
        queue->messages[at] = queue->messages[at - 1];
        at--;
    }
    queue->messages[at] = *message;
    state->wrote = true;
}

static inline model_message *model_find(model_queue *queue, int identity)
{
    for (int i = 0; i < queue->count; i++) {
        if (queue->messages[i].identity == identity) {
            return &queue->messages[i];
        }
    }
    return NULL;
}

static inline model_message model_take(model_state *state, model_place place, int identity)
{
    model_queue *queue = &state->queues[place];
    model_message *found = model_find(queue, identity);
    model_message taken = *found;
    size_t behind = (size_t)(queue->messages + queue->count - found - 1);
    memmove(found, found + 1, behind * sizeof *found);
    queue->count--;
    state->wrote = true;
    return taken;
}

static inline void model_insert(model_counters *counters, model_state *state, model_place place,
                                int body, int64_t delay, int64_t time_to_live)
{
    int64_t now = model_tick(counters);
    model_message message = {.identity = counters->identities++,
                             .body = body,
                             .expires = model_later(now, time_to_live)};
    message.next_visible = model_hide(now, delay, message.expires);
    model_renew_receipt(counters, &message);
    model_put(state, place, &message);
}

static inline void model_make_poison(model_state *state)
{
    state->wrote = state->wrote || !state->queues[POISON].exists;
    state->queues[POISON].exists = true;
}

/* Does what there is to do with a message that is visible; whether it was handed out. */
static inline bool model_serve(model_counters *counters, model_state *state, model_place place,
                               int most, int64_t now, int64_t hold, model_message *given)
{
    model_message message = model_take(state, place, given->identity);
    if (!model_is_alive(&message, now)) {
        return false;
    }
    model_renew_receipt(counters, &message);
    bool poison = most > 0 && message.dequeue_count >= most;
    if (poison) {
        model_make_poison(state);
        message.next_visible = now;
        message.expires = END_OF_TIME;
        model_put(state, POISON, &message);
        return false;
    }
    message.dequeue_count++;
    message.next_visible = model_hide(now, hold, message.expires);
    model_put(state, place, &message);
    *given = message;
    return true;
}

/* Hands out; the messages are added to the rows. `most`: max_dequeue_count. */
static inline void model_get(model_counters *counters, model_state *state, model_place place,
                             int most, int count, int64_t hold, model_rows *rows)
{
    int64_t now = model_tick(counters);
    model_queue before = state->queues[place];
    for (int i = 0; i < before.count && before.messages[i].next_visible <= now && count > 0; i++) {
        if (model_serve(counters, state, place, most, now, hold, &before.messages[i])) {
            rows->messages[rows->count++] = before.messages[i];
            count--;
        }
    }
}

enum { SAME_BODY = -1 };
#define SAME_TIME INT64_C(-1)

/* Changes a message that is held. */
static inline model_message model_change(model_counters *counters, model_state *state,
                                         model_place place, int identity, int64_t timeout, int body)
{
    int64_t now = model_tick(counters);
    model_message message = model_take(state, place, identity);
    if (timeout != SAME_TIME) {
        message.next_visible = model_hide(now, timeout, message.expires);
    }
    message.body = body == SAME_BODY ? message.body : body;
    model_renew_receipt(counters, &message);
    model_put(state, place, &message);
    return message;
}

/* What a SELECT shows. */
static inline void model_peek(model_counters *counters, const model_state *state, model_place place,
                              model_rows *rows)
{
    int64_t now = model_tick(counters);
    const model_queue *queue = &state->queues[place];
    rows->count = 0;
    for (int i = 0; i < queue->count; i++) {
        if (model_is_alive(&queue->messages[i], now)) {
            rows->messages[rows->count++] = queue->messages[i];
        }
    }
}

#endif
