#include "service/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/version.h"
#include "transaction/interruption.h"

enum {
    POLL_MILLISECONDS = 100, /* an interruption is noticed within this time */
    IDLE_SECONDS = 3,        /* servers close idle connections, some after 5 seconds */
    HEADERS_MAX = 65536,
    CONNECTIONS = 128, /* kept for later requests */
    SPARE_HANDLES = 32,
};

struct pt_http {
    CURLM *multi;
    pid_t process;              /* the connections belong to it */
    int64_t checked;            /* time of the last check for an interruption, in milliseconds */
    CURL *spare[SPARE_HANDLES]; /* handles that were used before */
    int spare_count;
};

struct pt_http_call {
    CURL *handle;
    pid_t process;
    struct curl_slist *headers;
    pt_slice body;
    size_t body_sent;
    size_t reply_max;
    bool over;
    bool too_big;
    bool headers_ended; /* the empty line after them has come */
    pt_http_reply reply;
    char problem[CURL_ERROR_SIZE];
    char proxy_problem[100];
};

/* --- The pool --- */

static void initialize_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

int64_t pt_http_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

pt_http *pt_http_new(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize_curl);
    pt_http *http = sqlite3_malloc64(sizeof *http);
    if (http != NULL) {
        *http = (pt_http){.process = getpid()};
    }
    return http;
}

void pt_http_free(pt_http *http)
{
    if (http == NULL) {
        return;
    }
    if (http->process == getpid()) {
        for (int i = 0; i < http->spare_count; i++) {
            curl_easy_cleanup(http->spare[i]);
        }
        curl_multi_cleanup(http->multi);
    }
    sqlite3_free(http);
}

/*
 * Makes the pool ready for use. After fork() the child shares the connections with its parent:
 * closing them would end the parent's TLS sessions, so the child forgets them. False when out of
 * memory.
 */
static bool open_pool(pt_http *http)
{
    pid_t process = getpid();
    if (http->process != process) {
        *http = (pt_http){.process = process};
    }
    if (http->multi == NULL) {
        http->multi = curl_multi_init();
        if (http->multi != NULL) {
            curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS);
        }
    }
    return http->multi != NULL;
}

/* --- Callbacks of libcurl. They must not call SQLite's statements. --- */

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    pt_http_call *call = context;
    size_t bytes = size * count;
    if (bytes > call->reply_max - call->reply.body.size) {
        call->too_big = true;
        return 0;
    }
    pt_buffer_append(&call->reply.body, data, bytes);
    return call->reply.body.failed ? 0 : bytes;
}

/* A status line begins the headers of another reply: a proxy's comes before the server's. */
static size_t take_header(char *data, size_t size, size_t count, void *context)
{
    pt_http_call *call = context;
    pt_slice line = pt_slice_of(data, size * count);
    if (pt_slice_has_prefix(line, pt_slice_text("HTTP/"))) {
        pt_buffer_clear(&call->reply.headers);
        call->headers_ended = false;
        return line.size;
    }
    call->headers_ended = call->headers_ended || line.data[0] == '\r' || line.data[0] == '\n';
    if (line.size > HEADERS_MAX - call->reply.headers.size) {
        call->too_big = true;
        return 0;
    }
    pt_buffer_append_slice(&call->reply.headers, line);
    return call->reply.headers.failed ? 0 : line.size;
}

static size_t give_body(char *to, size_t size, size_t count, void *context)
{
    pt_http_call *call = context;
    size_t rest = call->body.size - call->body_sent;
    size_t bytes = size * count < rest ? size * count : rest;
    memcpy(to, call->body.data + call->body_sent, bytes);
    call->body_sent += bytes;
    return bytes;
}

static int refuse_to_rewind(void *context, curl_off_t offset, int origin)
{
    (void)context;
    (void)offset;
    (void)origin;
    return CURL_SEEKFUNC_FAIL;
}

/* Programs that the application starts do not get the connection. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* --- Beginning and ending a call --- */

static bool add_headers(pt_http_call *call, const pt_http_request *request)
{
    bool added = true;
    for (int i = 0; added && request->headers[i] != NULL; i++) {
        struct curl_slist *longer = curl_slist_append(call->headers, request->headers[i]);
        added = longer != NULL;
        call->headers = added ? longer : call->headers;
    }
    return added;
}

