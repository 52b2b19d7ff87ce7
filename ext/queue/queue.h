/*
 * A virtual table of the module `pt_queue`: messages of the store's table, as queue/message.h lays
 * them out.
 */
#ifndef PT_QUEUE_QUEUE_H
#define PT_QUEUE_QUEUE_H

#include "queue/message.h"
#include "table/table.h"
#include "transaction/scan.h"

/* Positions in the declared table. */
enum {
    PT_QUEUE_MESSAGE_ID,
    PT_QUEUE_BODY,
    PT_QUEUE_INSERTION_TIME,
    PT_QUEUE_EXPIRATION_TIME,
    PT_QUEUE_TIME_NEXT_VISIBLE,
    PT_QUEUE_DEQUEUE_COUNT,
    PT_QUEUE_POP_RECEIPT,        /* the first hidden one */
    PT_QUEUE_VISIBILITY_TIMEOUT, /* this one and the next two are only written */
    PT_QUEUE_TIME_TO_LIVE,
    PT_QUEUE_REQUEST, /* queue/request.h */
    PT_QUEUE_MESSAGE_KEY,
    PT_QUEUE_COLUMNS,
};

/*
 * MessageKey, the primary key, is the message's RowKey. A row that was found by its PopReceipt has
 * the Receipt behind it, as 16 bytes: only by such a key a message is changed or deleted.
 */
enum {
    PT_QUEUE_KEY_SIZE = PT_MESSAGE_ROW_KEY_SIZE,
    PT_QUEUE_HELD_KEY_SIZE = PT_MESSAGE_ROW_KEY_SIZE + PT_GUID_SIZE,
};

/* The last message that a transaction has looked at when it handed out some: queue/hand_out.c. */
typedef struct pt_queue_front {
    pt_buffer key;    /* empty: none yet */
    uint64_t changes; /* of the session's catalogue then; others: it may have been rolled back */
} pt_queue_front;

typedef struct pt_queue {
    pt_table table;    /* the first member */
    bool azure_limits; /* the service's of messages; table.config says nothing of limits */
    pt_table poison;   /* the table of the poison queue; its session is opened when it is needed */
    pt_scan scan;      /* for handing out */
    pt_queue_front front;
} pt_queue;

static inline pt_queue *pt_queue_of(sqlite3_vtab *vtab)
{
    return (pt_queue *)vtab;
}

const char *pt_queue_column_name(int column);

/* Registers the module; it keeps a reference to the connection. SQLite's code. */
int pt_queue_register(sqlite3 *db, pt_connection *connection);

#endif
