#include "fixtures/cmocka.h"

#include "faults/failing_malloc.h"
#include "fixtures/sample_keys.h"
#include "transaction/memtable_index.h"

enum { KEYS = 1000, STEPS = 40000 };

static sample_key keys[KEYS];
static size_t key_count;
static pt_pending *operations[2 * KEYS]; /* the log: two operations on each key */
static pt_pending **const old_operations = operations;
static pt_pending **const new_operations = operations + KEYS;
static pt_pending *model[KEYS]; /* what an index should hold */

static void begin(uint64_t *seed)
{
    key_count = sample_sorted(keys, KEYS, SAMPLE_FEW_BYTES, 0, seed);
    for (size_t i = 0; i < key_count; i++) {
        old_operations[i] = sample_pending(sample_slice(&keys[i]));
        new_operations[i] = sample_pending(sample_slice(&keys[i]));
        old_operations[i]->position = (uint32_t)i;
        new_operations[i]->position = (uint32_t)(KEYS + i);
        model[i] = NULL;
    }
}

static void end(void)
{
    for (size_t i = 0; i < key_count; i++) {
        free(old_operations[i]);
        free(new_operations[i]);
    }
}

/* Enters or removes a random key in the model and tells which: *pending = NULL for removing. */
static size_t choose(uint64_t *seed, pt_pending **pending)
{
    size_t at = sample_random(seed) % key_count;
    switch (sample_random(seed) % 4) {
    case 0:
    case 1:
        *pending = NULL;
        break;
    case 2:
        *pending = old_operations[at];
        break;
    default:
        *pending = new_operations[at];
        break;
    }
    model[at] = *pending;
    return at;
}

static size_t model_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < key_count; i++) {
        count += model[i] != NULL;
    }
    return count;
}

static pt_pending *find(const pt_hash_index *index, pt_slice key)
{
    return pt_hash_index_find(index, operations, key, pt_hash_index_hash(key));
}

static void set(pt_hash_index *index, const pt_pending *pending)
{
    pt_hash_index_set(index, operations, pending, pt_hash_index_hash(pt_pending_key(pending)));
}

static void take_out(pt_hash_index *index, pt_slice key)
{
    pt_hash_index_remove(index, operations, key, pt_hash_index_hash(key));
}

static void keys_with_equal_hashes_are_told_apart(void **state)
{
    (void)state;
    enum { HASH = 7 };
    static const char *const texts[] = {"one", "two", "twofold"};
    pt_pending *log[3];
    pt_hash_index index = {0};
    size_t place = SIZE_MAX;
    assert_true(pt_hash_index_reserve(&index, 3));
    for (uint32_t i = 0; i < 3; i++) {
        log[i] = sample_pending(pt_slice_text(texts[i]));
        log[i]->position = i;
        pt_hash_index_set(&index, log, log[i], HASH);
    }
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(pt_hash_index_find(&index, log, pt_slice_text(texts[i]), HASH), log[i]);
    }
    pt_slice beginning = pt_slice_text("two");
    assert_ptr_equal(pt_hash_index_next(&index, log, beginning, HASH, &place), log[1]);
    assert_ptr_equal(pt_hash_index_next(&index, log, beginning, HASH, &place), log[2]);
    assert_null(pt_hash_index_next(&index, log, beginning, HASH, &place));
    pt_hash_index_free(&index);
    for (int i = 0; i < 3; i++) {
        free(log[i]);
    }
}

static void hash_index_behaves_like_a_map(void **state)
{
    (void)state;
    uint64_t seed = 1;
    pt_hash_index index = {0};
    begin(&seed);
    for (int step = 0; step < STEPS; step++) {
        pt_pending *pending;
        assert_true(pt_hash_index_reserve(&index, 1));
        size_t at = choose(&seed, &pending);
        if (pending != NULL) {
            set(&index, pending);
        } else {
            take_out(&index, sample_slice(&keys[at]));
        }
        size_t other = sample_random(&seed) % key_count;
        assert_ptr_equal(find(&index, sample_slice(&keys[other])), model[other]);
        if (step % 1000 == 0) {
            assert_int_equal(index.used, model_count());
            for (size_t i = 0; i < key_count; i++) {
                assert_ptr_equal(find(&index, sample_slice(&keys[i])), model[i]);
            }
        }
    }
    pt_hash_index_free(&index);
    end();
}

static void hash_index_reserves_for_many_at_once(void **state)
{
    (void)state;
    uint64_t seed = 2;
    pt_hash_index index = {0};
    begin(&seed);
    assert_true(pt_hash_index_reserve(&index, key_count));
    size_t slots = index.slot_count;
    assert_true(slots > key_count);
    for (size_t i = 0; i < key_count; i++) {
        set(&index, old_operations[i]);
    }
    assert_int_equal(index.slot_count, slots);
    for (size_t i = 0; i < key_count; i++) {
        take_out(&index, sample_slice(&keys[i]));
        assert_null(find(&index, sample_slice(&keys[i])));
    }
    assert_int_equal(index.used, 0);
    pt_hash_index_free(&index);
    end();
}

