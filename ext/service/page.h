/*
 * Entities as the service sends them: a page of a query, or a single entity. Strings and keys stay
 * in the text of the reply, which the page takes over.
 */
#ifndef PT_SERVICE_PAGE_H
#define PT_SERVICE_PAGE_H

#include "base/buffer.h"
#include "base/error.h"
#include "entity/bag.h"

typedef struct pt_page_entity {
    pt_slice partition;
    pt_slice row;
    pt_slice etag; /* "" if it did not come */
    int64_t ticks; /* Timestamp; 0 if it did not come */
    size_t first;  /* its properties among those of the page */
    size_t count;
} pt_page_entity;

/* All zeros before its first use. */
typedef struct pt_page {
    pt_slice partition; /* of entities that come without their PartitionKey; data NULL: none may */
    pt_page_entity *entities;
    size_t count;
    size_t capacity;
    pt_field *fields; /* properties, as the service orders them */
    size_t field_count;
    size_t field_capacity;
    pt_buffer *texts; /* the replies' bodies */
    size_t text_count;
    size_t text_capacity;
} pt_page;

typedef enum pt_page_kind {
    PT_PAGE_OF_ENTITIES, /* {"value":[...]} */
    PT_PAGE_OF_TABLES,   /* the same, of tables: without keys */
    PT_PAGE_OF_ONE,      /* an entity by itself */
} pt_page_kind;

/*
 * Adds the entities of a reply to those that the page has, and takes its text over: `body` is then
 * empty. SQLITE_NOMEM; SQLITE_IOERR if it is not of this kind, with a text that names the property.
 */
int pt_page_add(pt_page *page, pt_buffer *body, pt_page_kind kind, pt_error *error);

/*
 * For a page with a continuation. `same`: it is that of the request. Empty pages may say so for a
 * while, if the service has not got any further; *repeats counts them. SQLITE_IOERR if reading
 * would never end, or give entities twice.
 */
int pt_page_check_progress(bool same, size_t entities, int *repeats, pt_error *error);

/* Empties the page and keeps the memory of its arrays. */
void pt_page_clear(pt_page *page);
void pt_page_free(pt_page *page);

/* The value of an entity's property, or NULL. *hint is where it was found in another entity, and
 * then in this one. */
const pt_value *pt_page_find(const pt_page *page, const pt_page_entity *entity, pt_slice name,
                             size_t *hint);

#endif
