#include "unit/service/remote_database.h"

#include "service/stream.h"

static pt_service *service;
static pt_stream_query query;
static pt_filter_parts parts;
static pt_error error;

static char *answer_two(const char *request, int number)
{
    (void)request;
    (void)number;
    return PAGE(NO_MORE, "p", "1", "p", "2");
}

static void begin(void)
{
    char *text = NULL;
    pt_account account = {0};
    canned_start(answer_two);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    service = pt_service_new(db);
    assert_non_null(service);
    text = canned_format("AccountName=hr;AccountKey=" REMOTE_KEY
                         ";TableEndpoint=http://127.0.0.1:%d/hr",
                         canned.port);
    assert_int_equal(pt_account_parse(pt_slice_text(text), &account, &error), SQLITE_OK);
    assert_int_equal(pt_service_name_account(service, "hr", &account, &error), SQLITE_OK);
    free(text);
    query = (pt_stream_query){.service = service,
                              .subject = {.account = "hr", .table = "Employee"},
                              .select = PT_SELECT_KEYS ",Age",
                              .parts = &parts,
                              .timeout = 20};
}

static void end(void)
{
    pt_service_release(service);
    pt_filter_parts_free(&parts);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    canned_end();
}

/* Reads partition p to the end. */
static void read_two(void)
{
    const pt_key_span span = {.one = true, .partition = pt_slice_text("p")};
    const pt_page_entity *entity = NULL;
    pt_stream stream = {0};
    assert_int_equal(pt_stream_open(&stream, &query, &span, &error), SQLITE_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pt_stream_next(&stream, &entity, &error), SQLITE_OK);
        assert_int_equal(entity != NULL, i < 2);
    }
    pt_stream_free(&stream);
}

static void a_condition_is_sent_beside_the_keys(void **state)
{
    (void)state;
    static const char text[] = "(Age gt 3 or Age lt 1)";
    begin();
    pt_buffer_append_text(&parts.text, text);
    parts.parts[0].size = sizeof text - 1;
    parts.parts[0].comparisons = 2;
    parts.count = 1;
    read_two();
    assert_true(was_sent("()?$filter=PartitionKey%20eq%20%27p%27%20and%20%28Age%20gt%203%20or%20Age"
                         "%20lt%201%29&$select=RowKey%2CAge HTTP"));
    query.filter = pt_slice_text("b");
    read_two();
    assert_true(was_sent("eq%20%27p%27%20and%20%28b%29%20and%20%28Age%20gt%203%20or%20Age%20lt%201"
                         "%29&$select=PartitionKey%2CRowKey%2CAge HTTP"));
    end();
}

/* SQLite checks it again, so it may be left out. The Filter may not. */
static void a_long_condition_is_left_out(void **state)
{
    (void)state;
    char text[7001];
    memset(text, 'a', sizeof text);
    begin();
    pt_buffer_append_text(&parts.text, "Age gt 3");
    parts.parts[0].size = strlen("Age gt 3");
    parts.parts[0].comparisons = 1;
    parts.count = 1;
    query.filter = pt_slice_of(text, 3500);
    read_two();
    assert_true(was_sent("aaa%29%20and%20Age%20gt%203&$select"));
    query.filter = pt_slice_of(text, 7000);
    read_two();
    assert_true(was_sent("aaa%29&$select=PartitionKey%2CRowKey%2CAge HTTP"));
    end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_is_sent_beside_the_keys),
        cmocka_unit_test(a_long_condition_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
