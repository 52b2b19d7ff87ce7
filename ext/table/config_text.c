#include "table/config_text.h"

#include <stdarg.h>

#include "base/sqlite.h"
#include "base/text.h"

int pt_config_refuse(pt_config_reading *reading, const char *advice, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *what = sqlite3_vmprintf(format, args);
    va_end(args);
    if (what == NULL) {
        return pt_error_nomem(reading->error);
    }
    int rc = pt_error_set(reading->error, SQLITE_ERROR, "%s in argument \"%s\"; %s", what,
                          reading->argument, advice);
    sqlite3_free(what);
    return rc;
}

static bool is_argument_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || pt_is_digit((uint8_t)c) ||
           c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

const char *pt_config_skip_blanks(const char *text)
{
    while (is_argument_blank(*text)) {
        text++;
    }
    return text;
}

size_t pt_config_name_length(const char *text)
{
    size_t length = 0;
    while (is_name_character(text[length])) {
        length++;
    }
    return length;
}

pt_slice pt_config_trimmed(const char *text)
{
    size_t size = strlen(text);
    while (size > 0 && is_argument_blank(text[size - 1])) {
        size--;
    }
    return pt_slice_of(text, size);
}

int pt_config_copy(pt_config_reading *reading, pt_slice text, char **copy)
{
    *copy = sqlite3_malloc64(text.size + 1);
    if (*copy == NULL) {
        pt_error_nomem(reading->error);
        return SQLITE_NOMEM;
    }
    memcpy(*copy, text.data, text.size);
    (*copy)[text.size] = 0;
    return SQLITE_OK;
}

char pt_config_closing_quote(char c)
{
    if (c == '[') {
        return ']';
    }
    return c == '"' || c == '`' || c == '\'' ? c : 0;
}

int pt_config_read_quoted(pt_config_reading *reading, const char **cursor, char **text)
{
    char close = pt_config_closing_quote(**cursor);
    const char *from = *cursor + 1;
    int rc = pt_config_copy(reading, pt_slice_text(from), text);
    if (rc != SQLITE_OK) {
        return rc;
    }
    char *to = *text;
    while (*from != 0 && (*from != close || (from[1] == close && close != ']'))) {
        from += *from == close ? 1 : 0;
        *to++ = *from++;
    }
    *to = 0;
    if (*from == 0) {
        return pt_config_refuse(reading, "close it", "unclosed quote");
    }
    *cursor = from + 1;
    return SQLITE_OK;
}

int pt_config_read_name(pt_config_reading *reading, const char **cursor, char **name)
{
    if (pt_config_closing_quote(**cursor) != 0) {
        int rc = pt_config_read_quoted(reading, cursor, name);
        if (rc == SQLITE_OK && **name == 0) {
            return pt_config_refuse(reading, "give the column a name", "empty name");
        }
        return rc;
    }
    size_t length = pt_is_digit((uint8_t) * *cursor) ? 0 : pt_config_name_length(*cursor);
    if (length == 0) {
        return pt_config_refuse(
            reading,
            "write a column as Name or Name Type, an option as option=value; a name that "
            "is not just letters, digits and _ needs quotes",
            "no name");
    }
    pt_slice bare = pt_slice_of(*cursor, length);
    *cursor += length;
    return pt_config_copy(reading, bare, name);
}
