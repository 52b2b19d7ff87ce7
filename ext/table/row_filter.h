/*
 * A filter that rows are held against: the argument of Filter MATCH '...'.
 */
#ifndef PT_TABLE_ROW_FILTER_H
#define PT_TABLE_ROW_FILTER_H

#include "query/filter_keys.h"
#include "query/ranges.h"
#include "table/columns.h"

/* All zeros before its first use. */
typedef struct pt_row_filter {
    pt_buffer text; /* what was parsed last, in UTF-8 */
    bool parsed;
    pt_filter filter;
    pt_filter_keys keys;
    pt_column_map map; /* where the filter's properties are in records */
    const pt_column_places *places;
    pt_buffer large; /* the bytes of a large value */
} pt_row_filter;

/*
 * Takes the argument; without cost if it is the one that was taken last. NULL is a filter that no
 * row passes. SQLITE_MISMATCH: not text; SQLITE_ERROR: no filter (query/filter_parse.h);
 * SQLITE_NOMEM.
 */
int pt_row_filter_set(pt_row_filter *filter, sqlite3_value *argument, pt_error *error);

void pt_row_filter_free(pt_row_filter *filter);

/* Whether the filter says which partitions are to be read. */
bool pt_row_filter_bounds_partitions(const pt_row_filter *filter);

/* Narrows ranges, just set, to the keys that rows may have that pass. They then lean on the filter.
 * False when out of memory. */
bool pt_row_filter_restrict(const pt_row_filter *filter, pt_ranges *ranges);

/* Whether a row passes; it is opened if need be. SQLITE_CORRUPT_VTAB: it is damaged. */
int pt_row_filter_passes(pt_row_filter *filter, const pt_table *table, pt_row *row, bool *passes,
                         pt_error *error);

#endif
