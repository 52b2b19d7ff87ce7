#include "service/reply.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <time.h>

#include "base/text.h"
#include "value/json_scan.h"

/* --- Reading --- */

static bool is_code_character(uint8_t c)
{
    return pt_is_digit(c) || pt_is_letter(c) || c == '_' || c == '-' || c == '.';
}

/* Something else than a code is left out: it would stand in messages. */
static void copy_code(pt_slice code, pt_refusal *refusal)
{
    size_t size = 0;
    while (size < code.size && size < PT_REPLY_CODE_SIZE - 1 &&
           is_code_character(code.data[size])) {
        refusal->code[size] = (char)code.data[size];
        size++;
    }
    refusal->code[size == code.size ? size : 0] = 0;
}

/* Copies the first line: after it come RequestId and Time. Control characters become blanks, and
 * so does a character that is cut. */
static void copy_message(pt_slice message, pt_refusal *refusal)
{
    size_t size = 0;
    while (size < message.size && size < PT_REPLY_MESSAGE_SIZE - 1 && message.data[size] != '\n' &&
           message.data[size] != '\r') {
        uint8_t c = message.data[size];
        refusal->message[size++] = (char)(c < ' ' || c >= 0x7F ? ' ' : c);
    }
    while (size > 0 && (refusal->message[size - 1] == ' ' || refusal->message[size - 1] == '.')) {
        size--;
    }
    refusal->message[size] = 0;
}

/* Finds a member of a JSON object, which may be part of a text. */
static bool find_json_member(pt_json_scan *scan, const char *wanted, pt_json_token *value)
{
    pt_slice name;
    while (pt_json_scan_next(scan, &name, value) == PT_JSON_MEMBER) {
        if (pt_slice_equal(name, pt_slice_text(wanted))) {
            return true;
        }
        if (value->kind == PT_JSON_NESTED) {
            return false;
        }
    }
    return false;
}

/* The scan of a nested object. */
static pt_json_scan enter_object(const pt_json_scan *outer, const pt_json_token *object)
{
    pt_json_scan inner = pt_json_scan_of(object->data, (size_t)(outer->end - object->data));
    inner.inner = true;
    return inner;
}

/* {"odata.error":{"code":"...","message":{"lang":"en-US","value":"..."}}} */
static bool read_json_refusal(pt_buffer *body, pt_refusal *refusal)
{
    pt_json_scan scan = pt_json_scan_of(body->data, body->size);
    pt_json_token token;
    if (!find_json_member(&scan, "odata.error", &token) || token.kind != PT_JSON_NESTED) {
        return false;
    }
    pt_json_scan error = enter_object(&scan, &token);
    if (find_json_member(&error, "code", &token) && token.kind == PT_JSON_STRING) {
        copy_code(pt_json_token_text(&token), refusal);
    }
    if (find_json_member(&error, "message", &token) && token.kind == PT_JSON_NESTED) {
        pt_json_scan message = enter_object(&error, &token);
        if (find_json_member(&message, "value", &token) && token.kind == PT_JSON_STRING) {
            copy_message(pt_json_token_text(&token), refusal);
        }
    }
    return true;
}

/* The text between the next > and the < after it. */
static pt_slice element_text(pt_slice rest)
{
    pt_slice text = {0};
    const uint8_t *start = memchr(rest.data, '>', rest.size);
    if (start != NULL) {
        size_t size = (size_t)(rest.data + rest.size - start);
        const uint8_t *end = memchr(start, '<', size);
        text = pt_slice_of(start + 1, end != NULL ? (size_t)(end - start - 1) : 0);
    }
    return text;
}

/* The text of the first XML element of this name, in any case, with any prefix and attributes. */
static pt_slice find_element(pt_slice xml, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 1; i + length < xml.size; i++) {
        bool begins = xml.data[i - 1] == '<' || xml.data[i - 1] == ':';
        uint8_t after = xml.data[i + length];
        if (begins && pt_is_word(pt_slice_of(xml.data + i, length), name) &&
            (after == '>' || after == ' ')) {
            return element_text(pt_slice_of(xml.data + i, xml.size - i));
        }
    }
    return pt_slice_of("", 0);
}

void pt_refusal_read(pt_http_reply *reply, pt_refusal *refusal)
{
    *refusal = (pt_refusal){.status = reply->status};
    pt_slice body = pt_buffer_slice(&reply->body);
    pt_slice xml = body;
    if (body.size > 3 && memcmp(body.data, "\xEF\xBB\xBF", 3) == 0) {
        xml = pt_slice_of(body.data + 3, body.size - 3);
    }
    if (xml.size != 0 && xml.data[0] == '<') {
        copy_code(find_element(xml, "code"), refusal);
        copy_message(find_element(xml, "message"), refusal);
    } else if (body.size != 0) {
        read_json_refusal(&reply->body, refusal);
    }
    pt_slice code;
    if (refusal->code[0] == 0 && pt_http_header(reply, "x-ms-error-code", &code)) {
        copy_code(code, refusal);
    }
}

