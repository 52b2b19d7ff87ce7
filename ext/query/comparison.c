#include "query/comparison.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/ticks.h"
#include "value/value.h"

/* What the column's type makes SQLite convert. */
typedef enum affinity { AFFINITY_NONE, AFFINITY_TEXT, AFFINITY_NUMERIC } affinity;

static affinity affinity_of(pt_type column)
{
    switch (column) {
    case PT_STRING:
    case PT_DATETIME:
    case PT_GUID:
        return AFFINITY_TEXT;
    case PT_INT32:
    case PT_INT64:
    case PT_DOUBLE:
    case PT_BOOLEAN:
        return AFFINITY_NUMERIC;
    default:
        return AFFINITY_NONE;
    }
}

/* --- Texts that SQLite may take for numbers --- */

static size_t skip_blanks(pt_slice text, size_t at)
{
    while (at < text.size && pt_is_blank(text.data[at])) {
        at++;
    }
    return at;
}

static size_t skip_digits(pt_slice text, size_t at)
{
    while (at < text.size && pt_is_digit(text.data[at])) {
        at++;
    }
    return at;
}

static size_t skip_sign(pt_slice text, size_t at)
{
    return at < text.size && (text.data[at] == '-' || text.data[at] == '+') ? at + 1 : at;
}

static size_t skip_exponent(pt_slice text, size_t at)
{
    if (at >= text.size || (text.data[at] != 'e' && text.data[at] != 'E')) {
        return at;
    }
    return skip_digits(text, skip_sign(text, at + 1));
}

/* Also true for a few texts that are no numbers, such as "1." and "1e", and for the texts of
 * infinite numbers. */
static bool reads_as_number(pt_slice text)
{
    size_t start = skip_sign(text, skip_blanks(text, 0));
    if (text.size - start == 3 && memcmp(text.data + start, "Inf", 3) == 0) {
        return true;
    }
    size_t at = skip_digits(text, start);
    if (at < text.size && text.data[at] == '.') {
        at = skip_digits(text, at + 1);
    }
    return at > start && skip_blanks(text, skip_exponent(text, at)) == text.size;
}

/* Most texts begin with a letter. */
static inline bool may_be_number(pt_slice text)
{
    return text.size != 0 && (text.data[0] <= '9' || text.data[0] == 'I') && reads_as_number(text);
}

/* Texts of as many digits have the same order as texts and as numbers, as far as numbers are exact.
 */
static bool are_like_digits(pt_slice a, pt_slice b)
{
    enum { EXACT_DIGITS = 18 };
    return a.size == b.size && a.size <= EXACT_DIGITS && skip_digits(a, 0) == a.size &&
           skip_digits(b, 0) == b.size;
}

static bool is_ascii(pt_slice text)
{
    size_t at = 0;
    while (at < text.size && text.data[at] < 0x80) {
        at++;
    }
    return at == text.size;
}

/* --- The order of values --- */

/* Two to the power of 63. Every int64_t is below it, and none below its negative. */
static const double INTEGERS_END = 9223372036854775808.0;

static int integer_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Exactly: an integer need not have an equal double. */
static int integer_and_real_order(int64_t integer, double real)
{
    if (real < -INTEGERS_END) {
        return 1;
    }
    if (real >= INTEGERS_END) {
        return -1;
    }
    int64_t whole = (int64_t)real;
    int order = integer_order(integer, whole);
    double fraction = real - (double)whole;
    return order != 0 ? order : (fraction < 0) - (fraction > 0);
}

static int number_order(const pt_value *a, const pt_value *b)
{
    if (a->type == PT_DOUBLE && b->type == PT_DOUBLE) {
        return (a->real > b->real) - (a->real < b->real);
    }
    if (a->type == PT_DOUBLE) {
        return -integer_and_real_order(b->integer, a->real);
    }
    return b->type == PT_DOUBLE ? integer_and_real_order(a->integer, b->real)
                                : integer_order(a->integer, b->integer);
}

/* Numbers are of one class. A time beside a DateTime column and a GUID beside a Guid column stand
 * for texts. */
