/*
 * A queue's columns: from a message to what SQLite sees, and MessageKey back.
 */
#ifndef PT_QUEUE_COLUMNS_H
#define PT_QUEUE_COLUMNS_H

#include "queue/queue.h"

/* Where the bytes of a column's value lie. */
typedef struct pt_queue_text_room {
    char bytes[PT_QUEUE_HELD_KEY_SIZE + 1];
} pt_queue_text_room;

/* What a column but Body shows; PT_NONE for what is only written. `held`: the row was found by its
 * PopReceipt. */
pt_value pt_queue_column(const pt_message *message, int column, bool held,
                         pt_queue_text_room *room);

/* Reads id and next_visible from a MessageKey and, if it has one (*held), the receipt. False if it
 * is no MessageKey. */
bool pt_queue_parse_key(sqlite3_value *key, pt_message *message, bool *held);

/* The text of a value that is not NULL, valid as long as the value is not converted, and may be
 * compared later on: value/value.h says why others cannot. False when out of memory. */
bool pt_queue_text(sqlite3_value *value, pt_slice *text);

#endif
