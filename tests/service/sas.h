/*
 * Shared access signatures of tables, judged as the service does. The tokens of an account only
 * have to be there, with anything as signature.
 */
#ifndef TESTS_SERVICE_SAS_H
#define TESTS_SERVICE_SAS_H

#include "service/address.h"

/*
 * Judges the token of a request that has no other authorization. NULL: it is fine, and limits what
 * the request may do; otherwise the code of the refusal.
 */
const char *sas_judge(service *served, request *asked, const address *named);

/* True if the request's token, if it has one, gives these rights on an entity, or on a table if the
 * keys are NULL. */
bool sas_allows(const service *served, const char *rights, const char *partition_key,
                const char *row_key);

#endif
