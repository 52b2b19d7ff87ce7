/*
 * Whether two property values are the same.
 */
#ifndef VALUE_SAME_H
#define VALUE_SAME_H

#include "entity/edm.h"

/* Same type and same bits (NaN equals the same NaN, 0.0 differs from -0.0). */
static inline bool value_same(const pt_value *a, const pt_value *b)
{
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
        return a->large.size == b->large.size && a->large.ticks == b->large.ticks &&
               a->large.ordinal == b->large.ordinal;
    case PT_NONE:
        return true;
    case PT_STRING:
    case PT_BINARY:
        return pt_slice_equal(a->bytes, b->bytes);
    case PT_DOUBLE:
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    case PT_GUID:
        return memcmp(a->guid, b->guid, PT_GUID_SIZE) == 0;
    case PT_INT32:
    case PT_INT64:
    case PT_BOOLEAN:
    case PT_DATETIME:
        break;
    }
    return a->integer == b->integer;
}

#endif
