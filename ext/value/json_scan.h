/*
 * Scans the members of a flat JSON object, one by one. Strings are unescaped in place, and numbers
 * stay as they are written. SQLite's json_each would cut strings at U+0000 and round numbers.
 *
 * A text is scanned to its end only if it is JSON (RFC 8259, like json_valid), except that the
 * bytes of a string need not be UTF-8; control characters are refused. If the scan ends before, the
 * rest of the text is not checked.
 */
#ifndef PT_VALUE_JSON_SCAN_H
#define PT_VALUE_JSON_SCAN_H

#include "base/bytes.h"

typedef enum pt_json_kind {
    PT_JSON_NULL,
    PT_JSON_FALSE,
    PT_JSON_TRUE,
    PT_JSON_INTEGER, /* digits only */
    PT_JSON_REAL,    /* with point or exponent */
    PT_JSON_STRING,
    PT_JSON_NESTED, /* an object or array: the scan ends here */
} pt_json_kind;

typedef struct pt_json_token {
    pt_json_kind kind;
    uint8_t *data; /* of a string: unescaped, and a NUL follows; else the token as written */
    size_t size;
} pt_json_token;

typedef enum pt_json_step {
    PT_JSON_MEMBER,
    PT_JSON_END,
    PT_JSON_NO_OBJECT,
    PT_JSON_MALFORMED,
    PT_JSON_HALF_SURROGATE, /* \uD800 to \uDFFF without the other half, in a name or value */
} pt_json_step;

typedef struct pt_json_scan {
    uint8_t *at;
    uint8_t *end;
    bool begun;
    bool inner; /* the object is part of a longer text: PT_JSON_END leaves `at` after it */
} pt_json_scan;

/* `text` may be NULL when `size` is 0. */
static inline pt_json_scan pt_json_scan_of(uint8_t *text, size_t size)
{
    return (pt_json_scan){.at = text, .end = size != 0 ? text + size : text};
}

/*
 * Reads the next member. The scan ends with any result other than PT_JSON_MEMBER. For
 * PT_JSON_HALF_SURROGATE in a value, sets `name`; in a name, `name` is empty.
 */
pt_json_step pt_json_scan_next(pt_json_scan *scan, pt_slice *name, pt_json_token *value);

static inline pt_slice pt_json_token_text(const pt_json_token *token)
{
    return pt_slice_of(token->data, token->size);
}

#endif
