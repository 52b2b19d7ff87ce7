#include "fixtures/cmocka.h"

#include <stdlib.h>

#include "entity/shape.h"
#include "fixtures/sample_shapes.h"

enum { DESCRIPTION_MAX = 1024 };

/* Parses exact-size heap copies, so that a sanitizer sees every stray access. */
typedef struct parsed {
    void *memory;
    pt_shape *shape;
} parsed;

static parsed parse(const uint8_t *description, size_t size)
{
    parsed result = {0};
    uint8_t *exact = malloc(size != 0 ? size : 1);
    assert_non_null(exact);
    memcpy(exact, description, size);
    pt_slice slice = pt_slice_of(exact, size);
    size_t memory_size = pt_shape_memory(slice);
    result.memory = malloc(memory_size != 0 ? memory_size : 1);
    assert_non_null(result.memory);
    result.shape = pt_shape_parse(slice, sample_lookup, NULL, result.memory);
    free(exact);
    return result;
}

static parsed parse_properties(const sample_property *properties, unsigned count)
{
    uint8_t description[DESCRIPTION_MAX];
    return parse(description, sample_describe(properties, count, description));
}

static const sample_property mixed[] = {
    {1, PT_STRING, NULL},  {3, PT_INT32, NULL},    {5, PT_INT64, NULL},      {6, PT_DOUBLE, NULL},
    {7, PT_BOOLEAN, NULL}, {8, PT_DATETIME, NULL}, {9, PT_GUID, NULL},       {10, PT_BINARY, NULL},
    {0, PT_INT32, ""},     {0, PT_STRING, "Note"}, {0, PT_BOOLEAN, "Notes"},
};

enum { MIXED = sizeof mixed / sizeof mixed[0] };

static void properties_get_names_types_and_slots(void **state)
{
    (void)state;
    static const char *const names[MIXED] = {"FirstName", "Age",  "Total", "Score",
                                             "Active",    "Due",  "Badge", "Photo",
                                             "",          "Note", "Notes"};
    static const uint32_t slots[MIXED] = {0, 0, 4, 12, 20, 21, 29, 1, 45, 2, 49};
    parsed result = parse_properties(mixed, MIXED);
    pt_shape *shape = result.shape;
    assert_non_null(shape);
    assert_int_equal(shape->id, 0);
    assert_int_equal(shape->count, MIXED);
    assert_int_equal(shape->fixed_size, 50);
    assert_int_equal(shape->variable, 3);
    for (unsigned i = 0; i < MIXED; i++) {
        const pt_property *property = &shape->properties[i];
        assert_int_equal(property->name.size, strlen(names[i]));
        assert_string_equal(property->name.data, names[i]);
        assert_int_equal(property->name_id, mixed[i].name_id);
        assert_int_equal(property->type, mixed[i].type);
        assert_int_equal(property->slot, slots[i]);
    }
    free(result.memory);
}

static void large_values_have_fixed_slots(void **state)
{
    (void)state;
    static const sample_property properties[] = {{1, PT_LARGE_STRING, NULL},
                                                 {2, PT_STRING, NULL},
                                                 {10, PT_LARGE_BINARY, NULL},
                                                 {0, PT_BOOLEAN, "Note"}};
    static const uint32_t slots[] = {0, 0, 18, 36};
    parsed result = parse_properties(properties, 4);
    assert_non_null(result.shape);
    assert_int_equal(result.shape->fixed_size, 37);
    assert_int_equal(result.shape->variable, 1);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(result.shape->properties[i].slot, slots[i]);
    }
    free(result.memory);
}

static void the_description_is_kept(void **state)
{
    (void)state;
    uint8_t description[DESCRIPTION_MAX];
    size_t size = sample_describe(mixed, MIXED, description);
    parsed result = parse(description, size);
    assert_non_null(result.shape);
    assert_true(pt_slice_equal(result.shape->description, pt_slice_of(description, size)));
    free(result.memory);
}

static void a_shape_may_have_no_property(void **state)
{
    (void)state;
    parsed result = parse_properties(NULL, 0);
    assert_non_null(result.shape);
    assert_int_equal(result.shape->count, 0);
    assert_int_equal(result.shape->fixed_size, 0);
    assert_int_equal(result.shape->variable, 0);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_text("Age")), -1);
    free(result.memory);
}

static void properties_are_found_by_name(void **state)
{
    (void)state;
    parsed result = parse_properties(mixed, MIXED);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_text("FirstName")), 0);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_text("Age")), 1);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_text("")), 8);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_text("Note")), 9);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_text("Notes")), 10);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_text("age")), -1);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_text("Ag")), -1);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_text("LastName")), -1);
    free(result.memory);
}

