#include "table/declared_text.h"

#include <stdarg.h>

#include "base/sqlite.h"
#include "base/text.h"

int pt_declared_refuse(pt_declared_text *reading, const char *advice, const char *format, ...)
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

const char *pt_declared_skip_blanks(const char *text)
{
    while (pt_is_blank((uint8_t)*text)) {
        text++;
    }
    return text;
}

/* Bytes of the unquoted name at the start of a text. */
static size_t bare_name_length(const char *text)
{
    size_t length = 0;
    while (pt_is_name_character((uint8_t)text[length])) {
        length++;
    }
    return length;
}

int pt_declared_copy(pt_declared_text *reading, pt_slice text, char **copy)
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

char pt_declared_closing_quote(char c)
{
    if (c == '[') {
        return ']';
    }
    return c == '"' || c == '`' || c == '\'' ? c : 0;
}

int pt_declared_read_quoted(pt_declared_text *reading, const char **cursor, char **text)
{
    char close = pt_declared_closing_quote(**cursor);
    const char *from = *cursor + 1;
    int rc = pt_declared_copy(reading, pt_slice_text(from), text);
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
        return pt_declared_refuse(reading, "close it", "unclosed quote");
    }
    *cursor = from + 1;
    return SQLITE_OK;
}

int pt_declared_read_name(pt_declared_text *reading, const char **cursor, char **name)
{
    if (pt_declared_closing_quote(**cursor) != 0) {
        int rc = pt_declared_read_quoted(reading, cursor, name);
        if (rc == SQLITE_OK && **name == 0) {
            return pt_declared_refuse(reading, "give the column a name", "empty name");
        }
        return rc;
    }
    size_t length = pt_is_digit((uint8_t) * *cursor) ? 0 : bare_name_length(*cursor);
    if (length == 0) {
        return pt_declared_refuse(
            reading,
            "write a column as Name or Name Type, an option as option=value; a name that "
            "is not just letters, digits and _ needs quotes",
            "no name");
    }
    pt_slice bare = pt_slice_of(*cursor, length);
    *cursor += length;
    return pt_declared_copy(reading, bare, name);
}
