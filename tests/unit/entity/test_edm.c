#include "fixtures/cmocka.h"

#include <stdio.h>

#include "entity/edm.h"

static const struct {
    pt_type type;
    int code;
    const char *name;
    unsigned fixed_size;
} types[] = {
    {PT_NONE, 0, "", 0},
    {PT_STRING, 1, "String", 0},
    {PT_INT32, 2, "Int32", 4},
    {PT_INT64, 3, "Int64", 8},
    {PT_DOUBLE, 4, "Double", 8},
    {PT_BOOLEAN, 5, "Boolean", 1},
    {PT_DATETIME, 6, "DateTime", 8},
    {PT_GUID, 7, "Guid", 16},
    {PT_BINARY, 8, "Binary", 0},
};

static void codes_names_and_sizes_are_fixed(void **state)
{
    (void)state;
    assert_int_equal(sizeof types / sizeof types[0], PT_TYPE_LAST + 1);
    for (unsigned i = 0; i <= PT_TYPE_LAST; i++) {
        assert_int_equal(types[i].type, types[i].code);
        assert_string_equal(pt_type_name(types[i].type), types[i].name);
        assert_int_equal(pt_type_fixed_size(types[i].type), types[i].fixed_size);
    }
    assert_string_equal(pt_type_name((pt_type)11), "");
    assert_int_equal(pt_type_fixed_size((pt_type)11), 0);
    assert_int_equal(pt_type_fixed_size((pt_type)200), 0);
}

/* Nobody can declare them: they have no name. */
static void types_of_large_values_are_only_stored(void **state)
{
    (void)state;
    assert_int_equal(PT_LARGE_STRING, 9);
    assert_int_equal(PT_LARGE_BINARY, 10);
    assert_int_equal(PT_STORED_TYPE_LAST, 10);
    for (int type = PT_NONE; type <= PT_STORED_TYPE_LAST + 1; type++) {
        bool large = type == PT_LARGE_STRING || type == PT_LARGE_BINARY;
        assert_int_equal(pt_type_is_large((pt_type)type), large);
    }
    assert_int_equal(pt_type_fixed_size(PT_LARGE_STRING), 18);
    assert_int_equal(pt_type_fixed_size(PT_LARGE_BINARY), 18);
    assert_string_equal(pt_type_name(PT_LARGE_STRING), "");
    assert_string_equal(pt_type_name(PT_LARGE_BINARY), "");
}

static void service_names_are_found_in_any_case(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= PT_TYPE_LAST; i++) {
        char plain[32];
        char prefixed[32];
        char shouted[32] = {0};
        snprintf(plain, sizeof plain, "%s", types[i].name);
        snprintf(prefixed, sizeof prefixed, "eDM.%s", types[i].name);
        for (unsigned at = 0; plain[at] != 0; at++) {
            shouted[at] = (char)(plain[at] >= 'a' && plain[at] <= 'z' ? plain[at] - 32 : plain[at]);
        }
        assert_int_equal(pt_type_from_name(pt_slice_text(plain)), types[i].type);
        assert_int_equal(pt_type_from_name(pt_slice_text(prefixed)), types[i].type);
        assert_int_equal(pt_type_from_name(pt_slice_text(shouted)), types[i].type);
    }
}

static void sql_names_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        pt_type type;
    } names[] = {
        {"TEXT", PT_STRING},
        {"text", PT_STRING},
        {"VARCHAR(20)", PT_STRING},
        {"varchar (20)", PT_STRING},
        {"VARCHAR", PT_STRING},
        {"CHARACTER(20)", PT_STRING},
        {"NVARCHAR(100)", PT_STRING},
        {"NVARCHAR(max)", PT_STRING},
        {"CLOB", PT_STRING},
        {"INTEGER", PT_INT64},
        {"INT", PT_INT64},
        {"INT(11)", PT_INT64},
        {"BIGINT", PT_INT64},
        {"TINYINT", PT_INT32},
        {"SMALLINT", PT_INT32},
        {"INT4", PT_INT32},
        {"REAL", PT_DOUBLE},
        {"FLOAT", PT_DOUBLE},
        {"DOUBLE PRECISION", PT_DOUBLE},
        {"BOOL", PT_BOOLEAN},
        {"DATETIME", PT_DATETIME},
        {"TIMESTAMP", PT_DATETIME},
        {"UUID", PT_GUID},
        {"UNIQUEIDENTIFIER", PT_GUID},
        {"BLOB", PT_BINARY},
        {"VARBINARY(16)", PT_BINARY},
        {"BINARY(16)", PT_BINARY},
        {"BYTEA", PT_BINARY},
    };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(pt_type_from_name(pt_slice_text(names[i].name)), names[i].type);
    }
}