static void malformed_descriptions_are_refused(void **state)
{
    (void)state;
    static const struct {
        sample_property properties[2];
        unsigned count;
    } wrong[] = {
        {{{1, 0, NULL}}, 1},
        {{{1, 11, NULL}}, 1},
        {{{1, 255, NULL}}, 1},
        {{{SAMPLE_NAMES, PT_STRING, NULL}}, 1},
        {{{65535, PT_STRING, NULL}}, 1},
        {{{2, PT_STRING, NULL}, {1, PT_STRING, NULL}}, 2},
        {{{2, PT_STRING, NULL}, {2, PT_INT32, NULL}}, 2},
        {{{0, PT_STRING, "Note"}, {1, PT_STRING, NULL}}, 2},
        {{{0, PT_STRING, "Note"}, {0, PT_STRING, "Note"}}, 2},
        {{{0, PT_STRING, "Notes"}, {0, PT_STRING, "Note"}}, 2},
        {{{0, PT_STRING, "b"}, {0, PT_STRING, "a"}}, 2},
        {{{0, PT_NONE, "a"}}, 1},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        parsed result = parse_properties(wrong[i].properties, wrong[i].count);
        assert_null(result.shape);
        free(result.memory);
    }
}

static void wrong_lengths_are_refused(void **state)
{
    (void)state;
    uint8_t description[DESCRIPTION_MAX];
    size_t size = sample_describe(mixed, MIXED, description);
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(pt_shape_memory(pt_slice_of(description, cut)), 0);
        parsed result = parse(description, cut);
        assert_null(result.shape);
        free(result.memory);
    }
    description[size] = 0;
    assert_int_equal(pt_shape_memory(pt_slice_of(description, size + 1)), 0);
    assert_int_equal(pt_shape_memory((pt_slice){0}), 0);
}

/* What a parsed shape promises, checked without trusting where it came from. */
static void assert_sound(const pt_shape *shape)
{
    uint32_t fixed = 0;
    uint32_t variable = 0;
    for (unsigned i = 0; i < shape->count; i++) {
        const pt_property *property = &shape->properties[i];
        assert_true(property->type >= PT_STRING && property->type <= PT_LARGE_BINARY);
        assert_int_equal(property->name.data[property->name.size], 0);
        if (property->type == PT_STRING || property->type == PT_BINARY) {
            assert_int_equal(property->slot, variable++);
        } else {
            assert_int_equal(property->slot, fixed);
            fixed += pt_type_fixed_size((pt_type)property->type);
        }
        for (unsigned k = 0; k < i; k++) {
            assert_false(property->name_id != 0 &&
                         property->name_id == shape->properties[k].name_id);
        }
    }
    assert_int_equal(shape->fixed_size, fixed);
    assert_int_equal(shape->variable, variable);
}

static void every_byte_may_be_anything(void **state)
{
    (void)state;
    uint8_t description[DESCRIPTION_MAX];
    size_t size = sample_describe(mixed, MIXED, description);
    unsigned refused = 0;
    for (size_t at = 0; at < size; at++) {
        uint8_t original = description[at];
        for (int c = 0; c < 256; c++) {
            description[at] = (uint8_t)c;
            parsed result = parse(description, size);
            if (result.shape == NULL) {
                refused++;
            } else {
                assert_sound(result.shape);
            }
            free(result.memory);
        }
        description[at] = original;
    }
    assert_true(refused > size * 100);
}

static void the_widest_shape_fits(void **state)
{
    (void)state;
    enum { COUNT = 65535, NAME_SIZE = 4 };
    size_t size = 2 + COUNT * (3 + 2 + NAME_SIZE);
    uint8_t *description = malloc(size);
    assert_non_null(description);
    uint8_t *entry = description + 2;
    uint8_t *name = entry + (size_t)COUNT * 3;
    description[0] = description[1] = 0xFF;
    for (unsigned i = 0; i < COUNT; i++) {
        memcpy(entry, (uint8_t[]){0, 0, PT_GUID}, 3);
        memcpy(name, (uint8_t[]){NAME_SIZE, 0, 'n', 'n', (uint8_t)(i >> 8), (uint8_t)i}, 6);
        entry += 3;
        name += 2 + NAME_SIZE;
    }
    parsed result = parse(description, size);
    assert_non_null(result.shape);
    assert_int_equal(result.shape->count, COUNT);
    assert_int_equal(result.shape->fixed_size, COUNT * 16);
    assert_int_equal(pt_shape_find(result.shape, pt_slice_of("nn\xFF\xFE", 4)), COUNT - 1);
    free(result.memory);
    free(description);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_get_names_types_and_slots),
        cmocka_unit_test(large_values_have_fixed_slots),
        cmocka_unit_test(the_description_is_kept),
        cmocka_unit_test(a_shape_may_have_no_property),
        cmocka_unit_test(properties_are_found_by_name),
        cmocka_unit_test(malformed_descriptions_are_refused),
        cmocka_unit_test(wrong_lengths_are_refused),
        cmocka_unit_test(every_byte_may_be_anything),
        cmocka_unit_test(the_widest_shape_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