static pt_type class_of(const pt_value *value)
{
    bool number = value->type == PT_INT32 || value->type == PT_INT64 || value->type == PT_BOOLEAN ||
                  value->type == PT_DOUBLE;
    return number ? PT_DOUBLE : value->type;
}

static int value_order(const pt_value *a, const pt_value *b)
{
    pt_type class = class_of(a);
    if (class != class_of(b)) {
        return class < class_of(b) ? -1 : 1;
    }
    switch (class) {
    case PT_DOUBLE:
        return number_order(a, b);
    case PT_DATETIME:
        return integer_order(a->integer, b->integer);
    case PT_GUID:
        return memcmp(a->guid, b->guid, PT_GUID_SIZE);
    default:
        return pt_slice_compare(a->bytes, b->bytes);
    }
}

static int element_order(const void *a, const void *b)
{
    return value_order(a, b);
}

/* --- The values of the other side --- */

void pt_comparison_begin(pt_comparison *comparison, pt_type column, pt_plan_op op, bool only_equal)
{
    *comparison = (pt_comparison){.column = column, .op = op, .only_equal = only_equal};
}

void pt_comparison_compare_exactly(pt_comparison *comparison)
{
    comparison->exact = affinity_of(comparison->column) != AFFINITY_NUMERIC;
}

static int append_value(pt_comparison *comparison, const pt_value *value, pt_arena *arena)
{
    unsigned count = comparison->count;
    if (count == PT_COMPARED_VALUES_MAX && !comparison->keeps_all) {
        comparison->too_many = true;
        return SQLITE_OK;
    }
    if (!pt_arena_reserve(arena, &comparison->values, &comparison->capacity, count,
                          sizeof *value)) {
        return SQLITE_NOMEM;
    }
    comparison->values[comparison->count++] = *value;
    return SQLITE_OK;
}

static int add_number(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena)
{
    pt_value number = {.type = PT_INT64};
    if (sqlite3_value_type(value) == SQLITE_INTEGER) {
        number.integer = sqlite3_value_int64(value);
    } else {
        number.type = PT_DOUBLE;
        number.real = sqlite3_value_double(value);
    }
    comparison->has_number = true;
    return append_value(comparison, &number, arena);
}

static int append_bytes(pt_comparison *comparison, pt_type type, pt_slice bytes, pt_arena *arena)
{
    pt_value value = {.type = type, .bytes = pt_arena_copy(arena, bytes)};
    return value.bytes.data != NULL ? append_value(comparison, &value, arena) : SQLITE_NOMEM;
}

/* A text beside a Guid column. Only one in the form that the column shows, in any case, can be
 * equal to a Guid. */
static int add_guid(pt_comparison *comparison, pt_slice text, pt_arena *arena)
{
    pt_value value = {.type = PT_GUID};
    bool shown = text.size == PT_GUID_TEXT_SIZE && pt_guid_parse(text, value.guid);
    return shown ? append_value(comparison, &value, arena) : SQLITE_OK;
}

static int add_time(pt_comparison *comparison, pt_slice text, pt_arena *arena)
{
    const pt_value value = {.type = PT_DATETIME, .integer = pt_ticks_place(text)};
    return append_value(comparison, &value, arena);
}

static int add_text(pt_comparison *comparison, pt_slice text, pt_arena *arena)
{
    comparison->number_texts = comparison->number_texts || may_be_number(text);
    switch (comparison->column) {
    case PT_DATETIME:
        return add_time(comparison, text, arena);
    case PT_GUID:
        return add_guid(comparison, text, arena);
    default:
        return append_bytes(comparison, PT_STRING, text, arena);
    }
}

static int add_own_text(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena)
{
    const unsigned char *data = sqlite3_value_text(value);
    if (data == NULL) {
        return SQLITE_NOMEM;
    }
    pt_slice text = pt_slice_of(data, (size_t)sqlite3_value_bytes(value));
    bool converts = affinity_of(comparison->column) == AFFINITY_NUMERIC && may_be_number(text);
    return converts && sqlite3_value_numeric_type(value) != SQLITE_TEXT
               ? add_number(comparison, value, arena)
               : add_text(comparison, text, arena);
}

