#include "entity/column_map.h"

#include <string.h>

#include "base/sqlite.h"

static const pt_property no_property = {.type = PT_NONE};

static bool grow_column_map(pt_column_map *map, unsigned id)
{
    size_t known = map->capacity;
    if (!pt_array_reserve(&map->by_id, &map->capacity, (size_t)id + 1, sizeof *map->by_id)) {
        return false;
    }
    memset(map->by_id + known, 0, (map->capacity - known) * sizeof *map->by_id);
    return true;
}

static pt_column_places *new_places(size_t count)
{
    pt_column_places *places;
    size_t properties_size = count * sizeof places->property[0];
    places = sqlite3_malloc64(sizeof *places + properties_size + count * sizeof *places->place);
    if (places != NULL) {
        places->place = (int *)(places->property + count);
    }
    return places;
}

const pt_column_places *pt_column_map_find(pt_column_map *map, const pt_shape *shape)
{
    if (shape->id >= map->capacity && !grow_column_map(map, shape->id)) {
        return NULL;
    }
    pt_column_places *places = map->by_id[shape->id];
    /* Two shapes without an id may have had the same address, one after the other. */
    if (places != NULL && places->shape == shape && shape->id != 0) {
        return places;
    }
    if (places == NULL) {
        places = new_places((size_t)map->column_count);
        if (places == NULL) {
            return NULL;
        }
        map->by_id[shape->id] = places;
    }
    places->shape = shape;
    for (int i = 0; i < map->column_count; i++) {
        pt_slice name = pt_slice_of(map->columns[i].name, map->columns[i].name_size);
        places->place[i] = pt_shape_find(shape, name);
        places->property[i] =
            places->place[i] >= 0 ? &shape->properties[places->place[i]] : &no_property;
    }
    return places;
}

void pt_column_map_free(pt_column_map *map)
{
    for (size_t i = 0; i < map->capacity; i++) {
        sqlite3_free(map->by_id[i]);
    }
    sqlite3_free(map->by_id);
    map->by_id = NULL;
    map->capacity = 0;
}
