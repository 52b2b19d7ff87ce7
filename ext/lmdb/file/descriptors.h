/*
 * The standard descriptors, 0 to 2. Where a process has closed them, the next files it opens get
 * their numbers, and what any part of it then prints is written into those files. So before a
 * store's files are opened the numbers that are free are filled with /dev/null, for good, as SQLite
 * does for its own files.
 */
#ifndef PT_LMDB_FILE_DESCRIPTORS_H
#define PT_LMDB_FILE_DESCRIPTORS_H

#include "base/error.h"

/*
 * Comes before whatever opens a file of the store of that path to be written, LMDB too. SQLITE_OK;
 * SQLITE_CANTOPEN if one is closed and cannot be filled, SQLITE_NOMEM.
 */
int pt_lmdb_fill_descriptors(const char *path, pt_error *error);

#endif
