#include "table/index_ranges.h"

#include "entity/key.h"
#include "query/value_ranges.h"
#include "value/value.h"

/* The first columns are combined as long as there are no more prefixes than these. */
enum { PREFIXES_MAX = 4096, COMPARISONS_MAX = 16 };

/* Beginnings of keys, each followed by the parts of the columns that are not combined yet. */
typedef struct key_prefixes {
    pt_slice *prefixes;
    unsigned count;
    unsigned capacity;
} key_prefixes;

/* Its data is NULL when out of memory. */
static pt_slice join(pt_index_ranges *made, pt_slice prefix, pt_slice more)
{
    size_t size = prefix.size + more.size;
    uint8_t *bytes = pt_arena_alloc(&made->arena, size);
    if (bytes == NULL) {
        return (pt_slice){0};
    }
    memcpy(bytes, prefix.data, prefix.size);
    if (more.size != 0) {
        memcpy(bytes + prefix.size, more.data, more.size);
    }
    return pt_slice_of(bytes, size);
}

static bool add_prefix(pt_index_ranges *made, key_prefixes *to, pt_slice prefix, pt_slice more)
{
    if (!pt_arena_reserve(&made->arena, &to->prefixes, &to->capacity, to->count,
                          sizeof *to->prefixes)) {
        return false;
    }
    pt_slice *joined = &to->prefixes[to->count];
    *joined = join(made, prefix, more);
    to->count += joined->data != NULL;
    return joined->data != NULL;
}

static bool add_key_range(pt_index_ranges *made, pt_slice prefix, const pt_value_range *range)
{
    const pt_value_range keys = {.low = join(made, prefix, range->low),
                                 .high = join(made, prefix, range->high)};
    if (keys.low.data == NULL || keys.high.data == NULL ||
        !pt_arena_reserve(&made->arena, &made->ranges, &made->capacity, made->count,
                          sizeof *made->ranges)) {
        return false;
    }
    made->ranges[made->count++] = keys;
    return true;
}

/* Follows each prefix by each range. */
static bool add_all_ranges(pt_index_ranges *made, const key_prefixes *prefixes,
                           const pt_value_ranges *ranges)
{
    for (unsigned i = 0; i < prefixes->count; i++) {
        for (unsigned j = 0; j < ranges->count; j++) {
            if (!add_key_range(made, prefixes->prefixes[i], &ranges->ranges[j])) {
                return false;
            }
        }
    }
    return true;
}

static bool extend_prefixes(pt_index_ranges *made, key_prefixes *prefixes,
                            const pt_value_ranges *points)
{
    key_prefixes longer = {0};
    for (unsigned i = 0; i < prefixes->count; i++) {
        for (unsigned j = 0; j < points->count; j++) {
            if (!add_prefix(made, &longer, prefixes->prefixes[i], points->ranges[j].low)) {
                return false;
            }
        }
    }
    *prefixes = longer;
    return true;
}

static bool are_points(const pt_value_ranges *ranges)
{
    unsigned i = 0;
    while (i < ranges->count && ranges->ranges[i].point) {
        i++;
    }
    return i == ranges->count;
}

/* The range of all that follows a prefix. */
static pt_value_range whole_range(void)
{
    static const uint8_t end = PT_ENTRY_END;
    return (pt_value_range){.high = pt_slice_of(&end, 1)};
}

/* What a column's conditions make of the search. */
typedef struct column_search {
    pt_value_ranges ranges;
    bool any; /* there are conditions */
} column_search;

static int search_column(pt_index_ranges *made, const pt_conditions *conditions, unsigned number,
                         column_search *found)
{
    const pt_comparison *comparisons[COMPARISONS_MAX];
    bool time = made->index->columns[number].system == PT_SYSTEM_TIMESTAMP;
    int column = time ? (int)PT_TERM_TIME_COLUMN : made->declared[number];
    *found = (column_search){.any = false};
    if (column < 0) {
        return SQLITE_OK;
    }
    unsigned count = pt_terms_on_column(&conditions->terms, column, comparisons, COMPARISONS_MAX);
    found->any = count != 0;
    return found->any
               ? pt_value_ranges_set(&found->ranges, comparisons, count,
                                     made->index->columns[number].has, &made->arena, &made->scratch)
               : SQLITE_OK;
}

static bool is_key(const pt_index_ranges *made, unsigned number)
{
    return made->by_key && made->index->columns[number].system == made->key;
}

/* Extends the prefixes by the key as column of the index, or by a PartitionKey that follows the
 * columns. */
