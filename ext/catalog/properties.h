/*
 * pt_properties(table) or pt_properties(store, table): which properties the entities of a table
 * have, by name and type.
 *
 *     Name, Type, Entities, Share, Example
 *
 * Entities is how many have a property of that name and type, Share their part of all (0 to 1),
 * Example the beginning of one's value; of a large value its size. Rows are in the order of names,
 * then types. All of the table is read, but of each shape (entity/shape.h) only one entity is
 * looked into.
 */
#ifndef PT_CATALOG_PROPERTIES_H
#define PT_CATALOG_PROPERTIES_H

#include "base/arena.h"
#include "entity/record.h"
#include "module/tvf.h"

extern const pt_tvf pt_tvf_properties;

/*
 * A census of properties: how many entities have one of a name and type.
 */

typedef struct pt_census_property {
    pt_slice name;
    pt_type type; /* never one of the large ones */
    int64_t entities;
    const char *example; /* the beginning of one's value */
} pt_census_property;

/* All zeros is an empty one. */
typedef struct pt_census {
    int64_t entities;
    pt_census_property *properties; /* in the order of names, then types */
    size_t count;
    size_t capacity;
    int64_t *shapes; /* entities by shape id, not yet added to the properties */
    size_t shape_capacity;
    pt_arena arena; /* names and examples */
} pt_census;

/*
 * Counts an entity with a shape of the dictionary. *seen says whether one of this shape has been
 * counted before; if not, pt_census_look must be called with it. False: out of memory.
 */
bool pt_census_count(pt_census *census, uint16_t shape_id, bool *seen);

/*
 * Takes the names, types and examples of a record. One that describes its shape itself is counted
 * by this. SQLITE_OK, SQLITE_NOMEM or SQLITE_CORRUPT_VTAB.
 */
int pt_census_look(pt_census *census, const pt_record *record);

/* Adds what was counted by shape to the properties. */
void pt_census_finish(pt_census *census, const pt_shape_source *source);

void pt_census_free(pt_census *census);

#endif