/* Walks the whole tree from one end to the other. */
static void assert_walk(pt_tree_index *index)
{
    pt_tree_node *node = pt_tree_index_first_from(index, (pt_slice){0});
    for (size_t i = 0; i < key_count; i++) {
        if (model[i] != NULL) {
            assert_non_null(node);
            assert_ptr_equal(node->pending, model[i]);
            node = pt_tree_index_next(node);
        }
    }
    assert_null(node);
    uint8_t beyond_all[SAMPLE_KEY_MAX];
    memset(beyond_all, 255, sizeof beyond_all);
    node = pt_tree_index_last_before(index, pt_slice_of(beyond_all, sizeof beyond_all));
    for (size_t i = key_count; i-- > 0;) {
        if (model[i] != NULL) {
            assert_non_null(node);
            assert_ptr_equal(node->pending, model[i]);
            node = pt_tree_index_previous(node);
        }
    }
    assert_null(node);
}

static void assert_neighbours(pt_tree_index *index, size_t at)
{
    size_t from = at;
    while (from < key_count && model[from] == NULL) {
        from++;
    }
    size_t before = at;
    while (before > 0 && model[before - 1] == NULL) {
        before--;
    }
    pt_slice key = sample_slice(&keys[at]);
    pt_tree_node *node = pt_tree_index_first_from(index, key);
    assert_ptr_equal(node != NULL ? node->pending : NULL, from < key_count ? model[from] : NULL);
    node = pt_tree_index_last_before(index, key);
    assert_ptr_equal(node != NULL ? node->pending : NULL, before > 0 ? model[before - 1] : NULL);
}

static void tree_index_behaves_like_a_sorted_array(void **state)
{
    (void)state;
    uint64_t seed = 3;
    pt_tree_index index = {0};
    begin(&seed);
    assert_walk(&index);
    for (int step = 0; step < STEPS; step++) {
        pt_pending *pending;
        assert_true(pt_tree_index_reserve(&index));
        size_t at = choose(&seed, &pending);
        if (pending != NULL) {
            pt_tree_index_set(&index, pending);
        } else {
            pt_tree_index_remove(&index, sample_slice(&keys[at]));
        }
        assert_neighbours(&index, sample_random(&seed) % key_count);
        if (step % 1000 == 0) {
            assert_walk(&index);
        }
    }
    pt_tree_index_free(&index);
    end();
}

/* The key of a node lies in the operation, so it must move with it. */
static void replacing_in_the_tree_lets_the_old_operation_go(void **state)
{
    (void)state;
    const pt_slice key = pt_slice_of("key", 3);
    pt_pending *first = sample_pending(key);
    pt_pending *second = sample_pending(key);
    pt_tree_index index = {0};
    assert_true(pt_tree_index_reserve(&index));
    pt_tree_index_set(&index, first);
    assert_true(pt_tree_index_reserve(&index));
    pt_tree_index_set(&index, second);
    free(first);
    pt_tree_node *node = pt_tree_index_first_from(&index, key);
    assert_non_null(node);
    assert_ptr_equal(node->pending, second);
    assert_ptr_equal(node->key.data, second->bytes);
    assert_null(pt_tree_index_next(node));
    pt_tree_index_free(&index);
    free(second);
}

static void the_tree_uses_its_nodes_again(void **state)
{
    (void)state;
    uint64_t seed = 4;
    pt_tree_index index = {0};
    begin(&seed);
    for (int round = 0; round < 3; round++) {
        failing_malloc_arm(round == 0 ? 1000000 : 0, true);
        for (size_t i = 0; i < key_count; i++) {
            assert_true(pt_tree_index_reserve(&index));
            pt_tree_index_set(&index, old_operations[i]);
        }
        for (size_t i = 0; i < key_count; i++) {
            pt_tree_index_remove(&index, sample_slice(&keys[i]));
        }
        assert_false(failing_malloc_disarm());
    }
    pt_tree_index_free(&index);
    end();
}

static void out_of_memory_keeps_what_is_there(void **state)
{
    (void)state;
    uint64_t seed = 5;
    begin(&seed);
    sqlite3_int64 before = sqlite3_memory_used();
    for (int n = 0;; n++) {
        pt_hash_index hash = {0};
        pt_tree_index tree = {0};
        memset(model, 0, sizeof model);
        failing_malloc_arm(n, false);
        for (size_t i = 0; i < key_count; i++) {
            if (pt_hash_index_reserve(&hash, 1) && pt_tree_index_reserve(&tree)) {
                set(&hash, old_operations[i]);
                pt_tree_index_set(&tree, old_operations[i]);
                model[i] = old_operations[i];
            }
        }
        bool hit = failing_malloc_disarm();
        assert_int_equal(model_count(), hit ? key_count - 1 : key_count);
        assert_walk(&tree);
        for (size_t i = 0; hash.slots != NULL && i < key_count; i++) {
            assert_ptr_equal(find(&hash, sample_slice(&keys[i])), model[i]);
        }
        pt_hash_index_free(&hash);
        pt_tree_index_free(&tree);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            assert_true(n > 5);
            break;
        }
    }
    end();
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_with_equal_hashes_are_told_apart),
        cmocka_unit_test(hash_index_behaves_like_a_map),
        cmocka_unit_test(hash_index_reserves_for_many_at_once),
        cmocka_unit_test(tree_index_behaves_like_a_sorted_array),
        cmocka_unit_test(replacing_in_the_tree_lets_the_old_operation_go),
        cmocka_unit_test(the_tree_uses_its_nodes_again),
        cmocka_unit_test(out_of_memory_keeps_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
