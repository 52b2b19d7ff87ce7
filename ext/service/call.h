/*
 * One request to an account, signed, and repeated when the service could not answer.
 */
#ifndef PT_SERVICE_CALL_H
#define PT_SERVICE_CALL_H

#include "service/reply.h"
#include "service/service.h"

/* Set the first members before pt_call_send; the rest is zero before it. */
typedef struct pt_call {
    pt_service *service;
    pt_request_subject subject;
    pt_http_method method;
    pt_slice body;            /* of POST, PUT and MERGE */
    const char *content_type; /* NULL: JSON */
    const char *if_match;     /* a whole header, or NULL */
    size_t batch;             /* operations of the batch that the body is; 0: it is none */
    bool resends;             /* the caller finds out if a request has been done twice */
    int64_t timeout;          /* seconds for each attempt */
    int64_t retries;          /* attempts after the first one */
    pt_buffer path;           /* after the endpoint, encoded: /Employee() */
    pt_buffer query;          /* after the path, encoded: $top=1; may be empty */

    pt_http_call *http; /* NULL: not under way */
    int64_t attempts;
    bool in_doubt; /* an attempt changed something, or may have, without telling */
    pt_buffer url;
    pt_buffer authorization; /* the whole header */
    pt_refusal refusal;      /* of the last reply, if it reports a failure */
    char date[48];
    char client_request[64];             /* the whole header of the last attempt */
    char request[PT_REPLY_REQUEST_SIZE]; /* how the last reply's request is known; may be empty */
} pt_call;

/* Begins the first attempt. SQLITE_ERROR: there is no such account; SQLITE_NOMEM. */
int pt_call_send(pt_call *call, pt_error *error);

/*
 * Waits for the reply, with further attempts after a temporary failure. A request that changes
 * something is sent again only if it was certainly not done, or if the call resends. The reply to a
 * batch is unwrapped (service/batch_text.h). SQLITE_OK: *reply is that of the last
 * attempt, valid until the next pt_call_send or pt_call_end; it may report a failure, or may not
 * have come. SQLITE_INTERRUPT, SQLITE_NOMEM; SQLITE_ERROR if the account is gone.
 */
int pt_call_receive(pt_call *call, pt_http_reply **reply, pt_error *error);

/* Waits until something happens to this call, which is under way, or to another one, but not long.
 * Codes as pt_http_wait_for_any. */
int pt_call_wait_for_any(pt_call *call, pt_error *error);

/* True if the service has done what was asked. */
bool pt_call_has_succeeded(const pt_http_reply *reply);

/* Sets the error that a reply is: codes as pt_reply_fail. */
int pt_call_fail(const pt_call *call, const pt_http_reply *reply, pt_error *error);

/* Adds to an error about the last reply by which number its request is known. Returns the error's
 * code. */
int pt_call_name_request(const pt_call *call, pt_error *error);

/* Ends the attempt that is under way, and keeps the memory for the next pt_call_send. */
void pt_call_end(pt_call *call);
void pt_call_free(pt_call *call);

/* Writes a time as HTTP does: "Sat, 21 Nov 2026 09:00:00 GMT". */
enum { PT_HTTP_DATE_SIZE = 30 };
void pt_call_format_date(int64_t unix_seconds, char text[PT_HTTP_DATE_SIZE]);

#endif
