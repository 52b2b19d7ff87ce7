/*
 * Messages in the store: reading, adding and changing them, and the poison queue. The session is
 * writing, and the queue's table->id is set (pt_transaction_prepare_write).
 *
 * Functions return SQLITE_OK, SQLITE_NOMEM, or the code of an error with text. Unless noted
 * otherwise a function that writes to the store does all of it or nothing.
 */
#ifndef PT_QUEUE_STORE_H
#define PT_QUEUE_STORE_H

#include "queue/queue.h"

/* The error for a PopReceipt that is not current: SQLITE_CONSTRAINT_VTAB (PopReceiptMismatch). */
int pt_queue_refuse_receipt(pt_slice id, pt_slice receipt, pt_error *error);

/* Reads the message under a logical key; its body lies in table->old_record. */
int pt_queue_read(pt_queue *queue, pt_slice key, bool *found, pt_message *message, pt_error *error);

/*
 * Checks a PopReceipt: reads the message with the id, next_visible and receipt of `held`, and
 * leaves its logical key in table->old_key. If there is none, or it has expired:
 * SQLITE_CONSTRAINT_VTAB (PopReceiptMismatch).
 */
int pt_queue_check_receipt(pt_queue *queue, const pt_message *held, int64_t now,
                           pt_message *message, pt_error *error);

/*
 * The whole body of the message under a key. The body of a large value is read into `bytes`;
 * value/value.h says what follows it there. SQLITE_TOOBIG if it exceeds the connection's limit;
 * SQLITE_CORRUPT_VTAB.
 */
int pt_queue_whole_body(const pt_table *table, pt_view *view, pt_slice key,
                        const pt_message *message, pt_buffer *bytes, pt_value *body,
                        pt_error *error);

/* The same for the message under the key in table->old_key, as the transaction sees it. */
int pt_queue_read_old_body(pt_queue *queue, const pt_message *message, pt_buffer *bytes,
                           pt_value *body, pt_error *error);

/* Adds a message to a table: the queue's own, or that of its poison queue. */
int pt_queue_add(pt_table *table, const pt_message *message, pt_error *error);

/* Stores a changed message that was read from the key in table->old_key. */
int pt_queue_change(pt_queue *queue, const pt_message *message, pt_error *error);

/*
 * The poison queue: messages that were handed out max_dequeue_count times, and not deleted, are
 * moved there.
 */

/* True if the message must be moved to the poison queue instead of being handed out again. */
bool pt_queue_is_poison(const pt_queue *queue, const pt_message *message);

/*
 * Moves the message that was read from the key in table->old_key, with this whole body, to the
 * poison queue. There it is visible at once and never expires. The poison queue is created if it
 * does not exist. After a failure some of this may be done, so the caller must have begun a row
 * (transaction/session.h).
 */
int pt_queue_move_to_poison(pt_queue *queue, const pt_message *message, const pt_value *body,
                            int64_t now, pt_error *error);

#endif
