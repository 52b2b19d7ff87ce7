#include "service/query_text.h"

#include "base/assert.h"
#include "base/number.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/azure_limits.h"
#include "entity/key.h"

enum {
    LAST_BEFORE_SURROGATES = 0xD7FF,
    BOUND_MAX = 400, /* bytes of a constant; each may take three in a URL, and a filter has four */
    LISTED_ROWS_MAX = 4,
};

/* --- URLs --- */

bool pt_query_is_plain_name(pt_slice name)
{
    bool plain = name.size != 0 && !pt_is_digit(name.data[0]);
    for (size_t i = 0; plain && i < name.size; i++) {
        uint8_t c = name.data[i];
        plain = pt_is_letter(c) || c == '_' || pt_is_digit(c);
    }
    return plain;
}

void pt_query_append_encoded(pt_buffer *url, pt_slice text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (pt_is_unreserved(c)) {
            pt_buffer_append_byte(url, c);
        } else {
            const char escape[] = {'%', digits[c >> 4], digits[c & 15]};
            pt_buffer_append(url, escape, sizeof escape);
        }
    }
}

static void append_encoded_key(pt_buffer *url, pt_slice key)
{
    for (size_t i = 0; i < key.size; i++) {
        pt_slice byte = pt_slice_of(key.data + i, 1);
        pt_query_append_encoded(url, byte);
        if (key.data[i] == '\'') {
            pt_query_append_encoded(url, byte);
        }
    }
}

void pt_query_append_keys(pt_buffer *url, pt_slice partition, pt_slice row)
{
    pt_buffer_append_text(url, "(PartitionKey='");
    append_encoded_key(url, partition);
    pt_buffer_append_text(url, "',RowKey='");
    append_encoded_key(url, row);
    pt_buffer_append_text(url, "')");
}

bool pt_query_has_url(pt_slice partition, pt_slice row)
{
    pt_error error = PT_ERROR_NONE;
    bool valid = pt_key_is_valid_text(partition) && pt_key_is_valid_text(row) &&
                 pt_limits_check_keys(partition, row, PT_LIMITS_OF_SERVICE, &error) == 0;
    pt_error_clear(&error);
    return valid;
}

/* --- Splitting --- */

int pt_query_split(const pt_interval *range, pt_buffer *after_first,
                   pt_key_span spans[PT_KEY_SPANS_MAX])
{
    pt_slice first = {0};
    pt_slice last = {0};
    pt_slice low_row = {0};
    pt_slice high_row = {0};
    int count = 0;
    bool in_first = pt_key_split(range->low, &first, &low_row);
    bool in_last = range->bounded && pt_key_split(range->high, &last, &high_row);
    if (in_first && in_last && pt_slice_equal(first, last)) {
        spans[0] = (pt_key_span){.one = true,
                                 .partition = first,
                                 .keys = {.low = low_row, .high = high_row, .bounded = true}};
        return 1;
    }
    pt_interval middle = *range;
    if (in_first) {
        spans[count++] = (pt_key_span){.one = true, .partition = first, .keys = {.low = low_row}};
        pt_buffer_clear(after_first);
        pt_buffer_append_slice(after_first, first);
        pt_buffer_append_byte(after_first, PT_KEY_PARTITION_END);
        middle.low = pt_buffer_slice(after_first);
    }
    if (in_last) {
        middle.high = last;
    }
    if (!pt_interval_is_empty(&middle)) {
        spans[count++] = (pt_key_span){.keys = middle};
    }
    if (in_last && high_row.size != 0) {
        spans[count++] = (pt_key_span){
            .one = true, .partition = last, .keys = {.high = high_row, .bounded = true}};
    }
    return count;
}

bool pt_query_is_point(const pt_key_span *span, pt_slice *row)
{
    *row = span->keys.low;
    pt_slice high = span->keys.high;
    bool next = span->keys.bounded && high.size == row->size + 1 &&
                high.data[row->size] <= PT_AFTER_TEXT && pt_slice_has_prefix(high, *row);
    return span->one && next;
}

bool pt_query_holds(const pt_key_span *span, const pt_key_condition *rows, pt_slice partition,
                    pt_slice row)
{
    bool inside = span->one ? pt_slice_equal(partition, span->partition) &&
                                  pt_interval_contains(&span->keys, row)
                            : pt_interval_contains(&span->keys, partition);
    return inside && (rows == NULL || pt_condition_holds(rows, row));
}

/* --- Constants --- */

