/*
 * Entities that expire. A table of the store can name one of its properties (`Expires` in
 * pt_tables). An entity whose property is a DateTime that is not after the view's time
 * (pt_view_now) has expired: for all statements it is not there, although its record is. Without
 * the property, or with one of another type, it never expires.
 */
#ifndef PT_TRANSACTION_EXPIRY_H
#define PT_TRANSACTION_EXPIRY_H

#include "entity/column_map.h"
#include "entity/record.h"
#include "transaction/view.h"

/* All zeros before its first use. */
typedef struct pt_expiry {
    pt_buffer name; /* of the property, with a NUL */
    pt_column property;
    pt_column_map map; /* its place in records */
    pt_buffer shape;
    unsigned loads; /* of the table's list of indexes when the name was set */
} pt_expiry;

void pt_expiry_free(pt_expiry *expiry);

/* Sets the property, unless it was set for the same loads. False when out of memory. */
bool pt_expiry_set(pt_expiry *expiry, pt_slice name, unsigned loads);

/* The same property as another's, which has one. False when out of memory. */
static inline bool pt_expiry_copy(pt_expiry *expiry, const pt_expiry *other)
{
    return pt_expiry_set(expiry, pt_slice_of(other->property.name, other->property.name_size),
                         other->loads);
}

/* Judges an entity by its open record. SQLITE_OK or SQLITE_NOMEM. */
int pt_expiry_judge(pt_expiry *expiry, pt_view *view, const pt_record *record, bool *expired,
                    pt_error *error);

/* The same for the bytes under a logical key. SQLITE_CORRUPT_VTAB: the entity is damaged. */
int pt_expiry_judge_bytes(pt_expiry *expiry, pt_view *view, pt_slice key, pt_slice bytes,
                          bool *expired, pt_error *error);

#endif