static bool set_protocol(CURL *handle, const pt_http_request *request)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    CURLcode set =
        curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, request->plain ? "http" : "https");
#else
    CURLcode set = curl_easy_setopt(handle, CURLOPT_PROTOCOLS,
                                    (long)(request->plain ? CURLPROTO_HTTP : CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2); /* or newer */
    if (set == CURLE_OK && request->loopback) {
        set = curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
    }
    return set == CURLE_OK;
}

/* The value of an environment variable; NULL if it is empty. */
static const char *environment(const char *name)
{
    const char *value = secure_getenv(name);
    return value != NULL && *value != 0 ? value : NULL;
}

const char *pt_http_authorities(const char **variable)
{
    const char *bundle = environment("CURL_CA_BUNDLE");
    *variable = bundle != NULL ? "CURL_CA_BUNDLE" : "SSL_CERT_FILE";
    return bundle != NULL ? bundle : environment("SSL_CERT_FILE");
}

/* From the environment as for the program curl: libcurl by itself does not look there. A folder
 * takes the place of the system's. */
static bool set_authorities(CURL *handle)
{
    const char *variable;
    const char *file = pt_http_authorities(&variable);
    bool bundle = environment("CURL_CA_BUNDLE") != NULL;
    const char *folder = bundle ? NULL : environment("SSL_CERT_DIR");
    return (folder == NULL ||
            curl_easy_setopt(handle, CURLOPT_CAPATH, folder) != CURLE_OUT_OF_MEMORY) &&
           (file == NULL || curl_easy_setopt(handle, CURLOPT_CAINFO, file) != CURLE_OUT_OF_MEMORY);
}

static void set_method(pt_http_call *call, const pt_http_request *request)
{
    CURL *handle = call->handle;
    switch (request->method) {
    case PT_HTTP_POST:
    case PT_HTTP_PUT:
    case PT_HTTP_MERGE:
        curl_easy_setopt(handle, CURLOPT_POST, 1L);
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
        curl_easy_setopt(handle, CURLOPT_READFUNCTION, give_body);
        curl_easy_setopt(handle, CURLOPT_READDATA, call);
        curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, refuse_to_rewind);
        if (request->method != PT_HTTP_POST) {
            curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST,
                             request->method == PT_HTTP_PUT ? "PUT" : "MERGE");
        }
        break;
    case PT_HTTP_DELETE:
        curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, "DELETE");
        curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, 1L); /* else many deletes fill the pool */
        break;
    case PT_HTTP_GET:
    default:
        curl_easy_setopt(handle, CURLOPT_HTTPGET, 1L);
        break;
    }
}

/* False when out of memory. */
static bool set_options(pt_http_call *call, const pt_http_request *request)
{
    CURL *handle = call->handle;
    bool set = add_headers(call, request) &&
               curl_easy_setopt(handle, CURLOPT_URL, request->url) != CURLE_OUT_OF_MEMORY;
    curl_easy_setopt(handle, CURLOPT_PRIVATE, call);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Ending a call must not wait for the resolver, which may take long. */
    curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "ptable/" PT_VERSION);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT, request->timeout);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, request->timeout);
    curl_easy_setopt(handle, CURLOPT_MAXAGE_CONN, (long)IDLE_SECONDS);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, call->problem);
    set_method(call, request);
    return set && set_protocol(handle, request) && set_authorities(handle);
}

/* The status with which a proxy has refused to connect to the service; 0: none has. */
static int refusal_of_proxy(const pt_http_call *call)
{
    long status = 0;
    curl_easy_getinfo(call->handle, CURLINFO_HTTP_CONNECTCODE, &status);
    return status / 100 != 2 ? (int)status : 0;
}

/* True if the service cannot have done what the request asks for. Without its body a POST is none.
 */
static bool is_unsent(const pt_http_call *call)
{
    long sent = 0;
    if (call->body.size != 0) {
        return call->body_sent == 0;
    }
    curl_easy_getinfo(call->handle, CURLINFO_REQUEST_SIZE, &sent);
    return sent == 0;
}

