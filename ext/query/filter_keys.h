/*
 * What a filter says about keys: conditions that every entity meets that passes it. They may be met
 * by more entities.
 */
#ifndef PT_QUERY_FILTER_KEYS_H
#define PT_QUERY_FILTER_KEYS_H

#include "query/filter.h"
#include "query/key_condition.h"

typedef struct pt_filter_keys {
    pt_key_condition partition; /* on PartitionKeys */
    pt_key_condition row;       /* on RowKeys */
    pt_key_condition entity;    /* on entity keys (entity/key.h): always, or a list */
} pt_filter_keys;

/* The conditions of a filter, in its arena. SQLITE_OK or SQLITE_NOMEM. */
int pt_filter_find_keys(pt_filter *filter, pt_filter_keys *keys);

/* Whether they say which partitions come into question. */
bool pt_filter_keys_bound_partitions(const pt_filter_keys *keys);

#endif
