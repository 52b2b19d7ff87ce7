#include "service/key_guess.h"

#include "base/text.h"
#include "service/query_text.h"

enum {
    FIRST_SURROGATE = 0xD800,
    CONTROLS = 0x7F, /* more control characters, which keys do not have: from here */
    AFTER_CONTROLS = 0xA0,
    PAGES = 4, /* in a range that is worth dividing */
};

/* --- Characters --- */

/* The character of a key that begins at a byte; 0 at its end. Bytes that are no text are greater
 * than every character that a guess may have, or less if they are control characters. */
static uint32_t character_at(pt_slice key, size_t at)
{
    if (at >= key.size) {
        return 0;
    }
    pt_slice rest = pt_slice_of(key.data + at, key.size - at);
    size_t size = pt_utf8_size(rest);
    uint32_t found = size != 0 ? pt_utf8_decode(rest.data, size) : FIRST_SURROGATE;
    return found < FIRST_SURROGATE ? found : FIRST_SURROGATE;
}

/* The last character of the same kind: keys that have the one in a place may have the other there.
 */
static uint32_t last_of_kind(uint32_t character)
{
    enum { BLOCK = 0x80, IDEOGRAPHS = 0x3000, AFTER_IDEOGRAPHS = 0xA000 };
    uint32_t c = character;
    if (c < CONTROLS) {
        return pt_is_digit((uint8_t)c)    ? '9'
               : c >= 'A' && c <= 'Z'     ? 'Z'
               : pt_is_letter((uint8_t)c) ? 'z'
                                          : c;
    }
    return c < IDEOGRAPHS         ? c | (BLOCK - 1)
           : c < AFTER_IDEOGRAPHS ? AFTER_IDEOGRAPHS - 1
                                  : FIRST_SURROGATE - 1;
}

/* --- Guesses --- */

/* Where two keys differ: the first byte of a character. */
static size_t find_difference(pt_slice a, pt_slice b)
{
    size_t least = a.size < b.size ? a.size : b.size;
    size_t at = 0;
    while (at < least && a.data[at] == b.data[at]) {
        at++;
    }
    while (at > 0 && at < b.size && (b.data[at] & 0xC0) == 0x80) {
        at--;
    }
    return at;
}

/* The guess is the beginning of a key with another character after it. */
static bool set_guess(pt_key_guess *guess, pt_slice key, size_t size, uint32_t character)
{
    if (size + PT_UTF8_SIZE_MAX > sizeof guess->text) {
        return false;
    }
    if (size != 0) {
        memcpy(guess->text, key.data, size);
    }
    guess->size = (size_t)(pt_utf8_put(guess->text + size, character) - guess->text);
    guess->leap = false;
    return true;
}

typedef struct progress {
    pt_slice last;
    size_t moved;  /* where the last key differs from the one before */
    uint32_t step; /* from the one character there to the other */
} progress;

/* Guesses in the middle of the characters of its kind that may follow one of the last key's. */
static bool guess_of_kind(const progress *p, size_t at, pt_key_guess *guess)
{
    uint32_t character = character_at(p->last, at);
    uint32_t room = last_of_kind(character) - character;
    uint32_t least = at == p->moved ? PAGES * p->step : 1;
    return room >= least && set_guess(guess, p->last, at, character + (room + 1) / 2);
}

/*
 * Guesses where nothing is known of the end but the bytes before `from`, which the last key has,
 * too, and a character there that is of another kind. Near the last key at first, then farther
 * away.
 */
static bool guess_towards(const progress *p, size_t from, uint32_t after, pt_key_guess *guess)
{
    for (size_t at = p->moved + 1; at-- > from;) {
        if ((p->last.data[at] & 0xC0) != 0x80 && guess_of_kind(p, at, guess)) {
            return true;
        }
    }
    uint32_t other = last_of_kind(character_at(p->last, from)) + 1;
    other = other == CONTROLS ? AFTER_CONTROLS : other;
    bool found = other < after && set_guess(guess, p->last, from, other);
    guess->leap = found;
    return found;
}

/* Guesses between the last key and an end that differs in a character of the same kind. */
static bool guess_between(const progress *p, size_t from, uint32_t after, pt_key_guess *guess)
{
    uint32_t low = character_at(p->last, from);
    if (from == p->moved && after < low + PAGES * p->step) {
        return false;
    }
    if (after > low + 1) {
        return set_guess(guess, p->last, from, low + (after - low) / 2);
    }
    bool found = false;
    for (size_t at = from + 1; !found && at <= p->moved; at++) {
        found = (p->last.data[at] & 0xC0) != 0x80 && guess_of_kind(p, at, guess);
    }
    return found;
}

bool pt_key_guess_make(pt_slice before, pt_slice last, pt_slice end, pt_key_guess *guess)
{
    progress p = {.last = last, .moved = find_difference(before, last)};
    if (p.moved >= pt_query_alike_size(last)) {
        return false; /* the keys do not rise, or in characters that no guess may have */
    }
    uint32_t from = character_at(before, p.moved);
    uint32_t to = character_at(last, p.moved);
    p.step = to > from ? to - from : 1;
    size_t at = end.data != NULL ? find_difference(end, last) : 0;
    uint32_t after = end.data != NULL ? character_at(end, at) : FIRST_SURROGATE;
    if (at > p.moved) {
        return false; /* less than a page is left, as it seems */
    }
    return after > last_of_kind(character_at(last, at)) ? guess_towards(&p, at, after, guess)
                                                        : guess_between(&p, at, after, guess);
}
