/*
 * HTTP requests by libcurl. The connections to servers are kept for later requests: one pool for
 * each SQLite connection, used by one thread at a time. Several requests can be under way at once.
 *
 * libcurl repeats a request by itself if a kept connection ends before the reply begins. For GET
 * that does no harm. A request that changes something must not be done twice: one with a body gives
 * it in a way that cannot be rewound, and DELETE takes a connection of its own.
 */
#ifndef PT_SERVICE_HTTP_H
#define PT_SERVICE_HTTP_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/sqlite.h"

typedef struct pt_http pt_http;
typedef struct pt_http_call pt_http_call;

typedef enum pt_http_method {
    PT_HTTP_GET,
    PT_HTTP_POST,
    PT_HTTP_PUT,
    PT_HTTP_MERGE,
    PT_HTTP_DELETE,
} pt_http_method;

/* The texts must last until the call has ended. */
typedef struct pt_http_request {
    pt_http_method method;
    const char *url;
    const char *const *headers; /* "Name: value", ended by NULL */
    pt_slice body;              /* of POST, PUT and MERGE */
    long timeout;               /* seconds until the reply is complete */
    size_t reply_max;           /* bytes of its body at most */
    bool plain;                 /* http instead of https */
    bool loopback;              /* never by a proxy */
} pt_http_request;

typedef enum pt_http_outcome {
    PT_HTTP_REPLIED,     /* `status` is set */
    PT_HTTP_UNREACHABLE, /* the request was not sent: no connection, or no TLS session */
    PT_HTTP_UNTRUSTED,   /* it was not sent: the server's certificate cannot be trusted */
    PT_HTTP_PROXY,       /* it was not sent: a proxy refuses the connection, with `status` */
    PT_HTTP_LOST,        /* it may have been sent, and no complete reply came */
    PT_HTTP_TOO_BIG,     /* the reply is longer than reply_max */
    PT_HTTP_NOMEM,
} pt_http_outcome;

typedef struct pt_http_reply {
    pt_http_outcome outcome;
    int status;
    bool foreign;        /* a gateway's, it seems: pt_refusal_read sets it */
    int64_t arrived;     /* when the call was over, by pt_http_clock */
    pt_buffer headers;   /* of the last reply, as they came */
    pt_buffer body;      /* a NUL follows */
    const char *problem; /* if there is no reply: the reason in libcurl's words */
} pt_http_reply;

/* The file of certificate authorities that counts beside those of the system; NULL if none is
 * named. *variable is that of the environment which names it, or could. */
const char *pt_http_authorities(const char **variable);

/* NULL when out of memory. Sends nothing. */
pt_http *pt_http_new(void);

/* Closes the kept connections, unless they belong to the process that this one was forked from. No
 * call may be left. NULL is allowed. */
void pt_http_free(pt_http *http);

/* Begins a request. NULL when out of memory. */
pt_http_call *pt_http_start(pt_http *http, const pt_http_request *request);

/*
 * Waits until the call is over. SQLITE_OK: its reply is set, and valid until pt_http_end.
 * SQLITE_INTERRUPT if the statement of `db` is to stop; SQLITE_NOMEM.
 */
int pt_http_wait(pt_http *http, pt_http_call *call, sqlite3 *db, pt_http_reply **reply,
                 pt_error *error);

/* True if the call's reply is there, or will not come. */
bool pt_http_is_over(const pt_http_call *call);

/* Waits until something happens to any call, but not long. `call` is one that is under way. Codes
 * as pt_http_wait; SQLITE_IOERR in another process. */
int pt_http_wait_for_any(pt_http *http, const pt_http_call *call, sqlite3 *db, pt_error *error);

/* Sends and receives what can be without waiting, if a call is under way. Replies come in only
 * while somebody does. */
void pt_http_drive(pt_http *http);

/* Milliseconds of a clock that nobody sets. */
int64_t pt_http_clock(void);

/* Waits for some time, while other calls go on. Codes as pt_http_wait. */
int pt_http_pause(pt_http *http, int64_t milliseconds, sqlite3 *db, pt_error *error);

/* Ends a call, over or not. */
void pt_http_end(pt_http *http, pt_http_call *call);

/* The value of a header without blanks around it. False if it did not come; it may be empty. */
bool pt_http_header(const pt_http_reply *reply, const char *name, pt_slice *value);

#endif
