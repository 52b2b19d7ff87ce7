/*
 * Numbers that look random and are the same again for the same seed: the generator SplitMix64.
 */
#ifndef TESTS_RANDOM_RANDOM_H
#define TESTS_RANDOM_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = *state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* A number from 0 to limit - 1. */
static inline unsigned random_below(uint64_t *state, unsigned limit)
{
    return (unsigned)(random_next(state) % limit);
}

#endif
