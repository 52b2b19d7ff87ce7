#include "service/condition_text.h"

#include <math.h>

#include "base/number.h"
#include "base/text.h"
#include "base/ticks.h"
#include "service/query_text.h"

enum {
    CONSTANT_MAX = 400,  /* bytes of a text */
    LISTED_MAX = 5,      /* values of an IN that are compared one by one */
    REPLACEMENT = 0xFFFD /* stands for what is no character: SQLite shows other texts like this */
};

/* Two to the power of 53. From there on a double need not be the number that was meant. */
static const double EXACT_END = 9007199254740992.0;

/* 1601-01-01T00:00:00Z: the service knows no time before it. */
static const int64_t FIRST_SERVICE_TIME = INT64_C(504911232000000000);
static const int64_t TICKS_PER_MILLISECOND = 10000;

typedef struct condition_writer {
    pt_buffer *filter;
    const pt_written_condition *condition;
    const pt_comparison *comparison;
    bool azurite;
    bool guarded; /* the property may have another type than the constant */
    int comparisons;
} condition_writer;

/* --- Comparisons --- */

/* Appends `before`, such as " or ", and a comparison. */
static void compare(condition_writer *writer, const char *before, const char *op,
                    const pt_value *constant)
{
    pt_buffer_append_text(writer->filter, before);
    pt_buffer_append_text(writer->filter, writer->condition->name);
    pt_buffer_append_byte(writer->filter, ' ');
    pt_buffer_append_text(writer->filter, op);
    pt_buffer_append_byte(writer->filter, ' ');
    pt_query_append_value(writer->filter, constant);
    writer->comparisons++;
}

static void close_parenthesis(condition_writer *writer)
{
    pt_buffer_append_byte(writer->filter, ')');
}

static const char *op_word(pt_plan_op op)
{
    switch (op) {
    case PT_OP_GT:
        return "gt";
    case PT_OP_GE:
        return "ge";
    case PT_OP_LT:
        return "lt";
    case PT_OP_LE:
        return "le";
    default:
        return "eq";
    }
}

static bool is_upward(pt_plan_op op)
{
    return op == PT_OP_GT || op == PT_OP_GE;
}

static pt_value text_constant(const char *text)
{
    return (pt_value){.type = PT_STRING, .bytes = pt_slice_text(text)};
}

/* --- Guards --- */

/* The least constant of a type, or one of which the same entities are less. */
static pt_value least_constant(pt_type type)
{
    static const uint8_t zero = 0;
    switch (type) {
    case PT_INT32:
        return (pt_value){.type = type, .integer = INT32_MIN};
    case PT_INT64:
        return (pt_value){.type = type, .integer = INT64_MIN};
    case PT_DOUBLE:
        return (pt_value){.type = type, .real = -1.7976931348623157e308};
    case PT_DATETIME:
        return (pt_value){.type = type, .integer = FIRST_SERVICE_TIME};
    case PT_BINARY:
        return (pt_value){.type = type, .bytes = pt_slice_of(&zero, 1)};
    case PT_STRING:
        return text_constant("");
    default: /* false, and the GUID of zeros */
        return (pt_value){.type = type};
    }
}

/* For a type of the service: all properties of other types. */
static void append_other_types(condition_writer *writer, pt_type type)
{
    pt_value least = least_constant(type);
    if (writer->guarded) {
        compare(writer, " or ", "lt", &least);
    }
}

/* For numbers on the emulator: all that is a text for it, other numbers by their value. */
static void append_all_texts(condition_writer *writer)
{
    pt_value word = text_constant("x");
    if (writer->guarded) {
        compare(writer, " or ", "ge", &word);
        compare(writer, " or ", "lt", &word);
    }
}

/* --- Presence --- */

static bool write_presence(condition_writer *writer, bool present)
{
    pt_value word = text_constant("x");
    if (writer->condition->always) {
        return false;
    }
    compare(writer, present ? "(" : "not (", "eq", &word);
    compare(writer, " or ", "ne", &word);
    close_parenthesis(writer);
    return true;
}

/* --- Numbers --- */

static bool is_number(const pt_value *value)
{
    return value->type == PT_INT64 || value->type == PT_DOUBLE;
}

static double real_of(const pt_value *value)
{
    return value->type == PT_DOUBLE ? value->real : (double)value->integer;
}

/* A whole number within Int32, or not. */
static bool is_int32(double real)
{
    return real >= INT32_MIN && real <= INT32_MAX && floor(real) == real;
}

/* The emulator reads no exponents. */
static bool has_exponent(double real)
{
    char text[PT_DOUBLE_TEXT_SIZE];
    pt_double_format(real, text);
    return strchr(text, 'e') != NULL;
}

