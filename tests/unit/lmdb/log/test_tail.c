#include "fixtures/cmocka.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "fixtures/random_bits.h"
#include "lmdb/log/tail.h"

/* A model: for each key the versions of its commits. */
enum { KEYS = 40, COMMITS = 120, ABSENT = -1 };

typedef struct history {
    int8_t values[COMMITS + 1][KEYS]; /* after so many commits; ABSENT: deleted or never written */
    bool written[COMMITS + 1][KEYS];  /* the tail says something of it */
} history;

static history model;

typedef struct sample_key {
    uint8_t bytes[3];
} sample_key;

static sample_key key_at(int i)
{
    /* Table ids of one byte; keys of one, two and three bytes. */
    return (sample_key){{(uint8_t)(1 + i / 20), (uint8_t)('a' + i % 20 / 2), (uint8_t)i}};
}

static pt_slice slice_at(const sample_key *key, int i)
{
    return pt_slice_of(key->bytes, i % 2 == 0 ? 2 : 3);
}

static int number_of(pt_slice key)
{
    for (int i = 0; i < KEYS; i++) {
        sample_key other = key_at(i);
        if (pt_slice_equal(key, slice_at(&other, i))) {
            return i;
        }
    }
    return -1;
}

/* A commit of one to three writes. Commit n ends at n * 8. */
static void commit_some(pt_lmdb_tail *tail, int number)
{
    pt_tail_row row;
    assert_true(pt_tail_row_begin(tail, &row));
    memcpy(model.values[number], model.values[number - 1], sizeof model.values[0]);
    memcpy(model.written[number], model.written[number - 1], sizeof model.written[0]);
    int first = (int)(random_bits() % KEYS);
    int writes = 1 + (int)(random_bits() % 3);
    for (int n = 0; n < writes && first + n < KEYS; n++) {
        int i = first + n;
        bool deletes = random_bits() % 4 == 0;
        uint8_t value = (uint8_t)(random_bits() % 100);
        sample_key key = key_at(i);
        pt_tail_node *node =
            pt_tail_make(tail, slice_at(&key, i), pt_slice_of(&value, deletes ? 0 : 1), deletes);
        assert_non_null(node);
        pt_tail_row_append(&row, node);
        model.values[number][i] = deletes ? ABSENT : (int8_t)value;
        model.written[number][i] = true;
    }
    pt_log_chain after = tail->chain;
    after.end += 8;
    pt_tail_add_commit(tail, &row, &after, number);
}

static void check_find(const pt_lmdb_tail *tail, int view)
{
    for (int i = 0; i < KEYS; i++) {
        sample_key key = key_at(i);
        const pt_tail_node *node = pt_tail_find(tail, slice_at(&key, i), (uint32_t)view * 8);
        assert_int_equal(node != NULL, model.written[view][i]);
        if (node != NULL) {
            assert_int_equal(node->deletes, model.values[view][i] == ABSENT);
            assert_true(node->deletes ||
                        pt_tail_record(node).data[0] == (uint8_t)model.values[view][i]);
        }
    }
}

static int next_written(int view, int from, int step)
{
    while (from >= 0 && from < KEYS && !model.written[view][from]) {
        from += step;
    }
    return from >= 0 && from < KEYS ? from : -1;
}

static void check_walks(const pt_lmdb_tail *tail, int view, int from)
{
    sample_key key = key_at(from);
    uint32_t end = (uint32_t)view * 8;
    int expected = next_written(view, from, 1);
    const pt_tail_node *node = pt_tail_seek(tail, slice_at(&key, from), end, PT_FORWARD);
    while (expected >= 0) {
        assert_non_null(node);
        assert_int_equal(number_of(pt_tail_key(node)), expected);
        assert_int_equal(node->deletes, model.values[view][expected] == ABSENT);
        node = pt_tail_step(tail, node, end, PT_FORWARD);
        expected = next_written(view, expected + 1, 1);
    }
    assert_null(node);
    expected = next_written(view, from - 1, -1);
    node = pt_tail_seek(tail, slice_at(&key, from), end, PT_BACKWARD);
    while (expected >= 0) {
        assert_non_null(node);
        assert_int_equal(number_of(pt_tail_key(node)), expected);
        node = pt_tail_step(tail, node, end, PT_BACKWARD);
        expected = next_written(view, expected - 1, -1);
    }
    assert_null(node);
}

