#include "fixtures/cmocka.h"

#include "functions/json_functions.h"
#include "unit/functions/function_fixture.h"

static sqlite3 *open_with_functions(void)
{
    sqlite3 *db = fixture_open();
    fixture_register(db, "pt_entity_json", pt_function_entity_json);
    fixture_register(db, "pt_entity_properties", pt_function_entity_properties);
    return db;
}

/* One property of each type, as Properties and as the service gives them (in minimal metadata). */
static const struct {
    const char *properties;
    const char *service;
} forms[] = {
    {"\"s\":\"text\"", "\"s\":\"text\""},
    {"\"s\":\"\"", "\"s\":\"\""},
    {"\"s\":\"a\\u0000b\\u000a\\\"\"", "\"s\":\"a\\u0000b\\u000a\\\"\""},
    {"\"i\":-2147483648", "\"i\":-2147483648"},
    {"\"l\":1,\"l@odata.type\":\"Edm.Int64\"", "\"l\":\"1\",\"l@odata.type\":\"Edm.Int64\""},
    {"\"l\":9223372036854775807,\"l@odata.type\":\"Edm.Int64\"",
     "\"l\":\"9223372036854775807\",\"l@odata.type\":\"Edm.Int64\""},
    {"\"l\":-9223372036854775808,\"l@odata.type\":\"Edm.Int64\"",
     "\"l\":\"-9223372036854775808\",\"l@odata.type\":\"Edm.Int64\""},
    {"\"d\":5.0", "\"d\":5.0"},
    {"\"d\":-0.0", "\"d\":-0.0"},
    {"\"d\":0.30000000000000004", "\"d\":0.30000000000000004"},
    {"\"d\":\"NaN\",\"d@odata.type\":\"Edm.Double\"",
     "\"d\":\"NaN\",\"d@odata.type\":\"Edm.Double\""},
    {"\"b\":true", "\"b\":true"},
    {"\"t\":\"2026-11-21T08:43:22.5484454Z\",\"t@odata.type\":\"Edm.DateTime\"",
     "\"t\":\"2026-11-21T08:43:22.5484454Z\",\"t@odata.type\":\"Edm.DateTime\""},
    {"\"g\":\"0f8fad5b-d9cb-469f-a165-70867728950e\",\"g@odata.type\":\"Edm.Guid\"",
     "\"g\":\"0f8fad5b-d9cb-469f-a165-70867728950e\",\"g@odata.type\":\"Edm.Guid\""},
    {"\"x\":\"\",\"x@odata.type\":\"Edm.Binary\"", "\"x\":\"\",\"x@odata.type\":\"Edm.Binary\""},
    {"\"x\":\"AP8=\",\"x@odata.type\":\"Edm.Binary\"",
     "\"x\":\"AP8=\",\"x@odata.type\":\"Edm.Binary\""},
    {"\"\\\"quoted\\\"\":1", "\"\\\"quoted\\\"\":1"},
};

static void every_type_has_the_services_form(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char *call =
            sqlite3_mprintf("pt_entity_json('p', 'r', '2026', '{%q}')", forms[i].properties);
        char *json = sqlite3_mprintf("{\"PartitionKey\":\"p\",\"RowKey\":\"r\","
                                     "\"Timestamp\":\"2026\",%s}",
                                     forms[i].service);
        fixture_expect(db, call, json);
        sqlite3_free(call);
        call = sqlite3_mprintf("pt_entity_properties(%Q, 'line 1')", json);
        sqlite3_free(json);
        json = sqlite3_mprintf("{%s}", forms[i].properties);
        fixture_expect(db, call, json);
        sqlite3_free(call);
        sqlite3_free(json);
    }
    fixture_close(db);
}

static void entities_may_be_bare(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "pt_entity_json('', '', NULL, NULL)",
                   "{\"PartitionKey\":\"\",\"RowKey\":\"\"}");
    fixture_expect(db, "pt_entity_json('p', 5, NULL, '')",
                   "{\"PartitionKey\":\"p\",\"RowKey\":\"5\"}");
    fixture_expect(db, "pt_entity_json(NULL, NULL, NULL, '{\"a\":1}')", "{\"a\":1}");
    fixture_expect(db, "pt_entity_properties('{\"PartitionKey\":\"\",\"RowKey\":\"\"}', '')", "{}");
    fixture_expect(db, "pt_entity_properties(NULL, 'line 7')", "(null)");
    fixture_expect(db, "pt_entity_properties('{}', NULL)", "(null)");
    fixture_close(db);
}

/* The row on the wire that the service's protocol shows. */
static void what_is_no_property_is_ignored(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(
        db,
        "pt_entity_properties('{\"odata.etag\":\"W/\\\"datetime''2026''\\\"\",\"PartitionKey\":"
        "\"p\",\"RowKey\":\"r\",\"d\":5.5,\"l@odata.type\":\"Edm.Int64\",\"l\":\"7\","
        "\"n@odata.type\":\"Edm.Double\",\"n\":\"NaN\",\"Timestamp@odata.type\":\"Edm.DateTime\","
        "\"Timestamp\":\"2026-11-21T09:35:44.9238194Z\",\"none\":null}', 'line 1')",
        "{\"d\":5.5,\"l\":7,\"l@odata.type\":\"Edm.Int64\",\"n\":\"NaN\","
        "\"n@odata.type\":\"Edm.Double\"}");
    fixture_close(db);
}

