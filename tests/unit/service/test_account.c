#include "fixtures/cmocka.h"

#include "base/sqlite.h"
#include "faults/failing_malloc.h"
#include "service/account.h"

#define KEY                                                                                        \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define NAME_AND_KEY "AccountName=hr;AccountKey=" KEY

static pt_account account;

static void accept_string(const char *text, const char *endpoint, const char *path)
{
    pt_error error = PT_ERROR_NONE;
    if (pt_account_parse(pt_slice_text(text), &account, &error) != SQLITE_OK) {
        fail_msg("%s: refused: %s", text, error.message);
    }
    assert_string_equal(account.endpoint, endpoint);
    assert_string_equal(account.path, path);
}

static void refuse_string(const char *text, const char *message)
{
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_account_parse(pt_slice_text(text), &account, &error), SQLITE_ERROR);
    assert_string_equal(error.message, message);
    assert_null(account.secret);
    assert_null(account.endpoint);
    pt_error_clear(&error);
}

static void authorize(const char *path, const char *expected)
{
    pt_buffer header = {0};
    pt_account_authorize(&account, "Sat, 21 Nov 2026 09:00:00 GMT", pt_slice_text(path), &header);
    pt_buffer_append_byte(&header, 0);
    assert_string_equal((char *)header.data, expected);
    pt_buffer_free(&header);
}

/* The signatures are those of the service's own libraries. */
static void requests_are_signed_with_the_key(void **state)
{
    (void)state;
    accept_string("UseDevelopmentStorage=true", "http://127.0.0.1:10002/devstoreaccount1",
                  "/devstoreaccount1");
    assert_true(account.plain && account.loopback);
    authorize("/devstoreaccount1/Tables",
              "SharedKeyLite devstoreaccount1:qD+PNF8+TyPW2Meh/0V90EatJqtA2gopd44xs8UbMh4=");
    authorize("/devstoreaccount1/tab(PartitionKey='o''c',RowKey='a%20b')",
              "SharedKeyLite devstoreaccount1:ghvUr6tMgAJ3c93cGmpotcuimqKC9X9xCj6ra1VXB7c=");
    pt_account_free(&account);
}

static void the_endpoint_is_made_of_the_name(void **state)
{
    (void)state;
    accept_string(NAME_AND_KEY, "https://hr.table.core.windows.net", "");
    assert_false(account.plain || account.loopback);
    assert_int_equal(account.secret_size, 64);
    pt_account_free(&account);
    accept_string(" DefaultEndpointsProtocol=https;AccountName = hr ;AccountKey=" KEY
                  ";EndpointSuffix=core.chinacloudapi.cn;BlobEndpoint=https://elsewhere/\r\n",
                  "https://hr.table.core.chinacloudapi.cn", "");
    pt_account_free(&account);
    accept_string("accountname=my-cosmos;ACCOUNTKEY=" KEY
                  ";TableEndpoint=https://my-cosmos.table.cosmos.azure.com:443/;",
                  "https://my-cosmos.table.cosmos.azure.com:443", "");
    pt_account_free(&account);
}

static void other_credentials_are_accepted(void **state)
{
    (void)state;
    accept_string("TableEndpoint=https://hr.table.core.windows.net/;"
                  "SharedAccessSignature=?sv=2019-02-02&sig=a%2Bb%3D",
                  "https://hr.table.core.windows.net", "");
    assert_int_equal(account.credential, PT_CREDENTIAL_SAS);
    assert_string_equal(account.secret, "sv=2019-02-02&sig=a%2Bb%3D");
    assert_string_equal(account.name, "");
    pt_account_free(&account);
    accept_string("AccountName=hr;BearerToken=ey.x.y", "https://hr.table.core.windows.net", "");
    assert_int_equal(account.credential, PT_CREDENTIAL_TOKEN);
    authorize("/Tables", "Bearer ey.x.y");
    pt_account_free(&account);
}

static void plain_http_is_for_this_machine(void **state)
{
    (void)state;
    static const char *const loopback[] = {"localhost", "127.0.0.1", "127.200.0.9", "[::1]",
                                           "LOCALHOST:81"};
    for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++) {
        char *text = sqlite3_mprintf(NAME_AND_KEY ";TableEndpoint=http://%s/hr", loopback[i]);
        char *endpoint = sqlite3_mprintf("http://%s/hr", loopback[i]);
        accept_string(text, endpoint, "/hr");
        assert_true(account.loopback);
        pt_account_free(&account);
        sqlite3_free(text);
        sqlite3_free(endpoint);
    }
    static const char *const others[] = {
        "127.0.0.1.example.org", "10.0.0.1", "localhost.org", "128.0.0.1", "127.1", "[::2]",
        "1111111111111111"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char *text = sqlite3_mprintf(NAME_AND_KEY ";TableEndpoint=http://%s", others[i]);
        char *message = sqlite3_mprintf("the endpoint http://%s would be reached by http, where "
                                        "others can read the requests; write https",
                                        others[i]);
        refuse_string(text, message);
        sqlite3_free(text);
        sqlite3_free(message);
    }
    accept_string("UseDevelopmentStorage=true;TableEndpoint=http://LOCALHOST:1/d_1~/",
                  "http://LOCALHOST:1/d_1~", "/d_1~");
    pt_account_free(&account);
    accept_string("AccountName=devstoreaccount1;AccountKey=" KEY
                  ";TableEndpoint=http://azurite:10002/devstoreaccount1",
                  "http://azurite:10002/devstoreaccount1", "/devstoreaccount1");
    pt_account_free(&account);
}