/*
 * The type of the constants for all values; PT_NONE: there is none. An Int32 is compared with all
 * numbers. Where every property has the declared type, an Int64 constant would not find an Int32,
 * nor a Double constant an integer.
 */
static pt_type number_type(const condition_writer *writer)
{
    const pt_comparison *comparison = writer->comparison;
    pt_type column = comparison->column;
    bool small = true;
    bool whole = true;
    for (unsigned i = 0; i < comparison->count; i++) {
        double real = real_of(&comparison->values[i]);
        if (!(fabs(real) < EXACT_END)) {
            return PT_NONE;
        }
        small = small && is_int32(real);
        whole = whole && floor(real) == real;
    }
    bool sure_int64 = !writer->guarded && column == PT_INT64 && whole;
    if (writer->azurite && sure_int64) {
        return PT_INT64;
    }
    if (small) {
        return PT_INT32;
    }
    if (column == PT_DOUBLE || (writer->azurite && writer->guarded)) {
        return PT_DOUBLE;
    }
    return whole && (writer->guarded || sure_int64) ? PT_INT64 : PT_NONE;
}

static pt_value number_constant(pt_type type, double real)
{
    return type == PT_DOUBLE ? (pt_value){.type = type, .real = real}
                             : (pt_value){.type = type, .integer = (int64_t)real};
}

/* The end of a condition on numbers: other types. */
static bool end_numbers(condition_writer *writer, pt_type type)
{
    if (writer->azurite) {
        append_all_texts(writer);
    } else {
        append_other_types(writer, type);
    }
    close_parenthesis(writer);
    return true;
}

/* For the emulator 7 is not equal to the Int64 7, nor 1 to true, but neither less nor greater. */
static void append_equal_number(condition_writer *writer, const char *before, pt_type type,
                                double real)
{
    pt_value constant = number_constant(type, real);
    if (!writer->azurite) {
        compare(writer, before, "eq", &constant);
        return;
    }
    compare(writer, before, "ge", &constant);
    compare(writer, " and ", "le", &constant);
}

/* From the first to the last of several values. */
static void append_between(condition_writer *writer, const pt_value *low, const pt_value *high)
{
    compare(writer, "(", "ge", low);
    compare(writer, " and ", "le", high);
}

static bool write_equal_numbers(condition_writer *writer, pt_type type)
{
    const pt_comparison *comparison = writer->comparison;
    if (comparison->count > LISTED_MAX) {
        pt_value low = number_constant(type, real_of(&comparison->values[0]));
        pt_value high = number_constant(type, real_of(&comparison->values[comparison->count - 1]));
        append_between(writer, &low, &high);
        return end_numbers(writer, type);
    }
    for (unsigned i = 0; i < comparison->count; i++) {
        append_equal_number(writer, i == 0 ? "(" : " or ", type, real_of(&comparison->values[i]));
    }
    return end_numbers(writer, type);
}

/* A NaN differs from every number, and is not less than the constant. */
static bool write_upward_with_nan(condition_writer *writer, pt_plan_op op, pt_type type,
                                  double real)
{
    double different = op == PT_OP_GT ? real : floor(real) - 1;
    if (type == PT_INT32 && different < INT32_MIN) {
        return false;
    }
    pt_value constant = number_constant(type, real);
    pt_value other = number_constant(type, different);
    compare(writer, "(", "ne", &other);
    compare(writer, " and not (", op == PT_OP_GT ? "le" : "lt", &constant);
    close_parenthesis(writer);
    return end_numbers(writer, type);
}

/* Numbers on one side of a constant. */
static bool write_side(condition_writer *writer, pt_plan_op op, pt_type type, double real)
{
    bool finds_texts = writer->azurite && writer->guarded; /* also those of NaN */
    bool may_be_nan = writer->guarded || writer->comparison->column == PT_DOUBLE;
    if (is_upward(op) && may_be_nan && !finds_texts) {
        return write_upward_with_nan(writer, op, type, real);
    }
    pt_value constant = number_constant(type, real);
    compare(writer, "(", op_word(op), &constant);
    if (is_upward(op) || finds_texts) {
        return end_numbers(writer, type);
    }
    close_parenthesis(writer); /* properties of other types are less */
    return true;
}

/* A number with a fraction beside integers: an Int32 constant on its side finds at least as much,
 * among all numbers. */
