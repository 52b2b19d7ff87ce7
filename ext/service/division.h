/*
 * Divides what a stream has still to read: a second stream reads the part from a guessed bound on,
 * and the first one ends there. So a long range, whose pages can only be asked for one after the
 * other, is read in several places at once. Bounds compare alike for the service and for SQLite:
 * each entity is in one part only, whatever there is.
 */
#ifndef PT_SERVICE_DIVISION_H
#define PT_SERVICE_DIVISION_H

#include "service/key_guess.h"
#include "service/stream.h"

typedef struct pt_division {
    bool rows;      /* the bound is a RowKey in the partition that the stream has come to */
    bool partition; /* it is the end of that partition, which the stream then does not leave */
    int doubts;     /* the fewer, the better; see pt_division_find */
    pt_key_guess bound;
} pt_division;

/* Looks for a place to divide the stream at. False if there is none. */
bool pt_division_find(const pt_stream *stream, pt_division *division);

/* True if the first division is better: of a larger part, or with fewer doubts. */
bool pt_division_is_better(const pt_division *one, const pt_division *other);

/* Divides `stream`; `second` is opened for the second part. Sends nothing. SQLITE_OK, SQLITE_NOMEM;
 * after it the streams must be closed. */
int pt_division_perform(const pt_division *division, pt_stream *stream, pt_stream *second,
                        pt_error *error);

/* True if `second` reads what `stream` has left to it. */
bool pt_division_is_of(const pt_stream *stream, const pt_stream *second);

#endif
