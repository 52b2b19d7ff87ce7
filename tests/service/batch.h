/*
 * Entity group transactions: POST /$batch.
 */
#ifndef TESTS_SERVICE_BATCH_H
#define TESTS_SERVICE_BATCH_H

#include "service/service.h"

void batch_perform(service *served, request *asked, reply *given);

/* Makes the reply that of a batch whose first operation is refused, without performing it. */
void batch_refuse(service *served, request *asked, reply *given, const char *code);

/* Makes the reply that of a batch whose operations are done, without performing it. */
void batch_accept(service *served, request *asked, reply *given, int count);

#endif
