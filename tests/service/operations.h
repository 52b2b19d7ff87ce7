/*
 * Operations on one entity, alone or in a batch: a read by its keys, and writes.
 */
#ifndef TESTS_SERVICE_OPERATIONS_H
#define TESTS_SERVICE_OPERATIONS_H

#include "service/address.h"

/* /T, /T() and /T(PartitionKey='p',RowKey='r'), but not queries. */
void operations_perform(service *served, request *asked, const address *named, reply *given);

/* True if the reply's form is one that the service has; otherwise the reply refuses. */
bool operations_accept(const service *served, const request *asked, reply *given);

#endif
