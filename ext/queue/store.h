/*
 * A queue's messages in its table: finding, adding, changing and removing one. The session is
 * writing and the queue's table->id is set (pt_transaction_prepare_write).
 *
 * All functions return SQLITE_OK, SQLITE_NOMEM, or the code of an error with text. What changes the
 * store does all of it or nothing.
 */
#ifndef PT_QUEUE_STORE_H
#define PT_QUEUE_STORE_H

#include "queue/queue.h"

/* The error of who does not hold the message any more: SQLITE_CONSTRAINT_VTAB. */
int pt_queue_refuse_receipt(pt_slice id, pt_slice receipt, pt_error *error);

/* Reads the message under a logical key; its body lies in table->old_record. */
int pt_queue_read(pt_queue *queue, pt_slice key, bool *found, pt_message *message, pt_error *error);

/*
 * Reads the message that has the id, next_visible and receipt of `held`, and leaves its logical key
 * in table->old_key. SQLITE_CONSTRAINT_VTAB (PopReceiptMismatch): there is none, or it has expired.
 */
int pt_queue_read_held(pt_queue *queue, const pt_message *held, int64_t now, pt_message *message,
                       pt_error *error);

/*
 * The whole body of a message of a table, in `bytes` if it is a large value: value/value.h says
 * what lies behind it. SQLITE_TOOBIG if the connection could not take it; SQLITE_CORRUPT_VTAB.
 */
int pt_queue_whole_body(const pt_table *table, pt_view *view, pt_slice key,
                        const pt_message *message, pt_buffer *bytes, pt_value *body,
                        pt_error *error);

/* Adds a message to a queue's table: the queue's own or its poison queue's. */
int pt_queue_add(pt_table *table, const pt_message *message, pt_error *error);

/* Stores the message that was read from the key in table->old_key as it is now. */
int pt_queue_change(pt_queue *queue, const pt_message *message, pt_error *error);

/*
 * The poison queue: where messages go that were handed out max_dequeue_count times and still are
 * there.
 */

/* Whether a message is to be moved there instead of being handed out again. */
bool pt_queue_is_poison(const pt_queue *queue, const pt_message *message);

/*
 * Moves the message that was read from the key in table->old_key, and whose whole body this is, to
 * the poison queue, which is made if it is not there: visible at once, for ever. Within a row
 * (transaction/session.h): after a failure some of it may be done. SQLITE_OK, SQLITE_NOMEM, or the
 * code of an error with text.
 */
int pt_queue_move_to_poison(pt_queue *queue, const pt_message *message, const pt_value *body,
                            int64_t now, pt_error *error);

#endif