/* True if the server has shown a certificate that cannot be trusted, or it cannot be known. After a
 * connection that has ended libcurl may have got it on another one. */
static bool is_untrusted(const pt_http_call *call, CURLcode result)
{
    bool untrusted = result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE;
    return untrusted && call->body_sent == 0;
}

static pt_http_outcome outcome_of_failure(const pt_http_call *call, CURLcode result)
{
    if (call->too_big) {
        return PT_HTTP_TOO_BIG;
    }
    if (result == CURLE_OUT_OF_MEMORY || call->reply.body.failed || call->reply.headers.failed) {
        return PT_HTTP_NOMEM;
    }
    if (is_untrusted(call, result)) {
        return PT_HTTP_UNTRUSTED;
    }
    if (refusal_of_proxy(call) != 0) {
        return PT_HTTP_PROXY;
    }
    return is_unsent(call) ? PT_HTTP_UNREACHABLE : PT_HTTP_LOST;
}

/* libcurl says what it was refused, but not by whom. */
static void note_refusal_of_proxy(pt_http_call *call)
{
    char *address = NULL;
    long port = 0;
    curl_easy_getinfo(call->handle, CURLINFO_PRIMARY_IP, &address);
    curl_easy_getinfo(call->handle, CURLINFO_PRIMARY_PORT, &port);
    call->reply.status = refusal_of_proxy(call);
    sqlite3_snprintf(sizeof call->proxy_problem, call->proxy_problem,
                     "the proxy %s:%ld refuses it with status %d", address, port,
                     call->reply.status);
    call->reply.problem = call->proxy_problem;
}

static void note_end(pt_http_call *call, CURLcode result)
{
    long status = 0;
    curl_easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &status);
    call->over = true;
    call->reply.arrived = pt_http_clock();
    call->reply.status = (int)status;
    call->reply.problem = call->problem[0] != 0 ? call->problem : curl_easy_strerror(result);
    if (result != CURLE_OK) {
        call->reply.outcome = outcome_of_failure(call, result);
        if (call->reply.outcome == PT_HTTP_PROXY) {
            note_refusal_of_proxy(call);
        }
    } else if (!call->headers_ended) { /* libcurl does not mind */
        call->reply.outcome = PT_HTTP_LOST;
        call->reply.problem = "the reply ends in its headers";
    }
}

/* Sends and receives what can be without waiting, and notes the calls that are over. */
static void drive(pt_http *http)
{
    int running;
    int left;
    curl_multi_perform(http->multi, &running);
    for (CURLMsg *m = curl_multi_info_read(http->multi, &left); m != NULL;
         m = curl_multi_info_read(http->multi, &left)) {
        char *context = NULL;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &context);
        note_end((pt_http_call *)(void *)context, m->data.result);
    }
}

void pt_http_drive(pt_http *http)
{
    if (http->process == getpid()) {
        drive(http);
    }
}

pt_http_call *pt_http_start(pt_http *http, const pt_http_request *request)
{
    if (!open_pool(http)) {
        return NULL;
    }
    pt_http_call *call = sqlite3_malloc64(sizeof *call);
    if (call == NULL) {
        return NULL;
    }
    *call = (pt_http_call){
        .process = http->process, .body = request->body, .reply_max = request->reply_max};
    call->handle = http->spare_count > 0 ? http->spare[--http->spare_count] : curl_easy_init();
    if (call->handle == NULL || !set_options(call, request) ||
        curl_multi_add_handle(http->multi, call->handle) != CURLM_OK) {
        pt_http_end(http, call);
        return NULL;
    }
    drive(http);
    return call;
}

/* The handle of a call of the parent process stays as it is: it belongs to the pool. */
static void release_handle(pt_http *http, pt_http_call *call)
{
    if (call->handle == NULL || call->process != getpid()) {
        return;
    }
    curl_multi_remove_handle(http->multi, call->handle);
    if (http->spare_count < SPARE_HANDLES) {
        curl_easy_reset(call->handle); /* forgets the URL and the headers, which hold secrets */
        http->spare[http->spare_count++] = call->handle;
    } else {
        curl_easy_cleanup(call->handle);
    }
}

