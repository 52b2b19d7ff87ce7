/*
 * The functions of queues, table-valued:
 *
 *     pt_queue_get(queue [, count [, seconds]])                  hands out messages
 *     pt_queue_update(queue, id, receipt, seconds [, body])      keeps or gives back one of them
 *
 *     MessageId, Body, InsertionTime, ExpirationTime, TimeNextVisible, DequeueCount, PopReceipt
 *
 * The queue is named by its virtual table, with or without a schema. pt_queue_get hands out at most
 * `count` (1) messages, hidden from others for `seconds` (30); pt_queue_update makes one visible in
 * so many seconds and shows it with its new PopReceipt.
 *
 * They change the queue by a statement of their own (queue/run_request.h): in a transaction as part
 * of it, else committed before the first row is there. That waits for another writer of the store
 * as long as busy_timeout says; but not while a database with a rollback journal is being read, for
 * who reads keeps that writer from committing: there BEGIN IMMEDIATE waits before anything is read.
 * Views and triggers cannot use the functions, but for those of the TEMP schema.
 *
 * A function that stands in a statement once hands out once in an execution, when it is first read,
 * and gives the same rows however often SQLite reads it: in the inner loop of a join, in a
 * correlated subquery. Where its arguments come from another table, each set of arguments is a
 * hand-out of its own. Written twice, it hands out twice; and so it may where WITH names a subquery
 * that is used twice, unless that is AS MATERIALIZED. All the messages asked for are handed out,
 * whatever WHERE and LIMIT leave of the rows.
 *
 * When a statement fails, SQLite gives back what it has been handed out if it takes the statement
 * back: in autocommit whatever writes a table (INSERT .. SELECT); in BEGIN what may write several
 * rows, if it writes a virtual table or one with constraints, or calls a function. Otherwise the
 * rows that it has written stay, too, as in INSERT INTO plain SELECT .. FROM pt_queue_update(..)
 * with a receipt that is too old. It takes back no SELECT, nor in BEGIN the INSERT .. VALUES of one
 * row. After a ROLLBACK the rows of a hand-out can be read to the end; their PopReceipts are worth
 * nothing any more.
 */
#ifndef PT_QUEUE_FUNCTIONS_H
#define PT_QUEUE_FUNCTIONS_H

#include "base/sqlite.h"
#include "queue/request.h"
#include "transaction/connection.h"

/* Registers the functions; they keep references to the connection. SQLite's code. */
int pt_queue_functions_register(sqlite3 *db, pt_connection *connection);

/*
 * What a queue function has been answered while a statement runs.
 *
 * SQLite reads a table-valued function as often as it likes: once for each row of the table before
 * it in a join, or for each row that a correlated subquery is evaluated for. A function that hands
 * out messages must do so once, so its cursor keeps every reply, and gives the same rows when the
 * same is asked again.
 */

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
