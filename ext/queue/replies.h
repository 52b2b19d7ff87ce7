/*
 * What a queue function has been answered while a statement runs.
 *
 * SQLite reads a table-valued function as often as it likes: once for each row of the table before
 * it in a join, or for each row that a correlated subquery is evaluated for. A function that hands
 * out messages must do so once, so its cursor keeps every reply, and gives the same rows when the
 * same is asked again.
 */
#ifndef PT_QUEUE_REPLIES_H
#define PT_QUEUE_REPLIES_H

#include "queue/request.h"

enum { PT_QUEUE_ARGUMENTS_MAX = 5 };

typedef struct pt_queue_reply {
    struct pt_queue_reply *next;
    pt_buffer question; /* who asked and the arguments, so that equal ones are equal bytes */
    sqlite3_value *arguments[PT_QUEUE_ARGUMENTS_MAX]; /* NULL: not given */
    pt_queue_request request;
    sqlite3_int64 first_row; /* number of the first message, in the connection */
} pt_queue_reply;

/* A reply that is still to be had, to a question of `asker`; it copies the arguments. NULL when
 * out of memory. */
pt_queue_reply *pt_queue_reply_new(unsigned asker,
                                   sqlite3_value *const arguments[PT_QUEUE_ARGUMENTS_MAX]);

/* NULL is allowed. */
void pt_queue_reply_free(pt_queue_reply *reply);

/* The reply in a list that was given to the same question; NULL if there is none. */
pt_queue_reply *pt_queue_replies_find(pt_queue_reply *list, const pt_queue_reply *asked);

void pt_queue_replies_free(pt_queue_reply **list);

#endif
