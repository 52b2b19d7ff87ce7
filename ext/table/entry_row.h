/*
 * A row that is shown from an entry of an index alone. A statement that reads nothing but columns
 * of the index and keys needs no entity.
 */
#ifndef PT_TABLE_ENTRY_ROW_H
#define PT_TABLE_ENTRY_ROW_H

#include "entity/index.h"
#include "table/table.h"

/* All zeros before its first use. */
typedef struct pt_entry_row {
    unsigned count;
    int columns[PT_ENTRY_COLUMNS_MAX]; /* of the table: those of the index; -1: it has none */
    unsigned read;                     /* those that the statement reads, as bits */
    pt_slice parts;                    /* of the entry's key */
    pt_slice types;                    /* of the parts, a byte each */
    bool lasts;                        /* the key can be returned as SQLITE_STATIC */
    pt_buffer scratch;
} pt_entry_row;

/* The column of the table that a column of an index is; -1: it is not declared. */
int pt_entry_row_column_of(const pt_table *table, pt_slice name);

/* True if the entry tells every value that the statement reads. Of others it has the beginning
 * only, or something equal. */
bool pt_entry_row_is_whole(const pt_entry_row *row);

/* Returns a column to SQLite. *shown = false if the entry does not have it. False if the entry is
 * damaged, or when out of memory: then row->scratch.failed. */
bool pt_entry_row_show(pt_entry_row *row, sqlite3_context *context, int column, bool *shown);

#endif