static void other_names_are_unknown(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "NUMERIC",
        "DECIMAL(10)",
        "DATE",
        "TIME",
        "JSON",
        "Strin",
        "String ",
        " String",
        "Strings",
        "Edm.",
        "Edm.TEXT",
        "Edm",
        "Edm.String(2)",
        "VARCHAR()",
        "VARCHAR(x)",
        "VARCHAR(20",
        "VARCHAR 20)",
        "(20)",
        ")",
        "VARCHAR(20)(3)",
        "VARCHAR(-1)",
        "DOUBLEPRECISION",
    };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(pt_type_from_name(pt_slice_text(names[i])), PT_NONE);
    }
    assert_int_equal(pt_type_from_name((pt_slice){0}), PT_NONE);
    assert_int_equal(pt_type_from_name(pt_slice_of("TEXT\0", 5)), PT_NONE);
    assert_int_equal(pt_type_from_name(pt_slice_of("Int32xyz", 5)), PT_INT32);
}

static const uint8_t sample_guid[PT_GUID_SIZE] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                                  0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};
static const char sample_text[] = "00112233-4455-6677-8899-aabbccddeeff";

static void guids_are_read_and_written(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "00112233-4455-6677-8899-aabbccddeeff",
        "00112233-4455-6677-8899-AABBCCDDEEFF",
        "{00112233-4455-6677-8899-aAbBcCdDeEfF}",
    };
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        uint8_t guid[PT_GUID_SIZE];
        assert_true(pt_guid_parse(pt_slice_text(forms[i]), guid));
        assert_memory_equal(guid, sample_guid, PT_GUID_SIZE);
    }
    char text[PT_GUID_TEXT_SIZE + 1];
    pt_guid_format(sample_guid, text);
    assert_string_equal(text, sample_text);
}

static bool is_hex(int c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Every byte at every position. */
static void guids_of_another_form_are_refused(void **state)
{
    (void)state;
    for (unsigned at = 0; at < PT_GUID_TEXT_SIZE; at++) {
        for (int c = 0; c < 256; c++) {
            uint8_t text[PT_GUID_TEXT_SIZE];
            memcpy(text, sample_text, sizeof text);
            text[at] = (uint8_t)c;
            uint8_t guid[PT_GUID_SIZE] = {0x5A};
            bool right = sample_text[at] == '-' ? c == '-' : is_hex(c);
            assert_int_equal(pt_guid_parse(pt_slice_of(text, sizeof text), guid), right);
            if (!right) {
                assert_int_equal(guid[0], 0x5A);
            }
        }
    }
    static const char *const texts[] = {
        "",
        "00112233445566778899aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeef",
        "00112233-4455-6677-8899-aabbccddeeff0",
        "00112233-4455-6677-8899-aabbccddeeff  ",
        "{00112233-4455-6677-8899-aabbccddeeff",
        "{00112233-4455-6677-8899-aabbccddeeff)",
        "(00112233-4455-6677-8899-aabbccddeeff)",
    };
    uint8_t guid[PT_GUID_SIZE];
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(pt_guid_parse(pt_slice_text(texts[i]), guid));
    }
    assert_false(pt_guid_parse((pt_slice){0}, guid));
}

static void a_refused_text_breaks_a_rule(void **state)
{
    (void)state;
    static const char digits[] = "it does not have 32 hexadecimal digits";
    static const char form[] = "it is not 8, 4, 4, 4 and 12 digits with hyphens between";
    static const struct {
        const char *text;
        const char *rule;
    } cases[] = {
        {"x", digits},
        {"00112233-4455-6677-8899-aabbccddeef", digits},
        {"00112233-4455-6677-8899-aabbccddeefg", digits},
        {"00112233445566778899aabbccddeeff", form},
        {"(00112233-4455-6677-8899-aabbccddeeff)", form},
        {"0011223-34455-6677-8899-aabbccddeeff", form},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *rule = pt_type_broken_rule(PT_GUID, pt_slice_text(cases[i].text));
        assert_non_null(rule);
        assert_string_equal(rule, cases[i].rule);
    }
    assert_null(
        pt_type_broken_rule(PT_GUID, pt_slice_text("00112233-4455-6677-8899-aabbccddeeff")));
    assert_string_equal(pt_type_broken_rule(PT_DATETIME, pt_slice_text("2026-02-30")),
                        "its month has no such day");
    assert_null(pt_type_broken_rule(PT_INT32, pt_slice_text("x")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_names_and_sizes_are_fixed),
        cmocka_unit_test(types_of_large_values_are_only_stored),
        cmocka_unit_test(service_names_are_found_in_any_case),
        cmocka_unit_test(sql_names_are_found),
        cmocka_unit_test(other_names_are_unknown),
        cmocka_unit_test(guids_are_read_and_written),
        cmocka_unit_test(guids_of_another_form_are_refused),
        cmocka_unit_test(a_refused_text_breaks_a_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
