/*
 * Filter MATCH: a $filter that the statement gives, and the service judges.
 */
#ifndef PT_SERVICE_REMOTE_FILTER_H
#define PT_SERVICE_REMOTE_FILTER_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/sqlite.h"

typedef struct pt_remote_filter {
    bool given;
    bool nothing; /* it is NULL: no entity passes */
    bool bounded; /* it excludes some partitions */
    pt_buffer text;
} pt_remote_filter;

/*
 * Sets the filter from the argument of MATCH. The text is the service's to judge: one that ptable
 * could not read is allowed, but taken for one of all partitions. SQLITE_MISMATCH, SQLITE_NOMEM.
 */
int pt_remote_filter_set(pt_remote_filter *filter, sqlite3_value *argument, pt_error *error);

/* Makes it a filter that was not given. */
void pt_remote_filter_clear(pt_remote_filter *filter);
void pt_remote_filter_free(pt_remote_filter *filter);

/*
 * match(text, Filter), which SQLite calls where MATCH is not part of the plan, such as beside an
 * OR. The column has the filter that the service has judged for all rows, or the row, for which the
 * service is then asked. The user data is the table.
 */
void pt_remote_function_match(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