static bool write_beside_fraction(condition_writer *writer, double real)
{
    double below = floor(real);
    double above = ceil(real);
    if (!is_int32(below) || !is_int32(above)) {
        return false;
    }
    if (writer->comparison->op != PT_OP_EQ) {
        bool upward = is_upward(writer->comparison->op);
        return write_side(writer, upward ? PT_OP_GT : PT_OP_LT, PT_INT32, upward ? below : above);
    }
    pt_value low = number_constant(PT_INT32, below);
    pt_value high = number_constant(PT_INT32, above);
    append_between(writer, &low, &high);
    return end_numbers(writer, PT_INT32);
}

static bool write_numbers(condition_writer *writer)
{
    const pt_comparison *comparison = writer->comparison;
    pt_type type = number_type(writer);
    if (type == PT_DOUBLE && writer->azurite) {
        for (unsigned i = 0; i < comparison->count; i++) {
            if (has_exponent(real_of(&comparison->values[i]))) {
                return false;
            }
        }
    }
    double first = real_of(&comparison->values[0]);
    if (type == PT_NONE) {
        bool fraction = comparison->count == 1 && floor(first) != first;
        return fraction && write_beside_fraction(writer, first);
    }
    return comparison->op == PT_OP_EQ ? write_equal_numbers(writer, type)
                                      : write_side(writer, comparison->op, type, first);
}

/* --- Booleans --- */

/* False if both Booleans pass. Sets *passing to the one that does, or to -1 if none does. */
static bool find_passing(const pt_comparison *comparison, int *passing)
{
    bool passes[2] = {false, false};
    for (int i = 0; i < 2; i++) {
        if (comparison->count == 1) {
            passes[i] = i >= comparison->low && i <= comparison->high;
            continue;
        }
        for (unsigned j = 0; j < comparison->count; j++) {
            passes[i] = passes[i] || real_of(&comparison->values[j]) == i;
        }
    }
    *passing = passes[1] ? 1 : passes[0] ? 0 : -1;
    return !passes[0] || !passes[1];
}

static bool write_boolean(condition_writer *writer)
{
    int passing;
    if (!find_passing(writer->comparison, &passing)) {
        return false;
    }
    if (passing < 0) {
        pt_value least = least_constant(PT_BOOLEAN);
        compare(writer, "", "lt", &least);
        return true;
    }
    pt_value constant = {.type = PT_BOOLEAN, .integer = passing};
    compare(writer, "(", "eq", &constant);
    append_other_types(writer, PT_BOOLEAN);
    close_parenthesis(writer);
    return true;
}

/* --- Texts --- */

static bool is_ascii_text(pt_slice text)
{
    size_t at = 0;
    while (at < text.size && text.data[at] < 0x80) {
        at++;
    }
    return at == text.size;
}

/* True if the service finds exactly the texts that SQLite finds equal to this one. */
static bool is_equal_alike(const condition_writer *writer, pt_slice text)
{
    pt_slice rest = text;
    while (rest.size > 0) {
        size_t length = pt_utf8_size(rest);
        uint32_t character = length != 0 ? pt_utf8_decode(rest.data, length) : 0;
        if (character < ' ' || (character >= 0x7F && character < 0xA0) ||
            character == REPLACEMENT) {
            return false;
        }
        rest = pt_slice_of(rest.data + length, rest.size - length);
    }
    return text.size <= CONSTANT_MAX && (!writer->comparison->only_equal || is_ascii_text(text));
}

/* True for a text as which SQLite shows a time, a GUID or a NaN: the emulator stores the first two
 * in another form, and Azure compares the last one with no number. */
static bool may_be_shown(pt_slice text)
{
    uint8_t guid[PT_GUID_SIZE];
    int64_t place = pt_ticks_place(text);
    return pt_guid_parse(text, guid) || (place >= 0 && place <= PT_TICKS_MAX) ||
           pt_slice_equal(text, pt_slice_text("NaN"));
}

/* The end of a condition on texts: other types. On the emulator these are the numbers; those that
 * it stores as texts are equal to a text that is the same. */
static bool end_texts(condition_writer *writer)
{
    pt_value zero = number_constant(PT_INT32, 0);
    if (!writer->azurite) {
        append_other_types(writer, PT_STRING);
    } else if (writer->guarded) {
        compare(writer, " or ", "ge", &zero);
        compare(writer, " or ", "lt", &zero);
    }
    close_parenthesis(writer);
    return true;
}

