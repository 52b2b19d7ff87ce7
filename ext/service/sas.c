#include "service/sas.h"

#include "base/text.h"
#include "base/ticks.h"
#include "entity/azure_limits.h"
#include "entity/key.h"
#include "service/config.h"
#include "service/query_text.h"

typedef enum sas_argument {
    SAS_TABLE,
    SAS_RIGHTS,
    SAS_START,
    SAS_EXPIRY,
    SAS_START_PARTITION,
    SAS_START_ROW,
    SAS_END_PARTITION,
    SAS_END_ROW,
} sas_argument;

static const char *const sas_names[PT_SAS_ARGUMENTS] = {
    [SAS_TABLE] = "table",
    [SAS_RIGHTS] = "rights",
    [SAS_START] = "start",
    [SAS_EXPIRY] = "expiry",
    [SAS_START_PARTITION] = "start PartitionKey",
    [SAS_START_ROW] = "start RowKey",
    [SAS_END_PARTITION] = "end PartitionKey",
    [SAS_END_ROW] = "end RowKey",
};

/* Seconds are the finest that a token has. */
enum { SAS_SECONDS = sizeof "2026-11-21T08:43:22" - 1, SAS_TIME_SIZE = SAS_SECONDS + 1 };

static const char sas_version[] = "2019-02-02";
static const char all_rights[] = "raud";

typedef struct sas_request {
    pt_slice text[PT_SAS_ARGUMENTS]; /* empty if it is not given */
    char rights[sizeof all_rights];  /* in the order that the service wants */
    char start[SAS_TIME_SIZE + 1];   /* "" if it is not given */
    char expiry[SAS_TIME_SIZE + 1];
    pt_error *error;
} sas_request;

/* --- Arguments --- */

/* An integer counts as its text, as it does for keys. */
static int read_sas_text(sas_request *asked, sas_argument argument, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER) {
        return pt_error_set(asked->error, SQLITE_MISMATCH, "the %s must be a text, not %s",
                            sas_names[argument],
                            type == SQLITE_NULL   ? "NULL"
                            : type == SQLITE_BLOB ? "a BLOB"
                                                  : "a REAL");
    }
    const unsigned char *text = sqlite3_value_text(value);
    if (text == NULL) {
        return pt_error_nomem(asked->error);
    }
    asked->text[argument] = pt_slice_of(text, (size_t)sqlite3_value_bytes(value));
    if (!pt_key_is_valid_text(asked->text[argument])) {
        return pt_error_set(asked->error, SQLITE_ERROR, "the %s must be UTF-8 text without U+0000",
                            sas_names[argument]);
    }
    return SQLITE_OK;
}

static int read_sas_arguments(sas_request *asked, int argc, sqlite3_value **argv)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < argc; i++) {
        bool optional = i == SAS_START || i >= PT_SAS_NEEDED;
        if (!optional || sqlite3_value_type(argv[i]) != SQLITE_NULL) {
            rc = read_sas_text(asked, (sas_argument)i, argv[i]);
        }
    }
    return rc;
}

static int set_sas_rights(sas_request *asked)
{
    pt_slice given = asked->text[SAS_RIGHTS];
    size_t count = 0;
    for (const char *right = all_rights; *right != 0; right++) {
        if (given.size != 0 && memchr(given.data, *right, given.size) != NULL) {
            asked->rights[count++] = *right;
        }
    }
    if (count == 0 || count != given.size) {
        char excerpt[PT_EXCERPT_SIZE];
        pt_excerpt(given, excerpt);
        return pt_error_set(asked->error, SQLITE_ERROR,
                            "the rights %Q are not letters of %Q, each once: read, add, update, "
                            "delete",
                            excerpt, all_rights);
    }
    return SQLITE_OK;
}

static int set_sas_time(sas_request *asked, sas_argument argument, char time[SAS_TIME_SIZE + 1])
{
    pt_slice given = asked->text[argument];
    int64_t ticks;
    const char *rule = pt_ticks_read(given, &ticks);
    if (rule != NULL) {
        char excerpt[PT_EXCERPT_SIZE];
        pt_excerpt(given, excerpt);
        return pt_error_set(asked->error, SQLITE_ERROR,
                            "the %s %Q is not a time: %s; write it like '2026-11-21T08:43:22Z'",
                            sas_names[argument], excerpt, rule);
    }
    char text[PT_DATETIME_TEXT_SIZE + 1];
    pt_ticks_format(ticks, text);
    memcpy(time, text, SAS_SECONDS);
    memcpy(time + SAS_SECONDS, "Z", sizeof "Z");
    return SQLITE_OK;
}

