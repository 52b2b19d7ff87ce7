#include "unit/service/canned_server.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/wait.h>
#include <time.h>

#include "base/sqlite.h"
#include "fixtures/forked.h"
#include "service/http.h"

static sqlite3 *db;
static pt_http *http;

/* --- The resolver of this program: it takes its time for one name --- */

enum { SLOW_SECONDS = 3 };

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result)
{
    static const struct timespec pause = {.tv_sec = SLOW_SECONDS};
    (void)service;
    (void)hints;
    *result = NULL;
    if (strcmp(node, "slow.example") == 0) {
        nanosleep(&pause, NULL);
    }
    return EAI_AGAIN;
}

/* --- Memory of libcurl, which fails once --- */

static _Atomic int allocations_until_failure = -1; /* negative: none fails */

static bool allocation_fails(void)
{
    return allocations_until_failure >= 0 && allocations_until_failure-- == 0;
}

static void *curl_malloc(size_t size)
{
    return allocation_fails() ? NULL : malloc(size);
}

static void *curl_realloc(void *old, size_t size)
{
    return allocation_fails() ? NULL : realloc(old, size);
}

static void *curl_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : calloc(count, size);
}

static char *curl_strdup(const char *text)
{
    return allocation_fails() ? NULL : strdup(text);
}

/* --- The pool of a test --- */

static int start_pool(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    http = pt_http_new();
    assert_non_null(http);
    return 0;
}

static int end_pool(void **state)
{
    (void)state;
    pt_http_free(http);
    return sqlite3_close(db);
}

static pt_http_call *start_call_to(const char *host, pt_http_method method, const char *path,
                                   const char *body)
{
    static const char *const headers[] = {"Accept: application/json", "Expect:", NULL};
    char *url = sqlite3_mprintf("http://%s:%d%s", host, canned.port, path);
    const pt_http_request request = {.method = method,
                                     .url = url,
                                     .headers = headers,
                                     .body = pt_slice_text(body),
                                     .timeout = 20,
                                     .reply_max = 1000,
                                     .plain = true,
                                     .loopback = true};
    pt_http_call *call = pt_http_start(http, &request);
    assert_non_null(call);
    sqlite3_free(url);
    return call;
}

static pt_http_call *start_call(pt_http_method method, const char *path, const char *body)
{
    return start_call_to("127.0.0.1", method, path, body);
}

static pt_http_reply *wait_for(pt_http_call *call)
{
    pt_http_reply *reply = NULL;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_http_wait(http, call, db, &reply, &error), SQLITE_OK);
    return reply;
}

static char *answer_with_number(const char *request, int number)
{
    (void)request;
    char *body = canned_format("reply %d", number);
    char *reply = canned_reply(200, "X-One: a\r\nx-two:\r\n", body);
    free(body);
    return reply;
}

static void replies_have_status_headers_and_body(void **state)
{
    (void)state;
    canned_start(answer_with_number);
    pt_http_call *call = start_call(PT_HTTP_GET, "/a/../T()?$top=1", "");
    pt_http_reply *reply = wait_for(call);
    pt_slice value;
    assert_int_equal(reply->outcome, PT_HTTP_REPLIED);
    assert_int_equal(reply->status, 200);
    assert_string_equal((char *)reply->body.data, "reply 1");
    assert_true(pt_http_header(reply, "x-one", &value));
    assert_int_equal(value.size, 1);
    assert_true(pt_http_header(reply, "X-Two", &value));
    assert_int_equal(value.size, 0);
    assert_false(pt_http_header(reply, "X", &value));

    pt_http_end(http, call);
    assert_true(was_sent("GET /a/../T()?$top=1 HTTP/1.1\r\n"));
    assert_true(was_sent("Accept: application/json\r\n"));
    canned_end();
}

static void connections_are_kept(void **state)
{
    (void)state;
    canned_start(answer_with_number);
    for (int i = 0; i < 5; i++) {
        pt_http_call *call = start_call(i == 3 ? PT_HTTP_POST : PT_HTTP_GET, "/", "{\"a\":1}");
        assert_int_equal(wait_for(call)->status, 200);
        pt_http_end(http, call);
    }
    assert_int_equal(canned_connections(), 1);
    assert_true(was_sent("\r\n\r\n{\"a\":1}"));
    pt_http_call *call = start_call(PT_HTTP_DELETE, "/", "");
    wait_for(call);
    pt_http_end(http, call);
    assert_int_equal(canned_connections(), 2);
    assert_true(was_sent("DELETE / HTTP/1.1\r\n"));
    canned_end();
}