static int add_blob(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena)
{
    pt_slice blob;
    int rc = pt_value_argument_blob(value, &blob);
    return rc == SQLITE_OK ? append_bytes(comparison, PT_BINARY, blob, arena) : rc;
}

int pt_comparison_add(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena)
{
    int type = sqlite3_value_type(value);
    comparison->any = comparison->any || type != SQLITE_NULL;
    switch (type) {
    case SQLITE_NULL:
        return SQLITE_OK;
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
        return add_number(comparison, value, arena);
    case SQLITE_BLOB:
        return add_blob(comparison, value, arena);
    default:
        return add_own_text(comparison, value, arena);
    }
}

int pt_comparison_add_argument(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        return pt_comparison_add(comparison, value, arena);
    }
    sqlite3_value *copy = sqlite3_value_dup(value);
    int rc = copy != NULL ? pt_comparison_add(comparison, copy, arena) : SQLITE_NOMEM;
    sqlite3_value_free(copy);
    return rc;
}

int pt_comparison_add_prefix(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena)
{
    if (sqlite3_value_type(value) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    sqlite3_value *copy = sqlite3_value_dup(value);
    const unsigned char *text = copy != NULL ? sqlite3_value_text(copy) : NULL;
    int rc = SQLITE_NOMEM;
    if (text != NULL) {
        pt_slice prefix = pt_slice_of(text, (size_t)sqlite3_value_bytes(copy));
        rc = append_bytes(comparison, PT_STRING, prefix, arena);
    }
    sqlite3_value_free(copy);
    pt_comparison_find_all(comparison);
    return rc;
}

/* The integers that are equal to the value lie from *low to *high, where low > high means none. The
 * greater ones begin after *high, the lesser ones end before *low. False if the value is beyond all
 * integers. */
static bool find_equal(const pt_value *value, int64_t *low, int64_t *high)
{
    if (value->type != PT_DOUBLE) {
        *low = value->integer;
        *high = value->integer;
        return true;
    }
    if (!(value->real >= -INTEGERS_END && value->real < INTEGERS_END)) {
        return false;
    }
    *low = (int64_t)ceil(value->real);
    *high = (int64_t)floor(value->real);
    return true;
}

static void set_all_or_none(pt_comparison *comparison, bool all)
{
    comparison->low = all ? INT64_MIN : 1;
    comparison->high = all ? INT64_MAX : 0;
}

static void set_low(pt_comparison *comparison, int64_t last_excluded)
{
    set_all_or_none(comparison, last_excluded < INT64_MAX);
    if (last_excluded < INT64_MAX) {
        comparison->low = last_excluded + 1;
    }
}

static void set_high(pt_comparison *comparison, int64_t first_excluded)
{
    set_all_or_none(comparison, first_excluded > INT64_MIN);
    if (first_excluded > INT64_MIN) {
        comparison->high = first_excluded - 1;
    }
}

/* Sets low and high from the only value, a number or a time. */
static void set_range(pt_comparison *comparison)
{
    const pt_value *value = &comparison->values[0];
    bool upward = comparison->op == PT_OP_GT || comparison->op == PT_OP_GE;
    int64_t low;
    int64_t high;
    if (!find_equal(value, &low, &high)) {
        set_all_or_none(comparison, comparison->op != PT_OP_EQ && upward == (value->real < 0));
        return;
    }
    switch (comparison->op) {
    case PT_OP_GT:
        set_low(comparison, high);
        break;
    case PT_OP_GE:
        set_all_or_none(comparison, true);
        comparison->low = low;
        break;
    case PT_OP_LT:
        set_high(comparison, low);
        break;
    case PT_OP_LE:
        set_all_or_none(comparison, true);
        comparison->high = high;
        break;
    default:
        comparison->low = low;
        comparison->high = high;
        break;
    }
}

static bool are_in_order(const pt_comparison *comparison)
{
    unsigned i = 1;
    while (i < comparison->count &&
           value_order(&comparison->values[i - 1], &comparison->values[i]) <= 0) {
        i++;
    }
    return i >= comparison->count;
}

/* SQLite hands over the values of an IN in its own order, in which most are sorted already. */
void pt_comparison_end(pt_comparison *comparison)
{
    if (!are_in_order(comparison)) {
        qsort(comparison->values, comparison->count, sizeof *comparison->values, element_order);
    }
    if (comparison->count == 1 &&
        (class_of(comparison->values) == PT_DOUBLE || comparison->values[0].type == PT_DATETIME)) {
        set_range(comparison);
    }
}

bool pt_comparison_is_never(const pt_comparison *comparison)
{
    return !comparison->any && !comparison->finds_null;
}

/* --- Judging --- */

/* True if the only value is of this class. */
static bool has_one(const pt_comparison *comparison, pt_type class)
{
    return comparison->count == 1 && class_of(comparison->values) == class;
}

/* True if values of a class can be judged: they are compared for equality only, or there is a value
 * of their class, in whose order they are. */
static bool is_comparable(const pt_comparison *comparison, pt_type class)
{
    return comparison->op == PT_OP_EQ || has_one(comparison, class);
}

/* Beside a column of texts SQLite may compare numbers as texts: 10 before 9. */
static pt_judging judging_of_number(const pt_comparison *comparison, pt_judging of_one)
{
    if (affinity_of(comparison->column) == AFFINITY_TEXT || comparison->number_texts ||
        !is_comparable(comparison, PT_DOUBLE)) {
        return PT_JUDGE_NONE;
    }
    return has_one(comparison, PT_DOUBLE) ? of_one : PT_JUDGE_VALUE;
}

/* For IN, SQLite rounds an integer in a column of REALs to a REAL before it compares it. Here IN
 * looks like =. */
static bool rounds_integers(const pt_comparison *comparison)
{
    return comparison->column == PT_DOUBLE && comparison->op == PT_OP_EQ;
}

/* A time in a DateTime column. PT_DATETIME takes the text of a number for a year: 2026 may equal
 * the first moment of 2026. */
static pt_judging judging_of_time(const pt_comparison *comparison)
{
    bool order = comparison->op != PT_OP_EQ;
    if (comparison->has_number || (order && (comparison->number_texts || comparison->only_equal)) ||
        !is_comparable(comparison, PT_DATETIME)) {
        return PT_JUDGE_NONE;
    }
    return has_one(comparison, PT_DATETIME) ? PT_JUDGE_RANGE : PT_JUDGE_VALUE;
}

static pt_judging judging_of_guid(const pt_comparison *comparison)
{
    bool other_order = comparison->op != PT_OP_EQ && comparison->only_equal;
    return is_comparable(comparison, PT_GUID) && !other_order ? PT_JUDGE_VALUE : PT_JUDGE_NONE;
}

static pt_judging judging_of_text(const pt_comparison *comparison)
{
    if (comparison->column == PT_DATETIME || comparison->column == PT_GUID ||
        !is_comparable(comparison, PT_STRING) ||
        (comparison->op != PT_OP_EQ && comparison->only_equal)) {
        return PT_JUDGE_NONE;
    }
    return has_one(comparison, PT_STRING) ? PT_JUDGE_TEXT : PT_JUDGE_VALUE;
}

pt_judging pt_comparison_judging(const pt_comparison *comparison, pt_type type)
{
    if (type == PT_NONE) {
        return comparison->finds_null ? PT_JUDGE_NONE : PT_JUDGE_ALL;
    }
    if (!comparison->any) {
        return PT_JUDGE_ALL;
    }
    if (comparison->too_many) {
        return PT_JUDGE_NONE;
    }
    switch (type) {
    case PT_INT32:
        return judging_of_number(comparison, PT_JUDGE_INT32);
    case PT_INT64:
        return rounds_integers(comparison) ? PT_JUDGE_NONE
                                           : judging_of_number(comparison, PT_JUDGE_INT64);
    case PT_BOOLEAN:
        return judging_of_number(comparison, PT_JUDGE_RANGE);
    case PT_DOUBLE:
        return judging_of_number(comparison, PT_JUDGE_VALUE);
    case PT_STRING:
        return judging_of_text(comparison);
    case PT_BINARY:
        return is_comparable(comparison, PT_BINARY) ? PT_JUDGE_VALUE : PT_JUDGE_NONE;
    case PT_DATETIME:
        return comparison->column == type ? judging_of_time(comparison) : PT_JUDGE_NONE;
    case PT_GUID:
        return comparison->column == type ? judging_of_guid(comparison) : PT_JUDGE_NONE;
    default: /* large values are not worth reading twice */
        return PT_JUDGE_NONE;
    }
}

/* True if an inequality holds. The order is that of the property and the value. */
static bool holds(pt_plan_op op, int order)
{
    switch (op) {
    case PT_OP_GT:
        return order > 0;
    case PT_OP_GE:
        return order >= 0;
    case PT_OP_LT:
        return order < 0;
    default:
        return order <= 0;
    }
}

static bool is_listed(const pt_comparison *comparison, const pt_value *value)
{
    return comparison->count != 0 && bsearch(value, comparison->values, comparison->count,
                                             sizeof *value, element_order) != NULL;
}

/* True if SQLite may compare the text otherwise than by its bytes. `other` is a text beside it, or
 * NULL. */
static bool is_undecided_text(const pt_comparison *comparison, pt_slice text, const pt_slice *other)
{
    if (comparison->only_equal && !is_ascii(text)) {
        return true; /* in UTF-16, another text may have become the same */
    }
    if (comparison->exact ||
        (comparison->op == PT_OP_EQ && !comparison->number_texts && !comparison->has_number)) {
        return false;
    }
    bool may_convert = may_be_number(text);
    if (comparison->op != PT_OP_EQ) {
        may_convert = may_convert || comparison->number_texts;
    }
    return may_convert && (other == NULL || !are_like_digits(text, *other));
}

/* A text with U+FFFD may be what is left of one that is not UTF-8. */
static bool has_replacement(const pt_comparison *comparison)
{
    static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD};
    bool has = false;
    for (unsigned i = 0; i < comparison->count && !has; i++) {
        const pt_value *value = &comparison->values[i];
        has = value->type == PT_STRING && value->bytes.size != 0 &&
              memmem(value->bytes.data, value->bytes.size, replacement, sizeof replacement) != NULL;
    }
    return has;
}

