/*
 * The columns of a row: from an entity's key and record to what SQLite sees.
 */
#ifndef PT_COLUMNS_H
#define PT_COLUMNS_H

#include "large_value.h"
#include "scan.h"
#include "table.h"

/* `W/"datetime'2026-11-21T09%3A00%3A13.0419375Z'"` */
enum { PT_ETAG_SIZE = 48 };

/* The row that a cursor stands on. Its record is opened when a column first needs it. */
typedef struct pt_row {
    pt_slice key;   /* logical */
    pt_slice bytes; /* of the record */
    bool lasting;   /* the bytes lie in the snapshot and outlive the statement's use of them */
    bool key_lasts; /* so does the key */
    bool opened;
    pt_view *view; /* that the row was read from */
    pt_record record;
    pt_shape_source source; /* the dictionary's; its hint is the shape of an earlier row */
    const pt_column_places *places;
    pt_buffer shape;
    pt_buffer json;
    const pt_buffer *filter; /* the text of the plan's Filter, or NULL */
} pt_row;

/* Lets the row be the one that a scan stands on. */
static inline void pt_row_set(pt_row *row, const pt_scan *scan)
{
    row->key = scan->key;
    row->bytes = scan->record;
    row->lasting = !scan->on_pending;
    row->key_lasts = row->lasting && scan->base->key_lasts;
    row->opened = false;
    row->view = scan->view;
}

void pt_row_free(pt_row *row);

/* Opens the record now, so that its columns can be read whatever becomes of the dictionary's ids.
 */
int pt_row_open(pt_row *row, const pt_table *table, pt_error *error);

/* Gives SQLite the value of a column. SQLITE_CORRUPT_VTAB: the record is damaged. */
int pt_row_column(pt_row *row, pt_table *table, sqlite3_context *context, int column,
                  pt_error *error);

/* The text of a record that does not decode, naming its keys. */
int pt_report_damage(pt_slice logical_key, pt_error *error);

/* The text of a large value that cannot be read, naming its keys and property. */
int pt_report_damaged_property(pt_slice logical_key, pt_slice name, pt_error *error);

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

#endif
