#include "queue/columns.h"

#include "base/ticks.h"

/* --- Declaration --- */

#define TIME_TYPE " TEXT COLLATE " PT_TICKS_COLLATION

static const struct {
    const char *name;
    const char *type; /* begins with a blank */
} queue_columns[PT_QUEUE_COLUMNS] = {
    [PT_QUEUE_MESSAGE_ID] = {"MessageId", " TEXT"},
    [PT_QUEUE_BODY] = {"Body", ""},
    [PT_QUEUE_INSERTION_TIME] = {"InsertionTime", TIME_TYPE},
    [PT_QUEUE_EXPIRATION_TIME] = {"ExpirationTime", TIME_TYPE},
    [PT_QUEUE_TIME_NEXT_VISIBLE] = {"TimeNextVisible", TIME_TYPE},
    [PT_QUEUE_DEQUEUE_COUNT] = {"DequeueCount", " INTEGER"},
    [PT_QUEUE_POP_RECEIPT] = {"PopReceipt", " TEXT HIDDEN"},
    [PT_QUEUE_VISIBILITY_TIMEOUT] = {"VisibilityTimeout", " HIDDEN"},
    [PT_QUEUE_TIME_TO_LIVE] = {"TimeToLive", " HIDDEN"},
    [PT_QUEUE_REQUEST] = {"Request", " HIDDEN"},
    [PT_QUEUE_MESSAGE_KEY] = {"MessageKey", " BLOB HIDDEN PRIMARY KEY"},
    [PT_QUEUE_ROW_ID] = {"_rowid_", " TEXT HIDDEN"},
    [PT_QUEUE_ROW_ID + 1] = {"rowid", " TEXT HIDDEN"},
    [PT_QUEUE_LAST_ROW_ID] = {"oid", " TEXT HIDDEN"},
};

const char *pt_queue_column_name(int column)
{
    return queue_columns[column].name;
}

char *pt_queue_declaration(void)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (int i = 0; i < PT_QUEUE_COLUMNS; i++) {
        sqlite3_str_appendf(text, "%s%s%s", i == 0 ? "" : ", ", queue_columns[i].name,
                            queue_columns[i].type);
    }
    sqlite3_str_appendall(text, ") WITHOUT ROWID");
    return sqlite3_str_finish(text);
}

/* --- Values --- */

static pt_value text_value(const char *text, size_t size)
{
    return (pt_value){.type = PT_STRING, .bytes = pt_slice_of(text, size)};
}

static pt_value time_value(int64_t ticks)
{
    return (pt_value){.type = PT_DATETIME, .integer = ticks};
}

static pt_value expiration_value(const pt_message *message)
{
    bool never = message->expires == PT_TICKS_MAX;
    return (pt_value){.type = never ? PT_NONE : PT_DATETIME, .integer = message->expires};
}

static pt_value key_value(const pt_message *message, bool held, pt_queue_text_room *room)
{
    pt_message_format_row_key(message, room->bytes);
    if (held) {
        memcpy(room->bytes + PT_QUEUE_KEY_SIZE, message->receipt, PT_GUID_SIZE);
    }
    size_t size = held ? PT_QUEUE_HELD_KEY_SIZE : PT_QUEUE_KEY_SIZE;
    return (pt_value){.type = PT_BINARY, .bytes = pt_slice_of(room->bytes, size)};
}

pt_value pt_queue_column(const pt_message *message, int column, bool held, pt_queue_text_room *room)
{
    switch (pt_queue_same_column(column)) {
    case PT_QUEUE_MESSAGE_ID:
        return text_value(message->id, PT_MESSAGE_ID_SIZE);
    case PT_QUEUE_INSERTION_TIME:
        return time_value(message->inserted);
    case PT_QUEUE_EXPIRATION_TIME:
        return expiration_value(message);
    case PT_QUEUE_TIME_NEXT_VISIBLE:
        return time_value(message->next_visible);
    case PT_QUEUE_DEQUEUE_COUNT:
        return (pt_value){.type = PT_INT64, .integer = message->dequeue_count};
    case PT_QUEUE_POP_RECEIPT:
        pt_message_format_receipt(message, room->bytes);
        return text_value(room->bytes, PT_MESSAGE_RECEIPT_SIZE);
    case PT_QUEUE_MESSAGE_KEY:
        return key_value(message, held, room);
    default:
        return (pt_value){.type = PT_NONE};
    }
}

bool pt_queue_parse_key(sqlite3_value *key, pt_message *message, bool *held)
{
    if (sqlite3_value_type(key) != SQLITE_BLOB) {
        return false;
    }
    const uint8_t *bytes = sqlite3_value_blob(key);
    size_t size = (size_t)sqlite3_value_bytes(key);
    *held = size == PT_QUEUE_HELD_KEY_SIZE;
    if (bytes == NULL || (!*held && size != PT_QUEUE_KEY_SIZE)) {
        return false;
    }
    if (*held) {
        memcpy(message->receipt, bytes + PT_QUEUE_KEY_SIZE, PT_GUID_SIZE);
    }
    return pt_message_parse_row_key(pt_slice_of(bytes, PT_QUEUE_KEY_SIZE), message);
}

bool pt_queue_text(sqlite3_value *value, pt_slice *text)
{
    const unsigned char *bytes = sqlite3_value_text(value);
    *text = pt_slice_of(bytes, bytes != NULL ? (size_t)sqlite3_value_bytes(value) : 0);
    return bytes != NULL;
}
