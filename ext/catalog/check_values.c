#include "catalog/check_values.h"

#include <stdlib.h>

#include "base/sqlite.h"

bool pt_check_add_value(pt_met_values *values, uint32_t table_id, const pt_large *large,
                        pt_slice key)
{
    pt_slice copy = pt_arena_copy(&values->keys, key);
    if (copy.data == NULL || !pt_array_reserve(&values->values, &values->capacity,
                                               values->count + 1, sizeof *values->values)) {
        return false;
    }
    values->values[values->count++] =
        (pt_met_value){.table_id = table_id, .large = *large, .key = copy};
    return true;
}

/* Compares two values by the keys of their parts. */
static int compare_places(uint32_t table_a, int64_t ticks_a, uint16_t ordinal_a, uint32_t table_b,
                          int64_t ticks_b, uint16_t ordinal_b)
{
    if (table_a != table_b) {
        return table_a < table_b ? -1 : 1;
    }
    if (ticks_a != ticks_b) {
        return ticks_a < ticks_b ? -1 : 1;
    }
    return (ordinal_a > ordinal_b) - (ordinal_a < ordinal_b);
}

static int compare_values(const void *a, const void *b)
{
    const pt_met_value *left = a;
    const pt_met_value *right = b;
    return compare_places(left->table_id, left->large.ticks, left->large.ordinal, right->table_id,
                          right->large.ticks, right->large.ordinal);
}

static int compare_with_part(const pt_met_value *value, const pt_chunk_key *chunk)
{
    return compare_places(value->table_id, value->large.ticks, value->large.ordinal,
                          chunk->table_id, chunk->ticks, chunk->ordinal);
}

static void sort_large_values(pt_met_values *values)
{
    if (!values->sorted && values->count != 0) {
        qsort(values->values, values->count, sizeof *values->values, compare_values);
    }
    values->sorted = true;
}

/* If two records point to the same value, the second one will find no parts left. */
static void next_large_value(pt_met_values *values)
{
    values->next++;
    values->number = 0;
}

const pt_met_value *pt_check_next_incomplete(pt_met_values *values, const pt_chunk_key *before)
{
    sort_large_values(values);
    while (values->next < values->count) {
        const pt_met_value *value = &values->values[values->next];
        int order = before != NULL ? compare_with_part(value, before) : -1;
        if (order > 0) {
            return NULL;
        }
        bool lacks = order < 0 ? values->number < pt_large_chunk_count(&value->large)
                               : values->number < before->number;
        if (order == 0 && !lacks) {
            return NULL;
        }
        if (order < 0) {
            next_large_value(values);
        } else {
            values->number = before->number;
        }
        if (lacks) {
            return value;
        }
    }
    return NULL;
}

pt_part_state pt_check_match_part(pt_met_values *values, const pt_chunk_key *chunk, pt_slice key,
                                  pt_slice record, const pt_met_value **value)
{
    const pt_met_value *next = values->next < values->count ? &values->values[values->next] : NULL;
    if (next == NULL || compare_with_part(next, chunk) != 0 || values->number != chunk->number ||
        chunk->number >= pt_large_chunk_count(&next->large)) {
        return PT_PART_ORPHAN;
    }
    values->number++;
    *value = next;
    return pt_large_is_chunk(key, record, pt_large_chunk_size(&next->large, chunk->number))
               ? PT_PART_SOUND
               : PT_PART_DAMAGED;
}

void pt_check_free_values(pt_met_values *values)
{
    sqlite3_free(values->values);
    pt_arena_free(&values->keys);
    *values = (pt_met_values){0};
}
