/*
 * Time as the Table service counts it: ticks of 100 ns since 0001-01-01T00:00:00Z in the proleptic
 * Gregorian calendar, in exact 64-bit arithmetic.
 */
#ifndef PT_BASE_TICKS_H
#define PT_BASE_TICKS_H

#include "base/bytes.h"

#define PT_TICKS_PER_SECOND INT64_C(10000000)
#define PT_TICKS_MAX INT64_C(3155378975999999999)       /* 9999-12-31T23:59:59.9999999Z */
#define PT_TICKS_UNIX_EPOCH INT64_C(621355968000000000) /* 1970-01-01T00:00:00Z */

enum { PT_DATETIME_TEXT_SIZE = 28, PT_INVERTED_TICKS_SIZE = 19 };

/*
 * The system's clock now. 0 if it is set to a time before the year 1, or to 9999 or later: such a
 * clock tells nothing, and the years up to there leave ticks to count on from any other.
 */
int64_t pt_ticks_now(void);

/*
 * Reads SQLite's own date forms that name a day: YYYY-MM-DD, then optionally a time: one ' ' or 'T'
 * and HH:MM, HH:MM:SS or HH:MM:SS.fraction, then optionally Z or z, +HH:MM or -HH:MM up to 14:00. A
 * fraction finer than 100 ns must consist of zeros there, so that nothing is lost. False for
 * anything else, for days that do not exist, for 24:00 and second 60, and for times before 0001 or
 * after 9999 (in UTC). Other blanks are refused.
 */
bool pt_ticks_parse(pt_slice text, int64_t *ticks);

/* Writes "2026-11-21T08:43:22.5484454Z" and a NUL. `ticks` must be within 0..PT_TICKS_MAX. */
void pt_ticks_format(int64_t ticks, char text[PT_DATETIME_TEXT_SIZE + 1]);

#endif
