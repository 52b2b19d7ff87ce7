/*
 * For tests: which ways rows go. Beside the general way of reading and writing a row there are
 * quick ones: conditions judged in the scan, rows opened as the last one was, rows inserted as the
 * last one was, leaf pages walked without LMDB, writes put into a file. Each must give what the
 * general way gives. Builds with PT_DEBUG, or PT_WAYS alone, take PTABLE_WAYS of the environment:
 *
 *     general   none of the quick ways
 *     quick     also those that are worth it for large transactions only
 *
 * PTABLE_LOG says when small commits go to a log (lmdb/log.h):
 *
 *     never
 *     always    from the first commit on
 *     random    from the first commit on, and it is written to LMDB's tree at random moments
 *
 * Released libraries know neither.
 */
#ifndef PT_BASE_WAYS_H
#define PT_BASE_WAYS_H

#include <stdbool.h>

#if defined(PT_DEBUG) || defined(PT_WAYS)

#include <stdlib.h>
#include <string.h>

static inline bool pt_ways_are(const char *variable, const char *wanted)
{
    const char *ways = getenv(variable);
    return ways != NULL && strcmp(ways, wanted) == 0;
}

#define PT_WAYS_ARE_GENERAL pt_ways_are("PTABLE_WAYS", "general")
#define PT_WAYS_ARE_QUICK pt_ways_are("PTABLE_WAYS", "quick")
#define PT_WAYS_LOG_NEVER pt_ways_are("PTABLE_LOG", "never")
#define PT_WAYS_LOG_RANDOM pt_ways_are("PTABLE_LOG", "random")
#define PT_WAYS_LOG_ALWAYS (pt_ways_are("PTABLE_LOG", "always") || PT_WAYS_LOG_RANDOM)

#else

/* Constants, so that nothing is left of the branches that they decide. */
#define PT_WAYS_ARE_GENERAL false
#define PT_WAYS_ARE_QUICK false
#define PT_WAYS_LOG_NEVER false
#define PT_WAYS_LOG_RANDOM false
#define PT_WAYS_LOG_ALWAYS false

#endif

#endif
