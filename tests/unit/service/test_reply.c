#include "fixtures/cmocka.h"

#include <stdlib.h>
#include <time.h>

#include "base/sqlite.h"
#include "service/call.h"
#include "service/reply.h"

#define JSON(code, text)                                                                           \
    "{\"odata.error\":{\"code\":\"" code "\",\"message\":{\"lang\":\"en-US\",\"value\":\"" text    \
    "\\nRequestId:1\\nTime:2\"}}}"

static pt_http_reply reply;
static pt_refusal refusal;

static void make_foreign_reply(int status, const char *headers, const char *body)
{
    pt_buffer_free(&reply.headers);
    pt_buffer_free(&reply.body);
    reply = (pt_http_reply){.outcome = PT_HTTP_REPLIED, .status = status};
    pt_buffer_append_text(&reply.headers, headers);
    pt_buffer_append_text(&reply.body, body);
}

static void make_reply(int status, const char *headers, const char *body)
{
    char *longer = sqlite3_mprintf("x-ms-version: 2019-02-02\r\n%s", headers);
    make_foreign_reply(status, longer, body);
    sqlite3_free(longer);
}

static void expect_refusal(const char *code, const char *message)
{
    pt_refusal_read(&reply, &refusal);
    assert_string_equal(refusal.code, code);
    assert_string_equal(refusal.message, message);
}

static const struct {
    const char *headers;
    const char *body;
    const char *code;
    const char *message;
} refusals[] = {
    {"x-ms-error-code: Other\r\n", JSON("TableNotFound", "It is not there."), "TableNotFound",
     "It is not there"},
    {"",
     "\xEF\xBB\xBF<?xml version=\"1.0\"?><Error><Code>AuthenticationFailed</Code>"
     "<Message>Server failed.\nRequestId</Message></Error>",
     "AuthenticationFailed", "Server failed"},
    {"",
     "<?xml version=\"1.0\"?><m:error xmlns:m=\"x\"><m:code>ResourceNotFound</m:code>"
     "<m:message xml:lang=\"en-US\">Gone</m:message></m:error>",
     "ResourceNotFound", "Gone"},
    {"X-Ms-Error-Code: TableAlreadyExists\r\n", "", "TableAlreadyExists", ""},
    {"x-ms-error-code: Bad\r\n", "{\"odata.error\":{\"code\":\"\"}}", "Bad", ""},
    {"", "<html><body>Proxy</body></html>", "", ""},
    {"", "{\"odata.error\":{\"code\":\"\xC3\xA9\",\"message\":[]}}", "", ""},
    {"x-ms-error-code: A_b-9.\r\n", "<code>\x1B[31m</code>", "A_b-9.", ""},
    {"x-ms-error-code: {a}\r\n", "{\"odata.error\":{\"code\":\"A\\u0000\"}}", "", ""},
    {"", "{\"odata.error\":{\"x\":5}}", "", ""},
    {"", "{\"odata.error\":5}", "", ""},
    {"", "{\"odata.error\":{\"code\":5,\"message\":5}}", "", ""},
    {"", "{\"a\":{},\"odata.error\":{}}", "", ""},
    {"", "{\"odata.error\":{\"code\":\"A\",\"message\":{\"lang\":\"x\"}}}", "A", ""},
    {"", "{\"odata.error\":{\"code\":\"A\",\"message\":{\"value\":5}}}", "A", ""},
    {"", "<Code a=\"b\"", "", ""},
    {"", "<Code", "", ""},
    {"", "<Code>", "", ""},
};

static void codes_are_found_wherever_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        make_reply(400, refusals[i].headers, refusals[i].body);
        expect_refusal(refusals[i].code, refusals[i].message);
    }
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[400];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    char *xml =
        sqlite3_mprintf("<e><codes>a</codes><code>%s</code><message>a\r\nb</message></e>", text);
    make_reply(400, "x-ms-error-code: Short\r\n", xml);
    expect_refusal("Short", "a");
    sqlite3_free(xml);
    xml = sqlite3_mprintf("<message>%s \xC3\xA9\t. </message>", text + 120);
    make_reply(400, "", xml);
    assert_int_equal(strlen(text + 120), 279);
    expect_refusal("", text + 120);
    sqlite3_free(xml);
    xml = sqlite3_mprintf("<message>%s</message>", text);
    make_reply(400, "", xml);
    text[PT_REPLY_MESSAGE_SIZE - 1] = 0;
    expect_refusal("", text);
    sqlite3_free(xml);
}

