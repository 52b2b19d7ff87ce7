/*
 * Handing out messages, and giving a message to who has changed it: what pt_queue_get and
 * pt_queue_update ask for by a request.
 */
#ifndef PT_QUEUE_HAND_OUT_H
#define PT_QUEUE_HAND_OUT_H

#include "queue/queue.h"
#include "queue/request.h"

/*
 * Does what the request asks, and puts what it gives into its messages. All or nothing. The session
 * is writing (pt_transaction_prepare_write). SQLITE_OK, SQLITE_NOMEM, or the code of an error with
 * text: as queue/rules.h and queue/store.h say.
 */
int pt_queue_answer(pt_queue *queue, pt_queue_request *request, pt_error *error);

/*
 * Lets a message that somebody holds be visible again in so many seconds (NULL: when it would be
 * anyway), with another body (NULL: as it is), and in any case under another receipt. The message
 * is not stored. Codes as queue/rules.h.
 */
int pt_queue_extend(pt_queue *queue, sqlite3_value *seconds, sqlite3_value *body,
                    pt_message *message, pt_error *error);

#endif