static int set_sas_times(sas_request *asked)
{
    int rc = set_sas_time(asked, SAS_EXPIRY, asked->expiry);
    if (rc != SQLITE_OK || asked->text[SAS_START].data == NULL) {
        return rc;
    }
    rc = set_sas_time(asked, SAS_START, asked->start);
    if (rc == SQLITE_OK && strcmp(asked->start, asked->expiry) >= 0) {
        rc = pt_error_set(asked->error, SQLITE_ERROR,
                          "the expiry is not after the start; give a later one");
    }
    return rc;
}

/* --- Key ranges --- */

/* True if a key comes after another one, both by its bytes and by its UTF-16 units. Only the
 * characters from U+E000 to U+FFFF (EE and EF in UTF-8) and those after them change places. */
static bool is_after_in_both_orders(pt_slice a, pt_slice b)
{
    size_t i = 0;
    while (i < a.size && i < b.size && a.data[i] == b.data[i]) {
        i++;
    }
    bool swaps = i < a.size && i < b.size && a.data[i] >= 0xF0 && b.data[i] >= 0xEE;
    return pt_slice_compare(a, b) > 0 && (!swaps || b.data[i] >= 0xF0);
}

/* A token has no empty parameters: an empty end would be no end, and the token would give more. */
static int check_sas_end(const sas_request *asked, sas_argument argument)
{
    if (asked->text[argument].data == NULL || asked->text[argument].size != 0) {
        return SQLITE_OK;
    }
    return pt_error_set(asked->error, SQLITE_ERROR,
                        "the %s is empty, which the service takes for no end; give NULL or a key",
                        sas_names[argument]);
}

/* A line end would begin the next part of the text that is signed. */
static int check_sas_key(const sas_request *asked, sas_argument argument)
{
    int rc = pt_limits_check_keys(asked->text[argument], pt_slice_text(""), PT_LIMITS_OF_SERVICE,
                                  asked->error);
    if (rc == SQLITE_OK || rc == SQLITE_NOMEM) {
        return rc;
    }
    return pt_error_set(asked->error, SQLITE_ERROR,
                        "no entity has the %s: a key has at most 512 characters, and none of "
                        "/ \\ # ? and of the control characters; give another one",
                        sas_names[argument]);
}

/* Checks the start or end of the range. */
static int check_sas_keys(const sas_request *asked, sas_argument partition, sas_argument row)
{
    if (asked->text[row].size != 0 && asked->text[partition].size == 0) {
        return pt_error_set(asked->error, SQLITE_ERROR, "the %s is given without the %s; give both",
                            sas_names[row], sas_names[partition]);
    }
    int rc = check_sas_key(asked, partition);
    return rc == SQLITE_OK ? check_sas_key(asked, row) : rc;
}

static int check_sas_range(const sas_request *asked)
{
    int rc = check_sas_end(asked, SAS_END_PARTITION);
    if (rc == SQLITE_OK) {
        rc = check_sas_end(asked, SAS_END_ROW);
    }
    if (rc == SQLITE_OK) {
        rc = check_sas_keys(asked, SAS_START_PARTITION, SAS_START_ROW);
    }
    if (rc == SQLITE_OK) {
        rc = check_sas_keys(asked, SAS_END_PARTITION, SAS_END_ROW);
    }
    if (rc != SQLITE_OK || asked->text[SAS_END_PARTITION].size == 0) {
        return rc;
    }
    pt_slice start = asked->text[SAS_START_PARTITION];
    pt_slice end = asked->text[SAS_END_PARTITION];
    if (pt_slice_equal(start, end) && asked->text[SAS_END_ROW].size != 0) {
        start = asked->text[SAS_START_ROW];
        end = asked->text[SAS_END_ROW];
    }
    if (is_after_in_both_orders(start, end)) {
        return pt_error_set(asked->error, SQLITE_ERROR,
                            "the end of the key range is before its start; exchange them");
    }
    return SQLITE_OK;
}

