/*
 * Finding a store's data file by its path, and making it where there is none.
 */
#ifndef PT_LMDB_DATA_FILE_H
#define PT_LMDB_DATA_FILE_H

#include <stdbool.h>

#include "base/error.h"
#include "lmdb/file/forks.h"
#include "lmdb/registry.h"

/*
 * Opens the data file, for writing if possible, and makes it before if there is none and that is
 * wanted. It is given back with pt_lmdb_foreign_keep, or closed when a store has it.
 * SQLITE_CANTOPEN if there is none, or it is not a regular file, or cannot be opened; what making
 * it may fail with; SQLITE_NOMEM.
 */
int pt_lmdb_find_file(const char *path, bool create, pt_lmdb_owned *file, bool *writable,
                      pt_error *error);

/* That a file cannot be opened, as of errno: SQLITE_CANTOPEN, SQLITE_NOMEM or the code of
 * pt_lmdb_fail. */
int pt_lmdb_fail_finding(pt_error *error, const char *path, int problem);

/*
 * Whether a store's file still has its name: what is written to one that has not would be lost.
 */

/* Whether the file is certainly not the one that has this name. */
bool pt_lmdb_has_lost_name(const struct stat *file, const char *path);

/* The error of a store that has lost its name; `rc`. */
int pt_lmdb_fail_moved(pt_error *error, int rc, const char *path);

/* SQLITE_OK if the store's file has its name, `code` if not; SQLITE_IOERR. */
int pt_lmdb_check_place(const pt_lmdb_store *store, int code, pt_error *error);

/* Before a commit that must last: so must the file's name. SQLITE_OK, SQLITE_IOERR. */
int pt_lmdb_settle_name(pt_lmdb_store *store, pt_error *error);

#endif
