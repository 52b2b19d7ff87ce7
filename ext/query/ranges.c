#include "query/ranges.h"

#include <assert.h>

#include "base/number.h"
#include "entity/key.h"
#include "value/value.h"

/* --- Terms: from one term of a plan and its argument to a condition --- */

/* How a term compares: its position among the terms of its column. */
typedef enum key_bound { EQUAL, AMONG, ABOVE, FROM, BELOW, UP_TO, STARTING_WITH } key_bound;

static_assert((int)PT_TERM_PK_IN == AMONG && (int)PT_TERM_PK_STARTS_WITH == STARTING_WITH &&
                  PT_TERM_RK_STARTS_WITH - PT_TERM_RK_EQ == STARTING_WITH &&
                  PT_TERM_EK_LE - PT_TERM_EK_EQ == UP_TO &&
                  PT_TERM_ROW_ID_IN - PT_TERM_ROW_ID_EQ == AMONG,
              "the terms of each column are listed in the same order");

static key_bound key_bound_of(int term)
{
    if (term >= PT_TERM_ROW_ID_EQ) {
        return (key_bound)(term - PT_TERM_ROW_ID_EQ);
    }
    if (term >= PT_TERM_EK_EQ) {
        return (key_bound)(term - PT_TERM_EK_EQ);
    }
    return (key_bound)(term >= PT_TERM_RK_EQ ? term - PT_TERM_RK_EQ : term - PT_TERM_PK_EQ);
}

/* Converts a copy: an argument that xFilter was given must not change its type. */
static int text_of_copy(pt_arena *arena, sqlite3_value *value, pt_slice *text)
{
    sqlite3_value *copy = sqlite3_value_dup(value);
    pt_slice converted = {0};
    int rc = copy != NULL ? pt_value_argument_text(copy, &converted) : SQLITE_NOMEM;
    if (rc == SQLITE_OK) {
        *text = pt_arena_copy(arena, converted);
        rc = text->data != NULL ? SQLITE_OK : SQLITE_NOMEM;
    }
    sqlite3_value_free(copy);
    return rc;
}

/* --- Points and bounds --- */

typedef struct point_list {
    pt_key_condition points;
    unsigned capacity;
} point_list;

static int copy_point(pt_arena *arena, point_list *list, pt_slice point)
{
    pt_slice copy = pt_arena_copy(arena, point);
    bool added =
        copy.data != NULL && pt_condition_add_point(&list->points, &list->capacity, copy, arena);
    return added ? SQLITE_OK : SQLITE_NOMEM;
}

static int apply_point(pt_ranges *ranges, pt_key_condition *condition, pt_slice point)
{
    point_list list = {0};
    int rc = copy_point(&ranges->arena, &list, point);
    if (rc == SQLITE_OK) {
        pt_condition_restrict(condition, &list.points);
    }
    return rc;
}

static int apply_starts_with(pt_ranges *ranges, pt_key_condition *condition, pt_slice prefix)
{
    if (prefix.size == 0) {
        return SQLITE_OK;
    }
    pt_slice end = pt_arena_copy_with(&ranges->arena, prefix, PT_AFTER_PREFIX);
    if (end.data == NULL) {
        return SQLITE_NOMEM;
    }
    pt_interval_raise_low(&condition->interval, pt_slice_of(end.data, prefix.size));
    pt_interval_lower_high(&condition->interval, end);
    return SQLITE_OK;
}

/* An inequality. `after` is PT_AFTER_TEXT or PT_AFTER_BYTES. */
static int apply_bound(pt_ranges *ranges, pt_key_condition *condition, key_bound how,
                       pt_slice bound, uint8_t after)
{
    pt_slice edge = pt_arena_copy_with(&ranges->arena, bound, after);
    if (edge.data == NULL) {
        return SQLITE_NOMEM;
    }
    if (how == FROM || how == BELOW) {
        edge.size = bound.size;
    }
    if (how == ABOVE || how == FROM) {
        pt_interval_raise_low(&condition->interval, edge);
    } else {
        pt_interval_lower_high(&condition->interval, edge);
    }
    return SQLITE_OK;
}

/* --- PartitionKey and RowKey --- */

/* The text is "a", a NUL, and maybe more. No key equals it. A key is less if it is <= "a", and
 * greater if it is > "a". */
