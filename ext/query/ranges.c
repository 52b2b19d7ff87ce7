#include "query/ranges.h"

#include "entity/key.h"
#include "query/range_terms.h"

/* --- Conditions --- */

/* What partition and row conditions and the interval of entity keys say about one key. */
static bool key_fits(const pt_ranges *ranges, pt_slice entity_key)
{
    pt_slice partition_key;
    pt_slice row_key;
    return pt_key_split(entity_key, &partition_key, &row_key) &&
           pt_interval_contains(&ranges->entity.interval, entity_key) &&
           pt_condition_holds(&ranges->row, row_key) &&
           pt_condition_holds(&ranges->partition, partition_key);
}

static bool partition_fits(const pt_ranges *ranges, pt_slice partition_key)
{
    return pt_interval_contains(&ranges->partition.interval, partition_key);
}

static bool row_fits(const pt_ranges *ranges, pt_slice row_key)
{
    return pt_interval_contains(&ranges->row.interval, row_key);
}

static void keep_points(const pt_ranges *ranges, pt_key_condition *condition,
                        bool (*fits)(const pt_ranges *ranges, pt_slice key))
{
    unsigned kept = 0;
    for (unsigned i = 0; i < condition->point_count; i++) {
        if (fits(ranges, condition->points[i])) {
            condition->points[kept++] = condition->points[i];
        }
    }
    condition->point_count = kept;
}

/*
 * Carries each condition over to the others. A PartitionKey ends with a NUL in an entity key and
 * contains none, so an interval of PartitionKeys is, byte for byte, one of entity keys.
 */
static void combine(pt_ranges *ranges)
{
    pt_interval_intersect(&ranges->entity.interval, &ranges->partition.interval);
    keep_points(ranges, &ranges->partition, partition_fits);
    keep_points(ranges, &ranges->row, row_fits);
    keep_points(ranges, &ranges->entity, key_fits);
    ranges->nothing = ranges->nothing || pt_condition_is_never(&ranges->partition) ||
                      pt_condition_is_never(&ranges->row) || pt_condition_is_never(&ranges->entity);
}

/* --- Setting --- */

static void reset(pt_ranges *ranges)
{
    pt_arena_clear(&ranges->arena);
    *ranges = (pt_ranges){.arena = ranges->arena,
                          .low_buffer = ranges->low_buffer,
                          .high_buffer = ranges->high_buffer};
}

static int fail_term(int rc, int term, pt_error *error)
{
    switch (rc) {
    case SQLITE_NOMEM:
        return pt_error_nomem(error);
    case SQLITE_MISMATCH:
        return pt_error_set(error, rc,
                            "%s is compared with a number, which may mean the text '5' or every "
                            "key of that value ('5', '05'); compare with CAST(... AS TEXT)",
                            term < PT_TERM_RK_EQ ? "PartitionKey" : "RowKey");
    default:
        return pt_error_set(error, rc, "the values of an IN cannot be read: %s",
                            sqlite3_errstr(rc));
    }
}

int pt_ranges_set(pt_ranges *ranges, unsigned plan_bits, int argc, sqlite3_value **argv,
                  pt_error *error)
{
    reset(ranges);
    int next = 0;
    for (int term = 0; term < PT_TERM_COUNT && next < argc; term++) {
        if ((plan_bits & PT_PLAN_TERM(term)) != 0) {
            int rc = pt_ranges_apply_term(ranges, term, argv[next++]);
            if (rc != SQLITE_OK) {
                return fail_term(rc, term, error);
            }
        }
    }
    combine(ranges);
    return SQLITE_OK;
}

static bool restrict_condition(pt_arena *arena, pt_key_condition *condition,
                               const pt_key_condition *more)
{
    pt_interval_intersect(&condition->interval, &more->interval);
    if (!more->listed) {
        return true;
    }
    pt_key_condition copy = *more;
    copy.points = pt_arena_alloc(arena, more->point_count * sizeof *copy.points);
    if (copy.points == NULL) {
        return false;
    }
    if (more->point_count != 0) {
        memcpy(copy.points, more->points, more->point_count * sizeof *copy.points);
    }
    pt_condition_restrict(condition, &copy);
    return true;
}

