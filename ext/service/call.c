#include "service/call.h"

#include <stdlib.h>
#include <time.h>

#include "entity/edm.h"
#include "service/batch_text.h"

enum {
    REPLY_MAX = 16 << 20, /* a page is 4 MiB at most, but escapes make its JSON longer */
    FIRST_PAUSE = 1000,   /* milliseconds before the second attempt; then twice as long each time */
    PAUSE_MAX = 1000 * PT_REPLY_PAUSE_MAX,
};

static const char client_request_name[] = "x-ms-client-request-id: ";

/* In English, whatever the program's locale. */
void pt_call_format_date(int64_t unix_seconds, char text[PT_HTTP_DATE_SIZE])
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t seconds = (time_t)unix_seconds;
    struct tm t;
    gmtime_r(&seconds, &t);
    sqlite3_snprintf(PT_HTTP_DATE_SIZE, text, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
                     days + (ptrdiff_t)3 * t.tm_wday, t.tm_mday, months + (ptrdiff_t)3 * t.tm_mon,
                     t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

static double seconds_of_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- Sending --- */

static bool make_url(pt_call *call, const pt_account *account)
{
    pt_buffer *url = &call->url;
    pt_buffer_clear(url);
    pt_buffer_append_text(url, account->endpoint);
    pt_buffer_append_slice(url, pt_buffer_slice(&call->path));
    char separator = '?';
    if (call->query.size != 0) {
        pt_buffer_append_byte(url, (uint8_t)separator);
        pt_buffer_append_slice(url, pt_buffer_slice(&call->query));
        separator = '&';
    }
    if (account->credential == PT_CREDENTIAL_SAS) {
        pt_buffer_append_byte(url, (uint8_t)separator);
        pt_buffer_append_text(url, account->secret);
    }
    pt_buffer_append_byte(url, 0);
    return !url->failed && !call->path.failed && !call->query.failed;
}

/* The path that is signed begins with the endpoint's. */
static bool make_authorization(pt_call *call, const pt_account *account)
{
    static const char name[] = "x-ms-date: ";
    memcpy(call->date, name, sizeof name);
    pt_call_format_date(time(NULL), call->date + sizeof name - 1);
    pt_buffer *header = &call->authorization;
    pt_buffer_clear(header);
    pt_buffer_append_text(header, "Authorization: ");
    if (account->credential != PT_CREDENTIAL_SAS) {
        pt_buffer path = {0};
        pt_buffer_append_text(&path, account->path);
        pt_buffer_append_slice(&path, pt_buffer_slice(&call->path));
        pt_account_authorize(account, call->date + sizeof name - 1, pt_buffer_slice(&path), header);
        header->failed = header->failed || path.failed;
        pt_buffer_free(&path);
    }
    pt_buffer_append_byte(header, 0);
    return !header->failed;
}

/* A random GUID: the service's logs have it. */
static void make_client_request(pt_call *call)
{
    uint8_t bytes[PT_GUID_SIZE];
    char text[PT_GUID_TEXT_SIZE + 1] = "";
    sqlite3_randomness(sizeof bytes, bytes);
    pt_guid_format(bytes, text);
    sqlite3_snprintf(sizeof call->client_request, call->client_request, "%s%s", client_request_name,
                     text);
}

static int send_attempt(pt_call *call, pt_error *error)
{
    const pt_account *account = NULL;
    int rc = pt_service_find_account(call->service, call->subject.account, &account, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!make_url(call, account) || !make_authorization(call, account)) {
        return pt_error_nomem(error);
    }
    make_client_request(call);
    bool with_body = call->method != PT_HTTP_GET && call->method != PT_HTTP_DELETE;
    char type[100];
    sqlite3_snprintf(sizeof type, type, "Content-Type: %s",
                     call->content_type != NULL ? call->content_type : "application/json");
    bool with_header = account->credential != PT_CREDENTIAL_SAS;
    const char *const headers[] = {
        call->date,
        "x-ms-version: 2019-02-02",
        "DataServiceVersion: 3.0",
        "Accept: application/json;odata=minimalmetadata",
        call->client_request,
        with_header ? (const char *)call->authorization.data : "Authorization:",
        with_body ? type : call->if_match,
        with_body ? "Expect:" : NULL, /* the end of the list without a body */
        "Prefer: return-no-content",
        call->if_match,
        NULL,
    };
    const pt_http_request request = {.method = call->method,
                                     .url = (const char *)call->url.data,
                                     .headers = headers,
                                     .body = call->body,
                                     .timeout = (long)call->timeout,
                                     .reply_max = REPLY_MAX,
                                     .plain = account->plain,
                                     .loopback = account->loopback};
    call->http = pt_http_start(call->service->http, &request);
    if (call->http == NULL) {
        return pt_error_nomem(error);
    }
    call->service->counts.requests++;
    call->service->counts.bytes_sent += (int64_t)call->body.size;
    return SQLITE_OK;
}

int pt_call_send(pt_call *call, pt_error *error)
{
    pt_call_end(call);
    call->attempts = 0;
    call->in_doubt = false;
    return send_attempt(call, error);
}

/* --- Receiving --- */

/* For replies that are no success. */
static bool is_certainly_not_done(const pt_http_reply *reply)
{
    return reply->outcome == PT_HTTP_UNREACHABLE || reply->outcome == PT_HTTP_UNTRUSTED ||
           reply->outcome == PT_HTTP_PROXY ||
           (reply->outcome == PT_HTTP_REPLIED &&
            (reply->status == 429 || reply->status == 503 || !pt_reply_is_temporary(reply)));
}

/* True if the same request should be sent again. */
static bool may_repeat(const pt_call *call, const pt_http_reply *reply)
{
    if (call->attempts >= call->retries || !pt_reply_is_temporary(reply) ||
        pt_reply_pause(reply) > PT_REPLY_PAUSE_MAX) {
        return false;
    }
    return call->method == PT_HTTP_GET || call->resends || is_certainly_not_done(reply);
}

/* Milliseconds until the next attempt: as the service says, or more each time, with some chance so
 * that many clients do not come back at the same time. */
static int64_t pause_before_repeating(const pt_call *call, const pt_http_reply *reply)
{
    int64_t seconds = pt_reply_pause(reply);
    if (seconds >= 0) {
        return seconds * 1000;
    }
    int64_t pause = call->attempts < 6 ? (int64_t)FIRST_PAUSE << call->attempts : PAUSE_MAX;
    unsigned chance;
    sqlite3_randomness(sizeof chance, &chance);
    return pause / 2 + (int64_t)(chance % (unsigned)(pause / 2 + 1));
}

/* Several calls may have been refused at the same time: one pause is for all of them. */
static int repeat(pt_call *call, const pt_http_reply *reply, pt_error *error)
{
    pt_service *service = call->service;
    int64_t pause = pause_before_repeating(call, reply) - (pt_http_clock() - reply->arrived);
    pt_call_end(call);
    call->attempts++;
    service->counts.retries++;
    int rc = pt_http_pause(service->http, pause, service->db, error);
    return rc == SQLITE_OK ? send_attempt(call, error) : rc;
}

bool pt_call_has_succeeded(const pt_http_reply *reply)
{
    return reply->outcome == PT_HTTP_REPLIED && reply->status / 100 == 2 && !reply->foreign;
}

/* Keeps what messages need of a reply. */
static int read_reply(pt_call *call, pt_http_reply *reply, pt_error *error)
{
    const pt_account *account = NULL;
    int rc = pt_service_find_account(call->service, call->subject.account, &account, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_reply_describe_request(reply, account, call->client_request + sizeof client_request_name - 1,
                              call->request);
    if (reply->outcome == PT_HTTP_REPLIED && !pt_call_has_succeeded(reply)) {
        pt_refusal_read(reply, &call->refusal);
        pt_refusal_hide_secrets(&call->refusal, account);
    }
    return SQLITE_OK;
}

/* Waits for the reply to one attempt. */
static int receive_attempt(pt_call *call, pt_http_reply **reply, pt_error *error)
{
    pt_service *service = call->service;
    int rc = pt_http_wait(service->http, call->http, service->db, reply, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    (*reply)->foreign = call->method == PT_HTTP_GET && !pt_reply_is_page(*reply);
    if (call->batch != 0) {
        pt_batch_unwrap(*reply, call->batch);
    }
    if (call->method != PT_HTTP_GET && !pt_call_has_succeeded(*reply) &&
        !is_certainly_not_done(*reply)) {
        call->in_doubt = true;
    }
    return SQLITE_OK;
}

int pt_call_wait_for_any(pt_call *call, pt_error *error)
{
    pt_service *service = call->service;
    double begun = seconds_of_clock();
    int rc = pt_http_wait_for_any(service->http, call->http, service->db, error);
    service->counts.seconds += seconds_of_clock() - begun;
    return rc;
}

static void note_date(const pt_call *call, const pt_http_reply *reply)
{
    pt_slice text;
    int64_t date;
    if (reply->outcome == PT_HTTP_REPLIED && pt_http_header(reply, "Date", &text) &&
        pt_service_is_new_date(call->service, call->subject.account, text) &&
        pt_reply_date(reply, &date)) {
        pt_service_note_date(call->service, call->subject.account, date);
    }
}

int pt_call_receive(pt_call *call, pt_http_reply **reply, pt_error *error)
{
    pt_service *service = call->service;
    double begun = seconds_of_clock();
    int rc = receive_attempt(call, reply, error);
    while (rc == SQLITE_OK && may_repeat(call, *reply)) {
        rc = repeat(call, *reply, error);
        if (rc == SQLITE_OK) {
            rc = receive_attempt(call, reply, error);
        }
    }
    service->counts.seconds += seconds_of_clock() - begun;
    if (rc == SQLITE_OK) {
        note_date(call, *reply);
    }
    if (rc == SQLITE_OK) {
        service->counts.bytes_received += (int64_t)(*reply)->body.size;
    }
    pt_slice server;
    if (rc == SQLITE_OK && pt_call_has_succeeded(*reply) &&
        pt_http_header(*reply, "Server", &server)) {
        pt_service_note_server(service, call->subject.account, server);
    }
    return rc == SQLITE_OK ? read_reply(call, *reply, error) : rc;
}

int pt_call_fail(const pt_call *call, const pt_http_reply *reply, pt_error *error)
{
    const pt_account *account = NULL;
    int rc = pt_service_find_account(call->service, call->subject.account, &account, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_reply_fail(reply, &call->refusal, account, &call->subject, call->method != PT_HTTP_GET,
                  error);
    return pt_call_name_request(call, error);
}

/* A code of the service stays at the end of the message. */
int pt_call_name_request(const pt_call *call, pt_error *error)
{
    char *text = error->message;
    if (text == NULL || call->request[0] == 0 || strstr(text, call->request) != NULL) {
        return error->rc;
    }
    const char *code = text[strlen(text) - 1] == ')' ? strrchr(text, '(') : NULL;
    size_t size = code != NULL ? (size_t)(code - text) - 1 : strlen(text);
    unsigned names = error->names;
    error->message = NULL;
    pt_error_set(error, error->rc, "%.*s; %s%s", (int)size, text, call->request, text + size);
    pt_error_naming(error, names);
    sqlite3_free(text);
    return error->rc;
}

void pt_call_end(pt_call *call)
{
    if (call->http != NULL) {
        pt_http_end(call->service->http, call->http);
        call->http = NULL;
    }
}

/* The header and the URL hold secrets. */
static void forget(pt_buffer *buffer)
{
    if (buffer->data != NULL) {
        explicit_bzero(buffer->data, buffer->capacity);
    }
    pt_buffer_free(buffer);
}

void pt_call_free(pt_call *call)
{
    pt_call_end(call);
    forget(&call->url);
    forget(&call->authorization);
    pt_buffer_free(&call->path);
    pt_buffer_free(&call->query);
    *call = (pt_call){0};
}