static int apply_text_with_nul(pt_ranges *ranges, pt_key_condition *condition, key_bound how,
                               pt_slice text)
{
    if (how == EQUAL || how == STARTING_WITH) {
        ranges->nothing = true;
        return SQLITE_OK;
    }
    key_bound same = how == ABOVE || how == FROM ? ABOVE : UP_TO;
    pt_slice start = pt_slice_text((const char *)text.data);
    return apply_bound(ranges, condition, same, start, PT_AFTER_TEXT);
}

static int apply_text(pt_ranges *ranges, pt_key_condition *condition, key_bound how, pt_slice text)
{
    if (pt_slice_has_nul(text)) {
        return apply_text_with_nul(ranges, condition, how, text);
    }
    if (how == EQUAL) {
        return apply_point(ranges, condition, text);
    }
    return how == STARTING_WITH ? apply_starts_with(ranges, condition, text)
                                : apply_bound(ranges, condition, how, text, PT_AFTER_TEXT);
}

/*
 * True for a bound REAL that counts as an integer. It is not taken if SQLite checks the term again,
 * for SQLite compares the key with '5.0'. A row value beginning with PartitionKey reaches xFilter
 * as PartitionKey >= or <=, and SQLite checks it again in any case.
 */
static bool is_bound_integer(const pt_ranges *ranges, const pt_key_condition *condition,
                             key_bound how, sqlite3_value *value, int64_t *integer)
{
    bool may_be_row_value = condition == &ranges->partition && (how == FROM || how == UP_TO);
    return !ranges->checked && !may_be_row_value && how != STARTING_WITH &&
           sqlite3_value_frombind(value) && pt_value_real_integer(value, integer);
}

/*
 * The text that the key is compared with. pt_starts_with converts all values to text. In a
 * comparison, TEXT affinity does so with an integer that is bound to a parameter.
 */
static int compared_text(pt_arena *arena, key_bound how, sqlite3_value *value, pt_slice *text)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_TEXT) {
        return pt_value_argument_text(value, text);
    }
    bool as_text =
        how == STARTING_WITH || (type == SQLITE_INTEGER && sqlite3_value_frombind(value));
    return as_text ? text_of_copy(arena, value, text) : SQLITE_MISMATCH;
}

static int apply_to_text(pt_ranges *ranges, pt_key_condition *condition, key_bound how,
                         sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) {
        ranges->nothing = true;
        return SQLITE_OK;
    }
    if (type == SQLITE_BLOB && how != STARTING_WITH) {
        ranges->nothing = ranges->nothing || how == EQUAL || how == ABOVE || how == FROM;
        return SQLITE_OK;
    }
    int64_t integer;
    if (type == SQLITE_FLOAT && is_bound_integer(ranges, condition, how, value, &integer)) {
        char digits[PT_INTEGER_TEXT_SIZE];
        size_t size = pt_integer_format(integer, digits);
        return apply_text(ranges, condition, how, pt_slice_of(digits, size));
    }
    pt_slice text;
    int rc = compared_text(&ranges->arena, how, value, &text);
    return rc == SQLITE_OK ? apply_text(ranges, condition, how, text) : rc;
}

/* --- Patterns of GLOB --- */

static int apply_pattern(pt_ranges *ranges, pt_key_condition *condition, sqlite3_value *value)
{
    if (sqlite3_value_type(value) == SQLITE_NULL) {
        ranges->nothing = true;
        return SQLITE_OK;
    }
    pt_slice pattern;
    int rc = text_of_copy(&ranges->arena, value, &pattern);
    return rc == SQLITE_OK ? apply_starts_with(ranges, condition, pt_glob_beginning(pattern)) : rc;
}

/* --- EntityKey --- */

/* Every BLOB is greater than all numbers and texts. */
static int apply_to_blob(pt_ranges *ranges, key_bound how, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type != SQLITE_BLOB) {
        bool always = type != SQLITE_NULL && (how == ABOVE || how == FROM);
        ranges->nothing = ranges->nothing || !always;
        return SQLITE_OK;
    }
    pt_slice blob;
    int rc = pt_value_argument_blob(value, &blob);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return how == EQUAL ? apply_point(ranges, &ranges->entity, blob)
                        : apply_bound(ranges, &ranges->entity, how, blob, PT_AFTER_BYTES);
}

/* --- Row ids --- */

/* Adds the key of a row id to the points. Only a text can be a row id, and only if it is spelled as
 * one; any other value equals none. */