bool pt_ranges_restrict(pt_ranges *ranges, const pt_key_condition *partition,
                        const pt_key_condition *row, const pt_key_condition *entity)
{
    bool done = restrict_condition(&ranges->arena, &ranges->partition, partition) &&
                restrict_condition(&ranges->arena, &ranges->row, row) &&
                restrict_condition(&ranges->arena, &ranges->entity, entity);
    combine(ranges);
    return done;
}

void pt_ranges_free(pt_ranges *ranges)
{
    pt_arena_free(&ranges->arena);
    pt_buffer_free(&ranges->low_buffer);
    pt_buffer_free(&ranges->high_buffer);
    *ranges = (pt_ranges){0};
}

/* --- Ranges --- */

static void put_key(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key)
{
    pt_buffer_clear(buffer);
    pt_key_append(buffer, partition_key, row_key);
}

static void put_partition_end(pt_buffer *buffer, pt_slice partition_key)
{
    put_key(buffer, partition_key, (pt_slice){0});
    if (!buffer->failed) {
        buffer->data[buffer->size - 1] = PT_KEY_PARTITION_END;
    }
}

/* Where a position lies seen from a partition: -1 before its RowKeys, 1 behind them, 0 at `row_key`
 * among them. */
static int locate(pt_slice position, pt_slice partition_key, pt_slice *row_key)
{
    size_t size = partition_key.size;
    if (position.size > size && position.data[size] == 0 &&
        pt_slice_has_prefix(position, partition_key)) {
        *row_key = pt_slice_of(position.data + size + 1, position.size - size - 1);
        return 0;
    }
    return pt_slice_compare(position, partition_key) <= 0 ? -1 : 1;
}

/* The RowKeys of a partition that a window of entity keys shows. */
static bool rows_in_window(const pt_interval *window, pt_slice partition_key, pt_interval *rows)
{
    *rows = (pt_interval){0};
    pt_slice row_key;
    int low = locate(window->low, partition_key, &row_key);
    if (low > 0) {
        return false;
    }
    if (low == 0) {
        pt_interval_raise_low(rows, row_key);
    }
    int high = window->bounded ? locate(window->high, partition_key, &row_key) : 1;
    if (high == 0) {
        pt_interval_lower_high(rows, row_key);
    }
    return high >= 0;
}

/* The outermost range of one partition inside the window; false if there is none. */
static bool range_in_partition(pt_ranges *ranges, pt_slice partition_key, const pt_interval *window,
                               pt_direction direction, pt_interval *range)
{
    pt_interval rows;
    if (!rows_in_window(window, partition_key, &rows)) {
        return false;
    }
    pt_interval_intersect(&rows, &ranges->row.interval);
    if (pt_interval_is_empty(&rows)) {
        return false;
    }
    if (ranges->row.listed && !pt_condition_outermost(&ranges->row, &rows, direction, &rows)) {
        return false;
    }
    put_key(&ranges->low_buffer, partition_key, rows.low);
    if (rows.bounded) {
        put_key(&ranges->high_buffer, partition_key, rows.high);
    } else {
        put_partition_end(&ranges->high_buffer, partition_key);
    }
    *range = (pt_interval){.low = pt_buffer_slice(&ranges->low_buffer),
                           .high = pt_buffer_slice(&ranges->high_buffer),
                           .bounded = true};
    return true;
}

static pt_ranges_step step_listed(pt_ranges *ranges, const pt_interval *window,
                                  pt_direction direction, pt_interval *range)
{
    const pt_key_condition *partition = &ranges->partition;
    unsigned first = pt_condition_points_before(partition, window->low);
    unsigned end = window->bounded ? pt_condition_points_before(partition, window->high)
                                   : partition->point_count;
    if (first > 0) {
        first--; /* the window may begin inside the one before */
    }
    while (first < end) {
        unsigned i = direction == PT_FORWARD ? first++ : --end;
        if (range_in_partition(ranges, partition->points[i], window, direction, range)) {
            return PT_RANGE_FOUND;
        }
    }
    return PT_RANGE_END;
}

