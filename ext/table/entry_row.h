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
    bool whole;                        /* the entry tells every value that the statement reads */
    bool lasts;                        /* its key can be returned as SQLITE_STATIC */
    pt_slice types;                    /* of the parts, a byte each */
    pt_slice parts[PT_ENTRY_COLUMNS_MAX];
    const char *texts[PT_ENTRY_COLUMNS_MAX]; /* that the columns show, if they last; or NULL */
    pt_buffer scratch;
} pt_entry_row;

/* The column of the table that a column of an index is; -1: it is not declared. */
int pt_entry_row_column_of(const pt_table *table, pt_slice name);

/* Moves to an entry: its key from the parts on, and its verified types. Returns the bytes of the
 * parts; 0 if the entry is damaged. */
size_t pt_entry_row_take(pt_entry_row *row, pt_slice entry, pt_slice types, bool lasts);

/* Returns a column to SQLite. *shown = false if the entry does not have it. False if the entry is
 * damaged, or when out of memory: then row->scratch.failed. */
bool pt_entry_row_show(pt_entry_row *row, sqlite3_context *context, int column, bool *shown);

/* The number of a column of the table; row->count: the index does not have it. */
static inline unsigned pt_entry_row_find(const pt_entry_row *row, int column)
{
    unsigned number = 0;
    while (number < row->count && row->columns[number] != column) {
        number++;
    }
    return number;
}

/* The same for one of `texts`. False: it is something else. */
static inline bool pt_entry_row_show_text(const pt_entry_row *row, sqlite3_context *context,
                                          int column)
{
    unsigned number = pt_entry_row_find(row, column);
    if (number == row->count || row->texts[number] == NULL) {
        return false;
    }
    sqlite3_result_text(context, row->texts[number], -1, SQLITE_STATIC);
    return true;
}

#endif