static void errors_say_where_and_why(void **state)
{
    (void)state;
    static const function_answer wrong[] = {
        {"pt_entity_properties('{\"PartitionKey\":\"p\"}', 'line 7')",
         "pt_entity_properties: line 7: property RowKey is missing; write a string, which may be "
         "empty (PropertiesNeedValue)"},
        {"pt_entity_properties('{}', 'line 7')",
         "pt_entity_properties: line 7: property PartitionKey is missing; write a string, which "
         "may be empty (PropertiesNeedValue)"},
        {"pt_entity_properties('{\"PartitionKey\":7,\"RowKey\":\"\"}', 'line 7')",
         "pt_entity_properties: line 7: property PartitionKey is not a key; write a string of "
         "UTF-8 "
         "without U+0000 (OutOfRangeInput)"},
        {"pt_entity_properties('{\"PartitionKey\":null,\"RowKey\":\"\"}', 'line 7')",
         "pt_entity_properties: line 7: property PartitionKey is not a key; write a string of "
         "UTF-8 "
         "without U+0000 (OutOfRangeInput)"},
        {"pt_entity_properties('{\"PartitionKey\":\"\",\"RowKey\":\"a\\u0000b\"}', 'line 7')",
         "pt_entity_properties: line 7: property RowKey is not a key; write a string of UTF-8 "
         "without U+0000 (OutOfRangeInput)"},
        {"pt_entity_properties('{\"RowKey\":\"a\",\"RowKey\":\"b\"}', 'line 7')",
         "pt_entity_properties: line 7: property RowKey is given twice; leave one out "
         "(DuplicatePropertiesSpecified)"},
        {"pt_entity_properties('{\"Age\":\"x\",\"Age@odata.type\":\"Edm.Int32\"}', 'line 7')",
         "pt_entity_properties: line 7: property Age: \"x\" is not an Int32; write an integer from "
         "-2147483648 to 2147483647, without point and exponent (InvalidValueType)"},
        {"pt_entity_properties('{', 'line 7')",
         "pt_entity_properties: line 7: malformed JSON: {; give an object such as "
         "json_object('Age', 34) (InvalidInput)"},
        {"pt_entity_properties(x'7B7D', 'line 7')",
         "pt_entity_properties: line 7: not TEXT; give a JSON object such as json_object('Age', "
         "34) (InvalidInput)"},
        {"pt_entity_json('p', 'r', NULL, '{\"Timestamp\":1}')",
         "pt_entity_json: Properties: property Timestamp is a system property; leave it out of "
         "the "
         "JSON (PropertyNameInvalid)"},
        {"pt_entity_json(x'31', 'r', NULL, '{}')",
         "pt_entity_json: a BLOB of size 1 is not text; give TEXT or INTEGER"},
        {"pt_entity_json('p', 'r', 2026.5, '{}')",
         "pt_entity_json: 2026.5 is REAL; give TEXT or INTEGER"},
        {"pt_entity_properties('{}', x'37')",
         "pt_entity_properties: a BLOB of size 1 is not text; give TEXT or INTEGER"},
        {"pt_entity_json('p', x'31', NULL, '{}')",
         "pt_entity_json: a BLOB of size 1 is not text; give TEXT or INTEGER"},
        {"pt_entity_json('p', 'r', NULL, 5)",
         "pt_entity_json: Properties: not TEXT; give a JSON object such as json_object('Age', 34) "
         "(InvalidInput)"},
    };
    sqlite3 *db = open_with_functions();
    fixture_expect_all(db, wrong, sizeof wrong / sizeof wrong[0]);
    fixture_close(db);
}

static void they_may_run_out_of_memory(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    for (int persistent = 0; persistent < 2; persistent++) {
        fixture_expect_without_memory(
            db, "pt_entity_json('p', 'r', '2026', '{\"l\":5,\"l@odata.type\":\"Edm.Int64\"}')",
            "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"2026\",\"l\":\"5\","
            "\"l@odata.type\":\"Edm.Int64\"}",
            persistent != 0);
        fixture_expect_without_memory(
            db, "pt_entity_properties('{\"PartitionKey\":\"\",\"RowKey\":\"\",\"a\":1}', 'line 7')",
            "{\"a\":1}", persistent != 0);
        fixture_expect_without_memory(
            db, "pt_entity_properties('{\"PartitionKey\":\"\"}', 'line 7')",
            "pt_entity_properties: line 7: property RowKey is missing; write a string, which may "
            "be empty (PropertiesNeedValue)",
            persistent != 0);
    }
    fixture_close(db);
}

static void wide_databases_give_the_same(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_make_wide(db, "{\"PartitionKey\":\"Zürich\",\"RowKey\":\"\",\"é\":\"日本\"}");
    fixture_expect(db, "pt_entity_properties(x, 'é') FROM t", "{\"é\":\"日本\"}");
    fixture_expect(db, "pt_entity_json('Zürich', '', NULL, '{\"é\":\"日本\"}') FROM t",
                   "{\"PartitionKey\":\"Zürich\",\"RowKey\":\"\",\"é\":\"日本\"}");
    fixture_close(db);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_the_services_form),
        cmocka_unit_test(entities_may_be_bare),
        cmocka_unit_test(what_is_no_property_is_ignored),
        cmocka_unit_test(errors_say_where_and_why),
        cmocka_unit_test(they_may_run_out_of_memory),
        cmocka_unit_test(wide_databases_give_the_same),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
