#include "query/filter_keys.h"

#include "base/assert.h"
#include "base/sqlite.h"

typedef struct key_search {
    pt_arena *arena;
    bool failed; /* out of memory: the result is useless */
} key_search;

/* The conditions of the operands of an "or" on one column, put together one by one. */
typedef struct combined {
    pt_key_condition all; /* the interval around all of them; the points if all are listed */
    unsigned capacity;
    bool begun;
} combined;

static pt_filter_keys keys_of(key_search *search, const pt_filter_node *node, bool negated);

static pt_filter_keys constant_keys(bool always)
{
    pt_filter_keys keys = {0};
    keys.partition.listed = !always;
    return keys;
}

static bool is_never(const pt_filter_keys *keys)
{
    return pt_condition_is_never(&keys->partition) || pt_condition_is_never(&keys->row) ||
           pt_condition_is_never(&keys->entity);
}

/* --- Memory --- */

static void *allocate(key_search *search, size_t size)
{
    void *memory = search->failed ? NULL : pt_arena_alloc(search->arena, size);
    search->failed = memory == NULL;
    return memory;
}

/* The first text after a text; empty on failure. */
static pt_slice after(key_search *search, pt_slice text)
{
    pt_slice copy = pt_arena_copy_with(search->arena, text, PT_AFTER_TEXT);
    search->failed = search->failed || copy.data == NULL;
    return copy;
}

static void add_point(key_search *search, combined *list, pt_slice point)
{
    search->failed = search->failed ||
                     !pt_condition_add_point(&list->all, &list->capacity, point, search->arena);
}

/* --- Comparisons --- */

static pt_filter_op opposite(pt_filter_op op)
{
    switch (op) {
    case PT_FILTER_EQ:
        return PT_FILTER_NE;
    case PT_FILTER_NE:
        return PT_FILTER_EQ;
    case PT_FILTER_GT:
        return PT_FILTER_LE;
    case PT_FILTER_GE:
        return PT_FILTER_LT;
    case PT_FILTER_LT:
        return PT_FILTER_GE;
    default:
        return PT_FILTER_GT;
    }
}

/*
 * Keys do not contain U+0000, so a text that does is between two keys: greater than the part before
 * the U+0000, and less than every longer key that begins with that part.
 */
static pt_key_condition divided_text_condition(key_search *search, pt_filter_op op, pt_slice part)
{
    pt_key_condition condition = {.listed = op == PT_FILTER_EQ};
    if (op == PT_FILTER_GT || op == PT_FILTER_GE) {
        condition.interval.low = after(search, part);
    } else if (op == PT_FILTER_LT || op == PT_FILTER_LE) {
        condition.interval = (pt_interval){.high = after(search, part), .bounded = true};
    }
    return condition;
}

static pt_key_condition text_condition(key_search *search, pt_filter_op op, pt_slice text)
{
    pt_key_condition condition = {0};
    combined point = {0};
    const uint8_t *nul = memchr(text.data, 0, text.size);
    if (nul != NULL) {
        return divided_text_condition(search, op,
                                      pt_slice_of(text.data, (size_t)(nul - text.data)));
    }
    switch (op) {
    case PT_FILTER_EQ:
        add_point(search, &point, text);
        condition = point.all;
        condition.listed = true;
        break;
    case PT_FILTER_NE:
        break;
    case PT_FILTER_GT:
        condition.interval.low = after(search, text);
        break;
    case PT_FILTER_GE:
        condition.interval.low = text;
        break;
    case PT_FILTER_LT:
        condition.interval = (pt_interval){.high = text, .bounded = true};
        break;
    case PT_FILTER_LE:
        condition.interval = (pt_interval){.high = after(search, text), .bounded = true};
        break;
    }
    return condition;
}

/* Keys and Timestamp are never absent. So a comparison with a constant of another type is always
 * true or always false, and "not" means the opposite operator. */
static pt_filter_keys comparison_keys(key_search *search, const pt_filter_node *node, bool negated)
{
    if (node->subject == PT_FILTER_PROPERTY) {
        return constant_keys(true);
    }
    pt_type type = node->subject == PT_FILTER_TIMESTAMP ? PT_DATETIME : PT_STRING;
    if (node->constant.type != type) {
        return constant_keys(pt_filter_op_holds(node->op, PT_FILTER_LESS) != negated);
    }
    pt_filter_keys keys = constant_keys(true);
    pt_filter_op op = negated ? opposite(node->op) : node->op;
    if (node->subject == PT_FILTER_PARTITION_KEY) {
        keys.partition = text_condition(search, op, node->constant.bytes);
    } else if (node->subject == PT_FILTER_ROW_KEY) {
        keys.row = text_condition(search, op, node->constant.bytes);
    }
    return keys;
}

/* --- And --- */

static void intersect(pt_key_condition *condition, const pt_key_condition *other)
{
    pt_interval_intersect(&condition->interval, &other->interval);
    if (other->listed) {
        pt_condition_restrict(condition, other);
    }
    pt_condition_drop_outside(condition);
}

