/*
 * What a check of a store has found: a line for each problem, the first hundred of them.
 */
#ifndef PT_STORE_CHECK_REPORT_H
#define PT_STORE_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum { PT_CHECK_LINES_MAX = 100 };

/* All zeros is an empty report. Out of memory shows in lines.failed. */
typedef struct pt_check_report {
    int64_t problems;
    pt_buffer lines;
} pt_check_report;

/*
 * Adds a problem; the format is sqlite3_mprintf's. Beyond the lines that are shown it is only
 * counted.
 */
void pt_check_problem(pt_check_report *report, const char *format, ...);

/* Whether the next problem will be shown: texts that are dear to make need not be made else. */
bool pt_check_shows_more(const pt_check_report *report);

/*
 * "ok", or the lines, of which the last one says how many problems there are and what to do. From
 * sqlite3_malloc; NULL when out of memory. The report is empty afterwards.
 */
char *pt_check_report_text(pt_check_report *report);

#endif
