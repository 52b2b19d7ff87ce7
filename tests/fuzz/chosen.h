/*
 * In the place of tests/random/random.h: numbers that are not random but chosen by the input. The
 * state is a position in it, so that a copy of the state gives the same choices again. Behind the
 * end all choices are 0: the first form of a rule, which leads no further.
 */
#ifndef TESTS_FUZZ_CHOSEN_H
#define TESTS_FUZZ_CHOSEN_H
#define TESTS_RANDOM_RANDOM_H /* so that its functions are not defined, too */

#include <stdint.h>

#include "fuzz/fuzz.h"

static pt_slice chosen; /* the input */

static inline uint64_t random_next(uint64_t *state)
{
    return *state < chosen.size ? chosen.data[(*state)++] : 0;
}

/* A number from 0 to limit - 1. */
static inline unsigned random_below(uint64_t *state, unsigned limit)
{
    uint64_t number = random_next(state);
    if (limit > 256) {
        number = number << 8 | random_next(state);
    }
    return (unsigned)(number % limit);
}

#endif
