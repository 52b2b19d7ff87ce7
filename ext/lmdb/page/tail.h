/*
 * Pages that a store's file lacks at its end.
 *
 * LMDB does not write a page that a transaction has taken and given back. If that is the last one,
 * the commit leaves a file that ends before it, until the file is made longer (lmdb/writer.c). A
 * process killed in between, or a power failure, leaves it so for good; nothing is missing, for a
 * free page is never read. A file that was truncated looks the same, but lacks pages in use.
 *
 * LMDB itself cannot be asked: to read a page behind the end of a file is fatal. So its list of
 * free pages is read from the file.
 */
#ifndef PT_LMDB_PAGE_TAIL_H
#define PT_LMDB_PAGE_TAIL_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Whether all pages that the file lacks, up to the last one that the newest commit knows of, are
 * free. False also if the list is damaged, as it seems when commits change it meanwhile. SQLITE_OK,
 * SQLITE_NOMEM, SQLITE_IOERR_READ.
 */
int pt_lmdb_tail_is_free(int fd, const char *path, bool *is_free, pt_error *error);

#endif