static bool write_equal_texts(condition_writer *writer)
{
    const pt_comparison *comparison = writer->comparison;
    if (comparison->number_texts && !writer->condition->plain) {
        return false; /* '5' may be equal to the number 5, and then to '05' */
    }
    for (unsigned i = 0; i < comparison->count; i++) {
        pt_slice text = comparison->values[i].bytes;
        if (!is_equal_alike(writer, text) ||
            (writer->azurite && writer->guarded && may_be_shown(text))) {
            return false;
        }
    }
    if (comparison->count > LISTED_MAX) {
        const pt_value *low = &comparison->values[0];
        const pt_value *high = &comparison->values[comparison->count - 1];
        if (pt_query_alike_size(low->bytes) != low->bytes.size ||
            pt_query_alike_size(high->bytes) != high->bytes.size) {
            return false;
        }
        append_between(writer, low, high);
        return end_texts(writer);
    }
    for (unsigned i = 0; i < comparison->count; i++) {
        compare(writer, i == 0 ? "(" : " or ", "eq", &comparison->values[i]);
    }
    return end_texts(writer);
}

/* Texts on one side of a constant. Behind a character that the service orders otherwise, the
 * constant is cut. */
static bool write_text_side(condition_writer *writer)
{
    const pt_plan_op op = writer->comparison->op;
    pt_value constant = writer->comparison->values[0];
    pt_slice whole = constant.bytes;
    constant.bytes.size = pt_query_alike_size(whole);
    bool cut = constant.bytes.size != whole.size;
    if (!cut) {
        compare(writer, "(", op_word(op), &constant);
        return end_texts(writer);
    }
    if (constant.bytes.size == 0) {
        return false; /* every text may pass */
    }
    if (is_upward(op)) {
        compare(writer, "(", "ge", &constant);
        return end_texts(writer);
    }
    pt_buffer successor = {0};
    bool has_successor = pt_query_append_successor(&successor, constant.bytes);
    constant.bytes = pt_buffer_slice(&successor);
    if (has_successor) {
        compare(writer, "(", "lt", &constant);
        end_texts(writer);
    }
    writer->filter->failed = writer->filter->failed || successor.failed;
    pt_buffer_free(&successor);
    return has_successor;
}

/* The other side may make SQLite compare texts that look like numbers as numbers. These are less
 * than all other texts, and all begin with a character below ':'. */
static bool is_order_of_texts(const condition_writer *writer)
{
    pt_slice constant = writer->comparison->values[0].bytes;
    return writer->condition->plain ||
           (!writer->comparison->number_texts &&
            (is_upward(writer->comparison->op) || (constant.size != 0 && constant.data[0] >= ':')));
}

static bool write_texts(condition_writer *writer)
{
    if (writer->comparison->op == PT_OP_EQ) {
        return write_equal_texts(writer);
    }
    return !(writer->azurite && writer->guarded) && is_order_of_texts(writer) &&
           write_text_side(writer);
}

/* --- Times --- */

static pt_value time_constant(int64_t ticks)
{
    return (pt_value){.type = PT_DATETIME, .integer = ticks};
}

/* The emulator compares milliseconds. `ticks` is a time of the service. */
static pt_value low_time(const condition_writer *writer, int64_t ticks)
{
    return time_constant(writer->azurite ? ticks - TICKS_PER_MILLISECOND : ticks);
}

static pt_value high_time(const condition_writer *writer, int64_t ticks)
{
    bool widened = writer->azurite && ticks <= PT_TICKS_MAX - TICKS_PER_MILLISECOND;
    return time_constant(widened ? ticks + TICKS_PER_MILLISECOND : ticks);
}

static bool end_times(condition_writer *writer)
{
    append_other_types(writer, PT_DATETIME);
    close_parenthesis(writer);
    return true;
}

static bool is_time_of_service(int64_t ticks)
{
    return ticks >= FIRST_SERVICE_TIME && ticks <= PT_TICKS_MAX;
}

static bool write_equal_times(condition_writer *writer)
{
    const pt_comparison *comparison = writer->comparison;
    const pt_value *values = comparison->values;
    const pt_value *last = &values[comparison->count - 1];
    if (!is_time_of_service(values[0].integer) || !is_time_of_service(last->integer)) {
        return false;
    }
    if (comparison->count > LISTED_MAX) {
        pt_value low = low_time(writer, values[0].integer);
        pt_value high = high_time(writer, last->integer);
        append_between(writer, &low, &high);
        return end_times(writer);
    }
    for (unsigned i = 0; i < comparison->count; i++) {
        const char *before = i == 0 ? "(" : " or ";
        pt_value low = low_time(writer, values[i].integer);
        pt_value high = high_time(writer, values[i].integer);
        if (writer->azurite) {
            compare(writer, before, "ge", &low);
            compare(writer, " and ", "le", &high);
        } else {
            compare(writer, before, "eq", &values[i]);
        }
    }
    return end_times(writer);
}