static bool extend_by_key(pt_index_ranges *made, key_prefixes *prefixes, bool column)
{
    const pt_value value = {.type = PT_STRING, .bytes = made->key_text};
    pt_buffer part = {0};
    if (column) {
        pt_entry_append(&part, &value);
    } else {
        pt_buffer_append_slice(&part, made->key_text);
        pt_buffer_append_byte(&part, 0);
    }
    pt_value_range range = {.low = pt_buffer_slice(&part), .point = true};
    const pt_value_ranges point = {.ranges = &range, .count = 1};
    bool extended = !part.failed && extend_prefixes(made, prefixes, &point);
    pt_buffer_free(&part);
    return extended;
}

/* The end: no more conditions are combined. `all`: there are no more columns. */
static int add_whole_ranges(pt_index_ranges *made, key_prefixes *prefixes, bool all)
{
    const pt_value_range whole = whole_range();
    const pt_value_ranges rest = {.ranges = (pt_value_range *)(uintptr_t)&whole, .count = 1};
    bool follows = all && made->by_key && !made->key_listed;
    bool added =
        (!follows || extend_by_key(made, prefixes, false)) && add_all_ranges(made, prefixes, &rest);
    return added ? SQLITE_OK : SQLITE_NOMEM;
}

/* Combines the conditions. */
static int make_key_ranges(pt_index_ranges *made, const pt_conditions *conditions,
                           key_prefixes *prefixes, bool *sorts)
{
    for (unsigned i = 0; i < made->index->count; i++) {
        column_search found;
        if (is_key(made, i)) {
            if (!extend_by_key(made, prefixes, true)) {
                return SQLITE_NOMEM;
            }
            continue;
        }
        if (search_column(made, conditions, i, &found) != SQLITE_OK) {
            return SQLITE_NOMEM;
        }
        if (i < made->fixed && (found.ranges.count > 1 || !are_points(&found.ranges))) {
            *sorts = true;
        }
        if (!found.any) {
            return add_whole_ranges(made, prefixes, false);
        }
        bool combines = are_points(&found.ranges) &&
                        (size_t)prefixes->count * found.ranges.count <= PREFIXES_MAX;
        if (!combines) {
            return add_all_ranges(made, prefixes, &found.ranges) ? SQLITE_OK : SQLITE_NOMEM;
        }
        if (!extend_prefixes(made, prefixes, &found.ranges)) {
            return SQLITE_NOMEM;
        }
    }
    return add_whole_ranges(made, prefixes, true);
}

/* Takes the argument of PartitionKey = ... or RowKey = ..., if there is one. *able = false if it is
 * no text, or one that a column of the index does not tell from longer ones. */
static int take_key(pt_index_ranges *made, sqlite3_value *argument, bool *able)
{
    pt_slice text;
    made->key_listed = false;
    for (unsigned i = 0; i < made->index->count; i++) {
        made->key_listed = made->key_listed || is_key(made, i);
    }
    if (!made->by_key) {
        return SQLITE_OK;
    }
    *able = sqlite3_value_type(argument) == SQLITE_TEXT;
    if (!*able) {
        return SQLITE_OK;
    }
    if (pt_value_argument_text(argument, &text) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    *able = !made->key_listed || text.size < PT_ENTRY_VALUE_MAX;
    made->key_text = pt_arena_copy(&made->arena, text);
    return made->key_text.data != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* True if conditions may find entities without entry. */
static bool may_lack_entry(const pt_index_ranges *made, const pt_conditions *conditions)
{
    const pt_comparison *comparisons[COMPARISONS_MAX];
    int column = made->index->presence >= 0 ? made->declared[made->index->presence] : -1;
    unsigned count =
        column >= 0 ? pt_terms_on_column(&conditions->terms, column, comparisons, COMPARISONS_MAX)
                    : 0;
    unsigned i = 0;
    while (i < count && !comparisons[i]->finds_null) {
        i++;
    }
    return i < count;
}

int pt_index_ranges_make(pt_index_ranges *made, const pt_conditions *conditions, sqlite3_value *key,
                         bool *able, bool *sorts)
{
    key_prefixes prefixes = {0};
    pt_key_start start = pt_key_start_of_table(made->index->id);
    *able = !may_lack_entry(made, conditions);
    if (!*able) {
        return SQLITE_OK;
    }
    int rc = take_key(made, key, able);
    if (rc != SQLITE_OK || !*able) {
        return rc;
    }
    const pt_slice none = {0};
    return add_prefix(made, &prefixes, pt_key_start_slice(&start), none)
               ? make_key_ranges(made, conditions, &prefixes, sorts)
               : SQLITE_NOMEM;
}

void pt_index_ranges_begin(pt_index_ranges *made)
{
    pt_arena_clear(&made->arena);
    made->ranges = NULL;
    made->count = 0;
    made->capacity = 0;
}

void pt_index_ranges_free(pt_index_ranges *made)
{
    pt_arena_free(&made->arena);
    pt_buffer_free(&made->scratch);
}
