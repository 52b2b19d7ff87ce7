/*
 * A message of a queue, and the entity that it is in the queue's table:
 *
 *     PartitionKey     empty
 *     RowKey           19 digits: ticks of TimeNextVisible, '_', MessageId: so messages lie in the
 *                      order in which they are handed out
 *     Body             String or Binary
 *     InsertionTime    DateTime
 *     ExpirationTime   DateTime; absent: never
 *     DequeueCount     Int64
 *     Receipt          Guid, random: another one whenever the message is handed out or changed
 *
 * The PopReceipt is the 19 digits, '-' and the Receipt: together with the MessageId it says under
 * which key the message was when the receipt was issued.
 */
#ifndef PT_QUEUE_MESSAGE_H
#define PT_QUEUE_MESSAGE_H

#include "base/error.h"
#include "base/ticks.h"
#include "entity/bag.h"
#include "entity/column.h"
#include "entity/record.h"
#include "table/column_map.h"

enum {
    PT_MESSAGE_TICKS_SIZE = 19,
    PT_MESSAGE_ID_SIZE = PT_GUID_TEXT_SIZE,
    PT_MESSAGE_ROW_KEY_SIZE = PT_MESSAGE_TICKS_SIZE + 1 + PT_MESSAGE_ID_SIZE,
    PT_MESSAGE_RECEIPT_SIZE = PT_MESSAGE_TICKS_SIZE + 1 + PT_GUID_TEXT_SIZE,
};

typedef struct pt_message {
    char id[PT_MESSAGE_ID_SIZE + 1];
    int64_t next_visible; /* ticks, and so below */
    int64_t inserted;
    int64_t expires; /* PT_TICKS_MAX: never */
    int64_t dequeue_count;
    uint8_t receipt[PT_GUID_SIZE];
    pt_value body; /* STRING, BINARY or their large types; its bytes are somebody else's */
} pt_message;

/* What an entity of a queue has; a pt_column_map of these serves pt_message_read. */
enum { PT_MESSAGE_PROPERTIES = 5 };
extern const pt_column pt_message_properties[PT_MESSAGE_PROPERTIES];

/*
 * A UUID of version 7 for a message that is inserted at `ticks`. Those of later ticks are greater:
 * the 14 bits behind the milliseconds, around the variant, count the ticks of 100 ns.
 */
void pt_message_make_id(int64_t ticks, char id[PT_MESSAGE_ID_SIZE + 1]);

/* A new receipt. */
void pt_message_make_receipt(pt_message *message);

/* The 19 digits of ticks from 0 on, and a NUL. */
void pt_message_format_ticks(int64_t ticks, char text[PT_MESSAGE_TICKS_SIZE + 1]);

/* The PopReceipt, and a NUL. */
void pt_message_format_receipt(const pt_message *message, char text[PT_MESSAGE_RECEIPT_SIZE + 1]);

/* Takes a MessageId and its PopReceipt apart into id, next_visible and receipt. False if they have
 * another form than those that a queue issues. */
bool pt_message_parse_receipt(pt_slice id, pt_slice receipt, pt_message *message);

/* Reads id and next_visible from a RowKey. False if it is no message's. */
bool pt_message_parse_row_key(pt_slice row_key, pt_message *message);

/* The RowKey, and a NUL. */
void pt_message_format_row_key(const pt_message *message, char text[PT_MESSAGE_ROW_KEY_SIZE + 1]);

/* Makes the logical key in the buffer. False when out of memory. */
bool pt_message_make_key(const pt_message *message, uint32_t table_id, pt_buffer *key);

/* Whether it may still be shown or handed out. */
static inline bool pt_message_is_alive(const pt_message *message, int64_t now)
{
    return message->expires > now || message->expires == PT_TICKS_MAX;
}

/* Whether the message with the id and next_visible of `held` also has its receipt, and is alive. */
static inline bool pt_message_is_held(const pt_message *message, const pt_message *held,
                                      int64_t now)
{
    return memcmp(message->receipt, held->receipt, PT_GUID_SIZE) == 0 &&
           pt_message_is_alive(message, now);
}

/*
 * Reads the message that a record under a logical key is; the bytes of its body lie in the record.
 * SQLITE_OK, SQLITE_NOMEM, SQLITE_CORRUPT_VTAB with a text that names the entity's keys.
 */
int pt_message_read(const pt_record *record, pt_slice key, pt_column_map *map, pt_message *message,
                    pt_error *error);

/* The text for what is no message, naming its keys: SQLITE_CORRUPT_VTAB. */
int pt_message_report_damage(pt_slice key, pt_error *error);

/* Fills the bag with the message's entity; its body is not copied. False when out of memory. */
bool pt_message_fill_bag(const pt_message *message, pt_bag *bag);

#endif
