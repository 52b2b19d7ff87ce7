/*
 * Errors of a table that declares something else than the store has. The texts say how to mend it.
 * SQLITE_ERROR, or SQLITE_NOMEM.
 */
#ifndef PT_TABLE_REFUSALS_H
#define PT_TABLE_REFUSALS_H

#include "base/error.h"
#include "entity/index.h"

/* A table by its names. */
typedef struct pt_place_in_store {
    const char *store;
    const char *table;
} pt_place_in_store;

/* The store does not have the index. */
int pt_refuse_missing_index(pt_place_in_store place, const pt_index_definition *declared,
                            pt_error *error);

/* One of the two indexes is unique, and the other is not. */
int pt_refuse_other_index(pt_place_in_store place, const pt_index_definition *declared,
                          pt_error *error);

/* The store does not keep the table's changes. */
int pt_refuse_missing_changes(pt_place_in_store place, pt_error *error);

/* In the store entities expire by this property; empty: they do not. */
int pt_refuse_other_expiry(pt_place_in_store place, const char *declared, pt_slice name,
                           pt_error *error);

#endif
