/*
 * The types and helpers that the files of the small Table service share. Its entities are in
 * ptables of one database. It performs one request at a time. It ends with a message if it runs out
 * of memory or meets an error that a test should see.
 */
#ifndef TESTS_SERVICE_SERVICE_H
#define TESTS_SERVICE_SERVICE_H

#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/text.h"

enum {
    BODY_MAX = 4 << 20, /* bytes of a request's body */
    PAGE_MAX = 1000,    /* entities of a page */
    HEADERS_MAX = 64,   /* headers of a request */
    STATUS_OK = 200,
    STATUS_CREATED = 201,
    STATUS_ACCEPTED = 202,
    STATUS_NO_CONTENT = 204,
    STATUS_FOUND = 302,
    STATUS_BAD = 400,
    STATUS_FORBIDDEN = 403,
    STATUS_MISSING = 404,
    STATUS_CONFLICT = 409,
    STATUS_PRECONDITION = 412,
    STATUS_TOO_LARGE = 413,
    STATUS_MEDIA_TYPE = 415,
    STATUS_THROTTLED = 429,
    STATUS_LONG_HEADER = 431,
    STATUS_INTERNAL = 500,
    STATUS_NOT_IMPLEMENTED = 501,
    STATUS_GATEWAY = 502,
    STATUS_BUSY = 503,
};

/* In which of their ways the service and its emulator answer, where these differ. */
typedef enum dialect { AZURE, AZURITE } dialect;

/* How an error is written; the dialect's own way is to choose by the request. */
typedef enum error_form { ERROR_OWN, ERROR_JSON, ERROR_XML, ERROR_HEADER } error_form;

/* What a shared access signature of a table allows. */
typedef struct grant {
    const char *rights; /* NULL: the request may do everything */
    const char *table;
    const char *start[2]; /* keys; NULL: no bound */
    const char *end[2];
} grant;

typedef struct service {
    sqlite3 *db;
    dialect dialect;
    error_form error_form;
    const char *account;
    const char *key; /* of the account, in base64 */
    uint64_t seed;   /* pages are cut at random; 0: they are not */
    int64_t rows;    /* at most so many entities in a page */
    grant granted;   /* to the request that is performed */
} service;

typedef struct header {
    pt_slice name;
    pt_slice value;
} header;

/* A request, or an operation of a batch. Everything is in `memory`. */
typedef struct request {
    pt_arena *memory;
    pt_slice method;
    pt_slice target; /* as sent: path and query */
    header headers[HEADERS_MAX];
    size_t header_count;
    pt_slice body;
    bool in_batch;
} request;

typedef struct reply {
    int status;
    const char *code; /* of an error; "" if it has none */
    bool is_foreign;  /* as of a gateway before the service */
    pt_buffer headers;
    pt_buffer body;
} reply;

/* Ends the process with a message. */
_Noreturn void give_up(const char *place, const char *message);

/* Ends the process if the buffer has run out of memory. */
void check_buffer(const pt_buffer *buffer);

/* Bytes of the request's memory; text as printf makes it. Never NULL. */
void *request_alloc(request *asked, size_t size);
char *request_text(request *asked, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *request_copy(request *asked, pt_slice text);

/* The next number of the service's seed. */
uint64_t service_random(service *served);

static inline bool slice_is(pt_slice text, const char *other)
{
    return pt_slice_equal(text, pt_slice_text(other));
}

/* The value of a header, the case of whose name does not count. Its data is NULL if it is not
 * there. */
pt_slice request_header(const request *asked, const char *name);

void reply_header(reply *given, const char *name, const char *value);

/* Makes the reply one of success, with JSON as its body, or without one. */
void reply_json(reply *given, const request *asked, int status);
void reply_empty(reply *given, int status);

void reply_clear(reply *given);
void reply_free(reply *given);

#endif
