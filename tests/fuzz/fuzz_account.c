/*
 * Connection strings: refused with a text that shows no value of a secret, or an account to whose
 * endpoint libcurl goes, by http only to this machine. The input is the string, or after a byte FF
 * the arguments of CREATE VIRTUAL TABLE ... USING pt_service with NULs between.
 */
#include <curl/curl.h>
#include <sqlite3.h>

#include "fuzz/fuzz.h"
#include "service/account.h"
#include "service/budget.h"
#include "service/config.h"

enum { ARGUMENTS_MAX = 24, FIRST_ARGUMENT = 3 };

static const char public_key[] =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/* --- Accounts --- */

static bool is_this_machine(const char *host)
{
    return sqlite3_stricmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == strlen(host));
}

/* libcurl reads the endpoint as the account does. */
static void check_endpoint(const pt_account *account, bool public)
{
    CURLU *url = curl_url();
    char *host = NULL;
    char *scheme = NULL;
    char *path = NULL;
    must_hold(url != NULL, "there is memory");
    if (curl_url_set(url, CURLUPART_URL, account->endpoint, CURLU_PATH_AS_IS) == CURLUE_OK) {
        char *other = NULL;
        must_hold(curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                      curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                      curl_url_get(url, CURLUPART_PATH, &path, 0) == CURLUE_OK,
                  "a URL has its parts");
        must_hold(strcmp(scheme, account->plain ? "http" : "https") == 0, "the scheme is the same");
        must_hold(!account->plain || public || is_this_machine(host),
                  "http goes to this machine only");
        must_hold(account->loopback == is_this_machine(host), "this machine is known");
        must_hold(strcmp(path, *account->path != 0 ? account->path : "/") == 0,
                  "the path is the same");
        must_hold(curl_url_get(url, CURLUPART_USER, &other, 0) == CURLUE_NO_USER &&
                      curl_url_get(url, CURLUPART_QUERY, &other, 0) == CURLUE_NO_QUERY &&
                      curl_url_get(url, CURLUPART_FRAGMENT, &other, 0) == CURLUE_NO_FRAGMENT,
                  "an endpoint has nothing else");
    }
    curl_free(host);
    curl_free(scheme);
    curl_free(path);
    curl_url_cleanup(url);
}

/* What is sent with a request is one header or part of a URL. */
static void check_sent(const pt_account *account)
{
    pt_buffer header = {0};
    pt_account_authorize(account, "date", pt_slice_text("/path"), &header);
    must_hold(!header.failed, "there is memory");
    for (size_t i = 0; i < header.size; i++) {
        must_hold(header.data[i] >= ' ' && header.data[i] < 0x7F, "a header is a line");
    }
    pt_buffer_free(&header);
    for (size_t i = 0; account->credential != PT_CREDENTIAL_KEY && i < account->secret_size; i++) {
        must_hold(account->secret[i] > ' ' && account->secret[i] < 0x7F, "a secret is a word");
    }
    must_hold(account->secret[account->secret_size] == 0, "a NUL follows the secret");
}

/* True if the key stands in the text: then it is public. */
static bool has_public_key(pt_slice text)
{
    return memmem(text.data, text.size, public_key, sizeof public_key - 1) != NULL ||
           memmem(text.data, text.size, "true", 4) != NULL ||
           strcasestr((const char *)text.data, "true") != NULL;
}

static void check_account(pt_slice text)
{
    uint8_t *copy = malloc(text.size + 1);
    pt_account account;
    pt_error error = PT_ERROR_NONE;
    must_hold(copy != NULL, "there is memory");
    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    bool public = has_public_key(pt_slice_of(copy, text.size));
    uint8_t *exact = exact_copy(text);
    int rc = pt_account_parse(pt_slice_of(exact, text.size), &account, &error);
    free(exact); /* the account must not depend on it */
    must_hold(rc == SQLITE_OK || (rc == SQLITE_ERROR && error.message != NULL),
              "what is wrong is said");
    if (rc == SQLITE_OK) {
        check_endpoint(&account, public);
        check_sent(&account);
    }
    must_hold(error.message == NULL || strstr(error.message, "SECRET") == NULL ||
                  strstr(error.message, "would be reached by http") != NULL,
              "no secret is shown");
    pt_error_clear(&error);
    pt_account_free(&account);
    free(copy);
}

/* --- Arguments --- */

static void check_arguments(fuzz_input input)
{
    char *texts[FIRST_ARGUMENT + ARGUMENTS_MAX] = {
        sqlite3_mprintf("pt_service"), sqlite3_mprintf("main"), sqlite3_mprintf("Employee")};
    int count = FIRST_ARGUMENT;
    while (input.left != 0 && count < FIRST_ARGUMENT + ARGUMENTS_MAX) {
        const uint8_t *end = memchr(input.at, 0, input.left);
        pt_slice text = take_bytes(&input, end != NULL ? (size_t)(end - input.at) : input.left);
        take_byte(&input);
        texts[count++] = sqlite3_mprintf("%.*s", (int)text.size, (const char *)text.data);
    }
    pt_service_config config;
    pt_error error = PT_ERROR_NONE;
    int rc = pt_service_config_parse(count, (const char *const *)texts, &config, &error);
    must_hold(rc == SQLITE_OK || (rc == SQLITE_ERROR && error.message != NULL),
              "what is wrong is said");
    if (rc == SQLITE_OK) {
        must_hold(config.account != NULL && config.parallel >= 1 && config.parallel <= 64 &&
                      config.timeout >= 1 && config.retries >= 0 &&
                      config.max_requests >= PT_BUDGET_DEFAULT,
                  "options are in their bounds");
        char *declaration = pt_service_declaration(&config);
        must_hold(declaration != NULL, "there is memory");
        sqlite3_free(declaration);
    }
    pt_error_clear(&error);
    pt_service_config_free(&config);
    for (int i = 0; i < count; i++) {
        sqlite3_free(texts[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == 0xFF) {
        check_arguments(fuzz_input_of(data + 1, size - 1));
    } else {
        check_account(pt_slice_of(data, size));
    }
    return 0;
}
