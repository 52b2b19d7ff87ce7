/*
 * Handing out messages, for pt_queue_get.
 */
#ifndef PT_QUEUE_HAND_OUT_H
#define PT_QUEUE_HAND_OUT_H

#include "queue/request.h"

/*
 * Carries out a PT_QUEUE_GET: hides the first visible messages, up to the count, for the visibility
 * timeout, gives each a new receipt, and adds it to the answer. Removes expired messages on the
 * way, and moves those that were handed out max_dequeue_count times to the poison queue.
 *
 * The session is writing (pt_transaction_prepare_write). After a failure some of this may be done,
 * so the caller must have begun a row (transaction/session.h). SQLITE_OK, SQLITE_NOMEM, or the code
 * of an error with text (queue/rules.h, queue/store.h).
 */
int pt_queue_hand_out(pt_queue *queue, pt_queue_request *request, pt_error *error);

#endif
