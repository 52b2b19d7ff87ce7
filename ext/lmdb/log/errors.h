/*
 * What is said of a log that cannot be used. `path` is the store's.
 */
#ifndef PT_LMDB_LOG_ERRORS_H
#define PT_LMDB_LOG_ERRORS_H

#include "base/error.h"

/* It is not there, or cannot be read. `problem` is what lmdb/log/file.h and lmdb/log/word.h return,
 * or EIDRM: the word is not the one of the log. SQLITE_CANTOPEN, or a code of pt_lmdb_fail. */
int pt_log_fail(pt_error *error, const char *path, int problem);

/* SQLITE_CORRUPT. */
int pt_log_fail_damaged(pt_error *error, const char *path);

#endif
