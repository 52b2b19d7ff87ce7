/*
 * Whether an entity passes a filter.
 */
#ifndef PT_QUERY_FILTER_EVAL_H
#define PT_QUERY_FILTER_EVAL_H

#include "entity/record.h"
#include "query/filter.h"

/* Turns a value of a large type into the STRING or BINARY that it is. The bytes need to last until
 * the next call. Its failure is that of the whole evaluation. */
typedef int (*pt_filter_fetch)(void *context, pt_value *value, pt_error *error);

typedef struct pt_filter_entity {
    pt_slice partition_key;
    pt_slice row_key;
    const pt_record *record; /* not needed if the filter does not read it */
    const int *places;       /* for each of the filter's properties, where in the record; or -1 */
    pt_filter_fetch fetch;
    void *context;
} pt_filter_entity;

/* SQLITE_OK; SQLITE_CORRUPT_VTAB without a text: the record is damaged; what `fetch` answers. */
int pt_filter_matches(const pt_filter *filter, const pt_filter_entity *entity, bool *matches,
                      pt_error *error);

#endif
