/*
 * A store's data file and its name: finding the file by its path, making it if there is none, and
 * noticing that it has lost its name. (A new file gets its name in lmdb/create.c.)
 */
#ifndef PT_LMDB_DATA_FILE_H
#define PT_LMDB_DATA_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "lmdb/file/descriptors.h"

/*
 * Opens the data file, for writing if possible. With `create`, makes it first if there is none. If
 * the file turns out not to be a store, pass the descriptor to pt_lmdb_foreign_keep instead of
 * closing it (lmdb/file/foreign_files.h). SQLITE_CANTOPEN if there is no file, or it is not a
 * regular file, or cannot be opened; the errors of pt_lmdb_create_file; SQLITE_NOMEM.
 */
int pt_lmdb_open_data_file(const char *path, bool create, pt_lmdb_owned *file, bool *writable,
                           pt_error *error);

/* Sets the error for a file that cannot be opened because of errno `problem`: SQLITE_CANTOPEN,
 * SQLITE_NOMEM or the code of pt_lmdb_fail. */
int pt_lmdb_fail_opening_file(pt_error *error, const char *path, int problem);

/* Sets *same if the file at `path` is the one of this device and inode. Returns 0 or errno. */
int pt_lmdb_is_named(const char *path, dev_t device, ino_t inode, bool *same);

/* Sets the error of an open store whose file has lost its name. Returns `rc`. */
int pt_lmdb_fail_moved(pt_error *error, int rc, const char *path);

#endif
