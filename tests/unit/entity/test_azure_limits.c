#include "faults/failing_malloc.h"
#include "fixtures/store_fixture.h"

#include "base/ticks.h"
#include "entity/azure_limits.h"

enum { TEXT_MAX = 140000 };

/* `count` times a piece of text. */
static pt_slice repeated(const char *piece, size_t count)
{
    static char text[TEXT_MAX];
    size_t size = strlen(piece);
    assert_true(size * count <= sizeof text);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + i * size, piece, size);
    }
    return pt_slice_of(text, size * count);
}

static pt_field string_field(const char *name, pt_slice text)
{
    return (pt_field){.name = pt_slice_text(name), .value = {.type = PT_STRING, .bytes = text}};
}

static pt_field binary_field(const char *name, pt_slice bytes)
{
    return (pt_field){.name = pt_slice_text(name), .value = {.type = PT_BINARY, .bytes = bytes}};
}

static pt_field integer_field(const char *name, pt_type type, int64_t integer)
{
    return (pt_field){.name = pt_slice_text(name), .value = {.type = type, .integer = integer}};
}

static void accept_property(const pt_field *property)
{
    uint64_t bytes = 0;
    assert_ok(pt_limits_check_property(property, &bytes, PT_LIMITS_OF_OPTION, &error));
}

static uint64_t bytes_of(const pt_field *property)
{
    uint64_t bytes = 0;
    assert_ok(pt_limits_check_property(property, &bytes, PT_LIMITS_OF_OPTION, &error));
    return bytes;
}

#define refuse_property(property, code, part)                                                      \
    do {                                                                                           \
        uint64_t bytes = 0;                                                                        \
        assert_fails(pt_limits_check_property(property, &bytes, PT_LIMITS_OF_OPTION, &error),      \
                     code, part);                                                                  \
    } while (0)

/* --- UTF-16 --- */

static void texts_are_counted_in_utf16_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned units;
    } texts[] = {
        {"", 0},
        {"abc", 3},
        {"\u00e9", 1},        /* e with an accent */
        {"e\u0301", 2},       /* the same, composed */
        {"\u65e5\u672c", 2},  /* ideographs */
        {"\uffff", 1},        /* the last character of one unit */
        {"\U00010000", 2},    /* the first character of two */
        {"\U0001f600x", 3},   /* an emoji and a letter */
        {"\U0010ffff", 2},    /* the last character of all */
        {"\xff", 1},          /* not UTF-8 */
        {"a\xf0\x9f\x98", 4}, /* cut off: a unit a byte */
        {"\xed\xa0\x80", 3},  /* a surrogate is not UTF-8 */
        {"\xc0\xafz", 3},     /* nor is an overlong form */
        {"\xe6\x97z\xe6\x97\xa5", 4},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(pt_utf16_length(pt_slice_text(texts[i].text)), texts[i].units);
    }
    assert_int_equal(pt_utf16_length(pt_slice_of("a\0b", 3)), 3);
    assert_int_equal(pt_utf16_length((pt_slice){0}), 0);
}

/* Every character by itself, encoded here: two units from U+10000 on, one before. */
static void every_character_has_one_or_two_units(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        uint8_t bytes[4];
        size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (c >= 0xD800 && c < 0xE000) {
            continue;
        }
        for (size_t i = size, rest = c; i-- > 1; rest >>= 6) {
            bytes[i] = (uint8_t)(0x80 | (rest & 0x3F));
        }
        static const uint8_t leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
        bytes[0] = (uint8_t)(leads[size] | c >> 6 * (size - 1));
        assert_int_equal(pt_utf16_length(pt_slice_of(bytes, size)), c < 0x10000 ? 1 : 2);
    }
}

/* --- Table names --- */