/* In quotes, with each quote inside twice. */
static void append_text(pt_buffer *filter, pt_slice text)
{
    pt_buffer_append_byte(filter, '\'');
    for (size_t i = 0; i < text.size; i++) {
        pt_buffer_append_byte(filter, text.data[i]);
        if (text.data[i] == '\'') {
            pt_buffer_append_byte(filter, '\'');
        }
    }
    pt_buffer_append_byte(filter, '\'');
}

static void append_binary(pt_buffer *filter, pt_slice bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.size; i++) {
        pt_buffer_append_byte(filter, (uint8_t)digits[bytes.data[i] >> 4]);
        pt_buffer_append_byte(filter, (uint8_t)digits[bytes.data[i] & 15]);
    }
}

static void append_quoted(pt_buffer *filter, const char *begin, const char *text)
{
    pt_buffer_append_text(filter, begin);
    pt_buffer_append_text(filter, text);
    pt_buffer_append_byte(filter, '\'');
}

/* Without the + of an exponent, which some programs take for a blank in a URL. */
static void append_real(pt_buffer *filter, double real)
{
    char text[PT_DOUBLE_TEXT_SIZE];
    pt_double_format(real, text);
    for (const char *at = text; *at != 0; at++) {
        if (*at != '+') {
            pt_buffer_append_byte(filter, (uint8_t)*at);
        }
    }
}

void pt_query_append_value(pt_buffer *filter, const pt_value *constant)
{
    char text[64];
    switch (constant->type) {
    case PT_INT32:
    case PT_INT64:
        sqlite3_snprintf(sizeof text, text, constant->type == PT_INT64 ? "%lldL" : "%lld",
                         (long long)constant->integer);
        pt_buffer_append_text(filter, text);
        break;
    case PT_DOUBLE:
        append_real(filter, constant->real);
        break;
    case PT_BOOLEAN:
        pt_buffer_append_text(filter, constant->integer != 0 ? "true" : "false");
        break;
    case PT_DATETIME:
        pt_ticks_format(constant->integer, text);
        append_quoted(filter, "datetime'", text);
        break;
    case PT_GUID:
        pt_guid_format(constant->guid, text);
        append_quoted(filter, "guid'", text);
        break;
    case PT_BINARY:
        pt_buffer_append_text(filter, "X'");
        append_binary(filter, constant->bytes);
        pt_buffer_append_byte(filter, '\'');
        break;
    default:
        append_text(filter, constant->bytes);
        break;
    }
}

/* --- $filter --- */

static bool compares_alike(uint32_t character)
{
    return character >= ' ' && character <= LAST_BEFORE_SURROGATES &&
           (character < 0x7F || character >= 0xA0);
}

size_t pt_query_alike_size(pt_slice text)
{
    size_t size = 0;
    while (size < text.size) {
        pt_slice rest = pt_slice_of(text.data + size, text.size - size);
        size_t length = pt_utf8_size(rest);
        if (length == 0 || size + length > BOUND_MAX ||
            !compares_alike(pt_utf8_decode(rest.data, length))) {
            break;
        }
        size += length;
    }
    return size;
}

static void append_comparison(pt_buffer *filter, const char *column, const char *op,
                              pt_slice constant)
{
    if (filter->size != 0 && filter->data[filter->size - 1] != '(') {
        pt_buffer_append_text(filter, " and ");
    }
    pt_buffer_append_text(filter, column);
    pt_buffer_append_text(filter, op);
    append_text(filter, constant);
}

/* True if a bound is a text and the byte that makes the first string after it. */
static bool ends_after_text(pt_slice bound, size_t size)
{
    return size + 1 == bound.size && bound.data[size] <= PT_AFTER_TEXT;
}

static void append_low(pt_buffer *filter, const char *column, pt_slice low)
{
    size_t size = pt_query_alike_size(low);
    if (size == low.size ? size == 0 : size == 0 && !ends_after_text(low, size)) {
        return; /* every key is greater or equal */
    }
    append_comparison(filter, column, ends_after_text(low, size) ? " gt " : " ge ",
                      pt_slice_of(low.data, size));
}