/*
 * If PartitionKeys and RowKeys are both listed, lists the entity keys. Not for several partitions
 * with several rows each: two lists need less space than all pairs.
 */
static void list_entities(key_search *search, pt_filter_keys *keys)
{
    const pt_key_condition *partitions = &keys->partition;
    const pt_key_condition *rows = &keys->row;
    if (keys->entity.listed || !partitions->listed || !rows->listed ||
        (partitions->point_count > 1 && rows->point_count > 1)) {
        return;
    }
    combined list = {0};
    for (unsigned p = 0; p < partitions->point_count; p++) {
        for (unsigned r = 0; r < rows->point_count; r++) {
            pt_slice partition = partitions->points[p];
            pt_slice row = rows->points[r];
            size_t size = partition.size + 1 + row.size;
            uint8_t *key = allocate(search, size + 1);
            if (key == NULL) {
                return;
            }
            /* The NUL after each point separates the keys and ends the new point. */
            memcpy(key, partition.data, partition.size + 1);
            memcpy(key + partition.size + 1, row.data, row.size + 1);
            add_point(search, &list, pt_slice_of(key, size));
        }
    }
    list.all.listed = true;
    keys->entity = list.all;
}

static pt_filter_keys keys_of_all(key_search *search, const pt_filter_node *first, bool negated)
{
    pt_filter_keys keys = constant_keys(true);
    for (const pt_filter_node *node = first; node != NULL; node = node->next) {
        pt_filter_keys more = keys_of(search, node, negated);
        intersect(&keys.partition, &more.partition);
        intersect(&keys.row, &more.row);
        intersect(&keys.entity, &more.entity);
    }
    list_entities(search, &keys);
    pt_condition_drop_entities(&keys.entity, &keys.partition, &keys.row);
    return is_never(&keys) ? constant_keys(false) : keys;
}

/* --- Or --- */

/* The interval around the condition's keys, of which there is at least one. */
static pt_interval interval_around(key_search *search, const pt_key_condition *condition)
{
    if (!condition->listed) {
        return condition->interval;
    }
    PT_ASSERT(condition->points != NULL);
    return (pt_interval){.low = condition->points[0],
                         .high = after(search, condition->points[condition->point_count - 1]),
                         .bounded = true};
}

static void widen(pt_interval *interval, const pt_interval *other)
{
    if (pt_slice_compare(other->low, interval->low) < 0) {
        interval->low = other->low;
    }
    interval->bounded = interval->bounded && other->bounded;
    if (interval->bounded && pt_slice_compare(other->high, interval->high) > 0) {
        interval->high = other->high;
    }
}

static void add_alternative(key_search *search, combined *list, const pt_key_condition *condition)
{
    pt_interval around = interval_around(search, condition);
    if (list->begun) {
        widen(&list->all.interval, &around);
    } else {
        list->all.interval = around;
        list->all.listed = true;
    }
    list->begun = true;
    list->all.listed = list->all.listed && condition->listed;
    for (unsigned i = 0; list->all.listed && i < condition->point_count; i++) {
        add_point(search, list, condition->points[i]);
    }
}

static pt_key_condition combined_condition(combined *list)
{
    if (!list->all.listed) {
        return (pt_key_condition){.interval = list->all.interval};
    }
    pt_condition_sort(&list->all);
    list->all.interval = (pt_interval){0};
    return list->all;
}

static pt_filter_keys keys_of_any(key_search *search, const pt_filter_node *first, bool negated)
{
    combined partition = {0};
    combined row = {0};
    combined entity = {0};
    for (const pt_filter_node *node = first; node != NULL; node = node->next) {
        pt_filter_keys more = keys_of(search, node, negated);
        if (search->failed || is_never(&more)) {
            continue;
        }
        add_alternative(search, &partition, &more.partition);
        add_alternative(search, &row, &more.row);
        add_alternative(search, &entity, &more.entity);
    }
    if (!partition.begun || search->failed) {
        return constant_keys(false);
    }
    return (pt_filter_keys){.partition = combined_condition(&partition),
                            .row = combined_condition(&row),
                            .entity = combined_condition(&entity)};
}

/* --- Whole filters --- */

static pt_filter_keys keys_of(key_search *search, const pt_filter_node *node, bool negated)
{
    negated = negated != node->negated;
    switch (node->kind) {
    case PT_FILTER_CONSTANT:
        return constant_keys(node->value != negated);
    case PT_FILTER_COMPARISON:
        return comparison_keys(search, node, negated);
    default:
        return (node->kind == PT_FILTER_AND) != negated ? keys_of_all(search, node->first, negated)
                                                        : keys_of_any(search, node->first, negated);
    }
}

int pt_filter_find_keys(pt_filter *filter, pt_filter_keys *keys)
{
    key_search search = {.arena = &filter->arena};
    *keys = keys_of(&search, filter->root, false);
    return search.failed ? SQLITE_NOMEM : SQLITE_OK;
}

bool pt_filter_keys_bound_partitions(const pt_filter_keys *keys)
{
    return !pt_condition_is_always(&keys->partition) || is_never(keys);
}