/* Each view shows what was committed up to it, whatever came later. */
static void views_are_those_of_the_model(void **state)
{
    (void)state;
    for (int run = 0; run < 3; run++) {
        const pt_log_chain chain = {.version = 3};
        pt_lmdb_tail *tail = pt_tail_new(3, &chain);
        assert_non_null(tail);
        memset(&model, 0, sizeof model);
        for (int number = 1; number <= COMMITS; number++) {
            commit_some(tail, number);
            for (int view = 0; view <= number; view += 1 + number / 4) {
                check_find(tail, view);
                check_walks(tail, view, (int)(random_bits() % KEYS));
            }
        }
        assert_int_equal(atomic_load(&tail->commits), COMMITS);
        assert_int_equal(atomic_load(&tail->end), COMMITS * 8);
        assert_int_equal(pt_tail_clock(tail, COMMITS * 8), COMMITS);
        assert_int_equal(pt_tail_clock(tail, 80), 10);
        assert_int_equal(pt_tail_clock(tail, 0), 0);
        pt_tail_release(tail);
    }
}

static void tables_without_keys_are_known(void **state)
{
    (void)state;
    const pt_log_chain chain = {.version = 1};
    pt_lmdb_tail *tail = pt_tail_new(1, &chain);
    pt_tail_node *node = pt_tail_make(tail, pt_slice_of("\5x", 2), (pt_slice){0}, false);
    assert_false(pt_tail_may_hold(tail, 5));
    pt_tail_insert(tail, node, 8);
    assert_true(pt_tail_may_hold(tail, 5));
    assert_false(pt_tail_may_hold(tail, 6));
    assert_false(atomic_load(&tail->has_chunks));
    assert_null(pt_tail_find(tail, (pt_slice){0}, 8));
    node = pt_tail_make(tail, pt_slice_of("\377\5x", 3), pt_slice_text("chunk"), false);
    pt_tail_insert(tail, node, 16);
    assert_true(atomic_load(&tail->has_chunks));
    pt_tail_retain(tail);
    pt_tail_release(tail);
    assert_non_null(pt_tail_find(tail, pt_slice_of("\377\5x", 3), 16));
    pt_tail_release(tail);
    pt_tail_release(NULL);
}

/* Also those that the quick look at bits, which comes first, takes for keys of the tail. */
static void other_keys_are_not_found(void **state)
{
    (void)state;
    enum { INSERTED = 300, ABSENT_KEYS = 100000 };
    const pt_log_chain chain = {.version = 1};
    pt_lmdb_tail *tail = pt_tail_new(1, &chain);
    for (int i = 0; i < INSERTED + ABSENT_KEYS; i++) {
        const uint8_t key[] = {5, (uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16)};
        pt_slice slice = pt_slice_of(key, sizeof key);
        if (i < INSERTED) {
            pt_tail_insert(tail, pt_tail_make(tail, slice, (pt_slice){0}, false), 8);
        }
        assert_int_equal(pt_tail_find(tail, slice, 8) != NULL, i < INSERTED);
    }
    pt_tail_release(tail);
}

static void add_commit_of_clock(pt_lmdb_tail *tail, int64_t clock)
{
    pt_tail_row row;
    pt_log_chain after = tail->chain;
    after.end += 8;
    assert_true(pt_tail_row_begin(tail, &row));
    pt_tail_add_commit(tail, &row, &after, clock);
}

static void the_clock_never_falls(void **state)
{
    (void)state;
    const pt_log_chain chain = {.version = 1};
    pt_lmdb_tail *tail = pt_tail_new(1, &chain);
    add_commit_of_clock(tail, 5);
    add_commit_of_clock(tail, 0);
    assert_int_equal(pt_tail_clock(tail, 8), 5);
    assert_int_equal(pt_tail_clock(tail, 16), 5);
    pt_tail_release(tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_those_of_the_model),
        cmocka_unit_test(tables_without_keys_are_known),
        cmocka_unit_test(other_keys_are_not_found),
        cmocka_unit_test(the_clock_never_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
