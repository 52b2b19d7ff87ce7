/*
 * Asking a queue by the name of its virtual table, with or without the name of its schema.
 */
#ifndef PT_QUEUE_ASK_H
#define PT_QUEUE_ASK_H

#include "queue/request.h"
#include "transaction/connection.h"

/*
 * Lets the queue answer the request, by a statement of its own: one that the companion runs, and
 * without a companion the INSERT of queue/request.h. SQLITE_ERROR: there is no queue of that name;
 * SQLITE_NOMEM; and what the queue answers (queue/hand_out.h), with a text that names it.
 */
int pt_queue_ask(pt_connection *connection, const char *name, pt_queue_request *request,
                 pt_error *error);

#endif
