/*
 * The standard descriptors, 0 to 2. In a process that has closed one of them, the next file that is
 * opened gets its number, and whatever the process then prints is written into that file. So before
 * any file of a store is opened, the free numbers are filled with /dev/null, for good. SQLite does
 * the same for its own files.
 */
#ifndef PT_LMDB_FILE_STANDARD_DESCRIPTORS_H
#define PT_LMDB_FILE_STANDARD_DESCRIPTORS_H

#include "base/error.h"

/*
 * Comes before any file of the store at `path` is opened for writing, by LMDB too. SQLITE_CANTOPEN
 * if a descriptor is closed and cannot be filled, SQLITE_NOMEM.
 */
int pt_lmdb_fill_descriptors(const char *path, pt_error *error);

#endif
