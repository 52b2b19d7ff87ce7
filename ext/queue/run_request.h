/*
 * Running a request on a queue that is given by the name of its virtual table.
 */
#ifndef PT_QUEUE_RUN_REQUEST_H
#define PT_QUEUE_RUN_REQUEST_H

#include "queue/request.h"

/*
 * Has the queue of this name, with or without a schema, carry out the request: through the
 * companion, or by the INSERT of queue/request.h if the companion cannot. SQLITE_ERROR if there is
 * no such queue; SQLITE_NOMEM; or the queue's own error, with a text that names the queue.
 */
int pt_queue_run_request(pt_connection *connection, const char *name, pt_queue_request *request,
                         pt_error *error);

#endif