bool pt_query_append_successor(pt_buffer *text, pt_slice prefix)
{
    uint32_t last = LAST_BEFORE_SURROGATES;
    while (prefix.size > 0 && last == LAST_BEFORE_SURROGATES) {
        size_t start = prefix.size - 1;
        while ((prefix.data[start] & 0xC0) == 0x80) {
            start--;
        }
        last = pt_utf8_decode(prefix.data + start, prefix.size - start);
        prefix.size = start;
    }
    if (last == LAST_BEFORE_SURROGATES) {
        return false;
    }
    last = last + 1 == 0x7F ? 0xA0 : last + 1;
    uint8_t character[PT_UTF8_SIZE_MAX];
    size_t length = (size_t)(pt_utf8_put(character, last) - character);
    pt_buffer_append_slice(text, prefix);
    pt_buffer_append(text, character, length);
    return true;
}

/* Appends `column lt 'x'`, where x is greater than every text that begins with the prefix, or
 * nothing if there is no such x. */
static void append_below_successor(pt_buffer *filter, const char *column, pt_slice prefix)
{
    pt_buffer successor = {0};
    if (pt_query_append_successor(&successor, prefix)) {
        append_comparison(filter, column, " lt ", pt_buffer_slice(&successor));
    }
    filter->failed = filter->failed || successor.failed;
    pt_buffer_free(&successor);
}

static void append_high(pt_buffer *filter, const char *column, pt_slice high)
{
    size_t size = pt_query_alike_size(high);
    pt_slice alike = pt_slice_of(high.data, size);
    if (size == high.size) {
        append_comparison(filter, column, " lt ", alike);
    } else if (ends_after_text(high, size)) {
        append_comparison(filter, column, " le ", alike);
    } else {
        append_below_successor(filter, column, alike);
    }
}

static void append_interval(pt_buffer *filter, const char *column, const pt_interval *interval)
{
    append_low(filter, column, interval->low);
    if (interval->bounded) {
        append_high(filter, column, interval->high);
    }
}

/* True if a key can be compared with = as it is. */
static bool is_constant(pt_slice key)
{
    pt_slice rest = key;
    while (rest.size > 0) {
        size_t length = pt_utf8_size(rest);
        uint32_t character = length != 0 ? pt_utf8_decode(rest.data, length) : 0;
        if (character < ' ' || (character >= 0x7F && character < 0xA0)) {
            return false;
        }
        rest = pt_slice_of(rest.data + length, rest.size - length);
    }
    return key.size <= (size_t)2 * BOUND_MAX;
}

bool pt_query_names_partition(const pt_key_span *span)
{
    return span->one && is_constant(span->partition);
}

static void append_equal(pt_buffer *filter, const char *column, pt_slice key)
{
    if (is_constant(key)) {
        append_comparison(filter, column, " eq ", key);
        return;
    }
    append_low(filter, column, key);
    append_below_successor(filter, column, pt_slice_of(key.data, pt_query_alike_size(key)));
}

/* (RowKey eq 'a' or RowKey eq 'b'), or from the first to the last if there are many. */
static void append_listed(pt_buffer *filter, const pt_key_condition *rows)
{
    PT_ASSERT(rows->point_count != 0); /* else no key is asked for */
    bool each = rows->point_count <= LISTED_ROWS_MAX;
    for (unsigned i = 0; each && i < rows->point_count; i++) {
        each = is_constant(rows->points[i]);
    }
    if (!each) {
        pt_slice last = rows->points[rows->point_count - 1];
        size_t size = pt_query_alike_size(last);
        append_low(filter, "RowKey", rows->points[0]);
        if (size == last.size) {
            append_comparison(filter, "RowKey", " le ", last);
        } else {
            append_below_successor(filter, "RowKey", pt_slice_of(last.data, size));
        }
        return;
    }
    pt_buffer_append_text(filter, filter->size != 0 ? " and (" : "(");
    for (unsigned i = 0; i < rows->point_count; i++) {
        pt_buffer_append_text(filter, i != 0 ? " or (" : "(");
        append_equal(filter, "RowKey", rows->points[i]);
        pt_buffer_append_byte(filter, ')');
    }
    pt_buffer_append_byte(filter, ')');
}

void pt_query_append_filter(pt_buffer *filter, const pt_key_span *span,
                            const pt_key_condition *rows)
{
    pt_slice row;
    if (!span->one) {
        append_interval(filter, "PartitionKey", &span->keys);
    } else {
        append_equal(filter, "PartitionKey", span->partition);
        if (pt_query_is_point(span, &row)) {
            append_equal(filter, "RowKey", row);
        } else {
            append_interval(filter, "RowKey", &span->keys);
        }
    }
    if (!span->one && rows != NULL) {
        if (rows->listed) {
            append_listed(filter, rows);
        } else {
            append_interval(filter, "RowKey", &rows->interval);
        }
    }
}
