/*
 * What is said of a log that cannot be used. `path` is the store's.
 */
#ifndef PT_LMDB_LOG_ERRORS_H
#define PT_LMDB_LOG_ERRORS_H

#include <stdbool.h>

#include "base/error.h"

/* `problem` is what lmdb/log/file.h returns: there is no log, or another file has its name. Of a
 * link, or of a log that could not be opened, it says nothing. */
bool pt_log_is_lost(int problem);

/* It is not there, or cannot be read. `problem` is what lmdb/log/file.h and lmdb/log/word.h return,
 * or about the word EIDRM: it is not the one of the log, ENOTUNIQ: it is none; or EAGAIN: the lock
 * of the log cannot be had. SQLITE_CANTOPEN, SQLITE_BUSY for EAGAIN, or a code of pt_lmdb_fail. */
int pt_log_fail(pt_error *error, const char *path, int problem);

/* It is there, and reading it has failed with this errno. A code of pt_lmdb_fail. */
int pt_log_fail_reading(pt_error *error, const char *path, int problem);

/* SQLITE_CORRUPT. */
int pt_log_fail_damaged(pt_error *error, const char *path);

/* Its word is none: another program has written to that file. SQLITE_CORRUPT. */
int pt_log_fail_overwritten(pt_error *error, const char *path);

#endif
