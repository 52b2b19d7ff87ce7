/*
 * Copying the newest version into a new store, without free pages and without what is left of
 * dropped tables.
 */
#ifndef PT_LMDB_COPY_H
#define PT_LMDB_COPY_H

#include "lmdb/snapshot.h"

/*
 * Fills the empty file `name`, which nobody else knows, with the newest version; all of it has
 * reached the disk on success, but not the file's name. The copy's versions are counted anew.
 * `place` is what messages call the file. SQLITE_CORRUPT for a source that is damaged, as far as it
 * shows; SQLITE_INTERRUPT; SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM.
 */
int pt_lmdb_copy(pt_store *store, const char *name, const char *place, const pt_watch *watch,
                 pt_error *error);

#endif
