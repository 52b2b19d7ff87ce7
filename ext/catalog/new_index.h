/* An index that INSERT INTO pt_indexes makes. */
#ifndef PT_CATALOG_NEW_INDEX_H
#define PT_CATALOG_NEW_INDEX_H

#include "catalog/tables_source.h"

/* The columns of pt_indexes. */
enum {
    PT_INDEXES_STORE,
    PT_INDEXES_TABLE,
    PT_INDEXES_NAME,
    PT_INDEXES_COLUMNS,
    PT_INDEXES_UNIQUE,
    PT_INDEXES_ENTRIES,
    PT_INDEXES_BYTES,
};

/* What INSERT gives. All zeros before it is read. */
typedef struct pt_new_index {
    const char *store; /* NULL: the default store */
    const char *table;
    pt_index_definition definition;
} pt_new_index;

/* Reads the values of a row of pt_indexes. SQLITE_CONSTRAINT_NOTNULL or SQLITE_CONSTRAINT_VTAB:
 * they are no index; SQLITE_NOMEM. */
int pt_new_index_read(sqlite3_value **columns, pt_new_index *made, pt_error *error);

/*
 * Adds the index and its entries, or nothing. The session writes. SQLITE_CONSTRAINT_PRIMARYKEY: the
 * table has it already; SQLITE_CONSTRAINT_VTAB: a column is misspelled; SQLITE_CONSTRAINT_UNIQUE:
 * two entities have the same values; SQLITE_ERROR: there is no such table; or another error.
 */
int pt_new_index_make(const pt_new_index *made, const pt_declared_tables *declared,
                      pt_session *session, pt_view *view, uint32_t *id, pt_error *error);

void pt_new_index_free(pt_new_index *made);

#endif
