#include "fixtures/cmocka.h"

#include "entity/bag.h"
#include "faults/failing_malloc.h"
#include "fixtures/value_same.h"

static pt_field integer_field(const char *name, int64_t integer)
{
    return (pt_field){.name = pt_slice_text(name), .value = {.type = PT_INT64, .integer = integer}};
}

static void set_integer(pt_bag *bag, const char *name, int64_t integer)
{
    pt_field field = integer_field(name, integer);
    assert_true(pt_bag_set(bag, &field));
}

static void remove_name(pt_bag *bag, const char *name)
{
    pt_field field = {.name = pt_slice_text(name), .value = {.type = PT_NONE}};
    assert_true(pt_bag_set(bag, &field));
}

static int64_t integer_of(const pt_bag *bag, const char *name)
{
    const pt_field *field = pt_bag_find(bag, pt_slice_text(name));
    assert_non_null(field);
    assert_int_equal(field->value.type, PT_INT64);
    return field->value.integer;
}

static void setting_adds_replaces_and_removes(void **state)
{
    (void)state;
    pt_bag bag = {0};
    set_integer(&bag, "Age", 34);
    set_integer(&bag, "age", 35);
    set_integer(&bag, "Height", 180);
    assert_int_equal(bag.count, 3);
    assert_int_equal(integer_of(&bag, "Age"), 34);
    assert_int_equal(integer_of(&bag, "age"), 35);
    set_integer(&bag, "Age", 36);
    assert_int_equal(bag.count, 3);
    assert_int_equal(integer_of(&bag, "Age"), 36);
    remove_name(&bag, "age");
    assert_int_equal(bag.count, 2);
    assert_null(pt_bag_find(&bag, pt_slice_text("age")));
    assert_int_equal(integer_of(&bag, "Height"), 180);
    remove_name(&bag, "nothing");
    assert_int_equal(bag.count, 2);
    pt_bag_free(&bag);
}

static void replacing_takes_type_and_id_too(void **state)
{
    (void)state;
    pt_bag bag = {0};
    set_integer(&bag, "Value", 1);
    pt_field text = {.name = pt_slice_text("Value"),
                     .name_id = 7,
                     .value = {.type = PT_STRING, .bytes = pt_slice_text("one")}};
    assert_true(pt_bag_set(&bag, &text));
    const pt_field *field = pt_bag_find(&bag, pt_slice_text("Value"));
    assert_non_null(field);
    assert_int_equal(field->name_id, 7);
    assert_true(value_same(&field->value, &text.value));
    pt_bag_free(&bag);
}

static void appending_does_not_look(void **state)
{
    (void)state;
    pt_bag bag = {0};
    pt_field field = integer_field("Twice", 1);
    assert_true(pt_bag_append(&bag, &field));
    assert_true(pt_bag_append(&bag, &field));
    assert_int_equal(bag.count, 2);
    pt_bag_free(&bag);
}

static void clearing_keeps_the_memory(void **state)
{
    (void)state;
    pt_bag bag = {0};
    set_integer(&bag, "Age", 34);
    assert_non_null(pt_arena_copy(&bag.arena, pt_slice_text("Age")).data);
    pt_bag_clear(&bag);
    assert_int_equal(bag.count, 0);
    assert_null(pt_bag_find(&bag, pt_slice_text("Age")));
    failing_malloc_arm(0, true);
    set_integer(&bag, "Height", 180);
    assert_non_null(pt_arena_copy(&bag.arena, pt_slice_text("Height")).data);
    assert_false(failing_malloc_disarm());
    pt_bag_free(&bag);
}

enum { MODEL_NAMES = 40 };

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Random operations against an array that is indexed by the name. */
static void behaves_like_a_map(void **state)
{
    (void)state;
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char names[MODEL_NAMES][2];
    int64_t model[MODEL_NAMES] = {0};
    pt_bag bag = {0};
    unsigned seed = 1;
    for (unsigned i = 0; i < MODEL_NAMES; i++) {
        names[i][0] = alphabet[i];
        names[i][1] = 0;
    }
    for (unsigned step = 1; step < 20000; step++) {
        unsigned name = next_random(&seed) % MODEL_NAMES;
        if (next_random(&seed) % 3 == 0) {
            remove_name(&bag, names[name]);
            model[name] = 0;
        } else {
            set_integer(&bag, names[name], step);
            model[name] = step;
        }
        unsigned present = 0;
        for (unsigned i = 0; i < MODEL_NAMES; i++) {
            present += model[i] != 0;
        }
        assert_int_equal(bag.count, present);
        unsigned other = next_random(&seed) % MODEL_NAMES;
        if (model[other] == 0) {
            assert_null(pt_bag_find(&bag, pt_slice_text(names[other])));
        } else {
            assert_int_equal(integer_of(&bag, names[other]), model[other]);
        }
    }
    pt_bag_free(&bag);
}

static bool put_together(pt_bag *bag)
{
    for (int64_t i = 0; i < 100; i++) {
        char name[] = {(char)('0' + i / 10), (char)('0' + i % 10), 0};
        pt_field field = integer_field(name, i);
        field.name = pt_arena_copy(&bag->arena, field.name);
        if (field.name.data == NULL || !pt_bag_set(bag, &field)) {
            return false;
        }
    }
    return true;
}

static void running_out_of_memory_keeps_what_is_there(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    for (int n = 0;; n++) {
        pt_bag bag = {0};
        failing_malloc_arm(n, false);
        bool complete = put_together(&bag);
        bool hit = failing_malloc_disarm();
        assert_int_equal(complete, !hit);
        for (unsigned i = 0; i < bag.count; i++) {
            assert_int_equal(bag.fields[i].value.integer, i);
            assert_int_equal(bag.fields[i].name.data[1], '0' + i % 10);
        }
        pt_bag_free(&bag);
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
        cmocka_unit_test(setting_adds_replaces_and_removes),
        cmocka_unit_test(replacing_takes_type_and_id_too),
        cmocka_unit_test(appending_does_not_look),
        cmocka_unit_test(clearing_keeps_the_memory),
        cmocka_unit_test(behaves_like_a_map),
        cmocka_unit_test(running_out_of_memory_keeps_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
