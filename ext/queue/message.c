#include "queue/message.h"

#include <uuid/uuid.h>

#include "base/sqlite.h"
#include "entity/key.h"

enum {
    MESSAGE_BODY,
    MESSAGE_INSERTION_TIME,
    MESSAGE_EXPIRATION_TIME,
    MESSAGE_DEQUEUE_COUNT,
    MESSAGE_RECEIPT
};

const pt_column pt_message_properties[PT_MESSAGE_PROPERTIES] = {
    [MESSAGE_BODY] = {"Body", 4, PT_NONE},
    [MESSAGE_INSERTION_TIME] = {"InsertionTime", 13, PT_DATETIME},
    [MESSAGE_EXPIRATION_TIME] = {"ExpirationTime", 14, PT_DATETIME},
    [MESSAGE_DEQUEUE_COUNT] = {"DequeueCount", 12, PT_INT64},
    [MESSAGE_RECEIPT] = {"Receipt", 7, PT_GUID},
};

/* --- Identifiers --- */

void pt_message_make_id(int64_t ticks, char id[PT_MESSAGE_ID_SIZE + 1])
{
    enum { ID_TICKS_PER_MILLISECOND = 10000, ID_VERSION_7 = 0x70, ID_VARIANT = 0x80 };
    uint64_t elapsed = ticks > PT_TICKS_UNIX_EPOCH ? (uint64_t)(ticks - PT_TICKS_UNIX_EPOCH) : 0;
    uint64_t milliseconds = elapsed / ID_TICKS_PER_MILLISECOND;
    unsigned fraction = (unsigned)(elapsed % ID_TICKS_PER_MILLISECOND);
    uuid_t uuid;
    uuid_generate_random(uuid);
    pt_put_be32(uuid, (uint32_t)(milliseconds >> 16));
    uuid[4] = (uint8_t)(milliseconds >> 8);
    uuid[5] = (uint8_t)milliseconds;
    uuid[6] = (uint8_t)(ID_VERSION_7 | fraction >> 10);
    uuid[7] = (uint8_t)(fraction >> 2);
    uuid[8] = (uint8_t)(ID_VARIANT | (fraction & 3) << 4 | (uuid[8] & 0x0F));
    pt_guid_format(uuid, id);
}

void pt_message_make_receipt(pt_message *message)
{
    uuid_generate_random(message->receipt);
}

void pt_message_format_ticks(int64_t ticks, char text[PT_MESSAGE_TICKS_SIZE + 1])
{
    sqlite3_snprintf(PT_MESSAGE_TICKS_SIZE + 1, text, "%019lld", (long long)ticks);
}

void pt_message_format_receipt(const pt_message *message, char text[PT_MESSAGE_RECEIPT_SIZE + 1])
{
    pt_message_format_ticks(message->next_visible, text);
    text[PT_MESSAGE_TICKS_SIZE] = '-';
    pt_guid_format(message->receipt, text + PT_MESSAGE_TICKS_SIZE + 1);
}

static bool parse_ticks(const uint8_t *digits, int64_t *ticks)
{
    *ticks = 0;
    for (int i = 0; i < PT_MESSAGE_TICKS_SIZE; i++) {
        if (digits[i] < '0' || digits[i] > '9' || *ticks > PT_TICKS_MAX / 10) {
            return false;
        }
        *ticks = *ticks * 10 + (digits[i] - '0');
    }
    return *ticks <= PT_TICKS_MAX;
}

/* Accepts a GUID only in the form in which it is issued. */
static bool parse_guid(pt_slice text, uint8_t guid[PT_GUID_SIZE])
{
    char canonical[PT_GUID_TEXT_SIZE + 1];
    if (text.size != PT_GUID_TEXT_SIZE || !pt_guid_parse(text, guid)) {
        return false;
    }
    pt_guid_format(guid, canonical);
    return memcmp(text.data, canonical, PT_GUID_TEXT_SIZE) == 0;
}

static bool parse_id(pt_slice text, pt_message *message)
{
    uint8_t guid[PT_GUID_SIZE];
    if (!parse_guid(text, guid)) {
        return false;
    }
    memcpy(message->id, text.data, PT_MESSAGE_ID_SIZE);
    message->id[PT_MESSAGE_ID_SIZE] = 0;
    return true;
}

bool pt_message_parse_receipt(pt_slice id, pt_slice receipt, pt_message *message)
{
    if (receipt.size != PT_MESSAGE_RECEIPT_SIZE || receipt.data[PT_MESSAGE_TICKS_SIZE] != '-') {
        return false;
    }
    pt_slice guid = pt_slice_of(receipt.data + PT_MESSAGE_TICKS_SIZE + 1, PT_GUID_TEXT_SIZE);
    return parse_ticks(receipt.data, &message->next_visible) &&
           parse_guid(guid, message->receipt) && parse_id(id, message);
}

bool pt_message_parse_row_key(pt_slice row_key, pt_message *message)
{
    if (row_key.size != PT_MESSAGE_ROW_KEY_SIZE || row_key.data[PT_MESSAGE_TICKS_SIZE] != '_') {
        return false;
    }
    pt_slice id = pt_slice_of(row_key.data + PT_MESSAGE_TICKS_SIZE + 1, PT_MESSAGE_ID_SIZE);
    return parse_ticks(row_key.data, &message->next_visible) && parse_id(id, message);
}

