#include "value/json_write.h"

#include "base/number.h"
#include "base/sqlite.h"
#include "value/value.h"

/* Appends the characters of a JSON string, without the quotes. */
static void append_json_escaped(pt_buffer *json, pt_slice text)
{
    size_t plain = 0; /* start of a run that needs no escapes */
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        char escape[8];
        sqlite3_snprintf(sizeof escape, escape, c < 0x20 ? "\\u%04x" : "\\%c", c);
        pt_buffer_append_slice(json, pt_slice_of(text.data + plain, i - plain));
        pt_buffer_append_text(json, escape);
        plain = i + 1;
    }
    if (plain < text.size) {
        pt_buffer_append_slice(json, pt_slice_of(text.data + plain, text.size - plain));
    }
}

static void append_json_string(pt_buffer *json, pt_slice text)
{
    pt_buffer_append_byte(json, '"');
    append_json_escaped(json, text);
    pt_buffer_append_byte(json, '"');
}

/* True if the value, which is not a STRING, is written as a JSON string of its text. */
static bool is_quoted_in_json(const pt_value *value)
{
    switch (value->type) {
    case PT_DATETIME:
    case PT_GUID:
    case PT_BINARY:
        return true;
    case PT_DOUBLE:
        return pt_double_name(value->real) != NULL;
    default:
        return false;
    }
}

static void append_json_value(pt_buffer *json, const pt_value *value)
{
    if (value->type == PT_STRING) {
        append_json_string(json, value->bytes);
        return;
    }
    bool quoted = is_quoted_in_json(value);
    if (quoted) {
        pt_buffer_append_byte(json, '"');
    }
    pt_value_append_text(json, value);
    if (quoted) {
        pt_buffer_append_byte(json, '"');
    }
}

void pt_json_begin(pt_buffer *json)
{
    pt_buffer_append_byte(json, '{');
}

void pt_json_add(pt_buffer *json, pt_slice name, const pt_value *value)
{
    if (value->type == PT_NONE || json->failed) {
        return;
    }
    if (json->data[json->size - 1] != '{') {
        pt_buffer_append_byte(json, ',');
    }
    append_json_string(json, name);
    pt_buffer_append_byte(json, ':');
    append_json_value(json, value);
    if (is_quoted_in_json(value) || value->type == PT_INT64) {
        pt_json_add_annotation(json, name, value->type);
    }
}

void pt_json_add_annotation(pt_buffer *json, pt_slice name, pt_type type)
{
    pt_buffer_append_text(json, ",\"");
    append_json_escaped(json, name);
    pt_buffer_append_text(json, PT_ODATA_TYPE_SUFFIX "\":\"" PT_ODATA_TYPE_PREFIX);
    pt_buffer_append_text(json, pt_type_name(type));
    pt_buffer_append_byte(json, '"');
}

void pt_json_end(pt_buffer *json)
{
    pt_buffer_append_byte(json, '}');
}