/* A server or proxy may answer with the request that it got. */
static void secrets_are_left_out(void **state)
{
    (void)state;
    char secret[] = "sv=2019-02-02&sig=0123456789abcdef";
    char token[] = "eyJ0eXAiOiJKV1QiLCJhbGciOi";
    char small[] = "t0k3n";
    const pt_account signed_by_sas = {.secret = secret, .secret_size = strlen(secret)};
    const pt_account by_token = {.secret = token, .secret_size = strlen(token)};
    const pt_account by_small = {.secret = small, .secret_size = strlen(small)};
    const pt_account without = {.secret = NULL};
    const struct {
        const pt_account *account;
        const char *code;
        const char *message;
        bool code_stays;
        bool message_stays;
    } cases[] = {
        {&signed_by_sas, "NotFound", "No /T()?sv=2019-02-02&SIG=0123 here", true, false},
        {&signed_by_sas, "NotFound", "No sv%3D2019-02-02%26sig%3D0123", true, false},
        {&signed_by_sas, "0123456789ab", "No 0123456789abcdef", false, false},
        {&signed_by_sas, "NotFound", "No signature", true, true},
        {&by_token, "eyJ0eXAiOiJKV1QiLCJ", "Bearer eyJ0eXAiOiJKV1QiLCJhbGciOi", false, false},
        {&by_token, "NotFound", "The token J0eXAiOiJKV1 was shortened", true, false},
        {&by_token, "NotFound", "The token is over", true, true},
        {&by_small, "xt0k3n", "t0k3n", false, false},
        {&by_small, "t0k3", "NotFound", true, true},
        {&without, "Bad", "Authorization: sharedkeylite hr:AbCd=", true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pt_refusal shown = {.status = 400};
        strcpy(shown.code, cases[i].code);
        strcpy(shown.message, cases[i].message);
        pt_refusal_hide_secrets(&shown, cases[i].account);
        assert_string_equal(shown.code, cases[i].code_stays ? cases[i].code : "");
        assert_string_equal(shown.message, cases[i].message_stays ? cases[i].message : "");
    }
}

static void some_failures_are_temporary(void **state)
{
    (void)state;
    static const int temporary[] = {408, 429, 500, 502, 503, 504};
    static const int lasting[] = {200, 301, 400, 403, 404, 409, 412, 501, 505};
    for (size_t i = 0; i < sizeof temporary / sizeof temporary[0]; i++) {
        make_reply(temporary[i], "", "");
        assert_true(pt_reply_is_temporary(&reply));
    }
    for (size_t i = 0; i < sizeof lasting / sizeof lasting[0]; i++) {
        make_reply(lasting[i], "", "");
        assert_false(pt_reply_is_temporary(&reply));
    }
    reply.outcome = PT_HTTP_UNREACHABLE;
    assert_true(pt_reply_is_temporary(&reply));
    reply.outcome = PT_HTTP_UNTRUSTED;
    assert_false(pt_reply_is_temporary(&reply));
    reply.outcome = PT_HTTP_TOO_BIG;
    assert_false(pt_reply_is_temporary(&reply));
    make_reply(407, "", "");
    reply.outcome = PT_HTTP_PROXY;
    assert_false(pt_reply_is_temporary(&reply));
    reply.status = 503;
    assert_true(pt_reply_is_temporary(&reply));
}

static char endpoint[] = "https://hr.table.core.windows.net";
static pt_account account = {.endpoint = endpoint};
static const pt_request_subject subject = {.account = "hr", .table = "Employee"};

static void expect_error(int rc, const char *message)
{
    pt_error error = PT_ERROR_NONE;
    pt_refusal_read(&reply, &refusal);
    assert_int_equal(pt_reply_fail(&reply, &refusal, &account, &subject, true, &error), rc);
    assert_string_equal(error.message, message);
    pt_error_clear(&error);
}

#define SUBJECT "account 'hr', table 'Employee': "

static void refusals_become_errors(void **state)
{
    (void)state;
    make_reply(404, "", JSON("TableNotFound", "The table specified does not exist."));
    expect_error(SQLITE_ERROR,
                 SUBJECT "there is no such table; INSERT INTO pt_service_tables(Account, "
                         "TableName) creates one, and SELECT * FROM pt_service_tables lists them "
                         "(upper and lower case may matter) (TableNotFound)");
    make_reply(409, "", JSON("TableBeingDeleted", "x"));
    expect_error(SQLITE_BUSY, SUBJECT "the table is being deleted; try again in a minute, or use "
                                      "another name (TableBeingDeleted)");
    make_reply(409, "", JSON("TableAlreadyExists", "The table specified already exists."));
    expect_error(SQLITE_CONSTRAINT_PRIMARYKEY, SUBJECT
                 "The table specified already exists; use another name (TableAlreadyExists)");
    make_reply(503, "", "");
    expect_error(SQLITE_BUSY,
                 SUBJECT "the service is busy; try again later, or raise the option retries (503)");
    make_reply(500, "", "");
    expect_error(SQLITE_BUSY, SUBJECT
                 "the service has failed; try again later, or raise the option retries (500)");
    make_reply(408, "", "");
    expect_error(SQLITE_BUSY, SUBJECT "the request came too slowly; try again later, or raise the "
                                      "option retries (408)");
    make_reply(400, "", JSON("InvalidInput", "One of the request inputs is not valid."));
    expect_error(SQLITE_ERROR, SUBJECT "One of the request inputs is not valid; check the endpoint "
                                       "and the name of the table (InvalidInput)");
    make_reply(413, "", "");
    expect_error(SQLITE_TOOBIG, SUBJECT "the request is too long for the service; compare with "
                                        "fewer or shorter values (413)");
    make_reply(404, "", "");
    expect_error(SQLITE_ERROR, SUBJECT "there is no such resource; check the endpoint of the "
                                       "account: SELECT * FROM pt_service_accounts (404)");
}

#define REDIRECTED                                                                                 \
    "give that address as TableEndpoint if the account is there, else check proxies and gateways " \
    "on the way to the service "

static void a_redirection_names_the_address(void **state)
{
    (void)state;
    static const char *const hidden[] = {"Location: \r\n",
                                         "Location: https://user:secret@there/\r\n",
                                         "Location: https://there/back/sig=c2VjcmV0\r\n"};
    make_reply(307, "Location: https://there.example/hr?sig=c2VjcmV0#x\r\n", "");
    expect_error(SQLITE_ERROR, SUBJECT "the reply is a redirection to https://there.example/hr, "
                                       "which is not followed; " REDIRECTED "(307)");
    make_foreign_reply(302, "Location: http://login/\r\n", "<html>");
    expect_error(SQLITE_ERROR, SUBJECT "the reply is a redirection to http://login/, which "
                                       "is not followed; " REDIRECTED "(302)");
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        make_reply(307, hidden[i], "");
        expect_error(SQLITE_ERROR,
                     SUBJECT "the reply is a redirection to an address that is not shown, "
                             "which is not followed; " REDIRECTED "(307)");
    }
}

