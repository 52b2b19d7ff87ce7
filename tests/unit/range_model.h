/*
 * A model of what a query on keys gives: keys in a sorted array, terms with random arguments, each
 * looked at one by one.
 */
#ifndef RANGE_MODEL_H
#define RANGE_MODEL_H

#include <stdlib.h>

#include "query/ranges.h"

enum { TEXTS = 14, KEYS_MAX = 60, LIST_MAX = 4 };

typedef struct argument {
    int type;
    size_t size;
    uint8_t bytes[24]; /* of a number: its text */
} argument;

typedef struct key {
    size_t partition_size;
    size_t size;
    uint8_t bytes[24];
} key;

static const char *const texts[TEXTS] = {
    "",  "a",  "a\x01", "aa",  "ab", "b", "\xC3\xA9", "\xF4\x8F\xBF\xBF",
    "5", "05", " 5 ",   "5.0", "5x", "~"};

static struct model {
    key keys[KEYS_MAX];
    int key_count;
    unsigned bits;
    argument arguments[PT_TERM_COUNT][LIST_MAX];
    int counts[PT_TERM_COUNT]; /* more than one for IN */
    bool expected[KEYS_MAX];
} model;

static uint32_t random_state = 20261121;

static unsigned random_below(unsigned limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static int compare_keys(const void *a, const void *b)
{
    const key *x = a;
    const key *y = b;
    return pt_slice_compare(pt_slice_of(x->bytes, x->size), pt_slice_of(y->bytes, y->size));
}

static void make_keys(void)
{
    model.key_count = 0;
    unsigned wanted = random_below(KEYS_MAX);
    for (unsigned i = 0; i < wanted; i++) {
        const char *partition = texts[random_below(TEXTS)];
        const char *row = texts[random_below(TEXTS)];
        key made = {.partition_size = strlen(partition)};
        made.size = made.partition_size + 1 + strlen(row);
        memcpy(made.bytes, partition, made.partition_size);
        memcpy(made.bytes + made.partition_size + 1, row, strlen(row));
        model.keys[model.key_count++] = made;
    }
    qsort(model.keys, (size_t)model.key_count, sizeof(key), compare_keys);
    int kept = 0;
    for (int i = 0; i < model.key_count; i++) {
        if (kept == 0 || compare_keys(&model.keys[kept - 1], &model.keys[i]) != 0) {
            model.keys[kept++] = model.keys[i];
        }
    }
    model.key_count = kept;
}

static void append_bytes(argument *made, const void *bytes, size_t size)
{
    memcpy(made->bytes + made->size, bytes, size);
    made->size += size;
}

static argument random_text(void)
{
    argument made = {.type = SQLITE_TEXT};
    const char *text = texts[random_below(TEXTS)];
    append_bytes(&made, text, strlen(text));
    if (random_below(16) == 0) {
        append_bytes(&made, "\0b", 1 + random_below(2));
    }
    return made;
}

static argument random_blob(void)
{
    static const char tails[] = {0, 1, 'a', '\xFF'};
    argument made = random_text();
    made.type = SQLITE_BLOB;
    if (random_below(8) != 0) {
        append_bytes(&made, "", 1);
        const char *row = texts[random_below(TEXTS)];
        append_bytes(&made, row, strlen(row));
    }
    if (random_below(6) == 0) {
        append_bytes(&made, &tails[random_below(sizeof tails)], 1);
    }
    return made;
}

static argument random_argument(int term)
{
    unsigned kind = random_below(23);
    if (kind == 0) {
        return (argument){.type = SQLITE_NULL};
    }
    if (kind == 1) {
        return (argument){.type = SQLITE_INTEGER, .size = 1, .bytes = "5"};
    }
    bool blob = (term >= PT_TERM_EK_EQ) != (kind == 2);
    return blob ? random_blob() : random_text();
}

static bool is_in_term(int term)
{
    return term == PT_TERM_PK_IN || term == PT_TERM_RK_IN || term == PT_TERM_EK_IN;
}

static inline void make_terms(void)
{
    model.bits = 0;
    unsigned wanted = random_below(5);
    for (unsigned i = 0; i < wanted; i++) {
        int term = (int)random_below(PT_TERM_FILTER);
        model.bits |= PT_PLAN_TERM(term);
        model.counts[term] = is_in_term(term) ? 1 + (int)random_below(LIST_MAX) : 1;
        for (int value = 0; value < model.counts[term]; value++) {
            model.arguments[term][value] = random_argument(term);
        }
    }
}

/* In the order of the terms of a column. */
enum { EQ, IN, GT, GE, LT, LE, PREFIX };

static bool holds_by_order(int op, int order)
{
    switch (op) {
    case EQ:
    case IN:
        return order == 0;
    case GT:
        return order > 0;
    case GE:
        return order >= 0;
    case LT:
        return order < 0;
    default:
        return order <= 0;
    }
}

static bool text_passes(pt_slice text, int op, const argument *value)
{
    pt_slice bytes = pt_slice_of(value->bytes, value->size);
    switch (value->type) {
    case SQLITE_NULL:
        return false;
    case SQLITE_BLOB:
        return op == PREFIX ? pt_slice_has_prefix(text, bytes) : holds_by_order(op, -1);
    default:
        return op == PREFIX ? pt_slice_has_prefix(text, bytes)
                            : holds_by_order(op, pt_slice_compare(text, bytes));
    }
}

static bool entity_passes(pt_slice entity, int op, const argument *value)
{
    if (value->type == SQLITE_NULL) {
        return false;
    }
    pt_slice bytes = pt_slice_of(value->bytes, value->size);
    return holds_by_order(op, value->type == SQLITE_BLOB ? pt_slice_compare(entity, bytes) : 1);
}

static bool value_passes(const key *entity, int term, const argument *value)
{
    if (term >= PT_TERM_EK_EQ) {
        pt_slice whole = pt_slice_of(entity->bytes, entity->size);
        return entity_passes(whole, term - PT_TERM_EK_EQ, value);
    }
    if (term >= PT_TERM_RK_EQ) {
        size_t start = entity->partition_size + 1;
        pt_slice row = pt_slice_of(entity->bytes + start, entity->size - start);
        return text_passes(row, term - PT_TERM_RK_EQ, value);
    }
    pt_slice partition = pt_slice_of(entity->bytes, entity->partition_size);
    return text_passes(partition, term, value);
}

static bool term_passes(const key *entity, int term)
{
    bool passes = false;
    for (int value = 0; value < model.counts[term]; value++) {
        passes = passes || value_passes(entity, term, &model.arguments[term][value]);
    }
    return passes;
}

static void find_expected(void)
{
    for (int i = 0; i < model.key_count; i++) {
        model.expected[i] = true;
        for (int term = 0; term < PT_TERM_COUNT; term++) {
            if ((model.bits & PT_PLAN_TERM(term)) != 0 && !term_passes(&model.keys[i], term)) {
                model.expected[i] = false;
            }
        }
    }
}

#endif
