/*
 * Evaluates a filter on an entity.
 */
#ifndef PT_QUERY_FILTER_EVAL_H
#define PT_QUERY_FILTER_EVAL_H

#include "entity/record.h"
#include "query/filter.h"

/* Reads a value of a large type: makes it a STRING or BINARY with bytes that last until the next
 * call. If it fails, the evaluation fails with the same code. */
typedef int (*pt_filter_fetch)(void *context, pt_value *value, pt_error *error);

typedef struct pt_filter_entity {
    pt_slice partition_key;
    pt_slice row_key;
    pt_record *record; /* unused unless filter->reads_record */
    const int *places; /* for each of the filter's properties its index in the record, or -1 */
    pt_filter_fetch fetch;
    void *context;
} pt_filter_entity;

/* SQLITE_CORRUPT_VTAB without a text if the record is damaged. A code from `fetch`. */
int pt_filter_matches(const pt_filter *filter, const pt_filter_entity *entity, bool *matches,
                      pt_error *error);

#endif
