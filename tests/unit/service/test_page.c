#include "fixtures/cmocka.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "faults/failing_malloc.h"
#include "service/page.h"

static pt_page page;

static int add(const char *json, pt_page_kind kind, pt_error *error)
{
    pt_buffer body = {0};
    pt_buffer_append_text(&body, json);
    assert_false(body.failed);
    int rc = pt_page_add(&page, &body, kind, error);
    pt_buffer_free(&body);
    return rc;
}

static void accept_page(const char *json, pt_page_kind kind)
{
    pt_error error = PT_ERROR_NONE;
    if (add(json, kind, &error) != SQLITE_OK) {
        fail_msg("%s: %s", json, error.message);
    }
}

static void refuse_text(const char *json, pt_page_kind kind, const char *problem)
{
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(add(json, kind, &error), SQLITE_IOERR);
    char *expected = sqlite3_mprintf("the service's reply cannot be read: %s; check that the "
                                     "endpoint is a Table service",
                                     problem);
    assert_string_equal(error.message, expected);
    sqlite3_free(expected);
    pt_error_clear(&error);
    pt_page_free(&page);
}

static const pt_value *find(size_t entity, const char *name)
{
    size_t hint = 3;
    return pt_page_find(&page, &page.entities[entity], pt_slice_text(name), &hint);
}

static void assert_slice(pt_slice slice, const char *text)
{
    assert_true(pt_slice_equal(slice, pt_slice_text(text)));
}

static void an_entity_has_its_types(void **state)
{
    (void)state;
    accept_page(
        "{\"odata.metadata\":\"x\",\"odata.etag\":\"W/\\\"e\\\"\",\"PartitionKey\":\"p\","
        "\"RowKey\":\"r\",\"Timestamp@odata.type\":\"Edm.DateTime\","
        "\"Timestamp\":\"2026-11-21T09:35:44.9238194Z\",\"d\":5.5,\"l@odata.type\":\"Edm.Int64\","
        "\"l\":\"7\",\"n@odata.type\":\"Edm.Double\",\"n\":\"NaN\",\"w\":5,"
        "\"w@odata.type\":\"Edm.Double\",\"b@odata.type\":\"Edm.Binary\",\"b\":\"AQID\","
        "\"t\":true,\"i\":-3,\"s\":\"\\u00e9\",\"z\":null,\"y@odata.type\":\"Edm.Int32\",\"RowKey@"
        "odata.type\":"
        "\"Edm.String\",\"PartitionKey@odata.type\":\"Edm.String\",\"odata.id\":5,\"odata.etag\":"
        "6}",
        PT_PAGE_OF_ONE);
    assert_int_equal(page.count, 1);
    assert_slice(page.entities[0].partition, "p");
    assert_slice(page.entities[0].row, "r");
    assert_slice(page.entities[0].etag, "W/\"e\"");
    assert_true(page.entities[0].ticks > 0);
    assert_int_equal(find(0, "d")->type, PT_DOUBLE);
    assert_int_equal(find(0, "l")->type, PT_INT64);
    assert_int_equal(find(0, "l")->integer, 7);
    assert_int_equal(find(0, "n")->type, PT_DOUBLE);
    assert_int_equal(find(0, "w")->type, PT_DOUBLE);
    assert_slice(find(0, "b")->bytes, "\1\2\3");
    assert_int_equal(find(0, "t")->type, PT_BOOLEAN);
    assert_int_equal(find(0, "i")->type, PT_INT32);
    assert_slice(find(0, "s")->bytes, "\xC3\xA9");
    assert_null(find(0, "z"));
    assert_null(find(0, "y"));
    assert_null(find(0, "PartitionKey"));
    pt_page_free(&page);
}

static void pages_are_added_to_each_other(void **state)
{
    (void)state;
    accept_page("{\"value\":[]}", PT_PAGE_OF_ENTITIES);
    assert_int_equal(page.count, 0);
    accept_page(" { \"odata.metadata\" : \"x\" , \"value\" : [ {\"PartitionKey\":\"a\",\"RowKey\":"
                "\"\",\"n\":1} , {\"RowKey\":\"2\",\"PartitionKey\":\"\"} ] , \"more\" : 1 } ",
                PT_PAGE_OF_ENTITIES);
    accept_page("{\"value\":[{\"PartitionKey\":\"c\",\"RowKey\":\"3\",\"n\":\"x\"}]}",
                PT_PAGE_OF_ENTITIES);
    assert_int_equal(page.count, 3);
    assert_int_equal(find(0, "n")->integer, 1);
    assert_null(find(1, "n"));
    assert_slice(find(2, "n")->bytes, "x");
    assert_slice(page.entities[1].etag, "");
    pt_page_clear(&page);
    assert_int_equal(page.count, 0);
    accept_page("{\"value\":[{\"TableName\":\"T\"}]}", PT_PAGE_OF_TABLES);
    assert_slice(find(0, "TableName")->bytes, "T");
    pt_page_free(&page);
}

#define KEYS "\"PartitionKey\":\"p\",\"RowKey\":\"r\""

/* Looking for a property among very many would take minutes, in which nothing can be interrupted.
 */
static void an_entity_has_not_too_many_properties(void **state)
{
    (void)state;
    sqlite3_str *json = sqlite3_str_new(NULL);
    sqlite3_str_appendall(json, "{\"value\":[{" KEYS);
    for (int i = 0; i < 300000; i++) {
        sqlite3_str_appendf(json, ",\"p%d@odata.type\":\"Edm.Int32\"", i);
    }
    sqlite3_str_appendall(json, "}]}");
    char *text = sqlite3_str_finish(json);
    refuse_text(text, PT_PAGE_OF_ENTITIES, "an entity has too many properties");
    sqlite3_free(text);
}

