/*
 * Checks the log that a store names, for pt_check. Nothing is locked or changed.
 */
#ifndef PT_LMDB_LOG_CHECK_H
#define PT_LMDB_LOG_CHECK_H

#include "lmdb/snapshot.h"
#include "store/check_report.h"

/*
 * Reads the log of the store at `path`, which `state` names, and reports what is wrong with it.
 * `shown` is a snapshot of that state, or NULL if the store is not open. SQLITE_IOERR and others,
 * if the log cannot be read.
 */
int pt_log_check(const char *path, const pt_format_state *state, const pt_lmdb_snapshot *shown,
                 pt_check_report *report, pt_error *error);

#endif
