#include "functions/time_functions.h"

#include <stdatomic.h>

#include "base/text.h"
#include "base/ticks.h"
#include "functions/function_arguments.h"
#include "value/value.h"

typedef enum time_forms { TIME_ONLY, TIME_OR_TICKS } time_forms;

/* `rule`, or NULL, is the rule that a text breaks. */
static void refuse_time(sqlite3_context *context, sqlite3_value *argument, time_forms forms,
                        const char *rule)
{
    pt_argument_refuse(context, argument,
                       "is not a time%s%s; give YYYY-MM-DD[ HH:MM[:SS[.fraction]]][Z or +HH:MM]%s, "
                       "year 0001 to 9999, no finer than 100 ns",
                       rule != NULL ? ": " : "", rule != NULL ? rule : "",
                       forms == TIME_OR_TICKS ? ", or ticks as INTEGER" : "");
}

static bool parse_time_argument(sqlite3_context *context, sqlite3_value *argument, time_forms forms,
                                int64_t *ticks)
{
    pt_slice text;
    if (!pt_argument_text(context, argument, &text)) {
        return false;
    }
    if (pt_ticks_parse(text, ticks)) {
        return true;
    }
    if (pt_is_word(text, "now")) {
        pt_argument_refuse(context, argument,
                           "is not accepted; call the function without an argument");
    } else {
        refuse_time(context, argument, forms, pt_ticks_broken_rule(text));
    }
    return false;
}

static bool check_ticks_argument(sqlite3_context *context, sqlite3_value *argument,
                                 const int64_t *ticks)
{
    if (*ticks < 0 || *ticks > PT_TICKS_MAX) {
        pt_argument_refuse(context, argument,
                           "is not a number of ticks; give 0 (year 0001) to %lld (end of 9999)",
                           PT_TICKS_MAX);
        return false;
    }
    return true;
}

/* False if the result is already set: NULL for a NULL argument, or an error. */
static bool time_argument(sqlite3_context *context, sqlite3_value *argument, time_forms forms,
                          int64_t *ticks)
{
    int type = sqlite3_value_type(argument);
    if (type == SQLITE_NULL) {
        return false;
    }
    if (type == SQLITE_TEXT) {
        return parse_time_argument(context, argument, forms, ticks);
    }
    if (forms == TIME_OR_TICKS && pt_value_integer(argument, ticks) == SQLITE_OK) {
        return check_ticks_argument(context, argument, ticks);
    }
    refuse_time(context, argument, forms, NULL);
    return false;
}

static void result_datetime(sqlite3_context *context, int64_t ticks)
{
    char text[PT_DATETIME_TEXT_SIZE + 1];
    pt_ticks_format(ticks, text);
    sqlite3_result_text(context, text, PT_DATETIME_TEXT_SIZE, SQLITE_TRANSIENT);
}

int pt_collation_datetime(void *context, int a_size, const void *a, int b_size, const void *b)
{
    (void)context;
    return pt_ticks_compare_texts(pt_slice_of(a, (size_t)a_size), pt_slice_of(b, (size_t)b_size));
}

void pt_function_ticks(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t ticks;
    if (argc == 0) {
        ticks = pt_ticks_now();
    } else if (!time_argument(context, argv[0], TIME_ONLY, &ticks)) {
        return;
    }
    sqlite3_result_int64(context, ticks);
}

void pt_function_datetime(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t ticks;
    if (argc == 0) {
        ticks = pt_ticks_now();
    } else if (!time_argument(context, argv[0], TIME_OR_TICKS, &ticks)) {
        return;
    }
    result_datetime(context, ticks);
}

/* The inverted clock, or one less than the last value if the clock has not advanced since. */
static int64_t next_inverted_ticks(void)
{
    static _Atomic int64_t last = INT64_MAX;
    int64_t now = PT_TICKS_MAX - pt_ticks_now();
    int64_t previous = atomic_load(&last);
    int64_t next;
    do {
        next = now < previous ? now : previous - 1;
    } while (!atomic_compare_exchange_weak(&last, &previous, next));
    return next;
}

void pt_function_inverted_ticks(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t inverted;
    if (argc == 0) {
        inverted = next_inverted_ticks();
    } else {
        int64_t ticks;
        if (!time_argument(context, argv[0], TIME_OR_TICKS, &ticks)) {
            return;
        }
        inverted = PT_TICKS_MAX - ticks;
    }
    char text[PT_INVERTED_TICKS_SIZE + 1];
    sqlite3_snprintf(sizeof text, text, "%019lld", inverted);
    sqlite3_result_text(context, text, PT_INVERTED_TICKS_SIZE, SQLITE_TRANSIENT);
}

static bool parse_inverted_ticks(pt_slice text, int64_t *inverted)
{
    if (text.size != PT_INVERTED_TICKS_SIZE) {
        return false;
    }
    uint64_t sum = 0; /* 19 digits always fit */
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        sum = sum * 10 + (uint64_t)(text.data[i] - '0');
    }
    *inverted = (int64_t)sum;
    return sum <= (uint64_t)PT_TICKS_MAX;
}

void pt_function_inverted_datetime(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    if (pt_arguments_have_null(argc, argv)) {
        return;
    }
    pt_slice text;
    int64_t inverted;
    if (!pt_argument_text(context, argv[0], &text)) {
        return;
    }
    if (!parse_inverted_ticks(text, &inverted)) {
        pt_argument_refuse(context, argv[0],
                           "is not 19 digits up to %lld; give a result of pt_inverted_ticks",
                           PT_TICKS_MAX);
        return;
    }
    result_datetime(context, PT_TICKS_MAX - inverted);
}
