/*
 * Writing to a queue. INSERT adds a message; UPDATE and DELETE need its PopReceipt. Each row is all
 * or nothing, because SQLite opens no savepoint for a statement of a single row.
 */
#ifndef PT_QUEUE_WRITE_H
#define PT_QUEUE_WRITE_H

#include "queue/request.h"

/* The module's xUpdate. */
int pt_queue_write(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

/*
 * Carries out a request of pt_queue_get or pt_queue_update. All or nothing. The session is writing
 * (pt_transaction_prepare_write). Codes as for pt_queue_hand_out.
 */
int pt_queue_serve_request(pt_queue *queue, pt_queue_request *request, pt_error *error);

#endif
