/*
 * pt_properties(table) or pt_properties(store, table): the properties that the entities of a table
 * have, by name and type.
 *
 *     Name, Type, Entities, Share, Example
 *
 * Entities is the number of entities with a property of that name and type, Share their share of
 * all entities (0 to 1). Example is the beginning of one value, or the size of a large value. Rows
 * are sorted by name, then type. The function reads the whole table, but decodes only one entity of
 * each shape (entity/shape.h).
 */
#ifndef PT_CATALOG_PROPERTIES_H
#define PT_CATALOG_PROPERTIES_H

#include "base/arena.h"
#include "entity/record.h"
#include "module/tvf.h"

extern const pt_tvf pt_tvf_properties;

/*
 * A census counts how many entities have a property, by name and type.
 */

typedef struct pt_census_property {
    pt_slice name;
    pt_type type; /* never one of the large ones */
    int64_t entities;
    const char *example; /* the beginning of one value */
} pt_census_property;

/* Empty if zeroed. */
typedef struct pt_census {
    int64_t entities;
    pt_census_property *properties; /* sorted by name, then type */
    size_t count;
    size_t capacity;
    int64_t *shapes; /* number of entities by shape id, not yet added to the properties */
    size_t shape_capacity;
    pt_arena arena; /* names and examples */
} pt_census;

/*
 * Counts an entity whose shape is in the dictionary. If *seen is false, it is the first one of its
 * shape, and pt_census_look must be called with it. False when out of memory.
 */
bool pt_census_count(pt_census *census, uint16_t shape_id, bool *seen);

/*
 * Notes the names, types and examples of a record's properties. Also counts the record if it
 * describes its shape itself. SQLITE_OK, SQLITE_NOMEM or SQLITE_CORRUPT_VTAB.
 */
int pt_census_look(pt_census *census, pt_record *record);

/* Adds the numbers counted by shape to the properties. */
void pt_census_finish(pt_census *census, const pt_shape_source *source);

void pt_census_free(pt_census *census);

#endif
