/*
 * Whether a text is JSON by RFC 8259, said without SQLite: 3.40 takes an object whose last member
 * is a string for the name of a member.
 */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include "base/bytes.h"

enum { JSON_TEXT_DEPTH = 500 };

typedef struct json_text {
    const char *at;
    const char *end;
    int depth;
} json_text;

static inline bool json_text_value(json_text *text);

static inline bool json_text_sees(const json_text *text, const char *characters)
{
    return text->at < text->end && *text->at != 0 && strchr(characters, *text->at) != NULL;
}

static inline bool json_text_takes(json_text *text, const char *characters)
{
    bool sees = json_text_sees(text, characters);
    text->at += sees;
    return sees;
}

static inline void json_text_blanks(json_text *text)
{
    while (json_text_takes(text, " \t\r\n")) {
    }
}

static inline bool json_text_word(json_text *text, const char *word)
{
    size_t size = strlen(word);
    bool there = (size_t)(text->end - text->at) >= size && memcmp(text->at, word, size) == 0;
    text->at += there ? size : 0;
    return there;
}

static inline bool json_text_digits(json_text *text)
{
    bool any = false;
    while (json_text_takes(text, "0123456789")) {
        any = true;
    }
    return any;
}

static inline bool json_text_number(json_text *text)
{
    json_text_takes(text, "-");
    if (!json_text_takes(text, "0") && !json_text_digits(text)) {
        return false;
    }
    if (json_text_takes(text, ".") && !json_text_digits(text)) {
        return false;
    }
    if (json_text_takes(text, "eE")) {
        json_text_takes(text, "+-");
        return json_text_digits(text);
    }
    return true;
}

/* Behind the backslash. */
static inline bool json_text_escape(json_text *text)
{
    if (!json_text_takes(text, "u")) {
        return json_text_takes(text, "\"\\/bfnrt");
    }
    for (int i = 0; i < 4; i++) {
        if (!json_text_takes(text, "0123456789abcdefABCDEF")) {
            return false;
        }
    }
    return true;
}

static inline bool json_text_string(json_text *text)
{
    if (!json_text_takes(text, "\"")) {
        return false;
    }
    while (text->at < text->end && *text->at != '"') {
        if ((unsigned char)*text->at < ' ') {
            return false;
        }
        if (*text->at++ == '\\' && !json_text_escape(text)) {
            return false;
        }
    }
    return json_text_takes(text, "\"");
}

/* Behind the opening bracket. */
static inline bool json_text_members(json_text *text, bool named, const char *closing)
{
    json_text_blanks(text);
    if (json_text_takes(text, closing)) {
        return true;
    }
    do {
        json_text_blanks(text);
        if (named && !json_text_string(text)) {
            return false;
        }
        json_text_blanks(text);
        if ((named && !json_text_takes(text, ":")) || !json_text_value(text)) {
            return false;
        }
        json_text_blanks(text);
    } while (json_text_takes(text, ","));
    return json_text_takes(text, closing);
}

static inline bool json_text_value(json_text *text)
{
    json_text_blanks(text);
    if (json_text_sees(text, "\"")) {
        return json_text_string(text);
    }
    bool object = json_text_takes(text, "{");
    if (object || json_text_takes(text, "[")) {
        text->depth++;
        bool good =
            text->depth <= JSON_TEXT_DEPTH && json_text_members(text, object, object ? "}" : "]");
        text->depth--;
        return good;
    }
    return json_text_word(text, "null") || json_text_word(text, "true") ||
           json_text_word(text, "false") || json_text_number(text);
}

static inline bool is_json_text(pt_slice slice)
{
    json_text text = {.at = (const char *)slice.data, .end = (const char *)slice.data + slice.size};
    if (slice.size == 0 || !json_text_value(&text)) {
        return false;
    }
    json_text_blanks(&text);
    return text.at == text.end;
}

#endif
