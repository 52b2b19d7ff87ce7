#include "fixtures/cmocka.h"

#include <stdio.h>

#include "catalog/properties.h"
#include "faults/failing_malloc.h"
#include "fixtures/own_shape.h"

static int look(pt_census *census, const pt_shape *shape)
{
    record_bytes bytes = write_record(shape, fields);
    pt_record record;
    pt_buffer scratch = {0};
    int rc = pt_record_open(&record, sample_key(), slice_of(&bytes), &source, &scratch);
    if (rc == SQLITE_OK) {
        rc = pt_census_look(census, &record);
    }
    pt_buffer_free(&scratch);
    free(bytes.data);
    return rc;
}

/* "name type entities example; " for each property. */
static void assert_properties(const pt_census *census, const char *expected)
{
    char seen[1000] = "";
    for (size_t i = 0; i < census->count; i++) {
        const pt_census_property *property = &census->properties[i];
        size_t size = strlen(seen);
        snprintf(seen + size, sizeof seen - size, "%.*s %s %d %s; ", (int)property->name.size,
                 (const char *)property->name.data, pt_type_name(property->type),
                 (int)property->entities, property->example);
    }
    assert_string_equal(seen, expected);
}

static void count(pt_census *census, uint16_t shape_id, bool seen_before)
{
    bool seen = !seen_before;
    assert_true(pt_census_count(census, shape_id, &seen));
    assert_int_equal(seen, seen_before);
}

static void entities_are_counted_by_shape(void **state)
{
    (void)state;
    pt_census census = {0};
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    count(&census, SHAPE_ID, false);
    assert_int_equal(look(&census, shape), SQLITE_OK);
    count(&census, SHAPE_ID, true);
    count(&census, 9000, false);
    count(&census, SHAPE_ID, true);
    pt_census_finish(&census, &source);
    assert_int_equal(census.entities, 4);
    assert_properties(&census,
                      "Active Boolean 3 1; Age Int32 3 -34; "
                      "Badge Guid 3 01234567-89ab-cdef-fedc-ba9876543210; "
                      "Due DateTime 3 1970-01-01T00:00:00.0000000Z; "
                      "FirstName String 3 Jun; Photo Binary 3 x'dead'; Score Double 3 -1.5; "
                      "Total Int64 3 1234605616436508552; ");
    pt_census_free(&census);
    free(shape);
}

/* They are looked into one by one, and fall together with those of the dictionary. */
static void records_with_a_shape_of_their_own_count_too(void **state)
{
    (void)state;
    pt_census census = {0};
    pt_shape *own = make_shape(inline_described, PROPERTIES, 0);
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    assert_int_equal(look(&census, own), SQLITE_OK);
    assert_int_equal(look(&census, own), SQLITE_OK);
    count(&census, SHAPE_ID, false);
    assert_int_equal(look(&census, shape), SQLITE_OK);
    pt_census_finish(&census, &source);
    assert_int_equal(census.entities, 3);
    assert_properties(&census,
                      "Active Boolean 3 1; Age Int32 3 -34; "
                      "Badge Guid 1 01234567-89ab-cdef-fedc-ba9876543210; "
                      "Due DateTime 1 1970-01-01T00:00:00.0000000Z; "
                      "Due1 DateTime 2 1970-01-01T00:00:00.0000000Z; FirstName String 3 Jun; "
                      "Id Guid 2 01234567-89ab-cdef-fedc-ba9876543210; Jpeg Binary 2 x'dead'; "
                      "Photo Binary 1 x'dead'; Score Double 3 -1.5; "
                      "Total Int64 3 1234605616436508552; ");
    pt_census_free(&census);
    free(own);
    free(shape);
}

static void census_of_both(pt_census *census, const pt_shape *own, const pt_shape *shape, int *rc)
{
    bool seen = false;
    *rc = pt_census_count(census, SHAPE_ID, &seen) ? look(census, shape) : SQLITE_NOMEM;
    if (*rc == SQLITE_OK) {
        *rc = look(census, own);
    }
}

static void out_of_memory_is_reported(void **state)
{
    (void)state;
    pt_shape *own = make_shape(inline_described, PROPERTIES, 0);
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    for (int n = 0;; n++) {
        int rc;
        pt_census census = {0};
        sqlite3_int64 before = sqlite3_memory_used();
        failing_malloc_arm(n, false);
        census_of_both(&census, own, shape, &rc);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        pt_census_free(&census);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            assert_true(n >= 3);
            break;
        }
    }
    free(own);
    free(shape);
}

/* Enough properties for the list to grow, and one name with another type. */
static void many_properties_without_memory(void **state)
{
    (void)state;
    enum { MANY = 200 };
    sample_property properties[MANY];
    pt_field values[MANY];
    char names[MANY][24];
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "Number %03d", i);
        properties[i] = (sample_property){0, PT_INT32, names[i]};
        values[i] = (pt_field){.value = {.type = PT_INT32, .integer = i}};
    }
    pt_shape *shape = make_shape(properties, MANY, 0);
    record_bytes bytes = write_record(shape, values);
    bool hit = true;
    for (int n = 0; hit; n++) {
        pt_census census = {0};
        pt_buffer scratch = {0};
        pt_record record;
        assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&bytes), &source, &scratch),
                         SQLITE_OK);
        failing_malloc_arm(n, false);
        int rc = pt_census_look(&census, &record);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_true(hit || census.count == MANY);
        pt_census_free(&census);
        pt_buffer_free(&scratch);
    }
    free(bytes.data);
    free(shape);
}

static void damaged_values_are_reported(void **state)
{
    (void)state;
    record_bytes bytes = own_record(sample_ticks, 2);
    pt_census census = {0};
    pt_buffer scratch = {0};
    pt_record record;
    assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&bytes), &source, &scratch),
                     SQLITE_OK);
    assert_int_equal(pt_census_look(&census, &record), SQLITE_CORRUPT_VTAB);
    pt_census_free(&census);
    pt_buffer_free(&scratch);
    free(bytes.data);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entities_are_counted_by_shape),
        cmocka_unit_test(records_with_a_shape_of_their_own_count_too),
        cmocka_unit_test(out_of_memory_is_reported),
        cmocka_unit_test(many_properties_without_memory),
        cmocka_unit_test(damaged_values_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