static int add_row_id(pt_ranges *ranges, sqlite3_value *value, point_list *list)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        return SQLITE_OK;
    }
    pt_slice text;
    int rc = pt_value_argument_text(value, &text);
    if (rc != SQLITE_OK) {
        return rc;
    }
    uint8_t *key = pt_arena_alloc(&ranges->arena, text.size + 1);
    if (key == NULL) {
        return SQLITE_NOMEM;
    }
    size_t size = pt_key_from_row_id(text, key);
    if (size == 0) {
        return SQLITE_OK;
    }
    key[size] = 0; /* a point is followed by a NUL */
    bool added = pt_condition_add_point(&list->points, &list->capacity, pt_slice_of(key, size),
                                        &ranges->arena);
    return added ? SQLITE_OK : SQLITE_NOMEM;
}

static int apply_row_id(pt_ranges *ranges, sqlite3_value *value)
{
    point_list list = {0};
    int rc = add_row_id(ranges, value, &list);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (list.points.point_count == 0) {
        ranges->nothing = true;
        return SQLITE_OK;
    }
    pt_condition_restrict(&ranges->entity, &list.points);
    return SQLITE_OK;
}

/* --- IN --- */

/* Adds one value of an IN, unless no key can equal it. SQLite has applied TEXT affinity to a
 * written list; only a subquery can deliver a number. */
static int add_value(pt_ranges *ranges, int term, sqlite3_value *value, point_list *list)
{
    if (term == PT_TERM_ROW_ID_IN) {
        return add_row_id(ranges, value, list);
    }
    int type = sqlite3_value_type(value);
    bool is_entity = term == PT_TERM_EK_IN;
    if (!is_entity && (type == SQLITE_INTEGER || type == SQLITE_FLOAT)) {
        return SQLITE_MISMATCH;
    }
    if (type != (is_entity ? SQLITE_BLOB : SQLITE_TEXT)) {
        return SQLITE_OK;
    }
    pt_slice key;
    int rc = is_entity ? pt_value_argument_blob(value, &key) : pt_value_argument_text(value, &key);
    if (rc != SQLITE_OK || (!is_entity && pt_slice_has_nul(key))) {
        return rc;
    }
    return copy_point(&ranges->arena, list, key);
}

static int apply_in(pt_ranges *ranges, pt_key_condition *condition, int term,
                    sqlite3_value *argument)
{
    point_list list = {0};
    sqlite3_value *value;
    int rc = sqlite3_vtab_in_first(argument, &value);
    while (rc == SQLITE_OK) {
        rc = add_value(ranges, term, value, &list);
        if (rc == SQLITE_OK) {
            rc = sqlite3_vtab_in_next(argument, &value);
        }
    }
    if (rc != SQLITE_DONE) {
        return rc;
    }
    pt_condition_sort(&list.points);
    pt_condition_restrict(condition, &list.points);
    return SQLITE_OK;
}

static bool is_pattern(unsigned plan_bits, int term)
{
    return (term == PT_TERM_PK_STARTS_WITH && (plan_bits & PT_PLAN_PK_PATTERN) != 0) ||
           (term == PT_TERM_RK_STARTS_WITH && (plan_bits & PT_PLAN_RK_PATTERN) != 0);
}

static int apply_term(pt_ranges *ranges, unsigned plan_bits, int term, sqlite3_value *argument)
{
    pt_key_condition *condition = &ranges->partition;
    if (term >= PT_TERM_EK_EQ) {
        condition = &ranges->entity;
    } else if (term >= PT_TERM_RK_EQ) {
        condition = &ranges->row;
    }
    key_bound how = key_bound_of(term);
    if (how == AMONG) {
        return apply_in(ranges, condition, term, argument);
    }
    if (term == PT_TERM_ROW_ID_EQ) {
        return apply_row_id(ranges, argument);
    }
    if (is_pattern(plan_bits, term)) {
        return apply_pattern(ranges, condition, argument);
    }
    return condition == &ranges->entity ? apply_to_blob(ranges, how, argument)
                                        : apply_to_text(ranges, condition, how, argument);
}

/* --- All terms of a plan --- */

/*
 * Each condition narrows the others. A PartitionKey ends with a NUL in an entity key and contains
 * none, so an interval of PartitionKeys is, byte for byte, also one of entity keys.
 */