static void table_names(void **state)
{
    (void)state;
    static const char *const good[] = {"abc", "Employee", "Logins20261101", "a1b", "TablesX"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_ok(pt_limits_check_table_name(good[i], &error));
    }
    char name[66] = "";
    memset(name, 'k', 63);
    assert_ok(pt_limits_check_table_name(name, &error));
    name[63] = 'k';
    assert_fails(pt_limits_check_table_name(name, &error), SQLITE_CONSTRAINT_VTAB,
                 "(OutOfRangeInput)");

    static const struct {
        const char *name;
        const char *part;
    } bad[] = {
        {"", "(OutOfRangeInput)"},
        {"ab", "'ab', does not have 3 to 63 characters"},
        {"1ab", "'1ab', does not begin with a letter"},
        {"order-lines", "'order-lines', has characters other than letters and digits"},
        {"order_lines", "(InvalidResourceName)"},
        {"a b", "(InvalidResourceName)"},
        {"na\u00efve", "(InvalidResourceName)"},
        {"$MetricsX", "(InvalidResourceName)"},
        {"tables", "'tables', is reserved"},
        {"Tables", "(InvalidResourceName)"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_fails(pt_limits_check_table_name(bad[i].name, &error), SQLITE_CONSTRAINT_VTAB,
                     bad[i].part);
    }
}

/* --- Keys --- */

static int check_either_key(pt_slice key, pt_error *error)
{
    pt_error second = PT_ERROR_NONE;
    int rc = pt_limits_check_keys(key, pt_slice_text("r"), PT_LIMITS_OF_OPTION, error);
    int other = pt_limits_check_keys(pt_slice_text("p"), key, PT_LIMITS_OF_OPTION, &second);
    assert_int_equal(rc, other);
    if (rc != SQLITE_OK) {
        assert_non_null(strstr(error->message, "PartitionKey"));
        assert_non_null(strstr(second.message, "RowKey"));
    }
    pt_error_clear(&second);
    return rc;
}

static void keys_have_512_units(void **state)
{
    (void)state;
    static const struct {
        const char *piece;
        unsigned fitting;
    } vectors[] = {{"k", 512}, {"\u00e9", 512}, {"\u65e5", 512}, {"\U0001f600", 256}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        assert_ok(check_either_key(repeated(vectors[i].piece, vectors[i].fitting), &error));
        assert_fails(check_either_key(repeated(vectors[i].piece, vectors[i].fitting + 1), &error),
                     SQLITE_CONSTRAINT_VTAB, "(PropertyValueTooLarge)");
    }
    assert_ok(check_either_key((pt_slice){0}, &error));
    assert_fails(check_either_key(repeated("k", 513), &error), SQLITE_CONSTRAINT_VTAB,
                 "kkk...' has 513 UTF-16 units; limits='azure' allows 512");
    assert_fails(check_either_key(repeated("\U0001f600", 257), &error), SQLITE_CONSTRAINT_VTAB,
                 "has 514 UTF-16 units");
}

static bool is_forbidden(unsigned c)
{
    return c <= 0x1F || (c >= 0x7F && c <= 0x9F) || (c < 0x80 && strchr("/\\#?", (int)c) != NULL);
}

/* U+0000 never comes here: no key may contain it, whatever the option says. */
static void keys_have_no_control_characters(void **state)
{
    (void)state;
    for (unsigned c = 1; c <= 0x2FF; c++) {
        char text[] = {'a', (char)c, 'z', 0, 0};
        if (c >= 0x80) {
            text[1] = (char)(0xC0 | c >> 6);
            text[2] = (char)(0x80 | (c & 0x3F));
            text[3] = 'z';
        }
        if (is_forbidden(c)) {
            char code[16];
            snprintf(code, sizeof code, "U+%04X", c);
            assert_fails(check_either_key(pt_slice_text(text), &error), SQLITE_CONSTRAINT_VTAB,
                         code);
        } else {
            assert_ok(check_either_key(pt_slice_text(text), &error));
        }
    }
    assert_fails(check_either_key(pt_slice_text("2026/11"), &error), SQLITE_CONSTRAINT_VTAB,
                 "'2026/11' contains U+002F");
    assert_fails(check_either_key(pt_slice_text("a?"), &error), SQLITE_CONSTRAINT_VTAB,
                 "(OutOfRangeInput)");
    assert_ok(check_either_key(pt_slice_text(" %+&'\",()=~ \u00a0\u00adX"), &error));
}

/* What is removed may have keys of any length. */
static void characters_are_checked_without_length(void **state)
{
    (void)state;
    char long_key[2000];
    memset(long_key, 'a', sizeof long_key);
    const pt_slice whole = pt_slice_of(long_key, sizeof long_key);
    assert_ok(pt_limits_check_key_characters(whole, whole, PT_LIMITS_OF_OPTION, &error));
    assert_fails(
        pt_limits_check_key_characters(pt_slice_text("a/"), whole, PT_LIMITS_OF_OPTION, &error),
        SQLITE_CONSTRAINT_VTAB, "PartitionKey 'a/' contains U+002F");
    assert_fails(
        pt_limits_check_key_characters(whole, pt_slice_text("#b"), PT_LIMITS_OF_OPTION, &error),
        SQLITE_CONSTRAINT_VTAB, "RowKey '#b' contains U+0023");
}

/* --- Names of properties --- */

static int check_named(pt_slice name, pt_error *error)
{
    uint64_t bytes = 0;
    pt_field field = {.name = name, .value = {.type = PT_INT32, .integer = 1}};
    return pt_limits_check_property(&field, &bytes, PT_LIMITS_OF_OPTION, error);
}

static void names_are_identifiers(void **state)
{
    (void)state;
    static const char *const good[] = {"a",
                                       "_",
                                       "__x",
                                       "Age2",
                                       "EntityType",
                                       "\u00dcbung",
                                       "\u540d\u524d",
                                       "\u00b5m",
                                       "na\u00efve",
                                       "\u0391\u03a9",
                                       "a\u0660",
                                       "\uff21\uff3a",
                                       "\u3042\u30f3",
                                       "\uac00"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_ok(check_named(pt_slice_text(good[i]), &error));
    }
    static const char *const bad[] = {
        "",         "2nd",    "Manager Rating", "a-b",         "a.b",     "a@b",      "a\"b",
        "a\u00a0b", "\u00d7", "a\u20ac",        "a\u2028",     "a\u2192", "a\u3001",  "a\ue000",
        "a\ufffd",  "a\xff",  "\U0001f600",     "a\U00020000", "a\x7f",   "a\xc2\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_fails(check_named(pt_slice_text(bad[i]), &error), SQLITE_CONSTRAINT_VTAB,
                     "(PropertyNameInvalid)");
    }
    assert_fails(check_named(pt_slice_of("a\0b", 3), &error), SQLITE_CONSTRAINT_VTAB,
                 "(PropertyNameInvalid)");
    assert_fails(check_named(pt_slice_text("Manager Rating"), &error), SQLITE_CONSTRAINT_VTAB,
                 "property 'Manager Rating' has a name that limits='azure' does not allow");
}

