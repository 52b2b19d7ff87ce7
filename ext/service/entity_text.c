#include "service/entity_text.h"

#include <stdio.h>

#include "base/number.h"
#include "value/value.h"

/* Reads a character of well-formed UTF-8. Returns its bytes. */
static size_t read_character(pt_slice text, uint32_t *character)
{
    const uint8_t *b = text.data;
    if (b[0] >= 0xF0 && text.size >= 4) {
        *character = (uint32_t)(b[0] & 0x07) << 18 | (uint32_t)(b[1] & 0x3F) << 12 |
                     (uint32_t)(b[2] & 0x3F) << 6 | (b[3] & 0x3F);
        return 4;
    }
    if (b[0] >= 0xE0 && text.size >= 3) {
        *character = (uint32_t)(b[0] & 0x0F) << 12 | (uint32_t)(b[1] & 0x3F) << 6 | (b[2] & 0x3F);
        return 3;
    }
    if (b[0] >= 0xC0 && text.size >= 2) {
        *character = (uint32_t)(b[0] & 0x1F) << 6 | (b[1] & 0x3F);
        return 2;
    }
    *character = b[0];
    return 1;
}

static void append_unit(pt_buffer *json, uint32_t unit)
{
    char escape[8];
    snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unit & 0xFFFF));
    pt_buffer_append_text(json, escape);
}

static void append_escaped(pt_buffer *json, uint32_t character)
{
    if (character == '"' || character == '\\') {
        pt_buffer_append_byte(json, '\\');
        pt_buffer_append_byte(json, (uint8_t)character);
    } else if (character >= 0x10000) {
        append_unit(json, 0xD800 + ((character - 0x10000) >> 10));
        append_unit(json, 0xDC00 + ((character - 0x10000) & 0x3FF));
    } else {
        append_unit(json, character);
    }
}

/* The size of the text before the first character that needs an escape. */
static size_t size_without_escapes(pt_slice text)
{
    size_t at = 0;
    while (at < text.size) {
        uint8_t c = text.data[at];
        if (c < 0x20 || c >= 0x7F || c == '"' || c == '\\') {
            break;
        }
        at++;
    }
    return at;
}

/* The emulator damages other characters than those of ASCII in long requests. */
static void append_ascii_string(pt_buffer *json, pt_slice text)
{
    pt_buffer_append_byte(json, '"');
    while (text.size != 0) {
        uint32_t character;
        size_t taken = size_without_escapes(text);
        pt_buffer_append(json, text.data, taken);
        if (taken < text.size) {
            text = pt_slice_of(text.data + taken, text.size - taken);
            taken = read_character(text, &character);
            append_escaped(json, character);
        }
        text = pt_slice_of(text.data + taken, text.size - taken);
    }
    pt_buffer_append_byte(json, '"');
}

static void append_name(pt_buffer *json, pt_slice name)
{
    if (json->size != 0 && json->data[json->size - 1] != '{') {
        pt_buffer_append_byte(json, ',');
    }
    append_ascii_string(json, name);
    pt_buffer_append_byte(json, ':');
}

/* The service finds these types by itself. A Double is taken for an integer if it has no fraction.
 */
static bool needs_type(pt_type type)
{
    return type != PT_STRING && type != PT_INT32 && type != PT_BOOLEAN;
}

static void append_type(pt_buffer *json, pt_slice name, pt_type type)
{
    pt_buffer_append_byte(json, ',');
    append_ascii_string(json, name);
    json->size -= json->failed ? 0 : 1; /* the name goes on */
    pt_buffer_append_text(json, PT_ODATA_TYPE_SUFFIX "\":\"" PT_ODATA_TYPE_PREFIX);
    pt_buffer_append_text(json, pt_type_name(type));
    pt_buffer_append_byte(json, '"');
}

static void append_typed_value(pt_buffer *json, const pt_value *value)
{
    if (value->type == PT_STRING) {
        append_ascii_string(json, value->bytes);
        return;
    }
    bool quoted = value->type != PT_INT32 && value->type != PT_BOOLEAN &&
                  (value->type != PT_DOUBLE || pt_double_name(value->real) != NULL);
    if (quoted) {
        pt_buffer_append_byte(json, '"');
    }
    pt_value_append_text(json, value);
    if (quoted) {
        pt_buffer_append_byte(json, '"');
    }
}

void pt_entity_text_append(pt_buffer *json, pt_slice partition, pt_slice row, const pt_bag *bag)
{
    pt_buffer_append_byte(json, '{');
    append_name(json, pt_slice_text("PartitionKey"));
    append_ascii_string(json, partition);
    append_name(json, pt_slice_text("RowKey"));
    append_ascii_string(json, row);
    for (unsigned i = 0; i < bag->count; i++) {
        const pt_field *field = &bag->fields[i];
        append_name(json, field->name);
        append_typed_value(json, &field->value);
        if (needs_type(field->value.type)) {
            append_type(json, field->name, field->value.type);
        }
    }
    pt_buffer_append_byte(json, '}');
}
