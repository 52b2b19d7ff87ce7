/*
 * LMDB's errors in SQLite's codes, with a text.
 */
#ifndef PT_LMDB_FILE_ERRORS_H
#define PT_LMDB_FILE_ERRORS_H

#include "base/error.h"

/* LMDB's code (or errno) as an error on the store of that path; `doing` as in "while <doing>". */
int pt_lmdb_fail(pt_error *error, int mdb_rc, const char *path, const char *doing);

/* The same for what was read in a snapshot: one that has met damage is SQLITE_CORRUPT from then on.
 */
int pt_lmdb_fail_reading(pt_error *error, int mdb_rc, const char *path, const char *doing);

#endif
