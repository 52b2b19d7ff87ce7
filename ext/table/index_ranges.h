/*
 * From the conditions of a plan to ranges of keys of an index's entries. The ranges hold all rows
 * that pass, and others: SQLite checks the conditions again.
 */
#ifndef PT_TABLE_INDEX_RANGES_H
#define PT_TABLE_INDEX_RANGES_H

#include "query/value_ranges.h"
#include "table/conditions.h"
#include "transaction/index_directory.h"

/* All zeros before its first use. Set the first five members before pt_index_ranges_make. */
typedef struct pt_index_ranges {
    const pt_index *index;
    const int *declared; /* the declared column of each of its columns, or -1 */
    unsigned fixed;      /* the first columns, of which the order promised needs one value each */
    bool by_key;         /* only entities with one PartitionKey, or one RowKey */
    pt_system_property key; /* which */
    bool key_listed;        /* it is a column of the index */
    pt_slice key_text;
    pt_value_range *ranges; /* of logical keys, in ascending order, in the arena */
    unsigned count;
    unsigned capacity;
    pt_arena arena;
    pt_buffer scratch;
} pt_index_ranges;

/* Empties the ranges. */
void pt_index_ranges_begin(pt_index_ranges *made);

/*
 * Makes the ranges. `key` is the argument of PartitionKey = ... or RowKey = ..., if by_key. *able =
 * false if the index does not serve the conditions. *sorts = true if it does not give the order
 * promised. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_index_ranges_make(pt_index_ranges *made, const pt_conditions *conditions, sqlite3_value *key,
                         bool *able, bool *sorts);

void pt_index_ranges_free(pt_index_ranges *made);

#endif
