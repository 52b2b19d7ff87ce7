/*
 * The row that a cursor stands on, and its columns: from an entity's key and record to what SQLite
 * sees.
 */
#ifndef PT_TABLE_ROW_H
#define PT_TABLE_ROW_H

#include "table/table.h"
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

/* Gives SQLite the value of a column other than the keys (table/columns.h). SQLITE_CORRUPT_VTAB:
 * the record is damaged. */
int pt_row_column(pt_row *row, pt_table *table, sqlite3_context *context, int column,
                  pt_error *error);

#endif
