#include "fixtures/cmocka.h"

#include <math.h>

#include "value/value.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void every_type_has_its_text(void **state)
{
    (void)state;
    const struct {
        pt_value value;
        const char *expected;
    } cases[] = {
        {{.type = PT_NONE}, ""},
        {{.type = PT_LARGE_STRING, .large = {.size = 5}}, ""},
        {{.type = PT_STRING, .bytes = pt_slice_text("say \"x\"")}, "say \"x\""},
        {{.type = PT_STRING}, ""},
        {{.type = PT_INT32, .integer = -34}, "-34"},
        {{.type = PT_INT64, .integer = INT64_MIN}, "-9223372036854775808"},
        {{.type = PT_DOUBLE, .real = 0.1}, "0.1"},
        {{.type = PT_DOUBLE, .real = -INFINITY}, "-Infinity"},
        {{.type = PT_BOOLEAN, .integer = 0}, "false"},
        {{.type = PT_BOOLEAN, .integer = 1}, "true"},
        {{.type = PT_DATETIME, .integer = 1}, "0001-01-01T00:00:00.0000001Z"},
        {{.type = PT_GUID, .guid = {0xAB}}, "ab000000-0000-0000-0000-000000000000"},
        {{.type = PT_BINARY, .bytes = pt_slice_of("fooba", 5)}, "Zm9vYmE="},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        pt_buffer text = {0};
        pt_buffer_append_text(&text, "=");
        pt_value_append_text(&text, &cases[i].value);
        pt_buffer_append_byte(&text, 0);
        assert_false(text.failed);
        assert_string_equal((const char *)text.data + 1, cases[i].expected);
        pt_buffer_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_type_has_its_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
