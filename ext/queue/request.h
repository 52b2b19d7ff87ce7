/*
 * What the functions pt_queue_get and pt_queue_update ask of a queue, and what they get.
 *
 * SQLite calls a SELECT a read, so a function in one cannot write by itself. It runs
 *
 *     INSERT INTO "schema"."queue"(Request) VALUES (?1)
 *
 * with ?1 bound to a pt_queue_request by sqlite3_bind_pointer. That is a write like any other: it
 * takes the writer lock, is part of the transaction that is open, and commits by itself if none is.
 * Usually the companion does it instead, beside the main database (queue/ask.h).
 */
#ifndef PT_QUEUE_REQUEST_H
#define PT_QUEUE_REQUEST_H

#include "base/buffer.h"
#include "base/sqlite.h"

#define PT_QUEUE_REQUEST_TYPE "ptable_queue_request"

typedef enum pt_queue_request_kind {
    PT_QUEUE_GET,    /* hand out messages */
    PT_QUEUE_UPDATE, /* of one message: when it is visible again, and its body */
} pt_queue_request_kind;

/* A message as the queue has left it. Texts end with a NUL; all from sqlite3_malloc. */
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
    sqlite3_value *visibility; /* seconds, as the user gave them; PT_QUEUE_GET: NULL means 30 */
    sqlite3_value *count;      /* PT_QUEUE_GET: at most so many messages; NULL: 1 */
    sqlite3_value *id;         /* PT_QUEUE_UPDATE, and the next ones */
    sqlite3_value *receipt;
    sqlite3_value *body; /* NULL: stays as it is */

    /* The answer. Freed by who asked, also after a failure, with pt_queue_request_clear. */
    pt_queue_message *messages;
    size_t message_count;
    size_t message_capacity;
} pt_queue_request;

/* One more message, all zeros, at the end. NULL when out of memory. */
pt_queue_message *pt_queue_request_add(pt_queue_request *request);

/* Frees the answer. */
void pt_queue_request_clear(pt_queue_request *request);

#endif
