#include "query/key_condition.h"

#include <stdlib.h>

#include "base/text.h"
#include "entity/key.h"

bool pt_interval_is_empty(const pt_interval *interval)
{
    return interval->bounded && pt_slice_compare(interval->low, interval->high) >= 0;
}

bool pt_interval_contains(const pt_interval *interval, pt_slice point)
{
    return pt_slice_compare(point, interval->low) >= 0 &&
           (!interval->bounded || pt_slice_compare(point, interval->high) < 0);
}

void pt_interval_raise_low(pt_interval *interval, pt_slice low)
{
    if (pt_slice_compare(low, interval->low) > 0) {
        interval->low = low;
    }
}

void pt_interval_lower_high(pt_interval *interval, pt_slice high)
{
    if (!interval->bounded || pt_slice_compare(high, interval->high) < 0) {
        interval->high = high;
        interval->bounded = true;
    }
}

void pt_interval_intersect(pt_interval *interval, const pt_interval *other)
{
    pt_interval_raise_low(interval, other->low);
    if (other->bounded) {
        pt_interval_lower_high(interval, other->high);
    }
}

unsigned pt_condition_points_before(const pt_key_condition *condition, pt_slice bound)
{
    unsigned low = 0;
    unsigned high = condition->point_count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (pt_slice_compare(condition->points[middle], bound) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool pt_condition_outermost(const pt_key_condition *condition, const pt_interval *within,
                            pt_direction direction, pt_interval *point)
{
    unsigned first = pt_condition_points_before(condition, within->low);
    unsigned end = within->bounded ? pt_condition_points_before(condition, within->high)
                                   : condition->point_count;
    if (first >= end) {
        return false;
    }
    pt_slice found = condition->points[direction == PT_FORWARD ? first : end - 1];
    *point = (pt_interval){
        .low = found, .high = pt_slice_of(found.data, found.size + 1), .bounded = true};
    return true;
}

static bool lists(const pt_key_condition *condition, pt_slice key)
{
    unsigned i = pt_condition_points_before(condition, key);
    return i < condition->point_count && pt_slice_equal(condition->points[i], key);
}

bool pt_condition_holds(const pt_key_condition *condition, pt_slice key)
{
    return pt_interval_contains(&condition->interval, key) &&
           (!condition->listed || lists(condition, key));
}

bool pt_condition_is_always(const pt_key_condition *condition)
{
    return !condition->listed && condition->interval.low.size == 0 && !condition->interval.bounded;
}

bool pt_condition_is_never(const pt_key_condition *condition)
{
    return pt_interval_is_empty(&condition->interval) ||
           (condition->listed && condition->point_count == 0);
}

/* --- Lists of points --- */

bool pt_condition_add_point(pt_key_condition *condition, unsigned *capacity, pt_slice point,
                            pt_arena *arena)
{
    if (!pt_arena_reserve(arena, &condition->points, capacity, condition->point_count,
                          sizeof point)) {
        return false;
    }
    condition->points[condition->point_count++] = point;
    return true;
}

static int compare_points(const void *a, const void *b)
{
    return pt_slice_compare(*(const pt_slice *)a, *(const pt_slice *)b);
}

static bool is_ascending(const pt_key_condition *condition)
{
    unsigned i = 1;
    while (i < condition->point_count &&
           pt_slice_compare(condition->points[i - 1], condition->points[i]) < 0) {
        i++;
    }
    return i >= condition->point_count;
}

/* SQLite hands over the values of an IN in order, so most lists are sorted already. */
void pt_condition_sort(pt_key_condition *condition)
{
    if (is_ascending(condition)) {
        return;
    }
    pt_slice *points = condition->points;
    qsort(points, condition->point_count, sizeof *points, compare_points);
    unsigned kept = 1;
    for (unsigned i = 1; i < condition->point_count; i++) {
        if (!pt_slice_equal(points[i], points[kept - 1])) {
            points[kept++] = points[i];
        }
    }
    condition->point_count = kept;
}

void pt_condition_restrict(pt_key_condition *condition, const pt_key_condition *points)
{
    if (!condition->listed) {
        condition->listed = true;
        condition->points = points->points;
        condition->point_count = points->point_count;
        return;
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < condition->point_count; i++) {
        if (lists(points, condition->points[i])) {
            condition->points[kept++] = condition->points[i];
        }
    }
    condition->point_count = kept;
}

void pt_condition_drop_outside(pt_key_condition *condition)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < condition->point_count; i++) {
        if (pt_interval_contains(&condition->interval, condition->points[i])) {
            condition->points[kept++] = condition->points[i];
        }
    }
    condition->point_count = kept;
}

void pt_condition_drop_entities(pt_key_condition *entities, const pt_key_condition *partition,
                                const pt_key_condition *row)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < entities->point_count; i++) {
        pt_slice partition_key;
        pt_slice row_key;
        if (pt_key_split(entities->points[i], &partition_key, &row_key) &&
            pt_condition_holds(row, row_key) && pt_condition_holds(partition, partition_key)) {
            entities->points[kept++] = entities->points[i];
        }
    }
    entities->point_count = kept;
}

/* --- Patterns --- */

static bool is_wildcard(uint8_t c)
{
    return c == '*' || c == '?' || c == '[';
}

/* True if GLOB takes other bytes for the same character as these. */
static bool is_ambiguous(const uint8_t *character, size_t size)
{
    return size == 0 || (size == 3 && pt_utf8_decode(character, size) >= 0xFFFD);
}

pt_slice pt_glob_beginning(pt_slice pattern)
{
    size_t ascii = 0;
    size_t at = 0;
    while (at < pattern.size && pattern.data[at] != 0 && !is_wildcard(pattern.data[at])) {
        const uint8_t *character = pattern.data + at;
        size_t size = pt_utf8_size(pt_slice_of(character, pattern.size - at));
        if (is_ambiguous(character, size)) {
            return pt_slice_of(pattern.data, ascii);
        }
        ascii += at == ascii && size == 1 ? 1 : 0;
        at += size;
    }
    return pt_slice_of(pattern.data, at);
}
