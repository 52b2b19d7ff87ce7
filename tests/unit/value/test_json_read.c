#include "fixtures/cmocka.h"

#include <math.h>
#include <stdio.h>

#include "base/ticks.h"
#include "faults/failing_malloc.h"
#include "fixtures/json_text.h"
#include "fixtures/random_bag.h"
#include "fixtures/value_same.h"
#include "unit/value/json_mutations.h"
#include "unit/value/json_refusals.h"
#include "value/json_read.h"
#include "value/json_write.h"

#define GUID "0f8fad5b-d9cb-469f-a165-70867728950e"
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { RANDOM_BAGS = 2000, MUTATIONS = 6000 };

static sqlite3 *db;

static int open_shared(void **state)
{
    (void)state;
    return sqlite3_open(":memory:", &db);
}

static int close_shared(void **state)
{
    (void)state;
    return sqlite3_close(db);
}

/* What the SQL `SELECT ?1` gives for a text; sqlite3_value_free frees it. */
static sqlite3_value *text_value(const void *text, size_t size)
{
    sqlite3_stmt *select = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT ?1", -1, &select, NULL), SQLITE_OK);
    sqlite3_bind_text64(select, 1, size != 0 ? text : "", size, SQLITE_STATIC, SQLITE_UTF8);
    assert_int_equal(sqlite3_step(select), SQLITE_ROW);
    sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(select, 0));
    sqlite3_finalize(select);
    assert_non_null(value);
    return value;
}

static int parse_slice(pt_slice json, pt_bag *bag, pt_error *error)
{
    sqlite3_value *value = text_value(json.data, json.size);
    int rc = pt_json_parse(value, bag, error);
    sqlite3_value_free(value); /* the bag must not depend on it */
    assert_int_equal(error->rc, rc);
    assert_int_equal(error->message != NULL, rc != SQLITE_OK && rc != SQLITE_NOMEM);
    assert_true(rc == SQLITE_OK || bag->count == 0);
    return rc;
}

static void parse_text(const char *json, pt_bag *bag)
{
    pt_error error = PT_ERROR_NONE;
    if (parse_slice(pt_slice_text(json), bag, &error) != SQLITE_OK) {
        fail_msg("%s: %s", json, error.message);
    }
}

static void render_value(const pt_value *value, char *text, size_t size)
{
    char canonical[PT_GUID_TEXT_SIZE + 1] = "";
    switch (value->type) {
    case PT_STRING:
        snprintf(text, size, "%.*s", (int)value->bytes.size, (const char *)value->bytes.data);
        return;
    case PT_BINARY:
        snprintf(text, size, "%d bytes", (int)value->bytes.size);
        return;
    case PT_DOUBLE:
        snprintf(text, size, "%a", value->real);
        return;
    case PT_DATETIME:
        pt_ticks_format(value->integer, canonical);
        break;
    case PT_GUID:
        pt_guid_format(value->guid, canonical);
        break;
    default:
        snprintf(text, size, "%lld", (long long)value->integer);
        return;
    }
    snprintf(text, size, "%s", canonical);
}

static void assert_parsed(const char *json, const char *expected)
{
    pt_bag bag = {0};
    parse_text(json, &bag);
    char text[1000] = "";
    size_t used = 0;
    for (unsigned i = 0; i < bag.count; i++) {
        char value[200];
        render_value(&bag.fields[i].value, value, sizeof value);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%.*s=%s:%s", i != 0 ? ";" : "",
                             (int)bag.fields[i].name.size, (const char *)bag.fields[i].name.data,
                             pt_type_name(bag.fields[i].value.type), value);
        assert_int_equal(bag.fields[i].name.data[bag.fields[i].name.size], 0);
    }
    assert_string_equal(text, expected);
    pt_bag_free(&bag);
}

static void json_types_become_property_types(void **state)
{
    (void)state;
    assert_parsed("{}", "");
    assert_parsed(" { } ", "");
    assert_parsed("{\"b\":\"Jun\",\"a\":34}", "a=Int32:34;b=String:Jun");
    assert_parsed("{\"a\":true,\"b\":false,\"c\":null}", "a=Boolean:1;b=Boolean:0");
    assert_parsed("{\"a\":2147483647,\"b\":2147483648,\"c\":-2147483648,\"d\":-2147483649}",
                  "a=Int32:2147483647;b=Int64:2147483648;c=Int32:-2147483648;d=Int64:-2147483649");
    assert_parsed("{\"a\":9223372036854775807,\"b\":-9223372036854775808,\"c\":-0}",
                  "a=Int64:9223372036854775807;b=Int64:-9223372036854775808;c=Int32:0");
    assert_parsed("{\"a\":5.0,\"b\":5e0,\"c\":-0.0,\"d\":0.1}",
                  "a=Double:0x1.4p+2;b=Double:0x1.4p+2;c=Double:-0x0p+0;"
                  "d=Double:0x1.999999999999ap-4");
    assert_parsed("{\"\\u00e4\":\"\\ud83d\\ude00\\n\",\"x y\":\"\",\"a@b\":1}",
                  "a@b=Int32:1;x y=String:;\xC3\xA4=String:\xF0\x9F\x98\x80\n");
}

