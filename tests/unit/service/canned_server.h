/*
 * A server on the loopback interface whose replies a test makes. It answers in a thread of its own,
 * and notes the requests that it has read.
 */
#ifndef TESTS_UNIT_SERVICE_CANNED_SERVER_H
#define TESTS_UNIT_SERVICE_CANNED_SERVER_H

#include "fixtures/cmocka.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CANNED_CONNECTIONS = 32, CANNED_REQUEST_MAX = 32768, CANNED_LOG_MAX = 262144 };

/* An answer that is none. */
#define CANNED_CLOSE ((char *)0)     /* closes the connection without a reply */
#define CANNED_SILENCE canned_silent /* never answers */
static char canned_silent[1];

/*
 * The reply to a request, from malloc: the bytes from the status line on. `number` counts from 1. A
 * reply that ends with "\r\n<cut>" is cut there, and the connection is closed.
 */
typedef char *canned_answer(const char *request, int number);

static struct {
    int port;
    int listener;
    int stop[2];
    pthread_t thread;
    pthread_mutex_t lock;
    canned_answer *answer;
    int requests;
    int sent; /* replies that the client's side has taken, or its buffers have */
    int connections;
    char log[CANNED_LOG_MAX]; /* the requests, one after the other */
    size_t logged;
    struct {
        int socket;
        size_t size;
        char request[CANNED_REQUEST_MAX];
    } open[CANNED_CONNECTIONS];
    int open_count;
} canned;

static inline char *canned_format(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    assert_true(vasprintf(&text, format, args) >= 0);
    va_end(args);
    return text;
}

/* A complete reply of the service; `headers` are lines with \r\n. */
static inline char *canned_reply(int status, const char *headers, const char *body)
{
    return canned_format("HTTP/1.1 %d Text\r\nContent-Length: %zu\r\nx-ms-version: 2019-02-02\r\n"
                         "%s\r\n%s",
                         status, strlen(body), headers, body);
}

/* A reply, perhaps a part of one, after which the connection is closed. A header says so if there
 * is one at all: else the client might send its next request just before. */
static inline char *canned_last_reply(const char *reply)
{
    const char *line_end = strstr(reply, "\r\n");
    int first = line_end != NULL ? (int)(line_end - reply) + 2 : 0;
    return canned_format("%.*s%s%s<cut>", first, reply, first != 0 ? "Connection: close\r\n" : "",
                         reply + first);
}

static inline void canned_drop(int place)
{
    close(canned.open[place].socket);
    canned.open[place] = canned.open[--canned.open_count];
}

/* The size of the whole request if it has arrived, else 0. */
static inline size_t canned_request_size(const char *request)
{
    const char *end = strstr(request, "\r\n\r\n");
    if (end == NULL) {
        return 0;
    }
    size_t size = (size_t)(end - request) + 4;
    const char *length = strstr(request, "Content-Length: ");
    size += length != NULL && length < end ? strtoul(length + 16, NULL, 10) : 0;
    return strlen(request) >= size ? size : 0;
}

static inline bool canned_send(int socket, char *reply)
{
    char *cut = strstr(reply, "<cut>");
    size_t size = cut != NULL ? (size_t)(cut - reply) : strlen(reply);
    bool sent = send(socket, reply, size, MSG_NOSIGNAL) == (ssize_t)size;
    free(reply);
    return sent && cut == NULL;
}

static inline void canned_answer_request(int place)
{
    char *request = canned.open[place].request;
    pthread_mutex_lock(&canned.lock);
    size_t size = strlen(request);
    if (canned.logged + size < CANNED_LOG_MAX) {
        memcpy(canned.log + canned.logged, request, size + 1);
        canned.logged += size;
    }
    int number = ++canned.requests;
    pthread_mutex_unlock(&canned.lock);
    char *reply = canned.answer(request, number);
    canned.open[place].size = 0;
    if (reply == CANNED_SILENCE) {
        return;
    }
    if (reply == CANNED_CLOSE || !canned_send(canned.open[place].socket, reply)) {
        canned_drop(place);
        return;
    }
    pthread_mutex_lock(&canned.lock);
    canned.sent++;
    pthread_mutex_unlock(&canned.lock);
}

