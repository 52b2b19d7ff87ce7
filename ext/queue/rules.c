#include "queue/rules.h"

#include <math.h>

#include "base/number.h"
#include "base/text.h"
#include "base/ticks.h"
#include "table/config.h"
#include "transaction/table_directory.h"
#include "value/value.h"

enum {
    WEEK_IN_SECONDS = 7 * 24 * 60 * 60,
    AZURE_COUNT_MAX = 32,
    AZURE_BODY_MAX = 65536,
    AZURE_NAME_MIN = 3,
    AZURE_NAME_MAX = 63,
};

#define WEEK (WEEK_IN_SECONDS * PT_TICKS_PER_SECOND)

int64_t pt_queue_later(int64_t time, int64_t ticks)
{
    return ticks > PT_TICKS_MAX - time ? PT_TICKS_MAX : time + ticks;
}

int64_t pt_queue_next_visible(int64_t time, int64_t ticks, int64_t expires)
{
    int64_t later = pt_queue_later(time, ticks);
    return later < expires ? later : expires;
}

/* --- Seconds --- */

static int64_t ticks_of_integer(int64_t seconds)
{
    int64_t most = PT_TICKS_MAX / PT_TICKS_PER_SECOND;
    if (seconds > most || seconds < -most) {
        return seconds > 0 ? PT_TICKS_MAX : -PT_TICKS_MAX;
    }
    return seconds * PT_TICKS_PER_SECOND;
}

static int64_t ticks_of_real(double seconds)
{
    double ticks = seconds * (double)PT_TICKS_PER_SECOND;
    if (fabs(ticks) >= (double)PT_TICKS_MAX) {
        return ticks > 0 ? PT_TICKS_MAX : -PT_TICKS_MAX;
    }
    return (int64_t)llround(ticks);
}

/* The value as error messages show it. */
static void describe_given(sqlite3_value *value, char text[PT_EXCERPT_SIZE])
{
    if (sqlite3_value_type(value) == SQLITE_NULL || sqlite3_value_type(value) == SQLITE_BLOB) {
        bool blob = sqlite3_value_type(value) == SQLITE_BLOB;
        sqlite3_snprintf(PT_EXCERPT_SIZE, text, "%s", blob ? "a BLOB" : "NULL");
        return;
    }
    const unsigned char *whole = sqlite3_value_text(value);
    pt_excerpt(pt_slice_of(whole, whole != NULL ? (size_t)sqlite3_value_bytes(value) : 0), text);
}

static int refuse_number(sqlite3_value *value, const char *name, const char *advice,
                         pt_error *error)
{
    char text[PT_EXCERPT_SIZE];
    describe_given(value, text);
    const char *quote = sqlite3_value_type(value) == SQLITE_TEXT ? "'" : "";
    return pt_error_set(error, SQLITE_MISMATCH, "%s is %s%s%s; %s (InvalidQueryParameterValue)",
                        name, quote, text, quote, advice);
}

static int refuse_out_of_range(sqlite3_value *value, const char *name, const char *advice,
                               pt_error *error)
{
    char text[PT_EXCERPT_SIZE];
    describe_given(value, text);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "%s %s is out of range; %s (OutOfRangeQueryParameterValue)", name, text,
                        advice);
}

static int read_seconds_text(sqlite3_value *value, const char *name, int64_t *ticks,
                             pt_error *error)
{
    pt_slice text;
    int64_t integer;
    double real;
    if (pt_value_argument_text(value, &text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    if (pt_integer_parse(text, &integer)) {
        *ticks = ticks_of_integer(integer);
        return SQLITE_OK;
    }
    if (pt_double_parse(text, &real)) {
        *ticks = ticks_of_real(real);
        return SQLITE_OK;
    }
    return refuse_number(value, name, "give a number of seconds", error);
}

static int read_seconds(sqlite3_value *value, const char *name, int64_t *ticks, pt_error *error)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        *ticks = ticks_of_integer(sqlite3_value_int64(value));
        return SQLITE_OK;
    case SQLITE_FLOAT:
        *ticks = ticks_of_real(sqlite3_value_double(value));
        return SQLITE_OK;
    case SQLITE_TEXT:
        return read_seconds_text(value, name, ticks, error);
    default:
        return refuse_number(value, name, "give a number of seconds", error);
    }
}