static void annotations_give_the_type(void **state)
{
    (void)state;
    assert_parsed("{\"a\":\"5\",\"a@odata.type\":\"Edm.Int64\"}", "a=Int64:5");
    assert_parsed("{\"a@odata.type\":\"Edm.Int64\",\"a\":5}", "a=Int64:5");
    assert_parsed("{\"b\":1,\"a\":\"-9223372036854775808\",\"c\":2,"
                  "\"a@odata.type\":\"Edm.Int64\"}",
                  "a=Int64:-9223372036854775808;b=Int32:1;c=Int32:2");
    assert_parsed("{\"a\":\"x\",\"a@odata.type\":\"Edm.String\"}", "a=String:x");
    assert_parsed("{\"a\":\"7\",\"a@odata.type\":\"Edm.Int32\"}", "a=Int32:7");
    assert_parsed("{\"a\":7,\"a@odata.type\":\"Edm.Int32\"}", "a=Int32:7");
    assert_parsed("{\"a\":7,\"a@odata.type\":\"Edm.Double\"}", "a=Double:0x1.cp+2");
    assert_parsed("{\"a\":\"7.5\",\"a@odata.type\":\"Edm.Double\"}", "a=Double:0x1.ep+2");
    assert_parsed("{\"a\":\"NaN\",\"a@odata.type\":\"Edm.Double\"}", "a=Double:nan");
    assert_parsed("{\"a\":\"-Infinity\",\"a@odata.type\":\"Edm.Double\"}", "a=Double:-inf");
    assert_parsed("{\"a\":true,\"a@odata.type\":\"Edm.Boolean\"}", "a=Boolean:1");
    assert_parsed("{\"a\":\"2026-11-21\",\"a@odata.type\":\"Edm.DateTime\"}",
                  "a=DateTime:2026-11-21T00:00:00.0000000Z");
    assert_parsed("{\"a\":\"" GUID "\",\"a@odata.type\":\"Edm.Guid\"}", "a=Guid:" GUID);
    assert_parsed("{\"a\":\"\",\"a@odata.type\":\"Edm.Binary\",\"b\":\"AP8=\","
                  "\"b@odata.type\":\"Edm.Binary\"}",
                  "a=Binary:0 bytes;b=Binary:2 bytes");
    /* Two bits of 9 belong to no byte. */
    assert_parsed("{\"b\":\"AP9=\",\"b@odata.type\":\"Edm.Binary\"}", "b=Binary:2 bytes");
    assert_parsed("{\"\\u0061\":\"5\",\"a@odata\\u002etype\":\"Edm\\u002eInt64\"}", "a=Int64:5");
    assert_parsed("{\"a.b\":1,\"a\":\"5\",\"a@odata.type\":\"Edm.Int64\",\"a!\":2}",
                  "a=Int64:5;a!=Int32:2;a.b=Int32:1");
}

static void what_means_no_property_is_ignored(void **state)
{
    (void)state;
    assert_parsed("{\"a@odata.type\":\"Edm.Int64\"}", "");
    assert_parsed("{\"a\":null,\"a@odata.type\":\"Edm.Int64\",\"b\":1}", "b=Int32:1");
    assert_parsed("{\"Timestamp@odata.type\":\"Edm.DateTime\",\"b\":1}", "b=Int32:1");
    assert_parsed("{\"@odata.type\":\"Edm.Int64\"}", "");
}

static void everything_else_is_refused_with_the_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        pt_bag bag = {0};
        parse_text("{\"old\":1}", &bag);
        pt_error error = PT_ERROR_NONE;
        assert_int_equal(parse_slice(pt_slice_text(refused[i].json), &bag, &error),
                         SQLITE_MISMATCH);
        if (strstr(error.message, refused[i].message) == NULL) {
            fail_msg("%s: %s", refused[i].json, error.message);
        }
        pt_error_clear(&error);
        pt_bag_free(&bag);
    }
}

static void text_behind_a_nul_is_not_overlooked(void **state)
{
    (void)state;
    pt_bag bag = {0};
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(parse_slice(pt_slice_of("{\"a\":1}\0x", 9), &bag, &error), SQLITE_MISMATCH);
    assert_non_null(strstr(error.message, "malformed JSON"));
    pt_error_clear(&error);
    pt_bag_free(&bag);
}

