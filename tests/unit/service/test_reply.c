#include "fixtures/cmocka.h"

#include <time.h>

#include "base/sqlite.h"
#include "service/call.h"
#include "service/reply.h"

#define JSON(code, text)                                                                           \
    "{\"odata.error\":{\"code\":\"" code "\",\"message\":{\"lang\":\"en-US\",\"value\":\"" text    \
    "\\nRequestId:1\\nTime:2\"}}}"

static pt_http_reply reply;
static pt_refusal refusal;

static void make_reply(int status, const char *headers, const char *body)
{
    pt_buffer_free(&reply.headers);
    pt_buffer_free(&reply.body);
    reply = (pt_http_reply){.outcome = PT_HTTP_REPLIED, .status = status};
    pt_buffer_append_text(&reply.headers, headers);
    pt_buffer_append_text(&reply.body, body);
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
    make_reply(307, "", "");
    expect_error(SQLITE_ERROR, SUBJECT "the service answers with a redirection; give the address "
                                       "that it names as TableEndpoint (307)");
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
    reply.outcome = PT_HTTP_UNTRUSTED;
    reply.problem = "server certificate verification failed";
    expect_error(SQLITE_IOERR,
                 "account 'hr': the certificate of https://hr.table.core.windows.net is not "
                 "trusted: server certificate verification failed; check the endpoint and this "
                 "machine's clock, or name a file with the certificate of its authority in the "
                 "environment variable SSL_CERT_FILE");
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
        cmocka_unit_test(refused_credentials_are_explained),
        cmocka_unit_test(replies_that_did_not_come_are_errors),
        cmocka_unit_test(dates_are_written_as_http_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
