/*
 * Entities in the service's JSON: out of bodies, and into replies.
 */
#ifndef TESTS_SERVICE_ENTITY_H
#define TESTS_SERVICE_ENTITY_H

#include "service/service.h"

/* What a body says. The data of a key that is not there is NULL. */
typedef struct entity {
    pt_slice partition_key;
    pt_slice row_key;
    pt_slice properties; /* JSON as a ptable's column Properties takes it */
} entity;

/* Reads a body. Answers NULL, or the code of the service's error. */
const char *entity_read(request *asked, pt_slice json, entity *read);

/* The members of $select. */
typedef struct selection {
    const char **names;
    size_t count; /* 0: all */
} selection;

selection selection_read(request *asked, const char *text);

/*
 * Appends an entity as the service writes it with minimal metadata. `json` comes from
 * pt_entity_json, and is overwritten. `metadata` comes first, or is NULL.
 */
void entity_write(const service *served, request *asked, pt_slice json, const char *etag,
                  const char *metadata, const selection *selected, pt_buffer *out);

/* Appends a JSON string. */
void json_append_string(pt_buffer *out, pt_slice text);

/* Reads the only member of an object that is a text; its data is NULL if it is not there. */
pt_slice json_member(request *asked, pt_slice json, const char *name);

#endif
