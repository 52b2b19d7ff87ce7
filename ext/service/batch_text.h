/*
 * An entity group transaction as the service takes it, and its answer.
 */
#ifndef PT_SERVICE_BATCH_TEXT_H
#define PT_SERVICE_BATCH_TEXT_H

#include "service/account.h"
#include "service/http.h"
#include "service/remote_operations.h"

/* The Content-Type of a batch. */
#define PT_BATCH_CONTENT_TYPE "multipart/mixed; boundary=batch_ptable"

/* Bytes that an operation takes in a batch beside its keys and body. */
enum { PT_BATCH_OVERHEAD = 700 };

/* Appends the batch. `body->failed` is set when out of memory. */
void pt_batch_append(pt_buffer *body, const pt_account *account, const char *table,
                     const pt_remote_operations *operations);

/*
 * Puts what a batch's answer says into the place of the answer: the status, headers and body of the
 * operation that was refused, or 204 if all `count` operations were done. A reply that is none of
 * these counts as lost. Other replies stay as they are.
 */
void pt_batch_unwrap(pt_http_reply *reply, size_t count);

#endif
