/*
 * Where a table's declared columns are in the shapes of its entities, worked out once for each
 * shape.
 */
#ifndef PT_TABLE_COLUMN_MAP_H
#define PT_TABLE_COLUMN_MAP_H

#include "entity/shape.h"
#include "table/config.h"

typedef struct pt_column_places {
    const pt_shape *shape;
    int place[]; /* per declared column: index of the property, or -1 */
} pt_column_places;

typedef struct pt_column_map {
    const pt_column *columns;
    int column_count;
    pt_column_places **by_id; /* element 0 serves shapes without an id, one after the other */
    unsigned capacity;
} pt_column_map;

/* All zeros but `columns` and `column_count` is the empty map. NULL when out of memory. */
const pt_column_places *pt_column_map_find(pt_column_map *map, const pt_shape *shape);

/* The name id of a column's property; 0 if it is not in the shape. */
static inline uint16_t pt_column_places_name_id(const pt_column_places *places, int column)
{
    int place = places->place[column];
    return place >= 0 ? places->shape->properties[place].name_id : 0;
}

void pt_column_map_free(pt_column_map *map);

#endif
