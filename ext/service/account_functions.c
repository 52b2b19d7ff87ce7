#include "service/account_functions.h"

#include <stdlib.h>

#include "base/text.h"
#include "service/sas.h"

/* Makes the function fail and clears the error. */
static void fail_function(sqlite3_context *context, const char *name, pt_error *error)
{
    char *message = NULL;
    if (error->message != NULL) {
        message = sqlite3_mprintf("%s: %s", name, error->message);
    }
    if (message == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_error(context, message, -1);
        sqlite3_result_error_code(context, error->rc);
    }
    sqlite3_free(message);
    pt_error_clear(error);
}

/* --- pt_service_account(name [, connection string]) --- */

/* The text of the environment variable PTABLE_ACCOUNT_<NAME>, in which characters other than
 * letters and digits are _. */
static int read_environment(const char *name, pt_slice *text, pt_error *error)
{
    char *variable = sqlite3_mprintf("PTABLE_ACCOUNT_%s", name);
    if (variable == NULL) {
        return pt_error_nomem(error);
    }
    for (char *c = variable; *c != 0; c++) {
        bool lower = *c >= 'a' && *c <= 'z';
        bool other = (*c < 'A' || *c > 'Z') && !pt_is_digit((uint8_t)*c);
        if (lower) {
            *c = (char)(*c - 'a' + 'A');
        } else if (other) {
            *c = '_';
        }
    }
    const char *value = getenv(variable);
    int rc = SQLITE_OK;
    if (value == NULL) {
        rc = pt_error_set(error, SQLITE_ERROR,
                          "the environment variable %s is not set; set it to a connection string, "
                          "or give the string as second argument",
                          variable);
    } else {
        *text = pt_slice_text(value);
    }
    sqlite3_free(variable);
    return rc;
}

static bool is_plain_account_name(const char *name)
{
    bool plain = *name != 0;
    for (const char *c = name; plain && *c != 0; c++) {
        plain = pt_is_letter((uint8_t)*c) || pt_is_digit((uint8_t)*c) || *c == '_' || *c == '-' ||
                *c == '.';
    }
    return plain;
}

/* readfile() returns a BLOB. */
static int connection_string(int argc, sqlite3_value **argv, const char *name, pt_slice *text,
                             pt_error *error)
{
    if (argc == 1) {
        return read_environment(name, text, error);
    }
    int type = sqlite3_value_type(argv[1]);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
        return pt_error_set(error, SQLITE_MISMATCH,
                            "the connection string is %s; give a text, such as "
                            "readfile('file') of a file that exists",
                            type == SQLITE_NULL ? "NULL" : "a number");
    }
    const void *bytes =
        type == SQLITE_TEXT ? sqlite3_value_text(argv[1]) : sqlite3_value_blob(argv[1]);
    int size = sqlite3_value_bytes(argv[1]);
    if (bytes == NULL && (type == SQLITE_TEXT || size != 0)) {
        return pt_error_nomem(error);
    }
    *text = pt_slice_of(bytes != NULL ? bytes : "", (size_t)size);
    return SQLITE_OK;
}

static int name_account(pt_service *service, int argc, sqlite3_value **argv, char **endpoint,
                        pt_error *error)
{
    const char *name = (const char *)sqlite3_value_text(argv[0]);
    if (name == NULL && sqlite3_value_type(argv[0]) != SQLITE_NULL) {
        return pt_error_nomem(error);
    }
    if (name == NULL || !is_plain_account_name(name)) {
        return pt_error_set(error, SQLITE_ERROR,
                            "%Q is not a name for an account; use letters, digits, _, - and .",
                            name != NULL ? name : "NULL");
    }
    pt_slice text = {0};
    pt_account account = {0};
    int rc = connection_string(argc, argv, name, &text, error);
    if (rc == SQLITE_OK) {
        rc = pt_account_parse(text, &account, error);
    }
    if (rc == SQLITE_OK) {
        *endpoint = sqlite3_mprintf("%s", account.endpoint);
        rc = *endpoint != NULL ? pt_service_name_account(service, name, &account, error)
                               : pt_error_nomem(error);
    }
    pt_account_free(&account);
    return rc;
}

static void function_account(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    char *endpoint = NULL;
    int rc = name_account(sqlite3_user_data(context), argc, argv, &endpoint, &error);
    if (rc == SQLITE_OK) {
        sqlite3_result_text(context, endpoint, -1, sqlite3_free);
    } else {
        sqlite3_free(endpoint);
        fail_function(context, "pt_service_account", &error);
    }
}

/* --- pt_service_sas(account, table, rights, start, expiry [, keys ...]) --- */

static int make_sas(const pt_service *service, int argc, sqlite3_value **argv, pt_buffer *token,
                    pt_error *error)
{
    const char *name = (const char *)sqlite3_value_text(argv[0]);
    const pt_account *account = NULL;
    if (name == NULL) {
        return sqlite3_value_type(argv[0]) != SQLITE_NULL
                   ? pt_error_nomem(error)
                   : pt_error_set(error, SQLITE_MISMATCH, "the account must be a text, not NULL");
    }
    int rc = pt_service_find_account(service, name, &account, error);
    return rc == SQLITE_OK ? pt_sas_make(account, argc - 1, argv + 1, token, error) : rc;
}

static void function_sas(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    pt_buffer token = {0};
    int rc = make_sas(sqlite3_user_data(context), argc, argv, &token, &error);
    if (rc == SQLITE_OK) {
        sqlite3_result_text64(context, (const char *)token.data, token.size, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
    } else {
        fail_function(context, "pt_service_sas", &error);
    }
    pt_buffer_free(&token);
}

/* --- pt_service_requests() --- */

static void function_requests(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    const pt_service *service = sqlite3_user_data(context);
    const pt_service_counts *counts = &service->counts;
    char *json = sqlite3_mprintf("{\"requests\":%lld,\"retries\":%lld,\"bytes_sent\":%lld,"
                                 "\"bytes_received\":%lld,\"seconds\":%.3f,\"operations\":%lld}",
                                 (long long)counts->requests, (long long)counts->retries,
                                 (long long)counts->bytes_sent, (long long)counts->bytes_received,
                                 counts->seconds, (long long)counts->operations);
    if (json == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_text(context, json, -1, sqlite3_free);
    }
}

int pt_account_functions_register(sqlite3 *db, pt_service *service)
{
    static const struct {
        const char *name;
        int arguments;
        int flags;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } service_functions[] = {
        {"pt_service_account", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, function_account},
        {"pt_service_account", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, function_account},
        {"pt_service_requests", 0, SQLITE_UTF8, function_requests},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof service_functions / sizeof *service_functions;
         i++) {
        pt_service_retain(service);
        rc = sqlite3_create_function_v2(db, service_functions[i].name,
                                        service_functions[i].arguments, service_functions[i].flags,
                                        service, service_functions[i].call, NULL, NULL,
                                        pt_service_release);
    }
    for (int n = PT_SAS_NEEDED; rc == SQLITE_OK && n <= PT_SAS_ARGUMENTS; n++) {
        pt_service_retain(service);
        rc =
            sqlite3_create_function_v2(db, "pt_service_sas", 1 + n, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                       service, function_sas, NULL, NULL, pt_service_release);
    }
    return rc;
}
