/*
 * The conditions that go to the service beside the keys (service/condition_text.h): written once,
 * and sent with each request of a statement.
 */
#ifndef PT_SERVICE_FILTER_PARTS_H
#define PT_SERVICE_FILTER_PARTS_H

#include "service/condition_text.h"

/* The service takes so many comparisons in a filter. */
enum { PT_FILTER_COMPARISONS_MAX = 15 };

/* Conditions that are written once and go with each request of a statement. All zeros before the
 * first use. */
typedef struct pt_filter_parts {
    pt_buffer text; /* one condition after the other */
    struct {
        size_t size;
        int comparisons;
    } parts[PT_FILTER_COMPARISONS_MAX];
    int count;
} pt_filter_parts;

void pt_filter_parts_clear(pt_filter_parts *parts);
void pt_filter_parts_free(pt_filter_parts *parts);

/* Adds a condition, if it can be written and there is room. */
void pt_filter_parts_add(pt_filter_parts *parts, const pt_written_condition *condition);

/* Comparisons of a filter with all the conditions. */
int pt_filter_parts_count(const pt_filter_parts *parts, pt_slice filter);

/* Appends the conditions to a filter, with `and`, as long as it has no more comparisons than the
 * service takes and a URL has room for it. */
void pt_filter_parts_append(const pt_filter_parts *parts, pt_buffer *filter);

#endif
