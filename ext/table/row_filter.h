/*
 * Filter MATCH '...': a parsed filter, the test whether a row passes it, and the SQL function
 * match(), which SQLite calls if the MATCH did not become part of the plan.
 */
#ifndef PT_TABLE_ROW_FILTER_H
#define PT_TABLE_ROW_FILTER_H

#include "query/filter_keys.h"
#include "query/ranges.h"
#include "table/row.h"

/* All zeros before its first use. */
typedef struct pt_row_filter {
    pt_buffer text; /* UTF-8; the filter was parsed from it */
    bool parsed;
    pt_filter filter;
    pt_filter_keys keys;
    pt_column_map map; /* where the filter's properties are in records */
    const pt_column_places *places;
    pt_buffer large; /* a large value that is compared */
} pt_row_filter;

/*
 * Parses the argument of MATCH, and copies its text. Does nothing if the text is the one that was
 * parsed last; `config` must be the same then, too. No row passes a NULL. SQLITE_MISMATCH: not a
 * text; SQLITE_ERROR: not a filter (query/filter.h), or a name that differs from a column's only in
 * case; SQLITE_NOMEM.
 */
int pt_row_filter_set(pt_row_filter *filter, const pt_config *config, sqlite3_value *argument,
                      pt_error *error);

void pt_row_filter_free(pt_row_filter *filter);

/* True if only rows of certain partitions can pass. */
bool pt_row_filter_bounds_partitions(const pt_row_filter *filter);

/* Narrows ranges, just set, to the keys of rows that can pass. The ranges then point into the
 * filter. False when out of memory. */
bool pt_row_filter_restrict(const pt_row_filter *filter, pt_ranges *ranges);

/* *passes = true if the row passes. Opens the row if the filter compares properties.
 * SQLITE_CORRUPT_VTAB: the row is damaged; SQLITE_NOMEM; other codes of pt_large_read. */
int pt_row_filter_passes(pt_row_filter *filter, pt_row *row, bool *passes, pt_error *error);

/*
 * match(text, Filter), returned by xFindFunction with the pt_table as user data: 1 if the row
 * passes the filter, else 0. SQLite calls it for a MATCH that the plan cannot use, for example
 * beside OR or under NOT. If the plan has a Filter, column Filter is that filter's text and only
 * the same text matches. NULL for the row of NULLs that an outer join adds.
 */
void pt_function_match(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
