/*
 * What the environment tells a random test.
 */
#ifndef TESTS_RANDOM_ENVIRONMENT_H
#define TESTS_RANDOM_ENVIRONMENT_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline uint64_t number_from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    if (text == NULL || *text == 0) {
        return otherwise;
    }
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (errno != 0 || *end != 0) {
        printf("Bail out! %s='%s' is not a number\n", name, text);
        exit(1);
    }
    return number;
}

#endif
