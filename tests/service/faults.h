/*
 * Faults that the server makes at chosen requests.
 */
#ifndef TESTS_SERVICE_FAULTS_H
#define TESTS_SERVICE_FAULTS_H

#include "service/service.h"

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_DROP,     /* close the connection without performing the request */
    FAULT_LOSE,     /* perform it and close the connection without a reply */
    FAULT_CUT,      /* perform it and close the connection in the middle of the reply */
    FAULT_CLOSE,    /* reply, and then close the connection although the reply keeps it */
    FAULT_DELAY,    /* perform it and reply after `parameter` milliseconds */
    FAULT_BUSY,     /* 503 with Retry-After: `parameter`, without performing it */
    FAULT_THROTTLE, /* 429, inside a 202 for a batch, without performing it */
    FAULT_SPOIL,    /* perform it and reply with half of the body, which HTTP has as a whole */
    FAULT_PAGE,     /* a web page of a gateway with the status `parameter` (0: 200), without
                       performing it */
    FAULT_REDIRECT, /* 302 of a gateway to another server, without performing it */
} fault_kind;

typedef struct fault {
    fault_kind kind;
    uint64_t at;     /* the number of the request, from 1 on */
    bool from_there; /* also at all later ones */
    int64_t parameter;
} fault;

enum { FAULTS_MAX = 32 };

typedef struct faults {
    fault list[FAULTS_MAX];
    size_t count;
    uint64_t requests; /* so far */
} faults;

/*
 * Adds a fault written as "lose 3", "busy 2+ 1" (from the second on, Retry-After: 1) or "delay 1
 * 500". Numbers count from now on. False if it is written otherwise, or there are too many.
 */
bool faults_add(faults *all, const char *text);

/* Counts a request and answers which fault it meets. */
fault faults_next(faults *all);

#endif
