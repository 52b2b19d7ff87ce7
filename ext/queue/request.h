/*
 * A request of pt_queue_get or pt_queue_update to a queue, and the queue's answer.
 *
 * SQLite treats a SELECT as a read, so a function in a SELECT cannot write by itself. It runs
 *
 *     INSERT INTO "schema"."queue"(Request) VALUES (?1)
 *
 * with a pt_queue_request bound to ?1 by sqlite3_bind_pointer. That INSERT takes the writer lock
 * and is part of the open transaction, or commits by itself if there is none. Usually the companion
 * carries the request out instead, without an INSERT (queue/run_request.h).
 */
#ifndef PT_QUEUE_REQUEST_H
#define PT_QUEUE_REQUEST_H

#include "queue/queue.h"

#define PT_QUEUE_REQUEST_TYPE "ptable_queue_request"

typedef enum pt_queue_request_kind {
    PT_QUEUE_GET,    /* hand out messages */
    PT_QUEUE_UPDATE, /* change the visibility or body of one message */
} pt_queue_request_kind;

/* A message of the answer. Texts end with a NUL. All memory is from sqlite3_malloc. */
typedef struct pt_queue_message {
    char *id;
    char *receipt;
    pt_buffer body;
    bool body_is_text;
    int64_t inserted;     /* ticks */
    int64_t expires;      /* ticks; PT_TICKS_MAX: never */
    int64_t next_visible; /* ticks */
    int64_t dequeue_count;
} pt_queue_message;

typedef struct pt_queue_request {
    pt_queue_request_kind kind;
    sqlite3_value *visibility; /* seconds, as given; NULL means 30 for PT_QUEUE_GET */
    sqlite3_value *count;      /* PT_QUEUE_GET: the most messages to hand out; NULL means 1 */
    sqlite3_value *id;         /* PT_QUEUE_UPDATE only, like the next two */
    sqlite3_value *receipt;
    sqlite3_value *body; /* NULL: unchanged */

    /* The answer. The caller frees it with pt_queue_request_clear, even after a failure. */
    pt_queue_message *messages;
    size_t message_count;
    size_t message_capacity;
} pt_queue_request;

/* Adds a zeroed message to the answer. NULL when out of memory. */
pt_queue_message *pt_queue_request_add(pt_queue_request *request);

/*
 * Adds a copy of the message to the answer, with its whole body. The body may be new, or lie in the
 * store under the key in table->old_key. If it cannot be read, nothing is added:
 * SQLITE_CORRUPT_VTAB.
 */
int pt_queue_request_answer(pt_queue *queue, pt_queue_request *request, const pt_message *message,
                            pt_error *error);

/* Frees the answer. */
void pt_queue_request_clear(pt_queue_request *request);

#endif
