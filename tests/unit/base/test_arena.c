#include "fixtures/cmocka.h"

#include "base/arena.h"
#include "faults/failing_malloc.h"

static void memory_is_aligned_and_apart(void **state)
{
    (void)state;
    enum { PIECES = 3000 };
    static uint8_t *pieces[PIECES];
    pt_arena arena = {0};
    for (unsigned i = 0; i < PIECES; i++) {
        size_t size = i % 61;
        pieces[i] = pt_arena_alloc(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 8, 0);
        memset(pieces[i], (int)(i & 0xFF), size);
    }
    for (unsigned i = 0; i < PIECES; i++) {
        for (unsigned at = 0; at < i % 61; at++) {
            assert_int_equal(pieces[i][at], i & 0xFF);
        }
    }
    pt_arena_free(&arena);
}

static void pieces_of_no_size_are_apart(void **state)
{
    (void)state;
    pt_arena arena = {0};
    uint8_t *previous = NULL;
    for (int i = 0; i < 2000; i++) {
        uint8_t *piece = pt_arena_alloc(&arena, 0);
        assert_non_null(piece);
        assert_ptr_not_equal(piece, previous);
        pt_arena_give_back(&arena, piece);
        assert_ptr_equal(pt_arena_alloc(&arena, 0), piece);
        previous = piece;
    }
    pt_arena_free(&arena);
}

/* Beyond 16 MiB they are no longer doubled. */
static void chunks_do_not_grow_for_ever(void **state)
{
    (void)state;
    pt_arena arena = {0};
    assert_non_null(pt_arena_alloc(&arena, 20 << 20));
    size_t total = arena.total;
    assert_non_null(pt_arena_alloc(&arena, 8));
    assert_int_equal(arena.total - total, 16 << 20);
    pt_arena_free(&arena);
}

static void copies_end_with_a_nul(void **state)
{
    (void)state;
    pt_arena arena = {0};
    pt_slice copy = pt_arena_copy(&arena, pt_slice_text("partition"));
    assert_int_equal(copy.size, 9);
    assert_string_equal(copy.data, "partition");
    pt_slice empty = pt_arena_copy(&arena, (pt_slice){0});
    assert_non_null(empty.data);
    assert_int_equal(empty.size, 0);
    assert_int_equal(empty.data[0], 0);
    pt_arena_free(&arena);
}

static void giving_back_keeps_what_is_older(void **state)
{
    (void)state;
    pt_arena arena = {0};
    pt_slice kept = pt_arena_copy(&arena, pt_slice_text("kept"));
    void *first = pt_arena_alloc(&arena, 24);
    size_t total = arena.total;
    for (int i = 0; i < 100; i++) {
        assert_non_null(pt_arena_alloc(&arena, 1000));
    }
    assert_true(arena.total > total);
    pt_arena_give_back(&arena, first);
    assert_int_equal(arena.total, total);
    assert_string_equal(kept.data, "kept");
    assert_ptr_equal(pt_arena_alloc(&arena, 24), first);
    pt_arena_free(&arena);
}

static void giving_back_the_first_piece_of_a_chunk(void **state)
{
    (void)state;
    pt_arena arena = {0};
    void *small = pt_arena_alloc(&arena, 8);
    void *large = pt_arena_alloc(&arena, 100000);
    size_t total = arena.total;
    void *larger = pt_arena_alloc(&arena, 1000000);
    assert_non_null(larger);
    pt_arena_give_back(&arena, large);
    assert_int_equal(arena.total, total);
    assert_ptr_equal(pt_arena_alloc(&arena, 100000), large);
    pt_arena_give_back(&arena, small);
    assert_ptr_equal(pt_arena_alloc(&arena, 8), small);
    pt_arena_free(&arena);
}

static void clearing_keeps_the_newest_chunk(void **state)
{
    (void)state;
    pt_arena arena = {0};
    for (int i = 0; i < 1000; i++) {
        assert_non_null(pt_arena_alloc(&arena, 100));
    }
    size_t before = arena.total;
    pt_arena_clear(&arena);
    assert_true(arena.total > 0 && arena.total < before);
    sqlite3_int64 used = sqlite3_memory_used();
    assert_non_null(pt_arena_alloc(&arena, arena.total));
    assert_int_equal(sqlite3_memory_used(), used);
    pt_arena_free(&arena);
}