static inline void canned_read(int place)
{
    char *request = canned.open[place].request;
    size_t size = canned.open[place].size;
    ssize_t got = read(canned.open[place].socket, request + size, CANNED_REQUEST_MAX - 1 - size);
    if (got <= 0) {
        canned_drop(place);
        return;
    }
    canned.open[place].size += (size_t)got;
    request[canned.open[place].size] = 0;
    if (request[0] == 0x16) { /* a client that begins with TLS */
        canned_send(canned.open[place].socket, canned_reply(400, "", "<cut>"));
        canned_drop(place);
        return;
    }
    if (canned_request_size(request) != 0) {
        canned_answer_request(place);
    }
}

/* There may be no descriptor left. */
static inline void canned_accept(void)
{
    int accepted = accept(canned.listener, NULL, NULL);
    if (accepted >= 0) {
        canned.open[canned.open_count].size = 0;
        canned.open[canned.open_count++].socket = accepted;
        pthread_mutex_lock(&canned.lock);
        canned.connections++;
        pthread_mutex_unlock(&canned.lock);
    }
}

static inline void *canned_run(void *nothing)
{
    (void)nothing;
    for (;;) {
        struct pollfd polled[CANNED_CONNECTIONS + 2] = {{canned.stop[0], POLLIN, 0},
                                                        {canned.listener, POLLIN, 0}};
        int count = canned.open_count;
        for (int i = 0; i < count; i++) {
            polled[i + 2] = (struct pollfd){canned.open[i].socket, POLLIN, 0};
        }
        poll(polled, (nfds_t)count + 2, -1);
        if (polled[0].revents != 0) {
            return NULL;
        }
        for (int i = count - 1; i >= 0; i--) {
            if (polled[i + 2].revents != 0) {
                canned_read(i);
            }
        }
        if (polled[1].revents == POLLIN && canned.open_count < CANNED_CONNECTIONS) {
            canned_accept();
        }
    }
}

static inline void canned_start(canned_answer *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    canned.answer = answer;
    canned.requests = 0;
    canned.sent = 0;
    canned.connections = 0;
    canned.logged = 0;
    canned.log[0] = 0;
    canned.open_count = 0;
    pthread_mutex_init(&canned.lock, NULL);
    canned.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(canned.listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(canned.listener, CANNED_CONNECTIONS), 0);
    assert_int_equal(getsockname(canned.listener, (struct sockaddr *)&address, &size), 0);
    canned.port = ntohs(address.sin_port);
    assert_int_equal(pipe(canned.stop), 0);
    assert_int_equal(pthread_create(&canned.thread, NULL, canned_run, NULL), 0);
}

static inline void canned_end(void)
{
    assert_int_equal(write(canned.stop[1], "x", 1), 1);
    pthread_join(canned.thread, NULL);
    while (canned.open_count > 0) {
        canned_drop(0);
    }
    close(canned.listener);
    close(canned.stop[0]);
    close(canned.stop[1]);
}

static inline int canned_requests(void)
{
    pthread_mutex_lock(&canned.lock);
    int requests = canned.requests;
    pthread_mutex_unlock(&canned.lock);
    return requests;
}

static inline int canned_sent(void)
{
    pthread_mutex_lock(&canned.lock);
    int sent = canned.sent;
    pthread_mutex_unlock(&canned.lock);
    return sent;
}

static inline int canned_connections(void)
{
    pthread_mutex_lock(&canned.lock);
    int connections = canned.connections;
    pthread_mutex_unlock(&canned.lock);
    return connections;
}

/* True if the requests so far have this text. */
static inline bool was_sent(const char *text)
{
    pthread_mutex_lock(&canned.lock);
    bool sent = strstr(canned.log, text) != NULL;
    pthread_mutex_unlock(&canned.lock);
    return sent;
}

/* The requests read so far; the counter after it begins at 0 again. */
static inline int canned_take_requests(void)
{
    pthread_mutex_lock(&canned.lock);
    int requests = canned.requests;
    canned.requests = 0;
    canned.logged = 0;
    canned.log[0] = 0;
    pthread_mutex_unlock(&canned.lock);
    return requests;
}

#endif
