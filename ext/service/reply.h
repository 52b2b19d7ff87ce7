/*
 * Turns a reply that reports a failure into an SQLite error. The service's code may be in the body,
 * as JSON or XML, or only in a header.
 */
#ifndef PT_SERVICE_REPLY_H
#define PT_SERVICE_REPLY_H

#include "base/error.h"
#include "service/account.h"
#include "service/http.h"

enum { PT_REPLY_CODE_SIZE = 64, PT_REPLY_MESSAGE_SIZE = 300, PT_REPLY_PAUSE_MAX = 64 };

typedef struct pt_refusal {
    int status;
    char code[PT_REPLY_CODE_SIZE];       /* "" if the service did not give one */
    char message[PT_REPLY_MESSAGE_SIZE]; /* its first line, shortened */
} pt_refusal;

/* Reads the refusal from a reply that came. Changes the reply's body. The reply is foreign if
 * nothing in it is the service's own. */
void pt_refusal_read(pt_http_reply *reply, pt_refusal *refusal);

/* Empties a text that repeats a secret of the request: some servers answer with what they got. */
void pt_refusal_hide_secrets(pt_refusal *refusal, const pt_account *account);

bool pt_refusal_has_code(const pt_refusal *refusal, const char *code);

/* True if the same request may succeed later: the service was busy, or could not answer. */
bool pt_reply_is_temporary(const pt_http_reply *reply);

/* True if what was asked for may be in a reply of success: a gateway's is a web page or the like.
 */
bool pt_reply_is_page(const pt_http_reply *reply);

/* The seconds for which Retry-After asks; -1 if it did not come. A pause of more than
 * PT_REPLY_PAUSE_MAX is not waited for. */
int64_t pt_reply_pause(const pt_http_reply *reply);

/* Reads the header Date, in seconds since 1970. False, without a change, if it did not come. */
bool pt_reply_date(const pt_http_reply *reply, int64_t *seconds);

/* What a request was for, in messages. */
typedef struct pt_request_subject {
    const char *account; /* its name in pt_service_account */
    const char *table;   /* NULL: a request about the account's tables */
    bool filtered;       /* it has a $filter that the statement gave */
    bool has_conditions; /* it may have conditions on properties */
} pt_request_subject;

/*
 * Sets the error for a reply that reports a failure, or that did not come:
 *
 *     SQLITE_AUTH              401, 403
 *     SQLITE_ERROR             TableNotFound, 3xx and other 4xx
 *     SQLITE_IOERR             the same, if the reply is not the service's
 *     SQLITE_CONSTRAINT_PRIMARYKEY   409
 *     SQLITE_BUSY              408, 429, 5xx, TableBeingDeleted
 *     SQLITE_TOOBIG            413, or a reply that is too long
 *     SQLITE_IOERR             no reply
 *
 * `refusal` is that of a reply that came. `changes`: the request changes something, so if there is
 * no reply it may have been done.
 */
int pt_reply_fail(const pt_http_reply *reply, const pt_refusal *refusal, const pt_account *account,
                  const pt_request_subject *subject, bool changes, pt_error *error);

/* Writes by which number the service's own logs know the request: the one that it has given, or, if
 * no reply came, the client's. Empty if it cannot have got the request. */
enum { PT_REPLY_REQUEST_SIZE = 100 };
void pt_reply_describe_request(const pt_http_reply *reply, const pt_account *account,
                               const char *client_request, char text[PT_REPLY_REQUEST_SIZE]);

#endif
