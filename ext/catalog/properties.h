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

#include "module/tvf.h"

extern const pt_tvf pt_tvf_properties;

#endif
