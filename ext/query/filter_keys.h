/*
 * From a filter to conditions on keys. Every entity that passes the filter meets them. Other
 * entities may meet them too, so the filter still has to be evaluated.
 */
#ifndef PT_QUERY_FILTER_KEYS_H
#define PT_QUERY_FILTER_KEYS_H

#include "query/filter.h"
#include "query/key_condition.h"

typedef struct pt_filter_keys {
    pt_key_condition partition; /* on PartitionKeys */
    pt_key_condition row;       /* on RowKeys */
    pt_key_condition entity;    /* on entity keys (entity/key.h): a list, or always true */
} pt_filter_keys;

/* Finds the conditions, allocated in the filter's arena. SQLITE_OK or SQLITE_NOMEM. */
int pt_filter_find_keys(pt_filter *filter, pt_filter_keys *keys);

/* True if they exclude some partitions. */
bool pt_filter_keys_bound_partitions(const pt_filter_keys *keys);

#endif
