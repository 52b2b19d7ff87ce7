/*
 * Where columns are in the shapes of entities, looked up by name once per shape. The columns are
 * those that a table declares or those that a filter compares.
 */
#ifndef PT_ENTITY_COLUMN_MAP_H
#define PT_ENTITY_COLUMN_MAP_H

#include "entity/column.h"
#include "entity/shape.h"

typedef struct pt_column_places {
    const pt_shape *shape;
    int *place; /* for each column the index of its property in the shape, or -1 */
    const pt_property *property[]; /* and the property; of type PT_NONE: the shape has none */
} pt_column_places;

typedef struct pt_column_map {
    const pt_column *columns;
    int column_count;
    pt_column_places **by_id; /* by shape id; element 0 holds the last shape without an id */
    size_t capacity;
} pt_column_map;

/*
 * The places of the columns in a shape. An empty map is all zeros except `columns` and
 * `column_count`. The result for a shape without an id is valid until the next call for such a
 * shape. NULL when out of memory.
 */
const pt_column_places *pt_column_map_find(pt_column_map *map, const pt_shape *shape);

void pt_column_map_free(pt_column_map *map);

#endif
