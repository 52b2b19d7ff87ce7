/*
 * The file names that a store must not have, because SQLite or LMDB would overwrite the file.
 */
#ifndef PT_TRANSACTION_STORE_NAME_H
#define PT_TRANSACTION_STORE_NAME_H

#include "base/error.h"

/* SQLITE_CANTOPEN if the path is that of a lock file, or of a file that SQLite creates for a
 * database (-journal, -wal, -shm). SQLITE_NOMEM. */
int pt_store_name_check(const char *path, pt_error *error);

#endif
