/*
 * The row that a cursor stands on, and its columns: from an entity's key and record to what SQLite
 * sees.
 */
#ifndef PT_TABLE_ROW_H
#define PT_TABLE_ROW_H

#include "base/sqlite.h"
#include "query/filter_keys.h"
#include "query/ranges.h"
#include "table/table.h"
#include "transaction/large_value.h"
#include "transaction/scan.h"

/* All zeros before its first use. Its record is opened when a column first needs it. */
typedef struct pt_row {
    pt_slice key;           /* logical */
    pt_slice bytes;         /* of the record */
    const uint8_t *row_key; /* where RowKey begins in the key; NULL: that has not been looked for */
    bool lasting;   /* the bytes lie in the snapshot and outlive the statement's use of them */
    bool key_lasts; /* so does the key */
    bool opened;
    pt_view *view; /* that the row was read from */
    pt_record record;
    pt_shape_source source; /* the dictionary's; the hint is the shape of an earlier row */
    const pt_column_places *places;
    pt_buffer shape;
    pt_buffer json;
    const pt_buffer *filter; /* the text of the plan's Filter, or NULL */
} pt_row;

/* Lets the row be the one that a scan stands on. */
static inline void pt_row_set(pt_row *row, const pt_scan *scan)
{
    row->key = pt_slice_copy(&scan->key);
    row->bytes = pt_slice_copy(&scan->record);
    row->row_key = NULL;
    row->lasting = !scan->on_pending;
    row->key_lasts = row->lasting && scan->base->key_lasts;
    row->opened = false;
    row->view = scan->view;
}

void pt_row_free(pt_row *row);

/* Opens the record now, so that its columns can be read whatever becomes of the dictionary's ids.
 */
int pt_row_open(pt_row *row, const pt_table *table, pt_error *error);

/* Gives SQLite the value of a column other than the keys (table/row.h). SQLITE_CORRUPT_VTAB:
 * the record is damaged. */
int pt_row_column(pt_row *row, pt_table *table, sqlite3_context *context, int column,
                  pt_error *error);

/*
 * The columns of a row that are more than a short value in its record: large values, Properties,
 * ETag and the like.
 */

/* `W/"datetime'2026-11-21T09%3A00%3A13.0419375Z'"` */
enum { PT_ETAG_SIZE = 48 };

/* Gives SQLite a column behind the declared ones, by its PT_TAIL_.... What fails is as with
 * pt_row_column. */
int pt_tail_column(pt_row *row, const pt_table *table, sqlite3_context *context, int tail,
                   pt_error *error);

/* Gives SQLite a declared column of the row, which is open, by the place of its property: of any
 * type, large ones too. */
int pt_property_column(const pt_row *row, const pt_table *table, sqlite3_context *context,
                       unsigned place, pt_error *error);

/* Gives SQLite PartitionKey or RowKey, by PT_COLUMN_.... `only_row`: none follows it.
 * SQLITE_CORRUPT_VTAB: the key cannot be divided. */
int pt_key_column(pt_row *row, sqlite3_context *context, int column, bool only_row,
                  pt_error *error);

/* What the large values of an entity are read with. */
typedef struct pt_entity_source {
    pt_view *view;
    pt_slice key;     /* logical */
    pt_buffer *bytes; /* where the last large value read lies */
} pt_entity_source;

/*
 * Every property of an entity's record as the Properties column gives it. SQLITE_OK, SQLITE_NOMEM,
 * SQLITE_CORRUPT_VTAB with a text that names entity and property, and what pt_large_read answers.
 */
int pt_entity_to_json(const pt_record *record, const pt_entity_source *source, pt_buffer *json,
                      pt_error *error);

/* The ETag of a timestamp, with a NUL. */
void pt_etag_format(int64_t ticks, char text[PT_ETAG_SIZE + 1]);

/*
 * A filter that rows are held against: the argument of Filter MATCH '...'.
 */

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
 * row passes. SQLITE_MISMATCH: not text; SQLITE_ERROR: no filter (query/filter.h);
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

/*
 * match(text, Filter): what SQLite calls for Filter MATCH where that did not become part of the
 * plan, as beside OR and under NOT.
 */

/* What the column Filter shows then: a pointer of this type to the pt_row (table/row.h), an SQL
 * NULL to everybody else. */
#define PT_ROW_POINTER "ptable row"

/*
 * For xFindFunction, with the pt_table as user data: 1 if the row passes the filter, else 0. Where
 * the plan has a Filter, the column shows its text and only that matches. NULL for the row without
 * values that an outer join adds.
 */
void pt_function_match(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
