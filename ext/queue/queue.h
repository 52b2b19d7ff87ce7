/*
 * A virtual table of the module `pt_queue`. Its messages are entities of a table in the store;
 * queue/message.h describes their layout.
 */
#ifndef PT_QUEUE_QUEUE_H
#define PT_QUEUE_QUEUE_H

#include "queue/message.h"
#include "table/table.h"
#include "transaction/scan.h"

/* The last message that the transaction looked at while handing out messages. */
typedef struct pt_queue_front {
    pt_buffer key;    /* empty if there is none */
    uint64_t changes; /* pt_session_catalog_changes at that time. If it is different now, a rollback
                         may have brought earlier messages back. */
} pt_queue_front;

typedef struct pt_queue {
    pt_table table;    /* the first member */
    bool azure_limits; /* limits of messages; table.config has no limits set */
    pt_table poison;   /* the poison queue's table; its session is opened when needed */
    pt_scan scan;      /* for handing out messages */
    pt_queue_front front;
} pt_queue;

static inline pt_queue *pt_queue_of(sqlite3_vtab *vtab)
{
    return (pt_queue *)vtab;
}

#endif