#define GATEWAY "check the endpoint, and proxies and gateways on the way there "

/* What is not the service's says nothing about the account, the table and the service. */
static void replies_of_others_are_told(void **state)
{
    (void)state;
    static const int lasting[] = {400, 401, 403, 404, 407, 409, 413, 501};
    static const char *const bodies[] = {
        "",
        "No",
        "<html><body><code>Code</code></body></html>",
        "\xEF\xBB\xBF\r\n <!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\"><html></html>",
        "{\"error\":\"no\"}",
        "<error><message>Text</message></error>"};
    for (size_t i = 0; i < sizeof lasting / sizeof lasting[0]; i++) {
        for (size_t j = 0; j < sizeof bodies / sizeof bodies[0]; j++) {
            char *message = sqlite3_mprintf(
                SUBJECT "the reply is not that of a Table service: status %d of the server "
                        "'nginx/1.25'; " GATEWAY "(%d)",
                lasting[i], lasting[i]);
            make_foreign_reply(lasting[i], "Server: nginx/1.25\r\n", bodies[j]);
            expect_error(SQLITE_IOERR, message);
            sqlite3_free(message);
        }
    }
    make_foreign_reply(502, "", "<html>");
    expect_error(SQLITE_BUSY, SUBJECT "the reply is not that of a Table service: status 502 of a "
                                      "server without name; " GATEWAY "(502)");
    make_foreign_reply(
        502, "Server: a\x1B[1m\x7F 0123456789 0123456789 0123456789 0123456789 0123456789 x\r\n",
        "");
    expect_error(SQLITE_BUSY, SUBJECT
                 "the reply is not that of a Table service: status 502 of the server 'a [1m  "
                 "0123456789 0123456789 0123456789 0123456789 01234567'; " GATEWAY "(502)");
    make_foreign_reply(403, "Server: for sig=c2VjcmV0\r\n", "");
    expect_error(SQLITE_IOERR, SUBJECT "the reply is not that of a Table service: status 403 of a "
                                       "server without name; " GATEWAY "(403)");
    static const char *const own[] = {"x-ms-request-id: 1\r\n", "x-ms-version: 1\r\n",
                                      "x-ms-error-code: AuthenticationFailed\r\n"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        make_foreign_reply(403, own[i], "<html>");
        pt_refusal_read(&reply, &refusal);
        assert_false(reply.foreign);
    }
    make_foreign_reply(403, "", JSON("AuthenticationFailed", "No."));
    pt_refusal_read(&reply, &refusal);
    assert_false(reply.foreign);
    make_foreign_reply(403, "", "<Error><Code>AuthenticationFailed</Code></Error>");
    pt_refusal_read(&reply, &refusal);
    assert_false(reply.foreign);
}