/* True if a part of the text is a part of the secret, or all of it. */
static bool has_part_of_secret(const char *text, pt_slice secret)
{
    enum { PART = 12 };
    size_t part = secret.size < PART ? secret.size : PART;
    size_t size = strlen(text);
    bool found = false;
    for (size_t i = 0; !found && part > 0 && i + part <= size; i++) {
        found = memmem(secret.data, secret.size, text + i, part) != NULL;
    }
    return found;
}

/* A signature proves the request that it belongs to, so that others could repeat the request. */
static bool shows_secret(const char *text, const pt_account *account)
{
    return strcasestr(text, "sig=") != NULL || strcasestr(text, "sig%3d") != NULL ||
           strcasestr(text, "SharedKey") != NULL ||
           has_part_of_secret(text, pt_slice_of(account->secret, account->secret_size));
}

void pt_refusal_hide_secrets(pt_refusal *refusal, const pt_account *account)
{
    if (shows_secret(refusal->message, account)) {
        refusal->message[0] = 0;
    }
    if (shows_secret(refusal->code, account)) {
        refusal->code[0] = 0;
    }
}

bool pt_refusal_has_code(const pt_refusal *refusal, const char *code)
{
    return strcmp(refusal->code, code) == 0;
}

bool pt_reply_is_temporary(const pt_http_reply *reply)
{
    int status = reply->status;
    if (reply->outcome != PT_HTTP_REPLIED) {
        return reply->outcome == PT_HTTP_UNREACHABLE || reply->outcome == PT_HTTP_LOST;
    }
    return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

/* --- Errors --- */

bool pt_reply_date(const pt_http_reply *reply, int64_t *seconds)
{
    pt_slice date;
    char text[64];
    if (!pt_http_header(reply, "Date", &date) || date.size >= sizeof text) {
        return false;
    }
    memcpy(text, date.data, date.size);
    text[date.size] = 0;
    const int64_t end_of_9999 = INT64_C(253402300800);
    int64_t theirs = curl_getdate(text, NULL);
    bool sensible = theirs >= 0 && theirs < end_of_9999;
    if (sensible) {
        *seconds = theirs;
    }
    return sensible;
}

/* Minutes that this machine's clock is ahead of the service's. */
static long clock_difference(const pt_http_reply *reply)
{
    int64_t theirs;
    return pt_reply_date(reply, &theirs) ? (long)((time(NULL) - theirs) / 60) : 0;
}

static const char *credential_advice(const pt_account *account)
{
    switch (account->credential) {
    case PT_CREDENTIAL_SAS:
        return "check the rights, the table and the times of the shared access signature";
    case PT_CREDENTIAL_TOKEN:
        return "the token may be over: give a new one with pt_service_account, and check the roles "
               "of its owner";
    case PT_CREDENTIAL_KEY:
    default:
        return "check the AccountName and AccountKey given to pt_service_account";
    }
}

typedef struct failure {
    const pt_refusal *refusal;
    const pt_account *account;
    const pt_request_subject *subject;
    pt_error *error;
} failure;

/* Sets "account 'hr': <text>; <advice> (<code>)". */
static int fail_with(const failure *f, int rc, const char *text, const char *advice)
{
    char status[16];
    sqlite3_snprintf(sizeof status, status, "%d", f->refusal->status);
    const char *code = f->refusal->code[0] != 0 ? f->refusal->code : status;
    const char *table = f->subject->table;
    return pt_error_set(f->error, rc, "account %Q%s%s%s: %s; %s (%s)", f->subject->account,
                        table != NULL ? ", table '" : "", table != NULL ? table : "",
                        table != NULL ? "'" : "", text, advice, code);
}

static const char *text_of(const pt_refusal *refusal, const char *otherwise)
{
    return refusal->message[0] != 0 ? refusal->message : otherwise;
}

static int fail_authorization(const failure *f, const pt_http_reply *reply)
{
    enum { MINUTES_ALLOWED = 14 };
    long ahead = clock_difference(reply);
    const char *text = text_of(f->refusal, "the service refuses the request");
    if (f->account->credential == PT_CREDENTIAL_KEY && labs(ahead) > MINUTES_ALLOWED) {
        char advice[100];
        sqlite3_snprintf(sizeof advice, advice,
                         "this machine's clock is %lld minutes %s that of the service: set it",
                         (long long)labs(ahead), ahead > 0 ? "ahead of" : "behind");
        return fail_with(f, SQLITE_AUTH, text, advice);
    }
    return fail_with(f, SQLITE_AUTH, text, credential_advice(f->account));
}

static int fail_not_found(const failure *f)
{
    if (pt_refusal_has_code(f->refusal, "TableNotFound") ||
        pt_refusal_has_code(f->refusal, "ResourceNotFound")) {
        return fail_with(
            f, SQLITE_ERROR, "there is no such table",
            "INSERT INTO pt_service_tables(Account, TableName) creates one, and SELECT "
            "* FROM pt_service_tables lists them (upper and lower case may matter)");
    }
    return fail_with(f, SQLITE_ERROR, text_of(f->refusal, "there is no such resource"),
                     "check the endpoint of the account: SELECT * FROM pt_service_accounts");
}

/* For a refusal whose reason is none of those that fail_refused tells apart. */
static const char *advice_about(const pt_request_subject *subject)
{
    if (subject->filtered) {
        return "check the Filter: the service judges it, and not all services take the same "
               "constants";
    }
    return subject->has_conditions
               ? "check the endpoint and the name of the table, or create it with push=keys, so "
                 "that no conditions on properties are sent"
               : "check the endpoint and the name of the table";
}

static int fail_refused(const failure *f, const pt_http_reply *reply)
{
    int status = f->refusal->status;
    if (status == 401 || status == 403) {
        return fail_authorization(f, reply);
    }
    if (status == 404) {
        return fail_not_found(f);
    }
    if (pt_refusal_has_code(f->refusal, "TableBeingDeleted")) {
        return fail_with(f, SQLITE_BUSY, "the table is being deleted",
                         "try again in a minute, or use another name");
    }
    if (status == 409) {
        return fail_with(f, SQLITE_CONSTRAINT_PRIMARYKEY,
                         text_of(f->refusal, "there is one already"), "use another name");
    }
    if (status == 413) {
        return fail_with(f, SQLITE_TOOBIG, "the request is too long for the service",
                         "compare with fewer or shorter values");
    }
    if (pt_reply_is_temporary(reply)) {
        return fail_with(f, SQLITE_BUSY, text_of(f->refusal, "the service is busy"),
                         "try again later, or raise the option retries");
    }
    if (status < 400) {
        return fail_with(f, SQLITE_ERROR, "the service answers with a redirection",
                         "give the address that it names as TableEndpoint");
    }
    return fail_with(f, SQLITE_ERROR, text_of(f->refusal, "the service refuses the request"),
                     advice_about(f->subject));
}

/* The request was not sent, so that nothing was shown to whoever answers there. */
static int fail_trust(const pt_http_reply *reply, const pt_account *account, const char *name,
                      pt_error *error)
{
    return pt_error_set(error, SQLITE_IOERR,
                        "account %Q: the certificate of %s is not trusted: %s; check the endpoint "
                        "and this machine's clock, or name a file with the certificate of its "
                        "authority in the environment variable SSL_CERT_FILE",
                        name, account->endpoint, reply->problem);
}

/* libcurl's words may name a proxy with its password. */
static const char *safe_problem(const pt_http_reply *reply)
{
    bool secret = strchr(reply->problem, '@') != NULL || strstr(reply->problem, "sig=") != NULL;
    return secret ? "no connection" : reply->problem;
}

int pt_reply_fail(const pt_http_reply *reply, const pt_refusal *refusal, const pt_account *account,
                  const pt_request_subject *subject, bool changes, pt_error *error)
{
    switch (reply->outcome) {
    case PT_HTTP_UNREACHABLE:
        return pt_error_set(error, SQLITE_IOERR,
                            "account %Q: no connection to %s: %s; check the endpoint and the "
                            "network (SELECT * FROM pt_service_accounts)",
                            subject->account, account->endpoint, safe_problem(reply));
    case PT_HTTP_UNTRUSTED:
        return fail_trust(reply, account, subject->account, error);
    case PT_HTTP_LOST:
        return pt_error_set(error, SQLITE_IOERR, "account %Q: no reply from %s: %s; %s",
                            subject->account, account->endpoint, safe_problem(reply),
                            changes ? "the change may have been applied: look before you repeat it"
                                    : "run the statement again, or raise the option timeout");
    case PT_HTTP_TOO_BIG:
        return pt_error_set(error, SQLITE_TOOBIG,
                            "account %Q: the reply from %s is longer than a page of the Table "
                            "service can be; check the endpoint",
                            subject->account, account->endpoint);
    case PT_HTTP_NOMEM:
        return pt_error_nomem(error);
    case PT_HTTP_REPLIED:
    default:
        break;
    }
    failure f = {.refusal = refusal, .account = account, .subject = subject, .error = error};
    return fail_refused(&f, reply);
}