static void several_calls_are_under_way_at_once(void **state)
{
    (void)state;
    canned_start(answer_with_number);
    pt_http_call *calls[20];
    for (int i = 0; i < 20; i++) {
        calls[i] = start_call(PT_HTTP_GET, "/", "");
    }
    for (int i = 19; i >= 0; i--) {
        assert_int_equal(wait_for(calls[i])->status, 200);
        pt_http_end(http, calls[i]);
    }
    assert_int_equal(canned_requests(), 20);
    canned_end();
}

/* The connection ends on the second request of each. */
static char *close_after_first(const char *request, int number)
{
    return number == 1 ? answer_with_number(request, number) : CANNED_CLOSE;
}

/* libcurl would send the request again by itself if it could. */
static void a_lost_change_is_not_sent_again(void **state)
{
    (void)state;
    canned_start(close_after_first);
    pt_http_call *call = start_call(PT_HTTP_GET, "/", "");
    wait_for(call);
    pt_http_end(http, call);
    call = start_call(PT_HTTP_POST, "/", "{}");
    assert_int_equal(wait_for(call)->outcome, PT_HTTP_LOST);
    pt_http_end(http, call);
    assert_int_equal(canned_requests(), 2);
    call = start_call(PT_HTTP_DELETE, "/", "");
    assert_int_equal(wait_for(call)->outcome, PT_HTTP_LOST);
    pt_http_end(http, call);
    assert_int_equal(canned_requests(), 3);
    canned_end();
}

static char *answer_strangely(const char *request, int number)
{
    if (strstr(request, "/long") != NULL) {
        char *body = malloc(1002);
        memset(body, 'x', 1001);
        body[1001] = 0;
        char *reply = canned_reply(200, "", body);
        free(body);
        return reply;
    }
    if (strstr(request, "/headers") != NULL) {
        char *header = canned_format("X: %070000d\r\n", number);
        char *reply = canned_reply(200, header, "");
        free(header);
        return reply;
    }
    if (strstr(request, "/moved") != NULL) {
        return canned_reply(302, "Location: /elsewhere\r\n", "");
    }
    return canned_format("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"value\":<cut>");
}

static char *end_after_first(const char *request, int number)
{
    if (number == 1) {
        return answer_with_number(request, number);
    }
    shutdown(canned.listener, SHUT_RDWR); /* further connections are refused */
    return CANNED_CLOSE;
}

/* libcurl goes on with a new connection, which cannot be had: but the first one has got the
 * request. */
static void a_lost_change_is_not_unreachable(void **state)
{
    (void)state;
    canned_start(end_after_first);
    pt_http_call *call = start_call(PT_HTTP_GET, "/", "");
    wait_for(call);
    pt_http_end(http, call);
    call = start_call(PT_HTTP_POST, "/", "{}");
    assert_int_equal(wait_for(call)->outcome, PT_HTTP_LOST);
    pt_http_end(http, call);
    assert_int_equal(canned_requests(), 2);
    canned_end();
}

/* The server takes a part of the request, and closes the connection while the rest is sent: the
 * process must not end by SIGPIPE. */
static void a_closed_connection_raises_no_signal(void **state)
{
    (void)state;
    enum { MUCH = 8 << 20 };
    canned_start(answer_with_number);
    char *body = malloc(MUCH + 1);
    memset(body, 'x', MUCH);
    body[MUCH] = 0;
    pt_http_call *call = start_call(PT_HTTP_POST, "/", body);
    assert_int_equal(wait_for(call)->outcome, PT_HTTP_LOST);
    pt_http_end(http, call);
    assert_int_equal(canned_requests(), 0);
    free(body);
    canned_end();
}

/* As a proxy: the first connection is refused, the next ones are no TLS. */
static char *answer_as_proxy(const char *request, int number)
{
    assert_non_null(strstr(request, "CONNECT service.example:443 HTTP/1.1\r\n"));
    return number <= 2 ? canned_format("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n<cut>")
                       : canned_format("HTTP/1.1 200 Yes\r\n\r\nno TLS<cut>");
}

