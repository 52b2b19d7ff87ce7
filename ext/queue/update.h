/*
 * Changing a message that was handed out, for pt_queue_update and UPDATE. Both need its PopReceipt.
 */
#ifndef PT_QUEUE_UPDATE_H
#define PT_QUEUE_UPDATE_H

#include "queue/request.h"

/*
 * Carries out a PT_QUEUE_UPDATE: checks the PopReceipt, changes the message and stores it, and adds
 * it to the answer. Conditions and codes as for pt_queue_hand_out.
 */
int pt_queue_update(pt_queue *queue, pt_queue_request *request, pt_error *error);

/*
 * Changes a message in memory: makes it visible again in so many seconds (NULL: leaves that as it
 * is), sets its body (NULL: leaves it), and in any case makes a new receipt. Codes as in
 * queue/rules.h.
 */
int pt_queue_apply_update(pt_queue *queue, sqlite3_value *seconds, sqlite3_value *body,
                          pt_message *message, pt_error *error);

#endif
