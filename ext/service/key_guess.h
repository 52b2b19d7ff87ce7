/*
 * Where to divide a range of keys of which only the beginning is known. A guess is a text between
 * the last key that was read and the end of the range. It has only characters that compare alike
 * for the service and for SQLite (service/query_text.h), so both agree on which side a key is.
 */
#ifndef PT_SERVICE_KEY_GUESS_H
#define PT_SERVICE_KEY_GUESS_H

#include "base/bytes.h"

enum { PT_KEY_GUESS_MAX = 128 }; /* bytes; a request has up to three for each */

typedef struct pt_key_guess {
    uint8_t text[PT_KEY_GUESS_MAX];
    size_t size;
    bool leap; /* keys of another kind are expected there, if any: letters after digits */
} pt_key_guess;

/*
 * Guesses. `last` is the last key that was read, and `before` the last key a page earlier: their
 * difference tells how fast keys rise. `end` is where the range ends, data NULL: nowhere. False if
 * there is no guess that leaves both sides some pages.
 */
bool pt_key_guess_make(pt_slice before, pt_slice last, pt_slice end, pt_key_guess *guess);

#endif
