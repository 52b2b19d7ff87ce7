#include "service/filter_parts.h"

#include "base/text.h"

enum { FILTER_MAX = 4000 }; /* bytes in a URL */

void pt_filter_parts_clear(pt_filter_parts *parts)
{
    pt_buffer_clear(&parts->text);
    parts->count = 0;
}

void pt_filter_parts_free(pt_filter_parts *parts)
{
    pt_buffer_free(&parts->text);
    parts->count = 0;
}

void pt_filter_parts_add(pt_filter_parts *parts, const pt_written_condition *condition)
{
    size_t before = parts->text.size;
    if (parts->count == PT_FILTER_COMPARISONS_MAX) {
        return;
    }
    int comparisons = pt_condition_append(&parts->text, condition);
    if (comparisons > 0) {
        parts->parts[parts->count].size = parts->text.size - before;
        parts->parts[parts->count].comparisons = comparisons;
        parts->count++;
    }
}

/* Counts the operators of comparisons outside of quotes. */
static int count_comparisons(pt_slice filter)
{
    static const char spaced[] = " eq  ne  gt  ge  lt  le ";
    enum { OPERATOR_SIZE = 4 };
    int count = 0;
    bool quoted = false;
    for (size_t i = 0; i + OPERATOR_SIZE <= filter.size; i++) {
        quoted = quoted != (filter.data[i] == '\'');
        for (size_t at = 0; !quoted && at < sizeof spaced - 1; at += OPERATOR_SIZE) {
            count += memcmp(filter.data + i, spaced + at, OPERATOR_SIZE) == 0;
        }
    }
    return count;
}

int pt_filter_parts_count(const pt_filter_parts *parts, pt_slice filter)
{
    int count = count_comparisons(filter);
    for (int i = 0; i < parts->count; i++) {
        count += parts->parts[i].comparisons;
    }
    return count;
}

/* Bytes that a text takes in a URL. */
static size_t size_in_url(pt_slice text)
{
    size_t size = text.size;
    for (size_t i = 0; i < text.size; i++) {
        size += pt_is_unreserved(text.data[i]) ? 0 : 2;
    }
    return size;
}

void pt_filter_parts_append(const pt_filter_parts *parts, pt_buffer *filter)
{
    int comparisons = count_comparisons(pt_buffer_slice(filter));
    size_t size = size_in_url(pt_buffer_slice(filter));
    const uint8_t *at = parts->text.data;
    filter->failed = filter->failed || parts->text.failed;
    for (int i = 0; i < parts->count && !filter->failed; i++) {
        pt_slice part = pt_slice_of(at, parts->parts[i].size);
        size_t more = size_in_url(part) + sizeof "%20and%20";
        at += part.size;
        if (comparisons + parts->parts[i].comparisons > PT_FILTER_COMPARISONS_MAX ||
            size + more > FILTER_MAX) {
            continue;
        }
        if (filter->size != 0) {
            pt_buffer_append_text(filter, " and ");
        }
        pt_buffer_append_slice(filter, part);
        comparisons += parts->parts[i].comparisons;
        size += more;
    }
}
