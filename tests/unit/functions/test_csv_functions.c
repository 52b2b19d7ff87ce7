#include "fixtures/cmocka.h"

#include "functions/csv_functions.h"
#include "functions/json_functions.h"
#include "unit/functions/function_fixture.h"

static sqlite3 *open_with_functions(void)
{
    sqlite3 *db = fixture_open();
    fixture_register(db, "pt_csv_header", pt_function_csv_header);
    fixture_register(db, "pt_csv_line", pt_function_csv_line);
    fixture_register(db, "pt_csv_member", pt_function_csv_member);
    fixture_register(db, "pt_entity_properties", pt_function_entity_properties);
    return db;
}

static void headers_name_pairs_of_columns(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "pt_csv_header(NULL)", "(null)");
    fixture_expect(db, "pt_csv_header('{}')", "PartitionKey,RowKey,Timestamp");
    fixture_expect(db, "pt_csv_header('{\"Age\":null,\"Name\":null}')",
                   "PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type");
    fixture_expect(db, "pt_csv_header('{\"a \\\"b\\\"\":null,\"c,d\":5}')",
                   "PartitionKey,RowKey,Timestamp,\"a \"\"b\"\"\",\"a \"\"b\"\"@type\",\"c,d\","
                   "\"c,d@type\"");
    fixture_expect(db, "pt_csv_header('{\"a\":0,\"a@type\":0}')",
                   "PartitionKey,RowKey,Timestamp,a,a@type,a@type,a@type@type");
    fixture_close(db);
}

/* One property of each type: its JSON in Properties, and its two fields. */
static const struct {
    const char *property;
    const char *fields;
} forms[] = {
    {"\"v\":\"text\"", "text,Edm.String"},
    {"\"v\":\"\"", ",Edm.String"},
    {"\"v\":\"a,b\"", "\"a,b\",Edm.String"},
    {"\"v\":\"say \\\"hi\\\"\"", "\"say \"\"hi\"\"\",Edm.String"},
    {"\"v\":\"two\\nlines\"", "\"two\nlines\",Edm.String"},
    {"\"v\":\"a blank\"", "a blank,Edm.String"},
    {"\"v\":\" blank\"", "\" blank\",Edm.String"},
    {"\"v\":\"\\r\"", "\"\r\",Edm.String"},
    {"\"v\":34", "34,Edm.Int32"},
    {"\"v\":34,\"v@odata.type\":\"Edm.Int64\"", "34,Edm.Int64"},
    {"\"v\":-9223372036854775808,\"v@odata.type\":\"Edm.Int64\"", "-9223372036854775808,Edm.Int64"},
    {"\"v\":34.0", "34.0,Edm.Double"},
    {"\"v\":-0.0", "-0.0,Edm.Double"},
    {"\"v\":\"-Infinity\",\"v@odata.type\":\"Edm.Double\"", "-Infinity,Edm.Double"},
    {"\"v\":true", "true,Edm.Boolean"},
    {"\"v\":false", "false,Edm.Boolean"},
    {"\"v\":\"2026-11-21T08:43:22.5484454Z\",\"v@odata.type\":\"Edm.DateTime\"",
     "2026-11-21T08:43:22.5484454Z,Edm.DateTime"},
    {"\"v\":\"0f8fad5b-d9cb-469f-a165-70867728950e\",\"v@odata.type\":\"Edm.Guid\"",
     "0f8fad5b-d9cb-469f-a165-70867728950e,Edm.Guid"},
    {"\"v\":\"\",\"v@odata.type\":\"Edm.Binary\"", ",Edm.Binary"},
    {"\"v\":\"AP8=\",\"v@odata.type\":\"Edm.Binary\"", "AP8=,Edm.Binary"},
};

static void every_type_has_its_two_fields(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char *call = sqlite3_mprintf("pt_csv_line('{\"v\":null}', 'p', 'r', NULL, '{%q}')",
                                     forms[i].property);
        char *line = sqlite3_mprintf("p,r,,%s", forms[i].fields);
        fixture_expect(db, call, line);
        sqlite3_free(call);
        sqlite3_free(line);
    }
    fixture_close(db);
}

