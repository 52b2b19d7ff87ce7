/*
 * The row that a cursor is on: an entity's key and record, and the columns that SQLite reads from
 * them.
 */
#ifndef PT_TABLE_ROW_H
#define PT_TABLE_ROW_H

#include "base/sqlite.h"
#include "entity/column_map.h"
#include "table/table.h"
#include "transaction/scan.h"

/*
 * All zeros before its first use, except table and scan. The record is decoded when a column first
 * needs it. Rows that come one after the other mostly have the same shape; then the record is
 * opened as the last one was, and declared columns need no search for their properties.
 */
typedef struct pt_row {
    pt_table *table;
    const pt_scan *scan;    /* is on the row */
    uint32_t table_id;      /* of the scan's view: the table may have another one by now */
    const uint8_t *row_key; /* start of RowKey in the key; NULL until a column needs it */
    bool opened;            /* `record` is set */
    bool only_row;          /* no row follows in this scan */
    bool may_change;        /* an UPDATE may be reading the rows */
    bool key_was_read;      /* EntityKey, of this row or an earlier one */
    bool expires;           /* entities of the table expire, by `expiry` */
    pt_record record;
    unsigned alike_columns; /* declared columns with a property below; 0: the next record cannot be
                               opened as the last one was */
    const pt_property *const *properties; /* of the declared columns in the shape of the row, or of
                                             an earlier row until the record is opened */
    pt_shape_source source; /* the dictionary; its hint is the shape of an earlier row */
    pt_buffer shape;
    pt_buffer json;          /* or another text that a column returns */
    const pt_buffer *filter; /* the text of the plan's Filter, or NULL */
    pt_expiry expiry;
} pt_row;

/* The scan has moved to another row. */
static inline void pt_row_moved(pt_row *row)
{
    row->row_key = NULL;
    row->opened = false;
}

void pt_row_free(pt_row *row);

/* Call it when xFilter begins to read. Only a session that writes can be running an UPDATE. */
static inline void pt_row_begin(pt_row *row)
{
    row->may_change = row->scan->view->memtable != NULL;
}

/* Learns if entities of the table expire; pt_row_begin_expiry calls it. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_row_learn_expiry(pt_row *row, pt_error *error);

/* Call it when the scan has got its view, with which the table was looked up. As long as the scan
 * reads that view, the table may be looked up in others. */
static inline int pt_row_begin_expiry(pt_row *row, pt_error *error)
{
    row->expires = row->table->id.expires;
    return row->expires ? pt_row_learn_expiry(row, error) : SQLITE_OK;
}

/* Another row goes on to read the view. */
void pt_row_give_expiry(pt_row *row, pt_row *other);

/* *there = false if the entity has expired. Opens the row. SQLITE_CORRUPT_VTAB, SQLITE_NOMEM. */
int pt_row_judge_expiry(pt_row *row, bool *there, pt_error *error);

/* Decodes the record if that has not been done. SQLITE_CORRUPT_VTAB, SQLITE_NOMEM. */
int pt_row_open(pt_row *row, pt_error *error);

/*
 * xColumn: returns a column to SQLite. Reports errors as pt_table_fail: SQLITE_NOMEM;
 * SQLITE_CORRUPT_VTAB if the key, the record or a large value is damaged; SQLITE_TOOBIG if a large
 * value exceeds the connection's SQLITE_LIMIT_LENGTH; other codes of pt_large_read.
 */
int pt_row_column(pt_row *row, sqlite3_context *context, int column);

/* If the plan has no Filter, column Filter returns its row as a pointer of this type, for the SQL
 * function match() (table/row_filter.h). Everything else sees NULL. */
#define PT_ROW_POINTER "ptable row"

/* --- Also for writing --- */

/* Where the large values of an entity are read from. */
typedef struct pt_entity_source {
    pt_view *view;
    pt_slice key;     /* logical */
    pt_buffer *bytes; /* receives each large value; the next one overwrites it */
} pt_entity_source;

/*
 * Writes all properties of a record as JSON, as column Properties shows them. SQLITE_NOMEM;
 * SQLITE_CORRUPT_VTAB with a text that names entity and property; other codes of pt_large_read.
 */
int pt_entity_to_json(pt_record *record, const pt_entity_source *source, pt_buffer *json,
                      pt_error *error);

/* `W/"datetime'2026-11-21T09%3A00%3A13.0419375Z'"` */
enum { PT_ETAG_SIZE = 48 };

/* Formats the ETag of a timestamp, with a NUL. */
void pt_etag_format(int64_t ticks, char text[PT_ETAG_SIZE + 1]);

#endif