void pt_http_end(pt_http *http, pt_http_call *call)
{
    release_handle(http, call);
    curl_slist_free_all(call->headers);
    pt_buffer_free(&call->reply.headers);
    pt_buffer_free(&call->reply.body);
    sqlite3_free(call);
}

/* --- Waiting --- */

/* Waits until something happens, at most for some time. Once it was interrupted, a statement with
 * many calls does not wait for each of them. */
static int wait_a_little(pt_http *http, int64_t milliseconds, sqlite3 *db, pt_error *error)
{
    int64_t now = pt_http_clock();
    if (now - http->checked >= POLL_MILLISECONDS) {
        int rc = pt_interruption_check(db, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        http->checked = now;
    }
    if (milliseconds > POLL_MILLISECONDS) {
        milliseconds = POLL_MILLISECONDS;
    }
    CURLMcode polled = curl_multi_poll(http->multi, NULL, 0, (int)milliseconds, NULL);
    if (polled == CURLM_OUT_OF_MEMORY) {
        return pt_error_nomem(error);
    }
    drive(http);
    return SQLITE_OK;
}

static int refuse_other_process(pt_error *error)
{
    return pt_error_set(error, SQLITE_IOERR,
                        "the process was forked while the statement ran; run the statement again");
}

int pt_http_wait(pt_http *http, pt_http_call *call, sqlite3 *db, pt_http_reply **reply,
                 pt_error *error)
{
    if (call->process != getpid()) {
        return refuse_other_process(error);
    }
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && !call->over) {
        rc = wait_a_little(http, POLL_MILLISECONDS, db, error);
    }
    if (rc == SQLITE_OK && call->reply.outcome != PT_HTTP_NOMEM) {
        /* A NUL after the body, which is not part of it. */
        pt_buffer_append_byte(&call->reply.body, 0);
        call->reply.body.size -= call->reply.body.failed ? 0 : 1;
    }
    if (rc == SQLITE_OK && (call->reply.outcome == PT_HTTP_NOMEM || call->reply.body.failed)) {
        rc = pt_error_nomem(error);
    }
    *reply = &call->reply;
    return rc;
}

bool pt_http_is_over(const pt_http_call *call)
{
    return call->over;
}

int pt_http_wait_for_any(pt_http *http, const pt_http_call *call, sqlite3 *db, pt_error *error)
{
    return call->process == getpid() ? wait_a_little(http, POLL_MILLISECONDS, db, error)
                                     : refuse_other_process(error);
}

int pt_http_pause(pt_http *http, int64_t milliseconds, sqlite3 *db, pt_error *error)
{
    if (!open_pool(http)) {
        return pt_error_nomem(error);
    }
    int64_t end = pt_http_clock() + milliseconds;
    int rc = SQLITE_OK;
    for (int64_t left = milliseconds; rc == SQLITE_OK && left > 0; left = end - pt_http_clock()) {
        rc = wait_a_little(http, left, db, error);
    }
    return rc;
}

/* --- Headers --- */

static pt_slice without_blanks(pt_slice text)
{
    while (text.size > 0 && text.data[0] <= ' ') {
        text = pt_slice_of(text.data + 1, text.size - 1);
    }
    while (text.size > 0 && text.data[text.size - 1] <= ' ') {
        text.size--;
    }
    return text;
}

bool pt_http_header(const pt_http_reply *reply, const char *name, pt_slice *value)
{
    pt_slice rest = pt_buffer_slice(&reply->headers);
    while (rest.size > 0) {
        const uint8_t *end = memchr(rest.data, '\n', rest.size);
        size_t size = end != NULL ? (size_t)(end - rest.data) + 1 : rest.size;
        const uint8_t *colon = memchr(rest.data, ':', size);
        if (colon != NULL &&
            pt_is_word(pt_slice_of(rest.data, (size_t)(colon - rest.data)), name)) {
            size_t before = (size_t)(colon - rest.data) + 1;
            *value = without_blanks(pt_slice_of(colon + 1, size - before));
            return true;
        }
        rest = pt_slice_of(rest.data + size, rest.size - size);
    }
    return false;
}
