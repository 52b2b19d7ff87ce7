/*
 * Addresses of the service: the tables and entities that URLs name, and query parameters.
 */
#ifndef TESTS_SERVICE_ADDRESS_H
#define TESTS_SERVICE_ADDRESS_H

#include "service/service.h"

typedef enum address_kind {
    ADDRESS_NONE,   /* not an address of the service */
    ADDRESS_TABLES, /* /Tables */
    ADDRESS_TABLE,  /* /Tables('T') */
    ADDRESS_ENTITIES,
    ADDRESS_ENTITY,
    ADDRESS_BATCH,
} address_kind;

typedef struct address {
    address_kind kind;
    const char *table;
    const char *partition_key;
    const char *row_key;
    pt_slice query;     /* as sent, behind the ? */
    bool other_account; /* the path begins with another account */
} address;

/* Reads a path with its query, as sent. */
address address_read(const service *served, request *asked, pt_slice target);

/* A query parameter, decoded; NULL if it is not there. */
const char *address_parameter(request *asked, const address *named, const char *name);

/* The path and query of an absolute URL; its data is NULL for another text. */
pt_slice address_of_url(pt_slice url);

/* The path, without query. */
pt_slice address_path(pt_slice target);

#endif