/* The window without a partition at its near end. */
static void leave_partition(pt_ranges *ranges, pt_slice partition_key, pt_direction direction,
                            pt_interval *window)
{
    if (direction == PT_FORWARD) {
        put_partition_end(&ranges->low_buffer, partition_key);
        window->low = pt_buffer_slice(&ranges->low_buffer);
    } else {
        put_key(&ranges->high_buffer, partition_key, (pt_slice){0});
        window->high = pt_buffer_slice(&ranges->high_buffer);
    }
}

/* Whether all RowKeys that are asked for have been passed, as they have where a range was left. */
static bool rows_are_passed(const pt_ranges *ranges, pt_slice row_key, pt_direction direction)
{
    const pt_interval *rows = &ranges->row.interval;
    if (direction == PT_BACKWARD) {
        return pt_slice_compare(row_key, rows->low) <= 0;
    }
    return rows->bounded && pt_slice_compare(row_key, rows->high) >= 0;
}

/* The near end of the window tells of one partition; which one comes next the store must say. */
static pt_ranges_step step_unknown(pt_ranges *ranges, const pt_interval *window,
                                   pt_direction direction, pt_interval *range)
{
    pt_interval rest = *window;
    pt_slice position = direction == PT_FORWARD ? window->low : window->high;
    bool known = direction == PT_FORWARD || window->bounded;
    pt_slice partition_key;
    pt_slice row_key;
    if (known && pt_key_split(position, &partition_key, &row_key)) {
        if (!rows_are_passed(ranges, row_key, direction) &&
            range_in_partition(ranges, partition_key, window, direction, range)) {
            return PT_RANGE_FOUND;
        }
        leave_partition(ranges, partition_key, direction, &rest);
    }
    if (pt_interval_is_empty(&rest)) {
        return PT_RANGE_END;
    }
    *range = rest;
    return PT_RANGE_PROBE;
}

static pt_ranges_step step(pt_ranges *ranges, const pt_interval *window, pt_direction direction,
                           pt_interval *range)
{
    if (ranges->nothing || pt_interval_is_empty(window)) {
        return PT_RANGE_END;
    }
    if (ranges->entity.listed) {
        bool found = pt_condition_outermost(&ranges->entity, window, direction, range);
        return found ? PT_RANGE_FOUND : PT_RANGE_END;
    }
    if (ranges->partition.listed) {
        return step_listed(ranges, window, direction, range);
    }
    if (!pt_condition_is_always(&ranges->row)) {
        return step_unknown(ranges, window, direction, range);
    }
    *range = *window;
    return PT_RANGE_FOUND;
}

static pt_ranges_step checked_step(pt_ranges *ranges, const pt_interval *window,
                                   pt_direction direction, pt_interval *range)
{
    pt_buffer_clear(&ranges->low_buffer);
    pt_buffer_clear(&ranges->high_buffer);
    pt_ranges_step result = step(ranges, window, direction, range);
    bool failed = ranges->low_buffer.failed || ranges->high_buffer.failed;
    return failed ? PT_RANGE_NOMEM : result;
}

pt_ranges_step pt_ranges_next(pt_ranges *ranges, pt_slice at, pt_interval *range)
{
    pt_interval window = ranges->entity.interval;
    pt_interval_raise_low(&window, at);
    return checked_step(ranges, &window, PT_FORWARD, range);
}

pt_ranges_step pt_ranges_previous(pt_ranges *ranges, const pt_slice *at, pt_interval *range)
{
    pt_interval window = ranges->entity.interval;
    if (at != NULL) {
        pt_interval_lower_high(&window, *at);
    }
    return checked_step(ranges, &window, PT_BACKWARD, range);
}
