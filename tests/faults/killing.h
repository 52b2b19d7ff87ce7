/*
 * Processes that acknowledge, by its number, each batch they have committed, until they are killed
 * at a random moment. The test sets `seed`.
 */
#ifndef TESTS_FAULTS_KILLING_H
#define TESTS_FAULTS_KILLING_H

#include <poll.h>
#include <time.h>

#include "fixtures/child.h"

enum { NS_PER_SECOND = 1000000000 };

static uint32_t seed;

static inline uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * limit >> 32);
}

static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

/* Reads acknowledgements until the time is over; returns the last one, or `before`. */
static inline int64_t read_acknowledged(const child *loader, int64_t before, int64_t until_ns)
{
    struct pollfd input = {.fd = loader->from, .events = POLLIN};
    int64_t left = until_ns - now_ns();
    while (left > 0) {
        const struct timespec timeout = {.tv_sec = left / NS_PER_SECOND,
                                         .tv_nsec = left % NS_PER_SECOND};
        if (ppoll(&input, 1, &timeout, NULL) == 1) {
            assert_true(read_all(loader->from, &before, sizeof before));
        }
        left = until_ns - now_ns();
    }
    return before;
}

/* The batches still in the pipe were acknowledged too. */
static inline int64_t read_rest(const child *killed, int64_t before)
{
    while (read_all(killed->from, &before, sizeof before)) {
    }
    return before;
}

/* Kills the loader within `longest_ns`; returns the last acknowledged batch, or `before`. */
static inline int64_t kill_at_random(child *loader, int64_t before, int64_t longest_ns)
{
    int64_t until = now_ns() + (int64_t)random_below((uint32_t)(longest_ns / 1000)) * 1000;
    int64_t acknowledged = read_acknowledged(loader, before, until);
    assert_int_equal(kill(loader->pid, SIGKILL), 0);
    acknowledged = read_rest(loader, acknowledged);
    int status = end_of_child(loader);
    assert_true(WIFSIGNALED(status));
    return acknowledged;
}

#endif