static void only_text_is_json(void **state)
{
    (void)state;
    static const char *const queries[] = {"SELECT 34", "SELECT 1.5", "SELECT x'7b7d'"};
    for (size_t i = 0; i < COUNT(queries); i++) {
        sqlite3_stmt *select = NULL;
        assert_int_equal(sqlite3_prepare_v2(db, queries[i], -1, &select, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(select), SQLITE_ROW);
        sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(select, 0));
        sqlite3_finalize(select);
        pt_bag bag = {0};
        pt_error error = PT_ERROR_NONE;
        assert_int_equal(pt_json_parse(value, &bag, &error), SQLITE_MISMATCH);
        assert_string_equal(error.message, "Properties: not TEXT; give a JSON object such as "
                                           "json_object('Age', 34) (InvalidInput)");
        pt_error_clear(&error);
        sqlite3_value_free(value);
    }
}

/* --- There and back --- */

static void write_bag(const pt_bag *bag, pt_buffer *json)
{
    pt_buffer_clear(json);
    pt_json_begin(json);
    for (unsigned i = 0; i < bag->count; i++) {
        pt_json_add(json, bag->fields[i].name, &bag->fields[i].value);
    }
    pt_json_end(json);
    assert_false(json->failed);
}

static void assert_same_bags(const pt_bag *a, const pt_bag *b)
{
    assert_int_equal(a->count, b->count);
    for (unsigned i = 0; i < a->count; i++) {
        const pt_field *other = pt_bag_find(b, a->fields[i].name);
        assert_non_null(other);
        assert_true(value_same(&a->fields[i].value, &other->value));
    }
}

static void random_bags_survive(void **state)
{
    (void)state;
    pt_bag bag = {0};
    pt_bag back = {0};
    pt_buffer json = {0};
    for (int i = 0; i < RANDOM_BAGS; i++) {
        fill_randomly(&bag);
        write_bag(&bag, &json);
        pt_error error = PT_ERROR_NONE;
        assert_int_equal(parse_slice(pt_buffer_slice(&json), &back, &error), SQLITE_OK);
        assert_same_bags(&bag, &back);
    }
    pt_buffer_free(&json);
    pt_bag_free(&bag);
    pt_bag_free(&back);
}

/* SQLite's own JSON functions must find the values that were written. */
static void sqlite_reads_what_is_written(void **state)
{
    (void)state;
    pt_bag bag = {0};
    parse_text("{\"Age\":34,\"Total\":12345678901,\"Total@odata.type\":\"Edm.Int64\",\"Half\":0.5,"
               "\"Name\":\"\\\"Jun\\\"\\n\",\"On\":true}",
               &bag);
    pt_buffer json = {0};
    write_bag(&bag, &json);
    sqlite3_stmt *select = NULL;
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT json_valid(?1) AND ?1->>'Age' = 34 AND ?1->>'Total' > 300 AND "
                           "?1->>'Half' = 0.5 AND ?1->>'Name' = '\"Jun\"' || char(10) AND "
                           "?1->>'On' = 1 AND ?1->>'$.\"Total@odata.type\"' = 'Edm.Int64'",
                           -1, &select, NULL),
        SQLITE_OK);
    sqlite3_bind_text64(select, 1, (const char *)json.data, json.size, SQLITE_STATIC, SQLITE_UTF8);
    assert_int_equal(sqlite3_step(select), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(select, 0), 1);
    sqlite3_finalize(select);
    pt_buffer_free(&json);
    pt_bag_free(&bag);
}

static void wide_objects_are_read(void **state)
{
    (void)state;
    enum { WIDE = 5000 };
    pt_buffer json = {0};
    pt_json_begin(&json);
    for (int i = 0; i < WIDE; i++) {
        char name[16];
        int size = snprintf(name, sizeof name, "p%d", (i * 7919) % WIDE);
        pt_value value = {.type = PT_INT64, .integer = i};
        pt_json_add(&json, pt_slice_of(name, (size_t)size), &value);
    }
    pt_json_end(&json);
    pt_bag bag = {0};
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(parse_slice(pt_buffer_slice(&json), &bag, &error), SQLITE_OK);
    assert_int_equal(bag.count, WIDE);
    assert_int_equal(pt_bag_find(&bag, pt_slice_text("p0"))->value.integer, 0);
    assert_int_equal(pt_bag_find(&bag, pt_slice_text("p2919"))->value.integer, 1);
    pt_bag_free(&bag);
    pt_buffer_free(&json);
}

/* --- Damage --- */

