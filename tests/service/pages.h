/*
 * Queries, page by page. With a seed, pages are cut at random and continue in every form that the
 * service has.
 */
#ifndef TESTS_SERVICE_PAGES_H
#define TESTS_SERVICE_PAGES_H

#include "service/address.h"

/* Registers the order of keys: UTF-16 units. */
void pages_prepare(const service *served);

/* GET /T() */
void pages_perform(service *served, request *asked, const address *named, reply *given);

#endif