/* It has got a request of its own: the one for the service was not sent. */
static void a_proxy_that_refuses_is_named(void **state)
{
    (void)state;
    static const char *const headers[] = {NULL};
    static const pt_http_outcome outcomes[] = {PT_HTTP_PROXY, PT_HTTP_PROXY, PT_HTTP_UNREACHABLE,
                                               PT_HTTP_LOST};
    char problem[80];
    char proxy[60];
    canned_start(answer_as_proxy);
    snprintf(proxy, sizeof proxy, "http://user:secret@127.0.0.1:%d", canned.port);
    snprintf(problem, sizeof problem, "the proxy 127.0.0.1:%d refuses it with status 407",
             canned.port);
    setenv("https_proxy", proxy, 1);
    for (int i = 0; i < 4; i++) {
        const pt_http_request request = {.method = i % 2 == 0 ? PT_HTTP_POST : PT_HTTP_DELETE,
                                         .url = "https://service.example/hr",
                                         .headers = headers,
                                         .body = pt_slice_text(i % 2 == 0 ? "{}" : ""),
                                         .timeout = 20,
                                         .reply_max = 1000};
        pt_http_call *call = pt_http_start(http, &request);
        assert_non_null(call);
        pt_http_reply *reply = wait_for(call);
        assert_int_equal(reply->outcome, outcomes[i]);
        assert_null(strstr(reply->problem, "secret"));
        if (outcomes[i] == PT_HTTP_PROXY) {
            assert_int_equal(reply->status, 407);
            assert_string_equal(reply->problem, problem);
        }
        pt_http_end(http, call);
    }
    unsetenv("https_proxy");
    canned_end();
}

/* The connection ends before the empty line: nobody knows which headers are missing. */
static char *cut_in_headers(const char *request, int number)
{
    static const char *const replies[] = {"HTTP/1.1 200 OK\n\n",
                                          "",
                                          "HTTP/1.1 2",
                                          "HTTP/1.1 204 No Content\r\n",
                                          "HTTP/1.1 200 OK\r\nContent-Le",
                                          "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n"};
    (void)request;
    return canned_format("%s<cut>", replies[number - 1]);
}

static void replies_cut_in_their_headers_are_none(void **state)
{
    (void)state;
    canned_start(cut_in_headers);
    pt_http_call *whole = start_call(PT_HTTP_POST, "/", "{}");
    assert_int_equal(wait_for(whole)->outcome, PT_HTTP_REPLIED);
    pt_http_end(http, whole);
    for (int i = 0; i < 5; i++) {
        pt_http_call *call = start_call(PT_HTTP_POST, "/", "{}");
        pt_http_reply *reply = wait_for(call);
        assert_int_equal(reply->outcome, PT_HTTP_LOST);
        assert_string_not_equal(reply->problem, "");
        assert_string_not_equal(reply->problem, "No error");
        pt_http_end(http, call);
    }
    assert_int_equal(canned_requests(), 6);
    canned_end();
}

static void replies_without_end_and_long_ones_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        pt_http_outcome outcome;
    } cases[] = {{"/cut", PT_HTTP_LOST}, {"/long", PT_HTTP_TOO_BIG}, {"/headers", PT_HTTP_TOO_BIG}};
    canned_start(answer_strangely);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pt_http_call *call = start_call(PT_HTTP_GET, cases[i].path, "");
        assert_int_equal(wait_for(call)->outcome, cases[i].outcome);
        pt_http_end(http, call);
    }
    pt_http_call *call = start_call(PT_HTTP_GET, "/moved", "");
    assert_int_equal(wait_for(call)->status, 302);
    pt_http_end(http, call);
    assert_false(was_sent("/elsewhere"));
    canned_end();
}

static void a_server_that_is_not_there_is_unreachable(void **state)
{
    (void)state;
    canned_start(answer_with_number);
    canned_end();
    pt_http_call *call = start_call(PT_HTTP_GET, "/", "");
    pt_http_reply *reply = wait_for(call);
    assert_int_equal(reply->outcome, PT_HTTP_UNREACHABLE);
    assert_non_null(strstr(reply->problem, "127.0.0.1"));
    pt_http_end(http, call);
}

/* A server that does not speak TLS never sees the request. */
static void https_does_not_become_http(void **state)
{
    (void)state;
    static const char *const headers[] = {NULL};
    canned_start(answer_with_number);
    char *url = sqlite3_mprintf("https://127.0.0.1:%d/", canned.port);
    const pt_http_request request = {
        .method = PT_HTTP_GET, .url = url, .headers = headers, .timeout = 20, .reply_max = 1000};
    pt_http_call *call = pt_http_start(http, &request);
    assert_non_null(call);
    pt_http_reply *reply = wait_for(call);
    assert_int_equal(reply->outcome, PT_HTTP_UNREACHABLE);
    pt_http_end(http, call);
    sqlite3_free(url);
    assert_int_equal(canned_requests(), 0);
    canned_end();
}