void pt_message_format_row_key(const pt_message *message, char text[PT_MESSAGE_ROW_KEY_SIZE + 1])
{
    pt_message_format_ticks(message->next_visible, text);
    text[PT_MESSAGE_TICKS_SIZE] = '_';
    memcpy(text + PT_MESSAGE_TICKS_SIZE + 1, message->id, PT_MESSAGE_ID_SIZE + 1);
}

bool pt_message_make_key(const pt_message *message, uint32_t table_id, pt_buffer *key)
{
    char row_key[PT_MESSAGE_ROW_KEY_SIZE + 1];
    pt_message_format_row_key(message, row_key);
    pt_key_begin(key, table_id);
    pt_key_append(key, (pt_slice){0}, pt_slice_of(row_key, PT_MESSAGE_ROW_KEY_SIZE));
    return !key->failed;
}

/* --- Entities --- */

int pt_message_report_damage(pt_slice key, pt_error *error)
{
    pt_keys_excerpts excerpts;
    pt_keys keys = pt_keys_for_message(key, &excerpts);
    return pt_error_set(error, SQLITE_CORRUPT_VTAB,
                        "the entity with PartitionKey '%.*s', RowKey '%.*s' of the queue's table "
                        "is not a message; restore the store from a backup, or process the other "
                        "messages, which pt_queue_get hands out, and drop the queue: DELETE FROM "
                        "pt_tables",
                        (int)keys.partition.size, keys.partition.data, (int)keys.row.size,
                        keys.row.data);
}

/* Reads a property. False if it is missing or has another type. */
static bool read_message_property(pt_record *record, const pt_column_places *places, int property,
                                  pt_value *value)
{
    int place = places->place[property];
    return place >= 0 && pt_record_value(record, (unsigned)place, value) == SQLITE_OK &&
           value->type == pt_message_properties[property].type;
}

static bool read_message_body(pt_record *record, const pt_column_places *places, pt_value *body)
{
    int place = places->place[MESSAGE_BODY];
    if (place < 0 || pt_record_value(record, (unsigned)place, body) != SQLITE_OK) {
        return false;
    }
    return body->type == PT_STRING || body->type == PT_BINARY || pt_type_is_large(body->type);
}

static bool read_expiration(pt_record *record, const pt_column_places *places, int64_t *expires)
{
    pt_value value = {.integer = PT_TICKS_MAX};
    bool valid = places->place[MESSAGE_EXPIRATION_TIME] < 0 ||
                 read_message_property(record, places, MESSAGE_EXPIRATION_TIME, &value);
    *expires = value.integer;
    return valid;
}

static bool read_properties(pt_record *record, const pt_column_places *places, pt_message *message)
{
    pt_value inserted;
    pt_value count;
    pt_value receipt;
    if (!read_message_body(record, places, &message->body) ||
        !read_expiration(record, places, &message->expires) ||
        !read_message_property(record, places, MESSAGE_INSERTION_TIME, &inserted) ||
        !read_message_property(record, places, MESSAGE_DEQUEUE_COUNT, &count) ||
        !read_message_property(record, places, MESSAGE_RECEIPT, &receipt)) {
        return false;
    }
    message->inserted = inserted.integer;
    message->dequeue_count = count.integer;
    memcpy(message->receipt, receipt.guid, PT_GUID_SIZE);
    return true;
}

int pt_message_read(pt_record *record, pt_slice key, pt_column_map *map, pt_message *message,
                    pt_error *error)
{
    const pt_column_places *places = pt_column_map_find(map, record->shape);
    if (places == NULL) {
        return pt_error_nomem(error);
    }
    pt_keys keys = pt_keys_of(key);
    bool valid = keys.partition.size == 0 && pt_message_parse_row_key(keys.row, message) &&
                 read_properties(record, places, message);
    return valid ? SQLITE_OK : pt_message_report_damage(key, error);
}

/* The bag must have room. */
static void append_message_property(pt_bag *bag, int property, pt_value value)
{
    const pt_column *column = &pt_message_properties[property];
    bag->fields[bag->count++] =
        (pt_field){.name = pt_slice_of(column->name, column->name_size), .value = value};
}

bool pt_message_fill_bag(const pt_message *message, pt_bag *bag)
{
    pt_value receipt = {.type = PT_GUID};
    memcpy(receipt.guid, message->receipt, PT_GUID_SIZE);
    pt_bag_clear(bag);
    if (!pt_bag_reserve(bag, PT_MESSAGE_PROPERTIES)) {
        return false;
    }
    append_message_property(bag, MESSAGE_BODY, message->body);
    append_message_property(bag, MESSAGE_INSERTION_TIME,
                            (pt_value){.type = PT_DATETIME, .integer = message->inserted});
    append_message_property(bag, MESSAGE_DEQUEUE_COUNT,
                            (pt_value){.type = PT_INT64, .integer = message->dequeue_count});
    append_message_property(bag, MESSAGE_RECEIPT, receipt);
    if (message->expires != PT_TICKS_MAX) {
        append_message_property(bag, MESSAGE_EXPIRATION_TIME,
                                (pt_value){.type = PT_DATETIME, .integer = message->expires});
    }
    return true;
}