static void messages_name_the_part_and_not_its_value(void **state)
{
    (void)state;
    refuse_string("", "the connection string has none of AccountKey, SharedAccessSignature and "
                      "BearerToken; give one");
    refuse_string(NAME_AND_KEY ";BearerToken=x",
                  "the connection string has several of AccountKey, SharedAccessSignature and "
                  "BearerToken; give one");
    refuse_string(";; ;", "the connection string has none of AccountKey, SharedAccessSignature and "
                          "BearerToken; give one");
    refuse_string("AccountName=;AccountKey=\t",
                  "the connection string has none of AccountKey, SharedAccessSignature and "
                  "BearerToken; give one");
    refuse_string("AccountName=h.r;BearerToken=x", "AccountName in the connection string is not a "
                                                   "name; it has letters and digits only");
    refuse_string("AccountName=hr;AccountKey=====",
                  "AccountKey in the connection string is not a key (base64); copy it again");
    refuse_string("AccountName=hr;BearerToken=a\x7F",
                  "BearerToken in the connection string has a blank or a character that is not "
                  "ASCII inside; copy it again");
    refuse_string("AccountName=devstoreaccount1;AccountKey=AAAA;TableEndpoint=http://azurite",
                  "the endpoint http://azurite would be reached by http, where others can read the "
                  "requests; write https");
    refuse_string("secret", "not a connection string; give Name=value pairs with ; between them, "
                            "such as AccountName=...;AccountKey=..., or "
                            "UseDevelopmentStorage=true");
    refuse_string(NAME_AND_KEY ";AccountKey=x",
                  "AccountKey in the connection string is given twice; leave one out");
    refuse_string("AccountName=hr;AccountKey=se cret",
                  "AccountKey in the connection string has a blank or a character that is not "
                  "ASCII inside; copy it again");
    refuse_string("AccountName=hr;AccountKey=secret",
                  "AccountKey in the connection string is not a key (base64); copy it again");
    refuse_string("AccountKey=" KEY,
                  "AccountName in the connection string is missing; AccountKey needs it");
    refuse_string("SharedAccessSignature=sig=x", "TableEndpoint in the connection string is "
                                                 "missing; give it, or AccountName, from which it "
                                                 "is made");
    refuse_string("AccountName=hr;SharedAccessSignature=secret",
                  "SharedAccessSignature in the connection string has no sig=; copy it again");
    refuse_string("AccountName=h/r;BearerToken=x", "AccountName in the connection string is not a "
                                                   "name; it has letters and digits only");
}

static void endpoints_that_are_no_urls_are_refused(void **state)
{
    (void)state;
    refuse_string(NAME_AND_KEY ";TableEndpoint=ftp://x",
                  "TableEndpoint in the connection string does not begin with https://");
    refuse_string(NAME_AND_KEY ";TableEndpoint=//",
                  "TableEndpoint in the connection string does not begin with https://");
    refuse_string("\x01;", "not a connection string; give Name=value pairs with ; between them, "
                           "such as AccountName=...;AccountKey=..., or "
                           "UseDevelopmentStorage=true");
    static const char *const endpoints[] = {
        "https://h^",           "https://h/{",
        "https://h/a@",         "https:///hr",
        "https://user:pw@host", "https://h:",
        "https://h?sig=x",      "https://h/a#b",
        "https://[::1",         "https://h/%2e",
        "https://h:1x",         "https://h:0",
        "https://h:65536",      "https://h:99999999999999999999"};
    for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0]; i++) {
        char *text = sqlite3_mprintf(NAME_AND_KEY ";TableEndpoint=%s", endpoints[i]);
        refuse_string(text, "TableEndpoint in the connection string is not the URL of a service; "
                            "write it as https://account.table.core.windows.net");
        sqlite3_free(text);
    }
}

static void memory_may_run_out(void **state)
{
    (void)state;
    static const char *const texts[] = {NAME_AND_KEY, "UseDevelopmentStorage=true",
                                        "AccountName=hr;SharedAccessSignature=sig=x",
                                        "AccountName=hr;BearerToken=x"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bool hit = true;
        for (int n = 0; hit; n++) {
            pt_error error = PT_ERROR_NONE;
            failing_malloc_arm(n, false);
            int rc = pt_account_parse(pt_slice_text(texts[i]), &account, &error);
            hit = failing_malloc_disarm();
            assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
            pt_account_free(&account);
        }
    }
    assert_int_equal(sqlite3_memory_used(), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_signed_with_the_key),
        cmocka_unit_test(the_endpoint_is_made_of_the_name),
        cmocka_unit_test(other_credentials_are_accepted),
        cmocka_unit_test(plain_http_is_for_this_machine),
        cmocka_unit_test(messages_name_the_part_and_not_its_value),
        cmocka_unit_test(endpoints_that_are_no_urls_are_refused),
        cmocka_unit_test(memory_may_run_out),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