static void what_is_no_page_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *problem;
    } entities[] = {
        {"{\"RowKey\":\"r\"}", "an entity has no PartitionKey or RowKey"},
        {"{" KEYS ",\"a\xFF\":1}", "it is not UTF-8"},
        {"{" KEYS ",\"a\":\"\xFF\"}", "it is not UTF-8"},
        {"{" KEYS ",\"a\\u0000b\":1}", "a...: its name is not text"},
        {"{\"PartitionKey\":1}", "PartitionKey: it is not a key"},
        {"{\"RowKey\":\"a\\u0000\"}", "RowKey: it is not a key"},
        {"{" KEYS ",\"Timestamp\":\"soon\"}", "Timestamp: it is not a time"},
        {"{" KEYS ",\"Timestamp\":5}", "Timestamp: it is not a time"},
        {"{" KEYS ",\"a@odata.type\":5}", "a: its annotation is not a type"},
        {"{" KEYS ",\"a\":{}}", "a: it is an object or array"},
        {"{" KEYS ",\"a@odata.type\":\"Int32\"}", "a: its annotation is not a type"},
        {"{" KEYS ",\"a@odata.type\":\"Edm.Point\"}", "a: its type is unknown"},
        {"{" KEYS ",\"a@odata.type\":\"Edm.Int64\",\"a\":\"x\"}",
         "a: its value does not fit its type"},
        {"{" KEYS ",\"a\":\"\\ud800\"}", "a: half of a surrogate pair is not a character"},
        {"{" KEYS ",", "malformed JSON"},
        {"<html>", "malformed JSON"},
        {"", "malformed JSON"},
    };
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
        refuse_text(entities[i].json, PT_PAGE_OF_ONE, entities[i].problem);
    }
    refuse_text("{\"a\":1}", PT_PAGE_OF_ENTITIES, "there is no \"value\"");
    refuse_text("{\"value\":1}", PT_PAGE_OF_ENTITIES, "there is no \"value\"");
    refuse_text("{\"value\":{}}", PT_PAGE_OF_ENTITIES, "value: it is an object or array");
    refuse_text("{\"x\":[]}", PT_PAGE_OF_ENTITIES, "x: it is an object or array");
    refuse_text("{\"value\":[],\"value\":[]}", PT_PAGE_OF_ENTITIES,
                "value: it is an object or array");
    refuse_text("{\"value\":[1]}", PT_PAGE_OF_ENTITIES, "malformed JSON");
    refuse_text("{\"value\":[{" KEYS "}", PT_PAGE_OF_ENTITIES, "malformed JSON");
    refuse_text("{\"value\":[{" KEYS "}]", PT_PAGE_OF_ENTITIES, "malformed JSON");
    refuse_text("{\"value\":[{" KEYS "}]}x", PT_PAGE_OF_ENTITIES, "malformed JSON");
    refuse_text("[]", PT_PAGE_OF_ENTITIES, "malformed JSON");
}

static const char whole_page[] =
    "{\"odata.metadata\":\"m\",\"value\":[{\"odata.etag\":\"e\"," KEYS
    ",\"Timestamp\":\"2026-11-21T09:35:44Z\",\"a@odata.type\":\"Edm.Int64\",\"a\":\"5\","
    "\"b\":\"\\u20ac\",\"b@odata.type\":\"Edm.String\"},{" KEYS ",\"c\":1.5}]}";

/* Every prefix, and every text with one byte changed, ends without harm. */
static void damaged_pages_do_no_harm(void **state)
{
    (void)state;
    static const char bytes[] = "{}[]\",:\\u0\x01\xFFx5 ";
    char text[sizeof whole_page];
    for (size_t size = 0; size < sizeof whole_page - 1; size++) {
        pt_error error = PT_ERROR_NONE;
        memcpy(text, whole_page, size);
        text[size] = 0;
        assert_int_equal(add(text, PT_PAGE_OF_ENTITIES, &error), SQLITE_IOERR);
        pt_error_clear(&error);
        for (size_t i = 0; i < sizeof bytes; i++) {
            memcpy(text, whole_page, sizeof whole_page);
            text[size] = bytes[i] != 0 ? bytes[i] : '\n';
            add(text, i % 2 == 0 ? PT_PAGE_OF_ENTITIES : PT_PAGE_OF_TABLES, &error);
            pt_error_clear(&error);
        }
        pt_page_clear(&page);
    }
    pt_page_free(&page);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    bool hit = true;
    int failures = 0;
    for (int n = 0; hit; n++) {
        pt_error error = PT_ERROR_NONE;
        pt_buffer body = {0};
        pt_buffer_append_text(&body, whole_page);
        failing_malloc_arm(n, false);
        int rc = pt_page_add(&page, &body, PT_PAGE_OF_ENTITIES, &error);
        hit = failing_malloc_disarm();
        failures += hit;
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        pt_buffer_free(&body);
        pt_page_free(&page);
    }
    assert_true(failures >= 4);
    assert_int_equal(sqlite3_memory_used(), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entity_has_its_types),
        cmocka_unit_test(pages_are_added_to_each_other),
        cmocka_unit_test(an_entity_has_not_too_many_properties),
        cmocka_unit_test(what_is_no_page_is_refused),
        cmocka_unit_test(damaged_pages_do_no_harm),
        cmocka_unit_test(memory_may_run_out),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
