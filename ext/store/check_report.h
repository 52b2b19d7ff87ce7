/*
 * The report of a check of a store: the number of problems, and a line for each of the first
 * hundred.
 */
#ifndef PT_STORE_CHECK_REPORT_H
#define PT_STORE_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum { PT_CHECK_LINES_MAX = 100 };

/* All zeros is an empty report. lines.failed: out of memory. */
typedef struct pt_check_report {
    int64_t problems;
    pt_buffer lines;
} pt_check_report;

/* Adds a problem. The format is sqlite3_mprintf's. After the first hundred, only counts it. */
void pt_check_problem(pt_check_report *report, const char *format, ...);

/* True if the next problem gets a line. If not, you can skip computing an expensive text for it. */
bool pt_check_shows_more(const pt_check_report *report);

/*
 * "ok", or the lines and a last line with the number of problems and what to do. From
 * sqlite3_malloc; NULL when out of memory. Empties the report.
 */
char *pt_check_report_text(pt_check_report *report);

#endif