static void absent_properties_are_two_empty_fields(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "pt_csv_line('{\"a\":0,\"b\":0,\"c\":0}', '', '', '2026', '{\"b\":1}')",
                   ",,2026,,,1,Edm.Int32,,");
    fixture_expect(db, "pt_csv_line('{\"a\":0}', 'p,q', 'r', NULL, NULL)", "\"p,q\",r,,,");
    fixture_expect(db, "pt_csv_line('{}', 'p', 5, NULL, '{}')", "p,5,");
    fixture_close(db);
}

/* What a reader of CSV finds in the two fields becomes the same property again. */
static void members_are_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        const char *type;
        const char *property;
    } members[] = {
        {"text", "Edm.String", "\"v\":\"text\""},
        {"", "String", "\"v\":\"\""},
        {"a \"b\"\\\n", "String", "\"v\":\"a \\\"b\\\"\\\\\\u000a\""},
        {"34", "Int32", "\"v\":34"},
        {"34", "Edm.Int64", "\"v\":34,\"v@odata.type\":\"Edm.Int64\""},
        {"9223372036854775807", "Int64",
         "\"v\":9223372036854775807,\"v@odata.type\":\"Edm.Int64\""},
        {"34", "Double", "\"v\":34.0"},
        {"1e+21", "Double", "\"v\":1.0e+21"},
        {"NaN", "Edm.Double", "\"v\":\"NaN\",\"v@odata.type\":\"Edm.Double\""},
        {"true", "Boolean", "\"v\":true"},
        {"False", "Edm.Boolean", "\"v\":false"},
        {"2026-11-21T08:43:22Z", "DateTime",
         "\"v\":\"2026-11-21T08:43:22.0000000Z\",\"v@odata.type\":\"Edm.DateTime\""},
        {"0F8FAD5B-D9CB-469F-A165-70867728950E", "Guid",
         "\"v\":\"0f8fad5b-d9cb-469f-a165-70867728950e\",\"v@odata.type\":\"Edm.Guid\""},
        {"", "Binary", "\"v\":\"\",\"v@odata.type\":\"Edm.Binary\""},
        {"AP8=", "Edm.Binary", "\"v\":\"AP8=\",\"v@odata.type\":\"Edm.Binary\""},
        {"", "", ""},
    };
    sqlite3 *db = open_with_functions();
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        char *call = sqlite3_mprintf("pt_entity_properties('{\"PartitionKey\":\"\",\"RowKey\":\"\"'"
                                     " || pt_csv_member('row 2', 'v', %Q, %Q) || '}', 'row 2')",
                                     members[i].value, members[i].type);
        char *json = sqlite3_mprintf("{%s}", members[i].property);
        fixture_expect(db, call, json);
        sqlite3_free(call);
        sqlite3_free(json);
    }
    fixture_expect(db, "pt_csv_member('row 2', 'v', 'maybe', 'Boolean')",
                   ",\"v\":\"maybe\",\"v@odata.type\":\"Edm.Boolean\"");
    fixture_expect(db, "pt_csv_member('row 2', 'v', NULL, NULL)", "");
    fixture_expect(db, "pt_csv_member('row 2', 'a\"b', '34', 'Int32')",
                   ",\"a\\\"b\":\"34\",\"a\\\"b@odata.type\":\"Edm.Int32\"");
    fixture_close(db);
}