static void names_have_255_characters(void **state)
{
    (void)state;
    assert_ok(check_named(repeated("n", 255), &error));
    assert_ok(check_named(repeated("\u00e9", 255), &error));
    assert_fails(check_named(repeated("n", 256), &error), SQLITE_CONSTRAINT_VTAB,
                 "nnn...' has 256 characters; limits='azure' allows 255, shorten it "
                 "(PropertyNameTooLong)");
    assert_fails(check_named(repeated("\u00e9", 256), &error), SQLITE_CONSTRAINT_VTAB,
                 "(PropertyNameTooLong)");
}

/* --- Values --- */

static void strings_have_32768_units(void **state)
{
    (void)state;
    static const struct {
        const char *piece;
        unsigned fitting;
    } vectors[] = {{"x", 32768}, {"\u00e9", 32768}, {"\u65e5", 32768}, {"\U0001f600", 16384}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        pt_field field = string_field("s", repeated(vectors[i].piece, vectors[i].fitting));
        accept_property(&field);
        field = string_field("s", repeated(vectors[i].piece, vectors[i].fitting + 1));
        refuse_property(&field, SQLITE_CONSTRAINT_VTAB, "(PropertyValueTooLarge)");
    }
    pt_field field = string_field("s", repeated("\u00e9", 30000));
    accept_property(&field);
    field = string_field("Notes", repeated("x", 32769));
    refuse_property(&field, SQLITE_CONSTRAINT_VTAB,
                    "property 'Notes' has 32769 UTF-16 units; limits='azure' allows 32768");
    field = string_field("s", pt_slice_of("\0\x1f", 2));
    accept_property(&field);
    field = string_field("s", (pt_slice){0});
    accept_property(&field);
}

