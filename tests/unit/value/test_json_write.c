#include "fixtures/cmocka.h"

#include <math.h>

#include "base/ticks.h"
#include "faults/failing_malloc.h"
#include "value/json_write.h"

#define GUID "0f8fad5b-d9cb-469f-a165-70867728950e"
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static pt_value string_of(pt_slice text)
{
    return (pt_value){.type = PT_STRING, .bytes = text};
}

static void assert_written(const pt_value *value, const char *expected)
{
    pt_buffer json = {0};
    pt_json_begin(&json);
    pt_json_add(&json, pt_slice_text("a"), value);
    pt_json_end(&json);
    if (!pt_slice_equal(pt_buffer_slice(&json), pt_slice_text(expected))) {
        fail_msg("%.*s instead of %s", (int)json.size, (const char *)json.data, expected);
    }
    pt_buffer_free(&json);
}

static void values_are_written_with_the_annotations_they_need(void **state)
{
    (void)state;
    pt_value guid = {.type = PT_GUID};
    assert_true(pt_guid_parse(pt_slice_text(GUID), guid.guid));
    const struct {
        pt_value value;
        const char *expected;
    } cases[] = {
        {{.type = PT_NONE}, "{}"},
        {{.type = PT_INT32, .integer = -34}, "{\"a\":-34}"},
        {{.type = PT_INT64, .integer = 34}, "{\"a\":34,\"a@odata.type\":\"Edm.Int64\"}"},
        {{.type = PT_INT64, .integer = INT64_MIN},
         "{\"a\":-9223372036854775808,\"a@odata.type\":\"Edm.Int64\"}"},
        {{.type = PT_BOOLEAN, .integer = 0}, "{\"a\":false}"},
        {{.type = PT_BOOLEAN, .integer = 1}, "{\"a\":true}"},
        {{.type = PT_DOUBLE, .real = 5}, "{\"a\":5.0}"},
        {{.type = PT_DOUBLE, .real = 1e300}, "{\"a\":1.0e+300}"},
        {{.type = PT_DOUBLE, .real = -0.0}, "{\"a\":-0.0}"},
        {{.type = PT_DOUBLE, .real = NAN}, "{\"a\":\"NaN\",\"a@odata.type\":\"Edm.Double\"}"},
        {{.type = PT_DOUBLE, .real = -INFINITY},
         "{\"a\":\"-Infinity\",\"a@odata.type\":\"Edm.Double\"}"},
        {{.type = PT_DATETIME, .integer = PT_TICKS_MAX},
         "{\"a\":\"9999-12-31T23:59:59.9999999Z\",\"a@odata.type\":\"Edm.DateTime\"}"},
        {guid, "{\"a\":\"" GUID "\",\"a@odata.type\":\"Edm.Guid\"}"},
        {{.type = PT_BINARY, .bytes = pt_slice_of("fooba", 5)},
         "{\"a\":\"Zm9vYmE=\",\"a@odata.type\":\"Edm.Binary\"}"},
        {{.type = PT_BINARY}, "{\"a\":\"\",\"a@odata.type\":\"Edm.Binary\"}"},
        {string_of(pt_slice_text("")), "{\"a\":\"\"}"},
        {string_of((pt_slice){0}), "{\"a\":\"\"}"},
        {string_of(pt_slice_text("\"\\/\n\x1F\x7F\xC3\xA4\xE2\x80\xA8")),
         "{\"a\":\"\\\"\\\\/\\u000a\\u001f\x7F\xC3\xA4\xE2\x80\xA8\"}"},
        {string_of(pt_slice_of("x\0y", 3)), "{\"a\":\"x\\u0000y\"}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_written(&cases[i].value, cases[i].expected);
    }
}

static void members_are_separated_and_names_escaped(void **state)
{
    (void)state;
    pt_buffer json = {0};
    pt_json_begin(&json);
    pt_json_end(&json);
    assert_true(pt_slice_equal(pt_buffer_slice(&json), pt_slice_text("{}")));
    pt_buffer_clear(&json);
    pt_value brace = string_of(pt_slice_text("{"));
    pt_value none = {.type = PT_NONE};
    pt_value wide = {.type = PT_INT64, .integer = 1};
    pt_json_begin(&json);
    pt_json_add(&json, pt_slice_text("{"), &brace);
    pt_json_add(&json, pt_slice_text("b"), &none);
    pt_json_add(&json, pt_slice_text("q\"\n"), &wide);
    pt_json_end(&json);
    assert_true(pt_slice_equal(pt_buffer_slice(&json),
                               pt_slice_text("{\"{\":\"{\",\"q\\\"\\u000a\":1,"
                                             "\"q\\\"\\u000a@odata.type\":\"Edm.Int64\"}")));
    pt_buffer_free(&json);
}

static void a_type_can_be_named_that_needs_no_annotation(void **state)
{
    (void)state;
    pt_buffer json = {0};
    pt_value digits = string_of(pt_slice_text("34"));
    pt_json_begin(&json);
    pt_json_add(&json, pt_slice_text("q\""), &digits);
    pt_json_add_annotation(&json, pt_slice_text("q\""), PT_INT32);
    pt_json_end(&json);
    assert_true(
        pt_slice_equal(pt_buffer_slice(&json),
                       pt_slice_text("{\"q\\\"\":\"34\",\"q\\\"@odata.type\":\"Edm.Int32\"}")));
    pt_buffer_free(&json);
}

static void out_of_memory_is_sticky(void **state)
{
    (void)state;
    static const char longer[] = "longer than the memory that a buffer begins with, \"escaped\"\n";
    pt_value text = string_of(pt_slice_text(longer));
    pt_value wide = {.type = PT_INT64, .integer = 1};
    for (int n = 0;; n++) {
        pt_buffer json = {0};
        failing_malloc_arm(n, false);
        pt_json_begin(&json);
        pt_json_add(&json, pt_slice_text("a"), &text);
        pt_json_add(&json, pt_slice_text(longer), &wide);
        pt_json_add_annotation(&json, pt_slice_text(longer), PT_INT64);
        pt_json_end(&json);
        bool hit = failing_malloc_disarm();
        assert_int_equal(json.failed, hit);
        pt_buffer_free(&json);
        if (!hit) {
            assert_true(n > 1);
            break;
        }
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_with_the_annotations_they_need),
        cmocka_unit_test(members_are_separated_and_names_escaped),
        cmocka_unit_test(a_type_can_be_named_that_needs_no_annotation),
        cmocka_unit_test(out_of_memory_is_sticky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
