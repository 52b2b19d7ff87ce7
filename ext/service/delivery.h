/*
 * Sends operations on entities to the service, as one request that is done as a whole or not at
 * all, and finds out which of the two has happened.
 *
 * A request that had no clear reply is sent again. If that succeeds, all is done. If it is refused,
 * the first attempt may be the reason, or another program. Then one entity is read: if it still has
 * the ETag that its operation asks for, or was written before the first attempt, nothing has been
 * done. That another program has written the same cannot be excluded: an entity that is as it was
 * sent, or is gone as it should be, proves nothing. Only an operation that may be done twice, alone
 * in its request, is done if the entity says so.
 */
#ifndef PT_SERVICE_DELIVERY_H
#define PT_SERVICE_DELIVERY_H

#include "service/budget.h"
#include "service/call.h"
#include "service/page.h"
#include "service/remote_operations.h"

/* A table of the service, and how to send requests there. */
typedef struct pt_remote_target {
    pt_service *service;
    const char *account;
    const char *table;
    int64_t timeout;
    int64_t retries;
} pt_remote_target;

/* Set the first members before pt_delivery_send; the rest is zero before it. */
typedef struct pt_delivery {
    pt_remote_target target;
    pt_remote_operations *operations; /* not empty, at most 100; some may be taken out */
    pt_budget budget;                 /* of the statement, or zero */
    pt_call call;
    pt_buffer body;
    pt_buffer if_match;
    int64_t
        known_date; /* the service's clock before the request, in seconds since 1970; 0: unknown */
    bool in_doubt;  /* an attempt may have done the operations, without telling */
} pt_delivery;

/* Begins to send. SQLITE_NOMEM; SQLITE_ERROR if there is no such account; codes of pt_budget_spend.
 */
int pt_delivery_send(pt_delivery *delivery, pt_error *error);

/*
 * Waits until the operations are done. Otherwise nothing has been done, unless SQLITE_IOERR says
 * that it may have been:
 *
 *     SQLITE_CONSTRAINT_PRIMARYKEY   the entity exists (EntityAlreadyExists)
 *     SQLITE_CONSTRAINT_CHECK        there is no entity to match (ResourceNotFound)
 *     SQLITE_CONSTRAINT_VTAB         it has another ETag; or the service refuses the entity
 *     SQLITE_BUSY_SNAPSHOT           the same for an operation that is quiet
 *     SQLITE_BUSY                    the service is busy, after all retries
 *     SQLITE_INTERRUPT               the message says if the request may have been done
 *
 * and the codes of pt_reply_fail.
 */
int pt_delivery_receive(pt_delivery *delivery, pt_error *error);

/* Ends the request, and keeps memory for the next pt_delivery_send. */
void pt_delivery_end(pt_delivery *delivery);
void pt_delivery_free(pt_delivery *delivery);

/*
 * Reads one entity into the page, which is cleared. *entity = NULL if it does not exist. Codes as
 * pt_call_receive, pt_call_fail and pt_page_add.
 */
int pt_remote_read(const pt_remote_target *target, pt_slice partition, pt_slice row, pt_page *page,
                   const pt_page_entity **entity, pt_error *error);

#endif
