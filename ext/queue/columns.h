/*
 * The columns of a queue: their declaration, their values, and MessageKey.
 */
#ifndef PT_QUEUE_COLUMNS_H
#define PT_QUEUE_COLUMNS_H

#include "base/sqlite.h"
#include "queue/message.h"

/* The columns, in the order of the declaration. */
enum {
    PT_QUEUE_MESSAGE_ID,
    PT_QUEUE_BODY,
    PT_QUEUE_INSERTION_TIME,
    PT_QUEUE_EXPIRATION_TIME,
    PT_QUEUE_TIME_NEXT_VISIBLE,
    PT_QUEUE_DEQUEUE_COUNT,
    PT_QUEUE_POP_RECEIPT,        /* the first hidden column */
    PT_QUEUE_VISIBILITY_TIMEOUT, /* write-only, like the next two */
    PT_QUEUE_TIME_TO_LIVE,
    PT_QUEUE_REQUEST, /* see queue/request.h */
    PT_QUEUE_MESSAGE_KEY,
    PT_QUEUE_ROW_ID, /* _rowid_, the first of three names for MessageId, which are the last columns
                      */
    PT_QUEUE_LAST_ROW_ID = PT_QUEUE_ROW_ID + 2,
    PT_QUEUE_COLUMNS,
};

/*
 * MessageKey, the primary key, is the RowKey of the message. In a row that was found by its
 * PopReceipt, the 16 bytes of the Receipt follow. UPDATE and DELETE need such a key: without a
 * PopReceipt in WHERE they are refused.
 */
enum {
    PT_QUEUE_KEY_SIZE = PT_MESSAGE_ROW_KEY_SIZE,
    PT_QUEUE_HELD_KEY_SIZE = PT_MESSAGE_ROW_KEY_SIZE + PT_GUID_SIZE,
};

/* The column with the same values: MessageId for the columns named for the rowid, which exist
 * because SQLite takes "_rowid_" for a text if there is no such column; otherwise the column
 * itself. */
static inline int pt_queue_same_column(int column)
{
    return column >= PT_QUEUE_ROW_ID ? PT_QUEUE_MESSAGE_ID : column;
}

const char *pt_queue_column_name(int column);

/* The CREATE TABLE for sqlite3_declare_vtab, from sqlite3_malloc. NULL when out of memory. */
char *pt_queue_declaration(void);

/* Room for the bytes of a column value. */
typedef struct pt_queue_text_room {
    char bytes[PT_QUEUE_HELD_KEY_SIZE + 1];
} pt_queue_text_room;

/*
 * The value of a column other than Body. A write-only column gives PT_NONE. `held` says that the
 * row was found by its PopReceipt. The value may point into `room`.
 */
pt_value pt_queue_column(const pt_message *message, int column, bool held,
                         pt_queue_text_room *room);

/*
 * Reads the id and next_visible of a message from a MessageKey. *held says whether the key has a
 * Receipt, which is then read too. False if the value is not a MessageKey.
 */
bool pt_queue_parse_key(sqlite3_value *key, pt_message *message, bool *held);

/*
 * The text of a value that is not NULL. It stays valid until the value is converted. The value can
 * still be compared afterwards, which value/value.h explains. False when out of memory.
 */
bool pt_queue_text(sqlite3_value *value, pt_slice *text);

#endif
