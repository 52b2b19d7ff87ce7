/*
 * Looking at what opening a store makes LMDB read, before LMDB does: damaged, it would end the
 * process. What is read later is not looked at.
 */
#ifndef PT_LMDB_PAGE_VERIFY_H
#define PT_LMDB_PAGE_VERIFY_H

#include <stdbool.h>

#include "lmdb/page/file.h"

/*
 * Before the environment is opened: both meta pages. SQLITE_CORRUPT with a text, SQLITE_IOERR_READ.
 */
int pt_lmdb_verify_metas(int fd, const char *path, pt_error *error);

/*
 * In a read transaction that shows this version, before anything is read through it: all of the
 * main database; of the other trees the first and last pages, and the beginning of the list of free
 * pages, which is what writing begins with. *again = true: commits have overwritten the version
 * before the transaction could hold it. SQLITE_CORRUPT with a text, SQLITE_IOERR_READ,
 * SQLITE_NOMEM. What is no store's main database is left for LMDB to find out.
 */
int pt_lmdb_verify_version(int fd, const char *path, uint64_t version, bool *again,
                           pt_error *error);

#endif
