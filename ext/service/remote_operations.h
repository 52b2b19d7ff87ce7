/*
 * The operations on entities that a transaction has collected and the service has not got yet.
 */
#ifndef PT_SERVICE_REMOTE_OPERATIONS_H
#define PT_SERVICE_REMOTE_OPERATIONS_H

#include "base/buffer.h"
#include "table/write_request.h"

typedef struct pt_remote_operation {
    pt_write_mode mode;
    bool quiet;    /* of an UPDATE or DELETE: another version of the entity ends the transaction */
    bool may_lack; /* a delete of an entity that need not exist */
    pt_slice partition;
    pt_slice row;
    pt_slice etag; /* for If-Match: "*", or the version that must be there; no data: no condition */
    pt_slice body; /* the entity as JSON; not of a delete */
} pt_remote_operation;

typedef struct pt_kept_operation {
    pt_remote_operation operation; /* its slices have a size only: their bytes move with `texts` */
    size_t start;                  /* of partition, row, etag and body in `texts` */
} pt_kept_operation;

/* All zeros before its first use. */
typedef struct pt_remote_operations {
    pt_kept_operation *kept;
    size_t count;
    size_t capacity;
    bool disordered; /* false: by ascending keys, each entity once, as loads mostly write */
    pt_buffer texts;
} pt_remote_operations;

/* Copies an operation to the end of the list. False when out of memory; then nothing has changed.
 */
bool pt_remote_operations_add(pt_remote_operations *list, const pt_remote_operation *operation);

/* The operation at a place, valid until the list changes. */
pt_remote_operation pt_remote_operations_at(const pt_remote_operations *list, size_t place);

/* *place is that of the operation on an entity. False if there is none. */
bool pt_remote_operations_find(const pt_remote_operations *list, pt_slice partition, pt_slice row,
                               size_t *place);

/* True if there is an operation on an entity, with this ETag if it has data. */
bool pt_remote_operations_have(const pt_remote_operations *list, pt_slice partition, pt_slice row,
                               pt_slice etag);

void pt_remote_operations_remove(pt_remote_operations *list, size_t place);

/* Forgets the operations from a place on. */
void pt_remote_operations_cut(pt_remote_operations *list, size_t count);

void pt_remote_operations_free(pt_remote_operations *list);

#endif
