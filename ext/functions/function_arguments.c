#include "functions/function_arguments.h"

#include <stdarg.h>

#include "base/text.h"
#include "entity/key.h"
#include "value/value.h"

bool pt_arguments_have_null(int argc, sqlite3_value **argv)
{
    for (int i = 0; i < argc; i++) {
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL) {
            return true;
        }
    }
    return false;
}

/* sqlite3_value_bytes() must come second: it returns the size of the text only after the value has
 * been converted. */
static pt_slice text_of_value(sqlite3_value *value)
{
    const unsigned char *text = sqlite3_value_text(value);
    return pt_slice_of(text, text != NULL ? (size_t)sqlite3_value_bytes(value) : 0);
}

bool pt_argument_text(sqlite3_context *context, sqlite3_value *argument, pt_slice *text)
{
    int type = sqlite3_value_type(argument);
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER) {
        pt_argument_refuse(context, argument, "is %s; give TEXT or INTEGER",
                           type == SQLITE_FLOAT ? "REAL" : "not text");
        return false;
    }
    *text = text_of_value(argument);
    if (text->data == NULL) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    return true;
}

bool pt_argument_key_text(sqlite3_context *context, sqlite3_value *argument,
                          char digits[PT_INTEGER_TEXT_SIZE], pt_slice *text)
{
    int64_t integer;
    if (!pt_value_real_integer(argument, &integer)) {
        return pt_argument_text(context, argument, text);
    }
    *text = pt_slice_of(digits, pt_integer_format(integer, digits));
    return true;
}

bool pt_argument_integer(sqlite3_context *context, sqlite3_value *argument, int64_t *integer)
{
    switch (pt_value_integer(argument, integer)) {
    case SQLITE_OK:
        return true;
    case SQLITE_NOMEM:
        sqlite3_result_error_nomem(context);
        return false;
    default:
        pt_argument_refuse(context, argument,
                           "is not an integer of 64 bits; give an INTEGER, a REAL without fraction "
                           "up to 9007199254740992, or a text of digits only");
        return false;
    }
}

static char *describe_text_argument(sqlite3_value *value)
{
    pt_slice text = text_of_value(value);
    if (text.data == NULL) {
        return NULL;
    }
    if (!pt_key_is_valid_text(text)) {
        return sqlite3_mprintf("a text of size %lld with U+0000 or malformed UTF-8",
                               (sqlite3_int64)text.size);
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(text, excerpt);
    return sqlite3_mprintf("%Q", excerpt);
}

static char *describe_argument(sqlite3_value *value)
{
    char number[PT_DESCRIPTION_SIZE];
    switch (sqlite3_value_type(value)) {
    case SQLITE_BLOB:
        return sqlite3_mprintf("a BLOB of size %d", sqlite3_value_bytes(value));
    case SQLITE_TEXT:
        return describe_text_argument(value);
    default:
        pt_value_describe(value, number);
        return sqlite3_mprintf("%s", number);
    }
}

/* Takes ownership of the text, which is NULL when out of memory. */
static void fail_with_text(sqlite3_context *context, char *text)
{
    const char *function = sqlite3_user_data(context);
    char *message = text != NULL ? sqlite3_mprintf("%s: %s", function, text) : NULL;
    if (message != NULL) {
        sqlite3_result_error(context, message, -1);
    } else {
        sqlite3_result_error_nomem(context);
    }
    sqlite3_free(message);
    sqlite3_free(text);
}

void pt_result_error(sqlite3_context *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = sqlite3_vmprintf(format, args);
    va_end(args);
    fail_with_text(context, text);
}

void pt_argument_refuse(sqlite3_context *context, sqlite3_value *argument, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *reason = sqlite3_vmprintf(format, args);
    va_end(args);
    char *value = describe_argument(argument);
    bool complete = reason != NULL && value != NULL;
    fail_with_text(context, complete ? sqlite3_mprintf("%s %s", value, reason) : NULL);
    sqlite3_free(reason);
    sqlite3_free(value);
}

void pt_result_text(sqlite3_context *context, pt_buffer *buffer)
{
    if (buffer->failed) {
        sqlite3_result_error_nomem(context);
    } else if (buffer->size == 0) {
        sqlite3_result_text(context, "", 0, SQLITE_STATIC);
    } else {
        sqlite3_result_text64(context, (const char *)buffer->data, buffer->size, sqlite3_free,
                              SQLITE_UTF8);
        buffer->data = NULL;
    }
    pt_buffer_free(buffer);
}
