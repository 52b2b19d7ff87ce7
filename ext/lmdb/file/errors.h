/*
 * LMDB's errors in SQLite's codes, with a text.
 */
#ifndef PT_LMDB_FILE_ERRORS_H
#define PT_LMDB_FILE_ERRORS_H

#include "base/error.h"

/* Sets the error for a code of LMDB, or errno, on the store at `path`; `doing` follows "while".
 * Returns SQLite's code. */
int pt_lmdb_fail(pt_error *error, int mdb_rc, const char *path, const char *doing);

/* Like pt_lmdb_fail, for reading in a snapshot: after LMDB has met damage in a transaction, every
 * later read in it is SQLITE_CORRUPT. */
int pt_lmdb_fail_reading(pt_error *error, int mdb_rc, const char *path, const char *doing);

#endif