static void binaries_have_65536_bytes(void **state)
{
    (void)state;
    pt_field field = binary_field("Photo", repeated("\xff", 65536));
    accept_property(&field);
    field = binary_field("Photo", repeated("\xff", 65537));
    refuse_property(&field, SQLITE_CONSTRAINT_VTAB,
                    "property 'Photo' has 65537 bytes; limits='azure' allows 65536");
    field = binary_field("Photo", (pt_slice){0});
    accept_property(&field);
}

static void times_begin_in_1601(void **state)
{
    (void)state;
    int64_t first = 0;
    int64_t before = 0;
    assert_true(pt_ticks_parse(pt_slice_text("1601-01-01T00:00:00Z"), &first));
    assert_true(pt_ticks_parse(pt_slice_text("1600-12-31T23:59:59.9999999Z"), &before));
    assert_true(first == before + 1);
    pt_field field = integer_field("Due", PT_DATETIME, first);
    accept_property(&field);
    field.value.integer = PT_TICKS_MAX;
    accept_property(&field);
    field.value.integer = before;
    refuse_property(&field, SQLITE_CONSTRAINT_VTAB,
                    "property 'Due' is 1600-12-31T23:59:59.9999999Z; limits='azure' allows no "
                    "DateTime before 1601-01-01");
    field.value.integer = 0;
    refuse_property(&field, SQLITE_CONSTRAINT_VTAB, "(OutOfRangeInput)");
    field = integer_field("Due", PT_INT64, before);
    accept_property(&field);
}

/* --- Entities --- */

static void sizes_are_by_the_formula(void **state)
{
    (void)state;
    enum { NAME = 8 + 2 * 2 }; /* of the name "ab" */
    pt_field field = integer_field("ab", PT_INT32, 1);
    assert_int_equal(bytes_of(&field), NAME + 4);
    field.value.type = PT_INT64;
    assert_int_equal(bytes_of(&field), NAME + 8);
    field.value.type = PT_BOOLEAN;
    assert_int_equal(bytes_of(&field), NAME + 1);
    field.value = (pt_value){.type = PT_DOUBLE, .real = 0.5};
    assert_int_equal(bytes_of(&field), NAME + 8);
    field.value = (pt_value){.type = PT_DATETIME, .integer = PT_TICKS_MAX};
    assert_int_equal(bytes_of(&field), NAME + 8);
    field.value = (pt_value){.type = PT_GUID};
    assert_int_equal(bytes_of(&field), NAME + 16);
    field = string_field("ab", pt_slice_text("\u00e9\U0001f600"));
    assert_int_equal(bytes_of(&field), NAME + 4 + 2 * 3);
    field = binary_field("ab", pt_slice_text("12345"));
    assert_int_equal(bytes_of(&field), NAME + 4 + 5);
    field = integer_field("\u00e9", PT_INT32, 1);
    assert_int_equal(bytes_of(&field), 8 + 2 * 1 + 4);

    uint64_t sum = 100;
    assert_ok(pt_limits_check_property(&field, &sum, PT_LIMITS_OF_OPTION, &error));
    assert_int_equal(sum, 114);
}

static void entities_have_252_properties(void **state)
{
    (void)state;
    pt_slice key = pt_slice_text("k");
    assert_ok(pt_limits_check_entity_size(key, key, 252, 0, PT_LIMITS_OF_OPTION, &error));
    assert_fails(pt_limits_check_entity_size(key, key, 253, 0, PT_LIMITS_OF_OPTION, &error),
                 SQLITE_CONSTRAINT_VTAB,
                 "the entity has 253 properties; limits='azure' allows 252");
    assert_fails(pt_limits_check_entity_size(key, key, 65535, 0, PT_LIMITS_OF_OPTION, &error),
                 SQLITE_CONSTRAINT_VTAB, "(TooManyProperties)");
    assert_ok(pt_limits_check_entity_size((pt_slice){0}, (pt_slice){0}, 0, 0, PT_LIMITS_OF_OPTION,
                                          &error));
}

