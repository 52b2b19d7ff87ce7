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
 * The time of the system clock. 0 if the clock is before the year 1 or in 9999 or later. Such a
 * clock is wrong, and refusing the last year leaves room for timestamps that only count up.
 */
int64_t pt_ticks_now(void);

/* pt_ticks_parse, but returns NULL, or the rule that the text breaks: "its month has no such day".
 */
const char *pt_ticks_read(pt_slice text, int64_t *ticks);

/*
 * Reads those of SQLite's date formats that name a day: YYYY-MM-DD, then optionally a time: one ' '
 * or 'T' and HH:MM, HH:MM:SS or HH:MM:SS.fraction, then optionally Z or z, +HH:MM or -HH:MM up to
 * 14:00. Digits finer than 100 ns must be zeros, so that nothing is lost. Returns false for other
 * texts, for other blanks, for days that do not exist, for 24:00 and second 60, and for times
 * before 0001 or after 9999 (in UTC).
 */
static inline bool pt_ticks_parse(pt_slice text, int64_t *ticks)
{
    return pt_ticks_read(text, ticks) == NULL;
}

/* The rule that a text breaks, for a message; NULL if pt_ticks_parse reads it. */
static inline const char *pt_ticks_broken_rule(pt_slice text)
{
    int64_t ticks;
    return pt_ticks_read(text, &ticks);
}

/* The collation of columns that show times. pt_ticks_compare_texts computes it. */
#define PT_TICKS_COLLATION "PT_DATETIME"

/*
 * What follows TEXT in the declaration of a hidden column of times. When SQLite removes HIDDEN from
 * the type it loses the collation (3.40 to 3.54, in vtab.c). It then looks for the name in the
 * wrong place, where the last six letters of the type are. So the type ends with six letters under
 * which the collation is registered too.
 */
#define PT_TICKS_SHORT_COLLATION "PTTIME"
#define PT_TICKS_HIDDEN " HIDDEN " PT_TICKS_SHORT_COLLATION " COLLATE " PT_TICKS_COLLATION

/*
 * The place of a text in the order of PT_DATETIME:
 *
 *     -1                 the empty text
 *     its ticks          a text that reads as a time: pt_ticks_parse reads it; or it is the
 *                        beginning of such a text as pt_ticks_format writes ("2026-11", with ' ' or
 *                        'T'), and means the first time with that beginning
 *     PT_TICKS_MAX + 1   every other text
 */
int64_t pt_ticks_place(pt_slice text);

/* Compares two texts by their places, and those that are not times by their bytes. It is a total
 * order in which all spellings of one time are equal. */
int pt_ticks_compare_texts(pt_slice a, pt_slice b);

/* Writes "2026-11-21T08:43:22.5484454Z" and a NUL. `ticks` is from 0 to PT_TICKS_MAX. */
void pt_ticks_format(int64_t ticks, char text[PT_DATETIME_TEXT_SIZE + 1]);

#endif
