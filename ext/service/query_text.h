/*
 * From key ranges to the service's words: URLs of entities, and the text of $filter.
 *
 * The service orders keys by their UTF-16 units, SQLite by their code points. The orders differ
 * only between characters from U+D800 on. A bound with such a character is cut before it, so that
 * the service answers at least the keys in the range: the caller must check each. Control
 * characters, which no key of the service has, and very long bounds are cut in the same way.
 */
#ifndef PT_SERVICE_QUERY_TEXT_H
#define PT_SERVICE_QUERY_TEXT_H

#include "base/buffer.h"
#include "entity/edm.h"
#include "query/key_condition.h"

/* True for a name that needs no quoting in $select and $filter: letters, digits and _. */
bool pt_query_is_plain_name(pt_slice name);

/* Appends a text to a URL: every byte but A-Z, a-z, 0-9, '-', '_', '.' and '~' becomes %XX. */
void pt_query_append_encoded(pt_buffer *url, pt_slice text);

/* Appends a value as a constant of a filter. */
void pt_query_append_value(pt_buffer *filter, const pt_value *constant);

/* Appends (PartitionKey='p',RowKey='r'). */
void pt_query_append_keys(pt_buffer *url, pt_slice partition, pt_slice row);

/* True if an entity with these keys can be asked for by its URL. */
bool pt_query_has_url(pt_slice partition, pt_slice row);

/* A part of a key range that one query answers. */
typedef struct pt_key_span {
    bool one;           /* one partition */
    pt_slice partition; /* its key */
    pt_interval keys;   /* of the RowKeys in it, else of the PartitionKeys */
} pt_key_span;

enum { PT_KEY_SPANS_MAX = 3 };

/*
 * Splits a range of entity keys, which is not empty, into spans in ascending order: the end of its
 * first partition, whole partitions, and the start of its last one. Returns their number. The spans
 * point into the range; `after_first` gets one bound.
 */
int pt_query_split(const pt_interval *range, pt_buffer *after_first,
                   pt_key_span spans[PT_KEY_SPANS_MAX]);

/* True if a span holds exactly one key, which *row completes. */
bool pt_query_is_point(const pt_key_span *span, pt_slice *row);

/* True if all entities that a query for the span finds have the span's PartitionKey. */
bool pt_query_names_partition(const pt_key_span *span);

/*
 * Appends the filter of a span, not encoded. `rows` is a condition on RowKeys beside the span, or
 * NULL; only the filter of a span of several partitions has it. Appends nothing if all entities are
 * asked for.
 */
void pt_query_append_filter(pt_buffer *filter, const pt_key_span *span,
                            const pt_key_condition *rows);

/* Bytes at the start of a text that compare alike for the service and for SQLite. */
size_t pt_query_alike_size(pt_slice text);

/* Appends a text that is greater than every text that begins with the prefix. All its characters
 * compare alike. False, and nothing is appended, if there is none. */
bool pt_query_append_successor(pt_buffer *text, pt_slice prefix);

/* True if the span, and the condition on RowKeys, holds these keys. */
bool pt_query_holds(const pt_key_span *span, const pt_key_condition *rows, pt_slice partition,
                    pt_slice row);

#endif