/* A pause that is too long to wait for is told. */
static void long_pauses_are_told(void **state)
{
    (void)state;
    char date[80] = "Retry-After: ";
    make_reply(503, "Retry-After: 64\r\n", "");
    assert_int_equal(pt_reply_pause(&reply), 64);
    expect_error(SQLITE_BUSY,
                 SUBJECT "the service is busy; try again later, or raise the option retries (503)");
    make_reply(503, "Retry-After: 3600\r\n", "");
    assert_int_equal(pt_reply_pause(&reply), 3600);
    expect_error(SQLITE_BUSY,
                 SUBJECT "the service is busy; it asks for a pause of 3600 seconds, so "
                         "try again after that (503)");
    make_foreign_reply(503, "Retry-After: 65\r\n", "");
    expect_error(SQLITE_BUSY,
                 SUBJECT "the reply is not that of a Table service: status 503 of a server without "
                         "name; it asks for a pause of 65 seconds, so try again after that (503)");
    pt_call_format_date((int64_t)time(NULL) + 7200, date + 13);
    make_reply(503, date, "");
    assert_in_range(pt_reply_pause(&reply), 7100, 7200);
    pt_call_format_date((int64_t)time(NULL) - 7200, date + 13);
    make_reply(503, date, "");
    assert_int_equal(pt_reply_pause(&reply), 0);
    static const char *const none[] = {"", "Retry-After: soon\r\n", "Retry-After: -5\r\n",
                                       "Retry-After: \r\n"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        make_reply(503, none[i], "");
        assert_int_equal(pt_reply_pause(&reply), -1);
    }
}

