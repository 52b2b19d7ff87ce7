/*
 * The columns of a row that are more than a short value in its record: large values, Properties,
 * ETag and the like.
 */
#ifndef PT_TABLE_COLUMNS_H
#define PT_TABLE_COLUMNS_H

#include "table/row.h"
#include "transaction/large_value.h"

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
