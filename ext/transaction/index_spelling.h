/*
 * The spelling of an index's columns. Property names are case-sensitive, but SQL's column names are
 * not: an index on `name` of entities that have `Name` would stay empty. So a column is refused if
 * nobody knows a property of its name, but one that differs in case.
 */
#ifndef PT_TRANSACTION_INDEX_SPELLING_H
#define PT_TRANSACTION_INDEX_SPELLING_H

#include "base/arena.h"
#include "entity/index.h"
#include "transaction/session.h"

/* All zeros before its first use. */
typedef struct pt_index_spelling {
    unsigned count;
    struct {
        pt_slice name;
        bool known;
        pt_slice other; /* a property whose name differs in case; empty: none is known */
    } columns[PT_ENTRY_COLUMNS_MAX];
    bool failed; /* out of memory */
    pt_arena arena;
} pt_index_spelling;

/* The definition must last. */
void pt_index_spelling_begin(pt_index_spelling *spelling, const pt_index_definition *definition);

/* There are properties of these names. */
void pt_index_spelling_add(pt_index_spelling *spelling, pt_slice property);
void pt_index_spelling_add_columns(pt_index_spelling *spelling, const pt_column *columns,
                                   int count);

/*
 * Compares with the entities of the table, too, as long as a column is unknown.
 * SQLITE_CONSTRAINT_VTAB: a column is misspelled; SQLITE_CORRUPT_VTAB: an entity is damaged;
 * SQLITE_NOMEM, or the engine's error.
 */
int pt_index_spelling_check(pt_index_spelling *spelling, pt_view *view, uint32_t table_id,
                            const char *table, pt_error *error);

void pt_index_spelling_free(pt_index_spelling *spelling);

/* All this for an index of a table with these columns. */
int pt_index_check_spelling(const pt_index_definition *definition, const pt_column *columns,
                            int count, pt_view *view, uint32_t table_id, const char *table,
                            pt_error *error);

#endif