/* Only what looks like a number of a request, and is no secret, is repeated. */
static void requests_are_named(void **state)
{
    (void)state;
    char secret[] = "0123456789abcdef0123456789abcdef";
    const pt_account signed_by = {.secret = secret, .secret_size = strlen(secret)};
    static const struct {
        pt_http_outcome outcome;
        const char *headers;
        const char *text;
    } cases[] = {
        {PT_HTTP_REPLIED, "x-ms-request-id: 5a-0B\r\n", "request 5a-0B"},
        {PT_HTTP_REPLIED, "", ""},
        {PT_HTTP_REPLIED, "x-ms-request-id: \r\n", ""},
        {PT_HTTP_REPLIED, "x-ms-request-id: a b\r\n", ""},
        {PT_HTTP_REPLIED, "x-ms-request-id: 0123456789abcdef\r\n", ""},
        {PT_HTTP_REPLIED,
         "x-ms-request-id: "
         "00000000000000000000000000000000000000000000000000000000000000000\r\n",
         ""},
        {PT_HTTP_LOST, "x-ms-request-id: 5a\r\n", "client request mine"},
        {PT_HTTP_TOO_BIG, "", "client request mine"},
        {PT_HTTP_UNREACHABLE, "", ""},
        {PT_HTTP_PROXY, "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[PT_REPLY_REQUEST_SIZE];
        make_foreign_reply(400, cases[i].headers, "");
        reply.outcome = cases[i].outcome;
        pt_reply_describe_request(&reply, &signed_by, "mine", text);
        assert_string_equal(text, cases[i].text);
    }
}

static void refused_credentials_are_explained(void **state)
{
    (void)state;
    char date[80] = "Date: ";
    pt_call_format_date((int64_t)time(NULL) + 3600, date + 6);
    account.credential = PT_CREDENTIAL_KEY;
    make_reply(403, "", JSON("AuthenticationFailed", "No."));
    expect_error(SQLITE_AUTH, SUBJECT "No; check the AccountName and AccountKey given to "
                                      "pt_service_account (AuthenticationFailed)");
    make_reply(403, date, JSON("AuthenticationFailed", "No."));
    pt_error error = PT_ERROR_NONE;
    pt_refusal_read(&reply, &refusal);
    assert_int_equal(pt_reply_fail(&reply, &refusal, &account, &subject, false, &error),
                     SQLITE_AUTH);
    assert_non_null(strstr(error.message, "No; this machine's clock is "));
    assert_non_null(strstr(error.message, " minutes behind that of the service: set it ("));
    pt_error_clear(&error);
    pt_call_format_date((int64_t)time(NULL) - 3600, date + 6);
    make_reply(403, date, "");
    pt_refusal_read(&reply, &refusal);
    assert_int_equal(pt_reply_fail(&reply, &refusal, &account, &subject, false, &error),
                     SQLITE_AUTH);
    assert_non_null(strstr(error.message, "clock is 60 minutes ahead of that of the service"));
    pt_error_clear(&error);
    make_reply(403, "Date: some day\r\n", "");
    expect_error(SQLITE_AUTH,
                 SUBJECT "the service refuses the request; check the AccountName and AccountKey "
                         "given to pt_service_account (403)");
    make_reply(403,
               "Date: a text that is much longer than any date in a header of HTTP can ever be\r\n",
               "");
    expect_error(SQLITE_AUTH,
                 SUBJECT "the service refuses the request; check the AccountName and AccountKey "
                         "given to pt_service_account (403)");
    account.credential = PT_CREDENTIAL_SAS;
    make_reply(403, "", "");
    expect_error(SQLITE_AUTH, SUBJECT "the service refuses the request; check the rights, the "
                                      "table and the times of the shared access signature (403)");
    account.credential = PT_CREDENTIAL_TOKEN;
    make_reply(401, "", "");
    expect_error(SQLITE_AUTH,
                 SUBJECT "the service refuses the request; the token may be over: give a new one "
                         "with pt_service_account, and check the roles of its owner (401)");
}

static void replies_that_did_not_come_are_errors(void **state)
{
    (void)state;
    make_reply(0, "", "");
    reply.outcome = PT_HTTP_UNREACHABLE;
    reply.problem = "Could not resolve host: hr";
    expect_error(SQLITE_IOERR,
                 "account 'hr': no connection to https://hr.table.core.windows.net: Could not "
                 "resolve host: hr; check the endpoint and the network (SELECT * FROM "
                 "pt_service_accounts)");
    reply.problem = "Unsupported proxy http://user:secret@proxy";
    expect_error(SQLITE_IOERR,
                 "account 'hr': no connection to https://hr.table.core.windows.net: no connection; "
                 "check the endpoint and the network (SELECT * FROM pt_service_accounts)");
    reply.outcome = PT_HTTP_PROXY;
    reply.problem = "the proxy 10.0.0.1:3128 refuses it with status 407";
    expect_error(SQLITE_IOERR,
                 "account 'hr': no connection to https://hr.table.core.windows.net: the proxy "
                 "10.0.0.1:3128 refuses it with status 407; check https_proxy in the environment, "
                 "its user and password, or name the host in no_proxy");
    unsetenv("SSL_CERT_FILE");
    unsetenv("CURL_CA_BUNDLE");
    reply.outcome = PT_HTTP_UNTRUSTED;
    reply.problem = "server certificate verification failed";
    expect_error(SQLITE_IOERR,
                 "account 'hr': the certificate of https://hr.table.core.windows.net is not "
                 "trusted: server certificate verification failed; check the endpoint and this "
                 "machine's clock, or name a file with the certificate of its authority in the "
                 "environment variable SSL_CERT_FILE");
    setenv("SSL_CERT_FILE", "/etc/a.pem", 1);
    expect_error(SQLITE_IOERR,
                 "account 'hr': the certificate of https://hr.table.core.windows.net is not "
                 "trusted: server certificate verification failed; check the endpoint and this "
                 "machine's clock, or add the certificate of its authority to the file in the "
                 "environment variable SSL_CERT_FILE");
    setenv("CURL_CA_BUNDLE", "/etc/b.pem", 1);
    expect_error(SQLITE_IOERR,
                 "account 'hr': the certificate of https://hr.table.core.windows.net is not "
                 "trusted: server certificate verification failed; check the endpoint and this "
                 "machine's clock, or add the certificate of its authority to the file in the "
                 "environment variable CURL_CA_BUNDLE");
    unsetenv("SSL_CERT_FILE");
    unsetenv("CURL_CA_BUNDLE");
    reply.outcome = PT_HTTP_NOMEM;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_reply_fail(&reply, &refusal, &account, &subject, true, &error),
                     SQLITE_NOMEM);
    pt_error_clear(&error);
    reply.outcome = PT_HTTP_LOST;
    reply.problem = "sig=secret";
    expect_error(
        SQLITE_IOERR,
        "account 'hr': no reply from https://hr.table.core.windows.net: no connection; the "
        "change may have been applied: look before you repeat it");
    reply.problem = "Empty reply";
    expect_error(SQLITE_IOERR,
                 "account 'hr': no reply from https://hr.table.core.windows.net: Empty reply; the "
                 "change may have been applied: look before you repeat it");
    reply.outcome = PT_HTTP_TOO_BIG;
    expect_error(SQLITE_TOOBIG,
                 "account 'hr': the reply from https://hr.table.core.windows.net is longer than a "
                 "page of the Table service can be; check the endpoint");
    make_reply(0, "", "");
}

static void dates_are_written_as_http_does(void **state)
{
    (void)state;
    char text[PT_HTTP_DATE_SIZE];
    pt_call_format_date(1795251600, text);
    assert_string_equal(text, "Sat, 21 Nov 2026 09:00:00 GMT");
    pt_call_format_date(0, text);
    assert_string_equal(text, "Thu, 01 Jan 1970 00:00:00 GMT");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_found_wherever_they_are),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(secrets_are_left_out),
        cmocka_unit_test(some_failures_are_temporary),
        cmocka_unit_test(refusals_become_errors),
        cmocka_unit_test(a_redirection_names_the_address),
        cmocka_unit_test(replies_of_others_are_told),
        cmocka_unit_test(long_pauses_are_told),
        cmocka_unit_test(requests_are_named),
        cmocka_unit_test(refused_credentials_are_explained),
        cmocka_unit_test(replies_that_did_not_come_are_errors),
        cmocka_unit_test(dates_are_written_as_http_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