static void errors_say_where_and_why(void **state)
{
    (void)state;
    static const function_answer wrong[] = {
        {"pt_csv_member('row 7', 'Age', '34', '')",
         "pt_csv_member: row 7: column Age: '34' has the type '' in Age@type; write one of "
         "Edm.String, Edm.Int32, Edm.Int64, Edm.Double, Edm.Boolean, Edm.DateTime, Edm.Guid and "
         "Edm.Binary there (InvalidInput)"},
        {"pt_csv_member('row 7', 'Age', '', 'Edm.Number')",
         "pt_csv_member: row 7: column Age: '' has the type 'Edm.Number' in Age@type; write one of "
         "Edm.String, Edm.Int32, Edm.Int64, Edm.Double, Edm.Boolean, Edm.DateTime, Edm.Guid and "
         "Edm.Binary there (InvalidInput)"},
        {"pt_csv_header(x'7B7D')",
         "pt_csv_header: a BLOB of size 2 is not text; give TEXT or INTEGER"},
        {"pt_csv_line('{}', 'p', x'31', '', '{}')",
         "pt_csv_line: a BLOB of size 1 is not text; give TEXT or INTEGER"},
        {"pt_csv_line('{}', 1.5, 'r', '', '{}')", "pt_csv_line: 1.5 is REAL; give TEXT or INTEGER"},
        {"pt_csv_member('row 7', 'Age', 34.5, 'Int32')",
         "pt_csv_member: 34.5 is REAL; give TEXT or INTEGER"},
        {"pt_csv_header('')",
         "pt_csv_header: '' is not a JSON object with a member for each property, in "
         "ascending order; make it with json_group_object(name, NULL)"},
        {"pt_csv_header('{\"b\":0,\"a\":0}')",
         "pt_csv_header: '{\"b\":0,\"a\":0}' is not a JSON object with a member for each "
         "property, in ascending order; make it with json_group_object(name, NULL)"},
        {"pt_csv_line('[]', '', '', '', '{}')",
         "pt_csv_line: '[]' is not a JSON object with a member for each property, in "
         "ascending order; make it with json_group_object(name, NULL)"},
        {"pt_csv_line('{\"a\":0,\"a\":0}', '', '', '', '{}')",
         "pt_csv_line: '{\"a\":0,\"a\":0}' is not a JSON object with a member for each "
         "property, in ascending order; make it with json_group_object(name, NULL)"},
        {"pt_csv_line(NULL, '', '', '', '{}')",
         "pt_csv_line: NULL is not a JSON object with a member for each property, in ascending "
         "order; make it with json_group_object(name, NULL)"},
        {"pt_csv_header('{\"a\\u0000b\":0}')",
         "pt_csv_header: the property name 'a...' contains U+0000, which CSV cannot hold; leave "
         "the property out, or write JSON lines"},
        {"pt_csv_line('{\"a\":0}', 'p', 'r', '', '{\"a\":1,\"b\":2}')",
         "pt_csv_line: property b of the entity with PartitionKey 'p', RowKey 'r' is not among the "
         "columns; take them from all entities"},
        {"pt_csv_line('{\"a\":0}', 'p', 'r', '', '{\"a\":\"\\u0000\"}')",
         "pt_csv_line: property a of the entity with PartitionKey 'p', RowKey 'r' contains U+0000, "
         "which CSV cannot hold; write JSON lines"},
        {"pt_csv_line('{}', 'p' || char(0), 'r', '', '{}')",
         "pt_csv_line: a text of size 2 with U+0000 or malformed UTF-8 contains U+0000, which CSV "
         "cannot hold"},
        {"pt_csv_line('{}', 'p', 'r', '', '{')",
         "pt_csv_line: Properties: malformed JSON: {; give an object such as json_object('Age', "
         "34) (InvalidInput)"},
    };
    sqlite3 *db = open_with_functions();
    fixture_expect_all(db, wrong, sizeof wrong / sizeof wrong[0]);
    fixture_close(db);
}

static void they_may_run_out_of_memory(void **state)
{
    (void)state;
    static const function_answer calls[] = {
        {"pt_csv_header('{\"Age\":0,\"Name\":0}')",
         "PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type"},
        {"pt_csv_line('{\"a\":0,\"b\":0}', 'p', 'r', NULL, '{\"a\":\"x,y\"}')",
         "p,r,,\"x,y\",Edm.String,,"},
        {"pt_csv_line('{}', 'p', 'r', NULL, '{\"a\":1}')",
         "pt_csv_line: property a of the entity with PartitionKey 'p', RowKey 'r' is not among the "
         "columns; take them from all entities"},
        {"pt_csv_member('row 7', 'Age', '34', 'Int32')",
         ",\"Age\":\"34\",\"Age@odata.type\":\"Edm.Int32\""},
    };
    sqlite3 *db = open_with_functions();
    fixture_expect_all_without_memory(db, calls, sizeof calls / sizeof calls[0]);
    fixture_close(db);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_name_pairs_of_columns),
        cmocka_unit_test(every_type_has_its_two_fields),
        cmocka_unit_test(absent_properties_are_two_empty_fields),
        cmocka_unit_test(members_are_read_back),
        cmocka_unit_test(errors_say_where_and_why),
        cmocka_unit_test(they_may_run_out_of_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