static void clearing_frees_a_huge_chunk(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    pt_arena arena = {0};
    assert_non_null(pt_arena_alloc(&arena, 16 << 20));
    pt_arena_clear(&arena);
    assert_int_equal(arena.total, 0);
    assert_int_equal(sqlite3_memory_used(), before);
    pt_arena_clear(&arena);
    assert_non_null(pt_arena_alloc(&arena, 16));
    pt_arena_free(&arena);
}

static void freeing_leaves_an_empty_arena(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    pt_arena arena = {0};
    for (int i = 0; i < 1000; i++) {
        assert_non_null(pt_arena_alloc(&arena, 100));
    }
    pt_arena_free(&arena);
    assert_int_equal(sqlite3_memory_used(), before);
    assert_null(arena.top);
    assert_int_equal(arena.total, 0);
    assert_non_null(pt_arena_alloc(&arena, 1));
    pt_arena_free(&arena);
    pt_arena_free(&arena);
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    pt_arena arena = {0};
    assert_null(pt_arena_alloc(&arena, SIZE_MAX));
    assert_null(pt_arena_alloc(&arena, SIZE_MAX / 4));
    assert_null(pt_arena_alloc(&arena, (size_t)1 << 40));
    assert_non_null(pt_arena_alloc(&arena, 8));
    pt_arena_free(&arena);
}

/* Runs out of memory for each size of the array once. */
static void arrays_grow_and_keep_their_elements(void **state)
{
    (void)state;
    enum { ELEMENTS = 5000 };
    pt_arena arena = {0};
    uint64_t *array = NULL;
    unsigned capacity = 0;
    unsigned failures = 0;
    for (unsigned count = 0; count < ELEMENTS;) {
        failing_malloc_arm(0, false);
        bool reserved = pt_arena_reserve(&arena, &array, &capacity, count, sizeof *array);
        failing_malloc_disarm();
        if (!reserved) {
            failures++;
            assert_int_equal(capacity, count);
            assert_true(pt_arena_reserve(&arena, &array, &capacity, count, sizeof *array));
        }
        assert_true(count < capacity);
        array[count] = count;
        count++;
    }
    for (unsigned i = 0; i < ELEMENTS; i++) {
        assert_int_equal(array[i], i);
    }
    assert_true(failures > 1);
    pt_arena_free(&arena);
}

static bool fill(pt_arena *arena)
{
    for (unsigned i = 0; i < 40; i++) {
        if (pt_arena_alloc(arena, 500) == NULL) {
            return false;
        }
        if (pt_arena_copy(arena, pt_slice_text("name")).data == NULL) {
            return false;
        }
    }
    return true;
}

static void running_out_of_memory_leaves_a_sound_arena(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    for (int n = 0;; n++) {
        pt_arena arena = {0};
        failing_malloc_arm(n, false);
        bool filled = fill(&arena);
        bool hit = failing_malloc_disarm();
        assert_int_equal(filled, !hit);
        assert_true(fill(&arena));
        pt_arena_free(&arena);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            assert_true(n > 2);
            break;
        }
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_and_apart),
        cmocka_unit_test(pieces_of_no_size_are_apart),
        cmocka_unit_test(chunks_do_not_grow_for_ever),
        cmocka_unit_test(copies_end_with_a_nul),
        cmocka_unit_test(giving_back_keeps_what_is_older),
        cmocka_unit_test(giving_back_the_first_piece_of_a_chunk),
        cmocka_unit_test(clearing_keeps_the_newest_chunk),
        cmocka_unit_test(clearing_frees_a_huge_chunk),
        cmocka_unit_test(freeing_leaves_an_empty_arena),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(arrays_grow_and_keep_their_elements),
        cmocka_unit_test(running_out_of_memory_leaves_a_sound_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
