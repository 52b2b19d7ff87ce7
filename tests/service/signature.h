/*
 * Decides if a request may be performed. SharedKeyLite is checked. A shared access signature or a
 * token only has to be there.
 */
#ifndef TESTS_SERVICE_SIGNATURE_H
#define TESTS_SERVICE_SIGNATURE_H

#include "service/address.h"

/* True if the request is authorized; otherwise the reply says why not. */
bool signature_check(const service *served, request *asked, const address *named, reply *given);

#endif