static char *never_answer(const char *request, int number)
{
    (void)request;
    (void)number;
    return CANNED_SILENCE;
}

static int interrupt_at_once(void *context)
{
    (void)context;
    return 1;
}

static void waiting_can_be_interrupted(void **state)
{
    (void)state;
    canned_start(never_answer);
    pt_http_call *call = start_call(PT_HTTP_GET, "/", "");
    pt_http_reply *reply;
    pt_error error = PT_ERROR_NONE;

    sqlite3_progress_handler(db, 1, interrupt_at_once, NULL);
    assert_int_equal(pt_http_wait(http, call, db, &reply, &error), SQLITE_INTERRUPT);
    pt_error_clear(&error);
    pt_http_end(http, call);
    assert_int_equal(pt_http_pause(http, 60000, db, &error), SQLITE_INTERRUPT);
    pt_error_clear(&error);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    assert_int_equal(pt_http_pause(http, 1, db, &error), SQLITE_OK);
    canned_end();
}

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* libcurl would wait for its thread that asks the resolver. */
static void a_slow_resolver_does_not_delay_an_interruption(void **state)
{
    (void)state;
    int64_t begun = milliseconds();
    pt_http_call *call = start_call_to("slow.example", PT_HTTP_GET, "/", "");
    pt_http_reply *reply;
    pt_error error = PT_ERROR_NONE;
    sqlite3_progress_handler(db, 1, interrupt_at_once, NULL);
    assert_int_equal(pt_http_wait(http, call, db, &reply, &error), SQLITE_INTERRUPT);
    pt_error_clear(&error);
    pt_http_end(http, call);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    assert_true(milliseconds() - begun < 1000 * (SLOW_SECONDS - 1));
}

static void a_name_without_address_is_unreachable(void **state)
{
    (void)state;
    pt_http_call *call = start_call_to("nowhere.example", PT_HTTP_POST, "/", "{}");
    assert_int_equal(wait_for(call)->outcome, PT_HTTP_UNREACHABLE);
    pt_http_end(http, call);
}

/* Nothing that the service could have done. */
static void a_timeout_before_the_request_was_sent_is_unreachable(void **state)
{
    (void)state;
    static const char *const headers[] = {NULL};
    const pt_http_request request = {.method = PT_HTTP_POST,
                                     .url = "http://slow.example/",
                                     .headers = headers,
                                     .body = pt_slice_text("{}"),
                                     .timeout = 1,
                                     .reply_max = 1000,
                                     .plain = true};
    int64_t begun = milliseconds();
    pt_http_call *call = pt_http_start(http, &request);
    assert_non_null(call);
    assert_int_equal(wait_for(call)->outcome, PT_HTTP_UNREACHABLE);
    pt_http_end(http, call);
    assert_true(milliseconds() - begun < 1000 * (SLOW_SECONDS - 1));
}

/* Programs that this one starts must not get the connections, on which they could send requests. */
static void connections_are_not_inherited(void **state)
{
    (void)state;
    canned_start(answer_with_number);
    pt_http_call *call = start_call(PT_HTTP_GET, "/", "");
    wait_for(call);
    int found = 0;
    for (int fd = 0; fd < 100; fd++) {
        struct sockaddr_in peer;
        socklen_t size = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET &&
            ntohs(peer.sin_port) == canned.port) {
            found++;
            assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        }
    }
    assert_int_equal(found, 1);
    pt_http_end(http, call);
    canned_end();
}

/* More calls at once than handles are kept. */
static void many_calls_at_once_are_ended(void **state)
{
    (void)state;
    enum { CALLS = 40 };
    pt_http_call *calls[CALLS];
    canned_start(answer_with_number);
    for (int i = 0; i < CALLS; i++) {
        calls[i] = start_call(PT_HTTP_GET, "/", "");
    }
    for (int i = 0; i < CALLS; i++) {
        pt_http_end(http, calls[i]);
    }
    pt_http_call *after = start_call(PT_HTTP_GET, "/", "");
    assert_int_equal(wait_for(after)->status, 200);
    pt_http_end(http, after);
    canned_end();
}

