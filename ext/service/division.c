#include "service/division.h"

#include "entity/key.h"

enum {
    PAGES_OF_LARGE_PARTITION = 2, /* whole pages, after the first, that are of one partition */
};

/* Finds a bound in the RowKeys of a partition. */
static bool find_row_bound(const pt_stream *stream, pt_division *division)
{
    pt_slice end = {0};
    if (stream->has_end && stream->end_row.size != 0) {
        end = pt_buffer_slice(&stream->end_row);
    } else if (stream->span.one && stream->span.keys.bounded) {
        end = stream->span.keys.high;
    }
    division->rows = true;
    return pt_key_guess_make(pt_buffer_slice(&stream->before_row),
                             pt_buffer_slice(&stream->last_row), end, &division->bound);
}

/* The rest of a large partition becomes one part, all partitions after it the other. */
static bool find_end_of_partition(const pt_stream *stream, pt_division *division)
{
    pt_slice partition = pt_buffer_slice(&stream->last_partition);
    pt_key_guess *bound = &division->bound;
    if (partition.size + 1 > sizeof bound->text ||
        pt_query_alike_size(partition) != partition.size) {
        return false;
    }
    if (partition.size != 0) {
        memcpy(bound->text, partition.data, partition.size);
    }
    bound->text[partition.size] = PT_KEY_PARTITION_END;
    bound->size = partition.size + 1;
    division->partition = true;
    return true;
}

static bool find_partition_bound(const pt_stream *stream, pt_division *division)
{
    pt_slice end = {0};
    if (stream->alone >= PAGES_OF_LARGE_PARTITION) {
        return find_end_of_partition(stream, division);
    }
    if (stream->has_end) {
        end = pt_buffer_slice(&stream->end_partition);
    } else if (stream->span.keys.bounded) {
        end = stream->span.keys.high;
    }
    return pt_key_guess_make(pt_buffer_slice(&stream->before_partition),
                             pt_buffer_slice(&stream->last_partition), end, &division->bound);
}

/* False if the service has not come to the range yet, or is past it: it looks at the beginning of a
 * bound only, if not all characters compare alike. */
static bool is_inside(const pt_stream *stream)
{
    return pt_interval_contains(
        &stream->span.keys,
        pt_buffer_slice(stream->span.one ? &stream->last_row : &stream->last_partition));
}

bool pt_division_find(const pt_stream *stream, pt_division *division)
{
    *division = (pt_division){.doubts = stream->doubts};
    if (stream->finished || !stream->has_place || !is_inside(stream)) {
        return false;
    }
    if (stream->span.one) {
        return find_row_bound(stream, division);
    }
    if (stream->in_partition) {
        return stream->query->rows == NULL && find_row_bound(stream, division);
    }
    return find_partition_bound(stream, division);
}

bool pt_division_is_better(const pt_division *one, const pt_division *other)
{
    if (one->bound.leap != other->bound.leap) {
        return other->bound.leap;
    }
    if (one->doubts != other->doubts) {
        return one->doubts < other->doubts;
    }
    return one->bound.size < other->bound.size;
}

/* The second part of a range of PartitionKeys, or of RowKeys of a partition. */
static void make_span(const pt_division *division, const pt_stream *stream, pt_key_span *span)
{
    *span = stream->span;
    span->keys.low = pt_slice_of(division->bound.text, division->bound.size);
    if (!division->rows && stream->has_end) {
        span->keys.high = pt_buffer_slice(&stream->end_partition);
        span->keys.bounded = true;
    }
    if (!division->rows) {
        return;
    }
    if (!span->one) {
        span->one = true;
        span->partition = pt_buffer_slice(&stream->last_partition);
        span->keys.bounded = false;
    }
    if (stream->has_end && stream->end_row.size != 0) {
        span->keys.high = pt_buffer_slice(&stream->end_row);
        span->keys.bounded = true;
    }
}

int pt_division_perform(const pt_division *division, pt_stream *stream, pt_stream *second,
                        pt_error *error)
{
    pt_key_span span;
    make_span(division, stream, &span);
    int rc = pt_stream_open(second, stream->query, &span, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    second->is_second = true;
    pt_slice bound = pt_slice_of(division->bound.text, division->bound.size);
    pt_slice partition = division->rows ? pt_buffer_slice(&stream->last_partition) : bound;
    stream->has_end =
        pt_buffer_assign(&stream->end_partition, partition) &&
        pt_buffer_assign(&stream->end_row, division->rows ? bound : pt_slice_of("", 0));
    stream->in_partition = stream->in_partition || division->partition;
    return stream->has_end ? SQLITE_OK : pt_error_nomem(error);
}

bool pt_division_is_of(const pt_stream *stream, const pt_stream *second)
{
    pt_slice end = pt_buffer_slice(second->span.one ? &stream->end_row : &stream->end_partition);
    return stream->has_end && pt_slice_equal(end, second->span.keys.low);
}
