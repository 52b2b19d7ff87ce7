#include "query/range_walk.h"

#include "entity/key.h"

void pt_range_walk_begin(pt_range_walk *walk, pt_direction direction)
{
    walk->direction = direction;
    walk->begun = false;
    pt_buffer_clear(&walk->at);
}

void pt_range_walk_free(pt_range_walk *walk)
{
    pt_buffer_free(&walk->at);
}

pt_ranges_step pt_range_walk_next(pt_range_walk *walk, pt_ranges *ranges, pt_interval *range)
{
    pt_slice at = pt_buffer_slice(&walk->at);
    bool from_the_end = !walk->begun;
    walk->begun = true;
    if (walk->direction == PT_BACKWARD) {
        return pt_ranges_previous(ranges, from_the_end ? NULL : &at, range);
    }
    return pt_ranges_next(ranges, at, range);
}

bool pt_range_walk_leave(pt_range_walk *walk, const pt_interval *range)
{
    if (walk->direction == PT_BACKWARD) {
        walk->at_end = range->low.size == 0;
        return pt_buffer_assign(&walk->at, range->low);
    }
    walk->at_end = !range->bounded;
    return walk->at_end || pt_buffer_assign(&walk->at, range->high);
}

/* Backwards the search begins before a key, so it is the first one behind that is told. */
bool pt_range_walk_follow(pt_range_walk *walk, pt_slice entity_key)
{
    pt_buffer_assign(&walk->at, entity_key);
    if (walk->direction == PT_BACKWARD) {
        pt_buffer_append_byte(&walk->at, 0);
    }
    return !walk->at.failed;
}

bool pt_range_walk_pass(pt_range_walk *walk, pt_slice partition)
{
    pt_buffer_assign(&walk->at, partition);
    pt_buffer_append_byte(&walk->at, walk->direction == PT_FORWARD ? PT_KEY_PARTITION_END
                                                                   : PT_KEY_PARTITION_START);
    return !walk->at.failed;
}
