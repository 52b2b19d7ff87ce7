/*
 * One operation that a transaction has not committed yet.
 */
#ifndef PT_TRANSACTION_PENDING_H
#define PT_TRANSACTION_PENDING_H

#include "base/bytes.h"

typedef enum pt_operation {
    PT_INSERT,  /* the entity did not exist */
    PT_REPLACE, /* whatever was there is replaced by the record */
    PT_MERGE,   /* the record is the old one with some properties changed */
    PT_DELETE,  /* there is no record */
} pt_operation;

#define PT_PENDING_MAX (UINT32_MAX - 1)

typedef struct pt_pending {
    struct pt_pending *older; /* the version that a rollback of this one uncovers, or NULL */
    uint32_t position;        /* in the log: below PT_PENDING_MAX */
    uint32_t record_size;
    uint32_t record_capacity;
    uint16_t key_size;
    uint8_t operation; /* a pt_operation */
    bool newest;       /* no newer version of the key is in the log */
    uint8_t bytes[];   /* key, record */
} pt_pending;

static inline pt_slice pt_pending_key(const pt_pending *pending)
{
    return pt_slice_of(pending->bytes, pending->key_size);
}

static inline pt_slice pt_pending_record(const pt_pending *pending)
{
    return pt_slice_of(pending->bytes + pending->key_size, pending->record_size);
}

#endif
