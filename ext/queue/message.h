/*
 * A message of a queue. It is stored as an entity of the queue's table:
 *
 *     PartitionKey     empty
 *     RowKey           TimeNextVisible in ticks, as 19 digits, '_', MessageId. So key order is the
 *                      order in which messages are handed out.
 *     Body             String or Binary
 *     InsertionTime    DateTime
 *     ExpirationTime   DateTime; absent: never
 *     DequeueCount     Int64
 *     Receipt          Guid, random; a new one whenever the message is handed out or changed
 *
 * The PopReceipt is the 19 digits, '-' and the Receipt. Together with the MessageId it gives the
 * key of the message at the time when the receipt was issued.
 */
#ifndef PT_QUEUE_MESSAGE_H
#define PT_QUEUE_MESSAGE_H

#include "base/error.h"
#include "base/ticks.h"
#include "entity/bag.h"
#include "entity/column.h"
#include "entity/column_map.h"
#include "entity/record.h"

enum {
    PT_MESSAGE_TICKS_SIZE = 19,
    PT_MESSAGE_ID_SIZE = PT_GUID_TEXT_SIZE,
    PT_MESSAGE_ROW_KEY_SIZE = PT_MESSAGE_TICKS_SIZE + 1 + PT_MESSAGE_ID_SIZE,
    PT_MESSAGE_RECEIPT_SIZE = PT_MESSAGE_TICKS_SIZE + 1 + PT_GUID_TEXT_SIZE,
};

typedef struct pt_message {
    char id[PT_MESSAGE_ID_SIZE + 1];
    int64_t next_visible; /* ticks */
    int64_t inserted;     /* ticks */
    int64_t expires;      /* ticks; PT_TICKS_MAX: never */
    int64_t dequeue_count;
    uint8_t receipt[PT_GUID_SIZE];
    pt_value body; /* STRING, BINARY or their large types; does not own its bytes */
} pt_message;

/* The properties of the entity, as the columns of the pt_column_map that pt_message_read needs. */
enum { PT_MESSAGE_PROPERTIES = 5 };
extern const pt_column pt_message_properties[PT_MESSAGE_PROPERTIES];

/*
 * Makes a UUID of version 7 for a message inserted at `ticks`. Ids of later ticks are greater: the
 * 14 bits after the milliseconds, around the variant, count ticks of 100 ns.
 */
void pt_message_make_id(int64_t ticks, char id[PT_MESSAGE_ID_SIZE + 1]);

/* Gives the message a new receipt. */
void pt_message_make_receipt(pt_message *message);

/* Formats ticks, which are not negative, as 19 digits and a NUL. */
void pt_message_format_ticks(int64_t ticks, char text[PT_MESSAGE_TICKS_SIZE + 1]);

/* Formats the PopReceipt and a NUL. */
void pt_message_format_receipt(const pt_message *message, char text[PT_MESSAGE_RECEIPT_SIZE + 1]);

/* Parses a MessageId and a PopReceipt into id, next_visible and receipt. False if a queue cannot
 * have issued them. */
bool pt_message_parse_receipt(pt_slice id, pt_slice receipt, pt_message *message);

/* Parses a RowKey into id and next_visible. False if it is not the RowKey of a message. */
bool pt_message_parse_row_key(pt_slice row_key, pt_message *message);

/* Formats the RowKey and a NUL. */
void pt_message_format_row_key(const pt_message *message, char text[PT_MESSAGE_ROW_KEY_SIZE + 1]);

/* Makes the logical key of the message. False when out of memory. */
bool pt_message_make_key(const pt_message *message, uint32_t table_id, pt_buffer *key);

/* True if the message has not expired. */
static inline bool pt_message_is_alive(const pt_message *message, int64_t now)
{
    return message->expires > now || message->expires == PT_TICKS_MAX;
}

/* True if the message, which has the id and next_visible of `held`, also has its receipt and has
 * not expired. */
static inline bool pt_message_is_held(const pt_message *message, const pt_message *held,
                                      int64_t now)
{
    return memcmp(message->receipt, held->receipt, PT_GUID_SIZE) == 0 &&
           pt_message_is_alive(message, now);
}

/*
 * Reads a message from the record under a logical key. Its body points into the record. SQLITE_OK,
 * SQLITE_NOMEM, or SQLITE_CORRUPT_VTAB with a text that names the entity's keys.
 */
int pt_message_read(pt_record *record, pt_slice key, pt_column_map *map, pt_message *message,
                    pt_error *error);

/* The error for an entity that is not a message: SQLITE_CORRUPT_VTAB with a text that names its
 * keys. */
int pt_message_report_damage(pt_slice key, pt_error *error);

/* Fills the bag with the properties of the message. The body is not copied. False when out of
 * memory. */
bool pt_message_fill_bag(const pt_message *message, pt_bag *bag);

#endif
