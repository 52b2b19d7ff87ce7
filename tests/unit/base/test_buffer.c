#include "fixtures/cmocka.h"

#include "base/buffer.h"
#include "faults/failing_malloc.h"

static void appends_follow_each_other(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    pt_buffer_append_text(&buffer, "key");
    pt_buffer_append_byte(&buffer, 0);
    pt_buffer_append_slice(&buffer, pt_slice_text("row"));
    pt_buffer_append(&buffer, "\x01\x02", 2);
    pt_buffer_append_slice(&buffer, (pt_slice){0});
    pt_buffer_append(&buffer, NULL, 0);
    pt_buffer_append_text(&buffer, "");
    assert_false(buffer.failed);
    assert_int_equal(buffer.size, 9);
    assert_memory_equal(buffer.data, "key\0row\x01\x02", 9);
    assert_true(pt_slice_equal(pt_buffer_slice(&buffer), pt_slice_of("key\0row\x01\x02", 9)));
    pt_buffer_free(&buffer);
}

static void content_survives_growth(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    pt_buffer buffer = {0};
    for (unsigned i = 0; i < SIZE; i++) {
        pt_buffer_append_byte(&buffer, (uint8_t)(i * 7));
    }
    assert_int_equal(buffer.size, SIZE);
    for (unsigned i = 0; i < SIZE; i++) {
        assert_int_equal(buffer.data[i], (uint8_t)(i * 7));
    }
    pt_buffer_free(&buffer);
    assert_null(buffer.data);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(buffer.capacity, 0);
}

static void reserved_room_is_used_without_moving(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    assert_true(pt_buffer_reserve(&buffer, 1000));
    uint8_t *data = buffer.data;
    assert_int_equal(buffer.size, 0);
    uint8_t *tail = pt_buffer_extend(&buffer, 600);
    assert_ptr_equal(tail, data);
    memset(tail, 'a', 600);
    tail = pt_buffer_extend(&buffer, 400);
    assert_ptr_equal(tail, data + 600);
    assert_int_equal(buffer.size, 1000);
    pt_buffer_free(&buffer);
}

static void extending_by_nothing_is_no_failure(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    assert_non_null(pt_buffer_extend(&buffer, 0));
    assert_false(buffer.failed);
    assert_int_equal(buffer.size, 0);
    pt_buffer_free(&buffer);
}

static void assigning_replaces(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    assert_true(pt_buffer_assign(&buffer, pt_slice_text("a long first text")));
    assert_true(pt_buffer_assign(&buffer, pt_slice_text("short")));
    assert_int_equal(buffer.size, 5);
    assert_memory_equal(buffer.data, "short", 5);
    assert_true(pt_buffer_assign(&buffer, (pt_slice){0}));
    assert_int_equal(buffer.size, 0);
    pt_buffer_free(&buffer);
}

static void clearing_keeps_the_memory(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    pt_buffer_append_text(&buffer, "something");
    uint8_t *data = buffer.data;
    pt_buffer_clear(&buffer);
    assert_int_equal(buffer.size, 0);
    pt_buffer_append_text(&buffer, "else");
    assert_ptr_equal(buffer.data, data);
    pt_buffer_free(&buffer);
}

static void absurd_sizes_fail(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 4, (size_t)1 << 40};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pt_buffer buffer = {0};
        pt_buffer_append_text(&buffer, "x");
        assert_false(pt_buffer_reserve(&buffer, sizes[i]));
        assert_true(buffer.failed);
        pt_buffer_clear(&buffer);
        assert_non_null(pt_buffer_extend(&buffer, 1));
        pt_buffer_free(&buffer);
    }
}

static void append_much(pt_buffer *buffer)
{
    for (int i = 0; i < 200; i++) {
        pt_buffer_append_text(buffer, "abc");
        pt_buffer_append_byte(buffer, ',');
    }
}

static void the_error_is_sticky(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    for (int n = 0;; n++) {
        pt_buffer buffer = {0};
        failing_malloc_arm(n, false);
        append_much(&buffer);
        bool hit = failing_malloc_disarm();
        assert_int_equal(buffer.failed, hit);
        if (hit) {
            size_t size = buffer.size;
            pt_buffer_append_text(&buffer, "more");
            assert_null(pt_buffer_extend(&buffer, 1));
            assert_int_equal(buffer.size, size);
            assert_true(pt_buffer_assign(&buffer, pt_slice_text("again")));
        } else {
            assert_int_equal(buffer.size, 800);
        }
        pt_buffer_free(&buffer);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            assert_true(n > 2);
            break;
        }
    }
}

static void a_failed_assign_says_so(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    failing_malloc_arm(0, false);
    assert_false(pt_buffer_assign(&buffer, pt_slice_text("text")));
    assert_true(failing_malloc_disarm());
    assert_true(pt_buffer_assign(&buffer, pt_slice_text("text")));
    pt_buffer_free(&buffer);
}

static void arrays_grow_to_what_is_needed(void **state)
{
    (void)state;
    uint32_t *array = NULL;
    size_t capacity = 0;
    size_t grown = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        size_t before = capacity;
        assert_true(pt_array_reserve(&array, &capacity, i + 1, sizeof *array));
        assert_true(capacity > i);
        grown += capacity != before;
        array[i] = i;
    }
    assert_true(grown < 10);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(array[i], i);
    }
    assert_true(pt_array_reserve(&array, &capacity, 100000, sizeof *array));
    assert_true(capacity >= 100000);
    sqlite3_free(array);
}

static void an_array_that_cannot_grow_stays(void **state)
{
    (void)state;
    uint64_t *array = NULL;
    size_t capacity = 0;
    assert_true(pt_array_reserve(&array, &capacity, 1, sizeof *array));
    array[0] = 7;
    uint64_t *before = array;
    size_t room = capacity;
    failing_malloc_arm(0, false);
    assert_true(pt_array_reserve(&array, &capacity, room, sizeof *array));
    assert_false(pt_array_reserve(&array, &capacity, room + 1, sizeof *array));
    assert_true(failing_malloc_disarm());
    assert_ptr_equal(array, before);
    assert_int_equal(capacity, room);
    assert_int_equal(array[0], 7);
    sqlite3_free(array);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_follow_each_other),
        cmocka_unit_test(content_survives_growth),
        cmocka_unit_test(reserved_room_is_used_without_moving),
        cmocka_unit_test(extending_by_nothing_is_no_failure),
        cmocka_unit_test(assigning_replaces),
        cmocka_unit_test(clearing_keeps_the_memory),
        cmocka_unit_test(absurd_sizes_fail),
        cmocka_unit_test(the_error_is_sticky),
        cmocka_unit_test(a_failed_assign_says_so),
        cmocka_unit_test(arrays_grow_to_what_is_needed),
        cmocka_unit_test(an_array_that_cannot_grow_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