static bool write_times(condition_writer *writer)
{
    const pt_comparison *comparison = writer->comparison;
    if (writer->azurite && writer->guarded) {
        return false; /* it reads some texts as times, in ways of its own */
    }
    if (comparison->op == PT_OP_EQ) {
        return write_equal_times(writer);
    }
    bool upward = is_upward(comparison->op);
    int64_t bound = upward ? comparison->low : comparison->high;
    if (!is_time_of_service(bound)) {
        return false;
    }
    pt_value constant = upward ? low_time(writer, bound) : high_time(writer, bound);
    compare(writer, "(", upward ? "ge" : "le", &constant);
    if (upward) {
        return end_times(writer);
    }
    close_parenthesis(writer);
    return true;
}

/* --- GUIDs and binaries --- */

/* Only for =. The emulator keeps both as they were written, in more than one form. */
static bool write_equal_bytes(condition_writer *writer, pt_type type)
{
    const pt_comparison *comparison = writer->comparison;
    if (writer->azurite || comparison->count > LISTED_MAX) {
        return false;
    }
    for (unsigned i = 0; i < comparison->count; i++) {
        const pt_value *value = &comparison->values[i];
        if (type == PT_BINARY && (value->bytes.size == 0 || value->bytes.size > CONSTANT_MAX / 2)) {
            return false;
        }
        compare(writer, i == 0 ? "(" : " or ", "eq", value);
    }
    if (type == PT_GUID) { /* a text is equal to a GUID's, but to no binary */
        append_other_types(writer, type);
    }
    close_parenthesis(writer);
    return true;
}

/* --- All conditions --- */

/* The type of the service that the values have, of which numbers count as Int32. PT_NONE: they
 * differ, or there are none. */
static pt_type type_of_values(const pt_comparison *comparison)
{
    if (comparison->count == 0 || comparison->too_many) {
        return PT_NONE;
    }
    const pt_value *first = &comparison->values[0];
    const pt_value *last = &comparison->values[comparison->count - 1];
    if (is_number(first) && is_number(last)) {
        return PT_INT32;
    }
    return first->type == last->type ? first->type : PT_NONE;
}

static bool is_numeric_column(pt_type column)
{
    return column == PT_INT32 || column == PT_INT64 || column == PT_DOUBLE;
}

static bool write_values(condition_writer *writer, pt_type type)
{
    switch (type) {
    case PT_INT32:
        if (writer->comparison->column == PT_BOOLEAN && !(writer->azurite && writer->guarded)) {
            return write_boolean(writer);
        }
        return write_numbers(writer);
    case PT_STRING:
        return write_texts(writer);
    case PT_DATETIME:
        return write_times(writer);
    default: /* GUIDs and binaries */
        return writer->comparison->op == PT_OP_EQ && write_equal_bytes(writer, type);
    }
}

static bool write_condition(condition_writer *writer)
{
    const pt_comparison *comparison = writer->comparison;
    pt_type column = comparison->column;
    pt_type type = type_of_values(comparison);
    if (comparison->finds_null || (comparison->too_many && comparison->count == 0)) {
        return write_presence(writer, !comparison->finds_null);
    }
    if (type == PT_NONE || pt_comparison_judging(comparison, type) == PT_JUDGE_NONE) {
        return false;
    }
    bool numeric = is_numeric_column(column) || column == PT_BOOLEAN;
    if (numeric && type == PT_STRING) {
        return false; /* beside such a column SQLite may take texts for numbers */
    }
    if (column == PT_GUID && type != PT_GUID) {
        return false; /* texts that are no GUIDs are not among the values */
    }
    if (writer->condition->declared && column != PT_NONE) {
        writer->guarded = false;
        return type == (numeric ? PT_INT32 : column) && write_values(writer, type);
    }
    writer->guarded = true;
    return write_values(writer, type);
}

int pt_condition_append(pt_buffer *filter, const pt_written_condition *condition)
{
    size_t before = filter->size;
    condition_writer writer = {
        .filter = filter,
        .condition = condition,
        .comparison = condition->comparison,
        .azurite = condition->dialect != PT_DIALECT_AZURE,
    };
    if (condition->dialect != PT_DIALECT_COSMOS && write_condition(&writer)) {
        return writer.comparisons;
    }
    filter->size = before;
    return 0;
}

bool pt_condition_has_name(pt_slice name)
{
    static const char *const words[] = {"eq",       "ne",   "gt",     "ge",   "lt",    "le",
                                        "and",      "or",   "not",    "true", "false", "null",
                                        "datetime", "guid", "binary", "x"};
    if (!pt_query_is_plain_name(name)) {
        return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (pt_is_word(name, words[i])) {
            return false;
        }
    }
    return true;
}
