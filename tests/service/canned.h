/*
 * Replies that are given without looking, for benchmarks of clients: the first reply to each GET is
 * kept and given again, and batches are accepted without being performed. Nobody is authorized.
 */
#ifndef TESTS_SERVICE_CANNED_H
#define TESTS_SERVICE_CANNED_H

#include "service/service.h"

enum { CANNED_SLOTS = 8192 };

typedef struct canned_reply canned_reply;

typedef struct canned {
    bool is_on;
    canned_reply *replies[CANNED_SLOTS]; /* by a hash of the target */
} canned;

/* False: there is no reply to this request, which must be performed. */
bool canned_answer(const canned *kept, service *served, request *asked, reply *given);

/* Keeps the reply to a request that was performed. */
void canned_keep(canned *kept, const request *asked, const reply *given);

#endif
