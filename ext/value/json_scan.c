#include "value/json_scan.h"

#include "base/text.h"

static bool is_json_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_json_blanks(pt_json_scan *scan)
{
    while (scan->at < scan->end && is_json_blank(*scan->at)) {
        scan->at++;
    }
}

/* Skips blanks, and then the character if it comes next. */
static bool take_after_blanks(pt_json_scan *scan, char c)
{
    skip_json_blanks(scan);
    if (scan->at == scan->end || *scan->at != (uint8_t)c) {
        return false;
    }
    scan->at++;
    return true;
}

/* Reads the four hexadecimal digits of \uXXXX; -1 if they are not there. */
static int32_t code_unit(const uint8_t *at, const uint8_t *end)
{
    if (end - at < 4) {
        return -1;
    }
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = pt_hex_digit(at[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Reads what follows "\u". The second half of a surrogate pair must follow the first. */
static pt_json_step unescape_unicode(pt_json_scan *scan, uint8_t **to)
{
    int32_t code = code_unit(scan->at, scan->end);
    if (code < 0) {
        return PT_JSON_MALFORMED;
    }
    scan->at += 4;
    if (code >= 0xD800 && code <= 0xDFFF) {
        bool escaped = scan->end - scan->at >= 6 && scan->at[0] == '\\' && scan->at[1] == 'u';
        int32_t low = escaped ? code_unit(scan->at + 2, scan->end) : -1;
        if (code >= 0xDC00 || low < 0xDC00 || low > 0xDFFF) {
            return PT_JSON_HALF_SURROGATE;
        }
        scan->at += 6;
        code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
    }
    *to = pt_utf8_put(*to, (uint32_t)code); /* fewer bytes than the escape sequence has */
    return PT_JSON_MEMBER;
}

/* Reads what follows a backslash. */
static pt_json_step unescape_character(pt_json_scan *scan, uint8_t **to)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (scan->at == scan->end) {
        return PT_JSON_MALFORMED;
    }
    uint8_t letter = *scan->at++;
    if (letter == 'u') {
        return unescape_unicode(scan, to);
    }
    const char *found = letter != 0 ? strchr(letters, letter) : NULL;
    if (found == NULL) {
        return PT_JSON_MALFORMED;
    }
    *(*to)++ = (uint8_t)meanings[found - letters];
    return PT_JSON_MEMBER;
}

/* Reads what follows an opening quote. The NUL that is written after the string overwrites at most
 * the closing quote. */
static pt_json_step take_json_string(pt_json_scan *scan, pt_json_token *token)
{
    uint8_t *first = scan->at;
    uint8_t *to = first;
    while (scan->at < scan->end && *scan->at != '"') {
        if (*scan->at < ' ') {
            return PT_JSON_MALFORMED;
        }
        if (*scan->at != '\\') {
            *to++ = *scan->at++;
            continue;
        }
        scan->at++;
        pt_json_step step = unescape_character(scan, &to);
        if (step != PT_JSON_MEMBER) {
            return step;
        }
    }
    if (scan->at == scan->end) {
        return PT_JSON_MALFORMED;
    }
    scan->at++;
    *to = 0;
    *token = (pt_json_token){.kind = PT_JSON_STRING, .data = first, .size = (size_t)(to - first)};
    return PT_JSON_MEMBER;
}

static bool ends_json_word(uint8_t c)
{
    return is_json_blank(c) || c == ',' || c == '}';
}

static bool skip_json_digits(pt_slice word, size_t *at)
{
    size_t first = *at;
    while (*at < word.size && pt_is_digit(word.data[*at])) {
        (*at)++;
    }
    return *at != first;
}

static bool skip_one_of(pt_slice word, size_t *at, char a, char b)
{
    bool found = *at < word.size && (word.data[*at] == (uint8_t)a || word.data[*at] == (uint8_t)b);
    *at += found;
    return found;
}

/* True if the word is a number. Sets its kind. */
static bool is_json_number(pt_slice word, pt_json_kind *kind)
{
    size_t at = 0;
    *kind = PT_JSON_INTEGER;
    skip_one_of(word, &at, '-', '-');
    if (!skip_one_of(word, &at, '0', '0') && !skip_json_digits(word, &at)) {
        return false;
    }
    if (skip_one_of(word, &at, '.', '.')) {
        *kind = PT_JSON_REAL;
        if (!skip_json_digits(word, &at)) {
            return false;
        }
    }
    if (skip_one_of(word, &at, 'e', 'E')) {
        *kind = PT_JSON_REAL;
        skip_one_of(word, &at, '+', '-');
        if (!skip_json_digits(word, &at)) {
            return false;
        }
    }
    return at == word.size;
}

/* null, true, false or a number. */
static pt_json_step take_json_word(pt_json_scan *scan, pt_json_token *token)
{
    static const struct {
        const char *text;
        pt_json_kind kind;
    } literals[] = {{"null", PT_JSON_NULL}, {"false", PT_JSON_FALSE}, {"true", PT_JSON_TRUE}};
    uint8_t *first = scan->at;
    while (scan->at < scan->end && !ends_json_word(*scan->at)) {
        scan->at++;
    }
    *token = (pt_json_token){.data = first, .size = (size_t)(scan->at - first)};
    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
        if (pt_slice_equal(pt_json_token_text(token), pt_slice_text(literals[i].text))) {
            token->kind = literals[i].kind;
            return PT_JSON_MEMBER;
        }
    }
    return is_json_number(pt_json_token_text(token), &token->kind) ? PT_JSON_MEMBER
                                                                   : PT_JSON_MALFORMED;
}

static pt_json_step take_json_value(pt_json_scan *scan, pt_json_token *value)
{
    if (take_after_blanks(scan, '"')) {
        return take_json_string(scan, value);
    }
    if (take_after_blanks(scan, '{') || take_after_blanks(scan, '[')) {
        *value = (pt_json_token){.kind = PT_JSON_NESTED, .data = scan->at - 1, .size = 1};
        return PT_JSON_MEMBER;
    }
    return take_json_word(scan, value);
}

static pt_json_step take_json_member(pt_json_scan *scan, pt_slice *name, pt_json_token *value)
{
    pt_json_token string;
    if (!take_after_blanks(scan, '"')) {
        return PT_JSON_MALFORMED;
    }
    pt_json_step step = take_json_string(scan, &string);
    if (step != PT_JSON_MEMBER) {
        return step;
    }
    *name = pt_json_token_text(&string);
    return take_after_blanks(scan, ':') ? take_json_value(scan, value) : PT_JSON_MALFORMED;
}

static pt_json_step take_json_end(pt_json_scan *scan)
{
    if (scan->inner) {
        return PT_JSON_END;
    }
    skip_json_blanks(scan);
    return scan->at == scan->end ? PT_JSON_END : PT_JSON_MALFORMED;
}

pt_json_step pt_json_scan_next(pt_json_scan *scan, pt_slice *name, pt_json_token *value)
{
    *name = (pt_slice){0};
    if (!scan->begun) {
        if (!take_after_blanks(scan, '{')) {
            return PT_JSON_NO_OBJECT;
        }
        scan->begun = true;
        return take_after_blanks(scan, '}') ? take_json_end(scan)
                                            : take_json_member(scan, name, value);
    }
    if (take_after_blanks(scan, '}')) {
        return take_json_end(scan);
    }
    return take_after_blanks(scan, ',') ? take_json_member(scan, name, value) : PT_JSON_MALFORMED;
}
