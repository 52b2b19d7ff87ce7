/*
 * Verifies the parts of a store's file that LMDB reads while the store is opened, before LMDB reads
 * them: damage there would end the process. The rest of the file is not verified.
 */
#ifndef PT_LMDB_PAGE_VERIFY_ON_OPEN_H
#define PT_LMDB_PAGE_VERIFY_ON_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Before the environment is opened: verifies both meta pages. SQLITE_CORRUPT with a text,
 * SQLITE_IOERR_READ.
 */
int pt_lmdb_verify_metas(int fd, const char *path, pt_error *error);

/*
 * In a read transaction that shows this version, before anything is read through it: verifies all
 * of the main database, the first and last pages of the other trees, and the beginning of the list
 * of free pages, which is where a writer begins. *again = true: commits overwrote the version
 * before the transaction could hold it; try again. SQLITE_CORRUPT with a text, SQLITE_IOERR_READ,
 * SQLITE_NOMEM. A main database that is not a store's is not judged: lmdb/opening.c refuses it.
 */
int pt_lmdb_verify_trees(int fd, const char *path, uint64_t version, bool *again, pt_error *error);

/*
 * A file may be shorter than its newest commit says. LMDB does not write a page that a transaction
 * allocated and freed again. If that is the last page, the file ends before it until the file is
 * extended (lmdb/writer.c); if the process is killed or the power fails first, it stays that way.
 * Nothing is lost: a free page is never read. A truncated file looks the same, but lacks pages that
 * are in use. LMDB cannot be asked which it is: reading a page past the end of the file through its
 * map would kill the process. So this function reads the list of free pages from the file.
 *
 * *are_free = true: the missing pages, up to the last one of the newest commit, are all free. It is
 * false also if the list is damaged, or looks damaged because commits change it while it is read.
 * SQLITE_OK, SQLITE_NOMEM, SQLITE_IOERR_READ.
 */
int pt_lmdb_missing_pages_are_free(int fd, const char *path, bool *are_free, pt_error *error);

#endif