/* The child must not use, nor close, the connections of its parent. */
static void a_child_opens_its_own_connections(void **state)
{
    (void)state;
    canned_start(answer_with_number);
    pt_http_call *call = start_call(PT_HTTP_GET, "/", "");
    wait_for(call);
    pid_t child = fork();
    if (child == 0) {
        pt_http_reply *reply;
        pt_error error = PT_ERROR_NONE;
        bool refused = pt_http_wait(http, call, db, &reply, &error) == SQLITE_IOERR &&
                       pt_http_wait_for_any(http, call, db, &error) == SQLITE_IOERR;
        pt_error_clear(&error);
        pt_http_end(http, call);
        pt_http_call *own = start_call(PT_HTTP_GET, "/", "");
        bool replied = wait_for(own)->status == 200;
        pt_http_end(http, own);
        pt_http_free(http);
        end_forked(refused && replied ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    child = fork();
    if (child == 0) {
        pt_http_free(http);
        end_forked(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(canned_connections(), 2);
    pt_http_end(http, call);
    call = start_call(PT_HTTP_GET, "/", "");
    assert_int_equal(wait_for(call)->status, 200);
    pt_http_end(http, call);
    assert_int_equal(canned_connections(), 2);
    canned_end();
}

/* True if a call of a new pool has got its reply. */
static bool is_answered_without_memory(int allocations, bool *failed)
{
    static const char *const headers[] = {"Accept: application/json", NULL};
    char url[50];
    pt_error error = PT_ERROR_NONE;
    pt_http_reply *reply = NULL;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", canned.port);
    const pt_http_request request = {.method = allocations % 2 == 0 ? PT_HTTP_GET : PT_HTTP_POST,
                                     .url = url,
                                     .headers = headers,
                                     .timeout = 20,
                                     .reply_max = 1000,
                                     .plain = true,
                                     .loopback = true};
    pt_http *pool = pt_http_new();
    assert_non_null(pool);
    allocations_until_failure = allocations;
    pt_http_call *call = pt_http_start(pool, &request);
    int rc = SQLITE_NOMEM;
    if (call != NULL) {
        rc = pt_http_wait(pool, call, db, &reply, &error);
    }
    *failed = allocations_until_failure < 0;
    allocations_until_failure = -1;
    assert_true(rc == SQLITE_OK || rc == SQLITE_NOMEM);
    bool answered = rc == SQLITE_OK && reply->outcome == PT_HTTP_REPLIED && reply->status == 200;
    if (call != NULL) {
        pt_http_end(pool, call);
    }
    pt_error_clear(&error);
    pt_http_free(pool);
    return answered;
}

/* The reply comes, or the failure is told. */
static void libcurl_may_run_out_of_memory(void **state)
{
    (void)state;
    setenv("SSL_CERT_FILE", "none.pem", 1);
    setenv("SSL_CERT_DIR", ".", 1);
    unsetenv("CURL_CA_BUNDLE");
    canned_start(answer_with_number);
    bool failed = true;
    int refused = 0;
    for (int i = 0; failed; i++) {
        bool answered = is_answered_without_memory(i, &failed);
        assert_true(answered || failed);
        refused += !answered;
    }
    assert_true(refused > 20);
    canned_end();
}

int main(void)
{
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, curl_malloc, free, curl_realloc, curl_strdup,
                         curl_calloc);
#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, start_pool, end_pool)
    static const struct CMUnitTest tests[] = {
        POOL_TEST(replies_have_status_headers_and_body),
        POOL_TEST(connections_are_kept),
        POOL_TEST(several_calls_are_under_way_at_once),
        POOL_TEST(a_lost_change_is_not_sent_again),
        POOL_TEST(replies_without_end_and_long_ones_are_none),
        POOL_TEST(a_server_that_is_not_there_is_unreachable),
        POOL_TEST(a_closed_connection_raises_no_signal),
        POOL_TEST(a_proxy_that_refuses_is_named),
        POOL_TEST(a_lost_change_is_not_unreachable),
        POOL_TEST(replies_cut_in_their_headers_are_none),
        POOL_TEST(a_slow_resolver_does_not_delay_an_interruption),
        POOL_TEST(a_name_without_address_is_unreachable),
        POOL_TEST(a_timeout_before_the_request_was_sent_is_unreachable),
        POOL_TEST(connections_are_not_inherited),
        POOL_TEST(https_does_not_become_http),
        POOL_TEST(waiting_can_be_interrupted),
        POOL_TEST(libcurl_may_run_out_of_memory),
        POOL_TEST(many_calls_at_once_are_ended),
        POOL_TEST(a_child_opens_its_own_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
