/*
 * The tokens of a filter (query/filter.h), with the values of constants.
 */
#ifndef PT_QUERY_FILTER_TOKEN_H
#define PT_QUERY_FILTER_TOKEN_H

#include "base/arena.h"
#include "base/error.h"
#include "entity/edm.h"

typedef enum pt_filter_token_kind {
    PT_TOKEN_END,
    PT_TOKEN_WORD, /* a property, keyword or function */
    PT_TOKEN_CONSTANT,
    PT_TOKEN_OPEN,
    PT_TOKEN_CLOSE,
    PT_TOKEN_OTHER, /* any other character */
} pt_filter_token_kind;

typedef struct pt_filter_token {
    pt_filter_token_kind kind;
    pt_slice text;  /* as written, inside the filter */
    pt_value value; /* of a CONSTANT; bytes are in the arena, a STRING's with a NUL after them */
} pt_filter_token;

typedef struct pt_filter_lexer {
    pt_slice filter; /* UTF-8 */
    size_t at;
    pt_arena *arena;
} pt_filter_lexer;

/* Reads the next token. SQLITE_NOMEM. SQLITE_ERROR for a malformed constant, for a blank or quote
 * that is not ASCII, and for U+0000 outside a text. */
int pt_filter_next_token(pt_filter_lexer *lexer, pt_filter_token *token, pt_error *error);

/*
 * Sets and returns SQLITE_ERROR with "Filter: syntax error at position N (counted from 0): ...
 * (InvalidInput)". `at` points into the filter. Positions count UTF-16 units, as the service's do.
 * The format is pt_error_set's.
 */
int pt_filter_syntax_error(const pt_filter_lexer *lexer, const uint8_t *at, pt_error *error,
                           const char *format, ...);

#endif
