/*
 * For tests: which ways rows go. Beside the general way of reading and writing a row there are
 * quick ones: conditions judged in the scan, rows opened as the last one was, rows inserted as the
 * last one was, leaf pages walked without LMDB, writes put into a file. Each must give what the
 * general way gives. Builds with PT_DEBUG take PTABLE_WAYS of the environment:
 *
 *     general   none of the quick ways
 *     quick     also those that are worth it for large transactions only
 *
 * Released libraries do not know it.
 */
#ifndef PT_BASE_WAYS_H
#define PT_BASE_WAYS_H

#include <stdbool.h>

#ifdef PT_DEBUG

#include <stdlib.h>
#include <string.h>

static inline bool pt_ways_are(const char *wanted)
{
    const char *ways = getenv("PTABLE_WAYS");
    return ways != NULL && strcmp(ways, wanted) == 0;
}

#define PT_WAYS_ARE_GENERAL pt_ways_are("general")
#define PT_WAYS_ARE_QUICK pt_ways_are("quick")

#else

/* Constants, so that nothing is left of the branches that they decide. */
#define PT_WAYS_ARE_GENERAL false
#define PT_WAYS_ARE_QUICK false

#endif

#endif
