#include "store/check_report.h"

#include <stdarg.h>

#include "base/sqlite.h"

void pt_check_problem(pt_check_report *report, const char *format, ...)
{
    if (pt_check_shows_more(report)) {
        va_list arguments;
        va_start(arguments, format);
        char *line = sqlite3_vmprintf(format, arguments);
        va_end(arguments);
        if (line != NULL) {
            pt_buffer_append_text(&report->lines, line);
            pt_buffer_append_byte(&report->lines, '\n');
        } else {
            report->lines.failed = true;
        }
        sqlite3_free(line);
    }
    report->problems++;
}

bool pt_check_shows_more(const pt_check_report *report)
{
    return report->problems < PT_CHECK_LINES_MAX;
}

static char *format_report(const pt_check_report *report)
{
    if (report->lines.failed) {
        return NULL;
    }
    if (report->problems == 0) {
        return sqlite3_mprintf("ok");
    }
    int64_t shown = report->problems < PT_CHECK_LINES_MAX ? report->problems : PT_CHECK_LINES_MAX;
    char *more = report->problems > shown
                     ? sqlite3_mprintf(", of which %lld are not shown",
                                       (sqlite3_int64)(report->problems - shown))
                     : sqlite3_mprintf("%s", "");
    char *text = more != NULL
                     ? sqlite3_mprintf("%.*s%lld problem%s%s: restore the store from a backup, or "
                                       "copy what can still be read into a new one with INSERT ... "
                                       "SELECT",
                                       (int)report->lines.size, (const char *)report->lines.data,
                                       (sqlite3_int64)report->problems,
                                       report->problems == 1 ? "" : "s", more)
                     : NULL;
    sqlite3_free(more);
    return text;
}

char *pt_check_report_text(pt_check_report *report)
{
    char *text = format_report(report);
    pt_buffer_free(&report->lines);
    *report = (pt_check_report){0};
    return text;
}
