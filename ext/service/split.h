/*
 * batch=split: a statement outside a transaction, of any number of rows, as entity group
 * transactions of up to 100 operations, several of which are under way at once. Each is all or
 * nothing, the statement is not.
 */
#ifndef PT_SERVICE_SPLIT_H
#define PT_SERVICE_SPLIT_H

#include "service/delivery.h"

typedef struct pt_split pt_split;

/* Up to `parallel` requests are under way at once; max_requests as in pt_budget. The target's texts
 * must last as long as the split. NULL when out of memory. */
pt_split *pt_split_new(const pt_remote_target *target, int64_t max_requests, int parallel);

/* Adds an operation, and sends groups that are full. Codes as pt_delivery_send and
 * pt_delivery_receive, then for any of the operations given so far. */
int pt_split_add(pt_split *split, const pt_remote_operation *operation, pt_error *error);

/* True if an operation on the entity, with this ETag if it has data, is not done yet. */
bool pt_split_holds(const pt_split *split, pt_slice partition, pt_slice row, pt_slice etag);

/* Sends the rest, and waits until all is done. */
int pt_split_finish(pt_split *split, pt_error *error);

/* Sends nothing more, waits for what is under way, and adds to the error how much is done. Keeps
 * the code. */
void pt_split_stop(pt_split *split, pt_error *error);

/* Ends what is under way. NULL is allowed. */
void pt_split_free(pt_split *split);

#endif