static void combine_conditions(pt_ranges *ranges)
{
    pt_interval_intersect(&ranges->entity.interval, &ranges->partition.interval);
    pt_condition_drop_outside(&ranges->partition);
    pt_condition_drop_outside(&ranges->row);
    pt_condition_drop_outside(&ranges->entity);
    pt_condition_drop_entities(&ranges->entity, &ranges->partition, &ranges->row);
    ranges->nothing = ranges->nothing || pt_condition_is_never(&ranges->partition) ||
                      pt_condition_is_never(&ranges->row) || pt_condition_is_never(&ranges->entity);
}

static void reset_ranges(pt_ranges *ranges)
{
    pt_arena_clear(&ranges->arena);
    *ranges = (pt_ranges){.arena = ranges->arena,
                          .low_buffer = ranges->low_buffer,
                          .high_buffer = ranges->high_buffer};
}

static int refuse_compared_number(const char *column, sqlite3_value *argument, pt_error *error)
{
    if (sqlite3_value_type(argument) == SQLITE_FLOAT && sqlite3_value_frombind(argument)) {
        int64_t integer;
        bool integral = pt_value_real_integer(argument, &integer);
        return pt_error_set(error, SQLITE_MISMATCH,
                            "%s is compared with a number, the REAL %!.15g, which may mean several "
                            "texts ('5', '5.0'); bind a text or an integer%s",
                            column, sqlite3_value_double(argument),
                            integral ? ", or write CAST(? AS INTEGER)" : "");
    }
    return pt_error_set(error, SQLITE_MISMATCH,
                        "%s is compared with a number, which may mean the text '5' or every "
                        "key of that value ('5', '05'); compare with CAST(... AS TEXT)",
                        column);
}

static int fail_term(int rc, int term, sqlite3_value *argument, pt_error *error)
{
    switch (rc) {
    case SQLITE_NOMEM:
        return pt_error_nomem(error);
    case SQLITE_MISMATCH:
        return refuse_compared_number(term < PT_TERM_RK_EQ ? "PartitionKey" : "RowKey", argument,
                                      error);
    default:
        return pt_error_set(error, rc, "the values of an IN cannot be read: %s",
                            sqlite3_errstr(rc));
    }
}

int pt_ranges_set(pt_ranges *ranges, unsigned plan_bits, int argc, sqlite3_value **argv,
                  pt_error *error)
{
    reset_ranges(ranges);
    ranges->checked = (plan_bits & PT_PLAN_CHECKED) != 0;
    int next = 0;
    for (int term = 0; term < PT_TERM_COUNT && next < argc; term++) {
        if ((plan_bits & PT_PLAN_TERM(term)) != 0) {
            int rc = apply_term(ranges, plan_bits, term, argv[next]);
            if (rc != SQLITE_OK) {
                return fail_term(rc, term, argv[next], error);
            }
            next++;
        }
    }
    combine_conditions(ranges);
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
    combine_conditions(ranges);
    return done;
}

bool pt_ranges_scan_table(const pt_ranges *ranges, unsigned plan_bits)
{
    bool all = !ranges->nothing && pt_condition_is_always(&ranges->partition);
    return pt_plan_is_table_scan(plan_bits) || (all && pt_plan_relies_on_pattern(plan_bits));
}

void pt_ranges_free(pt_ranges *ranges)
{
    pt_arena_free(&ranges->arena);
    pt_buffer_free(&ranges->low_buffer);
    pt_buffer_free(&ranges->high_buffer);
    *ranges = (pt_ranges){0};
}

/* --- From one range to the next --- */

static void put_range_key(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key)
{
    pt_buffer_clear(buffer);
    pt_key_append(buffer, partition_key, row_key);
}

static void put_partition_end(pt_buffer *buffer, pt_slice partition_key)
{
    put_range_key(buffer, partition_key, (pt_slice){0});
    if (!buffer->failed) {
        buffer->data[buffer->size - 1] = PT_KEY_PARTITION_END;
    }
}

/* Where a position is in a partition: -1 before all RowKeys, 1 after all, 0 at `row_key`. */
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

/* The RowKeys that a window of entity keys shows of one partition. False if it shows none. */
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

/* The first (forward) or last (backward) range of one partition inside the window. False if there
 * is none. */
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
    put_range_key(&ranges->low_buffer, partition_key, rows.low);
    if (rows.bounded) {
        put_range_key(&ranges->high_buffer, partition_key, rows.high);
    } else {
        put_partition_end(&ranges->high_buffer, partition_key);
    }
    *range = (pt_interval){.low = pt_buffer_slice(&ranges->low_buffer),
                           .high = pt_buffer_slice(&ranges->high_buffer),
                           .bounded = true};
    return true;
}