static bool is_valid_json(pt_slice json)
{
    sqlite3_stmt *select = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &select, NULL), SQLITE_OK);
    sqlite3_bind_text64(select, 1, (const char *)json.data, json.size, SQLITE_STATIC, SQLITE_UTF8);
    assert_int_equal(sqlite3_step(select), SQLITE_ROW);
    bool valid = sqlite3_column_int(select, 0) != 0;
    sqlite3_finalize(select);
    return valid;
}

static void damaged_texts_are_read_or_refused(void **state)
{
    (void)state;
    pt_bag bag = {0};
    pt_bag back = {0};
    pt_buffer rewritten = {0};
    int accepted = 0;
    for (int i = 0; i < MUTATIONS; i++) {
        char json[300];
        size_t size = strlen(seeds[(size_t)i % COUNT(seeds)]);
        memcpy(json, seeds[(size_t)i % COUNT(seeds)], size);
        pt_slice text = pt_slice_of(json, mutated(json, size, sizeof json));
        pt_error error = PT_ERROR_NONE;
        int rc = parse_slice(text, &bag, &error);
        bool malformed = rc != SQLITE_OK && strstr(error.message, "malformed JSON") != NULL;
        assert_true(rc == SQLITE_OK || rc == SQLITE_MISMATCH);
        bool valid = is_json_text(text);
        assert_true(!valid || is_valid_json(text));
        assert_false(valid ? malformed : rc == SQLITE_OK);
        pt_error_clear(&error);
        if (rc == SQLITE_OK) {
            accepted++;
            write_bag(&bag, &rewritten);
            assert_int_equal(parse_slice(pt_buffer_slice(&rewritten), &back, &error), SQLITE_OK);
            assert_same_bags(&bag, &back);
        }
    }
    assert_true(accepted > MUTATIONS / 20);
    pt_buffer_free(&rewritten);
    pt_bag_free(&bag);
    pt_bag_free(&back);
}

/* --- Out of memory --- */

static int parse_armed(const char *json, sqlite3_value *value, pt_bag *bag, pt_error *error, int n,
                       bool *hit)
{
    failing_malloc_arm(n, false);
    int rc = pt_json_parse(value, bag, error);
    *hit = failing_malloc_disarm();
    if (*hit && rc == SQLITE_NOMEM) {
        pt_error again = PT_ERROR_NONE;
        int second = pt_json_parse(value, bag, &again);
        assert_int_equal(second == SQLITE_OK, strstr(json, "bad") == NULL);
        pt_error_clear(&again);
    }
    return rc;
}

static void out_of_memory_while_reading_leaves_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"Name\":\"Jun\",\"b\":\"Zm9v\",\"b@odata.type\":\"Edm.Binary\",\"Age\":34,\"x\":1.5}",
        "{\"bad\":}",
        "{\"bad\":[]}",
        "{\"bad\":1,\"bad@odata.type\":\"Edm.Guid\"}",
        "[\"bad\"]",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        bool hit = true;
        for (int n = 0; hit; n++) {
            sqlite3_value *value = text_value(texts[i], strlen(texts[i]));
            pt_bag bag = {0};
            pt_error error = PT_ERROR_NONE;
            int rc = parse_armed(texts[i], value, &bag, &error, n, &hit);
            assert_int_equal(error.rc, rc);
            assert_true(rc != SQLITE_NOMEM || error.message == NULL);
            assert_true(hit || (rc == SQLITE_OK) == (strstr(texts[i], "bad") == NULL));
            assert_true(rc == SQLITE_OK || rc == SQLITE_NOMEM || rc == SQLITE_MISMATCH);
            pt_error_clear(&error);
            pt_bag_free(&bag);
            sqlite3_value_free(value);
        }
    }
}

static void utf16_databases_do_the_same(void **state)
{
    (void)state;
    sqlite3 *narrow = db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA encoding='UTF-16le'; CREATE TABLE t(x)", NULL, NULL, NULL),
        SQLITE_OK);
    out_of_memory_while_reading_leaves_nothing(state);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    db = narrow;
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_types_become_property_types),
        cmocka_unit_test(annotations_give_the_type),
        cmocka_unit_test(what_means_no_property_is_ignored),
        cmocka_unit_test(everything_else_is_refused_with_the_reason),
        cmocka_unit_test(text_behind_a_nul_is_not_overlooked),
        cmocka_unit_test(only_text_is_json),
        cmocka_unit_test(random_bags_survive),
        cmocka_unit_test(sqlite_reads_what_is_written),
        cmocka_unit_test(wide_objects_are_read),
        cmocka_unit_test(damaged_texts_are_read_or_refused),
        cmocka_unit_test(out_of_memory_while_reading_leaves_nothing),
        cmocka_unit_test(utf16_databases_do_the_same),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
