#include "fixtures/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "value/json_scan.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const kind_names[] = {
    [PT_JSON_NULL] = "null",       [PT_JSON_FALSE] = "false", [PT_JSON_TRUE] = "true",
    [PT_JSON_INTEGER] = "integer", [PT_JSON_REAL] = "real",   [PT_JSON_STRING] = "string",
    [PT_JSON_NESTED] = "nested",
};

static const char *const step_names[] = {
    [PT_JSON_END] = "end",
    [PT_JSON_NO_OBJECT] = "no object",
    [PT_JSON_MALFORMED] = "malformed",
    [PT_JSON_HALF_SURROGATE] = "half surrogate",
};

/* Every member as "name=kind:bytes;" then the step that ended the scan. */
static void scan_text(const char *json, size_t json_size, char *text, size_t size)
{
    uint8_t *exact = malloc(json_size); /* so that a sanitizer sees reads beyond it */
    assert_true(exact != NULL || json_size == 0);
    memcpy(exact, json, json_size);
    pt_json_scan scan = pt_json_scan_of(exact, json_size);
    size_t used = 0;
    for (;;) {
        pt_slice name;
        pt_json_token value;
        pt_json_step step = pt_json_scan_next(&scan, &name, &value);
        if (step != PT_JSON_MEMBER) {
            snprintf(text + used, size - used, "%s", step_names[step]);
            break;
        }
        used += (size_t)snprintf(text + used, size - used, "%.*s=%s:%.*s;", (int)name.size,
                                 (const char *)name.data, kind_names[value.kind], (int)value.size,
                                 (const char *)value.data);
        assert_int_equal(name.data[name.size], 0);
        assert_true(value.kind != PT_JSON_STRING || value.data[value.size] == 0);
        if (value.kind == PT_JSON_NESTED) {
            break;
        }
    }
    free(exact);
}

/* A text without memory is as one without bytes. */
static void no_text_is_no_object(void **state)
{
    (void)state;
    pt_slice name;
    pt_json_token value;
    pt_json_scan scan = pt_json_scan_of(NULL, 0);
    assert_int_equal(pt_json_scan_next(&scan, &name, &value), PT_JSON_NO_OBJECT);
}

static void members_come_in_order_with_their_text(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *expected;
    } cases[] = {
        {"{}", "end"},
        {" \t\r\n{ \n} ", "end"},
        {"{\"a\":1}", "a=integer:1;end"},
        {" { \"a\" : -12 , \"b\" : 1.50 ,\"c\":1E+5} ",
         "a=integer:-12;b=real:1.50;c=real:1E+5;end"},
        {"{\"a\":null,\"b\":true,\"c\":false}", "a=null:null;b=true:true;c=false:false;end"},
        {"{\"\":\"\"}", "=string:;end"},
        {"{\"a\":123456789012345678901234567890}", "a=integer:123456789012345678901234567890;end"},
        {"{\"a\":\"x\",\"a\":\"y\"}", "a=string:x;a=string:y;end"},
        {"{\"a\":1,\"n\":{\"b\":2}}", "a=integer:1;n=nested:{;"},
        {"{\"n\":[1],\"b\":2}", "n=nested:[;"},
        {"{\"a\":\"{}[],:\"}", "a=string:{}[],:;end"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[300];
        scan_text(cases[i].json, strlen(cases[i].json), text, sizeof text);
        assert_string_equal(text, cases[i].expected);
    }
}

static void escapes_are_undone_in_names_and_values(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *expected;
    } cases[] = {
        {"{\"a\\u0062\":\"\\u0063\"}", "ab=string:c;end"},
        {"{\"q\\\"\\\\\\/\":\"\\b\\f\\n\\r\\t\"}", "q\"\\/=string:\b\f\n\r\t;end"},
        {"{\"a\":\"\\u00e4\\u20AC\\ud83d\\uDE00.\"}",
         "a=string:\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80.;end"},
        {"{\"a\":\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"}",
         "a=string:\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF;end"},
        {"{\"a\":\"\\ud800\\udc00\\udbff\\udfff\"}",
         "a=string:\xF0\x90\x80\x80\xF4\x8F\xBF\xBF;end"},
        {"{\"a\":\"\xC3\xA4\\\\u0041\"}", "a=string:\xC3\xA4\\u0041;end"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[300];
        scan_text(cases[i].json, strlen(cases[i].json), text, sizeof text);
        assert_string_equal(text, cases[i].expected);
    }
}

static void an_escaped_nul_is_a_character(void **state)
{
    (void)state;
    uint8_t json[] = "{\"a\\u0000b\":\"\\u0000x\\u0000\"}";
    pt_json_scan scan = pt_json_scan_of(json, sizeof json - 1);
    pt_slice name;
    pt_json_token value;
    assert_int_equal(pt_json_scan_next(&scan, &name, &value), PT_JSON_MEMBER);
    assert_true(pt_slice_equal(name, pt_slice_of("a\0b", 3)));
    assert_true(pt_slice_equal(pt_json_token_text(&value), pt_slice_of("\0x\0", 3)));
    assert_int_equal(pt_json_scan_next(&scan, &name, &value), PT_JSON_END);
}

