#include "value/value_text.h"

#include "base/base64.h"
#include "base/number.h"
#include "base/sqlite.h"
#include "base/ticks.h"

static void append_integer(pt_buffer *buffer, int64_t integer)
{
    char text[24];
    sqlite3_snprintf(sizeof text, text, "%lld", (sqlite3_int64)integer);
    pt_buffer_append_text(buffer, text);
}

static void append_double(pt_buffer *buffer, double real)
{
    char text[PT_DOUBLE_TEXT_SIZE];
    const char *name = pt_double_name(real);
    if (name == NULL) {
        pt_double_format(real, text);
    }
    pt_buffer_append_text(buffer, name != NULL ? name : text);
}

void pt_value_append_text(pt_buffer *buffer, const pt_value *value)
{
    char text[PT_GUID_TEXT_SIZE + 1];
    switch (value->type) {
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
    case PT_NONE:
        break;
    case PT_STRING:
        pt_buffer_append_slice(buffer, value->bytes);
        break;
    case PT_INT32:
    case PT_INT64:
        append_integer(buffer, value->integer);
        break;
    case PT_DOUBLE:
        append_double(buffer, value->real);
        break;
    case PT_BOOLEAN:
        pt_buffer_append_text(buffer, value->integer != 0 ? "true" : "false");
        break;
    case PT_DATETIME:
        pt_ticks_format(value->integer, text);
        pt_buffer_append_text(buffer, text);
        break;
    case PT_GUID:
        pt_guid_format(value->guid, text);
        pt_buffer_append_text(buffer, text);
        break;
    case PT_BINARY:
        pt_base64_append(buffer, value->bytes);
        break;
    }
}