/*
 * 15 Binaries of 64 KiB, then one that fills the entity to exactly 1 MiB: 4 + 2 * (2 + 1) for the
 * keys, and 8 + 2 + 4 besides the bytes of each.
 */
static void entities_have_1_mib(void **state)
{
    (void)state;
    enum { KEYS = 4 + 2 * (2 + 1), EACH = 8 + 2 + 4, FULL = 65536 };
    size_t last = (1 << 20) - KEYS - 16 * EACH - 15 * FULL;
    pt_slice partition = pt_slice_text("\U0001f600");
    pt_slice row = pt_slice_text("r");
    for (size_t more = 0; more <= 1; more++) {
        uint64_t bytes = 0;
        for (int i = 0; i < 16; i++) {
            char name[] = {(char)('a' + i), 0};
            pt_field field = binary_field(name, repeated("b", i < 15 ? FULL : last + more));
            assert_ok(pt_limits_check_property(&field, &bytes, PT_LIMITS_OF_OPTION, &error));
        }
        if (more == 0) {
            assert_ok(pt_limits_check_entity_size(partition, row, 16, bytes, PT_LIMITS_OF_OPTION,
                                                  &error));
        } else {
            assert_fails(
                pt_limits_check_entity_size(partition, row, 16, bytes, PT_LIMITS_OF_OPTION, &error),
                SQLITE_CONSTRAINT_VTAB,
                "the entity has 1048577 bytes as the Table service counts; "
                "limits='azure' allows 1048576");
        }
    }
}

/* --- Memory --- */

/* Checks that accept allocate nothing; refusals need memory for their texts. */
static void refusals_may_run_out_of_memory(void **state)
{
    (void)state;
    pt_slice key = pt_slice_text("k");
    pt_error error = PT_ERROR_NONE;
    failing_malloc_arm(0, true);
    assert_int_equal(pt_limits_check_keys(key, key, PT_LIMITS_OF_OPTION, &error), SQLITE_OK);
    assert_int_equal(pt_limits_check_entity_size(key, key, 1, 1, PT_LIMITS_OF_OPTION, &error),
                     SQLITE_OK);
    assert_false(failing_malloc_hit);
    uint64_t bytes = 0;
    pt_field field = integer_field("Due", PT_DATETIME, 0);
    assert_int_equal(pt_limits_check_property(&field, &bytes, PT_LIMITS_OF_OPTION, &error),
                     SQLITE_NOMEM);
    field.name = pt_slice_text("a-b");
    assert_int_equal(pt_limits_check_property(&field, &bytes, PT_LIMITS_OF_OPTION, &error),
                     SQLITE_NOMEM);
    assert_int_equal(pt_limits_check_keys(pt_slice_text("/"), key, PT_LIMITS_OF_OPTION, &error),
                     SQLITE_NOMEM);
    assert_int_equal(pt_limits_check_entity_size(key, key, 253, 1, PT_LIMITS_OF_OPTION, &error),
                     SQLITE_NOMEM);
    assert_int_equal(pt_limits_check_table_name("a", &error), SQLITE_NOMEM);
    assert_null(error.message);
    assert_true(failing_malloc_disarm());
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_counted_in_utf16_units),
        cmocka_unit_test(every_character_has_one_or_two_units),
        cmocka_unit_test(table_names),
        cmocka_unit_test(keys_have_512_units),
        cmocka_unit_test(keys_have_no_control_characters),
        cmocka_unit_test(characters_are_checked_without_length),
        cmocka_unit_test(names_are_identifiers),
        cmocka_unit_test(names_have_255_characters),
        cmocka_unit_test(strings_have_32768_units),
        cmocka_unit_test(binaries_have_65536_bytes),
        cmocka_unit_test(times_begin_in_1601),
        cmocka_unit_test(sizes_are_by_the_formula),
        cmocka_unit_test(entities_have_252_properties),
        cmocka_unit_test(entities_have_1_mib),
        cmocka_unit_test(refusals_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
