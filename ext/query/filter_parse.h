/*
 * Parsing a filter.
 */
#ifndef PT_QUERY_FILTER_PARSE_H
#define PT_QUERY_FILTER_PARSE_H

#include "base/error.h"
#include "query/filter.h"

/* Parentheses inside each other. */
enum { PT_FILTER_DEPTH_MAX = 100 };

/*
 * Parses a text into `filter`, which forgets what it was; the text is not needed afterwards.
 * SQLITE_NOMEM, or SQLITE_ERROR with a text that begins with "Filter" and says where and what to
 * do: (InvalidInput) for what is no filter, (NotImplemented) for what OData has and the service
 * lacks: functions, arithmetic, comparisons of two properties or two constants. The filter may then
 * only be parsed again or freed.
 */
int pt_filter_parse(pt_filter *filter, pt_slice text, pt_error *error);

void pt_filter_free(pt_filter *filter);

#endif