bool pt_comparison_decides_no_text(const pt_comparison *comparison)
{
    bool order = comparison->op != PT_OP_EQ;
    return (comparison->only_equal && has_replacement(comparison)) ||
           (order && comparison->number_texts && !comparison->exact);
}

/* A text beside one other text. */
static bool may_text_pass(const pt_comparison *comparison, pt_slice text)
{
    const pt_slice other = comparison->values[0].bytes;
    bool passes = comparison->op == PT_OP_EQ ? pt_slice_equal(text, other)
                                             : holds(comparison->op, pt_slice_compare(text, other));
    return passes || is_undecided_text(comparison, text, &other);
}

static bool may_value_pass(const pt_comparison *comparison, const pt_value *value)
{
    if (value->type == PT_DOUBLE && isnan(value->real)) {
        return true; /* the column shows a text */
    }
    if (comparison->op != PT_OP_EQ) {
        return holds(comparison->op, value_order(value, &comparison->values[0]));
    }
    return is_listed(comparison, value) ||
           (value->type == PT_STRING && is_undecided_text(comparison, value->bytes, NULL));
}

int pt_comparison_judge_value(const pt_comparison *comparison, pt_judging judging,
                              pt_record *record, const pt_property *property, bool *may_pass)
{
    pt_value value;
    if (judging == PT_JUDGE_TEXT) {
        if (!pt_record_string(record, property, &value.bytes)) {
            return SQLITE_CORRUPT_VTAB;
        }
        *may_pass = may_text_pass(comparison, value.bytes);
        return SQLITE_OK;
    }
    int rc = pt_record_value(record, (unsigned)(property - record->shape->properties), &value);
    if (rc == SQLITE_OK) {
        *may_pass = judging == PT_JUDGE_RANGE
                        ? value.integer >= comparison->low && value.integer <= comparison->high
                        : may_value_pass(comparison, &value);
    }
    return rc;
}
