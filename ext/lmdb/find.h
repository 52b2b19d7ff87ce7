/*
 * Finding a store's data file by its path, and making it where there is none.
 */
#ifndef PT_LMDB_FIND_H
#define PT_LMDB_FIND_H

#include <stdbool.h>

#include "base/error.h"
#include "lmdb/file/forks.h"

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

#endif