static void half_surrogates_are_found(void **state)
{
    (void)state;
    static const char *const strings[] = {
        "\\ud800",    "\\udc00",        "\\ud800x",   "\\ud800\\u0041", "\\ud800\\ud800",
        "\\ud800\\n", "\\udfff\\ud800", "\\ud83d\\u", "\\ud83d\\ude0",  "ab\\udbffcd",
    };
    for (size_t i = 0; i < COUNT(strings); i++) {
        uint8_t json[100];
        int size = snprintf((char *)json, sizeof json, "{\"a\":\"%s\"}", strings[i]);
        pt_json_scan scan = pt_json_scan_of(json, (size_t)size);
        pt_slice name;
        pt_json_token value;
        assert_int_equal(pt_json_scan_next(&scan, &name, &value), PT_JSON_HALF_SURROGATE);
        assert_true(pt_slice_equal(name, pt_slice_text("a")));
        size = snprintf((char *)json, sizeof json, "{\"%s\":1}", strings[i]);
        scan = pt_json_scan_of(json, (size_t)size);
        assert_int_equal(pt_json_scan_next(&scan, &name, &value), PT_JSON_HALF_SURROGATE);
        assert_int_equal(name.size, 0);
    }
}

static void what_is_no_flat_object_ends_the_scan(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *expected;
    } cases[] = {
        {"", "no object"},
        {" ", "no object"},
        {"[]", "no object"},
        {"\"a\"", "no object"},
        {"34", "no object"},
        {"null", "no object"},
        {"{", "malformed"},
        {"{\"", "malformed"},
        {"{\"a", "malformed"},
        {"{\"a\\", "malformed"},
        {"{\"a\\u00", "malformed"},
        {"{\"a\\x\":1}", "malformed"},
        {"{\"a\\u00g0\":1}", "malformed"},
        {"{\"a\"", "malformed"},
        {"{\"a\" 1}", "malformed"},
        {"{\"a\":", "malformed"},
        {"{\"a\":}", "malformed"},
        {"{\"a\":1", "a=integer:1;malformed"},
        {"{\"a\":nul}", "malformed"},
        {"{\"a\":NaN}", "malformed"},
        {"{\"a\":'b'}", "malformed"},
        {"{\"a\":1 2}", "a=integer:1;malformed"},
        {"{\"a\":1,}", "a=integer:1;malformed"},
        {"{,\"a\":1}", "malformed"},
        {"{a:1}", "malformed"},
        {"{\"a\":1}x", "a=integer:1;malformed"},
        {"{}{}", "malformed"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[300];
        scan_text(cases[i].json, strlen(cases[i].json), text, sizeof text);
        assert_string_equal(text, cases[i].expected);
    }
    char text[300];
    scan_text("{}\0", 3, text, sizeof text);
    assert_string_equal(text, "malformed");
}

static void every_prefix_is_safe(void **state)
{
    (void)state;
    static const char json[] =
        "{ \"a\\u0062\\ud83d\\ude00\" : \"x\\n\\u20ac\" , \"c\":-1.5e+7,\"d\":true,\"e\":null}";
    for (size_t size = 0; size < sizeof json - 1; size++) {
        char text[300];
        scan_text(json, size, text, sizeof text);
        assert_null(strstr(text, "end"));
    }
}

/* As in an array: each object is scanned by itself, and the text after it is not touched. */
static void an_inner_object_ends_where_it_ends(void **state)
{
    (void)state;
    uint8_t json[] = "{\"a\":1} , { } ]";
    pt_json_scan scan = pt_json_scan_of(json, sizeof json - 1);
    scan.inner = true;
    pt_slice name;
    pt_json_token value;
    assert_int_equal(pt_json_scan_next(&scan, &name, &value), PT_JSON_MEMBER);
    assert_int_equal(pt_json_scan_next(&scan, &name, &value), PT_JSON_END);
    assert_ptr_equal(scan.at, json + strlen("{\"a\":1}"));
    scan.at += strlen(" ,");
    scan.begun = false;
    assert_int_equal(pt_json_scan_next(&scan, &name, &value), PT_JSON_END);
    assert_string_equal((char *)scan.at, " ]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_text_is_no_object),
        cmocka_unit_test(members_come_in_order_with_their_text),
        cmocka_unit_test(escapes_are_undone_in_names_and_values),
        cmocka_unit_test(an_escaped_nul_is_a_character),
        cmocka_unit_test(half_surrogates_are_found),
        cmocka_unit_test(what_is_no_flat_object_ends_the_scan),
        cmocka_unit_test(an_inner_object_ends_where_it_ends),
        cmocka_unit_test(every_prefix_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
