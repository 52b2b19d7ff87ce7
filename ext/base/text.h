/*
 * Text: words, UTF-8, excerpts for messages, hexadecimal digits and base64.
 */
#ifndef PT_BASE_TEXT_H
#define PT_BASE_TEXT_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/sqlite.h"

static inline bool pt_is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Of ASCII. */
static inline bool pt_is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of ASCII. */
static inline uint8_t pt_lower_case(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* RFC 3986: a character that an URL need not escape. */
static inline bool pt_is_unreserved(uint8_t c)
{
    return pt_is_letter(c) || pt_is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

/* The value of a hexadecimal digit; -1 for other characters. */
int pt_hex_digit(uint8_t c);

/* True if the text is the word, in any case of the ASCII letters. */
static inline bool pt_is_word(pt_slice text, const char *word)
{
    return text.size == strlen(word) &&
           sqlite3_strnicmp((const char *)text.data, word, (int)text.size) == 0;
}

/* --- UTF-8 --- */

enum { PT_UTF8_SIZE_MAX = 4 }; /* bytes of a character */

/* pt_utf8_size of a character that is not ASCII. */
size_t pt_utf8_long_size(pt_slice text);

/* Bytes of the character at the start of a text, which is not empty; 0 if it is not UTF-8. */
static inline size_t pt_utf8_size(pt_slice text)
{
    return text.data[0] < 0x80 ? 1 : pt_utf8_long_size(text);
}

/* The code point of a character of `size` bytes. */
uint32_t pt_utf8_decode(const uint8_t *bytes, size_t size);

/* Writes the 1 to PT_UTF8_SIZE_MAX bytes of a code point and returns their end. */
uint8_t *pt_utf8_put(uint8_t *to, uint32_t code_point);

/* --- Excerpts --- */

enum { PT_EXCERPT_CHARACTERS = 40, PT_EXCERPT_SIZE = 4 * PT_EXCERPT_CHARACTERS + 4 };

/*
 * Writes the start of a text for an error message: at most PT_EXCERPT_CHARACTERS characters and a
 * NUL. Stops before U+0000. Writes "..." if it left something out, '?' for each byte that is not
 * UTF-8, and a control character as \x0a.
 */
void pt_excerpt(pt_slice text, char excerpt[PT_EXCERPT_SIZE]);

/* --- Base64, as in RFC 4648 section 4: with + and /, padded, without line breaks --- */

void pt_base64_append(pt_buffer *buffer, pt_slice bytes);

/*
 * Decodes into `bytes`, which needs room for text.size / 4 * 3 bytes and may be the memory of the
 * text itself. Ignores the bits of the last digit that belong to no byte, as other decoders do.
 * Returns false for other characters, blanks, and missing or misplaced padding. Then it has written
 * nothing.
 */
bool pt_base64_decode(pt_slice text, uint8_t *bytes, size_t *size);

/* True for the blanks that SQL skips. */
static inline bool pt_is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* True for a character of a name that needs no quotes in SQL. */
static inline bool pt_is_name_character(uint8_t c)
{
    return pt_is_letter(c) || pt_is_digit(c) || c == '_' || c == '$' || c >= 0x80;
}

/* The text without blanks at its end, or on both sides. */
pt_slice pt_without_trailing_blanks(pt_slice text);
pt_slice pt_without_blanks(pt_slice text);

#endif
