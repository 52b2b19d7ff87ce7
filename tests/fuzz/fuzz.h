/*
 * What the fuzzers share: taking an input apart, and saying what does not hold.
 *
 * A fuzzer is a function of some bytes that ends the process when something is wrong. Built with
 * LIBFUZZER it is driven by libFuzzer; otherwise it is a test that replays its corpus (replay.h).
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must_hold(bool holds, const char *what)
{
    if (!holds) {
        printf("# does not hold: %s\n", what);
        fflush(stdout);
        abort();
    }
}

/* An input that is read from its beginning; behind its end all is 0. */
typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input;

static inline fuzz_input fuzz_input_of(const uint8_t *data, size_t size)
{
    return (fuzz_input){.at = data, .left = size};
}

static inline uint8_t take_byte(fuzz_input *input)
{
    if (input->left == 0) {
        return 0;
    }
    input->left--;
    return *input->at++;
}

static inline unsigned take_below(fuzz_input *input, unsigned limit)
{
    unsigned number = take_byte(input);
    if (limit > 256) {
        number = number << 8 | take_byte(input);
    }
    return number % limit;
}

static inline uint64_t take_64_bits(fuzz_input *input)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) {
        bits = bits << 8 | take_byte(input);
    }
    return bits;
}

/* So many bytes, or fewer at the end. */
static inline pt_slice take_bytes(fuzz_input *input, size_t size)
{
    size = size < input->left ? size : input->left;
    pt_slice bytes = pt_slice_of(input->at, size);
    input->at += size;
    input->left -= size;
    return bytes;
}

/* A copy of exactly these bytes, so that a sanitizer sees every stray access; free() frees it. */
static inline uint8_t *exact_copy(pt_slice bytes)
{
    uint8_t *copy = malloc(bytes.size != 0 ? bytes.size : 1);
    must_hold(copy != NULL, "there is memory");
    if (bytes.size != 0) {
        memcpy(copy, bytes.data, bytes.size);
    }
    return copy;
}

static inline int sign(int number)
{
    return (number > 0) - (number < 0);
}

#include "fuzz/replay.h"

#endif
