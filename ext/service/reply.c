#include "service/reply.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <time.h>

#include "base/number.h"
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

/* The body without a byte order mark and blanks before it. */
static pt_slice find_text(const pt_http_reply *reply)
{
    pt_slice text = pt_buffer_slice(&reply->body);
    if (text.size > 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0) {
        text = pt_slice_of(text.data + 3, text.size - 3);
    }
    while (text.size != 0 && text.data[0] <= ' ') {
        text = pt_slice_of(text.data + 1, text.size - 1);
    }
    return text;
}

static bool has_header_of_service(const pt_http_reply *reply)
{
    pt_slice value;
    return pt_http_header(reply, "x-ms-request-id", &value) ||
           pt_http_header(reply, "x-ms-version", &value) ||
           pt_http_header(reply, "x-ms-error-code", &value);
}

bool pt_reply_is_page(const pt_http_reply *reply)
{
    pt_slice text = find_text(reply);
    return (text.size != 0 && text.data[0] == '{') || has_header_of_service(reply);
}

static bool begins_with_word(pt_slice text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && pt_is_word(pt_slice_of(text.data, size), word);
}

void pt_refusal_read(pt_http_reply *reply, pt_refusal *refusal)
{
    *refusal = (pt_refusal){.status = reply->status};
    pt_slice text = find_text(reply);
    pt_slice header;
    bool html = begins_with_word(text, "<html") || begins_with_word(text, "<!doctype html");
    bool read = false;
    if (text.size != 0 && text.data[0] == '<' && !html) {
        copy_code(find_element(text, "code"), refusal);
        copy_message(find_element(text, "message"), refusal);
        read = refusal->code[0] != 0;
    } else if (text.size != 0 && !html) {
        read = read_json_refusal(&reply->body, refusal);
    }
    if (refusal->code[0] == 0 && pt_http_header(reply, "x-ms-error-code", &header)) {
        copy_code(header, refusal);
    }
    reply->foreign = !read && !has_header_of_service(reply);
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
    if (reply->outcome != PT_HTTP_REPLIED && reply->outcome != PT_HTTP_PROXY) {
        return reply->outcome == PT_HTTP_UNREACHABLE || reply->outcome == PT_HTTP_LOST;
    }
    return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

/* --- Errors --- */

/* A header with a date of HTTP, in seconds since 1970. */
static bool read_date(const pt_http_reply *reply, const char *name, int64_t *seconds)
{
    pt_slice date;
    char text[64];
    if (!pt_http_header(reply, name, &date) || date.size >= sizeof text) {
        return false;
    }
    memcpy(text, date.data, date.size);
    text[date.size] = 0;
    const int64_t end_of_9999 = INT64_C(253402300800);
    int64_t read = curl_getdate(text, NULL);
    bool sensible = read >= 0 && read < end_of_9999;
    if (sensible) {
        *seconds = read;
    }
    return sensible;
}

bool pt_reply_date(const pt_http_reply *reply, int64_t *seconds)
{
    return read_date(reply, "Date", seconds);
}

int64_t pt_reply_pause(const pt_http_reply *reply)
{
    static const char name[] = "Retry-After";
    pt_slice header;
    int64_t seconds = -1;
    if (reply->outcome != PT_HTTP_REPLIED || !pt_http_header(reply, name, &header)) {
        return -1;
    }
    if (!pt_integer_parse(header, &seconds) && read_date(reply, name, &seconds)) {
        int64_t now = time(NULL);
        seconds = seconds > now ? seconds - now : 0;
    }
    return seconds >= 0 ? seconds : -1;
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

/* Copies a header, up to one of the characters `end`, so that it can stand in a message. Empties it
 * if it repeats a secret. */
static void copy_header(const failure *f, const pt_http_reply *reply, const char *name,
                        const char *end, char *text, size_t room)
{
    pt_slice header = {0};
    size_t size = 0;
    pt_http_header(reply, name, &header);
    while (size < header.size && size + 1 < room && strchr(end, header.data[size]) == NULL) {
        uint8_t c = header.data[size];
        text[size++] = (char)(c < ' ' || c >= 0x7F ? ' ' : c);
    }
    text[size] = 0;
    if (strchr(text, '@') != NULL || shows_secret(text, f->account)) {
        text[0] = 0;
    }
}

/* The address without its query, which may hold what the request had in its own. */
static int fail_redirected(const failure *f, const pt_http_reply *reply)
{
    char address[200];
    char text[300];
    copy_header(f, reply, "Location", "?#", address, sizeof address);
    sqlite3_snprintf(sizeof text, text, "the reply is a redirection to %s, which is not followed",
                     address[0] != 0 ? address : "an address that is not shown");
    return fail_with(f, SQLITE_ERROR, text,
                     "give that address as TableEndpoint if the account is there, else check "
                     "proxies and gateways on the way to the service");
}

/* A long pause is told, not waited for. */
static const char *advice_to_wait(const pt_http_reply *reply, const char *otherwise, char text[100])
{
    int64_t pause = pt_reply_pause(reply);
    if (pause <= PT_REPLY_PAUSE_MAX) {
        return otherwise;
    }
    sqlite3_snprintf(100, text, "it asks for a pause of %lld seconds, so try again after that",
                     (long long)pause);
    return text;
}

static int fail_foreign(const failure *f, const pt_http_reply *reply)
{
    char server[60];
    char text[200];
    char wait[100];
    copy_header(f, reply, "Server", "", server, sizeof server);
    sqlite3_snprintf(sizeof text, text,
                     "the reply is not that of a Table service: status %d of %s%s%s", reply->status,
                     server[0] != 0 ? "the server '" : "a server without name", server,
                     server[0] != 0 ? "'" : "");
    return fail_with(f, pt_reply_is_temporary(reply) ? SQLITE_BUSY : SQLITE_IOERR, text,
                     advice_to_wait(reply,
                                    "check the endpoint, and proxies and gateways on the way there",
                                    wait));
}

static int fail_temporarily(const failure *f, const pt_http_reply *reply)
{
    int status = f->refusal->status;
    char wait[100];
    const char *text = status == 429 || status == 503 ? "the service is busy"
                       : status == 408                ? "the request came too slowly"
                                                      : "the service has failed";
    return fail_with(f, SQLITE_BUSY, text_of(f->refusal, text),
                     advice_to_wait(reply, "try again later, or raise the option retries", wait));
}

static int fail_refused(const failure *f, const pt_http_reply *reply)
{
    int status = f->refusal->status;
    pt_slice location;
    if (status / 100 == 3 && pt_http_header(reply, "Location", &location)) {
        return fail_redirected(f, reply);
    }
    if (reply->foreign) {
        return fail_foreign(f, reply);
    }
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
        return fail_temporarily(f, reply);
    }
    return fail_with(f, SQLITE_ERROR, text_of(f->refusal, "the service refuses the request"),
                     advice_about(f->subject));
}

/* The request was not sent, so that nothing was shown to whoever answers there. */
static int fail_trust(const pt_http_reply *reply, const pt_account *account, const char *name,
                      pt_error *error)
{
    const char *variable;
    const char *file = pt_http_authorities(&variable);
    return pt_error_set(error, SQLITE_IOERR,
                        "account %Q: the certificate of %s is not trusted: %s; check the endpoint "
                        "and this machine's clock, or %s the certificate of its authority %s the "
                        "environment variable %s",
                        name, account->endpoint, reply->problem,
                        file != NULL ? "add" : "name a file with",
                        file != NULL ? "to the file in" : "in", variable);
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
    case PT_HTTP_PROXY:
        return pt_error_set(error, SQLITE_IOERR,
                            "account %Q: no connection to %s: %s; check https_proxy in the "
                            "environment, its user and password, or name the host in no_proxy",
                            subject->account, account->endpoint, reply->problem);
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

void pt_reply_describe_request(const pt_http_reply *reply, const pt_account *account,
                               const char *client_request, char text[PT_REPLY_REQUEST_SIZE])
{
    enum { REQUEST_ID_MAX = 64 };
    pt_slice id = {0};
    char number[REQUEST_ID_MAX + 1] = "";
    bool lost = reply->outcome == PT_HTTP_LOST || reply->outcome == PT_HTTP_TOO_BIG;
    bool told = reply->outcome == PT_HTTP_REPLIED &&
                pt_http_header(reply, "x-ms-request-id", &id) && id.size <= REQUEST_ID_MAX;
    for (size_t i = 0; told && i < id.size; i++) {
        number[i] = (char)id.data[i];
        told = pt_is_digit(id.data[i]) || pt_is_letter(id.data[i]) || id.data[i] == '-';
    }
    text[0] = 0;
    if (told && id.size != 0 && !shows_secret(number, account)) {
        sqlite3_snprintf(PT_REPLY_REQUEST_SIZE, text, "request %s", number);
    } else if (lost) {
        sqlite3_snprintf(PT_REPLY_REQUEST_SIZE, text, "client request %s", client_request);
    }
}
