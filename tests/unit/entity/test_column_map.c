#include "fixtures/cmocka.h"

#include <stdlib.h>

#include "entity/column_map.h"
#include "faults/failing_malloc.h"
#include "fixtures/sample_shapes.h"

enum { COLUMNS = 4 };

/* The names of the declared columns; a name counts with its case. */
static char age[] = "Age";
static char email[] = "Email";
static char first_name[] = "FirstName";
static char lower_age[] = "age";

static const pt_column columns[COLUMNS] = {
    {.name = age, .name_size = 3, .type = PT_INT32},
    {.name = email, .name_size = 5},
    {.name = first_name, .name_size = 9, .type = PT_STRING},
    {.name = lower_age, .name_size = 3},
};

static pt_column_map empty_map(void)
{
    return (pt_column_map){.columns = columns, .column_count = COLUMNS};
}

/* FirstName, Age */
static pt_shape *named_shape(uint16_t id)
{
    const sample_property properties[] = {{1, PT_STRING, NULL}, {3, PT_INT32, NULL}};
    return sample_shape(properties, 2, id);
}

/* LastName, Email, and age described inline */
static pt_shape *mailed_shape(uint16_t id)
{
    const sample_property properties[] = {
        {2, PT_STRING, NULL}, {4, PT_STRING, NULL}, {0, PT_INT64, "age"}};
    return sample_shape(properties, 3, id);
}

static void assert_places(const pt_column_places *places, const pt_shape *shape,
                          const int expected[COLUMNS])
{
    assert_non_null(places);
    assert_ptr_equal(places->shape, shape);
    for (int i = 0; i < COLUMNS; i++) {
        assert_int_equal(places->place[i], expected[i]);
        if (expected[i] >= 0) {
            assert_ptr_equal(places->property[i], &shape->properties[expected[i]]);
        } else {
            assert_int_equal(places->property[i]->type, PT_NONE);
        }
    }
}

static const int named_places[COLUMNS] = {1, -1, 0, -1};
static const int mailed_places[COLUMNS] = {-1, 1, -1, 2};

static void places_are_those_of_the_names(void **state)
{
    (void)state;
    pt_column_map map = empty_map();
    pt_shape *named = named_shape(1);
    pt_shape *mailed = mailed_shape(2);
    pt_shape *empty = sample_shape(NULL, 0, 3);
    const int nowhere[COLUMNS] = {-1, -1, -1, -1};
    assert_places(pt_column_map_find(&map, named), named, named_places);
    assert_places(pt_column_map_find(&map, mailed), mailed, mailed_places);
    assert_places(pt_column_map_find(&map, empty), empty, nowhere);
    pt_column_map_free(&map);
    free(named);
    free(mailed);
    free(empty);
}

static void a_shape_is_worked_out_once(void **state)
{
    (void)state;
    pt_column_map map = empty_map();
    pt_shape *named = named_shape(1);
    pt_shape *far = mailed_shape(5000);
    const pt_column_places *places = pt_column_map_find(&map, named);
    assert_places(pt_column_map_find(&map, far), far, mailed_places);
    failing_malloc_arm(0, true);
    assert_ptr_equal(pt_column_map_find(&map, named), places);
    assert_places(places, named, named_places);
    assert_places(pt_column_map_find(&map, far), far, mailed_places);
    assert_false(failing_malloc_disarm());
    pt_column_map_free(&map);
    free(named);
    free(far);
}

/* An id that was withdrawn may come back for another shape. */
static void another_shape_with_the_id_replaces_the_first(void **state)
{
    (void)state;
    pt_column_map map = empty_map();
    pt_shape *named = named_shape(1);
    pt_shape *mailed = mailed_shape(1);
    assert_places(pt_column_map_find(&map, named), named, named_places);
    assert_places(pt_column_map_find(&map, mailed), mailed, mailed_places);
    assert_places(pt_column_map_find(&map, named), named, named_places);
    pt_column_map_free(&map);
    free(named);
    free(mailed);
}

/* Shapes without an id come and go in the same memory. */
static void shapes_without_id_are_worked_out_each_time(void **state)
{
    (void)state;
    pt_column_map map = empty_map();
    pt_shape *named = named_shape(0);
    pt_shape *mailed = mailed_shape(0);
    pt_shape reused = *named;
    assert_places(pt_column_map_find(&map, &reused), &reused, named_places);
    reused = *mailed;
    assert_places(pt_column_map_find(&map, &reused), &reused, mailed_places);
    pt_column_map_free(&map);
    free(named);
    free(mailed);
}

static void a_map_without_columns_has_no_places(void **state)
{
    (void)state;
    pt_column_map map = {0};
    pt_shape *named = named_shape(1);
    const pt_column_places *places = pt_column_map_find(&map, named);
    assert_non_null(places);
    assert_ptr_equal(places->shape, named);
    pt_column_map_free(&map);
    pt_column_map_free(&map);
    free(named);
}

static void out_of_memory_can_be_tried_again(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    pt_shape *named = named_shape(1);
    pt_shape *far = mailed_shape(300);
    for (int n = 0;; n++) {
        pt_column_map map = empty_map();
        failing_malloc_arm(n, false);
        bool complete = pt_column_map_find(&map, named) != NULL;
        complete = pt_column_map_find(&map, far) != NULL && complete;
        bool hit = failing_malloc_disarm();
        assert_int_equal(complete, !hit);
        assert_places(pt_column_map_find(&map, named), named, named_places);
        assert_places(pt_column_map_find(&map, far), far, mailed_places);
        pt_column_map_free(&map);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            assert_true(n >= 4);
            break;
        }
    }
    free(named);
    free(far);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_of_the_names),
        cmocka_unit_test(a_shape_is_worked_out_once),
        cmocka_unit_test(another_shape_with_the_id_replaces_the_first),
        cmocka_unit_test(shapes_without_id_are_worked_out_each_time),
        cmocka_unit_test(a_map_without_columns_has_no_places),
        cmocka_unit_test(out_of_memory_can_be_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