static pt_ranges_step find_in_listed_partitions(pt_ranges *ranges, const pt_interval *window,
                                                pt_direction direction, pt_interval *range)
{
    const pt_key_condition *partition = &ranges->partition;
    unsigned first = pt_condition_points_before(partition, window->low);
    unsigned end = window->bounded ? pt_condition_points_before(partition, window->high)
                                   : partition->point_count;
    if (first > 0) {
        first--; /* the window may begin inside the partition before it */
    }
    while (first < end) {
        unsigned i = direction == PT_FORWARD ? first++ : --end;
        if (range_in_partition(ranges, partition->points[i], window, direction, range)) {
            return PT_RANGE_FOUND;
        }
    }
    return PT_RANGE_END;
}

/* Cuts a partition off the end of the window where the search begins. */
static void cut_off_partition(pt_ranges *ranges, pt_slice partition_key, pt_direction direction,
                              pt_interval *window)
{
    if (direction == PT_FORWARD) {
        put_partition_end(&ranges->low_buffer, partition_key);
        window->low = pt_buffer_slice(&ranges->low_buffer);
    } else {
        put_range_key(&ranges->high_buffer, partition_key, (pt_slice){0});
        window->high = pt_buffer_slice(&ranges->high_buffer);
    }
}

/* True if the search is past all wanted RowKeys of a partition, as it is after their range has been
 * returned. */
static bool rows_are_passed(const pt_ranges *ranges, pt_slice row_key, pt_direction direction)
{
    const pt_interval *rows = &ranges->row.interval;
    if (direction == PT_BACKWARD) {
        return pt_slice_compare(row_key, rows->low) <= 0;
    }
    return rows->bounded && pt_slice_compare(row_key, rows->high) >= 0;
}

/*
 * The partitions are not listed, and each can hold one range. The end of the window where the
 * search begins names one partition. Only the store knows the next one, so the caller has to probe.
 */
static pt_ranges_step find_in_unknown_partitions(pt_ranges *ranges, const pt_interval *window,
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
        cut_off_partition(ranges, partition_key, direction, &rest);
    }
    if (pt_interval_is_empty(&rest)) {
        return PT_RANGE_END;
    }
    *range = rest;
    return PT_RANGE_PROBE;
}

static pt_ranges_step find_range(pt_ranges *ranges, const pt_interval *window,
                                 pt_direction direction, pt_interval *range)
{
    if (ranges->nothing || pt_interval_is_empty(window)) {
        return PT_RANGE_END;
    }
    if (ranges->entity.listed) {
        bool found = pt_condition_outermost(&ranges->entity, window, direction, range);
        return found ? PT_RANGE_FOUND : PT_RANGE_END;
    }
    if (ranges->partition.listed) {
        return find_in_listed_partitions(ranges, window, direction, range);
    }
    if (!pt_condition_is_always(&ranges->row)) {
        return find_in_unknown_partitions(ranges, window, direction, range);
    }
    *range = *window;
    return PT_RANGE_FOUND;
}

static pt_ranges_step find_range_checked(pt_ranges *ranges, const pt_interval *window,
                                         pt_direction direction, pt_interval *range)
{
    pt_buffer_clear(&ranges->low_buffer);
    pt_buffer_clear(&ranges->high_buffer);
    pt_ranges_step result = find_range(ranges, window, direction, range);
    bool failed = ranges->low_buffer.failed || ranges->high_buffer.failed;
    return failed ? PT_RANGE_NOMEM : result;
}

pt_ranges_step pt_ranges_next(pt_ranges *ranges, pt_slice at, pt_interval *range)
{
    pt_interval window = ranges->entity.interval;
    pt_interval_raise_low(&window, at);
    return find_range_checked(ranges, &window, PT_FORWARD, range);
}

pt_ranges_step pt_ranges_previous(pt_ranges *ranges, const pt_slice *at, pt_interval *range)
{
    pt_interval window = ranges->entity.interval;
    if (at != NULL) {
        pt_interval_lower_high(&window, *at);
    }
    return find_range_checked(ranges, &window, PT_BACKWARD, range);
}

/* --- Walk --- */

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

/* Backward, the search begins before `at`, so `at` is the first string after the key. */
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
