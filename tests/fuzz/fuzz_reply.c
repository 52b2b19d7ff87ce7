/*
 * Replies of a Table service, which may be anything: they are refused with a text that can be
 * shown, or give entities whose parts are what SQL may be given: keys, names and strings of UTF-8,
 * and Properties that are JSON. The input: a byte that chooses, headers, a NUL, and the body.
 */
#include <curl/curl.h>
#include <sqlite3.h>

#include "base/text.h"
#include "entity/key.h"
#include "fixtures/json_text.h"
#include "fuzz/fuzz.h"
#include "service/batch_text.h"
#include "service/page.h"
#include "service/reply.h"
#include "value/json_write.h"

enum { REFUSAL = PT_PAGE_OF_ONE + 1, BATCH, CHOICES };

static bool is_utf8(pt_slice text)
{
    while (text.size > 0) {
        size_t size = pt_utf8_size(text);
        if (size == 0) {
            return false;
        }
        text = pt_slice_of(text.data + size, text.size - size);
    }
    return true;
}

/* Texts that go into a message. */
static void check_shown(const char *text, bool ascii)
{
    must_hold(text != NULL && is_utf8(pt_slice_text(text)), "a message is a text");
    for (const char *c = text; *c != 0; c++) {
        must_hold((uint8_t)*c >= ' ' && *c != 0x7F, "a message has no control characters");
        must_hold(!ascii || (uint8_t)*c < 0x7F, "a refusal is ASCII");
    }
}

/* --- Pages --- */

static void check_entity(const pt_page *page, const pt_page_entity *entity)
{
    pt_buffer json = {0};
    size_t hint = 0;
    must_hold(entity->first + entity->count <= page->field_count, "its properties are the page's");
    pt_json_begin(&json);
    for (size_t i = 0; i < entity->count; i++) {
        const pt_field *field = &page->fields[entity->first + i];
        must_hold(is_utf8(field->name), "a name is UTF-8");
        must_hold(field->value.type != PT_STRING || is_utf8(field->value.bytes),
                  "a string is UTF-8");
        must_hold(pt_page_find(page, entity, field->name, &hint) != NULL, "a property is found");
        pt_json_add(&json, field->name, &field->value);
    }
    pt_json_end(&json);
    must_hold(!json.failed, "there is memory");
    must_hold(is_json_text(pt_buffer_slice(&json)), "Properties are JSON");
    pt_buffer_free(&json);
}

static void check_page(pt_buffer *body, pt_page_kind kind)
{
    pt_page page = {0};
    pt_error error = PT_ERROR_NONE;
    int rc = pt_page_add(&page, body, kind, &error);
    must_hold(rc == SQLITE_OK || rc == SQLITE_IOERR, "a reply is read or refused");
    if (rc != SQLITE_OK) {
        check_shown(error.message, false);
    }
    must_hold(rc != SQLITE_OK || kind != PT_PAGE_OF_ONE || page.count == 1, "one is one");
    for (size_t i = 0; i < page.count; i++) {
        const pt_page_entity *entity = &page.entities[i];
        bool keys = pt_key_is_valid_text(entity->partition) && pt_key_is_valid_text(entity->row);
        must_hold(kind == PT_PAGE_OF_TABLES || keys, "an entity has keys");
        check_entity(&page, entity);
    }
    pt_error_clear(&error);
    pt_page_free(&page);
}

/* --- Refusals --- */

static void check_refusal(pt_http_reply *reply, int status)
{
    char endpoint[] = "https://hr.example";
    char secret[] = "sv=1&sig=secret";
    const pt_account account = {.endpoint = endpoint,
                                .credential = (pt_credential)(status % 3),
                                .secret = secret,
                                .secret_size = sizeof secret - 1};
    const pt_request_subject subject = {.account = "hr", .table = "Employee"};
    pt_error error = PT_ERROR_NONE;
    pt_refusal refusal;
    reply->status = 300 + status;
    pt_refusal_read(reply, &refusal);
    pt_refusal_hide_secrets(&refusal, &account);
    check_shown(refusal.code, true);
    check_shown(refusal.message, true);
    must_hold(strstr(refusal.message, "sig=") == NULL, "no secret is shown");
    int rc = pt_reply_fail(reply, &refusal, &account, &subject, true, &error);
    must_hold(rc != SQLITE_OK, "a failure is one");
    check_shown(error.message, true);
    pt_error_clear(&error);
}

static void check_headers(const pt_http_reply *reply)
{
    int64_t date = 0;
    must_hold(!pt_reply_date(reply, &date) || (date >= 0 && date < INT64_MAX / 10000000),
              "a date is a time");
    static const char *const names[] = {"Date", "Retry-After",
                                        "x-ms-continuation-NextPartitionKey"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pt_slice value;
        if (pt_http_header(reply, names[i], &value)) {
            must_hold(value.data >= reply->headers.data && value.size < reply->headers.size &&
                          value.data + value.size <= reply->headers.data + reply->headers.size,
                      "a value is part of the headers");
        }
    }
}

/* --- Batches --- */

/* How often the text stands in the bytes. */
static size_t count_text(pt_slice bytes, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i + strlen(text) <= bytes.size; i++) {
        count += memcmp(bytes.data + i, text, strlen(text)) == 0;
    }
    return count;
}

static void check_batch(pt_http_reply *reply, unsigned count)
{
    size_t done = count_text(pt_buffer_slice(&reply->body), "HTTP/1.1 2");
    size_t all = count_text(pt_buffer_slice(&reply->body), "HTTP/1.1 ");
    reply->status = 202;
    pt_batch_unwrap(reply, count);
    if (reply->outcome != PT_HTTP_REPLIED) {
        must_hold(reply->outcome == PT_HTTP_LOST, "nobody knows what became of it");
        return;
    }
    bool success = reply->status / 100 == 2;
    must_hold(!success || (done == count && all == count), "each operation is done");
    must_hold(success || reply->status >= 400, "a refusal is one");
    if (!success) {
        check_headers(reply);
        check_refusal(reply, reply->status - 300);
    }
}

/* Buffers of exactly these bytes, as far as the reader may look: a NUL follows the body. */
static void fill_exactly(pt_buffer *buffer, pt_slice bytes, size_t more)
{
    buffer->data = sqlite3_malloc64(bytes.size + more);
    must_hold(buffer->data != NULL, "there is memory");
    memset(buffer->data, 0, bytes.size + more);
    if (bytes.size != 0) {
        memcpy(buffer->data, bytes.data, bytes.size);
    }
    buffer->size = bytes.size;
    buffer->capacity = bytes.size + more;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = fuzz_input_of(data, size);
    unsigned choice = take_below(&input, 256);
    const uint8_t *end = input.left != 0 ? memchr(input.at, 0, input.left) : NULL;
    pt_http_reply reply = {.outcome = PT_HTTP_REPLIED};
    fill_exactly(&reply.headers,
                 take_bytes(&input, end != NULL ? (size_t)(end - input.at) : input.left), 1);
    take_byte(&input);
    fill_exactly(&reply.body, take_bytes(&input, input.left), 1);
    check_headers(&reply);
    if (choice % CHOICES == REFUSAL) {
        check_refusal(&reply, (int)choice);
    } else if (choice % CHOICES == BATCH) {
        check_batch(&reply, choice / CHOICES % 4 + 1);
    } else {
        check_page(&reply.body, (pt_page_kind)(choice % CHOICES));
    }
    pt_buffer_free(&reply.headers);
    pt_buffer_free(&reply.body);
    return 0;
}