/* --- The token --- */

/* The text that is signed has a line for each part, also for those that are not given. */
static void append_sas_lines(pt_buffer *text, const pt_slice *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i != 0) {
            pt_buffer_append_byte(text, '\n');
        }
        pt_buffer_append_slice(text, lines[i]);
    }
}

static void append_sas_resource(pt_buffer *resource, const pt_account *account, pt_slice table)
{
    pt_buffer_append_text(resource, "/table/");
    pt_buffer_append_text(resource, account->name);
    pt_buffer_append_byte(resource, '/');
    for (size_t i = 0; i < table.size; i++) {
        pt_buffer_append_byte(resource, pt_lower_case(table.data[i]));
    }
}

static void sign_sas(const sas_request *asked, const pt_account *account, pt_buffer *signature)
{
    pt_buffer resource = {0};
    pt_buffer text = {0};
    append_sas_resource(&resource, account, asked->text[SAS_TABLE]);
    pt_slice nothing = pt_slice_text("");
    const pt_slice lines[] = {
        pt_slice_text(asked->rights),
        pt_slice_text(asked->start),
        pt_slice_text(asked->expiry),
        pt_buffer_slice(&resource),
        nothing, /* the name of a policy that the service keeps */
        nothing, /* addresses of clients */
        nothing, /* protocol */
        pt_slice_text(sas_version),
        asked->text[SAS_START_PARTITION],
        asked->text[SAS_START_ROW],
        asked->text[SAS_END_PARTITION],
        asked->text[SAS_END_ROW],
    };
    append_sas_lines(&text, lines, sizeof lines / sizeof lines[0]);
    pt_slice whole = pt_buffer_slice(&text);
    pt_account_sign(account, &whole, 1, signature);
    signature->failed = signature->failed || text.failed || resource.failed;
    pt_buffer_free(&text);
    pt_buffer_free(&resource);
}

static void append_sas_parameter(pt_buffer *token, const char *name, pt_slice value)
{
    if (value.size == 0) {
        return;
    }
    if (token->size != 0) {
        pt_buffer_append_byte(token, '&');
    }
    pt_buffer_append_text(token, name);
    pt_buffer_append_byte(token, '=');
    pt_query_append_encoded(token, value);
}

static int append_sas_token(const sas_request *asked, const pt_account *account, pt_buffer *token)
{
    pt_buffer signature = {0};
    sign_sas(asked, account, &signature);
    const struct {
        const char *name;
        pt_slice value;
    } parameters[] = {
        {"sv", pt_slice_text(sas_version)},      {"st", pt_slice_text(asked->start)},
        {"se", pt_slice_text(asked->expiry)},    {"sp", pt_slice_text(asked->rights)},
        {"sig", pt_buffer_slice(&signature)},    {"tn", asked->text[SAS_TABLE]},
        {"srk", asked->text[SAS_START_ROW]},     {"spk", asked->text[SAS_START_PARTITION]},
        {"epk", asked->text[SAS_END_PARTITION]}, {"erk", asked->text[SAS_END_ROW]},
    };
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        append_sas_parameter(token, parameters[i].name, parameters[i].value);
    }
    bool failed = signature.failed || token->failed;
    pt_buffer_free(&signature);
    return failed ? pt_error_nomem(asked->error) : SQLITE_OK;
}

int pt_sas_make(const pt_account *account, int argc, sqlite3_value **argv, pt_buffer *token,
                pt_error *error)
{
    sas_request asked = {.error = error};
    if (account->credential != PT_CREDENTIAL_KEY) {
        return pt_error_set(error, SQLITE_ERROR,
                            "the account has no AccountKey, which signs; name it with one");
    }
    int rc = read_sas_arguments(&asked, argc, argv);
    if (rc == SQLITE_OK) {
        rc = pt_service_check_table_name((const char *)asked.text[SAS_TABLE].data, error);
    }
    if (rc == SQLITE_OK) {
        rc = set_sas_rights(&asked);
    }
    if (rc == SQLITE_OK) {
        rc = set_sas_times(&asked);
    }
    if (rc == SQLITE_OK) {
        rc = check_sas_range(&asked);
    }
    return rc == SQLITE_OK ? append_sas_token(&asked, account, token) : rc;
}
