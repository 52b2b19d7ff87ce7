/*
 * The poison queue: where messages go that were handed out max_dequeue_count times and still are
 * there.
 */
#ifndef PT_QUEUE_POISON_H
#define PT_QUEUE_POISON_H

#include "queue/queue.h"

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
