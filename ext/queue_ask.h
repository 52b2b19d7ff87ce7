/*
 * Asking a queue by the name of its virtual table, with or without the name of its schema.
 */
#ifndef PT_QUEUE_ASK_H
#define PT_QUEUE_ASK_H

#include "error.h"
#include "queue_request.h"

/*
 * Lets the queue answer the request, by a statement of its own. SQLITE_ERROR: there is no queue of
 * that name; SQLITE_NOMEM; and what the queue's INSERT answers, with its text, which names it.
 */
int pt_queue_ask(sqlite3 *db, const char *name, pt_queue_request *request, pt_error *error);

#endif