static bool is_whole_seconds(int64_t ticks)
{
    return ticks % PT_TICKS_PER_SECOND == 0;
}

int pt_queue_read_time_to_live(bool azure, sqlite3_value *seconds, int64_t *ticks, pt_error *error)
{
    if (sqlite3_value_type(seconds) == SQLITE_NULL) {
        *ticks = azure ? WEEK : PT_TICKS_MAX;
        return SQLITE_OK;
    }
    int rc = read_seconds(seconds, "TimeToLive", ticks, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (*ticks == -PT_TICKS_PER_SECOND) {
        *ticks = PT_TICKS_MAX;
        return SQLITE_OK;
    }
    if (*ticks <= 0 || (azure && !is_whole_seconds(*ticks) && *ticks != PT_TICKS_MAX)) {
        return refuse_out_of_range(
            seconds, "TimeToLive",
            azure ? "limits='azure' takes 1 or more whole seconds, or -1 for ever"
                  : "give seconds above 0 (0.0000001 at least), or -1 for ever",
            error);
    }
    return SQLITE_OK;
}

/* Reads a visibility timeout of at least `least` ticks and, with `azure`, at most 7 days. */
static int read_visibility_timeout(bool azure, sqlite3_value *seconds, int64_t least,
                                   const char *advice, int64_t *ticks, pt_error *error)
{
    static const char name[] = "VisibilityTimeout";
    int rc = read_seconds(seconds, name, ticks, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool in_range = *ticks >= least && (!azure || (*ticks <= WEEK && is_whole_seconds(*ticks)));
    return in_range ? SQLITE_OK : refuse_out_of_range(seconds, name, advice, error);
}

int pt_queue_read_update_timeout(bool azure, sqlite3_value *seconds, int64_t *ticks,
                                 pt_error *error)
{
    return read_visibility_timeout(
        azure, seconds, 0,
        azure ? "limits='azure' takes whole seconds from 0 to 604800 (7 days)"
              : "give 0 or more seconds",
        ticks, error);
}

int pt_queue_check_update_timeout(bool azure, sqlite3_value *seconds, int64_t ticks, int64_t rest,
                                  pt_error *error)
{
    return !azure || ticks <= rest
               ? SQLITE_OK
               : refuse_out_of_range(seconds, "VisibilityTimeout",
                                     "limits='azure' takes at most what is left of the message's "
                                     "TimeToLive",
                                     error);
}

int pt_queue_read_insert_timeout(bool azure, sqlite3_value *seconds, int64_t time_to_live,
                                 int64_t *ticks, pt_error *error)
{
    *ticks = 0;
    if (sqlite3_value_type(seconds) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    int rc = pt_queue_read_update_timeout(azure, seconds, ticks, error);
    if (rc == SQLITE_OK && azure && *ticks >= time_to_live) {
        rc = refuse_out_of_range(seconds, "VisibilityTimeout",
                                 "limits='azure' takes less than the message's TimeToLive", error);
    }
    return rc;
}

int pt_queue_read_get_timeout(bool azure, sqlite3_value *seconds, int64_t *ticks, pt_error *error)
{
    return read_visibility_timeout(
        azure, seconds, 1,
        azure ? "limits='azure' takes whole seconds from 1 to 604800 (7 days)"
              : "give seconds above 0 (0.0000001 at least)",
        ticks, error);
}

/* --- Counts and bodies --- */

static int read_integer(sqlite3_value *value, const char *name, int64_t *integer, pt_error *error)
{
    int rc = pt_value_integer(value, integer);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK ? rc : refuse_number(value, name, "give an integer above 0", error);
}

int pt_queue_read_count(bool azure, sqlite3_value *value, int64_t *count, pt_error *error)
{
    static const char name[] = "the number of messages";
    int rc = read_integer(value, name, count, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (*count < 1 || (azure && *count > AZURE_COUNT_MAX)) {
        return refuse_out_of_range(value, name,
                                   azure ? "limits='azure' hands out 1 to 32 at a time"
                                         : "give an integer above 0",
                                   error);
    }
    return SQLITE_OK;
}

static int read_any_body(sqlite3_value *value, pt_value *body, pt_error *error)
{
    pt_slice bytes = {0};
    int rc = SQLITE_OK;
    switch (sqlite3_value_type(value)) {
    case SQLITE_TEXT:
        rc = pt_value_argument_text(value, &bytes);
        *body = (pt_value){.type = PT_STRING, .bytes = bytes};
        break;
    case SQLITE_BLOB:
        rc = pt_value_argument_blob(value, &bytes);
        *body = (pt_value){.type = PT_BINARY, .bytes = bytes};
        break;
    case SQLITE_NULL:
        return pt_error_set(error, SQLITE_CONSTRAINT_NOTNULL,
                            "Body is NULL; give a text or a BLOB, which may be empty");
    default:
        return pt_error_set(error, SQLITE_MISMATCH,
                            "Body is the number %s; give a text or a BLOB: CAST(... AS TEXT) "
                            "(InvalidQueryParameterValue)",
                            (const char *)sqlite3_value_text(value));
    }
    return rc == SQLITE_OK ? rc : pt_error_nomem(error);
}

int pt_queue_read_body(bool azure, sqlite3_value *value, pt_value *body, pt_error *error)
{
    int rc = read_any_body(value, body, error);
    if (rc == SQLITE_OK && azure && body->bytes.size > AZURE_BODY_MAX) {
        rc = pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                          "Body has %lld bytes; limits='azure' takes at most %d "
                          "(RequestBodyTooLarge)",
                          (long long)body->bytes.size, AZURE_BODY_MAX);
    }
    return rc;
}

/* --- Names --- */

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_azure_name(const char *name)
{
    for (const char *c = name; *c != 0; c++) {
        bool inner_dash = *c == '-' && c != name && c[-1] != '-' && c[1] != 0;
        if (!is_letter_or_digit(*c) && !inner_dash) {
            return false;
        }
    }
    return true;
}

static int check_azure_name(const char *name, size_t length, pt_error *error)
{
    if (length < AZURE_NAME_MIN || length > AZURE_NAME_MAX) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "the queue's name %Q has %lld characters; limits='azure' takes %d to "
                            "%d (OutOfRangeInput)",
                            name, (long long)length, AZURE_NAME_MIN, AZURE_NAME_MAX);
    }
    if (!is_azure_name(name)) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "the queue's name %Q is invalid; limits='azure' takes a-z, 0-9 and "
                            "single inner dashes, choose another name with table=... "
                            "(InvalidResourceName)",
                            name);
    }
    return SQLITE_OK;
}

int pt_queue_check_name(bool azure, const char *name, bool has_poison, pt_error *error)
{
    size_t length = strlen(name);
    int rc = azure ? check_azure_name(name, length, error) : SQLITE_OK;
    size_t most = azure ? AZURE_NAME_MAX : PT_TABLE_NAME_MAX;
    if (rc == SQLITE_OK && has_poison && length + strlen(PT_POISON_ENDING) > most) {
        rc = pt_error_set(error, azure ? SQLITE_CONSTRAINT_VTAB : SQLITE_TOOBIG,
                          "the queue's name %Q with '" PT_POISON_ENDING "' is longer than %lld "
                          "characters; shorten it, or give up the poison queue: "
                          "max_dequeue_count=0 (OutOfRangeInput)",
                          name, (long long)most);
    }
    return rc;
}
