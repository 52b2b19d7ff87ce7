/*
 * The table that a ptable is to SQLite: PartitionKey, RowKey, the declared columns, and a tail of
 * columns that every ptable has.
 */
#ifndef PT_TABLE_DECLARATION_H
#define PT_TABLE_DECLARATION_H

#include "table/config.h"

/* Positions in the declared table; the declared columns begin at PT_COLUMN_FIRST. */
enum { PT_COLUMN_PARTITION_KEY = 0, PT_COLUMN_ROW_KEY = 1, PT_COLUMN_FIRST = 2 };

/* The columns behind the declared ones, as offsets from PT_COLUMN_FIRST + column_count. */
enum {
    PT_TAIL_FILTER, /* the first hidden column: what a table-valued function's argument goes to */
    PT_TAIL_PROPERTIES,
    PT_TAIL_TIMESTAMP,
    PT_TAIL_ETAG,
    PT_TAIL_WRITE_MODE,
    PT_TAIL_IF_MATCH,
    PT_TAIL_ENTITY_KEY,
    PT_TAIL_COUNT,
};

/* Whether a column of the tail has this name, in any case. */
bool pt_declaration_reserves(const char *name);

/* The text for sqlite3_declare_vtab, from sqlite3_malloc; NULL when out of memory. */
char *pt_declaration_text(const pt_config *config);

#endif
