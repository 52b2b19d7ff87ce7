/*
 * A column: a property by its name, with the type that its values take. A table declares columns, a
 * queue has fixed ones, and a filter has one for each property that it compares.
 */
#ifndef PT_ENTITY_COLUMN_H
#define PT_ENTITY_COLUMN_H

#include "entity/edm.h"

typedef struct pt_column {
    char *name;
    size_t name_size;
    pt_type type; /* PT_NONE: each value keeps its own */
} pt_column;

/* The SQL type and collation of a column, with a blank before. They are such that conditions find
 * a value in every spelling that INSERT accepts. */
const char *pt_column_declared_type(pt_type type);

#endif
