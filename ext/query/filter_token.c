#include "query/filter_token.h"

#include <stdarg.h>

#include "base/number.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"

/* --- Characters --- */

/* The byte at a position, or 0 after the end. */
static uint8_t byte_at(const pt_filter_lexer *lexer, size_t at)
{
    return at < lexer->filter.size ? lexer->filter.data[at] : 0;
}

static bool is_blank_character(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool begins_word(uint8_t c)
{
    return pt_is_letter(c) || c == '_' || c >= 0x80;
}

static bool is_in_word(uint8_t c)
{
    return begins_word(c) || pt_is_digit(c);
}

/*
 * True for a blank or quote that word processors write instead of the ASCII one. It is never part
 * of a name: U+00A0, U+2000 to U+200A, U+2018 to U+201F, U+202F, U+3000, U+FEFF.
 */
static bool is_lookalike(const pt_filter_lexer *lexer, size_t at)
{
    uint32_t two = (uint32_t)byte_at(lexer, at) << 8 | byte_at(lexer, at + 1);
    uint32_t three = two << 8 | byte_at(lexer, at + 2);
    return two == 0xC2A0 || (three >= 0xE28080 && three <= 0xE2808A) ||
           (three >= 0xE28098 && three <= 0xE2809F) || three == 0xE280AF || three == 0xE38080 ||
           three == 0xEFBBBF;
}

/* The end of the word that `at` is in. */
static size_t skip_word(const pt_filter_lexer *lexer, size_t at)
{
    while (is_in_word(byte_at(lexer, at)) && !is_lookalike(lexer, at)) {
        at++;
    }
    return at;
}

/* --- Errors --- */

static sqlite3_int64 utf16_position(const pt_filter_lexer *lexer, const uint8_t *at)
{
    sqlite3_int64 units = 0;
    for (const uint8_t *byte = lexer->filter.data; byte < at; byte++) {
        bool continues = (*byte & 0xC0) == 0x80;
        units += continues ? 0 : *byte >= 0xF0 ? 2 : 1;
    }
    return units;
}

int pt_filter_syntax_error(const pt_filter_lexer *lexer, const uint8_t *at, pt_error *error,
                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *what = sqlite3_vmprintf(format, args);
    va_end(args);
    if (what == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_error_set(error, SQLITE_ERROR,
                          "Filter: syntax error at position %lld (counted from 0): %s "
                          "(InvalidInput)",
                          utf16_position(lexer, at), what);
    sqlite3_free(what);
    return rc;
}

/* The token is a malformed constant. `rule`, or NULL, is the rule that it breaks. `remedy` says how
 * to write it. */
static int refuse_constant_for(const pt_filter_lexer *lexer, const pt_filter_token *token,
                               const char *rule, const char *remedy, pt_error *error)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(token->text, excerpt);
    return pt_filter_syntax_error(lexer, token->text.data, error, "%s is not a constant%s%s; %s",
                                  excerpt, rule != NULL ? ": " : "", rule != NULL ? rule : "",
                                  remedy);
}

static int refuse_constant(const pt_filter_lexer *lexer, const pt_filter_token *token,
                           const char *remedy, pt_error *error)
{
    return refuse_constant_for(lexer, token, NULL, remedy, error);
}

/* --- Numbers --- */

static size_t skip_number_digits(const pt_filter_lexer *lexer, size_t at)
{
    while (pt_is_digit(byte_at(lexer, at))) {
        at++;
    }
    return at;
}

/* The end of the fraction and exponent that begin at `at`. `at` itself if there is neither. */
static size_t skip_fraction(const pt_filter_lexer *lexer, size_t at)
{
    if (byte_at(lexer, at) == '.' && pt_is_digit(byte_at(lexer, at + 1))) {
        at = skip_number_digits(lexer, at + 1);
    }
    if ((byte_at(lexer, at) | 0x20) == 'e') {
        uint8_t sign = byte_at(lexer, at + 1);
        size_t digits = at + (sign == '+' || sign == '-' ? 2 : 1);
        if (pt_is_digit(byte_at(lexer, digits))) {
            at = skip_number_digits(lexer, digits);
        }
    }
    return at;
}

/*
 * An integer without L is an Int32. The service refuses one that does not fit into 32 bits, and so
 * do we: as an Int64 it would be greater than every Int32.
 */
static bool integer_value(pt_slice digits, bool is_long, pt_value *value)
{
    value->type = is_long ? PT_INT64 : PT_INT32;
    return pt_integer_parse(digits, &value->integer) &&
           (is_long || (value->integer >= INT32_MIN && value->integer <= INT32_MAX));
}

static bool double_value(pt_slice digits, pt_value *value)
{
    value->type = PT_DOUBLE;
    return pt_double_parse(digits, &value->real);
}

static int read_number(pt_filter_lexer *lexer, pt_filter_token *token, pt_error *error)
{
    const uint8_t *start = lexer->filter.data + lexer->at;
    size_t sign = *start == '-' ? 1 : 0;
    size_t point = skip_number_digits(lexer, lexer->at + sign);
    size_t end = skip_fraction(lexer, point);
    pt_slice digits = pt_slice_of(start, end - lexer->at);
    uint8_t suffix = byte_at(lexer, end) | 0x20;
    size_t word_end = skip_word(lexer, end);
    token->kind = PT_TOKEN_CONSTANT;
    token->text = pt_slice_of(start, word_end - lexer->at);
    lexer->at = word_end;
    bool whole = end == point;
    bool understood = false;
    if (word_end == end) {
        understood = whole ? integer_value(digits, false, &token->value)
                           : double_value(digits, &token->value);
    } else if (word_end == end + 1) {
        understood = (suffix == 'l' && whole && integer_value(digits, true, &token->value)) ||
                     (suffix == 'd' && double_value(digits, &token->value));
    }
    return understood ? SQLITE_OK
                      : refuse_constant(lexer, token,
                                        "write 3 for an Int32, 3L for an Int64 (always beyond 32 "
                                        "bits), 3.0 or 3e0 for a Double",
                                        error);
}

/* --- Constants in quotes --- */

/* Reads from the opening to the closing quote. `content` is the text between them as written, with
 * quotes still doubled. */
static int read_quoted(pt_filter_lexer *lexer, pt_slice *content, pt_error *error)
{
    size_t start = lexer->at + 1;
    size_t at = start;
    for (; at < lexer->filter.size; at++) {
        if (lexer->filter.data[at] == '\'') {
            if (byte_at(lexer, at + 1) != '\'') {
                *content = pt_slice_of(lexer->filter.data + start, at - start);
                lexer->at = at + 1;
                return SQLITE_OK;
            }
            at++;
        }
    }
    return pt_filter_syntax_error(lexer, lexer->filter.data + lexer->at, error,
                                  "the text that begins here has no closing '; write a ' inside it "
                                  "twice");
}

static int string_value(pt_filter_lexer *lexer, pt_slice content, pt_value *value, pt_error *error)
{
    uint8_t *text = pt_arena_alloc(lexer->arena, content.size + 1);
    if (text == NULL) {
        return pt_error_nomem(error);
    }
    size_t size = 0;
    for (size_t i = 0; i < content.size; i++) {
        text[size++] = content.data[i];
        i += content.data[i] == '\'' ? 1 : 0;
    }
    text[size] = 0;
    *value = (pt_value){.type = PT_STRING, .bytes = pt_slice_of(text, size)};
    return SQLITE_OK;
}

static int binary_value(pt_filter_lexer *lexer, const pt_filter_token *token, pt_slice content,
                        pt_value *value, pt_error *error)
{
    uint8_t *bytes = pt_arena_alloc(lexer->arena, content.size / 2 + 1);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    bool understood = content.size % 2 == 0;
    for (size_t i = 0; understood && i < content.size; i += 2) {
        int high = pt_hex_digit(content.data[i]);
        int low = pt_hex_digit(content.data[i + 1]);
        understood = high >= 0 && low >= 0;
        bytes[i / 2] = (uint8_t)(understood ? high << 4 | low : 0);
    }
    *value = (pt_value){.type = PT_BINARY, .bytes = pt_slice_of(bytes, content.size / 2)};
    return understood ? SQLITE_OK
                      : refuse_constant(lexer, token,
                                        "write two hexadecimal digits for each byte, as in X'0a1b'",
                                        error);
}

static bool text_is(pt_slice slice, const char *text)
{
    return pt_slice_equal(slice, pt_slice_text(text));
}

/* The value of prefix'content'. */
static int prefixed_value(pt_filter_lexer *lexer, pt_filter_token *token, pt_slice prefix,
                          pt_slice content, pt_error *error)
{
    pt_value *value = &token->value;
    if (text_is(prefix, "X") || text_is(prefix, "x") || text_is(prefix, "binary")) {
        return binary_value(lexer, token, content, value, error);
    }
    if (text_is(prefix, "datetime")) {
        value->type = PT_DATETIME;
        return pt_ticks_parse(content, &value->integer)
                   ? SQLITE_OK
                   : refuse_constant_for(lexer, token, pt_type_broken_rule(PT_DATETIME, content),
                                         "write a time as datetime'2026-11-21T08:43:22.5484454Z'",
                                         error);
    }
    if (text_is(prefix, "guid")) {
        value->type = PT_GUID;
        return pt_guid_parse(content, value->guid)
                   ? SQLITE_OK
                   : refuse_constant_for(
                         lexer, token, pt_type_broken_rule(PT_GUID, content),
                         "write a Guid as guid'01234567-89ab-cdef-0123-456789abcdef'", error);
    }
    return refuse_constant(lexer, token, "only datetime, guid, X and binary may come before a '",
                           error);
}

/* --- Tokens --- */

static int read_string(pt_filter_lexer *lexer, pt_filter_token *token, pt_error *error)
{
    const uint8_t *start = lexer->filter.data + lexer->at;
    pt_slice content = {0};
    int rc = read_quoted(lexer, &content, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    token->kind = PT_TOKEN_CONSTANT;
    token->text = pt_slice_of(start, content.size + 2);
    return string_value(lexer, content, &token->value, error);
}

static int read_word(pt_filter_lexer *lexer, pt_filter_token *token, pt_error *error)
{
    const uint8_t *start = lexer->filter.data + lexer->at;
    lexer->at = skip_word(lexer, lexer->at);
    pt_slice word = pt_slice_of(start, (size_t)(lexer->filter.data + lexer->at - start));
    token->kind = PT_TOKEN_WORD;
    token->text = word;
    if (byte_at(lexer, lexer->at) != '\'') {
        return SQLITE_OK;
    }
    pt_slice content = {0};
    int rc = read_quoted(lexer, &content, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    token->kind = PT_TOKEN_CONSTANT;
    token->text = pt_slice_of(start, word.size + content.size + 2);
    return prefixed_value(lexer, token, word, content, error);
}

int pt_filter_next_token(pt_filter_lexer *lexer, pt_filter_token *token, pt_error *error)
{
    while (is_blank_character(byte_at(lexer, lexer->at))) {
        lexer->at++;
    }
    uint8_t c = byte_at(lexer, lexer->at);
    bool at_end = lexer->at == lexer->filter.size;
    *token = (pt_filter_token){.text = pt_slice_of(lexer->filter.data + lexer->at, !at_end)};
    if (at_end) {
        return SQLITE_OK;
    }
    if (c == 0) {
        return pt_filter_syntax_error(lexer, token->text.data, error,
                                      "U+0000 may stand only in a text between single quotes; "
                                      "leave it out");
    }
    if (c == '\'') {
        return read_string(lexer, token, error);
    }
    if (pt_is_digit(c) || (c == '-' && pt_is_digit(byte_at(lexer, lexer->at + 1)))) {
        return read_number(lexer, token, error);
    }
    if (is_lookalike(lexer, lexer->at)) {
        return pt_filter_syntax_error(
            lexer, token->text.data, error,
            "this blank or quote is not ASCII; write a plain blank, or '");
    }
    if (begins_word(c)) {
        return read_word(lexer, token, error);
    }
    token->kind = c == '(' ? PT_TOKEN_OPEN : c == ')' ? PT_TOKEN_CLOSE : PT_TOKEN_OTHER;
    lexer->at++;
    return SQLITE_OK;
}
