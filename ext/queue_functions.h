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
 * so many seconds and shows it with its new PopReceipt. They change the queue by a statement of
 * their own (queue_request.h): in a transaction as part of it, else committed before the first row
 * is there. Views and triggers cannot use them, but for those of the TEMP schema.
 *
 * A function that stands in a statement once hands out once in an execution, when it is first read,
 * and gives the same rows however often SQLite reads it: in the inner loop of a join, in a
 * correlated subquery. Where its arguments come from another table, each set of arguments is a
 * hand-out of its own. All the messages asked for are handed out, whatever WHERE and LIMIT leave of
 * the rows. Written twice, it hands out twice; and where SQLite repeats an expression it is written
 * twice, as when the name of a subquery's column is used in WHERE: what is needed twice is put INTO
 * a table, or in WITH .. AS MATERIALIZED.
 *
 * What a statement that fails has been given is given back where SQLite takes the statement back:
 * in autocommit whatever writes a table (INSERT .. SELECT), in BEGIN what may write several rows.
 * A SELECT is not taken back, nor is INSERT .. VALUES of one row in BEGIN.
 */
#ifndef PT_QUEUE_FUNCTIONS_H
#define PT_QUEUE_FUNCTIONS_H

#include "sqlite.h"

/* Registers the functions. SQLite's code. */
int pt_queue_functions_register(sqlite3 *db);

#endif
