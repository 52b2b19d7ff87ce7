#include "base/text.h"

#include <stdarg.h>

#include "base/sqlite.h"

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

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

const char *pt_config_skip_blanks(const char *text)
{
    while (is_blank(*text)) {
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
    while (size > 0 && is_blank(text[size - 1])) {
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
    size_t length = is_digit(**cursor) ? 0 : pt_config_name_length(*cursor);
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

/* --- Base64 --- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* `count` is 1 to 3. */
static void encode_group(const uint8_t *bytes, size_t count, uint8_t text[4])
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    bits |= count > 1 ? (uint32_t)bytes[1] << 8 : 0;
    bits |= count > 2 ? (uint32_t)bytes[2] : 0;
    for (unsigned i = 0; i < 4; i++) {
        text[i] = i <= count ? (uint8_t)alphabet[bits >> (18 - 6 * i) & 63] : '=';
    }
}

void pt_base64_append(pt_buffer *buffer, pt_slice bytes)
{
    uint8_t *text = pt_buffer_extend(buffer, (bytes.size + 2) / 3 * 4);
    if (text == NULL) {
        return;
    }
    for (size_t at = 0; at < bytes.size; at += 3) {
        size_t left = bytes.size - at;
        encode_group(bytes.data + at, left < 3 ? left : 3, text);
        text += 4;
    }
}

/* The six bits of a character, or -1. */
static int digit_bits(uint8_t c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t padding(pt_slice text)
{
    if (text.size == 0 || text.data[text.size - 1] != '=') {
        return 0;
    }
    return text.data[text.size - 2] == '=' ? 2 : 1;
}

static bool is_strict(pt_slice text, size_t digits)
{
    for (size_t i = 0; i < digits; i++) {
        if (digit_bits(text.data[i]) < 0) {
            return false;
        }
    }
    unsigned unused = digits % 4 == 2 ? 15 : digits % 4 == 3 ? 3 : 0;
    return unused == 0 || ((unsigned)digit_bits(text.data[digits - 1]) & unused) == 0;
}

bool pt_base64_decode(pt_slice text, uint8_t *bytes, size_t *size)
{
    if (text.size % 4 != 0) {
        return false;
    }
    size_t digits = text.size - padding(text);
    if (!is_strict(text, digits)) {
        return false;
    }
    size_t written = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < digits; i++) {
        bits = bits << 6 | (uint32_t)digit_bits(text.data[i]);
        if (i % 4 != 0) {
            bytes[written++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        }
    }
    *size = written;
    return true;
}
