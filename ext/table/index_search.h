/*
 * Reading a table by an index: from the conditions of a plan (table/planner.c) to ranges of the
 * index's entries, and from each entry to its entity. Also sorts rows, where a plan has promised an
 * order that the index does not give, or that there is no index for any more.
 */
#ifndef PT_TABLE_INDEX_SEARCH_H
#define PT_TABLE_INDEX_SEARCH_H

#include "table/conditions.h"
#include "table/table.h"

/* How xFilter uses an index. */
typedef struct pt_index_use {
    pt_slice names; /* of its columns, with a 00 between two */
    bool order;     /* the rows are promised in the index's order */
    unsigned fixed; /* the first columns, which an = fixes and the order leaves out */
    bool entries;   /* the statement reads nothing but keys and columns of the index */
    unsigned read;  /* those columns, as bits */
} pt_index_use;

/* Writes a use, and reads it from the bytes written. Sets text->failed when out of memory. */
void pt_index_use_write(const pt_index_use *use, pt_buffer *text);
pt_index_use pt_index_use_read(const char *bytes);

typedef struct pt_index_search pt_index_search;

/* NULL is allowed. */
void pt_index_search_free(pt_index_search *search);
/* Releases the view. */
void pt_index_search_close(pt_index_search *search);

/*
 * Begins to read what the row's scan, which is frozen, shows of its table. Sets *search to a new
 * search if it is NULL. The first argument is that of PartitionKey = ... or RowKey = ..., if the
 * plan has such a term. *able = false if the index is not there or cannot serve the conditions:
 * then read without it. *sorts = true if the rows must be sorted.
 */
int pt_index_search_begin(pt_index_search **search, const pt_row *row,
                          const pt_conditions *conditions, sqlite3_value **argv, unsigned plan,
                          bool *able, bool *sorts, pt_error *error);

/* True if rows may be shown from entries. Then conditions are left to SQLite. */
bool pt_index_search_reads_entries(const pt_index_search *search);

/* Moves the scan to the next row, or sets *eof. */
int pt_index_search_next(pt_index_search *search, pt_scan *scan, bool *eof, pt_error *error);

/* xColumn for them. Until a column is read that the entry does not have, the scan shows the key
 * only. */
int pt_index_search_column(pt_index_search *search, pt_scan *scan, pt_row *row,
                           sqlite3_context *context, int column);

/* Moves the row to the next one that passes, or sets the flag that pt_index_search_sort has got. */
typedef int pt_index_search_step(void *context, pt_error *error);

/* Reads the rows from the one that `row` is on and sorts them. From then on pt_index_search_next
 * gives these rows. */
int pt_index_search_sort(pt_index_search *search, pt_row *row, const bool *eof,
                         pt_index_search_step *step, void *context, pt_error *error);

#endif
