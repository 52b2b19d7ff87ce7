/*
 * Sorts pending operations by key.
 */
#ifndef PT_TRANSACTION_KEY_SORT_H
#define PT_TRANSACTION_KEY_SORT_H

#include "transaction/write_set.h"

/* An operation with eight bytes of its key at hand, so that most comparisons touch nothing else. */
typedef struct pt_sort_item {
    uint64_t chunk;
    pt_pending *pending;
} pt_sort_item;

/* Sorts in memcmp order of the keys, which are distinct. `chunk` need not be set. Allocates
 * nothing. */
void pt_key_sort(pt_sort_item *items, size_t count);

#endif
